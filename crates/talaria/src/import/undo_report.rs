//! Report of undoing an import from Hermes, done or planned.

use serde::Serialize;
use talaria_core::api::ImportedSessions;
use talaria_import::hermes::{SkippedFile, UndoneFiles};

use super::page::{ImportPage, SHOWN, count};

/// The undone changes, done or planned.
#[derive(Debug, Default, Serialize)]
pub(super) struct UndoReport {
    /// Hermes's home.
    pub(super) home: String,
    pub(super) dry_run: bool,
    #[serde(flatten)]
    pub(super) files: UndoneFiles,
    pub(super) sessions: ImportedSessions,
    /// Memory entries that were read from removed files.
    pub(super) memories: usize,
}

impl UndoReport {
    /// The report for people.
    pub(super) fn text(&self) -> String {
        let mut page = ImportPage::default();
        let what = if self.dry_run {
            "nothing was changed; this would be undone from the import of"
        } else {
            "import undone:"
        };
        page.line(&format!("{what} {}", self.home));
        let UndoneFiles { settings, files, changed_settings, changed_files } = &self.files;
        for (number, word) in
            [(settings.len(), "setting"), (files.len(), "file"), (self.sessions.removed, "conversation")]
        {
            if number > 0 {
                page.item(&count(number, word));
            }
        }
        if self.memories > 0 {
            page.item(&format!("{} (`talaria memory undo` restores one)", entries(self.memories)));
        }
        if self.sessions.shortened > 0 {
            let those = count(self.sessions.shortened, "conversation");
            page.item(&format!("the new messages of {those}"));
        }
        for key in changed_settings {
            page.item(&format!("kept, because you changed it: {key}"));
        }
        for SkippedFile { path, why } in changed_files.iter().take(SHOWN) {
            page.item(&format!("kept: {path}: {why}"));
        }
        for id in self.sessions.left.iter().take(SHOWN) {
            page.item(&format!("kept, because it was used since: {}", id.short()));
        }
        page.0
    }
}

fn entries(count: usize) -> String {
    if count == 1 { "1 memory entry".to_owned() } else { format!("{count} memory entries") }
}
