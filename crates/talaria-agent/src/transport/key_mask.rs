//! Takes a key out of what a peer writes: some repeat it in errors. Pure; works over any division into pieces.
//!
//! Only the end of a piece that may be the beginning of the key is held back. Events end with an empty line and no key
//! begins with one, so nothing of a stream waits.

use memchr::memmem;

/// Replaces a key.
const MASK: &[u8] = b"[key]";

/// Masks one key in a sequence of pieces.
pub(super) struct KeyMask {
    key: Vec<u8>,
    held: Vec<u8>,
}

impl KeyMask {
    /// Masks this key, which is not empty.
    pub(super) fn new(key: &str) -> Self {
        Self { key: key.as_bytes().to_vec(), held: Vec::new() }
    }

    /// Takes a piece and returns what is known to be free of the key.
    pub(super) fn cover(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        let mut clean = Vec::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        while let Some(at) = memmem::find(rest, &self.key) {
            clean.extend_from_slice(&rest[..at]);
            clean.extend_from_slice(MASK);
            rest = &rest[at + self.key.len()..];
        }
        let longest = rest.len().min(self.key.len().saturating_sub(1));
        let begun = (1..=longest).rev().find(|length| self.key.starts_with(&rest[rest.len() - length..]));
        let sure = rest.len() - begun.unwrap_or(0);
        clean.extend_from_slice(&rest[..sure]);
        self.held = rest[sure..].to_vec();
        clean
    }

    /// Returns what was held back when nothing more comes.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_is_masked_however_the_bytes_arrive(
            text in "[abk]{0,6}(abka)?[abk]{0,6}(abka)?[abk]{0,4}",
            cuts in prop::collection::vec(0..30usize, 0..8),
        ) {
            let mut mask = KeyMask::new("abka");
            let mut clean = Vec::new();
            let mut from = 0;
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            for to in cuts.into_iter().chain([text.len()]) {
                clean.extend(mask.cover(&text.as_bytes()[from..to]));
                from = to;
            }
            clean.extend(mask.finish());
            prop_assert_eq!(String::from_utf8(clean).unwrap(), text.replace("abka", "[key]"));
        }
    }

    #[test]
    fn a_whole_event_is_never_held_back() {
        let mut mask = KeyMask::new("sk-test");
        assert_eq!(mask.cover(b"data: {\"a\":\"s\"}\n\n"), b"data: {\"a\":\"s\"}\n\n");
    }
}
