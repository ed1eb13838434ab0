//! What happened while nobody listened: which steps were missed, and what can never be known.
//!
//! Compares what was recorded with what the thread says now. Where Codex renames items when it is read (0.130), a step is
//! known by its content; what was recorded is covered by the veil, so what was found is covered before it is compared.
//! Nothing is told twice and nothing is made up: a step whose end nobody knows stays open and is named. Called by the
//! turn machine when it takes up a turn.

use serde::{Deserialize, Serialize};

use crate::ids::ItemId;
use crate::item::{Item, ItemBody, Status};
use crate::veil::cover_item;
use crate::wire::history::Extent;

#[cfg(test)]
mod tests;

/// A time in which nobody listened, and what is not known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Since when, in milliseconds since 1970: the last thing that was recorded before.
    pub since: Option<u64>,
    /// How many steps were found afterwards; they were told before this.
    pub found: usize,
    /// Steps that had begun before and of which it is not known whether they have ended.
    pub open: Vec<ItemId>,
    /// What may have happened and is not known.
    pub missing: Vec<Missing>,
    /// All of it, for people.
    pub message: String,
}

/// Something that may have happened while nobody listened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Pieces of text and of output; what completes later, or was found, has them whole.
    Pieces,
    /// Whole steps: this Codex tells only messages afterwards, and its file did not say more.
    Steps,
    /// The ends of the steps that are named.
    Ends,
}

impl Gap {
    /// Puts a gap into words.
    pub fn new(since: Option<u64>, found: usize, open: Vec<ItemId>, extent: Extent) -> Self {
        let mut missing = vec![Missing::Pieces];
        if extent == Extent::Messages {
            missing.push(Missing::Steps);
        }
        if !open.is_empty() {
            missing.push(Missing::Ends);
        }
        let message = words(found, &missing, open.len());
        Self { since, found, open, missing, message }
    }
}

/// A gap in words: how many steps were found, what is missing, and of how many steps the end is not known.
pub fn words(found: usize, missing: &[Missing], open: usize) -> String {
    let mut words = "Talaria did not run for a while. ".to_owned();
    words += &match found {
        0 => "No further step was found afterwards".to_owned(),
        1 => "One step was found afterwards".to_owned(),
        n => format!("{n} steps were found afterwards"),
    };
    let is_missing = |what| missing.contains(&what);
    words += match (is_missing(Missing::Steps), is_missing(Missing::Pieces)) {
        (true, true) => {
            "; commands and other steps from that time may be missing, and pieces of text and output"
        }
        (true, false) => "; commands and other steps from that time may be missing",
        (false, true) => "; pieces of text and output from that time may be missing",
        (false, false) => "",
    };
    if is_missing(Missing::Ends) {
        words += &match open {
            1 => "; a step had begun before, and whether it has ended is not known".to_owned(),
            n => format!("; {n} steps had begun before, and whether they have ended is not known"),
        };
    }
    words
}

/// Something that was missed.
#[derive(Clone, Debug)]
pub enum News {
    /// A step began, and runs.
    Began(Item),
    /// A step ended.
    Ended(Item),
}

/// Finds the steps that were missed, in the order in which the thread has them. `begun` and `ended` are what was recorded.
pub fn missed(begun: &[Item], ended: &[Item], found: Vec<Item>) -> Vec<News> {
    let is_found = |item: &Item| found.iter().any(|found| is_same(found, item));
    // What is found under its own id was not renamed: only the others are looked for by content.
    let mut ended_elsewhere: Vec<&Item> = ended.iter().filter(|item| !is_found(item)).collect();
    let mut begun_elsewhere: Vec<&Item> = begun.iter().filter(|item| !is_found(item)).collect();
    let mut news = Vec::new();
    for mut item in found {
        let is_step = !matches!(item.body, ItemBody::UserMessage { .. });
        if !is_step || ended.iter().any(|recorded| is_same(recorded, &item)) {
            continue;
        }
        let began = begun.iter().find(|recorded| recorded.id == item.id);
        let is_begun = began.is_some();
        if let Some(began) = began {
            keep_line(&mut item, began);
        }
        if status(&item.body) == Some(Status::InProgress) {
            if !is_begun {
                news.push(News::Began(item));
            }
            continue;
        }
        if !is_begun {
            let mut covered = item.clone();
            cover_item(&mut covered);
            if let Some(at) = ended_elsewhere.iter().position(|recorded| has_same_content(recorded, &covered))
            {
                ended_elsewhere.remove(at);
                continue;
            }
            if let Some(at) = begun_elsewhere.iter().position(|recorded| became(recorded, &covered)) {
                item.id = begun_elsewhere.remove(at).id.clone();
            }
        }
        news.push(News::Ended(item));
    }
    news
}

