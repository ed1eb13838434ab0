//! Changing the permissions of a conversation with the real Codex: what is in force afterwards, and what is refused.

use serde_json::json;
use talaria_core::api::{NewTurn, PermissionsChange, ProblemCode, SessionPermissions, SessionStarted};
use talaria_core::event::Event;
use talaria_core::outcome::Outcome;
use talaria_core::policy::{ApprovalPolicy, Mode, Sandbox};
use talaria_core::principal::Principal;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::home::{Home, calling};
use crate::stage::both_versions;

both_versions!(
    changed_permissions_are_in_force_from_the_next_turn_on_the_same_thread,
    a_command_in_the_background_is_not_ended_by_a_change;
    newest:
    a_change_survives_the_engine_and_what_does_not_fit_is_refused,
);

async fn change(home: &Home, started: &SessionStarted, change: PermissionsChange) -> SessionPermissions {
    let id = started.id.to_string();
    home.on(|engine| async move { engine.change_permissions(&id, change).await }).await.unwrap()
}

async fn next(home: &Home, started: &SessionStarted) -> Vec<Event> {
    home.model.push(Reply::say("ok"));
    let (id, turn): (_, NewTurn) = (started.id.to_string(), home.turn("go on"));
    let next = home.on(|engine| async move { engine.start_turn(&id, turn).await }).await.unwrap();
    let mut events = home.events(&next, next.after).await;
    assert_eq!(events.outcome().await.outcome, Outcome::Completed, "{:#?}", events.seen);
    events.seen
}

/// Thread, sandbox, policy and network, as Codex reported them when the turn began.
fn in_force(events: &[Event]) -> (String, String, String, Option<bool>) {
    let started = events.iter().find_map(|event| match event {
        Event::SessionStarted(started) => Some(started),
        _ => None,
    });
    let started = started.unwrap();
    (started.thread.to_string(), started.sandbox.clone(), started.approval.clone(), started.network)
}

fn mode(mode: Mode) -> PermissionsChange {
    PermissionsChange { mode: Some(mode), ..PermissionsChange::default() }
}

async fn changed_permissions_are_in_force_from_the_next_turn_on_the_same_thread(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("first"));
    let (first, _) = home.run("hello").await;
    let before: Vec<Event> = home.all(&first).await.into_iter().map(|numbered| numbered.event).collect();
    let (thread, ..) = in_force(&before);

    let asked = change(&home, &first, mode(Mode::ApprovalRequired)).await;
    assert_eq!(asked.requested.sandbox, Some(Sandbox::ReadOnly));
    assert!(!asked.is_in_force(), "nothing has run with it: {asked:?}");
    let told = in_force(&next(&home, &first).await);
    assert_eq!(told, (thread.clone(), "read-only".into(), "untrusted".into(), Some(false)));

    let open = PermissionsChange { network: Some(true), ..mode(Mode::Auto) };
    change(&home, &first, open).await;
    let told = in_force(&next(&home, &first).await);
    assert_eq!(told, (thread.clone(), "workspace-write".into(), "on-request".into(), Some(true)));
    // Without another change nothing is loaded again.
    assert_eq!(in_force(&next(&home, &first).await).0, thread);
    let id = first.id.to_string();
    let now = home.on(|engine| async move { engine.permissions(&id).await }).await.unwrap();
    assert!(now.is_in_force(), "{now:?}");
    let said = home.model.requests().pop().unwrap().body["input"].to_string();
    assert!(said.contains("hello"), "the history is kept: {said}");
    home.close().await;
}

async fn a_command_in_the_background_is_not_ended_by_a_change(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let arguments = json!({ "cmd": "sleep 600", "login": false, "yield_time_ms": 250 });
    home.model.push(Reply::new().function("exec_command", arguments));
    home.model.push(Reply::say("it runs"));
    let first = home.start(ApprovalPolicy::Never, "serve").await;
    home.events(&first, 0).await.outcome().await;
    let id = first.id.to_string();
    let refused =
        home.on(|engine| async move { engine.change_permissions(&id, mode(Mode::Auto)).await }).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, ProblemCode::Conflict, "{refused:?}");
    assert!(refused.message.contains("background"), "{refused:?}");
    home.close().await;
}

async fn a_change_survives_the_engine_and_what_does_not_fit_is_refused(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    home.model.push(Reply::say("first"));
    let (first, _) = home.run("hello").await;
    let id = first.id.to_string();
    let refused = |change: PermissionsChange| {
        let id = id.clone();
        home.on(|engine| async move { engine.change_permissions(&id, change).await.unwrap_err().code })
    };
    let nothing = PermissionsChange::default();
    let network = PermissionsChange {
        sandbox: Some(Sandbox::ReadOnly),
        network: Some(true),
        ..PermissionsChange::default()
    };
    assert_eq!(refused(network).await, ProblemCode::BadRequest);
    for root in ["relative", "/nowhere-at-all", "/tmp/../etc"] {
        let roots = PermissionsChange {
            sandbox: Some(Sandbox::WorkspaceWrite),
            writable_roots: Some(vec![root.to_owned()]),
            ..nothing.clone()
        };
        assert_eq!(refused(roots).await, ProblemCode::BadRequest, "{root}");
    }
    let denied = home.on(|engine| {
        let id = id.clone();
        async move {
            let model = calling(&engine, &Principal::model("claude-code"));
            model.change_permissions(&id, mode(Mode::Unrestricted)).await.unwrap_err()
        }
    });
    let denied = denied.await;
    assert_eq!(denied.code, ProblemCode::Forbidden);

    change(&home, &first, mode(Mode::ApprovalRequired)).await;
    home.crash().await;
    home.open().await;
    let told = in_force(&next(&home, &first).await);
    assert_eq!((told.1.as_str(), told.2.as_str()), ("read-only", "untrusted"));
    home.close().await;
}
