//! Talaria's tools for callers that are in no turn: `talaria mcp` passes their calls on.
//!
//! A caller may name the thread that it works for. That is believed only if its process descends from the host that has the
//! thread, and a turn of that conversation runs: then the call has the rights of the conversation. Every other caller has no
//! conversation. It reads the memory; it changes the memory only if `[bridge]` says so; it searches conversations only as a
//! program of the person; and it reads no web pages, proposes no skills and delegates nothing, because no person could be asked
//! and no turn could get the result (`codex_bridge` starts tasks for everyone else). A call of a conversation that delegates is
//! in the call ledger, because tasks and results name their call; every other one is not: no runtime offers it again.

use std::path::Path;

use talaria_codex::spec::Surroundings;
use talaria_core::access::PeerClass;
use talaria_core::api::{OutsideCall, OutsideResult, Problem, ProblemCode};
use talaria_core::config::{Config, RecallScope};
use talaria_core::event::Started;
use talaria_core::ids::{ItemId, SessionId, ThreadId};
use talaria_core::tool::{
    ToolCaller, ToolConfinement, ToolEffect, ToolInvocation, ToolOutcome, ToolRights, ToolSpec, contract,
};
use talaria_home::home::TalariaHome;
use talaria_store::{Change, SessionRow, StoreError};

use super::delegate::OUTSIDE_CALL;
use super::ledger::{self, CallPermit, ToolFailure, ToolReturn};
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
    let tools = EngineTool::ALL.into_iter().filter(|tool| tool.is_on(&config));
    tools.map(|tool| OutsideTool { spec: tool.spec(), only_reads: tool.only_reads() }).collect()
}

/// A call of a caller that works for a conversation, as one of its turn.
struct ProvenCall {
    session: SessionId,
    ordinal: i64,
    contract: i64,
    call: ToolInvocation,
}

impl EngineTool {
    fn only_reads(self) -> bool {
        matches!(self, Self::Recall | Self::Web)
    }
}

impl Engine {
    /// Runs a tool for this caller. A failure of the tool is in the text of the result.
    pub async fn call_tool(&self, call: OutsideCall) -> Result<OutsideResult, Problem> {
        let _caller = self.inner.enter()?;
        let Some((tool, spec)) = EngineTool::named(&call.tool) else {
            return Err(Problem::new(ProblemCode::Unknown, "there is no such tool"));
        };
        let proven = self.proven_call(&call).await.map_err(|error| views::problem(&error))?;
        let proven = match proven {
            Some(proven) if tool == EngineTool::Delegate => {
                let outcome = self.answer_recorded(proven).await.map_err(|error| views::problem(&error))?;
                return Ok(OutsideResult {
                    text: outcome.text().to_owned(),
                    is_error: !outcome.is_success(),
                });
            }
            proven => proven,
        };
        let work = async {
            match proven {
                Some(ProvenCall { session, call, .. }) => {
                    match self.inner.judge_call(&session, Some(tool), &call).await {
                        CallPermit::Refuse { why, .. } => Err(ToolFailure::Refused(why)),
                        CallPermit::Run { .. } => {
                            self.inner.run_tool(&session, Some(tool), call, Surroundings::own()).await
                        }
                    }
                }
                None => self.run_without_session(tool, &call).await,
            }
        };
        let outcome = match tokio::time::timeout(spec.limit, work).await {
            Ok(returned) => ToolOutcome::of(spec.name, returned.map_err(ToolFailure::into_text)),
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
    async fn proven_call(&self, call: &OutsideCall) -> Result<Option<ProvenCall>, StoreError> {
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
        let Some(turn_row) = store.next_unsettled(&row.id).await? else { return Ok(None) };
        let Some(turn) = turn_row.codex_turn else { return Ok(None) };
        let invocation = ToolInvocation {
            thread,
            turn,
            item: ItemId::new(format!("{OUTSIDE_CALL}{}", uuid::Uuid::new_v4().simple())),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            caller: ToolCaller::Session,
            confinement: confinement(&row),
        };
        let contract = row.contract.unwrap_or(contract::NO_TOOLS);
        Ok(Some(ProvenCall { session: row.id, ordinal: turn_row.ordinal, contract, call: invocation }))
    }

    /// Answers a call by the ledger, as if the runtime had offered it.
    async fn answer_recorded(&self, proven: ProvenCall) -> Result<ToolOutcome, StoreError> {
        let ProvenCall { session, ordinal, contract, call } = proven;
        let offered = ledger::offered(&self.inner.shelf.seal, ordinal, contract, &call);
        self.inner.write(&session, vec![Change::ToolOffered(offered)]).await?;
        Ok(self.inner.answer_tool(&session, call, Surroundings::own()).await)
    }

    async fn run_without_session(&self, tool: EngineTool, call: &OutsideCall) -> ToolReturn {
        let config: Config = permitted(tool, self.inner.home.load_config())?;
        self.inner.judge_outside_call(&call.tool, &call.arguments).await?;
        match tool {
            EngineTool::Memory => {
                let may_change = self.granted().is_none_or(|rights| rights.memory);
                let rights = if may_change { ToolRights::ReadAndChange } else { ToolRights::ReadOnly };
                self.inner.use_memory_outside(&call.arguments, &config, rights).await
            }
            EngineTool::Recall if *self.identity().class() != PeerClass::Person => {
                Err("below Codex only the conversation itself searches earlier ones".into())
            }
            EngineTool::Recall => match config.recall.scope {
                None | Some(RecallScope::All) => Ok(self.inner.recall_outside(&call.arguments).await?),
                Some(scope) => {
                    let scope = scope.name();
                    Err(format!("recall.scope is {scope}, so that only conversations of Talaria search")
                        .into())
                }
            },
            EngineTool::Skill | EngineTool::Web => Err("it works only in a conversation of Talaria".into()),
            EngineTool::Delegate => {
                Err("only a conversation of Talaria delegates; the tool codex_bridge starts tasks here"
                    .into())
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
