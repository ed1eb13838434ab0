//! Identifies the content of a file: SHA-256, shown by its first twelve hex digits.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// How many hex digits a model sees. A precondition, not a proof: other content has another beginning by chance.
const SHOWN: usize = 12;

/// The digest of some content.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContentDigest(String);

impl ContentDigest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(hex::encode(Sha256::digest(bytes)))
    }

    /// The digits that a model sees and may send back.
    pub fn shown(&self) -> &str {
        &self.0[..SHOWN.min(self.0.len())]
    }

    /// Reads the digits that a model was shown; the rest of the digest is not known then.
    pub fn from_shown(digits: &str) -> Option<Self> {
        let is_digest = digits.len() == SHOWN && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| Self(digits.to_ascii_lowercase()))
    }

    /// Are both the digest of the same content, as far as they are known?
    pub fn agrees(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }

    /// Is this the digest that a model means by these digits?
    pub fn is_meant_by(&self, digits: &str) -> bool {
        digits.len() >= SHOWN && self.0.starts_with(&digits.to_ascii_lowercase())
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}
