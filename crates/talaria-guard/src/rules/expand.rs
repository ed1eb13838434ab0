//! Replaces variables by known values, and splits unquoted text.
//!
//! Owns the expansion of one command's words, once for each value that its variables can have, up to a limit. Called by
//! `scene`.

use std::collections::HashMap;

use super::scene::READINGS;
use crate::shell::{Word, WordExtent, WordPiece};

/// Known variables at a command.
pub(super) struct Values<'a> {
    pub(super) variables: &'a HashMap<String, Vec<Word>>,
    /// The positional parameters, once for each way to get there.
    pub(super) positional: &'a [Vec<Word>],
}

/// Words of a command under construction.
#[derive(Clone, Default)]
struct Partial {
    done: Vec<Word>,
    pieces: Vec<WordPiece>,
    is_begun: bool,
}

/// The words with known values in place of variables.
pub(super) fn readings(words: &[Word], values: &Values<'_>) -> Vec<Vec<Word>> {
    let mut all: Vec<Vec<Word>> = vec![Vec::with_capacity(words.len())];
    for word in words {
        let has_variable = word.pieces().iter().any(|piece| matches!(piece, WordPiece::Variable(_)));
        let choices = if has_variable { expanded(word, values) } else { vec![vec![word.clone()]] };
        if all.len() * choices.len() > READINGS {
            all.iter_mut().for_each(|words| words.push(word.clone()));
        } else if let [choice] = choices.as_slice() {
            all.iter_mut().for_each(|words| words.extend(choice.iter().cloned()));
        } else {
            let longer = |words: &Vec<Word>, choice: &Vec<Word>| [words.as_slice(), choice].concat();
            all = all.iter().flat_map(|words| choices.iter().map(|choice| longer(words, choice))).collect();
        }
    }
    all
}

fn expanded(word: &Word, values: &Values<'_>) -> Vec<Vec<Word>> {
    let is_many = word.extent() == WordExtent::Many;
    let separators = values.separators();
    let mut all = vec![Partial::default()];
    for piece in word.pieces() {
        let WordPiece::Variable(name) = piece else {
            all.iter_mut().for_each(|partial| partial.push(piece.clone()));
            continue;
        };
        let choices = values.of(name);
        if name == "IFS" && is_many && choices.is_empty() {
            all.iter_mut().for_each(|partial| partial.end(word.extent()));
        } else if choices.is_empty() || all.len() * choices.len() > READINGS {
            all.iter_mut().for_each(|partial| partial.push(piece.clone()));
        } else {
            let put = |partial: &Partial, choice: &Vec<Word>| {
                let mut partial = partial.clone();
                partial.put(choice, is_many.then_some(separators.as_str()), word.extent());
                partial
            };
            all = all.iter().flat_map(|partial| choices.iter().map(|choice| put(partial, choice))).collect();
        }
    }
    all.into_iter().map(|partial| partial.finish(word.extent())).collect()
}

impl Values<'_> {
    /// The values that a variable can have, each one or several words.
    fn of(&self, name: &str) -> Vec<Vec<Word>> {
        let number = name.parse::<usize>().ok().filter(|number| *number > 0);
        let one = |word: &Word| vec![word.clone()];
        let given = self.positional.iter().filter_map(|arguments| match number {
            Some(number) => arguments.get(number - 1).map(one),
            None if name == "@" && !arguments.is_empty() => Some(arguments.clone()),
            None => None,
        });
        // `set --` may have replaced them.
        let values = self.variables.get(name).map(Vec::as_slice).unwrap_or_default();
        given.chain(values.iter().map(one)).collect()
    }

    /// Separators of an unquoted value.
    fn separators(&self) -> String {
        let set = self.variables.get("IFS").and_then(|values| values.first()).and_then(Word::text);
        set.unwrap_or(" \t\n").to_owned()
    }
}

impl Partial {
    fn push(&mut self, piece: WordPiece) {
        self.is_begun = true;
        self.pieces.push(piece);
    }

    /// Ends the current word.
    fn end(&mut self, extent: WordExtent) {
        if std::mem::take(&mut self.is_begun) {
            let word = Word::new(std::mem::take(&mut self.pieces), extent);
            self.done.push(word.text().map(Word::known).unwrap_or(word));
        }
    }

    /// Inserts a value; an unquoted one is split.
    fn put(&mut self, choice: &[Word], separators: Option<&str>, extent: WordExtent) {
        for (at, value) in choice.iter().enumerate() {
            if at > 0 {
                self.end(extent);
            }
            for piece in value.pieces() {
                match (piece, separators) {
                    (WordPiece::Text(text), Some(separators)) => {
                        for (at, part) in text.split(|c| separators.contains(c)).enumerate() {
                            if at > 0 {
                                self.end(extent);
                            }
                            if !part.is_empty() {
                                self.push(WordPiece::Text(part.to_owned()));
                            }
                        }
                    }
                    (piece, _) => self.push(piece.clone()),
                }
            }
            self.is_begun |= separators.is_none();
        }
    }

    fn finish(mut self, extent: WordExtent) -> Vec<Word> {
        self.end(extent);
        self.done
    }
}
