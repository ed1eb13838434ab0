//! The permit to write the input of a turn to Codex, as a file that exists from before the ledger says `sent` until
//! immediately before the write.
//!
//! Removing the file is the claim: only the engine that removed it may write. An engine that finds the file of a turn
//! whose stage is `sent` therefore knows that nothing was written, and may send it; where the file is missing, the
//! thread has to be read. The file survives `kill -9`, but a power cut may bring a removed one back, so it names the
//! boot and proves nothing in another one. Issued by the journal, redeemed by the writer of a connection.

use std::fs;
use std::io;
use std::path::PathBuf;

use talaria_home::boot;
use talaria_home::home::ensure_dir;

/// Issues the permits of one home.
#[derive(Clone, Debug)]
pub struct Permits {
    folder: PathBuf,
    /// Empty if the system does not name its boot: then nothing is ever proven.
    boot: String,
}

/// The permit to write one input. Dropping it changes nothing: the next engine may still send the input.
#[derive(Debug)]
pub struct SendPermit {
    file: PathBuf,
}

impl Permits {
    /// Keeps the permits in this folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, boot: boot::id() }
    }

    /// Issues the permit for an input, named by our own id for it. Call it before the stage `sent` is committed. `None`
    /// if the file cannot be written: then the input is sent without one, and a crash before the write is settled by
    /// reading.
    pub fn issue(&self, client_id: &str) -> Option<SendPermit> {
        let file = self.file(client_id)?;
        let written =
            ensure_dir(&self.folder).map_err(io::Error::other).and_then(|()| fs::write(&file, &self.boot));
        match written {
            Ok(()) => Some(SendPermit { file }),
            Err(error) => {
                tracing::warn!("cannot write {}: {error}", file.display());
                // Half a file proves nothing, but it must not stay in the way.
                let _ = fs::remove_file(&file);
                None
            }
        }
    }

    /// Returns whether this input was provably never written: only for a permit that was issued in this boot and never
    /// redeemed.
    pub fn is_unredeemed(&self, client_id: &str) -> bool {
        let read = self.file(client_id).and_then(|file| fs::read_to_string(file).ok());
        !self.boot.is_empty() && read.as_deref() == Some(self.boot.as_str())
    }

    /// Withdraws the permit of an input whose turn is over.
    pub fn withdraw(&self, client_id: &str) {
        if let Some(file) = self.file(client_id) {
            // Redeemed as a rule.
            let _ = fs::remove_file(file);
        }
    }

    /// Removes every permit except those of these inputs: leftovers of finished turns.
    pub fn keep_only(&self, client_ids: &[&str]) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_kept = entry.file_name().to_str().is_some_and(|name| client_ids.contains(&name));
            if !is_kept {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Ids are our own UUIDs; a name that could leave the folder gets no permit.
    fn file(&self, client_id: &str) -> Option<PathBuf> {
        let is_name = !client_id.is_empty()
            && client_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_name.then(|| self.folder.join(client_id))
    }
}

impl SendPermit {
    /// Claims the right to write, once. Call it immediately before the write; where it returns `false`, nothing may be
    /// written.
    pub(crate) fn redeem(self) -> bool {
        fs::remove_file(&self.file).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits() -> (tempfile::TempDir, Permits) {
        let folder = tempfile::tempdir().unwrap();
        let permits = Permits::new(folder.path().join("run/unwritten"));
        (folder, permits)
    }

    #[test]
    fn a_permit_is_redeemed_once_and_proves_something_until_then() {
        let (_folder, permits) = permits();
        assert!(!permits.is_unredeemed("a"));
        let (first, second) = (permits.issue("a").unwrap(), permits.issue("a").unwrap());
        assert!(permits.is_unredeemed("a"));
        assert!(first.redeem(), "the first to claim it writes");
        assert!(!permits.is_unredeemed("a"));
        assert!(!second.redeem(), "nobody else does");
    }

    #[test]
    fn a_permit_of_another_boot_proves_nothing() {
        let (_folder, permits) = permits();
        let earlier = Permits { boot: "another".to_owned(), ..permits.clone() };
        drop(earlier.issue("a").unwrap());
        assert!(earlier.is_unredeemed("a") && !permits.is_unredeemed("a"));
        let unnamed = Permits { boot: String::new(), ..permits };
        drop(unnamed.issue("b").unwrap());
        assert!(!unnamed.is_unredeemed("b"));
    }

    #[test]
    fn what_is_over_has_no_permit() {
        let (_folder, permits) = permits();
        for id in ["a", "b", "c"] {
            drop(permits.issue(id).unwrap());
        }
        permits.withdraw("a");
        permits.keep_only(&["c"]);
        assert_eq!(["a", "b", "c"].map(|id| permits.is_unredeemed(id)), [false, false, true]);
        assert!(permits.issue("../a").is_none() && permits.issue("").is_none());
    }
}