/// How the turn stands whose steps are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// It runs, and so does what it has begun.
    Runs,
    /// It is over: what has not ended by now is not told any more.
    Over,
}

/// Names the steps that have begun and of which nobody can say whether they ended. A message that is not there has not
/// ended: completed messages are always told.
pub fn without_end(begun: &[Item], found: &[Item], course: Course) -> Vec<ItemId> {
    let is_running = |item: &&Item| status(&item.body) == Some(Status::InProgress);
    let has_no_end = |item: &&Item| match found.iter().find(|found| is_same(found, item)) {
        Some(found) => course == Course::Over && is_running(&found),
        None => !matches!(item.body, ItemBody::AgentMessage { .. }),
    };
    let known = begun.iter().filter(has_no_end);
    let is_new = |item: &&Item| !begun.iter().any(|begun| is_same(begun, item));
    let new = found.iter().filter(|item| course == Course::Over && is_running(item) && is_new(item));
    known.chain(new).map(|item| item.id.clone()).collect()
}

/// The file of a conversation has a command without the shell around it; what was told when it began has it.
fn keep_line(ended: &mut Item, began: &Item) {
    if let (ItemBody::Command { command, cwd, .. }, ItemBody::Command { command: line, cwd: place, .. }) =
        (&mut ended.body, &began.body)
    {
        command.clone_from(line);
        cwd.clone_from(place);
    }
}

/// 0.130 gives the beginning and the end of a review one id, so the kind belongs to it.
fn is_same(one: &Item, other: &Item) -> bool {
    one.id == other.id && one.body.kind() == other.body.kind()
}

fn has_same_content(one: &Item, other: &Item) -> bool {
    match (&one.body, &other.body) {
        // The phase is not always kept with a message.
        (ItemBody::AgentMessage { text: one, .. }, ItemBody::AgentMessage { text: other, .. }) => {
            one == other
        }
        (one, other) if one.kind() == other.kind() && is_renamed(one) => {
            let text = |body: &ItemBody| serde_json::to_string(body).ok();
            text(one).is_some_and(|text_of_one| Some(text_of_one) == text(other))
        }
        _ => false,
    }
}

/// Is it plausible that this step, which had begun, is the one that was found? A message goes on as it began.
fn became(begun: &Item, found: &Item) -> bool {
    match (&begun.body, &found.body) {
        (ItemBody::AgentMessage { text: begun, .. }, ItemBody::AgentMessage { text: found, .. }) => {
            found.starts_with(begun.as_str())
        }
        (begun, found) => begun.kind() == found.kind() && is_renamed(found),
    }
}

/// Steps that Codex names anew when a thread is read. Those of the model's calls keep the id of the call.
fn is_renamed(body: &ItemBody) -> bool {
    matches!(
        body,
        ItemBody::HookPrompt { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::Plan { .. }
            | ItemBody::ReviewStarted { .. }
            | ItemBody::ReviewEnded { .. }
            | ItemBody::Compaction
    )
}

/// How a step stands, where it says so.
fn status(body: &ItemBody) -> Option<Status> {
    match body {
        ItemBody::Command { status, .. }
        | ItemBody::Patch { status, .. }
        | ItemBody::Tool { status, .. }
        | ItemBody::ClientTool { status, .. }
        | ItemBody::Agents { status, .. }
        | ItemBody::ImageGeneration { status, .. } => Some(*status),
        _ => None,
    }
}
