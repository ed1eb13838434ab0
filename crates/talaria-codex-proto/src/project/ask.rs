//! Converts Codex's requests into questions for people.
//!
//! No one can approve an operation that is not shown: a request that cannot be shown completely becomes
//! `Ask::Unsupported`, and every question has a subject. Called by the turn machine.

use std::collections::BTreeSet;

use serde_json::Value;

use super::form::form;
use super::permissions::permissions;
use crate::wire::reply;
use crate::wire::server_request::{
    CommandAction, CommandApproval, DynamicToolCallParams, Elicitation, NetworkContext, PermissionsApproval,
    ServerRequest, UserInputQuestion, UserInputRequest,
};
use talaria_core::ids::ThreadId;
use talaria_core::item::FileChange;
use talaria_core::request::{Ask, Persist, Question, QuestionOption, Wish};

/// Converts a question. `changes` are those of the item that a patch belongs to, if it was announced.
pub fn ask(request: &ServerRequest, changes: Option<Vec<FileChange>>) -> Ask {
    let asked = match request {
        ServerRequest::Command(p) => command(p),
        ServerRequest::Patch(p) => Ok(Ask::Patch {
            thread: p.thread_id.clone(),
            item: p.item_id.clone(),
            changes,
            reason: p.reason.clone(),
            grant_root: p.grant_root.clone(),
        }),
        ServerRequest::Permissions(p) => wider_sandbox(p),
        ServerRequest::UserInput(p) => input(p),
        ServerRequest::Elicitation(p) => elicitation(p),
        ServerRequest::ToolCall(p) => Err(tool_call(p)),
        ServerRequest::TokenRefresh(_) | ServerRequest::Attestation(_) | ServerRequest::CurrentTime(_) => {
            let summary = reply::refusal(request).map(|error| error.message).unwrap_or_default();
            Ok(Ask::Host { method: request.method().to_owned(), summary })
        }
    };
    asked.unwrap_or_else(|summary| Ask::Unsupported {
        thread: request.scope().thread.map(ThreadId::new),
        method: request.method().to_owned(),
        summary,
    })
}

/// `Err` is why it cannot be shown to a person.
type Asked = Result<Ask, String>;

fn command(p: &CommandApproval) -> Asked {
    let command = p.command.clone().filter(|command| !command.trim().is_empty());
    if let Some(context) = &p.network_approval_context {
        return network(p, context, command);
    }
    let Some(command) = command else {
        return Err("Codex asks to run something, but does not say what".to_owned());
    };
    let (thread, item, approval) = (p.thread_id.clone(), p.item_id.clone(), p.approval_id.clone());
    let (cwd, reason) = (p.cwd.clone(), p.reason.clone());
    match p.kind.as_deref() {
        Some("writeStdin") => {
            Ok(Ask::Stdin { thread, item, approval, command, cwd, reason, can_last: p.can_last() })
        }
        None | Some("command") => Ok(Ask::Command {
            thread,
            item,
            approval,
            command,
            actions: p.command_actions.iter().flatten().filter_map(action).collect(),
            cwd,
            reason,
            permissions: p.additional_permissions.as_ref().map(permissions).filter(|wider| !wider.is_empty()),
            always: p.exec_amendment(),
            asked_because: None,
        }),
        Some(kind) => Err(format!("Codex asks about a command in a way that is new ({kind}): {command}")),
    }
}

fn network(p: &CommandApproval, context: &NetworkContext, command: Option<String>) -> Asked {
    if context.host.trim().is_empty() {
        return Err("Codex asks to reach the network, but does not say where".to_owned());
    }
    Ok(Ask::Network {
        thread: p.thread_id.clone(),
        item: p.item_id.clone(),
        host: context.host.clone(),
        protocol: context.protocol.clone(),
        command,
        reason: p.reason.clone(),
        always: p.network_amendment().map(|rule| rule.host),
    })
}

