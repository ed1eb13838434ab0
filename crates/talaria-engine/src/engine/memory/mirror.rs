//! The files that mirror the memory: edits by a person become changes of rows, and changed rows are written to the
//! files.
//!
//! A file that cannot be read never counts as empty: it is left unchanged until it can be read. One that is empty since a moment
//! ago may be in the hands of an editor that truncated it and writes next, so it is looked at again, unless it was emptied here
//! and no one changed it since. One that is not text is renamed, unchanged. The rows are right at every moment; a file that
//! cannot be written is written later.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use talaria_core::memory::merge::merge;
use talaria_core::memory::scan::flag;
use talaria_core::memory::{MemoryScope, file, find};
use talaria_guard::redact::redact;
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_home::home::ensure_dir;
use talaria_home::user_file::{FileStamp, UserFile, UserFileError};
use talaria_store::{MemoryAuthor, MemoryMirror, MemoryOrigin, MemoryWrite, MemoryWriteResult, StoreError};

use super::mint_entry;
use crate::engine::Inner;

/// How often a file or the rows may change while they are compared.
const TRIES: usize = 5;
/// For how long an empty file may be one that an editor writes.
const EDITOR_WRITES: Duration = Duration::from_millis(500);
/// The pause until such a file is looked at again.
const LOOK: Duration = Duration::from_millis(10);

/// Content of a file.
enum MirrorFile {
    Missing,
    Text(String),
    /// It was no text, and is now here.
    SetAside(PathBuf),
}

impl Inner {
    /// Reads edits of the files back and writes missing entries to them. Returns notes for the user. The caller holds the
    /// write lock.
    pub(super) async fn sync_memory(&self, scopes: &[MemoryScope]) -> Result<Vec<String>, StoreError> {
        let mut notes = Vec::new();
        for scope in scopes {
            let path = self.home.memories_dir().join(scope.file());
            match self.sync_scope(scope, &path, &mut notes).await? {
                Ok(()) => self.memory.settle(&scope.to_string()),
                Err(error) => {
                    let note = format!(
                        "the memory file is left as it is and the entries are kept: {error}; correct or move the file"
                    );
                    notes.extend(self.memory.report(&scope.to_string(), note));
                }
            }
        }
        Ok(notes)
    }

