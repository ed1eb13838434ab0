//! The tools that Talaria brings into a turn: which there are, which of them a new thread is offered, and what runs a call.
//!
//! Nothing here knows a runtime: `talaria_core::tool` is what comes in and goes out. A call always has an outcome: an unknown
//! tool, one that is switched off and one that takes too long fail with the reason. To add a tool: an arm of `EngineTool`
//! and a file beside `recall`. Called by the opening of conversations and by their turns.

mod recall;

use std::sync::Arc;

use talaria_codex::conversation::ToolRunner;
use talaria_core::config::{Config, Problem};
use talaria_core::ids::SessionId;
use talaria_core::tool::{ToolInvocation, ToolOutcome, ToolSpec};
use talaria_home::home::HomeError;

use crate::engine::Inner;

/// A tool of the engine. Its name is answered for ever: a thread keeps the tools that it was started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineTool {
    Recall,
}

impl EngineTool {
    const ALL: [Self; 1] = [Self::Recall];

    fn spec(self) -> ToolSpec {
        match self {
            Self::Recall => recall::spec(),
        }
    }

    fn is_on(self, config: &Config) -> bool {
        match self {
            Self::Recall => config.tools.recall.unwrap_or(true),
        }
    }

    fn named(name: &str) -> Option<(Self, ToolSpec)> {
        Self::ALL.into_iter().map(|tool| (tool, tool.spec())).find(|(_, spec)| spec.name == name)
    }
}

impl Inner {
    /// The tools that a new thread is offered.
    pub(crate) fn offered_tools(&self) -> Vec<ToolSpec> {
        // A configuration that cannot be read decides at the call.
        let config = self.home.load_config().map(|(config, _)| config).unwrap_or_default();
        EngineTool::ALL.into_iter().filter(|tool| tool.is_on(&config)).map(EngineTool::spec).collect()
    }

    /// What runs the calls of a session's conversation.
    pub(crate) fn tool_runner(self: &Arc<Self>, session: &SessionId) -> ToolRunner {
        let (engine, session) = (Arc::clone(self), session.clone());
        ToolRunner::new(move |call| {
            let (engine, session) = (Arc::clone(&engine), session.clone());
            Box::pin(async move { engine.run_tool(&session, call).await })
        })
    }

    async fn run_tool(&self, session: &SessionId, call: ToolInvocation) -> ToolOutcome {
        let Some((tool, spec)) = EngineTool::named(&call.tool) else {
            return ToolOutcome::failed(&format!("Talaria has no tool {}", call.tool));
        };
        let config = match permitted(tool, self.home.load_config()) {
            Ok(config) => config,
            Err(why) => return ToolOutcome::failed(&format!("{}: {why}", spec.name)),
        };
        let work = match tool {
            EngineTool::Recall => self.recall(session, &call.arguments, config.recall.scope),
        };
        match tokio::time::timeout(spec.limit, work).await {
            Ok(Ok(text)) => ToolOutcome::done(&text),
            Ok(Err(why)) => ToolOutcome::failed(&format!("{}: {why}", spec.name)),
            Err(_) => {
                let limit = spec.limit.as_secs();
                ToolOutcome::failed(&format!("{}: no result within {limit} s", spec.name))
            }
        }
    }
}

/// May the tool run, as the configuration is now? One whose keys for tools cannot be read permits nothing.
fn permitted(
    tool: EngineTool,
    read: Result<(Config, Vec<Problem>), HomeError>,
) -> Result<Config, &'static str> {
    let is_in_doubt = |problem: &Problem| {
        let key = problem.key.as_deref();
        problem.is_error() && key.is_none_or(|key| key.starts_with("tools") || key.starts_with("recall"))
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

    use super::*;

    fn read(text: &str) -> Result<(Config, Vec<Problem>), HomeError> {
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
        assert!(text.len() < 2000, "{} bytes", text.len());
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
