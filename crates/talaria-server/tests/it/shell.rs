//! A person's own commands through the socket: output arrives, and a disconnect ends them.

use serde_json::{Value, json};
use talaria_core::api::{Shell, ShellNews, ShellStream};
use talaria_core::policy::Sandbox;
use talaria_server::client::{ClientError, ShellRun};
use talaria_testkit::app_server::AppServer;
use talaria_testkit::app_server::directive::{notify, on, reply};

use crate::scene::{PATIENCE, Scene};

/// A Codex whose commands print `one`, and then end, or do not.
async fn scene(then: impl IntoIterator<Item = Value>) -> Scene {
    let printed = json!({
        "processId": "$.params.processId", "stream": "stdout", "deltaBase64": "b25lCg==", "capReached": false,
    });
    let exec = [notify("command/exec/outputDelta", printed)].into_iter().chain(then);
    let ended = on("command/exec/terminate", [reply(json!({}))]);
    Scene::with(AppServer::ready([on("command/exec", exec), ended])).await
}

fn ls(scene: &Scene) -> Shell {
    Shell {
        session: None,
        cwd: scene.home.path().to_str().unwrap().to_owned(),
        command: "ls".to_owned(),
        sandbox: Some(Sandbox::DangerFullAccess),
        caller: scene.turn("").caller,
        limit_ms: None,
    }
}

async fn next(run: &mut ShellRun) -> Option<Result<ShellNews, ClientError>> {
    tokio::time::timeout(PATIENCE, run.next()).await.unwrap()
}

fn one() -> ShellNews {
    ShellNews::Output { stream: ShellStream::Stdout, text: "one\n".to_owned() }
}

#[tokio::test]
async fn what_a_command_prints_arrives_and_its_end_is_the_last() {
    let scene = scene([reply(json!({ "exitCode": 3, "stdout": "", "stderr": "" }))]).await;
    let mut run = scene.client().await.shell(&ls(&scene)).await.unwrap();
    assert_eq!(next(&mut run).await.unwrap().unwrap(), one());
    let ended = next(&mut run).await.unwrap().unwrap();
    assert!(matches!(ended, ShellNews::Ended { exit: Some(3), cut: false, .. }), "{ended:?}");
    assert!(next(&mut run).await.is_none());
}

#[tokio::test]
async fn dropping_it_ends_the_command() {
    let scene = scene([]).await;
    let mut run = scene.client().await.shell(&ls(&scene)).await.unwrap();
    assert_eq!(next(&mut run).await.unwrap().unwrap(), one());
    let name =
        |method: &str| scene.received(method).first().map(|message| message["params"]["processId"].clone());
    assert_eq!(name("command/exec/terminate"), None);
    drop(run);
    let ended = async {
        loop {
            match name("command/exec/terminate") {
                Some(ended) => break ended,
                None => tokio::time::sleep(std::time::Duration::from_millis(2)).await,
            }
        }
    };
    let ended = tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.unwrap();
    assert_eq!(Some(ended), name("command/exec"), "at once, not when the connection would be used next");
}

#[tokio::test]
async fn an_engine_that_ends_is_no_end_of_the_command_but_an_error() {
    let mut scene = scene([]).await;
    let mut run = scene.client().await.shell(&ls(&scene)).await.unwrap();
    assert_eq!(next(&mut run).await.unwrap().unwrap(), one());
    scene.stop().await;
    assert!(matches!(next(&mut run).await.unwrap(), Err(ClientError::Broken(_))));
    assert!(next(&mut run).await.is_none());
}

#[tokio::test]
async fn a_refusal_is_told_in_words() {
    let scene = scene([]).await;
    let blank = Shell { command: " ".to_owned(), ..ls(&scene) };
    let Err(ClientError::Problem(problem)) = scene.client().await.shell(&blank).await else { panic!() };
    assert_eq!(problem.message, "the command line is empty");
}
