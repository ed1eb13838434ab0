//! `talaria token` and the API over TCP, from configuration to `curl`; a revocation survives a killed engine.

use serde_json::Value;
use tokio::process::Command;

use crate::scene::Scene;

/// Asks with a program of others; the token is read from standard input, because arguments are in the list of processes.
async fn curl(url: &str, token: &str) -> (String, String) {
    use std::process::Stdio;
    use tokio::io::AsyncWriteExt;
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--noproxy", "*", "--write-out", "\n%{http_code}", "--config", "-", url]);
    let mut child = curl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let config = format!("header = \"Authorization: Bearer {token}\"\n");
    child.stdin.take().unwrap().write_all(config.as_bytes()).await.unwrap();
    let output = String::from_utf8(child.wait_with_output().await.unwrap().stdout).unwrap();
    let (body, status) = output.rsplit_once('\n').unwrap();
    (status.to_owned(), body.to_owned())
}

async fn address(scene: &Scene) -> String {
    let status = scene.run(&["status", "--json"]).await.exits(0).json().remove(0);
    status["web"]["url"].as_str().unwrap_or_else(|| panic!("not reachable: {status}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_the_api_until_it_is_revoked_even_if_the_engine_is_killed() {
    let scene = Scene::empty().await;
    scene.run(&["doctor"]).await.prints(&["the API is not reachable over TCP"]);
    scene.configure("[web]\nlisten = \"0.0.0.0:0\"\n");
    scene.run(&["doctor"]).await.prints(&["others can reach, without TLS"]);
    scene.configure("[web]\nlisten = \"127.0.0.1:0\"\n");
    let create =
        ["token", "create", "--name", "ci", "--scope", "view,start", "--root", ".", "--expires", "30d"];
    let made = scene.run(&create).await.exits(0);
    let token = made.stdout.trim().to_owned();
    assert!(token.starts_with("talaria_") && !made.stderr.contains(&token), "{made}");
    scene.run(&create).await.exits(1).complains(&["there is a token"]);
    scene
        .run(&["token", "create", "--name", "x", "--scope", "start"])
        .await
        .exits(2)
        .complains(&["directory"]);
    let url = address(&scene).await;
    let (status, body) = curl(&format!("{url}/v1/tasks"), &token).await;
    assert_eq!((status.as_str(), body.as_str()), ("200", "[]"));
    scene
        .run(&["doctor"])
        .await
        .prints(&["programs on this machine can connect; every call needs a token; 1 valid token"]);
    scene.run(&["token", "list"]).await.exits(0).prints(&["ci", "view,start", "127.0.0.1"]);
    scene.run(&["token", "revoke", "ci"]).await.exits(0).prints(&["revoked: ci"]);
    assert_eq!(curl(&format!("{url}/v1/tasks"), &token).await.0, "401");
    scene.kill_engine().await;
    let rows = scene.run(&["audit", "--json"]).await.exits(0).json();
    let actions: Vec<&str> = rows.iter().filter_map(|row: &Value| row["action"].as_str()).collect();
    assert_eq!(actions, ["token", "revoke_token", "create_token"]);
    assert_eq!(
        curl(&format!("{}/v1/tasks", address(&scene).await), &token).await.0,
        "401",
        "after a new start"
    );
    scene.close().await;
}
