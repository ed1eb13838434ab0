//! Interpreters of other languages: when they are given code in the line itself.
//!
//! Owns the table. Code in an option, in a here-document, from a pipe or from `/dev/stdin` is code of the line; a file
//! that exists is a script, which is not read here. Called by `wrappers`.

use super::CommandRole;
use super::awk;
use super::word::Word;
use super::wrappers::{Inner, Plan};

/// How an interpreter is given code.
struct Language {
    /// The names, as prefixes: versions follow (`python3.12`).
    names: &'static [&'static str],
    /// Letters whose value is code.
    letters: &'static str,
    /// Long options whose value is code.
    long: &'static [&'static str],
    /// Letters that take another value.
    values: &'static str,
    /// Does it read code from its input when no file is named?
    reads_input: bool,
}

const fn language(
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    values: &'static str,
) -> Language {
    Language { names, letters, long, values, reads_input: true }
}

const LANGUAGES: &[Language] = &[
    language(&["python", "pypy", "ipython", "jython", "micropython"], "c", &["command"], "mWXQ"),
    language(&["node", "nodejs"], "ep", &["eval", "print", "import", "require"], "rC"),
    language(&["bun", "deno", "tsx", "ts-node", "esbuild-runner"], "ep", &["eval", "print"], "r"),
    language(&["perl"], "eE", &[], "IMmFCdDil0x"),
    language(&["ruby", "jruby", "irb"], "e", &[], "rICEFK0"),
    language(&["php"], "rBER", &["run", "process-begin", "process-code", "process-end"], "cdzSt"),
    language(&["lua", "luajit"], "e", &[], "l"),
    language(&["tclsh", "wish", "expect"], "c", &[], "fb"),
    language(&["osascript"], "e", &[], "ls"),
    language(&["rscript", "littler"], "e", &[], ""),
    language(&["julia"], "eE", &["eval", "print"], "JpLt"),
    language(&["groovy", "scala", "kotlin", "kotlinc", "jshell"], "e", &[], "cp"),
    language(&["elixir", "iex"], "e", &["eval", "rpc-eval"], "rS"),
    language(&["erl"], "", &["eval"], ""),
    language(&["racket", "guile", "gosh", "csi", "chicken"], "ec", &["eval"], "lrtf"),
    language(&["sbcl", "ecl", "clisp", "ccl"], "x", &["eval"], ""),
    language(&["clojure", "clj", "bb"], "e", &["eval"], ""),
    language(&["ghc", "ghci", "runghc", "ocaml", "swift", "dart", "nim"], "e", &["eval"], "i"),
    language(&["dc"], "e", &["expression"], "f"),
    language(&["octave", "matlab", "gnuplot", "maxima"], "er", &["eval"], ""),
    language(&["m4"], "", &[], "DIULB"),
];

/// Programs of the table that read nothing to run from their input.
const DATA: &[&str] = &["dc", "ghc", "kotlinc", "swift", "dart", "nim"];

/// Editors that read their commands, `!` among them, from their input, whatever file they are given.
const EDITORS: &[&str] = &["ed", "red"];

/// Options of programs above with which they do nothing but say something.
const IDLE: &[&str] = &["--version", "-V", "--help", "-h", "-v", "-version"];

/// Is it the name of an interpreter of another language?
pub(crate) fn is_interpreter(name: &str) -> bool {
    awk::is_awk(name) || EDITORS.contains(&name) || language_of(name).is_some()
}

fn language_of(name: &str) -> Option<&'static Language> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    // `m4` ends in a digit of its own.
    let is_it = |known: &&str| *known == bare || *known == name;
    LANGUAGES.iter().find(|language| language.names.iter().any(&is_it))
}

/// Says whether an interpreter runs code of the line.
pub(super) fn interpreter(name: &str, words: &[Word]) -> Option<Plan> {
    let code = || Some(Plan::new(CommandRole::Plain, vec![Inner::Code]));
    if awk::is_awk(name) {
        return if awk::runs(words) { code() } else { None };
    }
    if EDITORS.contains(&name) {
        return code();
    }
    let language = language_of(name)?;
    let mut next = 1;
    while let Some(word) = words.get(next) {
        let start = word.start();
        if start.is_empty() && !word.is_settled() {
            // An option that is not known could be the one with code.
            return code();
        }
        if !start.starts_with('-') || word.is("-") || word.is("--") {
            break;
        }
        next += 1;
        if let Some(long) = start.strip_prefix("--") {
            let given = long.split('=').next().unwrap_or_default();
            if language.long.contains(&given) {
                return code();
            }
            continue;
        }
        if language.long.contains(&&start[1..]) {
            return code();
        }
        for (at, letter) in start.char_indices().skip(1) {
            if language.letters.contains(letter) {
                return code();
            }
            if language.values.contains(letter) {
                next += usize::from(at + letter.len_utf8() == start.len() && takes_next(letter));
                break;
            }
        }
    }
    if matches!(name, "deno" | "bun" | "erl") && words.get(1).is_some_and(|word| word.is("eval")) {
        return code();
    }
    let file = words[next.min(words.len())..].iter().find(|word| !word.is("--"));
    let is_idle = words.iter().skip(1).any(|word| IDLE.iter().any(|idle| word.is(idle)));
    let has_module = words.iter().skip(1).any(|word| word.start().starts_with("-m"));
    match file {
        Some(file) if is_input(file) || !file.is_settled() => code(),
        Some(_) => None,
        None if is_idle || has_module || DATA.contains(&name) || !language.reads_input => None,
        None => code(),
    }
}

/// Perl's `-i`, `-l` and `-0` take a value only in the same word.
fn takes_next(letter: char) -> bool {
    !"il0".contains(letter)
}

fn is_input(file: &Word) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| file.is(name))
}
