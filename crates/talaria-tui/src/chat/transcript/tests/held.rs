//! Steps with a request: they wait, show it once, and continue when it was answered.

use expect_test::expect;
use talaria_core::ids::{ItemId, TicketId};
use talaria_core::item::{ItemBody, Status};
use talaria_core::request::{Ask, Decision, Who};

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };

fn opened(ask: Ask) -> Event {
    Event::RequestOpened { id: TicketId::new("r"), ask: Box::new(ask), place: None, digest: None }
}

fn closed(decision: Decision, why: Option<&str>) -> Event {
    let why = why.map(str::to_owned);
    Event::RequestClosed { id: TicketId::new("r"), decision, by: Who::User, why }
}

fn begun() -> Event {
    sample::began("c-1", sample::command_body("make", Status::InProgress, None, None))
}

fn ended(status: Status) -> Event {
    sample::ended("c-1", sample::command_body("make", status, Some(0), Some("made\n")))
}

/// The screen after each of the last events.
fn told(events: Vec<Event>, last: usize) -> String {
    let all = numbered(1, events);
    let mut transcript = fed(LOOK, &all[..all.len() - last]);
    let mut told = screen(&mut transcript, 60, 12);
    for event in &all[all.len() - last..] {
        feed(&mut transcript, std::slice::from_ref(event));
        told += "--\n";
        told += &screen(&mut transcript, 60, 12);
    }
    told
}

