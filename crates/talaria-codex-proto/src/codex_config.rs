//! Codex's own `config.toml`, as text: Talaria's additions to it, and their removal.
//!
//! Pure: text in, text out; `talaria migrate` reads, shows, checks and writes the file. The additions are in one block
//! between two comment lines. It is found again by the record of the additions ([`Added`]) even if those lines were
//! removed or entries were moved, and by the lines if the record is lost. Foreign text is never changed, not by a
//! byte, and never lost: a user's own entry of the same name wins, an entry of ours that was changed since belongs to
//! the user from then on, and text that others wrote between the lines stays in the file, outside of the block.

mod below;
mod digest;
mod markers;
mod place;
mod rebuild;
mod splice;
mod survey;
mod write;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use place::EntryPlace;
use rebuild::{Wanted, rebuild};
use talaria_core::config::{ConfigProblem, read};
use talaria_core::servers::CodexServer;

/// Talaria's entries for Codex's configuration. Of two with the same name the first counts.
#[derive(Debug, Clone, Default)]
pub struct Additions {
    /// MCP servers by name.
    pub servers: Vec<(String, CodexServer)>,
    /// Plugins to switch on, each as `name@marketplace`.
    pub plugins: Vec<String>,
    /// The permission profile for threads that ask for none.
    pub default_permissions: Option<String>,
    /// Earlier entries that are missing above only because they could not be read: they are unchanged.
    pub undecided: Vec<Undecided>,
}

/// Entries that may still be needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undecided {
    /// This server.
    Server(String),
    /// All servers.
    Servers,
    /// All plugins.
    Plugins,
}

impl Undecided {
    fn covers(&self, place: &EntryPlace) -> bool {
        match (self, place) {
            (Self::Server(name), EntryPlace::Server(other)) => name == other,
            (Self::Servers, EntryPlace::Server(_)) | (Self::Plugins, EntryPlace::Plugin(_)) => true,
            _ => false,
        }
    }
}

/// Talaria's entries, by structure. Without the values: a digest of each is enough to recognise it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    entries: Vec<AddedEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AddedEntry {
    place: EntryPlace,
    digest: String,
}

impl Added {
    /// Where the entries are.
    pub fn places(&self) -> impl Iterator<Item = &EntryPlace> {
        self.entries.iter().map(|entry| &entry.place)
    }

    /// Returns whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The places at which `new` says something else.
    pub fn changed_by<'a>(&'a self, new: &'a Self) -> impl Iterator<Item = &'a EntryPlace> {
        let now = new.record();
        let is_other =
            move |entry: &&AddedEntry| now.get(&entry.place).is_some_and(|digest| *digest != entry.digest);
        self.entries.iter().filter(is_other).map(|entry| &entry.place)
    }

    /// The same without what is elsewhere.
    pub fn only(mut self, is_meant: impl Fn(&EntryPlace) -> bool) -> Self {
        self.entries.retain(|entry| is_meant(&entry.place));
        self
    }

    fn record(&self) -> Record<'_> {
        self.entries.iter().map(|entry| (&entry.place, entry.digest.as_str())).collect()
    }
}

/// The digest of what was written to each place.
type Record<'a> = HashMap<&'a EntryPlace, &'a str>;

/// An entry that is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UsersOwn {
    /// Where it is.
    pub path: EntryPlace,
    /// Why it is the user's.
    pub why: Why,
}

/// Why an entry is the user's and not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Talaria never wrote it.
    Own,
    /// Talaria wrote it, and it was changed since.
    ChangedSince,
}

/// A key of the user's that was below the end marker, and so in a table of ours. It is not moved and belongs to the
/// table above it then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Freed {
    /// The key, as it is written.
    pub key: String,
    /// The entry of which TOML made it a part.
    pub from: EntryPlace,
}

/// What [`plan`] would make of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The new text; the old one if there is nothing to do.
    pub text: String,
    /// Our entries in it, for the record.
    pub added: Added,
    /// Entries not written because the user's own of the same name wins, and entries that were changed since we
    /// wrote them.
    pub kept: Vec<UsersOwn>,
    /// Entries of a Talaria with another record in the block; they are kept.
    pub others: Vec<EntryPlace>,
    /// Earlier entries that are kept because it is unknown whether they are still needed.
    pub undecided: Vec<EntryPlace>,
    /// The user's keys that were in a table of ours and are no longer.
    pub freed: Vec<Freed>,
}

/// What [`remove`] would make of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The new text; the old one if nothing of ours is in it.
    pub text: String,
    /// Entries that were changed since we wrote them, and are kept.
    pub left: Vec<UsersOwn>,
    /// The user's keys that were in a table of ours and are no longer.
    pub freed: Vec<Freed>,
}

/// Plans the text that has the additions, and nothing else of what was added before. Planning again for the
/// planned text changes nothing. Without a record the block is known by its two lines.
pub fn plan(current: &str, additions: &Additions, before: Option<&Added>) -> Result<Planned, ConfigProblem> {
    let before = before.unwrap_or(const { &Added { entries: Vec::new() } });
    rebuild(current, &Wanted::all(additions), &additions.undecided, before)
}

/// Plans the text without what was added. Undoes [`plan`] byte for byte if no one else wrote to the file since.
pub fn remove(current: &str, added: &Added) -> Result<Removed, ConfigProblem> {
    let Planned { text, kept: left, freed, .. } = rebuild(current, &[], &[], added)?;
    Ok(Removed { text, left, freed })
}

/// A Talaria's entries in this text, as far as the two marker lines show; used when the record is lost.
pub fn written_in(current: &str) -> Result<Added, ConfigProblem> {
    rebuild::sealed(current)
}

/// Reports where and why a text that was made of an old one is not TOML; an error in the old one is reported with its line
/// there. Planning does not check its own result, which would take longer than all the rest, and does not validate unused
/// values, such as the size of a number: the code that replaces the file calls this, and asks Codex.
pub fn check(old: &str, new: &str) -> Result<(), ConfigProblem> {
    read(new).map(drop).map_err(|problem| read(old).err().unwrap_or(problem))
}

#[cfg(test)]
mod tests;
