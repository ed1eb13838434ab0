//! What was typed about model and permissions of a conversation, and what holds where nothing was: the order in which
//! the command line and the configuration decide. `exec` and the chat begin conversations with it.

use talaria_core::api::{Kind, NewSession, NewTurn};
use talaria_core::config::Config;
use talaria_core::policy::{Answers, ApprovalPolicy, Mode, Sandbox};

/// What was typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) approval: Option<ApprovalPolicy>,
    pub(crate) mode: Option<Mode>,
}

impl Wanted {
    /// The model to ask for.
    pub(crate) fn model(&self, config: &Config) -> Option<String> {
        self.model.clone().or_else(|| config.model.default.clone())
    }

    /// How much it is to think.
    pub(crate) fn effort(&self, config: &Config) -> Option<String> {
        self.effort.clone().or_else(|| config.model.effort.clone())
    }

    /// The sandbox. A mode that was typed is for now, so it goes before what the file says.
    pub(crate) fn sandbox(&self, config: &Config) -> Option<Sandbox> {
        let mode = |mode: Option<Mode>| mode.map(|mode| mode.settings().sandbox);
        self.sandbox.or(mode(self.mode)).or(config.codex.sandbox).or(mode(config.approvals.mode))
    }

    /// When Codex asks; in the same order.
    pub(crate) fn approval(&self, config: &Config) -> Option<ApprovalPolicy> {
        let mode = |mode: Option<Mode>| mode.map(|mode| mode.settings().approval_policy);
        self.approval.or(mode(self.mode)).or(config.codex.approval_policy).or(mode(config.approvals.mode))
    }

    /// Who answers what neither floor nor rules decide.
    pub(crate) fn answers(&self, config: &Config) -> Answers {
        let mode = self.mode.or(config.approvals.mode).map(Mode::settings);
        mode.map_or(Answers::Person, |mode| mode.answers)
    }

    /// A new conversation with its first turn.
    pub(crate) fn session(&self, kind: Kind, cwd: String, config: &Config, turn: NewTurn) -> NewSession {
        NewSession {
            kind,
            cwd,
            model: self.model(config),
            sandbox: self.sandbox(config),
            approval: self.approval(config),
            turn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_goes_before_a_mode_and_a_typed_mode_before_the_file() {
        let mut config = Config::default();
        config.codex.sandbox = Some(Sandbox::ReadOnly);
        config.approvals.mode = Some(Mode::Auto);
        let nothing = Wanted::default();
        assert_eq!(nothing.sandbox(&config), Some(Sandbox::ReadOnly));
        assert_eq!(nothing.approval(&config), Some(ApprovalPolicy::OnRequest));
        let mode = Wanted { mode: Some(Mode::Unrestricted), ..Wanted::default() };
        assert_eq!(mode.sandbox(&config), Some(Sandbox::DangerFullAccess));
        assert_eq!(mode.answers(&config), Answers::Everything);
        let typed = Wanted { sandbox: Some(Sandbox::WorkspaceWrite), ..mode };
        assert_eq!(typed.sandbox(&config), Some(Sandbox::WorkspaceWrite));
        assert_eq!(nothing.sandbox(&Config::default()), None, "Codex decides");
    }
}
