//! A page of HTML as Markdown: the article if there is one, else the whole body, else the bare text. Pure.
//!
//! `dom_smoothie` finds the article; below 600 characters it found a fragment, not an article, and the body is read. The
//! Markdown is written by `dom_query`, a dependency of `dom_smoothie`. Links are made absolute, so that a model can
//! follow them.

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use url::Url;

use crate::bounded_tree::parse_bounded;

/// The shortest article, in characters.
const SHORTEST: usize = 600;
/// The most elements among which an article is looked for.
const MOST_ELEMENTS: usize = 60_000;
/// Elements that are never text of a page.
const SKIPPED: [&str; 12] = [
    "script", "style", "meta", "head", "noscript", "template", "svg", "iframe", "object", "canvas", "select",
    "dialog",
];
/// Elements whose content is no markup and no text.
const UNSHOWN: [&str; 4] = ["script", "style", "textarea", "title"];

/// The text of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HtmlText {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) part: HtmlPart,
}

/// Which part of a page the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HtmlPart {
    /// The article, without what is around it.
    Article,
    /// Everything.
    Body,
    /// Everything without its structure: the page is nested too deeply or has too many elements.
    Bare,
}

/// Reads a page of HTML.
pub(crate) fn read_html(html: &str, url: &Url) -> HtmlText {
    let Some(document) = parse_bounded(html) else {
        return HtmlText { title: None, text: bare_text(html), part: HtmlPart::Bare };
    };
    let title = title(&document);
    let whole = document.clone();
    match article(document, url) {
        Some((found, text)) if text.chars().nth(SHORTEST).is_some() => {
            HtmlText { title: title.or(found), text, part: HtmlPart::Article }
        }
        _ => HtmlText { title, text: body(&whole, url), part: HtmlPart::Body },
    }
}

fn title(document: &Document) -> Option<String> {
    let text = document.select_single("title").text();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

fn article(document: Document, url: &Url) -> Option<(Option<String>, String)> {
    let config = Config {
        text_mode: TextMode::Markdown,
        max_elements_to_parse: MOST_ELEMENTS,
        disable_json_ld: true,
        ..Config::default()
    };
    let mut readability = Readability::with_document(document, Some(url.as_str()), Some(config)).ok()?;
    let article = readability.parse().ok()?;
    let title = (!article.title.trim().is_empty()).then(|| article.title.trim().to_owned());
    Some((title, article.text_content.trim().to_owned()))
}

fn body(document: &Document, url: &Url) -> String {
    for link in document.select("a[href]").nodes() {
        if let Some(href) = link.attr("href")
            && let Ok(absolute) = url.join(&href)
        {
            link.set_attr("href", absolute.as_str());
        }
    }
    let node = document.body().unwrap_or_else(|| document.root());
    node.md(Some(&SKIPPED)).trim().to_owned()
}

/// The text of a page without its tags, scripts and styles, in one pass.
fn bare_text(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push_words(&rest[..at], &mut out);
        rest = &rest[at..];
        rest = match skipped(rest) {
            Some(after) => after,
            None => {
                push_words("<", &mut out);
                &rest[1..]
            }
        };
    }
    push_words(rest, &mut out);
    out
}

/// What follows the tag or comment at the beginning; `None` if there is none.
fn skipped(text: &str) -> Option<&str> {
    let after = |text: &'_ str, end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
    if text.starts_with("<!--") {
        return Some(&text[after(text, "-->")..]);
    }
    let inner = &text.as_bytes()[1..];
    if !inner.first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"/!?".contains(byte)) {
        return None;
    }
    let rest = &text[after(text, ">")..];
    let name = UNSHOWN.iter().find(|name| {
        inner.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
            && !inner.get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
    });
    Some(name.map_or(rest, |name| {
        let end = rest.char_indices().filter(|(_, c)| *c == '<').map(|(at, _)| at).find(|at| {
            let tag = &rest.as_bytes()[*at..];
            tag.get(1) == Some(&b'/')
                && tag.get(2..2 + name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        });
        end.map_or("", |end| &rest[end..])
    }))
}

fn push_words(text: &str, out: &mut String) {
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn read(html: &str) -> HtmlText {
        read_html(html, &Url::parse("https://example.org/docs/page").unwrap())
    }

    #[test]
    fn an_article_is_read_without_what_is_around_it() {
        let sentence =
            "The cache moves to the pelican cluster, because its disks are faster, and it stays there. ";
        let html = format!(
            "<html><head><title> Cache \n plan </title><script>track()</script></head><body>\
             <nav><a href=/a>Home</a> <a href=/b>Products</a></nav>\
             <article><h1>Cache plan</h1><p>{}</p><h2>Steps</h2><ul><li>Copy <b>all</b></li><li>Switch</li></ul>\
             <p>{} See <a href='../next?x=1'>the next page</a>.</p><pre><code>talaria  exec\nls</code></pre></article>\
             <footer>Imprint, all rights reserved</footer></body></html>",
            sentence.repeat(5),
            sentence.repeat(3)
        );
        let read = read(&html);
        assert_eq!((read.title.as_deref(), read.part), (Some("Cache plan"), HtmlPart::Article));
        assert!(!read.text.contains("Products") && !read.text.contains("track()"), "{}", read.text);
        assert!(read.text.contains("[the next page](https://example.org/next?x=1)"), "{}", read.text);
        assert!(read.text.contains("- Copy **all**\n- Switch"), "{}", read.text);
        assert!(read.text.contains("```\ntalaria  exec\nls\n```"), "{}", read.text);
    }

    #[test]
    fn a_page_without_an_article_is_read_whole() {
        let read = read(
            "<title>Status</title><style>p{}</style><h1>All fine</h1><p>3 of 3 <a href='#up'>services</a> run</p>\
             <table><tr><th>name</th><th>state</th></tr><tr><td>web</td><td>up</td></tr></table><script>x</script>",
        );
        assert_eq!((read.title.as_deref(), read.part), (Some("Status"), HtmlPart::Body));
        expect![[r#"
            # All fine

            3 of 3 [services](https://example.org/docs/page#up) run


            | name | state |
            | ---- | ----- |
            | web | up |"#]]
        .assert_eq(&read.text);
    }

    #[test]
    fn a_page_that_is_made_to_be_slow_is_read_as_bare_text() {
        let read = read(&format!(
            "<title>no</title>{}deep 日 < text<script>if (a<b) x</script>",
            "<div>".repeat(3_000)
        ));
        assert_eq!((read.part, read.title), (HtmlPart::Bare, None));
        assert_eq!(read.text, "deep 日 < text");
    }

    #[test]
    fn what_is_no_page_has_a_text_too() {
        assert_eq!(read("").text, "");
        assert_eq!(read("just words").text, "just words");
    }
}
