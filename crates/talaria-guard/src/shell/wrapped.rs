//! Programs that start others in a way of their own: shells, `env`, `find`, `xargs`, `su`, `ssh` and a few more.
//!
//! Owns, for each, the position of the other program or its text. Called by the table in `wrappers`.

use super::draft::Draft;
use super::lex::Reader;
use super::options::{Found, Options};
use super::word::Word;
use super::wrappers::{Inner, Nickname, Plan, assignments, has_open_words};
use super::{At, CommandRole};

/// `bash -lc 'text'`, `bash script`, `bash` alone.
pub(super) fn shell(words: &[Word]) -> Option<Plan> {
    let mut next = 1;
    let (mut has_text, mut reads_input, mut role) = (false, false, CommandRole::Carrier);
    while let Some(text) = words.get(next).and_then(Word::text)
        && text.starts_with(['-', '+'])
    {
        next += 1;
        match text {
            "-" | "--" => break,
            "--rcfile" | "--init-file" => {
                role = CommandRole::Wrapper;
                next += 1;
            }
            "--login" | "--norc" | "--noprofile" | "--posix" | "--restricted" | "--verbose" => {}
            text if text.starts_with("--") => role = CommandRole::Wrapper,
            text => {
                has_text |= text.starts_with('-') && text.contains('c');
                reads_input |= text.contains('s');
                next += text.matches(['o', 'O']).count();
            }
        }
    }
    let operand = words.get(next);
    let mut plan = match operand {
        Some(text) if has_text => Plan::new(role, vec![Inner::Text(vec![text.clone()])]),
        // A text that is not known may be an option as well.
        None if has_text => return None,
        Some(file) if !file.is_settled() => {
            let mut plan = Plan::new(CommandRole::Wrapper, Vec::new());
            plan.is_doubtful = true;
            plan
        }
        Some(file) if !reads_input && !is_input(file) => return None,
        _ => Plan::new(role, vec![Inner::Input]),
    };
    plan.is_shell = true;
    Some(plan)
}

/// A shell with another language.
pub(super) fn foreign(words: &[Word]) -> Option<Plan> {
    let is_text = |word: &Word| {
        let text = word.start().to_ascii_lowercase();
        text.starts_with('-') && !text.starts_with("--") && text.contains('c') || text == "--command"
    };
    let inner = match words.iter().skip(1).position(is_text) {
        Some(index) => Inner::Loose(words.get(index + 2..).unwrap_or_default().to_vec()),
        None if words.len() > 1 => return None,
        None => Inner::Input,
    };
    let mut plan = Plan::new(CommandRole::Wrapper, vec![inner]);
    plan.is_doubtful = true;
    Some(plan)
}

/// `source /dev/stdin`, `source <(…)`.
pub(super) fn source(words: &[Word]) -> Option<Plan> {
    let file = words.get(1)?;
    if is_input(file) {
        return Some(Plan::new(CommandRole::Carrier, vec![Inner::Input]));
    }
    if file.is_settled() {
        return None;
    }
    let mut plan = Plan::new(CommandRole::Wrapper, Vec::new());
    plan.is_doubtful = true;
    Some(plan)
}

/// `env -i -u NAME NAME=value program …`.
pub(super) fn env(words: &[Word]) -> Option<Plan> {
    let options = Options {
        flags: "i0v",
        values: "uCS",
        long_flags: &["ignore-environment", "null", "debug"],
        long_values: &["unset", "chdir", "split-string"],
    };
    let mut found = options.read(words, 1);
    if words.get(found.next).is_some_and(|word| word.is("-")) {
        found.next += 1;
    }
    let mut rest = words.get(found.next..).unwrap_or_default().to_vec();
    let mut is_doubtful = found.is_doubtful;
    if let Some(text) = found.value(&["S", "split-string"]) {
        match text.text().and_then(split_for_env) {
            Some(mut split) => {
                split.append(&mut rest);
                rest = split;
            }
            None => is_doubtful = true,
        }
    }
    let (assignments, next) = assignments(&rest, 0);
    let inner = rest.split_off(next);
    if inner.is_empty() && !is_doubtful {
        return None;
    }
    let role = if found.has_unknown { CommandRole::Wrapper } else { CommandRole::Carrier };
    let mut plan = Plan::new(role, Vec::new());
    if !inner.is_empty() {
        plan.inner.push(Inner::Words(inner));
    }
    plan.is_doubtful = is_doubtful;
    plan.assignments = assignments;
    plan.directory = found.value(&["C", "chdir"]).cloned();
    Some(plan)
}

