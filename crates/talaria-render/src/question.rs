//! A question to a person: the operation, its place, the reason, and the effect of a yes.
//!
//! The operation is shown exactly and completely: no line cut, nothing hidden. A shell around a command has a line of its own. Foreign text has a bar
//! in front, so that none of it can pass for ours. `prompt` has the answers.

use talaria_core::item::FileChange;
use talaria_core::request::{Ask, Permissions, Persist, Wish, shell_words};
use talaria_guard::place::Place;

use super::diff::{self, Amount};
use super::flow::{Flow, break_anywhere};
use super::paint::Paint;
use super::sanitize::{reveal, reveal_line};
use super::shell_wrapper;
use super::style::{Color, Style};
use super::styled::{StyledLine, StyledSpan, StyledText};

mod form;
mod rule;

pub(crate) use form::{field_text, question_text};

/// Where an accepted tool runs: the sandbox confines commands of Codex, not the servers that it talks to.
const TOOL_NOTE: &str = "tools of MCP servers run outside the sandbox: if you accept, this one may do whatever its \
                         server can";
const COMMAND_ALWAYS: &str = "[a] allows commands that start with this, in every conversation:";
const SAME_ALWAYS: &str = "[a] allows commands that start like this, in every conversation";
const TOOL_ALWAYS: &str = "[a] allows this tool, with any arguments, in every conversation: Codex writes it into its \
                           config.toml";
/// What input does is up to the command that reads it.
const TASK_POWER_NOTE: &str =
    "the task starts when you accept, and keeps this as long as it exists; if you decline, it never starts";
const STDIN_NOTE: &str =
    "the running command decides what this does; if it runs outside the sandbox, it has all your rights";
const NETWORK_NOTE: &str = "if you accept, the command can send anything it can read to this host";
const WEB_NOTE: &str = "the sandbox of this conversation has no network; the address itself is sent to this site, and [s] permits \
                        all its pages in this conversation";
const FORM_NOTE: &str = "your input goes to this server; Talaria cannot know what it does with it";
const URL_NOTE: &str = "Talaria does not open it; check the host before you do";
const FREE_NOTE: &str = "without your answer the model continues";

/// How wide the bar in front of quoted text is.
const BAR_COLUMNS: usize = 4;

/// The settings in force where a question is asked.
#[derive(Clone, Copy, Debug)]
pub struct QuestionContext<'a> {
    /// The sandbox, as Codex calls it; empty if it is not known here.
    pub sandbox: &'a str,
    /// The approval policy, as Codex calls it; empty if it is not known here.
    pub approval: &'a str,
    /// Where it would happen, if something is known about it.
    pub place: Option<Place>,
    /// Where the session works; empty if that is not known.
    pub cwd: &'a str,
}

