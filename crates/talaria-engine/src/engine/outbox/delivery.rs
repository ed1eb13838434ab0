//! Sends undelivered notifications: composes the text of each from the rows of its task, and passes it to the
//! deliverer, which claims, sends and records the result.

use std::sync::{Arc, Mutex, PoisonError};

use talaria_core::api::{NoticeInfo, Notify, Problem, TaskInfo};
use talaria_core::ids::TicketId;
use talaria_core::notice::{Notice, NoticeKind, QueuedNotice, RequestNotice};
use talaria_core::outcome::Outcome;
use talaria_core::request::Who;
use talaria_store::{OutboxRow as Row, OutboxState, RequestState, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::engine::journal::rows;
use crate::engine::outbox::notices;
use crate::engine::queries::views;
use crate::engine::run::settings::Wanted;
use crate::notify::{Deliverer, Outbox, OutboxError, Owed, Senders};
use talaria_home::clock::now_ms;

/// The most notifications that are sent or shown at once on request.
const MOST: usize = 1000;
/// How long such a request waits for the attempts.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(100);

impl Engine {
    /// Sends what is owed until the engine ends.
    pub(crate) fn send_what_is_owed(&self) {
        let keeper = Keeper { engine: self.clone(), busy: Mutex::default() };
        let home = self.inner.home.clone();
        let senders = move || {
            let config = home.load_config().map(|(config, _)| config.notify).unwrap_or_default();
            Arc::new(Senders::new(config, std::env::vars_os()))
        };
        let name = format!("engine {} of process {}", self.inner.shelf.epoch, self.inner.info.pid);
        let (store, claimer) = (self.inner.shelf.store.clone(), name.clone());
        let deliverer = Deliverer::new(keeper, senders, name, Arc::clone(&self.inner.shelf.nudge));
        let (stop, mut ended) = (CancellationToken::new(), self.inner.ended.subscribe());
        let stopping = stop.clone();
        self.inner.tasks.spawn(async move {
            // This engine has the home for itself: earlier claimants are gone, and will not report what
            // became of it.
            if let Err(error) = store.end_claims_of_others(&claimer, now_ms()).await {
                tracing::warn!("notifications of an earlier engine are sent again later: {error}");
            }
            let run = deliverer.run(stop);
            tokio::pin!(run);
            tokio::select! {
                _ = &mut run => return,
                _ = ended.wait_for(|ended| *ended) => stopping.cancel(),
            }
            run.await;
        });
    }

    /// Sends the notifications that are owed now, or says which it would send.
    pub async fn notify(&self, wish: Notify) -> Result<Vec<NoticeInfo>, Problem> {
        let store = &self.inner.shelf.store;
        let limit = u32::try_from(wish.limit.clamp(1, MOST)).unwrap_or(u32::MAX);
        let owed = store.outbox_open(self.only_owner().as_deref(), limit).await;
        let owed = owed.map_err(|error| views::problem(&error))?;
        if wish.dry_run {
            let mut told = Vec::with_capacity(owed.len());
            for row in &owed {
                told.push(self.preview(row).await?);
            }
            return Ok(told);
        }
        let (targeted, nobody): (Vec<&Row>, Vec<&Row>) = owed.iter().partition(|row| row.target.is_some());
        // Asking again and again would use up the attempts of what failed.
        let must_wait = !self.access().may_retry_notices();
        let is_waiting = |row: &&&Row| row.state == OutboxState::Failed && must_wait;
        let later: Vec<&Row> = targeted.iter().filter(is_waiting).copied().collect();
        let targeted: Vec<&Row> = targeted.into_iter().filter(|row| !is_waiting(&row)).collect();
        let ids = |rows: &[&Row]| rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
        let write = async {
            store.mark_no_target(&ids(&nobody), now_ms()).await?;
            store.hurry_outbox(&ids(&targeted), now_ms()).await
        };
        write.await.map_err(|error| views::problem(&error))?;
        self.inner.shelf.nudge.notify_one();
        let mut told = Vec::with_capacity(owed.len());
        let begun = tokio::time::Instant::now();
        let until = begun + PATIENCE;
        for row in &owed {
            let patience = if later.iter().any(|waiting| waiting.id == row.id) { begun } else { until };
            let now = self.attempted(row, patience).await.map_err(|error| views::problem(&error))?;
            told.push(self.notice_info(&now, &self.name_of(row).await?));
        }
        Ok(told)
    }

    /// Waits until something was tried, and returns its state then.
    async fn attempted(&self, before: &Row, until: tokio::time::Instant) -> Result<Row, StoreError> {
        loop {
            // Made before the row is read: an attempt in between is not missed.
            let tried = self.inner.shelf.tried.notified();
            let now = self.inner.shelf.store.outbox(&before.id).await?.unwrap_or_else(|| before.clone());
            let is_tried = now.attempts > before.attempts && now.state != OutboxState::Sending;
            if is_tried || now.target.is_none() || tokio::time::Instant::now() >= until {
                return Ok(now);
            }
            // When time is up, the row is read once more.
            let _ = tokio::time::timeout_at(until, tried).await;
        }
    }

    async fn name_of(&self, row: &Row) -> Result<String, Problem> {
        let session =
            self.inner.shelf.store.session(&row.session).await.map_err(|error| views::problem(&error))?;
        Ok(session.and_then(|session| session.alias).unwrap_or_else(|| row.session.to_string()))
    }

    /// The notification that would be sent.
    async fn preview(&self, row: &Row) -> Result<NoticeInfo, Problem> {
        let info = self.notice_info(row, &self.name_of(row).await?);
        let message = match self.words(row).await? {
            Some(kept) => kept.notice.covered().text(),
            None => "nothing: it is no longer needed".to_owned(),
        };
        Ok(NoticeInfo { message: Some(message), ..info })
    }

    /// The text of a notification; `None` if it is no longer needed.
    async fn words(&self, row: &Row) -> Result<Option<QueuedNotice>, Problem> {
        let task = self.task(row.session.as_str()).await?;
        let session = self.find(row.session.as_str()).await?;
        let wanted: Option<Wanted> =
            session.asked.as_deref().and_then(|json| serde_json::from_str(json).ok());
        let tty = wanted.as_ref().and_then(Wanted::terminal).map(str::to_owned);
        let notice = match row.kind.as_str() {
            "request" => {
                let id = notices::about(&row.payload);
                let Some(open) =
                    task.requests.iter().find(|request| Some(request.id.as_str()) == id.as_deref())
                else {
                    return Ok(None);
                };
                let asked = RequestNotice {
                    id: open.id.to_string(),
                    kind: open.kind.clone(),
                    summary: open.summary.clone(),
                    choices: open.choices.iter().map(|choice| rows::word(choice).replace('_', "-")).collect(),
                };
                Notice {
                    respond: Some(format!("talaria requests answer {} accept", open.id)),
                    request: Some(asked),
                    ..notice(&task, NoticeKind::Request)
                }
            }
            _ => self.outcome(&task, row).await?,
        };
        Ok(Some(QueuedNotice { notice, tty }))
    }

    /// Result of the turn that a notification is about; the task may have had another one since.
    async fn outcome(&self, task: &TaskInfo, row: &Row) -> Result<Notice, Problem> {
        let ordinal = notices::about(&row.payload).and_then(|about| about.parse().ok()).unwrap_or(task.turns);
        let turn = self.inner.shelf.store.turn(&row.session, ordinal).await;
        let turn = turn.map_err(|error| views::problem(&error))?;
        let report = turn.as_ref().and_then(views::report);
        let mut notice = notice(task, NoticeKind::Outcome);
        if let (Some(turn), Some(report)) = (&turn, report) {
            notice.status = crate::engine::tasks::status::of_turn_alone(turn).word().to_owned();
            notice.answer = report.text;
            notice.error = report.message.or_else(|| stopped(&report.outcome).map(str::to_owned));
            notice.completed_at = turn.settled_at.map(views::time);
        }
        Ok(notice)
    }
}

/// Why a request needs no notification any more.
async fn not_needed(store: &Store, row: &Row) -> Result<&'static str, StoreError> {
    let Some(id) = notices::about(&row.payload) else { return Ok("the request is not known any more") };
    let request = store.request(&TicketId::new(id)).await?;
    Ok(match request.map(|request| request.state) {
        None => "the request is not known any more",
        Some(RequestState::Void) => "the request was closed, not answered here, before this was sent",
        Some(_) => "the request was answered before this was sent",
    })
}

