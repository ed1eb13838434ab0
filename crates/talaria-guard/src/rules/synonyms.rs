//! Options with several names: which short and long forms mean the same, program by program.
//!
//! Data and its look-up alone. A program that is not in the table is read with suspicion: a letter may then mean any
//! long option that begins with it. To add a program: its lines in `GROUPS`, one for each option that has several
//! names. Called by `spelling`.

/// Names of one option: a program, git's or another program's own command (empty for all), the names.
type Group = (&'static str, &'static str, &'static [&'static str]);

const GROUPS: &[Group] = &[
    ("rm", "", &["r", "R", "recursive"]),
    ("rm", "", &["f", "force"]),
    ("rm", "", &["d", "dir"]),
    ("rm", "", &["v", "verbose"]),
    ("rm", "", &["I", "interactive"]),
    ("rmdir", "", &["p", "parents"]),
    ("cp", "", &["r", "R", "recursive", "a", "archive"]),
    ("cp", "", &["f", "force"]),
    ("cp", "", &["n", "no-clobber"]),
    ("cp", "", &["t", "target-directory"]),
    ("mv", "", &["f", "force"]),
    ("mv", "", &["t", "target-directory"]),
    ("ln", "", &["s", "symbolic"]),
    ("ln", "", &["f", "force"]),
    ("chmod", "", &["R", "recursive"]),
    ("chown", "", &["R", "recursive"]),
    ("chgrp", "", &["R", "recursive"]),
    ("mkdir", "", &["p", "parents"]),
    ("mkdir", "", &["m", "mode"]),
    ("ls", "", &["a", "all"]),
    ("ls", "", &["R", "recursive"]),
    ("tee", "", &["a", "append"]),
    ("sed", "", &["i", "in-place"]),
    ("sed", "", &["n", "quiet", "silent"]),
    ("sed", "", &["e", "expression"]),
    ("sort", "", &["o", "output"]),
    ("grep", "", &["r", "R", "recursive", "dereference-recursive"]),
    ("tar", "", &["x", "extract", "get"]),
    ("tar", "", &["c", "create"]),
    ("tar", "", &["t", "list"]),
    ("tar", "", &["C", "directory"]),
    ("tar", "", &["f", "file"]),
    ("rsync", "", &["r", "recursive", "a", "archive"]),
    ("rsync", "", &["n", "dry-run"]),
    ("rsync", "", &["e", "rsh"]),
    ("rsync", "", &["delete", "del", "delete-before", "delete-during", "delete-after", "delete-delay"]),
    ("curl", "", &["d", "data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json"]),
    ("curl", "", &["F", "form", "form-string"]),
    ("curl", "", &["T", "upload-file"]),
    ("curl", "", &["X", "request"]),
    ("curl", "", &["o", "output"]),
    ("curl", "", &["O", "remote-name"]),
    ("curl", "", &["k", "insecure"]),
    ("curl", "", &["H", "header"]),
    ("curl", "", &["u", "user"]),
    ("wget", "", &["O", "output-document"]),
    ("sudo", "", &["u", "user"]),
    ("sudo", "", &["i", "login"]),
    ("sudo", "", &["s", "shell"]),
    ("kill", "", &["s", "signal", "n"]),
    ("pkill", "", &["f", "full"]),
    ("docker", "", &["f", "force"]),
    ("docker", "", &["a", "all"]),
    ("docker", "", &["v", "volume", "volumes", "mount"]),
    ("docker", "", &["e", "env"]),
    ("docker", "", &["p", "publish"]),
    ("docker", "", &["u", "user"]),
    ("docker", "", &["i", "interactive"]),
    ("docker", "", &["t", "tty"]),
    ("podman", "", &["f", "force"]),
    ("podman", "", &["a", "all"]),
    ("podman", "", &["v", "volume", "volumes", "mount"]),
    ("kubectl", "", &["n", "namespace"]),
    ("kubectl", "", &["f", "filename"]),
    ("kubectl", "", &["A", "all-namespaces"]),
    ("kubectl", "", &["l", "selector"]),
    ("npm", "", &["g", "global"]),
    ("npm", "", &["f", "force"]),
    ("npm", "", &["w", "workspace"]),
    ("npm", "", &["D", "save-dev"]),
    ("pip", "", &["U", "upgrade"]),
    ("pip", "", &["r", "requirement"]),
    ("pip", "", &["e", "editable"]),
    ("apt", "", &["y", "yes", "assume-yes"]),
    ("apt-get", "", &["y", "yes", "assume-yes"]),
    ("systemctl", "", &["f", "force"]),
    ("systemctl", "", &["H", "host"]),
    ("cargo", "", &["p", "package"]),
    ("cargo", "", &["r", "release"]),
    ("cargo", "", &["q", "quiet"]),
    ("cargo", "", &["v", "verbose"]),
    ("gh", "", &["R", "repo"]),
    ("make", "", &["f", "file", "makefile"]),
    ("make", "", &["C", "directory"]),
    ("make", "", &["E", "eval"]),
    ("git", "", &["q", "quiet"]),
    ("git", "", &["v", "verbose"]),
    ("git", "push", &["f", "force"]),
    ("git", "push", &["d", "delete"]),
    ("git", "push", &["n", "dry-run"]),
    ("git", "push", &["u", "set-upstream"]),
    ("git", "push", &["all", "branches"]),
    ("git", "push", &["o", "push-option"]),
    ("git", "commit", &["a", "all"]),
    ("git", "commit", &["m", "message"]),
    ("git", "commit", &["n", "no-verify"]),
    ("git", "commit", &["F", "file"]),
    ("git", "clean", &["f", "force"]),
    ("git", "clean", &["i", "interactive"]),
    ("git", "clean", &["n", "dry-run"]),
    ("git", "branch", &["d", "delete"]),
    ("git", "branch", &["f", "force"]),
    ("git", "branch", &["m", "move"]),
    ("git", "branch", &["c", "copy"]),
    ("git", "branch", &["D", "force-delete"]),
    ("git", "tag", &["d", "delete"]),
    ("git", "tag", &["f", "force"]),
    ("git", "tag", &["a", "annotate"]),
    ("git", "tag", &["s", "sign"]),
    ("git", "checkout", &["f", "force"]),
    ("git", "switch", &["f", "force", "discard-changes"]),
    ("git", "switch", &["c", "create"]),
    ("git", "switch", &["C", "force-create"]),
    ("git", "restore", &["S", "staged"]),
    ("git", "restore", &["W", "worktree"]),
    ("git", "add", &["A", "all", "no-ignore-removal"]),
    ("git", "add", &["f", "force"]),
    ("git", "rm", &["f", "force"]),
    ("git", "rm", &["r"]),
    ("git", "mv", &["f", "force"]),
    ("git", "rebase", &["i", "interactive"]),
    ("git", "rebase", &["x", "exec"]),
    ("git", "fetch", &["f", "force"]),
    ("git", "fetch", &["p", "prune"]),
    ("git", "pull", &["f", "force"]),
    ("git", "pull", &["r", "rebase"]),
    ("git", "merge", &["m"]),
    ("git", "remote", &["f"]),
    ("git", "worktree", &["f", "force"]),
    ("git", "submodule", &["f", "force"]),
    ("git", "reset", &["N", "intent-to-add"]),
    ("git", "stash", &["u", "include-untracked"]),
    ("git", "stash", &["a", "all"]),
    ("git", "config", &["f", "file"]),
];

