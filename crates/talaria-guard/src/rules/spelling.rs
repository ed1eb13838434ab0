//! When a command is what a deny rule means, however its options are spelled.
//!
//! Options count at any position, joined or apart, by any of their names; words before a program's own command (`git -C
//! . push`) do not hide it. Further options never help a command to escape: a rule names some of its options, the
//! command may have more. A word of which it is not known whether it is the value of an option counts as both. Used for
//! deny rules alone; an allow rule is read word by word. Called by `pattern`.

use super::glob::{Glob, symbols};
use super::synonyms::{are_same, has_one_dash, meant_by};
use crate::shell::{Word, WordExtent, WordPiece, git_verb};

/// Options that never take a value.
const FLAGS: &[&str] = &["quiet", "verbose", "silent", "debug", "help", "version", "yes", "dry-run"];

/// Kind of a word after the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Option,
    Operand,
    /// The value of an option that is known to take one.
    Value,
    /// The value of an option, or an operand.
    Either,
    /// Any number of any words.
    Anything,
    /// `--`.
    End,
}

/// The words of a rule after the program.
pub(super) struct Wanted<'a> {
    pub(super) words: &'a [Glob],
    /// May further words follow?
    pub(super) is_open: bool,
}

/// Could the words after the program be what the rule means? `program` is the name that the command or, if that is not
/// known, the rule has.
pub(super) fn could_mean(wanted: &Wanted<'_>, program: &str, words: &[Word], home: Option<&str>) -> bool {
    let texts: Vec<String> = wanted.words.iter().map(Glob::sample).collect();
    let rule: Vec<Class> =
        classes(program, &texts.iter().map(|text| Given::from_text(text)).collect::<Vec<_>>());
    let given: Vec<Given<'_>> = words.iter().map(Given::from_word).collect();
    let command = classes(program, &given);
    let options = Options::new(program, words, &command);
    // What follows an option in the rule is its value, or an operand.
    [Values::OfOptions, Values::Operands].into_iter().any(|values| {
        let is_value = |at: usize| {
            values == Values::OfOptions
                && at > 0
                && rule[at - 1] == Class::Option
                && rule[at] == Class::Either
        };
        let has = |at: usize| {
            let value = (at + 1 < rule.len() && is_value(at + 1)).then(|| &wanted.words[at + 1]);
            options.has(&wanted.words[at], &texts[at], value, home)
        };
        if !(0..rule.len()).filter(|at| rule[*at] == Class::Option).all(has) {
            return false;
        }
        let is_operand = |at: &usize| !matches!(rule[*at], Class::Option | Class::End) && !is_value(*at);
        let operands: Vec<(&Glob, Class)> =
            (0..rule.len()).filter(is_operand).map(|at| (&wanted.words[at], rule[at])).collect();
        could_follow(program, &operands, wanted.is_open, words, &command, home)
    })
}

/// Interpretation of the words after options in a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    OfOptions,
    Operands,
}

/// Can the operands of the rule be found in order among those of the command?
fn could_follow(
    program: &str,
    wanted: &[(&Glob, Class)],
    is_open: bool,
    words: &[Word],
    classes: &[Class],
    home: Option<&str>,
) -> bool {
    let count = wanted.len();
    // Expressions with one dash have values at any position.
    let may_skip = is_open || has_one_dash(program);
    let mut reached = vec![false; count + 1];
    reached[0] = true;
    for (word, class) in words.iter().zip(classes) {
        match class {
            Class::Option | Class::End => continue,
            Class::Anything => {
                let first = reached.iter().position(|reached| *reached).unwrap_or(count);
                reached[first..].fill(true);
                continue;
            }
            Class::Operand | Class::Value | Class::Either => {}
        }
        let symbols = symbols(word, home);
        let mut next = match class {
            Class::Value => reached.clone(),
            Class::Either if may_skip => reached.clone(),
            // A rule without a last star says how many operands there are; before the first one it cannot.
            Class::Either => std::iter::once(reached[0]).chain(std::iter::repeat_n(false, count)).collect(),
            _ => vec![false; count + 1],
        };
        for (at, (glob, wanted)) in wanted.iter().enumerate().filter(|(at, _)| reached[*at]) {
            let is_comparable = !(*wanted == Class::Operand && *class == Class::Value);
            next[at + 1] |= is_comparable && glob.could_match(&symbols, home);
        }
        next[count] |= reached[count] && is_open;
        reached = next;
        if !reached.contains(&true) {
            return false;
        }
    }
    reached[count]
}

