//! The text of `/help`, made from the table alone.

use unicode_width::UnicodeWidthStr;

use super::{CommandMistake, Definition, Needs, TABLE, named};
use crate::chat::keys::KEYS;
use talaria_render::{Look, Paint, Style, StyledText};

/// Below this width the help of a command is on the row below it.
const SIDE_BY_SIDE: usize = 72;
const DEFAULT_WIDTH: usize = 80;

const SIGNS: &[(&str, &str)] = &[
    ("!COMMAND", "run a shell command in the conversation's sandbox"),
    ("@FILE", "name a file; on the screen Tab or an arrow chooses it"),
    ("//TEXT", "send a text that begins with a slash"),
];

/// Explains all commands, or one.
pub fn help(name: Option<&str>, look: Look) -> Result<StyledText, CommandMistake> {
    let paint = Paint::new(look);
    let width = look.width.unwrap_or(DEFAULT_WIDTH);
    Ok(match name {
        Some(name) => one(named(name)?, paint, width),
        None => all(paint, width),
    })
}

/// Lists the keys, which only a screen has.
pub fn keys(look: Look) -> StyledText {
    let rows = KEYS.iter().map(|(key, help)| ((*key).to_owned(), *help)).collect();
    listed(rows, Paint::new(look), look.width.unwrap_or(DEFAULT_WIDTH))
}

fn all(paint: Paint, width: usize) -> StyledText {
    let commands = TABLE.iter().map(|one| (one.synopsis(), one.help));
    let signs = SIGNS.iter().map(|(sign, help)| ((*sign).to_owned(), *help));
    listed(commands.chain(signs).collect(), paint, width)
}

fn listed(rows: Vec<(String, &str)>, paint: Paint, width: usize) -> StyledText {
    let column = rows.iter().map(|(synopsis, _)| synopsis.width()).filter(|&width| width <= 26).max();
    let column = column.unwrap_or(0) + 2;
    let mut out = StyledText::default();
    for (synopsis, help) in rows {
        let fits = width >= SIDE_BY_SIDE && synopsis.width() + 2 <= column;
        paint.push(&mut out, Style::BOLD, &synopsis);
        if fits {
            out.push_spaces(column - synopsis.width());
        } else {
            out.end_line();
        }
        let indent = if width >= SIDE_BY_SIDE { column } else { 2 };
        let text = wrapped(help, width.saturating_sub(indent).max(10));
        for (at, row) in text.iter().enumerate() {
            if at > 0 || !fits {
                out.push_spaces(indent);
            }
            out.push_plain(row);
            out.end_line();
        }
    }
    out
}

fn one(definition: &Definition, paint: Paint, width: usize) -> StyledText {
    let mut out = paint.text(Style::BOLD, &definition.synopsis());
    out.end_line();
    let mut tell = |text: &str| {
        for row in wrapped(text, width.saturating_sub(2).max(10)) {
            out.push_plain("  ");
            out.push_plain(&row);
            out.end_line();
        }
    };
    tell(definition.help);
    match definition.needs {
        Needs::Nothing => {}
        Needs::Session => tell("needs a conversation"),
        Needs::Turn => tell("needs a running turn"),
    }
    if !definition.aliases.is_empty() {
        let names: Vec<_> = definition.aliases.iter().map(|name| format!("/{name}")).collect();
        tell(&format!("also: {}", names.join(", ")));
    }
    tell(&format!("example: {}", definition.example));
    out
}

/// Breaks a text of ours at its spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split(' ') {
        match rows.last_mut() {
            Some(row) if row.is_empty() => row.push_str(word),
            Some(row) if row.width() + 1 + word.width() <= width => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}
