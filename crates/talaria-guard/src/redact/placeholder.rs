//! Placeholders for secrets: `$TOKEN`, `${{ secrets.X }}`, `<your-token>`, `***`, `null`, `String`.
//!
//! Owns what such values look like, and the words that are never a secret. Nothing here hides anything; `value.rs` and
//! `headers.rs` ask.

use super::bytes::{ALNUM, DIGIT, IDENT, LETTER, LOWER, UPPER, all, any, count};

/// Words that are used as a value and are no secret: literals, types, and what people write about a secret.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "accepted", "any", "argument", "arguments", "auth", "authentication", "boolean", "bytes", "changed", "char", "correct",
    "credentials", "default", "denied", "disabled", "empty", "enabled", "example", "expired", "external", "flag", "flags",
    "failed", "false", "float", "granted", "header", "hidden", "ignored", "incorrect", "inherit", "integer",
    "internal", "invalid", "literal", "manual", "masked", "matches", "missing", "needed", "nil", "none",
    "null", "number", "object", "option", "optional", "options", "passed", "present", "public", "random", "redacted", "rejected",
    "removed", "required", "rotated", "scheme", "string", "success", "text", "true", "undefined", "unknown",
    "unset", "updated", "valid", "varchar", "verified", "write", "read",
];

/// How an invitation to fill something in begins.
const INVITATIONS: &[&str] = &["your", "insert", "placeholder", "redacted", "replace", "todo"];

/// Parts of names that mean a secret: a value made of them is a name of something, not the thing.
const STEMS: &[&str] = &["pass", "pwd", "secret", "token", "key", "auth", "cred", "cookie", "bearer"];

/// Names of types that end in a number of bits.
const SIZED_TYPES: &[&str] =
    &["u", "i", "f", "int", "uint", "float", "bytes", "char", "varchar", "decimal", "utf"];

/// Whether `value` is a placeholder for a secret.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let value = without_punctuation(value.trim_ascii());
    is_mask(value)
        || is_variable(value)
        || is_wrapped(value)
        || is_invitation(value)
        || is_word(value)
        || value.starts_with(b"%(")
        || matches!(value, [b'%', letter] if LETTER.has(*letter))
}

/// Strips the punctuation of a sentence after a value.
pub(super) fn without_punctuation(value: &[u8]) -> &[u8] {
    let marks = value.iter().rev().take_while(|byte| b".,;:!".contains(byte)).count();
    &value[..value.len() - marks]
}

/// Nothing, or one sign over and over.
fn is_mask(value: &[u8]) -> bool {
    let crosses = value.len() >= 3 && value.iter().all(|byte| byte.eq_ignore_ascii_case(&b'x'));
    crosses
        || value.iter().all(|byte| b"*.-_#?:".contains(byte))
        || value.chunks(3).all(|dot| dot == "•".as_bytes() || dot == "…".as_bytes())
}

/// `$NAME`, `${…}`, `$(…)`, `$env:NAME`, `%NAME%`.
fn is_variable(value: &[u8]) -> bool {
    match value {
        [b'$', b'{' | b'(', ..] => true,
        [b'$', name @ ..] => {
            let name = name.strip_prefix(b"env:").unwrap_or(name);
            let path = |byte: &u8| IDENT.has(*byte) || b".[]'\"->:".contains(byte);
            // A dollar also begins passwords, which have digits.
            name.first().is_some_and(|byte| LETTER.has(*byte) || *byte == b'_')
                && name.iter().all(path)
                && (!any(name, DIGIT) || !any(name, LOWER))
        }
        [b'%', name @ .., b'%'] => !name.is_empty() && all(name, IDENT),
        _ => false,
    }
}

/// `<token>`, `[hidden]`, `{token}`, `{{ token }}`.
fn is_wrapped(value: &[u8]) -> bool {
    let inner = |byte: &u8| IDENT.has(*byte) || b" -.{}:|\"'$#!?".contains(byte);
    match value {
        [b'<', name @ .., b'>'] => name.iter().all(|byte| inner(byte) || *byte == b'/'),
        [b'[', name @ .., b']'] | [b'{', name @ .., b'}'] => name.iter().all(inner) && !any(name, DIGIT),
        _ => false,
    }
}

/// `your-api-key`, `YOUR_TOKEN`, `insert_here`.
fn is_invitation(value: &[u8]) -> bool {
    let begins = |word: &&str| {
        let Some((head, rest)) = value.split_at_checked(word.len()) else { return false };
        head.eq_ignore_ascii_case(word.as_bytes()) && !rest.first().is_some_and(|byte| ALNUM.has(*byte))
    };
    INVITATIONS.iter().any(begins) && count(value, DIGIT) <= 1
}

/// Whether `value` is a word that is never a secret.
pub(super) fn is_word(value: &[u8]) -> bool {
    let is_one = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    let digits = value.iter().rev().take_while(|byte| DIGIT.has(**byte)).count();
    let letters = &value[..value.len() - digits];
    is_one(WORDS)
        || value.len() < 6
            && is_one(&["yes", "no", "on", "off", "ok", "str", "bool", "int", "self", "this", "void"])
        || (1..=3).contains(&digits) && SIZED_TYPES.iter().any(|word| letters == word.as_bytes())
}

/// Whether `value` is made of parts of such names as `user_token`, `apiKey`, `Password`.
pub(super) fn names_a_secret(value: &[u8]) -> bool {
    let value = value.to_ascii_lowercase();
    count(&value, DIGIT) <= 1
        && STEMS.iter().any(|stem| value.windows(stem.len()).any(|part| part == stem.as_bytes()))
}

/// Whether `value` is a type or a constant by its capitals: `SecretString`, `MAX_LENGTH`, `WIN32_ERROR`.
pub(super) fn is_capitalised(value: &[u8]) -> bool {
    let capital = value.first().is_some_and(|byte| UPPER.has(*byte)) && all(value, IDENT);
    capital && !is_scrambled(value) && (!any(value, DIGIT) || !any(value, LOWER) && is_identifier(value))
}

/// Whether `value` has more capitals than words: `aBcDeFgH`.
pub(super) fn is_scrambled(value: &[u8]) -> bool {
    let begins = value.windows(2).filter(|pair| LOWER.has(pair[0]) && UPPER.has(pair[1])).count();
    all(value, LETTER) && begins > 0 && (begins + 1) * 3 > value.len()
}

/// Whether `value` is made of words and short numbers with underscores between them: `foo_bar_2`.
pub(super) fn is_identifier(value: &[u8]) -> bool {
    let dense = |part: &[u8]| part.len() >= 8 && any(part, DIGIT);
    value.contains(&b'_') && all(value, IDENT) && !value.split(|byte| *byte == b'_').any(dense)
}

/// Whether `text` has holes that a program fills in: `Bearer ${token}`, `{}`, `%s`.
pub(super) fn is_template(text: &[u8]) -> bool {
    text.windows(2).any(|pair| matches!(pair, b"${" | b"{{" | b"#{" | b"$(" | b"%s" | b"%v" | b"{}"))
        || text.split(|byte| *byte == b'{').skip(1).any(|rest| {
            let name = rest.iter().position(|byte| !IDENT.has(*byte) && *byte != b'.');
            name.is_some_and(|end| end > 0 && matches!(rest[end], b'}' | b':' | b'!'))
        })
}
