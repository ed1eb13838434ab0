//! The conversation that `talaria --last` continues: of those in this directory the one that waits for an answer, then one with a
//! running turn, then the most recently active one; without any, the last one anywhere. Tasks do not count.
//!
//! A conversation belongs to the directory that it works in, and to the one in which a person had it open last. The latter is
//! kept in Talaria's home, one line for each directory. A file that cannot be written costs nothing but this.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use talaria_core::api::{Kind, ProblemCode, SessionInfo, SessionQuery};
use talaria_core::ids::SessionId;
use talaria_server::client::{Client, ClientError};
use tokio::task::JoinHandle;

use crate::lines_file;

/// At most this many directories are remembered.
const MOST: usize = 200;
/// How many conversations are listed at a time, and how many pages of them are read.
const PAGE: usize = 500;
const PAGES: usize = 20;

/// The file.
#[derive(Clone, Debug)]
pub(crate) struct LastOpen {
    path: PathBuf,
    /// Entries that are not written yet.
    latest: Arc<Mutex<Option<SessionId>>>,
    /// Locked while it is written.
    writing: Arc<Mutex<()>>,
}

/// The open conversations by directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Opened {
    /// The directory in which the program was called.
    at: PathBuf,
    session: SessionId,
}

impl LastOpen {
    pub(crate) fn in_home(root: &Path) -> Self {
        let path = root.join("last_open.jsonl");
        Self { path, latest: Arc::default(), writing: Arc::default() }
    }

    /// Remembers that this conversation is open, or was until now. A slow disk does not block the caller; of
    /// several pending writes the last one counts.
    pub(crate) fn note(&self, session: &SessionId) -> JoinHandle<()> {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        let this = self.clone();
        tokio::task::spawn_blocking(move || this.write_latest())
    }

    fn write_latest(&self) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Ok(here), Some(session)) = (std::env::current_dir(), latest) {
            self.note_at(here, &session);
        }
    }

    fn note_at(&self, at: PathBuf, session: &SessionId) {
        let Ok(mut known) = lines_file::read::<Opened>(&self.path) else { return };
        known.retain(|opened| opened.at != at);
        known.push(Opened { at, session: session.clone() });
        known.drain(..known.len().saturating_sub(MOST));
        // The latest conversation of all is found without it.
        drop(lines_file::replace(&self.path, &known));
    }

    /// The conversation to continue, and whether it belongs to the current directory.
    pub(crate) async fn find(&self, client: &Client) -> Result<Option<LastConversation>, ClientError> {
        let here = std::env::current_dir().unwrap_or_default();
        let (noted_here, noted_elsewhere) = self.candidates(&here);
        let mut candidates = Vec::new();
        for id in noted_here {
            candidates.extend(find_session(client, &id).await?);
        }
        let is_here = |info: &SessionInfo| info.kind != Kind::Task && here == Path::new(&info.cwd);
        let all_running = SessionQuery { limit: PAGE, running: true, ..SessionQuery::default() };
        candidates.extend(client.sessions(&all_running).await?.into_iter().filter(is_here));
        candidates.extend(newest_of(client, is_here).await?);
        let waiting = client.requests().await?.into_iter().map(|request| request.session).collect();
        if let Some(info) = choose_session(candidates, &waiting) {
            return Ok(Some(LastConversation { info, is_here: true }));
        }
        for id in noted_elsewhere {
            if let Some(info) = find_session(client, &id).await? {
                return Ok(Some(LastConversation { info, is_here: false }));
            }
        }
        let newest = newest_of(client, |info| info.kind != Kind::Task).await?;
        Ok(newest.map(|info| LastConversation { info, is_here: false }))
    }

    /// The conversations that were open here, and those that were open elsewhere; the last one first.
    fn candidates(&self, here: &Path) -> (Vec<SessionId>, Vec<SessionId>) {
        let known: Vec<Opened> = lines_file::read(&self.path).unwrap_or_default();
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            known.into_iter().rev().partition(|opened| opened.at == here);
        let ids = |opened: Vec<Opened>| opened.into_iter().map(|opened| opened.session).collect();
        (ids(here), ids(elsewhere))
    }
}

/// A conversation to continue.
#[derive(Debug)]
pub(crate) struct LastConversation {
    pub(crate) info: SessionInfo,
    /// Does it belong to the current directory?
    pub(crate) is_here: bool,
}

