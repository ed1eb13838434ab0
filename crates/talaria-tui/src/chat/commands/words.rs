//! Words as a shell splits them: spaces separate, quotes group. Nothing is expanded and nothing is run.

use std::ops::Range;

/// Splits a text into words; `None` if a quote is not closed.
pub fn split(text: &str) -> Option<Vec<String>> {
    let spelled = split_spelled(text)?;
    Some(spelled.into_iter().map(|(word, _)| word).collect())
}

/// Returns the first word of a text and the rest after it. `None` if there is none, or a quote is not closed.
pub fn first_split(text: &str) -> Option<(String, &str)> {
    let mut reader = Reader::default();
    for (at, c) in text.char_indices() {
        reader.push(at, c);
        if let Some((word, _)) = reader.words.pop() {
            return Some((word, &text[at..]));
        }
    }
    let is_open = reader.quote.is_some() || reader.is_escaped;
    reader.word.filter(|_| !is_open).map(|word| (word, ""))
}

/// Splits a text into words, each with how it was spelled; `None` if a quote is not closed.
pub(crate) fn split_spelled(text: &str) -> Option<Vec<(String, &str)>> {
    let reader = Reader::of(text);
    if reader.quote.is_some() || reader.is_escaped {
        return None;
    }
    let last = reader.word.map(|word| (word, reader.start..text.len()));
    Some(reader.words.into_iter().chain(last).map(|(word, range)| (word, &text[range])).collect())
}

/// Returns the finished words of an unfinished text, and where in it the last word begins.
///
/// The last word is empty if the text ends in a space. A quote that is not closed belongs to it.
pub fn within_word(text: &str) -> (Vec<String>, usize) {
    let reader = Reader::of(text);
    let start = if reader.word.is_some() { reader.start } else { text.len() };
    (reader.words.into_iter().map(|(word, _)| word).collect(), start)
}

#[derive(Default)]
struct Reader {
    words: Vec<(String, Range<usize>)>,
    word: Option<String>,
    /// Where the word begins, if there is one.
    start: usize,
    quote: Option<char>,
    is_escaped: bool,
}

impl Reader {
    fn of(text: &str) -> Self {
        let mut reader = Self::default();
        for (at, c) in text.char_indices() {
            if reader.word.is_none() {
                reader.start = at;
            }
            reader.push(at, c);
        }
        reader
    }

    fn push(&mut self, at: usize, c: char) {
        match (self.quote, c) {
            _ if self.is_escaped => {
                self.is_escaped = false;
                // In double quotes a backslash is kept, except before a character that it escapes.
                if self.quote == Some('"') && !matches!(c, '"' | '\\' | '$' | '`') {
                    self.letter('\\');
                }
                self.letter(c);
            }
            (Some('\''), '\'') | (Some('"'), '"') => self.quote = None,
            (None | Some('"'), '\\') => {
                self.is_escaped = true;
                self.word.get_or_insert_default();
            }
            (Some(_), c) => self.letter(c),
            (None, '\'' | '"') => {
                self.quote = Some(c);
                self.word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => {
                self.words.extend(self.word.take().map(|word| (word, self.start..at)));
            }
            (None, c) => self.letter(c),
        }
    }

    fn letter(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }
}

#[cfg(test)]
mod tests {
    use talaria_core::request::shell_words;

    use super::*;

    #[test]
    fn words_are_split_like_a_shell_does() {
        let cases = [
            ("", Some(vec![])),
            ("  a  b ", Some(vec!["a", "b"])),
            ("send x 'two words' \"and \\\"more\\\"\"", Some(vec!["send", "x", "two words", "and \"more\""])),
            ("a''b \"\" \\ c", Some(vec!["ab", "", " c"])),
            ("'open", None),
            ("end\\", None),
        ];
        for (text, words) in cases {
            let words = words.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(split(text), words, "{text}");
        }
    }

    #[test]
    fn the_first_word_is_taken_whatever_follows_it() {
        let cases = [
            ("", None),
            ("  ", None),
            ("a", Some(("a", ""))),
            (" 'a b' don't", Some(("a b", " don't"))),
            ("a\n b", Some(("a", "\n b"))),
            ("'open word", None),
        ];
        for (text, taken) in cases {
            assert_eq!(first_split(text), taken.map(|(word, rest)| (word.to_owned(), rest)), "{text}");
        }
    }

    #[test]
    fn an_unfinished_word_is_found() {
        let cases = [
            ("", 0, 0),
            ("sh", 0, 0),
            ("show ", 1, 5),
            ("show co", 1, 5),
            ("show 'my f", 1, 5),
            ("a b  c", 2, 5),
        ];
        for (text, finished, start) in cases {
            let (words, at) = within_word(text);
            assert_eq!((words.len(), at), (finished, start), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_quoted_comes_back(words in proptest::collection::vec("\\PC{0,12}", 0..5)) {
            proptest::prop_assert_eq!(split(&shell_words(&words)), Some(words));
        }
    }
}
