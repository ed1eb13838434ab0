//! The tools that Talaria offers to models: the registry, the selection for a new thread, and the dispatch of a call.
//!
//! Nothing here depends on a runtime: calls and outcomes are `talaria_core::tool`. Every call goes through the `ledger`,
//! which runs it at most once. A call always has an outcome: an unknown tool, one that is switched off and one that takes
//! too long fail with the reason. To add a tool: an arm of `EngineTool` and a file beside `recall`. Called by the opening of
//! conversations and by their turns.

mod arguments;
pub(crate) mod delegate;
mod hooked;
pub(crate) mod ledger;
mod memory;
pub(crate) mod outside;
pub(crate) mod questions;
mod recall;
mod skill;
mod web;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use talaria_codex::conversation::{Command, ToolRunner};
use talaria_codex::spec::Surroundings;
use talaria_core::config::{Config, ConfigProblem};
use talaria_core::event::Event;
use talaria_core::ids::SessionId;
use talaria_core::tool::{ToolEffect, ToolInvocation, ToolOutcome, ToolSpec};
use talaria_guard::redact::redact;
use talaria_guard::shorten::shorten_line;
use talaria_home::home::HomeError;

use crate::engine::Inner;
use ledger::{LedgerCall, LedgerGround, ToolReturn};
pub(crate) use web::{SEARCH_TOOL, WebReader, search_tool};

/// How long a call of a tool may take that this version does not have: only its refusal is recorded.
const REFUSAL: Duration = Duration::from_secs(1);
/// The longest line about a call, in characters: the model may have written a part of it.
const LONGEST_LINE: usize = 1_000;

/// A tool of the engine. Its name must be handled permanently: a thread keeps the tools that it was started
/// with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineTool {
    Recall,
    Memory,
    Skill,
    Web,
    Delegate,
}

impl EngineTool {
    const ALL: [Self; 5] = [Self::Recall, Self::Memory, Self::Skill, Self::Web, Self::Delegate];

    fn spec(self) -> ToolSpec {
        match self {
            Self::Recall => recall::spec(),
            Self::Memory => memory::spec(),
            Self::Skill => skill::spec(),
            Self::Web => web::spec(),
            Self::Delegate => delegate::spec(),
        }
    }

    fn is_on(self, config: &Config) -> bool {
        match self {
            Self::Recall => config.tools.recall.unwrap_or(true),
            Self::Memory => config.tools.memory.unwrap_or(true),
            Self::Skill => config.tools.skill.unwrap_or(true),
            Self::Web => config.tools.web.unwrap_or(true),
            Self::Delegate => config.tools.delegate.unwrap_or(true),
        }
    }

    /// The effect of a call with these arguments. A call that only reads may run again after a crash, and sub-agents may
    /// make it.
    fn effect(self, arguments: &Value) -> ToolEffect {
        match self {
            Self::Recall | Self::Web => ToolEffect::Reads,
            Self::Memory => memory::effect(arguments),
            Self::Skill => skill::effect(arguments),
            Self::Delegate => delegate::effect(arguments),
        }
    }

    /// How a model finds out whether a call took effect whose outcome is not known.
    fn check(self) -> &'static str {
        match self {
            Self::Recall | Self::Web => "It only reads: call it again.",
            Self::Memory => "Read the memory (op read) before you save this again.",
            Self::Skill => "Propose it again: the same change is kept once.",
            Self::Delegate => {
                "op list names the tasks of this conversation: look there before you start or stop again."
            }
        }
    }

    /// What a line about a call begins with.
    fn topic(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Memory => "memory",
            Self::Skill => "skills",
            Self::Web => "web",
            Self::Delegate => "delegation",
        }
    }

    fn named(name: &str) -> Option<(Self, ToolSpec)> {
        Self::ALL.into_iter().map(|tool| (tool, tool.spec())).find(|(_, spec)| spec.name == name)
    }
}

/// The tools that a new thread is offered. Permissions are checked again at every call.
pub(crate) fn offered_tools(config: &Config) -> Vec<ToolSpec> {
    EngineTool::ALL.into_iter().filter(|tool| tool.is_on(config)).map(EngineTool::spec).collect()
}

impl Inner {
    /// What runs the calls of a session's conversation. Tasks that it delegates have its environment.
    pub(crate) fn tool_runner(
        self: &Arc<Self>,
        session: &SessionId,
        surroundings: Surroundings,
    ) -> ToolRunner {
        let (engine, session) = (Arc::clone(self), session.clone());
        ToolRunner::new(move |call| {
            let (engine, session, surroundings) =
                (Arc::clone(&engine), session.clone(), surroundings.clone());
            Box::pin(async move { engine.answer_tool(&session, call, surroundings).await })
        })
    }

    /// Answers a call by the ledger.
    async fn answer_tool(
        self: &Arc<Self>,
        session: &SessionId,
        call: ToolInvocation,
        surroundings: Surroundings,
    ) -> ToolOutcome {
        let found = EngineTool::named(&call.tool);
        let asked = LedgerCall {
            session: session.clone(),
            effect: found.as_ref().map_or(ToolEffect::Reads, |(tool, _)| tool.effect(&call.arguments)),
            limit: found.as_ref().map_or(REFUSAL, |(_, spec)| spec.limit),
            check: found.as_ref().map_or("", |(tool, _)| tool.check()),
            call: call.clone(),
        };
        let ground = LedgerGround { shelf: &self.shelf, tasks: &self.tasks, ended: self.ended.subscribe() };
        let tool = found.map(|(tool, _)| tool);
        let judge = {
            let (engine, session, call) = (Arc::clone(self), session.clone(), call.clone());
            move || async move { engine.judge_call(&session, tool, &call).await }
        };
        let (engine, session) = (Arc::clone(self), session.clone());
        let work = move || {
            let (engine, session, call) = (Arc::clone(&engine), session.clone(), call.clone());
            let surroundings = surroundings.clone();
            async move { engine.run_tool(&session, tool, call, surroundings).await }
        };
        self.calls.answer(ground, asked, judge, work).await
    }

