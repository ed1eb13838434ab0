//! Codex itself as client: its model calls the tool, and the engine that runs the turn answers through a child of it.

use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions};

both_versions!(the_model_of_codex_starts_and_lists_tasks);

/// A call of a tool of ours, as the model names it.
pub(super) fn call(codex: &Codex, tool: &str, arguments: &Value) -> Reply {
    let namespace = if codex.version == "0.130.0" { "mcp__talaria__" } else { "mcp__talaria" };
    let item = json!({ "type": "function_call", "id": "fc", "call_id": "call", "namespace": namespace,
                       "name": tool, "arguments": arguments.to_string() });
    let event = |kind: &str| json!({ "type": kind, "output_index": 0, "item": item });
    Reply::new().event(event("response.output_item.added")).event(event("response.output_item.done"))
}

/// Makes our server one of the user's Codex.
pub(super) fn offer(scene: &Scene) {
    let talaria = scene.command(&["mcp"]);
    let program = talaria.as_std().get_program().to_str().unwrap();
    // Codex hands few variables on to an MCP server.
    let variables: Vec<String> = talaria
        .as_std()
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{:?} = {:?}", name.to_str()?, value?.to_str()?)))
        .collect();
    scene.codex_home.append_config(&format!(
        "[mcp_servers.talaria]\ncommand = {program:?}\nargs = [\"mcp\"]\nenv = {{ {} }}\n",
        variables.join(", ")
    ));
}

async fn the_model_of_codex_starts_and_lists_tasks(codex: Codex) {
    let scene = Scene::real(&codex).await;
    offer(&scene);
    let start = json!({ "action": "start", "prompt": "inner work", "cwd": scene.work() });
    let bridge = |arguments: &Value| call(&codex, "codex_bridge", arguments);
    let (outer, list) = (bridge(&start), bridge(&json!({ "action": "list" })));
    let script = std::sync::Mutex::new(vec![Reply::say("Outer done."), list, outer]);
    scene.model.route(move |request| {
        let is_inner = request.user_texts().iter().any(|text| text.contains("inner work"));
        if is_inner { Some(Reply::say("Inner done.")) } else { script.lock().unwrap().pop() }
    });
    let running = scene.start(&["exec", "--approve", "wait", "--json", "outer work"]);
    let status = scene.wait_status(|status| status["requests"].as_array().unwrap().len() == 1).await;
    assert!(status["requests"][0]["summary"].as_str().unwrap().contains("codex_bridge"), "{status}");
    let request = status["requests"][0]["id"].as_str().unwrap();
    scene.run(&["requests", "answer", request, "accept-for-session"]).await.exits(0);
    let ended = running.end().await.exits(0);
    assert_eq!(ended.events().last().unwrap()["text"], "Outer done.", "{ended}");
    let asked = scene.model.requests();
    let last =
        asked.iter().rfind(|request| request.user_texts().iter().any(|text| text.contains("outer work")));
    let outputs = last.unwrap().tool_outputs().join("\n").replace('\\', "");
    assert!(outputs.contains(r#""success":true"#) && outputs.contains("codex-"), "{outputs}");
    assert!(outputs.contains("inner work"), "{outputs}");
    let tasks = scene.run(&["task", "list", "--json"]).await.exits(0).json();
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert!(tasks[0]["owner"].as_str().unwrap().starts_with("model:codex"), "{tasks:?}");
    scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    scene.close().await;
}
