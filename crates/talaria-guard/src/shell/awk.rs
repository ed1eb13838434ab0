//! Side effects of an awk program.
//!
//! Owns the search for `system`, pipes and files written to in the text of a program, strings and regular expressions
//! left out. In doubt it says yes. Called by `code` (does it run something?) and by the allow rules (does it write?).

use super::word::Word;

/// What awk would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AwkEffects {
    /// Runs other programs.
    pub(crate) runs: bool,
    /// Writes files.
    pub(crate) writes: bool,
}

/// Is it a name of awk?
pub(super) fn is_awk(name: &str) -> bool {
    matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "original-awk" | "bwk" | "goawk" | "busybox-awk")
}

/// Would awk, called with these words, run something?
pub(super) fn runs(words: &[Word]) -> bool {
    effects(words).runs
}

/// What awk, called with these words, would do. A program in a file is a script, and not looked into.
pub(crate) fn effects(words: &[Word]) -> AwkEffects {
    let everything = AwkEffects { runs: true, writes: true };
    let (mut next, mut has_file, mut found) = (1, false, AwkEffects::default());
    while let Some(word) = words.get(next) {
        let start = word.start();
        if start.is_empty() && !word.is_settled() {
            return everything;
        }
        if !start.starts_with('-') || start == "-" {
            break;
        }
        next += 1;
        match start {
            "--" => break,
            "-f" | "--file" | "-E" | "--exec" => {
                // A program that another command prints is part of the line.
                if words
                    .get(next)
                    .is_none_or(|file| !file.is_settled() || file.is("-") || file.is("/dev/stdin"))
                {
                    return everything;
                }
                has_file = true;
                next += 1;
            }
            "-v" | "-F" | "--assign" | "--field-separator" => next += 1,
            "-e" | "--source" => {
                let Some(program) = words.get(next) else { return everything };
                found = join(found, program_effects(program));
                has_file = true;
                next += 1;
            }
            _ if start.starts_with("-f") || start.starts_with("--file=") || start.starts_with("--exec=") => {
                has_file = true;
            }
            _ if ["-v", "-F", "--assign=", "--field-separator="]
                .iter()
                .any(|known| start.starts_with(known)) => {}
            "--posix" | "--traditional" | "--csv" | "--version" | "--re-interval" | "-c" | "-P" | "-k"
            | "-r" | "-S" | "--sandbox" => {}
            // Others load extensions, edit files in place or write reports.
            _ => return everything,
        }
    }
    match words.get(next) {
        Some(program) if !has_file => join(found, program_effects(program)),
        _ => found,
    }
}

fn join(one: AwkEffects, other: AwkEffects) -> AwkEffects {
    AwkEffects { runs: one.runs || other.runs, writes: one.writes || other.writes }
}

fn program_effects(program: &Word) -> AwkEffects {
    let Some(text) = program.text() else { return AwkEffects { runs: true, writes: true } };
    let code = without_literals(text);
    let has_pipe = code.replace("||", "").contains('|');
    AwkEffects {
        runs: has_pipe || code.contains("system") || code.contains('@'),
        // A comparison looks the same as a write: only one that follows a print counts.
        writes: has_pipe || code.contains("print") && code.contains('>'),
    }
}

/// The text without comments, strings and regular expressions.
fn without_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                skip_to(&mut chars, '"');
                code.push('0');
            }
            '#' => {
                let _ = chars.by_ref().find(|c| *c == '\n');
                code.push('\n');
            }
            // Where no value can precede it, a slash begins a regular expression.
            '/' if begins_expression(&code) => {
                skip_to(&mut chars, '/');
                code.push('0');
            }
            _ => code.push(c),
        }
    }
    code
}

fn begins_expression(code: &str) -> bool {
    let before = code.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with(['~', '(', ',', '!', '&', '|', '{', '}', ';', '\n'])
}

fn skip_to(chars: &mut std::str::Chars<'_>, end: char) {
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == end => return,
            _ => {}
        }
    }
}
