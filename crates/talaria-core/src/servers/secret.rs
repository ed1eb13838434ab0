//! Whether a literal of an MCP server looks like a secret: by the name it is given to, or by itself.
//!
//! Errs on the side of secrecy: a value that is wrongly called secret is written as a reference to a variable, which the
//! report names; the other mistake copies a secret. Owns the words that are decisive in the names of variables and
//! headers; shapes and everything else is the knowledge of `redact`.

use talaria_guard::redact::redact;

/// Last words of names whose values are secret.
const WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "cred",
    "credential",
    "credentials",
    "jwt",
    "key",
    "keys",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
];

/// Suffixes of names that need no separator before them: `PGPASSWORD`, `githubToken`.
const ENDINGS: &[&str] = &["apikey", "passphrase", "passwd", "password", "secret", "token"];

/// Whether `value`, given to the variable or header `name`, looks like a secret.
pub fn looks_secret(name: &str, value: &str) -> bool {
    !value.trim().is_empty()
        && (is_secret_name(name)
            || hides(value)
            || hides(&[name, "=", value].concat())
            || hides(&[name, ": ", value].concat()))
}

/// Whether an argument or address looks as if a secret was in it. `before` is the argument in front.
pub fn holds_secret(before: Option<&str>, text: &str) -> bool {
    let option = |text: &str| text.starts_with('-') && is_secret_name(text);
    let named = |(name, value): (&str, &str)| !value.is_empty() && is_secret_name(name);
    hides(text)
        || before.is_some_and(|before| !before.contains('=') && option(before) && !text.starts_with('-'))
        || text.split_once('=').is_some_and(named)
}

fn hides(text: &str) -> bool {
    redact(text) != text
}

fn is_secret_name(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().as_bytes();
    let ends_with = |ending: &&str| {
        let rest = last.len().checked_sub(ending.len());
        rest.is_some_and(|rest| last[rest..].eq_ignore_ascii_case(ending.as_bytes()))
    };
    WORDS.iter().any(|word| last.eq_ignore_ascii_case(word.as_bytes())) || ENDINGS.iter().any(ends_with)
}
