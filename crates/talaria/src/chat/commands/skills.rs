//! `/skills`: the words of `talaria skills`, about the directory of the chat.

use talaria_render::{StyledText, plain_line};

use super::super::errand::Place;
use super::line::{ChatGrammar, ReadLine};
use crate::advice::Reader;
use crate::args::Command;
use crate::skills::{self, SkillsClient};
use crate::trouble::{Trouble, exit};

/// What `/skills` accepts.
pub(super) const GRAMMAR: ChatGrammar = ChatGrammar { command: "skills", with_text: &[] };

/// Carries the command out; without a word it lists the skills.
pub(super) async fn run(typed: &str, place: &Place) -> Result<StyledText, Trouble> {
    let typed = if typed.is_empty() { "list" } else { typed };
    let action = match GRAMMAR.read(typed)? {
        ReadLine::Help(text) => return Ok(text.into()),
        ReadLine::Command(command) => match *command {
            Command::Skills(skills) => skills.action,
            _ => return Err(Trouble::new(exit::USAGE, "this is not a skills command")),
        },
    };
    let asks = SkillsClient {
        client: &place.context.client,
        look: place.context.look(),
        reader: Reader::Chat,
        cwd: Some(place.cwd.clone()),
    };
    let page = skills::carry_out(&action, &asks).await?;
    let notes: String = page.notes.iter().map(|note| format!("note: {}\n", plain_line(note))).collect();
    Ok(page.text + notes)
}
