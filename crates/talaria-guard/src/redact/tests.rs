//! What the redactor promises: the two corpora, the tables, and what holds for every text.

use std::cell::Cell;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;

use super::*;

mod bounds;
mod documents;
mod encodings;
mod limits;
mod texts;
mod work;

use texts::{SIGNS, any_text, by_shape, gets_out, ordinary_piece, unique};

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts looks at bytes.
pub(super) fn count_steps(count: usize) {
    STEPS.set(STEPS.get() + count);
}

const ORDINARY: &str = include_str!("corpus/ordinary.txt");

/// One line of the corpus of secrets.
struct Example {
    /// The text with its secrets.
    text: String,
    /// The secrets.
    secrets: Vec<String>,
    /// What must become of the text.
    expected: String,
}

fn examples() -> Vec<Example> {
    let lines = include_str!("corpus/secrets.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let line_ends = |line: &str| line.replace('⏎', "\n").replace('␛', "\x1b");
    lines.map(|line| Example::read(&encode(&expand(&line_ends(line))))).collect()
}

impl Example {
    fn read(line: &str) -> Self {
        let (kinds, marked) = line.split_once(" | ").unwrap();
        let kinds: Vec<&str> = kinds.split(", ").collect();
        let mut example = Self { text: String::new(), secrets: Vec::new(), expected: String::new() };
        for (index, part) in marked.split(['«', '»']).enumerate() {
            example.text += part;
            if index % 2 == 1 {
                let kind = if kinds.len() == 1 { kinds[0] } else { kinds[example.secrets.len()] };
                example.secrets.push(part.to_owned());
                example.expected += &format!("[redacted:{kind}:{}]", part.len());
            } else {
                example.expected += part;
            }
        }
        assert!(!example.secrets.is_empty(), "no secret in {line}");
        assert!(
            kinds.len() == 1 || kinds.len() == example.secrets.len(),
            "another number of kinds in {line}"
        );
        example
    }
}

/// Fills in `{a36}` and the like with made-up material.
fn expand(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((plain, hole)) = rest.split_once('{') {
        out += plain;
        let filled = hole.split_once('}').and_then(|(hole, behind)| {
            let material = match hole.as_bytes().first()? {
                b'a' => "Fake4Material7NotReal2",
                b'h' => "fa4e0dead1beef2",
                b'c' => "FAKE7NEVER2REAL",
                b'd' => "1020304050",
                b'b' => "Fake/Material4+NotReal7",
                _ => return None,
            };
            let count = hole.get(1..)?.parse().ok()?;
            Some((material.chars().cycle().take(count).collect::<String>(), behind))
        });
        match filled {
            Some((filled, behind)) => {
                out += &filled;
                rest = behind;
            }
            None => {
                out += "{";
                rest = hole;
            }
        }
    }
    out + rest
}

/// Puts base64 in the place of what stands between ⟦ and ⟧, and between ⟪ and ⟫ in lines of 76 letters.
fn encode(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((plain, hole)) = rest.split_once(['⟦', '⟪']) {
        let (inner, behind) = hole.split_once(['⟧', '⟫']).unwrap();
        let encoded = BASE64_STANDARD.encode(inner);
        let width = if hole[inner.len()..].starts_with('⟧') { encoded.len() } else { 76 };
        let lines: Vec<&[u8]> = encoded.as_bytes().chunks(width).collect();
        out = out + plain + &String::from_utf8(lines.join(&b"\n"[..])).unwrap();
        rest = behind;
    }
    out + rest
}

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
