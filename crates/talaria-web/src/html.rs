//! A page of HTML as Markdown: the article if there is one, else the whole body, else the bare text. Pure.
//!
//! `dom_smoothie` finds the article; below 600 characters it found a fragment, not an article, and the body is read. In a large
//! page, where that takes longest, an article that the page itself marks is taken as it is, or else its main part. The
//! Markdown is written by `dom_query`, a dependency of `dom_smoothie`. Links are made absolute, so that a model can
//! follow them.

use dom_query::{Document, NodeRef, Selection};
use dom_smoothie::{Config, Readability, TextMode};
use url::Url;

use crate::bounded_tree::parse_bounded;
use crate::main_part::main_part;

/// The shortest article, in characters.
const SHORTEST: usize = 600;
/// The most elements among which an article is looked for.
const MOST_ELEMENTS: usize = 60_000;
/// Elements that are never text of a page.
const SKIPPED: [&str; 12] = [
    "script", "style", "meta", "head", "noscript", "template", "svg", "iframe", "object", "canvas", "select",
    "dialog",
];
/// Elements that are around an article even inside of it.
const AROUND_ARTICLE: [&str; 5] = ["nav", "aside", "footer", "form", "button"];
/// From how many bytes on a page is large.
const LARGE: usize = 500_000;
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
    if html.len() >= LARGE
        && let Some(text) = marked_article(&document, url).or_else(|| text_of_main_part(&document, url))
    {
        return HtmlText { title, text, part: HtmlPart::Article };
    }
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
        // They name the language of code, and removing them takes time.
        keep_classes: true,
        ..Config::default()
    };
    let mut readability = Readability::with_document(document, Some(url.as_str()), Some(config)).ok()?;
    let article = readability.parse().ok()?;
    let title = (!article.title.trim().is_empty()).then(|| article.title.trim().to_owned());
    Some((title, article.text_content.trim().to_owned()))
}

/// The only article of the page, or what it marks as its main part, if that is most of its text.
fn marked_article(document: &Document, url: &Url) -> Option<String> {
    let body = document.body()?;
    let marked = ["article", "main"].into_iter().find_map(|name| {
        let found = Selection::from(body).select(name);
        let node = found.nodes().first().copied();
        node.filter(|_| found.length() == 1)
    })?;
    let size = |node: &NodeRef<'_>| node.normalized_char_count();
    let scripts: usize =
        Selection::from(body).select("script, style, template").nodes().iter().map(size).sum();
    if size(&marked) < size(&body).saturating_sub(scripts) / 2 {
        return None;
    }
    article_text(&marked, url)
}

/// The part of the page with nearly all of its text.
fn text_of_main_part(document: &Document, url: &Url) -> Option<String> {
    // A page may have all of its text in a form, which is not counted as beside it.
    let left_out: Vec<&str> = around_text().filter(|name| *name != "form").collect();
    let (part, length) = main_part(&document.body()?, &left_out)?;
    article_text(&part, url).filter(|text| text.len() >= length / 2)
}

/// The Markdown of an element, unless it is too short for an article.
fn article_text(node: &NodeRef<'_>, url: &Url) -> Option<String> {
    let text = markdown(node, url, &around_text().collect::<Vec<_>>());
    text.chars().nth(SHORTEST).is_some().then_some(text)
}

fn around_text() -> impl Iterator<Item = &'static str> {
    SKIPPED.into_iter().chain(AROUND_ARTICLE)
}

fn body(document: &Document, url: &Url) -> String {
    markdown(&document.body().unwrap_or_else(|| document.root()), url, &SKIPPED)
}

fn markdown(node: &NodeRef<'_>, url: &Url, skipped: &[&str]) -> String {
    for link in Selection::from(*node).select("a[href]").nodes() {
        if let Some(href) = link.attr("href")
            && let Ok(absolute) = url.join(&href)
        {
            link.set_attr("href", absolute.as_str());
        }
    }
    node.md(Some(skipped)).trim().to_owned()
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
        read_html(html, &read_url())
    }

    fn read_url() -> Url {
        Url::parse("https://example.org/docs/page").unwrap()
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

    /// A large page with something marked and something around it.
    fn large(marked: &str, around: &str) -> String {
        format!(
            "<html><head><title>Large</title></head><body><nav><a href=/a>Home</a></nav>{around}{marked}\
             <footer>Imprint</footer><script>{}</script></body></html>",
            "x();".repeat(LARGE / 4)
        )
    }

    #[test]
    fn the_article_of_a_large_page_is_what_it_marks_as_such() {
        let text = "The cache moves to the pelican cluster, and it stays there. ".repeat(20);
        let article = format!(
            "<article><h1>Plan</h1><p>{text}See <a href=../next>more</a>.</p><aside>Advertisement</aside><ul><li>one</li>\
             </ul><pre><code>make</code></pre></article>"
        );
        for html in [large(&article, ""), large(&format!("<main>{article}</main>"), "<p>Beside it.</p>")] {
            let read = read(&html);
            assert_eq!((read.title.as_deref(), read.part), (Some("Large"), HtmlPart::Article));
            assert!(read.text.contains("[more](https://example.org/next)"), "{}", read.text);
            assert!(read.text.contains("- one") && read.text.contains("```\nmake\n```"), "{}", read.text);
            for other in ["Advertisement", "Home", "Imprint", "Beside", "x()"] {
                assert!(!read.text.contains(other), "{other}: {}", read.text);
            }
        }
    }

    #[test]
    fn a_small_article_in_a_large_page_is_not_taken_for_the_page() {
        let long =
            format!("<div><p>{}</p></div>", "What the page is about, and there is much of it. ".repeat(200));
        let html = large("<article><p>A card that leads to another page.</p></article>", &long);
        let read = read(&html);
        assert!(read.text.contains("What the page is about"), "{:?} {}", read.part, read.text);
        let teaser = format!("<article><p>{}</p></article>", "A card that leads elsewhere. ".repeat(30));
        assert!(marked_article(&Document::from(large(&teaser, &long).as_str()), &read_url()).is_none());
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
