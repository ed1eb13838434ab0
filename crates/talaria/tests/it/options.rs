//! The options of `talaria exec` have the effect that the help promises.

use std::fs;

use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions, of_type, only};

both_versions!(
    an_image_reaches_the_model,
    model_and_effort_reach_the_model,
    sandbox_and_approval_are_in_force,
    the_configuration_speaks_where_no_option_does,
    a_mistyped_effort_is_refused_before_a_turn_is_paid_for,
    a_mistyped_model_of_openai_is_refused_unless_the_configuration_allows_it;
    newest:
    a_dash_reads_the_prompt_from_standard_input,
    cwd_is_where_commands_run_and_the_users_configuration_is_not_written,
    a_model_of_another_provider_is_sent_although_codex_does_not_list_it,
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

async fn a_mistyped_effort_is_refused_before_a_turn_is_paid_for(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for arguments in [&["exec"][..], &["task", "start"], &["--plain"]] {
        let typed = [arguments, &["--effort", "hihg"]].concat();
        let prompt: &[&str] = if arguments == ["--plain"] { &[] } else { &["go"] };
        let ended = scene.run_with_input(&[&typed[..], prompt].concat(), b"go\n").await.exits(2);
        ended.complains(&[
            "gpt-5.5 does not support the effort \"hihg\"",
            "did you mean high?",
            "low, medium",
        ]);
    }
    let ended = scene.run(&["exec", "--json", "--effort", "silly", "go"]).await.exits(2);
    let [outcome] = &ended.json()[..] else { panic!("{ended}") };
    assert_eq!(outcome["exit"], 2, "{ended}");
    assert!(outcome["hint"].as_str().unwrap().contains("use one of low, medium, high"), "{ended}");
    let ended = scene.run_with_input(&["--plain"], b"/reasoning silly\n").await.exits(1);
    ended.complains(&["gpt-5.5 does not support the effort \"silly\"", "use one of low"]);
    assert_eq!(scene.run(&["sessions", "list", "--json"]).await.exits(0).json().len(), 0, "nothing began");

    scene.model.push(Reply::say("ok"));
    let first = scene.run(&["exec", "--json", "go"]).await.exits(0).events();
    let id = first[0]["session"].as_str().unwrap();
    let again = scene.run(&["exec", "--resume", id, "--effort", "silly", "again"]).await.exits(2);
    again.complains(&["gpt-5.5 does not support the effort \"silly\""]);
    let shown = scene.run(&["sessions", "show", id, "--json"]).await.exits(0).json().remove(0);
    assert_eq!(shown["turns"].as_array().unwrap().len(), 1, "the conversation is as it was");
    assert_eq!(scene.model.requests().len(), 1);
    scene.close().await;
}

async fn a_model_of_another_provider_is_sent_although_codex_does_not_list_it(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("ok"));
    scene.run(&["exec", "--model", "gpt-5.55", "--effort", "high", "go"]).await.exits(0);
    assert_eq!(scene.model.requests()[0].body["model"], "gpt-5.55");
    let ended = scene.run(&["exec", "--model", "gpt-5.55", "--effort", "silly", "go"]).await.exits(2);
    ended.complains(&["there is no effort \"silly\"", "minimal, low"]);
    let ended = scene.run_with_input(&["--plain"], b"/model gpt-5.55\n").await.exits(0);
    ended.prints(&["though Codex does not list it", "did you mean gpt-5.5?"]);
    scene.close().await;
}

async fn a_mistyped_model_of_openai_is_refused_unless_the_configuration_allows_it(codex: Codex) {
    let scene = Scene::without_login(&codex).await;
    let words =
        ["Codex does not list the model \"gpt-5.55\"", "did you mean gpt-5.5?", "model.allow_unlisted true"];
    for arguments in [&["exec", "go"][..], &["task", "start", "go"], &["--plain"]] {
        let typed = [arguments, &["--model", "gpt-5.55"]].concat();
        scene.run_with_input(&typed, b"go\n").await.exits(2).complains(&words);
    }
    scene.run_with_input(&["--plain"], b"/model gpt-5.55\n").await.exits(1).complains(&words);
    assert_eq!(scene.run(&["sessions", "list", "--json"]).await.exits(0).json().len(), 0, "nothing began");

    // The only problem of these is the missing login.
    scene.run(&["exec", "--model", "gpt-5.5", "--effort", "low", "go"]).await.exits(6);
    scene.run(&["config", "set", "model.allow_unlisted", "true"]).await.exits(0);
    scene.run(&["exec", "--model", "gpt-5.55", "go"]).await.exits(6);
    scene.close().await;
}
