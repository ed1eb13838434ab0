//! Reads the options of a program that starts another one, up to where the other one begins.
//!
//! Owns the two styles of options and what an unknown one means: reading continues, but the result is unreliable.
//! Called by `wrappers`.

use super::word::{Word, WordExtent};

/// Which options a program has.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters that take a value, in the same word or the next.
    pub(super) values: &'static str,
    /// Long options without a value.
    pub(super) long_flags: &'static [&'static str],
    /// Long options that take a value.
    pub(super) long_values: &'static [&'static str],
}

/// Options as they were found.
pub(super) struct Found {
    /// The first word that is no option.
    pub(super) next: usize,
    /// Whether an option is not in the list.
    pub(super) has_unknown: bool,
    /// Whether a word may be an option.
    pub(super) is_doubtful: bool,
    /// The values, by the letter or the long name.
    pub(super) values: Vec<(String, Word)>,
}

impl Found {
    /// The value of the first of `names` that is present.
    pub(super) fn value(&self, names: &[&str]) -> Option<&Word> {
        self.values.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value)
    }
}

impl Options {
    /// Reads options from word `first` on.
    pub(super) fn read(&self, words: &[Word], first: usize) -> Found {
        let mut found = Found { next: first, has_unknown: false, is_doubtful: false, values: Vec::new() };
        while let Some(word) = words.get(found.next) {
            let start = word.start();
            if word.is("--") {
                found.next += 1;
                break;
            }
            if !start.starts_with('-') || word.is("-") {
                // What could become nothing, several words or an option shifts everything after it.
                found.is_doubtful |=
                    word.extent() == WordExtent::Many || start.is_empty() && !word.is_settled();
                break;
            }
            found.is_doubtful |= word.extent() == WordExtent::Many;
            found.next += 1;
            if start.starts_with("--") {
                self.long(words, word, &mut found);
            } else {
                self.short(words, word, &mut found);
            }
        }
        found
    }

    fn long(&self, words: &[Word], word: &Word, found: &mut Found) {
        let start = word.start();
        let name = start[2..].split('=').next().unwrap_or_default();
        // Many programs accept the beginning of a name.
        let known = |list: &[&'static str]| list.iter().find(|known| known.starts_with(name)).copied();
        if start.contains('=') {
            found.values.push((name.to_owned(), word.without_start(name.len() + 3)));
            found.has_unknown |= known(self.long_values).or(known(self.long_flags)).is_none();
        } else if let (Some(name), false) = (known(self.long_values), name.is_empty()) {
            self.take(words, name.to_owned(), found);
        } else {
            found.has_unknown |= known(self.long_flags).is_none();
            found.values.push((name.to_owned(), Word::known("")));
        }
    }

    fn short(&self, words: &[Word], word: &Word, found: &mut Found) {
        for (index, letter) in word.start().char_indices().skip(1) {
            let rest = word.without_start(index + letter.len_utf8());
            if self.values.contains(letter) {
                if rest.is("") {
                    self.take(words, letter.to_string(), found);
                } else {
                    found.values.push((letter.to_string(), rest));
                }
                return;
            }
            found.has_unknown |= !self.flags.contains(letter);
            found.values.push((letter.to_string(), Word::known("")));
        }
        found.is_doubtful |= !word.is_settled();
    }

    fn take(&self, words: &[Word], name: String, found: &mut Found) {
        if let Some(value) = words.get(found.next) {
            found.is_doubtful |= value.extent() == WordExtent::Many;
            found.values.push((name, value.clone()));
            found.next += 1;
        }
    }
}
