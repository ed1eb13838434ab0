//! The steps of a turn: each begins once and ends once, as completed or as abandoned. A repeated report counts once.

use std::collections::hash_map::Entry;

use super::{Moment, Output, Turn};
use crate::project;
use crate::wire::notification::{ItemParams, PatchUpdatedParams};
use serde_json::Value;
use talaria_core::event::Event;
use talaria_core::ids::ThreadId;
use talaria_core::item::{Author, Item, ItemBody, Status};

impl Turn {
    /// Remembers what a patch would change: the request about it does not say.
    pub(super) fn announce(&mut self, thread: ThreadId, item: &Item) {
        if let ItemBody::Patch { changes, .. } = &item.body {
            self.announced.insert((thread, item.id.clone()), changes.clone());
        }
    }

    pub(super) fn start_item(&mut self, params: ItemParams) {
        self.take_begun(params.thread_id, project::item(params.item));
    }

    pub(super) fn take_begun(&mut self, thread: ThreadId, item: Item) {
        let item = Box::new(item);
        let is_known = self.open_items.contains_key(&item.id) || self.has_ended(&item);
        if is_known || matches!(item.body, ItemBody::UserMessage { .. }) {
            return;
        }
        let kind = OpenItem::of(&item.body);
        if matches!(item.body, ItemBody::Compaction(_)) {
            self.context.begin_compaction(self.last_word);
        }
        self.last_word.of_model();
        self.announce(thread, &item);
        self.meet_children(&item);
        self.open_items.insert(item.id.clone(), kind);
        self.emit(Event::ItemStarted { item });
    }

    pub(super) fn complete_item(&mut self, now: Moment, params: ItemParams) {
        self.take_ended(now, params.thread_id, project::item(params.item));
    }

    pub(super) fn take_ended(&mut self, now: Moment, thread: ThreadId, item: Item) {
        let mut item = Box::new(item);
        if self.has_ended(&item) {
            return;
        }
        self.note_end(&item);
        match &mut item.body {
            ItemBody::UserMessage { text, author, attachments, .. } => {
                self.is_marked_aborted |= is_abort_mark(text);
                self.note_images(text, attachments);
                if self.approvals.take_note(text) {
                    *author = Author::Talaria;
                } else {
                    self.last_word.of_person();
                }
                self.outputs.push_back(Output::Heard(item));
                return self.warn_about_images();
            }
            ItemBody::AgentMessage { text, phase, .. } => {
                self.is_marked_aborted |= is_abort_mark(text);
                self.answer.take(text, phase.as_deref());
            }
            ItemBody::Compaction(facts) => *facts = self.compaction(),
            // Codex has no exit code for a command that was killed.
            ItemBody::Command { status: status @ Status::Failed, exit_code: None, .. }
                if self.is_stopping() =>
            {
                *status = Status::Interrupted;
            }
            _ => {}
        }
        self.last_word.of_model();
        self.open_items.remove(&item.id);
        self.went_on(now, &thread, &item.id);
        if !self.announced.is_empty() {
            self.announced.remove(&(thread, item.id.clone()));
        }
        self.meet_children(&item);
        self.emit(Event::ItemCompleted { item });
        self.finish_when_nothing_is_awaited(now);
    }

    fn has_ended(&self, item: &Item) -> bool {
        let kind = item.body.kind();
        // A call that was reported as failed has no other step.
        let is_failed_call = |ended: &Ended| ended.kind == "failed_call";
        let is_it = |ended: &Ended| ended.kind == kind || ended.others.contains(&kind);
        self.ended_items.get(&item.id).is_some_and(|ended| is_it(ended) || is_failed_call(ended))
    }

    pub(super) fn note_end(&mut self, item: &Item) {
        let kind = item.body.kind();
        match self.ended_items.entry(item.id.clone()) {
            Entry::Vacant(place) => {
                place.insert(Ended { kind, others: Vec::new() });
            }
            Entry::Occupied(mut known) => known.get_mut().others.push(kind),
        }
    }

    pub(super) fn update_patch(&mut self, params: PatchUpdatedParams) {
        if self.ended_items.contains_key(&params.item_id) {
            return;
        }
        let changes: Vec<_> = params.changes.into_iter().map(project::file_change).collect();
        self.announced.insert((params.thread_id, params.item_id.clone()), changes.clone());
        self.emit(Event::PatchUpdated { item: params.item_id, changes });
    }
}

/// State of a started step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpenItem {
    /// A command: it can outlive its turn.
    Command {
        command: String,
        cwd: String,
    },
    /// A call of a tool of an MCP server.
    Tool {
        server: String,
        arguments: Option<Value>,
    },
    Other,
}

/// The kinds under which a step has ended: one, or a few where ids are used twice.
#[derive(Debug)]
pub(super) struct Ended {
    kind: &'static str,
    others: Vec<&'static str>,
}

impl OpenItem {
    pub(super) fn of(body: &ItemBody) -> Self {
        match body {
            ItemBody::Command { command, cwd, .. } => {
                Self::Command { command: command.clone(), cwd: cwd.clone() }
            }
            ItemBody::Tool { server, arguments, .. } => Self::Tool {
                server: server.clone(),
                arguments: arguments.as_ref().and_then(|json| serde_json::from_str(json.get()).ok()),
            },
            _ => Self::Other,
        }
    }
}

/// Is this nothing but the mark that Codex leaves in an aborted conversation? An answer may well mention it.
fn is_abort_mark(text: &str) -> bool {
    let text = text.trim();
    let inner = text.strip_prefix("<turn_aborted").map(str::trim_start);
    inner.is_some_and(|rest| {
        rest == "/>" || rest == ">" || (rest.starts_with('>') && rest.ends_with("</turn_aborted>"))
    })
}
