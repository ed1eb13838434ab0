//! The two settings that bound what Codex may do: the sandbox, and when it asks a person; and the modes that set both.
//!
//! Owns their names: Codex's own on the wire, in the configuration file and on the command line, and ours for modes.
//! No default lives here, because an unset value leaves the decision to the user's Codex.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What commands may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// How much is done without asking: one word for sandbox, approval policy and what Talaria answers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Work in the workspace; a person is asked for what leaves it.
    Auto,
    /// Nothing but reading without a person.
    ApprovalRequired,
    /// No sandbox, and no one is asked; floor and deny rules apply.
    #[serde(alias = "yolo")]
    Unrestricted,
}

/// Settings of a mode on the wire and in Talaria.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeSettings {
    /// The sandbox to ask for.
    pub sandbox: Sandbox,
    /// The approval policy to ask for.
    pub approval_policy: ApprovalPolicy,
    /// Who answers when no rule does.
    pub answers: Answers,
}

/// Who answers a question of Codex that neither floor nor rules decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// A person, or a substitute for one.
    #[default]
    Person,
    /// Talaria accepts it, as [`Verdict::accept_all`](talaria_guard::rules::Verdict::accept_all) says.
    Everything,
}

/// When Talaria's own files are hidden from the sandbox of a conversation: `codex.hide_home`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HideHome {
    /// Where that does not change what a person can accept, where the network is open, and where no one is asked.
    #[default]
    Auto,
    /// Wherever Codex can do it.
    Always,
    /// Nowhere.
    Never,
}

impl HideHome {
    /// Every word.
    pub const NAMES: [&'static str; 3] = ["auto", "always", "never"];
}

impl FromStr for HideHome {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err(UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() }),
        }
    }
}

/// Says that a name is none of the allowed ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not known; allowed: {}", allowed.join(", "))]
pub struct UnknownName {
    /// The given value.
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

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Auto, Self::ApprovalRequired, Self::Unrestricted];

    /// Every name that is understood, the alias `yolo` included.
    pub const NAMES: [&'static str; 4] = ["auto", "approval-required", "unrestricted", "yolo"];

    /// The name in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::ApprovalRequired => "approval-required",
            Self::Unrestricted => "unrestricted",
        }
    }

    /// The settings of the mode: the one place where modes become values of Codex.
    ///
    /// `Unrestricted` asks for `untrusted` and not for `never`: floor and deny rules only see what Codex asks about,
    /// and under `never` it asks about nothing.
    pub const fn settings(self) -> ModeSettings {
        match self {
            Self::Auto => ModeSettings {
                sandbox: Sandbox::WorkspaceWrite,
                approval_policy: ApprovalPolicy::OnRequest,
                answers: Answers::Person,
            },
            Self::ApprovalRequired => ModeSettings {
                sandbox: Sandbox::ReadOnly,
                approval_policy: ApprovalPolicy::Untrusted,
                answers: Answers::Person,
            },
            Self::Unrestricted => ModeSettings {
                sandbox: Sandbox::DangerFullAccess,
                approval_policy: ApprovalPolicy::Untrusted,
                answers: Answers::Everything,
            },
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "auto" => Ok(Self::Auto),
            "approval-required" => Ok(Self::ApprovalRequired),
            "unrestricted" | "yolo" => Ok(Self::Unrestricted),
            _ => Err(UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() }),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
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
    fn every_name_of_a_mode_is_understood_and_yolo_is_unrestricted() {
        for mode in Mode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
            assert!(Mode::NAMES.contains(&mode.as_str()));
        }
        for name in Mode::NAMES {
            let mode: Mode = name.parse().unwrap();
            assert_eq!(serde_json::from_value::<Mode>(name.into()).unwrap(), mode);
        }
        assert_eq!("yolo".parse(), Ok(Mode::Unrestricted));
        let error = "full".parse::<Mode>().unwrap_err();
        let expected = "\"full\" is not known; allowed: auto, approval-required, unrestricted, yolo";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn modes_are_real_values_of_codex_and_each_lets_the_floor_see_what_is_asked() {
        let told: Vec<String> = Mode::ALL
            .iter()
            .map(|mode| {
                let ModeSettings { sandbox, approval_policy, answers } = mode.settings();
                assert_ne!(approval_policy, ApprovalPolicy::Never, "{mode}: the floor would be off");
                format!("{mode}: {sandbox}, {approval_policy}, {answers:?}")
            })
            .collect();
        let expected = [
            "auto: workspace-write, on-request, Person",
            "approval-required: read-only, untrusted, Person",
            "unrestricted: danger-full-access, untrusted, Everything",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn an_unknown_name_lists_the_allowed_ones() {
        let error = "writeable".parse::<Sandbox>().unwrap_err();
        let expected = "\"writeable\" is not known; allowed: read-only, workspace-write, danger-full-access";
        assert_eq!(error.to_string(), expected);
    }
}
