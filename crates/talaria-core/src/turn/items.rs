//! The steps of a turn: each begins once and ends once, as completed or as abandoned.

use super::{Phase, Turn};
use crate::event::Event;
use crate::ids::ThreadId;
use crate::item::{Item, ItemBody};
use crate::project;
use crate::wire::notification::{ItemParams, Notification};

impl Turn {
    /// Of a sub-agent's steps only the patches matter here: it may ask about them, under its own thread id.
    pub(super) fn overhear(&mut self, notification: Notification<'static>) {
        if let Notification::ItemStarted(params) = notification
            && params.thread_id != self.thread
        {
            let thread = params.thread_id;
            self.announce(thread, &project::item(params.item));
        }
    }

    /// Remembers what a patch would change: the request about it does not say.
    fn announce(&mut self, thread: ThreadId, item: &Item) {
        if let ItemBody::Patch { changes, .. } = &item.body {
            self.announced.insert((thread, item.id.clone()), changes.clone());
        }
    }

    pub(super) fn start_item(&mut self, params: ItemParams) {
        let item = project::item(params.item);
        if matches!(item.body, ItemBody::UserMessage { .. }) {
            return;
        }
        self.announce(params.thread_id, &item);
        self.open_items.insert(item.id.clone());
        self.emit(Event::ItemStarted { item });
    }

    pub(super) fn complete_item(&mut self, params: ItemParams) {
        let item = project::item(params.item);
        match &item.body {
            ItemBody::UserMessage { .. } => return,
            ItemBody::AgentMessage { text, phase } => self.answer.take(text, phase.as_deref()),
            _ => {}
        }
        self.open_items.remove(&item.id);
        self.emit(Event::ItemCompleted { item });
        if self.open_items.is_empty()
            && let Phase::Ending { outcome, .. } = &self.phase
        {
            self.finish(outcome.clone());
        }
    }
}
