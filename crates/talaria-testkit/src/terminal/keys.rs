//! Keys that are no characters, as a terminal of the xterm family sends them.

/// A key, or a key with another one held down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The Enter key.
    Enter,
    /// Enter with Alt held down: a new line instead of sending, in every terminal.
    AltEnter,
    /// The Escape key.
    Esc,
    /// The tabulator key.
    Tab,
    /// The tabulator key with Shift held down.
    BackTab,
    /// Deletes to the left.
    Backspace,
    /// Deletes to the right.
    Delete,
    /// An arrow key.
    Up,
    /// An arrow key.
    Down,
    /// An arrow key.
    Left,
    /// An arrow key.
    Right,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// A page back.
    PageUp,
    /// A page on.
    PageDown,
    /// A function key, from 1 to 4.
    F(u8),
    /// A letter with Ctrl held down.
    Ctrl(char),
    /// A character with Alt held down.
    Alt(char),
}

/// Which codes the arrow keys send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrows {
    Usual,
    Application,
}

impl Key {
    /// Returns the bytes that arrive at the program.
    pub(super) fn bytes(self, arrows: Arrows) -> String {
        let arrow = |letter| match arrows {
            Arrows::Usual => format!("\x1b[{letter}"),
            Arrows::Application => format!("\x1bO{letter}"),
        };
        match self {
            Self::Enter => "\r".into(),
            Self::AltEnter => "\x1b\r".into(),
            Self::Esc => "\x1b".into(),
            Self::Tab => "\t".into(),
            Self::BackTab => "\x1b[Z".into(),
            Self::Backspace => "\x7f".into(),
            Self::Delete => "\x1b[3~".into(),
            Self::Up => arrow('A'),
            Self::Down => arrow('B'),
            Self::Right => arrow('C'),
            Self::Left => arrow('D'),
            Self::Home => arrow('H'),
            Self::End => arrow('F'),
            Self::PageUp => "\x1b[5~".into(),
            Self::PageDown => "\x1b[6~".into(),
            Self::F(number) => format!("\x1bO{}", char::from(b'O' + number.clamp(1, 4))),
            // The control codes are the letters without the upper three bits.
            Self::Ctrl(letter) => {
                char::from_u32(u32::from(letter) & 0x1f).map(String::from).unwrap_or_default()
            }
            Self::Alt(char) => format!("\x1b{char}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_xterm_sends() {
        for (key, bytes) in [
            (Key::Ctrl('c'), "\u{3}"),
            (Key::Ctrl('R'), "\u{12}"),
            (Key::Alt('b'), "\x1bb"),
            (Key::Up, "\x1b[A"),
            (Key::PageUp, "\x1b[5~"),
            (Key::F(2), "\x1bOQ"),
        ] {
            assert_eq!(key.bytes(Arrows::Usual), bytes);
        }
        assert_eq!(Key::Up.bytes(Arrows::Application), "\x1bOA");
    }
}
