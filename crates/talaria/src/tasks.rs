//! `talaria task`: work in the background. It runs unattended, so it always has a sandbox and always asks.
//!
//! Each command is a short way from the engine's answer to text; how a task is shown is in the files below.

use jiff::Timestamp;
use serde_json::{Value, json};
use talaria_core::api::{Discard, TaskInfo, TaskQuery, TaskStatus};
use talaria_core::outcome::{Outcome, Report};
use talaria_core::request::Who;
use talaria_server::client::{Client, ClientError};

use crate::advice::Reader;
use crate::args::{TaskAction, Tasks};
use crate::engine::{self, refused, refused_id};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};
use talaria_render::{Look, StyledText, plain_line, with_exit};

mod attend;
mod list;
mod notices;
mod page;
mod patch;
mod start;
mod words;

use attend::View;
pub(crate) use patch::show as show_diff;
pub(crate) use start::{start, started, turn};
pub(crate) use words::sent;

/// Runs the command. The number is the exit code.
pub(crate) async fn run(options: &Tasks) -> Result<u8, Trouble> {
    match &options.action {
        TaskAction::Start(start) => start::run(start).await,
        TaskAction::Watch { id, json } => {
            attend::watch(id, if *json { View::Events } else { View::Live }).await
        }
        TaskAction::Send(options) => words::send(options).await,
        action => {
            let client = reach().await?;
            let page = carry_out(action, &client, look::of_stdout(), Reader::Shell).await?;
            print(&encoded(&page)).map(|()| 0)
        }
    }
}

/// Carries out what is done at once, and returns the text for it. Not for actions that start or follow turns.
pub(crate) async fn carry_out(
    action: &TaskAction,
    client: &Client,
    look: Look,
    reader: Reader,
) -> Result<StyledText, Trouble> {
    Ok(match action {
        TaskAction::Start(_) | TaskAction::Watch { .. } | TaskAction::Send(_) => StyledText::default(),
        TaskAction::List { active, limit, json } => {
            let query = TaskQuery { limit: *limit as usize, active: *active, before: None };
            let refused = |error| refused("cannot list tasks", &error);
            if *json {
                json_lines(&with_progress("listing", client.tasks_in_json(&query)).await.map_err(refused)?)
                    .into()
            } else {
                let tasks = with_progress("listing", client.tasks(&query)).await.map_err(refused)?;
                list::list(&tasks, &query, Timestamp::now(), look, reader)
            }
        }
        TaskAction::Show { task, diff: false } => {
            let found = find("cannot show this task", client, &task.id).await?;
            if task.json { json(&found).into() } else { page::page(&found, Timestamp::now(), look, reader) }
        }
        TaskAction::Show { task, diff: true } => {
            let diff = of_task("cannot show its changes", client.diff(&task.id)).await?;
            if task.json { json_lines(&[diff]).into() } else { patch::show(&diff.diff, look) }
        }
        TaskAction::Steer { task, text } => words::steer(task, text, client, reader).await?.into(),
        TaskAction::Interrupt { task } => words::interrupt(task, client, reader).await?.into(),
        TaskAction::Notify(options) => notices::send(options, client, look).await?,
        TaskAction::Apply { task } => {
            let applied = of_task("cannot apply it", client.apply(&task.id)).await?;
            if task.json { json_lines(&[applied]) } else { patch::applied(&applied) }.into()
        }
        TaskAction::Discard { task, force } => {
            let discard = client.discard(&task.id, Discard { force: *force });
            let discarded = of_task("cannot discard it", discard).await?;
            let words = if task.json {
                json_lines(&[discarded])
            } else {
                format!("{}: {}\n", plain_line(&discarded.branch), plain_line(&discarded.message))
            };
            words.into()
        }
    })
}

async fn reach() -> Result<Client, Trouble> {
    let settings = Settings::load()?.accept()?;
    engine::reach(&settings.home).await
}

