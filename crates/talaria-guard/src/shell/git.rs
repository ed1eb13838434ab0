//! Programs that a call of git runs: aliases, helpers and hooks that the call itself names.
//!
//! Owns the options before the command of git, and the settings whose value is a command. The content of git's own
//! files is not seen here, like any script. Called by `wrappers`, and by `rules` for the position of git's command.

use super::CommandRole;
use super::options::Options;
use super::word::Word;
use super::wrapped::split;
use super::wrappers::{Inner, Plan};

/// The options before git's command.
const BEFORE: Options = Options {
    flags: "pPhv",
    values: "cC",
    long_flags: &[
        "no-pager",
        "paginate",
        "bare",
        "no-replace-objects",
        "literal-pathspecs",
        "glob-pathspecs",
        "noglob-pathspecs",
        "icase-pathspecs",
        "no-optional-locks",
        "no-lazy-fetch",
        "no-advice",
        "html-path",
        "man-path",
        "info-path",
        "version",
        "help",
    ],
    long_values: &[
        "git-dir",
        "work-tree",
        "namespace",
        "super-prefix",
        "config-env",
        "attr-source",
        "list-cmds",
    ],
};

/// Settings whose value is a command; a `*` matches a name in the middle.
const COMMANDS: &[&str] = &[
    "browser.*.cmd",
    "browser.*.path",
    "core.alternaterefscommand",
    "core.askpass",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.pager",
    "core.sshcommand",
    "credential.helper",
    "credential.*.helper",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "difftool.*.cmd",
    "difftool.*.path",
    "filter.*.clean",
    "filter.*.process",
    "filter.*.smudge",
    "gpg.program",
    "gpg.*.program",
    "guitool.*.cmd",
    "interactive.difffilter",
    "man.*.cmd",
    "merge.*.driver",
    "mergetool.*.cmd",
    "mergetool.*.path",
    "pager.*",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "sendemail.*cmd",
    "sequence.editor",
    "trailer.*.cmd",
    "trailer.*.command",
    "uploadpack.packobjectshook",
    "web.browser",
];

/// Settings that make git read further settings or hooks from a file.
const FILES: &[&str] =
    &["include.path", "includeif.*.path", "core.hookspath", "core.attributesfile", "init.templatedir"];

/// The position of git's own command among the words: `push` in `git -C . push`.
pub(crate) fn verb(words: &[Word]) -> usize {
    // `--exec-path` takes its value in the same word alone.
    BEFORE.read(words, 1).next
}

/// `/usr/lib/git-core/git-push` is `git push`.
pub(super) fn split_program(name: &str, words: &[Word]) -> Option<Plan> {
    let verb = name.strip_prefix("git-")?;
    let mut inner = vec![Word::known("git"), Word::known(verb)];
    inner.extend_from_slice(&words[1..]);
    Some(Plan::new(CommandRole::Plain, vec![Inner::Words(inner)]))
}

/// Finds what a call of git runs.
pub(super) fn runs(words: &[Word]) -> Option<Plan> {
    let before = BEFORE.read(words, 1);
    let rest = words.get(before.next..).unwrap_or_default();
    let mut inner = Vec::new();
    let mut aliases: Vec<(String, Word)> = Vec::new();
    for (name, value) in &before.values {
        match name.as_str() {
            "c" => setting(value, &mut inner, &mut aliases),
            // The value of a variable becomes a setting.
            "config-env" => inner.push(Inner::Code),
            _ => {}
        }
    }
    if let Some(verb) = rest.first() {
        match verb.text() {
            Some(name) => {
                let alias = aliases.iter().rfind(|(alias, _)| alias == &name.to_ascii_lowercase());
                if let Some((_, value)) = alias {
                    inner.push(aliased(value, &rest[1..]));
                }
                inner.extend(by_verb(name, rest));
            }
            None if !aliases.is_empty() => inner.push(Inner::Code),
            None => {}
        }
    }
    (!inner.is_empty()).then(|| Plan::new(CommandRole::Plain, inner))
}

/// `-c name=value`: what git runs because of it, and the alias that it is.
fn setting(pair: &Word, inner: &mut Vec<Inner>, aliases: &mut Vec<(String, Word)>) {
    let start = pair.start();
    let Some((name, _)) = start.split_once('=') else {
        // A name that is not known could be any of them; one without a value is merely true.
        if !pair.is_settled() {
            inner.push(Inner::Code);
        }
        return;
    };
    let value = pair.without_start(name.len() + 1);
    let name = name.to_ascii_lowercase();
    match name.strip_prefix("alias.") {
        Some(alias) => aliases.push((alias.to_owned(), value)),
        None => inner.extend(run_by_setting(&name, &value)),
    }
}

/// What git runs because a setting has this value.
fn run_by_setting(name: &str, value: &Word) -> Option<Inner> {
    let is_one = |list: &[&str]| list.iter().any(|known| is_setting(known, name));
    if is_one(COMMANDS) {
        let switches = ["", "true", "false", "0", "1", "cache", "store", "osxkeychain", "manager"];
        if value.text().is_some_and(|text| switches.contains(&text)) {
            return None;
        }
        let text = if value.start().starts_with('!') { value.without_start(1) } else { value.clone() };
        return Some(Inner::Loose(vec![text]));
    }
    is_one(FILES).then_some(Inner::Code)
}

fn is_setting(known: &str, name: &str) -> bool {
    match known.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => known == name,
    }
}

