//! Conclusions from the requests of a turn about its steps: which of them never ran, and which messages to the model are
//! Talaria's own.
//!
//! A step that was asked about and never accepted did not run, so it must not be reported as unfinished when the turn ends,
//! unless another client of Codex may have accepted it. The reason for a refusal reaches the model as further input, and
//! Codex echoes it as a message of the user; it must not be shown as the person's input. Derived from the events of the
//! turn alone, so that a resumed turn has the same conclusions.

use std::collections::HashMap;

use talaria_core::event::Event;
use talaria_core::ids::{ItemId, TicketId};
use talaria_core::request::{Ask, Decision, Who};
use talaria_core::transcript::has_same_words;

/// How much of a request's label the model is reminded of.
const LABEL_CHARS: usize = 300;

/// The questions of a turn and what they decided about its steps.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    asked: HashMap<TicketId, Asked>,
    steps: HashMap<ItemId, Approval>,
    /// Texts about refusals sent to the model, until Codex echoes them.
    notes: Vec<String>,
}

#[derive(Clone, Debug)]
struct Asked {
    label: String,
    step: Option<ItemId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Approval {
    /// Asked for, and not given.
    Missing,
    /// Decided by another client of Codex: it may have run.
    Unknown,
    /// Given, or the step printed something: it ran.
    Given,
}

impl Approvals {
    /// Records what an event says.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::RequestOpened { id, ask, .. } => {
                let step = match &**ask {
                    Ask::Command { item, .. } | Ask::Patch { item, .. } => Some(item.clone()),
                    Ask::Tool { item, .. } => item.clone(),
                    _ => None,
                };
                if let Some(step) = &step {
                    // A command that ran inside the sandbox and failed may be asked about a second time.
                    self.steps.entry(step.clone()).or_insert(Approval::Missing);
                }
                self.asked.insert(id.clone(), Asked { label: label(ask), step });
            }
            Event::RequestClosed { id, decision, by, why } => {
                let Some(asked) = self.asked.remove(id) else { return };
                if let (Decision::Decline, Some(reason)) = (decision, why) {
                    self.notes.push(refusal_note(&asked.label, *by, reason));
                }
                let approval = match (decision, by) {
                    (Decision::Void, Who::OtherClient) => Approval::Unknown,
                    _ if decision.is_yes() => Approval::Given,
                    _ => return,
                };
                if let Some(step) = asked.step {
                    self.steps.insert(step, approval);
                }
            }
            Event::OutputDelta { item, .. } if !self.steps.contains_key(item) => {
                self.steps.insert(item.clone(), Approval::Given);
            }
            Event::ItemCompleted { item } if !self.steps.is_empty() => {
                self.steps.remove(&item.id);
            }
            _ => {}
        }
    }

    /// Is it certain that this step never ran?
    pub(super) fn is_missing(&self, item: &ItemId) -> bool {
        self.steps.get(item) == Some(&Approval::Missing)
    }

    /// Was a person asked about this step?
    pub(super) fn is_asked(&self, item: &ItemId) -> bool {
        self.steps.contains_key(item)
    }

    /// Is this text a refusal that Talaria explained to the model? Each one is reported once.
    pub(super) fn take_note(&mut self, text: &str) -> bool {
        let at = self.notes.iter().position(|note| has_same_words(note, text));
        at.map(|at| self.notes.remove(at)).is_some()
    }
}

/// The subject of a request, as the model is reminded of it.
pub(super) fn label(ask: &Ask) -> String {
    ask.label().chars().take(LABEL_CHARS).collect()
}

/// The text for the model about a refusal.
pub(super) fn refusal_note(label: &str, by: Who, reason: &str) -> String {
    // A rule speaks for itself: the person has said nothing.
    let lead = if by == Who::User { "I declined this request" } else { "This request was declined" };
    format!("{lead}: {label}\nThe reason: {reason}")
}
