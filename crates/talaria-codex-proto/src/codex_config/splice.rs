//! Removes statements from a text and inserts a block; all other bytes are preserved.
//!
//! The block is inserted after the user's last top-level key and before the first table, so that a top-level key
//! in it stays top-level and the user's tables keep their keys. The comment right above the first header stays
//! with that header.

use talaria_core::toml_statements::{StatementKind, comments, statements};
use talaria_core::toml_text::{Piece, TomlText};

use super::survey::Survey;

/// Fate of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is kept, byte for byte.
    Stays,
    /// It is removed; a comment in it can only be the user's and is kept, on its own line.
    GoesButForComments,
    /// It is taken out.
    Goes,
}

/// The text of a survey without what does not stay.
pub(super) fn take_out(survey: &Survey<'_>, mut fates: Vec<Fate>) -> String {
    take_blank_lines_between(survey, &mut fates);
    let text = TomlText::new(survey.text);
    let newline = text.newline();
    let going = survey.statements.iter().zip(&fates).filter(|(_, fate)| **fate != Fate::Stays);
    let pieces = going.map(|(statement, fate)| {
        let mut new = String::new();
        if *fate == Fate::GoesButForComments {
            comments(survey.source(statement)).into_iter().for_each(|line| new.extend([line, newline]));
        }
        Piece { range: statement.bytes.clone(), new }
    });
    let mut rest = text.splice(pieces.collect());
    // A text without a line break at its end got one when the block was put after it, which then had none.
    if fates.last().is_some_and(|fate| *fate != Fate::Stays) && !text.is_ended() {
        rest.truncate(TomlText::new(&rest).end_of_last_line());
    }
    rest
}

/// The text with a block of lines in it, each with the line break of that text. An empty block is none.
pub(super) fn put_in(rest: &str, block: &str) -> String {
    if block.is_empty() {
        return rest.to_owned();
    }
    let text = TomlText::new(rest);
    text.splice(vec![text.insert(place_of_block(text), block)])
}

fn place_of_block(text: TomlText<'_>) -> usize {
    let all = statements(text.as_str());
    let header = all.iter().position(|statement| statement.kind.is_header());
    let mut before = &all[..header.unwrap_or(all.len())];
    let mut go_back = |over: StatementKind| {
        let last = before.iter().rposition(|statement| statement.kind != over);
        before = &before[..last.map_or(0, |last| last + 1)];
    };
    if header.is_some() {
        go_back(StatementKind::Comment);
    }
    go_back(StatementKind::Blank);
    before.last().map_or(text.start(), |last| last.bytes.end)
}

/// Blank lines between two things of ours are ours; all others stay.
fn take_blank_lines_between(survey: &Survey<'_>, fates: &mut [Fate]) {
    let mut last_gone = None;
    for number in 0..fates.len() {
        if fates[number] != Fate::Stays {
            if let Some(last) = last_gone.replace(number) {
                fates[last + 1..number].fill(Fate::Goes);
            }
        } else if survey.statements[number].kind != StatementKind::Blank {
            last_gone = None;
        }
    }
}
