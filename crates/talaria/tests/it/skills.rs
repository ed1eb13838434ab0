//! `talaria skills`: list, show, decide, archive and restore; and an engine that is killed at every step of a decision.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use talaria_scripted::Reply;
use talaria_testkit::Codex;
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};

use crate::scene::Scene;

fn text_of(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}\n---\nCount syllables.\n")
}

fn file(scene: &Scene, name: &str) -> PathBuf {
    scene.user_home().join(".agents/skills").join(name).join("SKILL.md")
}

fn put(scene: &Scene, name: &str) {
    let file = file(scene, name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text_of(name)).unwrap();
}

/// Has a model propose changes; returns the ids of the proposals, in the order of the calls.
async fn propose(scene: &Scene, calls: &[Value]) -> Vec<String> {
    let calls: Vec<Value> = calls.to_vec();
    scene.model.play(calls.iter().cloned().map(|call| Reply::new().function("talaria_skill", call)));
    scene.model.push(Reply::say("ok"));
    scene.run(&["exec", "propose"]).await.exits(0);
    let rows = scene.run(&["skills", "proposals", "--json"]).await.exits(0).json();
    let id_of = |call: &Value| {
        let row = rows.iter().find(|row| row["name"] == call["name"]).unwrap();
        row["id"].as_str().unwrap().to_owned()
    };
    calls.iter().map(id_of).collect()
}

#[tokio::test]
async fn skills_are_listed_decided_archived_and_restored() {
    let scene = Scene::real(&Codex::v0_166()).await;
    scene.run(&["skills", "list"]).await.exits(0).prints(&["there are no skills here yet"]);
    scene.run(&["skills", "proposals"]).await.exits(0).prints(&["nothing waits for you"]);
    put(&scene, "haiku");
    put(&scene, "broken");
    fs::write(file(&scene, "broken"), "no front matter").unwrap();
    let listed = scene.run(&["skills", "list"]).await.exits(0);
    let listed = listed.prints(&["haiku", "user", "other", "never", "About haiku"]);
    listed.complains(&["broken is left out: it does not begin with front matter"]);
    let calls = [
        json!({ "op": "propose", "name": "haiku", "find": "Count syllables.", "replace": "Count to 17." }),
        json!({ "op": "propose", "name": "limerick", "text": text_of("limerick") }),
        json!({ "op": "propose", "name": "sonnet", "text": text_of("sonnet") }),
    ];
    let ids = propose(&scene, &calls).await;
    scene
        .run(&["skills", "list"])
        .await
        .exits(0)
        .prints(&["3 proposals wait for you: talaria skills proposals"]);
    scene.run(&["skills", "proposals"]).await.exits(0).prints(&[
        &ids[0],
        "change SKILL.md +1 -1",
        "create SKILL.md",
    ]);
    let diff = scene.run(&["skills", "diff", &ids[0]]).await.exits(0);
    diff.prints(&["-Count syllables.", "+Count to 17.", &format!("talaria skills accept {}", ids[0])]);
    scene.run(&["skills", "accept", &ids[0]]).await.exits(0).prints(&["accepted: haiku", "SKILL.md"]);
    scene.run(&["skills", "accept", &ids[0]]).await.exits(1).complains(&["was accepted before"]);
    scene
        .run(&["skills", "accept", &ids[1][..8], "--json"])
        .await
        .exits(0)
        .prints(&["\"name\":\"limerick\""]);
    scene.run(&["skills", "reject", &ids[2]]).await.exits(0).prints(&["rejected: sonnet"]);
    assert!(fs::read_to_string(file(&scene, "haiku")).unwrap().contains("Count to 17."));
    assert!(file(&scene, "limerick").exists() && !file(&scene, "sonnet").exists());
    let shown = scene.run(&["skills", "show", "limerick"]).await.exits(0);
    shown.prints(&["Count syllables.", "proposed by the model in ", "accepted by you", "create SKILL.md"]);
    scene.run(&["skills", "show", "haiku"]).await.exits(0).prints(&["by you or another program"]);
    scene
        .run(&["skills", "show", "../haiku"])
        .await
        .exits(2)
        .complains(&["there is no skill", "talaria skills list"]);
    scene
        .run(&["skills", "show", "haiku", "--file", "../x"])
        .await
        .exits(2)
        .complains(&["file must be SKILL.md"]);
    let rows = scene.run(&["skills", "proposals", "--all", "--json"]).await.exits(0).json();
    assert_eq!(rows.len(), 3);
    scene
        .run(&["skills", "archive", "haiku"])
        .await
        .exits(0)
        .prints(&["archived: haiku", "talaria skills restore arch-"]);
    assert!(!file(&scene, "haiku").exists());
    scene.run(&["skills", "list"]).await.exits(0).prints(&["archived now: haiku"]);
    scene.run(&["skills", "restore", "haiku"]).await.exits(0).prints(&["restored: haiku"]);
    assert!(fs::read_to_string(file(&scene, "haiku")).unwrap().contains("Count to 17."));
    scene.close().await;
}

