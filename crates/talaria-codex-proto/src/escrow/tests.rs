//! What a kept answer serves for, and everything that it does not.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::frame::{Decoded, Frame, decode_text};
use crate::wire::server_request::ServerRequest;
use talaria_core::item::{FileAction, FileChange};
use talaria_core::request::Decision;

fn request(method: &str, mut params: Value) -> ServerRequest {
    for (name, value) in [("threadId", "t"), ("turnId", "u"), ("itemId", "i")] {
        if params.get(name).is_none() {
            params[name] = json!(value);
        }
    }
    let text = json!({ "method": method, "id": 0, "params": params }).to_string();
    match decode_text(&text) {
        Decoded::Known(Frame::Request { request, .. }) => request,
        other => panic!("{text}: {other:?}"),
    }
}

fn command(params: Value) -> Binding {
    Binding::of(&request("item/commandExecution/requestApproval", params), None).unwrap()
}

fn line(command_line: &str) -> Binding {
    command(json!({ "command": command_line, "cwd": "/w" }))
}

fn kept(binding: Binding, answer: impl Into<Answer>) -> Escrow {
    let (ticket, answer, by) = (TicketId::new("req-1"), answer.into(), Who::User);
    Escrow { ticket, binding, place: Some(Place::Undecidable), answer, by, until: 1000, is_used: false }
}

fn serves(asked: &Binding, place: Place, kept: &Escrow, now: u64) -> Result<Decision, Afresh> {
    match_escrow(Asking { binding: asked, place: Some(place) }, kept, now).map(|answer| answer.decision)
}

#[test]
fn the_same_words_are_the_same_command_however_they_are_quoted() {
    let same = [
        "/bin/bash -lc 'touch made.txt'",
        "/bin/bash -lc 'touch  made.txt'",
        "/bin/bash -lc \"touch 'made.txt'\"",
    ];
    for other in same {
        assert_eq!(line(same[0]), line(other), "{other}");
    }
}

#[test]
fn whatever_could_do_something_else_is_another_command() {
    let lines = [
        "/bin/bash -lc 'touch made.txt'",
        "/bin/bash -lc 'touch made.txt more.txt'",
        "/bin/bash -lc 'touch made.txt' more",
        "/bin/bash -lc 'touch made.txt' less",
        "/bin/bash -c 'touch made.txt'",
        "/bin/sh -lc 'touch made.txt'",
        "touch made.txt",
        "touch 'made.txt '",
        "touch 'made.txt more.txt'",
        "! touch made.txt",
        "(touch made.txt)",
        "f() { touch made.txt; }",
        "touch made.txt &",
        "touch made.txt > log",
        "touch made.txt >> log",
        "touch made.txt < log",
        "A=1 touch made.txt",
        "A=2 touch made.txt",
        "touch $A",
        "touch ${A}",
        "touch *",
        "touch ~",
        "touch $(touch made.txt)",
        "touch made.txt; touch made.txt",
        "touch made.txt | touch made.txt",
        "sudo touch made.txt",
        "nohup touch made.txt",
        "touch 'made.txt",
    ];
    let bindings: Vec<Binding> = lines.iter().map(|text| line(text)).collect();
    for (at, one) in bindings.iter().enumerate() {
        for (before, other) in bindings[..at].iter().enumerate() {
            assert_ne!(one, other, "{} and {}", lines[at], lines[before]);
        }
    }
}

#[test]
fn all_that_a_yes_would_carry_out_is_bound() {
    let plain = || json!({ "command": "ls", "cwd": "/w" });
    let with = |name: &str, value: Value| {
        let mut params = plain();
        params[name] = value;
        command(params)
    };
    let others = [
        with("cwd", json!("/other")),
        with("threadId", json!("other")),
        with("kind", json!("writeStdin")),
        with("approvalId", json!("a")),
        with("additionalPermissions", json!({ "network": { "enabled": true } })),
        with("networkApprovalContext", json!({ "host": "example.org", "protocol": "https" })),
        with("proposedExecpolicyAmendment", json!(["ls"])),
    ];
    for other in others {
        assert_ne!(command(plain()), other);
    }
    // The model words its reason anew, and Codex counts its ids on.
    assert_eq!(command(plain()), with("reason", json!("because")));
    assert_eq!(command(plain()), with("itemId", json!("later")));
    assert_eq!(command(plain()), with("turnId", json!("later")));
    assert_eq!(command(plain()), with("kind", json!("command")));
}

