//! Keeps Talaria's own files out of Codex's sandbox: which conversations hide them, and the permission profile for it.
//!
//! A profile says everything a sandbox mode says (what can be written, the network) and also what cannot be read; a
//! sandbox mode sent together with it would disable it, so the profile replaces it. It must be sent with every start
//! and every resume, because Codex forgets it. Entries below a directory are nested under that directory: Codex
//! reads a bare path with `*`, `?` or brackets in it as a pattern, but not the directory of a nested entry.
//!
//! Newer versions of Codex pay for hiding with what a person may accept (see [`Version::keeps_denials`]), so there the
//! user's configuration has the last word. Pure: the engine says which paths there are (`codex::secrets`).

use serde_json::{Map, Value, json};

use crate::wire::call::{SandboxPolicy, ThreadStart};
use talaria_core::policy::{ApprovalPolicy, HideHome};
use talaria_core::toml_write::{push_array, push_inline_table, push_string};
use talaria_core::version::Version;

mod sandbox;

pub use sandbox::ExpectedSandbox;

/// The name of our permission profile.
pub const PROFILE: &str = "talaria";

/// Decides for one conversation. Without a sandbox there is nothing to hide from.
pub fn hides(wish: HideHome, version: &Version, open: Openness) -> bool {
    match wish {
        _ if !version.has_permission_profiles() || open == Openness::Everything => false,
        HideHome::Never => false,
        HideHome::Always => true,
        HideHome::Auto => !version.keeps_denials() || open != Openness::AsksWithoutNetwork,
    }
}

/// What commands of a conversation could do with a secret that they read, and whether hiding it costs anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openness {
    /// There is no sandbox.
    Everything,
    /// The network is open: a secret could be sent away, and a socket reached.
    Network,
    /// No network, and no one is asked, so that no accepted command could be restricted.
    NeverAsks,
    /// No network, and a person may let a command leave the sandbox.
    AsksWithoutNetwork,
}

impl Openness {
    /// The openness of a conversation with this sandbox and approval policy; an unknown policy may ask.
    pub fn of(sandbox: &SandboxPolicy, approval: Option<ApprovalPolicy>) -> Self {
        match sandbox {
            SandboxPolicy::DangerFullAccess => Self::Everything,
            SandboxPolicy::WorkspaceWrite { network_access: true, .. }
            | SandboxPolicy::ReadOnly { network_access: true } => Self::Network,
            _ if approval == Some(ApprovalPolicy::Never) => Self::NeverAsks,
            _ => Self::AsksWithoutNetwork,
        }
    }
}

/// Entries of a permission profile: a directory, the name of an entry in it (`.` for itself), and what is allowed there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HiddenPaths {
    entries: Vec<(String, String, Access)>,
    scans: bool,
}

/// Permissions of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    None,
    Read,
    Write,
}