/// The conversation that waits for an answer, else one with a running turn, else the most recently active one.
fn choose_session(candidates: Vec<SessionInfo>, waiting: &HashSet<SessionId>) -> Option<SessionInfo> {
    candidates.into_iter().max_by_key(|info| (waiting.contains(&info.id), info.running, info.updated_at))
}

/// A conversation, unless it was pruned.
async fn find_session(client: &Client, id: &SessionId) -> Result<Option<SessionInfo>, ClientError> {
    match client.session(id.as_str()).await {
        Ok(detail) => Ok(Some(detail.info)),
        Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Unknown => Ok(None),
        Err(error) => Err(error),
    }
}

/// The most recently active conversation that fits, among the newest ones.
async fn newest_of(
    client: &Client,
    fits: impl Fn(&SessionInfo) -> bool,
) -> Result<Option<SessionInfo>, ClientError> {
    let mut query = SessionQuery { limit: PAGE, ..SessionQuery::default() };
    for _ in 0..PAGES {
        let page = client.sessions(&query).await?;
        query.before = page.last().map(|last| last.id.to_string());
        if let Some(found) = page.into_iter().find(&fits) {
            return Ok(Some(found));
        }
        if query.before.is_none() {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_several_on_their_way_the_last_one_counts() {
        let home = tempfile::tempdir().unwrap();
        let last = LastOpen::in_home(home.path());
        let writing = last.writing.lock().unwrap();
        let notes: Vec<_> = ["s-1", "s-2"].map(|id| last.note(&SessionId::new(id))).into();
        drop(writing);
        for note in notes {
            note.await.unwrap();
        }
        let here = std::env::current_dir().unwrap();
        assert_eq!(last.candidates(&here).0, [SessionId::new("s-2")]);
    }

    #[test]
    fn what_was_open_here_is_known_apart_from_what_was_open_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let last = LastOpen::in_home(home.path());
        let names = |ids: Vec<SessionId>| ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>();
        let found = |at: &str| {
            let (here, elsewhere) = last.candidates(Path::new(at));
            (names(here).join(" "), names(elsewhere).join(" "))
        };
        assert_eq!(found("/a"), (String::new(), String::new()));
        for (at, id) in [("/a", "s-1"), ("/b", "s-2"), ("/a", "s-3"), ("/c", "s-4")] {
            last.note_at(at.into(), &SessionId::new(id));
        }
        assert_eq!(found("/a"), ("s-3".to_owned(), "s-4 s-2".to_owned()));
        assert_eq!(found("/elsewhere"), (String::new(), "s-4 s-3 s-2".to_owned()));
        for at in 0..MOST {
            last.note_at(format!("/{at}").into(), &SessionId::new("s-5"));
        }
        assert_eq!(last.candidates(Path::new("/a")).1.len(), MOST);
    }

    #[test]
    fn an_open_request_goes_before_a_running_turn_and_that_before_the_latest_activity() {
        let info = |id: &str, running: bool, second: i64| -> SessionInfo {
            let at = jiff::Timestamp::from_second(second).unwrap();
            serde_json::from_value(
                serde_json::json!({ "id": id, "title": "", "runtime": "codex", "updated_at": at,
                "running": running, "kind": "chat", "task": null, "cwd": "/", "model": null, "created_at": at,
                "last_seq": 0 }),
            )
            .unwrap()
        };
        let all = || {
            vec![
                info("asks", true, 1),
                info("runs", true, 2),
                info("runs-later", true, 3),
                info("left", false, 5),
                info("old", false, 4),
            ]
        };
        let waiting = HashSet::from([SessionId::new("asks"), SessionId::new("elsewhere")]);
        let found = |without: &[&str]| {
            let left = all().into_iter().filter(|info| !without.contains(&info.id.as_str())).collect();
            choose_session(left, &waiting).map(|info| info.id.to_string()).unwrap_or_default()
        };
        assert_eq!(found(&[]), "asks");
        assert_eq!(found(&["asks"]), "runs-later");
        assert_eq!(found(&["asks", "runs-later"]), "runs");
        assert_eq!(found(&["asks", "runs-later", "runs"]), "left");
        assert_eq!(choose_session(Vec::new(), &waiting).map(|info| info.id), None);
    }
}
