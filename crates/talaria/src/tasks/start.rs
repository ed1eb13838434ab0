//! `talaria task start`: hands work to the engine and says how to come back to it.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

use rustix::termios::ttyname;
use talaria_core::api::{NewTask, NewTurn, TaskStarted, TaskStatus};
use talaria_core::input::InputPart;
use talaria_core::next_step::NextStep;
use talaria_core::policy::Answers;
use talaria_server::client::Client;

use super::attend::{self, From, View};
use crate::advice::Reader;
use crate::args::StartTask;
use crate::engine::{self, not_done};
use crate::exec::milliseconds;
use crate::output::{print, print_lines};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::{Settings, warn_of_program};
use crate::stops::{Stops, unless_stopped};
use crate::trouble::{Trouble, complain, exit};
use crate::{caller, input};
use talaria_render::plain_line;

/// Starts a task. The number is the exit code.
pub(super) async fn run(options: &StartTask) -> Result<u8, Trouble> {
    // Before signals are taken over: Ctrl-C must end a wait for standard input.
    let start = start(options)?;
    let settings = Settings::load()?.accept()?;
    let mut stops = if options.wait { Some(Stops::listen()?) } else { None };
    let handed = Cell::new(false);
    let starting = async {
        let client = engine::reach(&settings.home).await?;
        handed.set(true);
        let started = hand_over(&client, &new_task(options, start)).await?;
        Ok((client, started))
    };
    let starting = with_progress("starting the task", starting);
    let (client, started) = match &mut stops {
        Some(stops) => unless_stopped(stops, starting, || stopped(handed.get())).await?,
        None => starting.await?,
    };
    warn_of_program(started.codex.as_ref());
    let words = confirmation(options, &started, Reader::Shell);
    let Some(stops) = &mut stops else {
        if options.json {
            print(&words)?;
        } else {
            print_lines(&words)?;
        }
        return Ok(0);
    };
    // The answer is printed on standard output; how to return to the task on standard error.
    if options.json {
        print(&words)?;
    } else {
        complain(&words);
    }
    complain("waiting for its end; Ctrl-C leaves it running\n");
    let TaskStarted { id, session, after, .. } = started;
    let from = From { id, session, turn: 1, after, past: after };
    let view = if options.json { View::Outcome } else { View::Answer };
    attend::attend(&client, from, view, stops).await
}

/// Initial data of a task: prompt, directory and writable roots.
pub(crate) struct Start {
    input: Vec<InputPart>,
    cwd: String,
    roots: Vec<String>,
}

/// Checks what was typed for a new task.
pub(crate) fn start(options: &StartTask) -> Result<Start, Trouble> {
    let input = input::read(&options.prompt, &[])?;
    let cwd = input::working_directory(options.cwd.as_deref())?;
    let roots = options.writable_root.iter().map(|root| directory(root)).collect::<Result<_, _>>()?;
    Ok(Start { input, cwd, roots })
}

/// Starts a task, and says so; its end is not waited for.
pub(crate) async fn started(
    options: &StartTask,
    start: Start,
    client: &Client,
    reader: Reader,
) -> Result<String, Trouble> {
    let started = hand_over(client, &new_task(options, start)).await?;
    Ok(confirmation(options, &started, reader))
}

async fn hand_over(client: &Client, new: &NewTask) -> Result<TaskStarted, Trouble> {
    client
        .start_task(new)
        .await
        .map_err(|error| not_done("cannot start the task", &error, NextStep::ListTasks))
}

/// The person stopped it before the engine confirmed the task, or the next turn of one.
pub(super) fn stopped(was_handed: bool) -> Trouble {
    if !was_handed {
        return Trouble::new(exit::INTERRUPTED, "stopped before anything was sent to the task");
    }
    Trouble::new(exit::LOST, "stopped before the engine confirmed it")
        .because("the task may have received it")
        .try_this(NextStep::ListTasks)
}

fn confirmation(options: &StartTask, started: &TaskStarted, reader: Reader) -> String {
    if options.json { json_lines(&[started]) } else { words(started, reader) }
}

