//! Reads the folders with skills. Blocks, so never called by an actor itself.
//!
//! The folders may come from anywhere, so everything is bounded: depth, number of folders and entries, bytes of a file. A link
//! that leads out of its folder is not followed, and a file that is no skill is left out; both are said.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;
use talaria_core::skill::SKILL_FILE;
use talaria_core::skill::manifest::{self, LONGEST_FRONT_MATTER};
use talaria_core::skill::name::is_listable;

use super::{SkillPlace, SkillRoot};

/// As deep as Codex looks.
const DEEPEST: usize = 6;
/// As many folders as Codex reads of a root.
const MOST_FOLDERS: usize = 2_000;
/// As many entries as Codex reads of a root.
const MOST_ENTRIES: usize = 20_000;
/// Maximum number of notes; further ones are only counted.
const MOST_NOTES: usize = 20;

/// An installed skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundSkill {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Without links.
    pub(crate) folder: PathBuf,
    pub(crate) place: SkillPlace,
    /// When its `SKILL.md` was changed last, in milliseconds.
    pub(crate) changed_at: Option<i64>,
}

/// The skills of some roots.
#[derive(Debug, Default)]
pub(crate) struct SkillLibrary {
    /// By name; of two with the same name the first counts.
    pub(crate) skills: Vec<FoundSkill>,
    /// Skipped folders, with reasons.
    pub(crate) notes: Vec<String>,
}

impl SkillLibrary {
    /// Reads roots. One that does not exist has no skills.
    pub(crate) fn read(roots: &[SkillRoot]) -> Self {
        let mut library = Self::default();
        for root in roots {
            let mut walk = RootWalk { root, folders: 0, entries: 0, is_full: false, library: &mut library };
            walk.enter(&root.path, 0);
            if walk.is_full {
                let path = root.path.display();
                library.notes.push(format!(
                    "{path} has more than {MOST_FOLDERS} folders or {MOST_ENTRIES} entries; the rest is left out"
                ));
            }
        }
        // The sort is stable: of two skills with the same name the one in the nearer root is first.
        library.skills.sort_by(|a, b| a.name.cmp(&b.name));
        let more = library.notes.len().saturating_sub(MOST_NOTES);
        if more > 0 {
            library.notes.truncate(MOST_NOTES);
            library.notes.push(format!("and {more} more are left out"));
        }
        library
    }

    /// The skill that a name means.
    pub(crate) fn find(&self, name: &str) -> Option<&FoundSkill> {
        self.skills.iter().find(|skill| skill.name == name)
    }
}

/// Result of an attempt to read a `SKILL.md`.
enum ManifestRead {
    /// There is none.
    Missing,
    Text {
        text: String,
        changed_at: Option<i64>,
    },
    /// There is one, but it cannot be used.
    Unusable(String),
}

struct RootWalk<'a> {
    root: &'a SkillRoot,
    folders: usize,
    entries: usize,
    is_full: bool,
    library: &'a mut SkillLibrary,
}

impl RootWalk<'_> {
    /// Reads a folder: it is a skill, or it may have some below it.
    fn enter(&mut self, folder: &Path, depth: usize) {
        self.folders += 1;
        if self.folders > MOST_FOLDERS {
            self.is_full = true;
            return;
        }
        match read_manifest(&folder.join(SKILL_FILE)) {
            ManifestRead::Missing => self.descend(folder, depth),
            ManifestRead::Text { text, changed_at } => self.add(folder, &text, changed_at),
            ManifestRead::Unusable(why) => self.leave_out(folder, &why),
        }
    }

    fn descend(&mut self, folder: &Path, depth: usize) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                self.library.notes.push(format!("{} cannot be read: {error}", folder.display()));
                return;
            }
        };
        let mut below = Vec::new();
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                self.is_full = true;
                break;
            }
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.file_type() {
                _ if is_hidden => {}
                Ok(kind) if kind.is_dir() => below.push(entry.path()),
                Ok(kind) if kind.is_symlink() => self.pass_link(&entry.path()),
                _ => {}
            }
        }
        below.sort();
        for folder in below {
            match depth < DEEPEST {
                true => self.enter(&folder, depth + 1),
                false => self.leave_out(&folder, "it is too deep"),
            }
        }
    }

    /// A link inside the root leads to what is found anyway. One that leads out might lead to anything.
    fn pass_link(&mut self, link: &Path) {
        let leads_out = fs::canonicalize(link).is_ok_and(|target| !target.starts_with(&self.root.path));
        if leads_out {
            self.leave_out(link, "it is a link that leads out of the folder with skills");
        }
    }

    fn add(&mut self, folder: &Path, text: &str, changed_at: Option<i64>) {
        let own = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = match manifest::parse(text) {
            Ok(manifest) => manifest,
            Err(why) => return self.leave_out(folder, &why.to_string()),
        };
        let name = manifest.name.unwrap_or(own);
        match is_listable(&name) {
            true => self.library.skills.push(FoundSkill {
                name,
                description: manifest.description,
                folder: folder.to_owned(),
                place: self.root.place,
                changed_at,
            }),
            false => self.leave_out(folder, "its name is too long, or no name"),
        }
    }

    fn leave_out(&mut self, folder: &Path, why: &str) {
        self.library.notes.push(format!("{} is left out: {why}", folder.display()));
    }
}

/// Reads the beginning of a file that is no link, no pipe and text.
fn read_manifest(path: &Path) -> ManifestRead {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) => match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, _) => return ManifestRead::Missing,
            (_, Some(code)) if code == rustix::io::Errno::LOOP.raw_os_error() => {
                return ManifestRead::Unusable("its SKILL.md is a link".to_owned());
            }
            _ => return ManifestRead::Unusable(format!("its SKILL.md cannot be read: {error}")),
        },
    };
    let about = file.metadata();
    if !about.as_ref().is_ok_and(fs::Metadata::is_file) {
        return ManifestRead::Unusable("its SKILL.md is no file".to_owned());
    }
    let since_epoch = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok();
    let changed = about.and_then(|about| about.modified()).ok().and_then(since_epoch);
    let changed_at = changed.and_then(|since| i64::try_from(since.as_millis()).ok());
    let mut bytes = Vec::new();
    let most = LONGEST_FRONT_MATTER as u64 + 64;
    if let Err(error) = file.take(most).read_to_end(&mut bytes) {
        return ManifestRead::Unusable(format!("its SKILL.md cannot be read: {error}"));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => ManifestRead::Text { text: text.to_owned(), changed_at },
        // Only the last character was cut.
        Err(error) if error.error_len().is_none() && bytes.len() as u64 == most => {
            bytes.truncate(error.valid_up_to());
            ManifestRead::Text { text: String::from_utf8_lossy(&bytes).into_owned(), changed_at }
        }
        Err(_) => ManifestRead::Unusable("its SKILL.md is not UTF-8 text".to_owned()),
    }
}

#[cfg(test)]
mod tests;
