//! The change of a file as a unified diff that can be shown: secrets masked, nothing in it hidden, coloured on a terminal.
//!
//! Secrets are masked before the comparison, so that none remains in context lines; since equal texts stay equal when
//! masked, the lines are the same.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use similar::{ChangeTag, TextDiff};
use talaria_core::servers::{holds_secret, looks_secret};
use talaria_guard::plain::{reveal, reveal_line};
use talaria_guard::redact::redact;
use toml_edit::{Document, Item, TableLike, Value};

use talaria_render::{Color, Paint, Style, StyledText};

/// How many lines around a change are shown.
const CONTEXT: usize = 3;
/// Replacement of a value that is written but must not be shown.
const MASK: &str = "\"[redacted:secret]\"";

/// A change to show.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// The current text; `None` if there is no such file.
    pub(crate) old: Option<&'a str>,
    /// The new text; `None` if the file would be removed.
    pub(crate) new: Option<&'a str>,
    /// Values that are known to be secret, whatever they look like.
    pub(crate) secrets: &'a [String],
}

/// Shows a change. Equal texts produce no output.
pub(crate) fn unified(change: &Change<'_>, paint: Paint) -> StyledText {
    let [old, new] = [change.old, change.new].map(|text| masked(text.unwrap_or_default(), change.secrets));
    if change.old == change.new {
        return StyledText::default();
    }
    let path = change.path.display().to_string();
    let name = |text: Option<&str>| {
        if text.is_some() { reveal_line(&path).into_owned() } else { "/dev/null".to_owned() }
    };
    let mut out = paint.text(Style::BOLD, &format!("--- {}", name(change.old)));
    out += "\n";
    out += paint.text(Style::BOLD, &format!("+++ {}", name(change.new)));
    out += "\n";
    let diff = TextDiff::from_lines(old.as_ref(), new.as_ref());
    if old == new {
        out += paint.text(Style::DIM, "(only values that are not shown differ)");
        out += "\n";
    }
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        out += paint.text(Style::PLAIN.color(Color::Cyan), &hunk.header().to_string());
        out += "\n";
        for line in hunk.iter_changes() {
            let (mark, style) = match line.tag() {
                ChangeTag::Insert => ("+", Style::PLAIN.color(Color::Green)),
                ChangeTag::Delete => ("-", Style::PLAIN.color(Color::Red)),
                ChangeTag::Equal => (" ", Style::DIM),
            };
            // `reveal` takes `\r\n` for an end of line, so that a file of such lines is as readable as any.
            let text = reveal(line.value());
            out += paint.text(style, &format!("{mark}{}", text.strip_suffix('\n').unwrap_or(&text)));
            out += "\n";
            if line.missing_newline() {
                out += paint.text(Style::DIM, "\\ No newline at end of file");
                out += "\n";
            }
        }
    }
    out
}

/// Masks every secret value, in any TOML notation, and text that looks like a secret anywhere.
fn masked<'a>(text: &'a str, secrets: &[String]) -> Cow<'a, str> {
    let mut spans = Vec::new();
    if let Ok(document) = Document::parse(text) {
        find(&mut spans, secrets, document.as_table(), &mut Vec::new());
    }
    let text = covered(text, spans);
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(redacted) => Cow::Owned(redacted),
    }
}

/// Masks these ranges of a text, in one pass.
fn covered(text: &str, mut spans: Vec<Range<usize>>) -> Cow<'_, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_unstable_by_key(|span| span.start);
    let mut out = String::with_capacity(text.len());
    let mut reached = 0;
    for span in spans {
        out.push_str(text.get(reached..span.start).unwrap_or_default());
        out.push_str(MASK);
        reached = span.end;
    }
    out.push_str(text.get(reached..).unwrap_or_default());
    Cow::Owned(out)
}

fn find<'a>(
    spans: &mut Vec<Range<usize>>,
    secrets: &[String],
    table: &'a dyn TableLike,
    path: &mut Vec<&'a str>,
) {
    for (key, item) in table.iter() {
        path.push(key);
        match item {
            Item::Value(value) => find_value(spans, secrets, value, path, None),
            Item::Table(table) => find(spans, secrets, table, path),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| find(spans, secrets, table, path)),
            Item::None => {}
        }
        path.pop();
    }
}

