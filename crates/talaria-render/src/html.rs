//! Markdown as HTML that is safe to open: every word is escaped, nothing of the source becomes a tag.
//!
//! HTML in the source is shown as text, images become links, and a link keeps only an address of the web or of mail. Tags are written
//! here alone, in the order in which the parser closes them. Called by `html_export`.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use talaria_guard::plain as sanitize;

/// Returns Markdown as HTML.
pub(crate) fn markdown(source: &str) -> String {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut out = String::with_capacity(source.len() * 3 / 2);
    let mut is_head = false;
    // A link without a permitted address opened no tag, so it closes none.
    let mut links = Vec::new();
    for event in Parser::new_ext(source, options) {
        match event {
            Event::Start(tag) => open(&mut out, &tag, &mut is_head, &mut links),
            Event::End(end) => close(&mut out, end, &mut is_head, &mut links),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => out += &escaped(&text),
            Event::Code(code) => out += &format!("<code>{}</code>", escaped(&code)),
            Event::SoftBreak => out.push('\n'),
            Event::HardBreak => out += "<br>\n",
            Event::Rule => out += "<hr>\n",
            Event::TaskListMarker(is_done) => out += if is_done { "☑ " } else { "☐ " },
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                out += &escaped(&text);
            }
        }
    }
    out
}

/// Text that HTML shows as it is, also inside a value between double quotes. Control characters become visible.
pub(crate) fn escaped(text: &str) -> String {
    let text = sanitize::with_tabs(text);
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for char in text.chars() {
        match char {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            char => out.push(char),
        }
    }
    out
}

fn open(out: &mut String, tag: &Tag<'_>, is_head: &mut bool, links: &mut Vec<bool>) {
    match tag {
        Tag::Paragraph => *out += "<p>",
        Tag::Heading { level, .. } => *out += &format!("<{}>", heading(*level as u8)),
        Tag::BlockQuote(_) => *out += "<blockquote>",
        Tag::CodeBlock(kind) => {
            let language = match kind {
                CodeBlockKind::Fenced(language) if !language.is_empty() => {
                    format!(" data-language=\"{}\"", escaped(language))
                }
                _ => String::new(),
            };
            *out += &format!("<pre{language}><code>");
        }
        Tag::List(None) => *out += "<ul>\n",
        Tag::List(Some(first)) => *out += &format!("<ol start=\"{first}\">\n"),
        Tag::Item => *out += "<li>",
        Tag::Emphasis => *out += "<em>",
        Tag::Strong => *out += "<strong>",
        Tag::Strikethrough => *out += "<del>",
        Tag::Table(columns) => {
            let is_right = columns.contains(&Alignment::Right);
            *out += if is_right { "<table class=\"figures\">\n" } else { "<table>\n" };
        }
        Tag::TableHead => {
            *is_head = true;
            *out += "<tr>";
        }
        Tag::TableRow => *out += "<tr>",
        Tag::TableCell => *out += if *is_head { "<th>" } else { "<td>" },
        Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
            let is_permitted = is_permitted(dest_url);
            links.push(is_permitted);
            if is_permitted {
                *out += &format!("<a href=\"{}\" rel=\"noreferrer\">", escaped(dest_url));
            }
        }
        _ => {}
    }
}

fn close(out: &mut String, end: TagEnd, is_head: &mut bool, links: &mut Vec<bool>) {
    match end {
        TagEnd::Paragraph => *out += "</p>\n",
        TagEnd::Heading(level) => *out += &format!("</{}>\n", heading(level as u8)),
        TagEnd::BlockQuote(_) => *out += "</blockquote>\n",
        TagEnd::CodeBlock => *out += "</code></pre>\n",
        TagEnd::List(is_ordered) => *out += if is_ordered { "</ol>\n" } else { "</ul>\n" },
        TagEnd::Item => *out += "</li>\n",
        TagEnd::Emphasis => *out += "</em>",
        TagEnd::Strong => *out += "</strong>",
        TagEnd::Strikethrough => *out += "</del>",
        TagEnd::Table => *out += "</table>\n",
        TagEnd::TableHead => {
            *is_head = false;
            *out += "</tr>\n";
        }
        TagEnd::TableRow => *out += "</tr>\n",
        TagEnd::TableCell => *out += if *is_head { "</th>" } else { "</td>" },
        TagEnd::Link | TagEnd::Image => *out += if links.pop() == Some(true) { "</a>" } else { "" },
        _ => {}
    }
}

/// The headings of a message are below those of the page.
fn heading(level: u8) -> String {
    format!("h{}", level.saturating_add(2).min(6))
}

/// An address that a browser only follows when someone clicks on it, and that runs nothing.
fn is_permitted(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_becomes_tags_and_everything_else_becomes_text() {
        let source = "# Two\n\nA *b* **c** `d<e` ~~f~~ <script>alert(1)</script> [safe](https://a/?b=\"c) \
                      [bad](javascript:alert(1)) ![pic](https://x/y.png)\n\n1. one\n2. [x] two\n\n\
                      | a | b |\n|---|--:|\n| 1 | <b> |\n\n```rust\nlet a = \"<\";\n```\n\n<iframe src=x>\n";
        expect![[r#"
            <h3>Two</h3>
            <p>A <em>b</em> <strong>c</strong> <code>d&lt;e</code> <del>f</del> &lt;script&gt;alert(1)&lt;/script&gt; <a href="https://a/?b=&quot;c" rel="noreferrer">safe</a> bad <a href="https://x/y.png" rel="noreferrer">pic</a></p>
            <ol start="1">
            <li>one</li>
            <li>☑ two</li>
            </ol>
            <table class="figures">
            <tr><th>a</th><th>b</th></tr>
            <tr><td>1</td><td>&lt;b&gt;</td></tr>
            </table>
            <pre data-language="rust"><code>let a = &quot;&lt;&quot;;
            </code></pre>
            &lt;iframe src=x&gt;
        "#]].assert_eq(&markdown(source));
    }

    proptest! {
        /// Whatever the source, the only tags are ours, and no attribute but those written here exists.
        #[test]
        fn nothing_of_the_source_becomes_a_tag(source in "([<>\"'&a-z/=:\\[\\]()!*`_#|\\- \\n]|script|javascript:|onerror=|https://){0,60}") {
            let html = markdown(&source);
            for tag in html.split('<').skip(1) {
                let Some((inside, _)) = tag.split_once('>') else { return Err(TestCaseError::fail(html.clone())) };
                let name = inside.trim_start_matches('/').split(' ').next().unwrap_or_default();
                let ours = ["p", "br", "hr", "blockquote", "pre", "code", "ul", "ol", "li", "em", "strong", "del", "table",
                    "tr", "th", "td", "a", "h3", "h4", "h5", "h6"];
                prop_assert!(ours.contains(&name), "{source:?} became {html}");
                let attribute = inside.split_once(' ').map(|(_, rest)| rest);
                let is_ours = attribute.is_none_or(|rest| {
                    rest.starts_with("href=\"http") || rest.starts_with("href=\"mailto:") || rest.starts_with("data-language=\"")
                        || rest.starts_with("start=\"") || rest == "class=\"figures\""
                });
                prop_assert!(is_ours, "{source:?} became {html}");
                let quotes = inside.matches('"').count();
                prop_assert!(quotes == 0 || quotes == 2 || inside.ends_with("rel=\"noreferrer\""), "{source:?}: {inside}");
            }
        }
    }
}
