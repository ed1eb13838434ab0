//! Input to an existing task: steering, stopping, or the next turn.

use std::cell::Cell;
use std::time::Duration;

use serde_json::json;
use talaria_core::api::{Interrupt, NewTurn, ProblemCode, Said, Say, TaskInfo, TaskSent, TaskStatus, When};
use talaria_core::event::Event;
use talaria_core::input::InputPart;
use talaria_core::json_line::json_line;
use talaria_core::next_step::NextStep;
use talaria_core::request::Who;
use talaria_render::plain;
use talaria_server::client::{Client, ClientError};

use super::attend::{self, From, View};
use super::{find, standing, start, status_words};
use crate::advice::Reader;
use crate::args::{One, SendTask};
use crate::engine::{self, not_done};
use crate::input;
use crate::output::print;
use crate::progress::with_progress;
use crate::settings::Settings;
use crate::stops::{Stops, unless_stopped};
use crate::trouble::{Trouble, complain, exit};

/// How long the end of a task that was stopped is waited for. What takes longer ends by itself.
const STOPPING: Duration = Duration::from_secs(20);

/// Says something to the turn that runs.
pub(super) async fn steer(
    task: &One,
    text: &str,
    client: &Client,
    reader: Reader,
) -> Result<String, Trouble> {
    let text = read(text)?;
    let found = find("cannot steer this task", client, &task.id).await?;
    if found.status.is_terminal() {
        return Err(over("cannot steer this task", &found));
    }
    let say = Say { text, images: Vec::new(), when: When::Now };
    let said = with_progress("sending it to the task", client.say(found.session.as_str(), &say)).await;
    let said = said.map_err(|error| not_running("cannot steer this task", &found, &error))?;
    Ok(if task.json { format!("{}\n", standing(&found)) } else { said_words(&found.id, said, reader) })
}

/// Result of steering a running turn.
fn said_words(id: &str, said: Said, reader: Reader) -> String {
    let what = if said.to_running_turn {
        "sent to the running turn; not read yet"
    } else {
        "queued for the next turn: the running one cannot use it"
    };
    format!("{what}\n{}", watch(id, reader))
}

fn watch(id: &str, reader: Reader) -> String {
    format!("watch it: {}\n", reader.says(&NextStep::WatchTask { task: id.to_owned() }))
}

/// Stops a task, and waits for a while until it has.
pub(super) async fn interrupt(task: &One, client: &Client, reader: Reader) -> Result<String, Trouble> {
    let found = find("cannot stop this task", client, &task.id).await?;
    if found.status.is_terminal() {
        let what = format!("{} is not running: it is {}", found.id, status_words(found.status));
        return Err(Trouble::new(exit::FAILED, "cannot stop this task")
            .because(what)
            .try_this(NextStep::ListActiveTasks));
    }
    let stop = Interrupt { by: Who::User };
    let asked = with_progress("stopping the task", client.interrupt(found.session.as_str(), stop)).await;
    let look = NextStep::CheckTask { task: found.id.clone() };
    asked.map_err(|error| not_done("cannot stop this task", &error, look))?;
    let waiting = tokio::time::timeout(STOPPING, end_of(client, &found));
    let seen = with_progress("waiting until it has stopped", waiting).await;
    let now = find("cannot follow the task any more", client, &found.id).await?;
    let has_ended = seen.is_ok();
    let taken_back = seen.unwrap_or_default();
    if task.json {
        let mut told = standing(&now);
        told["taken_back"] = json!(taken_back);
        return Ok(format!("{told}\n"));
    }
    let id = &now.id;
    let mut words = match now.status {
        TaskStatus::Cancelled if has_ended && found.status == TaskStatus::Queued => {
            let what = if found.turns > 1 { "its next turn" } else { "it" };
            format!("{id} was removed from the queue; {what} had not started\n")
        }
        TaskStatus::Cancelled if has_ended => format!("{id} was stopped\n"),
        status if status.is_terminal() => format!("{id} is {}\n", status_words(status)),
        _ => {
            let show = reader.says(&NextStep::ShowTask { task: id.clone() });
            format!("{id} was asked to stop; see whether it has: {show}\n")
        }
    };
    for text in taken_back {
        words += &format!("not sent: {}\n", plain(text.trim()));
    }
    Ok(words)
}

/// Waits for the end of the running turn, as long as events arrive. Returns the input that was queued after it and is not
/// run.
async fn end_of(client: &Client, task: &TaskInfo) -> Vec<String> {
    let mut taken_back = Vec::new();
    // What ended before is among the events that were reported.
    let after = task.events.last().map_or(0, |event| event.seq);
    let Ok(mut follow) = client.follow(task.session.as_str(), after).await else { return taken_back };
    while let Some(Ok(numbered)) = follow.next().await {
        match numbered.event {
            Event::Unqueued { inputs, .. } => taken_back.extend(inputs.into_iter().map(|input| input.text)),
            Event::Outcome(_) => break,
            _ => {}
        }
    }
    taken_back
}

