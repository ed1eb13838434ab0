//! What survives: commands are found again by their directory alone, and nothing is said that is not known.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use talaria_guard::place::Place;
use talaria_home::descendants;
use talaria_testkit::until;
use talaria_tools::keeper::{
    COMMAND_MARK, CommandEnding, CommandId, CommandInput, CommandRoom, CommandState, InputDelivery,
    KeptCommand, KeptCommandSpec, SpoolLimits,
};

use crate::keeper_process::{environment, room};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

fn spec(script: &str, input: CommandInput) -> KeptCommandSpec {
    KeptCommandSpec {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        cwd: "/".to_owned(),
        input,
        place: Place::Inside,
        limits: SpoolLimits::default(),
    }
}

fn start(room: &CommandRoom, script: &str, input: CommandInput) -> KeptCommand {
    let id = room.prepare(&spec(script, input)).unwrap();
    room.start(&id, &environment()).unwrap()
}

fn text(command: &KeptCommand) -> String {
    let piece = command.output(0).read(usize::MAX).unwrap();
    assert_eq!(piece.skipped, 0);
    String::from_utf8(piece.bytes).unwrap()
}

/// The keeper's own process, as its directory says.
fn keeper_pid(root: &Path, id: &CommandId) -> i32 {
    let claim = fs::read(root.join(id.as_str()).join("keeper.json")).unwrap();
    let claim: serde_json::Value = serde_json::from_slice(&claim).unwrap();
    i32::try_from(claim["pid"].as_i64().unwrap()).unwrap()
}

fn carriers(id: &CommandId) -> usize {
    descendants::carrying(&format!("{COMMAND_MARK}={}", id.as_str())).len()
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

async fn ended(command: &KeptCommand) -> talaria_tools::keeper::CommandEnd {
    match command.wait(LONG).await.unwrap() {
        CommandState::Ended(end) => end,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn output_is_merged_in_order_and_the_exit_code_is_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let room = room(&folder.path().join("commands"));
    let script = "echo one; echo two >&2; printf three; exit 7";
    let command = start(&room, script, CommandInput::Nothing);
    let end = ended(&command).await;
    assert_eq!((end.ending, end.is_stopped, end.leftovers), (CommandEnding::Exited(7), false, 0));
    assert_eq!((text(&command).as_str(), end.output_bytes), ("one\ntwo\nthree", 13));
    let id = command.id().clone();
    assert_eq!(carriers(&id), 0, "nothing is left");
    command.remove().await.unwrap();
    assert_eq!(room.find(&id).unwrap().state().unwrap(), CommandState::Missing);
}

#[tokio::test]
async fn everything_of_a_command_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("commands");
    let command = start(&room(&root), "echo x", CommandInput::Open);
    ended(&command).await;
    let mut paths = vec![root.clone(), root.join(command.id().as_str())];
    let entries = fs::read_dir(&paths[1]).unwrap();
    paths.extend(entries.map(|entry| entry.unwrap().path()));
    assert!(paths.len() > 7, "{paths:?}");
    for path in paths {
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}

#[tokio::test]
async fn another_engine_polls_writes_to_and_stops_a_command_that_it_did_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("commands");
    let script = "echo ready; while read line; do echo \"got $line\"; done; sleep 600";
    let id = start(&room(&root), script, CommandInput::Open).id().clone();
    // Nothing but the directory is known from here on.
    let found = room(&root).find(&id).unwrap();
    until("it is ready", || text(&found) == "ready\n").await;
    assert_eq!(found.state().unwrap(), CommandState::Running);
    assert_eq!(found.delivery("t1").unwrap(), InputDelivery::NotSent);
    assert_eq!(found.write("t1", "a\n", LONG).await.unwrap(), InputDelivery::Delivered);
    until("the line was read", || text(&found) == "ready\ngot a\n").await;
    let again = room(&root).find(&id).unwrap();
    assert_eq!(again.write("t1", "a\n", LONG).await.unwrap(), InputDelivery::Delivered, "sent once");
    assert_eq!(again.write("t2", "b\n", LONG).await.unwrap(), InputDelivery::Delivered);
    until("the second line was read", || text(&found) == "ready\ngot a\ngot b\n").await;
    assert_eq!(again.end_input("t3", LONG).await.unwrap(), InputDelivery::Delivered);
    assert_eq!(again.write("t4", "c\n", LONG).await.unwrap(), InputDelivery::Refused);
    let CommandState::Ended(end) = again.stop().await.unwrap() else { panic!("it did not end") };
    assert!(end.is_stopped && matches!(end.ending, CommandEnding::Signalled(_)), "{end:?}");
    assert_eq!(carriers(&id), 0);
}

#[tokio::test]
async fn a_command_that_ignores_the_request_is_killed_with_everything_below_it() {
    let folder = tempfile::tempdir().unwrap();
    let room = room(&folder.path().join("commands"));
    let script = "trap '' TERM; sleep 600 & setsid sleep 600 & echo ready; wait; wait; sleep 600";
    let command = start(&room, script, CommandInput::Nothing);
    until("it is ready", || text(&command) == "ready\n").await;
    let CommandState::Ended(end) = command.stop().await.unwrap() else { panic!("it did not end") };
    assert!(end.is_stopped, "{end:?}");
    assert_eq!((end.ending, carriers(command.id())), (CommandEnding::Signalled(9), 0));
}

#[tokio::test]
async fn what_a_command_leaves_running_is_ended_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let room = room(&folder.path().join("commands"));
    let command =
        start(&room, "setsid sleep 600 >/dev/null 2>&1 & sleep 600 & echo done", CommandInput::Nothing);
    let end = ended(&command).await;
    assert_eq!((end.ending, end.leftovers), (CommandEnding::Exited(0), 2));
    assert_eq!((text(&command).as_str(), carriers(command.id())), ("done\n", 0));
}

