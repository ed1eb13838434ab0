//! Sub-agents: their steps are shown as soon as they begin.

use expect_test::expect;
use talaria_core::event::AgentPhase;
use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::item::{Item, ItemBody, Status};

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };

fn thread() -> ThreadId {
    ThreadId::new("th-2162f0")
}

fn item(id: &str, body: ItemBody) -> Box<Item> {
    Box::new(Item { id: ItemId::new(id), body })
}

fn began(id: &str, body: ItemBody) -> Event {
    Event::AgentItemStarted { thread: thread(), item: item(id, body) }
}

fn ended(id: &str, body: ItemBody) -> Event {
    Event::AgentItemCompleted { thread: thread(), item: item(id, body) }
}

fn command(line: &str, status: Status) -> ItemBody {
    sample::command_body(line, status, None, None)
}

#[test]
fn steps_that_are_not_kept_are_counted() {
    let mut told = String::new();
    for count in [41, 42] {
        let step = |n: usize| ended(&format!("c-{n}"), command(&format!("step {n}"), Status::Completed));
        let events = std::iter::once(sample::turn_started()).chain((0..count).map(step)).collect();
        let mut transcript = fed(LOOK, &numbered(1, events));
        transcript.toggle_fold(Fold::All);
        let shown = screen(&mut transcript, 60, 60);
        told.extend(
            shown.lines().filter(|line| line.contains("earlier")).map(|line| format!("{}\n", line.trim())),
        );
    }
    assert_eq!(told, "1 earlier step\n2 earlier steps\n");
}

#[test]
fn a_step_that_has_begun_is_the_last_one_at_once() {
    let events = vec![
        sample::turn_started(),
        Event::AgentUpdated { thread: thread(), phase: AgentPhase::Running },
        began("m", sample::message_body("", None)),
        ended("m", sample::message_body("I will run it.", None)),
        began("c", command("sleep 60", Status::InProgress)),
        began("d", command("make", Status::InProgress)),
        ended("c", command("sleep 60", Status::Completed)),
        began("n", sample::message_body("", None)),
        ended("n", sample::message_body("", None)),
        ended("p", sample::patch_body(Status::Completed)),
        ended("d", command("make", Status::Completed)),
    ];
    let mut transcript = Transcript::new(LOOK);
    let mut told = "in short\n".to_owned();
    for event in numbered(1, events) {
        feed(&mut transcript, &[event]);
        told += &screen(&mut transcript, 60, 12);
    }
    transcript.toggle_fold(Fold::All);
    told += "unfolded\n";
    told += &screen(&mut transcript, 60, 12);
    expect![[r#"
        in short
          └ agent 2162f0 is working
          └ agent 2162f0 is working
          └ agent 2162f0 is working: I will run it.
          └ agent 2162f0 is working: sleep 60
          └ agent 2162f0 is working: make
          └ agent 2162f0 is working: make
          └ agent 2162f0 is working: make
          └ agent 2162f0 is working: make
          └ agent 2162f0 is working: src/a.rs (+2 −1), notes.md (ne…
          └ agent 2162f0 is working: src/a.rs (+2 −1), notes.md (ne…
        unfolded
          └ agent 2162f0 is working
              I will run it.
              sleep 60
              make
              src/a.rs (+2 −1), notes.md (new, +2), gone.txt
              (deleted, −1)
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_sub_agent_that_nobody_hears_is_not_said_to_be_at_work() {
    let events =
        vec![sample::turn_started(), Event::AgentUpdated { thread: thread(), phase: AgentPhase::Running }];
    let mut transcript = fed(LOOK, &numbered(1, events));
    transcript.hear(false);
    let told = screen(&mut transcript, 60, 12);
    assert!(told.contains("agent 2162f0 state unknown"), "{told}");
    transcript.hear(true);
    assert!(screen(&mut transcript, 60, 12).contains("is working"));
}
