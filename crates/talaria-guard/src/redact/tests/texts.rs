//! Texts for testing the redactor: secrets with surrounding text, and ordinary ones.

use proptest::prelude::*;

use super::*;

/// Texts made of secrets, parts of secrets, text that surrounds secrets, and anything else.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    let texts: Vec<String> = examples().into_iter().map(|example| example.text).collect();
    let lines: Vec<&str> = ORDINARY.lines().collect();
    let piece = prop_oneof![
        4 => prop::sample::select(texts.clone()),
        2 => prop::sample::select(lines).prop_map(str::to_owned),
        4 => (prop::sample::select(texts), 0usize..200, 0usize..200).prop_map(|(text, from, to)| {
            let chars: Vec<char> = text.chars().collect();
            let from = from.min(chars.len());
            chars[from..to.clamp(from, chars.len())].iter().collect()
        }),
        4 => prop::sample::select(SIGNS).prop_map(str::to_owned),
        2 => "[ -~]{0,20}",
        1 => any::<String>(),
        1 => (prop::sample::select(SIGNS), 1usize..400).prop_map(|(sign, count)| sign.repeat(count)),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Pieces of which secrets and their surroundings are made.
#[rustfmt::skip]
pub(super) const SIGNS: &[&str] = &[
    "password", "PASSWORD", "token", "--token", "secret", "api_key", "Authorization", "Bearer", "Basic",
    "Cookie", "key", "https", "postgres", "eyJ", "eyJhbGciOiJIUzI1NiJ9", "sk-", "ghp_", "AKIA",
    "-----BEGIN ", "PRIVATE KEY", "-----", "-----END ", "[redacted:", "[redacted:token:5]", "value",
    "Some(", "bot123456789", "8Q~", "-u", "<@", "12345678901", "\"", "'", "`", "\\", "\\\"", "\\\\\\\"",
    "\\n", "\\u001b", "\x1b[31m", "%3D", "=", ":", "://", "@", "/", "?", "&", "#", ",", ";", " ", "  ",
    "\t", "\n", "\r\n", ".", "-", "_", "+", "<", ">", "</", "(", ")", "[", "]", "{", "}", "|", "$", "~",
    "mysql", "-p", "-phunter2", "seed phrase", "mnemonic", "legal winner", "contraseña", "密码", "：", "Private-Lines: 2\n",
    "T1BFTkFJX0FQSV9LRVk9c2st", "VGhlIHF1aWNrIGJyb3duIGZveCBq",
    "a", "A", "1", "hunter2", "correcthorse", "é", "…", "🔑",
];

/// Makes a secret unique within a text.
pub(super) fn unique(secret: &str) -> String {
    secret.replace("Fake", "Uniq").replace("fa4e", "0b1e").replace("FAKE", "UNIQ")
}

/// Whether a part of such a secret is in `text`.
pub(super) fn gets_out(text: &str) -> bool {
    ["Uniq4", "0b1e0", "UNIQ7"].iter().any(|part| text.contains(part))
}

/// A piece of ordinary text followed by a blank or a line end.
pub(super) fn ordinary_piece() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "the", "password", "token", "is", "a", "secret", "of", "Authorization", "cookie", "fn", "let", "return", "token,",
        "(token)", "max_tokens", "password_field", "src/token.rs", "--token-file", "x:", "y =", "key:", "id=7", "{", "}",
        "foo(bar);", "a::b::c", "std::fmt", "https://example.com/a?page=2", "me@example.com", "./run.sh", "1.2.3", "-v",
        "Some(x)", "Option<String>", "$TOKEN", "<token>", "&self", "!=", "token.len()", "self.password",
    ];
    let word = prop_oneof![
        6 => prop::sample::select(WORDS).prop_map(str::to_owned),
        3 => "[a-z]{1,12}",
        1 => "[A-Z][a-z]{1,8}[A-Z][a-z]{1,8}",
        1 => "[0-9a-f]{40}",
        1 => "sha256:[0-9a-f]{64}",
        1 => "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        1 => "sha512-[A-Za-z0-9/]{86}==",
        1 => "[0-9]{1,9}",
    ];
    (word, prop::sample::select(&[" ", "\n", ", ", " ", "\n    "][..])).prop_map(|(word, gap)| word + gap)
}

/// Secrets that need nothing around them.
pub(super) fn by_shape() -> Vec<String> {
    examples()
        .into_iter()
        .filter(|example| example.secrets == [example.text.clone()])
        .map(|example| example.text)
        .collect()
}
