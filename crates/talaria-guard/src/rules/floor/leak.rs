//! Sending keys or passwords over the network, within one line.
//!
//! Owns how a secret travels: through pipes, substitutions, variables, copies and redirects, from a program that reads
//! it to one that sends. Naming a secret is no leak (`ssh -i ~/.ssh/id_rsa host`), sending it is. Called by the floor.

use std::collections::{HashMap, HashSet};

use super::super::scene::Scene;
use super::secrets::{is_environment, is_secret};
use super::send::{self, Sender};
use super::tokens;
use crate::shell::{CommandRole, GroupKind, Redirect, RedirectKind, SimpleCommand, Word, WordPiece};

/// How often the line is gone through: each time a secret gets one copy further.
const ROUNDS: usize = 4;

/// Programs that show nothing of the files they are given.
const QUIET: &[&str] = &[
    "ls",
    "stat",
    "test",
    "[",
    "[[",
    "chmod",
    "chown",
    "rm",
    "mkdir",
    "touch",
    "ssh-add",
    "ssh-keygen",
    "file",
    "wc",
    "du",
    "git",
    "echo",
    "printf",
    "cd",
    "export",
    "md5sum",
    "sha256sum",
    "which",
    "realpath",
    "dirname",
    "basename",
    "gpg-agent",
    "eval",
];

/// Programs that write what they read into another of their operands.
const COPIERS: &[&str] = &[
    "cp", "mv", "ln", "install", "tar", "zip", "7z", "gzip", "bzip2", "xz", "zstd", "dd", "tee", "openssl",
    "gpg", "age", "rsync", "split", "base64", "xxd",
];

/// Would the line send a secret away?
pub(super) fn hits(scene: &Scene<'_>) -> bool {
    let commands = &scene.line.commands;
    let has_sender = commands.iter().any(|command| send::sender(command).is_some() || opens_network(command));
    if !has_sender {
        return false;
    }
    let mut flow = Flow::new(scene);
    for _ in 0..ROUNDS {
        flow.is_settled = true;
        (0..commands.len()).for_each(|index| flow.follow(index));
        if flow.is_settled {
            break;
        }
    }
    (0..commands.len()).any(|index| flow.sends(index))
}

/// What carries a secret, as far as it is known.
struct Flow<'a> {
    scene: &'a Scene<'a>,
    /// Commands that print a secret.
    prints: HashSet<usize>,
    /// Commands with a secret in their words or here-documents.
    words: HashSet<usize>,
    /// Groups whose input is a secret.
    inputs: HashSet<usize>,
    /// The first stage of a pipeline that prints a secret.
    stages: HashMap<usize, usize>,
    variables: HashSet<String>,
    files: HashSet<String>,
    /// Does a redirect of the line lead into the network?
    has_connection: bool,
    /// Does anything leave other than by a login on a machine of one's own?
    goes_to_others: bool,
    /// Has nothing been learned since it was last set?
    is_settled: bool,
}

impl<'a> Flow<'a> {
    fn new(scene: &'a Scene<'a>) -> Self {
        Self {
            scene,
            prints: HashSet::new(),
            words: HashSet::new(),
            inputs: HashSet::new(),
            stages: HashMap::new(),
            variables: HashSet::new(),
            files: HashSet::new(),
            has_connection: scene.line.commands.iter().any(opens_network),
            goes_to_others: scene.line.commands.iter().any(|command| {
                let sender = send::sender(command);
                opens_network(command) || sender.is_some_and(|it| !matches!(it, Sender::Copy | Sender::Shell))
            }),
            is_settled: false,
        }
    }

