//! One event in one line, for progress and for lists of what happened. Pieces of text are not reported: the step that they
//! belong to is.

use crate::event::{AgentPhase, Event};
use crate::item::{Item, ItemBody, Status};
use crate::request::{Decision, Who};
use crate::transcript::{failed_call, patch_summary};
use talaria_guard::shorten::shorten_line;

/// The longest line, in characters.
const LONGEST: usize = 300;

/// Describes a step; `None` for an event that is not a step.
pub fn step(event: &Event) -> Option<String> {
    let line = match event {
        Event::SessionStarted(started) if started.codex.is_empty() => {
            format!("opened with {} of {}, sandbox {}", started.model, started.provider, started.sandbox)
        }
        Event::SessionStarted(started) => {
            format!("opened on Codex {} with {}, sandbox {}", started.codex, started.model, started.sandbox)
        }
        Event::TurnStarted { .. } => "the turn began".to_owned(),
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
        Event::RequestClosed { id, decision: Decision::Void, by: by @ Who::OtherClient, .. } => {
            format!("{id} is no longer open: {by} answered it, or Codex withdrew it")
        }
        Event::RequestClosed { id, decision: Decision::Void, .. } => {
            format!("{id} was closed before it was answered")
        }
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
        Event::Reviewed(report) => report.line()?,
        Event::TurnUndone { undone } => format!("turn {undone} was undone"),
        Event::Compacted => "the conversation was shortened".to_owned(),
        Event::ChildrenRunning { count: 0 } => return None,
        Event::ChildrenRunning { count: 1 } => "1 sub-agent has not ended".to_owned(),
        Event::ChildrenRunning { count } => format!("{count} sub-agents have not ended"),
        Event::Quiet { seconds, .. } => format!("no sign of life for {seconds} seconds"),
        Event::Retrying { message } => format!("trying again: {message}"),
        Event::AttemptVoid { why, .. } => format!("the last answer does not count: {why}"),
        Event::Warning { message } | Event::TerminalsEnded { message } | Event::HostReplaced { message } => {
            message.clone()
        }
        Event::BackgroundStarted(command) => format!("still runs in the background: {}", command.command),
        Event::BackgroundEnded { command, end, exit_code, .. } => {
            format!("background command {}: {command}", end.words(*exit_code))
        }
        Event::Interrupting { by } => format!("asked to stop by {by}"),
        Event::Escalated { .. } => "Codex did not stop in time".to_owned(),
        Event::Steered { .. } => "further input was sent to the running turn".to_owned(),
        Event::Queued { waiting: 1, .. } => "1 message waits for the next turn".to_owned(),
        Event::Queued { waiting, .. } => format!("{waiting} messages wait for the next turn"),
        Event::Unqueued { inputs, was_sent } => unread(inputs.len(), *was_sent),
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

/// That messages will not be answered by this turn.
fn unread(count: usize, was_sent: bool) -> String {
    let what = match count {
        1 => "1 message was".to_owned(),
        _ => format!("{count} messages were"),
    };
    if was_sent { format!("{what} sent, but never read by the model") } else { format!("{what} not sent") }
}

/// Only what takes time is worth a line when it is announced. Whether it runs is not known: a person may be asked first.
fn begun(item: &Item) -> Option<String> {
    Some(match &item.body {
        ItemBody::Command { command, .. } => format!("command: {command}"),
        ItemBody::Tool { server, tool, .. } => format!("tool: {server}.{tool}"),
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
        ItemBody::FailedCall { tool, error } => failed_call(tool, error),
        ItemBody::Compaction(facts) => facts.words(),
        ItemBody::AgentMessage { text, .. } => format!("said: {text}"),
        ItemBody::WebSearch { query, .. } => format!("searched the web: {query}"),
        ItemBody::ImageView { path } => format!("looked at {path}"),
        ItemBody::UserMessage { .. }
        | ItemBody::HookPrompt { .. }
        | ItemBody::Reasoning { .. }
        | ItemBody::ToolOutput { .. }
        | ItemBody::Sleep { .. } => return None,
        other => other.kind().replace('_', " "),
    })
}

fn verb(status: Status, done: &'static str) -> &'static str {
    match status {
        Status::Completed => done,
        Status::Unknown => "ended in an unknown way:",
        Status::Failed => "failed:",
        Status::Declined => "was not allowed:",
        Status::Interrupted => "was stopped:",
        Status::InProgress => "did not end:",
    }
}

/// The beginning of a text, in one line.
pub(super) fn short(text: &str) -> String {
    shorten_line(text, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_ends_with_an_ellipsis_and_only_its_beginning_is_looked_at() {
        assert_eq!(short(" a\n\tb "), "a b");
        assert_eq!(short(&"x".repeat(LONGEST)), "x".repeat(LONGEST));
        assert_eq!(short(&"x".repeat(LONGEST + 1)), format!("{}…", "x".repeat(LONGEST - 1)));
        assert_eq!(short(&"é".repeat(LONGEST + 1)), format!("{}…", "é".repeat(LONGEST - 1)));
        // Words after a long gap are beyond what is looked at.
        assert_eq!(short(&format!("a{}b", " ".repeat(8 * LONGEST))), "a…");
        assert_eq!(short(&format!("a{}b", " ".repeat(7 * LONGEST))), "a b");
    }
}
