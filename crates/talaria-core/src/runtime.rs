//! Who runs the turns: what `model.openai_runtime` and the provider of a conversation mean, and when they may be changed.
//!
//! One state machine for every face: facts in, a decision out. It starts nothing, writes nothing and migrates nothing; a
//! face gathers the facts, does what was decided and shows it in its own way.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::policy::UnknownName;
use crate::provider::{CODEX_PROVIDER, OPENAI_PROVIDER};

/// The configuration key of the choice.
pub const KEY: [&str; 2] = ["model", "openai_runtime"];

/// Who can run a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    /// `codex app-server`, with its own loop, tools and sandbox.
    CodexAppServer,
    /// Talaria's own model loop.
    OwnLoop,
}

impl Runtime {
    /// Every runtime.
    pub const ALL: [Self; 2] = [Self::CodexAppServer, Self::OwnLoop];

    /// Its name in files and commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::CodexAppServer => "codex_app_server",
            Self::OwnLoop => "own_loop",
        }
    }

    /// Its features.
    pub fn offers(self) -> &'static str {
        match self {
            Self::CodexAppServer => {
                "turns run in Codex: its tools, its sandbox, its approvals, its login; they outlive Talaria"
            }
            Self::OwnLoop => {
                "turns run in Talaria against any provider, with Talaria's own tools and Codex's sandbox"
            }
        }
    }

    /// The runtime with this name; none for one of another program or a later version.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|runtime| runtime.name() == name)
    }
}

/// The user's choice: the value of `model.openai_runtime`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuntimeChoice {
    /// Codex for OpenAI's providers where a Codex is installed, else the built-in loop.
    #[default]
    Auto,
    /// Codex for OpenAI's providers.
    CodexAppServer,
    /// Never Codex.
    Off,
}

impl RuntimeChoice {
    /// Every value that the file may have.
    pub const NAMES: [&'static str; 3] = ["auto", "codex_app_server", "off"];

    /// The value as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::CodexAppServer => "codex_app_server",
            Self::Off => "off",
        }
    }

    /// Reads what a person typed: a value in any case, or `on`.
    pub fn typed(text: &str) -> Result<Self, UnknownName> {
        match text.trim().to_ascii_lowercase().as_str() {
            "on" => Ok(Self::CodexAppServer),
            _ => text.trim().parse().map_err(|_| UnknownName {
                given: text.to_owned(),
                allowed: vec!["auto", "codex_app_server", "on", "off"],
            }),
        }
    }
}

impl FromStr for RuntimeChoice {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "codex_app_server" => Ok(Self::CodexAppServer),
            "off" => Ok(Self::Off),
            _ => Err(UnknownName { given: text.to_owned(), allowed: Self::NAMES.to_vec() }),
        }
    }
}

/// Who would run a conversation, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RuntimeSelection {
    /// Who.
    pub runtime: Runtime,
    /// Why.
    pub because: Because,
}

/// Why a runtime was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The user asked for it.
    Asked,
    /// It is the usual one.
    Usual,
    /// Only OpenAI's models run on Codex.
    Provider,
    /// No Codex is installed.
    NoCodex,
    /// `model.openai_runtime` is `off`.
    CodexIsOff,
}

/// `openai-codex` needs Codex, and `model.openai_runtime` is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the provider openai-codex always runs on Codex, because only one program can use a ChatGPT login, and \
     model.openai_runtime is off"
)]
pub struct CodexIsOff;

/// Says who runs a conversation with this provider. Without a name the provider is OpenAI's, as in Codex; that is the
/// user's Codex with its own configuration, installed or not.
pub fn runtime_for(
    provider: Option<&str>,
    choice: RuntimeChoice,
    has_codex: bool,
) -> Result<RuntimeSelection, CodexIsOff> {
    let (runtime, because) = match (choice, provider) {
        _ if !is_rerouted(provider) => (Runtime::OwnLoop, Because::Provider),
        (RuntimeChoice::Off, Some(name)) if is(name, CODEX_PROVIDER) => return Err(CodexIsOff),
        (RuntimeChoice::Off, _) => (Runtime::OwnLoop, Because::CodexIsOff),
        (RuntimeChoice::CodexAppServer, _) => (Runtime::CodexAppServer, Because::Asked),
        (RuntimeChoice::Auto, Some(name)) if !has_codex && is(name, OPENAI_PROVIDER) => {
            (Runtime::OwnLoop, Because::NoCodex)
        }
        (RuntimeChoice::Auto, _) => (Runtime::CodexAppServer, Because::Usual),
    };
    Ok(RuntimeSelection { runtime, because })
}

/// May conversations with this provider be handed to Codex?
pub fn is_rerouted(provider: Option<&str>) -> bool {
    provider.is_none_or(|provider| is(provider, OPENAI_PROVIDER) || is(provider, CODEX_PROVIDER))
}

fn is(provider: &str, name: &str) -> bool {
    provider.trim().eq_ignore_ascii_case(name)
}

/// Facts for showing or switching the runtime.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The value in the file; none if invalid.
    pub current: Option<RuntimeChoice>,
    /// The requested runtime; none for a query.
    pub wanted: Option<RuntimeChoice>,
    /// Was a Codex found? Not known where no one needs to.
    pub codex: Option<bool>,
    /// The turns that run now.
    pub running: &'a [String],
}

/// The resulting action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchDecision {
    /// The state is shown.
    Report,
    /// It is so already.
    Unchanged(RuntimeChoice),
    /// Codex is missing.
    NoCodex,
    /// Turns run that would be split between two runtimes.
    TurnsRun,
    /// The file is changed.
    Write(RuntimeChoice),
}

