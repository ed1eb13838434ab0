//! The programs that start other programs: where in their words the other one begins.
//!
//! Decides, for each, whether it only starts the other one (a carrier), changes what it may do or gets (a wrapper,
//! which an allow rule must name), or is a command in its own right that also runs others (plain). An option that is
//! not in the table makes a carrier a wrapper. To add one: a line in `starters`, or a function in `plan` if its words
//! follow no pattern. Called by `unwrap`.

use super::lexed::is_name;
use super::starters::SPECS;
use super::word::{Word, WordExtent, WordPiece};
use super::{CommandRole, code, git, runs, wrapped};

/// Commands started by a command.
pub(super) struct Plan {
    pub(super) role: CommandRole,
    pub(super) inner: Vec<Inner>,
    /// May there be other commands than `inner` says?
    pub(super) is_doubtful: bool,
    /// Could an argument that is not known make it start something?
    pub(super) hides_effects: bool,
    pub(super) is_shell: bool,
    /// Does what it starts run in the shell itself?
    pub(super) shares_scope: bool,
    pub(super) assignments: Vec<(String, Word)>,
    pub(super) directory: Option<Word>,
    pub(super) nicknames: Vec<Nickname>,
}

/// A command started by a wrapper.
pub(super) enum Inner {
    /// A program with its arguments.
    Words(Vec<Word>),
    /// Text for a shell, the words joined by blanks.
    Text(Vec<Word>),
    /// Text that may be an incomplete command, or in another shell's language: the understood parts count.
    Loose(Vec<Word>),
    /// Anything from its input.
    Input,
    /// Code that this reader does not understand: another language, or a command in a place that hides it.
    Code,
}

/// A name that the line assigns to a command: `alias g=git`, `hash -p /usr/bin/git g`.
pub(super) struct Nickname {
    pub(super) name: String,
    pub(super) value: Word,
}

impl Plan {
    pub(super) fn new(role: CommandRole, inner: Vec<Inner>) -> Self {
        Self {
            role,
            inner,
            is_doubtful: false,
            hides_effects: false,
            is_shell: false,
            shares_scope: false,
            assignments: Vec::new(),
            directory: None,
            nicknames: Vec::new(),
        }
    }
}

/// Directories whose programs cannot be replaced without privileges.
const STANDARD: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
];

/// Says what the command with these words starts, if it starts another one.
pub(super) fn plan(words: &[Word]) -> Option<Plan> {
    let program = words.first()?.text()?;
    let name = program.rsplit('/').next().unwrap_or(program).to_ascii_lowercase();
    let mut plan = match name.as_str() {
        "env" => wrapped::env(words),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "mksh" | "ash" | "rbash" | "yash" => wrapped::shell(words),
        "fish" | "csh" | "tcsh" | "pwsh" | "powershell" | "nu" | "elvish" | "xonsh" => {
            wrapped::foreign(words)
        }
        "source" | "." => wrapped::source(words),
        "busybox" | "toybox" => (words.len() > 1)
            .then(|| Plan::new(CommandRole::Carrier, vec![Inner::Words(words[1..].to_vec())])),
        "eval" => {
            (words.len() > 1).then(|| Plan::new(CommandRole::Carrier, vec![Inner::Text(words[1..].to_vec())]))
        }
        "su" | "runuser" | "sg" => wrapped::su(words),
        "script" => wrapped::script(words),
        "watch" => wrapped::watch(words),
        "flock" => wrapped::flock(words),
        "ssh" => wrapped::ssh(words),
        "trap" => wrapped::trap(words),
        "alias" => wrapped::alias(words),
        "hash" => wrapped::hash(words),
        "setarch" | "linux32" | "linux64" | "i386" | "x86_64" | "uname26" => wrapped::setarch(&name, words),
        "tar" | "gtar" | "bsdtar" => runs::tar(words),
        "make" | "gmake" => runs::make(words),
        "sed" | "gsed" => runs::sed(words),
        "socat" => runs::socat(words),
        "vim" | "vi" | "nvim" | "view" | "vimdiff" | "ex" | "rvim" | "gvim" => runs::vim(words),
        "git" => git::runs(words),
        "find" => wrapped::find(words),
        "xargs" => wrapped::xargs(words),
        "parallel" | "sem" => wrapped::parallel(words),
        "genv" => wrapped::env(words),
        name if name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so") => {
            wrapped::loader(words)
        }
        name if name.starts_with("git-") => git::split_program(name, words),
        name if code::is_interpreter(name) => code::interpreter(name, words),
        name => from_table(name, words)
            .filter(|_| name != "npx" || !words.iter().any(|word| word.is("-c")))
            .or_else(|| runs::by_option(name, words)),
    }?;
    if matches!(
        name.as_str(),
        "eval" | "command" | "builtin" | "exec" | "noglob" | "nocorrect" | "." | "source"
    ) {
        plan.shares_scope = true;
    }
    if plan.role == CommandRole::Carrier && !is_trusted(program) {
        plan.role = CommandRole::Wrapper;
    }
    Some(plan)
}

/// Does a command with these words only start another one, which is then looked at in its place?
pub(crate) fn is_carrier(words: &[Word]) -> bool {
    plan(words).is_some_and(|plan| plan.role == CommandRole::Carrier)
}

/// Returns whether it is a bare name or in a directory of system programs.
pub(crate) fn is_trusted(program: &str) -> bool {
    match program.rsplit_once('/') {
        None => true,
        Some((directory, _)) => STANDARD.contains(&directory),
    }
}

fn from_table(name: &str, words: &[Word]) -> Option<Plan> {
    let spec = SPECS.iter().find(|spec| spec.names.contains(&name))?;
    let found = spec.options.read(words, 1);
    if name == "command" && found.value(&["v", "V"]).is_some() {
        return None;
    }
    let (assignments, next) = match name {
        "sudo" | "time" => assignments(words, found.next),
        _ => (Vec::new(), found.next),
    };
    // Nothing but what looks like assignments is, after `time`, a command with a strange name.
    let next = if next == words.len() { found.next } else { next } + spec.operands;
    let operands = words.get(found.next..next).unwrap_or_default();
    let inner = words.get(next..).filter(|inner| !inner.is_empty())?;
    let role = if found.has_unknown { CommandRole::Wrapper } else { spec.role };
    let mut plan = Plan::new(role, vec![Inner::Words(inner.to_vec())]);
    plan.is_doubtful = found.is_doubtful || operands.iter().any(|word| word.extent() == WordExtent::Many);
    plan.directory = found.value(&["D", "chdir", "working-directory", "wd"]).cloned();
    plan.assignments = assignments;
    Some(plan)
}

/// Reads `NAME=value` words from `first` on.
pub(super) fn assignments(words: &[Word], first: usize) -> (Vec<(String, Word)>, usize) {
    let mut found = Vec::new();
    let mut next = first;
    while let Some(word) = words.get(next)
        && let Some((name, _)) = word.start().split_once('=')
        && is_name(name)
    {
        found.push((name.to_owned(), word.without_start(name.len() + 1)));
        next += 1;
    }
    (found, next)
}

/// Whether a word could become an option or a command, other than file names.
pub(super) fn has_open_words(words: &[Word]) -> bool {
    let is_file = |word: &Word| word.pieces().iter().any(|piece| matches!(piece, WordPiece::Glob(_)));
    words.iter().any(|word| word.extent() == WordExtent::Many && !is_file(word))
}