/// Why a turn was stopped, if no person wanted that.
fn stopped(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Interrupted { by: Who::Deadline } => Some("its time was up"),
        Outcome::Interrupted { by: Who::Codex } => Some("Codex stopped it"),
        _ => None,
    }
}

/// What every notification about a task says.
fn notice(task: &TaskInfo, kind: NoticeKind) -> Notice {
    let changes = task.worktree.as_ref().and_then(|worktree| worktree.changes.as_ref());
    Notice {
        kind,
        task: task.id.clone(),
        session: task.session.clone(),
        title: task.title.clone(),
        status: task.status.word().to_owned(),
        answer: None,
        error: None,
        files: task.files.clone(),
        diff_stat: changes.map(talaria_core::api::Changes::stat),
        branch: task.worktree.as_ref().map(|worktree| worktree.branch.clone()),
        request: None,
        look: format!("talaria task show {}", task.id),
        respond: None,
        created_at: task.created_at,
        completed_at: None,
        repeat: false,
        attempt: 0,
    }
}

/// The outbox in the store, with the words of what is owed.
struct Keeper {
    engine: Engine,
    /// Keeps the engine from ending while something is owed that will be tried again.
    busy: Mutex<Option<Arc<()>>>,
}

impl Keeper {
    /// The entries passed to the deliverer. Those that are no longer needed or cannot be composed are settled
    /// here.
    async fn prepared(&self, by: &str, row: Row) -> Result<Option<Owed>, StoreError> {
        let store = &self.engine.inner.shelf.store;
        let why = match self.engine.words(&row).await {
            Err(problem) if problem.code == talaria_core::api::ProblemCode::Store => {
                store.retry_outbox(&row.id, by, now_ms() + 5_000, &problem.message).await?;
                return Ok(None);
            }
            Err(problem) => problem.message,
            Ok(None) => not_needed(store, &row).await?.to_owned(),
            Ok(Some(kept)) => {
                let target = row.target.as_deref();
                match target.and_then(|target| notices::revealed(target, &self.engine.inner.shelf.seal)) {
                    Some(target) => {
                        let payload = serde_json::to_string(&kept).unwrap_or_default();
                        return Ok(Some(Owed {
                            id: row.id,
                            session: row.session,
                            payload,
                            target: target.to_string(),
                            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
                            repeat: row.repeat,
                        }));
                    }
                    None => "the target can no longer be read: the key of this home has changed".to_owned(),
                }
            }
        };
        store.abandon_outbox(&row.id, by, now_ms(), &why).await?;
        Ok(None)
    }

