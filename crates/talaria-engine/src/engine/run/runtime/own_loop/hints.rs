//! Instructions of a project in a directory that the model enters during its work (PRM-07, TEX-01): the result of the first
//! call there carries them, once.
//!
//! What a conversation has already is read from its history: a later engine repeats nothing, and what was compacted away
//! comes again. The working directory and everything above it belong to the system prompt.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use talaria_agent::history::{LogEntry, LogItem, LogPart, in_force};
use talaria_guard::redact::redact;
use talaria_tools::call::MachineCall;

use super::prompt::PROJECT_FILES;

/// How a hint begins; no tool writes a part of its own that does.
const BEGINNING: &str = "Project instructions from ";
/// The longest hint, and all hints of one result, in characters.
const LONGEST_HINT: usize = 8_000;
const LONGEST_HINTS: usize = 16_000;
/// Directories whose files come from elsewhere.
const FOREIGN: [&str; 3] = [".git", "node_modules", "vendor"];

/// Which instructions a conversation has.
pub(super) struct ProjectHints {
    cwd: PathBuf,
    known: Mutex<BTreeSet<PathBuf>>,
}

impl ProjectHints {
    /// Reads from the history which instructions were brought by results.
    pub(super) fn new(cwd: &Path, entries: &[LogEntry]) -> Self {
        let parts = in_force(entries).into_iter().filter_map(|entry| match &entry.item {
            LogItem::Result { parts, .. } => parts.get(1..),
            _ => None,
        });
        let known = parts.flatten().filter_map(hinted_path).collect();
        let cwd = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        Self { cwd, known: Mutex::new(known) }
    }

    /// The instructions for a path that a call touched, as parts of its result: one for each file that the
    /// conversation does not have.
    pub(super) fn take(&self, path: &Path) -> Vec<LogPart> {
        let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
        let Some(directory) = (if path.is_dir() { Some(path.as_path()) } else { path.parent() }) else {
            return Vec::new();
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut parts, mut length) = (Vec::new(), 0);
        for directory in self.entered(directory).into_iter().rev() {
            let Some((file, content)) = instructions(directory) else { continue };
            if known.contains(&file) || length > LONGEST_HINTS {
                continue;
            }
            let text = hint(&file, directory, &content);
            length += text.chars().count();
            parts.push(LogPart::text(text));
            known.insert(file);
        }
        parts
    }

    /// A directory and those above it, up to the working directory or the root of its repository.
    fn entered<'a>(&self, directory: &'a Path) -> Vec<&'a Path> {
        if directory.iter().any(|part| FOREIGN.iter().any(|foreign| part == *foreign)) {
            return Vec::new();
        }
        let mut entered: Vec<&Path> =
            directory.ancestors().take_while(|directory| !self.cwd.starts_with(directory)).collect();
        if let Some(root) = entered.iter().position(|directory| directory.join(".git").exists()) {
            entered.truncate(root + 1);
        } else if !directory.starts_with(&self.cwd) {
            // Without a repository only the directory itself is the project.
            entered.truncate(1);
        }
        entered
    }
}

/// The path that a call names; none for calls that touch no directory of their own.
pub(super) fn touched_path(call: &MachineCall) -> Option<&str> {
    match call {
        MachineCall::Run { cwd: path, .. } | MachineCall::Search { path, .. } => path.as_deref(),
        MachineCall::Read { path, .. }
        | MachineCall::Edit { path, .. }
        | MachineCall::Write { path, .. }
        | MachineCall::ViewImage { path } => Some(path),
        MachineCall::Poll { .. } | MachineCall::Input { .. } | MachineCall::Kill { .. } => None,
    }
}

/// The file with the instructions of a directory. A link is not followed: it could name any file of the user.
fn instructions(directory: &Path) -> Option<(PathBuf, String)> {
    PROJECT_FILES.iter().find_map(|name| {
        let path = directory.join(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_file());
        let content = if is_file { fs::read_to_string(&path).ok()? } else { return None };
        (!content.trim().is_empty()).then_some((path, content))
    })
}

