//! Reviews of a conversation between its turns: started when the session is idle, deferred when work arrives.
//!
//! The row of the job decides how far a review is. A step is committed before the next one is taken, and what was remembered
//! or proposed is found by the name of the job, so a review that an engine left is continued and takes effect once.

use talaria_codex::conversation::{SideQuestionError, Watcher as _};
use talaria_core::event::{Event, Usage};
use talaria_core::learning::proposal::ReviewAnswer;
use talaria_core::review::{ReviewReport, ReviewState};
use talaria_guard::redact::redact;
use talaria_home::faults;
use talaria_store::{Change, NewModelUsage, ReviewRow, ReviewStep, SessionRow, StoreError, UsagePurpose};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Actor, Journal, Purpose};
use crate::engine::learning::{ReviewApplied, why_nothing_to_ask};
use crate::engine::run::runtime::{CountedModel, RuntimeQuestion};
use crate::engine::run::session_directory::ReviewGuard;

/// Maximum number of attempts of a review: an engine that dies in every attempt must not retry endlessly.
const ATTEMPTS: i64 = 3;
/// How often the model is asked in one attempt.
const ASKS: usize = 2;

/// A review whose question is being asked.
pub(super) struct RunningReview {
    row: ReviewRow,
    asking: JoinHandle<ReviewAnswered>,
    /// When its cost is counted.
    counted: CountedModel,
    /// Stops the question when it is not waited for any more.
    _stop: DropGuard,
    _guard: ReviewGuard,
}

/// Result of asking for a review.
pub(super) struct ReviewAnswered {
    answer: Result<ReviewAnswer, String>,
    usage: Usage,
}

/// Waits for the answer to a review; never resolves if none is running. Cancel-safe.
pub(super) async fn answer_of(review: Option<&mut RunningReview>) -> ReviewAnswered {
    let Some(review) = review else { return std::future::pending().await };
    match (&mut review.asking).await {
        Ok(answered) => answered,
        Err(error) => ReviewAnswered { answer: Err(error.to_string()), usage: Usage::default() },
    }
}

impl Actor {
    /// Starts the review that is due, if the session is idle.
    pub(super) async fn begin_review(&mut self) -> Option<RunningReview> {
        if !self.has_worked || !self.inbox.is_empty() || self.engine.check_open().is_err() {
            return None;
        }
        self.try_begin_review().await.unwrap_or_else(|error| {
            tracing::warn!("session {}: its review waits: {error}", self.id);
            None
        })
    }

    async fn try_begin_review(&mut self) -> Result<Option<RunningReview>, StoreError> {
        let store = self.engine.shelf.store.clone();
        let Some(review) = store.open_review(&self.id).await? else { return Ok(None) };
        if self.next_turn().await?.is_some() {
            return Ok(None);
        }
        let row = store.session(&self.id).await?;
        let row = row.ok_or_else(|| StoreError::UnknownSession(self.id.clone()))?;
        let mut journal = self.idle_journal().await?;
        let config = self.engine.config();
        let is_given_up = review.attempts >= ATTEMPTS && review.answer.is_none();
        let why_not = why_nothing_to_ask(review.asks, &config)
            .or_else(|| is_given_up.then(|| format!("Talaria ended during it {ATTEMPTS} times")))
            .or(self.why_no_budget(&row).await?);
        if let Some(why) = why_not {
            self.close_review(&mut journal, &review, not_done(&review, why, stored_usage(&review))).await?;
            return Ok(None);
        }
        if review.state == ReviewState::Running {
            // It was given up in this engine because something could not be stored.
            journal.review(review.id, ReviewStep::Defer, "review-deferred");
        }
        journal.review(review.id, ReviewStep::Run, "review-running");
        keep(&mut journal).await?;
        if let Some(answer) = review.answer.as_deref().and_then(|json| serde_json::from_str(json).ok()) {
            self.apply_answer(&mut journal, &row, &review, &answer, stored_usage(&review)).await?;
            return Ok(None);
        }
        if self.conversation.is_none()
            && let Err(report) = self.open(&row, Purpose::Send).await
        {
            let why = redact(&report.message.unwrap_or_default()).into_owned();
            self.close_review(&mut journal, &review, not_done(&review, why, stored_usage(&review))).await?;
            return Ok(None);
        }
        let Some(conversation) = &self.conversation else { return Ok(None) };
        let text = self.engine.review_question(&row, &review).await?;
        let question = conversation.side_question(text, config.auxiliary.background_review.clone()).await;
        let question = match question {
            Ok(Some(question)) => question,
            // It waits, for example for a key: the next turn brings it.
            Ok(None) => {
                journal.review(review.id, ReviewStep::Defer, "review-deferred");
                keep(&mut journal).await?;
                return Ok(None);
            }
            Err(why) => {
                let why = redact(&why).into_owned();
                self.close_review(&mut journal, &review, not_done(&review, why, stored_usage(&review)))
                    .await?;
                return Ok(None);
            }
        };
        let (stop, counted) = (CancellationToken::new(), question.counted_model());
        let asking = tokio::spawn(ask(question, stored_usage(&review), stop.clone()));
        let (_stop, _guard) = (stop.drop_guard(), self.handle.begin_review());
        Ok(Some(RunningReview { row: review, counted, asking, _stop, _guard }))
    }

