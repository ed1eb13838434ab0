//! Modes, rules and the hard floor at the command line, on the real Codex: decisions without a person, and their
//! messages.

use std::fs;

use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions, of_type, only};

both_versions!(
    the_mode_without_restrictions_accepts_all_but_the_floor_and_deny_rules,
    no_spelling_of_a_denied_command_runs_without_restrictions,
    a_mode_is_a_sandbox_and_a_policy_and_options_go_before_it,
    accepting_all_stops_at_the_sandbox;
    newest:
    a_request_says_that_deny_rules_cannot_see_what_it_runs,
    what_the_mode_accepted_is_not_said_to_be_an_answer_that_was_refused,
    a_secret_is_masked_in_what_is_printed,
);

async fn the_mode_without_restrictions_accepts_all_but_the_floor_and_deny_rules(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let configuration = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    let rules = "\n[approvals]\nmode = \"yolo\"\ndeny = [\"touch forbidden\"]\n";
    scene.configure(&format!("{configuration}{rules}"));
    for command in ["touch made", "touch forbidden", "mkfs.ext4 /dev/sdzz9"] {
        scene.model.push(Reply::new().command(command));
    }
    scene.model.push(Reply::say("done"));
    let ended = scene.run(&["exec", "--json", "go"]).await.exits(3);
    let events = ended.events();
    let started = only(&events, "session_started");
    assert_eq!(
        (&started["sandbox"], &started["approval"]),
        (&"danger-full-access".into(), &"untrusted".into())
    );
    let closed: Vec<String> = of_type(&events, "request_closed")
        .iter()
        .map(|event| format!("{} by {}", event["decision"], event["by"]))
        .collect();
    assert_eq!(
        closed,
        [r#""accept" by "mode""#, r#""decline" by "rule""#, r#""decline" by "floor""#],
        "{ended}"
    );
    assert!(scene.work().join("made").exists() && !scene.work().join("forbidden").exists());
    assert_eq!(events.last().unwrap()["declined"], 2);
    scene.close().await;
}

async fn what_the_mode_accepted_is_not_said_to_be_an_answer_that_was_refused(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for number in 0..4 {
        scene.model.push(Reply::new().command(format!("touch made-{number}")));
    }
    scene.model.push(Reply::say("done"));
    let ended = scene.run(&["exec", "--mode", "unrestricted", "go"]).await.exits(0);
    assert!(scene.work().join("made-3").exists());
    for words in ["not accepted", "could not be answered", "already"] {
        assert!(!ended.stdout.contains(words) && !ended.stderr.contains(words), "{words}: {ended}");
    }
    scene.close().await;
}

async fn no_spelling_of_a_denied_command_runs_without_restrictions(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let configuration = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    let rules = "\n[approvals]\nmode = \"unrestricted\"\ndeny = [\"rm -r *\"]\n";
    scene.configure(&format!("{configuration}{rules}"));
    let kept = scene.work().join("kept");
    fs::create_dir(&kept).unwrap();
    // Each would remove the directory; the last line shows that other commands run.
    let denied = [
        "rm -fr kept",
        "rm kept --recursive",
        "env -S 'rm\\_-rf\\_kept'",
        "shopt -s expand_aliases; alias r='rm -f'\nr -R kept",
    ];
    let unseen = ["echo 'rm -rf kept' > s; sh s", "perl -e 'rmdir \"kept\"'"];
    for command in denied.iter().chain(&unseen).chain(&["rm -f s; touch made"]) {
        scene.model.push(Reply::new().command(*command));
    }
    scene.model.push(Reply::say("done"));
    let ended = scene.run(&["exec", "--json", "go"]).await.exits(3);
    let events = ended.events();
    let closed: Vec<String> = of_type(&events, "request_closed")
        .iter()
        .map(|event| format!("{} by {}", event["decision"], event["by"]))
        .collect();
    let by_rule = vec![r#""decline" by "rule""#; denied.len()];
    assert_eq!(closed[..denied.len()], by_rule, "{ended}");
    let because: Vec<String> = of_type(&events, "request_opened")
        .iter()
        .map(|event| event["asked_because"].as_str().unwrap_or("nothing").to_owned())
        .collect();
    assert!(because[..denied.len()].iter().all(|why| why == "nothing"), "{because:?}");
    assert!(because[denied.len()].starts_with("your deny rules cannot see inside a file"), "{because:?}");
    assert!(
        because[denied.len() + 1].starts_with("your deny rules cannot see inside inline code"),
        "{because:?}"
    );
    // The rest is declined: there is no person to ask.
    let asked = &closed[denied.len()..denied.len() + unseen.len()];
    assert!(
        asked.iter().all(|answer| answer.starts_with(r#""decline""#) && !answer.contains("rule")),
        "{ended}"
    );
    assert_eq!(closed.last().map(String::as_str), Some(r#""accept" by "mode""#), "{ended}");
    assert!(kept.exists() && scene.work().join("made").exists(), "{ended}");
    assert_eq!(events.last().unwrap()["declined"], denied.len() + unseen.len());
    scene.close().await;
}

async fn a_request_says_that_deny_rules_cannot_see_what_it_runs(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let configuration = fs::read_to_string(scene.home().join("config.toml")).unwrap();
    scene
        .configure(&format!("{configuration}\n[approvals]\nmode = \"unrestricted\"\ndeny = [\"rm -r *\"]\n"));
    scene.model.push(Reply::new().command("perl -e 'print 1'"));
    scene.model.push(Reply::say("done"));
    let mut running = scene.start(&["exec", "--approve", "wait", "go"]);
    running.wait_for_account("because your deny rules cannot see inside inline code").await;
    let status = scene.wait_status(|status| status["requests"].as_array().unwrap().len() == 1).await;
    let id = status["requests"][0]["id"].as_str().unwrap().to_owned();
    let shown = scene.run(&["requests", "show", &id]).await.exits(0);
    shown.prints(&["perl -e", "because your deny rules cannot see inside inline code"]);
    scene.run(&["requests", "answer", &id, "decline"]).await.exits(0);
    running.end().await.exits(0);
    scene.close().await;
}

async fn a_mode_is_a_sandbox_and_a_policy_and_options_go_before_it(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for (options, sandbox, approval) in [
        (&["--mode", "auto"][..], "workspace-write", "on-request"),
        (&["--mode", "approval-required"], "read-only", "untrusted"),
        (&["--mode", "auto", "--sandbox", "read-only"], "read-only", "on-request"),
    ] {
        scene.model.push(Reply::say("ok"));
        let ended = scene.run(&[&["exec", "--json"], options, &["go"]].concat()).await.exits(0);
        let events = ended.events();
        let started = only(&events, "session_started");
        assert_eq!(
            (&started["sandbox"], &started["approval"]),
            (&sandbox.into(), &approval.into()),
            "{options:?}"
        );
    }
    scene.close().await;
}

async fn accepting_all_stops_at_the_sandbox(codex: Codex) {
    let scene = Scene::real(&codex).await;
    // Under `untrusted` Codex may run it a second time outside: this cannot be known, so it is not accepted.
    scene.model.push(Reply::new().command("touch made"));
    scene.model.push(Reply::say("done"));
    let options = ["--sandbox", "workspace-write", "--approval", "untrusted", "--approve", "all"];
    let ended = scene.run(&[&["exec", "--json"], &options[..], &["go"]].concat()).await.exits(3);
    let events = ended.events();
    assert_eq!(only(&events, "request_opened")["place"], "undecidable");
    let closed = only(&events, "request_closed");
    assert_eq!((&closed["decision"], &closed["by"]), (&"decline".into(), &"nobody".into()));
    assert!(!scene.work().join("made").exists());
    scene.close().await;
}

async fn a_secret_is_masked_in_what_is_printed(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let secret = format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8");
    let options = ["--sandbox", "danger-full-access", "--approval", "never"];
    for form in [&["--json"][..], &["--quiet"], &[]] {
        scene.model.push(Reply::new().command(format!("echo the token is {secret}")));
        scene.model.push(Reply::say(format!("It is {secret}, I think.")));
        let ended = scene.run(&[&["exec"], form, &options[..], &["tell me"]].concat()).await.exits(0);
        assert!(!ended.stdout.contains(&secret) && !ended.stderr.contains(&secret), "{form:?}: {ended}");
        assert!(ended.stdout.contains("[redacted:github-token:40]"), "{form:?}: {ended}");
    }
    scene.close().await;
}
