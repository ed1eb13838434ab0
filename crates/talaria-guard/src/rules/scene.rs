//! The line as it would run: the directory of each command, and the values of simple variables.
//!
//! Owns the following of `cd`, of `NAME=value`, of loop variables and of positional parameters with known values, of
//! names that `read` and `xargs` get from a known input, and the way from a word to a normal path. Good enough to
//! recognise the worst; never used to allow anything. Called by the floor and by `written`.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::Ground;
use super::expand::{Values, readings};
use crate::shell::{CommandRole, GroupKind, RedirectKind, ShellLine, SimpleCommand, Word, WordPiece};

/// In a path: text that is not known.
const UNKNOWN: char = '\u{FDD0}';
/// In a path: a star that is only a character.
const PLAIN_STAR: char = '\u{FDD2}';

/// The longest path and the longest value that are followed.
const LONGEST: usize = 1024;

/// How many readings of one command are looked at when its variables have several values.
pub(super) const READINGS: usize = 16;

/// How many groups around a command are looked at.
const AROUND: usize = 64;

/// A line and what is known about its surroundings.
pub(super) struct Scene<'a> {
    pub(super) line: &'a ShellLine,
    ground: Ground<'a>,
    directories: Vec<Option<Rc<str>>>,
    readings: Vec<Vec<Vec<Word>>>,
    targets: Vec<Vec<Vec<Word>>>,
    stages: HashMap<(usize, usize), usize>,
    /// The commands that carry the redirects of a group.
    frames: HashMap<usize, Vec<usize>>,
    /// The arguments that functions of the line are called with.
    calls: HashMap<&'a str, Vec<Vec<Word>>>,
}

impl<'a> Scene<'a> {
    /// Follows the line from its first command to its last.
    pub(super) fn new(line: &'a ShellLine, ground: Ground<'a>) -> Self {
        let mut scene = Self {
            line,
            ground,
            directories: Vec::new(),
            readings: Vec::new(),
            targets: Vec::new(),
            stages: HashMap::new(),
            frames: HashMap::new(),
            calls: HashMap::new(),
        };
        scene.look_ahead();
        let mut scopes: HashMap<usize, Option<Rc<str>>> = HashMap::new();
        let mut variables: HashMap<String, Vec<Word>> = HashMap::new();
        scopes.insert(0, ground.cwd.map(|cwd| scene.normal(cwd.to_owned(), None).into()));
        for (index, command) in line.commands.iter().enumerate() {
            scene.stages.entry((command.at.pipeline, command.at.stage)).or_insert(index);
            let scope = line.groups[command.at.group].scope;
            let here = directory_of(line, scope, &mut scopes);
            scene.directories.push(here);
            if let Some(directory) = &command.directory {
                scene.directories[index] = Some(scene.path(index, directory).into());
            }
            let positional = scene.positional(index);
            let values = Values { variables: &variables, positional: &positional };
            let mut found = readings(&command.words, &values);
            let targets = command.redirects.iter().map(|to| {
                readings(std::slice::from_ref(&to.target), &values)
                    .into_iter()
                    .flatten()
                    .collect::<Vec<Word>>()
            });
            scene.targets.push(targets.collect());
            scene.fill_in(index, &mut found);
            scene.readings.push(found);
            if let Some(target) = scene.changes_directory(index) {
                scopes.insert(scope, target);
            }
            scene.assign(index, &mut variables);
        }
        scene
    }

    /// Records what is written after the commands that need it: redirects of groups, calls of functions.
    fn look_ahead(&mut self) {
        let functions: HashSet<&str> = self
            .line
            .groups
            .iter()
            .filter_map(|group| match &group.kind {
                GroupKind::Function(name) => Some(name.as_str()),
                _ => None,
            })
            .collect();
        for (index, command) in self.line.commands.iter().enumerate() {
            if command.role == CommandRole::Frame {
                self.frames.entry(command.at.group).or_default().push(index);
            }
            let name = command.words.first().and_then(Word::text).filter(|name| functions.contains(name));
            if let Some(name) = name {
                let calls = self.calls.entry(name).or_default();
                if calls.len() < READINGS {
                    calls.push(short(&command.words[1..]));
                }
            }
        }
    }

