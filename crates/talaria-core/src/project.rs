//! Converts Codex's shapes into our vocabulary. The only place where the two meet.

use serde_json::Value;

use crate::event::{PlanStatus, PlanStep, Started, Usage};
use crate::ids::ThreadId;
use crate::item::{FileAction, FileChange, Item, ItemBody, Status};
use crate::request::Ask;
use crate::wire::call::{ThreadStartReply, UserInput};
use crate::wire::item::{WireBody, WireChange, WireChangeKind, WireItem, WireStatus};
use crate::wire::notification::{Tokens, WirePlanStep};
use crate::wire::server_request::{CommandApproval, ServerRequest};

/// Converts an item.
pub fn item(wire: WireItem) -> Item {
    let WireItem { id, body } = wire;
    let body = match body {
        WireBody::UserMessage { content } => ItemBody::UserMessage { text: joined_text(content) },
        WireBody::AgentMessage { text, phase } => ItemBody::AgentMessage { text, phase },
        WireBody::Reasoning { summary } => ItemBody::Reasoning { summary },
        WireBody::Plan { text } => ItemBody::Plan { text },
        WireBody::CommandExecution { command, cwd, status, aggregated_output, exit_code, duration_ms } => {
            let status = self::status(status);
            ItemBody::Command { command, cwd, status, exit_code, duration_ms, output: aggregated_output }
        }
        WireBody::FileChange { changes, status } => ItemBody::Patch {
            status: self::status(status),
            changes: changes.into_iter().map(file_change).collect(),
        },
        WireBody::McpToolCall { server, tool, status, error, duration_ms } => {
            let error = error.as_ref().map(error_text);
            ItemBody::Tool { server, tool, status: self::status(status), duration_ms, error }
        }
        WireBody::DynamicToolCall { tool, status, duration_ms } => {
            let status = self::status(status);
            ItemBody::Tool { server: "client".to_owned(), tool, status, duration_ms, error: None }
        }
        WireBody::CollabAgentToolCall { tool, status, receiver_thread_ids } => {
            ItemBody::Agents { action: tool, status: self::status(status), threads: receiver_thread_ids }
        }
        WireBody::ContextCompaction => ItemBody::Compaction,
        WireBody::WebSearch { query } => ItemBody::WebSearch { query },
        WireBody::Other { kind, raw } => ItemBody::Other { name: kind, raw },
    };
    Item { id, body }
}

