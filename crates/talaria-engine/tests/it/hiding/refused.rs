//! A Codex that does not do what was asked, which the real one will not play.

use serde_json::json;
use talaria_core::outcome::Outcome;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_testkit::AppServer;
use talaria_testkit::app_server::directive::{on, reply};

use crate::home::Home;

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_would_show_the_home_is_refused_and_says_what_to_do() {
    let shown = json!({
        "thread": { "id": "t" }, "model": "m", "modelProvider": "p", "cwd": "$.params.cwd",
        "approvalPolicy": "never", "approvalsReviewer": "user", "activePermissionProfile": null,
        "sandbox": { "type": "workspaceWrite", "writableRoots": [], "networkAccess": false },
    });
    let (mut home, installed) =
        Home::scripted(AppServer::ready(vec![on("thread/start", [reply(shown)])])).await;
    home.open().await;
    let new = talaria_core::api::NewSession {
        kind: talaria_core::api::Kind::Chat,
        cwd: home.codex_home.work().to_str().unwrap().to_owned(),
        model: None,
        sandbox: Some(Sandbox::WorkspaceWrite),
        approval: Some(ApprovalPolicy::Never),
        turn: home.turn("go"),
    };
    let started = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
    let report = home.events(&started, 0).await.outcome().await;
    let Outcome::Failed { message, .. } = &report.outcome else { panic!("{report:?}") };
    assert!(message.contains("Talaria's own files: asked for hidden"), "{message}");
    assert!(report.hint.as_deref().is_some_and(|hint| hint.contains("codex.hide_home never")), "{report:?}");
    let sent = installed.received();
    let start = sent.iter().find(|message| message["method"] == "thread/start").unwrap();
    assert_eq!(start["params"].get("sandbox"), None, "it would switch the profile off");
    assert_eq!(start["params"]["config"]["default_permissions"], "talaria");
    home.close().await;
}