    /// Wakes those who wait for an attempt whose end was written.
    fn written(&self, written: Result<(), StoreError>) -> Result<(), OutboxError> {
        self.engine.inner.shelf.tried.notify_waiters();
        written.map_err(OutboxError::new)
    }
}

impl Outbox for Keeper {
    async fn claim(
        &self,
        by: &str,
        now: i64,
        until: i64,
        limit: u32,
        _except: &[String],
    ) -> Result<Vec<Owed>, OutboxError> {
        let store = &self.engine.inner.shelf.store;
        let mut prepared = Vec::new();
        for row in store.claim_outbox(by, now, until, limit).await.map_err(OutboxError::new)? {
            match self.prepared(by, row).await {
                Ok(owed) => prepared.extend(owed),
                // Its claim expires. The others are not delayed.
                Err(error) => tracing::warn!(%error, "a pending notification cannot be read"),
            }
        }
        self.engine.inner.shelf.tried.notify_waiters();
        Ok(prepared)
    }

    async fn sent(&self, by: &str, id: &str, at: i64) -> Result<(), OutboxError> {
        self.written(self.engine.inner.shelf.store.finish_outbox(id, by, at).await)
    }

    async fn failed(&self, by: &str, id: &str, due_at: i64, error: &str) -> Result<(), OutboxError> {
        self.written(self.engine.inner.shelf.store.retry_outbox(id, by, due_at, error).await)
    }

    async fn abandoned(&self, by: &str, id: &str, at: i64, error: &str) -> Result<(), OutboxError> {
        self.written(self.engine.inner.shelf.store.abandon_outbox(id, by, at, error).await)
    }

    async fn release(&self, by: &str, id: &str, due_at: i64) -> Result<(), OutboxError> {
        self.written(self.engine.inner.shelf.store.release_outbox(id, by, due_at).await)
    }

    async fn next_due(&self) -> Result<Option<i64>, OutboxError> {
        let due = self.engine.inner.shelf.store.outbox_due_at().await.map_err(OutboxError::new)?;
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        *busy = due.is_some().then(|| Arc::clone(&self.engine.inner.callers));
        Ok(due)
    }
}
