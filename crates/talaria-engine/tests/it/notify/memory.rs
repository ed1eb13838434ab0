//! An outbox in memory, with the promises of the real one, and ways to stop it in the middle.

use std::sync::{Arc, Mutex, MutexGuard};

use talaria_core::ids::SessionId;
use talaria_engine::notify::{Outbox, OutboxError, Owed};
use tokio::sync::watch;

/// An entry and its fate.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) owed: Owed,
    pub(crate) state: &'static str,
    pub(crate) error: String,
    due_at: i64,
    claim: Option<(String, i64)>,
}

/// An outbox that tests share with deliverers.
#[derive(Clone)]
pub(crate) struct Memory {
    rows: Arc<Mutex<Vec<Row>>>,
    changed: watch::Sender<()>,
    /// Marking something as sent never ends: the engine dies before.
    dies_before_mark: bool,
    /// It does not leave out targets.
    gives_all: bool,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            rows: Arc::default(),
            changed: watch::channel(()).0,
            dies_before_mark: false,
            gives_all: false,
        }
    }

    /// The same outbox for an engine that dies after it sent and before it says so.
    pub(crate) fn dying(&self) -> Self {
        Self { dies_before_mark: true, ..self.clone() }
    }

    /// The same outbox, of a keeper that cannot leave out targets.
    pub(crate) fn giving_all(&self) -> Self {
        Self { gives_all: true, ..self.clone() }
    }

    pub(crate) fn owe(&self, id: &str, target: &str, payload: &str) {
        let (session, payload) = (SessionId::new("s-1"), payload.to_owned());
        let owed = Owed {
            id: id.to_owned(),
            session,
            payload,
            target: target.to_owned(),
            attempts: 0,
            repeat: false,
        };
        self.lock().push(Row { owed, state: "pending", error: String::new(), due_at: 0, claim: None });
    }

    /// Makes everything that waits due now, and lets all claims run out.
    pub(crate) fn hurry(&self) {
        for row in self.lock().iter_mut() {
            row.due_at = 0;
            row.claim = row.claim.take().map(|(by, _)| (by, 0));
        }
    }

    pub(crate) fn row(&self, id: &str) -> Row {
        self.lock().iter().find(|row| row.owed.id == id).unwrap().clone()
    }

    pub(crate) fn due_at(&self, id: &str) -> i64 {
        self.row(id).due_at
    }

    /// Waits until an entry has a state.
    pub(crate) async fn wait(&self, id: &str, state: &str) -> Row {
        self.wait_for(id, |row| row.state == state).await
    }

    /// Waits until an entry is as wanted.
    pub(crate) async fn wait_for(&self, id: &str, is_wanted: impl Fn(&Row) -> bool) -> Row {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            let row = self.row(id);
            if is_wanted(&row) {
                return row;
            }
            changed.changed().await.unwrap();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap()
    }

    fn end(&self, by: &str, id: &str, change: impl FnOnce(&mut Row)) -> Result<(), OutboxError> {
        let mut rows = self.lock();
        let row = rows.iter_mut().find(|row| row.owed.id == id).unwrap();
        match row.claim.take() {
            Some((claimant, _)) if claimant == by => change(row),
            other => {
                row.claim = other;
                return Err(OutboxError::new("not claimed"));
            }
        }
        drop(rows);
        self.changed.send_replace(());
        Ok(())
    }
}

impl Outbox for Memory {
    async fn claim(
        &self,
        by: &str,
        now: i64,
        until: i64,
        limit: u32,
        except: &[String],
    ) -> Result<Vec<Owed>, OutboxError> {
        let mut claimed = Vec::new();
        for row in self.lock().iter_mut() {
            let is_free = row.claim.as_ref().is_none_or(|(_, until)| *until <= now);
            let is_open = matches!(row.state, "pending" | "failed" | "sending");
            if claimed.len() < limit as usize
                && is_open
                && is_free
                && row.due_at <= now
                && (self.gives_all || !except.contains(&row.owed.target))
            {
                row.owed.repeat |= row.state == "sending";
                (row.state, row.claim) = ("sending", Some((by.to_owned(), until)));
                row.owed.attempts += 1;
                claimed.push(row.owed.clone());
            }
        }
        self.changed.send_replace(());
        Ok(claimed)
    }

    async fn sent(&self, by: &str, id: &str, _: i64) -> Result<(), OutboxError> {
        if self.dies_before_mark {
            std::future::pending::<()>().await;
        }
        self.end(by, id, |row| row.state = "sent")
    }

    async fn failed(&self, by: &str, id: &str, due_at: i64, error: &str) -> Result<(), OutboxError> {
        self.end(by, id, |row| (row.state, row.due_at, row.error) = ("failed", due_at, error.to_owned()))
    }

    async fn abandoned(&self, by: &str, id: &str, _: i64, error: &str) -> Result<(), OutboxError> {
        self.end(by, id, |row| (row.state, row.error) = ("abandoned", error.to_owned()))
    }

    async fn release(&self, by: &str, id: &str, due_at: i64) -> Result<(), OutboxError> {
        self.end(by, id, |row| {
            (row.state, row.due_at) = ("pending", due_at);
            row.owed.attempts -= 1;
        })
    }

    async fn next_due(&self) -> Result<Option<i64>, OutboxError> {
        let is_open = |row: &&Row| matches!(row.state, "pending" | "failed" | "sending");
        let rows = self.lock();
        let due =
            rows.iter().filter(is_open).map(|row| row.claim.as_ref().map_or(row.due_at, |(_, until)| *until));
        Ok(due.min())
    }
}
