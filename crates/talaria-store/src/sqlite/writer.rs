//! The one task that writes. Callers send jobs; appends that wait together are committed together.
//!
//! A caller that is dropped while it waits changes nothing: its job is done as a whole or not at all. The queue is
//! bounded; callers wait when it is full. Nothing else in this process may write to the file.

use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use crate::error::StoreError;
use crate::model::batch::{Appended, Batch};
use crate::sqlite::group::{self, Memory};
use crate::sqlite::transaction::{self, Work};

/// How many jobs may wait.
const QUEUE: usize = 1024;
/// How many appends are committed together at most.
const GROUP: usize = 256;
/// Time limit for closing: SQLite's final cleanup is optional.
const CLOSING: Duration = Duration::from_secs(5);

type Reply = oneshot::Sender<Result<Appended, StoreError>>;
type Errand = Box<dyn for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, ()> + Send>;

enum Job {
    Append(Batch, Reply),
    Run(Errand),
    Close(oneshot::Sender<()>),
}

/// Sends jobs to the writing task.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    /// Starts the task, which ends when every `Writer` is gone or `close` is called.
    pub(crate) fn start(conn: SqliteConnection) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        tokio::spawn(serve(conn, queue));
        Self { jobs }
    }

    /// Appends a batch. It is on the disk when this returns.
    pub(crate) async fn append(&self, batch: Batch) -> Result<Appended, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Append(batch, reply)).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Does some work in its own transaction.
    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, StoreError> {
        self.run(move |conn| Box::pin(transaction::run(conn, work))).await
    }

    /// Does some work that is not one transaction.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let errand: Errand = Box::new(move |conn| {
            Box::pin(async move {
                let _ = reply.send(work(conn).await);
            })
        });
        self.send(Job::Run(errand)).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Finishes pending jobs, then closes the connection.
    pub(crate) async fn close(&self) {
        let (reply, answer) = oneshot::channel();
        if self.send(Job::Close(reply)).await.is_ok() {
            let _ = answer.await;
        }
    }

    async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)
    }
}

async fn serve(mut conn: SqliteConnection, mut queue: mpsc::Receiver<Job>) {
    let mut memory = Memory::default();
    let mut jobs = Vec::with_capacity(GROUP);
    let mut closing = Vec::new();
    while queue.recv_many(&mut jobs, GROUP).await > 0 {
        let mut group = Vec::new();
        for job in jobs.drain(..) {
            match job {
                Job::Append(batch, reply) => group.push((batch, reply)),
                Job::Run(errand) => {
                    commit(&mut conn, &mut memory, std::mem::take(&mut group)).await;
                    errand(&mut conn).await;
                    memory.forget();
                }
                Job::Close(reply) => {
                    closing.push(reply);
                    queue.close();
                }
            }
        }
        commit(&mut conn, &mut memory, group).await;
    }
    let tidy = async {
        let _ = sqlx::query("pragma optimize").execute(&mut conn).await;
        let _ = conn.close().await;
    };
    let _ = tokio::time::timeout(CLOSING, tidy).await;
    for reply in closing {
        let _ = reply.send(());
    }
}

async fn commit(conn: &mut SqliteConnection, memory: &mut Memory, group: Vec<(Batch, Reply)>) {
    if group.is_empty() {
        return;
    }
    let (batches, replies): (Vec<_>, Vec<_>) = group.into_iter().unzip();
    let results = group::commit(conn, memory, batches).await;
    for (reply, result) in replies.into_iter().zip(results) {
        // The caller may be gone; the write remains.
        let _ = reply.send(result);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

    use sqlx::ConnectOptions as _;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;
    use crate::contract::scene;
    use crate::{OpenOptions, Store};

    #[tokio::test]
    async fn what_waits_is_committed_together() {
        const WAITING: usize = 2 * GROUP + 1;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("talaria.db");
        let store = Store::open(&path, 0, &OpenOptions::default()).await.unwrap();
        let mut sessions = Vec::new();
        for n in 0..8 {
            sessions.push(scene::session(&store, &format!("session {n}")).await);
        }
        store.close().await;
        let mut conn = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
        let commits = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&commits);
        conn.lock_handle().await.unwrap().set_commit_hook(move || {
            count.fetch_add(1, Ordering::SeqCst);
            true
        });
        let writer = Writer::start(conn);
        let (release, released) = oneshot::channel::<()>();
        let (hold, held) = oneshot::channel::<()>();
        let mut busy = Box::pin(writer.run(move |_| {
            Box::pin(async move {
                let _ = hold.send(());
                let _ = released.await;
                Ok(())
            })
        }));
        tokio::select! {
            _ = &mut busy => panic!("it is held"),
            held = held => held.unwrap(),
        }
        let append = |n: usize| writer.append(scene::batch(&sessions[n % sessions.len()], 1, &["a"]));
        let all = futures_util::future::join_all((0..WAITING).map(append));
        let mut all = Box::pin(tokio::task::unconstrained(all));
        let is_waiting = std::future::poll_fn(|context| Poll::Ready(all.as_mut().poll(context).is_pending()));
        assert!(is_waiting.await);
        assert_eq!(writer.jobs.capacity(), QUEUE - WAITING, "all of them wait");
        release.send(()).unwrap();
        busy.await.unwrap();
        assert_eq!(all.await.into_iter().filter(Result::is_ok).count(), WAITING);
        assert_eq!(commits.load(Ordering::SeqCst), 3, "two full groups and the rest");
        writer.append(scene::batch(&sessions[0], 2, &["alone"])).await.unwrap();
        assert_eq!(commits.load(Ordering::SeqCst), 4, "what waits for nobody is not held up");
        writer.close().await;
    }
}
