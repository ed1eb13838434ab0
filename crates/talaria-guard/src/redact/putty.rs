//! Private keys in the files of PuTTY: the lines of base64 after `Private-Lines: N`.
//!
//! The label has the number of lines, so a key never hides the text after it. The public lines, the comment and the
//! checksum are kept. Called by the scanner at the colon of the label.

use super::bytes::{BASE64, BASE64URL, BLANK, DIGIT, all};
use super::hiding::{Hidden, Step, Until, is_joint};
use super::look::{Look, More};
use super::pem::{behind_gap, is_new_line};

const LABEL: &[u8] = b"Private-Lines";
/// The first line of a key is at least this long: the shortest keys have 32 bytes.
const FIRST_LINE: usize = 40;

/// The rest of a key: how many lines are left, and how far into one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    left: u16,
    is_within: bool,
}

/// Finds the key whose label is at the end of `word` and ends with the colon at `colon`.
pub(super) fn private_key(look: Look<'_>, word: &[u8], colon: usize) -> Result<Option<Hidden>, More> {
    if !word.ends_with(LABEL) {
        return Ok(None);
    }
    let number = look.run(colon + 1, BLANK, 4)?;
    let end = look.run(number, DIGIT, 4)?;
    let digits = look.slice(number, end).iter().map(|digit| u16::from(*digit - b'0'));
    let left = digits.fold(0, |count, digit| count * 10 + digit);
    let from = behind_gap(look, end)?;
    let line = look.slice(from, look.run(from, BASE64, FIRST_LINE)?);
    if left == 0 || !is_new_line(look.slice(end, from)) || line.len() < FIRST_LINE || all(line, DIGIT) {
        return Ok(None);
    }
    let until = Until::Lines(Lines { left, is_within: true });
    Ok(Some(Hidden { kind: "private-key", from, sure: from, until }))
}

impl Lines {
    /// Takes one step through the key.
    pub(super) fn step(&mut self, look: Look<'_>, at: usize) -> Result<Step, More> {
        if self.is_within {
            let to = look.stretch(at, |byte| BASE64.has(byte) || BASE64URL.has(byte));
            if to > at {
                return Ok(Step::Hide(to));
            }
            if is_joint(look, at)? {
                return Ok(Step::Hide(at + 1));
            }
            (self.left, self.is_within) = (self.left - 1, false);
        }
        if self.left == 0 {
            return Ok(Step::Stop);
        }
        let line = behind_gap(look, at)?;
        if !is_new_line(look.slice(at, line)) || !look.is_of(line, BASE64)? {
            return Ok(Step::Stop);
        }
        self.is_within = true;
        Ok(Step::Hide(line))
    }
}
