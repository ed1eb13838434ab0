//! A conversation that continues on the other runtime, with the next turn: decided here, recorded with the turn (`start`), in one
//! transaction. The other runtime gets a digest of what it does not know, once, when that turn begins (`runtime`); it says so then.
//! What commands may touch, and when a person is asked, stays as it is.

use talaria_core::api::{NewSession, NewTurn, Problem, ProblemCode};
use talaria_core::event::Started;
use talaria_core::next_step::NextStep;
use talaria_core::provider::OPENAI_PROVIDER;
use talaria_core::runtime::{Runtime, RuntimeChoice, is_rerouted};
use talaria_store::{SessionPatch, SessionRow};

use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::queries::views;
use crate::engine::run::resolve::ResolvedTurn;
use crate::engine::run::settings::Wanted;

impl Engine {
    /// Decides how a conversation continues on the other runtime.
    pub(crate) async fn switch_runtime(
        &self,
        session: &SessionRow,
        turn: &NewTurn,
        next: Runtime,
    ) -> Result<(ResolvedTurn, SessionPatch), Problem> {
        self.require(Needs::StartAnything, "start_turn", "change the runtime of a conversation").await?;
        if !self.inner.shelf.background.of(&session.id).is_empty() {
            let message = "a command that a turn of this conversation started still runs in the background";
            return Err(Problem::new(ProblemCode::Busy, message).next(NextStep::ListBackground));
        }
        let asked = Wanted::of_row(session);
        let asked = asked.as_ref();
        let in_force = session.started.as_deref().and_then(|json| serde_json::from_str::<Started>(json).ok());
        let in_force = in_force.as_ref();
        let config = self.inner.config();
        let mut turn = turn.clone();
        let is_codex = next == Runtime::CodexAppServer;
        turn.runtime = is_codex.then_some(RuntimeChoice::CodexAppServer).or(turn.runtime);
        if is_codex {
            turn.provider.get_or_insert_with(|| OPENAI_PROVIDER.to_owned());
        }
        let is_model_named = turn.model.is_some();
        let mut new = NewSession {
            kind: views::kind(session.kind),
            cwd: session.cwd.clone(),
            model: turn.model.clone(),
            sandbox: in_force
                .and_then(|started| started.sandbox.parse().ok())
                .or_else(|| asked.and_then(Wanted::sandbox)),
            approval: in_force
                .and_then(|started| started.approval.parse().ok())
                .or_else(|| asked.and_then(Wanted::approval)),
            turn,
        };
        let (resolved, mut wanted) = self.resolve_session(&mut new).await?;
        if is_codex && !is_model_named && !is_rerouted(config.model.provider.as_deref()) {
            // The configured model is one of another provider.
            new.model = None;
            wanted = Wanted::of(&new);
        }
        let patch = SessionPatch {
            runtime: Some(resolved.runtime.name().to_owned()),
            asked: serde_json::to_string(&wanted).ok(),
            model: new.model,
            ..SessionPatch::default()
        };
        Ok((resolved, patch))
    }
}
