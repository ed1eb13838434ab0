//! Requests: each is opened once, closed once, answered at most once, and none hangs because this build cannot show
//! it.

use expect_test::expect;

use serde_json::json;

use super::super::{Output, Record};
use super::script::{Run, check};
use talaria_guard::place::Place;

#[test]
fn an_accepted_command_runs() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u resolved 0
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn every_decision_has_its_word() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 accept-for-session by user
          => emit request_closed by=user decision=accept_for_session id=req-1
          => reply id=0 {"decision":"acceptForSession"}
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        answer req-2 decline by user
          => emit request_closed by=user decision=decline id=req-2
          => reply id=1 {"decision":"decline"}
        < u asks 2 tool
          => emit request_opened id=req-3 kind=tool message=Run? place=outside server=tiny thread=t
        answer req-3 accept by user
          => emit request_closed by=user decision=accept id=req-3
          => reply id=2 {"_meta":null,"action":"accept","content":{}}
        < u asks 3 tool
          => emit request_opened id=req-4 kind=tool message=Run? place=outside server=tiny thread=t
        answer req-4 decline by user
          => emit request_closed by=user decision=decline id=req-4
          => reply id=3 {"_meta":null,"action":"decline","content":null}
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_id_is_answered_with_the_type_it_had() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u asks "0" command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        answer req-2 accept by user
          => emit request_closed by=user decision=accept id=req-2
          => reply id="0" {"decision":"accept"}
        answer req-1 decline by user
          => emit request_closed by=user decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
    "#]]);
}

#[test]
fn a_patch_shows_the_changes_of_its_item() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started patch p1
          => emit item_started item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=in_progress
        < u asks 0 patch p1
          => emit request_opened changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] id=req-1 item=p1 kind=patch place=outside thread=t
        < u asks 1 patch p2
          => emit request_opened id=req-2 item=p2 kind=patch place=outside thread=t
    "#]]);
}

#[test]
fn two_open_requests_are_answered_in_any_order() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        answer req-2 decline by user
          => emit request_closed by=user decision=decline id=req-2
          => reply id=1 {"decision":"decline"}
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u resolved 1
        < u resolved 0
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn one_answer_wins_and_an_answer_to_nothing_does_nothing() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        answer req-1 accept by user
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-7 accept by user
        answer req-1 decline by user
          => emit request_closed by=user decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
        answer req-1 accept by user
        < u resolved 0
        answer req-1 accept by user
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn void_is_no_answer() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 void by user
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
    "#]]);
}

#[test]
fn a_request_that_codex_resolves_first_is_void() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u resolved 0
          => emit request_closed by=other_client decision=void id=req-1
        answer req-1 accept by user
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_end_of_a_turn_voids_what_is_open() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u ends completed
          => emit request_closed by=codex decision=void id=req-2
          => emit outcome outcome=completed
          => finish completed exit 0
        answer req-2 accept by user
    "#]]);
}

#[test]
fn the_end_of_a_turn_voids_requests_before_the_wait_for_late_items() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u ends completed
          => emit request_closed by=codex decision=void id=req-1
        answer req-1 accept by user
        at 400ms
        tick
          => emit item_abandoned item=c1 why=not_run
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_same_request_offered_twice_is_opened_once() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u asks 0 command c1
        answer req-2 accept by user
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u asks 0 command c1
        < u resolved 0
    "#]]);
}

#[test]
fn requests_that_this_build_cannot_put_are_declined_at_once_and_counted() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 vague permissions
          => emit request_opened id=req-1 kind=unsupported method=item/permissions/requestApproval place=outside summary="Codex asks for a wider sandbox, but does not say how: cache" thread=t
          => emit request_closed by=talaria decision=decline id=req-1
          => reply id=0 {"permissions":{},"scope":"turn"}
        < u asks 1 vague questions
          => emit request_opened id=req-2 kind=unsupported method=item/tool/requestUserInput summary="the model asks in a form that cannot be answered: " thread=t
          => emit request_closed by=talaria decision=decline id=req-2
          => reply id=1 {"answers":{}}
        < u asks 2 vague form
          => emit request_opened id=req-3 kind=unsupported method=mcpServer/elicitation/request summary="the MCP server tiny asks with a form that cannot be shown: Who?" thread=t
          => emit request_closed by=talaria decision=decline id=req-3
          => reply id=2 {"_meta":null,"action":"decline","content":null}
        answer req-1 accept by user
        < u resolved 0
        < u ends completed
          => emit outcome declined=3 outcome=completed
          => finish completed exit 3
    "#]]);
}

