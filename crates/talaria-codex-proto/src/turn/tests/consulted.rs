//! The user's hook is asked about what floor and rules leave to a person, before the person is, and loosens neither.

use expect_test::expect;

use super::script::check;

#[test]
fn the_hook_decides_before_a_person_is_asked() {
    check(expect![[r#"
        hook
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => consult req-1 {"tool":"command","input":{"command":"ls","cwd":"/w"},"place":"undecidable","is_cut":false}
        verdict req-1 allow it is harmless
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
          => emit request_closed by=hook decision=accept id=req-1 why="hooks.tool_call: it is harmless"
          => reply id=0 {"decision":"accept"}
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u resolved 0
        < u asks 1 command c2
          => consult req-2 {"tool":"command","input":{"command":"ls","cwd":"/w"},"place":"undecidable","is_cut":false}
        verdict req-2 deny not on Fridays
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
          => emit request_closed by=hook decision=decline id=req-2 why="hooks.tool_call: not on Fridays"
          => steer t/u "This request was declined: ls\nThe reason: hooks.tool_call: not on Fridays"
          => reply id=1 {"decision":"decline"}
        < u asks 2 command c3
          => consult req-3 {"tool":"command","input":{"command":"ls","cwd":"/w"},"place":"undecidable","is_cut":false}
        verdict req-3 ask look twice
          => emit request_opened asked_because="hooks.tool_call: look twice" command=ls cwd=/w id=req-3 item=c3 kind=command place=undecidable thread=t
        answer req-3 accept by user
          => emit request_closed by=user decision=accept id=req-3
          => reply id=2 {"decision":"accept"}
        < u asks 3 tool
          => consult req-4 {"tool":"mcp_tool","input":{"message":"Run?","server":"tiny"},"place":"outside","is_cut":false}
        verdict req-4 none
          => emit request_opened id=req-4 kind=tool message=Run? place=outside server=tiny thread=t
        answer req-4 accept by user
          => emit request_closed by=user decision=accept id=req-4
          => reply id=3 {"_meta":null,"action":"accept","content":{}}
        < u asks 4 permissions
          => emit request_opened id=req-5 item=x kind=permissions permissions.network=true place=outside thread=t
        answer req-5 decline by user
          => emit request_closed by=user decision=decline id=req-5
          => reply id=4 {"permissions":{},"scope":"turn"}
        < u ends completed
          => emit outcome declined=1 outcome=completed
          => finish completed exit 3
    "#]]);
}

#[test]
fn a_denied_command_never_reaches_the_hook() {
    check(expect![[r#"
        deny ls
        hook
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
          => emit request_closed by=rule decision=decline id=req-1 why="the deny rule \"ls\": `ls` is denied"
          => steer t/u "This request was declined: ls\nThe reason: the deny rule \"ls\": `ls` is denied"
          => reply id=0 {"decision":"decline"}
        < u ends completed
          => emit outcome declined=1 outcome=completed
          => finish completed exit 3
    "#]]);
}

#[test]
fn an_allow_does_not_accept_what_deny_rules_cannot_see() {
    check(expect![[r#"
        deny rm
        hook
        accepted u
          => emit turn_started turn=u
        < {"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u","itemId":"c1","command":"python3 -c 'x()'","cwd":"/w"}}
          => consult req-1 {"tool":"command","input":{"command":"python3 -c 'x()'","cwd":"/w"},"place":"undecidable","is_cut":false}
        verdict req-1 allow
          => emit request_opened asked_because="hooks.tool_call allows it, but your rules cannot see all of it" command="python3 -c 'x()'" cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 decline by user
          => emit request_closed by=user decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_request_that_ends_before_the_hook_answered_is_closed_once() {
    check(expect![[r#"
        hook
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => consult req-1 {"tool":"command","input":{"command":"ls","cwd":"/w"},"place":"undecidable","is_cut":false}
        < u asks 0 command c1
        < u resolved 0
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
          => emit request_closed by=other_client decision=void id=req-1
        verdict req-1 allow
        < u asks 1 command c2
          => consult req-3 {"tool":"command","input":{"command":"ls","cwd":"/w"},"place":"undecidable","is_cut":false}
        interrupt by user
          => emit interrupting by=user
        < u ends interrupted
          => emit request_opened command=ls cwd=/w id=req-3 item=c2 kind=command place=undecidable thread=t
          => emit request_closed by=codex decision=void id=req-3
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
        verdict req-3 allow
    "#]]);
}

#[test]
fn the_next_engine_asks_the_hook_again_unless_a_person_was_asked() {
    check(expect![[r#"
        hook
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => consult req-1 {"tool":"command","input":{"command":"ls","cwd":"/w"},"place":"undecidable","is_cut":false}
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u asks 0 command c1
          => consult req-2 {"tool":"command","input":{"command":"ls","cwd":"/w"},"place":"undecidable","is_cut":false}
        verdict req-2 ask
          => emit request_opened command=ls cwd=/w id=req-2 item=c1 kind=command place=undecidable thread=t
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u asks 0 command c1
        answer req-2 accept by user
          => emit request_closed by=user decision=accept id=req-2
          => reply id=0 {"decision":"accept"}
        < u ends completed
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}
