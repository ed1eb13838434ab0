//! Recorded steps, found steps, and the resulting report.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::project;
use crate::wire::history::HistoryItem;
use talaria_core::gap::{Extent, Gap};

fn item(value: Value) -> Item {
    project::item(serde_json::from_str::<HistoryItem>(&value.to_string()).unwrap().0)
}

fn said(id: &str, text: &str) -> Item {
    item(json!({ "type": "agentMessage", "id": id, "text": text, "phase": null }))
}

fn ran(id: &str, status: &str) -> Item {
    item(json!({ "type": "commandExecution", "id": id, "command": "ls", "cwd": "/w", "status": status }))
}

fn check(begun: &[Item], ended: &[Item], found: &[Item], expected: Expect) {
    let news = missed(begun, ended, found.to_vec()).into_iter().map(|news| match news {
        MissedStep::Began(item) => format!("began {}", item.id),
        MissedStep::Ended(item) => format!("ended {}", item.id),
    });
    expected.assert_eq(&news.collect::<Vec<_>>().join(", "));
}

#[test]
fn what_was_recorded_is_not_told_again_whatever_it_is_called_now() {
    let ended = [said("m1", "one"), ran("c1", "completed"), said("m2", "two")];
    check(&[], &ended, &ended, expect![""]);
    let renamed = [said("item-2", "one"), ran("c1", "completed"), said("item-4", "two")];
    check(&[], &ended, &renamed, expect![""]);
    // The same words a second time are a second message.
    let more = [said("item-2", "one"), said("item-3", "two"), said("item-4", "two")];
    check(&[], &ended, &more, expect!["ended item-4"]);
}

#[test]
fn what_was_recorded_without_its_secret_is_still_the_same() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let mut recorded = said("m1", &format!("the token is {token}"));
    cover_item(&mut recorded);
    let found = [said("item-2", &format!("the token is {token}"))];
    check(&[], &[recorded], &found, expect![""]);
}

#[test]
fn a_message_that_had_begun_ends_under_its_own_name() {
    let begun = [said("m1", "Hel")];
    check(&begun, &[], &[said("item-2", "Hello")], expect!["ended m1"]);
    check(&begun, &[], &[said("m1", "Hello")], expect!["ended m1"]);
    check(&begun, &[], &[said("item-2", "Other words")], expect!["ended item-2"]);
}

#[test]
fn steps_that_run_have_begun() {
    let found = [ran("c1", "inProgress"), ran("c2", "inProgress"), ran("c3", "failed")];
    check(&[ran("c1", "inProgress")], &[], &found, expect!["began c2, ended c3"]);
    check(&[ran("c3", "inProgress")], &[], &found, expect!["began c1, began c2, ended c3"]);
}

#[test]
fn an_end_that_nobody_knows_is_named() {
    let begun = [ran("c1", "inProgress"), ran("c2", "inProgress"), said("m1", "Hel")];
    let found = [ran("c1", "inProgress"), ran("c3", "inProgress")];
    let names =
        |course| without_end(&begun, &found, course).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(Course::Runs), ["c2"]);
    assert_eq!(names(Course::Over), ["c1", "c2", "c3"]);
    let gap = Gap::new(Some(7), 1, without_end(&begun, &found, Course::Runs), Extent::Messages);
    expect![[r#"{"since":7,"found":1,"open":["c2"],"missing":["pieces","steps","ends"],"message":"The engine was down for a while. One step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output; a step had begun before, and whether it has ended is not known"}"#]]
        .assert_eq(&serde_json::to_string(&gap).unwrap());
}