#[test]
fn a_patch_is_its_files_and_diffs() {
    let patch = |params: Value, changes: Option<&[FileChange]>| {
        Binding::of(&request("item/fileChange/requestApproval", params), changes)
    };
    let change = |path: &str, diff: &str| FileChange {
        path: path.to_owned(),
        action: FileAction::Add,
        move_to: None,
        diff: diff.to_owned(),
    };
    let changes = [change("a", "x"), change("b", "y")];
    let bound = patch(json!({}), Some(&changes)).unwrap();
    let turned = [change("b", "y"), change("a", "x")];
    assert_eq!(patch(json!({}), Some(&turned)).unwrap(), bound, "their order is nothing");
    let mut moved = changes.clone();
    moved[0].move_to = Some("c".to_owned());
    let mut gone = changes.clone();
    gone[0].action = FileAction::Delete;
    let more = [change("a", "x"), change("b", "y"), change("c", "z")];
    for other in [&moved[..], &gone[..], &more[..], &changes[..1], &[change("a", "xy"), change("b", "")]] {
        assert_ne!(patch(json!({}), Some(other)).unwrap(), bound, "{other:?}");
    }
    assert_ne!(patch(json!({ "grantRoot": "/w" }), Some(&changes)).unwrap(), bound);
    assert_eq!(patch(json!({}), None), None, "changes that nobody knows");
}

/// Each change of one field is another binding than the plain request and than every other change.
fn all_differ(method: &str, plain: Value, changed: &[(&str, Value)]) {
    let bind = |params: &Value| Binding::of(&request(method, params.clone()), None).unwrap();
    let mut seen = vec![("the plain request", bind(&plain))];
    for (at, value) in changed {
        let mut params = plain.clone();
        *params.pointer_mut(at).unwrap_or_else(|| panic!("{at} is not in {plain}")) = value.clone();
        let binding = bind(&params);
        for (other, bound) in &seen {
            assert_ne!(*bound, binding, "{at} = {value} serves for {other}");
            let answer = kept(bound.clone(), Decision::Accept);
            assert_eq!(serves(&binding, Place::Inside, &answer, 0), Err(Afresh::Differs), "{at} = {value}");
        }
        seen.push((at, binding));
    }
    for (at, value) in [("/turnId", "later"), ("/itemId", "later")] {
        let mut params = plain.clone();
        params[&at[1..]] = json!(value);
        assert_eq!(bind(&params), bind(&plain), "{at} is counted anew by Codex");
    }
}

#[test]
fn an_answer_is_kept_for_these_very_questions() {
    let question = |id: &str| {
        json!({ "id": id, "header": "Colour", "question": "Which?", "isOther": false, "isSecret": false,
            "options": [{ "label": "Red", "description": "warm" }, { "label": "Blue", "description": "cold" }] })
    };
    let plain = json!({ "threadId": "t", "questions": [question("a"), question("b")] });
    let option = |label: &str, description: &str| json!({ "label": label, "description": description });
    all_differ(
        "item/tool/requestUserInput",
        plain,
        &[
            ("/threadId", json!("other")),
            ("/questions", json!([question("a")])),
            ("/questions", json!([question("b"), question("a")])),
            ("/questions", json!([question("a"), question("b"), question("c")])),
            ("/questions/0/id", json!("c")),
            ("/questions/0/header", json!("Shape")),
            ("/questions/0/question", json!("Which one?")),
            ("/questions/0/isOther", json!(true)),
            ("/questions/0/isSecret", json!(true)),
            ("/questions/0/options", json!(null)),
            ("/questions/0/options", json!([option("Red", "warm")])),
            ("/questions/0/options", json!([option("Blue", "cold"), option("Red", "warm")])),
            ("/questions/0/options/0/label", json!("Green")),
            ("/questions/0/options/0/description", json!("hot")),
            ("/questions/1/question", json!("Which one?")),
        ],
    );
}

#[test]
fn an_answer_is_kept_for_this_very_form() {
    let field = |kind: &str| json!({ "type": "object", "properties": { "a": { "type": kind } } });
    let plain = json!({ "threadId": "t", "serverName": "s", "mode": "form", "message": "Your name?", "url": null,
        "requestedSchema": field("string"), "_meta": { "codex_approval_kind": "mcp_tool_call", "tool_params": { "x": 1 } } });
    all_differ(
        "mcpServer/elicitation/request",
        plain,
        &[
            ("/threadId", json!("other")),
            ("/serverName", json!("other")),
            ("/mode", json!("url")),
            ("/message", json!("Your password?")),
            ("/url", json!("https://example.org")),
            ("/url", json!("https://example.com")),
            ("/requestedSchema", field("number")),
            ("/requestedSchema/properties/a", json!({ "type": "string", "description": "more" })),
            ("/_meta", json!(null)),
            ("/_meta/tool_params/x", json!(2)),
            ("/_meta/tool_params", json!({ "x": 1, "y": 1 })),
        ],
    );
}

