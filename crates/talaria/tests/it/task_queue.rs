//! More tasks than may run at once wait for their turn, and clients can see that.

use talaria_scripted::{Gate, Reply};
use talaria_testkit::{Codex, eventually};

use crate::scene::{Scene, both_versions, write_program};
use crate::tasks::{shown, start};

both_versions!(
    newest:
    a_task_waits_for_a_place_and_can_be_stopped_there,
    each_named_target_is_notified_once,
    attach_follows_the_turn_that_runs_and_not_the_one_that_is_queued,
);

async fn a_task_waits_for_a_place_and_can_be_stopped_there(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let bin = codex.native.to_str().unwrap();
    scene.configure(&format!("[codex]\nbin = {bin:?}\n\n[bridge]\nmax_tasks = 1\n"));
    let gate = Gate::new();
    scene.model.push(Reply::new().gate(&gate).text("First."));
    let first = start(&scene, &["one"]).await;
    gate.reached().await;
    let second = start(&scene, &["two"]).await;
    let third = start(&scene, &["three"]).await;
    let status = scene.status().await;
    assert_eq!((&status["tasks"]["working"], &status["tasks"]["queued"]), (&1.into(), &2.into()), "{status}");
    assert_eq!(status["limits"]["tasks"], 1);
    scene
        .run(&["status"])
        .await
        .exits(0)
        .prints(&["1 working, 0 waiting for you, 2 queued", "1 task at once"])
        .prints(&["Running turns:", "Turns that have not started:"]);
    let listed = scene.run(&["sessions", "list"]).await.exits(0);
    let is_of = |task: &str, word: &str| {
        listed.stdout.lines().any(|line| line.starts_with(task) && line.contains(word))
    };
    assert!(is_of(&first, "running") && is_of(&second, "queued") && is_of(&third, "queued"), "{listed}");
    assert_eq!(shown(&scene, &third).await["status"], "queued");
    scene.run(&["task", "show", &third]).await.exits(0).prints(&["queued (1 before it)", "started  not yet"]);

    let stopped = scene.run(&["task", "interrupt", &second, "--json"]).await.exits(0);
    assert_eq!(stopped.json()[0]["status"], "cancelled", "{stopped}");
    scene.run(&["task", "show", &second]).await.exits(0).prints(&["status   cancelled", "started  never"]);
    scene.model.push(Reply::say("Third."));
    let watching = scene.start(&["task", "watch", &third]);
    gate.open();
    watching.end().await.exits(0).prints(&["Third."]);
    assert_eq!(shown(&scene, &first).await["answer"], "First.");
    assert_eq!(scene.model.requests().len(), 2, "what was stopped in the line was never sent");
    scene.close().await;
}

async fn each_named_target_is_notified_once(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (program, told) = (scene.work().join("tell"), scene.work().join("told"));
    write_program(&program, &format!("cat >> {}", told.display()));
    scene.model.push(Reply::say("All is well."));
    let target = format!("command:{}", program.display());
    let id = start(&scene, &["--notify", &target, "look around"]).await;
    // It is sent automatically; the task shows that.
    eventually("the notice is sent", async || {
        (shown(&scene, &id).await["notices"][0]["state"] == "sent").then_some(())
    })
    .await;
    scene.run(&["task", "notify"]).await.exits(0).prints(&["no pending notifications"]);
    scene.run(&["task", "show", &id]).await.exits(0).prints(&["Notifications:", "sent"]);
    let text = std::fs::read_to_string(&told).unwrap();
    assert_eq!(text.matches("All is well.").count(), 1, "{text}");
    let again = scene.run(&["task", "notify", "--dry-run"]).await.exits(0);
    again.prints(&["no pending notifications"]);
    scene.close().await;
}

async fn attach_follows_the_turn_that_runs_and_not_the_one_that_is_queued(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (first, second) = (Gate::new(), Gate::new());
    scene.model.push(Reply::new().text("One\n").gate(&first).text("and all."));
    scene.model.push(Reply::new().gate(&second).text("Two."));
    let id = start(&scene, &["one"]).await;
    first.reached().await;
    scene.run(&["task", "send", &id, "two"]).await.exits(0);
    assert_eq!(shown(&scene, &id).await["queued"], serde_json::json!(["two"]));
    let mut attached = scene.start(&["exec", "--attach", &id, "--json"]);
    attached.wait_for("One").await;
    first.open();
    let ended = attached.end().await.exits(0);
    assert_eq!(ended.events().last().unwrap()["text"], "One\nand all.", "{ended}");
    second.open();
    scene.run(&["task", "watch", &id]).await.exits(0);
    scene.close().await;
}
