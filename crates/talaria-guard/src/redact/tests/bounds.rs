//! Limits for hostile text: the work is linear, little text is held, and ordinary text is not delayed.

use super::*;

/// Units that are repeated to make a text on which a careless redactor spends minutes.
#[rustfmt::skip]
const HOSTILE: &[&str] = &[
    "a", ".", "ab.", "eyJ.", "eyJ-", "eyJhbGciOiJIUzI1NiJ9.", "=", "&", "\"", "\\", "\\\\\\\"", "-----", "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\na\n", "password=", "password=\"", "password=\\\"",
    "token    ", "password: a", "\"token\":", "Authorization: ", "Cookie: a=", "a://", "a:@", "redis://a:b/", "sk-",
    "ghp_.xoxb-SG.", "[redacted:", "token=token,", "secret=a&", "key=", "\u{1b}[", "%", "+1", "-u a:", "é", "<token>", "\n", " ",
    "mysql ", "mysql -a ", "mysql -p", "\"mysql\", ", "mysql \"", "seed: ", "phrase: word ", "word ", "seed is word word ", "contraseña: ", "пароль",
    "密码：", "Private-Lines: 9\n", "T1BFTkFJX0FQSV9L", "VGhlIHF1aWNrIGJyb3duIGZveCBqdW1w\n", "T1BFTkFJX0FQSV9LRVk9c2st",
];

fn steps(work: impl FnOnce()) -> usize {
    STEPS.set(0);
    work();
    STEPS.get()
}

#[test]
fn the_work_is_linear_in_the_text() {
    for unit in HOSTILE {
        let text = |size: usize| unit.repeat(size / unit.len());
        let (one, two) = (text(2_000), text(4_000));
        let whole = |text: &str| steps(|| drop(redact(text)));
        let streamed = |text: &str| steps(|| drop(char_by_char(text)));
        assert!(whole(&two) <= 50 * two.len(), "{unit:?} {}", whole(&two) / two.len());
        assert!(whole(&two) <= whole(&one) * 21 / 10 + 1000, "{unit:?} {} {}", whole(&one), whole(&two));
        assert!(streamed(&two) <= 500 * two.len(), "{unit:?} {}", streamed(&two) / two.len());
        assert!(streamed(&two) <= streamed(&one) * 21 / 10 + 10_000, "{unit:?}");
    }
}

#[test]
fn what_is_held_back_is_bounded_and_a_secret_without_end_is_not_held() {
    let starts = [
        "",
        "ghp_Fake4Material7NotReal2",
        "PASSWORD=x",
        "password: \"x",
        "Authorization: Bearer x",
        "https://a:",
    ];
    for (unit, start) in HOSTILE.iter().flat_map(|unit| starts.map(|start| (unit, start))) {
        let (mut stream, mut out) = (Stream::new(), String::new());
        stream.push(start, &mut out);
        for _ in 0..12_000 / unit.len() {
            stream.push(unit, &mut out);
            let bound = if unit.starts_with("eyJ") { 8 * 1024 + 64 } else { 2 * 1024 };
            assert!(stream.held() <= bound, "{start:?} {unit:?} {}", stream.held());
        }
        let held = stream.held();
        stream.finish(&mut out);
        assert!(held < 9000 && !out.contains("Fake4"));
    }
}

#[test]
fn a_long_value_is_never_cut_inside_a_character() {
    for (start, letter) in
        [("PASSWORD=", "é"), ("password: \"", "🔑"), ("Cookie: a=", "…"), ("redis://:", "ß")]
    {
        for (shift, count) in (0..4).flat_map(|shift| (60..140).map(move |count| (shift, count))) {
            // A dash at the end of a piece may begin a key, so the text before it is held.
            let text = format!("{start}{}{}-", "x".repeat(shift), letter.repeat(count));
            assert_eq!(in_pieces([&*text, "x"]), redact(&format!("{text}x")));
        }
    }
}

#[test]
fn ordinary_words_are_given_out_without_delay() {
    let (mut stream, mut out) = (Stream::new(), String::new());
    for word in ORDINARY_PROSE.split_inclusive(' ') {
        stream.push(word, &mut out);
        assert_eq!(stream.held(), 0, "{word:?} after {out:?}");
    }
    stream.push("unfinish", &mut out);
    assert_eq!(stream.held(), "unfinish".len());
    stream.push("ed word", &mut out);
    assert!(out.ends_with("unfinished "));
}

const ORDINARY_PROSE: &str = "The turn ended after the tests had passed, and `cargo test` says (in 12.3 s) that all of \
    it works: https://example.com/x, user@example.com, C++ and a-b-c are fine. ";
