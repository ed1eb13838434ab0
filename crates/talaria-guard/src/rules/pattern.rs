//! Patterns of rules: how they are written, and when a command fits one.
//!
//! A pattern is words. Each is compared with one word of a simple command, after quotes, wrappers and shells are gone:
//! - `*` inside a word matches any characters of that one word;
//! - a last word `*` (or `**`) matches any number of further words, including none; without it the number of words
//!   must be equal;
//! - the first word is the program. Without a `/` it is compared with the name alone: `rm` is also `/bin/rm`;
//! - `~` at the start of a word is the home directory, `'…'`, `"…"` and `\` take a character as it is;
//! - an allow pattern may begin with `NAME=value` and end with `> file`: assignments and writes it lets pass as well.
//!
//! Two questions are answered here. *Could* a command match (deny): unknown text may be anything, and options count in
//! any spelling (`spelling`). *Must* it match (allow): word by word, and unknown text matches only a `*`. Called by
//! `rules`.

use super::glob::{Glob, Symbol, symbols};
use super::spelling::{self, Wanted, could_be_option};
use crate::shell::{SimpleCommand, Word, WordExtent, is_carrier, is_trusted};

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// There is nothing in it.
    #[error("is empty: it would never match")]
    Empty,
    /// A quote is not closed.
    #[error("has a quote that is not closed")]
    Unclosed,
    /// It contains more than one command.
    #[error(
        "can never match: a rule is about one command, and {0:?} is a shell operator; write a rule for each command"
    )]
    Operator(char),
    /// It contains an expansion.
    #[error("can never match: {0:?} is not expanded in rules; write * for what differs")]
    Expansion(char),
    /// `**` is before other words.
    #[error("has ** before other words: it may only be the last word")]
    RestNotLast,
    /// No program is named.
    #[error("names no program: it would never match")]
    NoProgram,
    /// The program is only a shell or a starter of others.
    #[error("can never match: what {0} starts is looked at in its place; write that command alone")]
    LookedThrough(String),
    /// A write without a file.
    #[error("ends in > without a file")]
    NoFile,
    /// A deny rule with what only allow rules have.
    #[error("cannot deny {0}: a deny rule is about the words of a command")]
    NotForDeny(&'static str),
    /// A tool that is not `server/tool`.
    #[error("must be server/tool, for example github/* or github/get_issue")]
    Tool,
}

/// A pattern over the words of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    assignments: Vec<(String, Glob)>,
    words: Vec<Glob>,
    tail: Tail,
    writes: Vec<Glob>,
}

/// Words permitted after those of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Nothing,
    Anything,
}

impl Pattern {
    /// Reads a pattern.
    pub(super) fn parse(text: &str) -> Result<Self, BadPattern> {
        let mut words = super::glob::split(text)?;
        let mut writes = Vec::new();
        while let Some(at) = words.iter().rposition(Glob::is_write_sign) {
            let mut file = words.split_off(at);
            match (file.len(), file.pop()) {
                (2, Some(glob)) => writes.push(glob),
                _ => return Err(BadPattern::NoFile),
            }
        }
        let count = words.iter().take_while(|word| word.assigned().is_some()).count();
        let assignments = words.drain(..count).filter_map(|word| word.assigned()).collect();
        let tail = match words.last() {
            Some(last) if last.is_rest() => {
                words.pop();
                Tail::Anything
            }
            _ => Tail::Nothing,
        };
        if words.iter().any(Glob::is_double_star) {
            return Err(BadPattern::RestNotLast);
        }
        let is_program = |glob: &Glob| !glob.is_empty() && !glob.ends_with('/');
        match words.first() {
            None if count > 0 || !writes.is_empty() => Err(BadPattern::NoProgram),
            None if tail == Tail::Nothing => Err(BadPattern::Empty),
            Some(program) if !is_program(program) => Err(BadPattern::NoProgram),
            _ => Ok(Self { assignments, words, tail, writes }),
        }
    }

    /// Refuses what an allow rule can never be about.
    pub(super) fn for_allow(self) -> Result<Self, BadPattern> {
        let mut sample: Vec<Word> = self.words.iter().map(|glob| Word::known(&glob.sample())).collect();
        if self.tail == Tail::Anything {
            sample.push(Word::known("x"));
        }
        match sample.first().and_then(Word::text) {
            Some(program) if is_carrier(&sample) => Err(BadPattern::LookedThrough(program.to_owned())),
            _ => Ok(self),
        }
    }

    /// Refuses what a deny rule cannot say.
    pub(super) fn for_deny(self) -> Result<Self, BadPattern> {
        match (self.assignments.as_slice(), self.writes.as_slice()) {
            ([], []) => Ok(self),
            ([_, ..], _) => Err(BadPattern::NotForDeny("an assignment")),
            (_, [_, ..]) => Err(BadPattern::NotForDeny("a write")),
        }
    }

    /// Could the command be one of these when it runs?
    ///
    /// Either word by word, or by what its options and operands mean.
    pub(super) fn could_fit(&self, command: &SimpleCommand, home: Option<&str>) -> bool {
        !command.words.is_empty() && (self.could_be(command, home) || self.could_mean(command, home))
    }