#[test]
fn declined_because_nobody_could_be_asked_is_counted() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 decline by nobody
          => emit request_closed by=nobody decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
        < u ends completed
          => emit outcome declined=1 outcome=completed
          => finish completed exit 3
    "#]]);
}

#[test]
fn declined_by_a_person_is_not_counted() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 decline by user
          => emit request_closed by=user decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_failure_is_told_before_what_was_declined() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 vague form
          => emit request_opened id=req-1 kind=unsupported method=mcpServer/elicitation/request summary="the MCP server tiny asks with a form that cannot be shown: Who?" thread=t
          => emit request_closed by=talaria decision=decline id=req-1
          => reply id=0 {"_meta":null,"action":"decline","content":null}
        < u ends failed boom
          => emit outcome code=other declined=1 hint="run `talaria doctor` to check the installation" message=boom next_step.step=doctor outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn a_request_may_come_before_the_turn_has_a_name() {
    check(expect![[r#"
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        accepted u
          => emit turn_started turn=u
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_reason_is_told_to_the_model_before_the_request_is_declined() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 decline by user because use the mirror instead
          => emit request_closed by=user decision=decline id=req-1 why="use the mirror instead"
          => steer t/u "I declined this request: ls\nThe reason: use the mirror instead"
          => reply id=0 {"decision":"decline"}
        < other/w asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=other
        answer req-2 decline by user because not there
          => emit request_closed by=user decision=decline id=req-2 why="not there"
          => steer other/w "I declined this request: ls\nThe reason: not there"
          => reply id=1 {"decision":"decline"}
        < u asks 2 command c3
          => emit request_opened command=ls cwd=/w id=req-3 item=c3 kind=command place=undecidable thread=t
        answer req-3 cancel by user because enough
          => emit request_closed by=user decision=cancel id=req-3
          => reply id=2 {"decision":"cancel"}
        < u asks 3 command c4
          => emit request_opened command=ls cwd=/w id=req-4 item=c4 kind=command place=undecidable thread=t
        answer req-4 accept by user because why not
          => emit request_closed by=user decision=accept id=req-4
          => reply id=3 {"decision":"accept"}
    "#]]);
}

#[test]
fn what_codex_cannot_carry_out_becomes_the_next_milder_thing_and_is_told_so() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 accept-always by user
          => emit request_closed by=user decision=accept_for_session id=req-1
          => reply id=0 {"decision":"acceptForSession"}
        < u asks 1 tool
          => emit request_opened id=req-2 kind=tool message=Run? place=outside server=tiny thread=t
        answer req-2 accept-always by user
          => emit request_closed by=user decision=accept id=req-2
          => reply id=1 {"_meta":null,"action":"accept","content":{}}
        < u asks 2 permissions
          => emit request_opened id=req-3 item=x kind=permissions permissions.network=true place=outside thread=t
        answer req-3 accept-always by user
          => emit request_closed by=user decision=accept_for_session id=req-3
          => reply id=2 {"permissions":{"network":{"enabled":true}},"scope":"session"}
    "#]]);
}

#[test]
fn every_kind_of_question_is_put_and_answered() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 network
          => emit request_opened host=example.org id=req-1 item=n kind=network place=outside protocol=https thread=t
        answer req-1 accept-for-session by user
          => emit request_closed by=user decision=accept_for_session id=req-1
          => reply id=0 {"decision":"acceptForSession"}
        < u asks 1 permissions
          => emit request_opened id=req-2 item=x kind=permissions permissions.network=true place=outside thread=t
        answer req-2 accept by user
          => emit request_closed by=user decision=accept id=req-2
          => reply id=1 {"permissions":{"network":{"enabled":true}},"scope":"turn"}
        < u asks 2 questions
          => emit request_opened id=req-3 kind=input questions=[{"header":"","id":"c","options":[],"other":false,"question":"Which?","secret":false}] thread=t
        answer req-3 give c hunter2 by user
          => emit request_closed by=user decision=accept id=req-3
          => reply id=2 {"answers":{"c":{"answers":["hunter2"]}}}
        < u asks 3 url
          => emit request_opened id=req-4 kind=elicitation message=Go mode=url server=tiny thread=t url=https://example.org
        answer req-4 accept by user
          => emit request_closed by=user decision=accept id=req-4
          => reply id=3 {"_meta":null,"action":"accept","content":null}
        < u asks 4 form
          => emit request_opened fields=[] id=req-5 kind=elicitation message=Sure? mode=form server=tiny thread=t
        answer req-5 accept by user
          => emit request_closed by=user decision=accept id=req-5
          => reply id=4 {"_meta":null,"action":"accept","content":{}}
        < u asks 5 questions
          => emit request_opened id=req-6 kind=input questions=[{"header":"","id":"c","options":[],"other":false,"question":"Which?","secret":false}] thread=t
        answer req-6 cancel by user
          => emit request_closed by=user decision=cancel id=req-6
          => reply id=5 {"answers":{}}
          => emit interrupting by=user
    "#]]);
}

#[test]
fn an_answer_that_does_not_fit_leaves_the_question_open() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 questions
          => emit request_opened id=req-1 kind=input questions=[{"header":"","id":"c","options":[],"other":false,"question":"Which?","secret":false}] thread=t
        answer req-1 accept by user
          => emit warning message="an answer was not taken: the answer does not bring what was asked for"
        answer req-1 give d red by user
          => emit warning message="an answer was not taken: there is no question \"d\""
        answer req-1 give c red by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"answers":{"c":{"answers":["red"]}}}
        < u asks 1 command c1
          => emit request_opened command=ls cwd=/w id=req-2 item=c1 kind=command place=undecidable thread=t
        answer req-2 give c red by user
          => emit warning message="an answer was not taken: the answer does not bring what was asked for"
        answer req-2 decline by user
          => emit request_closed by=user decision=decline id=req-2
          => reply id=1 {"decision":"decline"}
    "#]]);
}

