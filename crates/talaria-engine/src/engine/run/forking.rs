//! Forks: another conversation that begins with the turns of this one. The original is only read, and may even be in the middle of
//! a later turn. Codex copies its thread when the fork has its first turn; the built-in loop has the history at once.

use talaria_core::api::{Fork, ForkPoint, Problem, ProblemCode, SessionInfo};
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_store::{NewAudit, NewForkRow, SessionKind, SessionRow, TurnRow};

use crate::engine::access::caller::Needs;
use crate::engine::lifecycle::imports;
use crate::engine::queries::views;
use crate::engine::run::basis::ConversationBasis;
use crate::engine::{Engine, Inner};

impl Engine {
    /// Begins another conversation with the turns of this one, and returns its list entry.
    pub async fn fork(&self, id: &str, fork: Fork) -> Result<SessionInfo, Problem> {
        let _caller = self.inner.enter()?;
        self.require(Needs::StartAnything, "fork", "fork a conversation").await?;
        let origin = self.find(id).await?;
        imports::only_to_be_read(&origin)?;
        if origin.kind == SessionKind::Task {
            let message = "a task is not forked: its worktree and its owner are its own";
            return Err(Problem::new(ProblemCode::Conflict, message).try_this("start another task"));
        }
        let turns = self.inner.shelf.store.last_turns(&origin.id, None, u32::MAX).await;
        let turns = turns.map_err(|error| views::problem(&error))?;
        let compactions = self.inner.compacted_turns(&origin).await?;
        let turn = fork_turn(&turns, &compactions, fork.point)?;
        let basis = ConversationBasis::up_to(&origin, &turns, turn, &compactions);
        let id = talaria_codex::conversation::new_id();
        let audit = NewAudit { session: Some(id.to_string()), ..self.audit_entry("fork") };
        let new = NewForkRow {
            id: id.clone(),
            origin: origin.id,
            turn,
            title: None,
            basis: Some(basis.to_json()),
            created_at: now_ms(),
            audit,
        };
        faults::point("before:fork").await;
        let forked = self.inner.shelf.store.fork_session(new, self.inner.lease(&id)).await;
        forked.map_err(|error| views::problem(&error))?;
        faults::point("after:fork").await;
        Ok(self.session(id.as_str()).await?.info)
    }
}

impl Inner {
    /// The turns in which a conversation was shortened, as far as its events are still stored.
    pub(crate) async fn compacted_turns(&self, session: &SessionRow) -> Result<Vec<i64>, Problem> {
        let landmarks = self.shelf.store.landmarks(&session.id, 0).await;
        let landmarks = landmarks.map_err(|error| views::problem(&error))?;
        let compactions = landmarks.iter().filter(|event| event.kind != "session_started");
        Ok(compactions.filter_map(|event| event.turn).collect())
    }
}

/// The last turn that a fork has.
fn fork_turn(turns: &[TurnRow], compactions: &[i64], point: ForkPoint) -> Result<i64, Problem> {
    let conflict = |message: String| Problem::new(ProblemCode::Conflict, message);
    let counts = |turn: &TurnRow| turn.settled_at.is_some() && turn.undone_at.is_none();
    let last_before = |end: i64| {
        let mut before = turns.iter().rev().filter(|turn| turn.ordinal < end);
        before.find(|turn| counts(turn)).map(|turn| turn.ordinal)
    };
    match point {
        ForkPoint::Last => last_before(i64::MAX)
            .ok_or_else(|| conflict("this conversation has no finished turn yet".to_owned())),
        ForkPoint::Turn { turn } => match turns.iter().find(|row| row.ordinal == turn) {
            None => Err(conflict(format!("this conversation has no turn {turn}"))),
            Some(row) if row.undone_at.is_some() => Err(conflict(format!("turn {turn} was undone"))),
            Some(row) if row.settled_at.is_none() => Err(conflict(format!("turn {turn} has not ended yet"))),
            Some(_) => Ok(turn),
        },
        ForkPoint::BeforeCompaction => {
            let is_kept = |turn: &&i64| turns.iter().any(|row| row.ordinal == **turn && counts(row));
            let turn = compactions.iter().rev().find(is_kept).copied().ok_or_else(|| {
                conflict("nothing says that this conversation was ever shortened".to_owned())
            })?;
            last_before(turn).ok_or_else(|| {
                conflict(format!("it was shortened in turn {turn}, and no turn precedes that one"))
            })
        }
    }
}
