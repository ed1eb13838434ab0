//! Who speaks when: the order of roles, echoes, steps that come twice, late or never.

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{command, drain, item, lines, projected, says, sent, thinks, turn, user};
use talaria_core::input::InputPart;
use talaria_core::outcome::{FailureCode, Outcome};
use talaria_core::request::Who;
use talaria_core::transcript::{Message, ProjectionLimits, Projector, SentInput};

fn complete(projector: &mut Projector, items: &[Value]) {
    items.iter().for_each(|wire| projector.complete(&item(wire)));
}

#[test]
fn commentary_and_the_call_that_follows_are_one_message() {
    expect![[r#"
        {"role":"assistant","content":"Let me see.","tool_calls":[{"id":"c1","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"run c1\",\"cwd\":\"/w\"}"}}],"reasoning":"Look first."}
        {"role":"tool","content":"a\n","tool_call_id":"c1"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"run c2\",\"cwd\":\"/w\"}"}}]}
        {"role":"tool","content":"b\n","tool_call_id":"c2"}
        {"role":"assistant","content":"Two files.","reasoning":"Enough."}
    "#]].assert_eq(&projected(&[
        thinks("r1", "Look first."),
        says("m1", "Let me see."),
        command("c1", "a\n"),
        command("c2", "b\n"),
        thinks("r2", "Enough."),
        says("m2", "Two files."),
    ]));
}

#[test]
fn messages_in_a_row_are_one() {
    expect![[r#"
        {"role":"assistant","content":"One.\n\nTwo.","reasoning":"hm"}
    "#]]
    .assert_eq(&projected(&[says("m1", "One."), says("m2", ""), thinks("r", "hm"), says("m3", "Two.")]));
}

#[test]
fn a_message_is_given_out_when_nothing_can_be_added_any_more() {
    let mut projector = turn();
    complete(&mut projector, &[says("m1", "Let me see.")]);
    assert_eq!(projector.poll(), None);
    complete(&mut projector, &[command("c1", "a\n")]);
    assert_eq!(drain(&mut projector).len(), 2);
    complete(&mut projector, &[says("m2", "Done.")]);
    assert_eq!(projector.poll(), None);
    projector.finish(&Outcome::Completed);
    assert_eq!(lines(&drain(&mut projector)), lines(&[Message::assistant("Done.")]));
}

#[test]
fn the_users_own_message_comes_back_and_is_not_a_second_one() {
    assert_eq!(projected(&[user("u", "go"), says("m", "Done.")]), lines(&[Message::assistant("Done.")]));
    let mut projector = Projector::new(ProjectionLimits::default());
    projector.sent(SentInput::new(Some("c-1".to_owned()), &[InputPart::Text { text: "go".to_owned() }]));
    let echo = json!({ "type": "userMessage", "id": "u", "clientId": "c-1", "content": [] });
    complete(&mut projector, &[echo, says("m", "Done.")]);
    projector.finish(&Outcome::Completed);
    assert_eq!(lines(&drain(&mut projector)), lines(&[Message::assistant("Done.")]));
}

#[test]
fn what_others_say_is_a_message_at_its_place() {
    let picture = json!({ "type": "userMessage", "id": "u3", "content": [
        { "type": "text", "text": "like this" }, { "type": "localImage", "path": "/a.png" },
        { "type": "image", "url": "data:image/png;base64,AAAA" }] });
    expect![[r#"
        {"role":"assistant","content":"On it."}
        {"role":"user","content":"and the tests\n\nlike this\n[image: /a.png]\n[image]"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"run c1\",\"cwd\":\"/w\"}"}}]}
        {"role":"tool","content":"ok\n","tool_call_id":"c1"}
        {"role":"user","content":"go"}
        {"role":"assistant","content":"Done."}
    "#]].assert_eq(&projected(&[
        user("u1", "go"),
        says("m1", "On it."),
        user("u2", "and the tests"),
        picture,
        command("c1", "ok\n"),
        user("u4", "go"),
        says("m2", "Done."),
    ]));
}

