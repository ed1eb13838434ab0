//! What a crash leaves to the next engine: commands in the background, and who may answer for them.

use std::fs;

use serde_json::json;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use talaria_scripted::Reply;

use crate::own_loop::{exec, scene};
use crate::scene::Scene;

/// The options of a conversation whose commands run without a sandbox.
const FREE: [&str; 2] = ["--sandbox", "danger-full-access"];

/// The process that a result names.
fn process_in(results: &[String]) -> String {
    let named = results.iter().find_map(|result| result.split_once("as process ").map(|(_, rest)| rest));
    named.and_then(|rest| rest.get(..16)).unwrap_or_else(|| panic!("no process in {results:?}")).to_owned()
}

/// The conversation that was started last.
async fn newest(scene: &Scene) -> String {
    let listed = scene.run(&["sessions", "list", "--json"]).await.exits(0);
    listed.json()[0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_background_command_is_polled_and_killed_by_the_engine_after_a_kill() {
    let scene = scene().await;
    let command = "echo up; while read line; do echo got $line; done";
    scene.model.push(Reply::new().function("run", json!({ "command": command, "background": true })));
    scene.model.push(Reply::say("It runs."));
    exec(&scene, "chat", &[&FREE[..], &["Start it."]].concat()).await.exits(0);
    let session = newest(&scene).await;
    let process = process_in(&scene.model.requests()[1].tool_outputs());
    scene.kill_engine().await;

    let call = |action: &str, text: Option<&str>| {
        let mut arguments = json!({ "action": action, "process": process });
        if let Some(text) = text {
            arguments["text"] = json!(text);
        }
        Reply::new().function("process", arguments)
    };
    let waits = json!({ "action": "poll", "process": process, "seconds": 5 });
    scene.model.push(call("write", Some("a line\n")));
    scene.model.push(Reply::new().function("process", waits));
    scene.model.push(call("kill", None));
    scene.model.push(Reply::say("It is gone."));
    let ended = scene.run(&["exec", "--resume", &session, "Look after it."]).await.exits(0);
    let results = scene.model.requests().last().unwrap().tool_outputs();
    assert!(results[1].contains("has the input, complete"), "{results:?}\n{ended}");
    assert!(results[2].contains("up") && results[2].contains("got a line"), "{results:?}");
    assert!(results[3].contains("as asked"), "{results:?}");
    scene.close().await;
}

#[tokio::test]
async fn stop_ends_background_commands_with_and_without_an_engine() {
    for is_killed in [false, true] {
        let scene = scene().await;
        scene
            .model
            .push(Reply::new().function("run", json!({ "command": "sleep 1000", "background": true })));
        scene.model.push(Reply::say("It runs."));
        exec(&scene, "responses", &[&FREE[..], &["Start it."]].concat()).await.exits(0);
        if is_killed {
            scene.kill_engine().await;
        }
        // It checks that no process is left.
        scene.close().await;
    }
}

/// A command outside of any sandbox is below its keeper and carries its mark, so the engine knows that a model started it.
#[tokio::test]
async fn a_command_of_the_loop_cannot_answer_for_the_person() {
    let scene = scene().await;
    let (program, home) = (env!("CARGO_BIN_EXE_talaria"), scene.home().display().to_string());
    let talaria = format!("TALARIA_HOME={home} {program}");
    let unmarked = format!("env -u TALARIA_COMMAND TALARIA_HOME={home} {program}");
    let attack = format!(
        "{talaria} requests list; echo listed $?; {talaria} requests answer req accept; echo answered $?; \
         {unmarked} requests list; echo unmarked $?; {talaria} exec --approval never hello; echo started $?; \
         {talaria} stop; echo stopped $?"
    );
    scene.model.push(Reply::new().function("run", json!({ "command": attack })));
    scene.model.push(Reply::say("I tried."));
    let ended = exec(&scene, "messages", &[&FREE[..], &["--json", "Try it."]].concat()).await.exits(0);
    let results = scene.model.requests()[1].tool_outputs();
    for deed in ["listed", "answered", "unmarked", "started", "stopped"] {
        assert!(!results[0].contains(&format!("{deed} 0\n")), "{deed}: {results:?}");
    }
    assert!(results[0].contains("it runs in a command of the built-in loop"), "{results:?}");
    assert!(ended.stdout.contains("tried to use Talaria as you"), "the person learns of it: {ended}");
    scene.close().await;
}

#[tokio::test]
async fn output_of_a_removed_conversation_is_removed_with_it() {
    let scene = scene().await;
    scene.model.push(Reply::new().function("run", json!({ "command": "echo kept" })));
    scene.model.push(Reply::say("Done."));
    exec(&scene, "chat", &[&FREE[..], &["Print it."]].concat()).await.exits(0);
    let commands = scene.home().join("commands");
    assert_eq!(fs::read_dir(&commands).unwrap().count(), 1);
    scene.run(&["sessions", "prune", "--keep", "0", "--yes"]).await.exits(0);
    assert_eq!(fs::read_dir(&commands).unwrap().count(), 0);
    scene.close().await;
}

/// A row that another program, or a mistake of ours, left in the way of the turn.
#[tokio::test]
async fn a_turn_that_cannot_be_recorded_is_lost_and_the_conversation_continues() {
    let scene = scene().await;
    scene.model.push(Reply::say("One."));
    exec(&scene, "chat", &["First."]).await.exits(0);
    let session = newest(&scene).await;
    let file = scene.home().join("talaria.db");
    let mut conn = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    for statement in [
        "create temp table taken as select * from model_attempt",
        "update taken set ordinal = 2",
        "insert into model_attempt select * from taken",
    ] {
        sqlx::query(statement).execute(&mut conn).await.unwrap();
    }
    let lost = scene.run(&["exec", "--resume", &session, "Second."]).await.exits(7);
    lost.complains(&["could not record what happened"]);
    assert_eq!(scene.model.requests().len(), 1, "nothing is sent that is not recorded");
    scene.model.push(Reply::say("Three."));
    let third = scene.run(&["exec", "--resume", &session, "Third."]).await.exits(0);
    assert_eq!(third.stdout, "Three.\n");
    scene.close().await;
}

/// The provider was removed from the configuration while no engine ran.
#[tokio::test]
async fn a_turn_whose_provider_is_gone_is_lost_with_its_cost_and_ends_its_command() {
    let scene = scene().await;
    let command = json!({ "command": "echo $$ > pid; echo line-$((40 + 2)); sleep 1000" });
    scene.model.push(Reply::new().function("run", command));
    let arguments =
        ["exec", "--json", "--provider", "own-chat", "--model", "tiny", FREE[0], FREE[1], "Wait."];
    let mut running = scene.interruptible(&arguments);
    running.wait_for("line-42").await;
    scene.configure("");
    scene.kill_engine().await;
    let ended = running.end().await.exits(7);
    let outcome = ended.events().pop().unwrap();
    assert_eq!(outcome["outcome"], "lost", "{ended}");
    assert!(outcome["usage"]["total"].as_u64().is_some_and(|total| total > 0), "its request cost: {ended}");
    let pid: i32 = fs::read_to_string(scene.work().join("pid")).unwrap().trim().parse().unwrap();
    talaria_testkit::until("its command has ended", || !crate::survival::lane::is_alive(pid)).await;
    scene.close().await;
}
