//! The vendors' own SDKs for Python as judges: they must accept what the scripted model streams.

use serde_json::{Value, json};
use talaria_scripted::{ModelUsage, Reply, ScriptedModel};
use talaria_testkit::model_peers;
use tokio::process::Command;

const USAGE: ModelUsage = ModelUsage { input: 70, cached: 30, output: 20, reasoning: 5 };

fn answer() -> Reply {
    Reply::new()
        .reasoning("let me ")
        .reasoning("see")
        .sealed("sealed-1")
        .text_chunks(["I read ", "both."])
        .function_text("read", r#"{"path": "a file with spaces.txt"}"#)
        .call_id("call_a")
        .function_text("read", r#"{"path":"b"}"#)
        .call_id("call_b")
        .usage(USAGE)
}

async fn ask(model: &ScriptedModel, sdk: &str) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/sdks.py");
    let mut command = Command::new(model_peers::python());
    // A proxy of this machine is no part of the test.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env_remove(name);
    }
    let output = command
        .arg(script)
        .args([sdk, &model.address().to_string()])
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn the_openai_sdk_accepts_responses_and_chat_completions() {
    let model = ScriptedModel::start().await.unwrap();
    model.play([
        answer(),
        answer(),
        Reply::refuse(429, "rate_limit_exceeded", "slow down").header("retry-after", "7"),
        Reply::refuse(401, "invalid_api_key", "wrong key"),
        Reply::new().text("half").error_frame("server_error", "broke"),
        Reply::say("whole"),
        Reply::say("whole"),
    ]);
    let said = ask(&model, "openai").await;
    let [responses, chat, limited, refused, broken, whole, whole_chat] = said.as_slice() else {
        panic!("{said:?}")
    };
    let calls = json!([
        ["call_a", "read", r#"{"path": "a file with spaces.txt"}"#],
        ["call_b", "read", r#"{"path":"b"}"#],
    ]);
    for said in [responses, chat] {
        assert_eq!(said["text"], "I read both.");
        assert_eq!(said["calls"], calls);
        assert_eq!(said["usage"], json!([70, 20, 30]));
        assert_eq!(said["model"], "a-model");
    }
    assert_eq!(responses["reasoning"], json!(["let me see"]));
    assert_eq!((&responses["status"], &chat["status"]), (&json!("completed"), &json!("tool_calls")));
    let kinds = responses["kinds"].as_array().unwrap();
    assert_eq!(kinds[..2], [json!("response.created"), json!("response.in_progress")]);
    assert_eq!(kinds[kinds.len() - 1], "response.completed");
    assert_eq!(limited["error"], "RateLimitError");
    assert_eq!((&limited["status"], &limited["request_id"]), (&json!(429), &json!("req_3")));
    assert_eq!(refused["error"], "AuthenticationError");
    assert!(broken["message"].as_str().unwrap().contains("broke"), "{broken}");
    assert_eq!((&whole["text"], &whole["status"]), (&json!("whole"), &json!("completed")));
    assert_eq!((&whole_chat["text"], &whole_chat["status"]), (&json!("whole"), &json!("stop")));
    assert_eq!(model.strays(), [] as [&str; 0]);
}

#[tokio::test]
async fn the_anthropic_sdk_accepts_messages() {
    let model = ScriptedModel::start().await.unwrap();
    model.play([
        Reply::new()
            .sealed("only-sealed")
            .ping()
            .reasoning("hm")
            .sealed("signed")
            .text("I read both.")
            .comment(" alive")
            .function("read", json!({ "path": "a" }))
            .call_id("toolu_a")
            .function("read", json!({ "path": "b" }))
            .call_id("toolu_b")
            .usage(USAGE),
        Reply::refuse(401, "authentication_error", "invalid x-api-key"),
        Reply::new().text("half").error_frame("overloaded_error", "busy"),
        Reply::say("whole"),
    ]);
    let said = ask(&model, "anthropic").await;
    let [stream, refused, broken, whole] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(stream["text"], "I read both.");
    assert_eq!(stream["reasoning"], json!([["hm", "signed"]]));
    assert_eq!(stream["sealed"], json!(["only-sealed"]));
    let calls = json!([["toolu_a", "read", { "path": "a" }], ["toolu_b", "read", { "path": "b" }]]);
    assert_eq!(stream["calls"], calls);
    assert_eq!(stream["usage"], json!([40, 20, 30]));
    assert_eq!((&stream["status"], &stream["model"]), (&json!("tool_use"), &json!("a-model")));
    assert_eq!((&refused["error"], &refused["request_id"]), (&json!("AuthenticationError"), &json!("req_2")));
    assert!(broken["message"].as_str().unwrap().contains("busy"), "{broken}");
    assert_eq!((&whole["text"], &whole["status"]), (&json!("whole"), &json!("end_turn")));
}
