//! The line as it would unfold: which directory each command stands in, and what simple variables hold.
//!
//! Owns the following of `cd`, of `NAME=value` and of loop variables with known values, and the way from a word to a
//! normal path. Good enough to recognise the worst; never used to allow anything. Called by the floor.

use std::collections::HashMap;
use std::rc::Rc;

use crate::shell::{Extent, Line, Piece, Role, Simple, Word};

/// In a path: text that is not known.
const UNKNOWN: char = '\u{FDD0}';
/// In a path: a star that is only a character.
const PLAIN_STAR: char = '\u{FDD2}';

/// The longest path and the longest value that are followed.
const LONGEST: usize = 1024;

/// How many readings of one command are looked at when its variables have several values.
const READINGS: usize = 16;

/// A line and what is known about its surroundings.
pub(super) struct Scene<'a> {
    pub(super) line: &'a Line,
    home: Option<&'a str>,
    directories: Vec<Option<Rc<str>>>,
    readings: Vec<Vec<Vec<Word>>>,
    stages: HashMap<(usize, usize), usize>,
}

impl<'a> Scene<'a> {
    /// Follows the line from its first command to its last.
    pub(super) fn new(line: &'a Line, cwd: Option<&str>, home: Option<&'a str>) -> Self {
        let mut scene =
            Self { line, home, directories: Vec::new(), readings: Vec::new(), stages: HashMap::new() };
        let mut scopes: HashMap<usize, Option<Rc<str>>> = HashMap::new();
        let mut variables: HashMap<&str, Vec<Word>> = HashMap::new();
        scopes.insert(0, cwd.map(|cwd| scene.normal(cwd.to_owned(), None).into()));
        for (index, command) in line.commands.iter().enumerate() {
            scene.stages.entry((command.at.pipeline, command.at.stage)).or_insert(index);
            let scope = line.groups[command.at.group].scope;
            let here = directory_of(line, scope, &mut scopes);
            scene.directories.push(here);
            if let Some(directory) = &command.directory {
                scene.directories[index] = Some(scene.path(index, directory).into());
            }
            scene.readings.push(readings(&command.words, &variables));
            if let Some(target) = scene.changes_directory(index) {
                scopes.insert(scope, target);
            }
            let is_statement = command.words.is_empty() || is_declaration(command);
            if is_statement {
                if command.role == Role::Frame {
                    command.assignments.iter().for_each(|set| drop(variables.remove(set.name.as_str())));
                }
                for set in &command.assignments {
                    let values = readings(std::slice::from_ref(&set.value), &variables);
                    let known = values.into_iter().flatten().filter(is_followed);
                    match command.role {
                        Role::Frame => variables.entry(&set.name).or_default().extend(known.take(READINGS)),
                        _ => drop(variables.insert(&set.name, known.collect())),
                    }
                }
            }
        }
        scene
    }

    /// The words of a command, once for each value that its variables can have.
    pub(super) fn readings(&self, index: usize) -> &[Vec<Word>] {
        &self.readings[index]
    }

    /// The path that a word of the command `index` names: normal, with `~` for the home directory.
    pub(super) fn path(&self, index: usize, word: &Word) -> String {
        let here = self.directories.get(index).and_then(Option::as_deref);
        let path = raw_path(word);
        if path.len() + here.map_or(0, str::len) > LONGEST {
            UNKNOWN.to_string()
        } else {
            self.normal(path, here)
        }
    }

    /// The command that is this stage of a pipeline, or the outermost of it.
    pub(super) fn stage(&self, pipeline: usize, stage: usize) -> Option<usize> {
        self.stages.get(&(pipeline, stage)).copied()
    }

    /// The directory after the command, if it is one that changes it; none inside if nobody knows.
    fn changes_directory(&self, index: usize) -> Option<Option<Rc<str>>> {
        let command = &self.line.commands[index];
        if command.role != Role::Plain {
            return None;
        }
        let words = self.readings[index].first()?;
        if !matches!(words.first()?.text()?, "cd" | "pushd" | "chdir") {
            return None;
        }
        let is_option = |word: &&Word| word.start().starts_with('-') && !word.is("-");
        Some(match words[1..].iter().find(|word| !is_option(word)) {
            None => Some("~".into()),
            Some(word) if word.is("-") => None,
            Some(word) => Some(self.path(index, word)).filter(|path| !is_open(path)).map(Rc::from),
        })
    }

