//! What the file tools may touch: freely, with a person's consent, or never. Pure: paths in, a judgement out.
//!
//! The sandbox holds commands; the file tools run outside of it and are held here to the same bounds. Paths are real
//! ones: links were followed. Where the paths of a sandbox lie is decided by `talaria_core::bounds`, what is secret by the
//! hard floor.

use std::path::{Path, PathBuf};

use talaria_core::bounds::{Confinement, locate};
use talaria_guard::place::Place;
use talaria_guard::rules::is_secret_path;

use super::path::{FileKind, ResolvedPath};

/// What bounds the file tools of a conversation.
#[derive(Clone, Debug)]
pub struct FileBounds {
    /// The sandbox of its commands; its roots are real paths.
    pub confinement: Confinement,
    /// Talaria's own directory.
    pub talaria: PathBuf,
    /// Directories below it in which conversations work, such as worktrees.
    pub workplaces: Vec<PathBuf>,
}

/// What a file tool may do with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePermission {
    /// It may.
    Free,
    /// A person decides, for this reason.
    Ask(String),
    /// It may not, even with consent.
    Refuse(String),
}

/// May a tool read this?
pub fn judge_read(bounds: &FileBounds, path: &ResolvedPath) -> FilePermission {
    if let Some(refusal) = refuse_special(path).or_else(|| refuse_own(bounds, path)) {
        return refusal;
    }
    match is_secret(path) && bounds.confinement != Confinement::Missing {
        true => FilePermission::Ask(format!("{} holds keys or passwords", path.real.display())),
        false => FilePermission::Free,
    }
}

/// May a tool change or create this?
pub fn judge_write(bounds: &FileBounds, path: &ResolvedPath) -> FilePermission {
    let shown = path.real.display();
    if path.kind == FileKind::Directory {
        return FilePermission::Refuse(format!("{shown} is a directory"));
    }
    if let Some(refusal) = refuse_special(path).or_else(|| refuse_own(bounds, path)) {
        return refusal;
    }
    let roots = match &bounds.confinement {
        Confinement::Missing => return FilePermission::Free,
        Confinement::ReadOnly => return FilePermission::Ask("the sandbox is read-only".to_owned()),
        Confinement::Unknown => return FilePermission::Ask("the sandbox in force is not known".to_owned()),
        Confinement::Workspace { roots } => roots,
    };
    if is_secret(path) {
        return FilePermission::Ask(format!("{shown} holds keys or passwords"));
    }
    match locate(&path.real, roots) {
        Place::Inside => FilePermission::Free,
        _ if path.named != path.real => FilePermission::Ask(format!(
            "{} leads to {shown}, outside of the workspace",
            path.named.display()
        )),
        _ => FilePermission::Ask(format!("{shown} is outside of the workspace, or protected in it")),
    }
}

/// Reading a device or a pipe may never end, or consume what belongs to another program.
fn refuse_special(path: &ResolvedPath) -> Option<FilePermission> {
    let FileKind::Special(what) = path.kind else { return None };
    Some(FilePermission::Refuse(format!("{} is {what}, not a file", path.real.display())))
}

/// Talaria's own files hold keys, transcripts and the answers of people.
fn refuse_own(bounds: &FileBounds, path: &ResolvedPath) -> Option<FilePermission> {
    let is_below = |directory: &PathBuf| path.real.starts_with(directory);
    (is_below(&bounds.talaria) && !bounds.workplaces.iter().any(is_below))
        .then(|| FilePermission::Refuse(format!("{} belongs to Talaria itself", path.real.display())))
}

fn is_secret(path: &ResolvedPath) -> bool {
    let is_secret = |path: &Path| is_secret_path(&path.to_string_lossy());
    is_secret(&path.real) || is_secret(&path.named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(confinement: Confinement) -> FileBounds {
        FileBounds {
            confinement,
            talaria: PathBuf::from("/home/a/.talaria"),
            workplaces: vec![PathBuf::from("/home/a/.talaria/worktrees")],
        }
    }

    fn workspace() -> FileBounds {
        bounds(Confinement::Workspace {
            roots: vec![PathBuf::from("/w"), "/home/a/.talaria/worktrees/1".into()],
        })
    }

    fn file(path: &str) -> ResolvedPath {
        ResolvedPath { named: path.into(), real: path.into(), kind: FileKind::Regular }
    }

    fn word(permission: &FilePermission) -> &'static str {
        match permission {
            FilePermission::Free => "free",
            FilePermission::Ask(_) => "ask",
            FilePermission::Refuse(_) => "refuse",
        }
    }

    #[test]
    fn writing_is_free_inside_the_workspace_alone() {
        let write = |path: &str| judge_write(&workspace(), &file(path));
        for (path, expected) in [
            ("/w/src/a.rs", "free"),
            ("/home/a/.talaria/worktrees/1/x", "free"),
            ("/w/.git/config", "ask"),
            ("/w", "ask"),
            ("/etc/hosts", "ask"),
            ("/wide/x", "ask"),
            ("/w/.npmrc", "ask"),
            ("/home/a/.talaria/config.toml", "refuse"),
            ("/home/a/.talaria/commands/x/spec.json", "refuse"),
        ] {
            assert_eq!(word(&write(path)), expected, "{path}");
        }
        assert_eq!(word(&judge_write(&bounds(Confinement::ReadOnly), &file("/w/a"))), "ask");
        assert_eq!(word(&judge_write(&bounds(Confinement::Unknown), &file("/w/a"))), "ask");
        let free = bounds(Confinement::Missing);
        assert_eq!(word(&judge_write(&free, &file("/etc/hosts"))), "free");
        assert_eq!(word(&judge_write(&free, &file("/home/a/.talaria/key"))), "refuse");
    }

    #[test]
    fn a_link_that_leads_out_is_asked_about_with_its_target() {
        let link = ResolvedPath { named: "/w/x".into(), real: "/etc/passwd".into(), kind: FileKind::Regular };
        let expected = "/w/x leads to /etc/passwd, outside of the workspace";
        assert_eq!(judge_write(&workspace(), &link), FilePermission::Ask(expected.to_owned()));
        let hidden = ResolvedPath { named: "/w/id_rsa".into(), real: "/w/x".into(), kind: FileKind::Regular };
        assert_eq!(word(&judge_read(&workspace(), &hidden)), "ask");
    }

    #[test]
    fn reading_is_free_but_for_secrets_and_what_is_no_file() {
        let read = |path: &str| judge_read(&workspace(), &file(path));
        for (path, expected) in [
            ("/etc/hosts", "free"),
            ("/home/a/.ssh/id_ed25519", "ask"),
            ("/home/a/.aws/credentials", "ask"),
            ("/proc/1/environ", "ask"),
            ("/home/a/.talaria/talaria.db", "refuse"),
        ] {
            assert_eq!(word(&read(path)), expected, "{path}");
        }
        let device = ResolvedPath { kind: FileKind::Special("a device"), ..file("/dev/zero") };
        let refusal = FilePermission::Refuse("/dev/zero is a device, not a file".to_owned());
        assert_eq!(judge_read(&workspace(), &device), refusal);
        assert_eq!(judge_write(&bounds(Confinement::Missing), &device), refusal);
    }
}