    /// The positional parameters that a command can see, once for each way to get there; none if they are not its own.
    fn positional(&self, index: usize) -> Vec<Vec<Word>> {
        let mut group = self.line.commands[index].at.group;
        for _ in 0..AROUND {
            match &self.line.groups[group] {
                around if group == 0 && around.owner.is_none() => return Vec::new(),
                around => {
                    if let GroupKind::Function(name) = &around.kind {
                        return self.calls.get(name.as_str()).cloned().unwrap_or_default();
                    }
                    if let (GroupKind::Wrapped, Some(owner)) = (&around.kind, around.owner)
                        && let Some(arguments) = shell_arguments(&self.line.commands[owner])
                    {
                        return vec![arguments];
                    }
                    group = around.at.group;
                }
            }
        }
        Vec::new()
    }

    /// Replaces the unknown words of `xargs` by the names from a known input.
    fn fill_in(&self, index: usize, readings: &mut Vec<Vec<Word>>) {
        let is_xargs = |index: &usize| {
            self.line.commands[*index]
                .program()
                .is_some_and(|name| matches!(name.as_str(), "xargs" | "parallel"))
        };
        let Some(xargs) = self.line.wrappers_of(index).take(AROUND).find(is_xargs) else { return };
        let Some(plain) = readings.first().cloned() else { return };
        for name in self.input(xargs).into_iter().filter(|name| name.len() <= LONGEST).take(READINGS) {
            let filled = plain.iter().map(|word| {
                let pieces = word.pieces().iter().map(|piece| match piece {
                    WordPiece::Unknown => WordPiece::Text(name.clone()),
                    other => other.clone(),
                });
                Word::new(pieces.collect(), crate::shell::WordExtent::One)
            });
            readings.push(filled.collect());
        }
    }

    /// The names that a command gets as its input, as far as they are known.
    pub(super) fn input(&self, index: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = self.line.commands[index].at;
        let around = std::iter::once(index).chain(self.line.wrappers_of(index).take(AROUND));
        around.for_each(|index| names.extend(self.documents(index)));
        for _ in 0..AROUND {
            if !names.is_empty() {
                break;
            }
            if let Some(before) = at.stage.checked_sub(1).and_then(|stage| self.stage(at.pipeline, stage)) {
                names.extend(self.printed(before));
                break;
            }
            let frames = self.frames.get(&at.group).map(Vec::as_slice).unwrap_or_default();
            frames.iter().for_each(|frame| names.extend(self.documents(*frame)));
            if at.group == 0 {
                break;
            }
            at = self.line.groups[at.group].at;
        }
        names
    }

