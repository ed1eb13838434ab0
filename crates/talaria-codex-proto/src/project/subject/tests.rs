//! Questions that a kept answer applies to, and those that it does not.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::frame::{Decoded, Frame, decode_text};
use talaria_core::escrow::{Afresh, Asking, Escrow, is_keepable, match_escrow};
use talaria_core::ids::TicketId;
use talaria_core::item::FileAction;
use talaria_core::request::{Answer, Content, Decision, Given, Who};
use talaria_guard::place::Place;

fn bind_to(request: &ServerRequest, changes: Option<&[FileChange]>) -> Option<Binding> {
    binding(request, subject(request, changes).as_ref())
}

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
    bind_to(&request("item/commandExecution/requestApproval", params), None).unwrap()
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
    // The model words its reason differently, and Codex assigns new ids.
    assert_eq!(command(plain()), with("reason", json!("because")));
    assert_eq!(command(plain()), with("itemId", json!("later")));
    assert_eq!(command(plain()), with("turnId", json!("later")));
    assert_eq!(command(plain()), with("kind", json!("command")));
}

#[test]
fn a_patch_is_its_files_and_diffs() {
    let patch = |params: Value, changes: Option<&[FileChange]>| {
        bind_to(&request("item/fileChange/requestApproval", params), changes)
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
    let bind = |params: &Value| bind_to(&request(method, params.clone()), None).unwrap();
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
        bind_to(&request("item/permissions/requestApproval", json!({ "permissions": permissions })), None)
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

/// Databases contain bindings of pending answers: the binding of a request never changes.
#[test]
fn answers_that_earlier_programs_kept_still_fit() {
    let change = FileChange {
        path: "/w/a".to_owned(),
        action: FileAction::Update,
        move_to: Some("/w/b".to_owned()),
        diff: "-x\n+y\n".to_owned(),
    };
    let mut table = String::new();
    for line in include_str!("../../wire/reply/requests.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = json!({ "method": line["method"], "id": 0, "params": line["params"] }).to_string();
        let Decoded::Known(Frame::Request { request, .. }) = decode_text(&text) else { panic!("{text}") };
        let binding = bind_to(&request, Some(std::slice::from_ref(&change)));
        let binding = binding.map_or("none".to_owned(), |binding| serde_json::to_string(&binding).unwrap());
        table.push_str(&format!("{}: {binding}\n", line["name"].as_str().unwrap()));
    }
    expect![[r#"
        command: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"1cd9af455ce651700cdf2cb8636064b36fe5a15ac55864eedbe110fbbda156cc"}
        command of 0.166: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"956098b36f9131359c21d25a839c94c41b1dedf48fab3d30658a06da7ceaf7f0"}
        command without a list of decisions: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"a80d4867e34e8c43c5d483dd7c1e7614b43f55903e9306c1a0ad6a20b00f8481"}
        command without a rule: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"0b9e38ad26f69a50e11a373a6bffe8ec6bb173763bd1c9e2d664893f2b2d7973"}
        command with a rule that would allow everything: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"5cf390094c0abc0e1e2fa047aafbb9cc3b71afd05dcb213bedcac8be1e7f6753"}
        command with wider permissions: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"4baa78a93045d71ec228aba3085d6c84b217f61a9cc8ee524ae3f890886e3f61"}
        stdin: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"9381d58bb6a56ca33f8a9bb48c81db653d7d57b56da8c33880d8cb17681353d3"}
        network: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"6f6a4fb06687e002c2af06209323213a9fce059b909303a8a2a2a895c265beb7"}
        network without a list of decisions: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"9e8f1888fb5d4e2994ef407b4f83184cfb29587f33a88c7ffaec949237028e5a"}
        network without a rule: {"method":"item/commandExecution/requestApproval","thread":"t","subject":"456fd536b189904f778cc0a691dedc53bf15716d8eb422206a13e04c288413bd"}
        patch: {"method":"item/fileChange/requestApproval","thread":"t","subject":"e5dac062c5f843f29a2d7743a0aa8e9ccd045659fccccbecb07d07661753dc9e"}
        patch that grants a directory: {"method":"item/fileChange/requestApproval","thread":"t","subject":"8e2b75775bc7c6154c0423f4e7e00aa11a6889bb305b511bde39334ab107638b"}
        permissions: {"method":"item/permissions/requestApproval","thread":"t","subject":"5b7c9bb4024850181aa9d24afe1f4e66df0aefb2f5500ea0edcc8ce865878b7f"}
        permissions for the network: {"method":"item/permissions/requestApproval","thread":"t","subject":"73ce20b1e2dd3ffac65e2ef6d975b502a3587d9f2b28f43aacf1576f7aa8b696"}
        questions: {"method":"item/tool/requestUserInput","thread":"t","subject":"8f9ce464cac787e3ae7b9804501b58f2feb45b2f9c5c2d429fc0fff3fa9c77a9"}
        questions of 0.166: {"method":"item/tool/requestUserInput","thread":"t","subject":"97e2eddf4d2b2f5aee1ac52095283222830add491dcf156d4c4d91bf21ee717b"}
        tool: {"method":"mcpServer/elicitation/request","thread":"t","subject":"34f61371a6983789443202b48050256e01effd7e381346dd32b4b634d02636f6"}
        tool for a session: {"method":"mcpServer/elicitation/request","thread":"t","subject":"9290a42a775c05d9667c822c28c279cd593cec5971dc0ce6c41f3bd86a455391"}
        tool once: {"method":"mcpServer/elicitation/request","thread":"t","subject":"e57275608571f453e71ddf2ce6ccffb058e47e7fc979ec8e5268957117b937e3"}
        form: {"method":"mcpServer/elicitation/request","thread":"t","subject":"5522767e23c1a5efa27e6c5e9e066b15c4a3b4df6511f30085cb19c02807ea9e"}
        url: {"method":"mcpServer/elicitation/request","thread":"t","subject":"4a79ef93fd309f15a9d09e1fe331aa3d39d1d56a699bd85e9df566a339516ba8"}
        form of a new mode: {"method":"mcpServer/elicitation/request","thread":"t","subject":"bb6836c27d1ea2217ea5a0629a5f328679de4c87bd25ce7b63abe4901ba20164"}
        tool call: none
        token refresh: none
        attestation: none
        time: none
    "#]].assert_eq(&table);
}
