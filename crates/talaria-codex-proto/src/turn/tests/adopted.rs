//! Turns that an earlier engine had in flight.

use expect_test::{Expect, expect};

use super::super::*;
use super::script::{Run, check};
use crate::settle::{Deed, RecordedInput, Vantage, settle};
use crate::wire::history::ThreadReadReply;

#[test]
fn a_turn_that_still_runs_goes_on_where_it_was() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u item started message m1
          => emit item_started item.id=m1 item.kind=agent_message item.text=""
        < u delta m1 hel
          => emit text_delta delta=hel item=m1
        restart
          => read the thread
        < u delta m1 lo
        found running u | completed command c1
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
          => emit text_delta delta=lo item=m1
        < u item completed message m1 hello
          => emit item_completed item.id=m1 item.kind=agent_message item.text=hello
        < u ends completed
          => emit outcome outcome=completed text=hello usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_was_missed_is_told_once_and_before_what_comes() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item started message m1
          => emit item_started item.id=m1 item.kind=agent_message item.text=""
        < u delta m1 on
          => emit text_delta delta=on item=m1
        restart
          => read the thread
        < u item completed command c3
        # 0.130 names messages anew
        found running u | completed user item-1 hi | completed message item-2 one | completed command c1 | started command c2 | completed message item-3 two
          => emit item_completed item.id=m1 item.kind=agent_message item.text=one
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
          => emit item_completed item.id=item-3 item.kind=agent_message item.text=two
          => emit gap found=3 message="The engine was down for a while. 3 steps were found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
          => emit item_completed item.command=ls item.cwd=/w item.id=c3 item.kind=command item.status=completed
        < u item completed command c2
          => emit item_completed item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=completed
        < u ends completed
          => emit outcome outcome=completed text=two usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_turn_that_ended_meanwhile_has_its_outcome_and_its_answer() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        restart
          => read the thread
        found ended u completed | completed command c1 | completed message m1 done
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit item_completed item.id=m1 item.kind=agent_message item.text=done
          => emit gap found=2 message="The engine was down for a while. 2 steps were found afterwards; pieces of text and output from that time may be missing" missing=["pieces"] open=[] since=1000
          => emit outcome outcome=completed text=done usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn input_that_was_sent_and_is_not_there_is_looked_for_three_times() {
    check(expect![[r#"
        ledger
        restart
          => read the thread
        found absent
        wake
          => wake 1000ms
        at 1000ms
        tick
          => read the thread
        found absent
        at 2000ms
        tick
          => read the thread
        found absent
          => emit ledger stage=settled
          => emit outcome code=not_sent hint="nothing was done; send the prompt again" message="Codex never took the input: Talaria ended while it was being sent" next_step.step=send_again outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn a_turn_that_was_accepted_and_is_not_there_is_lost() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        restart
          => read the thread
        found absent
        at 1000ms
        tick
          => read the thread
        found absent
        at 2000ms
        tick
          => read the thread
        found absent
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Talaria ended while the turn ran; the conversation does not have the turn" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn input_that_was_sent_is_there_as_soon_as_its_turn_begins() {
    check(expect![[r#"
        after old
        restart
          => read the thread
        found absent
        < old item completed message m0 late
        < u begins
          => emit turn_started turn=u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u item completed message m1 hello
          => emit item_completed item.id=m1 item.kind=agent_message item.text=hello
        < u ends completed
          => emit outcome outcome=completed text=hello usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn input_that_was_sent_may_run_by_now() {
    check(expect![[r#"
        ledger
        restart
          => read the thread
        < u item started command c1
        found running u
          => emit ledger stage=accepted
          => emit turn_started turn=u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends completed
    "#]]);
}

#[test]
fn interrupted_is_believed_of_an_idle_thread_the_third_time() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        interrupt by user
          => emit interrupting by=user
        restart
          => read the thread
        found interrupted u idle
        at 1000ms
        tick
          => read the thread
        found interrupted u idle
        at 2000ms
        tick
          => read the thread
        found interrupted u idle
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
          => emit outcome by=user outcome=interrupted usage.partial=true
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn interrupted_is_not_believed_of_a_turn_that_speaks() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        restart
          => read the thread
        found interrupted u idle
        < u item completed message m1 hello
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
          => emit item_completed item.id=m1 item.kind=agent_message item.text=hello
        < u ends completed
          => emit outcome outcome=completed text=hello usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_turn_that_was_to_stop_is_stopped_once_it_is_known_to_run() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        restart
          => read the thread
        interrupt by user
          => emit interrupting by=user
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted usage.partial=true
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_dead_codex_is_believed_only_what_it_wrote() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        restart without codex
          => read the thread
        found ended u interrupted | started command c1 | completed message m1 so
          => emit item_completed item.id=m1 item.kind=agent_message item.text=so
          => emit gap found=1 message="The engine was down for a while. One step was found afterwards; pieces of text and output from that time may be missing; a step had begun before, and whether it has ended is not known" missing=["pieces","ends"] open=["c1"] since=1000
          => emit item_abandoned item=c1
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex died" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_request_that_is_offered_again_keeps_its_ticket_and_is_told_once() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 command c1
          => opened req-1 as id=0
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u asks 0 command c1
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => delivering req-1 by user
          => reply id=0 {"decision":"accept"}
        < u resolved 0
          => fate req-1 delivered
        < u ends completed
          => emit ledger stage=settled
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_answer_on_record_is_written_when_its_request_is_offered_again() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 command c1
          => opened req-1 as id=0
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        stored req-1 accept by user
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u asks 0 command c1
          => emit request_closed by=user decision=accept id=req-1
          => delivering req-1 by user
          => reply id=0 {"decision":"accept"}
        < u item completed command c1
          => fate req-1 delivered
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u ends completed
          => emit ledger stage=settled
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_answer_that_was_being_written_is_written_again_and_not_told_again() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 command c1
          => opened req-1 as id=0
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 decline by user because it is late
          => emit request_closed by=user decision=decline id=req-1 why="it is late"
          => delivering req-1 by user
          => steer t/u "I declined this request: ls\nThe reason: it is late"
          => reply id=0 {"decision":"decline"}
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u asks 0 command c1
          => delivering req-1 by user
          => reply id=0 {"decision":"decline"}
        < u ends completed
          => fate req-1 delivered
          => emit ledger stage=settled
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_answer_that_was_being_written_to_a_codex_that_does_not_ask_again_has_arrived() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 command c1
          => opened req-1 as id=0
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => delivering req-1 by user
          => reply id=0 {"decision":"accept"}
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        wake
          => wake 5000ms
        at 5000ms
        tick
          => fate req-1 delivered
        < u ends completed
          => emit ledger stage=settled
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_question_that_is_not_asked_again_is_void() {
    check(expect![[r#"
        limit 1s
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        stored req-2 accept by user
        at 900ms
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        wake
          => wake 5900ms
        at 5900ms
        tick
          => emit request_closed by=other_client decision=void id=req-1
          => emit request_closed by=other_client decision=void id=req-2
        wake
          => wake 6900ms
        at 6900ms
        tick
          => emit interrupting by=deadline
          => interrupt u
    "#]]);
}

#[test]
fn an_answer_that_comes_before_the_request_is_offered_again_waits_for_it() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 command c1
          => opened req-1 as id=0
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        restart
          => read the thread
        answer req-1 accept by user
        answer req-1 decline by demo
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u asks 0 command c1
          => emit request_closed by=user decision=accept id=req-1
          => delivering req-1 by user
          => reply id=0 {"decision":"accept"}
        < u ends completed
          => fate req-1 delivered
          => emit ledger stage=settled
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_secret_answer_is_not_on_record_so_the_question_is_put_again() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 questions
          => opened req-1 as id=0
          => emit request_opened id=req-1 kind=input questions=[{"header":"","id":"c","options":[],"other":false,"question":"Which?","secret":false}] thread=t
        answer req-1 give c red by user
          => emit request_closed by=user decision=accept id=req-1
          => delivering req-1 by user
          => reply id=0 {"answers":{"c":{"answers":["red"]}}}
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u asks 0 questions
          => emit warning message="an answer was not stored, so the question is asked again"
          => opened req-1 as id=0
          => emit request_opened id=req-1 kind=input questions=[{"header":"","id":"c","options":[],"other":false,"question":"Which?","secret":false}] thread=t
        answer req-1 give c blue by user
          => emit request_closed by=user decision=accept id=req-1
          => delivering req-1 by user
          => reply id=0 {"answers":{"c":{"answers":["blue"]}}}
        < u resolved 0
          => fate req-1 delivered
        < u ends completed
          => emit ledger stage=settled
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_answer_that_a_dead_codex_may_have_is_called_unknown_and_one_that_it_cannot_have_is_kept() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 command c1
          => opened req-1 as id=0
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u asks 1 command c2
          => opened req-2 as id=1
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        < u asks 2 command c3
          => opened req-3 as id=2
          => emit request_opened command=ls cwd=/w id=req-3 item=c3 kind=command place=undecidable thread=t
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => delivering req-1 by user
          => reply id=0 {"decision":"accept"}
        stored req-2 accept by user
        restart without codex
          => read the thread
        found ended u interrupted
          => emit gap message="The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing" missing=["pieces"] open=[] since=1000
          => emit delivery_unknown id=req-1
          => fate req-1 delivery unknown
          => emit request_closed by=user decision=accept id=req-2 why="Codex ended before it got this answer: kept for the next turn, if that asks the same"
          => fate req-2 kept
          => emit request_closed by=codex decision=void id=req-3
          => emit ledger stage=unknown
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex died" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn an_answer_that_is_given_while_codex_is_gone_is_kept() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 command c1
          => opened req-1 as id=0
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u asks 1 questions
          => opened req-2 as id=1
          => emit request_opened id=req-2 kind=input questions=[{"header":"","id":"c","options":[],"other":false,"question":"Which?","secret":false}] thread=t
        gone killed
          => emit ledger stage=unknown
          => read the thread
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1 why="Codex ended before it got this answer: kept for the next turn, if that asks the same"
          => fate req-1 kept
        answer req-2 give c red by user
          => emit request_closed by=user decision=void id=req-2 why="Codex ended before it got this answer, and the answer cannot be kept"
          => fate req-2 void
        found ended u interrupted
          => emit ledger stage=unknown
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message=killed next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_kept_answer_serves_once_for_the_identical_thing() {
    check(expect![[r#"
        escrow req-0 accept by user for u asks 7 command c9
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < u asks 0 network
          => opened req-1 as id=0
          => emit request_opened host=example.org id=req-1 item=n kind=network place=outside protocol=https thread=t
        < u asks 1 command c1
          => opened req-2 as id=1
          => emit request_opened command=ls cwd=/w id=req-2 item=c1 kind=command place=undecidable thread=t
          => escrow of req-0 answers req-2
          => emit request_closed by=user decision=accept id=req-2 why="answered before Codex was lost (req-0), and kept for this turn"
          => delivering req-2 by user
          => reply id=1 {"decision":"accept"}
        < u asks 2 command c2
          => opened req-3 as id=2
          => emit request_opened command=ls cwd=/w id=req-3 item=c2 kind=command place=undecidable thread=t
    "#]]);
}

#[test]
fn the_floor_holds_over_a_kept_answer() {
    check(expect![[r#"
        escrow req-0 accept by user for {"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"c","command":"rm -rf /","cwd":"/w"}}
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        < {"method":"item/commandExecution/requestApproval","id":3,"params":{"threadId":"t","turnId":"u","itemId":"c2","command":"rm -rf /","cwd":"/w"}}
          => opened req-1 as id=3
          => emit request_opened command="rm -rf /" cwd=/w id=req-1 item=c2 kind=command place=undecidable thread=t
          => emit request_closed by=floor decision=decline id=req-1 why="the hard floor (remove-system): it would remove the system or a home directory"
          => delivering req-1 by floor
          => steer t/u "This request was declined: rm -rf /\nThe reason: the hard floor (remove-system): it would remove the system or a home directory"
          => reply id=3 {"decision":"decline"}
    "#]]);
}

#[test]
fn a_kept_answer_expires() {
    check(expect![[r#"
        escrow req-0 accept by user for u asks 7 command c9
        accepted u
          => emit turn_started turn=u
        at 10000ms
        < u asks 1 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
          => emit warning message="an answer that was given before Codex was lost is not used: it has expired"
    "#]]);
}

/// Frames of the real Codex until the first engine died in the middle of a message, and its response to the next one.
macro_rules! captured {
    ($version:literal, $reading:literal) => {
        [
            include_str!(concat!("../../../fixtures/adopted/", $version, "/live.jsonl")),
            include_str!(concat!("../../../fixtures/adopted/", $version, "/", $reading, ".json")),
        ]
    };
}

fn check_captured([live, reading]: [&str; 2], expected: Expect) {
    let history = serde_json::from_str::<ThreadReadReply>(reading).unwrap().thread;
    let (thread, turn) = (history.id.clone(), history.turns[0].id.clone());
    let named = |text: &str| text.replace(thread.as_str(), "t").replace(turn.as_str(), "u");
    let mut run = Run::new();
    run.step("accepted u");
    for line in live.lines().filter(|line| line.contains("\"method\"")) {
        run.step(&format!("< {}", named(line)));
    }
    run.step("restart");
    run.shown.clear();
    let history = serde_json::from_str::<ThreadReadReply>(&named(reading)).unwrap().thread.resumed_warm();
    let sent = RecordedInput {
        deed: Deed::Words,
        client_id: None,
        last_turn: None,
        input: &[],
        turn: run.turn.id(),
    };
    let settlement = settle(&sent, &history, Vantage::Reconnected);
    run.turn.handle(run.now, Input::Settled(settlement));
    run.drain();
    let brief = |line: &String| line.chars().take(150).collect::<String>();
    expected.assert_eq(&run.shown.iter().map(brief).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_real_codex_repeats_nothing_of_a_turn_that_runs() {
    check_captured(
        captured!("0.130.0", "running-resume"),
        expect![[
            r#"emit gap message="The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing" miss"#
        ]],
    );
    check_captured(
        captured!("0.166.0", "running-resume"),
        expect![[
            r#"emit gap message="The engine was down for a while. No further step was found afterwards; pieces of text and output from that time may be missing" miss"#
        ]],
    );
}

#[test]
fn the_real_codex_tells_what_was_missed_of_a_turn_that_runs() {
    check_captured(
        captured!("0.130.0", "later-resume"),
        expect![[r#"
            emit item_completed item.id=msg_4_0 item.kind=agent_message item.text="half whole"
            emit item_completed item.command="/bin/bash -lc 'echo three'" item.cwd=/home/dev/work item.id=call_4_1 item.kind=command item.output="three\n" item.st
            emit gap found=2 message="The engine was down for a while. 2 steps were found afterwards; pieces of text and output from that time may be missing" mis"#]],
    );
    check_captured(
        captured!("0.166.0", "later-resume"),
        expect![[r#"
            emit item_completed item.id=msg_4_0 item.kind=agent_message item.text="half whole"
            emit item_completed item.command="/bin/bash -lc 'echo three'" item.cwd=/home/dev/work item.id=call_4_1 item.kind=command item.output="three\n" item.st
            emit gap found=2 message="The engine was down for a while. 2 steps were found afterwards; pieces of text and output from that time may be missing" mis"#]],
    );
}

#[test]
fn the_real_codex_tells_what_was_missed_of_a_turn_that_ended() {
    check_captured(
        captured!("0.130.0", "ended-read"),
        expect![[r#"
            emit item_completed item.id=msg_4_0 item.kind=agent_message item.text="half whole"
            emit item_completed item.id=item-5 item.kind=agent_message item.phase=final_answer item.text=done
            emit gap found=2 message="The engine was down for a while. 2 steps were found afterwards; commands and other steps from that time may be missing, and 
            emit outcome outcome=completed text=done usage.partial=true
            finish completed exit 0"#]],
    );
    check_captured(
        captured!("0.166.0", "ended-read"),
        expect![[r#"
            emit item_completed item.id=msg_4_0 item.kind=agent_message item.text="half whole"
            emit item_completed item.command="/bin/bash -lc 'echo three'" item.cwd=/home/dev/work item.id=call_4_1 item.kind=command item.output="three\n" item.st
            emit item_completed item.id=msg_5_0 item.kind=agent_message item.phase=final_answer item.text=done
            emit gap found=3 message="The engine was down for a while. 3 steps were found afterwards; pieces of text and output from that time may be missing" mis
            emit outcome outcome=completed text=done usage.partial=true
            finish completed exit 0"#]],
    );
}

#[test]
fn a_conversation_that_cannot_be_read_is_read_five_times_a_second_apart() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        restart
          => read the thread
        found unreadable busy
        wake
          => wake 1000ms
        at 999ms
        tick
        at 1000ms
        tick
          => read the thread
        found unreadable busy
        wake
          => wake 2000ms
        at 2000ms
        tick
          => read the thread
        found unreadable busy
        at 3000ms
        tick
          => read the thread
        found unreadable busy
        wake
          => wake 4000ms
        at 4000ms
        tick
          => read the thread
        found unreadable busy
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Talaria ended while the turn ran; busy" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_conversation_that_can_be_read_at_the_fifth_attempt_goes_on() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        restart
          => read the thread
        found unreadable busy
        found unreadable busy
        found unreadable busy
        found unreadable busy
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u ends completed
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn sub_agents_are_followed_after_an_adoption() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < child/x item started command k1
          => emit agent_item_started item.command=ls item.cwd=/w item.id=k1 item.kind=command item.status=in_progress thread=child
        < child/x item started command k2
          => emit agent_item_started item.command=ls item.cwd=/w item.id=k2 item.kind=command item.status=in_progress thread=child
        < child/x item completed command k2
          => emit agent_item_completed item.command=ls item.cwd=/w item.id=k2 item.kind=command item.status=completed thread=child
        < child/x item started message k0 open
          => emit agent_item_started item.id=k0 item.kind=agent_message item.text=open thread=child
        < child/x item started message k3 half
          => emit agent_item_started item.id=k3 item.kind=agent_message item.text=half thread=child
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < child/x item started command k1
        < child/x item started command k2
        < child/x item completed command k2
        < child/x item completed message k3 whole
          => emit agent_item_completed item.id=k3 item.kind=agent_message item.text=whole thread=child
        < child/x item started command k4
          => emit agent_item_started item.command=ls item.cwd=/w item.id=k4 item.kind=command item.status=in_progress thread=child
        < child/x begins
        interrupt by user
          => emit interrupting by=user
          => interrupt u
          => interrupt child/x
        < child/x ends interrupted
          => emit agent_updated phase=interrupted thread=child
          => end the terminals of k1, k4 on child
        terminals ended
          => emit terminals_ended message=ended
        < u ends interrupted
          => emit outcome by=user outcome=interrupted usage.partial=true
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_sub_agent_that_had_ended_is_not_running_after_an_adoption() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < child/x ends completed
          => emit agent_updated phase=completed thread=child
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u ends completed
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn tokens_reported_to_no_engine_are_not_counted_as_none() {
    check(expect![[r#"
        baseline 1000
        accepted u
          => emit turn_started turn=u
        < u usage 1100
          => emit usage_updated context=7 input=7 turn.input=100 turn.total=100 window=1000
        restart
          => read the thread
        found running u | completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit gap found=1 message="The engine was down for a while. One step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u ends completed
          => emit outcome outcome=completed usage.input=100 usage.partial=true usage.total=100
          => finish completed exit 0 total at least 1100
    "#]]);
}

#[test]
fn the_next_total_makes_up_for_a_missed_one() {
    check(expect![[r#"
        baseline 1000
        accepted u
          => emit turn_started turn=u
        < u usage 1100
          => emit usage_updated context=7 input=7 turn.input=100 turn.total=100 window=1000
        restart
          => read the thread
        found running u | completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit gap found=1 message="The engine was down for a while. One step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u usage 1500
          => emit usage_updated context=7 input=7 turn.input=500 turn.total=500 window=1000
        < u ends completed
          => emit outcome outcome=completed usage.input=500 usage.total=500
          => finish completed exit 0 total 1500
    "#]]);
}

#[test]
fn a_turn_on_a_total_that_is_not_known_is_a_lower_bound_after_a_restart() {
    check(expect![[r#"
        baseline at least 1000
        accepted u
          => emit turn_started turn=u
        restart
          => read the thread
        found running u | completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit gap found=1 message="The engine was down for a while. One step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u usage 5007
          => emit usage_updated context=7 input=7 turn.input=7 turn.partial=true turn.total=7 window=1000
        < u ends completed
          => emit outcome outcome=completed usage.input=7 usage.partial=true usage.total=7
          => finish completed exit 0 total at least 5007
    "#]]);
}
