//! What outlives the engine: open questions and running turns, through a kill, an upgrade, and two people at once. And what
//! a person is warned when the home is not as it should be.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use talaria_scripted::{Gate, ModelUsage, Reply};
use talaria_testkit::Codex;
use talaria_testkit::app_server::copy_program;
use tokio::process::Command;

use crate::scene::{Scene, both_versions, names};
use crate::survival::lane::LOOK;

both_versions!(
    an_approval_opened_before_the_engine_was_killed_is_answered_after_and_the_same_turn_completes,
    tokens_that_codex_reported_to_no_engine_are_unknown_and_not_those_of_the_next_turn;
    newest:
    upgrading_while_a_turn_runs_loses_nothing,
    of_two_people_who_answer_one_wins_and_the_other_is_told_who,
);

/// A turn without a sandbox in which commands are asked about, and this terminal does not answer.
const ASKING: [&str; 8] =
    ["exec", "--sandbox", "danger-full-access", "--approval", "untrusted", "--approve", "wait", "do it"];

fn ask(scene: &Scene) {
    scene.model.push(Reply::new().command("echo made >> note"));
    scene.model.push(Reply::say("Done."));
}

/// The one request that is open.
async fn open_request(scene: &Scene) -> Value {
    let status = scene.wait_status(|status| status["requests"].as_array().unwrap().len() == 1).await;
    status["requests"][0].clone()
}

/// The turns of a session, as they are shown.
async fn turns(scene: &Scene, session: &str) -> Vec<Value> {
    let shown = scene.run(&["sessions", "show", session, "--json"]).await.exits(0);
    shown.json()[0]["turns"].as_array().unwrap().clone()
}

/// Waits until Codex has written the end of a turn into the file of its thread.
async fn wait_until_codex_ended_the_turn(scene: &Scene) {
    fn has_end(dir: &Path) -> bool {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
            true => has_end(&path),
            false => fs::read_to_string(&path).is_ok_and(|text| text.contains("\"task_complete\"")),
        })
    }
    while !has_end(&scene.codex_home.path().join("sessions")) {
        tokio::time::sleep(LOOK).await;
    }
}

async fn tokens_that_codex_reported_to_no_engine_are_unknown_and_not_those_of_the_next_turn(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (gate, usage) = (Gate::new(), ModelUsage { input: 900, cached: 0, output: 40, reasoning: 0 });
    scene.model.push(Reply::new().text("half ").gate(&gate).text("and whole").usage(usage));
    scene.model.push(Reply::say("Again.").usage(usage));
    let mut running = scene.start(&["exec", "--json", "go"]);
    running.wait_for("half").await;
    let session = scene.status().await["turns"][0]["session"].as_str().unwrap().to_owned();
    // Without it, the command would start the next engine at once.
    kill_process(running.pid(), Signal::KILL).unwrap();
    scene.kill_engine().await;
    gate.open();
    wait_until_codex_ended_the_turn(&scene).await;
    let report = loop {
        let turns = turns(&scene, &session).await;
        if !turns[0]["settled_at"].is_null() {
            break turns[0].clone();
        }
        tokio::time::sleep(LOOK).await;
    };
    assert_eq!(report["outcome"]["outcome"], "completed", "{report}");
    assert_eq!(report["usage"]["partial"], true, "{report}");
    let next = scene.run(&["exec", "--resume", &session, "more"]).await.exits(0);
    next.complains(&["tokens: 900 in, 40 out"]);
    scene.close().await;
}

async fn an_approval_opened_before_the_engine_was_killed_is_answered_after_and_the_same_turn_completes(
    codex: Codex,
) {
    let scene = Scene::real(&codex).await;
    ask(&scene);
    let running = scene.start(&ASKING);
    let request = open_request(&scene).await;
    scene.kill_engine().await;
    let id = request["id"].as_str().unwrap();
    scene.run(&["requests", "answer", id, "accept"]).await.exits(0);
    running.end().await.exits(0).prints(&["Done."]);
    assert_eq!(fs::read_to_string(scene.work().join("note")).unwrap(), "made\n", "once");
    assert_eq!(scene.model.requests().len(), 2, "nothing was prompted twice");
    let turns = turns(&scene, request["session"].as_str().unwrap()).await;
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(turns[0]["outcome"]["outcome"], "completed");
    scene.close().await;
}

