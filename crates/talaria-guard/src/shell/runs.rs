//! Programs that are commands of their own and run other programs by an option or a word.
//!
//! Owns the table: for each program, which options contain a command line, which contain code that cannot be read, and
//! after which words another command begins. The program itself stays a plain command that a rule must name; the
//! programs that it runs are added to the line. An allow rule must name such an option too (`rules::hazards`). Called
//! by `wrappers`.

use super::CommandRole;
use super::options::Options;
use super::sed;
use super::word::Word;
use super::wrappers::{Inner, Plan};

/// Kind of an option's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// A command line, for a shell or split into words.
    Text,
    /// This word and all that follow are a command, up to `;` or the end.
    Words,
    /// Something that makes it run what cannot be read here.
    Code,
}

/// An option that runs something: programs, letters, long names (with one dash or two).
type Runner = (&'static [&'static str], &'static str, &'static [&'static str], How);

const OPTIONS: &[Runner] = &[
    (&["rsync"], "e", &["rsh"], How::Text),
    (&["scp", "sftp"], "S", &[], How::Text),
    (&["scp", "sftp"], "o", &[], How::Code),
    (&["fd", "fdfind"], "xX", &["exec", "exec-batch"], How::Words),
    (&["split", "gsplit"], "", &["filter"], How::Text),
    (&["sort", "gsort"], "", &["compress-program"], How::Text),
    (&["rg", "ripgrep"], "", &["pre", "hostname-bin"], How::Text),
    (&["man", "mandb"], "PH", &["pager", "html"], How::Text),
    (&["bat", "batcat", "delta", "ack", "ag"], "", &["pager"], How::Text),
    (&["tcpdump"], "z", &[], How::Text),
    (&["nc", "ncat", "netcat"], "ec", &["exec", "sh-exec", "lua-exec"], How::Text),
    (&["zip"], "", &["unzip-command", "TT"], How::Text),
    (&["go"], "", &["exec", "toolexec", "vettool"], How::Text),
    (&["gcc", "g++", "clang", "cc", "c++"], "", &["wrapper"], How::Text),
    (&["nodemon", "watchexec", "reflex"], "x", &["exec"], How::Text),
    (&["hyperfine"], "psc", &["prepare", "setup", "cleanup", "conclude"], How::Text),
    (&["nix-shell", "nix"], "", &["run", "command"], How::Text),
    (&["vagrant"], "c", &["command"], How::Text),
    (&["gcloud"], "", &["command"], How::Text),
    (&["xterm", "alacritty", "konsole", "kitty", "foot", "urxvt", "st"], "e", &[], How::Words),
    (&["svn"], "", &["editor-cmd", "diff-cmd", "diff3-cmd"], How::Text),
    (&["svn"], "", &["config-option", "config-dir"], How::Code),
    (&["hg", "jj", "sl"], "", &["config", "config-toml", "config-file"], How::Code),
    (&["cargo"], "", &["config"], How::Code),
    (&["cargo-watch"], "sx", &["shell", "exec"], How::Text),
    (&["npm", "npx", "pnpm", "yarn"], "", &["call", "script-shell", "node-options"], How::Text),
    (&["emacs", "emacsclient"], "fle", &["eval", "execute", "funcall", "load", "script"], How::Code),
    (
        &["gdb"],
        "x",
        &["ex", "eval-command", "iex", "init-eval-command", "command", "init-command"],
        How::Code,
    ),
    (&["lldb"], "osOSk", &["one-line", "one-line-before-file", "source"], How::Code),
    (&["sqlite3"], "", &["cmd", "init"], How::Code),
    (&["psql"], "cf", &["command"], How::Code),
    (&["mysql", "mariadb"], "e", &["execute"], How::Code),
    (&["less", "more"], "", &["lesskey-src", "lesskey-file"], How::Code),
    (&["wget", "wget2"], "e", &["execute", "use-askpass"], How::Code),
    (&["openssl"], "", &["engine"], How::Code),
    (&["ctest", "cmake"], "P", &["build-run-dir"], How::Code),
    (&["bazel", "bazelisk"], "", &["run_under", "workspace_status_command"], How::Text),
    (&["helm"], "", &["post-renderer"], How::Text),
    (&["pandoc"], "F", &["filter", "pdf-engine"], How::Text),
    (&["just"], "c", &["command", "shell", "set"], How::Code),
    (&["gradle", "gradlew"], "I", &["init-script"], How::Code),
    (&["pytest", "py.test"], "p", &[], How::Code),
    (&["start-stop-daemon"], "xa", &["exec", "startas"], How::Text),
    (&["git-filter-repo"], "", &["message-callback", "blob-callback", "commit-callback"], How::Code),
];

/// A command after certain words: programs, the words, letters and long options with a value, and how many operands
/// come before the command.
type Verb = (&'static [&'static str], &'static [&'static str], &'static str, &'static [&'static str], usize);

const VERBS: &[Verb] = &[
    (
        &["bundle", "rbenv", "pyenv", "nodenv", "goenv", "asdf", "opam", "stack", "cabal"],
        &["exec"],
        "",
        &[],
        0,
    ),
    (
        &["poetry", "uv", "pipenv", "pdm", "hatch", "rye", "pixi", "mamba", "conda", "micromamba"],
        &["run"],
        "nprC",
        &[
            "with",
            "python",
            "directory",
            "project",
            "package",
            "extra",
            "group",
            "name",
            "prefix",
            "cwd",
            "env",
        ],
        0,
    ),
    (&["npm", "pnpm", "yarn", "bun"], &["exec"], "wpcC", &["package", "workspace", "call", "dir"], 0),
    (&["npm", "bun"], &["x"], "wpc", &["package", "workspace", "call"], 0),
    (&["pnpm", "yarn"], &["dlx"], "pc", &["package"], 0),
    (&["mise", "rtx"], &["exec"], "cCj", &["command", "cd"], 0),
    (&["mise", "rtx"], &["x"], "cCj", &["command", "cd"], 0),
    (&["direnv"], &["exec"], "", &[], 1),
    (
        &["docker", "podman", "nerdctl"],
        &["exec"],
        "euw",
        &["env", "user", "workdir", "env-file", "detach-keys"],
        1,
    ),
    (&["docker", "podman"], &["compose", "exec"], "euw", &["env", "user", "workdir", "index"], 1),
    (&["docker-compose"], &["exec"], "euw", &["env", "user", "workdir", "index"], 1),
    (
        &["docker", "podman", "nerdctl"],
        &["run"],
        "aceuvwphlm",
        &[
            "env",
            "user",
            "volume",
            "workdir",
            "publish",
            "name",
            "network",
            "mount",
            "entrypoint",
            "hostname",
            "label",
            "memory",
            "cpus",
            "env-file",
            "platform",
            "pull",
            "restart",
            "device",
            "cap-add",
            "add-host",
        ],
        1,
    ),
    (&["kubectl", "oc", "k3s"], &["exec"], "cn", &["container", "namespace", "context", "kubeconfig"], 1),
    (&["lxc", "incus", "multipass"], &["exec"], "", &["env", "cwd", "user"], 1),
    (&["ip"], &["netns", "exec"], "", &[], 1),
    (&["ip"], &["vrf", "exec"], "", &[], 1),
    (&["distrobox"], &["enter"], "ne", &["name"], 1),
    (&["toolbox"], &["run"], "c", &["container"], 0),
    (&["flatpak-spawn"], &[], "", &["env", "directory"], 0),
    (&["adb"], &["shell"], "", &[], 0),
    (&["perf"], &["stat"], "eoprt", &["event", "output", "repeat"], 0),
    (&["perf"], &["record"], "eoFpct", &["event", "output", "freq"], 0),
    (&["guix"], &["shell"], "", &[], 0),
    (&["nix"], &["develop"], "", &[], 0),
    (&["tmux"], &["new"], "censtxyF", &[], 0),
    (&["tmux"], &["new-session"], "censtxyF", &[], 0),
    (&["tmux"], &["new-window"], "centF", &[], 0),
    (&["tmux"], &["split-window"], "celptF", &[], 0),
    (&["tmux"], &["run-shell"], "cdt", &[], 0),
    (&["screen"], &[], "SchDerspTtx", &[], 0),
    (&["systemd-nspawn"], &[], "DMuxEi", &["directory", "machine", "user", "bind", "image"], 0),
    (
        &["hyperfine"],
        &[],
        "wmMrNpscnLDCiS",
        &["warmup", "runs", "min-runs", "prepare", "setup", "export-json"],
        0,
    ),
    (&["gnome-terminal", "xfce4-terminal"], &[], "", &[], 0),
];

/// Finds what a program in the tables runs.
pub(super) fn by_option(name: &str, words: &[Word]) -> Option<Plan> {
    let mut inner = Vec::new();
    for (_, letters, long, how) in OPTIONS.iter().filter(|(names, ..)| names.contains(&name)) {
        inner.extend(values(words, letters, long, *how));
    }
    inner.extend(
        VERBS.iter().filter(|(names, ..)| names.contains(&name)).filter_map(|verb| after(words, verb)),
    );
    inner.extend(special(name, words));
    if matches!(name, "at" | "batch" | "crontab") {
        inner.extend(scheduled(name, words));
    }
    if matches!(name, "less" | "more") && words.iter().skip(1).any(|word| word.start().starts_with('+')) {
        inner.push(Inner::Code);
    }
    (!inner.is_empty()).then(|| Plan::new(CommandRole::Plain, inner))
}

/// Programs whose words follow no pattern.
fn special(name: &str, words: &[Word]) -> Option<Inner> {
    let rest = |at: usize| words.get(at..).filter(|rest| !rest.is_empty());
    match name {
        "gdb" => {
            let args = words.iter().position(|word| word.is("--args"))?;
            rest(args + 1).map(|rest| Inner::Words(rest.to_vec()))
        }
        // What follows is given to bash.
        "capsh" => {
            let end = words.iter().position(|word| word.is("--") || word.is("=="))?;
            let shell = std::iter::once(Word::known("bash")).chain(words[end + 1..].iter().cloned());
            Some(Inner::Words(shell.collect()))
        }
        "bwrap" => {
            let pairs = [
                "bind",
                "dev-bind",
                "ro-bind",
                "bind-try",
                "ro-bind-try",
                "symlink",
                "setenv",
                "file",
                "bind-data",
            ];
            let alone = ["unshare", "share", "die", "new", "as", "clearenv", "cap-drop-all"];
            let mut at = 1;
            while let Some(option) = words.get(at).and_then(|word| word.start().strip_prefix("--")) {
                let has_two = pairs.contains(&option) || option == "dev-bind-try" || option == "ro-bind-data";
                let has_none = option.is_empty() || alone.iter().any(|known| option.starts_with(known));
                at += if has_two {
                    3
                } else if has_none {
                    1
                } else {
                    2
                };
                if option.is_empty() {
                    break;
                }
            }
            rest(at).map(|rest| Inner::Words(rest.to_vec()))
        }
        "npx" => values(words, "c", &["call"], How::Text).pop(),
        // Its own commands, `.shell` among them, begin with a dot.
        "sqlite3" => {
            let is_command =
                |word: &Word| word.start().trim_start().starts_with('.') && word.start().contains(' ');
            words.iter().skip(1).any(is_command).then_some(Inner::Code)
        }
        _ => None,
    }
}

/// Returns the values of options, at any position.
fn values(words: &[Word], letters: &str, long: &[&str], how: How) -> Vec<Inner> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let start = word.start();
        let Some(name) = start.strip_prefix('-') else { continue };
        let (dashes, name) = name.strip_prefix('-').map_or((1, name), |name| (2, name));
        let bare = name.split('=').next().unwrap_or_default();
        let value = if !bare.is_empty() && long.contains(&bare) {
            match name.len() > bare.len() {
                true => Some((word.without_start(dashes + bare.len() + 1), at + 1)),
                false => words.get(at + 1).map(|value| (value.clone(), at + 2)),
            }
        } else if dashes == 1 {
            name.find(|c| letters.contains(c)).and_then(|index| {
                let rest = word.without_start(dashes + index + 1);
                match rest.is("") {
                    true => words.get(at + 1).map(|value| (value.clone(), at + 2)),
                    false => Some((rest, at + 1)),
                }
            })
        } else {
            None
        };
        match (value, how) {
            (Some((value, _)), How::Text) => found.push(Inner::Loose(vec![value])),
            (Some((value, next)), How::Words) => {
                let rest = words.get(next..).unwrap_or_default();
                let end = rest.iter().position(|word| word.is(";")).unwrap_or(rest.len());
                let inner = std::iter::once(&value).chain(&rest[..end]);
                found.push(Inner::Words(inner.map(|word| word.with_unknown("{}")).collect()));
            }
            (Some(_), How::Code) => found.push(Inner::Code),
            (None, _) => {}
        }
    }
    found
}

