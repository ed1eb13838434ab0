//! The programs that start other programs: where in their words the other one begins.
//!
//! Owns the table and, for each, whether it only starts the other one (a carrier) or changes what it may do or gets
//! (a wrapper), which an allow rule must name. An option that is not in the table makes a carrier a wrapper. To add
//! one: a line in `SPECS`, or a function in `plan` if its words follow no pattern. Called by `unwrap`.

use super::lexed::is_name;
use super::options::Options;
use super::word::{Extent, Piece, Word};
use super::{Role, wrapped};

/// What a command starts.
pub(super) struct Plan {
    pub(super) role: Role,
    pub(super) inner: Vec<Inner>,
    /// May there be other commands than `inner` says?
    pub(super) is_doubtful: bool,
    /// Could an argument that is not known make it start something?
    pub(super) hides_effects: bool,
    /// Is it a shell?
    pub(super) is_shell: bool,
    /// Does what it starts run in the shell itself?
    pub(super) shares_scope: bool,
    pub(super) assignments: Vec<(String, Word)>,
    pub(super) directory: Option<Word>,
}

/// What a wrapper starts.
pub(super) enum Inner {
    /// A program with its arguments.
    Words(Vec<Word>),
    /// Text for a shell, the words joined by blanks.
    Text(Vec<Word>),
    /// Text that may be no whole command, or of another shell's language: what is understood of it counts.
    Loose(Vec<Word>),
    /// Whatever comes from its input.
    Input,
}

impl Plan {
    pub(super) fn new(role: Role, inner: Vec<Inner>) -> Self {
        Self {
            role,
            inner,
            is_doubtful: false,
            hides_effects: false,
            is_shell: false,
            shares_scope: false,
            assignments: Vec::new(),
            directory: None,
        }
    }
}

/// A program whose options come first, then some operands, then the other program.
struct Spec {
    names: &'static [&'static str],
    role: Role,
    options: Options,
    operands: usize,
}

const NONE: &[&str] = &[];

const fn carrier(
    names: &'static [&'static str],
    flags: &'static str,
    values: &'static str,
    long_flags: &'static [&'static str],
    long_values: &'static [&'static str],
    operands: usize,
) -> Spec {
    Spec { names, role: Role::Carrier, options: Options { flags, values, long_flags, long_values }, operands }
}

const fn wrapper(
    names: &'static [&'static str],
    values: &'static str,
    long_values: &'static [&'static str],
    operands: usize,
) -> Spec {
    let options = Options { flags: "", values, long_flags: NONE, long_values };
    Spec { names, role: Role::Wrapper, options, operands }
}

