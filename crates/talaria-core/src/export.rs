//! A conversation as Markdown, for reading and sharing, and in the other forms in which it leaves Talaria. Pure.
//!
//! The words of model and person are Markdown already and stay as they are; commands, their output and diffs are between fences
//! that nothing in them can close.
//!
//! | module | idea |
//! |---|---|
//! | `patches` | what patches changed, as diffs |
//! | `trajectory` | one JSON object for training |
//! | `snapshot` | one JSON file for other programs |

mod patches;
#[cfg(test)]
mod samples;
mod snapshot;
mod trajectory;

use std::borrow::Cow;

use crate::api::{SessionDetail, SessionOrigin, StoredMessage};
use crate::runtime::Runtime;
use crate::transcript::{Message, Role, ToolCall};

pub use patches::{PatchBook, unified_diff};
pub use snapshot::SessionSnapshot;
pub use trajectory::TrajectoryWriter;

/// The facts about a conversation that are above it.
pub fn facts(detail: &SessionDetail) -> Vec<(&'static str, String)> {
    let info = &detail.info;
    let fields = [
        ("Session", Some(info.id.to_string())),
        ("Task", info.task.clone()),
        ("Directory", Some(info.cwd.clone())),
        ("Provider", info.provider.clone()),
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
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The title in one line.
pub fn title(detail: &SessionDetail) -> String {
    detail.info.title.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The heading of the document.
pub fn head(detail: &SessionDetail) -> String {
    let fields = facts(detail).into_iter().map(|(name, value)| format!("- {name}: {}\n", code(&value)));
    format!("# {}\n\n{}", title(detail), fields.collect::<String>())
}

/// Who answered in a conversation.
pub fn speaker(detail: &SessionDetail) -> &str {
    match detail.origin.as_ref().map(|origin| origin.program.as_str()) {
        Some(SessionOrigin::HERMES) => "Hermes",
        _ if detail.info.runtime == Runtime::OwnLoop.name() => {
            detail.info.model.as_deref().unwrap_or("The model")
        }
        _ => "Codex",
    }
}

/// Writes a conversation message by message.
#[derive(Debug)]
pub struct MarkdownWriter {
    speaker: String,
    cwd: String,
    turn: Option<i64>,
}

impl MarkdownWriter {
    /// Begins after the head.
    pub fn new(detail: &SessionDetail) -> Self {
        Self { speaker: speaker(detail).to_owned(), cwd: detail.info.cwd.clone(), turn: None }
    }

    /// One message. A patch whose changes are not known is shown by its files.
    pub fn message(&mut self, stored: &StoredMessage, patches: &mut PatchBook) -> String {
        let mut out = String::new();
        if self.turn.replace(stored.turn) != Some(stored.turn) {
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
                let speaker = &self.speaker;
                out += &content.map(|text| format!("\n### {speaker}\n\n{text}\n")).unwrap_or_default();
                for call in tool_calls {
                    let changes = patches.take(stored, &call.id);
                    out += &self.call(&ExportedCall::of(call, changes));
                }
            }
            Role::Tool => out += &content.map(|text| format!("\n{}", fenced(text, ""))).unwrap_or_default(),
        }
        out
    }

    fn call(&self, call: &ExportedCall<'_>) -> String {
        match call {
            ExportedCall::Command { command, cwd } => {
                let place = match *cwd == self.cwd {
                    true => String::new(),
                    false => format!("In {}:\n\n", code(cwd)),
                };
                format!("\n{place}{}", fenced(&format!("$ {command}"), "console"))
            }
            ExportedCall::Patch(diffs) => {
                diffs.iter().map(|diff| format!("\n{}", fenced(diff, "diff"))).collect()
            }
            ExportedCall::Tool { name, arguments } => {
                format!("\n**{name}**\n\n{}", fenced(arguments, "json"))
            }
        }
    }
}

/// A call as a person would write it down.
#[derive(Debug)]
pub enum ExportedCall<'a> {
    /// A command and where it ran.
    Command {
        /// The command line.
        command: String,
        /// Its directory.
        cwd: String,
    },
    /// Changes of files, each as a unified diff.
    Patch(Vec<String>),
    /// Anything else.
    Tool {
        /// Its name.
        name: &'a str,
        /// Its arguments, JSON.
        arguments: &'a str,
    },
}

impl<'a> ExportedCall<'a> {
    /// Reads a stored call; `changes` are those of a patch, where they are known.
    pub fn of(call: &'a ToolCall, changes: Option<Vec<crate::item::FileChange>>) -> Self {
        let name: &'a Cow<'static, str> = &call.function.name;
        let tool = Self::Tool { name, arguments: &call.function.arguments };
        if let Some(changes) = changes.filter(|changes| !changes.is_empty()) {
            return Self::Patch(changes.iter().map(unified_diff).collect());
        }
        let arguments: Option<serde_json::Value> = serde_json::from_str(&call.function.arguments).ok();
        let word = |key: &str| Some(arguments.as_ref()?.get(key)?.as_str()?.to_owned());
        match (name.as_ref(), word("command"), word("cwd")) {
            ("exec_command", Some(command), Some(cwd)) => Self::Command { command, cwd },
            _ => tool,
        }
    }
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

    use super::*;

    #[test]
    fn a_conversation_is_written_so_that_it_can_be_read() {
        let mut out = head(&samples::detail());
        let (mut writer, mut patches) = (MarkdownWriter::new(&samples::detail()), samples::patches());
        for stored in samples::messages() {
            out += &writer.message(&stored, &mut patches);
        }
        expect![[r#"
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

            ```console
            $ wc -w a
            ```

            ```diff
            --- a/work/a
            +++ b/work/a
            @@ -1 +1 @@
            -one
            +<b>two</b>
            ```

            `````
            ```
            5 a
            ````
            `````

            ```
            1 update: /work/a
            ```

            ### Codex

            There are **5** words.

            - done <script>

            ## Turn 2 (undone)

            ### You

            thanks
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn the_model_of_the_built_in_loop_speaks_for_itself() {
        let mut detail = samples::detail();
        assert_eq!(speaker(&detail), "Codex");
        detail.info.runtime = Runtime::OwnLoop.name().to_owned();
        assert_eq!(speaker(&detail), "gpt-5.5");
    }

    #[test]
    fn a_patch_of_unknown_content_and_a_command_elsewhere_say_so() {
        let mut writer = MarkdownWriter { speaker: "M".to_owned(), cwd: "/other".to_owned(), turn: Some(1) };
        let text = writer.message(&samples::messages()[1], &mut PatchBook::default());
        assert!(text.contains("In `` /work/a`b ``:\n\n```console\n$ wc -w a\n```"), "{text}");
        assert!(text.contains("**apply_patch**\n\n```json\n{\"changes\":[{"), "{text}");
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