/// The command after the words of a verb.
fn after(words: &[Word], (_, verb, values, long_values, operands): &Verb) -> Option<Inner> {
    let options = Options { flags: "", values, long_flags: &[], long_values };
    let mut next = 1;
    for wanted in *verb {
        next = options.read(words, next).next;
        if !words.get(next)?.is(wanted) {
            return None;
        }
        next += 1;
    }
    next = options.read(words, next).next;
    for _ in 0..*operands {
        next = options.read(words, next + 1).next;
    }
    let inner = words.get(next..).filter(|inner| !inner.is_empty())?;
    match inner {
        // One word with blanks is a line for a shell.
        [text] if text.start().contains([' ', ';']) => Some(Inner::Loose(vec![text.clone()])),
        inner => Some(Inner::Words(inner.to_vec())),
    }
}

/// `at now <<< 'text'`, `crontab -`: the input is run later.
fn scheduled(name: &str, words: &[Word]) -> Option<Inner> {
    let has = |options: &[&str]| words.iter().any(|word| options.iter().any(|option| word.is(option)));
    match name {
        "crontab" if has(&["-l", "-r", "-e"]) => None,
        "at" if has(&["-l", "-r", "-d", "-c", "-f"]) => None,
        "crontab" | "at" | "batch" => Some(Inner::Code),
        _ => None,
    }
}

