//! The real Codex of both versions takes what the scripted model says for a model.

use std::fs;

use serde_json::{Value, json};
use talaria_scripted::{Gate, ModelUsage, Phase, PlanStepStatus, Reply, ScriptedModel};
use talaria_testkit::{Codex, CodexHome, RawCodex};

struct Stage {
    model: ScriptedModel,
    home: CodexHome,
    client: RawCodex,
    thread: String,
}

async fn stage(codex: &Codex, policy: &str) -> Stage {
    let model = ScriptedModel::start().await.unwrap();
    let home = CodexHome::new(&model);
    // 0.166 offers the plan only when asked to; 0.130 does not know the key and always offers it.
    home.append_config("[tools.update_plan]\nenabled = true");
    let mut client = RawCodex::spawn(&codex.native, &home);
    let thread = client.start_thread(&home, policy).await;
    Stage { model, home, client, thread }
}

fn methods(messages: &[Value], method: &str) -> Vec<Value> {
    messages.iter().filter(|message| message["method"] == method).cloned().collect()
}

#[tokio::test]
async fn a_text_turn_streams_reasoning_text_and_usage() {
    for codex in Codex::both() {
        let Stage { model, home: _home, mut client, thread } = stage(&codex, "never").await;
        let usage = ModelUsage { input: 900, cached: 500, output: 40, reasoning: 7 };
        let reply = Reply::new().reasoning("I ").reasoning("think").raw_reasoning("raw");
        model.push(reply.message(Phase::FinalAnswer, "hel").text("lo").usage(usage));
        let turn = client.turn(&thread, "greet me").await;
        assert_eq!(turn["status"], "completed", "{turn}");
        let message = &client.completed("agentMessage").await[0];
        assert_eq!((&message["text"], &message["phase"]), (&json!("hello"), &json!("final_answer")));
        let reasoning = &client.completed("reasoning").await[0];
        assert_eq!(reasoning["summary"], json!(["I think"]));
        assert_eq!(reasoning["content"], json!(["raw"]));
        let deltas = methods(&client.seen, "item/agentMessage/delta");
        let deltas: Vec<_> = deltas.iter().map(|delta| delta["params"]["delta"].as_str().unwrap()).collect();
        assert_eq!(deltas, ["hel", "lo"]);
        let used = &methods(&client.seen, "thread/tokenUsage/updated")[0]["params"]["tokenUsage"]["last"];
        assert_eq!((&used["inputTokens"], &used["cachedInputTokens"]), (&json!(900), &json!(500)));
        assert_eq!((&used["outputTokens"], &used["reasoningOutputTokens"]), (&json!(40), &json!(7)));

        model.push(Reply::say("again"));
        client.turn(&thread, "and now?").await;
        let requests = model.requests();
        assert_eq!(requests.len(), 2, "{}: nothing but the two turns asked the model", codex.version);
        assert!(model.strays().is_empty(), "{}: {:?}", codex.version, model.strays());
        assert_eq!(requests[1].prompt(), "and now?");
        assert!(requests[1].user_texts().contains(&"greet me"), "the second request remembers the first");
        assert_eq!(requests[1].assistant_texts(), ["hello"]);
        client.end().await;
    }
}

#[tokio::test]
async fn a_command_turn_asks_runs_and_tells_the_model() {
    for codex in Codex::both() {
        let Stage { model, home, mut client, thread } = stage(&codex, "untrusted").await;
        let asked = Reply::new().message(Phase::Commentary, "Let me see.");
        model.push(asked.command("echo made > note && cat note").call_id("call_note"));
        model.push(Reply::say("It is there."));
        let turn = client.turn(&thread, "make a note").await;
        assert_eq!(turn["status"], "completed", "{turn}");
        assert_eq!(fs::read_to_string(home.work().join("note")).unwrap(), "made\n");
        let requests = methods(&client.seen, "item/commandExecution/requestApproval");
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0]["params"]["itemId"], "call_note");
        let command = &client.completed("commandExecution").await[0];
        assert_eq!((&command["status"], &command["exitCode"]), (&json!("completed"), &json!(0)));
        let told = model.requests()[1].clone();
        assert!(told.is_after_tool() && told.tool_outputs()[0].contains("made"), "{:?}", told.tool_outputs());
        for tool in ["exec_command", "apply_patch", "update_plan"] {
            assert!(told.tool_names().contains(&tool), "{} offers {:?}", codex.version, told.tool_names());
        }
        client.end().await;
    }
}

#[tokio::test]
async fn a_patch_turn_shows_the_change_and_makes_it() {
    for codex in Codex::both() {
        let Stage { model, home, mut client, thread } = stage(&codex, "untrusted").await;
        fs::write(home.work().join("old.txt"), "one\ntwo\n").unwrap();
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+fresh\n*** Update File: old.txt\n@@\n one\n-two\n+three\n*** End Patch";
        model.push(Reply::new().patch(patch));
        model.push(Reply::say("Patched."));
        let turn = client.turn(&thread, "patch it").await;
        assert_eq!(turn["status"], "completed", "{turn}");
        assert_eq!(fs::read_to_string(home.work().join("new.txt")).unwrap(), "fresh\n");
        assert_eq!(fs::read_to_string(home.work().join("old.txt")).unwrap(), "one\nthree\n");
        assert_eq!(methods(&client.seen, "item/fileChange/requestApproval").len(), 1);
        let change = &client.completed("fileChange").await[0];
        assert_eq!(
            (&change["status"], change["changes"].as_array().unwrap().len()),
            (&json!("completed"), 2)
        );
        client.end().await;
    }
}

