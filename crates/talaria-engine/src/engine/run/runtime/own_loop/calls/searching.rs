//! A call of `web_search`: it reads, so a crash repeats it. What it does is `engine/tools/web/searching`.

use talaria_agent::transport::ProxySettings;
use talaria_core::tool::ledger::ToolCallState;
use talaria_core::tool::{ToolEffect, ToolInvocation, ToolOutcome};
use talaria_home::faults;
use talaria_store::{ToolCallKey, ToolCallRow, ToolCallStep};

use super::judging::Judged;
use super::{CallEnd, CallScene, ended_state};
use crate::engine::run::runtime::own_loop::items::CallFace;

impl CallScene {
    /// Searches, unless a result is stored already.
    pub(super) async fn run_search(
        &self,
        invocation: &ToolInvocation,
        key: &ToolCallKey,
        row: Option<ToolCallRow>,
    ) -> CallEnd {
        if let Some(row) = row.filter(|row| matches!(row.state, ToolCallState::Done | ToolCallState::Failed))
        {
            return self.stored_end(&row);
        }
        let face =
            CallFace::Tool { name: invocation.tool.clone(), arguments: invocation.arguments.to_string() };
        let began = self.began(&invocation.item, &face);
        self.record(Some(invocation.clone()), Vec::new(), began.into_iter().collect()).await;
        if let Judged::Refuse(end) = self.judge_read(invocation).await {
            self.step(key, ToolCallStep::Decline { result_sealed: self.sealed(&end) }).await;
            return end;
        }
        faults::point("before:loop-call-running").await;
        self.step(key, ToolCallStep::Run { effect: ToolEffect::Reads, effect_record: None }).await;
        faults::point("after:loop-call-running").await;
        let surroundings = self.servers.surroundings();
        let proxies = ProxySettings::from_variables(|name| surroundings.variable(name)?.into_string().ok());
        let mut stopped = self.stopped.clone();
        let found = tokio::select! {
            found = self.engine.search_web(&self.session, invocation, &proxies) => found,
            _ = stopped.wait_for(|stopped| *stopped) => Err("the turn was stopped".to_owned()),
        };
        let outcome = ToolOutcome::of(&invocation.tool, found);
        let end = CallEnd::of(&outcome);
        let state = ended_state(outcome.verdict());
        faults::point("before:loop-call-done").await;
        self.step(key, ToolCallStep::End { state, result_sealed: self.sealed(&end) }).await;
        faults::point("after:loop-call-done").await;
        end
    }
}