fn aliased(value: &Word, rest: &[Word]) -> Inner {
    let Some(text) = value.text() else { return Inner::Code };
    let (is_shell, text) = text.strip_prefix('!').map_or((false, text), |text| (true, text));
    match split(text) {
        Some(mut words) if !words.is_empty() => {
            if !is_shell {
                words.insert(0, Word::known("git"));
            }
            words.extend_from_slice(rest);
            Inner::Words(words)
        }
        _ => Inner::Loose(std::iter::once(Word::known(text)).chain(rest.iter().cloned()).collect()),
    }
}

/// Programs that a git command runs by its own options and words.
fn by_verb(verb: &str, words: &[Word]) -> Vec<Inner> {
    let text = |letters: &str, long: &[&str]| -> Vec<Inner> {
        option_values(words, letters, long).into_iter().map(|value| Inner::Loose(vec![value])).collect()
    };
    let git = |rest: &[Word]| Inner::Words([Word::known("git")].iter().chain(rest).cloned().collect());
    let ext = words.iter().filter(|word| word.start().starts_with("ext::"));
    let ext = ext.map(|word| Inner::Loose(vec![word.without_start("ext::".len())]));
    match verb {
        "rebase" => text("x", &["exec"]),
        "difftool" => text("x", &["extcmd"]),
        "grep" => text("O", &["open-files-in-pager"]),
        "fetch" | "pull" | "ls-remote" | "fetch-pack" | "archive" => {
            text("", &["upload-pack", "exec"]).into_iter().chain(ext).collect()
        }
        "clone" => {
            let mut inner: Vec<Inner> = text("u", &["upload-pack"]).into_iter().chain(ext).collect();
            let mut aliases = Vec::new();
            for pair in option_values(words, "c", &["config"]) {
                setting(&pair, &mut inner, &mut aliases);
            }
            inner
        }
        "push" => text("", &["receive-pack", "exec"]).into_iter().chain(ext).collect(),
        "send-pack" | "http-push" => {
            let push = [Word::known("push")];
            vec![git(&push.iter().chain(&words[1..]).cloned().collect::<Vec<_>>())]
        }
        "subtree" if words.iter().skip(1).any(|word| word.is("push")) => {
            vec![git(&words[words.iter().position(|word| word.is("push")).unwrap_or_default()..])]
        }
        "bisect" if words.get(1).is_some_and(|word| word.is("run")) && words.len() > 2 => {
            vec![Inner::Words(words[2..].to_vec())]
        }
        "submodule" => match words.iter().position(|word| word.is("foreach")) {
            Some(at) => {
                let options =
                    Options { flags: "q", values: "", long_flags: &["recursive"], long_values: &[] };
                let next = options.read(words, at + 1).next;
                let inner = words.get(next..).filter(|inner| !inner.is_empty());
                inner.map(|inner| Inner::Loose(inner.to_vec())).into_iter().collect()
            }
            None => Vec::new(),
        },
        "for-each-repo" => {
            let options = Options { flags: "", values: "", long_flags: &[], long_values: &["config"] };
            let next = options.read(words, 1).next;
            words.get(next..).filter(|rest| !rest.is_empty()).map(git).into_iter().collect()
        }
        "filter-branch" => {
            let filters = words.windows(2).filter(|pair| pair[0].start().ends_with("-filter"));
            filters.map(|pair| Inner::Loose(vec![pair[1].clone()])).collect()
        }
        "filter-repo" if words.iter().any(|word| word.start().contains("-callback")) => vec![Inner::Code],
        "send-email" => text("", &["to-cmd", "cc-cmd", "header-cmd", "sendmail-cmd", "smtp-server"]),
        "config" => configured(words),
        _ => Vec::new(),
    }
}

/// `git config alias.p push`: a later `git p` pushes.
fn configured(words: &[Word]) -> Vec<Inner> {
    let long_values = &["file", "blob", "type", "default", "value", "comment", "fixed-value"];
    let options = Options { flags: "", values: "f", long_flags: &[], long_values };
    let mut next = options.read(words, 1).next;
    if words.get(next).is_some_and(|word| word.is("set")) {
        next = options.read(words, next + 1).next;
    }
    let (Some(name), Some(value)) = (words.get(next), words.get(next + 1)) else { return Vec::new() };
    let Some(name) = name.text().map(str::to_ascii_lowercase) else { return vec![Inner::Code] };
    match name.starts_with("alias.") {
        true => vec![aliased(value, &[])],
        false => run_by_setting(&name, value).into_iter().collect(),
    }
}

/// The values of options after git's command.
fn option_values(words: &[Word], letters: &str, long: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let start = word.start();
        if let Some(option) = start.strip_prefix("--") {
            let name = option.split('=').next().unwrap_or_default();
            // Git accepts the beginning of a name.
            if name.len() > 2 && long.iter().any(|long| long.starts_with(name)) {
                match option.len() > name.len() {
                    true => found.push(word.without_start(name.len() + 3)),
                    false => found.extend(words.get(at + 1).cloned()),
                }
            }
        } else if let Some(cluster) = start.strip_prefix('-')
            && let Some(index) = cluster.find(|c| letters.contains(c))
        {
            let rest = word.without_start(index + 2);
            match rest.is("") {
                true => found.extend(words.get(at + 1).cloned()),
                false => found.push(rest),
            }
        }
    }
    found
}
