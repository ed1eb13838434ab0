//! A person watches a task, answers what it asks, and leaves at any time.

use rustix::process::{Signal, kill_process};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use crate::scene::{Scene, both_versions};
use crate::tasks::{rest, shown, start};

both_versions!(
    newest:
    a_question_is_answered_where_the_task_is_watched,
    a_watcher_who_leaves_does_not_stop_the_task,
    a_watcher_whose_output_nobody_reads_does_not_stop_the_task,
    a_waiting_command_may_leave_and_the_task_goes_on,
);

async fn a_question_is_answered_where_the_task_is_watched(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::new().command("echo made > note"));
    scene.model.push(Reply::say("Done."));
    let id = start(&scene, &["--sandbox", "workspace-write", "make a note"]).await;
    let mut terminal = scene.terminal(&["task", "watch", &id]);
    terminal.wait_for("stop the turn: ").await;
    terminal.type_keys("y\n").await;
    terminal.wait_for("accepted by you").await;
    terminal.wait_for("Done.").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.transcript());
    assert!(scene.work().join("note").exists());
    assert_eq!(shown(&scene, &id).await["status"], "completed");
    scene.close().await;
}

async fn a_watcher_who_leaves_does_not_stop_the_task(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half\n").gate(&gate).text("and whole\n"));
    let id = start(&scene, &["go"]).await;
    let mut terminal = scene.terminal(&["task", "watch", &id]);
    terminal.wait_for("half").await;
    terminal.ctrl_c().await;
    terminal.wait_for("you left; the task continues").await;
    terminal.wait_for(&format!("talaria task interrupt {id}")).await;
    assert_eq!(terminal.exit_code().await, Some(4), "{}", terminal.transcript());
    assert_eq!(shown(&scene, &id).await["status"], "working");
    let watching = scene.start(&["task", "watch", &id]);
    gate.open();
    let watched = watching.end().await.exits(0);
    assert_eq!(watched.stdout, "half\nand whole\n", "a pipe gets the answer alone: {watched}");
    assert_eq!(shown(&scene, &id).await["answer"], "half\nand whole\n");
    scene.close().await;
}

async fn a_watcher_whose_output_nobody_reads_does_not_stop_the_task(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let (noticed, gone) = (Gate::new(), Gate::new());
    scene
        .model
        .push(Reply::new().text("half\n").gate(&noticed).text("more\n").gate(&gone).text("and whole\n"));
    let id = start(&scene, &["go"]).await;
    let mut watching = scene.start(&["task", "watch", "--json", &id]);
    watching.wait_for("half").await;
    let watcher = watching.hang_up();
    noticed.open();
    watcher.await.exits(4);
    assert_eq!(shown(&scene, &id).await["status"], "working");
    gone.open();
    rest(&scene).await;
    let task = shown(&scene, &id).await;
    assert_eq!((&task["status"], &task["answer"]), (&"completed".into(), &"half\nmore\nand whole\n".into()));
    scene.close().await;
}

async fn a_waiting_command_may_leave_and_the_task_goes_on(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let signals = [
        (Signal::TERM, 143, "SIGTERM ended this command; the task continues"),
        (Signal::HUP, 129, "SIGHUP ended this command; the task continues"),
        (Signal::INT, 4, "you left; the task continues"),
    ];
    for (signal, code, words) in signals {
        let gate = Gate::new();
        scene.model.push(Reply::new().gate(&gate).text("Done."));
        let waiting = scene.interruptible(&["task", "start", "--wait", "go"]);
        gate.reached().await;
        kill_process(waiting.pid(), signal).unwrap();
        let left = waiting.end().await.exits(code);
        assert_eq!(left.stdout, "");
        left.complains(&[words, "talaria task watch codex-", "talaria task interrupt codex-"]);
        gate.open();
        rest(&scene).await;
    }
    let listed = scene.run(&["task", "list", "--json"]).await.exits(0).json();
    assert_eq!(listed.len(), signals.len());
    assert!(listed.iter().all(|task| task["status"] == "completed"), "{listed:?}");
    scene.close().await;
}