const SPECS: &[Spec] = &[
    carrier(&["nohup", "builtin", "noglob", "nocorrect"], "", "", NONE, NONE, 0),
    carrier(&["command"], "p", "", NONE, NONE, 0),
    carrier(&["exec"], "cl", "a", NONE, NONE, 0),
    carrier(&["setsid"], "cfw", "", &["ctty", "fork", "wait"], NONE, 0),
    carrier(&["nice"], "0123456789", "n", NONE, &["adjustment"], 0),
    carrier(&["ionice"], "t", "cn", &["ignore"], &["class", "classdata"], 0),
    carrier(&["time"], "pvl", "f", &["portability", "verbose"], &["format"], 0),
    carrier(
        &["timeout"],
        "fpv",
        "sk",
        &["preserve-status", "foreground", "verbose"],
        &["signal", "kill-after"],
        1,
    ),
    carrier(&["stdbuf"], "", "ioe", NONE, &["input", "output", "error"], 0),
    carrier(&["taskset"], "ac", "", &["all-tasks", "cpu-list"], NONE, 1),
    carrier(&["chrt"], "abdfimoRv", "TPD", NONE, NONE, 1),
    carrier(&["caffeinate"], "disum", "tw", NONE, NONE, 0),
    carrier(&["repeat"], "", "", NONE, NONE, 1),
    wrapper(
        &["sudo"],
        "ugChpDRrTtU",
        &[
            "user",
            "group",
            "close-from",
            "host",
            "prompt",
            "chdir",
            "chroot",
            "role",
            "command-timeout",
            "type",
            "other-user",
        ],
        0,
    ),
    wrapper(&["doas"], "uC", NONE, 0),
    wrapper(&["pkexec"], "", &["user"], 0),
    wrapper(&["gosu", "su-exec"], "", NONE, 1),
    wrapper(&["chroot"], "", &["userspec", "groups"], 1),
    wrapper(&["nsenter"], "tSGW", &["target", "setuid", "setgid", "wdns"], 0),
    wrapper(
        &["unshare"],
        "SGRw",
        &[
            "setuid",
            "setgid",
            "root",
            "wd",
            "map-user",
            "map-group",
            "map-users",
            "map-groups",
            "propagation",
            "setgroups",
            "monotonic",
            "boottime",
        ],
        0,
    ),
    wrapper(
        &["setpriv"],
        "",
        &[
            "reuid",
            "regid",
            "ruid",
            "euid",
            "rgid",
            "egid",
            "groups",
            "inh-caps",
            "ambient-caps",
            "bounding-set",
        ],
        0,
    ),
    wrapper(&["fakeroot"], "lsib", &["lib", "faked"], 0),
    wrapper(&["strace", "ltrace"], "aeEIoOpPsSuX", NONE, 0),
    wrapper(
        &["systemd-run"],
        "EHMptu",
        &[
            "property",
            "setenv",
            "unit",
            "machine",
            "host",
            "uid",
            "gid",
            "slice",
            "description",
            "working-directory",
        ],
        0,
    ),
    wrapper(&["unbuffer", "torsocks", "xvfb-run", "dbus-run-session"], "", NONE, 0),
];

/// Where programs stand that nobody replaces without rights.
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
        "busybox" | "toybox" => {
            (words.len() > 1).then(|| Plan::new(Role::Carrier, vec![Inner::Words(words[1..].to_vec())]))
        }
        "eval" => (words.len() > 1).then(|| Plan::new(Role::Carrier, vec![Inner::Text(words[1..].to_vec())])),
        "su" | "runuser" | "sg" => wrapped::su(words),
        "script" => wrapped::script(words),
        "watch" => wrapped::watch(words),
        "flock" => wrapped::flock(words),
        "ssh" => wrapped::ssh(words),
        "trap" => wrapped::trap(words),
        "alias" => wrapped::alias(words),
        "find" => wrapped::find(words),
        "xargs" => wrapped::xargs(words),
        _ => from_table(&name, words),
    }?;
    if matches!(
        name.as_str(),
        "eval" | "command" | "builtin" | "exec" | "noglob" | "nocorrect" | "." | "source"
    ) {
        plan.shares_scope = true;
    }
    if plan.role == Role::Carrier && !is_trusted(program) {
        plan.role = Role::Wrapper;
    }
    Some(plan)
}

/// Does a command with these words only start another one, which is then looked at in its place?
pub(crate) fn is_carrier(words: &[Word]) -> bool {
    plan(words).is_some_and(|plan| plan.role == Role::Carrier)
}

/// Is it a bare name, or does it stand where only the system puts programs?
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
    let role = if found.has_unknown { Role::Wrapper } else { spec.role };
    let mut plan = Plan::new(role, vec![Inner::Words(inner.to_vec())]);
    plan.is_doubtful = found.is_doubtful || operands.iter().any(|word| word.extent() == Extent::Many);
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

/// Is there a word that could become an option or a command, other than names of files?
pub(super) fn has_open_words(words: &[Word]) -> bool {
    let is_file = |word: &Word| word.pieces().iter().any(|piece| matches!(piece, Piece::Glob(_)));
    words.iter().any(|word| word.extent() == Extent::Many && !is_file(word))
}