#[tokio::test]
async fn a_killed_keeper_leaves_an_unknown_end_and_its_command_is_cleared_away() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("commands");
    let command = start(&room(&root), "echo ready; sleep 600", CommandInput::Nothing);
    until("it is ready", || text(&command) == "ready\n").await;
    kill(keeper_pid(&root, command.id()));
    until("its end is not known", || command.state().unwrap() == CommandState::Lost).await;
    assert!(carriers(command.id()) > 0, "the command itself still runs");
    assert_eq!(command.stop().await.unwrap(), CommandState::Lost, "never called done");
    assert_eq!((carriers(command.id()), text(&command).as_str()), (0, "ready\n"));
}

#[tokio::test]
async fn a_sweep_ends_what_no_one_knows_and_leaves_the_rest_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("commands");
    let room = room(&root);
    let (kept, unknown) = (
        start(&room, "echo ready; sleep 600", CommandInput::Nothing),
        start(&room, "echo ready; sleep 600", CommandInput::Nothing),
    );
    until("both run", || text(&kept) == "ready\n" && text(&unknown) == "ready\n").await;
    let orphan = start(&room, "echo ready; sleep 600", CommandInput::Nothing);
    until("it runs", || text(&orphan) == "ready\n").await;
    kill(keeper_pid(&root, orphan.id()));
    fs::create_dir(root.join("not-a-command")).unwrap();
    assert_eq!(room.sweep(&HashSet::from([kept.id().clone()])).await.unwrap(), 2);
    assert_eq!(room.list().unwrap(), [kept.id().clone()]);
    assert_eq!((carriers(unknown.id()), carriers(orphan.id())), (0, 0));
    assert!(root.join("not-a-command").is_dir());
    assert_eq!(kept.state().unwrap(), CommandState::Running);
    kept.remove().await.unwrap();
}

#[tokio::test]
async fn a_copied_home_neither_claims_nor_ends_the_commands_of_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let (root, copy) = (folder.path().join("commands"), folder.path().join("copy"));
    let command = start(&room(&root), "echo ready; sleep 600", CommandInput::Nothing);
    until("it is ready", || text(&command) == "ready\n").await;
    let copied = std::process::Command::new("cp").arg("-a").args([&root, &copy]).status().unwrap();
    assert!(copied.success());
    let seen = room(&copy).find(command.id()).unwrap();
    assert_eq!(seen.state().unwrap(), CommandState::Copied);
    assert_eq!(room(&copy).sweep(&HashSet::new()).await.unwrap(), 1);
    assert_eq!(command.state().unwrap(), CommandState::Running, "the original continues");
    command.remove().await.unwrap();
}

#[tokio::test]
async fn a_prepared_command_that_was_given_up_never_runs() {
    let folder = tempfile::tempdir().unwrap();
    let room = room(&folder.path().join("commands"));
    let proof = folder.path().join("ran");
    let id = room.prepare(&spec(&format!("touch {}", proof.display()), CommandInput::Nothing)).unwrap();
    let command = room.find(&id).unwrap();
    assert_eq!(command.state().unwrap(), CommandState::NotStarted);
    assert!(command.abandon().unwrap());
    // A keeper that comes late finds the claim and ends.
    let late = room.start(&id, &environment()).unwrap();
    until("the late keeper is gone", || carriers(&id) == 0).await;
    assert_eq!(late.state().unwrap(), CommandState::NotStarted);
    assert!(!proof.exists() && command.abandon().unwrap());
}

#[tokio::test]
async fn a_command_is_started_once_even_if_two_keepers_try() {
    let folder = tempfile::tempdir().unwrap();
    let room = room(&folder.path().join("commands"));
    let count = folder.path().join("count");
    let id = room.prepare(&spec(&format!("echo x >> {}", count.display()), CommandInput::Nothing)).unwrap();
    let first = room.start(&id, &environment()).unwrap();
    let second = room.start(&id, &environment()).unwrap();
    ended(&first).await;
    ended(&second).await;
    until("both keepers are gone", || carriers(&id) == 0).await;
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
    assert!(!first.abandon().unwrap(), "it did run");
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_reported_as_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let room = room(&folder.path().join("commands"));
    let mut wanted = spec("", CommandInput::Nothing);
    wanted.argv = vec!["/nonexistent/program".to_owned()];
    let id = room.prepare(&wanted).unwrap();
    let end = ended(&room.start(&id, &environment()).unwrap()).await;
    assert!(matches!(end.ending, CommandEnding::NotStarted(_)), "{end:?}");
}