/// Must someone look for Codex to decide this? Switching off needs none.
pub fn needs_codex(current: Option<RuntimeChoice>, wanted: Option<RuntimeChoice>) -> bool {
    wanted.is_none_or(|wanted| wanted == RuntimeChoice::CodexAppServer && current != Some(wanted))
}

/// Decides what becomes of a wish.
pub fn decide(facts: Facts<'_>) -> SwitchDecision {
    let Some(wanted) = facts.wanted else { return SwitchDecision::Report };
    if Some(wanted) == facts.current {
        return SwitchDecision::Unchanged(wanted);
    }
    if wanted == RuntimeChoice::CodexAppServer && facts.codex != Some(true) {
        return SwitchDecision::NoCodex;
    }
    if facts.running.is_empty() { SwitchDecision::Write(wanted) } else { SwitchDecision::TurnsRun }
}

/// Tools that every model has in Codex. It adds others by model and configuration, and does not say which.
pub const CODEX_TOOLS: [&str; 2] = ["exec_command", "apply_patch"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_taken_in_any_case() {
        for (typed, choice) in [
            ("AUTO", RuntimeChoice::Auto),
            ("Off", RuntimeChoice::Off),
            (" on ", RuntimeChoice::CodexAppServer),
            ("Codex_App_Server", RuntimeChoice::CodexAppServer),
        ] {
            assert_eq!(RuntimeChoice::typed(typed), Ok(choice));
        }
        let error = RuntimeChoice::typed("codex").unwrap_err().to_string();
        assert_eq!(error, "\"codex\" is not known; allowed: auto, codex_app_server, on, off");
        assert!("on".parse::<RuntimeChoice>().is_err(), "the file has only its three values");
    }

    #[test]
    fn the_choice_decides_about_openai_and_about_nothing_else() {
        use RuntimeChoice::{Auto, CodexAppServer, Off};
        let decided = |provider, choice, has_codex| {
            runtime_for(provider, choice, has_codex).map(|selection| (selection.runtime, selection.because))
        };
        let (codex, own) = (Runtime::CodexAppServer, Runtime::OwnLoop);
        for has_codex in [true, false] {
            for choice in [Auto, CodexAppServer, Off] {
                assert_eq!(decided(Some("anthropic"), choice, has_codex), Ok((own, Because::Provider)));
            }
            assert_eq!(decided(Some("openai-codex"), Auto, has_codex), Ok((codex, Because::Usual)));
            assert_eq!(decided(Some("OpenAI-Codex"), Off, has_codex), Err(CodexIsOff));
            assert_eq!(decided(None, Auto, has_codex), Ok((codex, Because::Usual)));
            assert_eq!(decided(None, Off, has_codex), Ok((own, Because::CodexIsOff)));
            assert_eq!(decided(Some("openai"), CodexAppServer, has_codex), Ok((codex, Because::Asked)));
            assert_eq!(decided(Some("openai"), Off, has_codex), Ok((own, Because::CodexIsOff)));
        }
        assert_eq!(decided(Some("openai"), Auto, true), Ok((codex, Because::Usual)));
        assert_eq!(decided(Some("openai"), Auto, false), Ok((own, Because::NoCodex)));
    }

    fn choice() -> impl Strategy<Value = RuntimeChoice> {
        prop::sample::select(vec![RuntimeChoice::Auto, RuntimeChoice::CodexAppServer, RuntimeChoice::Off])
    }

    proptest! {
        #[test]
        fn only_the_two_openai_providers_ever_run_on_codex(
            provider in prop_oneof![
                prop::sample::select(vec!["openai", "openai-codex", "OpenAI", "openai-compatible", "azure-openai", ""]).prop_map(str::to_owned),
                "[a-z-]{0,12}",
            ],
            choice in choice(),
            has_codex in any::<bool>(),
        ) {
            let is_openai = ["openai", "openai-codex"].contains(&provider.to_ascii_lowercase().as_str());
            if let Ok(selection) = runtime_for(Some(&provider), choice, has_codex) {
                let may_be_codex = is_openai && choice != RuntimeChoice::Off;
                prop_assert!(may_be_codex || selection.runtime == Runtime::OwnLoop);
            } else {
                prop_assert!(is_openai && choice == RuntimeChoice::Off);
            }
        }

        #[test]
        fn a_switch_is_written_only_when_it_changes_something_and_nothing_stands_in_its_way(
            current in prop::option::of(choice()),
            wanted in prop::option::of(choice()),
            codex in prop::option::of(any::<bool>()),
            running in prop::collection::vec("[a-z]{1,3}", 0..3),
        ) {
            let decision = decide(Facts { current, wanted, codex, running: &running });
            let expected = match wanted {
                None => SwitchDecision::Report,
                Some(wanted) if Some(wanted) == current => SwitchDecision::Unchanged(wanted),
                Some(RuntimeChoice::CodexAppServer) if codex != Some(true) => SwitchDecision::NoCodex,
                Some(_) if !running.is_empty() => SwitchDecision::TurnsRun,
                Some(wanted) => SwitchDecision::Write(wanted),
            };
            prop_assert_eq!(decision, expected);
            if !needs_codex(current, wanted) {
                // No one looked: the answer must not depend on it.
                for seen in [None, Some(false), Some(true)] {
                    prop_assert_eq!(decide(Facts { current, wanted, codex: seen, running: &running }), decision);
                }
            }
        }
    }
}
