//! What the redactor promises: the two corpora, any chunking, nothing leaks, nothing ordinary is touched, linear work.

use std::cell::Cell;

use proptest::prelude::*;

use super::*;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts one look at a byte.
pub(super) fn count_step() {
    STEPS.set(STEPS.get() + 1);
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
    lines.map(|line| Example::read(&expand(&line.replace('⏎', "\n").replace('␛', "\x1b")))).collect()
}

impl Example {
    fn read(line: &str) -> Self {
        let (kind, marked) = line.split_once(" | ").unwrap();
        let mut example = Self { text: String::new(), secrets: Vec::new(), expected: String::new() };
        for (index, part) in marked.split(['«', '»']).enumerate() {
            example.text += part;
            if index % 2 == 1 {
                example.secrets.push(part.to_owned());
                example.expected += &format!("[redacted:{kind}:{}]", part.len());
            } else {
                example.expected += part;
            }
        }
        assert!(!example.secrets.is_empty(), "no secret in {line}");
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
fn redacting_the_text_of_a_document_leaves_a_document() {
    for example in examples() {
        let inner = serde_json::json!({ "first": example.text, "zq1": [1, "x"] }).to_string();
        let outer = serde_json::json!({ "first": inner, "zq2": { "a": null } }).to_string();
        for text in [inner, outer] {
            let found = redact(&text);
            assert!(serde_json::from_str::<serde_json::Value>(&found).is_ok(), "{text}\n{found}");
            let parts = |text: &str| text.matches("zq").count();
            assert_eq!(parts(&found), parts(&text), "{text}\n{found}");
        }
    }
}

#[test]
fn a_long_value_is_never_cut_inside_a_character() {
    for (start, letter) in
        [("PASSWORD=", "é"), ("password: \"", "🔑"), ("Cookie: a=", "…"), ("redis://:", "ß")]
    {
        for (shift, count) in (0..4).flat_map(|shift| (60..140).map(move |count| (shift, count))) {
            // A dash at the end of a piece may begin a key, so the stretch in front of it stays where it is.
            let text = format!("{start}{}{}-", "x".repeat(shift), letter.repeat(count));
            assert_eq!(in_pieces([&*text, "x"]), redact(&format!("{text}x")));
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
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
const SIGNS: &[&str] = &[
    "password", "PASSWORD", "token", "--token", "secret", "api_key", "Authorization", "Bearer", "Basic",
    "Cookie", "key", "https", "postgres", "eyJ", "eyJhbGciOiJIUzI1NiJ9", "sk-", "ghp_", "AKIA",
    "-----BEGIN ", "PRIVATE KEY", "-----", "-----END ", "[redacted:", "[redacted:token:5]", "value",
    "Some(", "bot123456789", "8Q~", "-u", "<@", "12345678901", "\"", "'", "`", "\\", "\\\"", "\\\\\\\"",
    "\\n", "\\u001b", "\x1b[31m", "%3D", "=", ":", "://", "@", "/", "?", "&", "#", ",", ";", " ", "  ",
    "\t", "\n", "\r\n", ".", "-", "_", "+", "<", ">", "</", "(", ")", "[", "]", "{", "}", "|", "$", "~",
    "a", "A", "1", "hunter2", "correcthorse", "é", "…", "🔑",
];

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
        before in any_text(),
        behind in any_text(),
        secret in prop::sample::select(by_shape()),
    ) {
        // Nothing else in the text has this in it.
        let secret = secret.replace("Fake", "Uniq").replace("fa4e", "0n1y").replace("FAKE", "UNIQ");
        let gets_out = |text: &str| ["Uniq", "0n1y", "UNIQ"].iter().any(|part| text.contains(part));
        let is_edge = |char: Option<char>| char.is_none_or(|char| !char.is_ascii_alphanumeric() && char != '_');
        prop_assume!(is_edge(before.chars().next_back()) && is_edge(behind.chars().next()));
        prop_assume!(!before.ends_with(['%', '\\', '-', '.', '~', '/']));
        let text = format!("{before}{secret}{behind}");
        prop_assert!(!gets_out(&redact(&text)), "{}", redact(&text));
        prop_assert!(!gets_out(&in_pieces([&*before, &secret[..7], &secret[7..], &behind])));
    }
}

/// Secrets that need nothing around them.
fn by_shape() -> Vec<String> {
    examples()
        .into_iter()
        .filter(|example| example.secrets == [example.text.clone()])
        .map(|example| example.text)
        .collect()
}

mod work;
