//! Modes that a program has enabled in the terminal, and its side effects: title, bell, clipboard.
//!
//! A terminal that was restored equals [`Modes::default`], whatever the program was; so a test need not know which
//! modes a program uses. The emulator keeps those that change what it draws; the [`Watcher`] keeps the others.

use std::collections::BTreeSet;

use vt100::{CursorStyle, MouseProtocolMode, Screen};

use super::CellStyle;

/// The private mode of wrapping at the end of a row: the only one of those we watch that is on at the beginning.
const WRAP: u16 = 7;

/// The state that outlives the program if it does not restore it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Whether the second screen is shown, which hides what was printed before.
    pub is_alternate_screen: bool,
    /// Whether pasted text is marked as such.
    pub is_bracketed_paste: bool,
    /// Whether the mouse is reported to the program.
    pub is_mouse_reported: bool,
    /// Whether the cursor cannot be seen.
    pub is_cursor_hidden: bool,
    /// Whether the arrow keys send other codes than usual.
    pub is_application_cursor: bool,
    /// Whether the number pad sends other codes than usual.
    pub is_application_keypad: bool,
    /// The shape of the cursor.
    pub cursor_style: CursorStyle,
    /// How whatever is printed next will look.
    pub pen: CellStyle,
    /// How often the extended keyboard protocol was pushed and not popped.
    pub keyboard_levels: u32,
    /// The other private modes that are not as they were at the beginning.
    pub others: BTreeSet<u16>,
}

/// State that the emulator itself does not keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watcher {
    /// Responses of the terminal to the program.
    pub(crate) replies: Vec<u8>,
    pub(crate) title: Option<String>,
    pub(crate) bells: usize,
    pub(crate) copies: usize,
    keyboard_levels: u32,
    others: BTreeSet<u16>,
}

impl Modes {
    pub(super) fn of(screen: &Screen, watcher: &Watcher) -> Self {
        Self {
            is_alternate_screen: screen.alternate_screen(),
            is_bracketed_paste: screen.bracketed_paste(),
            is_mouse_reported: screen.mouse_protocol_mode() != MouseProtocolMode::None,
            is_cursor_hidden: screen.hide_cursor(),
            is_application_cursor: screen.application_cursor(),
            is_application_keypad: screen.application_keypad(),
            cursor_style: screen.cursor_style(),
            pen: CellStyle {
                foreground: screen.fgcolor(),
                background: screen.bgcolor(),
                is_bold: screen.bold(),
                is_dim: screen.dim(),
                is_italic: screen.italic(),
                is_underlined: screen.underline(),
                is_inverse: screen.inverse(),
            },
            keyboard_levels: watcher.keyboard_levels,
            others: watcher.others.clone(),
        }
    }
}

impl Watcher {
    fn switch(&mut self, parameters: &[&[u16]], is_on: bool) {
        for mode in parameters.iter().filter_map(|parameter| parameter.first()) {
            if is_on == (*mode == WRAP) {
                self.others.remove(mode);
            } else {
                self.others.insert(*mode);
            }
        }
    }
}

/// The modes that the emulator keeps itself: a sequence may switch several at once.
const KEPT: [u16; 11] = [1, 6, 9, 25, 47, 1000, 1002, 1003, 1005, 1006, 1049];

impl vt100::Callbacks for Watcher {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.bells += 1;
    }

    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        self.title = Some(String::from_utf8_lossy(title).into_owned());
    }

    fn copy_to_clipboard(&mut self, _: &mut Screen, _: &[u8], _: &[u8]) {
        self.copies += 1;
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        _: Option<u8>,
        parameters: &[&[u16]],
        last: char,
    ) {
        let number = parameters.first().and_then(|parameter| parameter.first()).copied().unwrap_or(0);
        match (first, last) {
            (Some(b'?'), 'h' | 'l') => {
                let is_foreign = |parameter: &&&[u16]| !KEPT.contains(parameter.first().unwrap_or(&1));
                let foreign: Vec<&[u16]> = parameters.iter().filter(is_foreign).copied().collect();
                self.switch(&foreign, last == 'h');
            }
            (Some(b'>'), 'u') => self.keyboard_levels += 1,
            (Some(b'<'), 'u') => {
                self.keyboard_levels = self.keyboard_levels.saturating_sub(u32::from(number.max(1)));
            }
            // Where is the cursor? What are you? Programs wait for these, so a terminal that is silent is no terminal.
            (None, 'n') if number == 6 => {
                let (row, column) = screen.cursor_position();
                self.replies.extend(format!("\x1b[{};{}R", row + 1, column + 1).bytes());
            }
            (None, 'c') => self.replies.extend(b"\x1b[?62;22c"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Screen, emulator};
    use super::*;

    fn modes(bytes: &[u8]) -> Modes {
        Screen::drawn(4, 10, bytes).modes().clone()
    }

    #[test]
    fn what_is_switched_on_and_off_again_leaves_nothing() {
        let on = b"\x1b[?1049h\x1b[?2004h\x1b[?1000;1004h\x1b[?25l\x1b[?7l\x1b[?1h\x1b[>1u\x1b[>5u\x1b[5 q\x1b[31m";
        let off =
            b"\x1b[m\x1b[0 q\x1b[<2u\x1b[?1l\x1b[?7h\x1b[?25h\x1b[?1004l\x1b[?1000l\x1b[?2004l\x1b[?1049l";
        let switched = modes(on);
        assert!(switched.is_alternate_screen && switched.is_bracketed_paste && switched.is_mouse_reported);
        assert!(switched.is_cursor_hidden && switched.is_application_cursor);
        assert_eq!((switched.keyboard_levels, switched.others.len()), (2, 2), "{switched:?}");
        assert_eq!(modes(&[&on[..], off].concat()), Modes::default());
    }

    #[test]
    fn each_thing_that_is_left_on_is_seen() {
        let left: [&[u8]; 9] = [
            b"\x1b[?1049h",
            b"\x1b[?2004h",
            b"\x1b[?1003h",
            b"\x1b[?25l",
            b"\x1b[?7l",
            b"\x1b[?1004h",
            b"\x1b[>1u",
            b"\x1b[1m",
            b"\x1b[3 q",
        ];
        for left in left {
            assert_ne!(modes(left), Modes::default(), "{}", left.escape_ascii());
        }
    }

    #[test]
    fn questions_are_answered_and_deeds_counted() {
        let mut parser = emulator(5, 10);
        parser.process(b"\x1b[2;3H\x1b[6n\x1b[c\x07\x1b]2;mine\x07\x1b]52;c;aGk=\x07");
        let watcher = parser.callbacks();
        assert_eq!(watcher.replies, b"\x1b[2;3R\x1b[?62;22c");
        assert_eq!((watcher.title.as_deref(), watcher.bells, watcher.copies), (Some("mine"), 1, 1));
    }
}