/// A word, as far as its class depends on it.
struct Given<'a> {
    start: &'a str,
    is_known: bool,
    is_many: bool,
}

impl<'a> Given<'a> {
    fn from_text(text: &'a str) -> Self {
        Self { start: text, is_known: true, is_many: false }
    }

    fn from_word(word: &'a Word) -> Self {
        let is_many = word.extent() == WordExtent::Many;
        Self { start: word.start(), is_known: word.is_settled(), is_many }
    }
}

fn classes(program: &str, words: &[Given<'_>]) -> Vec<Class> {
    let mut classes = Vec::with_capacity(words.len());
    // Before git's own command it is known which options take a value.
    let verb = if program == "git" { before_verb(words) } else { 0 };
    let (mut after, mut has_ended) = (Class::Operand, false);
    for (at, word) in words.iter().enumerate() {
        let is_option = !has_ended && word.start.len() > 1 && word.start.starts_with('-');
        let class = if word.is_many {
            Class::Anything
        } else if is_option && word.start == "--" && word.is_known {
            has_ended = true;
            Class::End
        } else if is_option && after != Class::Value {
            Class::Option
        } else if word.start.is_empty() && !word.is_known && !has_ended {
            // It may turn out to be an option.
            Class::Either
        } else {
            after
        };
        after = match class {
            Class::Option if at < verb => {
                if takes_value(word.start) {
                    Class::Value
                } else {
                    Class::Operand
                }
            }
            Class::Option if has_value(word.start) => Class::Operand,
            Class::Option => Class::Either,
            Class::Either if word.start.is_empty() && !has_ended => Class::Either,
            _ => Class::Operand,
        };
        classes.push(class);
    }
    classes
}

/// Returns the number of words before git's own command.
fn before_verb(words: &[Given<'_>]) -> usize {
    let all: Vec<Word> =
        std::iter::once(Word::known("git")).chain(words.iter().map(|word| Word::known(word.start))).collect();
    git_verb(&all).saturating_sub(1)
}

/// Does an option before git's own command take the next word?
fn takes_value(option: &str) -> bool {
    let words = [Word::known("git"), Word::known(option), Word::known("x"), Word::known("y")];
    git_verb(&words) == 3
}

/// Whether the value is in the same word, or absent.
fn has_value(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => long.contains('=') || long.starts_with("no-") || FLAGS.contains(&long),
        None => false,
    }
}

/// Could the word turn out to be an option? Names of files hardly ever do: only if no sign of a name is in them.
pub(super) fn could_be_option(word: &Word) -> bool {
    let is_sign = |c: char| !(c.is_ascii_alphabetic() || c == '-');
    let is_name = |piece: &WordPiece| matches!(piece, WordPiece::Text(text) if text.contains(is_sign));
    let is_file = |piece: &WordPiece| matches!(piece, WordPiece::Glob(_) | WordPiece::Text(_));
    let is_file_name = word.pieces().iter().all(is_file) && word.pieces().iter().any(is_name);
    word.start().is_empty() && !word.is_settled() && !is_file_name
}

/// The options of a command.
struct Options<'a> {
    program: &'a str,
    verb: Option<&'a str>,
    words: Vec<(&'a Word, Option<&'a Word>)>,
    /// Whether a word could be any option.
    has_any: bool,
    /// Does an operand say what `--force` says: `git push origin +main`?
    is_forced: bool,
}

