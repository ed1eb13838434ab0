//! Removes secrets from everything that leaves the process or is stored.
//!
//! A secret is recognised by its own shape (`families.rs`), by the name that it is assigned to (`names.rs`), or by its
//! position: a header, a URL, a PEM block. Base64 of such a text is one too. It is replaced by
//! `[redacted:KIND:LENGTH]`, never by a part of it. Ordinary text, code, hashes and images are left alone; `corpus/`
//! contains examples of both.
//!
//! Nothing here fails, and every text takes time linear in its length: one pass with bounded looks ahead, no
//! backtracking. Redacting twice changes nothing. Called by whatever writes, shows or sends something.

mod assignment;
mod bytes;
mod commands;
mod encoded;
mod escape;
mod families;
mod foreign;
mod headers;
mod hiding;
mod json;
mod link;
mod look;
mod marker;
mod mysql;
mod names;
mod pem;
mod people;
mod phrase;
mod placeholder;
mod putty;
mod quote;
mod scanner;
mod stream;
#[cfg(test)]
mod tests;
mod token;
mod value;

use std::borrow::Cow;

use look::Tail;
use scanner::Scanner;

pub use json::redact_json;
pub use stream::Stream;

/// Replaces all secrets in `text` by markers. Returns the text itself if there are none.
pub fn redact(text: &str) -> Cow<'_, str> {
    redact_behind(b'\n', text)
}

/// Redacts `text`, which follows the byte `before`.
fn redact_behind(before: u8, text: &str) -> Cow<'_, str> {
    let mut scanner = Scanner::after(before);
    let mut out = String::new();
    scanner.run(text, Tail::Ends, &mut out);
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[scanner.written()..]);
    Cow::Owned(out)
}