#[test]
fn a_command_that_a_person_is_asked_about_does_not_run() {
    let ask = sample::ask_command("make");
    let events = vec![
        sample::turn_started(),
        begun(),
        opened(ask),
        closed(Decision::Accept, None),
        ended(Status::Completed),
    ];
    expect![[r#"
        ◌ make  waiting for an answer
        --
        ⠋ make  2s
        ? make
          → accepted by you
        --
        ✓ make  (0.4s)
          made
        ? make
          → accepted by you
    "#]]
    .assert_eq(&told(events, 2));
}

#[test]
fn a_refusal_keeps_its_reason() {
    let ask = sample::ask_command("make");
    let no = closed(Decision::Decline, Some("it is late"));
    let events = vec![sample::turn_started(), begun(), opened(ask), no, ended(Status::Declined)];
    expect![[r#"
        ⊘ make  declined
        ? make
          → declined by you: it is late
        --
        ⊘ make  declined (0.4s)
          made
        ? make
          → declined by you: it is late
    "#]]
    .assert_eq(&told(events, 1));
}

#[test]
fn a_question_about_nothing_that_is_shown_takes_one_row() {
    let ask = sample::ask_tool(Some(&"long ".repeat(40)), None);
    let events = vec![sample::turn_started(), opened(ask), closed(Decision::Accept, None)];
    expect![[r#"
        ? waiting for an answer: a tool of the MCP server docs␊x: A…
        --
        ? a tool of the MCP server docs␊x: Allow the docs MCP serve…
          → accepted by you
    "#]]
    .assert_eq(&told(events, 1));
}

#[test]
fn a_step_that_ends_without_an_answer_ends_where_it_stood() {
    let ask = sample::ask_command("make");
    let events = vec![sample::turn_started(), begun(), opened(ask), ended(Status::Interrupted)];
    let screen = told(events, 1);
    let end = screen.split("--\n").last().unwrap();
    assert_eq!(end.matches("make").count(), 1, "{screen}");
    assert!(!end.contains("waiting for an answer"), "{screen}");
}

#[test]
fn what_waits_is_not_forgotten_however_much_comes_after_it() {
    let mut events = vec![sample::turn_started(), begun(), opened(sample::ask_command("make"))];
    let output = "many words that take room\n".repeat(800);
    events.extend((0..1100).map(|n| {
        let body = sample::command_body(&format!("other {n}"), Status::Completed, Some(0), Some(&output));
        sample::ended(&format!("o-{n}"), body)
    }));
    let mut all = numbered(1, events);
    let mut transcript = fed(LOOK, &all);
    assert!(
        (0..transcript.roll.len()).any(|at| matches!(transcript.roll.get(at), Some(roll::Entry::Hole(_))))
    );
    let next = all.last().unwrap().seq + 1;
    all = numbered(next, vec![closed(Decision::Accept, None), ended(Status::Completed)]);
    all.iter_mut().for_each(|event| event.turn = Some(1));
    feed(&mut transcript, &all);
    let end = screen(&mut transcript, 60, 12);
    assert!(!end.contains("make"), "it stands where it began: {end}");
    transcript.scroll(Scroll::Top);
    let top = screen(&mut transcript, 60, 12);
    assert!(top.contains("✓ make") && top.contains("→ accepted by you"), "{top}");
}

/// A change that a person is asked about, up to the question.
fn asked_change() -> Vec<Event> {
    let ask = sample::ask_patch(Some(sample::changes()));
    let Ask::Patch { item, .. } = &ask else { panic!("{ask:?}") };
    let begun = sample::began(item.as_str(), sample::patch_body(Status::InProgress));
    vec![sample::turn_started(), begun, opened(ask)]
}

#[test]
fn a_change_waits_for_its_answer_too() {
    let mut events = asked_change();
    events.push(closed(Decision::Accept, None));
    expect![[r#"
        ◌ src/a.rs (+2 −1), notes.md (new, +…  waiting for an answer
        --
        ⠋ changing src/a.rs (+2 −1), notes.md (new, +2), gone.t…  2s

        ? apply_patch: 1 add, 1 delete, 1 update: src/a.rs, notes.m…
          → accepted by you
    "#]]
    .assert_eq(&told(events, 1));
    let mut events = asked_change();
    events.push(closed(Decision::Decline, None));
    let Event::ItemStarted { item } = &events[1] else { panic!() };
    events.push(sample::ended(item.id.as_str(), sample::patch_body(Status::Declined)));
    expect![[r#"
        ◌ src/a.rs (+2 −1), notes.md (new, +…  waiting for an answer
        --
        ⊘ src/a.rs (+2 −1), notes.md (new, +2), gone.txt…  declined

        ? apply_patch: 1 add, 1 delete, 1 update: src/a.rs, notes.m…
          → declined by you
        --
        ⊘ src/a.rs (+2 −1), notes.md (new, +2), gone.txt…  declined
          … 9 more lines (Ctrl-O)

        ? apply_patch: 1 add, 1 delete, 1 update: src/a.rs, notes.m…
          → declined by you
    "#]]
    .assert_eq(&told(events, 2));
}

#[test]
fn what_waits_when_the_turn_ends_waits_no_longer() {
    let command = vec![sample::turn_started(), begun(), opened(sample::ask_command("make"))];
    for mut events in [command, asked_change()] {
        events.push(sample::interrupted());
        let told = told(events, 1);
        let (before, after) = told.split_once("--\n").unwrap();
        assert!(before.contains("waiting for an answer"), "{told}");
        assert!(
            !after.contains("waiting for an answer") && after.contains("did not run: not answered"),
            "{told}"
        );
    }
}

/// The time of a tool of an MCP server counts from its approval, as that of a command.
#[test]
fn a_tool_that_a_person_is_asked_about_does_not_run() {
    let mut ask = sample::ask_tool(None, None);
    let Ask::Tool { item, .. } = &mut ask else { panic!("{ask:?}") };
    *item = Some(ItemId::new("t-1"));
    let mut body = sample::tool_body(None);
    let ItemBody::Tool { status, duration_ms, .. } = &mut body else { panic!("{body:?}") };
    (*status, *duration_ms) = (Status::InProgress, None);
    let begun = sample::began("t-1", body);
    let events = vec![sample::turn_started(), begun, opened(ask), closed(Decision::Accept, None)];
    expect![[r#"
        ◌ docs.search  waiting for an answer
        --
        ⠋ docs.search  2s
        ? a tool of the MCP server docs␊x: Allow the docs MCP serve…
          → accepted by you
    "#]]
    .assert_eq(&told(events, 1));
}

#[test]
fn what_another_client_may_have_accepted_is_not_said_not_to_have_run() {
    let elsewhere = || {
        let id = TicketId::new("r");
        Event::RequestClosed { id, decision: Decision::Void, by: Who::OtherClient, why: None }
    };
    let mut events = vec![sample::turn_started(), begun(), opened(sample::ask_command("make"))];
    let Event::ItemStarted { item } = &events[1] else { panic!() };
    let printed = Event::OutputDelta { item: item.id.clone(), delta: "compiling".to_owned() };
    events.extend([elsewhere(), printed]);
    expect![[r#"
        ◌ make  waiting for an answer
        --
        ◌ make  not answered here; it may have run
        ? make
          → no longer open: another client of Codex answered it, or
            Codex withdrew it
        --
        ⠋ make  3s
          compiling
        ? make
          → no longer open: another client of Codex answered it, or
            Codex withdrew it
    "#]]
    .assert_eq(&told(events, 2));
    let mut events = asked_change();
    events.extend([elsewhere(), sample::interrupted()]);
    expect![[r#"
        ◌ src/a.rs (+2 −1), notes.md (new, +…  waiting for an answer
        --
        ◌ src/a.rs (+2 −1), not…  not answered here; it may have run

        ? apply_patch: 1 add, 1 delete, 1 update: src/a.rs, notes.m…
          → no longer open: another client of Codex answered it, or
            Codex withdrew it
        --
        • src/a.rs (+2 −1), notes.md (new, +2), g…  no end reported
          … 9 more lines (Ctrl-O)

        ? apply_patch: 1 add, 1 delete, 1 update: src/a.rs, notes.m…
          → no longer open: another client of Codex answered it, or
            Codex withdrew it

        interrupted by you
        tokens: 9.6k in (4.8k cached), 12 out, 4.0s
    "#]]
    .assert_eq(&told(events, 2));
}

#[test]
fn in_whatever_pages_the_events_come_a_step_stands_as_its_question_does() {
    let command = || vec![sample::turn_started(), begun(), opened(sample::ask_command("make"))];
    for asked in [command, asked_change] {
        for answer in [None, Some(Decision::Accept), Some(Decision::Decline)] {
            let mut events = asked();
            events.extend(answer.map(|decision| closed(decision, None)));
            let events = numbered(1, events);
            let whole = screen(&mut fed(LOOK, &events), 60, 12);
            for cut in 1..events.len() {
                let mut transcript = fed(LOOK, &events[cut..]);
                transcript.prepend(events[cut].seq, events[..cut].to_vec());
                assert_eq!(screen(&mut transcript, 60, 12), whole, "{answer:?}, cut at {cut}");
            }
        }
    }
}
