//! Where something that is accepted will happen: inside the sandbox, outside it, or undecidable.
//!
//! A request does not say. This module derives it before the answer from the sandbox and the policy in force, the
//! observed behaviour of the runtime, and the permissions that the model requested for its call. A decision about a
//! request uses this first; an automatic acceptance requires `Inside`.

use std::path::{Component, Path, PathBuf};

use talaria_guard::place::Place;

use crate::policy::ApprovalPolicy;
use crate::subject::{CommandSubject, CommandUse, Subject};

/// The limits of a conversation: its sandbox, its approval policy, and how strictly its runtime enforces both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Its sandbox.
    pub sandbox: Confinement,
    /// When it asks; `None` is a policy that this build does not know.
    pub policy: Option<ApprovalPolicy>,
    /// An accepted command that fails in the sandbox is not run again outside it.
    pub keeps_failures_inside: bool,
    /// A patch does not follow a link out of the workspace.
    pub follows_no_links: bool,
}

/// A sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// There is none.
    Missing,
    /// Nothing may be written.
    ReadOnly,
    /// Only these directories may be written.
    Workspace {
        /// The directories.
        roots: Vec<PathBuf>,
    },
    /// One that this build does not know.
    Unknown,
}

/// The sandbox permissions that the model requested for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxWish {
    /// None: the call runs in the sandbox as it is.
    Ordinary,
    /// To leave it.
    Escalated,
    /// To have it widened.
    Widened,
    /// It is not known: another tool, a script that calls tools by itself, or words that this build does not know.
    Unclear,
}

impl Bounds {
    /// Where it would happen; `None` for an operation without a place, such as a text answer. `wish` is the model's
    /// request for its call, if observed.
    pub fn place(&self, subject: &Subject<'_>, wish: Option<SandboxWish>) -> Option<Place> {
        Some(match subject {
            // Codex asks about a host only where its own proxy blocks it, with or without a sandbox.
            Subject::Network { .. } => Place::Outside,
            Subject::Command(command) => self.command(command, wish),
            Subject::Patch { changes, grant_root } => {
                let changes = changes.unwrap_or_default();
                let moved = changes.iter().filter_map(|change| change.move_to.as_deref());
                let paths = changes.iter().map(|change| change.path.as_str()).chain(moved);
                self.patch(paths, *grant_root)
            }
            // A wider sandbox is a way out of this one.
            Subject::Permissions { .. } => Place::Outside,
            // The sandbox confines commands, not the servers that the runtime talks to.
            Subject::Tool { .. } => Place::Outside,
            Subject::Words(_) => return None,
        })
    }

    fn command(&self, command: &CommandSubject<'_>, wish: Option<SandboxWish>) -> Place {
        let is_run = command.action == CommandUse::Run && !command.is_nested;
        match (&self.sandbox, wish) {
            (Confinement::Missing, _) => Place::Inside,
            (Confinement::Unknown, _) => Place::Undecidable,
            _ if command.wider.is_some() || command.action == CommandUse::Input => Place::Outside,
            (_, Some(SandboxWish::Escalated | SandboxWish::Widened)) => Place::Outside,
            (_, Some(SandboxWish::Ordinary)) if is_run && self.stays_when_it_fails() => Place::Inside,
            _ => Place::Undecidable,
        }
    }

    /// Says where a patch is made if its request is accepted. `paths` are all files of the change, the old and the new
    /// name of one that moves; `grant_root` is the directory that accepting would open.
    fn patch<'a>(&self, paths: impl IntoIterator<Item = &'a str>, grant_root: Option<&str>) -> Place {
        let roots = match &self.sandbox {
            Confinement::Missing => return Place::Inside,
            Confinement::Unknown => return Place::Undecidable,
            Confinement::ReadOnly => return Place::Outside,
            Confinement::Workspace { .. } if grant_root.is_some() => return Place::Outside,
            Confinement::Workspace { roots } => roots,
        };
        let mut paths = paths.into_iter().peekable();
        if paths.peek().is_none() {
            return Place::Undecidable;
        }
        let mut place = Place::Inside;
        for path in paths {
            match locate(Path::new(path), roots) {
                Place::Outside => return Place::Outside,
                Place::Undecidable => place = Place::Undecidable,
                Place::Inside => {}
            }
        }
        match (place, self.policy) {
            // Codex does not ask about a patch within the workspace; a patch in a request failed there and
            // needs to leave the sandbox.
            (Place::Inside, Some(ApprovalPolicy::OnRequest)) => Place::Outside,
            (Place::Inside, Some(ApprovalPolicy::Untrusted)) if self.follows_no_links => Place::Inside,
            _ => Place::Undecidable,
        }
    }

    /// Does an accepted command stay inside also when it fails there?
    fn stays_when_it_fails(&self) -> bool {
        self.policy == Some(ApprovalPolicy::OnRequest) && self.keeps_failures_inside
    }
}

/// Directories at the top of a workspace that the sandbox keeps read-only.
const PROTECTED: [&str; 4] = [".git", ".codex", ".agents", ".aws"];

/// Says where a path lies, by its text alone. For a path in which links may be, follow them first.
pub fn locate(path: &Path, roots: &[PathBuf]) -> Place {
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !path.is_absolute() || !is_plain {
        return Place::Undecidable;
    }
    let below = |root: &PathBuf| path.strip_prefix(root).ok().filter(|rest| !rest.as_os_str().is_empty());
    let mut rests = roots.iter().filter_map(below).peekable();
    if rests.peek().is_none() || rests.any(is_protected) {
        return Place::Outside;
    }
    Place::Inside
}

fn is_protected(rest: &Path) -> bool {
    let top = rest.components().next().map(|part| part.as_os_str().to_string_lossy());
    top.is_some_and(|top| PROTECTED.iter().any(|name| top.eq_ignore_ascii_case(name)))
}
