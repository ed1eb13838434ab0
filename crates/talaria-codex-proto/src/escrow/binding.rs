//! What exactly was asked, as a digest: two requests have the same one only if a person would be agreeing to the same.
//!
//! Everything that a yes could carry out is in it: command, directory, wider permissions, the rule that "always" would
//! make. Reasons and ids are not: the model words them anew each time. The digest is SHA-256 over fields with their
//! lengths, so that no two lists of fields have the same bytes; it is written down where the command itself may not be.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::canonical;
use crate::wire::server_request::{
    CommandApproval, Elicitation, PatchApproval, PermissionsApproval, ServerRequest, UserInputRequest,
};
use talaria_core::ids::ThreadId;
use talaria_core::item::FileChange;

/// What an answer is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Binding {
    /// The wire's name for the question.
    pub method: String,
    /// The conversation that asked.
    pub thread: ThreadId,
    /// The digest of what was asked, in hex.
    pub subject: String,
}

impl Binding {
    /// Binds to a request. `None` where what a yes means is not known, so that no answer can be kept for it. `changes` are
    /// those of the patch.
    pub fn of(request: &ServerRequest, changes: Option<&[FileChange]>) -> Option<Self> {
        let mut sum = Sum::default();
        match request {
            ServerRequest::Command(p) => sum.command(p)?,
            ServerRequest::Patch(p) => sum.patch(p, changes?),
            ServerRequest::Permissions(p) => sum.permissions(p),
            ServerRequest::UserInput(p) => sum.questions(p),
            ServerRequest::Elicitation(p) => sum.elicitation(p),
            ServerRequest::ToolCall(_)
            | ServerRequest::TokenRefresh(_)
            | ServerRequest::Attestation(_)
            | ServerRequest::CurrentTime(_) => return None,
        }
        let thread = ThreadId::new(request.scope().thread?);
        Some(Self { method: request.method().to_owned(), thread, subject: sum.finish() })
    }
}

/// A digest that grows field by field.
#[derive(Default)]
struct Sum(Sha256);

impl Sum {
    fn text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
    }

    /// Tells a missing text from an empty one.
    fn maybe(&mut self, text: Option<&str>) {
        match text {
            Some(text) => {
                self.text("some");
                self.text(text);
            }
            None => self.text("none"),
        }
    }

    fn list<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>) {
        self.text(&texts.len().to_string());
        texts.for_each(|text| self.text(text));
    }

    fn json(&mut self, value: &Value) {
        self.text(&canonical::json(value));
    }

    fn command(&mut self, p: &CommandApproval) -> Option<()> {
        let command = p.command.as_deref().filter(|command| !command.trim().is_empty());
        if command.is_none() && p.network_approval_context.is_none() {
            return None;
        }
        match command.map(canonical::command) {
            Some(canonical::Command::Words(words)) => {
                self.text("words");
                self.list(words.iter().map(String::as_str));
            }
            Some(canonical::Command::Text(text)) => {
                self.text("text");
                self.text(text);
            }
            None => self.text("no command"),
        }
        self.maybe(p.cwd.as_deref());
        self.text(p.kind.as_deref().unwrap_or("command"));
        self.maybe(p.approval_id.as_ref().map(|_| "within a command"));
        self.json(p.additional_permissions.as_ref().unwrap_or(&Value::Null));
        let network = p.network_approval_context.as_ref();
        self.maybe(network.map(|network| network.host.as_str()));
        self.maybe(network.map(|network| network.protocol.as_str()));
        let rule = p.exec_amendment().unwrap_or_default();
        self.list(rule.iter().map(String::as_str));
        self.maybe(p.network_amendment().map(|rule| rule.host).as_deref());
        Some(())
    }

    fn patch(&mut self, p: &PatchApproval, changes: &[FileChange]) {
        let mut changes: Vec<&FileChange> = changes.iter().collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.text(&changes.len().to_string());
        for change in changes {
            self.text(&change.path);
            self.text(&change.action.to_string());
            self.maybe(change.move_to.as_deref());
            self.text(&change.diff);
        }
        self.maybe(p.grant_root.as_deref());
    }

    fn permissions(&mut self, p: &PermissionsApproval) {
        self.maybe(p.cwd.as_deref());
        self.json(&p.permissions);
    }

    fn questions(&mut self, p: &UserInputRequest) {
        self.text(&p.questions.len().to_string());
        for question in &p.questions {
            for part in [&question.id, &question.header, &question.question] {
                self.text(part);
            }
            self.text(if question.is_other { "or other" } else { "of these" });
            self.text(if question.is_secret { "secret" } else { "plain" });
            let options = question.options.as_deref().unwrap_or_default();
            self.list(options.iter().map(|option| option.label.as_str()));
            self.list(options.iter().map(|option| option.description.as_str()));
        }
    }

    fn elicitation(&mut self, p: &Elicitation) {
        self.text(&p.server_name);
        self.maybe(p.mode.as_deref());
        self.text(&p.message);
        self.json(&p.requested_schema);
        self.maybe(p.url.as_deref());
        self.json(p.meta.as_ref().unwrap_or(&Value::Null));
    }

    fn finish(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut hex, byte| {
            // Writing to a text cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}
