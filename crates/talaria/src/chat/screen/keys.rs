//! Converts terminal events to input of a person. Pure.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use talaria_tui::chat::contract::{ChatInput, Code, KeyPress};

/// An event of the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    Input(ChatInput),
    /// Suspend the program.
    Suspend,
    /// The window has another size.
    Resized,
    /// Nothing that means anything.
    Nothing,
}

pub(super) fn read(event: Event) -> Came {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => read_key(key),
        Event::Paste(text) => Came::Input(ChatInput::Paste(text)),
        Event::Resize(..) => Came::Resized,
        _ => Came::Nothing,
    }
}

fn read_key(key: KeyEvent) -> Came {
    let code = match key.code {
        KeyCode::Char(letter) => Code::Char(letter),
        KeyCode::Enter => Code::Enter,
        KeyCode::Esc => Code::Esc,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => Code::BackTab,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::F(number) => Code::F(number),
        _ => return Came::Nothing,
    };
    let has = |held| key.modifiers.contains(held);
    let (ctrl, alt, shift) = (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT), has(KeyModifiers::SHIFT));
    if ctrl && matches!(code, Code::Char('z' | 'Z')) {
        return Came::Suspend;
    }
    Came::Input(ChatInput::Key(KeyPress { code, ctrl, alt, shift }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_what_was_held_and_ctrl_z_is_the_terminals() {
        let read_key = |code, held| read(Event::Key(KeyEvent::new(code, held)));
        let key = KeyPress { code: Code::Enter, ctrl: false, alt: true, shift: false };
        assert_eq!(read_key(KeyCode::Enter, KeyModifiers::ALT), Came::Input(ChatInput::Key(key)));
        assert_eq!(read_key(KeyCode::Char('z'), KeyModifiers::CONTROL), Came::Suspend);
        assert_eq!(read_key(KeyCode::CapsLock, KeyModifiers::NONE), Came::Nothing);
        assert_eq!(read(Event::Paste("a\nb".to_owned())), Came::Input(ChatInput::Paste("a\nb".to_owned())));
        let mut released = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::NONE);
        released.kind = KeyEventKind::Release;
        assert_eq!(read(Event::Key(released)), Came::Nothing);
    }
}