#[tokio::test]
async fn a_plan_and_a_wish_to_leave_the_sandbox_arrive() {
    for codex in Codex::both() {
        let Stage { model, home, mut client, .. } = stage(&codex, "on-request").await;
        let boxed =
            json!({ "cwd": home.work(), "approvalPolicy": "on-request", "sandbox": "workspace-write" });
        let started = client.call("thread/start", boxed).await;
        let thread = started["thread"]["id"].as_str().unwrap().to_owned();
        model.push(
            Reply::new()
                .plan("why", [("look", PlanStepStatus::Completed), ("act", PlanStepStatus::InProgress)]),
        );
        model.push(Reply::new().escalated_command("touch outside", "It must be outside."));
        model.push(Reply::say("Done."));
        let turn = client.turn(&thread, "plan, then leave").await;
        assert_eq!(turn["status"], "completed", "{turn}");
        let plan = &methods(&client.seen, "turn/plan/updated")[0]["params"]["plan"];
        assert_eq!(plan[1], json!({ "step": "act", "status": "inProgress" }));
        let requests = methods(&client.seen, "item/commandExecution/requestApproval");
        assert_eq!(requests.len(), 1, "{requests:?}");
        assert_eq!(requests[0]["params"]["reason"], "It must be outside.");
        assert!(home.work().join("outside").exists());
        client.end().await;
    }
}

#[tokio::test]
async fn a_gate_holds_a_turn_and_twenty_turns_get_their_own_reply() {
    for codex in Codex::both() {
        let Stage { model, home: _home, mut client, thread } = stage(&codex, "never").await;
        let gate = Gate::new();
        let held = gate.clone();
        model.route(move |request| {
            Some(Reply::new().text("for ").gate(&held).text(request.prompt().to_owned()))
        });
        let mut threads = vec![thread];
        for _ in 1..20 {
            let started = client.call("thread/start", json!({})).await;
            threads.push(started["thread"]["id"].as_str().unwrap().to_owned());
        }
        for thread in &threads {
            let input = json!([{ "type": "text", "text": format!("turn of {thread}") }]);
            client.call("turn/start", json!({ "threadId": thread, "input": input })).await;
        }
        gate.reached_by(20).await;
        assert!(methods(&client.seen, "turn/completed").is_empty(), "a turn passed the closed gate");
        gate.open();
        while methods(&client.seen, "turn/completed").len() < 20 {
            client.next().await;
        }
        for message in methods(&client.seen, "item/completed") {
            let (item, thread) =
                (&message["params"]["item"], message["params"]["threadId"].as_str().unwrap());
            if item["type"] == "agentMessage" {
                assert_eq!(item["text"], format!("for turn of {thread}"));
            }
        }
        client.end().await;
    }
}

#[tokio::test]
async fn faults_of_the_model_fail_the_turn_and_not_the_thread() {
    for codex in Codex::both() {
        let Stage { model, home: _home, mut client, thread } = stage(&codex, "never").await;
        let limit = json!({ "error": { "type": "usage_limit_reached", "message": "enough" } });
        let faults = [
            Reply::status(401),
            Reply::status(429).header("retry-after", "7").body(limit),
            Reply::status(500),
            Reply::new().text("half").drop_stream(),
            Reply::failed("rate_limit_exceeded", "too fast"),
        ];
        for fault in faults {
            let said = format!("{fault:?}");
            model.push(fault);
            let turn = client.turn(&thread, "go").await;
            assert_eq!(turn["status"], "failed", "{} after {said}: {turn}", codex.version);
        }
        model.push(Reply::say("well again"));
        assert_eq!(client.turn(&thread, "go").await["status"], "completed");
        assert!(model.unscripted().is_empty());
        client.end().await;
    }
}

#[tokio::test]
async fn after_a_full_context_the_next_turn_asks_for_a_summary_first() {
    for codex in Codex::both() {
        let Stage { model, home: _home, mut client, thread } = stage(&codex, "never").await;
        model.push(Reply::failed("context_length_exceeded", "too long"));
        let turn = client.turn(&thread, "go").await;
        assert_eq!(turn["error"]["codexErrorInfo"], "contextWindowExceeded", "{turn}");
        model.play([Reply::say("a summary"), Reply::say("well again")]);
        let turn = client.turn(&thread, "go on").await;
        assert_eq!(turn["status"], "completed", "{} {turn}", codex.version);
        assert_eq!((model.requests().len(), model.unused()), (3, 0));
        client.end().await;
    }
}