/// An option that others together mean: program, command, the option, those that together mean it.
const MEANT: &[(&str, &str, &str, &[&str])] = &[("git", "branch", "D", &["d", "f"])];

/// Programs that write long options with one dash; letters cannot be joined there.
const ONE_DASH: &[&str] = &[
    "find",
    "gfind",
    "java",
    "javac",
    "go",
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "clang++",
    "ffmpeg",
    "ffprobe",
    "openssl",
    "terraform",
    "tofu",
    "packer",
    "vault",
    "consul",
    "xcodebuild",
    "rustc",
    "ld",
    "qemu-system-x86_64",
    "convert",
    "magick",
    "mvn",
    "erl",
    "tcc",
    "nvcc",
    "dotnet",
    "adb",
    "7z",
    "mplayer",
    "xterm",
    "ip",
];

/// Does the program write long options with one dash?
pub(super) fn has_one_dash(program: &str) -> bool {
    ONE_DASH.contains(&program)
}

/// Do two names mean the same option of a program? `verb` is the program's own command, if it has one.
pub(super) fn are_same(program: &str, verb: Option<&str>, one: &str, other: &str) -> bool {
    if one == other || is_beginning(one, other) || is_beginning(other, one) {
        return true;
    }
    let mut of_program = GROUPS.iter().filter(|(name, ..)| *name == program).peekable();
    if of_program.peek().is_none() {
        return begins_alike(one, other);
    }
    let holds = |(_, command, names): &&Group| {
        (command.is_empty() || verb.is_none_or(|verb| verb == *command))
            && [one, other]
                .iter()
                .all(|wanted| names.iter().any(|name| name == wanted || is_beginning(wanted, name)))
    };
    let is_known = of_program
        .clone()
        .any(|(_, command, _)| command.is_empty() || verb.is_none_or(|verb| verb == *command));
    of_program.any(|group| holds(&group)) || !is_known && begins_alike(one, other)
}

/// The options that together mean `option`.
pub(super) fn meant_by(program: &str, verb: Option<&str>, option: &str) -> Option<&'static [&'static str]> {
    let is_it = |entry: &&(&str, &str, &str, &[&str])| {
        entry.0 == program && verb.is_none_or(|verb| verb == entry.1) && entry.2 == option
    };
    MEANT.iter().find(is_it).map(|entry| entry.3)
}

/// Many programs accept the beginning of a long name.
fn is_beginning(given: &str, name: &str) -> bool {
    given.len() > 1
        && name.len() > given.len()
        && name.starts_with(given)
        && !name[given.len()..].starts_with('-')
}

/// A letter, and a long name that begins with it.
fn begins_alike(one: &str, other: &str) -> bool {
    let is_letter = |name: &str| name.chars().count() == 1;
    is_letter(one) != is_letter(other)
        && one.chars().next().map(|c| c.to_ascii_lowercase())
            == other.chars().next().map(|c| c.to_ascii_lowercase())
}
