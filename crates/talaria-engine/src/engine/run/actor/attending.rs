//! Background commands between turns: the task of a session records and publishes reports about them, and after a
//! restart finds out which of them still run.
//!
//! Other frames are held for the next turn, in order.

use std::time::Duration;

use talaria_core::background::BackgroundEnd;
use talaria_core::event::Event;
use talaria_store::StoreError;
use tokio::time::Instant;

use super::reviewing::answer_of;
use super::{Actor, Journal, Purpose, Work};
use crate::engine::run::runtime::{Conversation, FollowedAgain};
use talaria_codex::conversation::{BackgroundNews, Watcher as _};

/// Longer than any engine runs, so that a conversation with background commands stays loaded.
const EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl Actor {
    /// Waits for work, and follows background commands meanwhile. `None` when nothing was to be done for a while, or when
    /// others wait for the place of a conversation that is unlikely to be continued.
    pub(crate) async fn next_work(&mut self) -> Option<Option<Work>> {
        let mut review = self.begin_review().await;
        let is_spared = self.conversation.is_some() && (self.is_task || self.is_exec);
        let mut journal = None;
        let work = loop {
            let feed = self.conversation.as_ref().and_then(Conversation::background);
            let is_kept = feed.is_some() || review.is_some();
            let patience = if is_kept { EVER } else { self.patience() };
            let due = journal.as_ref().and_then(Journal::due);
            tokio::select! {
                work = self.inbox.recv() => break Some(work),
                answered = answer_of(review.as_mut()) => {
                    if let Some(review) = review.take() {
                        self.end_review(review, answered).await;
                    }
                }
                () = tokio::time::sleep(patience) => break None,
                () = self.engine.hosts.wait_until_full(), if is_spared && feed.is_none() => break None,
                () = sleep_until(due) => {
                    if let Some(journal) = &mut journal {
                        // Nothing can be written any more: the next engine asks again.
                        let _ = journal.keep().await;
                    }
                }
                batch = async { match &feed {
                    Some(feed) => feed.next().await,
                    None => std::future::pending().await,
                } } => {
                    let Some(conversation) = &mut self.conversation else { continue };
                    let news = conversation.overhear(batch).await;
                    for one in &news {
                        if let Event::BackgroundOutput { id, .. } = &one.event {
                            self.engine.shelf.background.confirm(&self.id, id);
                        }
                    }
                    if journal.is_none() && !news.is_empty() {
                        journal = self.idle_journal().await.ok();
                    }
                    if let Some(journal) = &mut journal {
                        news.into_iter().for_each(|news| journal.background(news));
                    }
                }
            }
        };
        if let Some(journal) = &mut journal {
            let _ = journal.keep().await;
        }
        if let Some(conversation) = &mut self.conversation {
            conversation.give_back();
        }
        if let Some(review) = review {
            self.defer_review(review);
        }
        work
    }

    /// Finds out, at the start of an engine, which commands of an earlier one still run, and follows those.
    pub(crate) async fn take_up_background(&mut self) -> Result<(), StoreError> {
        let commands = self.engine.shelf.background.of(&self.id);
        let row = self.engine.shelf.store.session(&self.id).await?;
        let row = row.ok_or_else(|| StoreError::UnknownSession(self.id.clone()))?;
        let host = row.host.as_deref().and_then(|nonce| self.engine.hosts.named(nonce));
        if host.is_some_and(|host| host.is_alive()) && self.conversation.is_none() {
            // A host that does not take the conversation up again is ended, and its commands with it.
            if let Err(report) = self.open(&row, Purpose::TakeUp).await {
                tracing::warn!("session {}: {}", self.id, report.message.unwrap_or_default());
            }
        }
        if self.conversation.is_none() {
            self.untold.extend(
                commands
                    .iter()
                    .map(|kept| BackgroundNews::unreported(&kept.command, BackgroundEnd::WithCodex)),
            );
        }
        let mut journal = self.idle_journal().await?;
        std::mem::take(&mut self.untold).into_iter().for_each(|news| journal.background(news));
        journal.keep().await.map_err(|_| StoreError::Closed)
    }

    /// Follows the background commands again after the conversation was opened again.
    pub(crate) async fn watch_again(&mut self) {
        let kept = self.engine.shelf.background.of(&self.id);
        if let Some(conversation) = &mut self.conversation {
            let FollowedAgain { news, confirmed } = conversation.watch_again(kept).await;
            confirmed.iter().for_each(|id| self.engine.shelf.background.confirm(&self.id, id));
            self.untold.extend(news);
        }
    }

    /// A journal for what happens while no turn runs.
    pub(super) async fn idle_journal(&self) -> Result<Journal, StoreError> {
        let shelf = self.engine.shelf.clone();
        let last = shelf.store.last_turns(&self.id, None, 1).await?.pop();
        // Only a turn starts a command.
        let last = last.ok_or_else(|| StoreError::UnknownSession(self.id.clone()))?;
        Ok(Journal::new(shelf, self.handle.feed.clone(), self.id.clone(), &last, None))
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