/// Starts or queues the next turn of a task. The number is the exit code.
pub(super) async fn send(options: &SendTask) -> Result<u8, Trouble> {
    let SendTask { task, text, wait } = options;
    let text = read(text)?;
    let settings = Settings::load()?.accept()?;
    let mut stops = if *wait { Some(Stops::listen()?) } else { None };
    let handed = Cell::new(false);
    let sending = async {
        let client = engine::reach(&settings.home).await?;
        handed.set(true);
        let (found, sent) = hand_over(&task.id, text, start::turn(), &client).await?;
        Ok((client, found, sent))
    };
    let sending = with_progress("sending it to the task", sending);
    let (client, found, sent) = match &mut stops {
        Some(stops) => unless_stopped(stops, sending, || start::stopped(handed.get())).await?,
        None => sending.await?,
    };
    let words = sent_words(task, &found, &sent, Reader::Shell);
    let Some(stops) = &mut stops else {
        print(&words)?;
        return Ok(0);
    };
    if task.json {
        print(&words)?;
    } else {
        complain(&words);
    }
    complain("waiting for its end; Ctrl-C leaves it running\n");
    // If a turn runs, this one follows it.
    let turn = sent.turn.unwrap_or(found.turns + 1);
    let (id, session, after) = (found.id, found.session, sent.after);
    let from = From { id, session, turn, after, past: after };
    let view = if task.json { View::Outcome } else { View::Answer };
    attend::attend(&client, from, view, stops).await
}

/// Starts or queues the next turn of a task, and says so; does not wait for its end.
pub(crate) async fn sent(
    options: &SendTask,
    turn: NewTurn,
    client: &Client,
    reader: Reader,
) -> Result<String, Trouble> {
    let text = read(&options.text)?;
    let (found, sent) = hand_over(&options.task.id, text, turn, client).await?;
    Ok(sent_words(&options.task, &found, &sent, reader))
}

async fn hand_over(
    id: &str,
    text: String,
    turn: NewTurn,
    client: &Client,
) -> Result<(TaskInfo, TaskSent), Trouble> {
    let found = find("cannot continue this task", client, id).await?;
    let turn = NewTurn { input: vec![InputPart::Text { text }], ..turn };
    let sent = client.send(&found.id, &turn).await;
    let look = NextStep::CheckTask { task: found.id.clone() };
    let sent = sent.map_err(|error| not_done("cannot continue this task", &error, look))?;
    Ok((found, sent))
}

fn sent_words(task: &One, found: &TaskInfo, sent: &TaskSent, reader: Reader) -> String {
    let id = &found.id;
    match (task.json, sent) {
        (true, TaskSent { turn, waits, .. }) => {
            json_line(&json!({ "id": id, "session": found.session, "turn": turn, "waits": waits }))
        }
        (false, TaskSent { waits: true, .. }) => {
            format!("it is queued until the running turn has ended\n{}", watch(id, reader))
        }
        (false, _) => format!("{id} has a new turn\n{}", watch(id, reader)),
    }
}

/// The text of a prompt, as typed or from standard input.
fn read(text: &str) -> Result<String, Trouble> {
    let input = input::read(text, &[])?;
    let text = input.into_iter().find_map(|part| match part {
        InputPart::Text { text } => Some(text),
        _ => None,
    });
    Ok(text.unwrap_or_default())
}

/// Nothing more can be said to a turn that is over; a next one can be had.
fn over(what: &str, task: &TaskInfo) -> Trouble {
    Trouble::new(exit::FAILED, what)
        .because(format!("it has ended: {}", status_words(task.status)))
        .try_this(NextStep::ContinueTask { task: task.id.clone() })
}

/// The same where it ended, or has not begun, only just now.
fn not_running(what: &str, task: &TaskInfo, error: &ClientError) -> Trouble {
    let trouble = not_done(what, error, NextStep::CheckTask { task: task.id.clone() });
    match error {
        ClientError::Problem(problem) if problem.code == ProblemCode::Conflict => {
            trouble.try_this(NextStep::ContinueTask { task: task.id.clone() })
        }
        _ => trouble,
    }
}

#[cfg(test)]
mod tests {
    use talaria_core::api::Problem;

    use super::super::sample;
    use super::*;

    #[test]
    fn who_steers_a_task_that_ended_is_told_of_the_next_turn() {
        let trouble = over("cannot steer this task", &sample::done());
        assert_eq!(trouble.summary(), "cannot steer this task: it has ended: lost");
        assert!(trouble.hint().contains("talaria task send codex-1a2b3c4d5e6f"), "{}", trouble.hint());
        let conflict = ClientError::Problem(Problem::new(ProblemCode::Conflict, "no turn is running"));
        let trouble = not_running("cannot steer this task", &sample::waiting(), &conflict);
        assert!(trouble.hint().contains("talaria task send"), "{}", trouble.hint());
    }
}
