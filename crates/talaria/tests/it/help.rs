//! The help texts, which people read first: fixed here, each with an example.
//!
//! After a wanted change: `UPDATE_EXPECT=1 cargo test -p talaria --test it help`.

use expect_test::{ExpectFile, expect_file};

use crate::scene::Scene;

#[tokio::test]
async fn every_help_text_has_an_example_and_is_as_it_was() {
    let scene = Scene::empty().await;
    let texts: [(&[&str], ExpectFile); 67] = [
        (&["--help"], expect_file!["help/talaria.txt"]),
        (&["exec", "--help"], expect_file!["help/exec.txt"]),
        (&["task", "--help"], expect_file!["help/task.txt"]),
        (&["task", "start", "--help"], expect_file!["help/task-start.txt"]),
        (&["task", "show", "--help"], expect_file!["help/task-show.txt"]),
        (&["task", "list", "--help"], expect_file!["help/task-list.txt"]),
        (&["task", "watch", "--help"], expect_file!["help/task-watch.txt"]),
        (&["task", "steer", "--help"], expect_file!["help/task-steer.txt"]),
        (&["task", "interrupt", "--help"], expect_file!["help/task-interrupt.txt"]),
        (&["task", "send", "--help"], expect_file!["help/task-send.txt"]),
        (&["task", "notify", "--help"], expect_file!["help/task-notify.txt"]),
        (&["task", "apply", "--help"], expect_file!["help/task-apply.txt"]),
        (&["task", "discard", "--help"], expect_file!["help/task-discard.txt"]),
        (&["requests", "--help"], expect_file!["help/requests.txt"]),
        (&["requests", "list", "--help"], expect_file!["help/requests-list.txt"]),
        (&["requests", "answer", "--help"], expect_file!["help/requests-answer.txt"]),
        (&["sessions", "--help"], expect_file!["help/sessions.txt"]),
        (&["sessions", "list", "--help"], expect_file!["help/sessions-list.txt"]),
        (&["sessions", "show", "--help"], expect_file!["help/sessions-show.txt"]),
        (&["sessions", "search", "--help"], expect_file!["help/sessions-search.txt"]),
        (&["sessions", "export", "--help"], expect_file!["help/sessions-export.txt"]),
        (&["sessions", "compact", "--help"], expect_file!["help/sessions-compact.txt"]),
        (&["sessions", "prune", "--help"], expect_file!["help/sessions-prune.txt"]),
        (&["memory", "--help"], expect_file!["help/memory.txt"]),
        (&["memory", "list", "--help"], expect_file!["help/memory-list.txt"]),
        (&["memory", "add", "--help"], expect_file!["help/memory-add.txt"]),
        (&["skills", "--help"], expect_file!["help/skills.txt"]),
        (&["skills", "list", "--help"], expect_file!["help/skills-list.txt"]),
        (&["skills", "accept", "--help"], expect_file!["help/skills-accept.txt"]),
        (&["context", "--help"], expect_file!["help/context.txt"]),
        (&["migrate", "--help"], expect_file!["help/migrate.txt"]),
        (&["import", "--help"], expect_file!["help/import.txt"]),
        (&["import", "codex-bridge", "--help"], expect_file!["help/import-codex-bridge.txt"]),
        (&["import", "hermes", "--help"], expect_file!["help/import-hermes.txt"]),
        (&["import", "claude-code", "--help"], expect_file!["help/import-claude-code.txt"]),
        (&["import", "codex", "--help"], expect_file!["help/import-codex.txt"]),
        (&["mcp", "--help"], expect_file!["help/mcp.txt"]),
        (&["token", "--help"], expect_file!["help/token.txt"]),
        (&["token", "create", "--help"], expect_file!["help/token-create.txt"]),
        (&["audit", "--help"], expect_file!["help/audit.txt"]),
        (&["usage", "--help"], expect_file!["help/usage.txt"]),
        (&["providers", "test", "--help"], expect_file!["help/providers-test.txt"]),
        (&["completions", "--help"], expect_file!["help/completions.txt"]),
        (&["man", "--help"], expect_file!["help/man.txt"]),
        (&["status", "--help"], expect_file!["help/status.txt"]),
        (&["stop", "--help"], expect_file!["help/stop.txt"]),
        (&["serve", "--help"], expect_file!["help/serve.txt"]),
        (&["service", "--help"], expect_file!["help/service.txt"]),
        (&["service", "install", "--help"], expect_file!["help/service-install.txt"]),
        (&["service", "uninstall", "--help"], expect_file!["help/service-uninstall.txt"]),
        (&["config", "--help"], expect_file!["help/config.txt"]),
        (&["config", "get", "--help"], expect_file!["help/config-get.txt"]),
        (&["config", "set", "--help"], expect_file!["help/config-set.txt"]),
        (&["config", "unset", "--help"], expect_file!["help/config-unset.txt"]),
        (&["config", "path", "--help"], expect_file!["help/config-path.txt"]),
        (&["config", "check", "--help"], expect_file!["help/config-check.txt"]),
        (&["config", "edit", "--help"], expect_file!["help/config-edit.txt"]),
        (&["codex-runtime", "--help"], expect_file!["help/codex-runtime.txt"]),
        (&["demo", "--help"], expect_file!["help/demo.txt"]),
        (&["resume", "--help"], expect_file!["help/resume.txt"]),
        (&["sessions", "fork", "--help"], expect_file!["help/sessions-fork.txt"]),
        (&["sessions", "undo", "--help"], expect_file!["help/sessions-undo.txt"]),
        (&["sessions", "retry", "--help"], expect_file!["help/sessions-retry.txt"]),
        (&["sessions", "rename", "--help"], expect_file!["help/sessions-rename.txt"]),
        (&["help", "--help"], expect_file!["help/help.txt"]),
        (&["doctor", "--help"], expect_file!["help/doctor.txt"]),
        (&["setup", "--help"], expect_file!["help/setup.txt"]),
    ];
    for (arguments, expected) in texts {
        let ended = scene.run(arguments).await.exits(0);
        assert_eq!(ended.stderr, "");
        assert!(ended.stdout.contains("talaria demo") || ended.stdout.contains("Examples:"), "{ended}");
        expected.assert_eq(&ended.stdout);
    }
    scene.close().await;
}

#[tokio::test]
async fn the_version_is_told() {
    let scene = Scene::empty().await;
    let ended = scene.run(&["--version"]).await.exits(0);
    assert_eq!(ended.stdout, concat!("talaria ", env!("CARGO_PKG_VERSION"), "\n"));
    scene.close().await;
}
