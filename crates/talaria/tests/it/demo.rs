//! `talaria demo`: the whole way of a turn without an account, and nothing but the truth about it.

use std::fs;

use rustix::process::Signal;
use talaria_testkit::{Codex, Terminal};

use crate::scene::{Scene, both_versions, names};

both_versions!(
    the_piped_demo_shows_everything_and_says_who_approved;
    newest:
    the_demo_leaves_the_users_codex_and_home_alone,
    the_demo_does_not_claim_what_was_declined,
    the_demo_works_in_a_home_under_the_temporary_directory,
    a_signal_ends_the_demo_and_its_turn,
);

/// Its engine is its own, so nothing continues, and nothing else is said.
async fn a_signal_ends_the_demo_and_its_turn(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = scene.terminal(&["demo"]);
    terminal.wait_for("The model asks to run a command").await;
    terminal.signal(Signal::TERM);
    terminal.wait_for("the demo ends, and the turn with it").await;
    assert_eq!(terminal.exit_code().await, Some(143), "{}", terminal.transcript());
    assert!(!terminal.transcript().contains("--attach"), "{}", terminal.transcript());
    scene.close().await;
}

async fn the_piped_demo_shows_everything_and_says_who_approved(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let ended = scene.run(&["demo"]).await.exits(0);
    assert_eq!(ended.stderr, "");
    let ended = ended.prints(&[
        &format!("a real turn of Codex {}, named in the configuration", codex.version),
        "The model is scripted",
        "No account is needed, and nothing leaves this machine.",
        "I will count the words first.",
        "? The model asks to run a command",
        "wc -w greeting.txt",
        "→ accepted automatically by the demo: this is not a terminal",
        "? The model asks to change 1 file",
        "-Hello.",
        "+Hello, and welcome!",
        "the number of words is in `count.txt`",
        "the greeting is friendlier now",
        "tokens: 6.8k in (4.2k cached), 204 out",
        "Where it is stored:",
        "Try next:",
        " doctor ",
        " exec \"explain this repo\" ",
        " exec --json \"say hello\" ",
    ]);
    let [run] = &names(&scene.home().join("demo"))[..] else { panic!("not one demo: {ended}") };
    let place = scene.home().join("demo").join(run);
    assert_eq!(fs::read_to_string(place.join("work/count.txt")).unwrap().trim(), "5 greeting.txt");
    assert!(fs::read_to_string(place.join("work/greeting.txt")).unwrap().starts_with("Hello, and welcome!"));
    for what in ["files ", "transcript ", "everything "] {
        let line = ended.stdout.lines().find_map(|line| line.trim().strip_prefix(what)).unwrap().trim();
        assert!(fs::exists(line).unwrap(), "{what} is not at {line}");
        assert!(line.starts_with(place.to_str().unwrap()), "{line}");
    }
    assert_eq!(names(&scene.work()), [""; 0], "the demo works in a place of its own");
    scene.close().await;
}

async fn the_demo_leaves_the_users_codex_and_home_alone(codex: Codex) {
    let mut scene = Scene::real(&codex).await;
    let before = fs::read_to_string(scene.codex_home.path().join("config.toml")).unwrap();
    scene.run(&["demo"]).await.exits(0);
    assert_eq!(names(&scene.user_home()), [""; 0], "the user's home is untouched");
    assert_eq!(names(&scene.codex_home.path()), ["config.toml"], "the user's Codex is untouched");
    assert_eq!(fs::read_to_string(scene.codex_home.path().join("config.toml")).unwrap(), before);
    // An empty variable counts as unset: Codex would make its home in the user's.
    scene.set("CODEX_HOME", "");
    scene.run(&["demo"]).await.exits(0);
    assert_eq!(names(&scene.user_home()), [""; 0], "no home of Codex is made for somebody who has none");
    scene.close().await;
}

async fn answer(terminal: &mut Terminal, question: &str, keys: &str) {
    terminal.wait_for(question).await;
    terminal.wait_for("stop the turn: ").await;
    terminal.type_keys(keys).await;
}

async fn the_demo_does_not_claim_what_was_declined(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let mut terminal = scene.terminal(&["demo"]);
    answer(&mut terminal, "The model asks to run a command", "n\n").await;
    terminal.wait_for("→ declined by you").await;
    answer(&mut terminal, "The model asks to change 1 file", "y\n").await;
    terminal.wait_for("the words were **not counted**").await;
    terminal.wait_for("the greeting is friendlier now").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    let transcript = terminal.transcript();
    for claim in ["Counted.", "the number of words is in", "automatically"] {
        assert!(!transcript.contains(claim), "{claim:?} is not true: {transcript}");
    }

    let mut terminal = scene.terminal(&["demo"]);
    answer(&mut terminal, "The model asks to run a command", "y\n").await;
    answer(&mut terminal, "The model asks to change 1 file", "n\n").await;
    terminal.wait_for("the number of words is in `count.txt`").await;
    terminal.wait_for("the greeting is **as it was**").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    assert!(!terminal.transcript().contains("friendlier now"), "{}", terminal.transcript());
    scene.close().await;
}

async fn the_demo_works_in_a_home_under_the_temporary_directory(codex: Codex) {
    let mut scene = Scene::real(&codex).await;
    // The whole scene is now below the temporary directory.
    let below = scene.codex_home.root().to_owned();
    scene.set("TMPDIR", below);
    let ended = scene.run(&["demo"]).await.exits(0);
    ended.prints(&["the number of words is in `count.txt`", "the greeting is friendlier now"]);
    scene.close().await;
}
