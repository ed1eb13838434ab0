//! What waits for a person, and the answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{SessionId, TicketId};
use crate::request::{Ask, Decision, Who};
use talaria_guard::place::Place;

/// A request to a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestInfo {
    /// Its name.
    pub id: TicketId,
    /// The conversation.
    pub session: SessionId,
    /// The task that the conversation is, if it is one.
    pub task: Option<String>,
    /// Title of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `command`, `patch`, `permissions`, `input` or `elicitation`.
    pub kind: String,
    /// One line about it.
    pub summary: String,
    /// When it was asked.
    pub since: Timestamp,
    /// Its state.
    pub state: RequestState,
    /// Where it would happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The possible decisions.
    #[serde(default)]
    pub choices: Vec<Decision>,
    /// A digest of the question as Codex sent it, secrets included; returned with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Who answered, if someone did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// The decision, if it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// When it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<Timestamp>,
    /// The whole question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
}

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// It waits for a person.
    Open,
    /// It was answered; Codex does not have the answer yet.
    Answered,
    /// The answer is being written to Codex.
    Delivering,
    /// Codex has the answer.
    Delivered,
    /// Not decided here: the turn or Codex ended first, or another client of Codex answered.
    Void,
    /// Codex died before it received the answer, which is kept for the same question in the next turn.
    Escrowed,
    /// Codex died while the answer was being written: it is not known whether it had it.
    Undelivered,
    /// A kept answer that expired.
    Expired,
}

/// An answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerRequest {
    /// The answer, as [`Answer::revealed`](crate::request::Answer::revealed) writes it.
    #[cfg_attr(feature = "schema", schemars(with = "crate::request::Answer"))]
    pub answer: Value,
    /// Who answers.
    pub by: Who,
    /// The digest of the question that was shown. If it is not that of this request, nothing is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The answer was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answered {
    /// Which request.
    pub id: TicketId,
    /// The decision.
    pub decision: Decision,
}