/// `su -c 'text' user`, with its options anywhere; `runuser -u user program`.
pub(super) fn su(words: &[Word]) -> Option<Plan> {
    let role = CommandRole::Wrapper;
    if let Some(text) = text_option(words) {
        return Some(Plan::new(role, vec![Inner::Text(vec![text])]));
    }
    let options =
        Options { flags: "", values: "ugGsw", long_flags: &[], long_values: &["user", "group", "shell"] };
    let found = options.read(words, 1);
    let inner = match (found.value(&["u", "user"]), words.get(found.next..)) {
        (Some(_), Some(inner)) if !inner.is_empty() => Inner::Words(inner.to_vec()),
        _ => Inner::Input,
    };
    Some(Plan::new(role, vec![inner]))
}

/// `script -c 'text' file`, and `script file program …` elsewhere.
pub(super) fn script(words: &[Word]) -> Option<Plan> {
    if let Some(text) = text_option(words) {
        return Some(Plan::new(CommandRole::Wrapper, vec![Inner::Text(vec![text])]));
    }
    let options = Options { flags: "", values: "tFBIOTmoE", long_flags: &[], long_values: &[] };
    let inner = words.get(options.read(words, 1).next + 1..).filter(|inner| !inner.is_empty())?;
    Some(Plan::new(CommandRole::Wrapper, vec![Inner::Words(inner.to_vec())]))
}

/// `watch -n 1 program …`: the words become text again.
pub(super) fn watch(words: &[Word]) -> Option<Plan> {
    let options =
        Options { flags: "", values: "nqs", long_flags: &[], long_values: &["interval", "equexit"] };
    let found = options.read(words, 1);
    let inner = words.get(found.next..).filter(|inner| !inner.is_empty())?;
    let mut plan = Plan::new(CommandRole::Wrapper, vec![Inner::Text(inner.to_vec())]);
    plan.is_doubtful = found.is_doubtful;
    Some(plan)
}

/// `flock file program …`, `flock file -c 'text'`.
pub(super) fn flock(words: &[Word]) -> Option<Plan> {
    let long_values = &["timeout", "wait", "conflict-exit-code"];
    let options = Options { flags: "", values: "wE", long_flags: &[], long_values };
    let found = options.read(words, 1);
    let rest = words.get(found.next + 1..).filter(|rest| !rest.is_empty())?;
    let inner = match rest {
        [option, text, ..] if option.is("-c") || option.is("--command") => Inner::Text(vec![text.clone()]),
        rest => Inner::Words(rest.to_vec()),
    };
    let mut plan = Plan::new(CommandRole::Wrapper, vec![inner]);
    plan.is_doubtful = found.is_doubtful;
    Some(plan)
}

/// `ssh host program …`: a shell at the other end reads the words, joined.
pub(super) fn ssh(words: &[Word]) -> Option<Plan> {
    let options = Options { flags: "", values: "BbcDEeFIiJLlmOoPpQRSWw", long_flags: &[], long_values: &[] };
    let found = options.read(words, 1);
    let mut inner = ssh_options(&found);
    if let Some(words) = words.get(found.next + 1..).filter(|words| !words.is_empty()) {
        inner.push(Inner::Text(words.to_vec()));
    }
    (!inner.is_empty()).then(|| Plan::new(CommandRole::Wrapper, inner))
}

/// What `-o ProxyCommand=…` and its like run on this machine.
fn ssh_options(found: &Found) -> Vec<Inner> {
    const RUN: &[&str] = &["proxycommand", "localcommand", "knownhostscommand"];
    let option = |word: &Word| {
        let start = word.start();
        let end = start.find(['=', ' ', '\t']).unwrap_or(start.len());
        let name = start[..end].to_ascii_lowercase();
        match name.as_str() {
            name if RUN.contains(&name) => Some(Inner::Loose(vec![word.without_start(end + 1)])),
            // Another file of options, an unknown word: either may contain one of these.
            "include" | "match" | "" => Some(Inner::Code),
            _ => None,
        }
    };
    found.values.iter().filter(|(name, _)| name == "o").filter_map(|(_, word)| option(word)).collect()
}

