//! What the head of a request costs, as the provider gets it: system prompt, tools, and contract 1 of them with an empty
//! memory. Tokens are bytes divided by four.

use serde_json::Value;

use crate::provider::Answer;
use crate::row;
use crate::scene::Scene;

/// Bytes of a token.
const TOKEN: usize = 4;
/// Begins the names of the tools that Codex turns have, too.
const CONTRACT: &str = "talaria_";

pub(crate) async fn measure() {
    let mut scene = Scene::start().await;
    scene.provider.answers(Answer::Pieces(1));
    scene.begin().await;
    let (_, body) = scene.provider.request();
    scene.rest().await;
    let request: Value = serde_json::from_slice(&body).unwrap();
    let tools = request["tools"].as_array().unwrap();
    let size = |tools: Vec<&Value>| tools.iter().map(|tool| tool.to_string().len()).sum::<usize>();
    let is_ours = |tool: &&Value| tool["name"].as_str().is_some_and(|name| name.starts_with(CONTRACT));
    let contract = size(tools.iter().filter(is_ours).collect());
    let all = size(tools.iter().collect());
    let system = system(&request);
    row("system prompt of the loop", &tokens(system), "< 1,500");
    row(&format!("tools of the loop, {} of them", tools.len()), &format!("{all} bytes"), "< 8 KB");
    row("  without contract 1", &format!("{} bytes", all - contract), "-");
    row("  contract 1 and an empty memory, as on Codex", &tokens(contract), "< 2,000");
    row("  the reference, what it adds to a Codex turn", "14,000 tokens", "-");
    row("request of a new conversation", &tokens(body.len()), "-");
    scene.close().await;
}

/// Bytes of the instructions.
fn system(request: &Value) -> usize {
    let instructions = request["instructions"].as_str().map_or(0, str::len);
    let is_system = |item: &&Value| matches!(item["role"].as_str(), Some("system" | "developer"));
    let items = request["input"].as_array().into_iter().flatten().filter(is_system);
    instructions + items.map(|item| item["content"].to_string().len()).sum::<usize>()
}

fn tokens(bytes: usize) -> String {
    format!("{} tokens", bytes / TOKEN)
}
