//! Bytes of JSON that are appended to. Writing to memory cannot fail.

/// What marks a block for the cache, inserted before its closing brace and never part of what is digested.
pub(super) const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

#[derive(Clone, Debug, Default)]
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn into_vec(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A string, quoted and escaped.
    pub(super) fn text(&mut self, text: &str) {
        // A `Vec` takes every byte.
        let _ = serde_json::to_writer(&mut self.0, text);
    }
}