/// `trap 'text' EXIT`.
pub(super) fn trap(words: &[Word]) -> Option<Plan> {
    let first = if words.get(1)?.is("--") { 2 } else { 1 };
    match words.get(first..)? {
        [text, _, ..] if !text.start().starts_with('-') => {
            Some(Plan::new(CommandRole::Wrapper, vec![Inner::Text(vec![text.clone()])]))
        }
        _ => None,
    }
}

/// `alias name='text'`: a later use of the name runs the text.
pub(super) fn alias(words: &[Word]) -> Option<Plan> {
    let text = |word: &Word| {
        let equals = word.start().find('=').filter(|at| *at > 0)?;
        Some(Inner::Loose(vec![word.without_start(equals + 1)]))
    };
    let mut inner: Vec<Inner> = words.iter().skip(1).filter_map(text).collect();
    if inner.is_empty() {
        return None;
    }
    let nickname = |word: &Word| {
        let equals = word.start().find('=').filter(|at| *at > 0)?;
        Some(Nickname { name: word.start()[..equals].to_owned(), value: word.without_start(equals + 1) })
    };
    // zsh replaces a global alias anywhere in a line, and one for a suffix by the end of a file name.
    if words.iter().any(|word| word.start().starts_with('-') && word.start().contains(['g', 's'])) {
        inner.push(Inner::Code);
    }
    let mut plan = Plan::new(CommandRole::Wrapper, inner);
    plan.nicknames = words.iter().skip(1).filter_map(nickname).collect();
    Some(plan)
}

/// `hash -p /usr/bin/git g`: from now on `g` is that program.
pub(super) fn hash(words: &[Word]) -> Option<Plan> {
    let options = Options { flags: "rldt", values: "p", long_flags: &[], long_values: &[] };
    let found = options.read(words, 1);
    let path = found.value(&["p"])?;
    let name = |word: &Word| Some(Nickname { name: word.text()?.to_owned(), value: path.clone() });
    let names = words.get(found.next..).unwrap_or_default();
    let mut plan = Plan::new(CommandRole::Plain, Vec::new());
    plan.is_doubtful = found.is_doubtful || names.iter().any(|word| word.text().is_none());
    plan.nicknames = names.iter().filter_map(name).collect();
    Some(plan)
}

/// `setarch x86_64 -R program …`, and the names of architectures.
pub(super) fn setarch(name: &str, words: &[Word]) -> Option<Plan> {
    let options = Options { flags: "BFILRSTXZ3v", values: "", long_flags: &[], long_values: &[] };
    let has_architecture =
        name == "setarch" && words.get(1).is_some_and(|word| !word.start().starts_with('-'));
    let found = options.read(words, if has_architecture { 2 } else { 1 });
    let inner = words.get(found.next..).filter(|inner| !inner.is_empty())?;
    let mut plan = Plan::new(CommandRole::Wrapper, vec![Inner::Words(inner.to_vec())]);
    plan.is_doubtful = found.is_doubtful || has_architecture && words[1].text().is_none();
    Some(plan)
}

/// `/lib64/ld-linux-x86-64.so.2 program …`: the loader starts the program itself.
pub(super) fn loader(words: &[Word]) -> Option<Plan> {
    let long_values = &["library-path", "preload", "argv0", "inhibit-rpath", "audit", "glibc-hwcaps-mask"];
    let options = Options { flags: "", values: "", long_flags: &[], long_values };
    let found = options.read(words, 1);
    let inner = words.get(found.next..).filter(|inner| !inner.is_empty())?;
    let mut plan = Plan::new(CommandRole::Wrapper, vec![Inner::Words(inner.to_vec())]);
    plan.is_doubtful = found.is_doubtful;
    Some(plan)
}

/// `parallel program {} ::: values`: a shell reads the joined words with values inserted.
pub(super) fn parallel(words: &[Word]) -> Option<Plan> {
    let long_values =
        &["jobs", "max-args", "delimiter", "colsep", "sshlogin", "arg-file", "results", "joblog"];
    let options = Options { flags: "", values: "jnNISaPLdCE", long_flags: &[], long_values };
    let found = options.read(words, 1);
    let rest = words.get(found.next..).unwrap_or_default();
    let end = rest.iter().position(|word| word.start().starts_with(":::")).unwrap_or(rest.len());
    let mut plan = Plan::new(CommandRole::Wrapper, Vec::new());
    plan.is_doubtful = found.is_doubtful;
    if end == 0 {
        // Without a program the values themselves are commands.
        plan.inner.push(Inner::Code);
    } else {
        let mut inner: Vec<Word> = rest[..end].iter().map(|word| word.with_unknown("{}")).collect();
        inner.push(Word::anything());
        plan.inner.push(Inner::Words(inner));
        plan.is_doubtful |= rest[..end].iter().any(|word| word.marked().contains([' ', ';', '|', '&', '$']));
    }
    Some(plan)
}

