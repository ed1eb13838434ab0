//! The part of a text in which words occur, in one line. Pure.

use std::ops::Range;

use super::words::{Word, lower};

/// How many characters are shown before the first word.
const BEFORE: usize = 40;
/// How many characters are shown in all.
const SHOWN: usize = 160;

/// A part of a text, in one line, and where the words are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The text, with `…` where parts are omitted.
    pub text: String,
    /// Where the words are, in bytes of `text`, in order and apart from each other.
    pub hits: Vec<Range<usize>>,
}

impl Snippet {
    /// Returns the text with a mark before and after each matched word.
    pub fn marked(&self, open: &str, close: &str) -> String {
        let mut marked =
            String::with_capacity(self.text.len() + self.hits.len() * (open.len() + close.len()));
        let mut done = 0;
        for hit in &self.hits {
            let before = self.text.get(done..hit.start).unwrap_or_default();
            let word = self.text.get(hit.clone()).unwrap_or_default();
            for part in [before, open, word, close] {
                marked.push_str(part);
            }
            done = hit.end;
        }
        marked.push_str(self.text.get(done..).unwrap_or_default());
        marked
    }

    pub(crate) fn of(text: &str, words: &[Word]) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let folded: Vec<char> = chars.iter().copied().map(lower).collect();
        let first = words.iter().filter_map(|word| places(&folded, word).next()).min().unwrap_or(0);
        let begin = first.saturating_sub(BEFORE);
        let end = chars.len().min(begin + SHOWN);
        let mut is_hit = vec![false; end - begin];
        for word in words {
            for place in places(&folded[begin..end], word) {
                is_hit[place..place + word.chars().len()].fill(true);
            }
        }
        let mut snippet = Self { text: String::new(), hits: Vec::new() };
        if begin > 0 {
            snippet.text.push('…');
        }
        for (c, is_hit) in chars[begin..end].iter().zip(is_hit) {
            let from = snippet.text.len();
            snippet.text.push(if c.is_whitespace() || c.is_control() { ' ' } else { *c });
            let to = snippet.text.len();
            match snippet.hits.last_mut() {
                _ if !is_hit => {}
                Some(last) if last.end == from => last.end = to,
                _ => snippet.hits.push(from..to),
            }
        }
        if end < chars.len() {
            snippet.text.push('…');
        }
        snippet
    }
}

fn places<'a>(text: &'a [char], word: &'a Word) -> impl Iterator<Item = usize> + 'a {
    let found = text.windows(word.chars().len()).enumerate();
    found.filter(|(_, part)| *part == word.chars()).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::super::words;
    use super::*;

    fn marked(text: &str, typed: &str) -> String {
        Snippet::of(text, &words::parse(typed)).marked("[", "]")
    }

    #[test]
    fn words_are_marked_where_they_occur() {
        assert_eq!(
            marked("Run\ncargo test, then Cargo doc", "cargo TEST"),
            "Run [cargo] [test], then [Cargo] doc"
        );
        assert_eq!(marked("我们在中国工作", "中国"), "我们在[中国]工作");
        assert_eq!(marked("aaaa", "aa"), "[aaaa]", "overlapping hits are one");
        assert_eq!(marked("nothing here", "absent"), "nothing here");
        assert_eq!(marked("", "x"), "");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_word() {
        let text = format!("{}needle{}", "x".repeat(1000), "y".repeat(1000));
        let snippet = Snippet::of(&text, &words::parse("needle"));
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        assert_eq!(snippet.text.chars().count(), SHOWN + 2);
        assert_eq!(&snippet.text[snippet.hits[0].clone()], "needle");
    }
}
