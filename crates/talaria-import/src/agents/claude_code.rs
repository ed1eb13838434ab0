//! Claude Code: the user's instructions (`CLAUDE.md`), and what it noted about each project (`projects/NAME/memory/*.md`).
//!
//! The name of a project's directory is its path with everything but letters and digits made a dash, which cannot be
//! turned back. The conversations beside the memory name the path; only a path with the same name is believed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::source::{AgentMemory, Links, markdown_names};

/// The file that lists the others, and has notes of its own.
const INDEX: &str = "MEMORY.md";
/// How many conversations are asked for their directory, and how many bytes of each are read.
const MOST_CONVERSATIONS: usize = 20;
const LONGEST_START: u64 = 256 * 1024;

/// Reads a home.
pub(super) fn read(root: &Path) -> AgentMemory {
    let mut memory = AgentMemory::default();
    memory.read(root, "CLAUDE.md", "user", Links::Follow, |_| false);
    let projects = fs::read_dir(root.join("projects")).into_iter().flatten().flatten();
    let mut projects: Vec<String> =
        projects.filter_map(|project| project.file_name().into_string().ok()).collect();
    projects.sort();
    for project in projects {
        read_project(&mut memory, root, &project);
    }
    memory
}

fn read_project(memory: &mut AgentMemory, root: &Path, project: &str) {
    let directory = root.join("projects").join(project);
    let notes = directory.join("memory");
    let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    if !is_directory(&directory) || !is_directory(&notes) {
        return;
    }
    let names = markdown_names(&notes);
    if names.is_empty() {
        return;
    }
    let shown = format!("projects/{project}/memory");
    let Some(path) = project_path(&directory, project) else {
        return memory.leave(&shown, "it is not known which directory it is about");
    };
    if !Path::new(&path).is_dir() {
        return memory.leave(&shown, format!("the directory {path} is gone"));
    }
    let scope = format!("project:{path}");
    for name in &names {
        // A line of the index that only leads to a file which is read as well says nothing new.
        let leads_on = |line: &str| {
            name == INDEX && line.trim_start().starts_with(['-', '*']) && {
                let target = line.split_once("](").and_then(|(_, rest)| rest.split_once(')'));
                target.is_some_and(|(target, _)| names.iter().any(|known| known == target))
            }
        };
        memory.read(root, &format!("{shown}/{name}"), &scope, Links::Leave, leads_on);
    }
}

/// The directory of a project, from its conversations, or from its name if that can only mean one that exists.
fn project_path(directory: &Path, project: &str) -> Option<String> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_conversation = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|end| end == "jsonl")
            && path.symlink_metadata().is_ok_and(|found| found.is_file())
    };
    let mut conversations: Vec<_> = names.filter(is_conversation).collect();
    conversations.sort();
    let said = conversations.iter().take(MOST_CONVERSATIONS).find_map(|path| said_directory(path, project));
    said.or_else(|| {
        let plain = project.replace('-', "/");
        Path::new(&plain).is_dir().then_some(plain)
    })
}

/// The directory that a conversation names and that has this name.
fn said_directory(conversation: &Path, project: &str) -> Option<String> {
    let start = BufReader::new(File::open(conversation).ok()?.take(LONGEST_START));
    start.lines().map_while(Result::ok).find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(&line).ok()?;
        let path = line.get("cwd")?.as_str()?;
        (Path::new(path).is_absolute() && directory_name(path) == project).then(|| path.to_owned())
    })
}

/// How Claude Code names the directory of a project.
fn directory_name(path: &str) -> String {
    path.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}
