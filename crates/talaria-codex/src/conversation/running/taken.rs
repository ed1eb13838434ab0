//! Further input that was handed to Codex for the running turn, until the model has read it.
//!
//! Codex acknowledges such input, and reports it as a message of the person when it is added to a model request; the
//! second step may never happen: input that arrives while the last response ends is acknowledged and never sent to the
//! model (0.130). So input counts as read only if the turn reported it and the model produced something afterwards.
//! Input that was not read by the end of the turn is returned to its sender (`Event::Unqueued`). The events of a turn
//! contain all of this, so another engine continues from them (`replay`).

use std::collections::HashSet;

use talaria_core::event::{Event, QueuedInput};
use talaria_core::ids::ItemId;
use talaria_core::input::InputPart;
use talaria_core::item::ItemBody;
use talaria_guard::redact::redact;

use super::Running;
use crate::conversation::Watcher;

/// Input passed to Codex, and input that the turn has reported. Texts have their secrets masked, as in the
/// events.
#[derive(Debug, Default)]
pub(super) struct Taken {
    handed: Vec<QueuedInput>,
    shown: Vec<Shown>,
    /// Steps that began; one that ends without having begun here was missed, and follows the input reported before
    /// it.
    begun: HashSet<ItemId>,
}

/// Something that the turn showed as said by the person.
#[derive(Debug)]
struct Shown {
    text: String,
    is_read: bool,
}

impl Taken {
    /// Input is being handed to Codex.
    pub(super) fn hand(&mut self, input: QueuedInput) {
        self.handed.push(input);
    }

    /// The turn did not take this input: it waits for the next one, or was returned.
    pub(super) fn withdraw(&mut self, text: &str) {
        if let Some(at) = self.handed.iter().position(|handed| is_same(&handed.text, text)) {
            self.handed.remove(at);
        }
    }

    /// Learns from what is reported of the turn.
    pub(super) fn learn(&mut self, event: &Event) {
        match event {
            Event::ItemStarted { item } | Event::ItemCompleted { item }
                if self.begun.insert(item.id.clone()) =>
            {
                match &item.body {
                    ItemBody::UserMessage { text, .. } => {
                        self.shown.push(Shown { text: redact(text).into_owned(), is_read: false });
                    }
                    _ => self.has_gone_on(),
                }
            }
            // It arrives with the end of a response, before the next model request.
            Event::UsageUpdated { .. } => self.has_gone_on(),
            _ => {}
        }
    }

    /// Learns from the events of a turn that another engine followed.
    pub(super) fn replay(&mut self, event: &Event) {
        match event {
            Event::Steering { input } => self.hand(input.clone()),
            Event::Queued { input, .. } => self.withdraw(&input.text),
            Event::Unqueued { inputs, .. } => inputs.iter().for_each(|input| self.withdraw(&input.text)),
            other => self.learn(other),
        }
    }

    /// The model did something: it has read what was shown before.
    fn has_gone_on(&mut self) {
        self.shown.iter_mut().for_each(|shown| shown.is_read = true);
    }

    /// Input that was not read; of two equal ones, the first counts as read. The prompt of the turn was reported too.
    fn unread(&mut self, prompt: &[InputPart]) -> Vec<QueuedInput> {
        let mut is_read = |text: &str| {
            let at = self.shown.iter().position(|shown| is_same(&shown.text, text));
            at.is_some_and(|at| self.shown.remove(at).is_read)
        };
        is_read(&QueuedInput::of(prompt).text);
        std::mem::take(&mut self.handed).into_iter().filter(|input| !is_read(&input.text)).collect()
    }
}

/// Codex joins the parts of a text in its own ways, so the space between them says nothing.
fn is_same(one: &str, other: &str) -> bool {
    let is_sign = |c: &char| !c.is_whitespace();
    one.chars().filter(is_sign).eq(other.chars().filter(is_sign))
}

impl<W: Watcher> Running<'_, W> {
    /// Returns what the model has not read, before the turn is reported as over.
    pub(super) fn return_unread(&mut self) {
        let inputs = self.taken.unread(&self.recorded.input);
        if !inputs.is_empty() {
            self.tell(Event::Unqueued { inputs, was_sent: true });
        }
    }
}

#[cfg(test)]
mod tests {
    use talaria_core::event::Usage;
    use talaria_core::item::Item;

    use talaria_core::item::Author;

    use super::*;

    fn said(text: &str) -> Vec<InputPart> {
        vec![InputPart::Text { text: text.to_owned() }]
    }

    fn item(id: &str, body: ItemBody) -> Event {
        Event::ItemCompleted { item: Box::new(Item { id: ItemId::new(id), body }) }
    }

    fn shows(taken: &mut Taken, id: &str, text: &str) {
        let (text, attachments) = (text.to_owned(), Vec::new());
        taken.learn(&item(
            id,
            ItemBody::UserMessage { text, attachments, client_id: None, author: Author::Person },
        ));
    }

    fn usage() -> Event {
        Event::UsageUpdated { turn: Usage::default(), context: 0, window: None, input: None }
    }

    fn unread(mut taken: Taken) -> Vec<String> {
        taken.unread(&said("go")).into_iter().map(|input| input.text).collect()
    }

    #[test]
    fn only_what_the_model_never_read_is_returned() {
        let mut taken = Taken::default();
        for (at, text) in ["go", "first", "second", "second"].into_iter().enumerate() {
            shows(&mut taken, &at.to_string(), text);
        }
        taken.learn(&usage());
        for text in ["second", "go", "first", "third", "second"] {
            taken.hand(QueuedInput::of(&said(text)));
        }
        assert_eq!(unread(taken), ["go", "third"]);
    }

    #[test]
    fn what_is_shown_after_the_last_response_was_not_read() {
        let mut taken = Taken::default();
        shows(&mut taken, "1", "go");
        for text in ["first", "last"] {
            taken.hand(QueuedInput::of(&said(text)));
        }
        shows(&mut taken, "2", "first");
        let body = ItemBody::AgentMessage { text: "done".to_owned(), phase: None, questions: Vec::new() };
        let Event::ItemCompleted { item: begun } = item("3", body.clone()) else { unreachable!() };
        taken.learn(&Event::ItemStarted { item: begun });
        shows(&mut taken, "4", "last");
        // The end of a step that began before says nothing.
        taken.learn(&item("3", body));
        assert_eq!(unread(taken), ["last"]);
    }

    #[test]
    fn another_engine_knows_what_was_handed_over_and_what_became_of_it() {
        let mut taken = Taken::default();
        let steering = |text: &str| Event::Steering { input: QueuedInput::of(&said(text)) };
        let images = || vec!["/w/a.png".to_owned()];
        let with_image = |text: &str| QueuedInput { text: text.to_owned(), images: images() };
        // As a build wrote it that had images in the text.
        let older = r#"{"type":"queued","waiting":2,"text":"waits too\n[image /w/a.png]"}"#;
        for event in [
            steering("read"),
            Event::Steering { input: with_image("waits") },
            Event::Steering { input: with_image("waits too") },
            steering("returned"),
            steering("lost"),
            Event::Queued { waiting: 1, input: with_image("waits") },
            serde_json::from_str(older).unwrap(),
            Event::Unqueued { inputs: vec![QueuedInput::of(&said("returned"))], was_sent: false },
            item(
                "1",
                ItemBody::UserMessage {
                    text: "read".to_owned(),
                    attachments: Vec::new(),
                    client_id: None,
                    author: Author::Person,
                },
            ),
            usage(),
        ] {
            taken.replay(&event);
        }
        assert_eq!(unread(taken), ["lost"]);
    }
}
