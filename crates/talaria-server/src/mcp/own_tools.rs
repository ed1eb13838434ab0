//! Talaria's own tools (memory, recall, web) for MCP clients: listed with their hints, and passed on to the engine.
//!
//! The engine decides what the caller may do. `_meta.threadId` is passed on as what the client says: it is believed only of a
//! process below the Codex of that thread.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde_json::Value;
use talaria_core::api::OutsideCall;

use super::door::Door;
use crate::client::{Client, ClientError};

/// Begins the names of these tools.
const PREFIX: &str = "talaria_";

/// Is it the name of such a tool?
pub(super) fn is_one(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The tools, as clients see them.
pub(super) fn listed(door: &Door) -> impl Iterator<Item = Tool> {
    door.tools().into_iter().map(|tool| {
        let schema = match tool.spec.schema {
            Value::Object(schema) => schema,
            _ => Default::default(),
        };
        let hints = ToolAnnotations::new().read_only(tool.only_reads).destructive(false);
        Tool::new(tool.spec.name, tool.spec.description, Arc::new(schema)).with_annotations(hints)
    })
}

/// Passes a call on to the engine.
pub(super) async fn call(
    engine: Result<Client, ClientError>,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let call = OutsideCall {
        tool: request.name.into_owned(),
        arguments: Value::Object(request.arguments.unwrap_or_default()),
        thread: context.meta.get("threadId").and_then(Value::as_str).map(str::to_owned),
    };
    let answered = match engine {
        Ok(engine) => engine.call_tool(&call).await,
        Err(error) => Err(error),
    };
    match answered {
        Ok(result) if !result.is_error => CallToolResult::success(vec![ContentBlock::text(result.text)]),
        Ok(result) => CallToolResult::error(vec![ContentBlock::text(result.text)]),
        Err(error @ ClientError::Broken(_)) => {
            let text = format!(
                "{error}; it is not known whether this was done: read before you change anything again"
            );
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
        Err(error) => {
            let hint = error.next_step().map(|step| format!("; {}", step.in_shell())).unwrap_or_default();
            CallToolResult::error(vec![ContentBlock::text(format!("{error}{hint}"))])
        }
    }
}
