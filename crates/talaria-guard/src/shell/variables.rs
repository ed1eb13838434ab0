//! Variables whose value some program runs.
//!
//! Owns the lists. A variable that a program reads as a command line is looked into; one that makes it load or run
//! something else is code. Variables that merely say where programs are found (`PATH`) are not here: they replace
//! programs by files, and the content of files is not seen. Called by `unwrap`.

use super::Assignment;
use super::word::Word;

/// Fate of the value.
pub(super) enum Run {
    /// It is a command line.
    Text(Word),
    /// It makes a program run something that cannot be read from it.
    Code,
}

const TEXT: &[&str] = &[
    "BROWSER",
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
    "RSYNC_RSH",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "SYSTEMD_PAGER",
    "VISUAL",
];

const CODE: &[&str] = &[
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_ENV",
    "DYLD_INSERT_LIBRARIES",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "LD_AUDIT",
    "LD_PRELOAD",
    "PERL5DB",
    "PERL5OPT",
    "PS4",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "ZDOTDIR",
    "aliases",
    "galiases",
    "functions",
];

/// Variables that are options of a program, with what in them runs something.
const OPTIONS: &[(&str, &[&str])] = &[
    ("NODE_OPTIONS", &["-r", "--require", "--import", "loader", "--eval"]),
    ("MAKEFLAGS", &["eval", "$(", "${", "SHELL", "-f", "-C"]),
    ("GNUMAKEFLAGS", &["eval", "$(", "${", "SHELL", "-f", "-C"]),
    ("JAVA_TOOL_OPTIONS", &["-agent", "-javaagent", "OnError", "OnOutOfMemory"]),
    ("LESS", &["+", "!"]),
    ("TAR_OPTIONS", &["-I", "--checkpoint", "--to-command", "--use-compress", "-F"]),
    ("RSYNC_OPTIONS", &["-e", "--rsh"]),
    ("FZF_DEFAULT_OPTS", &["execute", "become", "--preview", "--bind"]),
    ("PYTEST_ADDOPTS", &["-p", "-c", "--rootdir"]),
];

/// Programs that run because of an assignment.
pub(super) fn run_by(set: &Assignment) -> Option<Run> {
    let name = set.name.as_str();
    if TEXT.contains(&name) {
        // A value that is a path or a name alone starts a program; nothing at all starts none.
        return (!set.value.is("")).then(|| Run::Text(set.value.clone()));
    }
    let is_code = CODE.contains(&name)
        || name.starts_with("BASH_FUNC_")
        || name.starts_with("GIT_CONFIG_KEY_")
        || name.starts_with("GIT_CONFIG_VALUE_");
    let value = set.value.marked();
    let runs = |(known, parts): &(&str, &[&str])| {
        *known == name && (!set.value.is_settled() || parts.iter().any(|part| value.contains(part)))
    };
    (is_code || OPTIONS.iter().any(runs)).then_some(Run::Code)
}
