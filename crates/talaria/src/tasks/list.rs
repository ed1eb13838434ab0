//! Tasks as a table for people.

use jiff::Timestamp;
use talaria_core::api::{TaskLine, TaskQuery};
use talaria_core::ids::SessionId;
use talaria_core::next_step::NextStep;

use super::status_words;
use crate::advice::Reader;
use crate::amounts::ago;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText};

/// The longest list.
const MOST: usize = 10_000;

/// The table, and how to see what is not in it.
pub(super) fn list(
    tasks: &[TaskLine],
    query: &TaskQuery,
    now: Timestamp,
    look: Look,
    reader: Reader,
) -> StyledText {
    if tasks.is_empty() {
        let none = if query.active { "no tasks running" } else { "no tasks" };
        return format!("{none}; {}\n", reader.says(&NextStep::StartTask)).into();
    }
    let mut sheet = Sheet::new(&["id", "status", "created", "updated", "title"], "title");
    for task in tasks {
        sheet.row([
            task.id.clone(),
            match &task.waits_for {
                Some(variables) => format!("waiting for {variables}"),
                None => status_words(task.status).to_owned(),
            },
            // Not when it started: it may wait for a place, or have been stopped before it had one.
            ago(task.created_at, now),
            ago(task.updated_at, now),
            title(task),
        ]);
    }
    let mut out = sheet.show(look);
    if tasks.len() >= query.limit && query.limit < MOST {
        let limit = (query.limit * 2).min(MOST);
        out += format!("there may be more: {}\n", reader.says(&NextStep::MoreTasks { limit }));
    }
    if tasks.iter().any(|task| task.open_requests > 0) {
        out += format!("answer open requests: {}\n", reader.says(&NextStep::AnswerRequests));
    }
    out
}

/// Title of a task, and the conversation that delegated it.
fn title(task: &TaskLine) -> String {
    match task.owner.delegator() {
        Some(session) => format!("{} (delegated by {})", task.title, SessionId::new(session).short()),
        None => task.title.clone(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::api::TaskStatus;
    use unicode_width::UnicodeWidthStr;

    use super::super::sample::{LOOK, at, line};
    use super::*;

    fn list(tasks: &[TaskLine], query: &TaskQuery, now: Timestamp, look: Look, reader: Reader) -> String {
        super::list(tasks, query, now, look, reader).text()
    }

    fn query(limit: usize) -> TaskQuery {
        TaskQuery { limit, ..TaskQuery::default() }
    }

    #[test]
    fn a_delegated_task_names_its_conversation() {
        let session = SessionId::new("0199b6a1-1111-7222-8333-444455556666");
        let owner = talaria_core::principal::Principal::delegating(&session);
        let task = TaskLine { owner, ..line("codex-1a2b3c4d5e6f", TaskStatus::Working, "count") };
        let text = list(&[task], &query(50), at(100), LOOK, Reader::Shell);
        assert!(text.contains(&format!("count (delegated by {})", session.short())), "{text}");
    }

    #[test]
    fn a_queued_task_has_not_started() {
        let tasks = [line("codex-1a2b3c4d5e6f", TaskStatus::Queued, "later")];
        let text = list(&tasks, &query(50), at(100), LOOK, Reader::Shell);
        assert!(text.contains("CREATED") && !text.contains("STARTED"), "{text}");
        assert!(text.contains("queued  1 minute ago  10 seconds ago"), "{text}");
    }

    #[test]
    fn a_list_shows_how_each_stands_and_what_waits() {
        let tasks = [
            line("codex-1a2b3c4d5e6f", TaskStatus::WaitingForUserInput, "why is\n\u{1b}[2Jthe build slow?"),
            line("codex-2a2b3c4d5e6f", TaskStatus::Lost, "说明一下"),
        ];
        expect![[r#"
            ID                  STATUS                   CREATED       UPDATED         TITLE
            codex-1a2b3c4d5e6f  waiting for your answer  1 minute ago  10 seconds ago  why is␊␛[2Jthe build slo…
            codex-2a2b3c4d5e6f  lost                     1 minute ago  10 seconds ago  说明一下
            answer open requests: talaria requests list
        "#]]
        .assert_eq(&list(&tasks, &query(50), at(100), LOOK, Reader::Shell));
    }

    #[test]
    fn a_list_fits_the_window_and_leaves_ids_whole() {
        let tasks = [
            line("codex-1a2b3c4d5e6f", TaskStatus::WaitingForUserInput, "find out why the build is so slow"),
            line("codex-2a2b3c4d5e6f", TaskStatus::Completed, "write a page about the commands of the chat"),
        ];
        let shown = |width| {
            let text = list(&tasks, &query(50), at(100), Look { width: Some(width), ..LOOK }, Reader::Chat);
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            text
        };
        expect![[r#"
            ID                  STATUS          CREATED       UPDATED         TITLE
            codex-1a2b3c4d5e6f  waiting for     1 minute ago  10 seconds ago  find out why
                                your answer                                   the build is …
            codex-2a2b3c4d5e6f  completed       1 minute ago  10 seconds ago  write a page …
            answer open requests: /requests
        "#]]
        .assert_eq(&shown(80));
        expect![[r#"
            id: codex-1a2b3c4d5e6f
            status: waiting for your answer
            created: 1 minute ago
            updated: 10 seconds ago
            title: find out why the build is so slow
            ────────────────────────
            id: codex-2a2b3c4d5e6f
            status: completed
            created: 1 minute ago
            updated: 10 seconds ago
            title: write a page about the commands of the chat
            answer open requests: /requests
        "#]]
        .assert_eq(&shown(60));
        expect![[r#"
            id: codex-1a2b3c4d5e6f
            status: waiting for your answer
            created: 1 minute ago
            updated: 10 seconds ago
            title: find out why the build is so slow
            ────────────────────────
            id: codex-2a2b3c4d5e6f
            status: completed
            created: 1 minute ago
            updated: 10 seconds ago
            title: write a page about the commands …
            answer open requests: /requests
        "#]]
        .assert_eq(&shown(40));
    }

    #[test]
    fn a_full_page_says_that_there_may_be_more() {
        let tasks = [line("codex-1", TaskStatus::Completed, "a")];
        assert!(
            list(&tasks, &query(1), at(100), LOOK, Reader::Shell).ends_with("talaria task list --limit 2\n")
        );
        assert!(!list(&tasks, &query(2), at(100), LOOK, Reader::Shell).contains("--limit"));
    }

    #[test]
    fn no_tasks_is_told_with_a_next_step() {
        assert!(
            list(&[], &query(5), at(0), LOOK, Reader::Shell).starts_with("no tasks; `talaria task start")
        );
        let active = TaskQuery { active: true, ..query(5) };
        assert!(list(&[], &active, at(0), LOOK, Reader::Shell).starts_with("no tasks running"));
    }
}