    async fn sync_scope(
        &self,
        scope: &MemoryScope,
        path: &Path,
        notes: &mut Vec<String>,
    ) -> Result<Result<(), UserFileError>, StoreError> {
        let mut tries = 1;
        let looked_at = Instant::now();
        let emptied = self.memory.empty_file(scope);
        loop {
            let read = match blocking(path, read).await {
                Ok(read) => read,
                Err(error) => return Ok(Err(error)),
            };
            // Replacing it now would take the editor's text with it: it is written into the file that was replaced.
            if looked_at.elapsed() < EDITOR_WRITES
                && matches!(&read, MirrorFile::Text(text) if text.is_empty())
                && blocking(path, move |path| Ok(was_just_changed(path, emptied))).await.unwrap_or(false)
            {
                faults::point("before:memory-empty-file").await;
                tokio::time::sleep(LOOK).await;
                continue;
            }
            if let MirrorFile::SetAside(kept) = &read {
                let (name, kept) = (path.display(), kept.display());
                notes.push(format!(
                    "{name} was not UTF-8: its bytes are in {kept}, and the file was rewritten"
                ));
            }
            let text = match &read {
                MirrorFile::Text(text) => Some(text.as_str()),
                MirrorFile::Missing | MirrorFile::SetAside(_) => None,
            };
            if let Some(text) = text
                && !self.read_back(scope, text, notes).await?
            {
                tries += 1;
                if tries > TRIES {
                    return Ok(Err(UserFileError::Changed(path.to_owned())));
                }
                continue;
            }
            faults::point("after:memory-read-back").await;
            let entries = self.remembered(std::slice::from_ref(scope)).await?;
            let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
            // A file with the same content in another format keeps the format of its author.
            if file::parse(text.unwrap_or_default()) == texts {
                return Ok(Ok(()));
            }
            let wanted = file::render(texts);
            let (expected, new) = (text.map(str::to_owned), wanted.clone());
            match blocking(path, move |path| write(path, expected.as_deref(), &new)).await {
                Ok(stamp) => {
                    self.memory.note_empty_file(scope, stamp.filter(|_| wanted.is_empty()));
                    faults::point("after:memory-written").await;
                    let mirror = MemoryMirror { scope: scope.to_string(), text: wanted };
                    self.note_mirror(mirror).await?;
                    return Ok(Ok(()));
                }
                // An editor was faster: read its changes first.
                Err(UserFileError::Changed(_)) if tries < TRIES => tries += 1,
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    /// Makes changes of what a person wrote into a file. `false` if the rows changed meanwhile.
    async fn read_back(
        &self,
        scope: &MemoryScope,
        text: &str,
        notes: &mut Vec<String>,
    ) -> Result<bool, StoreError> {
        let store = &self.shelf.store;
        let base = store.memory_mirror(&scope.to_string()).await?.map(|mirror| mirror.text);
        if base.as_deref() == Some(text) {
            return Ok(true);
        }
        let typed = file::parse(text);
        // Entry by entry: a mask must not reach over the sign between two of them.
        let masked: Vec<String> = typed.iter().map(|entry| file::tidy(&redact(entry))).collect();
        let entries = self.remembered(std::slice::from_ref(scope)).await?;
        let base = file::parse(&base.unwrap_or_default());
        let changes = merge(scope, &base, &masked, &entries, mint_entry);
        let flagged: Vec<String> = changes
            .iter()
            .filter_map(|change| change.after.as_deref())
            .filter_map(|text| Some(format!("\"{}\": {}", find::preview(text), flag(text)?)))
            .collect();
        let kept = MemoryMirror { scope: scope.to_string(), text: redact(text).into_owned() };
        let write = MemoryWrite {
            mirror: Some(kept.clone()),
            file_text: Some(kept),
            ..MemoryWrite::new(changes, MemoryOrigin::of(MemoryAuthor::File), now_ms())
        };
        if matches!(store.write_memory(write).await?, MemoryWriteResult::Stale { .. }) {
            return Ok(false);
        }
        if masked != typed {
            notes.push(format!("a secret in {} was masked", scope.file()));
        }
        let note = |what: String| {
            format!(
                "an entry of {} looks like planted instructions ({what}); check it with `talaria memory list`",
                scope.file()
            )
        };
        notes.extend(flagged.into_iter().map(note));
        Ok(true)
    }

    async fn note_mirror(&self, mirror: MemoryMirror) -> Result<(), StoreError> {
        let origin = MemoryOrigin::of(MemoryAuthor::File);
        let write = MemoryWrite { mirror: Some(mirror), ..MemoryWrite::new(Vec::new(), origin, now_ms()) };
        self.shelf.store.write_memory(write).await.map(drop)
    }
}

fn read(path: &Path) -> Result<MirrorFile, UserFileError> {
    match UserFile::read(path) {
        Ok(text) => Ok(text.map_or(MirrorFile::Missing, MirrorFile::Text)),
        Err(UserFileError::NotUtf8 { .. }) => set_aside(path).map(MirrorFile::SetAside),
        Err(error) => Err(error),
    }
}

/// Says whether a file was changed so recently that more may follow, unless the change is the one with this stamp. A time in
/// the future says nothing.
fn was_just_changed(path: &Path, own: Option<FileStamp>) -> bool {
    if own.is_some() && FileStamp::read(path).ok() == own {
        return false;
    }
    let modified = std::fs::metadata(path).and_then(|found| found.modified());
    let age = modified.ok().and_then(|modified| modified.elapsed().ok());
    age.is_some_and(|age| age < EDITOR_WRITES)
}

/// Renames a file within its directory, to an unused name.
fn set_aside(path: &Path) -> Result<PathBuf, UserFileError> {
    let failed = |source| UserFileError::Write { path: path.to_owned(), source };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".kept-{}", now_ms()));
    let kept = path.with_file_name(name);
    // A link fails where a rename would replace a file.
    std::fs::hard_link(path, &kept).map_err(failed)?;
    std::fs::remove_file(path).map_err(failed)?;
    Ok(kept)
}

fn write(path: &Path, expected: Option<&str>, new: &str) -> Result<Option<FileStamp>, UserFileError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    ensure_dir(directory).map_err(|error| UserFileError::Directory {
        path: directory.to_owned(),
        source: io::Error::other(error.to_string()),
    })?;
    let file = UserFile::lock(path)?;
    match file.text() == expected {
        true => file.exchange(new),
        false => Err(UserFileError::Changed(path.to_owned())),
    }
}

/// Runs a function on a file where it may wait.
async fn blocking<T: Send + 'static>(
    path: &Path,
    run: impl FnOnce(&Path) -> Result<T, UserFileError> + Send + 'static,
) -> Result<T, UserFileError> {
    let owned = path.to_owned();
    let ran = tokio::task::spawn_blocking(move || run(&owned)).await;
    ran.unwrap_or_else(|error| {
        Err(UserFileError::Read { path: path.to_owned(), source: io::Error::other(error.to_string()) })
    })
}