/// `tar --checkpoint-action=exec=…`, `-I program`, `--to-command`, and their position in a cluster without a dash.
pub(super) fn tar(words: &[Word]) -> Option<Plan> {
    let long = [
        "use-compress-program",
        "to-command",
        "info-script",
        "new-volume-script",
        "rsh-command",
        "rmt-command",
    ];
    let mut inner = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(option) = word.start().strip_prefix("--") else { continue };
        let (name, has_value) = option.split_once('=').map_or((option, false), |(name, _)| (name, true));
        let value = match has_value {
            true => Some(word.without_start(name.len() + 3)),
            false => words.get(at + 1).cloned(),
        };
        // The beginning of a name is enough.
        if name.len() > 2 && long.iter().any(|long| long.starts_with(name)) {
            inner.extend(value.map(|value| Inner::Loose(vec![value])));
        } else if name.len() > 2 && "checkpoint-action".starts_with(name) && name.len() > "checkpoint".len() {
            inner.extend(value.and_then(|value| match value.start().strip_prefix("exec=") {
                Some(_) => Some(Inner::Loose(vec![value.without_start("exec=".len())])),
                None => (!value.is_settled()).then_some(Inner::Code),
            }));
        }
    }
    inner.extend(values(words, "IF", &[], How::Text));
    // The first word may be letters without a dash; their values follow in order.
    if let Some(cluster) = words.get(1).and_then(Word::text).filter(|text| !text.starts_with('-'))
        && cluster.contains(['I', 'F'])
    {
        inner.push(Inner::Code);
    }
    (!inner.is_empty()).then(|| Plan::new(CommandRole::Plain, inner))
}

