//! Answers of people to what Codex asks. An answer is recorded before Codex gets it, and one wins.

use talaria_core::api::{AnswerRequest, Answered, Problem, ProblemCode, RequestInfo};
use talaria_core::escrow;
use talaria_core::ids::TicketId;
use talaria_core::next_step::NextStep;
use talaria_core::request::{Answer, Ask, Decision};
use talaria_store::{AnswerResult, RequestFilter, RequestRow, RequestState};

use crate::engine::Engine;
use crate::engine::journal::rows;
use crate::engine::queries::views;
use talaria_codex::conversation::Command;
use talaria_home::clock::now_ms;
use talaria_home::faults;

impl Engine {
    /// What waits for a person, the oldest first.
    pub async fn requests(&self) -> Result<Vec<RequestInfo>, Problem> {
        let filter = RequestFilter { session: None, states: Some(vec![RequestState::Open]) };
        let found = self.inner.shelf.store.requests(&filter).await.map_err(|error| views::problem(&error))?;
        let mut told = Vec::with_capacity(found.len());
        for request in found {
            if self.sees(&request.session).await? {
                told.push(self.tell(&request).await?);
            }
        }
        Ok(told)
    }

    /// One request, whatever its state.
    pub async fn request(&self, id: &str) -> Result<RequestInfo, Problem> {
        let request = self.find_request(id).await?;
        self.tell(&request).await
    }

    /// Answers a request. One answer wins; a later one is refused with who was first.
    pub async fn answer(&self, id: &str, given: AnswerRequest) -> Result<Answered, Problem> {
        self.inner.check_open()?;
        let request = self.find_request(id).await?;
        self.check_answer(&request).await?;
        let answer: Answer = serde_json::from_value(given.answer)
            .map_err(|error| Problem::new(ProblemCode::BadRequest, format!("this is no answer: {error}")))?;
        if answer.decision == Decision::Void {
            return Err(Problem::new(
                ProblemCode::BadRequest,
                "`void` is not an answer: use accept, decline or cancel",
            ));
        }
        self.check_decision(&request, answer.decision).await?;
        let digest = views::digest(&request, &self.inner.shelf.seal);
        self.check_shown(&request, given.digest.as_deref(), digest.as_deref()).await?;
        if given.digest.is_some() && given.digest != digest {
            let message =
                format!("{} asks something else than what was shown, so nothing was answered", request.id);
            return Err(Problem::new(ProblemCode::Misfit, message).try_this("look at it again, then answer"));
        }
        if let Ok(ask) = serde_json::from_str::<Ask>(&request.ask) {
            let fit = ask.check(&answer);
            fit.map_err(|misfit| Problem::new(ProblemCode::Misfit, misfit.to_string()))?;
        }
        let sealed = escrow::is_keepable(&answer)
            .then(|| self.inner.shelf.seal.close(&answer.revealed().to_string()))
            .transpose()
            .map_err(|error| {
                Problem::new(ProblemCode::Store, format!("the answer cannot be sealed: {error}"))
            })?;
        let who = self.who(given.by);
        // Who answers is the engine's to say: the client is not asked.
        let by = format!("{} ({}, {})", rows::word(&who), self.principal(), self.identity().place());
        faults::point("before:answer-stored").await;
        let decision = answer.decision;
        let audit = talaria_store::NewAudit {
            session: Some(request.session.to_string()),
            request: Some(request.id.to_string()),
            digest,
            decision: Some(rows::word(&decision)),
            ..self.audit_entry("answer")
        };
        let kept = talaria_store::NewAnswer {
            decision: rows::word(&decision),
            sealed,
            by,
            at: now_ms(),
            audit: Some(audit),
        };
        let result = self.inner.shelf.store.answer_request(&request.id, kept).await;
        let result = result.map_err(|error| views::problem(&error))?;
        faults::point("after:answer-stored").await;
        match result {
            AnswerResult::Won => {
                let command = Command::Answer { ticket: request.id.clone(), answer, by: who };
                // A turn that is still being resumed reads it from the store.
                self.inner.desk.tell(&request.session, command);
                self.inner.questions.wake();
                Ok(Answered { id: request.id, decision })
            }
            AnswerResult::AlreadyAnswered { decision, by, at } => {
                let decided =
                    rows::value::<Decision>(&decision).map_or(decision, |decision| decision.to_string());
                let (by, at) = (views::answerer(&by), views::time(at));
                let message = format!("{} was already answered: {decided} by {by} at {at}", request.id);
                Err(Problem::new(ProblemCode::Conflict, message))
            }
            AnswerResult::Closed { state } => {
                let how = match state {
                    RequestState::Void => "it was closed before it was answered here",
                    RequestState::Expired => "its answer expired before Codex asked again",
                    _ => "Codex no longer waits for it",
                };
                let message = format!("{} is no longer open: {how}", request.id);
                Err(Problem::new(ProblemCode::Conflict, message))
            }
            AnswerResult::Unknown => Err(unknown(id)),
        }
    }

    /// Finds a request by its whole id, or by the beginning of it: one that is open, else one that is over, so that a
    /// late caller learns what was decided.
    async fn find_request(&self, id: &str) -> Result<RequestRow, Problem> {
        let (store, typed) = (&self.inner.shelf.store, id.trim());
        let found = store.request(&TicketId::new(typed)).await.map_err(|error| views::problem(&error))?;
        if let Some(found) = found {
            if self.sees(&found.session).await? {
                return Ok(found);
            }
            // The caller learns the same as about an id that does not exist; the audit log has the truth.
            let why = Problem::new(ProblemCode::Unknown, "the request is not of the caller's own tasks");
            self.refused("reach", Some(found.id.as_str()), why).await;
            return Err(unknown(id));
        }
        if !self.access().may_search_ids() {
            return Err(unknown(id));
        }
        for states in [Some(vec![RequestState::Open]), None] {
            let filter = RequestFilter { session: None, states };
            let mut found = store.requests(&filter).await.map_err(|error| views::problem(&error))?;
            found.retain(|request| !typed.is_empty() && request.id.as_str().starts_with(typed));
            if found.len() > 1 {
                let names: Vec<&str> = found.iter().map(|request| request.id.as_str()).collect();
                let message = format!("more than one request begins with {id:?}: {}", names.join(", "));
                return Err(Problem::new(ProblemCode::Ambiguous, message).try_this("type more of the id"));
            }
            if let Some(found) = found.pop() {
                return Ok(found);
            }
        }
        Err(unknown(id))
    }

    async fn tell(&self, request: &RequestRow) -> Result<RequestInfo, Problem> {
        let session = self.inner.shelf.store.session(&request.session).await;
        let session = session.map_err(|error| views::problem(&error))?;
        Ok(views::request(request, session.as_ref(), &self.inner.shelf.seal))
    }
}

fn unknown(id: &str) -> Problem {
    Problem::new(ProblemCode::Unknown, format!("there is no request {id:?}")).next(NextStep::ListRequests)
}
