//! The user's MCP servers as tools of the loop: our scripted server, and servers on the official Python SDK over stdio and
//! streamable HTTP.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::{mcp_clients, mcp_server, wait::until};

use crate::own_loop::{FAMILIES, answer, exec, scene_configured};
use crate::scene::{Scene, of_type};

const SECRET: &str = "Nest7NotReal2KbTq9";

/// The scripted server under this name.
fn scripted(name: &str) -> String {
    format!("[mcp_servers.{name}]\ncommand = {:?}\n", mcp_server::program())
}

fn script() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/own_loop/python_server.py")
}

/// The server on the Python SDK, over stdio.
fn python(more: &str) -> String {
    format!(
        "[mcp_servers.nest]\ncommand = {:?}\nargs = [{:?}]\nconnect_timeout = 60\n{more}\n",
        mcp_clients::python(),
        script()
    )
}

/// The result of the last call.
fn last_output(scene: &Scene) -> String {
    scene.model.requests().last().unwrap().tool_outputs().last().unwrap().clone()
}

#[tokio::test]
async fn a_tool_that_reads_is_called_in_every_family_and_its_result_is_marked_as_foreign() {
    for family in FAMILIES {
        let scene = scene_configured(&scripted("birds")).await;
        scene.model.push(Reply::new().function("mcp__birds__peek", json!({})));
        scene.model.push(Reply::say("Done."));
        let ended = exec(&scene, family, &["--json", "Look."]).await.exits(0);
        let events = ended.events();
        assert_eq!(answer(&events), json!("Done."), "{ended}");
        let first = &scene.model.requests()[0];
        let offered: Vec<&str> =
            first.tool_names().into_iter().filter(|name| name.starts_with("mcp__")).collect();
        assert_eq!(offered, ["mcp__birds__ask", "mcp__birds__peek"], "{family}");
        let output = last_output(&scene);
        assert!(output.starts_with("Result of peek on the MCP server birds (complete)."), "{output}");
        assert!(output.contains("peek ran") && output.contains("written by the server"), "{output}");
        let completed = of_type(&events, "item_completed");
        let step = completed.iter().find(|event| event["item"]["kind"] == "tool").unwrap();
        assert_eq!(step["item"]["server"], "birds", "{step}");
        scene.close().await;
    }
}

#[tokio::test]
async fn a_tool_that_may_change_something_is_put_to_a_person_and_refused_where_no_one_is_asked() {
    let scene = scene_configured(&scripted("birds")).await;
    scene.model.push(Reply::new().function("mcp__birds__ask", json!({})));
    scene.model.push(Reply::say("Done."));
    let running = scene.start(&[
        "exec",
        "--provider",
        "own-chat",
        "--model",
        "tiny",
        "--approve",
        "wait",
        "Ask the birds.",
    ]);
    let open = |status: &Value| status["requests"].as_array().unwrap().len() == 1;
    let status = scene.wait_status(open).await;
    let request = &status["requests"][0];
    assert!(request["summary"].as_str().unwrap().contains("ask"), "{request}");
    assert_eq!(scene.model.requests().len(), 1, "nothing runs before the answer");
    scene.run(&["requests", "answer", request["id"].as_str().unwrap(), "accept"]).await.exits(0);
    running.end().await.exits(0).prints(&["Done."]);
    assert!(last_output(&scene).contains("ask ran"), "{}", last_output(&scene));
    scene.model.push(Reply::new().function("mcp__birds__ask", json!({})));
    scene.model.push(Reply::say("I cannot."));
    exec(&scene, "chat", &["--approval", "never", "Ask the birds."]).await.exits(0);
    assert!(last_output(&scene).contains("no one is asked in this conversation"), "{}", last_output(&scene));
    scene.close().await;
}