    /// Returns the configuration if this call may run, as far as rights and configuration say so.
    fn may_use(&self, tool: EngineTool, call: &ToolInvocation) -> Result<Config, &'static str> {
        if !call.caller.rights().permit(tool.effect(&call.arguments)) {
            return Err("a sub-agent may only read; nothing was changed. The main conversation can do this");
        }
        permitted(tool, self.home.load_config())
    }

    async fn run_tool(
        self: &Arc<Self>,
        session: &SessionId,
        tool: Option<EngineTool>,
        call: ToolInvocation,
        surroundings: Surroundings,
    ) -> ToolReturn {
        let tool = tool.ok_or("Talaria has no such tool")?;
        let config = self.may_use(tool, &call)?;
        match tool {
            EngineTool::Recall => Ok(self.recall(session, &call.arguments, config.recall.scope).await?),
            EngineTool::Memory => self.use_memory(session, &call, &config).await,
            EngineTool::Skill => self.use_skills(session, &call).await,
            EngineTool::Web => self.read_web(session, &call, &config.web).await,
            EngineTool::Delegate => self.delegate(session, &call, &config, surroundings).await,
        }
    }

    /// Returns the arguments of a call; the person reads in one line what is wrong with them.
    fn accept_arguments<T>(
        &self,
        session: &SessionId,
        tool: EngineTool,
        parsed: Result<T, String>,
    ) -> Result<T, String> {
        parsed.inspect_err(|why| {
            self.report_call(session, tool, &format!("a wrong call of the model was refused: {why}"));
        })
    }

    /// One line for the person about a call, in the conversation that runs.
    fn report_call(&self, session: &SessionId, tool: EngineTool, note: &str) {
        let line = redact(&format!("{}: {note}", tool.topic())).into_owned();
        let message = shorten_line(&line, LONGEST_LINE);
        self.desk.tell(session, Command::Report { event: Box::new(Event::Warning { message }) });
    }
}

/// May the tool run, as the configuration is now? One whose keys for tools cannot be read permits nothing.
fn permitted(
    tool: EngineTool,
    read: Result<(Config, Vec<ConfigProblem>), HomeError>,
) -> Result<Config, &'static str> {
    let is_in_doubt = |problem: &ConfigProblem| {
        let key = problem.key.as_deref();
        let sections = ["tools", "recall", "memory", "web", "delegation", "hooks"];
        problem.is_error() && key.is_none_or(|key| sections.iter().any(|section| key.starts_with(section)))
    };
    match read {
        Ok((config, problems)) if !problems.iter().any(is_in_doubt) => match tool.is_on(&config) {
            true => Ok(config),
            false => Err("switched off in the configuration of Talaria"),
        },
        _ => Err("the configuration of Talaria has an error, so that it is not known what is permitted; \
                  the user can find it with `talaria doctor`"),
    }
}

#[cfg(test)]
mod tests {
    use talaria_core::config::{self, RecallScope};
    use talaria_core::prompt_cost::estimate_tokens;
    use talaria_core::tool::OfferedTool;

    use super::*;

    fn read(text: &str) -> Result<(Config, Vec<ConfigProblem>), HomeError> {
        match config::parse(text) {
            Ok(parsed) => Ok((parsed.config, parsed.problems)),
            Err(problem) => {
                Err(HomeError::NotToml { path: "config.toml".into(), problem: Box::new(problem) })
            }
        }
    }

    #[test]
    fn what_is_permitted_is_read_at_the_call_and_an_error_permits_nothing() {
        let scope = |text: &str| permitted(EngineTool::Recall, read(text)).map(|config| config.recall.scope);
        assert_eq!(scope(""), Ok(None));
        assert_eq!(scope("[recall]\nscope = \"project\""), Ok(Some(RecallScope::Project)));
        assert_eq!(scope("[tools]\nrecall = true\n[codex]\nsandbox = \"paper\""), Ok(None));
        assert!(scope("[tools]\nrecall = false").unwrap_err().starts_with("switched off"));
        for broken in ["[recall]\nscope = \"none\"", "[tools]\nrecall = \"no\"", "[recall"] {
            assert!(scope(broken).unwrap_err().contains("talaria doctor"), "{broken}");
        }
    }

    #[test]
    fn the_tools_are_small_and_plain() {
        let specs = EngineTool::ALL.map(EngineTool::spec);
        let text: String = specs.iter().map(|spec| format!("{}{}", spec.description, spec.schema)).collect();
        assert!(text.len() < 6000, "{} bytes", text.len());
        let tokens: u64 = specs.iter().map(|spec| estimate_tokens(OfferedTool::from(spec).bytes)).sum();
        println!("prompt overhead of contract 1 with an empty memory: about {tokens} tokens (limit 2000)");
        assert!(tokens < 2000, "{tokens} tokens");
        for word in ["oneOf", "anyOf", "$ref", "minimum", "maximum", "pattern"] {
            assert!(!text.contains(word), "{word}");
        }
        for spec in &specs {
            assert!(spec.name.strip_prefix("talaria_").is_some_and(|name| {
                name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
            }));
        }
    }
}