#[test]
fn a_steering_that_the_caller_records_is_not_repeated() {
    let mut projector = turn();
    complete(&mut projector, &[user("u1", "go"), says("m1", "On it.")]);
    projector.sent(sent("and the tests"));
    let before = drain(&mut projector);
    complete(&mut projector, &[user("u2", "and the tests"), says("m2", "Done.")]);
    projector.finish(&Outcome::Completed);
    assert_eq!(lines(&before), lines(&[Message::assistant("On it.")]));
    assert_eq!(lines(&drain(&mut projector)), lines(&[Message::assistant("Done.")]));
}

#[test]
fn a_person_who_speaks_twice_gets_a_note_between() {
    let mut projector = turn();
    projector.sent(sent("wait"));
    complete(&mut projector, &[user("u1", "go"), user("u2", "wait"), user("u3", "from elsewhere")]);
    projector.finish(&Outcome::Completed);
    expect![[r#"
        {"role":"assistant","content":"[no reply before the next message]"}
        {"role":"assistant","content":"[no reply before the next message]"}
        {"role":"user","content":"from elsewhere"}
        {"role":"assistant","content":"[the turn ended without an answer]"}
    "#]]
    .assert_eq(&lines(&drain(&mut projector)));
}

#[test]
fn a_turn_that_nobody_opened_says_so() {
    let mut projector = Projector::new(ProjectionLimits::default());
    complete(&mut projector, &[json!({ "type": "contextCompaction", "id": "k" })]);
    projector.finish(&Outcome::Completed);
    expect![[r#"
        {"role":"user","content":"[no message of the user is known]"}
        {"role":"assistant","content":"[the conversation was shortened]"}
    "#]]
    .assert_eq(&lines(&drain(&mut projector)));
}

#[test]
fn a_turn_that_did_not_go_well_ends_with_a_word_about_it() {
    let failed =
        Outcome::Failed { code: FailureCode::RateLimit, message: "429 Too Many Requests".to_owned() };
    let interrupted = Outcome::Interrupted { by: Who::User };
    let lost = Outcome::Lost { why: "codex was killed".to_owned() };
    let mut out = String::new();
    for outcome in [failed, interrupted, lost, Outcome::Completed] {
        for items in [vec![], vec![user("u", "go"), says("m", "Half")], vec![command("c", "ok\n")]] {
            let mut projector = turn();
            complete(&mut projector, &items);
            projector.finish(&outcome);
            out += &format!("{}, {} items\n{}", outcome.word(), items.len(), lines(&drain(&mut projector)));
        }
    }
    expect![[r#"
        failed, 0 items
        {"role":"assistant","content":"[the turn failed: 429 Too Many Requests]"}
        failed, 2 items
        {"role":"assistant","content":"Half\n\n[the turn failed: 429 Too Many Requests]"}
        failed, 1 items
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"run c\",\"cwd\":\"/w\"}"}}]}
        {"role":"tool","content":"ok\n","tool_call_id":"c"}
        {"role":"assistant","content":"[the turn failed: 429 Too Many Requests]"}
        interrupted, 0 items
        {"role":"assistant","content":"[the turn was interrupted by the user]"}
        interrupted, 2 items
        {"role":"assistant","content":"Half\n\n[the turn was interrupted by the user]"}
        interrupted, 1 items
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"run c\",\"cwd\":\"/w\"}"}}]}
        {"role":"tool","content":"ok\n","tool_call_id":"c"}
        {"role":"assistant","content":"[the turn was interrupted by the user]"}
        lost, 0 items
        {"role":"assistant","content":"[the turn was lost, its end is not known: codex was killed]"}
        lost, 2 items
        {"role":"assistant","content":"Half\n\n[the turn was lost, its end is not known: codex was killed]"}
        lost, 1 items
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"run c\",\"cwd\":\"/w\"}"}}]}
        {"role":"tool","content":"ok\n","tool_call_id":"c"}
        {"role":"assistant","content":"[the turn was lost, its end is not known: codex was killed]"}
        completed, 0 items
        {"role":"assistant","content":"[the turn ended without an answer]"}
        completed, 2 items
        {"role":"assistant","content":"Half"}
        completed, 1 items
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"run c\",\"cwd\":\"/w\"}"}}]}
        {"role":"tool","content":"ok\n","tool_call_id":"c"}
        {"role":"assistant","content":"[the turn ended without an answer]"}
    "#]].assert_eq(&out);
}

