//! Steps that are not tool calls, as text: the assistant's notes about them.
//!
//! Each kind has its own form, in brackets, so that no one takes it for something the model said. Nothing here is made
//! to look like a call.

use super::call::tool_text;
use super::cap::cap;
use crate::item::{AgentState, ItemBody, SearchAction, Status};
use crate::outcome::Outcome;
use crate::request::Who;

/// Said for the person where a turn has no message of theirs: Codex compacted, or another client ran a command.
pub(super) const NO_MESSAGE: &str = "[no message of the user is known]";
/// Said for the assistant where a person speaks twice in a row.
pub(super) const NO_REPLY: &str = "[no reply before the next message]";
/// Said for the assistant where a turn ended well without a word.
pub(super) const NO_ANSWER: &str = "[the turn ended without an answer]";

/// Returns the note for a step; `None` for messages, thinking and calls of tools.
pub(super) fn note(body: &ItemBody, limit: usize) -> Option<String> {
    Some(match body {
        ItemBody::Plan { text } => format!("[plan]\n{text}"),
        ItemBody::HookPrompt { text } => format!("[a hook said]\n{text}"),
        ItemBody::ToolOutput { namespace, tool, result } => {
            let dot = if namespace.is_some() { "." } else { "" };
            let namespace = namespace.as_deref().unwrap_or_default();
            format!("[output of {namespace}{dot}{tool}]\n{}", tool_text(Some(result), limit))
        }
        ItemBody::Agents { action, status, prompt, agents, .. } => {
            let mut out = format!("[agents: {action}, {}]", word(*status));
            if let Some(prompt) = prompt {
                out.push_str("\ntask: ");
                out.push_str(&cap(prompt, limit));
            }
            agents.iter().for_each(|agent| push_agent(&mut out, agent, limit));
            out
        }
        ItemBody::AgentActivity { activity, path, .. } => format!("[agent {path}: {activity}]"),
        ItemBody::WebSearch { query, action } => web(query, action.as_ref()),
        ItemBody::ImageView { path } => format!("[looked at the image {path}]"),
        ItemBody::ImageGeneration { status, prompt, path, failure } => {
            let drawn = prompt.as_deref().map(|prompt| format!(": {prompt}")).unwrap_or_default();
            let saved = path.as_deref().map(|path| format!("; saved as {path}")).unwrap_or_default();
            let end = failure.as_deref().map(|why| format!("; {why}")).unwrap_or_default();
            match status {
                Status::Completed => format!("[made an image{drawn}{saved}{end}]"),
                status => format!("[image, {}{drawn}{saved}{end}]", word(*status)),
            }
        }
        ItemBody::ReviewStarted { review } => format!("[review begins: {review}]"),
        ItemBody::ReviewEnded { review } => format!("[review ended]\n{review}"),
        ItemBody::Sleep { duration_ms } => {
            format!("[waited {}.{} s]", duration_ms / 1000, duration_ms % 1000 / 100)
        }
        ItemBody::FailedCall { tool, error } => format!("[✗ {}]", failed_call(tool, &cap(error, limit))),
        ItemBody::Compaction(facts) => format!("[{}]", facts.words()),
        ItemBody::Other { name, .. } => format!("[step of a kind that is not known: {name}]"),
        ItemBody::UserMessage { .. }
        | ItemBody::AgentMessage { .. }
        | ItemBody::Reasoning { .. }
        | ItemBody::Command { .. }
        | ItemBody::Patch { .. }
        | ItemBody::Tool { .. }
        | ItemBody::ClientTool { .. } => return None,
    })
}

/// A call that failed, in words; Codex often names the tool itself.
pub fn failed_call(tool: &str, error: &str) -> String {
    match error.strip_prefix(tool) {
        Some(rest) if rest.starts_with(' ') => error.to_owned(),
        _ => format!("{tool} failed: {error}"),
    }
}

/// The note for what Talaria sent the model.
pub(super) fn told_model(text: &str) -> String {
    format!("[from Talaria to the model]\n{text}")
}

/// Returns the note for the end of a turn; `None` on success.
pub(super) fn ending(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Completed => None,
        Outcome::Failed { message, .. } => Some(format!("[the turn failed: {message}]")),
        Outcome::Interrupted { by: Who::User } => Some("[the turn was interrupted by the user]".to_owned()),
        Outcome::Interrupted { by } => Some(format!("[the turn was interrupted by {by}]")),
        Outcome::Lost { why } => Some(format!("[the turn was lost, its end is not known: {why}]")),
    }
}

fn push_agent(out: &mut String, agent: &AgentState, limit: usize) {
    out.push('\n');
    out.push_str(agent.thread.as_str());
    out.push_str(": ");
    out.push_str(&agent.status);
    if let Some(message) = &agent.message {
        out.push_str(": ");
        out.push_str(&cap(message, limit));
    }
}

fn web(query: &str, action: Option<&SearchAction>) -> String {
    match action {
        Some(SearchAction::OpenPage { url }) => {
            format!("[opened the page {}]", url.as_deref().unwrap_or(query))
        }
        Some(SearchAction::FindInPage { url, pattern }) => {
            let (url, pattern) = (url.as_deref().unwrap_or(query), pattern.as_deref().unwrap_or("something"));
            format!("[looked for {pattern} in the page {url}]")
        }
        Some(SearchAction::Search { queries }) if !queries.is_empty() => {
            format!("[web search: {}]", queries.join(" / "))
        }
        Some(SearchAction::Search { .. } | SearchAction::Other) | None => format!("[web search: {query}]"),
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::InProgress => "not ended",
        Status::Completed => "done",
        Status::Failed => "failed",
        Status::Declined => "declined",
        Status::Interrupted => "interrupted",
        Status::Unknown => "ended in a way that is not known",
    }
}
