//! Which steps of a turn were missed while nothing was observed.
//!
//! Compares the recorded steps with those of the thread. Where Codex renames items when a thread is read (0.130), a step
//! is recognised by its content; recorded content is redacted, so found content is redacted before it is compared.
//! Nothing is reported twice and nothing is invented: a step whose end is unknown stays open and is named. Called by the
//! turn machine when it adopts a turn.

use talaria_core::event_redactor::cover_item;
use talaria_core::ids::ItemId;
use talaria_core::item::{Item, ItemBody, Status};

#[cfg(test)]
mod tests;

/// Something that was missed.
#[derive(Clone, Debug)]
pub enum MissedStep {
    /// A step began, and runs.
    Began(Item),
    /// A step ended.
    Ended(Item),
}

/// Finds the steps that were missed, in the order in which the thread has them. `begun` and `ended` are what was recorded.
pub fn missed(begun: &[Item], ended: &[Item], found: Vec<Item>) -> Vec<MissedStep> {
    let is_found = |item: &Item| found.iter().any(|found| is_same(found, item));
    // A step found by its own id was not renamed: only the others are matched by content.
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
                news.push(MissedStep::Began(item));
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
        news.push(MissedStep::Ended(item));
    }
    news
}

/// The state of the turn whose steps are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// It runs, and so does what it has begun.
    Runs,
    /// It is over: open steps are not reported any more.
    Over,
}

/// Returns the started steps whose end is unknown. A missing message has not ended: completed messages are always
/// reported.
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

/// The file of a conversation has a command without the shell around it; the report of its beginning has it.
fn keep_line(ended: &mut Item, began: &Item) {
    if let (ItemBody::Command { command, cwd, .. }, ItemBody::Command { command: line, cwd: place, .. }) =
        (&mut ended.body, &began.body)
    {
        command.clone_from(line);
        cwd.clone_from(place);
    }
}

/// In 0.130 the beginning and the end of a review have one id, so the kind belongs to it.
fn is_same(one: &Item, other: &Item) -> bool {
    one.id == other.id && one.body.kind() == other.body.kind()
}

fn has_same_content(one: &Item, other: &Item) -> bool {
    match (&one.body, &other.body) {
        // The phase is not always kept with a message.
        (ItemBody::AgentMessage { text: one, .. }, ItemBody::AgentMessage { text: other, .. }) => {
            one == other
        }
        // Facts that only the turn had are not in the thread.
        (ItemBody::Compaction(_), ItemBody::Compaction(_)) => true,
        (one, other) if one.kind() == other.kind() && is_renamed(one) => {
            let text = |body: &ItemBody| serde_json::to_string(body).ok();
            text(one).is_some_and(|text_of_one| Some(text_of_one) == text(other))
        }
        _ => false,
    }
}

/// Is it plausible that this step, which had begun, is the one that was found? A message continues as it began.
fn became(begun: &Item, found: &Item) -> bool {
    match (&begun.body, &found.body) {
        (ItemBody::AgentMessage { text: begun, .. }, ItemBody::AgentMessage { text: found, .. }) => {
            found.starts_with(begun.as_str())
        }
        (begun, found) => begun.kind() == found.kind() && is_renamed(found),
    }
}

/// Steps that Codex names again when a thread is read. Those of the model's calls keep the id of the call.
fn is_renamed(body: &ItemBody) -> bool {
    matches!(
        body,
        ItemBody::HookPrompt { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::Plan { .. }
            | ItemBody::ReviewStarted { .. }
            | ItemBody::ReviewEnded { .. }
            | ItemBody::Compaction(_)
    )
}

/// The state of a step, where it says so.
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
