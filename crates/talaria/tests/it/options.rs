//! The options of `talaria exec` have the effect that the help promises.

use std::fs;

use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions, of_type, only};

both_versions!(
    a_dash_reads_the_prompt_from_standard_input,
    an_image_reaches_the_model,
    model_and_effort_reach_the_model,
    cwd_is_where_commands_run_and_the_users_configuration_is_not_written,
    sandbox_and_approval_are_in_force,
    the_configuration_speaks_where_no_option_does,
);

/// One red pixel.
pub(crate) const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\xdac\xf8\xcf\
\xc0\0\0\x03\x01\x01\0\xf7\x03AC\0\0\0\0IEND\xaeB`\x82";

async fn a_dash_reads_the_prompt_from_standard_input(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("read"));
    let prompt = "line one\n\nline \"three\" wörld\n";
    scene.run_with_input(&["exec", "--quiet", "-"], prompt.as_bytes()).await.exits(0).prints(&["read"]);
    assert_eq!(scene.model.requests()[0].prompt(), prompt);
    scene.close().await;
}

async fn an_image_reaches_the_model(codex: Codex) {
    let scene = Scene::real(&codex).await;
    fs::write(scene.work().join("red.png"), PNG).unwrap();
    scene.model.push(Reply::say("red"));
    scene.run(&["exec", "--quiet", "--image", "red.png", "which colour?"]).await.exits(0).prints(&["red"]);
    let request = scene.model.requests()[0].body["input"].to_string();
    assert!(request.contains(r#""type":"input_image""#), "{request}");
    assert!(request.contains("data:image/png;base64,"), "{request}");
    scene.close().await;
}

async fn model_and_effort_reach_the_model(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("ok"));
    let arguments = ["exec", "--json", "--model", "gpt-5.4", "--effort", "low", "go"];
    let ended = scene.run(&arguments).await.exits(0);
    let request = &scene.model.requests()[0].body;
    assert_eq!((&request["model"], &request["reasoning"]["effort"]), (&"gpt-5.4".into(), &"low".into()));
    assert_eq!(only(&ended.events(), "session_started")["model"], "gpt-5.4");
    scene.close().await;
}

async fn cwd_is_where_commands_run_and_the_users_configuration_is_not_written(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let configuration = || fs::read_to_string(scene.codex_home.path().join("config.toml")).unwrap();
    let before = configuration();
    let inside = scene.work().join("in side");
    fs::create_dir(&inside).unwrap();
    scene.model.push(Reply::new().command("touch here"));
    scene.model.push(Reply::say("touched"));
    let sandbox = ["--sandbox", "danger-full-access", "--approval", "never"];
    let ended =
        scene.run(&[&["exec", "--json", "--cwd", "in side"], &sandbox[..], &["touch"]].concat()).await;
    assert!(inside.join("here").exists(), "{ended}");
    assert!(!scene.work().join("here").exists());
    let cwd = inside.canonicalize().unwrap();
    assert_eq!(only(&ended.exits(0).events(), "session_started")["cwd"], cwd.to_str().unwrap());
    assert_eq!(configuration(), before);
    scene.close().await;
}

async fn sandbox_and_approval_are_in_force(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for (sandbox, approval) in [("read-only", "untrusted"), ("workspace-write", "never")] {
        scene.model.push(Reply::say("ok"));
        let ended =
            scene.run(&["exec", "--json", "--sandbox", sandbox, "--approval", approval, "go"]).await.exits(0);
        let events = ended.events();
        let started = only(&events, "session_started");
        assert_eq!((&started["sandbox"], &started["approval"]), (&sandbox.into(), &approval.into()));
        assert_eq!(of_type(&events, "request_opened").len(), 0);
    }
    scene.close().await;
}

async fn the_configuration_speaks_where_no_option_does(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let configuration = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    let more = "sandbox = \"workspace-write\"\napproval_policy = \"never\"\n\n[model]\ndefault = \"gpt-5.4\"\neffort = \"high\"\n";
    scene.configure(&format!("{configuration}{more}"));
    scene.model.push(Reply::say("ok"));
    let ended =
        scene.run(&["exec", "--json", "--approval", "untrusted", "--effort", "low", "go"]).await.exits(0);
    let events = ended.events();
    let started = only(&events, "session_started");
    assert_eq!(started["sandbox"], "workspace-write");
    assert_eq!(started["approval"], "untrusted", "the option wins");
    let request = &scene.model.requests()[0].body;
    assert_eq!((&request["model"], &request["reasoning"]["effort"]), (&"gpt-5.4".into(), &"low".into()));
    scene.close().await;
}
