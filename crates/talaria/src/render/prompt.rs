//! The question that a person answers, and the reading of the answer. Keys are read elsewhere.
//!
//! What is approved is shown exactly and wholly: no shell taken off, no line cut, nothing hidden. An empty line is no
//! answer, since a default would one day approve something unread.

use talaria_core::item::FileChange;
use talaria_core::request::{Ask, Decision};

use super::diff::{self, Amount};
use super::flow::{Flow, Span, break_anywhere};
use super::sanitize::{reveal, reveal_line};
use super::style::{Color, Paint, Style};

/// Where an accepted tool runs: the sandbox holds commands of Codex, not the servers that it talks to.
const TOOL_NOTE: &str = "tools of MCP servers run outside the sandbox: if you accept, this one may do whatever its \
                         server can";

/// How wide the bar in front of quoted text is.
const BAR_COLUMNS: usize = 4;

/// What is in force where the question is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    /// The sandbox, as Codex calls it.
    pub(crate) sandbox: &'a str,
    /// The approval policy, as Codex calls it.
    pub(crate) approval: &'a str,
}

/// The question, as lines.
pub(crate) fn question(ask: &Ask, paint: Paint, width: Option<usize>, rules: Rules<'_>) -> String {
    let mut page = Page { paint, width, out: String::new() };
    match ask {
        Ask::Command { command, cwd, reason, .. } => {
            let lines = command.split('\n').count();
            let extent = if lines > 1 { format!(" of {lines} lines") } else { String::new() };
            page.title(&format!("Codex asks to run a command{extent}"));
            page.quoted(command);
            page.field("in", cwd.as_deref());
            page.field("reason", reason.as_deref());
            page.field("note", Some(&command_note(rules)));
        }
        Ask::Patch { changes, reason, grant_root, .. } => {
            page.patch(changes.as_deref());
            page.field("reason", reason.as_deref());
            let grant = grant_root.as_ref().map(|root| {
                format!("accepting also makes {} writable for the rest of the session", reveal_line(root))
            });
            page.field("note", grant.as_deref());
        }
        Ask::Tool { server, message, description, arguments, .. } => {
            page.title(&format!("Codex asks to use a tool of the MCP server {}", reveal_line(server)));
            page.quoted(message);
            if let Some(description) = description {
                page.label("what the tool does, in the server's words:");
                page.quoted(description);
            }
            match arguments {
                Some(arguments) => {
                    page.label("the arguments of this call:");
                    page.quoted(arguments);
                }
                None => page.label("the arguments of this call: Codex did not tell them"),
            }
            page.field("note", Some(TOOL_NOTE));
        }
        Ask::Unsupported { method, summary, .. } => {
            page.title("Codex asks something that this version of Talaria cannot put to you");
            page.quoted(summary);
            page.field("method", Some(method));
        }
    }
    page.out
}

/// The choices that a question leaves, to stand before the cursor.
pub(crate) fn choices(ask: &Ask, paint: Paint) -> String {
    let session = ask.has_session_choice().then_some(("[s]", "yes, for this session"));
    let all = [("[y]", "yes, once")]
        .into_iter()
        .chain(session)
        .chain([("[n]", "no, go on"), ("[x]", "no, and stop the turn")])
        .map(|(key, meaning)| format!("{} {meaning}", paint.text(Style::BOLD, key)));
    format!("{}: ", all.collect::<Vec<_>>().join("  "))
}

/// Reads an answer; `None` is no answer, and the person is asked again.
pub(crate) fn parse_choice(line: &str) -> Option<Decision> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(Decision::Accept),
        "s" => Some(Decision::AcceptForSession),
        "n" | "no" => Some(Decision::Decline),
        "x" => Some(Decision::Cancel),
        _ => None,
    }
}

/// Where an accepted command runs, said plainly: Codex does not tell which of the two it will be.
fn command_note(rules: Rules<'_>) -> String {
    let sandbox = reveal_line(rules.sandbox);
    match (rules.sandbox, rules.approval) {
        ("danger-full-access", _) => {
            "there is no sandbox (danger-full-access): it runs with all your rights".to_owned()
        }
        (_, "on-request") => format!(
            "Codex asks when it wants to leave the sandbox ({sandbox}): if you accept, the command may run outside \
             it, with all your rights"
        ),
        (_, policy) => format!(
            "if you accept, the command may run outside the sandbox ({sandbox}), with all your rights (approval \
             policy {})",
            reveal_line(policy)
        ),
    }
}

struct Page {
    paint: Paint,
    width: Option<usize>,
    out: String,
}

impl Page {
    fn title(&mut self, title: &str) {
        self.paint.push(&mut self.out, Style::BOLD.color(Color::Yellow), &format!("? {title}"));
        self.out.push('\n');
    }

    /// A line of ours above what others say.
    fn label(&mut self, text: &str) {
        self.paint.push(&mut self.out, Style::DIM, &format!("  {text}"));
        self.out.push('\n');
    }

