//! Starts turns: checks what a client asks for, writes the turn down, and hands it to the task of its session.
//!
//! When a turn is recorded it will be run, whatever happens to this engine; before that, nothing of it is left.

use std::sync::Arc;

use talaria_core::api::{NewSession, NewTurn, Problem, ProblemCode, SessionStarted};
use talaria_core::ids::SessionId;
use talaria_core::input::InputPart;
use talaria_core::next_step::NextStep;
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_store::{Change, NewAudit, SessionKind, SessionPatch, SessionRow, SessionState, StoreError};

use crate::engine::access::caller::Needs;
use crate::engine::journal::rows;
use crate::engine::lifecycle::imports;
use crate::engine::queries::views;
use crate::engine::run::basis::ConversationBasis;
use crate::engine::run::catalog::CheckedTurn;
use crate::engine::run::input;
use crate::engine::run::providers::next_runtime;
use crate::engine::run::resolve::ResolvedTurn;
use crate::engine::run::runtime::runtime_of;
use crate::engine::run::session_directory::Work;
use crate::engine::run::settings::{Settings, Wanted};
use crate::engine::{Engine, Inner};

impl Engine {
    /// Records a new conversation with its first turn, and runs it.
    pub async fn start_session(&self, mut new: NewSession) -> Result<SessionStarted, Problem> {
        let _caller = self.inner.enter()?;
        self.require(Needs::StartAnything, "start_session", "start a conversation").await?;
        check_input(&new.turn.input)?;
        if !std::path::Path::new(&new.cwd).is_absolute() {
            return Err(Problem::new(
                ProblemCode::BadRequest,
                format!("{:?} is not an absolute path", new.cwd),
            ));
        }
        if new.kind == talaria_core::api::Kind::Task {
            let message = "a task is started as a task, not as a conversation";
            return Err(Problem::new(ProblemCode::BadRequest, message));
        }
        let (turn, wanted) = self.resolve_session(&mut new).await?;
        self.check_choice(CheckedTurn {
            cwd: &new.cwd,
            model: new.model.as_deref(),
            effort: turn.settings.effort(),
            input: &new.turn.input,
            runtime: turn.runtime,
            codex: turn.codex.as_ref(),
            session: None,
        })
        .await?;
        let audit = self.audit_entry("start_session");
        let started = self.inner.create(&new, &turn, &wanted, None, audit).await?;
        faults::point("after:prepared").await;
        self.inner.give(&started.id, Work::Turn(turn.surroundings.clone()));
        Ok(SessionStarted { codex: turn.program(), ..started })
    }

    /// Records another turn of a conversation, and runs it. One that runs is not interrupted for it.
    pub async fn start_turn(&self, id: &str, turn: NewTurn) -> Result<SessionStarted, Problem> {
        let _caller = self.inner.enter()?;
        check_input(&turn.input)?;
        self.check_local(&turn.caller)?;
        let session = self.find(id).await?;
        self.check_drive("start_turn", &session).await?;
        let (resolved, adopted) = match runtime_of(&session) {
            Some(runtime) => match next_runtime(&session, &turn)? {
                next if next == runtime || session.kind == SessionKind::Task => {
                    (self.resolve_turn(&turn, views::kind(session.kind), &session).await?, None)
                }
                next => {
                    let (resolved, patch) = self.switch_runtime(&session, &turn, next).await?;
                    (resolved, Some(patch))
                }
            },
            None => {
                let (resolved, patch) = self.adopt(&session, &turn).await?;
                (resolved, Some(patch))
            }
        };
        self.check_choice(CheckedTurn {
            cwd: &session.cwd,
            model: turn.model.as_deref(),
            effort: resolved.settings.effort(),
            input: &turn.input,
            runtime: resolved.runtime,
            codex: resolved.codex.as_ref(),
            session: Some(&session).filter(|_| adopted.is_none()),
        })
        .await?;
        let last = self.inner.last_turn(&session.id).await?;
        if last.as_ref().is_some_and(|last| last.settled_at.is_none()) {
            return Err(busy(&session.id));
        }
        let ordinal = last.map_or(1, |last| last.ordinal + 1);
        let is_switched = adopted.is_some() && runtime_of(&session).is_some();
        faults::point("before:prepared").await;
        self.inner.hold(&session.id).await?;
        let row = self.inner.turn_row(ordinal, &turn.input, resolved.limit_ms)?;
        let audit = self.audit_entry("start_turn");
        // The other runtime knows nothing of the conversation yet.
        let left = is_switched.then_some(ConversationBasis::Digest { joined: Some(ordinal) });
        let adopted = adopted.map(|patch| Adopted { patch, basis: left });
        let started = self.inner.prepare(&session, row, resolved.settings.clone(), adopted, audit).await?;
        faults::point("after:prepared").await;
        let codex = resolved.program();
        self.inner.give(&session.id, Work::Turn(resolved.surroundings));
        Ok(SessionStarted { codex, ..started })
    }

