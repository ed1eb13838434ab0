//! What exactly was asked, as a digest: two requests have the same one only if a person would be agreeing to the same.
//!
//! Everything that a yes could carry out is in it: command, directory, wider permissions, the rule that "always" would
//! make. Reasons and ids are not: the model words them again each time. The digest is SHA-256 over fields with their
//! lengths, so that no two lists of fields have the same bytes; it is recorded where the command itself may not be.
//! Databases have digests of answers that wait: fields, their order and their words never change.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::canonical;
use crate::ids::ThreadId;
use crate::item::FileChange;
use crate::request::Question;
use crate::subject::{CommandSubject, CommandUse, FormSubject, Subject, WordsSubject};

/// The question that an answer is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Binding {
    /// The asker's name for the kind of question.
    pub method: String,
    /// The conversation that asked.
    pub thread: ThreadId,
    /// The digest of what was asked, in hex.
    pub subject: String,
}

impl Binding {
    /// Binds to the question of a conversation; `method` is the asker's name for the kind of question. `None` if the
    /// meaning of a yes is unknown, so that no answer can be kept for it.
    pub fn of(method: &str, thread: &ThreadId, subject: &Subject<'_>) -> Option<Self> {
        let mut sum = Sum::default();
        match subject {
            Subject::Command(command) => {
                command.line.as_ref()?;
                sum.command(command, None);
            }
            Subject::Network { host, protocol, command } => sum.command(command, Some((host, protocol))),
            Subject::Patch { changes, grant_root } => sum.patch((*changes)?, *grant_root),
            Subject::Permissions { cwd, wanted } => {
                sum.maybe(*cwd);
                sum.json(wanted);
            }
            Subject::Words(WordsSubject::Questions(questions)) => sum.questions(questions),
            Subject::Words(WordsSubject::Form(form)) | Subject::Tool { form, .. } => sum.form(form),
        }
        Some(Self { method: method.to_owned(), thread: thread.clone(), subject: sum.finish() })
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

    /// Distinguishes a missing text from an empty one.
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

    fn command(&mut self, command: &CommandSubject<'_>, network: Option<(&str, &str)>) {
        match command.line.as_ref().map(canonical::command) {
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
        self.maybe(command.cwd);
        self.text(match command.action {
            CommandUse::Run => "command",
            CommandUse::Input => "writeStdin",
            CommandUse::Other(word) => word,
        });
        self.maybe(command.is_nested.then_some("within a command"));
        self.json(command.wider.unwrap_or(&Value::Null));
        self.maybe(network.map(|(host, _)| host));
        self.maybe(network.map(|(_, protocol)| protocol));
        self.list(command.always.iter().map(String::as_str));
        self.maybe(command.always_host.as_deref());
    }

    fn patch(&mut self, changes: &[FileChange], grant_root: Option<&str>) {
        let mut changes: Vec<&FileChange> = changes.iter().collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.text(&changes.len().to_string());
        for change in changes {
            self.text(&change.path);
            self.text(&change.action.to_string());
            self.maybe(change.move_to.as_deref());
            self.text(&change.diff);
        }
        self.maybe(grant_root);
    }

    fn questions(&mut self, questions: &[Question]) {
        self.text(&questions.len().to_string());
        for question in questions {
            for part in [&question.id, &question.header, &question.question] {
                self.text(part);
            }
            self.text(if question.other { "or other" } else { "of these" });
            self.text(if question.secret { "secret" } else { "plain" });
            self.list(question.options.iter().map(|option| option.label.as_str()));
            self.list(question.options.iter().map(|option| option.description.as_str()));
        }
    }

    fn form(&mut self, form: &FormSubject<'_>) {
        self.text(form.server);
        self.maybe(form.mode);
        self.text(form.message);
        self.json(form.schema);
        self.maybe(form.url);
        self.json(form.meta.unwrap_or(&Value::Null));
    }

    fn finish(self) -> String {
        hex::encode(self.0.finalize())
    }
}
