//! The file of a real conversation, of both versions. Its first turn said something, ran commands and made a patch while
//! no one was connected; its second was interrupted.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::project;
use crate::wire::history::{History, ThreadReadReply};
use talaria_core::item::{Item, ItemBody};

const OLD: &str = include_str!("../../fixtures/adopted/0.130.0/rollout.jsonl");
const NEW: &str = include_str!("../../fixtures/adopted/0.166.0/rollout.jsonl");

fn history(text: &str) -> History {
    serde_json::from_str::<ThreadReadReply>(text).unwrap().thread
}

fn old_ended() -> HistoryTurn {
    history(include_str!("../../fixtures/adopted/0.130.0/ended-read.json")).turns.remove(0)
}

fn new_ended() -> HistoryTurn {
    history(include_str!("../../fixtures/adopted/0.166.0/ended-read.json")).turns.remove(0)
}

fn show(turn: &HistoryTurn) -> String {
    let line = |item: &HistoryItem| {
        let Item { id, body } = project::item(item.0.clone());
        let more = match &body {
            ItemBody::AgentMessage { text, .. } => format!("{text:?}"),
            ItemBody::Command { command, cwd, exit_code, output, .. } => {
                format!("{command} in {cwd} exit {exit_code:?} {output:?}")
            }
            ItemBody::Patch { changes, .. } => format!("{} {:?}", changes[0].path, changes[0].diff),
            _ => String::new(),
        };
        format!("{} {id} {more}\n", body.kind())
    };
    let lines: String = turn.items.iter().map(line).collect();
    format!("{:?}\n{lines}", turn.extent)
}

fn check(mut turn: HistoryTurn, file: &str, expected: Expect) {
    if let Some(rollout) = read(file, &turn.id) {
        complete(&mut turn, &rollout);
    }
    expected.assert_eq(&show(&turn));
}

