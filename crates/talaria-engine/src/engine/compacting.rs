//! Shortening a conversation: a turn of its own, in which nothing is said.
//!
//! It is written down, sent once, followed, and taken up after a restart like every other turn; what became of it is
//! Codex's word. Codex would interrupt a turn that runs for it (0.130 and 0.166), so it is refused meanwhile.

use talaria_core::api::{Compact, Problem, ProblemCode, SessionStarted};

use super::caller::Needs;
use super::desk::Work;
use super::settings::{self, Settings};
use super::{Engine, importing, input};
use crate::faults;

/// What people see of it where the prompt of a turn is shown.
const SHOWN: &str = "/compact";

impl Engine {
    /// Writes down that a conversation is to be shortened, and has it done.
    pub async fn compact(&self, id: &str, compact: Compact) -> Result<SessionStarted, Problem> {
        let _caller = self.0.enter()?;
        self.require(Needs::StartAnything, "compact", "shorten a conversation").await?;
        let session = self.find(id).await?;
        importing::only_to_be_read(&session)?;
        let last = self.0.last_turn(&session.id).await?;
        if last.as_ref().is_some_and(|last| last.settled_at.is_none()) {
            let message = "a turn runs on this session, and shortening the conversation would stop it";
            return Err(
                Problem::new(ProblemCode::Busy, message).try_this("wait for its end, or interrupt it")
            );
        }
        if session.thread.is_none() {
            let message = "there is nothing to shorten: Codex has taken no turn of this conversation yet";
            return Err(Problem::new(ProblemCode::Conflict, message));
        }
        let ordinal = last.map_or(1, |last| last.ordinal + 1);
        faults::point("before:prepared").await;
        self.0.hold(&session.id).await?;
        let row = talaria_store::NewTurn {
            input_text: SHOWN.to_owned(),
            ours: true,
            ..self.0.sealed_row(ordinal, input::COMPACTION)?
        };
        let settings = match Settings::kept(&session) {
            Some(earlier) => earlier.on_codex_of(&compact.caller),
            None => Settings::by(&compact.caller),
        };
        let started = self.0.prepare(&session, row, settings, self.audit_entry("compact")).await?;
        faults::point("after:prepared").await;
        self.0.give(&session.id, Work::Turn(settings::surroundings(&compact.caller)));
        Ok(started)
    }
}