    /// Removes what a path can do without; a relative one without a known directory stays relative.
    fn normal(&self, path: String, here: Option<&str>) -> String {
        let path = match (path.starts_with(['/', '~']), here) {
            (false, Some(here)) => format!("{here}/{path}"),
            _ => path,
        };
        let (mut root, mut parts) = (if path.starts_with('/') { "/" } else { "" }, Vec::new());
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.last() == Some(&"~") => {
                    // The parent of the home directory holds everybody's.
                    parts = vec!["home"];
                    root = "/";
                }
                ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
                ".." if root == "/" => {}
                part => parts.push(part),
            }
        }
        let path = format!("{root}{}", parts.join("/"));
        match self.home.map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty()) {
            Some(home) => match path.strip_prefix(home) {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
                _ => path,
            },
            None => path,
        }
    }
}

/// Is there something in the path that is not known?
pub(super) fn is_open(path: &str) -> bool {
    path.contains(UNKNOWN)
}

fn directory_of(line: &Line, scope: usize, scopes: &mut HashMap<usize, Option<Rc<str>>>) -> Option<Rc<str>> {
    // A process of its own starts where the one around it stands.
    let mut around = scope;
    while !scopes.contains_key(&around) && around != 0 {
        around = line.groups[line.groups[around].at.group].scope;
    }
    let here = scopes.get(&around).cloned().flatten();
    scopes.insert(scope, here.clone());
    here
}

fn is_declaration(command: &Simple) -> bool {
    command
        .program()
        .is_some_and(|name| matches!(name.as_str(), "export" | "declare" | "typeset" | "local" | "readonly"))
}

/// Is the value worth keeping: short, and nothing in it unknown but names of files?
fn is_followed(value: &Word) -> bool {
    let is_open = |piece: &Piece| matches!(piece, Piece::Variable(_) | Piece::Unknown);
    !value.pieces().iter().any(is_open) && value.marked().len() <= LONGEST
}

/// Puts known values in place of variables.
fn readings(words: &[Word], variables: &HashMap<&str, Vec<Word>>) -> Vec<Vec<Word>> {
    let mut all: Vec<Vec<Word>> = vec![Vec::with_capacity(words.len())];
    for word in words {
        let named = word.pieces().iter().find_map(|piece| match piece {
            Piece::Variable(name) => variables.get_key_value(name.as_str()),
            _ => None,
        });
        let choices: Vec<Vec<Word>> = match named {
            None => vec![vec![word.clone()]],
            Some((name, values)) => {
                values.iter().map(|value| split(&replaced(word, name, value), word.extent())).collect()
            }
        };
        if choices.is_empty() || all.len() * choices.len() > READINGS {
            all.iter_mut().for_each(|words| words.push(word.clone()));
        } else if let [choice] = choices.as_slice() {
            all.iter_mut().for_each(|words| words.extend(choice.iter().cloned()));
        } else {
            let longer = |words: &Vec<Word>, choice: &Vec<Word>| [words.as_slice(), choice].concat();
            all = all.iter().flat_map(|words| choices.iter().map(|choice| longer(words, choice))).collect();
        }
    }
    all
}

fn replaced(word: &Word, name: &str, value: &Word) -> Word {
    let pieces = word.pieces().iter().flat_map(|piece| match piece {
        Piece::Variable(this) if this == name => value.pieces().to_vec(),
        other => vec![other.clone()],
    });
    Word::new(pieces.collect(), word.extent())
}

/// Splits a value that was not quoted at its blanks.
fn split(word: &Word, extent: Extent) -> Vec<Word> {
    match word.text() {
        Some(text) if extent == Extent::Many => text.split_whitespace().map(Word::known).collect(),
        _ => vec![word.clone()],
    }
}

fn raw_path(word: &Word) -> String {
    let mut path = String::new();
    for piece in word.pieces() {
        match piece {
            Piece::Text(text) => {
                if path.is_empty() && text.starts_with('~') {
                    path.push_str("./");
                }
                path.extend(text.chars().map(|c| if c == '*' { PLAIN_STAR } else { c }));
            }
            Piece::Home => path.push('~'),
            Piece::Glob(glob) => path.push(if glob == "*" { '*' } else { '?' }),
            Piece::Variable(name) if name == "CODEX_HOME" => path.push_str("~/.codex"),
            Piece::Variable(name) if name == "PWD" => path.push('.'),
            Piece::Variable(_) | Piece::Unknown => path.push(UNKNOWN),
        }
    }
    path
}
