//! `talaria memory`: list, change, take back; edits of the files; and an engine that is killed at every step of a write.

use std::fs;

use rustix::process::{Signal, kill_process};
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};

use crate::scene::Scene;

fn file(scene: &Scene) -> String {
    fs::read_to_string(scene.home().join("memories/USER.md")).unwrap()
}

#[tokio::test]
async fn the_memory_is_added_to_edited_removed_and_brought_back() {
    let scene = Scene::empty().await;
    scene.run(&["memory", "list"]).await.exits(0).prints(&["nothing is remembered yet"]);
    scene
        .run(&["memory", "add", "Prefers tabs"])
        .await
        .exits(0)
        .prints(&["remembered: mem-", "talaria memory undo 1"]);
    scene.run_with_input(&["memory", "add", "--scope", "project", "-"], b"Tests: just test\n").await.exits(0);
    scene.run(&["memory", "add", "Prefers tabs"]).await.exits(0).prints(&["unchanged"]);
    scene.run(&["memory", "edit", "tabs", "Prefers four spaces"]).await.exits(0).prints(&["change 3"]);
    assert_eq!(file(&scene), "Prefers four spaces\n");
    scene
        .run(&["memory", "remove", "zebras"])
        .await
        .exits(2)
        .complains(&["not found", "talaria memory list"]);
    scene.run(&["memory", "remove", "spaces"]).await.exits(0).prints(&["removed"]);
    scene.run(&["memory", "undo", "4"]).await.exits(0).prints(&["undone: mem-"]);
    scene
        .run(&["memory", "undo", "1"])
        .await
        .exits(1)
        .complains(&["changed since revision 1; undo revision 5 first"]);
    // A person's editor has its own line ends and needs no sign at the end.
    fs::write(scene.home().join("memories/USER.md"), "Prefers four spaces\r\n§\r\nUses fish\r\n").unwrap();
    let listed = scene.run(&["memory", "list"]).await.exits(0);
    listed.prints(&["* a new conversation here starts with it", "Uses fish", "Tests: just test"]);
    let rows = scene.run(&["memory", "list", "--json"]).await.exits(0).json();
    let line = |row: &serde_json::Value| format!("{} {} {}", row["text"], row["author"], row["is_shown"]);
    assert_eq!(
        rows.iter().map(line).collect::<Vec<_>>(),
        [
            r#""Prefers four spaces" "person" true"#,
            r#""Tests: just test" "person" true"#,
            r#""Uses fish" "file" true"#
        ]
    );
    scene.run(&["memory", "show", "fish"]).await.exits(0).prints(&["Uses fish", "by file", "+ Uses fish"]);
    let history = scene.run(&["memory", "history", "--json", "--limit", "2"]).await.exits(0).json();
    assert_eq!((&history[0]["after"], &history[1]["undoes"]), (&"Uses fish".into(), &4.into()));
    scene.run(&["memory", "pending"]).await.exits(0).prints(&["nothing waits for you"]);
    scene.run(&["memory", "approve", "prop-0"]).await.exits(1).complains(&["there is no proposal prop-0"]);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_killed_at_every_step_of_a_write_loses_nothing_and_repeats_nothing() {
    let mut scene = Scene::empty().await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    scene.run(&["memory", "add", "there before"]).await.exits(0);
    let steps = [
        ("after:memory-read-back", 0),
        ("after:memory-read-back", 1),
        ("after:file-created", 0),
        ("after:file-renamed", 0),
        ("after:memory-written", 0),
    ];
    for (round, (point, after)) in steps.into_iter().enumerate() {
        let text = format!("fact {round}");
        // The edit by hand is read by this engine or by the next.
        let pid = scene.engine_pid().await.unwrap();
        let path = scene.home().join("memories/USER.md");
        let typed = format!("{}§\ntyped {round}\n", file(&scene));
        fs::write(&path, typed).unwrap();
        let mut trap = points.trap(point, after);
        let running = scene.start(&["memory", "add", &text]);
        let held = trap.reached().await.unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        drop(held);
        running.end().await;
        scene.run(&["memory", "add", &text]).await.exits(0);
        let rows = scene.run(&["memory", "list", "--json"]).await.exits(0).json();
        for wanted in [text, format!("typed {round}"), "there before".to_owned()] {
            let count = rows.iter().filter(|row| row["text"] == wanted.as_str()).count();
            assert_eq!(count, 1, "{point} {after}: {wanted}: {rows:#?}");
            assert!(file(&scene).contains(&wanted), "{point}: {}", file(&scene));
        }
        assert_eq!(rows.len(), 1 + 2 * (round + 1), "{point} {after}");
    }
    scene.close().await;
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_the_file_is_written_when_there_is_space() {
    let mut scene = Scene::empty().await;
    let full = scene.work().join("full");
    scene.set("TALARIA_FULL_DISK", &full);
    scene.run(&["memory", "add", "there before"]).await.exits(0);
    fs::write(&full, "").unwrap();
    let added = scene.run(&["memory", "add", "while it is full"]).await.exits(0);
    added
        .prints(&["remembered: mem-"])
        .complains(&["the memory file is left as it is and the entries are kept"]);
    assert_eq!(file(&scene), "there before\n", "not a part of the new text either");
    let memories = scene.home().join("memories");
    let names =
        || fs::read_dir(&memories).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names(), ["USER.md"], "nothing is left beside it");
    fs::write(memories.join("USER.md"), "there before\n§\ntyped meanwhile\n").unwrap();
    scene.run(&["memory", "edit", "there before", "changed meanwhile"]).await.exits(0);
    let texts = async || {
        let rows = scene.run(&["memory", "list", "--json"]).await.exits(0).json();
        let mut texts: Vec<String> =
            rows.iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect();
        texts.sort();
        texts
    };
    let all = ["changed meanwhile", "typed meanwhile", "while it is full"];
    assert_eq!(texts().await, all);
    // The next engine knows of nothing but rows and the file.
    let pid = scene.engine_pid().await.unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(texts().await, all);
    fs::remove_file(&full).unwrap();
    assert_eq!(texts().await, all);
    let mut written: Vec<String> = file(&scene).split("\n§\n").map(|text| text.trim().to_owned()).collect();
    written.sort();
    assert_eq!(written, all);
    scene.close().await;
}

/// What an editor writes between the last look at the file and the exchange is neither replaced nor lost, also when the engine
/// is killed at that very moment.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_between_the_comparison_and_the_exchange_is_kept() {
    let mut scene = Scene::empty().await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    scene.run(&["memory", "add", "Prefers tabs"]).await.exits(0);
    let path = scene.home().join("memories/USER.md");
    let listed = async || {
        let rows = scene.run(&["memory", "list", "--json"]).await.exits(0).json();
        let mut texts: Vec<String> =
            rows.iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect();
        texts.sort();
        texts
    };
    // Once as an editor that writes into the file, once as one that replaces it.
    for (round, is_replaced) in [false, true].into_iter().enumerate() {
        let mut trap = points.trap("after:file-compared", 0);
        let added = format!("Added {round}");
        let running = scene.start(&["memory", "add", &added]);
        let held = trap.reached().await.unwrap();
        let edited = format!("{}§\nTyped {round}\n", file(&scene));
        match is_replaced {
            false => fs::write(&path, edited).unwrap(),
            true => {
                let other = scene.home().join("memories/other");
                fs::write(&other, edited).unwrap();
                fs::rename(other, &path).unwrap();
            }
        }
        drop(held);
        running.end().await.exits(0);
        let texts = listed().await;
        assert!(texts.contains(&added) && texts.contains(&format!("Typed {round}")), "{texts:?}");
        assert_eq!(file(&scene).lines().filter(|line| *line != "§").count(), texts.len(), "{}", file(&scene));
    }
    // The engine dies with the two files exchanged: the edit is beside the file, under a name that people see.
    let pid = scene.engine_pid().await.unwrap();
    let mut trap = points.trap("after:file-compared", 0);
    let running = scene.start(&["memory", "add", "Added 2"]);
    let held = trap.reached().await.unwrap();
    fs::write(&path, "Typed 2\n").unwrap();
    let mut exchanged = points.trap("after:file-exchanged", 0);
    drop(held);
    let held = exchanged.reached().await.unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    drop(held);
    running.end().await;
    scene.run(&["memory", "add", "Added 3"]).await.exits(0);
    let kept = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = kept.filter(|path| path.to_string_lossy().contains(".kept-")).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "Typed 2\n");
    let texts = listed().await;
    assert!(texts.contains(&"Added 2".to_owned()) && texts.contains(&"Added 3".to_owned()), "{texts:?}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_an_editor_that_truncates_and_then_writes_is_kept() {
    use std::io::Write as _;

    let mut scene = Scene::empty().await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    scene.run(&["memory", "add", "there before"]).await.exits(0);
    let path = scene.home().join("memories/USER.md");
    let mut trap = points.trap("before:memory-empty-file", 0);
    // The editor has the file open and empty; Talaria looks at it and has something to write.
    let mut editor = fs::File::create(&path).unwrap();
    let running = scene.start(&["memory", "add", "added meanwhile"]);
    let held = trap.reached().await.unwrap();
    editor.write_all(b"there before\n\xc2\xa7\ntyped by hand\n").unwrap();
    drop(editor);
    drop(held);
    running.end().await.exits(0);
    let rows = scene.run(&["memory", "list", "--json"]).await.exits(0).json();
    let texts: Vec<_> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["there before", "typed by hand", "added meanwhile"], "nothing is lost, nothing twice");
    let history = scene.run(&["memory", "history", "--json"]).await.exits(0).json();
    assert_eq!(history.len(), 3, "and nothing was removed in between: {history:?}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_that_lost_its_last_entry_is_not_taken_for_one_that_an_editor_writes() {
    let mut scene = Scene::empty().await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    scene.run(&["memory", "add", "the last one"]).await.exits(0);
    scene.run(&["memory", "remove", "the last one"]).await.exits(0);
    assert_eq!(file(&scene), "");
    scene.run(&["memory", "list"]).await.exits(0);
    scene.run(&["memory", "add", "the next one"]).await.exits(0);
    assert_eq!(file(&scene), "the next one\n");
    let waits = || points.passed().iter().filter(|point| *point == "before:memory-empty-file").count();
    assert_eq!(waits(), 0, "nothing waited for an editor");
    // An editor that truncates that very file is waited for.
    scene.run(&["memory", "remove", "the next one"]).await.exits(0);
    let look_after_it = async || {
        fs::File::create(scene.home().join("memories/USER.md")).unwrap();
        scene.run(&["memory", "list"]).await.exits(0);
        // On a busy machine the command may start after the time in which an editor writes.
        (waits() > 0).then_some(())
    };
    talaria_testkit::eventually("the engine waits for the editor", look_after_it).await;
    scene.close().await;
}
