//! Redacts arbitrary text, whole and in pieces: nothing panics, pieces give the same as the whole, twice is once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use talaria_guard::redact::{Stream, redact};

fuzz_target!(|input: (&str, u8)| {
    let (text, size) = input;
    let whole = redact(text);
    assert_eq!(redact(&whole), whole);
    let (mut stream, mut out) = (Stream::new(), String::new());
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(usize::from(size).max(1)) {
        stream.push(&piece.iter().collect::<String>(), &mut out);
    }
    stream.finish(&mut out);
    assert_eq!(out, whole);
});
