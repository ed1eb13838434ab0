//! Redaction: arbitrary text, whole and in pieces.

use talaria_guard::redact::{Stream, redact};

/// Nothing panics, pieces of `size` characters give the same result as the whole, and redacting twice equals redacting once.
pub fn check((text, size): (&str, u8)) {
    let whole = redact(text);
    assert_eq!(redact(&whole), whole);
    let (mut stream, mut out) = (Stream::new(), String::new());
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(usize::from(size).max(1)) {
        stream.push(&piece.iter().collect::<String>(), &mut out);
    }
    stream.finish(&mut out);
    assert_eq!(out, whole);
}
