//! The hard floor: operations that are refused in every mode and cannot be permitted by configuration.
//!
//! Owns the list and its words for people. Each entry must be precise: it matches certain catastrophes, and not
//! commands that merely look like one; unknown cases are decided elsewhere. Called by `rules`.

mod bomb;
mod disk;
mod everything;
mod leak;
mod paths;
mod permissions;
mod processes;
mod remove;
mod secrets;
mod send;
mod tokens;

use std::fmt;

use super::scene::Scene;
use crate::shell::Word;

/// Something that is never let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Floor {
    /// Removing the system or a home directory.
    RemoveSystem,
    /// Formatting a disk or writing over it.
    WipeDisk,
    /// A function that multiplies itself.
    ForkBomb,
    /// Sending keys or passwords away.
    LeakCredentials,
    /// Changing who may do what in the whole system.
    ChangePermissions,
    /// Ending every process.
    KillEverything,
}

impl Floor {
    /// Every entry.
    pub const ALL: [Self; 6] = [
        Self::RemoveSystem,
        Self::WipeDisk,
        Self::ForkBomb,
        Self::LeakCredentials,
        Self::ChangePermissions,
        Self::KillEverything,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RemoveSystem => "remove-system",
            Self::WipeDisk => "wipe-disk",
            Self::ForkBomb => "fork-bomb",
            Self::LeakCredentials => "leak-credentials",
            Self::ChangePermissions => "change-permissions",
            Self::KillEverything => "kill-everything",
        }
    }

    /// Its effect, as text for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::RemoveSystem => "it would remove the system or a home directory",
            Self::WipeDisk => "it would format a disk or write over it",
            Self::ForkBomb => "it would start processes without end",
            Self::LeakCredentials => "it would send keys or passwords over the network",
            Self::ChangePermissions => "it would change the permissions of the whole system",
            Self::KillEverything => "it would end every process",
        }
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Says what of the floor a line would break, if anything.
pub(super) fn hit(scene: &Scene<'_>) -> Option<Floor> {
    for index in 0..scene.line.commands.len() {
        if disk::is_redirected_to(scene, index) {
            return Some(Floor::WipeDisk);
        }
        for words in scene.readings(index) {
            let Some(name) = program(words) else { continue };
            let call = Call { scene, index, name: &name, words };
            let found = if remove::hits(&call) {
                Some(Floor::RemoveSystem)
            } else if disk::hits(&call) {
                Some(Floor::WipeDisk)
            } else if permissions::hits(&call) {
                Some(Floor::ChangePermissions)
            } else if processes::hits(&call) {
                Some(Floor::KillEverything)
            } else {
                None
            };
            if found.is_some() {
                return found;
            }
        }
    }
    if bomb::hits(scene.line) {
        return Some(Floor::ForkBomb);
    }
    leak::hits(scene).then_some(Floor::LeakCredentials)
}

/// Does the path name something that must not leave the machine?
pub(super) fn is_secret_path(path: &str) -> bool {
    secrets::is_secret(path)
}

/// A program with its words, as one entry of the floor looks at it.
struct Call<'a> {
    scene: &'a Scene<'a>,
    index: usize,
    /// The program without its directory.
    name: &'a str,
    words: &'a [Word],
}

impl Call<'_> {
    /// The arguments.
    fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The arguments that are no options; after `--` all are.
    fn operands(&self) -> Vec<&Word> {
        let end = self.arguments().iter().position(|word| word.is("--")).unwrap_or(usize::MAX);
        let is_operand = |(index, word): &(usize, &Word)| *index > end || !word.start().starts_with('-');
        self.arguments().iter().enumerate().filter(is_operand).map(|(_, word)| word).collect()
    }

    /// Is one of these letters or long options among the arguments?
    fn has_option(&self, letters: &str, long: &[&str]) -> bool {
        self.arguments().iter().take_while(|word| !word.is("--")).any(|word| {
            let text = word.start();
            match text.strip_prefix("--") {
                // Many programs accept the beginning of a name, if it is long enough to be one.
                Some(name) => name.len() > 2 && long.iter().any(|long| long.starts_with(name)),
                None => {
                    text.strip_prefix('-').is_some_and(|cluster| cluster.contains(|c| letters.contains(c)))
                }
            }
        })
    }

    fn path(&self, word: &Word) -> String {
        self.scene.path(self.index, word)
    }
}

/// The name of the program without its directory and in lower case, if it is known.
pub(in crate::rules) fn program(words: &[Word]) -> Option<String> {
    let text = words.first()?.text()?;
    Some(text.rsplit('/').next().unwrap_or(text).to_ascii_lowercase())
}