impl<'a> Options<'a> {
    fn new(program: &'a str, words: &'a [Word], classes: &[Class]) -> Self {
        let pairs = words.iter().enumerate().zip(classes).filter(|(_, class)| **class == Class::Option);
        let could_be = |(word, class): (&Word, &Class)| *class != Class::End && could_be_option(word);
        let verb =
            words.iter().zip(classes).find(|(_, class)| **class == Class::Operand).map(|(word, _)| word);
        let verb = verb.and_then(Word::text);
        let is_plus =
            |(word, class): (&Word, &Class)| *class != Class::Option && word.start().starts_with('+');
        Self {
            program,
            verb,
            words: pairs.map(|((at, word), _)| (word, words.get(at + 1))).collect(),
            has_any: words.iter().zip(classes).any(could_be),
            is_forced: program == "git" && verb == Some("push") && words.iter().zip(classes).any(is_plus),
        }
    }

    /// Is the option that a rule names among them, with the value that follows it in the rule?
    fn has(&self, glob: &Glob, text: &str, value: Option<&Glob>, home: Option<&str>) -> bool {
        let is_it = |(word, next): &(&Word, Option<&Word>)| {
            glob.could_match(&symbols(word, home), home)
                && value.is_none_or(|value| {
                    next.is_some_and(|next| value.could_match(&symbols(next, home), home))
                })
        };
        if self.has_any || self.words.iter().any(is_it) {
            return true;
        }
        let joined = glob.value_glob();
        let value = joined.as_ref().or(value);
        if let Some(long) = text.strip_prefix("--") {
            return self.has_named(long.split('=').next().unwrap_or_default(), value, home);
        }
        let letters = &text[1..];
        if has_one_dash(self.program) {
            return self.has_named(letters.split('=').next().unwrap_or_default(), value, home);
        }
        let last = letters.chars().count().saturating_sub(1);
        letters.chars().enumerate().all(|(at, letter)| {
            let value = value.filter(|_| at == last);
            self.has_named(letter.encode_utf8(&mut [0; 4]), value, home)
        })
    }

    fn has_named(&self, name: &str, value: Option<&Glob>, home: Option<&str>) -> bool {
        if self.is_forced && are_same("git", Some("push"), name, "force") {
            return true;
        }
        if let Some(parts) = meant_by(self.program, self.verb, name)
            && parts.iter().all(|part| self.has_named(part, None, home))
        {
            return true;
        }
        self.words.iter().any(|(word, next)| self.is_named(word, *next, name, value, home))
    }

    fn is_named(
        &self,
        word: &Word,
        next: Option<&Word>,
        name: &str,
        value: Option<&Glob>,
        home: Option<&str>,
    ) -> bool {
        let start = word.start();
        let same = |given: &str| !given.is_empty() && are_same(self.program, self.verb, name, given);
        let fits = |given: Option<Word>| match (value, given) {
            (None, _) => true,
            (Some(glob), Some(given)) => glob.could_match(&symbols(&given, home), home),
            (Some(_), None) => false,
        };
        if let Some(long) = start
            .strip_prefix("--")
            .or_else(|| if has_one_dash(self.program) { start.strip_prefix('-') } else { None })
        {
            let dashes = start.len() - long.len();
            let given = long.split('=').next().unwrap_or_default();
            // The unknown part of the name may complete it.
            let is_same =
                same(given) || !word.is_settled() && given.len() == long.len() && name.starts_with(given);
            let inline = given.len() < long.len();
            let of_word = || word.without_start(dashes + given.len() + 1);
            return is_same && fits(if inline { Some(of_word()) } else { next.cloned() });
        }
        // The value of a letter is the rest of its word, or the next one.
        let named = start.char_indices().skip(1).find(|(_, letter)| same(letter.encode_utf8(&mut [0; 4])));
        let has_letter = named.is_some_and(|(at, letter)| {
            let rest = word.without_start(at + letter.len_utf8());
            fits(next.cloned()) || !rest.is("") && fits(Some(rest))
        });
        has_letter || !word.is_settled() && name.chars().count() == 1
    }
}
