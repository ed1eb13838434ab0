//! Another title for a conversation, chosen by a person. The first one is the beginning of the first input.

use talaria_core::api::{Problem, ProblemCode, RenameSession, SessionInfo};
use talaria_guard::redact::redact;

use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::queries::views;
use crate::engine::run::input;

impl Engine {
    /// Changes the title of a conversation and returns its list entry. Secrets are masked, as in every title.
    pub async fn rename(&self, id: &str, rename: RenameSession) -> Result<SessionInfo, Problem> {
        let _caller = self.inner.enter()?;
        self.require(Needs::StartAnything, "rename", "rename a conversation").await?;
        let session = self.find(id).await?;
        if rename.title.trim().is_empty() {
            return Err(Problem::new(ProblemCode::BadRequest, "the title is empty"));
        }
        let title = input::title(&redact(&rename.title));
        let renamed = self.inner.shelf.store.rename_session(&session.id, &title).await;
        renamed.map_err(|error| views::problem(&error))?;
        Ok(self.session(session.id.as_str()).await?.info)
    }
}
