//! A conversation as one HTML page: it loads nothing, runs nothing, and looks the same in years. Pure.
//!
//! Every word of person, model and tool is escaped; the page forbids scripts and any address to load from, so that even a mistake
//! here could not act. Long output is folded with `<details>`, which needs no script.

use talaria_core::api::{SessionDetail, StoredMessage};
use talaria_core::export::{self, ExportedCall, PatchBook};
use talaria_core::transcript::{Message, Role};

use super::html::{escaped, markdown};

/// Output with more lines than this is folded.
const FOLDED: usize = 20;

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--dim:#777;--add:#1a7f37;--del:#c0392b}\
body{font:16px/1.55 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}\
pre,code{font:13px/1.45 ui-monospace,monospace}\
pre{overflow-x:auto;border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;white-space:pre-wrap;overflow-wrap:anywhere}\
h2{border-top:1px solid var(--line);padding-top:1rem;margin-top:2rem}\
.who{font-weight:600;margin:1.2rem 0 .2rem}.you{border-left:3px solid #3b82f6;padding-left:.8rem;white-space:pre-wrap}\
.thought{color:var(--dim);white-space:pre-wrap}.facts{color:var(--dim)}.add{color:var(--add)}.del{color:var(--del)}\
.hunk{color:var(--dim)}table{border-collapse:collapse}th,td{border:1px solid var(--line);padding:.2rem .5rem}\
.figures td{font-variant-numeric:tabular-nums}summary{cursor:pointer;color:var(--dim)}";

/// Writes a page: `head`, every message, `foot`.
#[derive(Debug)]
pub struct HtmlWriter {
    speaker: String,
    cwd: String,
    turn: Option<i64>,
}

impl HtmlWriter {
    /// Begins a page.
    pub fn new(detail: &SessionDetail) -> Self {
        Self { speaker: export::speaker(detail).to_owned(), cwd: detail.info.cwd.clone(), turn: None }
    }

    /// Everything above the first message.
    pub fn head(&self, detail: &SessionDetail) -> String {
        let title = escaped(&export::title(detail));
        let facts = export::facts(detail).into_iter();
        let facts: String = facts
            .map(|(name, value)| format!("<li>{}: <code>{}</code></li>\n", escaped(name), escaped(&value)))
            .collect();
        format!(
            "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<ul class=\"facts\">\n{facts}</ul>\n"
        )
    }

    /// One message.
    pub fn message(&mut self, stored: &StoredMessage, patches: &mut PatchBook) -> String {
        let mut out = String::new();
        if self.turn.replace(stored.turn) != Some(stored.turn) {
            let mark = if stored.undone { " (undone)" } else { "" };
            out += &format!("<h2>Turn {}{mark}</h2>\n", stored.turn);
        }
        let Message { role, content, tool_calls, reasoning, .. } = &stored.message;
        let content = content.as_deref().map(str::trim_end).filter(|text| !text.is_empty());
        match role {
            Role::User => {
                let text = escaped(content.unwrap_or_default());
                out += &format!("<div class=\"who\">You</div>\n<div class=\"you\">{text}</div>\n");
            }
            Role::Assistant => {
                if let Some(reasoning) = reasoning.as_deref().filter(|text| !text.trim().is_empty()) {
                    let thought = escaped(reasoning.trim());
                    out += &format!(
                        "<details><summary>Thinking</summary><div class=\"thought\">{thought}</div></details>\n"
                    );
                }
                if let Some(text) = content {
                    let (speaker, text) = (escaped(&self.speaker), markdown(text));
                    out += &format!("<div class=\"who\">{speaker}</div>\n{text}");
                }
                for call in tool_calls {
                    let changes = patches.take(stored, &call.id);
                    out += &self.call(&ExportedCall::of(call, changes));
                }
            }
            Role::Tool => out += &content.map(folded).unwrap_or_default(),
        }
        out
    }

    /// Everything below the last message.
    pub fn foot(&self) -> &'static str {
        "</body>\n</html>\n"
    }

    fn call(&self, call: &ExportedCall<'_>) -> String {
        match call {
            ExportedCall::Command { command, cwd } => {
                let place = match *cwd == self.cwd {
                    true => String::new(),
                    false => format!("<span class=\"hunk\"># in {}</span>\n", escaped(cwd)),
                };
                format!("<pre class=\"command\">{place}$ {}</pre>\n", escaped(command))
            }
            ExportedCall::Patch(diffs) => {
                diffs.iter().map(|diff| format!("<pre class=\"diff\">{}</pre>\n", coloured(diff))).collect()
            }
            ExportedCall::Tool { name, arguments } => {
                let (name, arguments) = (escaped(name), escaped(arguments));
                format!("<div class=\"who\">{name}</div>\n<pre>{arguments}</pre>\n")
            }
        }
    }
}

