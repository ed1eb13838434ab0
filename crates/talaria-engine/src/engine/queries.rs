//! Read-only queries: status, sessions, tasks, transcripts, and search.

mod context;
pub(crate) mod views;

use talaria_core::api::{
    EngineStatus, ForkOrigin, HostInfo, Problem, RunningTurn, SearchHit, SessionDetail, SessionInfo,
    SessionQuery, StoredMessage,
};
use talaria_core::ids::SessionId;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::transcript::Message;
use talaria_store::{Cursor, MessageRow, ReviewRow, SessionFilter, SessionRow, SessionState};

use crate::engine::Engine;
use crate::engine::EventLine;
use crate::engine::access::caller::Needs;
use crate::engine::journal::follow;
use crate::engine::run::providers::key_wait_words;

/// How many turns and messages are shown of a session.
const SHOWN: u32 = 200;
/// Maximum number of rows in one response.
const MOST: usize = 1000;

/// Warning about a home that other users can access.
fn open_note(home: &str, mode: u32) -> String {
    let what = if mode & 0o022 == 0 { "look into" } else { "change what is in" };
    format!("others can {what} {home} (mode {mode:04o}): chmod 700 {home}")
}

impl Engine {
    /// Everything that runs or waits.
    pub async fn status(&self) -> Result<EngineStatus, Problem> {
        self.require(Needs::SeeAll, "status", "look at everything").await?;
        let store = &self.inner.shelf.store;
        let hosts = self.inner.hosts.snapshot().await;
        let pid_of = |nonce: Option<&str>| {
            hosts.iter().find(|host| host.nonce.as_deref() == nonce && nonce.is_some()).map(|host| host.pid)
        };
        let unsettled = store.unsettled().await.map_err(|error| views::problem(&error))?;
        let mut notes = self.inner.shelf.troubles.notes();
        notes.extend(self.inner.identity.notice.as_ref().map(|notice| notice.text.clone()));
        notes
            .extend(self.inner.home.mode_open_to_others().map(|mode| open_note(&self.inner.info.home, mode)));
        notes.extend(self.inner.refusals.note());
        notes.extend(self.inner.remote_refusals.remote_note());
        for (session, _) in &unsettled {
            notes.extend(floor_note(session));
        }
        let reviews = store.open_reviews().await.map_err(|error| views::problem(&error))?;
        let review_note = |review: &ReviewRow| {
            format!("session {}, {}", review.session.short(), views::review(review).line())
        };
        notes.extend(reviews.iter().map(review_note));
        for (session, _) in &unsettled {
            let waits = self.inner.provider_keys.awaited_by(&session.id);
            notes.extend(
                waits.map(|variables| {
                    format!("session {}: {}", session.id.short(), key_wait_words(&variables))
                }),
            );
        }
        let health = &self.inner.provider_keys.health;
        let resting = health.resting().into_iter();
        notes.extend(resting.map(|(model, until)| {
            let until = until.strftime("%Y-%m-%d %H:%M:%S UTC");
            format!("{model} rests until {until}, as its provider asked; its fallback answers instead")
        }));
        let turns = unsettled.iter().map(|(session, turn)| RunningTurn {
            waits_for: self.inner.provider_keys.awaited_by(&session.id),
            ..views::running(session, turn, pid_of(session.host.as_deref()))
        });
        let sessions: Vec<_> = unsettled.iter().map(|(session, _)| session.id.clone()).collect();
        let budgets = self.inner.budgets(&sessions).await.map_err(|error| views::problem(&error))?;
        let now = views::time(talaria_home::clock::now_ms());
        Ok(EngineStatus {
            engine: self.info(),
            turns: turns.collect(),
            background: self.background().await?,
            requests: self.requests().await?,
            tasks: self.inner.queue.counts(),
            limits: self.inner.limits(),
            keys: health.keys(),
            budgets,
            hosts: hosts
                .iter()
                .map(|host| HostInfo {
                    pid: host.pid,
                    codex: host.version.clone(),
                    threads: host.threads,
                    turns: host.turns,
                    memory_kib: host.memory_kib,
                    draining: host.draining.is_some(),
                    since: now.checked_sub(host.age).unwrap_or(now),
                })
                .collect(),
            web: self.web(),
            notes,
        })
    }

