//! Threads as they are read on both versions, and what is concluded from them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn history(turns: Value) -> History {
    let thread = json!({ "id": "t", "status": { "type": "idle" }, "turns": turns });
    serde_json::from_str(&thread.to_string()).unwrap()
}

fn turn(id: &str, status: &str, said: &[(&str, Option<&str>)]) -> Value {
    let items: Vec<Value> = said
        .iter()
        .enumerate()
        .map(|(at, (text, client_id))| {
            let content = json!([{ "type": "text", "text": text, "text_elements": [] }]);
            json!({ "type": "userMessage", "id": format!("{id}-{at}"), "clientId": client_id, "content": content })
        })
        .collect();
    json!({ "id": id, "status": status, "itemsView": "full", "error": null, "items": items })
}

fn text(text: &str) -> Vec<InputPart> {
    vec![InputPart::Text { text: text.to_owned() }]
}

/// In a word: what became of `words`, sent after turn `last`.
fn became(
    client_id: Option<&str>,
    last: Option<&str>,
    words: &str,
    turns: Value,
    vantage: Vantage,
) -> String {
    let (last, input) = (last.map(TurnId::new), text(words));
    let sent =
        RecordedInput { deed: Deed::Words, client_id, last_turn: last.as_ref(), input: &input, turn: None };
    match settle(&sent, &history(turns), vantage) {
        Settlement::NotThere => "not there".to_owned(),
        Settlement::Running { turn, .. } => format!("runs as {turn}"),
        Settlement::Admitted { turn, .. } => format!("is {turn}"),
        Settlement::Ended(ended) => format!("{} {:?}", ended.turn, ended.status),
        Settlement::Unknown { why } => format!("unknown: {why}"),
    }
}

use Vantage::{AfterItsEnd, Reconnected, SameHost};

#[test]
fn our_id_finds_the_turn_wherever_it_is() {
    let turns = || {
        json!([
            turn("a", "completed", &[("hi", None), ("more", Some("ours"))]),
            turn("b", "inProgress", &[("hi", Some("other"))]),
        ])
    };
    assert_eq!(
        became(Some("ours"), Some("a"), "more", turns(), SameHost),
        "a Completed",
        "taken as further input"
    );
    assert_eq!(became(Some("other"), Some("a"), "hi", turns(), SameHost), "runs as b");
    assert_eq!(
        became(Some("third"), Some("a"), "hi", turns(), AfterItsEnd),
        "not there",
        "the same words are not ours"
    );
}

#[test]
fn without_ids_a_newer_turn_that_begins_with_our_words_is_ours() {
    let turns = || {
        json!([turn("a", "completed", &[("hi", None)]), turn("b", "failed", &[("hi", None), ("more", None)])])
    };
    assert_eq!(became(None, Some("a"), "hi", turns(), SameHost), "b Failed");
    assert_eq!(became(None, Some("b"), "hi", turns(), AfterItsEnd), "not there", "an older turn is not ours");
    assert_eq!(became(None, Some("a"), "ho", turns(), AfterItsEnd), "not there");
    let twice = json!([turn("a", "completed", &[("hi", None)]), turn("b", "completed", &[("hi", None)])]);
    assert!(became(None, None, "hi", twice, SameHost).starts_with("unknown"));
}

#[test]
fn words_that_became_further_input_of_a_turn_are_not_called_absent() {
    let steered = || json!([turn("a", "completed", &[("hi", None), ("more", None)])]);
    assert!(became(None, Some("a"), "more", steered(), AfterItsEnd).starts_with("unknown"));
    assert_eq!(
        became(Some("x"), Some("a"), "more", steered(), AfterItsEnd),
        "not there",
        "an id would be there"
    );
}

#[test]
fn a_codex_that_still_runs_may_take_it_yet() {
    let turns = || json!([turn("a", "completed", &[("hi", None)])]);
    for client_id in [None, Some("ours")] {
        assert!(became(client_id, Some("a"), "ho", turns(), SameHost).starts_with("unknown"));
        assert_eq!(became(client_id, Some("a"), "ho", turns(), AfterItsEnd), "not there");
        assert_eq!(became(client_id, None, "ho", json!([]), AfterItsEnd), "not there");
    }
}

/// 0.166 shows a turn a moment before what was said in it, and after a crash sometimes never.
#[test]
fn a_newer_turn_in_which_nothing_is_told_to_be_said_may_be_ours() {
    let mut hidden = turn("b", "completed", &[("other", None)]);
    hidden["itemsView"] = json!("summary");
    for newer in [turn("b", "inProgress", &[]), turn("b", "interrupted", &[]), hidden] {
        let turns = json!([turn("a", "completed", &[("hi", None)]), newer]);
        for (client_id, vantage) in [(None, SameHost), (Some("ours"), AfterItsEnd)] {
            assert!(became(client_id, Some("a"), "ho", turns.clone(), vantage).starts_with("unknown"));
        }
    }
}

