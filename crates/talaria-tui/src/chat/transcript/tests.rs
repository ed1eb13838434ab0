//! Promises of the transcript: screens of every kind of cell, and invariants for any events.

use std::time::Duration;

use jiff::Timestamp;
use talaria_core::api::Numbered;
use talaria_core::event::Event;
use talaria_core::ids::SessionId;

use super::*;

mod answers;
mod crew;
mod failures;
mod folding;
mod held;
mod holes;
mod left;
mod missed;
mod paging;
mod properties;
mod repeated;
mod screens;
mod voiding;
mod waiting;

/// Numbers events one second apart, from this number on; each beginning of a turn begins another.
fn numbered(first: i64, events: Vec<Event>) -> Vec<Numbered> {
    let mut turn = 0;
    let number = |(index, event): (usize, Event)| {
        turn += i64::from(matches!(event, Event::TurnStarted { .. }));
        let seq = first + index as i64;
        let at = Timestamp::from_second(1_700_000_000 + seq).unwrap();
        Numbered { session: SessionId::new("s"), seq, at, turn: Some(turn), event }
    };
    events.into_iter().enumerate().map(number).collect()
}

fn fed(look: Look, events: &[Numbered]) -> Transcript {
    let mut transcript = Transcript::new(look);
    feed(&mut transcript, events);
    transcript
}

fn feed(transcript: &mut Transcript, events: &[Numbered]) {
    for event in events {
        transcript.take(Duration::from_secs(event.seq as u64), event);
    }
}

/// The screen two seconds after the last event.
fn view(transcript: &mut Transcript, width: u16, height: u16) -> View {
    let now = Duration::from_secs(transcript.newest_seq().unwrap_or(0) as u64 + 2);
    transcript.view(width, height, now)
}

fn text(view: &View) -> String {
    view.lines.iter().map(|line| line.text().trim_end().to_owned() + "\n").collect()
}

fn screen(transcript: &mut Transcript, width: u16, height: u16) -> String {
    text(&view(transcript, width, height))
}
