//! What the task of a session does about background commands between turns: it keeps and shows what Codex reports of them,
//! and after a restart it finds out which of them still run.
//!
//! Frames that concern anything else are put back for the next turn, in their order.

use std::collections::VecDeque;
use std::time::Duration;

use talaria_core::background::{BackgroundCommand, BackgroundEnd};
use talaria_store::StoreError;
use tokio::time::Instant;

use super::{Actor, Journal, Purpose, Work};
use crate::engine::run::background::KeptCommand;
use talaria_codex::conversation::{BackgroundNews, Session, Watcher as _};
use talaria_codex::queue::Delivery;

/// Longer than any engine runs: a conversation with background commands stays loaded.
const EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl Actor {
    /// Waits for work, and follows background commands meanwhile. `None` when nothing was to be done for a while, or when
    /// others wait for the place of a conversation that nobody is likely to go on with.
    pub(crate) async fn next_work(&mut self) -> Option<Option<Work>> {
        let is_spared = self.session.is_some() && (self.is_task || self.is_exec);
        let mut held = VecDeque::new();
        let mut journal = None;
        let work = loop {
            let queue = self.session.as_ref().filter(|session| session.has_background()).map(Session::queue);
            let patience = if queue.is_some() { EVER } else { self.patience() };
            let due = journal.as_ref().and_then(Journal::due);
            tokio::select! {
                work = self.inbox.recv() => break Some(work),
                () = tokio::time::sleep(patience) => break None,
                () = self.engine.hosts.wait_until_full(), if is_spared && queue.is_none() => break None,
                () = sleep_until(due) => {
                    if let Some(journal) = &mut journal {
                        // Nothing can be written any more: the next engine asks again.
                        let _ = journal.keep().await;
                    }
                }
                batch = async { match &queue {
                    Some(queue) => queue.take().await,
                    None => std::future::pending().await,
                } } => {
                    let news = self.overhear(batch, &mut held).await;
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
        if let Some(session) = self.session.as_ref().filter(|_| !held.is_empty()) {
            session.queue().give_back(held);
        }
        work
    }

    /// Takes what concerns background commands and holds the rest.
    async fn overhear(
        &mut self,
        batch: VecDeque<Delivery<'static>>,
        held: &mut VecDeque<Delivery<'static>>,
    ) -> Vec<BackgroundNews> {
        let mut news = Vec::new();
        let Some(session) = &mut self.session else { return news };
        for delivery in batch {
            if let Some(more) = session.overhear(&delivery) {
                news.extend(more);
                continue;
            }
            if matches!(delivery, Delivery::Gone(_)) {
                // A Codex that was killed leaves processes behind; they are ended before their end is told.
                session.host().get().kill().await;
                news.extend(session.lose_background(BackgroundEnd::WithCodex));
            }
            held.push_back(delivery);
        }
        news
    }

    /// Finds out, at the start of an engine, which commands of an earlier one still run, and follows those.
    pub(crate) async fn take_up_background(&mut self) -> Result<(), StoreError> {
        let commands = self.engine.shelf.background.of(&self.id);
        let row = self.engine.shelf.store.session(&self.id).await?;
        let row = row.ok_or_else(|| StoreError::UnknownSession(self.id.clone()))?;
        let host = row.host.as_deref().and_then(|nonce| self.engine.hosts.named(nonce));
        if host.is_some_and(|host| host.is_alive()) && self.session.is_none() {
            // A host that does not take the conversation up again is ended, and its commands with it.
            if let Err(report) = self.open(&row, Purpose::TakeUp).await {
                tracing::warn!("session {}: {}", self.id, report.message.unwrap_or_default());
            }
        }
        if self.session.is_none() {
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

    /// Follows the background commands again after the conversation was opened anew; those of another host, and those that
    /// the host does not have any more, have ended.
    pub(crate) async fn watch_again(&mut self) {
        let kept = self.engine.shelf.background.of(&self.id);
        let Some(session) = self.session.as_mut().filter(|_| !kept.is_empty()) else { return };
        let host = session.host().get();
        let is_there = |one: &KeptCommand| {
            one.host.as_deref() == host.nonce() && one.thread == session.started().thread && host.is_alive()
        };
        let (there, elsewhere): (Vec<_>, Vec<_>) = kept.into_iter().partition(is_there);
        self.untold.extend(
            elsewhere.iter().map(|one| BackgroundNews::unreported(&one.command, BackgroundEnd::WithCodex)),
        );
        let commands: Vec<BackgroundCommand> = there.into_iter().map(|one| one.command).collect();
        let thread = session.started().thread.clone();
        let running = match host.still_running(&thread, &commands).await {
            Ok(running) => running,
            // Without an answer they are followed: a Codex that died is reported as gone.
            Err(_) => commands.iter().map(|command| command.id.clone()).collect(),
        };
        for command in commands {
            if running.contains(&command.id) {
                self.untold.push(BackgroundNews::gap(&command));
                session.watch_background(command);
            } else {
                self.untold.push(BackgroundNews::unreported(&command, BackgroundEnd::Unseen));
            }
        }
    }

    /// A journal for what happens while no turn runs.
    async fn idle_journal(&self) -> Result<Journal, StoreError> {
        let shelf = self.engine.shelf.clone();
        let last = shelf.store.last_turns(&self.id, None, 1).await?.pop();
        // Only a turn starts a command.
        let last = last.ok_or_else(|| StoreError::UnknownSession(self.id.clone()))?;
        Ok(Journal::new(shelf, self.seat.feed.clone(), self.id.clone(), &last, None))
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
