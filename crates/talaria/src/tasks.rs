//! `talaria task`: work in the background. Nobody watches it, so it always has a sandbox and always asks.

use jiff::Timestamp;
use serde_json::json;
use talaria_core::api::{Kind, NewSession, NewTurn, SessionStarted, TaskInfo, TaskStatus};
use talaria_core::policy::Answers;
use talaria_server::client::Client;

use crate::amounts::{ago, since};
use crate::args::{StartTask, TaskAction, Tasks};
use crate::engine::{self, refused, refused_id};
use crate::exec::{QUIET, milliseconds};
use crate::output::print;
use crate::patience::patiently;
use crate::render::{Look, Paint, Style, complaint, plain, plain_line};
use crate::requests::open_requests;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::sheet::Sheet;
use crate::trouble::Trouble;
use crate::{caller, input, look};

/// Runs the command.
pub(crate) async fn run(options: &Tasks) -> Result<u8, Trouble> {
    match &options.action {
        TaskAction::Start(start) => begin(start).await?,
        TaskAction::Show { id, json } => {
            let client = reach().await?;
            let task = match patiently("asking the engine", client.task(id)).await {
                Ok(task) => task,
                Err(error) => return Err(refused_id("cannot show this task", id, &client, &error).await),
            };
            print(&if *json {
                json_lines(&[task])
            } else {
                page(&task, Timestamp::now(), look::of_stdout())
            })?;
        }
        TaskAction::List { json } => {
            let tasks = patiently("asking the engine", reach().await?.tasks()).await;
            let tasks = tasks.map_err(|error| refused("cannot list tasks", &error))?;
            print(&if *json {
                json_lines(&tasks)
            } else {
                list(&tasks, Timestamp::now(), look::of_stdout())
            })?;
        }
    }
    Ok(0)
}

async fn reach() -> Result<Client, Trouble> {
    let settings = Settings::load()?.accept()?;
    engine::reach(&settings.home).await
}

async fn begin(options: &StartTask) -> Result<(), Trouble> {
    let input = input::read(&options.prompt, &[])?;
    let cwd = input::working_directory(options.cwd.as_deref())?;
    let settings = Settings::load()?.accept()?;
    let config = &settings.config;
    let starting = async {
        let codex = settings.codex().await?;
        let client = engine::reach(&settings.home).await?;
        let new = NewSession {
            kind: Kind::Task,
            cwd,
            model: options.model.clone().or_else(|| config.model.default.clone()),
            sandbox: Some(options.sandbox),
            approval: Some(options.approval),
            turn: NewTurn {
                input,
                effort: options.effort.clone().or_else(|| config.model.effort.clone()),
                limit_ms: config.codex.turn_timeout.map(milliseconds),
                quiet_after_ms: Some(milliseconds(config.codex.idle_warning.unwrap_or(QUIET))),
                answers: Answers::Person,
                caller: caller::describe(&codex, settings.codex_home()),
            },
        };
        client.start_session(&new).await.map_err(|error| refused("cannot start the task", &error))
    };
    let SessionStarted { id: session, task, .. } = patiently("starting the task", starting).await?;
    let id = task.unwrap_or_else(|| session.to_string());
    if options.json {
        return print(&format!(
            "{}\n",
            json!({ "id": id, "session": session, "status": TaskStatus::Starting })
        ));
    }
    print(&format!(
        "started {id}\nlook at it: talaria task show {id}\nfollow it:  talaria exec --attach {id}\n"
    ))
}

fn word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Starting => "starting",
        TaskStatus::Running => "running",
        TaskStatus::Waiting => "waiting for you",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Interrupted => "interrupted",
        TaskStatus::Lost => "lost",
    }
}

fn list(tasks: &[TaskInfo], now: Timestamp, look: Look) -> String {
    if tasks.is_empty() {
        return "no tasks yet; `talaria task start \"…\"` starts one\n".to_owned();
    }
    let mut sheet = Sheet::new(&["id", "status", "started", "title"], "title");
    for task in tasks {
        sheet.row([
            task.id.clone(),
            word(task.status).to_owned(),
            ago(task.created_at, now),
            task.title.clone(),
        ]);
    }
    sheet.show(look)
}

