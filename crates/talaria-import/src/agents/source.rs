//! Where an agent keeps its files, and how one of them is read: whole, as text, and only if it is one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;
use talaria_core::api::{AgentProgram, MemoryImportFile};

use super::AgentError;
use super::markdown::{DividedText, divide};
use crate::plain_file;

/// The longest file, in bytes.
const LONGEST: u64 = 256 * 1024;
/// The most files of one agent.
const MOST: usize = 1_000;

/// The home of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentHome {
    /// Whose it is.
    pub program: AgentProgram,
    /// The directory.
    pub root: PathBuf,
}

/// What an agent remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentMemory {
    /// What can be imported.
    pub files: Vec<MemoryImportFile>,
    /// What stays where it is.
    pub left: Vec<LeftFile>,
}

/// A file that is not imported, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftFile {
    /// Its path in the agent's home.
    pub path: String,
    /// Why.
    pub why: String,
}

impl AgentHome {
    /// Takes the directory that was named, else that of the agent's own variable, else the usual one in `HOME`.
    pub fn resolve(
        program: AgentProgram,
        named: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, AgentError> {
        let (own, usual) = match program {
            AgentProgram::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude"),
            AgentProgram::Codex => ("CODEX_HOME", ".codex"),
        };
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = named.map(Path::to_owned).or_else(|| set(own));
        let root = root.or_else(|| Some(set("HOME")?.join(usual))).ok_or(AgentError::Unset(program))?;
        match root.canonicalize() {
            Ok(root) if root.is_dir() => Ok(Self { program, root }),
            _ => Err(AgentError::NoHome(program, root)),
        }
    }
}

/// Whether a link in the place of a file is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    Leave,
}

impl AgentMemory {
    pub(super) fn leave(&mut self, path: &str, why: impl Into<String>) {
        self.left.push(LeftFile { path: path.to_owned(), why: why.into() });
    }

    /// Reads a file into entries of a scope. `skips` says which lines are no memory. A file that does not exist is nothing.
    pub(super) fn read(
        &mut self,
        root: &Path,
        name: &str,
        scope: &str,
        links: Links,
        skips: impl Fn(&str) -> bool,
    ) {
        let path = root.join(name);
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.leave(name, format!("it cannot be read: {error}")),
        };
        let path = match (found.is_symlink(), links) {
            (false, _) => path,
            // A user's own file is often a link into a repository of settings.
            (true, Links::Follow) => match path.canonicalize() {
                Ok(target) if target.extension().is_some_and(|end| end == "md") => target,
                _ => return self.leave(name, "it is a link to something that is no Markdown file"),
            },
            (true, Links::Leave) => return self.leave(name, "it is a link"),
        };
        if self.files.len() >= MOST {
            return self.leave(name, format!("there are more than {MOST} files"));
        }
        let text = match plain_file::read(&path, LONGEST) {
            Ok(bytes) if bytes.len() as u64 > LONGEST => {
                return self.leave(name, format!("it is longer than {} KiB", LONGEST / 1024));
            }
            Ok(bytes) => String::from_utf8(bytes),
            Err(error) => return self.leave(name, format!("it cannot be read: {error}")),
        };
        let Ok(text) = text else { return self.leave(name, "it is not valid UTF-8") };
        let DividedText { texts, references } = divide(&text, skips);
        if references > 0 {
            self.leave(name, format!("its {references} references to other files (@…) are not followed"));
        }
        if !texts.is_empty() {
            self.files.push(MemoryImportFile { name: name.to_owned(), scope: scope.to_owned(), texts });
        }
    }
}

/// The names in a directory that end with `.md`, in order. A directory that cannot be read is empty.
pub(super) fn markdown_names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort();
    names
}