#[test]
fn what_codex_wants_of_its_host_is_shown_and_counted_and_not_answered_here() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 tokens
          => emit request_opened id=req-1 kind=host method=account/chatgptAuthTokens/refresh summary="Talaria keeps no ChatGPT tokens: run `codex login`, so that Codex can refresh its own"
          => emit request_closed by=talaria decision=decline id=req-1
        answer req-1 accept by user
        < u ends completed
          => emit outcome declined=1 outcome=completed
          => finish completed exit 3
    "#]]);
}

#[test]
fn a_call_of_a_tool_that_nobody_has_fails_and_the_turn_goes_on() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 lookup
          => call lookup for id=0
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

/// A patch is placed and bound by the files of the step that announced it.
#[test]
fn a_patch_is_placed_and_bound_by_its_files() {
    let opened = |path: &str, diff: &str| {
        let mut run = Run::new();
        run.step("sandbox workspaceWrite untrusted");
        run.step("accepted u");
        let change = json!({ "path": path, "kind": { "type": "add" }, "diff": diff });
        let item = json!({ "type": "fileChange", "id": "p1", "changes": [change], "status": "inProgress" });
        let params = json!({ "threadId": "t", "turnId": "u", "item": item });
        run.step(&format!("< {}", json!({ "method": "item/started", "params": params })));
        run.outputs.clear();
        run.step("< u asks 0 patch p1");
        let opened = run.outputs.iter().find_map(|output| match output {
            Output::Record(Record::Opened(opened)) => Some((opened.place, opened.binding.clone())),
            _ => None,
        });
        let (place, binding) = opened.expect("a request");
        (place.expect("a place"), binding.expect("a binding"))
    };
    let (inside, bound) = opened("/w/a.txt", "hi");
    assert_eq!((inside, opened("/etc/a.txt", "hi").0), (Place::Inside, Place::Outside));
    assert_eq!(opened("/w/a.txt", "hi").1, bound);
    assert_ne!(opened("/w/a.txt", "ho").1, bound, "another diff");
    assert_ne!(opened("/w/b.txt", "hi").1, bound, "another file");
}
