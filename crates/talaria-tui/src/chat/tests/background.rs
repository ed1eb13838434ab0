//! Tasks in the background that end, and commands that outlived their turns.

use expect_test::expect;
use talaria_core::api::{TaskCounts, TaskLine, TaskStatus};
use talaria_core::principal::Principal;

use super::*;

fn task(id: &str, title: &str, status: TaskStatus) -> TaskLine {
    TaskLine {
        waits_for: None,
        id: id.to_owned(),
        session: SessionId::new(format!("session of {id}")),
        status,
        title: title.to_owned(),
        owner: Principal::person("me"),
        cwd: "/home/me/project".into(),
        open_requests: 0,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        completed_at: Some(Timestamp::UNIX_EPOCH),
    }
}

#[test]
fn an_end_is_told_beside_what_is_there() {
    let mut play = play();
    play.news(News::Ended(task("codex-1", " fix\u{1b}[2J it\n", TaskStatus::Completed)));
    let screen = play.screen();
    assert!(screen.contains("Type what you want done"), "{screen}");
    assert!(screen.contains("task codex-1 completed (fix␛[2J it)\nsee /task show codex-1"), "{screen}");
    play.running().news(News::Ended(task("codex-2", "", TaskStatus::Lost)));
    assert_eq!(play.rows_with("codex-2"), "task codex-2 lost\nsee /task show codex-2\n");
}

#[test]
fn the_task_on_the_screen_tells_its_end_itself() {
    let mut play = play();
    play.running();
    let here = TaskLine { session: session(), ..task("codex-1", "it", TaskStatus::Completed) };
    play.news(News::Ended(here));
    assert_eq!(play.rows_with("codex-1"), "");
}

fn in_background(count: usize) -> News {
    News::Waiting { requests: Vec::new(), tasks: TaskCounts::default(), background: count }
}

#[test]
fn the_status_line_counts_background_commands_and_names_the_command_that_lists_them() {
    let mut play = play();
    play.running();
    let mut told = String::new();
    for (count, columns) in [(0, 100), (1, 100), (2, 100), (2, 60), (2, 40), (2, 20)] {
        play.size = (columns, 24);
        play.news(in_background(count));
        told += play.screen().lines().last().unwrap();
        told += "\n";
    }
    expect![[r#"
        ⠋ working 0s · codex·gpt-5.5·high · workspace-write/on-request
        ⠋ working 0s · 1 background command running · /ps · codex·gpt-5.5·high · workspace-write/on-request
        ⠋ working 0s · 2 background commands running · /ps · codex·gpt-5.5·high · workspace-write/on-request
        ⠋ working 0s · 2 background commands running · /ps
        ⠋ working 0s · 2 in background: /ps
        ⠋ working 0s · /ps
    "#]]
    .assert_eq(&told);
    play.size = (100, 24);
    play.news(News::Stopped);
    assert_eq!(play.rows_with("background"), "", "what runs is not known");
}

#[test]
fn ps_is_asked_of_the_engine_as_it_was_typed_and_its_reply_is_shown() {
    let mut play = play();
    play.running();
    play.chat.wishes();
    for typed in ["/ps", "/ps 1", "/ps stop bg-1a2b3c --all"] {
        play.write(typed).press("Enter");
    }
    let wishes = play.wishes();
    let runs: Vec<&str> = wishes.lines().filter(|wish| wish.starts_with("Run(")).collect();
    assert_eq!(
        runs,
        ["Run(Ps([]))", r#"Run(Ps(["1"]))"#, r#"Run(Ps(["stop", "bg-1a2b3c", "--all"]))"#],
        "{wishes}"
    );
    play.news(News::Reply("no background commands\n".into()));
    assert_eq!(play.rows_with("no background"), "no background commands\n");
}
