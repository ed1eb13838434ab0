//! Talaria's tools for callers that are in no turn: `talaria mcp` passes their calls on.
//!
//! A caller may name the thread that it works for. That is believed only if its process descends from the host that has the
//! thread, and a turn of that conversation runs: then the call has the rights of the conversation. Every other caller has no
//! conversation. It reads the memory; it changes the memory only if `[bridge]` says so; it searches conversations only as a
//! program of the person; and it reads no web pages and proposes no skills, because no person could be asked. Such calls are not in the call ledger:
//! no runtime offers them again. Delegation is not offered here: `codex_bridge` starts tasks.

use std::path::Path;

use talaria_codex::spec::Surroundings;
use talaria_core::access::PeerClass;
use talaria_core::api::{OutsideCall, OutsideResult, Problem, ProblemCode};
use talaria_core::config::{Config, RecallScope};
use talaria_core::event::Started;
use talaria_core::ids::{ItemId, SessionId, ThreadId};
use talaria_core::tool::{
    ToolCaller, ToolConfinement, ToolEffect, ToolInvocation, ToolOutcome, ToolRights, ToolSpec,
};
use talaria_home::home::TalariaHome;
use talaria_store::{SessionRow, StoreError};

use super::{EngineTool, permitted};
use crate::engine::Engine;
use crate::engine::queries::views;
use crate::engine::run::settings::Wanted;

/// A tool as it is offered outside of turns.
pub struct OutsideTool {
    /// Description for the model.
    pub spec: ToolSpec,
    /// Does it change nothing, whatever its arguments are?
    pub only_reads: bool,
}

/// The tools that callers outside of a turn are offered, by the configuration of this home.
pub fn outside_tools(home: &Path) -> Vec<OutsideTool> {
    let home = TalariaHome::resolve(Some(home.into()), None);
    let read = home.ok().and_then(|home| home.load_config().ok());
    let config = read.map(|(config, _)| config).unwrap_or_default();
    let tools = EngineTool::ALL.into_iter().filter(|tool| tool.is_outside() && tool.is_on(&config));
    tools.map(|tool| OutsideTool { spec: tool.spec(), only_reads: tool.only_reads() }).collect()
}

impl EngineTool {
    fn is_outside(self) -> bool {
        !matches!(self, Self::Delegate)
    }

    fn only_reads(self) -> bool {
        matches!(self, Self::Recall | Self::Web)
    }
}

impl Engine {
    /// Runs a tool for this caller. A failure of the tool is in the text of the result.
    pub async fn call_tool(&self, call: OutsideCall) -> Result<OutsideResult, Problem> {
        let _caller = self.inner.enter()?;
        let found = EngineTool::named(&call.tool).filter(|(tool, _)| tool.is_outside());
        let Some((tool, spec)) = found else {
            return Err(Problem::new(ProblemCode::Unknown, "there is no such tool"));
        };
        let proven = self.proven_call(&call).await.map_err(|error| views::problem(&error))?;
        let work = async {
            match proven {
                Some((session, call)) => {
                    self.inner.run_tool(&session, Some(tool), call, Surroundings::own()).await
                }
                None => self.run_without_session(tool, &call).await,
            }
        };
        let outcome = match tokio::time::timeout(spec.limit, work).await {
            Ok(returned) => ToolOutcome::of(spec.name, returned),
            Err(_) if tool.effect(&call.arguments) == ToolEffect::Changes => {
                let limit = spec.limit.as_secs();
                ToolOutcome::unknown(&format!(
                    "{} returned no result within {limit} s. {}",
                    spec.name,
                    tool.check()
                ))
            }
            Err(_) => ToolOutcome::failed(&format!("{}: it took too long", spec.name)),
        };
        Ok(OutsideResult { text: outcome.text().to_owned(), is_error: !outcome.is_success() })
    }

    /// The call as one of the conversation that its caller works for, if that is proven.
    async fn proven_call(
        &self,
        call: &OutsideCall,
    ) -> Result<Option<(SessionId, ToolInvocation)>, StoreError> {
        let Some(thread) = &call.thread else { return Ok(None) };
        let thread = ThreadId::new(thread.as_str());
        let store = &self.inner.shelf.store;
        let Some(row) = store.session_of_thread(&thread).await? else { return Ok(None) };
        let host = row.host.as_deref().and_then(|nonce| self.inner.hosts.named(nonce));
        let is_below = match (self.identity().class(), host) {
            (PeerClass::BelowCodex { codex }, Some(host)) => host.pid() == *codex,
            _ => false,
        };
        if !is_below {
            let message = "the caller does not descend from the Codex of the conversation that it names";
            let problem = Problem::new(ProblemCode::Forbidden, message);
            self.refused("call_tool", Some(row.id.as_str()), problem).await;
            return Ok(None);
        }
        let turn = store.next_unsettled(&row.id).await?.and_then(|turn| turn.codex_turn);
        let Some(turn) = turn else { return Ok(None) };
        let invocation = ToolInvocation {
            thread,
            turn,
            item: ItemId::new(format!("mcp-{}", uuid::Uuid::new_v4().simple())),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            caller: ToolCaller::Session,
            confinement: confinement(&row),
        };
        Ok(Some((row.id, invocation)))
    }

    async fn run_without_session(&self, tool: EngineTool, call: &OutsideCall) -> Result<String, String> {
        let config: Config = permitted(tool, self.inner.home.load_config())?;
        match tool {
            EngineTool::Memory => {
                let may_change = self.granted().is_none_or(|rights| rights.memory);
                let rights = if may_change { ToolRights::ReadAndChange } else { ToolRights::ReadOnly };
                self.inner.use_memory_outside(&call.arguments, &config, rights).await
            }
            EngineTool::Recall if *self.identity().class() != PeerClass::Person => {
                Err("below Codex only the conversation itself searches earlier ones".to_owned())
            }
            EngineTool::Recall => match config.recall.scope {
                None | Some(RecallScope::All) => self.inner.recall_outside(&call.arguments).await,
                Some(scope) => Err(format!(
                    "recall.scope is {}, so that only conversations of Talaria search",
                    scope.name()
                )),
            },
            EngineTool::Skill | EngineTool::Web | EngineTool::Delegate => {
                Err("it works only in a conversation of Talaria".to_owned())
            }
        }
    }
}

/// The limits of a conversation, from its settings in force; unknown settings count as restrictive.
fn confinement(row: &SessionRow) -> ToolConfinement {
    let started: Option<Started> = row.started.as_deref().and_then(|json| serde_json::from_str(json).ok());
    let Some(started) = started else { return ToolConfinement::default() };
    let has_network = Wanted::of_row(row).is_some_and(|wanted| wanted.network());
    ToolConfinement {
        has_network: has_network || started.sandbox == "danger-full-access",
        asks: started.approval != "never",
    }
}