fn hint(file: &Path, directory: &Path, content: &str) -> String {
    let content = redact(content.trim());
    let (content, cut) = match content.char_indices().nth(LONGEST_HINT) {
        Some((at, _)) => (&content[..at], "\n[cut: read the file for the rest]"),
        None => (content.as_ref(), ""),
    };
    format!(
        "\n\n{BEGINNING}{}\nThey hold for the files below {}. They are a text of the project, not words of the user.\n\n\
         {content}{cut}",
        file.display(),
        directory.display()
    )
}

/// The file of a part that brought instructions.
fn hinted_path(part: &LogPart) -> Option<PathBuf> {
    let LogPart::Text { text } = part else { return None };
    let first = text.trim_start().lines().next()?;
    first.strip_prefix(BEGINNING).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use talaria_agent::history::{CallDisposition, CallId, plain_text};

    use super::*;

    fn text(parts: Vec<LogPart>) -> String {
        plain_text(&parts)
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        for directory in ["work/inner/deep", "work/node_modules/x", "other/src", "plain"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::write(root.join("work/AGENTS.md"), "of the working directory").unwrap();
        fs::write(root.join("work/inner/AGENTS.md"), "of the inner directory").unwrap();
        fs::write(root.join("work/inner/deep/CLAUDE.md"), "of the deep directory").unwrap();
        fs::write(root.join("work/node_modules/x/AGENTS.md"), "of a package").unwrap();
        fs::create_dir(root.join("other/.git")).unwrap();
        fs::write(root.join("other/AGENTS.md"), "of another project").unwrap();
        (place, root)
    }

    #[test]
    fn a_directory_brings_its_instructions_once_and_the_nearest_last() {
        let (_place, root) = place();
        let hints = ProjectHints::new(&root.join("work"), &[]);
        let first = text(hints.take(&root.join("work/inner/deep")));
        assert!(first.find("of the inner").unwrap() < first.find("of the deep").unwrap(), "{first}");
        assert!(!first.contains("of the working directory"), "the system prompt has it: {first}");
        assert!(
            hints.take(&root.join("work/inner/deep/CLAUDE.md")).is_empty()
                && hints.take(&root.join("work")).is_empty()
        );
        assert!(text(hints.take(&root.join("other/src"))).contains("of another project"));
        assert!(
            hints.take(&root.join("work/node_modules/x")).is_empty()
                && hints.take(&root.join("plain")).is_empty()
        );
    }

    #[test]
    fn what_the_history_has_is_not_repeated() {
        let (_place, root) = place();
        let part = ProjectHints::new(&root.join("work"), &[]).take(&root.join("work/inner")).remove(0);
        let result = |parts| {
            LogEntry::own(
                0,
                LogItem::Result { call: CallId::new("c"), disposition: CallDisposition::Done, parts },
            )
        };
        let entries = [result(vec![LogPart::text("the result"), part.clone()])];
        assert!(ProjectHints::new(&root.join("work"), &entries).take(&root.join("work/inner")).is_empty());
        let forged = [result(vec![part])];
        let hints = ProjectHints::new(&root.join("work"), &forged);
        assert!(!hints.take(&root.join("work/inner")).is_empty(), "a tool's own text hides nothing");
    }

    #[test]
    fn a_link_is_not_followed_and_a_long_text_is_cut() {
        let (_place, root) = place();
        fs::write(root.join("secret"), "of the user").unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("plain/AGENTS.md")).unwrap();
        let hints = ProjectHints::new(&root.join("work"), &[]);
        assert!(hints.take(&root.join("plain")).is_empty());
        fs::write(root.join("work/inner/AGENTS.md"), "x".repeat(20_000)).unwrap();
        let long = text(hints.take(&root.join("work/inner")));
        assert!(long.len() < 9_000 && long.ends_with("[cut: read the file for the rest]"), "{}", long.len());
    }
}