/// `make --eval=…`, `make 'X=$(shell …)'`, `make SHELL=…`, a makefile from the input.
pub(super) fn make(words: &[Word]) -> Option<Plan> {
    let mut inner = values(words, "E", &["eval"], How::Code);
    let is_input = |word: &Word| ["-", "/dev/stdin"].iter().any(|name| word.is(name)) || !word.is_settled();
    let files = values(words, "f", &["file", "makefile"], How::Text);
    let reads_input = |file: &Inner| matches!(file, Inner::Loose(value) if value.iter().any(is_input));
    if files.iter().any(reads_input) {
        inner.push(Inner::Code);
    }
    for word in words.iter().skip(1) {
        let Some((name, _)) = word.start().split_once('=') else { continue };
        if name.starts_with('-') || name.is_empty() {
            continue;
        }
        let value = word.without_start(name.len() + 1);
        if value.marked().contains('$') || name.ends_with('!') || !value.is_settled() {
            inner.push(Inner::Code);
        } else if name == "SHELL" {
            inner.push(Inner::Loose(vec![value]));
        } else if matches!(name, "MAKEFLAGS" | "GNUMAKEFLAGS" | "MAKEFILES" | ".SHELLFLAGS") {
            inner.push(Inner::Code);
        }
    }
    (!inner.is_empty()).then(|| Plan::new(CommandRole::Plain, inner))
}

