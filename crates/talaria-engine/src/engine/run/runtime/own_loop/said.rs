//! The person's messages as steps that people see, in their place between the others: the prompt when its turn begins, further
//! input when the model gets it.

use talaria_core::event::{Event, QueuedInput};
use talaria_core::ids::{ItemId, TurnId};
use talaria_core::item::{Attachment, Author, Item, ItemBody};

/// A message of a turn; the prompt is number 0 and names the id of its client.
pub(super) fn said(turn: &TurnId, number: usize, input: QueuedInput, client_id: Option<String>) -> Event {
    let image = |path: String| Attachment { kind: "image".to_owned(), name: Some(path) };
    let attachments = input.images.into_iter().map(image).collect();
    let body = ItemBody::UserMessage { text: input.text, attachments, client_id, author: Author::Person };
    let id = ItemId::new(format!("{turn}-said-{number}"));
    Event::ItemCompleted { item: Box::new(Item { id, body }) }
}

/// Is this the prompt? It was recorded as a message before its turn began.
pub(super) fn is_prompt(item: &Item) -> bool {
    matches!(&item.body, ItemBody::UserMessage { client_id: Some(_), .. })
}

/// How many messages were shown.
pub(super) fn count(events: &[Event]) -> usize {
    let is_message = |event: &&Event| matches!(event, Event::ItemCompleted { item } if matches!(item.body, ItemBody::UserMessage { .. }));
    events.iter().filter(is_message).count()
}
