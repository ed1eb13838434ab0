//! What the transcript promises: screens of every kind of cell, and what holds for any events.

use std::time::Duration;

use expect_test::expect;
use jiff::Timestamp;
use talaria_core::api::Numbered;
use talaria_core::event::Event;
use talaria_core::ids::SessionId;

use super::*;
use crate::render::sample;

/// Numbers events one second apart, from this number on.
fn numbered(first: i64, events: Vec<Event>) -> Vec<Numbered> {
    let number = |(index, event): (usize, Event)| {
        let seq = first + index as i64;
        let at = Timestamp::from_second(1_700_000_000 + seq).unwrap();
        Numbered { session: SessionId::new("s"), seq, at, turn: Some(1), event }
    };
    events.into_iter().enumerate().map(number).collect()
}

fn fed(look: Look, events: &[Numbered]) -> Transcript {
    let mut transcript = Transcript::new(look);
    for event in events {
        transcript.take(Duration::from_secs(event.seq as u64), event);
    }
    transcript
}

fn text(view: &View) -> String {
    view.lines.iter().map(|line| line.text().trim_end().to_owned() + "\n").collect()
}

fn screen(transcript: &mut Transcript, width: u16, height: u16) -> String {
    let now = Duration::from_secs(transcript.newest_seq().unwrap_or(0) as u64 + 2);
    text(&transcript.view(width, height, now))
}

#[test]
fn everything_has_a_place() {
    let mut transcript = fed(sample::PIPE, &numbered(1, sample::one_of_each()));
    expect![[r#"
        model     gpt-5.5 (high), provider openai, Codex 0.166.0
        cwd       /home/me/project
        sandbox   workspace-write, approval on-request

        ┆ thinking

        hello

        plan
        two things
        ◐ look
        ☐ leap

        ✓ touch x  (0.4s)
          out
        ? touch x
          → accepted by you
        ? Which?
          → accepted for good by you
        ? apply_patch: 1 add, 1 delete, 1 update: src/a.rs, notes.md, gone.txt
          → declined: there was nobody to ask

        ⊘ src/a.rs (+2 −1), notes.md (new, +2), gone.txt (deleted, −1)  declined

        ✓ docs.search  (1m 01s)
        step: newKind
        ↻ Codex tries again: Reconnecting… 1/5
        warning: careful
        stopping the turn, as you wanted
        Codex took the further input
        Codex asked something this version does not know, and was refused:
          item/new/thing
        warning: Codex sent 7 bytes that are no message: not UTF-8
        ✓ desk.close  (0.0s)
        ✗ close  failed (0.0s)
        • agents: spawnAgent (1)  interrupted
          look
          └ agent th-2
        agent /root/two (gpt-5.5): started
        ✓ search the web: rust / serde
        ✓ search the web: rust
        ✓ open https://example.org
        ✓ find fn␊main in https://example.org
        ✓ look at /w/a.png
        ✓ make an image: a cat in /w/cat.png
        ✗ make an image: a cat  usageLimitExceeded
        ✓ wait 1.5s
        a hook said: be
        kind
        output of f␛
        review begins: the changes
        review ended
        the conversation was shortened to fit the model's context

        interrupted by you
        tokens: 9.6k in (4.8k cached), 12 out, 42.0s
    "#]]
    .assert_eq(&screen(&mut transcript, 80, 200));
}