/// The question, as lines.
pub fn show(ask: &Ask, paint: Paint, width: Option<usize>, rules: QuestionContext<'_>) -> StyledText {
    let mut page = Page { paint, width, out: StyledText::default() };
    match ask {
        Ask::Command { command, actions, cwd, reason, permissions, always, asked_because, .. } => {
            let bare = shell_wrapper::bare(command);
            let shown = bare.as_ref().map_or(command.as_str(), |bare| bare.script.as_ref());
            let lines = shown.split('\n').count();
            let extent = if lines > 1 { format!(" of {lines} lines") } else { String::new() };
            page.title(&format!("The model asks to run a command{extent}"));
            page.quoted(shown);
            if let Some(bare) = &bare {
                page.dim_field("shell", bare.shell);
            }
            page.listed("Codex reads it as:", actions);
            page.permissions("with a wider sandbox, in which it", permissions.as_ref());
            page.place(cwd.as_deref(), rules);
            page.field("reason", reason.as_deref());
            page.field("asks", asked_because.as_deref().map(|why| format!("because {why}")).as_deref());
            page.field("note", Some(&command_note(rules)));
            match always {
                Some(words) if rule::is_the_command(command, words) => {
                    page.field("always", Some(SAME_ALWAYS));
                }
                Some(words) => {
                    page.field("always", Some(COMMAND_ALWAYS));
                    page.quoted(&shell_words(words));
                    page.field("always", rule::partly_covered(command, words).as_deref());
                }
                None => {}
            }
        }
        Ask::Stdin { command, cwd, reason, .. } => {
            page.title("The model asks to type into a command that is running");
            page.quoted(command);
            page.place(cwd.as_deref(), rules);
            page.field("reason", reason.as_deref());
            page.field("note", Some(STDIN_NOTE));
        }
        Ask::Network { host, protocol, command, reason, always, .. } => {
            page.title("The model asks to connect to a network address");
            let how = if protocol.is_empty() { String::new() } else { format!(" ({protocol})") };
            page.quoted(&format!("{host}{how}"));
            if let Some(command) = command {
                page.label("for this command:");
                page.quoted(command);
            }
            page.field("reason", reason.as_deref());
            page.field("note", Some(NETWORK_NOTE));
            if let Some(host) = always {
                page.field("always", Some("[a] allows this host, in every conversation:"));
                page.quoted(host);
            }
        }
        Ask::Patch { changes, reason, grant_root, .. } => {
            page.patch(changes.as_deref());
            page.field("reason", reason.as_deref());
            let grant = grant_root.as_ref().map(|root| {
                format!("accepting also makes {} writable for the rest of the session", reveal_line(root))
            });
            page.field("note", grant.as_deref());
        }
        Ask::Permissions { cwd, reason, permissions, .. } => {
            page.title("The model asks for a wider sandbox");
            page.permissions("one in which a command", Some(permissions));
            page.place(cwd.as_deref(), rules);
            page.field("reason", reason.as_deref());
        }
        Ask::TaskPower { task, model, cwd, permissions } => {
            page.title(&format!("{} asks for a task with more than its sandbox allows", reveal_line(model)));
            page.permissions("one in which every command", Some(permissions));
            page.field("task", Some(task));
            page.field("in", Some(cwd));
            page.field("note", Some(TASK_POWER_NOTE));
        }
        Ask::WebPage { site, url, .. } => {
            page.title("The model asks to read a web page");
            page.quoted(url);
            page.field("site", Some(site));
            page.field("note", Some(WEB_NOTE));
        }
        Ask::OwnTool { tool, arguments, reason, .. } => {
            page.title(&format!("The model calls {}", reveal_line(tool)));
            page.quoted(arguments);
            page.field("reason", Some(reason));
        }
        Ask::Input { questions, blocking, .. } => {
            let count = questions.len();
            let what = if count == 1 { "something".to_owned() } else { format!("{count} things") };
            page.title(&format!("The model asks you {what}"));
            for question in questions {
                page.quoted(&question_text(question));
            }
            page.field("note", blocking.is_some_and(|blocking| !blocking).then_some(FREE_NOTE));
        }
        Ask::Elicitation { server, message, wish, .. } => page.elicitation(server, message, wish),
        Ask::Tool { server, message, description, arguments, persist, .. } => {
            page.title(&format!("The model asks to use a tool of the MCP server {}", reveal_line(server)));
            page.quoted(message);
            if let Some(description) = description {
                page.label("the server describes the tool as:");
                page.quoted(description);
            }
            match arguments {
                Some(arguments) => {
                    page.label("the arguments of this call:");
                    page.quoted(arguments);
                }
                None => page.label("the arguments of this call: not reported by Codex"),
            }
            page.field("note", Some(TOOL_NOTE));
            let is_kept = persist.contains(&Persist::Always);
            page.field("always", is_kept.then_some(TOOL_ALWAYS));
        }
        Ask::Host { method, summary } => {
            page.title("Codex asks Talaria for something that it does not provide");
            page.quoted(summary);
            page.field("method", Some(method));
        }
        Ask::Unsupported { method, summary, .. } => {
            page.title("Codex asks something that this version of Talaria cannot show");
            page.quoted(summary);
            page.field("method", Some(method));
        }
    }
    page.out
}

/// Foreign lines, each with the bar in front. Used for a single step of a question as well.
pub(crate) fn quoted(text: &str, paint: Paint, width: Option<usize>) -> StyledText {
    let mut page = Page { paint, width, out: StyledText::default() };
    page.quoted(text);
    page.out
}

/// Where an accepted command runs; Codex does not report it, but the permissions that the model requested often
/// show it.
fn command_note(rules: QuestionContext<'_>) -> String {
    let sandbox = match rules.sandbox {
        "" => String::new(),
        known => format!(" ({})", reveal_line(known)),
    };
    match (rules.sandbox, rules.approval) {
        ("danger-full-access", _) => {
            "there is no sandbox (danger-full-access): it runs with all your rights".to_owned()
        }
        _ if rules.place == Some(Place::Inside) => {
            format!("if you accept, it runs inside the sandbox{sandbox}")
        }
        _ if rules.place == Some(Place::Outside) => {
            format!("if you accept, it runs outside the sandbox{sandbox}, with all your rights")
        }
        (_, "on-request") => format!(
            "Codex asks when it wants to leave the sandbox{sandbox}: if you accept, the command may run outside \
             it, with all your rights"
        ),
        // Seen with the real Codex: it does not ask a second time.
        (_, "untrusted" | "on-failure") => format!(
            "if you accept, the command may run outside the sandbox{sandbox}, with all your rights: if it fails inside, Codex runs it again outside"
        ),
        (_, "") => "if you accept, the command may run outside the sandbox, with all your rights".to_owned(),
        (_, policy) => format!(
            "if you accept, the command may run outside the sandbox{sandbox}, with all your rights (approval \
             policy {})",
            reveal_line(policy)
        ),
    }
}

