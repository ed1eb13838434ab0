//! Commands that outlive their turns: listed, followed, stopped, and distinguished from those that ended with Codex. The
//! command waits for a file, so that the test decides when it continues.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions, of_type, only};
use crate::survival::lane::{LOOK, is_alive};

both_versions!(
    a_command_that_outlives_its_turn_is_shown_followed_and_its_end_is_told,
    a_background_command_can_be_stopped,
    a_background_command_survives_the_engine_and_ends_with_codex,
    a_background_command_that_ended_while_no_engine_ran_is_not_called_running,
);

const EXEC: [&str; 5] = ["exec", "--json", "--sandbox", "danger-full-access", "start the server"];

/// A server that prints, and ends with code 3 once there is a file `stop`.
const SERVER: &str = "echo $$ > pid; echo up; until [ -e more ]; do sleep 0.05; done; echo served; \
                      until [ -e stop ]; do sleep 0.05; done; exit 3";

/// Starts the server in a turn that does not wait for it. Returns the session, and what is reported of the command.
async fn serve(scene: &Scene) -> (String, Value) {
    let arguments = json!({ "cmd": SERVER, "yield_time_ms": 250 });
    scene.model.push(Reply::new().function("exec_command", arguments).call_id("call_server"));
    scene.model.push(Reply::say("It runs."));
    let events = scene.run(&EXEC).await.exits(0).events();
    let started = only(&events, "background_started").clone();
    assert!(of_type(&events, "item_abandoned").is_empty(), "it was not abandoned: {events:?}");
    (events[0]["session"].as_str().unwrap().to_owned(), started)
}

fn touch(scene: &Scene, name: &str) {
    std::fs::write(scene.work().join(name), "").unwrap();
}

/// The background commands that `talaria ps` lists.
async fn listed(scene: &Scene) -> Vec<Value> {
    scene.run(&["ps", "--json"]).await.exits(0).json()
}

/// The process of the server.
fn server(scene: &Scene) -> i32 {
    std::fs::read_to_string(scene.work().join("pid")).unwrap().trim().parse().unwrap()
}

async fn until_none_is_listed(scene: &Scene) {
    while !listed(scene).await.is_empty() {
        tokio::time::sleep(LOOK).await;
    }
}

async fn a_command_that_outlives_its_turn_is_shown_followed_and_its_end_is_told(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (session, started) = serve(&scene).await;
    let id = started["id"].as_str().unwrap();
    let running = listed(&scene).await;
    assert_eq!(
        (running.len(), &running[0]["id"], &running[0]["session"]),
        (1, &started["id"], &json!(session))
    );
    let status = scene.run(&["status"]).await.exits(0);
    status.prints(&["Background commands:", id, "echo up; until"]);
    assert_eq!(scene.status().await["background"][0]["id"], started["id"]);
    scene
        .run(&["sessions", "show", &session])
        .await
        .prints(&["[still running in the background when the turn ended]"]);

    // It was printed inside the turn, and Codex did not stream it.
    scene.run_with_input(&["--plain"], b"/ps 1\n").await.exits(0).prints(&["\nup\n"]);

    let mut follow = scene.start(&["ps", "follow", id]);
    touch(&scene, "more");
    follow.wait_for("served").await;
    touch(&scene, "stop");
    let followed = follow.end().await.exits(0);
    followed.prints(&["up\nserved\n"]).complains(&[&format!("{id} exited with code 3")]);
    until_none_is_listed(&scene).await;
    scene.run(&["sessions", "show", &session]).await.prints(&["served", "[exit code 3]"]);
    scene.close().await;
}

async fn a_background_command_can_be_stopped(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (_, started) = serve(&scene).await;
    let id = started["id"].as_str().unwrap();
    let mut follow = scene.start(&["ps", "follow", id]);
    touch(&scene, "more");
    follow.wait_for("served").await;
    scene.run(&["ps", "stop", &id[3..]]).await.exits(0).prints(&["stopped: ", id]);
    follow.end().await.exits(0).complains(&["was stopped"]);
    until_none_is_listed(&scene).await;
    scene.run(&["ps", "stop", id]).await.exits(2).complains(&["no background command"]);
    scene.close().await;
}

async fn a_background_command_survives_the_engine_and_ends_with_codex(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (session, started) = serve(&scene).await;
    scene.kill_engine().await;
    let running = listed(&scene).await;
    assert_eq!((running.len(), &running[0]["id"]), (1, &started["id"]), "the next engine finds it again");
    while listed(&scene).await[0]["confirmed"] != true {
        tokio::time::sleep(LOOK).await;
    }
    let server = server(&scene);
    let mut follow = scene.start(&["ps", "follow", started["id"].as_str().unwrap()]);
    // Output before the engine is attached again is not streamed.
    follow.wait_for("[output is missing here: no engine was attached to Codex for a while]").await;
    touch(&scene, "more");
    follow.wait_for("served").await;
    kill_process(scene.codex_pid().await, Signal::KILL).unwrap();
    follow.end().await.exits(0).prints(&["output is missing here"]).complains(&["ended with Codex"]);
    until_none_is_listed(&scene).await;
    assert!(!is_alive(server), "and it has");
    let shown = scene.run(&["sessions", "show", &session]).await.exits(0);
    shown.prints(&["[ran in the background and ended with Codex]"]);
    scene.close().await;
}

async fn a_background_command_that_ended_while_no_engine_ran_is_not_called_running(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (session, _) = serve(&scene).await;
    let server = server(&scene);
    scene.kill_engine().await;
    touch(&scene, "more");
    touch(&scene, "stop");
    while is_alive(server) {
        tokio::time::sleep(LOOK).await;
    }
    until_none_is_listed(&scene).await;
    let shown = scene.run(&["sessions", "show", &session]).await.exits(0);
    shown.prints(&["ended while no engine was attached to Codex; its exit code is not known"]);
    scene.close().await;
}
