//! Words that make an ordinary command write a file or run a program: `git log --output`, `find -delete`, `tar -I`.
//!
//! Owns the table, program by program. A `*` of an allow rule does not cover such a word; the rule must name it, in its
//! place. A word that is not known could be one of them and counts as one. Programs that write or run by nature (`cp`,
//! `bash`) are not in the table: who names them in a rule means it. To add a program: a line in `TABLE`. Called by
//! `allow`.

use crate::shell::{Word, WordExtent, awk_effects, git_verb, is_interpreter, sed_scripts};

/// A word that a rule must name.
pub(super) struct Hazard {
    /// Its position among the words of the command.
    pub(super) at: usize,
    /// How many bytes of it the rule must spell out: the name of an option, or all of it.
    pub(super) length: usize,
}

/// Dangerous options of a program: its names, letters, long options (with one dash or two), and words as they are; a
/// word that ends in `=` or `:` matches all that begin with it.
type Entry = (&'static [&'static str], &'static str, &'static [&'static str], &'static [&'static str]);

const TABLE: &[Entry] = &[
    (
        &["git"],
        "",
        &[
            "output",
            "output-directory",
            "ext-diff",
            "textconv",
            "exec",
            "exec-path",
            "extcmd",
            "upload-pack",
            "receive-pack",
            "open-files-in-pager",
            "git-dir",
            "work-tree",
            "config-env",
            "config",
            "template",
            "separate-git-dir",
            "reference",
            "gpg-sign",
            "tool",
            "edit",
            "interactive",
            "to-cmd",
            "cc-cmd",
            "smtp-server",
        ],
        &["ext:"],
    ),
    (
        &["find", "gfind"],
        "",
        &["exec", "execdir", "ok", "okdir", "delete", "fprint", "fprint0", "fprintf", "fls"],
        &[],
    ),
    (&["fd", "fdfind"], "xX", &["exec", "exec-batch"], &[]),
    (&["sort", "gsort"], "oT", &["output", "compress-program", "temporary-directory"], &[]),
    (&["sed", "gsed"], "if", &["in-place", "file"], &[]),
    (
        &["awk", "gawk", "mawk", "nawk"],
        "fEilod",
        &["file", "exec", "include", "load", "dump-variables", "pretty-print"],
        &[],
    ),
    (
        &["tar", "gtar", "bsdtar"],
        "IFCP",
        &[
            "use-compress-program",
            "checkpoint-action",
            "to-command",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
            "remove-files",
            "index-file",
            "directory",
            "absolute-names",
            "extract",
            "get",
            "create",
            "append",
            "update",
            "delete",
        ],
        &[],
    ),
    (
        &["make", "gmake"],
        "fCIEe",
        &["file", "makefile", "directory", "include-dir", "eval", "environment-overrides"],
        &[],
    ),
    (
        &["cargo"],
        "CZ",
        &[
            "config",
            "manifest-path",
            "target-dir",
            "artifact-dir",
            "out-dir",
            "lockfile-path",
            "fix",
            "root",
            "path",
        ],
        &["+"],
    ),
    (&["rg", "ripgrep"], "", &["pre", "pre-glob", "hostname-bin"], &[]),
    (&["ag", "ack", "bat", "batcat", "delta"], "", &["pager", "ackrc"], &[]),
    (
        &["less", "more", "most"],
        "oOkK",
        &["log-file", "LOG-FILE", "lesskey-file", "lesskey-src", "lesskey-content"],
        &["+"],
    ),
    (&["man"], "PHCM", &["pager", "html", "config-file", "manpath"], &[]),
    (&["split", "gsplit", "csplit"], "", &["filter"], &[]),
    (&["tree"], "oR", &[], &[]),
    (&["yq", "dasel"], "i", &["inplace", "in-place"], &[]),
    (&["jq"], "fL", &["from-file"], &[]),
    (&["diff", "cmp"], "", &["output"], &[]),
    (&["date"], "s", &["set"], &[]),
    (&["dmesg"], "cCDEn", &["clear", "read-clear", "console-off", "console-on", "console-level"], &[]),
    (&["hostname"], "Fb", &["file"], &[]),
    (
        &["journalctl"],
        "",
        &["vacuum-size", "vacuum-time", "vacuum-files", "rotate", "flush", "sync", "cursor-file"],
        &[],
    ),
    (
        &["curl"],
        "oOJKcDTFdE",
        &[
            "output",
            "output-dir",
            "remote-name",
            "remote-name-all",
            "remote-header-name",
            "config",
            "cookie-jar",
            "dump-header",
            "trace",
            "trace-ascii",
            "stderr",
            "libcurl",
            "etag-save",
            "hsts",
            "alt-svc",
            "engine",
            "upload-file",
            "form",
            "data",
            "data-ascii",
            "data-raw",
            "data-binary",
            "data-urlencode",
            "json",
        ],
        &[],
    ),
    (
        &["wget", "wget2"],
        "OPoaeic",
        &[
            "output-document",
            "directory-prefix",
            "output-file",
            "append-output",
            "execute",
            "config",
            "use-askpass",
            "post-file",
            "body-file",
            "save-cookies",
            "input-file",
            "warc-file",
        ],
        &[],
    ),
    (&["ssh"], "oFESLRDw", &[], &[]),
    (&["scp", "sftp"], "oFSD", &[], &[]),
    (
        &["rsync"],
        "eMT",
        &[
            "rsh",
            "rsync-path",
            "delete",
            "delete-before",
            "delete-during",
            "delete-after",
            "delete-delay",
            "delete-excluded",
            "del",
            "remove-source-files",
            "backup-dir",
            "log-file",
            "write-batch",
            "only-write-batch",
            "partial-dir",
            "temp-dir",
        ],
        &[],
    ),
    (&["zip"], "mTOb", &["move", "unzip-command", "TT", "output-file"], &[]),
    (
        &["go"],
        "",
        &[
            "exec",
            "toolexec",
            "vettool",
            "o",
            "C",
            "modfile",
            "overlay",
            "ldflags",
            "gcflags",
            "asmflags",
            "coverprofile",
            "cpuprofile",
            "memprofile",
            "blockprofile",
            "mutexprofile",
            "trace",
            "outputdir",
            "pkgdir",
            "fix",
        ],
        &[],
    ),
    (
        &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        "oB",
        &["wrapper", "specs", "fplugin", "load"],
        &["@"],
    ),
    (&["rustc"], "oC", &["out-dir", "emit", "codegen"], &["@"]),
    (
        &["npm", "npx", "pnpm", "yarn", "bun"],
        "Cc",
        &[
            "prefix",
            "script-shell",
            "node-options",
            "userconfig",
            "globalconfig",
            "call",
            "dir",
            "cwd",
            "shell-emulator",
            "global",
        ],
        &["exec", "x", "dlx"],
    ),
    (
        &["pytest", "py.test"],
        "cpo",
        &[
            "config-file",
            "rootdir",
            "confcutdir",
            "override-ini",
            "junitxml",
            "junit-xml",
            "basetemp",
            "log-file",
            "result-log",
            "pastebin",
            "debug",
        ],
        &[],
    ),
    (
        &["jest", "vitest", "mocha"],
        "cru",
        &[
            "config",
            "globalSetup",
            "setupFiles",
            "setupFilesAfterEach",
            "outputFile",
            "coverageDirectory",
            "transform",
            "runner",
            "testRunner",
            "environment",
            "require",
            "file",
            "updateSnapshot",
            "update",
            "root",
            "rootDir",
        ],
        &[],
    ),
    (
        &["eslint", "stylelint", "biome", "oxlint"],
        "co",
        &[
            "config",
            "rulesdir",
            "plugin",
            "output-file",
            "fix",
            "write",
            "resolve-plugins-relative-to",
            "parser",
            "format",
            "cache-location",
        ],
        &[],
    ),
    (&["prettier"], "w", &["write", "config", "plugin", "plugin-search-dir", "cache-location"], &[]),
    (&["tsc"], "pb", &["outDir", "outFile", "project", "declarationDir", "build", "tsBuildInfoFile"], &["@"]),
    (
        &["ruff", "black", "isort", "flake8", "mypy", "pylint", "pyright"],
        "co",
        &[
            "fix",
            "unsafe-fixes",
            "output-file",
            "config",
            "config-file",
            "rcfile",
            "load-plugins",
            "init-hook",
            "python-executable",
            "project",
            "command",
        ],
        &[],
    ),
    (
        &["gofmt", "goimports", "shfmt", "rustfmt", "clang-format"],
        "wi",
        &["in-place", "config-path", "emit", "cpuprofile"],
        &[],
    ),
    (&["openssl"], "", &["out", "writerand", "engine", "provider", "provider-path", "config", "keyout"], &[]),
    (
        &["gpg", "gpg2"],
        "o",
        &[
            "output",
            "exec-path",
            "photo-viewer",
            "agent-program",
            "delete-keys",
            "delete-secret-keys",
            "export-secret-keys",
            "options",
            "homedir",
            "load-extension",
        ],
        &[],
    ),
    (
        &["pandoc"],
        "oFLd",
        &["output", "filter", "lua-filter", "pdf-engine", "defaults", "extract-media", "data-dir"],
        &[],
    ),
    (
        &["gdb", "lldb"],
        "xosOS",
        &[
            "ex",
            "eval-command",
            "command",
            "iex",
            "init-command",
            "init-eval-command",
            "one-line",
            "source",
            "args",
        ],
        &[],
    ),
    (
        &["vim", "vi", "nvim", "view", "ex", "emacs", "emacsclient", "nano", "ed"],
        "cSsuwWfl",
        &["cmd", "eval", "execute", "funcall", "load", "script", "remote-send", "remote-expr"],
        &["+"],
    ),
    (
        &["hg", "jj", "sl"],
        "Ro",
        &["config", "config-file", "config-toml", "cwd", "repository", "tool", "output"],
        &[],
    ),
    (&["svn"], "", &["config-option", "config-dir", "editor-cmd", "diff-cmd", "diff3-cmd"], &[]),
    (
        &["ninja", "cmake", "ctest", "meson"],
        "fCPED",
        &["build", "install", "toolchain", "preset", "script"],
        &[],
    ),
    (
        &["just"],
        "fdcE",
        &["justfile", "working-directory", "command", "shell", "shell-arg", "set", "dotenv-path"],
        &[],
    ),
    (
        &["gradle", "gradlew"],
        "Ibcpg",
        &[
            "init-script",
            "build-file",
            "settings-file",
            "project-dir",
            "include-build",
            "gradle-user-home",
            "project-cache-dir",
        ],
        &[],
    ),
    (&["mvn", "mvnw"], "fsD", &["file", "settings", "define", "global-settings", "toolchains"], &[]),
    (
        &["bazel", "bazelisk"],
        "",
        &[
            "run_under",
            "workspace_status_command",
            "bazelrc",
            "output_base",
            "script_path",
            "override_repository",
        ],
        &[],
    ),
    (
        &["docker", "podman", "nerdctl", "docker-compose"],
        "vfo",
        &[
            "volume",
            "mount",
            "privileged",
            "device",
            "cap-add",
            "pid",
            "file",
            "output",
            "entrypoint",
            "volumes-from",
            "security-opt",
        ],
        &["exec", "run"],
    ),
    (&["kubectl", "oc", "helm"], "", &["kubeconfig", "post-renderer", "output-dir"], &["exec"]),
    (
        &["terraform", "tofu"],
        "",
        &["out", "chdir", "plugin-dir", "state", "state-out", "backup", "auto-approve"],
        &[],
    ),
    (
        &[
            "bundle", "rbenv", "pyenv", "nodenv", "goenv", "asdf", "opam", "stack", "cabal", "direnv",
            "mise", "lxc", "incus",
        ],
        "",
        &["command", "gemfile"],
        &["exec", "x"],
    ),
    (
        &["poetry", "uv", "pipenv", "pdm", "hatch", "rye", "pixi", "conda", "mamba"],
        "C",
        &["directory", "project", "with", "python", "index-url", "extra-index-url", "config-file"],
        &["run"],
    ),
    (
        &["pip", "pip3"],
        "tre",
        &[
            "target",
            "requirement",
            "editable",
            "index-url",
            "extra-index-url",
            "prefix",
            "root",
            "python",
            "log",
            "report",
            "user",
        ],
        &[],
    ),
    (
        &["rake"],
        "fEerIR",
        &["rakefile", "execute", "execute-print", "execute-continue", "require", "libdir", "rakelibdir"],
        &[],
    ),
    (&["rspec"], "rIoO", &["require", "options", "out", "default-path"], &[]),
    (&["tcpdump", "tshark"], "wzWGCF", &["write"], &[]),
    (&["nc", "ncat", "netcat"], "eco", &["exec", "sh-exec", "lua-exec", "output", "hex-dump"], &[]),
    (
        &["socat"],
        "",
        &[],
        &["EXEC:", "SYSTEM:", "SHELL:", "exec:", "system:", "shell:", "CREATE:", "OPEN:", "open:", "create:"],
    ),
    (&["strace", "ltrace"], "o", &["output"], &[]),
    (&["xxd"], "r", &["revert"], &[]),
    (&["base64", "base32"], "o", &["output"], &[]),
    (&["ps", "top", "htop"], "", &[], &[]),
    (
        &["tmux", "screen"],
        "SfXc",
        &[],
        &[
            "run-shell",
            "send-keys",
            "new",
            "new-session",
            "new-window",
            "split-window",
            "if-shell",
            "pipe-pane",
        ],
    ),
    (
        &["psql", "mysql", "mariadb", "sqlite3"],
        "cefoL",
        &["command", "execute", "file", "output", "log-file", "init", "cmd", "tee", "init-command"],
        &[],
    ),
    (&["ip"], "b", &["batch"], &["exec"]),
    (&["perf"], "o", &["output"], &["record", "stat"]),
    (&["gh"], "", &["editor", "web"], &["alias", "extension"]),
    (
        &["python", "python2", "python3", "node", "nodejs", "deno", "perl", "ruby", "php", "lua"],
        "cepErRMmiIdl",
        &[
            "eval",
            "print",
            "require",
            "import",
            "loader",
            "experimental-loader",
            "run",
            "command",
            "inspect",
            "inspect-brk",
            "allow-all",
            "allow-run",
        ],
        &["eval", "-"],
    ),
];

/// The words of a command that a rule must name.
pub(super) fn hazards(words: &[Word]) -> Vec<Hazard> {
    let Some(name) = super::floor::program(words) else { return Vec::new() };
    let versionless = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_it = |(names, ..): &&Entry| names.contains(&name.as_str()) || names.contains(&versionless);
    let entries: Vec<&Entry> = TABLE.iter().filter(is_it).collect();
    let mut found = special(&name, words);
    if entries.is_empty() && is_interpreter(&name) {
        found.extend(unknown_or_option(words));
    }
    let mut has_ended = false;
    for (at, word) in words.iter().enumerate().skip(1) {
        if word.is("--") {
            has_ended = true;
            // The following words are passed to another program: `cargo test -- …`, `npm exec -- …`.
            continue;
        }
        if has_ended {
            continue;
        }
        found
            .extend(entries.iter().find_map(|entry| length(word, entry)).map(|length| Hazard { at, length }));
    }
    found
}

/// How much of a word a rule must name because of an entry.
fn length(word: &Word, (names, letters, long, exact): &Entry) -> Option<usize> {
    let start = word.start();
    // A name of a file that begins with a dash is an option too.
    if start.is_empty() && !word.is_settled() || word.extent() == WordExtent::Many && start.is_empty() {
        return Some(usize::MAX);
    }
    let fits = |known: &&&str| match known.ends_with(['=', ':', '+', '@']) {
        true => start.starts_with(**known),
        false => word.is(known),
    };
    if exact.iter().any(|known| fits(&known)) {
        return Some(start.len());
    }
    let name = start.strip_prefix('-').filter(|name| !name.is_empty())?;
    let (dashes, name) = name.strip_prefix('-').map_or((1, name), |name| (2, name));
    let bare = name.split('=').next().unwrap_or_default();
    let is_whole = bare.len() < name.len() || word.is_settled();
    // Many programs accept the beginning of a long name.
    let is_long = |known: &&str| *known == bare || dashes == 2 && !bare.is_empty() && known.starts_with(bare);
    let begins = |known: &&str| !is_whole && known.starts_with(bare);
    if long.iter().any(|known| is_long(known) || begins(known)) {
        return Some(dashes + bare.len());
    }
    let has_letter = dashes == 1 && !letters.is_empty() && name.contains(|c| letters.contains(c));
    // Single letters among options with one dash: `go test -o`.
    let is_clustered = has_letter && !names.contains(&"go") && !names.contains(&"find");
    is_clustered.then_some(start.len())
}

/// Cases that do not fit the table.
fn special(name: &str, words: &[Word]) -> Vec<Hazard> {
    let whole = |at: usize| Hazard { at, length: usize::MAX };
    let spelled = |at: usize| Hazard { at, length: words[at].text().map_or(usize::MAX, str::len) };
    match name {
        "sed" | "gsed" => sed_scripts(words)
            .iter()
            .filter(|(_, effects)| effects.writes || effects.runs_unknown || !effects.commands.is_empty())
            .map(|(at, _)| spelled(*at))
            .collect(),
        "awk" | "gawk" | "mawk" | "nawk" => {
            let effects = awk_effects(words);
            if effects.runs || effects.writes { (1..words.len()).map(spelled).collect() } else { Vec::new() }
        }
        "git" => git(words),
        "make" | "gmake" => {
            let sets = |(_, word): &(usize, &Word)| {
                let start = word.start();
                let value = start.split_once('=').map(|(_, value)| value);
                !start.starts_with('-') && value.is_some_and(|value| !is_switch(value) || !word.is_settled())
            };
            words.iter().enumerate().skip(1).filter(sets).map(|(at, _)| spelled(at)).collect()
        }
        "tar" | "gtar" | "bsdtar" => match words.get(1).and_then(Word::text) {
            // Letters without a dash; listing is all that is harmless.
            Some(cluster) if !cluster.starts_with('-') && cluster.contains(|c| "xcruAIF".contains(c)) => {
                vec![spelled(1)]
            }
            Some(cluster) if !cluster.starts_with("--") && cluster.contains(|c| "xcruA".contains(c)) => {
                vec![spelled(1)]
            }
            None if words.len() > 1 => vec![whole(1)],
            _ => Vec::new(),
        },
        // The second operand is written.
        "uniq" | "xxd" => {
            let operands =
                words.iter().enumerate().skip(1).filter(|(_, word)| !word.start().starts_with('-'));
            operands.skip(1).map(|(at, _)| spelled(at)).collect()
        }
        _ => Vec::new(),
    }
}

/// Options before git's own command that choose other files, and letters and words that mean something for one command.
fn git(words: &[Word]) -> Vec<Hazard> {
    let verb = git_verb(words).min(words.len());
    let is_risky = |start: &str| {
        ["-c", "-C"].iter().any(|option| start.starts_with(option)) || start.starts_with("--exec-path")
    };
    let mut found: Vec<Hazard> = (1..verb)
        .filter(|at| is_risky(words[*at].start()))
        .map(|at| Hazard { at, length: words[at].start().len().min(2) })
        .collect();
    let (letters, exact): (&str, &[&str]) = match words.get(verb).and_then(Word::text) {
        Some("rebase" | "difftool") => ("x", &[]),
        Some("grep") => ("O", &[]),
        Some("format-patch" | "archive" | "bundle") => ("o", &[]),
        Some("clone") => ("uc", &[]),
        Some("bisect") => ("", &["run"]),
        Some("submodule") => ("", &["foreach"]),
        Some("filter-branch" | "filter-repo" | "for-each-repo" | "config" | "send-email") => {
            found.push(Hazard { at: verb, length: words[verb].start().len() });
            ("", &[])
        }
        _ => ("", &[]),
    };
    for (at, word) in words.iter().enumerate().skip(verb + 1).take_while(|(_, word)| !word.is("--")) {
        let start = word.start();
        let is_letter =
            start.starts_with('-') && !start.starts_with("--") && start.contains(|c| letters.contains(c));
        if !letters.is_empty() && is_letter || exact.iter().any(|known| word.is(known)) {
            found.push(Hazard { at, length: start.len() });
        }
    }
    found
}

/// Any option of an interpreter without its own entry may contain code.
fn unknown_or_option(words: &[Word]) -> Vec<Hazard> {
    let is_risky = |(_, word): &(usize, &Word)| {
        let start = word.start();
        start.starts_with('-') || start.is_empty() && !word.is_settled()
    };
    let risky = words.iter().enumerate().skip(1).filter(is_risky);
    risky.map(|(at, word)| Hazard { at, length: word.text().map_or(usize::MAX, str::len) }).collect()
}

/// A value that merely switches something: `V=1`, `DEBUG=yes`.
fn is_switch(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
        || ["y", "n", "yes", "no", "on", "off", "true", "false"].contains(&value)
}