impl Access {
    fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl HiddenPaths {
    /// Hides an entry of a directory, whether it exists or not. One that does not exist must not lie where the sandbox
    /// can write: Codex would create an empty file in its place while a command runs.
    pub fn hide(&mut self, directory: &str, name: &str) {
        self.entries.push((directory.to_owned(), name.to_owned(), Access::None));
    }

    /// Hides a file of a directory in every command that starts while it exists. Codex looks for it by a pattern, so the
    /// directory must not contain characters of one.
    pub fn hide_if_present(&mut self, directory: &str, name: &str) {
        let Some((at, last)) = name.char_indices().next_back() else { return };
        self.entries.push((directory.to_owned(), format!("{}[{last}]", &name[..at]), Access::None));
        self.scans = true;
    }

    /// Lets a directory be read and not written, also where the sandbox can write around it.
    pub fn protect(&mut self, directory: &str) {
        self.entries.push((directory.to_owned(), ".".to_owned(), Access::Read));
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The profile that allows what a sandbox policy allows, except reading these. `None` for no sandbox at all.
    pub fn profile(&self, sandbox: &SandboxPolicy, cwd: &str) -> Option<Value> {
        let mut filesystem = Map::from_iter([(":root".to_owned(), json!(Access::Read.word()))]);
        let network = match sandbox {
            SandboxPolicy::DangerFullAccess => return None,
            SandboxPolicy::ReadOnly { network_access } => *network_access,
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            } => {
                filesystem.insert(":project_roots".to_owned(), json!(Access::Write.word()));
                if !exclude_tmpdir_env_var {
                    filesystem.insert(":tmpdir".to_owned(), json!(Access::Write.word()));
                }
                // 0.130 does not know a word for it.
                let slash_tmp = (!exclude_slash_tmp).then_some("/tmp");
                let roots = writable_roots.iter().map(String::as_str).filter(|root| *root != cwd);
                for root in roots.chain(slash_tmp) {
                    nest(&mut filesystem, root, ".", Access::Write);
                }
                *network_access
            }
        };
        self.add_to(&mut filesystem);
        Some(json!({ "filesystem": filesystem, "network": { "enabled": network } }))
    }

    /// What hides these in a profile of the user's own, merged into it by Codex.
    pub fn addition(&self) -> Value {
        let mut filesystem = Map::new();
        self.add_to(&mut filesystem);
        json!({ "filesystem": filesystem })
    }

    fn add_to(&self, filesystem: &mut Map<String, Value>) {
        for (directory, name, access) in &self.entries {
            nest(filesystem, directory, name, *access);
        }
        if self.scans {
            filesystem.insert("glob_scan_max_depth".to_owned(), json!(1));
        }
    }
}

fn nest(filesystem: &mut Map<String, Value>, directory: &str, name: &str, access: Access) {
    let entry = filesystem.entry(directory).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(entry) = entry {
        // Writable roots stay writable: a root of the user takes precedence over our protection of the same
        // directory.
        if name == "." && access == Access::Read && entry.contains_key(".") {
            return;
        }
        entry.insert(name.to_owned(), json!(access.word()));
    }
}

/// A start that hides paths.
#[derive(Clone, Debug, PartialEq)]
pub struct HidingStart {
    /// The profile as sent.
    pub sent: ThreadStart,
    /// The permission profile that must be in force then.
    pub profile: String,
}

impl HidingStart {
    /// Makes a start hide paths in the sandbox that it would get. `None` where there is no sandbox, or none is known.
    pub fn new(start: &ThreadStart, sandbox: &ExpectedSandbox, hidden: &HiddenPaths) -> Option<Self> {
        let (name, profile) = match sandbox {
            ExpectedSandbox::Policy(policy) => (PROFILE, hidden.profile(policy, &start.cwd)?),
            ExpectedSandbox::Profile { name, .. } => (name.as_str(), hidden.addition()),
            ExpectedSandbox::Unknown { .. } => return None,
        };
        let mut sent = start.clone();
        // A mode in addition to the profile would disable it.
        sent.sandbox = None;
        sent.config.retain(|key, _| key != "sandbox_mode" && !key.starts_with("sandbox_workspace_write"));
        sent.config.insert("permissions".to_owned(), json!({ name: profile }));
        sent.config.insert("default_permissions".to_owned(), json!(name));
        Some(Self { sent, profile: name.to_owned() })
    }
}

/// A value as inline TOML, for an override on a command line.
pub fn inline_toml(value: &Value) -> String {
    let mut out = String::new();
    push_toml(&mut out, value);
    out
}

fn push_toml(out: &mut String, value: &Value) {
    match value {
        Value::Object(table) => {
            push_inline_table(out, table.iter().map(|(key, value)| (key.as_str(), value)), push_toml);
        }
        Value::Array(elements) => push_array(out, elements, push_toml),
        Value::String(text) => push_string(out, text),
        Value::Bool(_) | Value::Number(_) | Value::Null => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests;