    /// Conversations, the newest first.
    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionInfo>, Problem> {
        self.require(Needs::See, "sessions", "list conversations").await?;
        let store = &self.inner.shelf.store;
        let filter = SessionFilter {
            kind: query.kind.map(views::kept_kind),
            state: query.running.then_some(SessionState::Running),
            archived: None,
        };
        let behind = match &query.before {
            Some(id) => {
                let last = self.find(id).await?;
                Some(Cursor { updated_at: last.updated_at, id: last.id })
            }
            None => None,
        };
        let limit = limited(query.limit);
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut behind, mut found) = (behind, Vec::new());
        // A page of which a token sees little is filled up from the next ones.
        while found.len() < wanted {
            let page = store.sessions(&filter, behind.as_ref(), limit).await;
            let page = page.map_err(|error| views::problem(&error))?;
            for session in &page.sessions {
                if self.is_session_within(session).await? {
                    found.push(self.listed(session));
                }
            }
            behind = page.next;
            if behind.is_none() {
                break;
            }
        }
        found.truncate(wanted);
        Ok(found)
    }

    /// A conversation as a list has it.
    fn listed(&self, session: &SessionRow) -> SessionInfo {
        SessionInfo { queued: self.inner.queue.ahead(&session.id).is_some(), ..views::session(session) }
    }

    /// One conversation with the newest part of what was said and done.
    pub async fn session(&self, id: &str) -> Result<SessionDetail, Problem> {
        let session = self.find(id).await?;
        let store = &self.inner.shelf.store;
        let read = async {
            let turns = store.last_turns(&session.id, None, SHOWN).await?;
            let messages = store.last_messages(&session.id, SHOWN).await?;
            let all = store.count_messages(&session.id).await?;
            let origin = store.origin(&session.id).await?;
            let reviews = store.reviews(&session.id).await?;
            let undone = store.undone_turns(&session.id).await?;
            Ok::<_, talaria_store::StoreError>((turns, messages, all, origin, reviews, undone))
        };
        let (turns, messages, all, origin, reviews, undone) =
            read.await.map_err(|error| views::problem(&error))?;
        let budgets = self.inner.budgets_of(&session).await.map_err(|error| views::problem(&error))?;
        let is_undone = |message: &MessageRow| message.turn.is_some_and(|turn| undone.contains(&turn));
        let told =
            messages.iter().filter_map(|row| Some((serde_json::from_str(&row.json).ok()?, is_undone(row))));
        let (told, marks): (Vec<Message>, Vec<bool>) = told.unzip();
        let older_messages = usize::try_from(all).unwrap_or_default().saturating_sub(messages.len());
        Ok(SessionDetail {
            info: self.listed(&session),
            thread: session.thread.as_ref().map(ToString::to_string),
            codex: session.codex_version.clone().filter(|version| !version.is_empty()),
            origin: origin.map(views::origin),
            forked_from: session.forked_from.clone().map(|(session, turn)| ForkOrigin { session, turn }),
            turns: turns.iter().map(views::turn).collect(),
            reviews: reviews.iter().map(views::review).collect(),
            budgets,
            messages: told,
            undone_messages: (0..)
                .zip(marks)
                .filter(|(_, is_undone)| *is_undone)
                .map(|(place, _)| place)
                .collect(),
            older_messages,
        })
    }

    /// The transcript, in order, after the event with this number. Messages of one event are never split across
    /// pages.
    pub async fn messages(&self, id: &str, after: i64, limit: usize) -> Result<Vec<StoredMessage>, Problem> {
        let session = self.find(id).await?;
        let behind = MessageRow {
            id: i64::MAX,
            key: String::new(),
            turn: None,
            seq: after,
            role: String::new(),
            text: String::new(),
            json: String::new(),
            at: 0,
        };
        let limit = limited(limit);
        let page = self.inner.shelf.store.messages(&session.id, Some(&behind), limit).await;
        let mut page = page.map_err(|error| views::problem(&error))?;
        let last = page.last().map(|message| message.seq);
        let is_full = u32::try_from(page.len()).is_ok_and(|length| length == limit);
        if is_full && page.first().map(|message| message.seq) != last {
            page.retain(|message| Some(message.seq) != last);
        }
        let undone = self.inner.shelf.store.undone_turns(&session.id).await;
        let undone = undone.map_err(|error| views::problem(&error))?;
        let stored = |message: &MessageRow| {
            let told = serde_json::from_str(&message.json).ok()?;
            let turn = message.turn.unwrap_or_default();
            Some(StoredMessage { seq: message.seq, turn, undone: undone.contains(&turn), message: told })
        };
        Ok(page.iter().filter_map(stored).collect())
    }

    /// Events, in order, after the one with this number.
    pub async fn events(&self, id: &str, after: i64, limit: usize) -> Result<Vec<EventLine>, Problem> {
        let session = self.find(id).await?;
        let page = follow::page(&self.inner.shelf.store, &session.id, after, limited(limit)).await;
        page.map_err(|error| views::problem(&error))
    }

    /// Where words were said or done, the newest first.
    pub async fn search(&self, words: &str, limit: usize) -> Result<Vec<SearchHit>, Problem> {
        self.require(Needs::See, "search", "search everything").await?;
        let store = &self.inner.shelf.store;
        let hits = store.search(words, limited(limit)).await.map_err(|error| views::problem(&error))?;
        let mut found = Vec::with_capacity(hits.len());
        let mut titles: Vec<(SessionId, String)> = Vec::new();
        for hit in hits {
            if !self.is_within(&hit.session).await? {
                continue;
            }
            let known = titles.iter().find(|(id, _)| *id == hit.session).map(|(_, title)| title.clone());
            let title = match known {
                Some(title) => title,
                None => {
                    let session =
                        store.session(&hit.session).await.map_err(|error| views::problem(&error))?;
                    let title = session.and_then(|session| session.title).unwrap_or_default();
                    titles.push((hit.session.clone(), title.clone()));
                    title
                }
            };
            let snippet = hit.snippet.marked("[", "]");
            found.push(SearchHit { session: hit.session, seq: hit.seq, snippet, title, role: hit.role });
        }
        Ok(found)
    }
}

fn limited(limit: usize) -> u32 {
    u32::try_from(limit.clamp(1, MOST)).unwrap_or(u32::MAX)
}

/// If Codex never asks, only the sandbox protects.
fn floor_note(session: &SessionRow) -> Option<String> {
    let started: talaria_core::event::Started = serde_json::from_str(session.started.as_deref()?).ok()?;
    (started.approval == ApprovalPolicy::Never.as_str()).then(|| {
        format!(
            "session {} runs with approval never: neither the hard floor nor deny rules are applied, only the sandbox \
             ({}) holds",
            session.id, started.sandbox
        )
    })
}

impl crate::engine::Inner {
    /// The limits of this engine, as clients see them.
    fn limits(&self) -> talaria_core::api::Limits {
        talaria_core::api::Limits {
            tasks: self.queue.room(),
            hosts: self.host_limits.max_hosts,
            threads_per_host: self.host_limits.threads_per_host,
            host_memory_kib: self.host_limits.memory_kib,
        }
    }
}