    fn command(&self, index: usize) -> &'a SimpleCommand {
        &self.scene.line.commands[index]
    }

    /// Takes note of what a command does with secrets.
    fn follow(&mut self, index: usize) {
        let command = self.command(index);
        let program = command.program().unwrap_or_default();
        if command.role == CommandRole::Frame && self.has_secret_input(index) {
            self.is_settled &= !self.inputs.insert(command.at.group);
        }
        let gets_words = self.gets_words(index);
        if gets_words {
            let names = command.assignments.iter().map(|set| set.name.as_str());
            names.for_each(|name| self.add_variable(name));
        }
        if matches!(program.as_str(), "read" | "mapfile" | "readarray") && self.gets_input(index) {
            let names = command.words.iter().skip(1).filter_map(Word::text);
            names.filter(|name| !name.starts_with('-')).for_each(|name| self.add_variable(name));
        }
        let shows = !QUIET.contains(&program.as_str()) && send::sender(command).is_none();
        let reads = shows && (self.names_secret(index) || self.gets_input(index))
            || dumps(command, &program)
            || self.prints_token(index, &program);
        let echoes = gets_words && send::sender(command).is_none() && !command.words.is_empty();
        if (reads || echoes) && self.prints.insert(index) {
            self.is_settled = false;
            self.spread(index);
            if COPIERS.contains(&program.as_str()) {
                let copies = command.words.iter().skip(1).filter(|word| !word.start().starts_with('-'));
                let copies: Vec<String> = copies.flat_map(|word| self.paths_in(index, word)).collect();
                self.files.extend(copies);
            }
        }
    }

    fn add_variable(&mut self, name: &str) {
        self.is_settled &= !self.variables.insert(name.to_owned());
    }

    /// Propagates the output of a command: along its pipeline, and into the surrounding word.
    fn spread(&mut self, index: usize) {
        let line = self.scene.line;
        let mut at = self.command(index).at;
        self.write_files(index);
        loop {
            let stage = self.stages.entry(at.pipeline).or_insert(at.stage);
            *stage = at.stage.min(*stage);
            let group = &line.groups[at.group];
            if at.group == 0 {
                return;
            }
            if let Some(owner) = group.owner {
                if group.kind == GroupKind::Substitution {
                    self.words.insert(owner);
                } else {
                    self.write_files(owner);
                }
            }
            at = group.at;
        }
    }

    fn write_files(&mut self, index: usize) {
        for (at, to) in self.command(index).redirects.iter().enumerate() {
            if to.kind == RedirectKind::Write {
                self.files.extend(self.scene.target_paths(index, at));
            }
        }
    }

    /// Would the command send a secret?
    fn sends(&self, index: usize) -> bool {
        let command = self.command(index);
        let around = || self.scene.line.wrappers_of(index);
        if opens_network(command)
            && (self.prints.contains(&index) || around().any(|i| self.prints.contains(&i)))
        {
            return true;
        }
        // A descriptor that an earlier `exec` connected.
        let is_other = |to: &Word| to.text().is_some_and(|text| !["1", "2", "-"].contains(&text));
        let uses_descriptor =
            command.redirects.iter().any(|to| to.kind == RedirectKind::Duplicate && is_other(&to.target));
        if uses_descriptor && self.has_connection && self.prints.contains(&index) {
            return true;
        }
        let Some(sender) = send::sender(command) else { return false };
        self.sends_key(index, sender)
            || self.gets_words(index)
            || around().any(|wrapper| self.words.contains(&wrapper))
            || self.gets_input(index) && (sender.takes_input(command) || self.is_fed_by_xargs(index))
            || self.scene.readings(index).iter().any(|words| {
                sender.files(words).iter().any(|word| self.is_hot(&self.scene.path(index, word)))
            })
    }

    fn is_fed_by_xargs(&self, index: usize) -> bool {
        self.scene
            .line
            .wrappers_of(index)
            .any(|wrapper| self.command(wrapper).program().as_deref() == Some("xargs"))
    }

    /// Does it print a token or a password into a pipe? In a word of another command it is what that one logs in with.
    fn prints_token(&self, index: usize, program: &str) -> bool {
        if !tokens::are_printed_by(self.command(index), program) {
            return false;
        }
        let line = self.scene.line;
        let mut group = self.command(index).at.group;
        while group != 0 {
            if line.groups[group].kind == GroupKind::Substitution {
                return false;
            }
            group = line.groups[group].at.group;
        }
        // `echo "$PASSWORD" | ssh host sudo -S …` logs in.
        !line.commands.iter().any(|command| send::sender(command) == Some(Sender::Shell))
    }

    /// Whether it sends only the value of a variable whose name denotes a key.
    fn sends_key(&self, index: usize, sender: Sender) -> bool {
        let command = self.command(index);
        let is_fed = |to: &Redirect| to.kind == RedirectKind::Document && tokens::is_key_alone(&to.target);
        sender != Sender::Shell
            && (sender.takes_input(command) && command.redirects.iter().any(is_fed)
                || sender.data(&command.words).iter().any(tokens::is_key_alone))
    }

    /// Is a secret among the words, by a substitution or a variable?
    fn gets_words(&self, index: usize) -> bool {
        let command = self.command(index);
        let holds = |word: &Word| {
            let is_hot = |piece: &WordPiece| matches!(piece, WordPiece::Variable(name) if self.variables.contains(name));
            word.pieces().iter().any(is_hot)
        };
        self.words.contains(&index)
            || command.words.iter().any(holds)
            || command.assignments.iter().any(|set| holds(&set.value))
            || command.redirects.iter().any(|to| to.kind == RedirectKind::Document && holds(&to.target))
    }

    /// Is the input a secret: from the pipeline, from a file, from what is around?
    fn gets_input(&self, index: usize) -> bool {
        let line = self.scene.line;
        if self.has_secret_input(index)
            || self.scene.line.wrappers_of(index).any(|wrapper| self.has_secret_input(wrapper))
        {
            return true;
        }
        let mut at = self.command(index).at;
        loop {
            if self.stages.get(&at.pipeline).is_some_and(|stage| *stage < at.stage)
                || self.inputs.contains(&at.group)
            {
                return true;
            }
            if at.group == 0 {
                return false;
            }
            at = line.groups[at.group].at;
        }
    }

    fn has_secret_input(&self, index: usize) -> bool {
        let is_hot = |path: &String| self.is_hot(path);
        let reads = |(at, to): (usize, &Redirect)| {
            matches!(to.kind, RedirectKind::Read | RedirectKind::ReadWrite)
                && self.scene.target_paths(index, at).iter().any(is_hot)
        };
        self.command(index).redirects.iter().enumerate().any(reads) || self.reads_list(index)
    }

    /// `xargs -a file`: the file takes the place of the input.
    fn reads_list(&self, index: usize) -> bool {
        let command = self.command(index);
        if command.program().as_deref() != Some("xargs") {
            return false;
        }
        let files = send::values_of(&command.words, &["-a", "--arg-file"]);
        files.iter().any(|word| self.is_hot(&self.scene.path(index, word)))
    }

    /// Is a secret file among the arguments?
    fn names_secret(&self, index: usize) -> bool {
        let words = self.scene.readings(index).iter().flat_map(|words| words.iter().skip(1));
        words.flat_map(|word| self.paths_in(index, word)).any(|path| self.is_hot(&path))
    }

    /// The paths in a word: the word itself, and what follows a `=`, `@` or `:` in it.
    fn paths_in(&self, index: usize, word: &Word) -> Vec<String> {
        let after = ['=', '@', ':'].into_iter().filter_map(|sign| send::after(word, sign));
        std::iter::once(word.clone()).chain(after).map(|word| self.scene.path(index, &word)).collect()
    }

    fn is_hot(&self, path: &str) -> bool {
        is_secret(path)
            || self.goes_to_others && is_environment(path)
            || self.files.contains(path)
            || path.match_indices('/').any(|(end, _)| end > 0 && self.files.contains(&path[..end]))
    }
}

/// Does it print every variable of the environment, a whole keychain, or a secret as a URL?
fn dumps(command: &SimpleCommand, program: &str) -> bool {
    let argument = command.words.get(1).and_then(Word::text);
    match program {
        "env" | "printenv" | "set" => command.words.len() == 1,
        "export" | "declare" => argument == Some("-p"),
        "security" => matches!(argument, Some("dump-keychain" | "export")),
        "curl" | "wget" => {
            command.words.iter().any(|word| word.start().strip_prefix("file://").is_some_and(is_secret))
        }
        _ => false,
    }
}

/// Does a redirect lead into the network, as bash can do by itself?
fn opens_network(command: &SimpleCommand) -> bool {
    command.redirects.iter().any(|to| {
        let path = to.target.start();
        path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
    })
}