fn new_task(options: &StartTask, start: Start) -> NewTask {
    let is_local = options.notify.iter().any(|target| target == "local");
    NewTask {
        cwd: start.cwd,
        model: options.model.clone(),
        sandbox: Some(options.sandbox),
        approval: Some(options.approval),
        writable_roots: start.roots,
        network: options.network,
        worktree: options.worktree,
        notify: options.notify.clone(),
        codex_home: None,
        started_in: None,
        terminal: if is_local { terminal() } else { None },
        turn: NewTurn {
            input: start.input,
            provider: options.provider.clone(),
            runtime: options.runtime,
            effort: options.effort.clone(),
            limit_ms: options.deadline.map(milliseconds),
            ..turn()
        },
    }
}

/// A turn of a task without words, as the configuration has it.
pub(crate) fn turn() -> NewTurn {
    NewTurn { answers: Some(Answers::Person), caller: caller::describe(), ..NewTurn::default() }
}

/// The terminal where this was typed: a bell rings there when the task ends.
fn terminal() -> Option<String> {
    let name = ttyname(io::stderr(), Vec::new()).or_else(|_| ttyname(io::stdin(), Vec::new()));
    name.ok()?.into_string().ok()
}

/// A directory that may be written, as an absolute path.
fn directory(path: &Path) -> Result<String, Trouble> {
    let trouble = |cause: String| {
        Trouble::new(exit::USAGE, format!("cannot let the task write in {}", path.display()))
            .because(cause)
            .try_this("name a directory that exists with --writable-root")
    };
    let real: PathBuf = path.canonicalize().map_err(|error| trouble(error.to_string()))?;
    if !real.is_dir() {
        return Err(trouble("it is not a directory".to_owned()));
    }
    real.into_os_string().into_string().map_err(|_| trouble("its path is not valid UTF-8".to_owned()))
}

/// That it was started, and how to come back to it.
fn words(started: &TaskStarted, reader: Reader) -> String {
    let id = plain_line(&started.id);
    let mut out = match started.status {
        TaskStatus::Queued => format!("queued {id}: it starts as soon as a slot is free\n"),
        _ => format!("started {id}\n"),
    };
    if let Some(branch) = &started.branch {
        out += &format!("branch:     {}\n", plain_line(branch));
        out += &format!("works in:   {}\n", plain_line(&started.cwd));
    }
    let task = || id.clone().into_owned();
    let says = |step: NextStep| reader.says(&step);
    out + &format!(
        "show it:    {}\nwatch it:   {}\nanswer it:  {}\n",
        says(NextStep::ShowTask { task: task() }),
        says(NextStep::WatchTask { task: task() }),
        says(NextStep::AnswerRequests),
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::ids::SessionId;

    use super::*;

    #[test]
    fn starting_a_task_says_how_to_return_to_it() {
        let started = TaskStarted {
            id: "codex-1a2b3c4d5e6f".to_owned(),
            session: SessionId::new("0199a000"),
            status: TaskStatus::Starting,
            cwd: "/home/ada/.talaria/worktrees/codex-\u{1b}[2J".to_owned(),
            branch: Some("talaria/codex-1a2b3c4d5e6f".to_owned()),
            after: 0,
            codex: None,
        };
        expect![[r#"
            started codex-1a2b3c4d5e6f
            branch:     talaria/codex-1a2b3c4d5e6f
            works in:   /home/ada/.talaria/worktrees/codex-␛[2J
            show it:    talaria task show codex-1a2b3c4d5e6f
            watch it:   talaria task watch codex-1a2b3c4d5e6f
            answer it:  talaria requests list
        "#]]
        .assert_eq(&words(&started, Reader::Shell));
        let queued = TaskStarted { status: TaskStatus::Queued, branch: None, ..started };
        assert!(words(&queued, Reader::Shell).starts_with("queued codex-1a2b3c4d5e6f: it starts as soon"));
        assert!(!words(&queued, Reader::Shell).contains("branch"));
    }

    #[test]
    fn json_of_a_start_has_the_promised_fields() {
        let (id, session) = ("codex-1".to_owned(), SessionId::new("s"));
        let (status, cwd) = (TaskStatus::Starting, "/".to_owned());
        let started = TaskStarted { id, session, status, cwd, branch: None, after: 0, codex: None };
        let value: serde_json::Value = serde_json::from_str(&json_lines(&[started])).unwrap();
        for field in ["id", "session", "status"] {
            assert!(value[field].is_string(), "{field}");
        }
    }
}