#[test]
fn an_item_that_ends_twice_counts_once() {
    let mut projector = turn();
    let items = [command("c", "ok\n"), says("m", "Done.")];
    complete(&mut projector, &items);
    complete(&mut projector, &items);
    projector.begin(&item(&items[0]));
    projector.finish(&Outcome::Completed);
    assert_eq!(lines(&drain(&mut projector)), projected(&items));
}

/// 0.130 reports the end of a command regularly after the answer, and after the end of the turn.
#[test]
fn a_command_whose_end_is_late_stands_before_the_answer() {
    let mut projector = turn();
    projector.begin(&item(&command("c", "")));
    complete(&mut projector, &[says("m", "Done."), command("c", "ok\n")]);
    projector.finish(&Outcome::Completed);
    assert_eq!(lines(&drain(&mut projector)), projected(&[command("c", "ok\n"), says("m", "Done.")]));
}

#[test]
fn a_step_that_never_ended_says_so() {
    let mut projector = turn();
    complete(&mut projector, &[says("m1", "Let me see.")]);
    projector.begin(&item(&command("c1", "")));
    projector.begin(&item(&json!({ "type": "fileChange", "id": "p1", "status": "inProgress",
        "changes": [{ "path": "/w/a", "kind": { "type": "add" }, "diff": "x" }] })));
    projector.begin(&item(&says("m2", "")));
    projector.finish(&Outcome::Interrupted { by: Who::User });
    expect![[r#"
        {"role":"assistant","content":"Let me see.","tool_calls":[{"id":"c1","type":"function","function":{"name":"exec_command","arguments":"{\"command\":\"run c1\",\"cwd\":\"/w\"}"}}]}
        {"role":"tool","content":"[no end was reported before the turn ended]","tool_call_id":"c1"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"p1","type":"function","function":{"name":"apply_patch","arguments":"{\"changes\":[{\"kind\":\"add\",\"path\":\"/w/a\"}]}"}}]}
        {"role":"tool","content":"[no end was reported before the turn ended]","tool_call_id":"p1"}
        {"role":"assistant","content":"[the turn was interrupted by the user]"}
    "#]].assert_eq(&lines(&drain(&mut projector)));
}

#[test]
fn what_ends_after_the_turn_changes_nothing() {
    let mut projector = turn();
    projector.begin(&item(&command("c", "")));
    projector.finish(&Outcome::Interrupted { by: Who::User });
    let told = drain(&mut projector);
    complete(&mut projector, &[command("c", "late\n"), says("m", "late"), user("u", "late")]);
    projector.finish(&Outcome::Completed);
    assert_eq!(projector.poll(), None);
    assert_eq!(told.len(), 3);
}

#[test]
fn every_message_names_the_items_it_came_from() {
    let mut projector = turn();
    let items =
        [user("u", "go"), thinks("r", "hm"), says("m1", "See."), command("c", "ok\n"), says("m2", "Done.")];
    complete(&mut projector, &items);
    projector.finish(&Outcome::Interrupted { by: Who::User });
    let sources = |message: Message| {
        let names = message.sources.iter().map(|source| format!(" {}:{}", source.kind, source.item));
        format!("{:?}{}\n", message.role, names.collect::<String>())
    };
    let named: String = drain(&mut projector).into_iter().map(sources).collect();
    expect![[r#"
        Assistant reasoning:r agent_message:m1 command:c
        Tool command:c
        Assistant agent_message:m2
    "#]]
    .assert_eq(&named);
}
