//! The choices of a command request beyond yes and no: a reason, a permanent rule, input for a running command.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{ModelRequest, Reply};
use talaria_testkit::Codex;

use super::lab::{Lab, command};
use crate::stage::both_versions;

both_versions!(
    a_reason_that_is_steered_before_the_decline_follows_it_in_the_next_request,
    a_rule_for_ever_is_written_and_lets_commands_out_of_the_sandbox_everywhere,
    the_rule_that_is_proposed_may_be_the_models_own,
);

const COMMAND: &str = "CommandExecutionRequestApprovalResponse";

async fn a_reason_that_is_steered_before_the_decline_follows_it_in_the_next_request(codex: Codex) {
    let mut lab = Lab::new(&codex, json!({})).await;
    let thread = lab.thread("untrusted").await;
    lab.model.play([command("touch x"), Reply::say("I use y.")]);
    let turn = lab.client.begin(&thread, "go").await;
    let request = lab.client.request().await;
    let input = json!([{ "type": "text", "text": "Not x: y." }]);
    let steer = json!({ "threadId": thread, "expectedTurnId": turn, "input": input });
    assert_eq!(lab.client.call("turn/steer", steer).await["turnId"], turn.as_str());
    assert_eq!(lab.model.requests().len(), 1, "the model is not asked before the answer");
    lab.answer(COMMAND, &request, json!({ "decision": "decline" })).await;
    assert_eq!(lab.client.finish(&thread).await["status"], "completed");
    let requests = lab.model.requests();
    assert_eq!(requests.len(), 2, "and then once, with both");
    let last = &requests[1].body["input"].as_array().unwrap();
    let [output, reason] = &last[last.len() - 2..] else { panic!("{last:#?}") };
    assert!(output["output"].as_str().unwrap().contains("rejected by user"), "{output}");
    assert_eq!((&reason["role"], &reason["content"][0]["text"]), (&json!("user"), &json!("Not x: y.")));
    assert!(!lab.home.work().join("x").exists());
    lab.close().await;
}

async fn a_rule_for_ever_is_written_and_lets_commands_out_of_the_sandbox_everywhere(codex: Codex) {
    let mut lab = Lab::new(&codex, json!({})).await;
    let file = lab.outside().join("made");
    let make = format!("mkdir {}", file.display());
    let thread = lab.thread("untrusted").await;
    lab.model.play([command(&make), Reply::say("done")]);
    let (requests, _) = lab
        .turn(&thread, COMMAND, |request| {
            let rule = &request["params"]["proposedExecpolicyAmendment"];
            json!({ "decision": { "acceptWithExecpolicyAmendment": { "execpolicy_amendment": rule } } })
        })
        .await;
    assert_eq!(requests[0]["params"]["proposedExecpolicyAmendment"], json!(["mkdir", file]));
    let rules = fs::read_to_string(lab.home.path().join("rules/default.rules")).unwrap();
    assert_eq!(
        rules,
        format!("prefix_rule(pattern=[\"mkdir\", \"{}\"], decision=\"allow\")\n", file.display())
    );

    // On another thread, read-only, with approval policy never.
    if file.exists() {
        fs::remove_dir(&file).unwrap();
    }
    lab.start["sandbox"] = json!("read-only");
    let thread = lab.thread("never").await;
    lab.model.play([command(&make), Reply::say("done")]);
    let (requests, _) = lab.turn(&thread, COMMAND, |_| json!({ "decision": "decline" })).await;
    assert_eq!(requests, [] as [Value; 0]);
    assert!(file.exists(), "it ran outside");
    lab.close().await;
}

async fn the_rule_that_is_proposed_may_be_the_models_own(codex: Codex) {
    let mut lab = Lab::new(&codex, json!({})).await;
    let thread = lab.thread("on-request").await;
    let arguments = json!({
        "cmd": "mkdir made", "login": false, "sandbox_permissions": "require_escalated", "justification": "May I?",
        "prefix_rule": ["mkdir"],
    });
    lab.model.play([Reply::new().function("exec_command", arguments), Reply::say("done")]);
    let (requests, _) = lab.turn(&thread, COMMAND, |_| json!({ "decision": "decline" })).await;
    assert_eq!(
        requests[0]["params"]["proposedExecpolicyAmendment"],
        json!(["mkdir"]),
        "any directory, anywhere"
    );
    lab.close().await;
}

/// Starts a shell outside the sandbox and types a line into it, which ends it.
fn conversation(request: &ModelRequest) -> Reply {
    let told = request.tool_outputs();
    match told.as_slice() {
        [] => {
            let start = json!({
                "cmd": "bash --norc", "login": false, "tty": true, "yield_time_ms": 250,
                "sandbox_permissions": "require_escalated",
            });
            Reply::new().function("exec_command", start).call_id("shell")
        }
        [shell] => {
            let digits = shell.split("session ID ").nth(1).unwrap_or_default();
            let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
            let session: u64 = digits.parse().unwrap_or_default();
            let line =
                json!({ "session_id": session, "chars": "touch typed; exit\n", "yield_time_ms": 30_000 });
            Reply::new().function("write_stdin", line).call_id("typed")
        }
        _ => Reply::say("done"),
    }
}

/// The request, the model's view of its line, and whether the shell received it.
async fn types_into_a_shell_outside(codex: &Codex, decision: &str) -> (Vec<Value>, String, bool) {
    let mut lab = Lab::new(codex, json!({})).await;
    lab.model.route(|request| Some(conversation(request)));
    let thread = lab.thread("on-request").await;
    let turn = lab.turn(&thread, COMMAND, |request| {
        let is_line = request["params"]["approvalId"] == "typed";
        json!({ "decision": if is_line { decision } else { "accept" } })
    });
    let (requests, told) = turn.await;
    let is_typed = lab.home.work().join("typed").exists();
    lab.close().await;
    (requests, told[1].clone(), is_typed)
}

#[tokio::test]
async fn v0_130_does_not_ask_about_input_for_a_running_command() {
    let (requests, told, is_typed) = types_into_a_shell_outside(&Codex::v0_130(), "decline").await;
    assert_eq!(requests.len(), 1, "only about the shell: {requests:#?}");
    assert!(is_typed, "{told}");
}

#[tokio::test]
async fn v0_166_asks_about_input_for_a_command_that_was_started_outside() {
    let (requests, told, is_typed) = types_into_a_shell_outside(&Codex::v0_166(), "accept").await;
    let names = ["kind", "itemId", "approvalId"];
    let asked: Vec<Value> =
        requests.iter().map(|request| json!(names.map(|name| &request["params"][name]))).collect();
    assert_eq!(json!(asked), json!([["command", "shell", null], ["writeStdin", "shell", "typed"]]));
    assert!(is_typed, "{told}");
    let command = requests[1]["params"]["command"].as_str().unwrap();
    assert!(command.starts_with("write_stdin --session-id ") && command.contains("touch typed"), "{command}");
    assert_eq!(requests[1]["params"]["availableDecisions"], json!(["accept", "cancel"]));

    let (requests, told, is_typed) = types_into_a_shell_outside(&Codex::v0_166(), "decline").await;
    assert_eq!(requests.len(), 2);
    assert!(told.contains("rejected") && !is_typed, "declining is taken too: {told}");
}