#[test]
fn the_commands_that_0_130_does_not_tell_are_found_in_their_places() {
    check(
        old_ended(),
        OLD,
        expect![[r#"
        Steps
        user_message item-1 
        reasoning item-2 
        agent_message item-3 "I look first"
        command call_1_2 echo one; echo two in /home/dev/work exit Some(0) Some("one\ntwo\n")
        patch call_2_0 /home/dev/work/new.txt "hello\n"
        command call_3_0 false in /home/dev/work exit Some(1) None
        agent_message item-4 "half whole"
        command call_4_1 echo three in /home/dev/work exit Some(0) Some("three\n")
        agent_message item-5 "done"
    "#]],
    );
}

#[test]
fn what_0_166_tells_is_left_as_it_is() {
    check(
        new_ended(),
        NEW,
        expect![[r#"
        Steps
        user_message 01a1e28e-a0d6-7900-b072-e828baf8d1da 
        reasoning rs_1_0 
        agent_message msg_1_1 "I look first"
        command call_1_2 /bin/bash -lc 'echo one; echo two' in /home/dev/work exit Some(0) Some("one\ntwo\n")
        patch call_2_0 /home/dev/work/new.txt "hello\n"
        command call_3_0 /bin/bash -lc false in /home/dev/work exit Some(1) None
        agent_message msg_4_0 "half whole"
        command call_4_1 /bin/bash -lc 'echo three' in /home/dev/work exit Some(0) Some("three\n")
        agent_message msg_5_0 "done"
    "#]],
    );
    let mut bare = new_ended();
    bare.items
        .retain(|item| matches!(item.0.body, WireBody::AgentMessage { .. } | WireBody::UserMessage { .. }));
    check(
        bare,
        NEW,
        expect![[r#"
        Steps
        user_message 01a1e28e-a0d6-7900-b072-e828baf8d1da 
        agent_message msg_1_1 "I look first"
        command call_1_2 /bin/bash -lc 'echo one; echo two' in /home/dev/work exit Some(0) Some("one\ntwo\n")
        patch call_2_0 /home/dev/work/new.txt "hello\n"
        command call_3_0 /bin/bash -lc false in /home/dev/work exit Some(1) None
        agent_message msg_4_0 "half whole"
        command call_4_1 /bin/bash -lc 'echo three' in /home/dev/work exit Some(0) Some("three\n")
        agent_message msg_5_0 "done"
    "#]],
    );
}

#[test]
fn a_command_that_was_aborted_has_no_known_end() {
    for (file, text) in [
        (OLD, include_str!("../../fixtures/adopted/0.130.0/interrupted-resume.json")),
        (NEW, include_str!("../../fixtures/adopted/0.166.0/interrupted-resume.json")),
    ] {
        let mut turn = history(text).turns.remove(1);
        let rollout = read(file, &turn.id).unwrap();
        turn.items.clear();
        complete(&mut turn, &rollout);
        assert_eq!(turn.items.len(), 0, "{turn:?}");
        assert_eq!(turn.extent, Extent::Messages);
    }
}

#[test]
fn a_command_that_goes_on_in_a_terminal_ends_when_it_says_so() {
    let call = |id: &str, name: &str, arguments: &str| {
        serde_json::json!({ "type": "response_item", "payload":
            { "type": "function_call", "call_id": id, "name": name, "arguments": arguments } })
    };
    let output = |id: &str, text: &str| {
        serde_json::json!({ "type": "response_item", "payload":
            { "type": "function_call_output", "call_id": id, "output": text } })
    };
    let started =
        serde_json::json!({ "type": "event_msg", "payload": { "type": "task_started", "turn_id": "u" } });
    let context = serde_json::json!({ "type": "turn_context", "payload": { "turn_id": "u", "cwd": "/w" } });
    let mut lines = vec![
        started,
        context,
        call("c1", "exec_command", r#"{"cmd":"make"}"#),
        output("c1", "Chunk ID: a\nProcess running with session ID 7\nOutput:\none\n"),
        call("c2", "write_stdin", r#"{"session_id":7}"#),
        output("c2", "Chunk ID: b\nProcess exited with code 2\nOutput:\ntwo\n"),
    ];
    let mut turn = HistoryTurn { id: TurnId::new("u"), items: Vec::new(), ..old_ended() };
    let file = |lines: &[serde_json::Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let rollout = read(&file(&lines), &turn.id).unwrap();
    complete(&mut turn, &rollout);
    expect![[r#"
        Messages
        command c1 make in /w exit Some(2) Some("one\ntwo\n")
    "#]]
    .assert_eq(&show(&turn));
    lines.truncate(4);
    turn.items.clear();
    let rollout = read(&file(&lines), &turn.id).unwrap();
    complete(&mut turn, &rollout);
    assert_eq!(turn.items.len(), 0, "it runs");
}

#[test]
fn a_file_without_the_turn_says_nothing_of_it() {
    assert!(read(OLD, &TurnId::new("other")).is_none());
    assert!(read("", &TurnId::new("other")).is_none());
    assert!(read("nonsense\n{}\n[1]\n", &TurnId::new("other")).is_none());
}

proptest! {
    /// A file is being written while it is read, and its disk may be full.
    #[test]
    fn a_file_that_breaks_off_anywhere_makes_nothing_up(share in 0.0..1.0f64, is_new: bool) {
        let (file, whole) = if is_new { (NEW, new_ended()) } else { (OLD, old_ended()) };
        let mut at = (file.len() as f64 * share) as usize;
        while !file.is_char_boundary(at) {
            at -= 1;
        }
        let (mut all, mut some) = (whole.clone(), whole.clone());
        complete(&mut all, &read(file, &whole.id).unwrap());
        if let Some(rollout) = read(&file[..at], &whole.id) {
            complete(&mut some, &rollout);
        }
        prop_assert!(some.extent == Extent::Messages || file[..at].contains("task_complete"));
        let ids = |turn: &HistoryTurn| turn.items.iter().map(|item| item.0.id.clone()).collect::<Vec<_>>();
        let (all, some) = (ids(&all), ids(&some));
        prop_assert!(some.iter().all(|id| all.contains(id)), "{some:?} of {all:?}");
        prop_assert!(whole.items.iter().all(|item| some.contains(&item.0.id)), "nothing told is lost");
    }
}

#[test]
fn what_a_turn_runs_with_is_read_from_the_end_of_a_file() {
    let context = |turn: &str, rest: &str| {
        format!(
            r#"{{"timestamp":"x","type":"turn_context","payload":{{"turn_id":"{turn}","cwd":"/w",{rest}}}}}"#
        )
    };
    let text = [
        r#"cut off","model":"no"}}"#.to_owned(),
        context("u", r#""model":"first""#),
        context("u", r#""model":"m","effort":"high""#),
        context("v", r#""model":"other","effort":null"#),
        r#"{"timestamp":"x","type":"turn_context","payload":{"turn_id":"u","mod"#.to_owned(),
    ]
    .join("\n");
    let found = |turn: &str| settings(&text, &TurnId::new(turn)).map(|choice| (choice.model, choice.effort));
    assert_eq!(found("u"), Some((Some("m".to_owned()), Some("high".to_owned()))));
    assert_eq!(found("v"), Some((Some("other".to_owned()), None)));
    assert_eq!(found("w"), None);
}
