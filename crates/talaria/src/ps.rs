//! `talaria ps`: commands that outlived their turns. They are listed, followed and stopped here; `/ps` in the chat shows the
//! same words.

use std::io::{self, Write as _};

use jiff::Timestamp;
use talaria_core::api::{BackgroundInfo, Numbered, StopBackground};
use talaria_core::event::Event;
use talaria_core::next_step::NextStep;
use talaria_guard::plain::sanitize;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText, unwrapped};
use talaria_server::client::Client;

use crate::advice::Reader;
use crate::amounts::since;
use crate::args::{Ps, PsAction};
use crate::engine::{self, not_done, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

/// How many events are read at once.
const PAGE: usize = 1000;

/// Text about a command without output so far. Codex does not stream the first output of a command.
const NO_OUTPUT: &str =
    "no output reported so far; Codex may report the first lines only when the command ends";

/// Replaces the time if it is unknown whether a command runs.
const UNKNOWN: &str = "not known yet";
/// Explains it.
const UNCONFIRMED: &str = "not known yet: the engine was restarted, and Codex has not reported whether the command is still running\n";

pub(crate) async fn run(options: &Ps) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    // An engine that was killed leaves Codex and its commands running: only the next engine knows which.
    let client = engine::reach(&settings.home).await?;
    match &options.action {
        None => {
            let running = running(&client).await?;
            print(&if options.json {
                json_lines(&running)
            } else {
                encoded(&list(&running, Timestamp::now(), look::of_stdout(), Reader::Shell))
            })?;
        }
        Some(PsAction::Stop { id, all }) => print(&stop(&client, id, StopBackground { all: *all }).await?)?,
        Some(PsAction::Follow { id }) => follow(&client, id).await?,
    }
    Ok(0)
}

async fn running(client: &Client) -> Result<Vec<BackgroundInfo>, Trouble> {
    let running = with_progress("asking the engine", client.background()).await;
    running.map_err(|error| refused("cannot list background commands", &error))
}

/// The background commands as a table, with how to look at one and stop it.
pub(crate) fn list(running: &[BackgroundInfo], now: Timestamp, look: Look, reader: Reader) -> StyledText {
    let Some(first) = running.first() else { return "no background commands\n".into() };
    let id = &first.id;
    let how = match reader {
        Reader::Shell => {
            format!("follow one with: talaria ps follow {id}; stop it with: talaria ps stop {id}\n")
        }
        Reader::Chat => "show its output with: /ps 1; stop it with: /ps stop 1\n".to_owned(),
    };
    let doubt = if running.iter().all(|one| one.confirmed) { "" } else { UNCONFIRMED };
    table(running, now, look).show(look) + doubt + how
}

/// The background commands as a table.
pub(crate) fn table(running: &[BackgroundInfo], now: Timestamp, look: Look) -> Sheet {
    let mut sheet = Sheet::new(&["#", "id", "in background", "for", "command"], "command");
    for (at, one) in running.iter().enumerate() {
        let whose = one.task.as_deref().unwrap_or_else(|| look::session_id(&one.session, look)).to_owned();
        let number = (at + 1).to_string();
        let command = unwrapped(&one.command).into_owned();
        let time = if one.confirmed { since(one.since, now) } else { UNKNOWN.to_owned() };
        sheet.row([number, one.id.to_string(), time, whose, command]);
    }
    sheet
}

/// Stops a background command, and says what was done.
pub(crate) async fn stop(client: &Client, id: &str, stop: StopBackground) -> Result<String, Trouble> {
    let done = client.stop_background(id, stop).await;
    let done = done.map_err(|error| not_done("nothing was stopped", &error, NextStep::ListBackground))?;
    let line = |one: &BackgroundInfo| {
        let how = if done.ended_before { "had already ended" } else { "stopped" };
        format!("{how}: {} {}\n", one.id, sanitize(&unwrapped(&one.command)))
    };
    Ok(done.stopped.iter().map(line).collect())
}

