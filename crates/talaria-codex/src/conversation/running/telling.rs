//! Publishes the events of a turn, redacted first, and the messages built from them.

use talaria_codex_proto::turn::sub_agents;
use talaria_core::event::Event;
use talaria_core::transcript::{Message, Projector};
use talaria_guard::redact::redact;

use super::Running;
use crate::conversation::Watcher;

impl<W: Watcher> Running<'_, W> {
    /// Publishes an event. From here on no one sees a secret: neither the watchers nor the store.
    pub(super) fn tell(&mut self, event: Event) {
        let Self { session, watcher, projector, redactor, taken, .. } = self;
        redactor.cover(event, &mut |event| {
            taken.learn(&event);
            project(projector, &event);
            if let Event::ItemStarted { item }
            | Event::ItemCompleted { item }
            | Event::AgentItemCompleted { item, .. } = &event
            {
                for thread in sub_agents(item) {
                    session.current.get().adopt(thread, &session.queue);
                }
            }
            if let Event::SettingsConfirmed { model, effort } = &event {
                session.started.model.clone_from(model);
                session.started.effort.clone_from(effort);
            }
            if let Event::BackgroundStarted(command) = &event {
                projector.leave_in_background(&command.item);
                session.watch_background((**command).clone());
            }
            watcher.event(event);
        });
        self.keep_messages();
    }

    pub(super) fn project(&mut self, event: &Event) {
        project(&mut self.projector, event);
    }

    pub(super) fn keep_messages(&mut self) {
        while let Some(message) = self.projector.poll() {
            self.watcher.message(&message);
            self.session.memory.push(message);
        }
    }

    /// The person's input follows the earlier messages.
    pub(super) fn remember_said(&mut self, text: &str) {
        self.keep_messages();
        self.session.memory.push(Message::user(redact(text)));
    }
}

/// Lets the projector see an event that it makes messages of.
fn project(projector: &mut Projector, event: &Event) {
    match event {
        Event::ItemStarted { item } => projector.begin(item),
        Event::ItemCompleted { item } => projector.complete(item),
        Event::ItemAbandoned { item, why } => projector.abandon(item, *why),
        Event::Outcome(report) => projector.finish(&report.outcome),
        _ => {}
    }
}
