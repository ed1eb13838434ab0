//! Decides when a line may run without a question.
//!
//! Owns the conditions besides the words: nothing unknown, nothing written, no variable set that changes what programs
//! do, no option that writes or runs something unless the rule names it (`hazards`). Each command of the line needs a
//! rule; a program that only starts another needs none for itself, and a program that a command starts by an option
//! named in its rule is covered by that rule. In doubt the answer is no. Called by `rules`.

use std::collections::HashSet;

use super::hazards::hazards;
use super::{Place, Rule, RuleReach};
use crate::shell::{CommandRole, Redirect, RedirectKind, ShellLine, SimpleCommand, Word};

/// Variables that change how something looks or how much is said, not what runs.
const HARMLESS: &[&str] = &[
    "CI",
    "CARGO_TERM_COLOR",
    "CGO_ENABLED",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "FORCE_COLOR",
    "GOARCH",
    "GOOS",
    "INSTA_UPDATE",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "PROPTEST_CASES",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "SOURCE_DATE_EPOCH",
    "TZ",
    "UPDATE_EXPECT",
    "VERBOSE",
];

/// Variables in small letters that programs or shells look at all the same.
const HARMFUL: &[&str] =
    &["path", "fpath", "cdpath", "manpath", "mailpath", "module_path", "prompt", "psvar", "argv"];

/// Commands of the shell that evaluate an index, `a[…]`, and with it any command.
const EVALUATING: &[&str] = &[
    "test",
    "[",
    "[[",
    "printf",
    "read",
    "unset",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "wait",
    "mapfile",
    "readarray",
    "getopts",
];

/// The rules that together let the line run, or none.
pub(super) fn permits<'r>(
    rules: &'r [Rule],
    line: &ShellLine,
    place: Place,
    home: Option<&str>,
) -> Option<Vec<&'r Rule>> {
    if line.has_hidden_effects {
        return None;
    }
    let applies = |rule: &&Rule| place == Place::Inside || rule.reach == RuleReach::Anywhere;
    let mut used: Vec<&Rule> = Vec::new();
    // Commands that run others by an option which their rule names.
    let mut covering: HashSet<usize> = HashSet::new();
    for (index, command) in line.commands.iter().enumerate() {
        if line.wrappers_of(index).any(|owner| covering.contains(&owner)) {
            continue;
        }
        match command.role {
            CommandRole::Unknown | CommandRole::Code => return None,
            CommandRole::Runner | CommandRole::Carrier | CommandRole::Frame => {
                if !is_harmless(command, None, home) {
                    return None;
                }
            }
            CommandRole::Plain | CommandRole::Wrapper if command.words.is_empty() => {
                if !is_harmless(command, None, home) {
                    return None;
                }
            }
            CommandRole::Plain | CommandRole::Wrapper => {
                let hazards = hazards(&command.words);
                let names = |rule: &Rule| {
                    rule.pattern()
                        .is_some_and(|pattern| hazards.iter().all(|it| pattern.names(it.at, it.length)))
                };
                let fits = |rule: &&Rule| {
                    is_harmless(command, Some(rule), home) && rule.must_fit(command, home) && names(rule)
                };
                let rule = rules.iter().filter(applies).find(fits)?;
                if command.role == CommandRole::Plain
                    && (!hazards.is_empty() || !command.assignments.is_empty())
                {
                    covering.insert(index);
                }
                if !used.iter().any(|other| std::ptr::eq(*other, rule)) {
                    used.push(rule);
                }
            }
        }
    }
    (!used.is_empty()).then_some(used)
}

/// Returns whether everything around the words is without consequences or allowed by the rule.
fn is_harmless(command: &SimpleCommand, rule: Option<&Rule>, home: Option<&str>) -> bool {
    let pattern = rule.and_then(Rule::pattern);
    let lets_assign = |name: &str, value: &Word| {
        is_harmless_name(name) || pattern.is_some_and(|pattern| pattern.lets_assign(name, value, home))
    };
    let lets_redirect = |to: &Redirect| match to.kind {
        RedirectKind::Document | RedirectKind::Duplicate => true,
        RedirectKind::Read => is_plain_file(&to.target),
        RedirectKind::Write | RedirectKind::ReadWrite => {
            is_nowhere(&to.target) || pattern.is_some_and(|pattern| pattern.lets_write(&to.target, home))
        }
    };
    command.assignments.iter().all(|set| lets_assign(&set.name, &set.value))
        && command.redirects.iter().all(lets_redirect)
        && !evaluates(command)
}

fn is_harmless_name(name: &str) -> bool {
    let is_small =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let is_own = is_small
        && !HARMFUL.contains(&name)
        && !name.starts_with('_')
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_")
        && !name.starts_with("pip_");
    name.len() == 1 && name != "_" || is_own || HARMLESS.contains(&name) || name.starts_with("LC_")
}

fn is_nowhere(target: &Word) -> bool {
    ["/dev/null", "/dev/stdout", "/dev/stderr"].iter().any(|file| target.is(file))
}

/// Bash opens a connection where it reads or writes these.
fn is_plain_file(target: &Word) -> bool {
    let start = target.start();
    target.is_settled() && !start.starts_with("/dev/tcp") && !start.starts_with("/dev/udp")
}

fn evaluates(command: &SimpleCommand) -> bool {
    let Some(program) = command.program() else { return false };
    EVALUATING.contains(&program.as_str())
        && (program == "let" || command.words.iter().skip(1).any(|word| word.marked().contains('[')))
}
