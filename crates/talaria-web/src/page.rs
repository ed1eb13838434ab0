//! A page as it is shown: its text, divided into parts that fit into one result, and the passages that have certain words.
//!
//! Pure. The text is redacted and made harmless once, here, so that no part can be shown without.

use std::ops::Range;

use talaria_guard::plain;
use talaria_guard::redact::redact;
use talaria_guard::shorten::shorten;
use url::Url;

use crate::charset::decode;
use crate::fetch::FetchedBody;
use crate::html::{HtmlPart, read_html};
use crate::media::{Media, media};
use crate::pdf_reader::PdfText;

/// How many characters one part has at most.
const PART: usize = 8_500;
/// How many characters are shown on either side of a match.
const AROUND: usize = 300;
/// How many characters of a title are shown.
const TITLE: usize = 200;
/// How much of a title is read, in bytes.
const TITLE_READ: usize = 10_000;
/// The longest text that is kept of a page, in bytes.
pub(crate) const LONGEST: usize = 2_000_000;

/// A page that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebPage {
    /// Where it was found in the end.
    pub url: Url,
    /// The status.
    pub status: u16,
    /// The type, as the server says it.
    pub content_type: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The text: no secrets of known kinds, no control characters.
    pub text: String,
    /// Notes about the text: that it was cut, or is not the whole page.
    pub notes: Vec<&'static str>,
    parts: Vec<Range<usize>>,
}

/// The passages of a page that have certain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageSearch {
    /// How often the words occur.
    pub matches: usize,
    /// The passages, divided into parts like a page.
    pub parts: Vec<String>,
}

/// Returns whether a body is a PDF file, which a [`PdfReader`](crate::PdfReader) reads.
pub fn is_pdf(fetched: &FetchedBody) -> bool {
    media(fetched.content_type.as_deref(), &fetched.bytes) == Ok(Media::Pdf)
}

/// Makes a page of the text of a PDF file.
pub fn pdf_page(fetched: FetchedBody, read: PdfText) -> WebPage {
    let mut notes = vec!["the text of a PDF file, without its pictures and its layout"];
    if read.unread > 0 {
        notes
            .push("a part of its text cannot be read: pages that are pictures, or letters without a meaning");
    }
    if read.is_cut {
        notes.push("the file has more text than 2,000,000 bytes and was cut there");
    }
    let FetchedBody { url, status, content_type, .. } = fetched;
    let (title, text) = (read.title.as_deref().map(cleaned_title), cleaned_text(&read.text, &mut notes));
    let parts = divide(&text);
    WebPage { url, status, content_type, title, text, notes, parts }
}

/// Reads what was fetched. `Err` is why it cannot be read. Takes a while for a large page: not for an async task.
pub fn read_page(fetched: FetchedBody) -> Result<WebPage, String> {
    let FetchedBody { url, status, content_type, bytes, is_cut } = fetched;
    let refused =
        |kind: &str| format!("the type {kind} is not read; only HTML, text, Markdown, JSON and XML are");
    let media = media(content_type.as_deref(), &bytes).map_err(|kind| refused(&kind))?;
    let text = decode(&bytes, content_type.as_deref());
    drop(bytes);
    let mut notes = Vec::new();
    if is_cut {
        notes.push("the page is longer than 5 MB and was cut there");
    }
    let (title, text) = match media {
        Media::Text => (None, text),
        Media::Pdf => return Err(refused("application/pdf")),
        Media::Html => {
            let read = read_html(&text, &url);
            match read.part {
                HtmlPart::Article => notes.push("only the article of the page, without menus and the like"),
                HtmlPart::Body => {}
                HtmlPart::Bare => {
                    notes.push("the page is nested too deeply, so that only its bare text was read");
                }
            }
            (read.title, read.text)
        }
    };
    let (title, text) = (title.as_deref().map(cleaned_title), cleaned_text(&text, &mut notes));
    let parts = divide(&text);
    Ok(WebPage { url, status, content_type, title, text, notes, parts })
}

/// The title on one short line. Secrets are masked before it is cut: half a secret could not be recognised.
fn cleaned_title(title: &str) -> String {
    let title = redact(&title[..title.floor_char_boundary(TITLE_READ)]);
    shorten(&plain::one_line(&title), TITLE).into_owned()
}

/// The text without secrets and control characters, cut at the limit, which is then noted.
fn cleaned_text(text: &str, notes: &mut Vec<&'static str>) -> String {
    let mut text = plain::with_tabs(&redact(text)).into_owned();
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        notes.push("the text is longer than 2,000,000 bytes and was cut there");
    }
    text.trim().to_owned()
}

impl WebPage {
    /// How many parts it has; at least one.
    pub fn parts(&self) -> usize {
        self.parts.len().max(1)
    }

    /// A part, from 1. An empty page has one empty part.
    pub fn part(&self, number: usize) -> Option<&str> {
        match self.parts.get(number.checked_sub(1)?) {
            Some(range) => self.text.get(range.clone()),
            None => (number == 1).then_some(""),
        }
    }

