//! Which conversations a person had open, and where they stood then: `talaria --last` goes on with the last one. A turn elsewhere, a
//! task or a script in another directory changes nothing about that.
//!
//! Kept in Talaria's home, one line for each directory. A file that cannot be written costs nothing but this.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use talaria_core::api::{Kind, ProblemCode, SessionInfo, SessionQuery};
use talaria_core::ids::SessionId;
use talaria_server::client::{Client, ClientError};
use tokio::task::JoinHandle;

use crate::lines_file;

/// So many directories are remembered.
const MOST: usize = 200;

/// The file.
#[derive(Clone, Debug)]
pub(crate) struct LastOpen {
    path: PathBuf,
    /// What is to be remembered and is not yet.
    latest: Arc<Mutex<Option<SessionId>>>,
    /// Held while it is written.
    writing: Arc<Mutex<()>>,
}

/// What was open where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Opened {
    /// The directory in which the program was called.
    at: PathBuf,
    session: SessionId,
}

impl LastOpen {
    /// The one in this home.
    pub(crate) fn in_home(root: &Path) -> Self {
        let path = root.join("last_open.jsonl");
        Self { path, latest: Arc::default(), writing: Arc::default() }
    }

    /// Remembers that this conversation is open, or was until now. The disk holds nobody up who does not wait for it; of
    /// several that are on their way the last one counts.
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

    /// The conversation to go on with: the last one that was open here, else anywhere, else the newest that is no task.
    pub(crate) async fn find(&self, client: &Client) -> Result<Option<SessionInfo>, ClientError> {
        let here = std::env::current_dir().unwrap_or_default();
        for id in self.candidates(&here) {
            match client.session(id.as_str()).await {
                Ok(detail) => return Ok(Some(detail.info)),
                Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Unknown => {}
                Err(error) => return Err(error),
            }
        }
        newest(client).await
    }

    fn candidates(&self, here: &Path) -> Vec<SessionId> {
        let known: Vec<Opened> = lines_file::read(&self.path).unwrap_or_default();
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            known.into_iter().rev().partition(|opened| opened.at == here);
        here.into_iter().chain(elsewhere).map(|opened| opened.session).collect()
    }
}

/// The newest conversation that is no task, however many tasks are newer.
async fn newest(client: &Client) -> Result<Option<SessionInfo>, ClientError> {
    let mut last: Option<SessionInfo> = None;
    for kind in [Kind::Chat, Kind::Exec] {
        let query = SessionQuery { limit: 1, kind: Some(kind), ..SessionQuery::default() };
        let newest = client.sessions(&query).await?.into_iter().next();
        last = last.into_iter().chain(newest).max_by_key(|info| info.updated_at);
    }
    Ok(last)
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
        assert_eq!(last.candidates(&here), [SessionId::new("s-2")]);
    }

    #[test]
    fn the_last_one_here_goes_before_the_last_one_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let last = LastOpen::in_home(home.path());
        let found = |at: &str| {
            last.candidates(Path::new(at)).iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert!(found("/a").is_empty());
        for (at, id) in [("/a", "s-1"), ("/b", "s-2"), ("/a", "s-3"), ("/c", "s-4")] {
            last.note_at(at.into(), &SessionId::new(id));
        }
        assert_eq!(found("/a"), ["s-3", "s-4", "s-2"]);
        assert_eq!(found("/elsewhere"), ["s-4", "s-3", "s-2"]);
        for at in 0..MOST {
            last.note_at(format!("/{at}").into(), &SessionId::new("s-5"));
        }
        assert_eq!(found("/a").len(), MOST);
    }
}