#[test]
fn a_thread_without_the_turn_before_it_proves_nothing() {
    let turns = json!([turn("b", "completed", &[("hi", None)])]);
    assert!(became(None, Some("a"), "hi", turns.clone(), AfterItsEnd).starts_with("unknown"));
    assert!(became(Some("x"), Some("a"), "hi", turns, AfterItsEnd).starts_with("unknown"));
}

#[test]
fn a_turn_does_not_run_after_the_end_of_its_codex_nor_in_a_way_nobody_knows() {
    let with = |status| json!([turn("a", status, &[("hi", Some("ours"))])]);
    assert!(became(Some("ours"), None, "hi", with("inProgress"), AfterItsEnd).starts_with("unknown"));
    assert!(became(Some("ours"), None, "hi", with("paused"), SameHost).starts_with("unknown"));
    assert_eq!(became(Some("ours"), None, "hi", with("interrupted"), AfterItsEnd), "a Interrupted");
}

/// Seen on both: `idle` and `interrupted` in one reading, `completed` in the next.
#[test]
fn an_interruption_that_a_running_codex_tells_is_not_believed() {
    for client_id in [None, Some("ours")] {
        let turns = json!([turn("a", "interrupted", &[("hi", Some("ours"))])]);
        assert_eq!(became(client_id, None, "hi", turns.clone(), SameHost), "is a");
        assert_eq!(became(client_id, None, "hi", turns, AfterItsEnd), "a Interrupted");
    }
}

#[test]
fn parts_are_compared_the_way_0_130_joins_them() {
    let content = json!([{ "type": "text", "text": "ab" }, { "type": "localImage", "path": "/p.png" }]);
    let items = json!([{ "type": "userMessage", "id": "1", "content": content }]);
    let turns = json!([{ "id": "a", "status": "completed", "items": items }]);
    let piece = |text: &str| InputPart::Text { text: text.to_owned() };
    let image = |path: &str| InputPart::LocalImage { path: path.to_owned() };
    let settled = |input: &[InputPart]| {
        let sent = RecordedInput { deed: Deed::Words, client_id: None, last_turn: None, input, turn: None };
        matches!(settle(&sent, &history(turns.clone()), AfterItsEnd), Settlement::Ended(_))
    };
    assert!(settled(&[piece("a"), image("/p.png"), piece("b")]));
    assert!(!settled(&[piece("ab"), image("/q.png")]));
    assert!(!settled(&[piece("ab")]));
}

#[test]
fn what_ended_comes_with_its_error_and_its_items() {
    let mut broken = turn("a", "failed", &[("hi", None)]);
    broken["error"] = json!({ "message": "no", "codexErrorInfo": "unauthorized" });
    broken["items"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "type": "agentMessage", "id": "m", "text": "half" }));
    let input = text("hi");
    let sent =
        RecordedInput { deed: Deed::Words, client_id: None, last_turn: None, input: &input, turn: None };
    let Settlement::Ended(ended) = settle(&sent, &history(json!([broken])), SameHost) else { panic!() };
    assert_eq!((ended.error.unwrap().message.as_str(), ended.items.len()), ("no", 2));
}

#[test]
fn a_codex_that_lost_its_client_is_believed_what_it_cannot_take_back() {
    let at = |status: &str| json!([turn("a", status, &[("hi", None)])]);
    assert_eq!(became(None, None, "hi", at("inProgress"), Reconnected), "runs as a");
    assert_eq!(became(None, None, "hi", at("completed"), Reconnected), "a Completed");
    assert_eq!(became(None, None, "hi", at("failed"), Reconnected), "a Failed");
    assert_eq!(became(None, None, "hi", at("interrupted"), Reconnected), "is a");
    assert_eq!(became(None, None, "hi", json!([]), Reconnected), "not there");
    assert_eq!(became(None, Some("a"), "hi", at("completed"), Reconnected), "not there");
    let (input, known) = (text("hi"), TurnId::new("gone"));
    let sent = RecordedInput {
        deed: Deed::Words,
        client_id: None,
        last_turn: None,
        input: &input,
        turn: Some(&known),
    };
    assert!(matches!(settle(&sent, &history(at("completed")), Reconnected), Settlement::NotThere));
}

