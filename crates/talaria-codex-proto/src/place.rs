//! Where something that is accepted will happen: inside the sandbox, outside it, or nobody can tell.
//!
//! Codex's request does not say. What is known before the answer is put together here: the sandbox and the policy in
//! force, and what the model wished for its call (`wish`). Whoever decides a request asks this first; an answer that is
//! given without a person must not rest on anything but `Inside`.
//!
//! Nothing may be called `Inside` here that the real Codex was not seen to keep inside: the tables in the engine's tests
//! (`places`) hold every line. What they taught: under `untrusted`, and `on-failure`, an accepted command that fails in the sandbox
//! is run again outside it, without another request. Under `on-request` it is not.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use talaria_guard::place::Place;

use crate::wire::server_request::CommandApproval;
use talaria_core::policy::ApprovalPolicy;
use talaria_core::version::{self, Support, Version};

mod wish;

pub use wish::{Wish, Wishes};

/// What a command request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Running the command of its item.
    Run,
    /// Input for a command that runs. Codex 0.166 asks for it only where that command was started outside.
    Input,
    /// Running it with a wider sandbox.
    Permissions,
    /// Reaching a host.
    Network,
    /// A program within a command that runs, or a kind that this build does not know.
    Other,
}

impl From<&CommandApproval> for Subject {
    fn from(request: &CommandApproval) -> Self {
        if request.network_approval_context.is_some() {
            return Self::Network;
        }
        if request.additional_permissions.is_some() {
            return Self::Permissions;
        }
        match (request.kind.as_deref(), &request.approval_id) {
            (None | Some("command"), None) => Self::Run,
            (Some("writeStdin"), _) => Self::Input,
            _ => Self::Other,
        }
    }
}

/// What a thread is bound by: its sandbox, when it asks, and the Codex that holds it to both.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    sandbox: Confinement,
    /// `None` is a policy that this build does not know.
    policy: Option<ApprovalPolicy>,
    version: Version,
    /// Sandbox and policy as Codex said them: there is more in them than is needed here.
    told: [Value; 2],
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Confinement {
    Missing,
    ReadOnly,
    Workspace { roots: Vec<PathBuf> },
    Unknown,
}

impl Bounds {
    /// Reads the values in force from Codex's answer to `thread/start` or `thread/resume`.
    ///
    /// Values that a later `turn/start` changes make new bounds. Permissions granted on the way widen the sandbox itself;
    /// what then happens within them is inside.
    pub fn new(sandbox: &Value, policy: &Value, cwd: &str, version: Version) -> Self {
        let told = [sandbox.clone(), policy.clone()];
        let policy = ApprovalPolicy::deserialize(policy).ok();
        Self { sandbox: Confinement::read(sandbox, cwd), policy, version, told }
    }

    /// The same Codex with another sandbox and policy in force.
    pub fn renewed(&self, sandbox: &Value, policy: &Value, cwd: &str) -> Self {
        Self::new(sandbox, policy, cwd, self.version.clone())
    }

    /// Says where a command ends up if this request is accepted. `wish` is what the raw call said that came before the
    /// request and had its item id; without raw events, as on a resumed thread, there is none.
    pub fn command(&self, subject: Subject, wish: Option<Wish>) -> Place {
        match (&self.sandbox, subject, wish) {
            // A host is asked about only where a proxy of Codex's own holds it back, with or without a sandbox.
            (_, Subject::Network, _) => Place::Outside,
            (Confinement::Missing, _, _) => Place::Inside,
            (Confinement::Unknown, _, _) => Place::Undecidable,
            (_, Subject::Input | Subject::Permissions, _) => Place::Outside,
            (_, _, Some(Wish::Escalated | Wish::Widened)) => Place::Outside,
            (_, Subject::Run, Some(Wish::Ordinary)) if self.stays_when_it_fails() => Place::Inside,
            _ => Place::Undecidable,
        }
    }

    /// Says where a patch is made if its request is accepted. `paths` are all files of the change, the old and the new
    /// name of one that moves; `grant_root` is the directory that accepting would open.
    pub fn patch<'a>(&self, paths: impl IntoIterator<Item = &'a str>, grant_root: Option<&str>) -> Place {
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
            // Codex does not ask about a patch within the workspace; if it does, it failed there and wants to leave.
            (Place::Inside, Some(ApprovalPolicy::OnRequest)) => Place::Outside,
            (Place::Inside, Some(ApprovalPolicy::Untrusted)) if self.follows_no_links() => Place::Inside,
            _ => Place::Undecidable,
        }
    }

    /// Does an accepted command stay inside also when it fails there?
    fn stays_when_it_fails(&self) -> bool {
        self.policy == Some(ApprovalPolicy::OnRequest) && version::support(&self.version) == Support::Tested
    }

    /// 0.130 follows a link out of the workspace, in a second try outside the sandbox; 0.166 refuses to.
    fn follows_no_links(&self) -> bool {
        let [_, last] = &version::TESTED;
        self.version == *last
    }
}

impl Confinement {
    fn read(value: &Value, cwd: &str) -> Self {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
        enum Wire {
            DangerFullAccess,
            ReadOnly,
            WorkspaceWrite {
                #[serde(default)]
                writable_roots: Vec<PathBuf>,
                #[serde(default)]
                exclude_slash_tmp: bool,
            },
            #[serde(other)]
            Other,
        }
        match Wire::deserialize(value) {
            Ok(Wire::DangerFullAccess) => Self::Missing,
            Ok(Wire::ReadOnly) => Self::ReadOnly,
            Ok(Wire::WorkspaceWrite { mut writable_roots, exclude_slash_tmp }) => {
                writable_roots.push(PathBuf::from(cwd));
                if !exclude_slash_tmp {
                    writable_roots.push(PathBuf::from("/tmp"));
                }
                Self::Workspace { roots: writable_roots }
            }
            Ok(Wire::Other) | Err(_) => Self::Unknown,
        }
    }
}

/// Directories at the top of a workspace that the sandbox keeps read-only.
const PROTECTED: [&str; 4] = [".git", ".codex", ".agents", ".aws"];

/// Says where a path lies, by its text alone.
fn locate(path: &Path, roots: &[PathBuf]) -> Place {
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

#[cfg(test)]
mod tests;
