//! Keys in, rows out. Keys are written as people say them: letters as they are, others in `<…>`: `<C-a>` is Ctrl-A,
//! `<A-b>` Alt-B, `<S-Enter>` Shift and Enter; `<lt>` is `<`.

mod editing;
mod lists;
mod promises;
mod recalling;
mod sending;

use super::super::commands::CompletionSource;
use super::super::completion::CompletionChoice;
use super::*;

pub(super) const LOOK: Look = Look { color: false, width: Some(80), live: true, unicode: true };

/// Reads keys.
pub(super) fn keys(script: &str) -> Vec<KeyPress> {
    let mut keys = Vec::new();
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        if c != '<' {
            keys.push(KeyPress { code: Code::Char(c), ctrl: false, alt: false, shift: false });
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = rest.find('>').expect("a key ends with >");
        keys.push(named(&rest[1..end]));
        rest = &rest[end + 1..];
    }
    keys
}

fn named(name: &str) -> KeyPress {
    let mut key = KeyPress { code: Code::Esc, ctrl: false, alt: false, shift: false };
    let mut rest = name;
    while let Some((held, name)) =
        rest.split_once('-').filter(|(held, name)| held.len() == 1 && !name.is_empty())
    {
        match held {
            "C" => key.ctrl = true,
            "A" => key.alt = true,
            "S" => key.shift = true,
            _ => panic!("what is held in {name}?"),
        }
        rest = name;
    }
    key.code = match rest {
        "lt" => Code::Char('<'),
        "Enter" => Code::Enter,
        "Esc" => Code::Esc,
        "Tab" => Code::Tab,
        "BackTab" => Code::BackTab,
        "BS" => Code::Backspace,
        "Del" => Code::Delete,
        "Up" => Code::Up,
        "Down" => Code::Down,
        "Left" => Code::Left,
        "Right" => Code::Right,
        "Home" => Code::Home,
        "End" => Code::End,
        "PageUp" => Code::PageUp,
        other => {
            let mut letters = other.chars();
            match (letters.next(), letters.next()) {
                (Some(c), None) => Code::Char(c),
                _ => panic!("no key {other}"),
            }
        }
    };
    key
}

/// Types, and returns the last reaction.
pub(super) fn type_in(composer: &mut Composer, script: &str) -> Reaction {
    keys(script).into_iter().fold(Reaction::Nothing, |_, key| composer.key(key))
}

/// A composer in which this was typed.
pub(super) fn typed(script: &str) -> Composer {
    let mut composer = Composer::new(LOOK);
    type_in(&mut composer, script);
    composer
}

/// The rows with `▏` where the cursor is, and the list below.
pub(super) fn screen(composer: &mut Composer, width: u16, max_rows: u16) -> String {
    let rows = composer.rows(width, max_rows);
    let mut out = String::new();
    for (at, line) in rows.lines.iter().enumerate() {
        out += &if usize::from(rows.cursor.1) == at {
            marked(&line.text(), rows.cursor.0.into())
        } else {
            line.text()
        };
        out = out.trim_end().to_owned() + "\n";
    }
    for line in composer.popup(width, 8) {
        out += &format!("|{}\n", line.text());
    }
    out
}

fn marked(text: &str, column: usize) -> String {
    use unicode_width::UnicodeWidthStr;
    let at =
        text.char_indices().map(|(at, _)| at).chain([text.len()]).find(|&at| text[..at].width() >= column);
    let at = at.unwrap_or(text.len());
    format!("{}▏{}", &text[..at], &text[at..])
}
