//! What commands of the loop may do: Codex's sandbox bounds them, and hides Talaria's own files.

use serde_json::json;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::own_loop::{exec, scene_with};
use crate::scene::both_versions;

both_versions! {
    commands_in_the_sandbox_see_none_of_talarias_files_and_write_only_in_the_workspace,
}

async fn commands_in_the_sandbox_see_none_of_talarias_files_and_write_only_in_the_workspace(codex: Codex) {
    let scene = scene_with(&codex).await;
    let home = scene.home();
    let tries = format!(
        "echo x > inside && printf 'inside '; (echo x > ../outside) 2>/dev/null && printf 'outside '; \
         cat {home}/key 2>/dev/null | grep -q . && printf 'key '; cat {home}/talaria.db 2>/dev/null | grep -q . && printf 'database '; \
         ls {home}/commands/* >/dev/null 2>&1 && printf 'commands '; echo end",
        home = home.display()
    );
    scene.model.push(Reply::new().function("run", json!({ "command": tries })));
    scene.model.push(Reply::say("Done."));
    exec(&scene, "messages", &["--sandbox", "workspace-write", "Try."]).await.exits(0);
    let outputs = scene.model.requests()[1].tool_outputs();
    assert!(outputs[0].contains("inside end"), "{outputs:?}");
    assert!(home.join("key").exists() && home.join("talaria.db").exists(), "what is hidden is there");
    scene.close().await;
}
