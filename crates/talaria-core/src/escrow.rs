//! Answers that outlive the process that asked, and the questions that they may still answer.
//!
//! Owns the binding of an answer to its question, and the decision whether a kept answer applies. It applies once, until
//! it expires, and only to the identical question: another argument, directory, diff or question is asked again, and so
//! is an operation at a place that the person was not shown. Never widened: "for this session" stays so, a plain yes
//! never becomes more. No clock and no store here; the turn machine calls this after floor and rules.

use std::time::Duration;

use talaria_guard::place::Place;

use crate::ids::TicketId;
use crate::request::{Answer, Content, Given, Who};

mod binding;
mod canonical;

pub use binding::Binding;

/// An answer that was never delivered to its asker.
#[derive(Clone, Debug)]
pub struct Escrow {
    /// The request that it was given to.
    pub ticket: TicketId,
    /// The question.
    pub binding: Binding,
    /// Where it would have happened, as the person was shown.
    pub place: Option<Place>,
    /// The answer.
    pub answer: Answer,
    /// Who answered.
    pub by: Who,
    /// Until when it serves, in milliseconds since 1970.
    pub until: u64,
    /// It has served already.
    pub is_used: bool,
}

/// The current question.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// What.
    pub binding: &'a Binding,
    /// Where it would happen.
    pub place: Option<Place>,
}

/// Why a kept answer does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Afresh {
    /// Something else is asked, or by another conversation.
    #[error("something else is asked")]
    Differs,
    /// It has served.
    #[error("it has been used")]
    Used,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// The accepted operation might now happen where no one agreed to it.
    #[error("where it would happen is not what was agreed to")]
    Place,
    /// A part of it was secret, and secrets are not kept.
    #[error("a part of it was secret and was not kept")]
    Secret,
}

/// Decides whether a kept answer applies to the current question. `now` is in milliseconds since 1970.
pub fn match_escrow<'a>(asked: Asking<'_>, kept: &'a Escrow, now: u64) -> Result<&'a Answer, Afresh> {
    if *asked.binding != kept.binding {
        return Err(Afresh::Differs);
    }
    if kept.is_used {
        return Err(Afresh::Used);
    }
    if now >= kept.until {
        return Err(Afresh::Expired);
    }
    if kept.answer.decision.is_yes() && !is_covered(asked.place, kept.place) {
        return Err(Afresh::Place);
    }
    if !is_keepable(&kept.answer) {
        return Err(Afresh::Secret);
    }
    Ok(&kept.answer)
}

/// Is what may happen now within what the person was shown? "Undecidable" covers inside and undecidable.
fn is_covered(now: Option<Place>, then: Option<Place>) -> bool {
    match (now, then) {
        (now, then) if now == then => true,
        (Some(Place::Inside | Place::Undecidable), Some(Place::Outside)) => true,
        (Some(Place::Inside), Some(Place::Undecidable)) => true,
        _ => false,
    }
}

/// May this answer be recorded? One with a secret in it may not.
pub fn is_keepable(answer: &Answer) -> bool {
    let is_plain = |given: &Given| !given.is_secret() && !given.reveal().is_null();
    match &answer.content {
        Content::Nothing | Content::Grant(_) => true,
        Content::Answers(answers) => answers.values().flatten().all(is_plain),
        Content::Form(values) => values.values().all(is_plain),
    }
}

/// The kept answers of one turn.
#[derive(Clone, Debug, Default)]
pub struct EscrowedAnswers {
    answers: Vec<Escrow>,
    /// The wall clock when the program started, in milliseconds since 1970. Later clock changes have no effect.
    zero: u64,
}

impl EscrowedAnswers {
    /// Keeps answers for a turn. `now` is the time since the program started, `wall` what the clock says then, in
    /// milliseconds since 1970.
    pub fn new(answers: Vec<Escrow>, now: Duration, wall: u64) -> Self {
        Self { answers, zero: wall.saturating_sub(millis(now)) }
    }

    /// Takes the answer that serves; it is gone then. `Err` is why one that was given for this very thing does not.
    pub fn take(&mut self, now: Duration, asked: Asking<'_>) -> Result<Option<Escrow>, Afresh> {
        let now = self.zero.saturating_add(millis(now));
        let mut refused = Ok(None);
        for at in 0..self.answers.len() {
            match match_escrow(asked, &self.answers[at], now) {
                Ok(_) => return Ok(Some(self.answers.remove(at))),
                Err(Afresh::Differs) => {}
                Err(why) => refused = Err(why),
            }
        }
        refused
    }
}

fn millis(moment: Duration) -> u64 {
    u64::try_from(moment.as_millis()).unwrap_or(u64::MAX)
}
