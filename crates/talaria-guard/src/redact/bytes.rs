//! Which bytes belong together: the alphabet that every rule is written in.
//!
//! Owns one table from byte to category. Bytes above 127 belong to no set that makes up a word, so whatever ends on the
//! edge of a word also ends on the edge of a character.

/// A set of categories, for instance "letters and digits".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u16);

impl Set {
    /// The set of both.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `byte` belongs to the set.
    #[inline]
    pub(super) const fn has(self, byte: u8) -> bool {
        CATEGORY[byte as usize] & self.0 != 0
    }
}

/// `A` to `Z`.
pub(super) const UPPER: Set = Set(1);
/// `a` to `z`.
pub(super) const LOWER: Set = Set(1 << 1);
/// `0` to `9`.
pub(super) const DIGIT: Set = Set(1 << 2);
/// The dot alone.
pub(super) const DOT: Set = Set(1 << 5);
/// The slash alone.
pub(super) const SLASH: Set = Set(1 << 6);
/// The percent sign alone.
pub(super) const PERCENT: Set = Set(1 << 9);
/// The tilde alone.
pub(super) const TILDE: Set = Set(1 << 10);
/// Bytes at which ordinary text may turn into something other than a word.
pub(super) const SPECIAL: Set = Set(1 << 11);
/// Blanks within a line.
pub(super) const BLANK: Set = Set(1 << 12);
/// Bytes that make a rule look at the word in front of them.
pub(super) const FOLLOWED: Set = Set(1 << 13);
/// `a` to `f`.
const HEX_LETTER: Set = Set(1 << 14);

const UNDERSCORE: Set = Set(1 << 3);
const DASH: Set = Set(1 << 4);
const PLUS: Set = Set(1 << 7);
const EQUALS: Set = Set(1 << 8);

pub(super) const LETTER: Set = UPPER.and(LOWER);
pub(super) const ALNUM: Set = LETTER.and(DIGIT);
/// Hexadecimal digits, with small letters.
pub(super) const HEX: Set = DIGIT.and(HEX_LETTER);
/// An identifier of a programming language.
pub(super) const IDENT: Set = ALNUM.and(UNDERSCORE);
/// The letters of unpadded URL-safe base64.
pub(super) const BASE64URL: Set = IDENT.and(DASH);
/// A word of the scanner: identifiers joined by dashes and dots.
pub(super) const WORD: Set = BASE64URL.and(DOT);
/// The letters of ordinary base64 with padding.
pub(super) const BASE64: Set = ALNUM.and(PLUS).and(SLASH).and(EQUALS);
/// What credentials of HTTP are made of.
pub(super) const TOKEN68: Set = WORD.and(PLUS).and(SLASH).and(EQUALS).and(TILDE);

static CATEGORY: [u16; 256] = categories();

const fn categories() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'A'..=b'Z' => UPPER.0,
            b'a'..=b'f' => LOWER.0 | HEX_LETTER.0,
            b'g'..=b'z' => LOWER.0,
            b'0'..=b'9' => DIGIT.0,
            b'_' => UNDERSCORE.0,
            b'-' => DASH.0 | FOLLOWED.0,
            b'.' => DOT.0 | FOLLOWED.0,
            b'/' => SLASH.0,
            b'+' => PLUS.0 | SPECIAL.0,
            b'=' => EQUALS.0 | FOLLOWED.0,
            b'%' => PERCENT.0 | SPECIAL.0,
            b'~' => TILDE.0 | FOLLOWED.0,
            b'\\' => SPECIAL.0 | FOLLOWED.0,
            b'<' | b'[' | 0x1b => SPECIAL.0,
            b' ' | b'\t' => BLANK.0 | FOLLOWED.0,
            b':' | b'"' | b'\'' | b'`' | b'>' => FOLLOWED.0,
            // First bytes of letters in and at the beginning of the words of `foreign.rs`.
            0xc3 | 0xc4 | 0xcc | 0xe1 => FOLLOWED.0,
            0xc5 => FOLLOWED.0 | SPECIAL.0,
            0xce | 0xcf | 0xd0 | 0xd7 | 0xd8 | 0xd9 | 0xda | 0xe0 | 0xe3 | 0xe5 | 0xe6 | 0xeb | 0xed => {
                SPECIAL.0
            }
            _ => 0,
        };
        byte += 1;
    }
    table
}

/// Whether `bytes` has one of `set`.
pub(super) fn any(bytes: &[u8], set: Set) -> bool {
    bytes.iter().any(|byte| set.has(*byte))
}

/// Whether `bytes` has nothing but `set`.
pub(super) fn all(bytes: &[u8], set: Set) -> bool {
    bytes.iter().all(|byte| set.has(*byte))
}

/// How many of `bytes` are of `set`.
pub(super) fn count(bytes: &[u8], set: Set) -> usize {
    bytes.iter().filter(|byte| set.has(**byte)).count()
}

/// Whether `bytes` mixes letters and digits, as made-up values do and words do not.
pub(super) fn is_mixed(bytes: &[u8]) -> bool {
    any(bytes, DIGIT) && any(bytes, LETTER)
}
