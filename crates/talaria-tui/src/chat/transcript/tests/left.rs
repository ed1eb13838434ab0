//! Steps that had not ended when their turn did: none is shown as running after that.

use expect_test::expect;
use talaria_core::event::AgentPhase;
use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::item::{Item, ItemBody, Status};
use talaria_core::request::{Decision, Who};

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };

fn spawned(status: Status) -> ItemBody {
    ItemBody::Agents {
        action: "spawnAgent".into(),
        status,
        threads: vec![ThreadId::new("th-abcdef")],
        prompt: None,
        model: None,
        effort: None,
        agents: Vec::new(),
    }
}

fn agent(phase: AgentPhase) -> Event {
    Event::AgentUpdated { thread: ThreadId::new("th-abcdef"), phase }
}

fn agent_ran(command: &str) -> Event {
    let body = sample::command_body(command, Status::Completed, Some(0), None);
    let item = Box::new(Item { id: ItemId::new(command), body });
    Event::AgentItemCompleted { thread: ThreadId::new("th-abcdef"), item }
}

/// A turn that ends while its sub-agent is at work.
fn left_agent() -> Vec<Event> {
    vec![
        sample::turn_started(),
        sample::began("a", spawned(Status::InProgress)),
        agent(AgentPhase::Running),
        sample::ended("a", spawned(Status::Completed)),
        agent_ran("ls"),
        sample::interrupted(),
    ]
}

#[test]
fn a_sub_agent_is_not_at_work_for_ever() {
    let events = numbered(1, left_agent());
    let mut transcript = fed(LOOK, &events[..5]);
    assert!(screen(&mut transcript, 60, 12).contains("└ agent abcdef is working: ls\n"));
    feed(&mut transcript, &events[5..]);
    expect![[r#"
        ✓ agents: spawnAgent (1)
          └ agent abcdef was still running when the turn ended: ls

        interrupted by you
        tokens: 9.6k in (4.8k cached), 12 out, 5.0s
    "#]]
    .assert_eq(&screen(&mut transcript, 60, 12));
    // A later event takes precedence.
    let mut late = numbered(7, vec![agent(AgentPhase::Completed)]);
    late[0].turn = Some(1);
    feed(&mut transcript, &late);
    assert!(screen(&mut transcript, 60, 12).contains("└ agent abcdef is done: ls\n"));
}

#[test]
fn a_sub_agent_that_works_on_is_told_of_in_the_turn_that_asks_for_it() {
    let mut events = left_agent();
    events.extend([
        sample::turn_started(),
        agent(AgentPhase::Running),
        agent_ran("make"),
        sample::interrupted(),
        sample::turn_started(),
        agent(AgentPhase::Completed),
    ]);
    let events = numbered(1, events);
    expect![[r#"
        ✓ agents: spawnAgent (1)
          └ agent abcdef was still running when the turn ended: ls

        interrupted by you
        tokens: 9.6k in (4.8k cached), 12 out, 5.0s

          └ agent abcdef was still running when the turn ended: make

        interrupted by you
        tokens: 9.6k in (4.8k cached), 12 out, 3.0s

          └ agent abcdef is done
    "#]]
    .assert_eq(&screen(&mut fed(LOOK, &events), 60, 20));
}

#[test]
fn a_question_without_an_answer_does_not_wait_for_ever() {
    let ask = sample::ask_tool(None, None);
    let events = vec![sample::turn_started(), sample::opened(ask), sample::interrupted()];
    let mut transcript = fed(LOOK, &numbered(1, events));
    let told = screen(&mut transcript, 60, 12);
    assert!(!told.contains("waiting") && told.contains("→ no answer was seen before"), "{told}");
    let mut late = numbered(4, vec![sample::closed(Decision::Accept, Who::User)]);
    late[0].turn = Some(1);
    feed(&mut transcript, &late);
    let told = screen(&mut transcript, 60, 12);
    assert!(told.contains("→ accepted by you") && !told.contains("no answer"), "{told}");
}

#[test]
fn in_whatever_pages_the_events_come_nothing_goes_on_after_the_end() {
    let running = sample::command_body("make", Status::InProgress, None, None);
    let mut events = left_agent();
    events.splice(
        5..5,
        [
            sample::opened(sample::ask_tool(None, None)),
            sample::began("c", running),
            sample::began("p", sample::patch_body(Status::InProgress)),
            sample::text("m", "half"),
        ],
    );
    let events = numbered(1, events);
    for cut in 1..events.len() {
        let mut transcript = fed(LOOK, &events[cut..]);
        transcript.prepend(events[cut].seq, events[..cut].to_vec());
        let told = screen(&mut transcript, 60, 30);
        let goes_on = ["is working", "waiting", "⠋"].iter().any(|word| told.contains(word));
        assert!(!goes_on && !transcript.roll.cells().any(|cell| cell.is_open()), "cut at {cut}: {told}");
    }
}

#[test]
fn what_may_have_ended_in_a_hole_is_not_said_to_have_been_left() {
    let make = |status, exit| sample::command_body("make", status, exit, None);
    let mut events = vec![sample::turn_started(), sample::began("c", make(Status::InProgress, None))];
    events.extend((0..5).map(|_| sample::text("m", "word ")));
    let mut left = events.clone();
    events.push(sample::ended("c", make(Status::Completed, Some(0))));
    left.push(sample::text("m", "word "));
    for (events, end) in [(events, "✓ make  (0.4s)"), (left, "• make  no end reported")] {
        let mut events = events;
        events.extend([sample::interrupted(), sample::turn_started(), sample::text("n", "next")]);
        let events = numbered(1, events);
        let mut transcript = fed(LOOK, &events[10..]);
        // The first page, then the last one, then what lies between.
        transcript.prepend(4, events[..3].to_vec());
        transcript.prepend(11, events[8..10].to_vec());
        assert_eq!(holes::holes(&transcript), [Hole { first: 4, last: 8 }]);
        let told = screen(&mut transcript, 60, 30);
        assert!(told.contains("⠋ make"), "{told}");
        transcript.prepend(9, events[3..8].to_vec());
        let told = screen(&mut transcript, 60, 30);
        assert!(told.contains(end) && told.matches("make").count() == 1, "{told}");
    }
}
