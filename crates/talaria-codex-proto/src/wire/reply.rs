//! Answers to Codex's requests, in the shapes that Codex accepts.
//!
//! Each shape is validated in the tests against the schema of the installed Codex. A refusal has the shape that grants
//! nothing, so that the turn continues. "Always" is only ever a rule that Codex itself proposed. Called by the turn
//! machine and by the host; the only reader of typed secrets.

use serde_json::{Map, Value, json};

use super::server_request::{CommandApproval, ServerRequest};
use crate::wire::rpc_error::RpcError;
use talaria_core::request::{Answer, Content, Decision, Given, Grant};
use talaria_core::tool::ToolOutcome;

/// Returns the answer in Codex's shape; `None` when there is nothing to send, or when it is not for people to answer.
pub fn answer(request: &ServerRequest, answer: &Answer) -> Option<Value> {
    let decision = decided(request, answer.decision);
    if decision == Decision::Void {
        return None;
    }
    match request {
        ServerRequest::Command(p) => Some(json!({ "decision": command_word(p, decision) })),
        ServerRequest::Patch(_) => Some(json!({ "decision": word(decision) })),
        ServerRequest::Elicitation(p) => {
            let content = match (decision.is_yes(), &answer.content) {
                (false, _) => Value::Null,
                (true, Content::Form(values)) => {
                    let revealed = values.iter().map(|(name, given)| (name.clone(), given.reveal().clone()));
                    Value::Object(revealed.collect())
                }
                // No one types anything into an address.
                (true, _) if p.mode.as_deref() == Some("url") => Value::Null,
                (true, _) => json!({}),
            };
            let persist = match decision {
                Decision::AcceptForSession => json!({ "persist": "session" }),
                Decision::AcceptAlways => json!({ "persist": "always" }),
                _ => Value::Null,
            };
            Some(json!({ "action": elicitation_word(decision), "content": content, "_meta": persist }))
        }
        // These two have no word for "no": granting nothing and answering nothing is how they are declined.
        ServerRequest::Permissions(p) => Some(match decision {
            Decision::Accept => {
                json!({ "permissions": granted(&p.permissions, &answer.content), "scope": "turn" })
            }
            Decision::AcceptForSession | Decision::AcceptAlways => {
                json!({ "permissions": granted(&p.permissions, &answer.content), "scope": "session" })
            }
            Decision::Decline | Decision::Cancel | Decision::Void => {
                json!({ "permissions": {}, "scope": "turn" })
            }
        }),
        ServerRequest::UserInput(_) => {
            let mut answers = Map::new();
            if let (true, Content::Answers(given)) = (decision.is_yes(), &answer.content) {
                for (question, given) in given {
                    let texts: Vec<&Value> = given.iter().map(Given::reveal).collect();
                    answers.insert(question.clone(), json!({ "answers": texts }));
                }
            }
            Some(json!({ "answers": answers }))
        }
        ServerRequest::ToolCall(_)
        | ServerRequest::TokenRefresh(_)
        | ServerRequest::Attestation(_)
        | ServerRequest::CurrentTime(_) => None,
    }
}

/// Converts a decision: one that Codex cannot carry out becomes the next milder one, never a stronger one.
pub fn decided(request: &ServerRequest, decision: Decision) -> Decision {
    let (can_last, has_rule) = match request {
        ServerRequest::Command(p) => (p.can_last(), rule(p).is_some()),
        ServerRequest::Patch(_) | ServerRequest::Permissions(_) => (true, false),
        ServerRequest::Elicitation(p) => (p.can_persist("session"), p.can_persist("always")),
        _ => (false, false),
    };
    match decision {
        Decision::AcceptAlways if !has_rule => decided(request, Decision::AcceptForSession),
        Decision::AcceptForSession if !can_last => Decision::Accept,
        other => other,
    }
}

/// The decision that makes a rule, if Codex proposes one.
fn rule(p: &CommandApproval) -> Option<Value> {
    if p.network_approval_context.is_some() {
        let rule = p.network_amendment()?;
        return Some(json!({ "applyNetworkPolicyAmendment": { "network_policy_amendment": rule } }));
    }
    let words = p.exec_amendment()?;
    Some(json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": words } }))
}

fn command_word(p: &CommandApproval, decision: Decision) -> Value {
    let rule = if decision == Decision::AcceptAlways { rule(p) } else { None };
    rule.unwrap_or_else(|| word(decision).into())
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Accept => "accept",
        Decision::AcceptForSession | Decision::AcceptAlways => "acceptForSession",
        Decision::Cancel => "cancel",
        Decision::Decline | Decision::Void => "decline",
    }
}

fn elicitation_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Accept | Decision::AcceptForSession | Decision::AcceptAlways => "accept",
        Decision::Cancel => "cancel",
        Decision::Decline | Decision::Void => "decline",
    }
}

/// The granted permissions, in the requested form. Only the two parts that Codex accepts; newer ones are not
/// granted.
fn granted(requested: &Value, content: &Content) -> Value {
    let parts: &[&str] = match content {
        Content::Grant(Grant::Network) => &["network"],
        Content::Grant(Grant::Files) => &["fileSystem"],
        _ => &["network", "fileSystem"],
    };
    let part = |name: &&str| {
        Some(((*name).to_owned(), requested.get(*name).filter(|part| !part.is_null())?.clone()))
    };
    Value::Object(parts.iter().filter_map(part).collect())
}

/// The answer to `item/tool/call`. One text item: Codex drops a second one.
pub fn tool_result(outcome: &ToolOutcome) -> Value {
    json!({
        "contentItems": [{ "type": "inputText", "text": outcome.text() }],
        "success": outcome.is_success(),
    })
}

/// The refusal of a request to the client program; `None` for everything else. The host sends it, since such a request
/// may belong to no conversation.
pub fn refusal(request: &ServerRequest) -> Option<RpcError> {
    let message = match request {
        ServerRequest::TokenRefresh(_) => {
            "Talaria keeps no ChatGPT tokens: run `codex login`, so that Codex can refresh its own"
        }
        ServerRequest::Attestation(_) => "Talaria cannot attest the program that Codex runs in",
        ServerRequest::CurrentTime(_) => "Talaria keeps no clock for Codex",
        _ => return None,
    };
    Some(RpcError { code: RpcError::METHOD_NOT_FOUND, message: message.to_owned(), data: None })
}

#[cfg(test)]
mod tests;