struct Page {
    paint: Paint,
    width: Option<usize>,
    out: StyledText,
}

impl Page {
    fn title(&mut self, title: &str) {
        self.paint.push(&mut self.out, Style::BOLD.color(Color::Yellow), &format!("? {title}"));
        self.out.end_line();
    }

    /// A line of ours above what others say.
    fn label(&mut self, text: &str) {
        self.paint.push(&mut self.out, Style::DIM, &format!("  {text}"));
        self.out.end_line();
    }

    /// The bar at the left cannot be forged by what is after it: a line that is too long for the window is broken
    /// here, because the terminal would continue without the bar.
    fn quoted(&mut self, text: &str) {
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(BAR_COLUMNS + 1).max(8));
        for line in reveal(text).split('\n') {
            for row in break_anywhere(line, room) {
                let bar = self.paint.sign("  │ ", "  | ");
                self.paint.push(&mut self.out, Style::PLAIN.color(Color::Yellow), bar);
                self.out.push_plain(row);
                self.out.end_line();
            }
        }
    }

    /// Our words, and below them a list of others'.
    fn listed(&mut self, label: &str, lines: &[String]) {
        if !lines.is_empty() {
            self.label(label);
            self.quoted(&lines.iter().map(|line| reveal_line(line)).collect::<Vec<_>>().join("\n"));
        }
    }

    fn permissions(&mut self, label: &str, permissions: Option<&Permissions>) {
        self.listed(label, &permissions.map(Permissions::lines).unwrap_or_default());
    }

    /// Where it happens: as the request says, else where the session works. Never nothing.
    fn place(&mut self, cwd: Option<&str>, rules: QuestionContext<'_>) {
        let place = [cwd.unwrap_or_default(), rules.cwd].into_iter().find(|place| !place.is_empty());
        self.field("in", Some(place.unwrap_or("an unknown directory")));
    }

    fn elicitation(&mut self, server: &str, message: &str, wish: &Wish) {
        let server = reveal_line(server).into_owned();
        match wish {
            Wish::Form(form) => {
                self.title(&format!("The MCP server {server} asks you to fill in a form"));
                self.quoted(message);
                let fields: Vec<String> = form.fields.iter().map(field_text).collect();
                self.listed("its fields:", &fields);
                self.field("note", Some(FORM_NOTE));
            }
            Wish::Url { url } => {
                self.title(&format!("The MCP server {server} asks you to visit an address"));
                self.quoted(message);
                self.label("the address:");
                self.quoted(url);
                self.field("note", Some(URL_NOTE));
            }
        }
    }

    fn patch(&mut self, changes: Option<&[FileChange]>) {
        let Some(changes) = changes else {
            self.title("The model asks to change files, and did not say which or how");
            return;
        };
        let files = if changes.len() == 1 { "1 file".to_owned() } else { format!("{} files", changes.len()) };
        self.title(&format!("The model asks to change {files}"));
        self.out.append(diff::show(changes, Amount::All, self.width, self.paint));
    }

    fn field(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.styled_field(name, text, Style::PLAIN);
        }
    }

    /// The same for what matters least.
    fn dim_field(&mut self, name: &str, text: &str) {
        self.styled_field(name, text, self.paint.seen(Style::DIM));
    }

    fn styled_field(&mut self, name: &str, text: &str, style: Style) {
        let mut flow = Flow::new(self.paint, self.width, StyledLine::default());
        let text = reveal(text);
        for (index, line) in text.trim_end().split('\n').enumerate() {
            let name = if index == 0 { name } else { "" };
            flow.begin(2, &format!("{name:<8}"), Style::DIM, &mut self.out);
            flow.put(&[StyledSpan { text: line.to_owned(), style }], &mut self.out);
            flow.end(&mut self.out);
        }
    }
}

#[cfg(test)]
mod tests;
