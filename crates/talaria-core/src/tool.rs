//! Tools that Talaria offers to models: specification, call and outcome. Nothing of a runtime's wire.
//!
//! A runtime announces `ToolSpec`s and turns each call of its model into a `ToolInvocation`; the engine's registry runs it and
//! returns a `ToolOutcome`, which the runtime passes on. The set of a Codex thread is fixed when the thread starts, so texts
//! and schemas are static (no names, paths or dates), and rights are judged at the call. `ledger` decides whether a call may
//! run, `contract` what a thread lacks that was started with fewer tools.

pub mod contract;
pub mod ledger;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use talaria_guard::redact::redact;

use crate::ids::{ItemId, ThreadId, TurnId};

/// The longest result, in characters: Codex cuts longer ones in the middle for models that it does not know.
pub const LONGEST_RESULT: usize = 10_000;

/// Ends a result that was too long.
const CUT: &str = "\n[cut: the result was longer than 10,000 characters]";
/// Begins the text of a call whose effect is not known. A runtime recognises such a result by it when the step is reported.
const UNKNOWN: &str = "Outcome unknown: ";

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`. Tools for Codex begin with `talaria_`, so that none of its own has the same name; those
    /// of the built-in loop have plain names.
    pub name: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// A JSON schema of its arguments: plain objects, no `oneOf` and no `$ref`, which Codex 0.130 reduces to a string.
    pub schema: Value,
    /// How long one call may take.
    pub limit: Duration,
}

/// A tool that a thread was started with, and how much of every prompt it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// The bytes of name, description and schema.
    pub bytes: u64,
}

impl From<&ToolSpec> for OfferedTool {
    fn from(spec: &ToolSpec) -> Self {
        let bytes = spec.name.len() + spec.description.len() + spec.schema.to_string().len();
        Self { name: spec.name.to_owned(), bytes: u64::try_from(bytes).unwrap_or(u64::MAX) }
    }
}

/// Whether a call only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// It changes nothing, so it may run again after an engine died.
    Reads,
    /// It changes something, so it runs at most once.
    Changes,
}

/// Whose model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolCaller {
    /// The session's own thread.
    Session,
    /// A sub-agent: another thread that works for the session.
    SubAgent,
}

/// Rights of a caller to use tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolRights {
    /// It calls what only reads.
    ReadOnly,
    /// It calls everything.
    ReadAndChange,
}

impl ToolRights {
    /// Are calls with this effect permitted?
    pub fn permit(self, effect: ToolEffect) -> bool {
        self == Self::ReadAndChange || effect == ToolEffect::Reads
    }
}

impl ToolCaller {
    /// The rights of a caller: sub-agents only read.
    pub fn rights(self) -> ToolRights {
        match self {
            Self::Session => ToolRights::ReadAndChange,
            Self::SubAgent => ToolRights::ReadOnly,
        }
    }
}

/// One call of a tool by a model. Thread, turn and item name it: a runtime may offer the same call more than once.
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
    /// Whose model calls.
    pub caller: ToolCaller,
    /// What bounds the conversation, as it is in force at the call.
    pub confinement: ToolConfinement,
}

/// What bounds a conversation, for tools that reach outside of it. The default is the tightest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolConfinement {
    /// May its commands use the network?
    pub has_network: bool,
    /// May a person be asked for more?
    pub asks: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolVerdict {
    /// The tool worked.
    Done,
    /// The tool did not work, and changed nothing that its text does not name.
    Failed,
    /// Whether it took effect is not known.
    Unknown,
}

/// Result of a tool call: one text for the model, with secrets masked. Serializable, so that it can be stored until the
/// runtime has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    text: String,
    verdict: ToolVerdict,
}

impl ToolOutcome {
    /// The tool worked. Its first line says what follows and whether it is complete.
    pub fn done(text: &str) -> Self {
        Self { text: bounded(redact(text).into_owned()), verdict: ToolVerdict::Done }
    }

    /// The tool did not work, and why. The step counts as failed and the turn continues.
    pub fn failed(why: &str) -> Self {
        Self { text: bounded(redact(why).into_owned()), verdict: ToolVerdict::Failed }
    }

    /// Whether the tool took effect is not known, and why. The step counts neither as done nor as failed.
    pub fn unknown(why: &str) -> Self {
        let text = bounded(redact(&format!("{UNKNOWN}{why}")).into_owned());
        Self { text, verdict: ToolVerdict::Unknown }
    }

    /// The result in the form for the model: the first line says what it is and whether it is complete, whatever the tool
    /// wrote.
    pub fn of(tool: &str, returned: Result<String, String>) -> Self {
        match returned {
            Ok(text) => Self { text: headed(tool, redact(&text).into_owned()), verdict: ToolVerdict::Done },
            Err(why) => Self::failed(&format!("{tool}: {why}")),
        }
    }

    /// The text for the model.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Did the tool work?
    pub fn is_success(&self) -> bool {
        self.verdict == ToolVerdict::Done
    }

    /// How the call ended.
    pub fn verdict(&self) -> ToolVerdict {
        self.verdict
    }
}

/// Does this result, which was reported as not successful, say that the effect of the call is not known?
pub fn is_unknown_outcome(text: &str) -> bool {
    text.starts_with(UNKNOWN)
}

/// Adds a first line where the tool's own does not say whether the result is complete, or says so of a text that is cut here.
fn headed(tool: &str, text: String) -> String {
    let first = text.lines().next().unwrap_or_default();
    if text.chars().nth(LONGEST_RESULT).is_some() {
        return cut_with_heading(tool, &text);
    }
    if first.contains("complete") || first.contains("page ") {
        return text;
    }
    let complete = format!("{tool}: complete.\n{text}");
    match complete.chars().nth(LONGEST_RESULT) {
        None => complete,
        Some(_) => cut_with_heading(tool, &text),
    }
}

fn cut_with_heading(tool: &str, text: &str) -> String {
    bounded(format!("{tool}: incomplete, the end of the result was cut. Ask for less at once.\n{text}"))
}

/// The safety net: a tool is expected to divide a long result into pages itself.
fn bounded(text: String) -> String {
    if text.chars().nth(LONGEST_RESULT).is_none() {
        return text;
    }
    let room = LONGEST_RESULT - CUT.chars().count();
    text.chars().take(room).chain(CUT.chars()).collect()
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

    #[test]
    fn the_first_line_says_what_it_is_and_whether_it_is_complete() {
        let first = |text: &str| {
            let outcome = ToolOutcome::of("talaria_x", Ok(text.to_owned()));
            assert!(outcome.is_success() && outcome.text().chars().count() <= LONGEST_RESULT);
            outcome.text().lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(first("Passages: 3 found, complete.\nrest"), "Passages: 3 found, complete.");
        assert_eq!(first("Entries, page 1 of 2\nrest"), "Entries, page 1 of 2");
        assert_eq!(first("rest"), "talaria_x: complete.");
        assert_eq!(first(""), "talaria_x: complete.");
        let long = format!("Everything, complete.\n{}", "y ".repeat(LONGEST_RESULT));
        assert!(first(&long).starts_with("talaria_x: incomplete"), "a cut text is not complete");
        let just_too_long_with_its_heading = "z".repeat(LONGEST_RESULT - 5);
        let outcome = ToolOutcome::of("talaria_x", Ok(just_too_long_with_its_heading));
        assert!(outcome.text().starts_with("talaria_x: incomplete"), "{}", &outcome.text()[..60]);
        assert!(outcome.text().ends_with(CUT));
        assert_eq!(ToolOutcome::of("talaria_x", Err("no".to_owned())), ToolOutcome::failed("talaria_x: no"));
    }

    #[test]
    fn an_unknown_outcome_is_recognised_and_is_neither_done_nor_failed() {
        let unknown = ToolOutcome::unknown("talaria_x was running when Talaria ended");
        assert!(is_unknown_outcome(unknown.text()) && !unknown.is_success());
        assert_ne!(unknown.verdict(), ToolVerdict::Failed);
        assert!(!is_unknown_outcome(ToolOutcome::failed("talaria_x: no").text()));
    }

    #[test]
    fn sub_agents_only_read() {
        for (caller, changes) in [(ToolCaller::Session, true), (ToolCaller::SubAgent, false)] {
            assert!(caller.rights().permit(ToolEffect::Reads));
            assert_eq!(caller.rights().permit(ToolEffect::Changes), changes);
        }
    }
}
