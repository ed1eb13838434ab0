//! A look at text of which the rest may not have come yet.
//!
//! Every rule reads through a `Look`. A byte that has not arrived yet returns `More`, and the rule is run again from
//! its beginning when there is more text; so a rule cannot decide differently because a piece ended somewhere. Rules
//! look ahead over a bounded stretch only, which keeps asking again cheap.

use super::bytes::Set;

/// How much is read at once of what is only counted.
const STRETCH: usize = 128;

/// The answer depends on text that has not come yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct More;

/// What follows the last byte at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing: the text ends there.
    Ends,
    /// Unknown: more text may come.
    GoesOn,
}

/// The bytes at hand and what follows them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    bytes: &'a [u8],
    tail: Tail,
}

impl<'a> Look<'a> {
    /// Looks at `text`.
    pub(super) fn new(text: &'a str, tail: Tail) -> Self {
        Self { bytes: text.as_bytes(), tail }
    }

    /// Looks at bytes that are all there is.
    pub(super) fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, tail: Tail::Ends }
    }

    /// The bytes at hand.
    #[inline]
    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the bytes between two positions that were read before.
    pub(super) fn slice(self, from: usize, to: usize) -> &'a [u8] {
        &self.bytes[from..to]
    }

    /// Returns nothing at the end of the text, or `More` if more may arrive.
    #[inline]
    pub(super) fn beyond(self) -> Result<(), More> {
        match self.tail {
            Tail::Ends => Ok(()),
            Tail::GoesOn => Err(More),
        }
    }

    /// Returns the byte at `at`, or none past the end of the text.
    #[inline]
    pub(super) fn get(self, at: usize) -> Result<Option<u8>, More> {
        #[cfg(test)]
        super::tests::count_steps(1);
        match self.bytes.get(at) {
            Some(byte) => Ok(Some(*byte)),
            None => self.beyond().map(|()| None),
        }
    }

    /// Whether the byte at `at` is `byte`.
    pub(super) fn is(self, at: usize, byte: u8) -> Result<bool, More> {
        Ok(self.get(at)? == Some(byte))
    }

    /// Whether the byte at `at` is of `set`.
    pub(super) fn is_of(self, at: usize, set: Set) -> Result<bool, More> {
        Ok(self.get(at)?.is_some_and(|byte| set.has(byte)))
    }

    /// Whether `literal` is at `at`.
    pub(super) fn begins(self, at: usize, literal: &[u8]) -> Result<bool, More> {
        for (offset, byte) in literal.iter().enumerate() {
            if !self.is(at + offset, *byte)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the end of the run of bytes at hand that `belongs` accepts, which may continue. Reads a bounded stretch
    /// of it.
    #[inline]
    pub(super) fn stretch(self, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes[from..self.bytes.len().min(from + STRETCH)];
        let mut length = rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len());
        // A stretch must not end inside a character.
        while self.bytes.get(from + length).is_some_and(|byte| byte & 0xc0 == 0x80) {
            length += 1;
        }
        #[cfg(test)]
        super::tests::count_steps(length);
        from + length
    }

    /// Returns the end of the run of `set` that begins at `from`, or `from + limit` if it is longer.
    pub(super) fn run(self, from: usize, set: Set, limit: usize) -> Result<usize, More> {
        self.run_of(from, limit, |byte| set.has(byte))
    }

    /// Returns the end of the run of bytes that `belongs` accepts, or `from + limit` if it is longer.
    pub(super) fn run_of(
        self,
        from: usize,
        limit: usize,
        belongs: impl Fn(u8) -> bool,
    ) -> Result<usize, More> {
        for at in from..from + limit {
            if !self.get(at)?.is_some_and(&belongs) {
                return Ok(at);
            }
        }
        Ok(from + limit)
    }
}