    /// The words of here-documents.
    fn documents(&self, index: usize) -> Vec<String> {
        let redirects = self.line.commands[index].redirects.iter();
        let documents = redirects.filter(|to| to.kind == RedirectKind::Document);
        let texts = documents
            .filter(|to| to.target.marked().len() <= LONGEST * 4)
            .map(|to| self.known_text(&to.target));
        texts.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Output of a command that prints its own words.
    fn printed(&self, index: usize) -> Vec<String> {
        let mut names = self.documents(index);
        for words in self.readings.get(index).into_iter().flatten() {
            let Some(name) = super::floor::program(words) else { continue };
            let lists = words.iter().any(|word| word.start().starts_with("-") && word.start().contains('d'));
            let prints = matches!(name.as_str(), "echo" | "printf" | "yes" | "realpath" | "readlink" | "seq");
            if !(prints || name == "ls" && lists) {
                continue;
            }
            for word in words.iter().skip(1).filter(|word| !word.start().starts_with('-')) {
                let text = ["\\n", "\\t", "\\0", "\\x00", "%s", "%b"]
                    .iter()
                    .fold(self.known_text(word), |text, escape| text.replace(escape, " "));
                // Every name in a directory is as good as the directory.
                let has_glob = word.pieces().iter().any(|piece| matches!(piece, WordPiece::Glob(_)));
                let text =
                    text.strip_suffix('*').filter(|text| has_glob && text.ends_with('/')).unwrap_or(&text);
                names.extend(text.split_whitespace().map(str::to_owned));
            }
        }
        names
    }

    /// The text of a word with the home directory expanded; unknown parts stay marked.
    fn known_text(&self, word: &Word) -> String {
        let text = |piece: &WordPiece| match piece {
            WordPiece::Text(text) => text.clone(),
            WordPiece::Home => self.ground.home.unwrap_or("~").to_owned(),
            WordPiece::Glob(glob) => glob.clone(),
            WordPiece::Variable(_) | WordPiece::Unknown => UNKNOWN.to_string(),
        };
        word.pieces().iter().map(text).collect()
    }

    /// Takes note of what a command assigns.
    fn assign(&self, index: usize, variables: &mut HashMap<String, Vec<Word>>) {
        let command = &self.line.commands[index];
        if command.words.is_empty() || is_declaration(command) {
            if command.role == CommandRole::Frame {
                command.assignments.iter().for_each(|set| drop(variables.remove(set.name.as_str())));
            }
            for set in &command.assignments {
                let positional = self.positional(index);
                let values = Values { variables, positional: &positional };
                let found = readings(std::slice::from_ref(&quoted(&set.value)), &values);
                let known: Vec<Word> =
                    found.into_iter().flatten().filter(is_followed).take(READINGS).collect();
                match command.role {
                    CommandRole::Frame => variables.entry(set.name.clone()).or_default().extend(known),
                    _ => drop(variables.insert(set.name.clone(), known)),
                }
            }
            return;
        }
        let Some(words) = self.readings[index].first() else { return };
        match words.first().and_then(Word::text) {
            Some("set") => {
                let start = words.iter().position(|word| word.is("--")).map_or(1, |at| at + 1);
                let values: Vec<&Word> = words
                    .iter()
                    .skip(start)
                    .filter(|word| start > 1 || !word.start().starts_with(['-', '+']))
                    .collect();
                for (at, value) in values.iter().enumerate().take(READINGS) {
                    variables.insert((at + 1).to_string(), vec![(*value).clone()]);
                }
                let all = values.iter().map(|word| self.known_text(word)).collect::<Vec<_>>().join(" ");
                variables.insert("@".to_owned(), vec![Word::known(&all)]);
            }
            Some("read" | "mapfile" | "readarray") => {
                let names = words.iter().skip(1).filter_map(Word::text).filter(|name| !name.starts_with('-'));
                let input = self.input(index);
                let input: Vec<Word> = input
                    .iter()
                    .filter(|name| name.len() <= LONGEST)
                    .take(READINGS)
                    .map(|text| Word::known(text))
                    .collect();
                names.for_each(|name| drop(variables.insert(name.to_owned(), input.clone())));
            }
            _ => {}
        }
    }

    /// The words of a command, once for each value that its variables can have.
    pub(super) fn readings(&self, index: usize) -> &[Vec<Word>] {
        &self.readings[index]
    }

    /// The paths that a redirect of a command leads to.
    pub(super) fn target_paths(&self, index: usize, redirect: usize) -> Vec<String> {
        self.targets[index][redirect].iter().map(|word| self.path(index, word)).collect()
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

    /// The directory after the command, if it is one that changes it; none inside if it is unknown.
    fn changes_directory(&self, index: usize) -> Option<Option<Rc<str>>> {
        let command = &self.line.commands[index];
        if command.role != CommandRole::Plain {
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

    /// Removes redundant parts of a path; a relative one without a known directory stays relative.
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
                    // The parent of the home directory contains all homes.
                    parts = vec!["home"];
                    root = "/";
                }
                ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
                ".." if root == "/" => {}
                // Every process has a link to the root of its file system.
                "root" if root == "/" && matches!(parts.as_slice(), ["proc", _]) => parts.clear(),
                part => parts.push(part),
            }
        }
        let path = format!("{root}{}", parts.join("/"));
        let below = |path: &str, directory: Option<&str>, name: &str| {
            let directory = directory.map(|it| it.trim_end_matches('/')).filter(|it| !it.is_empty())?;
            let rest = path.strip_prefix(directory)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{name}{rest}"))
        };
        below(&path, self.ground.talaria, "~/.talaria")
            .or_else(|| below(&path, self.ground.home, "~"))
            .unwrap_or(path)
    }
}

