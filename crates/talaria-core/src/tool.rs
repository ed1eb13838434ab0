//! Tools that Talaria brings into a turn: what a tool is, one call of it, and what comes back. Nothing of a runtime's wire.
//!
//! A runtime announces `ToolSpec`s and turns each call of its model into a `ToolInvocation`; the engine's registry runs it and
//! returns a `ToolOutcome`, which the runtime passes on. The set of a Codex thread is fixed when the thread starts, so texts
//! and schemas are static (no names, paths or dates), and rights are judged at the call.

use std::time::Duration;

use serde_json::Value;
use talaria_guard::redact::redact;

use crate::ids::{ItemId, ThreadId, TurnId};

/// The longest result, in characters: Codex cuts longer ones in the middle for models that it does not know.
pub const LONGEST_RESULT: usize = 10_000;

/// Ends a result that was too long.
const CUT: &str = "\n[cut: the result was longer than 10,000 characters]";

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`. Begins with `talaria_`, so that no tool of a runtime has the same name.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// A JSON schema of its arguments: plain objects, no `oneOf` and no `$ref`, which Codex 0.130 reduces to a string.
    pub schema: Value,
    /// How long one call may take.
    pub limit: Duration,
}

/// One call of a tool by a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInvocation {
    /// The thread whose model calls: the conversation's own, or that of a sub-agent.
    pub thread: ThreadId,
    /// The runtime's turn.
    pub turn: TurnId,
    /// The call, which is also the step that people see.
    pub item: ItemId,
    /// The tool.
    pub tool: String,
    /// Its arguments, as the model wrote them. No runtime validates them against the schema.
    pub arguments: Value,
}

/// What a call of a tool returned: one text for the model, with secrets masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    text: String,
    success: bool,
}

impl ToolOutcome {
    /// The tool worked. Its first line says what follows and whether it is complete.
    pub fn done(text: &str) -> Self {
        Self { text: bounded(redact(text).into_owned()), success: true }
    }

    /// The tool did not work, and why. The step counts as failed and the turn continues.
    pub fn failed(why: &str) -> Self {
        Self { text: bounded(redact(why).into_owned()), success: false }
    }

    /// The text for the model.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Did the tool work?
    pub fn is_success(&self) -> bool {
        self.success
    }
}

/// The safety net: a tool is expected to divide a long result into pages itself.
fn bounded(mut text: String) -> String {
    if text.chars().nth(LONGEST_RESULT).is_some() {
        let room = LONGEST_RESULT - CUT.chars().count();
        let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_no_secret_and_is_bounded() {
        let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
        for outcome in [ToolOutcome::done(key), ToolOutcome::failed(key)] {
            assert!(!outcome.text().contains("abcdefghijklmnop"), "{}", outcome.text());
        }
        let long = ToolOutcome::done(&"ä ".repeat(LONGEST_RESULT));
        assert_eq!(long.text().chars().count(), LONGEST_RESULT);
        assert!(long.text().ends_with(CUT) && long.is_success());
        let whole = "x ".repeat(LONGEST_RESULT / 2);
        assert_eq!(ToolOutcome::failed(&whole).text(), whole);
    }
}
