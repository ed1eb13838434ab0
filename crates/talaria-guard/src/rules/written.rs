//! What deny rules cannot see: code, commands that only the running shell knows, and files that the line writes and runs.
//!
//! Owns which programs write which of their words, and which words a program runs as a script. A script that exists
//! already is accepted without being read; one that the line itself makes is part of the line. Called by `rules`, where deny
//! rules exist.

use std::collections::HashSet;

use super::Unseen;
use super::scene::{Scene, is_open};
use crate::shell::{CommandRole, RedirectKind, Word, is_interpreter};

/// Programs whose last operand is written.
const LAST: &[&str] = &["cp", "mv", "ln", "install", "gcp", "gmv", "scp", "rsync"];

/// Programs all of whose operands are written.
const ALL: &[&str] = &["tee", "sponge", "truncate", "touch", "patch"];

/// Options whose value is a file that is written.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (&["curl"], &["-o", "--output"]),
    (&["wget", "wget2"], &["-O", "--output-document"]),
    (&["sort", "gsort"], &["-o", "--output"]),
    (&["find", "gfind"], &["-fprint", "-fprint0", "-fprintf", "-fls"]),
    (&["git"], &["--output", "-o"]),
    (&["openssl", "gpg", "age", "base64", "xxd", "uudecode"], &["-out", "-o", "--output"]),
];

/// Programs that run a file which is named by an option.
const RUN_BY_OPTION: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["-f", "--file", "--makefile"]),
    (&["awk", "gawk", "mawk", "nawk", "sed", "gsed"], &["-f", "--file", "-E", "--exec"]),
    (&["just", "ninja", "task"], &["-f", "--justfile", "-t"]),
    (&["psql", "gdb", "vim", "nvim", "vi", "ex", "emacs"], &["-f", "-x", "-S", "-s", "-u", "-l"]),
    (&["cargo"], &["--manifest-path", "--config"]),
    (&["crontab", "at"], &["-f"]),
];

