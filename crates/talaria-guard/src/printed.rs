//! Command output as text for people: bytes in, text out, for any chunking.
//!
//! Invalid UTF-8 is replaced, secrets are masked. Undecided text is held until more arrives, and flushed at the end.
//! Escape sequences are unchanged: the code that shows the text makes them harmless, as with all text. Called by the
//! engine for a person's own commands.

use crate::redact::Stream;

/// The longest beginning of a character that can be cut.
const LONGEST: usize = 4;

/// One stream of a command.
#[derive(Debug, Default)]
pub struct Printed {
    /// The beginning of a character whose end has not come.
    begun: Vec<u8>,
    masked: Stream,
}

impl Printed {
    /// Takes the next bytes and returns what is decided.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let whole = self.begun.len() - cut(&self.begun);
        let text = String::from_utf8_lossy(&self.begun[..whole]).into_owned();
        self.begun.drain(..whole);
        let mut out = String::new();
        self.masked.push(&text, &mut out);
        out
    }

    /// Ends the stream and returns the rest.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.begun);
        let mut out = String::new();
        self.masked.push(&String::from_utf8_lossy(&rest), &mut out);
        self.masked.finish(&mut out);
        out
    }
}

/// How many bytes at the end may be the beginning of a character.
fn cut(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(LONGEST)..];
    let Some(at) = tail.iter().rposition(|byte| byte & 0b1100_0000 != 0b1000_0000) else { return 0 };
    match std::str::from_utf8(&tail[at..]) {
        // Only what may still become a character has no length of what is wrong.
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => tail.len() - at,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(pieces: &[&[u8]]) -> String {
        let mut printed = Printed::default();
        let mut text: String = pieces.iter().map(|piece| printed.push(piece)).collect();
        text.push_str(&printed.finish());
        text
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(printed(&[b"a\xff\xfe\0b\x1b[31m", b"\xe2\x82"]), "a\u{fffd}\u{fffd}\0b\x1b[31m\u{fffd}");
    }

    #[test]
    fn a_secret_that_comes_in_two_pieces_is_masked() {
        let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
        let (first, second) = key.as_bytes().split_at(20);
        let text = printed(&[b"key: ", first, second, b" done\n"]);
        assert!(!text.contains("abcdefghijkl") && text.ends_with(" done\n"), "{text}");
    }

    proptest! {
        #[test]
        fn however_the_bytes_are_cut_the_text_is_the_same(
            text in "[a€😀\u{fffd} \n]{0,40}",
            noise in proptest::collection::vec(any::<u8>(), 0..12),
            cuts in proptest::collection::vec(0_usize..120, 0..8),
        ) {
            let bytes = [text.as_bytes(), &noise, text.as_bytes()].concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            prop_assert_eq!(printed(&pieces), printed(&[&bytes]));
        }
    }
}
