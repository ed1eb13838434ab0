//! One event in one line, for progress and for lists of what happened. Pieces of text are not told: the step that they
//! belong to is.

use crate::event::{AgentPhase, Event};
use crate::item::{Item, ItemBody, Status};
use crate::transcript::patch_summary;

/// The longest line, in characters.
const LONGEST: usize = 300;

/// Says what happened; `None` for what is no step of its own.
pub fn step(event: &Event) -> Option<String> {
    let line = match event {
        Event::SessionStarted(started) => {
            format!("opened on Codex {} with {}, sandbox {}", started.codex, started.model, started.sandbox)
        }
        Event::TurnStarted { .. } => "Codex began to work".to_owned(),
        Event::ItemStarted { item } => begun(item)?,
        Event::ItemCompleted { item } => ended(item)?,
        Event::AgentItemStarted { item, .. } => format!("sub-agent: {}", begun(item)?),
        Event::AgentItemCompleted { item, .. } => format!("sub-agent: {}", ended(item)?),
        Event::AgentUpdated { phase, .. } => match phase {
            AgentPhase::Running => "a sub-agent began".to_owned(),
            AgentPhase::Completed => "a sub-agent completed".to_owned(),
            AgentPhase::Failed => "a sub-agent failed".to_owned(),
            AgentPhase::Interrupted => "a sub-agent was stopped".to_owned(),
        },
        Event::ToolProgress { message, .. } => message.clone(),
        Event::RequestOpened { id, ask, .. } => format!("asks ({id}): {}", ask.label()),
        Event::RequestClosed { id, decision, by, .. } => format!("{id} {decision} by {by}"),
        Event::DeliveryUnknown { id } => format!("it is not known whether Codex had the answer to {id}"),
        Event::PlanUpdated { steps, .. } => {
            let done = steps.iter().filter(|step| step.status == crate::event::PlanStatus::Completed).count();
            format!("plan: {done} of {} steps done", steps.len())
        }
        Event::Gap(gap) => gap.message.clone(),
        Event::SettingsConfirmed { model, effort } => match effort {
            Some(effort) => format!("in force from now on: {model}, effort {effort}"),
            None => format!("in force from now on: {model}"),
        },
        Event::ModelRerouted { from, to, .. } => format!("{to} answers instead of {from}"),
        Event::Compacted => "the conversation was shortened".to_owned(),
        Event::ChildrenRunning { count } => format!("{count} sub-agents have not ended"),
        Event::Quiet { seconds, .. } => format!("nothing was heard for {seconds} seconds"),
        Event::Retrying { message } => format!("Codex tries again: {message}"),
        Event::Warning { message } | Event::TerminalsEnded { message } | Event::HostReplaced { message } => {
            message.clone()
        }
        Event::BackgroundStarted(command) => format!("still runs in the background: {}", command.command),
        Event::BackgroundEnded { command, end, exit_code, .. } => {
            format!("background command {}: {command}", end.words(*exit_code))
        }
        Event::Interrupting { by } => format!("asked to stop by {by}"),
        Event::Escalated { .. } => "Codex did not stop in time".to_owned(),
        Event::Steered { .. } => "further words reached the turn".to_owned(),
        Event::Queued { waiting, .. } => format!("{waiting} messages wait for the next turn"),
        Event::Unqueued { inputs, .. } => format!("{} messages that waited were taken back", inputs.len()),
        Event::Outcome(report) => match &report.message {
            Some(message) => format!("{}: {message}", report.outcome.word()),
            None => report.outcome.word().to_owned(),
        },
        Event::Ledger { .. }
        | Event::Steering { .. }
        | Event::TextDelta { .. }
        | Event::ReasoningDelta { .. }
        | Event::OutputDelta { .. }
        | Event::BackgroundOutput { .. }
        | Event::PlanDelta { .. }
        | Event::PatchUpdated { .. }
        | Event::ItemAbandoned { .. }
        | Event::DiffUpdated { .. }
        | Event::UsageUpdated { .. }
        | Event::RateLimits(_)
        | Event::Unknown { .. }
        | Event::Corrupt { .. } => return None,
    };
    Some(short(&line))
}

/// Only what takes time is worth a line when it begins.
fn begun(item: &Item) -> Option<String> {
    Some(match &item.body {
        ItemBody::Command { command, .. } => format!("runs {command}"),
        ItemBody::Tool { server, tool, .. } => format!("calls {server}.{tool}"),
        ItemBody::WebSearch { query, .. } => format!("searches the web: {query}"),
        _ => return None,
    })
}

fn ended(item: &Item) -> Option<String> {
    Some(match &item.body {
        ItemBody::Command { command, exit_code: Some(code), .. } => {
            format!("ran {command} (exit code {code})")
        }
        ItemBody::Command { command, status, .. } => format!("{} {command}", verb(*status, "ran")),
        ItemBody::Patch { changes, status } => {
            format!("{} files: {}", verb(*status, "changed"), patch_summary(changes))
        }
        ItemBody::Tool { server, tool, error: Some(error), .. } => {
            format!("{server}.{tool} failed: {error}")
        }
        ItemBody::Tool { server, tool, status, .. } => format!("{} {server}.{tool}", verb(*status, "called")),
        ItemBody::ClientTool { tool, status, .. } => format!("{} {tool}", verb(*status, "called")),
        ItemBody::AgentMessage { text, .. } => format!("said: {text}"),
        ItemBody::WebSearch { query, .. } => format!("searched the web: {query}"),
        ItemBody::ImageView { path } => format!("looked at {path}"),
        ItemBody::UserMessage { .. }
        | ItemBody::HookPrompt { .. }
        | ItemBody::Reasoning { .. }
        | ItemBody::ToolOutput { .. }
        | ItemBody::Sleep { .. }
        | ItemBody::Compaction => return None,
        other => other.kind().replace('_', " "),
    })
}

fn verb(status: Status, done: &'static str) -> &'static str {
    match status {
        Status::Completed | Status::Unknown => done,
        Status::Failed => "failed:",
        Status::Declined => "was not allowed:",
        Status::Interrupted => "was stopped:",
        Status::InProgress => "did not end:",
    }
}

/// The beginning of a text, in one line.
pub(super) fn short(text: &str) -> String {
    // Only so much is looked at: what a command printed can be long.
    let beginning = &text[..text.floor_char_boundary(8 * LONGEST)];
    let line = beginning.split_whitespace().collect::<Vec<_>>().join(" ");
    if beginning.len() == text.len() && line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST - 1).chain(['…']).collect()
}
