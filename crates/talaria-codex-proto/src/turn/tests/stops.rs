//! Stopping: requested once, sent once, and the outcome names the requester, or that Codex never reported the
//! end.

use expect_test::expect;

use super::script::check;

#[test]
fn an_interrupt_is_sent_once_and_the_outcome_says_by_whom() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        interrupt by user
          => emit interrupting by=user
        interrupt by user
        interrupt by deadline
        wake
          => wake 10000ms
        steerable
          => steerable nothing
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn an_interrupt_before_acceptance_is_not_sent_on_acceptance_but_when_the_turn_begins() {
    check(expect![[r#"
        interrupt by user
          => emit interrupting by=user
        interrupt by user
        at 2s
        accepted u
          => emit turn_started turn=u
        wake
          => wake 10000ms
        < u begins
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn an_interrupt_before_acceptance_is_sent_when_the_turn_begins() {
    check(expect![[r#"
        interrupt by user
          => emit interrupting by=user
        < u begins
          => emit turn_started turn=u
          => interrupt u
        accepted u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn an_interrupt_between_acceptance_and_beginning_is_sent_once_at_the_beginning() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        at 1s
        interrupt by user
          => emit interrupting by=user
        at 2s
        < old begins
        < u begins
          => interrupt u
        wake
          => wake 12000ms
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn an_interrupt_after_the_turn_began_is_sent_once() {
    check(expect![[r#"
        < u begins
          => emit turn_started turn=u
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        accepted u
        interrupt by user
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

/// A refusal is no end: the turn may still complete, be interrupted, or run on until the limit.
#[test]
fn a_refused_interrupt_is_reported_and_the_end_of_the_turn_decides() {
    check(expect![[r#"
        < u begins
          => emit turn_started turn=u
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        uninterrupted u no active turn to interrupt
          => emit warning message="Codex refused to interrupt the turn (no active turn to interrupt); Talaria waits up to 10 s for it to end by itself"
        < u item completed message m1 done anyway
          => emit item_completed item.id=m1 item.kind=agent_message item.text="done anyway"
        < u ends completed
          => emit outcome outcome=completed text="done anyway"
          => finish completed exit 0
    "#]]);
    check(expect![[r#"
        < u begins
          => emit turn_started turn=u
        at 1s
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        uninterrupted u busy
          => emit warning message="Codex refused to interrupt the turn (busy); Talaria waits up to 10 s for it to end by itself"
        uninterrupted child busy
        at 11s
        tick
          => escalate
    "#]]);
}

/// The end of the turn overtook the interrupt: a refusal after it says nothing new.
#[test]
fn an_interrupt_that_is_refused_after_the_turn_ended_is_not_reported() {
    check(expect![[r#"
        < u begins
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        < u ends completed
        uninterrupted u no active turn to interrupt
    "#]]);
}

#[test]
fn a_codex_that_does_not_stop_is_ended_and_that_is_said() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        at 1s
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        at 10999ms
        tick
        at 11s
        tick
          => escalate
        gone ended by us
        interrupt by user
        wake
          => wake 41000ms
        escalated host_ended
          => emit escalated action=host_ended
          => emit item_abandoned item=c1
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_codex_with_other_turns_is_left_alone_and_the_turn_is_given_up() {
    check(expect![[r#"
        interrupt by user
          => emit interrupting by=user
        at 9999ms
        tick
        at 10s
        tick
          => escalate
        accepted u
          => emit turn_started turn=u
        escalated abandoned
          => emit escalated action=abandoned
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex did not begin the turn within 10 s of the wish to stop it; other turns run on the same Codex, so this one was abandoned" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
        accepted u
    "#]]);
}

#[test]
fn a_turn_that_completes_in_spite_of_an_interrupt_completed() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        interrupt by user
          => emit interrupting by=user
        < u item completed message m1 done anyway
          => interrupt u
          => emit item_completed item.id=m1 item.kind=agent_message item.text="done anyway"
        < u ends completed
          => emit outcome outcome=completed text="done anyway"
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_turn_that_fails_in_spite_of_an_interrupt_failed() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        interrupt by user
          => emit interrupting by=user
        < u ends failed boom
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message=boom next_step.step=doctor outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn cancelling_a_request_interrupts_by_the_one_who_cancelled() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started patch p1
          => emit item_started item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=in_progress
        < u asks 0 patch p1
          => emit request_opened changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] id=req-1 item=p1 kind=patch place=outside thread=t
        answer req-1 cancel by user
          => emit request_closed by=user decision=cancel id=req-1
          => reply id=0 {"decision":"cancel"}
        < u resolved 0
        < u ends interrupted
          => emit item_abandoned item=p1 why=not_run
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn an_interrupt_voids_open_requests_when_the_turn_ends() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        interrupt by user
          => emit interrupting by=user
        < u resolved 0
          => emit request_closed by=codex decision=void id=req-1
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_request_can_still_be_answered_while_codex_stops() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        interrupt by user
          => emit interrupting by=user
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 decline by user
          => emit request_closed by=user decision=decline id=req-1
          => reply id=0 {"decision":"decline"}
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_cancel_after_the_deadline_does_not_hide_the_deadline() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        at 100ms
        tick
          => emit interrupting by=deadline
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        answer req-1 cancel by user
          => emit request_closed by=user decision=cancel id=req-1
          => reply id=0 {"decision":"cancel"}
        < u ends interrupted
          => emit outcome by=deadline outcome=interrupted
          => finish interrupted exit 5
    "#]]);
}

#[test]
fn an_interrupt_after_the_end_is_too_late() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends completed
        interrupt by user
        at 400ms
        tick
          => find the terminals of c1
        background
          => emit item_abandoned item=c1
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn to_cancel_a_tool_or_a_sub_agents_command_stops_the_turn_too() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u asks 0 tool
          => emit request_opened id=req-1 kind=tool message=Run? place=outside server=tiny thread=t
        answer req-1 cancel by user
          => emit request_closed by=user decision=cancel id=req-1
          => reply id=0 {"_meta":null,"action":"cancel","content":null}
          => emit interrupting by=user
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < child/x asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=child
        answer req-1 cancel by user
          => emit request_closed by=user decision=cancel id=req-1
          => reply id=0 {"decision":"cancel"}
          => emit interrupting by=user
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

/// Codex may refuse the interrupt; the machine does not see that, and the end of the turn decides.
#[test]
fn an_interrupt_without_effect_leaves_the_end_to_codex() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        at 9s
        < u item completed message m1 still here
          => emit item_completed item.id=m1 item.kind=agent_message item.text="still here"
        wake
          => wake 10000ms
        < u ends completed
          => emit outcome outcome=completed text="still here"
          => finish completed exit 0
    "#]]);
}