proptest! {
    /// For any thread, input reported as found was sent by us, and input reported as absent is not in it.
    #[test]
    fn nothing_is_concluded_without_evidence(
        turns in proptest::collection::vec((0..4usize, proptest::collection::vec((0..3usize, 0..3usize), 0..3)), 0..5),
        last in proptest::option::of(0..6usize),
        words in 0..3usize,
        id in proptest::option::of(0..3usize),
        after in any::<bool>(),
    ) {
        const STATUS: [&str; 4] = ["completed", "interrupted", "failed", "inProgress"];
        const WORDS: [&str; 3] = ["x", "y", "z"];
        const IDS: [Option<&str>; 3] = [None, Some("i"), Some("j")];
        let told: Vec<Value> = turns.iter().enumerate().map(|(at, (status, said))| {
            let said: Vec<_> = said.iter().map(|(word, id)| (WORDS[*word], if after { IDS[*id] } else { None })).collect();
            turn(&at.to_string(), STATUS[*status], &said)
        }).collect();
        let history = history(Value::Array(told));
        let (last, input) = (last.map(|at| TurnId::new(at.to_string())), text(WORDS[words]));
        let client_id = id.and_then(|at| IDS[at]);
        let sent = RecordedInput { deed: Deed::Words, client_id, last_turn: last.as_ref(), input: &input, turn: None };
        let vantage = if after { AfterItsEnd } else { SameHost };
        let is_mine = |said: UserMessageRef<'_>| match client_id {
            Some(id) => said.client_id == Some(id),
            None => is_ours(&sent, said),
        };
        let found = |turn: &TurnId| history.turns.iter().find(|other| other.id == *turn).unwrap();
        match settle(&sent, &history, vantage) {
            Settlement::NotThere => {
                prop_assert_eq!(vantage, AfterItsEnd);
                let from = last.as_ref().map_or(0, |last| history.turns.iter().position(|turn| turn.id == *last).unwrap() + 1);
                prop_assert!(!history.turns[from..].iter().any(|turn| turn.said().any(is_mine)));
            }
            Settlement::Running { turn, .. } | Settlement::Admitted { turn, .. } => prop_assert!(found(&turn).said().any(is_mine)),
            Settlement::Ended(ended) => prop_assert!(found(&ended.turn).said().any(is_mine)),
            Settlement::Unknown { .. } => {}
        }
    }
}

#[test]
fn a_turn_that_is_known_is_looked_up_by_its_id_alone() {
    let history =
        history(json!([turn("a", "completed", &[("x", None)]), turn("b", "inProgress", &[("x", None)])]));
    let input = text("something else");
    let look = |id: &str, vantage| {
        let turn = TurnId::new(id);
        let sent = RecordedInput {
            deed: Deed::Words,
            client_id: Some("mine"),
            last_turn: None,
            input: &input,
            turn: Some(&turn),
        };
        match settle(&sent, &history, vantage) {
            Settlement::Ended(ended) => format!("ended {}", ended.turn),
            Settlement::Running { turn, .. } => format!("running {turn}"),
            Settlement::Admitted { turn, .. } => format!("admitted {turn}"),
            Settlement::NotThere => "not there".to_owned(),
            Settlement::Unknown { why } => why,
        }
    };
    assert_eq!(look("a", SameHost), "ended a");
    assert_eq!(look("b", SameHost), "running b");
    assert_eq!(look("c", AfterItsEnd), "the thread does not have the turn");
}

#[test]
fn a_compaction_is_a_newer_turn_that_is_plainly_one() {
    let compaction = |id: &str, status: &str| {
        let items = if status == "inProgress" {
            json!([])
        } else {
            json!([{ "type": "contextCompaction", "id": "c" }])
        };
        json!({ "id": id, "status": status, "itemsView": "full", "error": null, "items": items })
    };
    let became = |turns: Value, vantage| {
        let last = TurnId::new("a");
        let sent = RecordedInput {
            deed: Deed::Compaction,
            client_id: None,
            last_turn: Some(&last),
            input: &[],
            turn: None,
        };
        match settle(&sent, &history(turns), vantage) {
            Settlement::NotThere => "not there".to_owned(),
            Settlement::Running { turn, .. } => format!("runs as {turn}"),
            Settlement::Ended(ended) => format!("{} {:?}", ended.turn, ended.status),
            Settlement::Unknown { .. } => "unknown".to_owned(),
            Settlement::Admitted { turn, .. } => format!("is {turn}"),
        }
    };
    let said = || turn("a", "completed", &[("hi", None)]);
    let other = || turn("c", "completed", &[("ho", None)]);
    assert_eq!(became(json!([said(), compaction("b", "completed")]), SameHost), "b Completed");
    assert_eq!(became(json!([said(), compaction("b", "inProgress")]), Reconnected), "runs as b");
    assert_eq!(became(json!([said(), compaction("b", "completed"), other()]), AfterItsEnd), "b Completed");
    assert_eq!(became(json!([said()]), AfterItsEnd), "not there", "an older one is not ours");
    assert_eq!(became(json!([said()]), SameHost), "unknown", "it may still come");
    assert_eq!(became(json!([said(), other()]), AfterItsEnd), "unknown");
    let twice = json!([said(), compaction("b", "completed"), compaction("c", "completed")]);
    assert_eq!(became(twice, AfterItsEnd), "unknown");
}
