//! Imports what other agents remember, and undoes that.
//!
//! An entry has the file that it came from as its origin (`claude-code:CLAUDE.md`), and that decides what is new: a text that
//! came from the same file before is not imported again, although a person changed or removed it since, unless the import
//! was undone. A text that looks like planted instructions becomes a proposal of its own. Nothing is deleted: an undo is
//! a revision like any other.

use std::collections::HashSet;

use talaria_core::api::{
    AgentProgram, ImportHow, MemoryImport, MemoryImportFile, MemoryImported, MemoryImportedFile, Problem,
    ProblemCode,
};
use talaria_core::memory::draft::{MemoryOperation, MemoryStep};
use talaria_core::memory::file::tidy;
use talaria_core::memory::scan::flag;
use talaria_core::memory::{MemoryScope, digest};
use talaria_guard::redact::redact;
use talaria_store::{MemoryAuthor, MemoryOrigin, MemoryProposalState, MemoryRevisionFilter};

use super::{MemoryRefused, answers, project_at};
use crate::engine::Engine;
use crate::engine::access::caller::Needs;

/// The most entries of one import.
const MOST_ENTRIES: usize = 5_000;

impl Engine {
    /// Imports the memory of another agent, undoes an import, or previews either.
    pub async fn import_memory(&self, import: MemoryImport) -> Result<MemoryImported, Problem> {
        self.require(Needs::Admin, "import_memory", "import the memory of another agent").await?;
        let MemoryImport { program, how, files } = import;
        let done = match how {
            ImportHow::Take | ImportHow::Preview => {
                let entries: usize = files.iter().map(|file| file.texts.len()).sum();
                if entries > MOST_ENTRIES {
                    let why = format!(
                        "the files have {entries} entries; at most {MOST_ENTRIES} are imported at once"
                    );
                    return Err(Problem::new(ProblemCode::BadRequest, why));
                }
                self.take_files(program, how, files).await
            }
            ImportHow::Undo | ImportHow::PreviewUndo => self.undo_files(program, how).await,
        };
        done.map_err(|refused| answers::problem(&refused))
    }

    async fn take_files(
        &self,
        program: AgentProgram,
        how: ImportHow,
        files: Vec<MemoryImportFile>,
    ) -> Result<MemoryImported, MemoryRefused> {
        let mut imported = MemoryImported::default();
        for file in files {
            let one = self.take_file(program, how, file, &mut imported).await?;
            imported.files.push(one);
        }
        Ok(imported)
    }

    async fn take_file(
        &self,
        program: AgentProgram,
        how: ImportHow,
        file: MemoryImportFile,
        all: &mut MemoryImported,
    ) -> Result<MemoryImportedFile, MemoryRefused> {
        let mut done =
            MemoryImportedFile { name: file.name.clone(), scope: file.scope.clone(), ..Default::default() };
        let scope = match MemoryScope::from_stored(&file.scope) {
            Some(MemoryScope::Project(directory)) => MemoryScope::Project(project_at(&directory)),
            Some(scope) => scope,
            None => {
                done.refused = Some(format!("{:?} is no scope of the memory", file.scope));
                return Ok(done);
            }
        };
        done.scope = scope.to_string();
        let origin = origin_of(program, &file.name);
        let mut known = self.imported_before(&origin).await?;
        let here = self.inner.read_memory(std::slice::from_ref(&scope)).await?.0;
        known.extend(here.into_iter().map(|entry| entry.text));
        let (mut clean, mut flagged) = (Vec::new(), Vec::new());
        for text in &file.texts {
            let masked = tidy(&redact(text));
            all.is_masked |= masked != tidy(text);
            // A text that is there twice is imported once.
            if masked.is_empty() || !known.insert(masked.clone()) {
                done.known += 1;
            } else if flag(&masked).is_none() {
                clean.push(MemoryOperation::Add { scope: scope.clone(), text: masked });
            } else if self
                .inner
                .shelf
                .store
                .memory_proposal_of(&proposal_name(&origin, &masked))
                .await?
                .is_some()
            {
                done.known += 1;
            } else {
                flagged.push(masked);
            }
        }
        (done.new, done.waiting) = (clean.len(), flagged.len());
        if how == ImportHow::Preview {
            return Ok(done);
        }
        if !clean.is_empty() {
            match self.inner.change_memory(clean, import_origin(&origin), None).await {
                Ok(outcome) => {
                    let is_new = |step: &MemoryStep| matches!(step, MemoryStep::Changed { .. });
                    done.new = outcome.steps.iter().filter(|(step, _)| is_new(step)).count();
                    all.notes.extend(outcome.notes);
                }
                Err(MemoryRefused::Operations(reasons)) => {
                    (done.new, done.waiting) = (0, 0);
                    done.refused = reasons.into_iter().flatten().next();
                    return Ok(done);
                }
                Err(other) => return Err(other),
            }
        }
        // A change of its own for each: a person decides about one text, not about a file.
        for text in flagged {
            let proposed = import_origin(&proposal_name(&origin, &text));
            let operation = MemoryOperation::Add { scope: scope.clone(), text };
            all.notes.extend(self.inner.change_memory(vec![operation], proposed, None).await?.notes);
        }
        Ok(done)
    }

