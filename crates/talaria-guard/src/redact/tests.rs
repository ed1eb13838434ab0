//! Promises of the redactor: the two corpora, the tables, and properties of every text.

use std::cell::Cell;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;

use super::*;

mod bounds;
mod corpus;
mod documents;
mod encodings;
mod limits;
mod texts;
mod work;

use corpus::examples;
use texts::{SIGNS, any_text, by_shape, gets_out, ordinary_piece, unique};

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts looks at bytes.
pub(super) fn count_steps(count: usize) {
    STEPS.set(STEPS.get() + count);
}

const ORDINARY: &str = include_str!("corpus/ordinary.txt");

fn in_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut stream = Stream::new();
    let mut out = String::new();
    for piece in pieces {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    out
}

fn char_by_char(text: &str) -> String {
    in_pieces(text.char_indices().map(|(at, char)| &text[at..at + char.len_utf8()]))
}

#[test]
fn every_secret_of_the_corpus_is_replaced_by_its_kind_and_length() {
    let mut wrong = Vec::new();
    for example in examples() {
        let found = redact(&example.text);
        if found != example.expected {
            wrong.push(format!(
                "text     {}\nfound    {found}\nexpected {}\n",
                example.text, example.expected
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn ordinary_text_is_untouched() {
    let mut wrong = Vec::new();
    for line in ORDINARY.lines() {
        let found = redact(line);
        if found != line {
            wrong.push(format!("text  {line}\nfound {found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(matches!(redact(ORDINARY), Cow::Borrowed(_)), "{}", redact(ORDINARY));
}

#[test]
fn secrets_stay_hidden_when_the_text_comes_one_character_at_a_time() {
    for example in examples() {
        assert_eq!(char_by_char(&example.text), example.expected);
    }
    assert_eq!(char_by_char(ORDINARY), ORDINARY);
}

#[test]
fn the_tables_are_written_as_their_readers_need_them() {
    for family in families::FAMILIES {
        assert!(family.prefix.len() >= 3, "{}", family.prefix);
        assert!(family.prefix.is_ascii());
    }
    let kinds = families::FAMILIES.iter().map(|family| family.kind).chain(families::KINDS.iter().copied());
    for kind in kinds.filter(|kind| !kind.is_empty()) {
        assert!(kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{kind}");
        let mut marker = String::new();
        marker::write(kind, 12, &mut marker);
        assert_eq!(redact(&format!("password={marker} {marker}")), format!("password={marker} {marker}"));
    }
}

#[test]
fn every_line_of_the_table_hides_what_it_describes() {
    for family in families::FAMILIES.iter().filter(|family| family.shape != families::Shape::Never) {
        let material = match family.body {
            body if body.has(b'k') => "fake4Material7NotReal2",
            body if body.has(b'a') => "fa4e0dead1beef2",
            _ => "FAKE7NEVER2REAL",
        };
        let body = |count| material.chars().cycle().take(count).collect::<String>();
        let body = match family.shape {
            families::Shape::TwoParts => format!("{}.{}", body(22), body(43)),
            _ => body(family.least),
        };
        let secret = format!("{}{body}", family.prefix);
        let expected = format!("see ([redacted:{}:{}]).", family.kind, secret.len());
        assert_eq!(redact(&format!("see ({secret}).")), expected);
    }
}

#[test]
fn what_follows_a_secret_does_not_depend_on_how_the_secret_ended() {
    let once = redact("AKIAFAKE7NEVER2REALF+14155550123");
    assert_eq!(once, "[redacted:aws-key-id:20][redacted:phone:12]");
    assert_eq!(redact(&once), once);
}

#[test]
fn a_marker_that_this_redactor_does_not_write_hides_nothing() {
    let fake = "[redacted:ghp_Fake4Material7NotReal2Fake:40]";
    assert!(!redact(fake).contains("Fake4"));
}

proptest! {
    #[test]
    fn any_chunking_gives_what_the_whole_text_gives(
        text in any_text(),
        cuts in prop::collection::vec(0usize..2000, 0..12),
    ) {
        let whole = redact(&text);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        prop_assert_eq!(&in_pieces(cuts.windows(2).map(|cut| &text[cut[0]..cut[1]])), &*whole);
        prop_assert_eq!(&char_by_char(&text), &*whole);
    }

    #[test]
    fn redacting_twice_changes_nothing(text in any_text()) {
        let once = redact(&text);
        prop_assert_eq!(&redact(&once), &once);
    }

    #[test]
    fn a_secret_at_the_edge_of_a_word_never_gets_out(
        mut before in any_text(),
        mut behind in any_text(),
        edge in prop::sample::select(&[' ', '\n', '"', '(', ',', ';', '`'][..]),
        secret in prop::sample::select(by_shape()),
    ) {
        // Rejecting such texts instead would reject three of four.
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
        if before.ends_with(|char| is_word(char) || "%\\-.~/".contains(char)) {
            before.push(edge);
        }
        if behind.starts_with(is_word) {
            behind.insert(0, edge);
        }
        let secret = unique(&secret);
        let text = format!("{before}{secret}{behind}");
        prop_assert!(!gets_out(&redact(&text)), "{}", redact(&text));
        prop_assert!(!gets_out(&in_pieces([&*before, &secret[..7], &secret[7..], &behind])));
    }

    #[test]
    fn words_hashes_ids_and_code_are_untouched(pieces in prop::collection::vec(ordinary_piece(), 0..60)) {
        let text = pieces.concat();
        prop_assert!(matches!(redact(&text), Cow::Borrowed(_)), "{}", redact(&text));
    }
}
