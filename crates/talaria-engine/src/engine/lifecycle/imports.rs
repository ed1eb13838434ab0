//! Imports: the permission that `talaria-import` needs to write to the store, and what cannot be done with an imported
//! conversation. The importers themselves are not known here; the server runs them.

use std::path::Path;
use std::sync::Arc;

use talaria_core::api::{Problem, ProblemCode};
use talaria_core::ids::SessionId;
use talaria_store::{SessionRow, Store, StoreError};

use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::queries::views;
use crate::engine::run::runtime::runtime_of;

/// Permission to import. The engine does not end while one exists.
#[derive(Debug)]
pub struct ImportPermit {
    /// Where imported sessions are written.
    pub store: Store,
    /// Whose the imported tasks are.
    pub owner: String,
    /// Makes the id of a session.
    pub new_id: fn() -> SessionId,
    _caller: Arc<()>,
}

impl Engine {
    /// Permits an import, if the caller has the right to it.
    pub async fn permit_import(&self) -> Result<ImportPermit, Problem> {
        self.require(Needs::Admin, "import", "import from another program").await?;
        let caller = self.inner.enter()?;
        Ok(ImportPermit {
            store: self.inner.shelf.store.clone(),
            owner: self.principal().to_string(),
            new_id: talaria_codex::conversation::new_id,
            _caller: caller,
        })
    }
}

impl ImportPermit {
    /// Reports an error of the store as the engine does everywhere.
    pub fn problem(&self, error: &StoreError) -> Problem {
        views::problem(error)
    }
}

/// Refuses what needs a thread, which a conversation of another program does not have before its next turn.
pub(crate) fn only_to_be_read(session: &SessionRow) -> Result<(), Problem> {
    if runtime_of(session).is_some() {
        return Ok(());
    }
    let message =
        format!("this conversation came from {} and Codex has no thread of it yet", session.runtime);
    Err(Problem::new(ProblemCode::Conflict, message).try_this("send it a prompt first: that starts a thread"))
}

/// Refuses to continue a conversation of another program where the directory that it worked in is not known or gone: a
/// sandbox needs one.
pub(crate) fn check_directory(session: &SessionRow) -> Result<(), Problem> {
    let cwd = Path::new(&session.cwd);
    let why = match cwd.parent() {
        Some(_) if cwd.is_absolute() && cwd.is_dir() => return Ok(()),
        Some(_) => format!("its directory {} does not exist", session.cwd),
        None => "its directory is not known".to_owned(),
    };
    let message = format!("this conversation came from {} and cannot be continued: {why}", session.runtime);
    let hint = format!(
        "start a new one, and hand over what it needs to know: talaria sessions export {} -o past.md",
        session.id.short()
    );
    Err(Problem::new(ProblemCode::Conflict, message).try_this(hint))
}
