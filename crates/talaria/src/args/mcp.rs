//! `talaria mcp`: the door for other agents.

use clap::Args;

const EXAMPLES: &str = "\
Examples: how to register it with a client, which then starts it
  Claude Code  claude mcp add --scope user talaria -- talaria mcp
  Codex        codex mcp add talaria -- talaria mcp
               or in ~/.codex/config.toml:
                 [mcp_servers.talaria]
                 command = \"talaria\"
                 args = [\"mcp\"]
                 tool_timeout_sec = 120
  Goose        goose session --with-extension \"talaria mcp\"
               or in ~/.config/goose/config.yaml:
                 extensions:
                   talaria: { type: stdio, name: talaria, cmd: talaria, args: [mcp],
                              enabled: true, timeout: 300 }
  Zed          in settings.json:
                 \"context_servers\": { \"talaria\": { \"command\": \"talaria\", \"args\": [\"mcp\"] } }
  Hermes       in ~/.hermes/config.yaml:
                 mcp_servers:
                   talaria: { command: talaria, args: [mcp] }
  Inspector    npx @modelcontextprotocol/inspector --cli talaria mcp --method tools/list

Many clients pass few variables on: name TALARIA_HOME and CODEX_HOME in their `env` if you use them.
A model works in the directory that the client was started in, sees only its own tasks, and cannot
answer requests of Codex; [bridge] in config.toml can change this.";

/// Options of `talaria mcp`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mcp {
    /// Use this name for the client, whatever it calls itself: tasks belong to the name
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<String>,
}