async fn upgrading_while_a_turn_runs_loses_nothing(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half\n").gate(&gate).text("and whole\n"));
    let mut running = scene.start(&["exec", "--json", "go"]);
    running.wait_for("half").await;
    let older = scene.engine_pid().await.unwrap();
    let newer = scene.codex_home.root().join("newer");
    copy_program(env!("CARGO_BIN_EXE_talaria").as_ref(), &newer).unwrap();
    let command = scene.command(&["sessions", "list"]);
    let mut upgrade = Command::new(&newer);
    upgrade.args(["sessions", "list"]).current_dir(scene.work());
    upgrade.envs(command.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(upgrade.status().await.unwrap().success());
    assert_ne!(scene.engine_pid().await.unwrap(), older, "the newer program is the engine now");
    gate.open();
    let ended = running.end().await.exits(0);
    let events = ended.events();
    assert_eq!(events.last().unwrap()["text"], "half\nand whole\n", "{ended}");
    assert_eq!(scene.model.requests().len(), 1);
    scene.close().await;
}

async fn of_two_people_who_answer_one_wins_and_the_other_is_told_who(codex: Codex) {
    let scene = Scene::real(&codex).await;
    ask(&scene);
    let running = scene.start(&ASKING);
    let request = open_request(&scene).await;
    let id = request["id"].as_str().unwrap();
    let (yes, no) = (["requests", "answer", id, "accept"], ["requests", "answer", id, "decline"]);
    let (yes, no) = tokio::join!(scene.run(&yes), scene.run(&no));
    let (second, decided, is_made) = match (yes.code, no.code) {
        (Some(0), Some(1)) => (no, "accepted", true),
        (Some(1), Some(0)) => (yes, "declined", false),
        _ => panic!("not one of them won: {yes}\n{no}"),
    };
    second.complains(&[
        "error: the answer was not accepted",
        &format!("was already answered: {decided} by you"),
    ]);
    running.end().await.exits(0).prints(&["Done."]);
    assert_eq!(scene.work().join("note").exists(), is_made);
    scene.close().await;
}

#[tokio::test]
async fn a_second_engine_is_told_who_holds_the_home() {
    let scene = Scene::empty().await;
    scene.run(&["sessions", "list"]).await.exits(0);
    let pid = scene.engine_pid().await.unwrap();
    let ended = scene.run(&["serve"]).await.exits(75);
    ended.complains(&[&format!("process {}", pid.as_raw_nonzero()), "talaria stop"]);
    scene.close().await;
}

#[tokio::test]
async fn a_damaged_database_is_told_copied_and_never_made_anew() {
    let scene = Scene::empty().await;
    scene.run(&["sessions", "list"]).await.exits(0);
    scene.run(&["stop"]).await.exits(0);
    let database = scene.home().join("talaria.db");
    let file = fs::File::options().write(true).open(&database).unwrap();
    file.write_all_at(&[0xff; 2048], 100).unwrap();
    let damaged = fs::read(&database).unwrap();
    let ended = scene.run(&["sessions", "list"]).await.exits(1);
    ended.complains(&["error: cannot start the engine", "talaria.db", "damaged"]);
    assert_eq!(fs::read(&database).unwrap(), damaged, "it is left as it is");
    let names = names(&scene.home());
    // The log beside it is copied as well.
    let is_copy = |name: &&String| name.starts_with("talaria.db.damaged-") && !name.ends_with("-wal");
    let copies: Vec<&String> = names.iter().filter(is_copy).collect();
    assert_eq!(copies.len(), 1, "{names:?}");
    assert_eq!(fs::read(scene.home().join(copies[0])).unwrap(), damaged);
    scene.close().await;
}

/// A file in place of the database is named and not changed, and the hint works.
#[tokio::test]
async fn what_is_in_the_place_of_the_database_is_named_and_the_hint_helps() {
    let scene = Scene::empty().await;
    let (database, aside) = (scene.home().join("talaria.db"), scene.home().join("aside"));
    let folder: fn(&Path) = |path| fs::create_dir(path).unwrap();
    let text: fn(&Path) = |path| fs::write(path, "my own notes, not a database\n".repeat(40)).unwrap();
    let circle: fn(&Path) = |path| std::os::unix::fs::symlink(path, path).unwrap();
    let move_it = "hint: move it away, or set TALARIA_HOME to another directory; nothing of it was changed";
    let cases = [
        (folder, "talaria.db is not a file", move_it),
        (text, "talaria.db is not a database of Talaria", move_it),
        (circle, "cannot open ", "hint: remove the cause and try again"),
    ];
    for (make, cause, hint) in cases {
        make(&database);
        let ended = scene.run(&["sessions", "list"]).await.exits(1);
        ended.complains(&["error: cannot start the engine", cause, "talaria.db", hint]);
        let rows = scene.run(&["doctor", "--json"]).await.json();
        let store = rows.iter().find(|row| row["check"] == "store").unwrap();
        assert_eq!(store["status"], "problem", "{store}");
        fs::rename(&database, &aside).unwrap();
        scene.run(&["sessions", "list"]).await.exits(0);
        scene.run(&["stop"]).await.exits(0);
        for file in ["talaria.db", "talaria.db-wal", "talaria.db-shm"] {
            let _ = fs::remove_file(scene.home().join(file));
        }
        let _ = fs::remove_file(&aside).or_else(|_| fs::remove_dir(&aside));
    }
    scene.close().await;
}

#[tokio::test]
async fn a_search_with_odd_syntax_finds_nothing_and_breaks_nothing() {
    let scene = Scene::empty().await;
    for typed in ["\"unclosed", "a AND (", "NEAR(", "*", "col:x", "-", "' OR 1=1 --", "日\u{0}本", "%_\\"] {
        // A NUL cannot be typed.
        let typed = typed.replace('\u{0}', "");
        scene.run(&["sessions", "search", "--", &typed]).await.exits(0);
    }
    scene.close().await;
}
