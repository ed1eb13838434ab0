//! Faults of the reference around the questions of Codex, each as the promise that takes its place.

use expect_test::expect;

use super::super::script::{Run, check};

/// BUG-18. No is an empty grant, in the shape that Codex reads.
#[test]
fn declined_permissions_are_an_empty_grant() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 permissions
          => emit request_opened id=req-1 item=x kind=permissions permissions.network=true place=outside thread=t
        answer req-1 decline by user
          => emit request_closed by=user decision=decline id=req-1
          => reply id=0 {"permissions":{},"scope":"turn"}
    "#]]);
}

/// BUG-19. A question about the network says where to, and `always` is the rule that Codex proposes.
#[test]
fn a_question_about_the_network_has_a_subject_and_a_rule() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"n","networkApprovalContext":{"host":"example.org","protocol":"https"},"proposedNetworkPolicyAmendments":[{"host":"example.org","action":"allow"}]}}
          => emit request_opened always=example.org host=example.org id=req-1 item=n kind=network place=outside protocol=https thread=t
        answer req-1 accept-always by user
          => emit request_closed by=user decision=accept_always id=req-1
          => reply id=0 {"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"allow","host":"example.org"}}}}
        < {"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","itemId":"c","approvalId":"a-2","command":"make","cwd":"/w","proposedExecpolicyAmendment":["make"]}}
          => emit request_opened always=["make"] approval=a-2 command=make cwd=/w id=req-2 item=c kind=command place=undecidable thread=t
        answer req-2 accept-always by user
          => emit request_closed by=user decision=accept_always id=req-2
          => reply id=1 {"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["make"]}}}
    "#]]);
}

/// BUG-20. There is a no that stops the turn, and requests for the host are answered for what they are.
#[test]
fn deny_and_stop_stops_the_turn() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 cancel by user
          => emit request_closed by=user decision=cancel id=req-1
          => reply id=0 {"decision":"cancel"}
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

/// BUG-21. No name of a server is a yes.
#[test]
fn a_server_is_not_accepted_because_of_its_name() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"mcpServer/elicitation/request","id":0,"params":{"threadId":"t","turnId":"u","serverName":"hermes-tools","message":"Run?","mode":"form","requestedSchema":{"type":"object","properties":{}}}}
          => emit request_opened fields=[] id=req-1 kind=elicitation message=Run? mode=form server=hermes-tools thread=t
        < {"method":"mcpServer/elicitation/request","id":1,"params":{"threadId":"t","turnId":"u","serverName":"hermes-tools","message":"Run?","_meta":{"codex_approval_kind":"mcp_tool_call"}}}
          => emit request_opened id=req-2 kind=tool message=Run? place=outside server=hermes-tools thread=t
        answer req-2 decline by nobody
          => emit request_closed by=nobody decision=decline id=req-2
          => reply id=1 {"_meta":null,"action":"decline","content":null}
    "#]]);
}

/// BUG-22. A request about a patch has its changes, regardless of events in between.
#[test]
fn a_patch_keeps_its_changes_behind_a_flood_of_text() {
    let mut run = Run::new();
    run.step("accepted u");
    run.step("< u item started patch p1");
    for _ in 0..1000 {
        run.step("< u delta m1 text");
    }
    run.shown.clear();
    run.step("< u asks 0 patch p1");
    assert!(run.shown[0].contains(r#""path":"a.txt""#), "{:?}", run.shown);
}

/// BUG-23. A question is opened in the step in which it arrives, and an answer is sent in the step in which it is
/// recorded.
#[test]
fn questions_and_answers_wait_for_no_tick() {
    let mut run = Run::new();
    run.step("accepted u");
    run.shown.clear();
    run.step("< u asks 0 command c1");
    assert!(run.shown[0].starts_with("emit request_opened"), "{:?}", run.shown);
    run.step("answer req-1 accept by user");
    assert_eq!(run.shown.last().unwrap(), r#"reply id=0 {"decision":"accept"}"#);
}

/// BUG-24. The changes of a patch are dropped with its item, and follow Codex's updates meanwhile.
#[test]
fn announced_changes_are_the_current_ones_and_go_with_their_item() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started patch p1
          => emit item_started item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=in_progress
        < {"method":"item/fileChange/patchUpdated","params":{"threadId":"t","turnId":"u","itemId":"p1","changes":[{"path":"b.txt","kind":{"type":"update"},"diff":"bye"}]}}
          => emit patch_updated changes=[{"action":"update","diff":"bye","move_to":null,"path":"b.txt"}] item=p1
        < u asks 0 patch p1
          => emit request_opened changes=[{"action":"update","diff":"bye","move_to":null,"path":"b.txt"}] id=req-1 item=p1 kind=patch place=outside thread=t
        < u item completed patch p1
          => emit item_completed item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=completed
        < u asks 1 patch p1
          => emit request_opened id=req-2 item=p1 kind=patch place=outside thread=t
    "#]]);
}