/// The last lines that a background command printed.
pub(crate) async fn tail(client: &Client, command: &BackgroundInfo, lines: usize) -> Result<String, Trouble> {
    let mut output = String::new();
    let mut after = command.after;
    loop {
        let page = client.events(command.session.as_str(), after, PAGE).await;
        let page = page.map_err(|error| refused("cannot read its output", &error))?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        page.iter().filter_map(|event| output_of(event, command)).for_each(|piece| output.push_str(piece));
    }
    let all: Vec<&str> = output.lines().collect();
    let shown = &all[all.len().saturating_sub(lines)..];
    let head = match all.len() - shown.len() {
        0 => String::new(),
        1 => format!("[1 earlier line: talaria ps follow {}]\n", command.id),
        more => format!("[{more} earlier lines: talaria ps follow {}]\n", command.id),
    };
    let text = if shown.is_empty() { NO_OUTPUT.to_owned() } else { shown.join("\n") };
    Ok(format!("{} {}\n{head}{}\n", command.id, sanitize(&unwrapped(&command.command)), sanitize(&text)))
}

/// Prints what a background command has printed and prints, until it ends.
async fn follow(client: &Client, id: &str) -> Result<(), Trouble> {
    let running = running(client).await?;
    let command = running.iter().find(|one| is_named(one, id)).ok_or_else(|| unknown(id))?;
    let cannot = |error| refused("cannot follow the command", &error);
    let mut events = client.follow(command.session.as_str(), command.after).await.map_err(cannot)?;
    let mut out = io::stdout();
    let is_shown = look::of_stdout().live;
    while let Some(event) = events.next().await {
        let event = event.map_err(cannot)?;
        if let Some(piece) = output_of(&event, command) {
            let piece = if is_shown { sanitize(piece).into_owned() } else { piece.to_owned() };
            let written = out.write_all(piece.as_bytes()).and_then(|()| out.flush());
            if written.is_err() {
                return Ok(());
            }
        }
        if let Event::BackgroundEnded { id, end, exit_code, .. } = &event.event
            && *id == command.id
        {
            complain(&format!("{id} {}\n", end.words(*exit_code)));
            return Ok(());
        }
    }
    Ok(())
}

/// The output of this command in an event.
fn output_of<'a>(event: &'a Numbered, command: &BackgroundInfo) -> Option<&'a str> {
    match &event.event {
        Event::OutputDelta { item, delta } if *item == command.item && event.turn == Some(command.turn) => {
            Some(delta)
        }
        Event::BackgroundOutput { id, delta, .. } if *id == command.id => Some(delta),
        _ => None,
    }
}

/// Whether this id, or a beginning or an end of it, matches.
pub(crate) fn is_named(command: &BackgroundInfo, id: &str) -> bool {
    let name = command.id.as_str();
    !id.is_empty() && (name.starts_with(id) || name.ends_with(id))
}

/// No such command runs.
pub(crate) fn unknown(id: &str) -> Trouble {
    Trouble::new(exit::USAGE, format!("no background command {id} is running"))
        .try_this(NextStep::ListBackground)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_is_not_said_to_run_before_the_engine_has_evidence() {
        let command = |id: &str, confirmed: bool| -> BackgroundInfo {
            serde_json::from_value(
                json!({ "id": id, "session": "s-1", "task": "codex-1", "turn": 1, "item": "i",
                "command": "make serve", "cwd": "/", "since": "2026-01-01T00:00:00Z", "host": 7, "after": 0,
                "confirmed": confirmed }),
            )
            .unwrap()
        };
        let now = "2026-01-01T00:02:00Z".parse().unwrap();
        let look = Look { color: false, width: None, live: false, unicode: true };
        let list = |running: &[BackgroundInfo]| list(running, now, look, Reader::Shell).text();
        expect![[r#"
            #  ID    IN BACKGROUND  FOR      COMMAND
            1  bg-1  2 minutes      codex-1  make serve
            2  bg-2  not known yet  codex-1  make serve
            not known yet: the engine was restarted, and Codex has not reported whether the command is still running
            follow one with: talaria ps follow bg-1; stop it with: talaria ps stop bg-1
        "#]].assert_eq(&list(&[command("bg-1", true), command("bg-2", false)]));
        assert!(!list(&[command("bg-1", true)]).contains("not known"));
    }
}
