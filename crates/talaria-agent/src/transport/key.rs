//! A provider's key: readable by the transport alone.

use std::fmt;

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

pub use crate::profile::KeyHeader;

use super::key_mask::KeyMask;

/// The shortest key that is masked in answers. Local servers take words such as `test` for a key, and these are words of
/// answers and of arguments of calls.
const SHORTEST_IN_ANSWERS: usize = 16;
/// The shortest key that is masked in errors.
const SHORTEST_IN_ERRORS: usize = 6;

/// A key. Its `Debug` output hides it, and nothing returns it as text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ApiKey(String);

/// A text that cannot be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadApiKey {
    /// Nothing is in it.
    #[error("it is empty")]
    Empty,
    /// It has spaces, line ends or other characters that a header cannot carry.
    #[error("it has characters that a header cannot carry, such as a line end inside")]
    Characters,
}

impl ApiKey {
    /// Reads a key; white space around it is removed.
    pub fn parse(text: &str) -> Result<Self, BadApiKey> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadApiKey::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadApiKey::Characters);
        }
        Ok(Self(text.to_owned()))
    }

    /// Masks the key in a header of a response with this status.
    pub(super) fn hide_in(&self, text: &str, status: u16) -> String {
        if self.is_masked(status) { text.replace(&self.0, "[key]") } else { text.to_owned() }
    }

    /// Masks the key in the body of a response with this status.
    pub(super) fn mask(&self, status: u16) -> Option<KeyMask> {
        self.is_masked(status).then(|| KeyMask::new(&self.0))
    }

    fn is_masked(&self, status: u16) -> bool {
        let is_answer = (200..300).contains(&status);
        self.0.len() >= if is_answer { SHORTEST_IN_ANSWERS } else { SHORTEST_IN_ERRORS }
    }

    pub(super) fn header_value(&self, place: KeyHeader) -> HeaderValue {
        let text = match place {
            KeyHeader::Bearer => format!("Bearer {}", self.0),
            KeyHeader::XApiKey => self.0.clone(),
        };
        // A key has only visible ASCII, which every header can carry.
        let mut value = HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

impl KeyHeader {
    pub(super) fn name(self) -> HeaderName {
        match self {
            Self::Bearer => AUTHORIZATION,
            Self::XApiKey => HeaderName::from_static("x-api-key"),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey([hidden])")
    }
}
