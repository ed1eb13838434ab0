//! The events of a conversation as they come, read by a task of their own: a slow terminal must not hold up the
//! connection, and a connection that is made again must not be disturbed by the ticking of a spinner.

use std::time::Duration;

use talaria_core::api::Numbered;
use talaria_core::ids::SessionId;
use talaria_server::client::{Client, ClientError, Follow};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// So much is read ahead of what is shown; then the engine keeps the rest.
const AHEAD: usize = 1024;
/// From when on a person wonders why nothing happens.
const PATIENCE: Duration = Duration::from_secs(1);

/// What comes.
#[derive(Debug)]
pub(crate) enum News {
    /// Something happened in the conversation.
    Event(Box<Numbered>),
    /// The engine is away, for longer than a moment.
    Away,
    /// It is back, after that was reported.
    Back,
    /// Nothing more comes.
    Over(Option<ClientError>),
}

/// News of one conversation; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Stream {
    news: mpsc::Receiver<News>,
    reader: JoinHandle<()>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Stream {
    /// Follows a conversation after the number `after`.
    pub(crate) fn follow(client: &Client, session: &SessionId, after: i64) -> Self {
        let (sender, news) = mpsc::channel(AHEAD);
        let reader = tokio::spawn(read(client.clone(), session.clone(), after, sender));
        Self { news, reader }
    }

    /// Waits for the next news.
    pub(crate) async fn next(&mut self) -> News {
        self.news.recv().await.unwrap_or(News::Over(None))
    }

    /// Returns what has arrived, without waiting.
    pub(crate) fn waiting(&mut self) -> Option<News> {
        self.news.try_recv().ok()
    }
}

async fn read(client: Client, session: SessionId, after: i64, news: mpsc::Sender<News>) {
    let mut follow = match client.follow(session.as_str(), after).await {
        Ok(follow) => follow,
        Err(error) => return drop(news.send(News::Over(Some(error))).await),
    };
    let watcher = tokio::spawn(tell_absence(follow.connected(), news.clone()));
    pass_on(&mut follow, &news).await;
    watcher.abort();
}

async fn pass_on(follow: &mut Follow, news: &mpsc::Sender<News>) {
    loop {
        let next = match follow.next().await {
            Some(Ok(numbered)) => News::Event(Box::new(numbered)),
            Some(Err(error)) => News::Over(Some(error)),
            None => News::Over(None),
        };
        let is_over = matches!(next, News::Over(_));
        // The receiver is gone when the show is over.
        if news.send(next).await.is_err() || is_over {
            return;
        }
    }
}

/// Says that the engine is away once that takes longer than a moment, and when it is back.
async fn tell_absence(mut connected: watch::Receiver<bool>, news: mpsc::Sender<News>) {
    loop {
        if connected.wait_for(|connected| !connected).await.is_err() {
            return;
        }
        let back = connected.wait_for(|connected| *connected);
        if tokio::time::timeout(PATIENCE, back).await.is_ok() {
            continue;
        }
        if news.send(News::Away).await.is_err() {
            return;
        }
        if connected.wait_for(|connected| *connected).await.is_err() || news.send(News::Back).await.is_err() {
            return;
        }
    }
}
