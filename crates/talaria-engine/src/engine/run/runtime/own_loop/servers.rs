//! The user's MCP servers in a conversation of the loop: which of their tools it offers, and how a server is found at a call.
//!
//! The tools are listed once, for the first turn, and stored with the head. A server that is changed, switched off or gone
//! later changes no request: a call of it fails with the reason. Called by `own_loop`, `calls/serving` runs the calls.

use std::sync::Arc;

use futures_util::future::join_all;
use talaria_codex::spec::Surroundings;
use talaria_core::servers::Server;
use talaria_guard::plain::one_line;
use talaria_guard::redact::redact;
use talaria_mcp::{ListedTools, OfferedServerTool, ServerLaunch, ServerOffer, offer_tools, server_launch};

use crate::engine::Inner;

/// How many names of tools that do not fit a warning has.
const MOST_NAMES: usize = 5;

/// The servers of a conversation.
#[derive(Clone)]
pub(super) struct LoopServers {
    engine: Arc<Inner>,
    cwd: String,
    surroundings: Surroundings,
    tools: Arc<[OfferedServerTool]>,
}

impl LoopServers {
    /// The servers of a conversation that offers these tools.
    pub(super) fn new(
        engine: &Arc<Inner>,
        cwd: &str,
        surroundings: &Surroundings,
        tools: &[OfferedServerTool],
    ) -> Self {
        Self {
            engine: Arc::clone(engine),
            cwd: cwd.to_owned(),
            surroundings: surroundings.clone(),
            tools: tools.into(),
        }
    }

    /// Starts the servers of the configuration and chooses what a new conversation offers of them. The texts say what is
    /// left out, and why.
    pub(super) async fn offer(&self) -> (ServerOffer, Vec<String>) {
        let mut warnings = Vec::new();
        let servers = match self.engine.home.load_config() {
            Ok((config, _)) => config.servers,
            Err(error) => {
                warnings.push(format!("{error}; this conversation has no MCP servers"));
                Vec::new()
            }
        };
        let used: Vec<Server> = servers.into_iter().filter(|server| server.enabled).collect();
        let listing = used.into_iter().map(|server| async move {
            let launch = self.launch(&server).map_err(|why| (server.name.clone(), why))?;
            let tools = self.engine.server_room.list(&launch).await;
            let tools = tools.map_err(|failure| (server.name.clone(), failure.to_string()))?;
            Ok(ListedTools { server: server.name, offered: server.tools, tools })
        });
        let mut listed = Vec::new();
        for result in join_all(listing).await {
            match result {
                Ok(tools) => listed.push(tools),
                Err((name, why)) => {
                    let why = format!("MCP server {name}: {why}; this conversation has no tools of it");
                    warnings.push(redact(&one_line(&why)).into_owned());
                }
            }
        }
        let offer = offer_tools(listed);
        warnings.extend(left_out(&offer));
        (offer, warnings)
    }

    /// The environment of the conversation.
    pub(super) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// The tool with this name, if the conversation offers it.
    pub(super) fn tool(&self, name: &str) -> Option<&OfferedServerTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The server as the configuration has it now. `Err` says to the model why it cannot be called.
    pub(super) fn find(&self, name: &str) -> Result<ServerLaunch, String> {
        let config = self.engine.home.load_config().map_err(|error| error.to_string())?.0;
        let server = config.servers.iter().find(|server| server.name == name);
        match server {
            Some(server) if server.enabled => {
                self.launch(server).map_err(|why| format!("the MCP server {name} cannot be used: {why}"))
            }
            Some(_) => Err(format!("the MCP server {name} is switched off in the configuration of Talaria")),
            None => Err(format!("the MCP server {name} is no longer in the configuration of Talaria")),
        }
    }

    fn launch(&self, server: &Server) -> Result<ServerLaunch, String> {
        let variable =
            |name: &str| self.surroundings.variable(name).and_then(|value| value.into_string().ok());
        server_launch(server, &self.cwd, variable).map_err(|error| error.to_string())
    }
}

/// One text for all tools of a server that do not fit.
fn left_out(offer: &ServerOffer) -> Vec<String> {
    let mut names: Vec<&str> = offer.left_out.iter().map(|tool| tool.server.as_str()).collect();
    names.dedup();
    let text = |server: &str| {
        let tools = offer.left_out.iter().filter(|tool| tool.server == server);
        let all: Vec<String> = tools.map(|tool| format!("{} ({})", tool.tool, tool.why)).collect();
        let shown = all.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
        let more = match all.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "MCP server {server}: tools are left out of this conversation: {shown}{more}; tools.include of the server \
             chooses which are offered"
        );
        redact(&one_line(&text)).into_owned()
    };
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(text).collect()
}