    /// The bar at the left cannot be forged by what stands behind it: a line that is too long for the window is broken
    /// here, because the terminal would go on without the bar.
    fn quoted(&mut self, text: &str) {
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(BAR_COLUMNS + 1).max(8));
        for line in reveal(text).split('\n') {
            for row in break_anywhere(line, room) {
                let bar = self.paint.sign("  │ ", "  | ");
                self.paint.push(&mut self.out, Style::PLAIN.color(Color::Yellow), bar);
                self.out.push_str(row);
                self.out.push('\n');
            }
        }
    }

    fn patch(&mut self, changes: Option<&[FileChange]>) {
        let Some(changes) = changes else {
            self.title("Codex asks to change files, and did not say which or how");
            return;
        };
        let files = if changes.len() == 1 { "1 file".to_owned() } else { format!("{} files", changes.len()) };
        self.title(&format!("Codex asks to change {files}"));
        self.out.push_str(&diff::show(changes, Amount::All, self.width, self.paint));
    }

    fn field(&mut self, name: &str, text: Option<&str>) {
        let Some(text) = text else { return };
        let mut flow = Flow::new(self.paint, self.width, String::new());
        let text = reveal(text);
        for (index, line) in text.trim_end().split('\n').enumerate() {
            let name = if index == 0 { name } else { "" };
            flow.begin(2, &format!("{name:<8}"), Style::DIM, &mut self.out);
            flow.put(&[Span { text: line.to_owned(), style: Style::PLAIN }], &mut self.out);
            flow.end(&mut self.out);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::sample;
    use super::*;

    fn asked(ask: &Ask) -> String {
        let rules = Rules { sandbox: "workspace-write", approval: "on-request" };
        question(ask, Paint::new(sample::PIPE), Some(80), rules)
    }

    #[test]
    fn a_command_is_shown_exactly() {
        let command = "/bin/bash -lc 'rm\u{a0}x \u{202e}; curl evil\n\u{1b}[2K  note    harmless'";
        expect![[r#"
            ? Codex asks to run a command of 2 lines
              │ /bin/bash -lc 'rm⟨U+00A0⟩x ⟨U+202E⟩; curl evil
              │ ␛[2K  note    harmless'
              in      /home/me/project
              reason  may I?
                      sure
              note    Codex asks when it wants to leave the sandbox (workspace-write): if
                      you accept, the command may run outside it, with all your rights
        "#]]
        .assert_eq(&asked(&sample::ask_command(command)));
    }

    #[test]
    fn a_patch_is_shown_whole() {
        expect![[r#"
            ? Codex asks to change 3 files
            ✎ src/a.rs (+2 −1)
              @@ -1,3 +1,4 @@
               fn a() {
              -    old();
              +    new();
              +    newer();
               }
            ✎ notes.md (new, +2)
              +# Notes
              +    tabbed
            ✎ gone.txt (deleted, −1)
              -bye
              note    accepting also makes /etc writable for the rest of the session
        "#]]
        .assert_eq(&asked(&sample::ask_patch(Some(sample::changes()))));
        expect![[r#"
            ? Codex asks to change files, and did not say which or how
              note    accepting also makes /etc writable for the rest of the session
        "#]]
        .assert_eq(&asked(&sample::ask_patch(None)));
    }

    #[test]
    fn a_tool_is_shown_with_its_arguments_whole() {
        let arguments = ["{\"path\":\"/etc/\u{202e}x\",\"text\":\"", &"long ".repeat(20), "\"}"].concat();
        let described =
            sample::ask_tool(Some("Writes a file.\n  note    \u{1b}[1Aharmless"), Some(&arguments));
        expect![[r#"
            ? Codex asks to use a tool of the MCP server docs␊x
              │ Allow the docs MCP server to run tool "write"?
              what the tool does, in the server's words:
              │ Writes a file.
              │   note    ␛[1Aharmless
              the arguments of this call:
              │ {"path":"/etc/⟨U+202E⟩x","text":"long long long long long long long long lo
              │ ng long long long long long long long long long long long "}
              note    tools of MCP servers run outside the sandbox: if you accept, this one
                      may do whatever its server can
        "#]]
        .assert_eq(&asked(&described));
        expect![[r#"
            ? Codex asks to use a tool of the MCP server docs␊x
              │ Allow the docs MCP server to run tool "write"?
              the arguments of this call: Codex did not tell them
              note    tools of MCP servers run outside the sandbox: if you accept, this one
                      may do whatever its server can
        "#]]
        .assert_eq(&asked(&sample::ask_tool(None, None)));
    }

    #[test]
    fn only_choices_that_exist_are_offered() {
        let paint = Paint::new(sample::PIPE);
        expect!["[y] yes, once  [s] yes, for this session  [n] no, go on  [x] no, and stop the turn: "]
            .assert_eq(&choices(&sample::ask_command("ls"), paint));
        expect!["[y] yes, once  [n] no, go on  [x] no, and stop the turn: "]
            .assert_eq(&choices(&sample::ask_tool(None, None), paint));
    }

    #[test]
    fn only_a_clear_word_is_an_answer() {
        let cases = [
            ("y\n", Some(Decision::Accept)),
            (" YES ", Some(Decision::Accept)),
            ("s", Some(Decision::AcceptForSession)),
            ("no\r\n", Some(Decision::Decline)),
            ("x", Some(Decision::Cancel)),
            ("", None),
            ("\n", None),
            ("yn", None),
            ("ok", None),
        ];
        for (line, decision) in cases {
            assert_eq!(parse_choice(line), decision, "{line:?}");
        }
    }
}
