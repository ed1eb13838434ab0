//! Which rule to offer when a person says "always allow this".
//!
//! Owns for which programs a rule can be sensible at all. Never for one that runs its arguments, removes files, or
//! grants rights; then none is offered. An offered rule must itself allow the command. Called when a request is shown.

use super::{Ground, Place, Rule, RuleReach, RuleSubject, Rules, Verdict};
use crate::shell::{CommandRole, CommandText, SimpleCommand, Word, is_trusted, parse};

/// Programs with commands of their own: the first word after the name says what they do.
const WITH_COMMANDS: &[&str] = &[
    "apt",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "jj",
    "just",
    "kubectl",
    "mix",
    "mvn",
    "npm",
    "pnpm",
    "poetry",
    "rustup",
    "swift",
    "task",
    "terraform",
    "uv",
    "yarn",
];

/// Programs that are never offered: they run their arguments, remove files, or grant rights.
const NEVER: &[&str] = &[
    ".",
    "alias",
    "awk",
    "bash",
    "busybox",
    "cd",
    "chmod",
    "chown",
    "cp",
    "curl",
    "dash",
    "dd",
    "deno",
    "docker",
    "doas",
    "emacs",
    "env",
    "eval",
    "exec",
    "export",
    "find",
    "fish",
    "gawk",
    "gdb",
    "install",
    "ksh",
    "ln",
    "lua",
    "make",
    "mkfs",
    "mv",
    "nc",
    "ncat",
    "node",
    "nsenter",
    "parallel",
    "perl",
    "php",
    "pip",
    "pip3",
    "pkexec",
    "podman",
    "powershell",
    "pwsh",
    "python",
    "python2",
    "python3",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "scp",
    "sed",
    "sh",
    "shred",
    "source",
    "ssh",
    "su",
    "sudo",
    "systemctl",
    "tar",
    "tclsh",
    "tee",
    "toybox",
    "trap",
    "truncate",
    "unshare",
    "vim",
    "wget",
    "xargs",
    "zsh",
];

/// Words after the name that run whatever follows.
const RUNNERS: &[&str] =
    &["exec", "x", "dlx", "run", "shell", "eval", "alias", "config", "clean", "submodule"];

/// Proposes the text of an allow rule for a command, if one makes sense.
pub fn propose(line: &str) -> Option<String> {
    let parsed = parse(line).ok()?;
    let commands: Vec<&SimpleCommand> = parsed
        .commands
        .iter()
        .filter(|command| !matches!(command.role, CommandRole::Runner | CommandRole::Carrier))
        .collect();
    let [command] = commands.as_slice() else { return None };
    if command.role != CommandRole::Plain || !command.assignments.is_empty() {
        return None;
    }
    let words: Vec<&str> = command.words.iter().map(Word::text).collect::<Option<_>>()?;
    let (program, arguments) = words.split_first()?;
    let name = command.program()?;
    // A program that anyone can replace is as dangerous as an interpreter.
    let is_free = NEVER.contains(&name.as_str()) || name.starts_with("python") || !is_trusted(program);
    if is_free {
        return None;
    }
    let text = match arguments.first() {
        Some(verb) if WITH_COMMANDS.contains(&name.as_str()) && is_verb(verb) => match RUNNERS.contains(verb)
        {
            false => format!("{name} {verb} *"),
            // `npm run build` names a script of the project; without a name nothing is known.
            true if *verb == "run" && arguments.get(1).is_some_and(|script| is_verb(script)) => {
                format!("{name} run {} *", arguments[1])
            }
            true => return None,
        },
        _ => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    };
    let rule = Rule::allow(&text, RuleReach::Inside).ok()?;
    let rules = Rules { allow: vec![rule], ..Rules::default() };
    let subject = RuleSubject::Command { line: &CommandText::new(line), ground: Ground::default() };
    matches!(rules.judge(&subject, Place::Inside), Verdict::Allowed { .. }).then_some(text)
}

fn is_verb(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte))
}

/// A word as a pattern that is only itself.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@%+^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        let parts: Vec<String> = word.split('\'').map(|part| format!("'{part}'")).collect();
        parts.join("\\'")
    }
}
