//! Fork bombs: a function that starts itself twice without waiting.
//!
//! A function that merely calls itself is recursion and is left alone; so is one that calls itself once in the
//! background.

use std::collections::HashMap;

use crate::shell::{GroupKind, ShellLine, SimpleCommand, Word, WordPiece};

/// Does a function, or the script itself, multiply without end?
pub(super) fn hits(line: &ShellLine) -> bool {
    // For each function that starts itself: how often, and whether it ever continues without waiting.
    let mut calls: HashMap<usize, (usize, bool)> = HashMap::new();
    for (index, command) in line.commands.iter().enumerate() {
        let is_detached = command.is_background || is_piped(line, index);
        let Some(body) = calls_itself(line, command) else { continue };
        let (count, detached) = calls.entry(body).or_default();
        *count += 1;
        *detached |= is_detached;
    }
    calls.values().any(|(count, detached)| *count > 1 && *detached)
}

/// The body of the function that the command calls from inside; the line itself for `$0`.
fn calls_itself(line: &ShellLine, command: &SimpleCommand) -> Option<usize> {
    if let Some([WordPiece::Variable(name)]) = command.words.first().map(Word::pieces)
        && name == "0"
    {
        return Some(0);
    }
    let name = command.words.first()?.text()?;
    let mut group = command.at.group;
    while group != 0 {
        if matches!(&line.groups[group].kind, GroupKind::Function(function) if function == name) {
            return Some(group);
        }
        group = line.groups[group].at.group;
    }
    None
}

/// Returns whether it is part of a pipeline of several stages.
fn is_piped(line: &ShellLine, index: usize) -> bool {
    let at = line.commands[index].at;
    let is_neighbour = |other: usize| {
        line.commands
            .get(other)
            .is_some_and(|other| other.at.pipeline == at.pipeline && other.at.stage != at.stage)
    };
    at.stage > 0 || is_neighbour(index + 1)
}