    /// The texts that came under this name and were not undone by an undo of the import.
    async fn imported_before(&self, origin: &str) -> Result<HashSet<String>, MemoryRefused> {
        let filter = MemoryRevisionFilter { call: Some(origin.to_owned()), ..Default::default() };
        let revisions = self.inner.shelf.store.memory_revisions(&filter, u32::MAX).await?;
        let undone: HashSet<i64> = revisions.iter().filter_map(|revision| revision.undoes).collect();
        let came = revisions.into_iter().filter(|row| row.undoes.is_none() && !undone.contains(&row.id));
        Ok(came.filter_map(|row| row.change.after).collect())
    }

    /// Undoes every entry of a program that has not changed since, and rejects what still waits.
    async fn undo_files(
        &self,
        program: AgentProgram,
        how: ImportHow,
    ) -> Result<MemoryImported, MemoryRefused> {
        let mut undone = MemoryImported::default();
        let store = &self.inner.shelf.store;
        for row in store.memory_entries().await? {
            let filter = MemoryRevisionFilter { entry: Some(row.entry.id.clone()), ..Default::default() };
            let changes = store.memory_revisions(&filter, u32::MAX).await?;
            let is_imported = |origin: &MemoryOrigin| is_of(program, origin);
            let Some((last, earlier)) = changes.split_first() else { continue };
            if is_imported(&last.origin) && last.undoes.is_none() {
                undone.removed += 1;
                if how == ImportHow::Undo {
                    let origin = last.origin.clone();
                    undone.notes.extend(self.inner.undo_memory(last.id, origin).await?.notes);
                }
            } else if earlier.iter().any(|change| is_imported(&change.origin)) {
                undone.changed += 1;
            }
        }
        for proposal in store.pending_memory().await? {
            if is_of(program, &proposal.origin) {
                undone.rejected += 1;
                if how == ImportHow::Undo {
                    self.inner.decide_memory(&proposal.id, MemoryProposalState::Rejected).await?;
                }
            }
        }
        Ok(undone)
    }
}

/// The name of a file in origins.
fn origin_of(program: AgentProgram, name: &str) -> String {
    format!("{}:{name}", program.word())
}

/// The name of a text that waits, so that it is proposed once.
fn proposal_name(origin: &str, text: &str) -> String {
    format!("{origin}#{}", &digest(text)[..12])
}

fn import_origin(name: &str) -> MemoryOrigin {
    MemoryOrigin { call: Some(name.to_owned()), ..MemoryOrigin::of(MemoryAuthor::Import) }
}

fn is_of(program: AgentProgram, origin: &MemoryOrigin) -> bool {
    let call = origin.call.as_deref().unwrap_or_default();
    let is_named = call.strip_prefix(program.word()).is_some_and(|rest| rest.starts_with(':'));
    origin.author == MemoryAuthor::Import && is_named
}
