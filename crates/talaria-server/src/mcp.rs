//! The MCP server: the tool `codex_bridge`, Talaria's own tools and the transcripts of tasks, for any MCP client, over standard input and output.
//!
//! A thin client of the engine: `talaria_core::bridge` parses calls, the engine decides about rights, on behalf of a model.
//! The only state here is which requests a waiting caller has seen. Called by `talaria mcp`.
//!
//! | file | idea |
//! |---|---|
//! | `lines` | one JSON-RPC message a line, within a limit |
//! | `door` | the connection to the engine, and its principal |
//! | `service` | what a client may ask |
//! | `calls` | one call of `codex_bridge` |
//! | `own_tools` | memory, recall and web, passed on to the engine |
//! | `waiting` | until a task has ended or needs a person |
//! | `transcript` | a conversation in a bounded size |

mod calls;
mod door;
mod lines;
mod own_tools;
mod service;
mod transcript;
mod waiting;

use std::time::Duration;

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

pub use door::{Door, TaskCheck};

use lines::Lines;
use service::Bridge;

/// How long the last answers may take to be written when the client has closed its side: it may not read them.
const LAST_WORDS: Duration = Duration::from_millis(800);

/// Why no client was served to its end.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The client began with something else than a greeting, or left in the middle of it.
    #[error("the client did not complete the MCP handshake: {0}")]
    Greeting(String),
    /// What serves the client broke.
    #[error("the MCP server broke: {0}")]
    Broken(String),
}

/// Serves one client until it closes `input` or `stop` is ready. Tasks continue without it.
pub async fn serve<R, W>(
    door: Door,
    input: R,
    output: W,
    stop: impl Future<Output = ()>,
) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    // Nothing waits any longer when the client is gone.
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    let lines = Lines::new(input, output, gone.clone());
    let serving = async {
        let bridge = Bridge::new(door, gone.clone());
        let running = match serve_server_with_ct(bridge, lines, gone.child_token()).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(McpError::Greeting(error.to_string())),
        };
        running.waiting().await.map(drop).map_err(|error| McpError::Broken(error.to_string()))
    };
    let left = async {
        gone.cancelled().await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        served = serving => served,
        () = left => Ok(()),
        () = stop => Ok(()),
    }
}
