//! Who runs the turns: what `model.openai_runtime` and `model.provider` mean for this build, and when they may be changed.
//!
//! One state machine for every face: facts in, a decision out. It starts nothing, writes nothing and migrates nothing; a
//! face gathers the facts, does what was decided and shows it in its own way.

use std::str::FromStr;

use serde::Serialize;

use crate::policy::UnknownName;

/// The configuration key of the choice.
pub const KEY: [&str; 2] = ["model", "openai_runtime"];

/// Providers whose conversations may use Codex although another runtime exists.
const REROUTED: [&str; 2] = ["openai", "openai-codex"];

/// Who can run a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    /// `codex app-server`, with its own loop, tools and sandbox.
    CodexAppServer,
    /// Talaria's own model loop.
    OwnLoop,
}

/// The runtimes that this build has.
pub const THIS_BUILD: &[Runtime] = &[Runtime::CodexAppServer];

impl Runtime {
    /// Every runtime of the design.
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
            Self::OwnLoop => "turns run in Talaria against any provider, with the tools of the agent loop",
        }
    }
}

/// The user's choice: the value of `model.openai_runtime`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeChoice {
    /// The usual runtime of the build.
    #[default]
    Auto,
    /// Codex.
    CodexAppServer,
}

impl RuntimeChoice {
    /// Every value that the file may have.
    pub const NAMES: [&'static str; 2] = ["auto", "codex_app_server"];

    /// The value as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::CodexAppServer => "codex_app_server",
        }
    }

    /// Reads what a person typed: a value in any case, or `on` and `off`.
    pub fn typed(text: &str) -> Result<Self, UnknownName> {
        match text.trim().to_ascii_lowercase().as_str() {
            "on" => Ok(Self::CodexAppServer),
            "off" => Ok(Self::Auto),
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
    /// The build has no other.
    OnlyOne,
    /// The user asked for it.
    Asked,
    /// It is the usual one.
    Usual,
    /// The provider's conversations are never handed to Codex.
    Provider,
}

/// Says who runs a conversation with this provider; none if the build has no runtime at all.
///
/// The default provider is OpenAI, as in Codex. Another provider never leaves Talaria's own loop where there is one.
pub fn runtime_for(
    provider: Option<&str>,
    choice: RuntimeChoice,
    build: &[Runtime],
) -> Option<RuntimeSelection> {
    let verdict =
        |runtime, because| build.contains(&runtime).then_some(RuntimeSelection { runtime, because });
    if let [only] = build {
        return verdict(*only, Because::OnlyOne);
    }
    match choice {
        RuntimeChoice::CodexAppServer if is_rerouted(provider) => {
            verdict(Runtime::CodexAppServer, Because::Asked)
        }
        RuntimeChoice::CodexAppServer => verdict(Runtime::OwnLoop, Because::Provider),
        RuntimeChoice::Auto => verdict(Runtime::OwnLoop, Because::Usual),
    }
}

/// May conversations with this provider be handed to Codex?
pub fn is_rerouted(provider: Option<&str>) -> bool {
    provider.is_none_or(|provider| REROUTED.iter().any(|known| provider.trim().eq_ignore_ascii_case(known)))
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

/// Tools of the reference's agent loop that live in that loop's own state: no Codex turn can reach them.
pub const LOOP_TOOLS: [&str; 4] = ["delegate_task", "memory", "session_search", "todo"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_taken_in_any_case() {
        for (typed, choice) in [
            ("AUTO", RuntimeChoice::Auto),
            ("Off", RuntimeChoice::Auto),
            (" on ", RuntimeChoice::CodexAppServer),
            ("Codex_App_Server", RuntimeChoice::CodexAppServer),
        ] {
            assert_eq!(RuntimeChoice::typed(typed), Ok(choice));
        }
        let error = RuntimeChoice::typed("codex").unwrap_err().to_string();
        assert_eq!(error, "\"codex\" is not known; allowed: auto, codex_app_server, on, off");
        assert!("on".parse::<RuntimeChoice>().is_err(), "the file has only its two values");
    }

    #[test]
    fn this_build_runs_every_conversation_on_codex_because_it_has_nothing_else() {
        let only = Some(RuntimeSelection { runtime: Runtime::CodexAppServer, because: Because::OnlyOne });
        for provider in [None, Some("openai"), Some("anthropic")] {
            for choice in [RuntimeChoice::Auto, RuntimeChoice::CodexAppServer] {
                assert_eq!(runtime_for(provider, choice, THIS_BUILD), only);
            }
        }
    }

    fn choice() -> impl Strategy<Value = RuntimeChoice> {
        prop::sample::select(vec![RuntimeChoice::Auto, RuntimeChoice::CodexAppServer])
    }

    proptest! {
        #[test]
        fn only_the_two_openai_providers_are_ever_rerouted(
            provider in prop_oneof![
                prop::sample::select(vec!["openai", "openai-codex", "OpenAI", "openai-compatible", "azure-openai", ""]).prop_map(str::to_owned),
                "[a-z-]{0,12}",
            ],
            choice in choice(),
        ) {
            let verdict = runtime_for(Some(&provider), choice, &Runtime::ALL).unwrap();
            let is_openai = ["openai", "openai-codex"].contains(&provider.to_ascii_lowercase().as_str());
            let expected = is_openai && choice == RuntimeChoice::CodexAppServer;
            prop_assert_eq!(verdict.runtime == Runtime::CodexAppServer, expected);
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