/// Programs that make a file executable: their arguments count as run.
const COMPILERS: &[&str] =
    &["gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "go", "tcc", "ghc", "javac", "zig"];

/// Files that are run because of where they are.
const RUN_BY_PLACE: &[&str] = &[
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "build.rs",
    "package.json",
    "conftest.py",
    "setup.py",
];

/// What in the line deny rules cannot see, if anything.
pub(super) fn unseen(scene: &Scene<'_>) -> Option<Unseen> {
    let has = |role: CommandRole| scene.line.commands.iter().any(|command| command.role == role);
    if has(CommandRole::Code) {
        return Some(Unseen::Code);
    }
    if has(CommandRole::Unknown) {
        return Some(Unseen::Commands);
    }
    runs_what_it_writes(scene).then_some(Unseen::Written)
}

fn runs_what_it_writes(scene: &Scene<'_>) -> bool {
    let count = scene.line.commands.len();
    let written: HashSet<String> = (0..count).flat_map(|index| files_written(scene, index)).collect();
    if written.is_empty() {
        return false;
    }
    // A file whose name is not known may be any of those that are run.
    let is_any = written.iter().any(|file| is_open(file));
    let is_written = |file: String| {
        let is_inside = |(end, _): (usize, &str)| end > 0 && written.contains(&file[..end]);
        is_any || written.contains(&file) || file.match_indices('/').any(is_inside)
    };
    (0..count).flat_map(|index| files_run(scene, index)).any(is_written) || places_run(scene, &written)
}

/// `make` after a makefile was written, `cargo` after a build script.
fn places_run(scene: &Scene<'_>, written: &HashSet<String>) -> bool {
    let runs = |name: &str| {
        matches!(name, "make" | "gmake" | "just" | "cargo" | "npm" | "yarn" | "pnpm" | "pytest" | "pip")
    };
    let has_builder =
        scene.line.commands.iter().any(|command| command.program().is_some_and(|name| runs(&name)));
    has_builder
        && written.iter().any(|file| file.rsplit('/').next().is_some_and(|name| RUN_BY_PLACE.contains(&name)))
}

fn files_written(scene: &Scene<'_>, index: usize) -> Vec<String> {
    let command = &scene.line.commands[index];
    let mut files: Vec<String> = command
        .redirects
        .iter()
        .enumerate()
        .filter(|(_, to)| matches!(to.kind, RedirectKind::Write | RedirectKind::ReadWrite))
        .filter(|(_, to)| !to.target.start().starts_with("/dev/"))
        .flat_map(|(at, _)| scene.target_paths(index, at))
        .collect();
    for words in scene.readings(index) {
        let Some(name) = super::floor::program(words) else { continue };
        let arguments = words.get(1..).unwrap_or_default();
        let operands: Vec<&Word> = arguments.iter().filter(|word| !word.start().starts_with('-')).collect();
        if LAST.contains(&name.as_str())
            && let [.., last] = operands.as_slice()
            && operands.len() > 1
        {
            files.push(scene.path(index, last));
            // Into a directory: the name is kept.
            for source in &operands[..operands.len() - 1] {
                let base = source.start().rsplit('/').next().unwrap_or_default().to_owned();
                files.push(format!("{}/{base}", scene.path(index, last)));
            }
        }
        if ALL.contains(&name.as_str()) {
            files.extend(operands.iter().map(|word| scene.path(index, word)));
        }
        if matches!(name.as_str(), "sed" | "gsed" | "perl")
            && arguments
                .iter()
                .any(|word| word.start().starts_with("-i") || word.start().starts_with("--in-place"))
        {
            files.extend(operands.iter().map(|word| scene.path(index, word)));
        }
        if name == "dd" {
            let target = arguments.iter().find(|word| word.start().starts_with("of="));
            files.extend(target.map(|word| scene.path(index, &word.without_start(3))));
        }
        for (_, options) in OPTIONS.iter().filter(|(names, _)| names.contains(&name.as_str())) {
            files.extend(option_values(arguments, options).iter().map(|word| scene.path(index, word)));
        }
        // Downloads keep the name that the address ends in.
        let keeps_name = name.starts_with("wget") || name == "curl" && arguments.iter().any(is_remote_name);
        if keeps_name {
            let base = |word: &&Word| {
                let address = word.start().split(['?', '#']).next().unwrap_or_default();
                Word::known(address.rsplit('/').next().unwrap_or_default())
            };
            files.extend(operands.iter().map(base).map(|word| scene.path(index, &word)));
        }
    }
    files
}

fn is_remote_name(word: &Word) -> bool {
    let start = word.start();
    start == "--remote-name" || start.starts_with('-') && !start.starts_with("--") && start.contains('O')
}

/// The files that a command runs: itself, the script of a shell or an interpreter, a file named by an option.
fn files_run(scene: &Scene<'_>, index: usize) -> Vec<String> {
    let command = &scene.line.commands[index];
    if matches!(command.role, CommandRole::Frame | CommandRole::Unknown | CommandRole::Code) {
        return Vec::new();
    }
    let mut files = Vec::new();
    for words in scene.readings(index) {
        let Some(first) = words.first() else { continue };
        let Some(name) = super::floor::program(words) else { continue };
        if first.start().contains('/') {
            files.push(scene.path(index, first));
        }
        let arguments = words.get(1..).unwrap_or_default();
        if COMPILERS.contains(&name.as_str()) {
            files.extend(arguments.iter().map(|word| scene.path(index, word)));
        }
        if is_shell(&name) || is_interpreter(&name) {
            // The first operand is the script; a word before it may be the value of an option.
            let options = usize::from(arguments.first().is_some_and(|word| word.start().starts_with('-')));
            let operands = arguments.iter().filter(|word| !word.start().starts_with('-')).take(1 + options);
            files.extend(operands.map(|word| scene.path(index, word)));
        }
        for (_, options) in RUN_BY_OPTION.iter().filter(|(names, _)| names.contains(&name.as_str())) {
            files.extend(option_values(arguments, options).iter().map(|word| scene.path(index, word)));
        }
    }
    // Variables that name a script: `BASH_ENV=./s bash`.
    let named = command.assignments.iter().filter(|set| matches!(set.name.as_str(), "BASH_ENV" | "ENV"));
    files.extend(named.map(|set| scene.path(index, &set.value)));
    files
}

fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "mksh"
            | "ash"
            | "fish"
            | "source"
            | "."
            | "csh"
            | "tcsh"
            | "rbash"
    )
}

/// The values of options, in the next word, after a `=`, or joined to a letter.
fn option_values(arguments: &[Word], options: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let start = word.start();
        for option in options {
            let is_letter = option.len() == 2;
            if start == *option && word.is_settled() {
                found.extend(arguments.get(at + 1).cloned());
            } else if let Some(rest) = start.strip_prefix(option)
                && (is_letter || rest.starts_with('='))
            {
                found.push(word.without_start(option.len() + usize::from(!is_letter)));
            } else if is_letter
                && !start.starts_with("--")
                && start.starts_with('-')
                && start.ends_with(&option[1..])
            {
                // At the end of joined letters.
                found.extend(arguments.get(at + 1).cloned());
            }
        }
    }
    found
}
