//! Compaction within a turn: no one sees a summary being written, and a turn that is stopped leaves the conversation whole.

use super::*;
use crate::compaction::CompactionSetup;

/// A conversation that is longer than the context of its model leaves room for.
fn long() -> (LoopSetup, Vec<LogEntry>) {
    let mut setup = setup();
    let facts = ModelFacts { window: Some(2_000), ..ModelFacts::default() };
    setup.profile.models.push((setup.head.model.clone(), facts));
    setup.compaction = Some(CompactionSetup { request: Some(20), ..CompactionSetup::default() });
    let log = (0..=20).map(|seq| {
        let parts = vec![LogPart::text(format!("{seq} {}", "word ".repeat(60)))];
        match seq % 2 {
            0 => LogEntry::own(seq, LogItem::User { parts }),
            _ => {
                let item = LogItem::Assistant { parts, phase: None };
                LogEntry { attempt: Some(1), ..LogEntry::own(seq, item) }
            }
        }
    });
    (setup, log.collect())
}

fn summary() -> String {
    ANSWER.replace("Two files.", "<summary>The herons were counted by the pond: there are three.</summary>")
}

#[test]
fn a_summary_is_not_shown_while_it_is_written_and_the_request_follows_it() {
    let (setup, log) = long();
    let mut stage = Stage::with(setup.clone(), log.clone());
    stage.accept(200);
    stage.wire(WireNews::Bytes(summary().into_bytes()));
    stage.answer(ANSWER);
    expect_test::expect![[r#"
        emit item_started
        plan 1
        send
        close 1
        end 1 completed +1
        emit item_completed
        emit usage_updated
        plan 2
        send
        emit item_started
        emit text_delta
        close 2
        end 2 completed +1
        emit item_completed
        emit usage_updated
        finish completed"#]]
    .assert_eq(&stage.lines.join("\n"));
    assert_eq!(stage.report().usage.input, 80, "the summary is part of what the turn cost");
    assert_eq!(stage.report().text.as_deref(), Some("Two files."));
    assert!(stage.bodies[1].contains("there are three") && stage.bodies[1].contains("\"20 word"));
    // An engine that reads the history renders the same bytes.
    let mut stored = stage.stored;
    stored.truncate(log.len() + 1);
    let next = Stage::with(setup, stored);
    assert_eq!(next.bodies, [stage.bodies[1].clone()]);
}

#[test]
fn a_turn_that_is_stopped_while_it_compacts_leaves_the_conversation_as_it_is() {
    let (setup, log) = long();
    let mut stage = Stage::with(setup, log.clone());
    stage.accept(200);
    stage.feed(LoopInput::Interrupt(Who::User));
    let ended = &stage.lines[stage.lines.len() - 4..];
    assert_eq!(
        ended[1..],
        ["end 1 cancelled +0", "emit item_abandoned", "finish interrupted"],
        "{:?}",
        stage.lines
    );
    assert_eq!(stage.stored, log);
}

#[test]
fn a_person_is_told_that_nothing_can_be_shortened() {
    let (setup, log) = long();
    let mut stage = Stage::idle(setup, log[..2].to_vec(), LeftTurn::default());
    stage.turn.begin_compaction(stage.moment(), false);
    stage.drain();
    assert!(stage.report().message.as_deref().is_some_and(|why| why.contains("nothing to shorten")));
    assert_eq!(stage.bodies.len(), 0);
}

#[test]
fn a_full_conversation_is_to_be_shortened_only_where_that_is_possible() {
    let refused = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
    let (setup, log) = long();
    let setup = || {
        let mut setup = setup.clone();
        if let Some(compaction) = &mut setup.compaction {
            compaction.settings.is_automatic = false;
        }
        setup
    };
    let mut stage = Stage::with(setup(), log.clone());
    stage.refuse(400, refused);
    assert_eq!(stage.report().next_step, Some(NextStep::ShortenConversation), "{:?}", stage.report());
    let mut stage = Stage::with(setup(), log[..1].to_vec());
    stage.refuse(400, refused);
    assert_eq!(stage.report().next_step, Some(NextStep::BeginAnew), "{:?}", stage.report());
}
