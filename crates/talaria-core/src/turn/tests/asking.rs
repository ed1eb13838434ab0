//! Requests: each is opened once, closed once, answered at most once, and none hangs because this build cannot put it.

use expect_test::expect;

use super::script::check;

#[test]
fn an_accepted_command_runs() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u resolved 0
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u ends completed
          => emit outcome exit=0 outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn every_decision_has_its_word() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        answer req-1 accept-for-session by user
          => emit request_closed by=user decision=accept_for_session id=req-1
          => reply id=0 {"decision":"acceptForSession"}
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command thread=t
        answer req-2 decline by user
          => emit request_closed by=user decision=decline id=req-2
          => reply id=1 {"decision":"decline"}
        < u asks 2 tool
          => emit request_opened id=req-3 kind=tool message=Run? server=tiny thread=t
        answer req-3 accept by user
          => emit request_closed by=user decision=accept id=req-3
          => reply id=2 {"_meta":null,"action":"accept","content":{}}
        < u asks 3 tool
          => emit request_opened id=req-4 kind=tool message=Run? server=tiny thread=t
        answer req-4 decline by user
          => emit request_closed by=user decision=decline id=req-4
          => reply id=3 {"_meta":null,"action":"decline","content":null}
        < u ends completed
          => emit outcome exit=0 outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_id_is_answered_with_the_type_it_had() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        < u asks "0" command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command thread=t
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
          => emit request_opened changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] id=req-1 item=p1 kind=patch thread=t
        < u asks 1 patch p2
          => emit request_opened id=req-2 item=p2 kind=patch thread=t
    "#]]);
}

#[test]
fn two_open_requests_are_answered_in_any_order() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command thread=t
        answer req-2 decline by user
          => emit request_closed by=user decision=decline id=req-2
          => reply id=1 {"decision":"decline"}
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u resolved 1
        < u resolved 0
        < u ends completed
          => emit outcome exit=0 outcome=completed
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
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        answer req-7 accept by user
        answer req-1 decline by user
          => emit request_closed by=user decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
        answer req-1 accept by user
        < u resolved 0
        answer req-1 accept by user
        < u ends completed
          => emit outcome exit=0 outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn void_is_no_answer() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
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
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        < u resolved 0
          => emit request_closed by=codex decision=void id=req-1
        answer req-1 accept by user
        < u ends completed
          => emit outcome exit=0 outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_end_of_a_turn_voids_what_is_open() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u ends completed
          => emit request_closed by=codex decision=void id=req-2
          => emit outcome exit=0 outcome=completed
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
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        < u ends completed
          => emit request_closed by=codex decision=void id=req-1
        answer req-1 accept by user
        at 400ms
        tick
          => emit item_abandoned item=c1
          => emit outcome exit=0 outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_same_request_offered_twice_is_opened_once() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
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
        < u asks 0 permissions
          => emit request_opened id=req-1 kind=unsupported method=item/permissions/requestApproval summary="Codex asks for a wider sandbox: cache" thread=t
          => emit request_closed by=talaria decision=decline id=req-1
          => reply id=0 {"permissions":{},"scope":"turn"}
        < u asks 1 questions
          => emit request_opened id=req-2 kind=unsupported method=item/tool/requestUserInput summary="the model asks: Which?" thread=t
          => emit request_closed by=talaria decision=decline id=req-2
          => reply id=1 {"answers":{}}
        < u asks 2 form
          => emit request_opened id=req-3 kind=unsupported method=mcpServer/elicitation/request summary="the MCP server tiny asks: Who?" thread=t
          => emit request_closed by=talaria decision=decline id=req-3
          => reply id=2 {"_meta":null,"action":"decline","content":null}
        answer req-1 accept by user
        < u resolved 0
        < u ends completed
          => emit outcome declined=3 exit=3 outcome=completed
          => finish completed exit 3
    "#]]);
}

#[test]
fn declined_because_nobody_could_be_asked_is_counted() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        answer req-1 decline by nobody
          => emit request_closed by=nobody decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
        < u ends completed
          => emit outcome declined=1 exit=3 outcome=completed
          => finish completed exit 3
    "#]]);
}

#[test]
fn declined_by_a_person_is_not_counted() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        answer req-1 decline by user
          => emit request_closed by=user decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
        < u ends completed
          => emit outcome exit=0 outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_failure_is_told_before_what_was_declined() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 form
          => emit request_opened id=req-1 kind=unsupported method=mcpServer/elicitation/request summary="the MCP server tiny asks: Who?" thread=t
          => emit request_closed by=talaria decision=decline id=req-1
          => reply id=0 {"_meta":null,"action":"decline","content":null}
        < u ends failed boom
          => emit outcome code=other declined=1 exit=1 message=boom outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn a_request_may_come_before_the_turn_has_a_name() {
    check(expect![[r#"
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        accepted u
          => emit turn_started turn=u
        < u ends completed
          => emit outcome exit=0 outcome=completed
          => finish completed exit 0
    "#]]);
}