/// `find … -exec program … ;`, any number of times.
pub(super) fn find(words: &[Word]) -> Option<Plan> {
    let is_start = |word: &Word| ["-exec", "-execdir", "-ok", "-okdir"].iter().any(|name| word.is(name));
    let mut inner = Vec::new();
    let mut rest = words;
    while let Some(start) = rest.iter().position(is_start) {
        rest = &rest[start + 1..];
        let end = rest.iter().position(|word| word.is(";") || word.is("+")).unwrap_or(rest.len());
        if end > 0 {
            inner.push(Inner::Words(rest[..end].iter().map(|word| word.with_unknown("{}")).collect()));
        }
        rest = &rest[end..];
    }
    let hides_effects = has_open_words(words);
    if inner.is_empty() && !hides_effects {
        return None;
    }
    let mut plan = Plan::new(CommandRole::Wrapper, inner);
    plan.hides_effects = hides_effects;
    Some(plan)
}

/// `xargs program …`: gets further words from its input.
pub(super) fn xargs(words: &[Word]) -> Option<Plan> {
    let options = Options {
        flags: "",
        values: "adEILnPsJRS",
        long_flags: &[],
        long_values: &[
            "arg-file",
            "delimiter",
            "max-lines",
            "max-args",
            "max-procs",
            "max-chars",
            "process-slot-var",
        ],
    };
    let found = options.read(words, 1);
    let inner = words.get(found.next..).filter(|inner| !inner.is_empty())?;
    let mark = match found.value(&["I", "J"]) {
        Some(mark) => Some(mark.text().unwrap_or_default().to_owned()),
        None => found.value(&["i", "replace"]).map(|mark| mark.text().unwrap_or_default().to_owned()),
    };
    let mut inner: Vec<Word> = match &mark {
        Some(mark) => {
            let mark = if mark.is_empty() { "{}" } else { mark };
            inner.iter().map(|word| word.with_unknown(mark)).collect()
        }
        None => inner.to_vec(),
    };
    if mark.is_none() {
        inner.push(Word::anything());
    }
    let mut plan = Plan::new(CommandRole::Wrapper, vec![Inner::Words(inner)]);
    plan.is_doubtful = found.is_doubtful;
    Some(plan)
}

/// Returns the value of `-c` or `--command`, at any position.
fn text_option(words: &[Word]) -> Option<Word> {
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.start();
        if let Some(name) = ["--command=", "--session-command="].iter().find(|name| start.starts_with(*name))
        {
            return Some(word.without_start(name.len()));
        }
        let is_short = start.starts_with('-') && !start.starts_with("--") && start.ends_with('c');
        if is_short || start == "--command" || start == "--session-command" {
            return words.get(index + 1).cloned();
        }
    }
    None
}

fn is_input(file: &Word) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| file.is(name))
}

/// Splits a text as `env -S` does, where `\_` is a blank and `\c` ends the text; none if it holds more than words.
fn split_for_env(text: &str) -> Option<Vec<Word>> {
    if text.contains(['$', '#']) || text.contains("\\c") {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('_' | 'f' | 'n' | 'r' | 't' | 'v')) => {
                chars.next();
                plain.push(' ');
            }
            ('\\', Some('\\')) => {
                chars.next();
                plain.push_str("\\\\");
            }
            _ => plain.push(c),
        }
    }
    split(&plain)
}

/// Splits a text into words; none if it holds more than words.
pub(super) fn split(text: &str) -> Option<Vec<Word>> {
    let mut draft = Draft::new(text);
    let at = At { group: 0, pipeline: 0, stage: 0 };
    let mut reader = Reader::new(text, &mut draft, at);
    let mut words = Vec::new();
    loop {
        reader.source.skip_blanks();
        match reader.lex() {
            Ok(Some(lexed)) => words.push(lexed.word()),
            Ok(None) if reader.source.peek().is_none() => return Some(words),
            _ => return None,
        }
    }
}
