//! Thinking that a model writes into the text of its answer: one `<think>` block at the beginning.
//!
//! Splits while text arrives in pieces. Only the beginning counts: a tag later in the text is the model's own words.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Which side a piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlineSide {
    /// Thinking.
    Thought,
    /// The answer.
    Text,
}

/// Splits the text of one answer.
#[derive(Debug)]
pub struct InlineThinkingSplitter {
    state: State,
    /// What may be the beginning of a tag.
    held: String,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Start,
    Thinking,
    /// The block is over: white space before the answer belongs to nothing.
    AfterThinking,
    Text,
}

impl Default for InlineThinkingSplitter {
    fn default() -> Self {
        Self { state: State::Start, held: String::new() }
    }
}

impl InlineThinkingSplitter {
    /// Takes the next piece.
    pub fn feed(&mut self, piece: &str, sink: &mut impl FnMut(InlineSide, &str)) {
        if self.state == State::Text {
            return sink(InlineSide::Text, piece);
        }
        self.held.push_str(piece);
        loop {
            match self.state {
                State::Start => {
                    let start = self.held.trim_start();
                    if let Some(rest) = start.strip_prefix(OPEN) {
                        self.held = rest.to_owned();
                        self.state = State::Thinking;
                    } else if OPEN.starts_with(start) {
                        return;
                    } else {
                        self.state = State::Text;
                    }
                }
                State::Thinking => {
                    if let Some(at) = self.held.find(CLOSE) {
                        emit(InlineSide::Thought, &self.held[..at], sink);
                        self.held.drain(..at + CLOSE.len());
                        self.state = State::AfterThinking;
                    } else {
                        let safe = self.held.len() - partial_suffix(&self.held, CLOSE);
                        emit(InlineSide::Thought, &self.held[..safe], sink);
                        self.held.drain(..safe);
                        return;
                    }
                }
                State::AfterThinking => {
                    let start = self.held.trim_start();
                    if start.is_empty() {
                        self.held.clear();
                        return;
                    }
                    self.held = start.to_owned();
                    self.state = State::Text;
                }
                State::Text => {
                    emit(InlineSide::Text, &self.held, sink);
                    self.held.clear();
                    return;
                }
            }
        }
    }

    /// Ends the answer: what was held back belongs to the side that was open.
    pub fn finish(&mut self, sink: &mut impl FnMut(InlineSide, &str)) {
        let side = if self.state == State::Thinking { InlineSide::Thought } else { InlineSide::Text };
        emit(side, &self.held, sink);
        self.held.clear();
    }
}

fn emit(side: InlineSide, piece: &str, sink: &mut impl FnMut(InlineSide, &str)) {
    if !piece.is_empty() {
        sink(side, piece);
    }
}

/// How many bytes at the end of a text may begin the tag.
fn partial_suffix(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|&length| text.ends_with(&tag[..length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split<'t>(pieces: impl IntoIterator<Item = &'t str>) -> (String, String) {
        let (mut thought, mut text) = (String::new(), String::new());
        let mut splitter = InlineThinkingSplitter::default();
        let mut sink = |side, piece: &str| match side {
            InlineSide::Thought => thought.push_str(piece),
            InlineSide::Text => text.push_str(piece),
        };
        for piece in pieces {
            splitter.feed(piece, &mut sink);
        }
        splitter.finish(&mut sink);
        (thought, text)
    }

    #[test]
    fn only_a_block_at_the_beginning_is_thinking() {
        let cases = [
            ("<think>a</think>\n\nb", "a", "b"),
            ("\n <think>a<b</think>c </think>", "a<b", "c </think>"),
            ("x <think>a</think>", "", "x <think>a</think>"),
            ("<thin", "", "<thin"),
            ("<think>never closed</th", "never closed</th", ""),
            ("<thinking>", "", "<thinking>"),
            ("", "", ""),
        ];
        for (whole, thought, text) in cases {
            assert_eq!(split([whole]), (thought.to_owned(), text.to_owned()), "{whole:?}");
        }
    }

    proptest! {
        #[test]
        fn any_pieces_are_split_alike(
            whole in prop::collection::vec(prop::sample::select(vec!["<think>", "</think>", "<", "ä", " ", "\n", "th", "x"]), 0..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole = whole.concat();
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            prop_assert_eq!(split(letters.iter().map(String::as_str)), split([whole.as_str()]));
            let cut = (0..=cut.index(whole.len() + 1)).rev().find(|&at| whole.is_char_boundary(at)).unwrap_or(0);
            prop_assert_eq!(split([&whole[..cut], &whole[cut..]]), split([whole.as_str()]));
        }
    }
}
