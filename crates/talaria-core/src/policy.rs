//! The two settings that bound what Codex may do: the sandbox, and when it asks a person.
//!
//! Owns their names, which are Codex's own on the wire, in the configuration file and on the command line.
//! Decides nothing: no default lives here, because an unset value leaves the decision to the user's Codex.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What commands may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Reading anywhere, writing nowhere.
    ReadOnly,
    /// Writing in the working directory and the named roots.
    WorkspaceWrite,
    /// No sandbox.
    DangerFullAccess,
}

/// When Codex asks before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// Before every command that is not known to be harmless.
    Untrusted,
    /// When the model asks for it.
    OnRequest,
    /// Not at all.
    Never,
    /// After a command failed in the sandbox. Codex 0.130 has it, 0.166 refuses it.
    OnFailure,
}

/// Says that a name is none of the allowed ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not known; allowed: {}", allowed.join(", "))]
pub struct UnknownName {
    /// What was written.
    pub given: String,
    /// What could have been written.
    pub allowed: Vec<&'static str>,
}

impl Sandbox {
    /// Every sandbox, the tightest first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::WorkspaceWrite, Self::DangerFullAccess];

    /// The name on the wire and in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

impl ApprovalPolicy {
    /// Every policy.
    pub const ALL: [Self; 4] = [Self::Untrusted, Self::OnRequest, Self::Never, Self::OnFailure];

    /// The name on the wire and in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::OnRequest => "on-request",
            Self::Never => "never",
            Self::OnFailure => "on-failure",
        }
    }
}

impl FromStr for Sandbox {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        find(text, &Self::ALL, Self::as_str)
    }
}

impl FromStr for ApprovalPolicy {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        find(text, &Self::ALL, Self::as_str)
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

fn find<T: Copy>(text: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, UnknownName> {
    all.iter().copied().find(|value| name(*value) == text).ok_or_else(|| UnknownName {
        given: text.to_owned(),
        allowed: all.iter().copied().map(name).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_on_the_wire_and_in_text() {
        for sandbox in Sandbox::ALL {
            assert_eq!(sandbox.as_str().parse(), Ok(sandbox));
            assert_eq!(serde_json::to_value(sandbox).unwrap(), sandbox.as_str());
            assert_eq!(serde_json::from_value::<Sandbox>(sandbox.as_str().into()).unwrap(), sandbox);
        }
        for policy in ApprovalPolicy::ALL {
            assert_eq!(policy.as_str().parse(), Ok(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.as_str());
            assert_eq!(serde_json::from_value::<ApprovalPolicy>(policy.as_str().into()).unwrap(), policy);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_allowed_ones() {
        let error = "writeable".parse::<Sandbox>().unwrap_err();
        let expected = "\"writeable\" is not known; allowed: read-only, workspace-write, danger-full-access";
        assert_eq!(error.to_string(), expected);
    }
}