    /// Records the answer, applies it and reports the result.
    pub(super) async fn end_review(&mut self, review: RunningReview, answered: ReviewAnswered) {
        let RunningReview { row: review, counted, _guard, .. } = review;
        let ReviewAnswered { answer, usage } = answered;
        let ended = async {
            let row = self.engine.shelf.store.session(&self.id).await?;
            let row = row.ok_or_else(|| StoreError::UnknownSession(self.id.clone()))?;
            let mut journal = self.idle_journal().await?;
            if let CountedModel::WithAnswer(model) = counted {
                journal.change(Change::ModelUsage(NewModelUsage {
                    name: format!("review/{}/{}", review.id, review.attempts + 1),
                    purpose: UsagePurpose::Review,
                    model,
                    usage: usage.since(stored_usage(&review)),
                }));
            }
            match answer {
                Ok(answer) => {
                    let step = ReviewStep::Answered { answer: json(&answer), usage: json(&usage) };
                    journal.review(review.id, step, "review-answered");
                    keep(&mut journal).await?;
                    self.apply_answer(&mut journal, &row, &review, &answer, usage).await
                }
                Err(why) => self.close_review(&mut journal, &review, not_done(&review, why, usage)).await,
            }
        };
        if let Err(error) = ended.await {
            // The row records its progress; the next opportunity continues from there.
            tracing::warn!("session {}: its review is not finished: {error}", self.id);
        }
    }

    /// Postpones a review in favour of a turn. Nothing waits for that.
    pub(super) fn defer_review(&self, review: RunningReview) {
        let (engine, id) = (std::sync::Arc::clone(&self.engine), self.id.clone());
        let deferred = Change::Review(review.row.id, ReviewStep::Defer);
        drop(review);
        self.engine.tasks.spawn(async move {
            if let Err(error) = engine.write(&id, vec![deferred]).await {
                tracing::warn!("session {id}: that its review is deferred cannot be stored: {error}");
            }
        });
    }

    async fn apply_answer(
        &self,
        journal: &mut Journal,
        row: &SessionRow,
        review: &ReviewRow,
        answer: &ReviewAnswer,
        usage: Usage,
    ) -> Result<(), StoreError> {
        faults::point("before:review-applied").await;
        let ReviewApplied { mut report, notes } = self.engine.apply_review(row, review, answer).await?;
        faults::point("after:review-applied").await;
        report.usage = usage;
        for note in notes {
            journal.event(Event::Warning { message: redact(&note).into_owned() });
        }
        self.close_review(journal, review, report).await
    }

    /// Ends a review: the row and the event that says so are one commit.
    async fn close_review(
        &self,
        journal: &mut Journal,
        review: &ReviewRow,
        report: ReviewReport,
    ) -> Result<(), StoreError> {
        let state = if report.not_done { ReviewState::NotDone } else { ReviewState::Done };
        let usage = Some(json(&report.usage));
        journal.review(review.id, ReviewStep::End { state, report: json(&report), usage }, "review-done");
        journal.event(Event::Reviewed(Box::new(report)));
        keep(journal).await
    }
}

/// Asks until there is an answer of the right form; once more if the first is not.
async fn ask(question: RuntimeQuestion, spent: Usage, stop: CancellationToken) -> ReviewAnswered {
    let mut usage = spent;
    let mut why = String::new();
    for _ in 0..ASKS {
        match question.ask(&stop).await {
            Ok(said) => {
                usage = usage.plus(said.usage);
                match ReviewAnswer::parse(said.text.as_deref()) {
                    Ok(answer) => return ReviewAnswered { answer: Ok(answer), usage },
                    Err(error) => why = error.to_string(),
                }
            }
            // No one waits for it any more.
            Err(error @ SideQuestionError::Stopped) => {
                return ReviewAnswered { answer: Err(error.to_string()), usage };
            }
            Err(error) => why = error.to_string(),
        }
    }
    let why = redact(&format!("asked {ASKS} times: {why}")).into_owned();
    ReviewAnswered { answer: Err(why), usage }
}

async fn keep(journal: &mut Journal) -> Result<(), StoreError> {
    journal.keep().await.map_err(|_| StoreError::Closed)
}

fn not_done(review: &ReviewRow, why: String, usage: Usage) -> ReviewReport {
    let (first_turn, last_turn) = (review.first_turn, review.last_turn);
    ReviewReport { first_turn, last_turn, why: Some(why), not_done: true, usage, ..ReviewReport::default() }
}

fn stored_usage(review: &ReviewRow) -> Usage {
    review.usage.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
