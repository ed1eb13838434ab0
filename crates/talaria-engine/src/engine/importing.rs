//! Takes over the tasks of the reference's database: what ended is shown as it ended, what had not is lost.

use std::path::Path;

use talaria_core::api::{Import, Imported, Problem, ProblemCode, TaskStatus};
use talaria_core::redact::redact;
use talaria_store::legacy;

use super::{Engine, standing, views};
use crate::clock::now_ms;

impl Engine {
    /// Takes over the tasks of another program's database. That file is only read.
    pub async fn import(&self, import: Import) -> Result<Imported, Problem> {
        self.only_people("take over tasks")?;
        let _caller = self.0.enter()?;
        let path = Path::new(&import.path);
        if !path.is_absolute() {
            let message = format!("{:?} is not an absolute path", import.path);
            return Err(Problem::new(ProblemCode::BadRequest, message));
        }
        let tasks = legacy::read(path).await.map_err(|error| {
            Problem::new(ProblemCode::BadRequest, error.to_string()).try_this(error.next_step())
        })?;
        let store = &self.0.shelf.store;
        let owner = self.principal().to_string();
        let clean = |text: &str| redact(text).into_owned();
        let taken = store.import(tasks, &owner, now_ms(), crate::session::new_id, clean).await;
        let taken = taken.map_err(|error| views::problem(&error))?;
        let mut imported =
            Imported { tasks: taken.new.len(), lost: 0, known: taken.known, refused: taken.refused };
        for session in &taken.new {
            let turn = store.last_turns(session, None, 1).await.map_err(|error| views::problem(&error))?;
            let is_lost = |turn| standing::of_turn_alone(turn) == TaskStatus::Lost;
            imported.lost += usize::from(turn.last().is_some_and(is_lost));
        }
        Ok(imported)
    }
}
