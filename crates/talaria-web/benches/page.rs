//! `cargo bench -p talaria-web`: how long a page takes to become Markdown, against a limit. Prints; fails nothing.
//!
//! An ordinary page of 2 MB, and pages made to be slow: for these the time for twice the page is compared with the time for
//! the page, which shows work that is not linear.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use talaria_web::{FetchedBody, WebPage, read_page};
use url::Url;

const SIZE: usize = 2_000_000;

fn main() {
    println!("{:<58} {:>12} {:>12}", "figure", "measured", "aim");
    let article = article(SIZE);
    let read = page(&article);
    assert!(read.text.contains("Paragraph 7 of") && !read.text.contains("Products"), "the article is found");
    row("article of 2 MB to Markdown", &millis(time(&article)), "< 150 ms");
    row("  of that, text alone (as text/plain)", &millis(time_as(&article, "text/plain")), "-");
    let unmarked =
        article.replace("<main><article>", "<div><div>").replace("</article></main>", "</div></div>");
    assert!(page(&unmarked).text.contains("Paragraph 7 of"), "the article is found");
    row("the same, not marked as an article: its main part", &millis(time(&unmarked)), "< 150 ms");
    let middle = unmarked.len() / 2;
    let middle = middle + unmarked[middle..].find("<h2").unwrap();
    let halves = format!("{}</div></div><div><div>{}", &unmarked[..middle], &unmarked[middle..]);
    assert!(page(&halves).text.contains("Paragraph 7 of"), "the article is found");
    row("the same in two halves: an article has to be looked for", &millis(time(&halves)), "< 150 ms");
    let table = table(SIZE);
    row("table of 2 MB to Markdown", &millis(time(&table)), "-");
    println!();
    println!("{:<58} {:>12} {:>12}", "made to be slow: 1 MB, time for twice the page", "measured", "aim");
    for unit in HOSTILE {
        let (one, two) = (unit.repeat(SIZE / 2 / unit.len()), unit.repeat(SIZE / unit.len()));
        let (short, long) = (time(&one), time(&two));
        let ratio = long.as_secs_f64() / short.as_secs_f64();
        let shown: String = unit.chars().take(40).collect();
        row(&shown, &format!("{} x{ratio:.1}", millis(short)), "x2");
    }
}

const HOSTILE: &[&str] = &[
    "<div>",
    "<b><i><u>",
    "<a><p>",
    "<table><tr><td>",
    "<p>x<br>",
    "<li><b>a</b>",
    "<select><option>x",
    "<p><font>a</p>",
    "<a href='x'>y</a> ",
    "<div><span>a</span></div>",
    "<b></p>",
    "<!-- x -->",
    "&lt;&amp;",
    "<svg><path/></svg>",
    "x < y ",
];

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<58} {measured:>12} {aim:>12}");
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1000.0)
}

fn page(html: &str) -> WebPage {
    fetched(html, "text/html; charset=utf-8")
}

fn fetched(text: &str, content_type: &str) -> WebPage {
    read_page(FetchedBody {
        url: Url::parse("https://example.org/docs/").unwrap(),
        status: 200,
        content_type: Some(content_type.to_owned()),
        bytes: text.as_bytes().to_vec(),
        is_cut: false,
    })
    .unwrap()
}

fn time(html: &str) -> Duration {
    time_as(html, "text/html; charset=utf-8")
}

/// The quickest of some rounds: everything that disturbs a round makes it slower. What this thread has run counts, where the
/// kernel says it: other programs do not slow that down.
fn time_as(text: &str, content_type: &str) -> Duration {
    let once = || {
        let (begun, run) = (Instant::now(), thread_time());
        black_box(fetched(text, content_type));
        match (run, thread_time()) {
            (Some(before), Some(after)) => after - before,
            _ => begun.elapsed(),
        }
    };
    let first = once();
    let rounds = if first > Duration::from_secs(2) { 0 } else { 7 };
    std::iter::repeat_with(once).take(rounds).min().unwrap_or(first).min(first)
}

/// How long this thread has run.
fn thread_time() -> Option<Duration> {
    // Reading this one makes the kernel bring the other one up to date, which otherwise lags by a tick.
    let _ = std::fs::read("/proc/self/stat");
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// A page as people write them: menus, scripts, and a long article with headings, lists, links, code and tables.
fn article(size: usize) -> String {
    let menu = "<li class='menu-item'><a href='/p' title='go'>Products</a></li>".repeat(200);
    let script =
        "window.data.push({id: 1, name: '<div>', f: function (a, b) { return a < b; }});\n".repeat(2000);
    let mut out = format!(
        "<!doctype html><html><head><title>A long article</title><meta charset=utf-8><style>.a {{ color: red }}</style>\
         <script>{script}</script></head><body><nav><ul>{menu}</ul></nav><main><article><h1>A long article</h1>"
    );
    let mut number = 0;
    while out.len() < size {
        number += 1;
        let _ = write!(
            out,
            "<h2 id='s{number}'>Section {number}</h2><p class='text body-copy'>Paragraph {number} of the article says, with \
             commas and <em>emphasis</em>, that <a href='../page/{number}?x=1'>another page</a> knows more, and that this one \
             goes on for a while, because an article is prose and prose is long.</p><ul><li>One <code>item</code></li><li>Two \
             <strong>items</strong></li></ul><pre><code class='language-sh'>talaria exec \"number {number}\"\nls -l</code></pre>"
        );
        if number % 10 == 0 {
            out.push_str("<table><tr><th>name</th><th>value</th></tr><tr><td>a</td><td>1</td></tr></table>");
        }
    }
    out.push_str("</article></main><footer>Imprint</footer></body></html>");
    out
}

fn table(size: usize) -> String {
    let mut out = "<title>Table</title><table><tr><th>name</th><th>value</th><th>note</th></tr>".to_owned();
    while out.len() < size {
        out.push_str(
            "<tr><td>some name</td><td class=number>1234.5</td><td><a href=/x>see there</a></td></tr>",
        );
    }
    out + "</table>"
}