    fn could_mean(&self, command: &SimpleCommand, home: Option<&str>) -> bool {
        let ([program, wanted @ ..], Some((first, words))) =
            (self.words.as_slice(), command.words.split_first())
        else {
            return false;
        };
        if first.extent() == WordExtent::Many || !could_be_program(program, &symbols(first, home), home) {
            return false;
        }
        let name = command.program().unwrap_or_else(|| program.sample().to_ascii_lowercase());
        let wanted = Wanted { words: wanted, is_open: self.tail == Tail::Anything };
        spelling::could_mean(&wanted, &name, words, home)
    }

    fn could_be(&self, command: &SimpleCommand, home: Option<&str>) -> bool {
        // For each number of pattern words: can they be used up by the words so far?
        let count = self.words.len();
        let mut reached = vec![false; count + 1];
        reached[0] = true;
        for word in &command.words {
            let mut next = vec![false; count + 1];
            if word.extent() == WordExtent::Many {
                let is_file = count > 0 && !reached[0] && !could_be_option(word);
                for at in 0..=count {
                    // Names of files are no options.
                    let passes = at > 0 && next[at - 1] && !(is_file && self.words[at - 1].is_option());
                    next[at] = reached[at] || passes;
                }
            } else {
                let symbols = symbols(word, home);
                for (at, glob) in self.words.iter().enumerate().filter(|(at, _)| reached[*at]) {
                    next[at + 1] |= if at == 0 {
                        could_be_program(glob, &symbols, home)
                    } else {
                        glob.could_match(&symbols, home)
                    };
                }
                next[count] |= reached[count] && self.tail == Tail::Anything;
            }
            reached = next;
            if !reached.contains(&true) {
                return false;
            }
        }
        reached[count]
    }

    /// Is it certain that the command is one of these, because nothing in it is unknown?
    pub(super) fn is_certain(&self, command: &SimpleCommand, home: Option<&str>) -> bool {
        let is_known = |word: &Word| word.extent() == WordExtent::One && word.is_settled();
        let program = command.words.first().and_then(Word::text);
        let is_program =
            |program: &str| self.words.first().is_none_or(|glob| must_be_program(glob, program, home));
        self.must_fit(command, home)
            || program.is_some_and(is_program)
                && command.words.iter().all(is_known)
                && self.could_fit(command, home)
    }

    /// Is the word at `at` named by the rule: at least its first `length` bytes, not merely covered by a `*`?
    pub(super) fn names(&self, at: usize, length: usize) -> bool {
        // A lone `*` allows whatever there is.
        self.words.is_empty() || self.words.get(at).is_some_and(|glob| glob.literal_start() >= length)
    }

    /// Returns whether the rule spells out a whole command, so that its author has seen all of it.
    pub(super) fn is_exact(&self) -> bool {
        self.tail == Tail::Nothing && self.words.iter().all(|glob| !glob.has_star())
    }

    /// Must the words of the command fit, whatever is not known about them turns out to be?
    pub(super) fn must_fit(&self, command: &SimpleCommand, home: Option<&str>) -> bool {
        let words = &command.words;
        let is_enough = match self.tail {
            Tail::Nothing => words.len() == self.words.len(),
            Tail::Anything => words.len() >= self.words.len(),
        };
        let Some(program) = words.first().and_then(Word::text) else { return false };
        is_enough
            && self.words.iter().zip(words).enumerate().all(|(at, (glob, word))| match at {
                0 => must_be_program(glob, program, home),
                _ => word.extent() == WordExtent::One && glob.must_match(&symbols(word, home), home),
            })
    }

    /// Does the pattern let this assignment pass?
    pub(super) fn lets_assign(&self, name: &str, value: &Word, home: Option<&str>) -> bool {
        self.assignments
            .iter()
            .any(|(known, glob)| known == name && glob.must_match(&symbols(value, home), home))
    }

    /// Does the pattern let a write to this file pass? A way out of a directory never does.
    pub(super) fn lets_write(&self, file: &Word, home: Option<&str>) -> bool {
        let climbs = file.marked().split('/').any(|part| part == "..");
        !climbs
            && file.is_settled()
            && self.writes.iter().any(|glob| glob.must_match(&symbols(file, home), home))
    }
}

/// Compares names without case: some file systems do not distinguish `RM` from `rm`.
fn could_be_program(glob: &Glob, symbols: &[Symbol], home: Option<&str>) -> bool {
    if glob.contains('/') {
        return glob.could_match(symbols, home);
    }
    let slash = symbols.iter().rposition(|symbol| *symbol == Symbol::Char('/')).map_or(0, |at| at + 1);
    let name = &symbols[slash..];
    // Unknown text may contain a slash: then only what follows it counts.
    let name = match name.iter().rposition(|symbol| *symbol == Symbol::Any) {
        Some(at) => &name[at..],
        None => name,
    };
    let lower = |symbol: &Symbol| match symbol {
        Symbol::Char(c) => Symbol::Char(c.to_ascii_lowercase()),
        Symbol::Any => Symbol::Any,
    };
    glob.to_lower_case().could_match(&name.iter().map(lower).collect::<Vec<_>>(), home)
}

/// A bare name fits a program of that name only where the system keeps its programs: anyone can write `./cargo`.
fn must_be_program(glob: &Glob, program: &str, home: Option<&str>) -> bool {
    let text = |text: &str| text.chars().map(Symbol::Char).collect::<Vec<_>>();
    if glob.contains('/') {
        return glob.must_match(&text(program), home);
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    is_trusted(program) && glob.must_match(&text(name), home)
}
