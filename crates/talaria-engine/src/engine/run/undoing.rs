//! Undoing the last turn: the conversation continues as if it had not happened. Nothing is removed: the turn stays on record as
//! undone, and is left out of the model's context, of digests, of searches and of what the model can recall.
//!
//! One batch says it all, so that a crash leaves the turn undone or not. On Codex the thread is left as it is; the next one is a copy
//! of it without the turn (`basis`). What the turn did to files stays.

use std::sync::Arc;

use talaria_core::api::{NewTurn, Problem, ProblemCode, SessionStarted, Undo, Undone};
use talaria_core::event::Event;
use talaria_core::next_step::NextStep;
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_store::{Change, NewAudit, SessionRow, StoreError, TurnRow};

use crate::engine::access::caller::Needs;
use crate::engine::journal::Journal;
use crate::engine::lifecycle::imports;
use crate::engine::queries::views;
use crate::engine::run::basis::ConversationBasis;
use crate::engine::run::catalog::CheckedTurn;
use crate::engine::run::session_directory::Work;
use crate::engine::run::{input, start};
use crate::engine::{Engine, Inner};
use talaria_codex::conversation::Watcher as _;

/// A turn that can be undone.
struct UndoableTurn {
    session: SessionRow,
    turn: TurnRow,
    /// What the conversation continues from.
    basis: ConversationBasis,
}

impl Engine {
    /// Undoes the last turn of a conversation.
    pub async fn undo(&self, id: &str, undo: Undo) -> Result<Undone, Problem> {
        let _caller = self.inner.enter()?;
        self.require(Needs::StartAnything, "undo", "undo a turn").await?;
        let last = self.last_that_counts(id, undo.turn).await?;
        self.inner.hold(&last.session.id).await?;
        self.inner.write_undo(&last, self.audit_entry("undo"), Vec::new()).await?;
        // The task of the session gives up the thread, and a review that reads it.
        self.inner.give(&last.session.id, Work::Rewound);
        Ok(Undone { id: last.session.id, turn: last.turn.ordinal, prompt: last.turn.input_text })
    }

    /// Undoes the last turn of a conversation and sends its input again, with these settings. `turn` has no input of its own.
    pub async fn retry(&self, id: &str, turn: NewTurn) -> Result<SessionStarted, Problem> {
        let _caller = self.inner.enter()?;
        self.require(Needs::StartAnything, "retry", "repeat a turn").await?;
        if !turn.input.is_empty() {
            let message = "a turn is repeated with its own input; this request has another one";
            return Err(Problem::new(ProblemCode::BadRequest, message));
        }
        let last = self.last_that_counts(id, None).await?;
        if !last.turn.is_plain {
            let message = format!(
                "the input of turn {} is not stored as it was: it had an image or a secret, or Talaria began the turn",
                last.turn.ordinal
            );
            return Err(Problem::new(ProblemCode::Conflict, message)
                .try_this("undo the turn, and send the message again yourself"));
        }
        let turn = NewTurn { input: input::text(last.turn.input_text.as_str()), ..turn };
        let resolved = self.resolve_turn(&turn, views::kind(last.session.kind), &last.session).await?;
        self.check_choice(CheckedTurn {
            cwd: &last.session.cwd,
            model: turn.model.as_deref(),
            effort: resolved.settings.effort(),
            input: &turn.input,
            runtime: resolved.runtime,
            codex: resolved.codex.as_ref(),
            session: Some(&last.session),
        })
        .await?;
        let newest = self.inner.last_turn(&last.session.id).await?;
        let ordinal = newest.map_or(1, |newest| newest.ordinal + 1);
        self.inner.hold(&last.session.id).await?;
        let row = self.inner.turn_row(ordinal, &turn.input, resolved.limit_ms)?;
        let changes =
            self.inner.new_turn_changes(&last.session, row, resolved.settings.clone(), None).await?;
        let (id, task) = (last.session.id.clone(), last.session.alias.clone());
        let after = last.session.last_seq;
        self.inner.write_undo(&last, self.audit_entry("retry"), changes).await?;
        let codex = resolved.program();
        self.inner.give(&id, Work::Turn(resolved.surroundings));
        Ok(SessionStarted { id, task, turn: ordinal, after, codex })
    }

    /// The last turn that was not undone, if nothing runs that belongs to it.
    async fn last_that_counts(&self, id: &str, wanted: Option<i64>) -> Result<UndoableTurn, Problem> {
        let session = self.find(id).await?;
        imports::only_to_be_read(&session)?;
        let conflict = |message: String| Problem::new(ProblemCode::Conflict, message);
        let turns = self.inner.shelf.store.last_turns(&session.id, None, u32::MAX).await;
        let turns = turns.map_err(|error| views::problem(&error))?;
        if turns.iter().any(|turn| turn.settled_at.is_none()) {
            return Err(start::busy(&session.id));
        }
        if !self.inner.shelf.background.of(&session.id).is_empty() {
            let message = "a command that a turn of this conversation started still runs in the background";
            return Err(Problem::new(ProblemCode::Busy, message).next(NextStep::ListBackground));
        }
        let turn = turns.iter().rfind(|turn| turn.undone_at.is_none()).cloned();
        let turn = turn.ok_or_else(|| conflict("this conversation has no turn to undo".to_owned()))?;
        if wanted.is_some_and(|wanted| wanted != turn.ordinal) {
            return Err(conflict(format!("the last turn of this conversation is turn {}", turn.ordinal)));
        }
        let compactions = self.inner.compacted_turns(&session).await?;
        let basis = ConversationBasis::up_to(&session, &turns, turn.ordinal - 1, &compactions);
        Ok(UndoableTurn { session, turn, basis })
    }
}

impl Inner {
    /// Records that a turn is undone, with what follows from that, in one.
    async fn write_undo(
        self: &Arc<Self>,
        last: &UndoableTurn,
        audit: NewAudit,
        then: Vec<Change>,
    ) -> Result<(), Problem> {
        let UndoableTurn { session, turn, basis } = last;
        let feed = self.desk.feed(&session.id);
        let mut journal = Journal::new(self.shelf.clone(), feed, session.id.clone(), turn, None);
        let audit = NewAudit { session: Some(session.id.to_string()), ..audit };
        let undone = [Change::UndoTurn(turn.ordinal), Change::Rebase(basis.to_json()), Change::Audit(audit)];
        undone.into_iter().chain(then).for_each(|change| journal.change(change));
        journal.event(Event::TurnUndone { undone: turn.ordinal });
        faults::point("before:undo").await;
        if journal.keep().await.is_err() {
            return Err(match journal.broken_by() {
                // Another client had a turn recorded, or the same one undone, since the last one was looked for.
                Some(StoreError::Conflict(_)) => start::busy(&session.id),
                Some(error) => views::problem(error),
                None => views::problem(&StoreError::Closed),
            });
        }
        faults::point("after:undo").await;
        // An answer that waited for the repetition of its question was for the turn that is undone.
        let store = &self.shelf.store;
        let expired = store.expire_escrow(&session.id, self.shelf.epoch, turn.ordinal + 1, now_ms()).await;
        expired.map(drop).map_err(|error| views::problem(&error))
    }
}
