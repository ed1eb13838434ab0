//! `/copy`: the last answer of the model, as it wrote it, to the clipboard of the desktop.

use talaria_core::transcript::{Message, Role};

use super::super::clipboard;
use super::super::errand::Place;
use super::session;
use crate::engine::refused;
use crate::trouble::{Trouble, exit};

/// Copies it, and says how much that was.
pub(super) async fn run(place: &Place) -> Result<String, Trouble> {
    let detail = place.context.client.session(session(place)?.as_str()).await;
    let detail = detail.map_err(|error| refused("cannot read the conversation", &error))?;
    let text = last_answer(&detail.messages).ok_or_else(|| {
        Trouble::new(exit::USAGE, "there is no answer to copy").try_this("wait until a turn has ended")
    })?;
    clipboard::write(text)
        .await
        .map_err(|why| Trouble::new(exit::FAILED, "nothing was copied").because(why))?;
    let lines = text.lines().count();
    Ok(format!("copied the last answer: {lines} {}\n", if lines == 1 { "line" } else { "lines" }))
}

fn last_answer(messages: &[Message]) -> Option<&str> {
    let texts = messages.iter().rev().filter(|message| message.role == Role::Assistant);
    texts.filter_map(|message| message.content.as_deref()).find(|text| !text.trim().is_empty())
}
