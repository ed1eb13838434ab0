//! Deletion: whole conversations on request of a person, single events periodically by age and count.

use std::time::Duration;

use talaria_core::api::{Problem, ProblemCode, Prune, Pruned, PrunedSession};
use talaria_store::{PrunePolicy, TrimPolicy};

use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::queries::views;
use talaria_home::clock::now_ms;

/// How often old events are looked for.
const EVERY: Duration = Duration::from_secs(6 * 60 * 60);
/// How long after the start that begins: not while turns are being resumed.
const FIRST: Duration = Duration::from_secs(60);
/// How long events are kept by default. Messages are not affected.
const KEEP: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How many events of one conversation are kept by default.
const MOST: u64 = 200_000;

impl Engine {
    /// Deletes conversations, or lists those that it would delete. None that runs or waits for a person.
    pub async fn prune(&self, prune: Prune) -> Result<Pruned, Problem> {
        self.require(Needs::Admin, "prune", "delete conversations").await?;
        let nothing = prune.older_than_ms.is_none() && prune.keep.is_none() && prune.max_bytes.is_none();
        if nothing {
            return Err(Problem::new(
                ProblemCode::BadRequest,
                "no limit is given: name an age, a number or a size",
            ));
        }
        let now = now_ms();
        let policy = PrunePolicy {
            older_than: prune
                .older_than_ms
                .map(|age| now.saturating_sub(i64::try_from(age).unwrap_or(i64::MAX))),
            keep: prune.keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX)),
            max_bytes: prune.max_bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
        };
        let store = &self.inner.shelf.store;
        let work = async {
            let before = store.size().await?;
            let going = store.preview_prune(&policy, now).await?;
            let before = before.file_bytes + before.log_bytes;
            if prune.dry_run {
                return Ok((going.events, before, before - going.bytes, going));
            }
            let mut commands = Vec::new();
            for session in &going.sessions {
                commands.push((session.id.clone(), self.inner.commands_of(&session.id).await?));
            }
            let gone = store.prune(&policy, now).await?;
            for (session, commands) in commands {
                // One that began to work meanwhile stays.
                if store.session(&session).await?.is_none() {
                    self.inner.remove_commands(commands).await;
                    self.inner.remove_snapshot(&session);
                    self.inner.remove_long_texts(&session).await;
                }
            }
            let after = store.size().await?;
            Ok((gone.events, before, after.file_bytes + after.log_bytes, going))
        };
        let (events, before, after, going) =
            work.await.map_err(|error: talaria_store::StoreError| views::problem(&error))?;
        let bytes = |count: i64| u64::try_from(count).unwrap_or_default();
        let session = |doomed: talaria_store::PrunableSession| PrunedSession {
            id: doomed.id,
            title: doomed.title.unwrap_or_default(),
            updated_at: views::time(doomed.updated_at),
        };
        Ok(Pruned {
            sessions: going.sessions.into_iter().map(session).collect(),
            events: bytes(events),
            bytes_before: bytes(before),
            bytes_after: bytes(after),
            dry_run: prune.dry_run,
        })
    }

    /// Forgets old events now and then, until the engine has ended.
    pub(crate) async fn forget_now_and_then(self) {
        let mut pause = FIRST;
        loop {
            tokio::select! {
                () = self.stopped() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = EVERY;
            let sessions =
                self.inner.home.load_config().map(|(config, _)| config.sessions).unwrap_or_default();
            let keep = sessions.keep_events.unwrap_or(KEEP);
            let policy = TrimPolicy {
                older_than: Some(
                    now_ms().saturating_sub(i64::try_from(keep.as_millis()).unwrap_or(i64::MAX)),
                ),
                keep: Some(i64::try_from(sessions.max_events.unwrap_or(MOST)).unwrap_or(i64::MAX)),
            };
            match self.inner.shelf.store.trim(policy).await {
                Ok(trimmed) if trimmed.events > 0 => tracing::info!("removed {} old events", trimmed.events),
                Ok(_) => {}
                Err(error) => tracing::warn!("old events could not be removed: {error}"),
            }
        }
    }
}
