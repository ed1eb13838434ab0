//! `/memory`: the words of `talaria memory`, about the conversation on the screen.

use talaria_render::{StyledText, plain_line};

use super::super::errand::Place;
use super::line::{ChatGrammar, ReadLine};
use crate::advice::Reader;
use crate::args::{Command, MemoryAction};
use crate::memory::{self, MemoryClient};
use crate::trouble::{Trouble, exit};

/// What `/memory` accepts.
pub(super) const GRAMMAR: ChatGrammar =
    ChatGrammar { command: "memory", with_text: &[("add", 0), ("edit", 1)] };

/// Carries the command out; without a word it lists the entries.
pub(super) async fn run(typed: &str, place: &Place) -> Result<StyledText, Trouble> {
    let typed = if typed.is_empty() { "list" } else { typed };
    let action = match GRAMMAR.read(typed)? {
        ReadLine::Help(text) => return Ok(text.into()),
        ReadLine::Command(command) => match *command {
            Command::Memory(memory) => memory.action,
            _ => return Err(Trouble::new(exit::USAGE, "this is not a memory command")),
        },
    };
    if let MemoryAction::Add { text, .. } | MemoryAction::Edit { text, .. } = &action
        && text == "-"
    {
        return Err(Trouble::new(exit::USAGE, "there is no standard input here").try_this("write it out"));
    }
    let context = MemoryClient {
        client: &place.context.client,
        look: place.context.look(),
        reader: Reader::Chat,
        cwd: Some(place.cwd.clone()),
        session: place.session.as_ref().map(ToString::to_string),
    };
    let page = memory::carry_out(&action, &context).await?;
    let notes: String = page.notes.iter().map(|note| format!("note: {}\n", plain_line(note))).collect();
    Ok(page.text + notes)
}
