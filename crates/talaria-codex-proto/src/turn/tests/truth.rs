//! Reports about steps and answers of a turn that did not complete: only known facts.

use expect_test::expect;

use super::script::check;

#[test]
fn a_step_that_waited_for_an_answer_did_not_run() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u item started command c2
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        < u ends interrupted
          => end the terminals of c1, c2
          => emit request_closed by=codex decision=void id=req-1
        at 6s
        tick
          => emit item_abandoned item=c1 why=not_run
          => emit item_abandoned item=c2
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_step_that_was_accepted_or_has_printed_something_ran() {
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
        < u item started command c2
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
        < {"method":"item/commandExecution/outputDelta","params":{"threadId":"t","turnId":"u","itemId":"c2","delta":"x"}}
          => emit output_delta delta=x item=c2
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        < u ends completed
          => emit request_closed by=codex decision=void id=req-2
        at 1s
        tick
          => find the terminals of c1, c2
        background
          => emit item_abandoned item=c1
          => emit item_abandoned item=c2
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_step_that_another_client_decided_about_may_have_run() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u resolved 0
          => emit request_closed by=other_client decision=void id=req-1
        < u item started command c2
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output; 2 steps had begun before, and whether they have ended is not known" missing=["pieces","steps","ends"] open=["c1","c2"] since=1000
        < u resolved 1
          => emit request_closed by=other_client decision=void id=req-2
        < u ends completed
        at 1s
        tick
          => find the terminals of c1, c2
        background
          => emit item_abandoned item=c1
          => emit item_abandoned item=c2
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_tool_that_waited_for_its_approval_did_not_run() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","item":{"type":"mcpToolCall","id":"m1","server":"other","tool":"echo","status":"inProgress","arguments":{}}}}
          => emit item_started item.id=m1 item.kind=tool item.server=other item.status=in_progress item.tool=echo
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","item":{"type":"mcpToolCall","id":"m2","server":"tiny","tool":"echo","status":"inProgress","arguments":{"text":"hi"}}}}
          => emit item_started item.arguments.text=hi item.id=m2 item.kind=tool item.server=tiny item.status=in_progress item.tool=echo
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","item":{"type":"mcpToolCall","id":"m3","server":"tiny","tool":"echo","status":"inProgress","arguments":{"text":"ho"}}}}
          => emit item_started item.arguments.text=ho item.id=m3 item.kind=tool item.server=tiny item.status=in_progress item.tool=echo
        < u asks 0 tool
          => emit request_opened id=req-1 item=m2 kind=tool message=Run? place=outside server=tiny thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"_meta":null,"action":"accept","content":{}}
        < u resolved 0
        < u asks 1 tool
          => emit request_opened id=req-2 item=m3 kind=tool message=Run? place=outside server=tiny thread=t
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        < u ends interrupted
          => emit request_closed by=codex decision=void id=req-2
          => emit item_abandoned item=m1
          => emit item_abandoned item=m2
          => emit item_abandoned item=m3 why=not_run
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
        at 6s
        tick
    "#]]);
}

#[test]
fn a_question_that_an_interrupt_takes_back_was_not_answered_by_another_client() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        < u resolved 0
          => emit request_closed by=codex decision=void id=req-1
        < u ends interrupted
          => end the terminals of c1
        at 6s
        tick
          => emit item_abandoned item=c1 why=not_run
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn after_a_restart_it_is_still_known_that_a_step_did_not_run() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output; a step had begun before, and whether it has ended is not known" missing=["pieces","steps","ends"] open=["c1"] since=1000
        < u asks 0 command c1
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        < u ends interrupted
          => end the terminals of c1
          => emit request_closed by=codex decision=void id=req-1
        at 6s
        tick
          => emit item_abandoned item=c1 why=not_run
          => emit outcome by=user outcome=interrupted usage.partial=true
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_command_that_was_stopped_has_no_exit_code() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item started command c2
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":1,"item":{"type":"commandExecution","id":"c2","command":"ls","cwd":"/w","status":"failed","exitCode":-1}}}
          => emit item_completed item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=failed
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":1,"item":{"type":"commandExecution","id":"c1","command":"ls","cwd":"/w","status":"failed","exitCode":-1}}}
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=interrupted
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn what_was_said_before_a_stop_is_no_answer() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed message m1 I will count
          => emit item_completed item.id=m1 item.kind=agent_message item.text="I will count"
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_refusal_that_comes_back_as_a_message_is_not_the_persons() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 decline by user because it is late
          => emit request_closed by=user decision=decline id=req-1 why="it is late"
          => steer t/u "I declined this request: ls\nThe reason: it is late"
          => reply id=0 {"decision":"decline"}
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":1,"item":{"type":"userMessage","id":"u2","content":[{"type":"text","text":"I declined this request: ls\nThe reason: it is late"}]}}}
          => heard u2 of talaria
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":1,"item":{"type":"userMessage","id":"u3","content":[{"type":"text","text":"I declined this request: ls\nThe reason: it is late"}]}}}
          => heard u3
        < u ends completed
        at 1s
        tick
          => emit warning message="the turn ended before the model read what was said last; it is part of the conversation, and the next turn sees it"
          => emit item_abandoned item=c1 why=not_run
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}
