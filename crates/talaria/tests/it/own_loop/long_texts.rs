//! Texts that are too long for a model: they become files that this conversation alone can read, and nothing of them is lost.

use std::path::Path;

use serde_json::json;
use talaria_scripted::Reply;

use crate::own_loop::{MODEL, exec, scene};
use crate::scene::of_type;

#[tokio::test]
async fn a_long_paste_is_a_file_that_the_model_reads_and_that_goes_with_the_conversation() {
    let scene = scene().await;
    let paste = format!(
        "FIRST line\n{}NEEDLE-7 at the end of the log\nLAST line",
        "a line of the log\n".repeat(55_000)
    );
    scene.model.route(move |request| {
        if request.is_after_tool() {
            return Some(Reply::say("It ends with NEEDLE-7."));
        }
        let said = request.user_texts().into_iter().find(|text| text.starts_with("FIRST"))?.to_owned();
        let path = said.split("All of it is in ").nth(1)?.split(": read").next()?.to_owned();
        Some(Reply::new().function("search", json!({ "pattern": "NEEDLE-7", "path": path })))
    });
    let provider = ["exec", "--json", "--provider", "own-chat", "--model", MODEL, "-"];
    let ended = scene.run_with_input(&provider, paste.as_bytes()).await.exits(0);
    let requests = scene.model.requests();
    assert!(
        requests[0].text.len() < 100_000 && requests[0].text.contains("LAST line"),
        "{}",
        requests[0].text.len()
    );
    let found = requests[1].tool_outputs().concat();
    assert!(found.contains("55002") && found.contains("NEEDLE-7 at the end"), "{found}");
    let events = ended.events();
    let warned = of_type(&events, "warning");
    let path = warned
        .iter()
        .filter_map(|event| event["message"].as_str()?.strip_prefix("your text has 1.0 MB"))
        .find_map(|message| message.rsplit(' ').next())
        .unwrap_or_else(|| panic!("{warned:?}"))
        .to_owned();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), paste, "nothing is lost");
    scene.model.route(|_| Some(Reply::say("Other.")));
    exec(&scene, "chat", &["other"]).await.exits(0);
    scene.run(&["sessions", "prune", "--keep", "1", "--yes"]).await.exits(0);
    assert!(!Path::new(&path).exists(), "it is removed with its conversation");
    scene.close().await;
}