fn joined_text(content: Vec<UserInput>) -> String {
    let texts = content.into_iter().filter_map(|part| match part {
        UserInput::Text { text } => Some(text),
        UserInput::LocalImage { .. } | UserInput::Other => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn error_text(error: &Value) -> String {
    match error.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => error.as_str().map_or_else(|| error.to_string(), str::to_owned),
    }
}

fn status(wire: WireStatus) -> Status {
    match wire {
        WireStatus::InProgress => Status::InProgress,
        WireStatus::Completed => Status::Completed,
        WireStatus::Failed => Status::Failed,
        WireStatus::Declined => Status::Declined,
        WireStatus::Other => Status::Unknown,
    }
}

/// Converts a change of a file.
pub fn file_change(wire: WireChange) -> FileChange {
    let (action, move_to) = match wire.kind {
        WireChangeKind::Add => (FileAction::Add, None),
        WireChangeKind::Delete => (FileAction::Delete, None),
        WireChangeKind::Update { move_path } => (FileAction::Update, move_path),
    };
    FileChange { path: wire.path, action, move_to, diff: wire.diff }
}

/// Converts the steps of a plan.
pub fn plan(steps: Vec<WirePlanStep>) -> Vec<PlanStep> {
    let convert = |step: WirePlanStep| {
        let status = match step.status.as_str() {
            "completed" => PlanStatus::Completed,
            "inProgress" => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        };
        PlanStep { step: step.step, status }
    };
    steps.into_iter().map(convert).collect()
}

/// Converts a count of tokens.
pub fn usage(tokens: Tokens) -> Usage {
    Usage {
        input: tokens.input_tokens,
        cached: tokens.cached_input_tokens,
        output: tokens.output_tokens,
        reasoning: tokens.reasoning_output_tokens,
        total: tokens.total_tokens,
    }
}

/// Converts a question. `changes` are those of the item that a patch belongs to, if it was announced.
pub fn ask(request: &ServerRequest, changes: Option<Vec<FileChange>>) -> Ask {
    match request {
        ServerRequest::Command(p) => match (&p.command, beyond_a_command(p)) {
            (Some(command), None) => Ask::Command {
                thread: p.thread_id.clone(),
                item: p.item_id.clone(),
                command: command.clone(),
                cwd: p.cwd.clone(),
                reason: p.reason.clone(),
            },
            (_, Some(what)) => unsupported(request, what),
            // Nobody can agree to something that is not shown.
            (None, None) => {
                unsupported(request, "Codex asks to run something, but does not say what".to_owned())
            }
        },
        ServerRequest::Patch(p) => Ask::Patch {
            thread: p.thread_id.clone(),
            item: p.item_id.clone(),
            changes,
            reason: p.reason.clone(),
            grant_root: p.grant_root.clone(),
        },
        ServerRequest::Elicitation(p) if p.is_tool_approval() => Ask::Tool {
            thread: Some(p.thread_id.clone()),
            server: p.server_name.clone(),
            message: p.message.clone(),
            description: p.tool_fact("tool_description").and_then(Value::as_str).map(str::to_owned),
            arguments: p.tool_fact("tool_params").map(Value::to_string),
        },
        ServerRequest::Elicitation(p) => {
            unsupported(request, format!("the MCP server {} asks: {}", p.server_name, p.message))
        }
        ServerRequest::Permissions(p) => {
            let reason = p.reason.as_deref().unwrap_or("no reason given");
            unsupported(request, format!("Codex asks for a wider sandbox: {reason}"))
        }
        ServerRequest::UserInput(p) => {
            let questions: Vec<&str> = p.questions.iter().map(|q| q.question.as_str()).collect();
            unsupported(request, format!("the model asks: {}", questions.join(" / ")))
        }
    }
}

/// What a request grants besides running a command; this version cannot show that well enough to ask for it.
fn beyond_a_command(request: &CommandApproval) -> Option<String> {
    let (command, kind) = (request.command.as_deref().unwrap_or("something"), request.kind.as_deref());
    match (kind, &request.additional_permissions, &request.network_approval_context) {
        (None | Some("command"), None, None) => None,
        (None | Some("command"), Some(wider), _) => {
            Some(format!("Codex asks to run {command} with a wider sandbox: {wider}"))
        }
        (None | Some("command"), None, Some(network)) => {
            Some(format!("Codex asks for network access for {command}: {network}"))
        }
        (Some(kind), _, _) => Some(format!("Codex asks for {kind}: {command}")),
    }
}

fn unsupported(request: &ServerRequest, summary: String) -> Ask {
    Ask::Unsupported {
        thread: request.scope().thread.map(ThreadId::new),
        method: request.method().to_owned(),
        summary,
    }
}

/// Converts the answer to `thread/start`.
pub fn started(reply: ThreadStartReply, codex: String) -> Started {
    Started {
        thread: reply.thread.id,
        path: reply.thread.path,
        cwd: reply.cwd,
        model: reply.model,
        provider: reply.model_provider,
        effort: reply.reasoning_effort,
        sandbox: sandbox_word(&reply.sandbox),
        approval: approval_word(&reply.approval_policy),
        codex,
    }
}

/// The word for a sandbox as people type it: Codex answers `workspaceWrite` where it was asked for `workspace-write`.
fn sandbox_word(sandbox: &Value) -> String {
    match sandbox.get("type").and_then(Value::as_str) {
        Some("readOnly") => "read-only".to_owned(),
        Some("workspaceWrite") => "workspace-write".to_owned(),
        Some("dangerFullAccess") => "danger-full-access".to_owned(),
        Some(other) => other.to_owned(),
        None => sandbox.to_string(),
    }
}

fn approval_word(policy: &Value) -> String {
    let key = policy.as_object().and_then(|object| object.keys().next());
    policy.as_str().or(key.map(String::as_str)).map_or_else(|| policy.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::frame::{Decoded, Frame, decode_text};
    use crate::wire::notification::Notification;

    fn check_item(wire: &Value, expected: Expect) {
        let params = json!({ "threadId": "t", "turnId": "u", "item": wire });
        let text = json!({ "method": "item/started", "params": params }).to_string();
        let Decoded::Known(Frame::Notification(Notification::ItemStarted(params))) = decode_text(&text)
        else {
            panic!("not an item")
        };
        expected.assert_eq(&serde_json::to_string(&item(params.item)).unwrap());
    }

    fn check_ask(method: &str, params: &Value, expected: Expect) {
        let text = json!({ "method": method, "id": 0, "params": params }).to_string();
        let Decoded::Known(Frame::Request { request, .. }) = decode_text(&text) else {
            panic!("not a request")
        };
        expected.assert_eq(&serde_json::to_string(&ask(&request, None)).unwrap());
    }

    #[test]
    fn a_user_message_is_its_text_parts() {
        let content = json!([{ "type": "text", "text": "look at" }, { "type": "localImage", "path": "/a.png" },
                             { "type": "hologram" }, { "type": "text", "text": "this" }]);
        check_item(
            &json!({ "type": "userMessage", "id": "i", "content": content }),
            expect![[r#"{"id":"i","kind":"user_message","text":"look at\nthis"}"#]],
        );
    }

    #[test]
    fn a_command_keeps_its_output_and_a_new_status_is_unknown() {
        check_item(
            &json!({ "type": "commandExecution", "id": "i", "command": "ls", "cwd": "/w", "status": "completed",
                     "aggregatedOutput": "a\n", "exitCode": 0, "durationMs": 3, "processId": "7" }),
            expect![[
                r#"{"id":"i","kind":"command","command":"ls","cwd":"/w","status":"completed","exit_code":0,"duration_ms":3,"output":"a\n"}"#
            ]],
        );
        check_item(
            &json!({ "type": "commandExecution", "id": "i", "command": "ls", "cwd": "/w", "status": "levitating" }),
            expect![[
                r#"{"id":"i","kind":"command","command":"ls","cwd":"/w","status":"unknown","exit_code":null,"duration_ms":null,"output":null}"#
            ]],
        );
    }

    #[test]
    fn a_patch_says_what_happens_to_each_file() {
        let changes = json!([
            { "path": "a", "kind": { "type": "add" }, "diff": "hi\n" },
            { "path": "b", "kind": { "type": "delete" }, "diff": "bye\n" },
            { "path": "c", "kind": { "type": "update", "move_path": "d" }, "diff": "@@" },
            { "path": "e", "kind": { "type": "update", "move_path": null }, "diff": "@@" },
        ]);
        check_item(
            &json!({ "type": "fileChange", "id": "i", "status": "declined", "changes": changes }),
            expect![[
                r#"{"id":"i","kind":"patch","status":"declined","changes":[{"path":"a","action":"add","move_to":null,"diff":"hi\n"},{"path":"b","action":"delete","move_to":null,"diff":"bye\n"},{"path":"c","action":"update","move_to":"d","diff":"@@"},{"path":"e","action":"update","move_to":null,"diff":"@@"}]}"#
            ]],
        );
    }

    #[test]
    fn a_tool_says_where_it_lives_and_what_went_wrong() {
        check_item(
            &json!({ "type": "mcpToolCall", "id": "i", "server": "tiny", "tool": "echo", "status": "failed",
                     "error": { "message": "no such tool" }, "durationMs": 1 }),
            expect![[
                r#"{"id":"i","kind":"tool","server":"tiny","tool":"echo","status":"failed","duration_ms":1,"error":"no such tool"}"#
            ]],
        );
        check_item(
            &json!({ "type": "mcpToolCall", "id": "i", "server": "tiny", "tool": "echo", "status": "failed",
                     "error": { "code": 7 } }),
            expect![[
                r#"{"id":"i","kind":"tool","server":"tiny","tool":"echo","status":"failed","duration_ms":null,"error":"{\"code\":7}"}"#
            ]],
        );
        check_item(
            &json!({ "type": "dynamicToolCall", "id": "i", "tool": "lookup", "status": "inProgress" }),
            expect![[
                r#"{"id":"i","kind":"tool","server":"client","tool":"lookup","status":"in_progress","duration_ms":null,"error":null}"#
            ]],
        );
    }

    #[test]
    fn an_item_of_a_known_kind_in_a_new_shape_is_kept_whole() {
        check_item(
            &json!({ "type": "commandExecution", "id": "i", "command": ["ls", "-l"], "status": "completed" }),
            expect![[
                r#"{"id":"i","kind":"other","name":"commandExecution","raw":{"command":["ls","-l"],"id":"i","status":"completed","type":"commandExecution"}}"#
            ]],
        );
    }

    #[test]
    fn questions_are_put_in_our_words() {
        let scope = json!({ "threadId": "t", "turnId": "u", "itemId": "i" });
        check_ask(
            "item/commandExecution/requestApproval",
            &scope,
            expect![[
                r#"{"kind":"unsupported","thread":"t","method":"item/commandExecution/requestApproval","summary":"Codex asks to run something, but does not say what"}"#
            ]],
        );
        check_ask(
            "item/fileChange/requestApproval",
            &scope,
            expect![[
                r#"{"kind":"patch","thread":"t","item":"i","changes":null,"reason":null,"grant_root":null}"#
            ]],
        );
        check_ask(
            "item/permissions/requestApproval",
            &scope,
            expect![[
                r#"{"kind":"unsupported","thread":"t","method":"item/permissions/requestApproval","summary":"Codex asks for a wider sandbox: no reason given"}"#
            ]],
        );
        let questions = json!([{ "question": "Which?" }, { "question": "Why?" }, {}]);
        check_ask(
            "item/tool/requestUserInput",
            &json!({ "threadId": "t", "turnId": "u", "questions": questions }),
            expect![[
                r#"{"kind":"unsupported","thread":"t","method":"item/tool/requestUserInput","summary":"the model asks: Which? / Why? / "}"#
            ]],
        );
    }

    #[test]
    fn only_codexs_own_question_about_a_tool_can_be_put() {
        let elicitation = |meta: Value| json!({ "threadId": "t", "turnId": null, "serverName": "tiny", "message": "Run?", "_meta": meta });
        let method = "mcpServer/elicitation/request";
        check_ask(
            method,
            &elicitation(json!({ "codex_approval_kind": "mcp_tool_call" })),
            expect![[
                r#"{"kind":"tool","thread":"t","server":"tiny","message":"Run?","description":null,"arguments":null}"#
            ]],
        );
        check_ask(
            method,
            &elicitation(Value::Null),
            expect![[
                r#"{"kind":"unsupported","thread":"t","method":"mcpServer/elicitation/request","summary":"the MCP server tiny asks: Run?"}"#
            ]],
        );
        check_ask(
            method,
            &elicitation(json!({ "codex_approval_kind": "something_else" })),
            expect![[
                r#"{"kind":"unsupported","thread":"t","method":"mcpServer/elicitation/request","summary":"the MCP server tiny asks: Run?"}"#
            ]],
        );
    }

    #[test]
    fn what_is_in_force_is_told_in_the_words_that_people_type() {
        let reply = |sandbox: Value, approval: Value| {
            let reply = json!({ "thread": { "id": "t", "path": "/r.jsonl" }, "cwd": "/w", "model": "m",
                                "modelProvider": "p", "sandbox": sandbox, "approvalPolicy": approval });
            let started = started(serde_json::from_value(reply).unwrap(), "0.166.0".to_owned());
            format!("{} / {}", started.sandbox, started.approval)
        };
        let mut table = Vec::new();
        for sandbox in ["readOnly", "workspaceWrite", "dangerFullAccess", "levitating"] {
            table.push(reply(json!({ "type": sandbox }), json!("on-request")));
        }
        table.push(reply(json!("strange"), json!({ "granular": { "rules": true } })));
        table.push(reply(json!(null), json!(null)));
        expect![[r#"
            read-only / on-request
            workspace-write / on-request
            danger-full-access / on-request
            levitating / on-request
            "strange" / granular
            null / null"#]]
        .assert_eq(&table.join("\n"));
    }

    #[test]
    fn a_command_request_that_grants_more_than_a_command_cannot_be_put() {
        let base =
            json!({ "threadId": "t", "turnId": "u", "itemId": "i", "command": "ls", "kind": "command" });
        let with = |name: &str, value: Value| {
            let mut params = base.clone();
            params[name] = value;
            params
        };
        let method = "item/commandExecution/requestApproval";
        let unsupported = [
            with("kind", json!("writeStdin")),
            with("additionalPermissions", json!({ "network": { "enabled": true } })),
            with("networkApprovalContext", json!({ "host": "example.org" })),
            with("command", Value::Null),
        ];
        for params in unsupported {
            let text = json!({ "method": method, "id": 0, "params": params }).to_string();
            let Decoded::Known(Frame::Request { request, .. }) = decode_text(&text) else { panic!("{text}") };
            assert!(!ask(&request, None).is_answerable(), "{text}");
        }
        check_ask(
            method,
            &base,
            expect![[
                r#"{"kind":"command","thread":"t","item":"i","command":"ls","cwd":null,"reason":null}"#
            ]],
        );
    }
}