#[tokio::test]
async fn rules_of_the_configuration_allow_and_deny_tools() {
    let rules = "[approvals]\nallow = [{ tool = \"birds/ask\" }]\ndeny = [{ tool = \"birds/peek\" }]\n";
    let scene = scene_configured(&format!("{rules}{}", scripted("birds"))).await;
    scene
        .model
        .push(Reply::new().function("mcp__birds__ask", json!({})).function("mcp__birds__peek", json!({})));
    scene.model.push(Reply::say("Done."));
    exec(&scene, "responses", &["Go."]).await;
    let outputs = scene.model.requests()[1].tool_outputs();
    assert!(outputs[0].contains("ask ran"), "{outputs:?}");
    assert!(outputs[1].contains("this tool is denied"), "{outputs:?}");
    scene.close().await;
}

#[tokio::test]
async fn a_conversation_keeps_its_tools_whatever_becomes_of_the_server() {
    let scene = scene_configured(&scripted("birds")).await;
    scene.model.push(Reply::say("Hello."));
    let ended = exec(&scene, "chat", &["--json", "Hello."]).await.exits(0);
    let session = ended.events()[0]["session"].as_str().unwrap().to_owned();
    let config = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene.configure(&config.replace("[mcp_servers.birds]", "[mcp_servers.fish]"));
    scene.model.push(Reply::new().function("mcp__birds__peek", json!({})));
    scene.model.push(Reply::say("Gone."));
    scene.run(&["exec", "--resume", &session, "Look."]).await.exits(0).prints(&["Gone."]);
    let requests = scene.model.requests();
    assert_eq!(requests[0].body["tools"], requests[1].body["tools"], "the beginning of the requests changed");
    let output = last_output(&scene);
    assert!(output.contains("birds is no longer in the configuration"), "{output}");
    scene.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_said_once_and_the_others_work() {
    let more = "[mcp_servers.broken]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo no nest here >&2; exit 3\"]\n\
                [mcp_servers.token]\nurl = \"http://127.0.0.1:9/mcp\"\nheaders = { Authorization = \"Bearer ${NO_SUCH}\" }\n\
                [mcp_servers.off]\ncommand = \"/bin/false\"\nenabled = false\n";
    let scene =
        scene_configured(&format!("{more}{}tools = {{ exclude = [\"ask\"] }}\n", scripted("birds"))).await;
    scene.model.push(Reply::say("Hello."));
    let ended = exec(&scene, "chat", &["--json", "Hello."]).await.exits(0);
    let events = ended.events();
    let warnings: Vec<&str> =
        of_type(&events, "warning").iter().filter_map(|event| event["message"].as_str()).collect();
    let said = |words: &str| warnings.iter().filter(|warning| warning.contains(words)).count();
    assert_eq!(said("MCP server broken: it does not start: no nest here"), 1, "{warnings:?}");
    assert_eq!(said("needs the variable NO_SUCH, which is not set"), 1, "{warnings:?}");
    assert_eq!(said("off"), 0, "{warnings:?}");
    let offered =
        scene.model.requests()[0].tool_names().iter().filter(|name| name.starts_with("mcp__")).count();
    assert_eq!(offered, 1, "only peek of birds");
    scene.close().await;
}

#[tokio::test]
async fn a_third_party_server_answers_with_data_pictures_and_errors_and_starts_again_after_a_crash() {
    let mut scene = scene_configured(&python("env = { NEST_TOKEN = \"${NEST_TOKEN}\" }")).await;
    scene.set("NEST_TOKEN", SECRET);
    let calls = Reply::new()
        .function("mcp__nest__count", json!({ "words": "one two three" }))
        .function("mcp__nest__picture", json!({}))
        .function("mcp__nest__fail", json!({}));
    scene.model.push(calls);
    scene.model.push(Reply::new().function("mcp__nest__leave", json!({})));
    scene.model.push(Reply::new().function("mcp__nest__count", json!({ "words": "again" })));
    scene.model.push(Reply::say("Done."));
    let arguments = ["--json", "--sandbox", "danger-full-access", "--approval", "never", "Go."];
    let ended = exec(&scene, "messages", &arguments).await.exits(0);
    let requests = scene.model.requests();
    let outputs = requests[1].tool_outputs();
    assert!(outputs[0].contains("\"words\": 3") || outputs[0].contains("\"words\":3"), "{outputs:?}");
    assert!(requests[1].body.to_string().contains("image/png"), "the picture reaches the model");
    assert!(
        outputs[2].contains("Error executing tool fail") && outputs[2].contains("(an error)"),
        "{outputs:?}"
    );
    let gone = requests[2].tool_outputs().last().unwrap().clone();
    assert!(gone.contains("Outcome unknown:"), "{gone}");
    assert!(last_output(&scene).contains("(complete)"), "it was started again: {ended}");
    let log = fs::read_to_string(scene.home().join("engine.log")).unwrap();
    assert!(log.contains("MCP server nest: leaving with [masked]"), "{log}");
    assert!(!log.contains(SECRET));
    scene.close().await;
}

#[tokio::test]
async fn a_third_party_server_is_reached_over_streamable_http() {
    let place = tempfile::tempdir().unwrap();
    let port = place.path().join("port");
    let mut server = tokio::process::Command::new(mcp_clients::python())
        .args([Path::new(script()), &port])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    until("the server has chosen its port", || port.exists()).await;
    let port: u16 = fs::read_to_string(&port).unwrap().parse().unwrap();
    until("the server listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    let entry = format!(
        "[mcp_servers.nest]\nurl = \"http://127.0.0.1:{port}/mcp\"\nheaders = {{ X-Nest = \"7\" }}\nconnect_timeout = 60\n"
    );
    let scene = scene_configured(&entry).await;
    scene.model.push(Reply::new().function("mcp__nest__count", json!({ "words": "one two" })));
    scene.model.push(Reply::say("Done."));
    let ended = exec(&scene, "responses", &["--json", "Count."]).await.exits(0);
    assert_eq!(answer(&ended.events()), json!("Done."), "{ended}");
    assert!(last_output(&scene).contains("2"), "{}", last_output(&scene));
    server.kill().await.unwrap();
    scene.model.push(Reply::new().function("mcp__nest__count", json!({ "words": "x" })));
    scene.model.push(Reply::say("It is gone."));
    let session = ended.events()[0]["session"].as_str().unwrap().to_owned();
    scene.run(&["exec", "--resume", &session, "Again."]).await.exits(0);
    assert!(last_output(&scene).contains("mcp__nest__count: "), "{}", last_output(&scene));
    scene.close().await;
}

#[tokio::test]
async fn after_a_killed_engine_no_server_runs_and_a_call_that_may_have_changed_something_is_unknown() {
    let scene = scene_configured(&python("")).await;
    let (started, go) = (scene.work().join("started"), scene.work().join("go"));
    scene.model.push(Reply::new().function("mcp__nest__wait", json!({ "started": started, "go": go })));
    scene.model.push(Reply::say("I look at it."));
    let running = scene.start(&[
        "exec",
        "--provider",
        "own-chat",
        "--model",
        "tiny",
        "--sandbox",
        "danger-full-access",
        "--approval",
        "never",
        "Go.",
    ]);
    until("the call runs", || fs::read_to_string(&started).is_ok_and(|text| text.ends_with('\n'))).await;
    let pid: i32 = fs::read_to_string(&started).unwrap().trim().parse().unwrap();
    scene.kill_engine().await;
    until("the server has ended with its engine", || !Path::new(&format!("/proc/{pid}")).exists()).await;
    // The command that follows the turn starts the next engine.
    running.end().await.exits(0).prints(&["I look at it."]);
    let output = last_output(&scene);
    assert!(output.contains("Outcome unknown:") || output.contains("not known"), "{output}");
    assert_eq!(fs::read_to_string(&started).unwrap().lines().count(), 1, "the call was not repeated");
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    scene.close().await;
}