fn find_value<'a>(
    spans: &mut Vec<Range<usize>>,
    secrets: &[String],
    value: &'a Value,
    path: &mut Vec<&'a str>,
    before: Option<&str>,
) {
    match value {
        Value::String(text) => {
            let is_named = match path[..] {
                ["mcp_servers", _, "env" | "http_headers", name] => looks_secret(name, text.value()),
                ["mcp_servers", _, "args" | "command" | "url"] => holds_secret(before, text.value()),
                _ => false,
            };
            if is_named || secrets.iter().any(|secret| secret == text.value()) {
                spans.extend(value.span());
            }
        }
        Value::Array(values) => {
            let mut before = None;
            for value in values {
                find_value(spans, secrets, value, path, before);
                before = value.as_str();
            }
        }
        Value::InlineTable(table) => find(spans, secrets, table, path),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use talaria_render::{Look, writer};

    const PIPE: Look = Look { color: false, width: None, live: false, unicode: true };

    fn show(old: Option<&str>, new: Option<&str>, secrets: &[&str]) -> String {
        let secrets: Vec<String> = secrets.iter().map(|&secret| secret.to_owned()).collect();
        let change = Change { path: Path::new("/h/config.toml"), old, new, secrets: &secrets };
        unified(&change, Paint::new(PIPE)).text()
    }

    #[test]
    fn a_change_is_shown_with_what_stands_around_it() {
        let old = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n[t]\nf = 6";
        expect![[r#"
            --- /h/config.toml
            +++ /h/config.toml
            @@ -3,5 +3,6 @@
             c = 3
             d = 4
             e = 5
            +# new
             [t]
             f = 6
            \ No newline at end of file
        "#]]
        .assert_eq(&show(Some(old), Some(&old.replace("[t]", "# new\n[t]")), &[]));
        assert_eq!(show(Some(old), Some(old), &[]), "");
        expect![[r#"
            --- /dev/null
            +++ /h/config.toml
            @@ -0,0 +1 @@
            +a = 1
        "#]]
        .assert_eq(&show(None, Some("a = 1\n"), &[]));
    }

    #[test]
    fn no_secret_is_shown_whether_it_is_ours_or_the_users() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let old = format!("[mcp_servers.own.env]\nGITHUB_TOKEN = \"{token}\"\n");
        let new = format!("KEY = \"quite \\\"ordinary\\\"\"\nargs = ['a', '''quite\n ordinary''']\n{old}");
        let shown = show(Some(&old), Some(&new), &["quite \"ordinary\"", "quite\n ordinary"]);
        assert!(!shown.contains(&token) && !shown.contains("ordinary"), "{shown}");
        assert!(shown.contains("+KEY = \"[redacted:secret]\"\n"), "{shown}");
    }

    #[test]
    fn a_secret_that_only_its_name_gives_away_is_masked_where_it_is_context_too() {
        let old = "[mcp_servers.a]\nenv = { DB_PASSWORD = \"plain words\", LANG = \"C\" }\n";
        let shown = show(Some(old), Some(&format!("{old}x = 1\n")), &[]);
        assert!(!shown.contains("plain words") && shown.contains("LANG = \"C\""), "{shown}");
    }

    #[test]
    fn a_secret_in_the_arguments_or_the_address_is_masked_although_nobody_names_it() {
        let old = "[mcp_servers.a]\ncommand = \"run --token=plain1\"\n\
                   args = [\"--port\", \"80\", \"--password\", \"plain2 words\", \"--key=plain3\"]\n\
                   [mcp_servers.b]\nurl = \"https://example.org/?api_key=plain4\"\n";
        for (old, new) in [(Some(old), None), (None, Some(old))] {
            let shown = show(old, new, &[]);
            assert!(!shown.contains("plain"), "{shown}");
            assert!(
                shown.contains("args = [\"--port\", \"80\", \"--password\", \"[redacted:secret]\","),
                "{shown}"
            );
        }
    }

    #[test]
    fn many_secrets_are_covered_in_one_go() {
        const COUNT: usize = 100_000;
        let value = "\"a secret that is not a short one\"";
        let text = format!("k = {value}\n").repeat(COUNT);
        let line = text.len() / COUNT;
        let spans = (0..COUNT).map(|n| n * line + 4..(n + 1) * line - 1).rev().collect();
        let start = std::time::Instant::now();
        assert_eq!(covered(&text, spans), format!("k = {MASK}\n").repeat(COUNT));
        // One by one, each moving all that follows, this takes ten times as long even where nothing is checked.
        assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
    }

    #[test]
    fn a_change_of_nothing_but_a_secret_is_still_a_change() {
        let shown = show(Some("a = \"one\"\n"), Some("a = \"two\"\n"), &["one", "two"]);
        assert!(shown.ends_with("(only values that are not shown differ)\n"), "{shown}");
    }

    #[test]
    fn hostile_text_cannot_hide_or_move_the_cursor() {
        let shown = show(Some("a\r\n"), Some("a\r\nb\u{1b}[8m\u{202e}c\rd\r\n"), &[]);
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}') && !shown.contains('\r'), "{shown}");
        assert!(shown.contains("+b␛[8m⟨U+202E⟩c␍\n"), "{shown}");
    }

    #[test]
    fn colours_are_for_terminals_only() {
        let change = Change { path: Path::new("/f"), old: Some("a\n"), new: Some("b\n"), secrets: &[] };
        let look = Look { color: true, ..PIPE };
        let coloured = writer::encode(&unified(&change, Paint::new(look)), look);
        assert!(coloured.contains("\u{1b}[32m+b\u{1b}[0m\n"), "{coloured:?}");
    }
}
