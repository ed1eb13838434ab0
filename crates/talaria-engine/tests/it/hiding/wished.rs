//! Hidden paths: what a person may accept, and what the configuration changes.

use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use super::probe::{HIDDEN, Probe, USABLE};
use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    what_is_accepted_leaves_the_sandbox_with_everything_that_a_person_has,
    the_configuration_decides_where_hiding_costs_something,
);

async fn what_is_accepted_leaves_the_sandbox_with_everything_that_a_person_has(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let probe = Probe::of(&home);
    let outside = home.codex_home.root().join("made-outside");
    let command = format!("touch {} && {}", outside.display(), probe.loopback());
    home.model.route(move |request| {
        Some(match request.is_after_tool() {
            true => Reply::say("done"),
            false => Reply::new().escalated_command(command.clone(), "may I?"),
        })
    });
    let new = talaria_core::api::NewSession {
        kind: talaria_core::api::Kind::Chat,
        cwd: home.codex_home.work().to_str().unwrap().to_owned(),
        model: None,
        sandbox: Some(Sandbox::WorkspaceWrite),
        approval: Some(ApprovalPolicy::OnRequest),
        turn: home.turn("go"),
    };
    let started = home.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
    let mut events = home.events(&started, 0).await;
    let ticket = events.request().await;
    home.answer(&ticket, "accept").await.unwrap();
    events.outcome().await;
    assert_eq!(probe.seen(&home), "loopback\n", "it wrote outside and used the network");
    assert!(outside.exists());
    home.close().await;
}

async fn the_configuration_decides_where_hiding_costs_something(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let probe = Probe::prepare(&mut home).await;
    let (asks, hidden) = (ApprovalPolicy::OnRequest, format!("{HIDDEN}{USABLE}"));
    let is_hidden = async |home: &Home| {
        home.sandboxed(Sandbox::WorkspaceWrite, asks, &probe.script(home)).await;
        let seen = probe.seen(home);
        assert!(seen == hidden || seen.starts_with("key 32\n"), "{seen}");
        seen == hidden
    };
    assert_eq!(is_hidden(&home).await, codex.version == "0.130.0", "auto: where it costs nothing");
    home.configure("[codex]\nhide_home = \"always\"");
    assert!(is_hidden(&home).await, "always");
    home.configure("[codex]\nhide_home = \"never\"");
    assert!(!is_hidden(&home).await, "never");
    home.close().await;
}