    /// Decides how a conversation of another program is continued: like a new one in its directory, with the model of the
    /// configuration. Its history is added at the opening.
    async fn adopt(
        &self,
        session: &SessionRow,
        turn: &NewTurn,
    ) -> Result<(ResolvedTurn, SessionPatch), Problem> {
        self.require(Needs::StartAnything, "start_turn", "continue a conversation of another program")
            .await?;
        imports::check_directory(session)?;
        let mut new = NewSession {
            kind: views::kind(session.kind),
            cwd: session.cwd.clone(),
            model: turn.model.clone(),
            sandbox: None,
            approval: None,
            turn: turn.clone(),
        };
        let (resolved, wanted) = self.resolve_session(&mut new).await?;
        let patch = SessionPatch {
            runtime: Some(resolved.runtime.name().to_owned()),
            asked: serde_json::to_string(&wanted).ok(),
            model: new.model,
            ..SessionPatch::default()
        };
        Ok((resolved, patch))
    }
}

/// What changes with a conversation that the turn's runtime did not have.
pub(crate) struct Adopted {
    patch: SessionPatch,
    /// What it begins with there, if it was on the other runtime.
    basis: Option<ConversationBasis>,
}

impl Inner {
    /// Writes a new session down with its first turn, in one: when this returns, it will be run.
    pub(crate) async fn create(
        self: &Arc<Self>,
        new: &NewSession,
        turn: &ResolvedTurn,
        wanted: &Wanted,
        task: Option<(String, talaria_store::NewTaskRow)>,
        audit: NewAudit,
    ) -> Result<SessionStarted, Problem> {
        let id = talaria_codex::conversation::new_id();
        let shown = input::shown(&new.turn.input);
        let (alias, task) = task.unzip();
        let row = talaria_store::NewSessionRow {
            id: id.clone(),
            kind: views::kept_kind(new.kind),
            alias: alias.clone(),
            title: Some(input::title(&shown)),
            cwd: new.cwd.clone(),
            runtime: turn.runtime.name().to_owned(),
            model: new.model.clone(),
            asked: serde_json::to_string(wanted).ok(),
            settings: serde_json::to_string(&turn.settings).ok(),
            task,
            first_turn: Some(self.turn_row(1, &new.turn.input, turn.limit_ms)?),
            created_at: now_ms(),
            audit: Some(NewAudit { session: Some(id.to_string()), ..audit }),
        };
        faults::point("before:prepared").await;
        let store = &self.shelf.store;
        store.create_session(row, self.lease(&id)).await.map_err(|error| views::problem(&error))?;
        // Only for the search index, so the caller does not wait for it: the turn is recorded, and its text is written
        // again when it runs.
        let (inner, session) = (Arc::clone(self), id.clone());
        self.tasks.spawn(async move {
            let said = vec![Change::Message(rows::prompt(1, &shown))];
            if let Err(error) = inner.write(&session, said).await {
                tracing::warn!("session {session}: its prompt is not searchable yet: {error}");
            }
        });
        Ok(SessionStarted { id, task: alias, turn: 1, after: 0, codex: None })
    }

