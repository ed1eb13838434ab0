//! Compaction of a conversation: a turn of its own without input.
//!
//! It is recorded, sent once, followed, and resumed after a restart like every other turn; what became of it is the word of the
//! runtime. Codex would interrupt a turn that runs for it (0.130 and 0.166), so it is refused meanwhile.

use talaria_core::api::{Compact, NewTurn, Problem, ProblemCode, SessionStarted};
use talaria_core::next_step::NextStep;
use talaria_core::runtime::Runtime;

use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::lifecycle::imports;
use crate::engine::queries::views;
use crate::engine::run::input;
use crate::engine::run::runtime::runtime_of;
use crate::engine::run::session_directory::Work;
use crate::engine::run::settings::Settings;
use talaria_home::faults;

/// What people see of it where the prompt of a turn is shown.
const SHOWN: &str = "/compact";

impl Engine {
    /// Records a compaction and starts it.
    pub async fn compact(&self, id: &str, compact: Compact) -> Result<SessionStarted, Problem> {
        let _caller = self.inner.enter()?;
        self.require(Needs::StartAnything, "compact", "shorten a conversation").await?;
        let session = self.find(id).await?;
        imports::only_to_be_read(&session)?;
        let last = self.inner.last_turn(&session.id).await?;
        if last.as_ref().is_some_and(|last| last.settled_at.is_none()) {
            let message = "a turn runs on this session, and shortening the conversation would stop it";
            return Err(Problem::new(ProblemCode::Busy, message).next(NextStep::StopTurn));
        }
        let (settings, program, surroundings) = match runtime_of(&session) {
            Some(Runtime::OwnLoop) => {
                let entries = self.inner.shelf.store.model_history_len(&session.id).await;
                if entries.map_err(|error| views::problem(&error))? == 0 {
                    let message = "there is nothing to shorten: no turn of this conversation has run yet";
                    return Err(Problem::new(ProblemCode::Conflict, message));
                }
                let turn = NewTurn { caller: compact.caller, ..NewTurn::default() };
                let resolved = self.resolve_turn(&turn, views::kind(session.kind), &session).await?;
                (resolved.settings, None, resolved.surroundings)
            }
            _ => {
                if session.thread.is_none() {
                    let message =
                        "there is nothing to shorten: Codex has run no turn of this conversation yet";
                    return Err(Problem::new(ProblemCode::Conflict, message));
                }
                let codex = self.inner.codex_of(&compact.caller).await?;
                let settings = match Settings::of_row(&session) {
                    Some(earlier) => earlier.on(&codex),
                    None => Settings::by(&codex),
                };
                (settings, Some(codex.program()), codex.surroundings)
            }
        };
        let ordinal = last.map_or(1, |last| last.ordinal + 1);
        faults::point("before:prepared").await;
        self.inner.hold(&session.id).await?;
        let row = talaria_store::NewTurnRow {
            input_text: SHOWN.to_owned(),
            ours: true,
            ..self.inner.sealed_row(ordinal, input::COMPACTION)?
        };
        let started = self.inner.prepare(&session, row, settings, None, self.audit_entry("compact")).await?;
        faults::point("after:prepared").await;
        self.inner.give(&session.id, Work::Turn(surroundings));
        Ok(SessionStarted { codex: program, ..started })
    }
}
