//! A call that Codex refuses is shown as failed wherever the conversation is shown.

use std::fs;

use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions, of_type};

both_versions!(a_patch_that_does_not_fit_is_shown_as_failed_everywhere);

const MISFIT: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-not there\n+new\n*** End Patch\n";
const WORDS: &str = "apply_patch verification failed: Failed to find expected lines";

async fn a_patch_that_does_not_fit_is_shown_as_failed_everywhere(codex: Codex) {
    let scene = Scene::real(&codex).await;
    fs::write(scene.work().join("a.txt"), "hello\n").unwrap();
    let play = || scene.model.play([Reply::new().patch(MISFIT), Reply::say("It is friendlier now.")]);
    play();
    let ended = scene.run(&["exec", "--json", "go"]).await.exits(0);
    let events = ended.events();
    let failed: Vec<_> = of_type(&events, "item_completed")
        .into_iter()
        .filter(|event| event["item"]["kind"] == "failed_call")
        .collect();
    assert_eq!(failed.len(), 1, "{ended}");
    assert_eq!(failed[0]["item"]["tool"], "apply_patch");
    assert!(failed[0]["item"]["error"].as_str().unwrap().starts_with(WORDS), "{ended}");
    play();
    let shown = scene.run(&["exec", "go"]).await.exits(0);
    let all = format!("{}{}", shown.stdout, shown.stderr);
    assert!(all.contains("✗ apply_patch  verification failed: Failed to find expected lines"), "{shown}");
    play();
    let plain = scene.run_with_input(&["--plain"], b"go\n").await.exits(0);
    assert!(plain.stdout.contains("apply_patch  verification failed: Failed to find"), "{plain}");
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    scene.run(&["sessions", "show", &id]).await.exits(0).prints(&["✗ apply_patch verification failed"]);
    scene.run(&["sessions", "export", &id]).await.exits(0).prints(&["✗ apply_patch verification failed"]);
    scene.close().await;
}