#[test]
fn an_answer_is_kept_for_these_very_permissions() {
    let plain = json!({ "threadId": "t", "cwd": "/w", "permissions": { "network": { "enabled": true } } });
    all_differ(
        "item/permissions/requestApproval",
        plain,
        &[
            ("/threadId", json!("other")),
            ("/cwd", json!("/other")),
            ("/cwd", json!(null)),
            ("/permissions", json!({})),
            ("/permissions/network/enabled", json!(false)),
            ("/permissions", json!({ "network": { "enabled": true }, "fileSystem": { "write": ["/"] } })),
        ],
    );
}

#[test]
fn a_kept_answer_is_given_as_what_it_was_until_it_expires_or_is_used() {
    let decisions = [
        Decision::Accept,
        Decision::AcceptForSession,
        Decision::AcceptAlways,
        Decision::Decline,
        Decision::Cancel,
    ];
    for decision in decisions {
        let answer = kept(line("ls"), decision);
        assert_eq!(serves(&line("ls"), Place::Undecidable, &answer, 999), Ok(decision));
        assert_eq!(serves(&line("ls"), Place::Undecidable, &answer, 1000), Err(Afresh::Expired));
        assert_eq!(serves(&line("ls -a"), Place::Undecidable, &answer, 0), Err(Afresh::Differs));
        let used = Escrow { is_used: true, ..answer };
        assert_eq!(serves(&line("ls"), Place::Undecidable, &used, 0), Err(Afresh::Used));
    }
}

#[test]
fn a_yes_does_not_reach_further_than_the_person_was_told() {
    use Place::{Inside, Outside, Undecidable};
    for (now, then, is_yes) in [
        (Inside, Inside, true),
        (Inside, Undecidable, true),
        (Inside, Outside, true),
        (Undecidable, Inside, false),
        (Undecidable, Undecidable, true),
        (Undecidable, Outside, true),
        (Outside, Inside, false),
        (Outside, Undecidable, false),
        (Outside, Outside, true),
    ] {
        let yes = Escrow { place: Some(then), ..kept(line("ls"), Decision::Accept) };
        assert_eq!(serves(&line("ls"), now, &yes, 0).is_ok(), is_yes, "{now} after {then}");
        let no = Escrow { place: Some(then), ..kept(line("ls"), Decision::Decline) };
        assert_eq!(serves(&line("ls"), now, &no, 0), Ok(Decision::Decline), "a no fits everywhere");
    }
}

#[test]
fn an_answer_with_a_secret_in_it_is_not_kept() {
    let answer = |given: Given| Answer::with(Content::Answers([("q".to_owned(), vec![given])].into()));
    assert!(is_keepable(&answer(Given::plain("blue"))));
    assert!(!is_keepable(&answer(Given::secret("hunter2"))));
    // This is how a secret is written.
    assert!(!is_keepable(&answer(Given::plain(Value::Null))));
    let kept = kept(line("ls"), answer(Given::plain(Value::Null)));
    assert_eq!(serves(&line("ls"), Place::Undecidable, &kept, 0), Err(Afresh::Secret));
}

#[test]
fn the_order_of_keys_is_nothing() {
    let ask = |permissions: &str| {
        let permissions: Value = serde_json::from_str(permissions).unwrap();
        Binding::of(&request("item/permissions/requestApproval", json!({ "permissions": permissions })), None)
    };
    assert_eq!(ask(r#"{"a":{"x":1,"y":[1,2]},"b":2}"#), ask(r#"{"b":2,"a":{"y":[1,2],"x":1}}"#));
    assert_ne!(ask(r#"{"a":{"x":1,"y":[1,2]},"b":2}"#), ask(r#"{"b":2,"a":{"y":[2,1],"x":1}}"#));
}

proptest! {
    #[test]
    fn words_that_differ_never_have_the_same_binding(
        one in prop::collection::vec("[a-c '\"$*-]{0,4}", 1..4),
        other in prop::collection::vec("[a-c '\"$*-]{0,4}", 1..4),
    ) {
        let quoted = |words: &[String]| {
            let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
            words.iter().map(quote).collect::<Vec<_>>().join(" ")
        };
        let (a, b) = (format!("run {}", quoted(&one)), format!("run {}", quoted(&other)));
        prop_assert_eq!(one == other, line(&a) == line(&b), "{} and {}", a, b);
    }
}
