//! A conversation as Markdown, for reading and sharing. Pure.
//!
//! The words of model and person are Markdown already and stay as they are; what commands printed is between fences
//! that nothing in it can close.

use crate::api::{SessionDetail, SessionOrigin, StoredMessage};
use crate::transcript::{Message, Role};

/// The heading of the document.
pub fn head(detail: &SessionDetail) -> String {
    let info = &detail.info;
    let title = info.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = format!("# {title}\n\n");
    let fields = [
        ("Session", Some(info.id.to_string())),
        ("Task", info.task.clone()),
        ("Directory", Some(info.cwd.clone())),
        ("Model", info.model.clone()),
        ("Codex", detail.codex.clone()),
        ("From", detail.origin.as_ref().map(|origin| format!("{} {}", origin.program, origin.name))),
        (
            "Forked from",
            detail.forked_from.as_ref().map(|from| format!("{} after turn {}", from.session, from.turn)),
        ),
        ("Began", Some(info.created_at.to_string())),
        ("Updated", Some(info.updated_at.to_string())),
    ];
    for (name, value) in fields {
        out += &value.map(|value| format!("- {name}: {}\n", code(&value))).unwrap_or_default();
    }
    out
}

/// Who answered in a conversation.
pub fn speaker(detail: &SessionDetail) -> &'static str {
    match detail.origin.as_ref().map(|origin| origin.program.as_str()) {
        Some(SessionOrigin::HERMES) => "Hermes",
        _ => "Codex",
    }
}

/// One message; `before` is the one above it, `speaker` who answers.
pub fn message(stored: &StoredMessage, before: Option<&StoredMessage>, speaker: &str) -> String {
    let mut out = String::new();
    if before.is_none_or(|before| before.turn != stored.turn) {
        let mark = if stored.undone { " (undone)" } else { "" };
        out += &format!("\n## Turn {}{mark}\n", stored.turn);
    }
    let Message { role, content, tool_calls, reasoning, .. } = &stored.message;
    let content = content.as_deref().map(str::trim_end).filter(|text| !text.is_empty());
    match role {
        Role::User => out += &format!("\n### You\n\n{}\n", content.unwrap_or_default()),
        Role::Assistant => {
            if let Some(reasoning) = reasoning.as_deref().filter(|text| !text.trim().is_empty()) {
                let quoted: String = reasoning.trim().lines().map(|line| format!("> {line}\n")).collect();
                out += &format!("\n{quoted}");
            }
            out += &content.map(|text| format!("\n### {speaker}\n\n{text}\n")).unwrap_or_default();
            for call in tool_calls {
                out +=
                    &format!("\n**{}**\n\n{}", call.function.name, fenced(&call.function.arguments, "json"));
            }
        }
        Role::Tool => out += &content.map(|text| format!("\n{}", fenced(text, ""))).unwrap_or_default(),
    }
    out
}

/// Text between fences that are longer than any in it.
fn fenced(text: &str, language: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// A value between marks that are longer than any in it.
fn code(text: &str) -> String {
    let text = text.replace('\n', " ");
    match longest_run(&text) {
        0 => format!("`{text}`"),
        run => {
            let mark = "`".repeat(run + 1);
            format!("{mark} {text} {mark}")
        }
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use jiff::Timestamp;

    use super::*;
    use crate::api::{Kind, SessionInfo};
    use crate::ids::SessionId;
    use crate::transcript::ToolCall;

    fn detail() -> SessionDetail {
        let at = |second| Timestamp::from_second(second).unwrap();
        let info = SessionInfo {
            id: SessionId::new("0199a000"),
            title: "count\nthe `words`".to_owned(),
            runtime: "codex_app_server".to_owned(),
            updated_at: at(1050),
            running: false,
            queued: false,
            kind: Kind::Exec,
            task: None,
            cwd: "/work/a`b".to_owned(),
            provider: None,
            model: Some("gpt-5.5".to_owned()),
            created_at: at(1000),
            last_seq: 9,
        };
        let (turns, messages) = (Vec::new(), Vec::new());
        SessionDetail {
            info,
            thread: None,
            codex: Some("0.166.0".to_owned()),
            origin: None,
            forked_from: None,
            turns,
            reviews: Vec::new(),
            messages,
            undone_messages: Vec::new(),
            older_messages: 0,
        }
    }

    fn messages() -> Vec<StoredMessage> {
        let call = ToolCall::new("c", "exec_command", r#"{"command":"wc -w a"}"#.to_owned());
        let calling = Message {
            content: None,
            tool_calls: vec![call],
            reasoning: Some("two\nlines".to_owned()),
            ..Message::assistant("")
        };
        let all = [
            (1, Message::user("count the words")),
            (1, calling),
            (1, Message::tool("c", "```\n5 a\n````\n")),
            (1, Message::assistant("There are **5** words.\n\n- done\n")),
            (2, Message::user("thanks")),
        ];
        (1..)
            .zip(all)
            .map(|(seq, (turn, message))| StoredMessage { seq, turn, undone: turn == 2, message })
            .collect()
    }

    #[test]
    fn a_conversation_is_written_so_that_it_can_be_read() {
        let mut out = head(&detail());
        let all = messages();
        for (at, stored) in all.iter().enumerate() {
            out += &message(stored, at.checked_sub(1).map(|at| &all[at]), speaker(&detail()));
        }
        expect![[r##"
            # count the `words`

            - Session: `0199a000`
            - Directory: `` /work/a`b ``
            - Model: `gpt-5.5`
            - Codex: `0.166.0`
            - Began: `1970-01-01T00:16:40Z`
            - Updated: `1970-01-01T00:17:30Z`

            ## Turn 1

            ### You

            count the words

            > two
            > lines

            **exec_command**

            ```json
            {"command":"wc -w a"}
            ```

            `````
            ```
            5 a
            ````
            `````

            ### Codex

            There are **5** words.

            - done

            ## Turn 2 (undone)

            ### You

            thanks
        "##]]
        .assert_eq(&out);
    }

    #[test]
    fn nothing_in_the_output_of_a_command_closes_its_fence() {
        for text in ["```", "a\n`````\nb", "plain"] {
            let fenced = fenced(text, "");
            let fence = fenced.lines().next().unwrap();
            assert!(!text.contains(fence), "{fenced}");
            assert_eq!(fenced.lines().filter(|line| line.starts_with(fence)).count(), 2, "{fenced}");
        }
    }
}
