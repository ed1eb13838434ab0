//! The API's import request: reads the other program's database and writes to the store, or undoes that.

use std::path::Path;

use talaria_core::api::{Import, ImportFrom, ImportHow, Imported, ImportedSessions, Problem, ProblemCode};
use talaria_core::ids::SessionId;
use talaria_guard::redact::redact;
use talaria_store::{Store, UndoneImport};

use crate::codex_bridge;
use crate::error::ImportError;
use crate::hermes::conversations::{self, ImportRun};

/// Where imported sessions are written.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The store.
    pub store: Store,
    /// Whose the imported tasks are.
    pub owner: String,
    /// The time.
    pub now: i64,
    /// Makes the id of a session.
    pub new_id: fn() -> SessionId,
}

/// Carries out an import request. The other program's file is only read.
pub async fn import(request: &Import, into: &Destination) -> Result<Imported, ImportError> {
    let is_undo = matches!(request.how, ImportHow::Undo | ImportHow::PreviewUndo);
    if !is_undo && !Path::new(&request.path).is_absolute() {
        return Err(ImportError::BadRequest(format!("{:?} is not an absolute path", request.path)));
    }
    match (request.from, request.how) {
        (ImportFrom::CodexBridge, ImportHow::Take) => import_tasks(request, into).await,
        (ImportFrom::CodexBridge, _) => {
            Err(ImportError::BadRequest("tasks of the bridge can only be taken over".to_owned()))
        }
        (ImportFrom::Hermes, _) => {
            let sessions = Some(import_conversations(request, into).await?);
            Ok(Imported { sessions, ..Imported::default() })
        }
    }
}

/// Returns which conversations of Hermes would come into a home that has none yet. One page; needs no store.
pub async fn preview_conversations(path: &Path, after: Option<&str>) -> Result<ImportedSessions, Problem> {
    let page = conversations::preview_page(None, path, after).await;
    page.map_err(|error| error.problem(|error| Problem::new(ProblemCode::Store, error.to_string())))
}

/// One page of conversations, or of an import that is undone.
async fn import_conversations(request: &Import, into: &Destination) -> Result<ImportedSessions, ImportError> {
    let store = &into.store;
    let path = Path::new(&request.path);
    let after = request.after.as_deref();
    let run = || {
        let missing = || ImportError::BadRequest("the import has no name".to_owned());
        request.run.clone().filter(|name| !name.trim().is_empty()).ok_or_else(missing)
    };
    let after_session = after.map(SessionId::new);
    match request.how {
        ImportHow::Take => {
            let run = ImportRun { name: run()?, now: into.now };
            conversations::import_page(store, path, after, &run, into.new_id).await
        }
        ImportHow::Preview => conversations::preview_page(Some(store), path, after).await,
        ImportHow::Undo => Ok(undone(store.undo_import(&run()?, after_session.as_ref(), into.now).await?)),
        ImportHow::PreviewUndo => Ok(undone(store.preview_undo(&run()?, after_session.as_ref()).await?)),
    }
}

async fn import_tasks(request: &Import, into: &Destination) -> Result<Imported, ImportError> {
    let tasks = codex_bridge::read(Path::new(&request.path)).await?;
    let clean = |text: &str| redact(text).into_owned();
    let imported =
        codex_bridge::import(&into.store, tasks, &into.owner, into.now, into.new_id, clean).await?;
    Ok(Imported {
        tasks: imported.new,
        lost: imported.lost,
        known: imported.known,
        refused: imported.refused,
        ..Imported::default()
    })
}

fn undone(undone: UndoneImport) -> ImportedSessions {
    ImportedSessions {
        seen: undone.removed + undone.shortened + undone.left.len(),
        removed: undone.removed,
        shortened: undone.shortened,
        left: undone.left,
        next: undone.next.map(|id| id.to_string()),
        ..ImportedSessions::default()
    }
}
