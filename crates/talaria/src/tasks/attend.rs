//! Looking on at a task until it has ended: live (`watch`), or only for its end (`--wait`).
//!
//! A passive client may leave at any time; the task continues. Requests are answered here if the question can be shown and
//! the answer typed; else a line says how to answer.

use std::io::{self, IsTerminal};

use jiff::Timestamp;
use talaria_core::api::{TaskInfo, TaskStatus, TurnInfo};
use talaria_core::ids::SessionId;
use talaria_core::outcome::Report;
use talaria_server::client::Client;

use super::{exit_code, exit_code_of, find, page, reach};
use crate::advice::Reader;
use crate::conversation::{self, Bond, Followed};
use crate::engine::refused;
use crate::exec::person_or;
use crate::face::Answerer;
use crate::look;
use crate::output::{encoded, for_people, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::stops::{Stops, stopped, unless_stopped};
use crate::trouble::{Trouble, complain};
use talaria_render::{JsonLines, Look, Quiet, Renderer, complaint};

/// The output mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Everything, for people.
    Live,
    /// Every event, for programs.
    Events,
    /// Nothing but the answer.
    Answer,
    /// Nothing but the task as JSON, at its end.
    Outcome,
}

/// The turn from which on is looked on.
#[derive(Debug)]
pub(super) struct From {
    pub(super) id: String,
    pub(super) session: SessionId,
    /// Its number, from 1. A future one is awaited.
    pub(super) turn: i64,
    /// Its events have greater numbers.
    pub(super) after: i64,
    /// Up to here it has happened already.
    pub(super) past: i64,
}

/// Follows a task to its end. The number is the exit code.
pub(super) async fn watch(id: &str, view: View) -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    let looking = async {
        let client = reach().await?;
        let task = find("cannot watch this task", &client, id).await?;
        let looked = find_turn(&client, task).await?;
        Ok((client, looked))
    };
    let (client, looked) =
        unless_stopped(&mut stops, looking, stopped("stopped before the task was found")).await?;
    match looked {
        Looked::UnderWay(from) => attend(&client, from, view, &mut stops).await,
        Looked::Ended(task) => show_ended(&task, view),
    }
}

/// How a task was found.
enum Looked {
    /// A turn runs, or is to come.
    UnderWay(From),
    /// It rests.
    Ended(Box<TaskInfo>),
}

/// Finds the turn that runs, or the one that is to come.
async fn find_turn(client: &Client, task: TaskInfo) -> Result<Looked, Trouble> {
    if task.status.is_terminal() {
        return Ok(Looked::Ended(Box::new(task)));
    }
    let (turns, past) = turns(client, &task.session).await?;
    let TaskInfo { id, session, .. } = task;
    let (running, last) = (turns.iter().find(|turn| turn.outcome.is_none()), turns.last());
    let turn = match running {
        Some(turn) => turn.turn,
        None => {
            // It may have ended between the two questions; if not, a turn comes after those that are there.
            let task = find("cannot watch this task", client, &id).await?;
            if task.status.is_terminal() {
                return Ok(Looked::Ended(Box::new(task)));
            }
            last.map_or(1, |turn| turn.turn + 1)
        }
    };
    Ok(Looked::UnderWay(From { id, session, turn, after: 0, past }))
}

/// The turns of a conversation, and the number of its last event.
async fn turns(client: &Client, session: &SessionId) -> Result<(Vec<TurnInfo>, i64), Trouble> {
    let detail = with_progress("looking for the turn", client.session(session.as_str())).await;
    let detail = detail.map_err(|error| refused("cannot watch this task", &error))?;
    Ok((detail.turns, detail.info.last_seq))
}

/// Nothing runs: says so, and how it ended.
fn show_ended(task: &TaskInfo, view: View) -> Result<u8, Trouble> {
    complain(&format!("{} has ended like this:\n", task.id));
    match (view, &task.outcome) {
        (View::Events, Some(report)) => {
            let mut lines = JsonLines::new(io::stdout(), &task.session);
            let shown = lines.left(report, exit_code_of(task)).and_then(|()| lines.flush());
            // The reader of our output has seen enough.
            drop(shown);
        }
        (View::Events, None) => print(&json_lines(&[super::standing(task)]))?,
        _ if io::stdout().is_terminal() => {
            print(&encoded(&page::page(task, Timestamp::now(), look::of_stdout(), Reader::Shell)))?;
        }
        _ => print_answer(task)?,
    }
    Ok(exit_code_of(task))
}

/// Prints the answer alone, as for a turn that ends while it is watched; the rest of the page is for standard error.
fn print_answer(task: &TaskInfo) -> Result<(), Trouble> {
    let (answer, untold) = match task.status {
        TaskStatus::Completed => (task.answer.clone(), None),
        _ => (None, task.answer.clone()),
    };
    let account = TaskInfo { answer: untold, ..task.clone() };
    let look = Look { color: false, live: false, ..look::of_stderr() };
    complain(&page::page(&account, Timestamp::now(), look, Reader::Shell).text());
    match answer {
        Some(answer) if answer.ends_with('\n') => print(&answer),
        Some(answer) => print(&format!("{answer}\n")),
        None => Ok(()),
    }
}

/// Watches until the task has ended or the person leaves. The number is the exit code.
pub(super) async fn attend(
    client: &Client,
    from: From,
    view: View,
    stops: &mut Stops,
) -> Result<u8, Trouble> {
    let From { id, session, mut turn, mut after, mut past } = from;
    let mut answerer = match view {
        View::Live => person_or(Answerer::Elsewhere, renderer(view, &session).as_ref()),
        _ => Answerer::Elsewhere,
    };
    loop {
        let bond = Bond::Onlooker(id.clone());
        let session = session.clone();
        let followed = Followed { client, session, turn, after, past, bond };
        let renderer = renderer(view, &followed.session);
        let end = conversation::run(&followed, renderer, answerer, stops).await?;
        if end.has_left {
            return Ok(end.exit);
        }
        let task = find("cannot follow the task any more", client, &id).await?;
        // A follow-up that is over already is shown, too.
        if task.status.is_terminal() && task.turns <= turn {
            return finish_view(&task, &end.report, view);
        }
        complain(&format!("{id} continues with its next turn\n"));
        answerer = end.answerer;
        (turn, after, past) = (turn + 1, 0, turns(client, &task.session).await?.1);
    }
}

fn finish_view(task: &TaskInfo, report: &Report, view: View) -> Result<u8, Trouble> {
    match view {
        View::Answer => complain(&complaint(report)),
        View::Outcome => print(&super::json(task))?,
        View::Live | View::Events => {}
    }
    Ok(exit_code(report))
}

fn renderer(view: View, session: &SessionId) -> Box<dyn Renderer + Send> {
    match view {
        View::Live => for_people(),
        View::Events => Box::new(JsonLines::new(io::stdout(), session)),
        View::Answer => Box::new(Quiet::new(io::stdout(), look::of_stdout())),
        View::Outcome => Box::new(Quiet::new(io::sink(), look::of_stdout())),
    }
}
