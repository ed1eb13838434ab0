//! Answers to Codex's requests, in the shapes that Codex accepts.
//!
//! Each shape is validated in the tests against the schema of the installed Codex. What cannot be granted is answered
//! with the shape that grants nothing, so that the turn goes on.

use serde_json::{Value, json};

use super::server_request::ServerRequest;
use crate::request::Decision;

/// Gives the answer that means `decision`; `None` when there is nothing to send any more.
pub fn answer(request: &ServerRequest, decision: Decision) -> Option<Value> {
    if decision == Decision::Void {
        return None;
    }
    Some(match request {
        ServerRequest::Command(_) | ServerRequest::Patch(_) => json!({ "decision": decision_word(decision) }),
        ServerRequest::Elicitation(_) => {
            let action = match decision {
                Decision::Accept | Decision::AcceptForSession => "accept",
                Decision::Cancel => "cancel",
                Decision::Decline | Decision::Void => "decline",
            };
            let content = if action == "accept" { json!({}) } else { Value::Null };
            json!({ "action": action, "content": content, "_meta": null })
        }
        // These two have no word for "no": granting nothing and answering nothing is how they are declined.
        ServerRequest::Permissions(_) => json!({ "permissions": {}, "scope": "turn" }),
        ServerRequest::UserInput(_) => json!({ "answers": {} }),
    })
}

fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Accept => "accept",
        Decision::AcceptForSession => "acceptForSession",
        Decision::Cancel => "cancel",
        Decision::Decline | Decision::Void => "decline",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::frame::{Decoded, Frame, decode_text};

    /// A request with what any of the methods requires.
    fn request(method: &str) -> ServerRequest {
        let params =
            json!({ "threadId": "t", "turnId": "u", "itemId": "i", "serverName": "s", "questions": [] });
        let text = json!({ "method": method, "id": 0, "params": params }).to_string();
        match decode_text(&text) {
            Decoded::Known(Frame::Request { request, .. }) => request,
            other => panic!("not a request: {other:?}"),
        }
    }

    const DECISIONS: [Decision; 5] =
        [Decision::Accept, Decision::AcceptForSession, Decision::Decline, Decision::Cancel, Decision::Void];

    #[test]
    fn every_request_and_decision_has_its_shape() {
        let mut table = String::new();
        for method in ServerRequest::METHODS {
            table += &format!("{method}\n");
            for decision in DECISIONS {
                let answer = answer(&request(method), decision);
                let answer = answer.map_or("nothing".to_owned(), |value| value.to_string());
                table += &format!("  {decision}: {answer}\n");
            }
        }
        expect![[r#"
            item/commandExecution/requestApproval
              accepted: {"decision":"accept"}
              accepted for this session: {"decision":"acceptForSession"}
              declined: {"decision":"decline"}
              cancelled: {"decision":"cancel"}
              no longer open: nothing
            item/fileChange/requestApproval
              accepted: {"decision":"accept"}
              accepted for this session: {"decision":"acceptForSession"}
              declined: {"decision":"decline"}
              cancelled: {"decision":"cancel"}
              no longer open: nothing
            item/permissions/requestApproval
              accepted: {"permissions":{},"scope":"turn"}
              accepted for this session: {"permissions":{},"scope":"turn"}
              declined: {"permissions":{},"scope":"turn"}
              cancelled: {"permissions":{},"scope":"turn"}
              no longer open: nothing
            item/tool/requestUserInput
              accepted: {"answers":{}}
              accepted for this session: {"answers":{}}
              declined: {"answers":{}}
              cancelled: {"answers":{}}
              no longer open: nothing
            mcpServer/elicitation/request
              accepted: {"_meta":null,"action":"accept","content":{}}
              accepted for this session: {"_meta":null,"action":"accept","content":{}}
              declined: {"_meta":null,"action":"decline","content":null}
              cancelled: {"_meta":null,"action":"cancel","content":null}
              no longer open: nothing
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn no_answer_grants_permissions_or_invents_an_answer() {
        for decision in DECISIONS {
            let permissions = answer(&request("item/permissions/requestApproval"), decision);
            assert!(permissions.is_none_or(|value| value["permissions"] == json!({})));
            let input = answer(&request("item/tool/requestUserInput"), decision);
            assert!(input.is_none_or(|value| value["answers"] == json!({})));
        }
    }

    #[test]
    fn only_an_acceptance_accepts() {
        for method in ServerRequest::METHODS {
            for decision in [Decision::Decline, Decision::Cancel, Decision::Void] {
                let answer = answer(&request(method), decision);
                assert!(
                    !answer.is_some_and(|value| value.to_string().contains("accept")),
                    "{method} {decision}"
                );
            }
        }
    }
}