/// One task for people.
fn page(task: &TaskInfo, now: Timestamp, look: Look) -> String {
    let paint = Paint::new(look);
    let mut out = format!("{}\n", paint.text(Style::BOLD, &plain_line(task.title.trim())));
    let took = match task.completed_at {
        Some(at) => format!(", took {}", since(task.created_at, at)),
        None => String::new(),
    };
    for (name, value) in [
        ("task", task.id.clone()),
        ("session", task.session.to_string()),
        ("status", word(task.status).to_owned()),
        ("started", format!("{}{took}", ago(task.created_at, now))),
    ] {
        out += &format!("{}{}\n", paint.text(Style::DIM, &format!("{name:<9}")), plain_line(&value));
    }
    for (title, lines) in [("Commands", &task.commands), ("Files", &task.files)] {
        if !lines.is_empty() {
            let lines: String = lines.iter().map(|line| format!("  {}\n", plain_line(line))).collect();
            out += &format!("\n{title}:\n{lines}");
        }
    }
    if let Some(report) = &task.outcome {
        let words = complaint(report);
        out += &if words.is_empty() { words } else { format!("\n{words}") };
    }
    if let Some(answer) = &task.answer {
        out += &format!("\n{}\n", plain(answer.trim_end()));
    }
    if !task.requests.is_empty() {
        out += &format!("\nWaiting for an answer:\n{}", open_requests(&task.requests, now, look));
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::api::{RequestInfo, RequestState};
    use talaria_core::event::Usage;
    use talaria_core::ids::{SessionId, TicketId};
    use talaria_core::outcome::{Outcome, Report};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn task() -> TaskInfo {
        TaskInfo {
            id: "codex-1a2b3c4d5e6f".to_owned(),
            session: SessionId::new("0199a000"),
            status: TaskStatus::Waiting,
            title: "why is the build slow?".to_owned(),
            outcome: None,
            answer: None,
            files: Vec::new(),
            commands: vec!["cargo build --timings\nand more".to_owned()],
            requests: vec![RequestInfo {
                id: TicketId::new("req-0a1b2c3d4e5f"),
                session: SessionId::new("0199a000"),
                task: Some("codex-1a2b3c4d5e6f".to_owned()),
                kind: "command".to_owned(),
                summary: "cargo clean".to_owned(),
                since: at(90),
                state: RequestState::Open,
                place: None,
                choices: Vec::new(),
                ask: None,
            }],
            usage: None,
            created_at: at(0),
            completed_at: None,
        }
    }

    fn done() -> TaskInfo {
        let lost = Outcome::Lost { why: "codex died".to_owned() };
        TaskInfo {
            status: TaskStatus::Lost,
            outcome: Some(Report::new(lost, None, Usage::default(), 0)),
            answer: Some("It is the \u{1b}[1mlinker.\n".to_owned()),
            files: vec!["Cargo.toml".to_owned()],
            requests: Vec::new(),
            completed_at: Some(at(75)),
            ..task()
        }
    }

    #[test]
    fn a_task_shows_what_it_did_and_what_it_waits_for() {
        let look = Look { color: false, width: Some(100), live: true, unicode: true };
        expect![[r#"
            why is the build slow?
            task     codex-1a2b3c4d5e6f
            session  0199a000
            status   waiting for you
            started  1 minute ago

            Commands:
              cargo build --timings␊and more

            Waiting for an answer:
            REQUEST           KIND     ASKED           FOR                 ABOUT
            req-0a1b2c3d4e5f  command  10 seconds ago  codex-1a2b3c4d5e6f  cargo clean
            answer with: talaria requests answer req-0a1b2c3d4e5f accept (or decline, …)
        "#]]
        .assert_eq(&page(&task(), at(100), look));
        expect![[r#"
            why is the build slow?
            task     codex-1a2b3c4d5e6f
            session  0199a000
            status   lost
            started  1 minute ago, took 1 minute

            Commands:
              cargo build --timings␊and more

            Files:
              Cargo.toml

            error: the turn was lost; how it ended is not known
            cause: codex died
            hint: check what it did before you send the prompt again; `talaria doctor` checks the installation

            It is the ␛[1mlinker.
        "#]]
        .assert_eq(&page(&done(), at(100), look));
        expect![[r#"
            ID                  STATUS           STARTED       TITLE
            codex-1a2b3c4d5e6f  waiting for you  1 minute ago  why is the build slow?
            codex-1a2b3c4d5e6f  lost             1 minute ago  why is the build slow?
        "#]]
        .assert_eq(&list(&[task(), done()], at(100), look));
    }

    #[test]
    fn json_has_the_promised_fields() {
        let value = serde_json::to_value(task()).unwrap();
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
    }
}
