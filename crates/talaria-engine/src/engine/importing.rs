//! Takes over what other programs kept: the tasks of the old bridge (what ended is shown as it ended, what had not is
//! lost) and the conversations of Hermes, which can be read and taken back, but not gone on with.

use std::path::Path;

use talaria_core::api::{
    Import, ImportFrom, ImportHow, Imported, ImportedSessions, Problem, ProblemCode, TaskStatus,
};
use talaria_core::ids::SessionId;
use talaria_core::redact::redact;
use talaria_store::Session;
use talaria_store::legacy::hermes::{ImportError, Page, Run, Undone};
use talaria_store::legacy::{self, LegacyError};

use super::caller::Needs;
use super::{Engine, standing, views};
use crate::clock::now_ms;

impl Engine {
    /// Takes over what another program's database has, or takes it back. That file is only read.
    pub async fn import(&self, import: Import) -> Result<Imported, Problem> {
        self.require(Needs::Admin, "import", "take over what another program kept").await?;
        let _caller = self.0.enter()?;
        let is_undo = matches!(import.how, ImportHow::Undo | ImportHow::PreviewUndo);
        if !is_undo && !Path::new(&import.path).is_absolute() {
            let message = format!("{:?} is not an absolute path", import.path);
            return Err(Problem::new(ProblemCode::BadRequest, message));
        }
        match (import.from, import.how) {
            (ImportFrom::CodexBridge, ImportHow::Take) => self.tasks_of_bridge(&import).await,
            (ImportFrom::CodexBridge, _) => {
                let message = "tasks of the bridge can only be taken over";
                Err(Problem::new(ProblemCode::BadRequest, message))
            }
            (ImportFrom::Hermes, _) => self.conversations_of_hermes(&import).await,
        }
    }

    /// One page of conversations, or of an import that is taken back.
    async fn conversations_of_hermes(&self, import: &Import) -> Result<Imported, Problem> {
        let store = &self.0.shelf.store;
        let path = Path::new(&import.path);
        let after = import.after.as_deref();
        let run = || {
            let missing = || Problem::new(ProblemCode::BadRequest, "the import has no name");
            import.run.clone().filter(|name| !name.trim().is_empty()).ok_or_else(missing)
        };
        let behind = after.map(SessionId::new);
        let page = match import.how {
            ImportHow::Take => {
                let run = Run { name: run()?, now: now_ms() };
                store.import_hermes(path, after, &run, crate::session::new_id).await.map(came)
            }
            ImportHow::Preview => store.preview_hermes(path, after).await.map(came),
            ImportHow::Undo => {
                let undone = store.undo_import(&run()?, behind.as_ref(), now_ms()).await;
                undone.map(went).map_err(ImportError::Store)
            }
            ImportHow::PreviewUndo => {
                store.preview_undo(&run()?, behind.as_ref()).await.map(went).map_err(ImportError::Store)
            }
        };
        let sessions = page.map_err(|error| match error {
            ImportError::Legacy(error) => unreadable(&error),
            ImportError::Store(error) => views::problem(&error),
        })?;
        Ok(Imported { sessions: Some(sessions), ..Imported::default() })
    }

    async fn tasks_of_bridge(&self, import: &Import) -> Result<Imported, Problem> {
        let tasks = legacy::read(Path::new(&import.path)).await.map_err(|error| unreadable(&error))?;
        let store = &self.0.shelf.store;
        let owner = self.principal().to_string();
        let clean = |text: &str| redact(text).into_owned();
        let taken = store.import(tasks, &owner, now_ms(), crate::session::new_id, clean).await;
        let taken = taken.map_err(|error| views::problem(&error))?;
        let mut imported = Imported {
            tasks: taken.new.len(),
            known: taken.known,
            refused: taken.refused,
            ..Imported::default()
        };
        for session in &taken.new {
            let turn = store.last_turns(session, None, 1).await.map_err(|error| views::problem(&error))?;
            let is_lost = |turn| standing::of_turn_alone(turn) == TaskStatus::Lost;
            imported.lost += usize::from(turn.last().is_some_and(is_lost));
        }
        Ok(imported)
    }
}

/// Says that a conversation of another program cannot be gone on with; nothing if it is one of ours.
pub(super) fn only_to_be_read(session: &Session) -> Result<(), Problem> {
    if session.runtime == views::RUNTIME {
        return Ok(());
    }
    let message = format!(
        "this conversation came from {} and can only be read: Codex has no thread of it",
        session.runtime
    );
    let hint = format!(
        "start a new one, and hand over what it needs to know: talaria sessions export {} -o past.md",
        session.id
    );
    Err(Problem::new(ProblemCode::Conflict, message).try_this(hint))
}

pub(crate) fn unreadable(error: &LegacyError) -> Problem {
    Problem::new(ProblemCode::BadRequest, error.to_string()).try_this(error.next_step())
}

pub(crate) fn came(page: Page) -> ImportedSessions {
    ImportedSessions {
        total: page.total,
        seen: page.seen,
        new: page.new,
        grown: page.grown,
        known: page.known,
        empty: page.empty,
        messages: page.messages,
        left_out: page.left_out,
        newer: page.newer,
        next: page.next,
        ..ImportedSessions::default()
    }
}

fn went(undone: Undone) -> ImportedSessions {
    ImportedSessions {
        seen: undone.removed + undone.shortened + undone.left.len(),
        removed: undone.removed,
        shortened: undone.shortened,
        left: undone.left,
        next: undone.next.map(|id| id.to_string()),
        ..ImportedSessions::default()
    }
}
