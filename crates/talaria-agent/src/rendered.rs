//! A model request as bytes: what the codecs make and the transport sends.
//!
//! Keys are never in it: the transport adds the credential header when it sends, so that a rendered request may be dumped
//! and stored. The same history renders to the same bytes, in this process and in the next one.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A SHA-256 over the bytes of a request or of its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PrefixDigest([u8; 32]);

/// A text that is no digest.
#[derive(Debug, thiserror::Error)]
#[error("a digest has 64 hexadecimal digits")]
pub struct BadPrefixDigest;

impl PrefixDigest {
    /// Digests bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns a digest that depends on this one and on more bytes, so that a chain of them names a growing prefix.
    #[must_use]
    pub fn chain(self, bytes: &[u8]) -> Self {
        Self(Sha256::new().chain_update(self.0).chain_update(bytes).finalize().into())
    }
}

impl fmt::Display for PrefixDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for PrefixDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0[..6]))
    }
}

impl From<PrefixDigest> for String {
    fn from(digest: PrefixDigest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for PrefixDigest {
    type Error = BadPrefixDigest;

    fn try_from(text: String) -> Result<Self, BadPrefixDigest> {
        let bytes = hex::decode(text).map_err(|_| BadPrefixDigest)?;
        bytes.try_into().map(Self).map_err(|_| BadPrefixDigest)
    }
}

/// Where one entry of the history is in a request body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySpan {
    /// The entry.
    pub seq: u64,
    /// Its bytes.
    pub range: Range<usize>,
}

/// Something of the history that a request does not contain, or contains in another form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The entry.
    pub seq: u64,
    /// Why.
    pub why: LeftOutReason,
}

/// Why something is not in a request as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// Reasoning of another provider, account or model, which this one could not verify.
    ForeignReasoning,
    /// Reasoning of this provider that it refused or that no longer fits the conversation before it.
    VoidReasoning,
    /// The model takes no images, so a line of text replaces this one.
    Image,
    /// A kind of item that only the provider that made it knows.
    ForeignItem,
    /// An empty message, which providers refuse.
    Empty,
    /// A result without a call before it.
    OrphanResult,
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ForeignReasoning => "reasoning of another model",
            Self::VoidReasoning => "reasoning that is no longer valid",
            Self::Image => "an image, which this model does not accept",
            Self::ForeignItem => "an item of another provider",
            Self::Empty => "an empty message",
            Self::OrphanResult => "a result without its call",
        })
    }
}

/// A model request, ready to be sent.
#[derive(Clone, Debug)]
pub struct RenderedRequest {
    /// The HTTP method.
    pub method: &'static str,
    /// The path below the provider's base URL, with a leading slash.
    pub path: String,
    /// Headers without the credential, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, JSON.
    pub body: Vec<u8>,
    /// The digest of everything that stays at the beginning of the next request of this epoch.
    pub prefix: PrefixDigest,
    /// Where each entry of the history is in the body, in order. Entries that are left out have none.
    pub spans: Vec<EntrySpan>,
    /// Parts that are missing, or changed since they were received.
    pub left_out: Vec<LeftOut>,
}

impl RenderedRequest {
    /// The digest of the whole body.
    pub fn digest(&self) -> PrefixDigest {
        PrefixDigest::of(&self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written_and_names_a_growing_prefix() {
        let digest = PrefixDigest::of(b"head");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<PrefixDigest>(&text).unwrap(), digest);
        assert!(serde_json::from_str::<PrefixDigest>("\"12ab\"").is_err());
        assert_ne!(digest.chain(b"a"), digest.chain(b"b"));
        assert_ne!(digest.chain(b"a").chain(b"b"), digest.chain(b"b").chain(b"a"), "the order counts");
        assert_eq!(format!("{digest:?}").len(), 12);
    }
}