/// The program that the command `e` of a script runs.
pub(super) fn sed(words: &[Word]) -> Option<Plan> {
    let mut inner = Vec::new();
    for (_, effects) in sed::scripts(words) {
        inner.extend(effects.commands.iter().map(|text| Inner::Loose(vec![Word::known(text)])));
        if effects.runs_unknown {
            inner.push(Inner::Code);
        }
    }
    (!inner.is_empty()).then(|| Plan::new(CommandRole::Plain, inner))
}

/// `socat - EXEC:…`, `SYSTEM:…`.
pub(super) fn socat(words: &[Word]) -> Option<Plan> {
    let address = |word: &Word| {
        let (kind, _) = word.start().split_once(':')?;
        let runs = ["exec", "system", "shell"].contains(&kind.to_ascii_lowercase().as_str());
        runs.then(|| Inner::Loose(vec![word.without_start(kind.len() + 1)]))
    };
    let inner: Vec<Inner> = words.iter().skip(1).filter_map(address).collect();
    (!inner.is_empty()).then(|| Plan::new(CommandRole::Plain, inner))
}

/// `vim -c '!…'`, `+…`, `--cmd …`: commands of the editor, among them `!` and `:call system(…)`.
pub(super) fn vim(words: &[Word]) -> Option<Plan> {
    let mut texts: Vec<Word> = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let start = word.start();
        match start {
            "-c" | "--cmd" | "-S" | "-s" | "-u" => texts.extend(words.get(at + 1).cloned()),
            _ if start.starts_with('+') => texts.push(word.without_start(1)),
            _ if start.starts_with("-c") => texts.push(word.without_start(2)),
            _ => {}
        }
    }
    let inner: Vec<Inner> = texts.iter().filter_map(editor_command).collect();
    (!inner.is_empty()).then(|| Plan::new(CommandRole::Plain, inner))
}

/// A command of the editor: a line for the shell, code, or something that only moves about.
fn editor_command(text: &Word) -> Option<Inner> {
    let command = text.start().trim_start_matches([':', ' ', '%', '.', '$']);
    let is_movement = text.is_settled() && command.bytes().all(|byte| byte.is_ascii_digit());
    let is_search = text.is_settled() && command.starts_with('/');
    let is_plain =
        ["q", "qa", "qall", "q!", "qa!", "wq", "w", "x", "set", "syntax", "edit", "split", "vsplit"];
    let first = command.split([' ', '=']).next().unwrap_or_default();
    match text.text().and_then(|_| command.strip_prefix('!')) {
        Some(line) => Some(Inner::Loose(vec![Word::known(line)])),
        None if is_movement || is_search || text.is_settled() && is_plain.contains(&first) => None,
        None => Some(Inner::Code),
    }
}
