//! Model and permissions requested by a client, with the configuration as fallback.
//!
//! Owns the precedence: a requested value, then a requested mode, then the configuration, then its mode. The engine
//! resolves turns with it; the chat uses it to show the settings of a new conversation.

use crate::api::{NewSession, NewTurn};
use crate::config::Config;
use crate::policy::{Answers, ApprovalPolicy, Mode, Sandbox};

/// Requested values.
#[derive(Clone, Debug, Default)]
pub struct Preferences {
    /// The model.
    pub model: Option<String>,
    /// How much it thinks.
    pub effort: Option<String>,
    /// The sandbox.
    pub sandbox: Option<Sandbox>,
    /// When Codex asks.
    pub approval: Option<ApprovalPolicy>,
    /// The mode.
    pub mode: Option<Mode>,
}

impl Preferences {
    /// Values requested for a new conversation.
    pub fn of_session(new: &NewSession) -> Self {
        let NewSession { sandbox, approval, .. } = *new;
        let model = new.model.clone().or_else(|| new.turn.model.clone());
        Self { model, sandbox, approval, ..Self::of_turn(&new.turn) }
    }

    /// Values requested for a turn.
    pub fn of_turn(turn: &NewTurn) -> Self {
        let NewTurn { model, effort, mode, .. } = turn;
        Self { model: model.clone(), effort: effort.clone(), mode: *mode, ..Self::default() }
    }

    /// The model to ask for.
    pub fn model(&self, config: &Config) -> Option<String> {
        self.model.clone().or_else(|| config.model.default.clone())
    }

    /// Reasoning effort.
    pub fn effort(&self, config: &Config) -> Option<String> {
        self.effort.clone().or_else(|| config.model.effort.clone())
    }

    /// The sandbox. A mode that was asked for precedes the sandbox of the file.
    pub fn sandbox(&self, config: &Config) -> Option<Sandbox> {
        let mode = |mode: Option<Mode>| mode.map(|mode| mode.settings().sandbox);
        self.sandbox.or(mode(self.mode)).or(config.codex.sandbox).or(mode(config.approvals.mode))
    }

    /// When Codex asks; in the same order.
    pub fn approval(&self, config: &Config) -> Option<ApprovalPolicy> {
        let mode = |mode: Option<Mode>| mode.map(|mode| mode.settings().approval_policy);
        self.approval.or(mode(self.mode)).or(config.codex.approval_policy).or(mode(config.approvals.mode))
    }

    /// Who answers what neither floor nor rules decide.
    pub fn answers(&self, config: &Config) -> Answers {
        let mode = self.mode.or(config.approvals.mode).map(Mode::settings);
        mode.map_or(Answers::Person, |mode| mode.answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_precedes_a_mode_and_both_precede_the_file() {
        let mut config = Config::default();
        config.codex.sandbox = Some(Sandbox::ReadOnly);
        config.approvals.mode = Some(Mode::Auto);
        let nothing = Preferences::default();
        assert_eq!(nothing.sandbox(&config), Some(Sandbox::ReadOnly));
        assert_eq!(nothing.approval(&config), Some(ApprovalPolicy::OnRequest));
        let mode = Preferences { mode: Some(Mode::Unrestricted), ..Preferences::default() };
        assert_eq!(mode.sandbox(&config), Some(Sandbox::DangerFullAccess));
        assert_eq!(mode.answers(&config), Answers::Everything);
        let named = Preferences { sandbox: Some(Sandbox::WorkspaceWrite), ..mode };
        assert_eq!(named.sandbox(&config), Some(Sandbox::WorkspaceWrite));
        assert_eq!(nothing.sandbox(&Config::default()), None, "Codex decides");
    }
}