fn action(action: &CommandAction) -> Option<String> {
    let what = match action.kind.as_str() {
        "read" => "read".to_owned(),
        "listFiles" => "list files".to_owned(),
        "search" => action.query.as_ref().map_or("search".to_owned(), |query| format!("search for {query}")),
        _ => return None,
    };
    let place = action.path.as_ref().map(|path| match action.kind.as_str() {
        "read" => format!(" {path}"),
        _ => format!(" in {path}"),
    });
    Some(what + &place.unwrap_or_default())
}

fn wider_sandbox(p: &PermissionsApproval) -> Asked {
    let wider = permissions(&p.permissions);
    if wider.is_empty() {
        let reason = p.reason.as_deref().unwrap_or("no reason given");
        return Err(format!("Codex asks for a wider sandbox, but does not say how: {reason}"));
    }
    Ok(Ask::Permissions {
        thread: p.thread_id.clone(),
        item: p.item_id.clone(),
        cwd: p.cwd.clone(),
        reason: p.reason.clone(),
        permissions: wider,
    })
}

fn input(p: &UserInputRequest) -> Asked {
    let ids: BTreeSet<&str> = p.questions.iter().map(|question| question.id.as_str()).collect();
    // Two questions of one name could not be answered apart.
    if p.questions.is_empty() || ids.len() < p.questions.len() {
        let questions: Vec<&str> = p.questions.iter().map(|question| question.question.as_str()).collect();
        return Err(format!("the model asks in a form that cannot be answered: {}", questions.join(" / ")));
    }
    Ok(Ask::Input {
        thread: p.thread_id.clone(),
        item: p.item_id.clone(),
        questions: p.questions.iter().map(question).collect(),
        blocking: p.is_blocking.or(p.auto_resolution_ms.map(|_| false)),
    })
}

pub(super) fn question(wire: &UserInputQuestion) -> Question {
    let options = wire.options.iter().flatten().map(|option| QuestionOption {
        label: option.label.clone(),
        description: option.description.clone(),
    });
    Question {
        id: wire.id.clone(),
        header: wire.header.clone(),
        question: wire.question.clone(),
        options: options.collect(),
        other: wire.is_other,
        secret: wire.is_secret,
    }
}

fn elicitation(p: &Elicitation) -> Asked {
    let unsupported = |why: &str| Err(format!("the MCP server {} asks {why}: {}", p.server_name, p.message));
    let (thread, server, message) = (p.thread_id.clone(), p.server_name.clone(), p.message.clone());
    match (p.approval_kind(), p.mode.as_deref()) {
        (Some("mcp_tool_call"), _) => {
            let durations = [("session", Persist::Session), ("always", Persist::Always)];
            let persist = durations.into_iter().filter(|(word, _)| p.can_persist(word));
            Ok(Ask::Tool {
                thread: Some(thread),
                server,
                message,
                description: p.tool_fact("tool_description").and_then(Value::as_str).map(str::to_owned),
                arguments: p.tool_fact("tool_params").map(Value::to_string),
                persist: persist.map(|(_, duration)| duration).collect(),
                item: None,
            })
        }
        // The effect of a yes to other questions of Codex is unknown.
        (Some(kind), _) => unsupported(&format!("for Codex ({kind})")),
        (None, Some("url")) => match p.url.clone().filter(|url| !url.trim().is_empty()) {
            Some(url) => Ok(Ask::Elicitation { thread, server, message, wish: Wish::Url { url } }),
            None => unsupported("to visit an address, but does not say which"),
        },
        (None, Some("form") | None) => match form(&p.requested_schema) {
            Some(form) => Ok(Ask::Elicitation { thread, server, message, wish: Wish::Form(form) }),
            None => unsupported("with a form that cannot be shown"),
        },
        (None, Some(mode)) => unsupported(&format!("in a way that is new ({mode})")),
    }
}

/// A call of a tool is for programs; it gets here only if none took it.
fn tool_call(p: &DynamicToolCallParams) -> String {
    let group = p.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("the model calls the tool {group}{}, which this session does not have", p.tool)
}

#[cfg(test)]
mod tests;
