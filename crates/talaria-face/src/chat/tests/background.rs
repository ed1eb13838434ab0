//! Tasks in the background that end.

use talaria_core::api::{TaskLine, TaskStatus};
use talaria_core::principal::Principal;

use super::*;

fn task(id: &str, title: &str, status: TaskStatus) -> TaskLine {
    TaskLine {
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
    assert!(screen.contains("Say what you want done"), "{screen}");
    assert!(
        screen.contains("task codex-1 completed (fix␛[2J it)\nlook at it: /task show codex-1"),
        "{screen}"
    );
    play.running().news(News::Ended(task("codex-2", "", TaskStatus::Lost)));
    assert_eq!(play.rows_with("codex-2"), "task codex-2 lost\nlook at it: /task show codex-2\n");
}

#[test]
fn the_task_on_the_screen_tells_its_end_itself() {
    let mut play = play();
    play.running();
    let here = TaskLine { session: session(), ..task("codex-1", "it", TaskStatus::Completed) };
    play.news(News::Ended(here));
    assert_eq!(play.rows_with("codex-1"), "");
}