    /// The row of a new turn.
    pub(crate) fn turn_row(
        &self,
        ordinal: i64,
        input: &[InputPart],
        limit_ms: Option<u64>,
    ) -> Result<talaria_store::NewTurnRow, Problem> {
        Ok(talaria_store::NewTurnRow {
            input_text: input::shown(input),
            is_plain: input::is_plain(input),
            limit_ms: limit_ms.and_then(|limit| i64::try_from(limit).ok()),
            ..self.sealed_row(ordinal, &input::to_json(input))?
        })
    }

    /// The row of a new turn with this content.
    pub(crate) fn sealed_row(
        &self,
        ordinal: i64,
        content: &str,
    ) -> Result<talaria_store::NewTurnRow, Problem> {
        let sealed = self.shelf.seal.close(content).map_err(|error| {
            Problem::new(ProblemCode::Store, format!("the prompt cannot be sealed: {error}"))
        })?;
        let client_id = uuid::Uuid::now_v7().to_string();
        Ok(talaria_store::NewTurnRow {
            ordinal,
            client_id,
            input_sealed: Some(sealed),
            ..talaria_store::NewTurnRow::default()
        })
    }

    /// The changes that record a turn.
    pub(crate) async fn new_turn_changes(
        &self,
        session: &SessionRow,
        row: talaria_store::NewTurnRow,
        settings: Settings,
        adopted: Option<Adopted>,
    ) -> Result<Vec<Change>, Problem> {
        let earlier = Settings::of_row(session);
        // The model of one runtime means nothing to the other.
        let settings = settings.after(earlier.as_ref().filter(|_| adopted.is_none()));
        let settings = if session.alias.is_some() { settings.at_home_of(earlier) } else { settings };
        let (patch, basis) = adopted.map(|adopted| (adopted.patch, adopted.basis)).unzip();
        self.check_not_left(session, row.ordinal).await?;
        let said = rows::prompt(row.ordinal, &row.input_text);
        let left = basis.flatten().map(|basis| Change::Rebase(basis.to_json()));
        let further = [
            Change::NewTurn(row),
            Change::Message(said),
            Change::Session(SessionPatch {
                state: Some(SessionState::Running),
                settings: serde_json::to_string(&settings).ok(),
                ..patch.unwrap_or_default()
            }),
        ];
        Ok(left.into_iter().chain(further).collect())
    }

    /// Writes a turn down. When this returns, it will be run, whatever happens to this engine.
    pub(crate) async fn prepare(
        &self,
        session: &SessionRow,
        row: talaria_store::NewTurnRow,
        settings: Settings,
        adopted: Option<Adopted>,
        audit: NewAudit,
    ) -> Result<SessionStarted, Problem> {
        let ordinal = row.ordinal;
        let mut changes = self.new_turn_changes(session, row, settings, adopted).await?;
        changes.push(Change::Audit(NewAudit { session: Some(session.id.to_string()), ..audit }));
        self.write(&session.id, changes).await.map_err(|error| match error {
            // Another client had the same turn recorded since the last one was looked for.
            StoreError::Conflict(_) => busy(&session.id),
            error => views::problem(&error),
        })?;
        let (id, task) = (session.id.clone(), session.alias.clone());
        Ok(SessionStarted { id, task, turn: ordinal, after: session.last_seq, codex: None })
    }
}

/// A turn of another client runs there.
pub(crate) fn busy(session: &SessionId) -> Problem {
    let step = NextStep::FollowTurn { session: session.short().to_owned() };
    Problem::new(ProblemCode::Busy, "a turn runs on this session already").next(step)
}

fn check_input(input: &[InputPart]) -> Result<(), Problem> {
    let is_empty =
        input.iter().all(|part| matches!(part, InputPart::Text { text } if text.trim().is_empty()));
    if is_empty {
        return Err(Problem::new(ProblemCode::BadRequest, "the prompt is empty"));
    }
    Ok(())
}