/// Whether the path has an unknown part.
pub(super) fn is_open(path: &str) -> bool {
    path.contains(UNKNOWN)
}

fn directory_of(
    line: &ShellLine,
    scope: usize,
    scopes: &mut HashMap<usize, Option<Rc<str>>>,
) -> Option<Rc<str>> {
    // A separate process starts in the directory of the one around it.
    let mut around = scope;
    while !scopes.contains_key(&around) && around != 0 {
        around = line.groups[line.groups[around].at.group].scope;
    }
    let here = scopes.get(&around).cloned().flatten();
    scopes.insert(scope, here.clone());
    here
}

fn is_declaration(command: &SimpleCommand) -> bool {
    command
        .program()
        .is_some_and(|name| matches!(name.as_str(), "export" | "declare" | "typeset" | "local" | "readonly"))
}

/// The words after the text of `sh -c`: `$1` and what follows, without `$0`.
fn shell_arguments(owner: &SimpleCommand) -> Option<Vec<Word>> {
    let name = owner.program()?;
    if !matches!(name.as_str(), "sh" | "bash" | "zsh" | "dash" | "ksh" | "mksh" | "ash") {
        return None;
    }
    let is_text = |word: &Word| {
        word.start().starts_with('-') && !word.start().starts_with("--") && word.start().contains('c')
    };
    let text = owner.words.iter().skip(1).position(is_text)? + 2;
    Some(short(owner.words.get(text + 2..).unwrap_or_default()))
}

/// The first words, as far as they are worth following.
fn short(words: &[Word]) -> Vec<Word> {
    let mut budget = LONGEST;
    let is_short = |word: &&Word| {
        let length = word.marked().len() + 1;
        let fits = length <= budget;
        budget = budget.saturating_sub(length);
        fits
    };
    words.iter().take(READINGS).take_while(is_short).cloned().collect()
}

/// A value is not split when it is assigned.
fn quoted(value: &Word) -> Word {
    Word::new(value.pieces().to_vec(), crate::shell::WordExtent::One)
}

/// Is the value worth keeping: short, and nothing in it unknown but names of files?
fn is_followed(value: &Word) -> bool {
    let is_open = |piece: &WordPiece| matches!(piece, WordPiece::Variable(_) | WordPiece::Unknown);
    !value.pieces().iter().any(is_open) && value.marked().len() <= LONGEST
}

fn raw_path(word: &Word) -> String {
    let mut path = String::new();
    for piece in word.pieces() {
        match piece {
            WordPiece::Text(text) => {
                if path.is_empty() && text.starts_with('~') {
                    path.push_str("./");
                }
                path.extend(text.chars().map(|c| if c == '*' { PLAIN_STAR } else { c }));
            }
            WordPiece::Home => path.push('~'),
            WordPiece::Glob(glob) => path.push(if glob == "*" { '*' } else { '?' }),
            WordPiece::Variable(name) if name == "CODEX_HOME" => path.push_str("~/.codex"),
            WordPiece::Variable(name) if name == "TALARIA_HOME" => path.push_str("~/.talaria"),
            WordPiece::Variable(name) if name == "PWD" => path.push('.'),
            WordPiece::Variable(_) | WordPiece::Unknown => path.push(UNKNOWN),
        }
    }
    path
}