fn coloured(diff: &str) -> String {
    let line = |line: &str| {
        let class = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', ..] | [b'\\', ..] => "hunk",
            [b'+', ..] => "add",
            [b'-', ..] => "del",
            _ => return escaped(line),
        };
        format!("<span class=\"{class}\">{}</span>", escaped(line))
    };
    diff.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// What a tool returned; long output is folded.
fn folded(text: &str) -> String {
    let lines = text.lines().count();
    let text = escaped(text);
    match lines > FOLDED {
        true => format!("<details><summary>{lines} lines of output</summary><pre>{text}</pre></details>\n"),
        false => format!("<pre>{text}</pre>\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail() -> SessionDetail {
        serde_json::from_value(serde_json::json!({
            "id": "0199a000", "title": "<title> & \"more\"", "runtime": "own_loop", "created_at": "2026-01-02T03:04:05Z",
            "updated_at": "2026-01-02T03:04:05Z", "running": false, "queued": false, "kind": "exec", "task": null,
            "cwd": "/w", "provider": "house", "model": "duck<1>", "last_seq": 3, "thread": null, "codex": null, "turns": [],
            "messages": [], "older_messages": 0
        }))
        .unwrap()
    }

    fn page(messages: &[Message]) -> String {
        let mut writer = HtmlWriter::new(&detail());
        let mut out = writer.head(&detail());
        for message in messages {
            let stored = StoredMessage { seq: 1, turn: 1, undone: false, message: message.clone() };
            out += &writer.message(&stored, &mut PatchBook::default());
        }
        out + writer.foot()
    }

    #[test]
    fn a_page_runs_nothing_loads_nothing_and_escapes_every_word() {
        let attack = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[2J";
        let calling = Message {
            tool_calls: vec![talaria_core::transcript::ToolCall::new("c", attack, format!("\"{attack}\""))],
            reasoning: Some(attack.to_owned()),
            ..Message::assistant(attack)
        };
        let text = page(&[Message::user(attack), calling, Message::tool("c", attack)]);
        for forbidden in ["<script", "<img", "<iframe", "<link", "<object", "src=", "@import", "url("] {
            let escaped = text.replace("&lt;", "").replace("src=x onerror", "");
            assert!(!escaped.contains(forbidden), "{forbidden}: {text}");
        }
        assert!(!text.contains('\u{1b}') && text.contains("default-src 'none'"), "{text}");
        assert!(text.contains("<title>&lt;title&gt; &amp; &quot;more&quot;</title>"), "{text}");
        assert_eq!(text.matches("&lt;script&gt;").count(), 6, "each word is there, as text: {text}");
        assert!(text.contains("duck&lt;1&gt;") && text.ends_with("</html>\n"), "{text}");
    }

    #[test]
    fn a_diff_is_coloured_by_its_lines_and_long_output_is_folded() {
        let diff = coloured("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<a>\n+b\n c");
        assert!(
            diff.contains("<span class=\"del\">-&lt;a&gt;</span>\n<span class=\"add\">+b</span>\n c"),
            "{diff}"
        );
        assert!(diff.starts_with("<span class=\"hunk\">--- a/x</span>"), "{diff}");
        assert!(folded(&"x\n".repeat(21)).starts_with("<details><summary>21 lines of output"));
        assert_eq!(folded("x"), "<pre>x</pre>\n");
    }
}