#[tokio::test]
async fn a_skill_that_is_not_used_is_listed_as_stale_and_stays() {
    let mut scene = Scene::real(&Codex::v0_166()).await;
    let clock = scene.work().join("clock");
    scene.set("TALARIA_CLOCK", &clock);
    put(&scene, "haiku");
    let stale = scene.run(&["skills", "list", "--stale"]).await.exits(0);
    stale.prints(&["every skill was read or changed in the last 30 days, as far as is known"]);
    let days = |days: u64| (days * 24 * 60 * 60 * 1000).to_string();
    fs::write(&clock, days(31)).unwrap();
    scene
        .run(&["skills", "list"])
        .await
        .exits(0)
        .prints(&["1 skill was not used for 30 days: talaria skills list --stale", "About haiku"]);
    let stale = scene.run(&["skills", "list", "--stale"]).await.exits(0);
    stale.prints(&["haiku", "never", "archive one: talaria skills archive haiku"]);
    assert_eq!(scene.run(&["skills", "list", "--stale", "--json"]).await.exits(0).json().len(), 1);
    assert!(file(&scene, "haiku").exists(), "a person archives it");
    scene.model.push(Reply::say("ok"));
    scene.run(&["exec", "rain as $haiku"]).await.exits(0);
    let rows = scene.run(&["skills", "list", "--stale", "--json"]).await.exits(0).json();
    assert_eq!(rows, Vec::<Value>::new(), "it was used now");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_killed_at_every_step_of_a_decision_leaves_it_done_once_or_not_at_all() {
    let mut scene = Scene::real(&Codex::v0_166()).await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    let steps = [
        "before:skill-written",
        "after:file-created",
        "after:file-compared",
        "after:file-renamed",
        "after:skill-written",
        "after:skill-decided",
    ];
    let name = |round: usize| format!("skill-{round}");
    let calls: Vec<Value> = (0..steps.len())
        .map(|round| json!({ "op": "propose", "name": name(round), "text": text_of(&name(round)) }))
        .collect();
    let ids = propose(&scene, &calls).await;
    for (round, point) in steps.into_iter().enumerate() {
        let (name, id) = (name(round), ids[round].as_str());
        killed_at(&scene, &points, point, &["skills", "accept", id]).await;
        let rows = scene.run(&["skills", "proposals", "--all", "--json"]).await.exits(0).json();
        let state = rows.iter().find(|row| row["id"] == id).unwrap()["state"].clone();
        assert!(state != "accepted" || file(&scene, &name).exists(), "{point}: accepted means written");
        let again = scene.run(&["skills", "accept", id]).await;
        again.exits(if state == "accepted" { 1 } else { 0 });
        assert_eq!(fs::read_to_string(file(&scene, &name)).unwrap(), text_of(&name), "{point}");
        let folder = fs::read_dir(file(&scene, &name).parent().unwrap()).unwrap().count();
        assert_eq!(folder, 1, "{point}: nothing is left beside it");
        for (point, action) in [
            ("before:skill-archived", "archive"),
            ("after:skill-archived", "archive"),
            ("after:skill-restored", "restore"),
        ] {
            if round > 0 {
                break;
            }
            killed_at(&scene, &points, point, &["skills", action, &name]).await;
            let list = scene.run(&["skills", "list"]).await.exits(0);
            match point {
                "after:skill-archived" => list.prints(&[&format!("archived now: {name}")]),
                _ => list.prints(&[&format!("About {name}")]),
            };
        }
    }
    scene.close().await;
}

/// Runs a command whose engine is killed at a point.
async fn killed_at(scene: &Scene, points: &FaultPoints, point: &str, command: &[&str]) {
    let pid = scene.engine_pid().await.unwrap();
    let mut trap = points.trap(point, 0);
    let running = scene.start(command);
    let held = trap.reached().await.unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    drop(held);
    running.end().await;
}
