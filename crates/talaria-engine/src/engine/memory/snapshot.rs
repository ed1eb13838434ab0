//! The text that a conversation is opened with: the persona, the memory and the skills that its runtime does not list, as
//! text for the runtime, and the record of it.
//!
//! The text is rebuilt at every opening: Codex keeps the first one until a compaction, then uses the newest. An unreadable
//! part is left out and reported; it never prevents a conversation from being opened.

use talaria_core::config::Config;
use talaria_core::memory::scan::flag;
use talaria_core::memory::snapshot::MemorySnapshot;
use talaria_core::memory::{SNAPSHOT_CHARS, digest};
use talaria_guard::redact::redact;
use talaria_home::clock::now_ms;
use talaria_home::user_file::UserFile;
use talaria_store::{MemorySnapshotRow, SessionRow, StoreError};

use super::{project_of, scopes_of};
use crate::engine::Inner;

/// The longest persona, in characters: it is part of every prompt.
const LONGEST_PERSONA: usize = 20_000;

/// The text that a conversation is opened with, and its record.
#[derive(Default)]
pub(crate) struct OpeningMemory {
    snapshot: Option<MemorySnapshot>,
    /// Notes for the user.
    pub(crate) warnings: Vec<String>,
}

impl OpeningMemory {
    /// Adds a further part to the text.
    fn add(&mut self, part: Option<String>) {
        let Some(part) = part else { return };
        match &mut self.snapshot {
            Some(snapshot) => {
                snapshot.text.push('\n');
                snapshot.text.push_str(&part);
            }
            None => self.snapshot = Some(MemorySnapshot { text: part, shown: Vec::new(), left_out: 0 }),
        }
    }

    /// Appends the text to the other instructions of the runtime.
    pub(crate) fn append_to(&self, instructions: &mut Option<String>) {
        let Some(snapshot) = &self.snapshot else { return };
        *instructions = Some(match instructions.take() {
            Some(before) => format!("{before}\n\n{}", snapshot.text),
            None => snapshot.text.clone(),
        });
    }
}

impl Inner {
    /// Reads what a conversation is opened with.
    pub(crate) async fn opening_memory(&self, row: &SessionRow, config: &Config) -> OpeningMemory {
        let mut opening = OpeningMemory::default();
        let persona = self.persona(&mut opening.warnings);
        let entries = match self.opening_entries(row, config, &mut opening.warnings).await {
            Ok(entries) => entries,
            Err(error) => {
                let note =
                    format!("this conversation starts without the memory, which cannot be read: {error}");
                opening.warnings.push(note);
                Vec::new()
            }
        };
        let budget = snapshot_chars(config);
        opening.snapshot = MemorySnapshot::render(persona.as_deref(), &entries, budget);
        let (skills, notes) = self.opening_skills().await;
        let notes = notes.into_iter().filter_map(|note| self.memory.report(&note.clone(), note));
        opening.warnings.extend(notes);
        opening.add(skills);
        match opening.snapshot.as_ref().map_or(0, |snapshot| snapshot.left_out) {
            0 => self.memory.settle("budget"),
            left_out => {
                let note = format!(
                    "{left_out} of {} memory entries do not fit into what a conversation starts with ({budget} \
                     characters): shorten them (`talaria memory list`) or raise memory.snapshot_chars",
                    entries.len()
                );
                opening.warnings.extend(self.memory.report("budget", note));
            }
        }
        opening
    }

    async fn opening_entries(
        &self,
        row: &SessionRow,
        config: &Config,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<talaria_core::memory::MemoryEntry>, StoreError> {
        if config.tools.memory == Some(false) {
            return Ok(Vec::new());
        }
        let task = self.shelf.store.task(&row.id).await?;
        let scopes = scopes_of(&project_of(row, task.as_ref()));
        let (entries, notes) = self.read_memory(&scopes).await?;
        warnings.extend(notes);
        Ok(entries)
    }

    /// Records what the runtime was sent, unless it is what it was sent last.
    pub(crate) async fn record_memory(&self, row: &SessionRow, opening: &OpeningMemory) -> Option<String> {
        let store = &self.shelf.store;
        let (text, entries) = match &opening.snapshot {
            Some(snapshot) => (snapshot.text.clone(), snapshot.shown.clone()),
            None => (String::new(), Vec::new()),
        };
        let digest = digest(&text);
        let recorded = async {
            let last = store.memory_snapshots(&row.id).await?.pop();
            let is_known = match last {
                Some(last) => last.digest == digest,
                // A conversation without a record has none.
                None => text.is_empty(),
            };
            if is_known {
                return Ok(());
            }
            let snapshot = MemorySnapshotRow { session: row.id.clone(), digest, text, entries, at: now_ms() };
            store.add_memory_snapshot(snapshot).await
        };
        let failed = recorded.await.err();
        failed.map(|error| format!("the memory of this conversation was not recorded: {error}"))
    }

    /// The user's persona, without secrets.
    fn persona(&self, warnings: &mut Vec<String>) -> Option<String> {
        let path = self.home.persona_file();
        let trouble = match UserFile::read(&path) {
            Ok(None) => None,
            Ok(Some(text)) if text.chars().nth(LONGEST_PERSONA).is_some() => {
                Some(format!("{} is left out: it has more than {LONGEST_PERSONA} characters", path.display()))
            }
            Ok(Some(text)) => {
                let why = flag(&text).map(|why| {
                    format!(
                        "{} is used, but looks like planted instructions: {why}; check it",
                        path.display()
                    )
                });
                warnings.extend(why.and_then(|why| self.memory.report("persona", why)));
                return Some(redact(&text).into_owned());
            }
            Err(error) => Some(format!("this conversation starts without the persona: {error}")),
        };
        match trouble {
            Some(trouble) => warnings.extend(self.memory.report("persona", trouble)),
            None => self.memory.settle("persona"),
        }
        None
    }
}

/// How many characters of the memory a conversation starts with.
pub(super) fn snapshot_chars(config: &Config) -> usize {
    config.memory.snapshot_chars.map_or(SNAPSHOT_CHARS, |chars| usize::try_from(chars).unwrap_or(usize::MAX))
}