    /// Finds words, in any case, and what is around them.
    pub fn find(&self, words: &str) -> PassageSearch {
        let (needle, (folded, places)) = (words.to_lowercase(), folded(&self.text));
        let matches: Vec<usize> = folded.match_indices(&needle).map(|(at, _)| places[at]).collect();
        let mut passages: Vec<Range<usize>> = Vec::new();
        for at in &matches {
            let (from, to) = (back(&self.text, *at, AROUND), ahead(&self.text, *at, AROUND));
            match passages.last_mut() {
                Some(last) if last.end >= from => last.end = to,
                _ => passages.push(from..to),
            }
        }
        let mut parts: Vec<String> = Vec::new();
        let mut room = 0;
        for passage in passages {
            let place = format!("[at {} %]\n", passage.start * 100 / self.text.len().max(1));
            let mut text = self.text.get(passage).unwrap_or_default().trim();
            // Matches in a row may make a passage that is longer than a part.
            while !text.is_empty() {
                let (piece, rest) = text.split_at(ahead(text, 0, PART - 100));
                let size = piece.chars().count() + place.len() + 2;
                match parts.last_mut() {
                    Some(last) if size <= room => {
                        room -= size;
                        last.push_str(&format!("\n\n{place}{piece}"));
                    }
                    _ => {
                        room = PART.saturating_sub(size);
                        parts.push(format!("{place}{piece}"));
                    }
                }
                text = rest;
            }
        }
        PassageSearch { matches: matches.len(), parts }
    }
}

/// The text in lower case, and for each of its bytes its position in the original text.
fn folded(text: &str) -> (String, Vec<usize>) {
    let mut folded = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        folded.extend(c.to_lowercase());
        places.resize(folded.len(), at);
    }
    (folded, places)
}

/// The place this many characters before `at`.
fn back(text: &str, at: usize, count: usize) -> usize {
    text[..at].char_indices().rev().take(count).last().map_or(at, |(at, _)| at)
}

/// The place this many characters after `at`.
fn ahead(text: &str, at: usize, count: usize) -> usize {
    text[at..].char_indices().nth(count).map_or(text.len(), |(further, _)| at + further)
}

/// Divides a text: at the end of a paragraph in the last third of a part, else of a line, else of a word, else anywhere.
fn divide(text: &str) -> Vec<Range<usize>> {
    let (mut parts, mut from) = (Vec::new(), 0);
    while from < text.len() {
        let end = ahead(text, from, PART);
        if end == text.len() {
            parts.push(from..end);
            break;
        }
        let earliest = ahead(text, from, PART * 2 / 3);
        let tail = &text[earliest..end];
        let cut = ["\n\n", "\n", " "].iter().find_map(|mark| Some(earliest + tail.rfind(mark)? + mark.len()));
        let cut = cut.unwrap_or(end);
        parts.push(from..cut);
        from = cut;
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fetched(content_type: &str, bytes: &[u8]) -> FetchedBody {
        FetchedBody {
            url: Url::parse("https://example.org/").unwrap(),
            status: 200,
            content_type: Some(content_type.to_owned()),
            bytes: bytes.to_vec(),
            is_cut: false,
        }
    }

    fn text(text: &str) -> WebPage {
        read_page(fetched("text/plain; charset=utf-8", text.as_bytes())).unwrap()
    }

    #[test]
    fn a_page_has_no_secrets_and_no_control_characters() {
        let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
        let page = text(&format!("key {key}\r\n\u{202e}reversed\u{1b}[2J\tend"));
        assert!(!page.text.contains("abcdefghijkl"), "{}", page.text);
        assert!(page.text.contains("⟨U+202E⟩reversed␛[2J\tend"), "{}", page.text);
        let html = format!("<title>a\u{1b}b {key}</title><p>x");
        let page = read_page(fetched("text/html; charset=utf-8", html.as_bytes())).unwrap();
        assert!(page.title.as_deref().is_some_and(|title| title.starts_with("a␛b [redacted")), "{page:?}");
        // The limit of a title is in the middle of the secret.
        let title = cleaned_title(&format!("{} {key}", "x".repeat(TITLE - 10)));
        assert!(!title.contains(&key[..6]) && title.chars().count() <= TITLE, "{title}");
    }

    #[test]
    fn what_is_not_text_is_refused_by_its_type() {
        let refused = read_page(fetched("application/pdf", b"%PDF-1.7")).unwrap_err();
        assert_eq!(
            refused,
            "the type application/pdf is not read; only HTML, text, Markdown, JSON and XML are"
        );
    }

    #[test]
    fn words_are_found_in_any_case_with_what_is_around_them() {
        let page = text(&format!("{}The ÄRGER begins. {} 日本語 here", "a ".repeat(3000), "b ".repeat(3000)));
        let found = page.find("ärger");
        assert_eq!((found.matches, found.parts.len()), (1, 1));
        assert!(
            found.parts[0].starts_with("[at 47 %]\n") && found.parts[0].contains("The ÄRGER begins."),
            "{found:?}"
        );
        assert!(found.parts[0].chars().count() < 2 * AROUND + 20);
        assert!(page.find("日本").parts[0].contains("日本語 here"));
        assert_eq!(page.find("nothing"), PassageSearch { matches: 0, parts: Vec::new() });
        let many = page.find("a");
        assert!(many.parts.iter().all(|part| part.chars().count() <= PART), "a long passage is divided");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_parts_of_a_page_are_the_whole_page(text in "(?s)([a-zä日]{0,30}[ \n]{0,3}){0,1500}") {
            let parts = divide(&text);
            prop_assert_eq!(parts.iter().map(|part| &text[part.clone()]).collect::<String>(), text.clone());
            prop_assert!(parts.iter().all(|part| text[part.clone()].chars().count() <= PART));
        }

        #[test]
        fn a_search_never_fails_and_its_parts_are_bounded(text in "[aAäÄİßﬀ日 \n]{0,800}", words in "[aäi̇ßf日]{1,3}") {
            let found = self::text(&text).find(&words);
            prop_assert!(found.parts.iter().all(|part| part.chars().count() <= PART));
        }
    }
}