/// Asks the engine something about one task.
async fn of_task<T>(what: &str, asking: impl Future<Output = Result<T, ClientError>>) -> Result<T, Trouble> {
    match with_progress("asking the engine", asking).await {
        Ok(answer) => Ok(answer),
        Err(error) => Err(refused_id(what, &error)),
    }
}

/// Finds a task by what was typed.
pub(crate) async fn find(what: &str, client: &Client, id: &str) -> Result<TaskInfo, Trouble> {
    match with_progress("asking the engine", client.task(id)).await {
        Ok(task) => Ok(task),
        Err(error) => Err(refused_id(what, &error)),
    }
}

/// The status in words for people.
fn status_words(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::WaitingForApproval => "waiting for your approval",
        TaskStatus::WaitingForUserInput => "waiting for your answer",
        other => other.word(),
    }
}

/// The task for programs, with the exit code of its outcome.
fn json(task: &TaskInfo) -> String {
    with_exit(json_lines(&[task]), &task.outcome)
}

/// The JSON output about a changed task.
fn standing(task: &TaskInfo) -> Value {
    json!({ "id": task.id, "session": task.session, "status": task.status })
}

/// The exit code of a task with this last outcome: that of the turn, but a task that was not stopped on purpose has failed.
fn exit_code(report: &Report) -> u8 {
    match report.outcome {
        Outcome::Interrupted { by: Who::User | Who::Model | Who::Stop | Who::Deadline } => report.exit_code(),
        Outcome::Interrupted { .. } => exit::FAILED,
        _ => report.exit_code(),
    }
}

/// The exit code of a task that has ended. An imported one has no report.
fn exit_code_of(task: &TaskInfo) -> u8 {
    match (&task.outcome, task.status) {
        (Some(report), _) => exit_code(report),
        (None, TaskStatus::Completed) => 0,
        (None, TaskStatus::Cancelled) => exit::INTERRUPTED,
        (None, TaskStatus::Lost) => exit::LOST,
        (None, _) => exit::FAILED,
    }
}

#[cfg(test)]
mod sample;

#[cfg(test)]
mod tests {
    use talaria_core::event::Usage;
    use talaria_core::outcome::FailureCode;

    use super::*;

    #[test]
    fn the_exit_code_says_how_a_task_ended() {
        let code = |outcome, declined| exit_code(&Report::new(outcome, None, Usage::default(), declined));
        let failed = |code| Outcome::Failed { code, message: String::new() };
        assert_eq!(code(Outcome::Completed, 0), 0);
        assert_eq!(code(Outcome::Completed, 1), 3);
        assert_eq!(code(failed(FailureCode::Other), 0), 1);
        assert_eq!(code(failed(FailureCode::Auth), 0), 6);
        assert_eq!(code(Outcome::Interrupted { by: Who::User }, 0), 4);
        assert_eq!(code(Outcome::Interrupted { by: Who::Codex }, 0), 1, "nobody cancelled it");
        assert_eq!(code(Outcome::Interrupted { by: Who::Deadline }, 0), 5);
        assert_eq!(code(Outcome::Lost { why: String::new() }, 0), 7);
        let imported = |status| TaskInfo { status, outcome: None, ..sample::waiting() };
        let codes = [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Cancelled, TaskStatus::Lost];
        assert_eq!(codes.map(|status| exit_code_of(&imported(status))), [0, 1, 4, 7]);
    }

    #[test]
    fn json_of_a_task_has_the_promised_fields() {
        let value = serde_json::to_value(sample::waiting()).unwrap();
        for field in [
            "id",
            "session",
            "status",
            "outcome",
            "answer",
            "files",
            "commands",
            "requests",
            "usage",
            "created_at",
            "completed_at",
        ] {
            assert!(value.get(field).is_some(), "{field}");
        }
        assert_eq!(value["status"], "waiting_for_approval");
        let told = standing(&sample::waiting());
        assert!(told["id"].is_string() && told["session"].is_string() && told["status"].is_string());
    }
}
