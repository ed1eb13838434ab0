//! Time: the caller's limit runs only while no one is being asked, and ticks by themselves do nothing.

use expect_test::expect;

use super::script::check;

#[test]
fn the_deadline_interrupts_and_the_exit_code_says_so() {
    check(expect![[r#"
        limit 100ms
        wake
          => wake 100ms
        accepted u
          => emit turn_started turn=u
        at 99ms
        tick
        at 100ms
        tick
          => emit interrupting by=deadline
        wake
          => wake 10100ms
        at 110ms
        < u ends interrupted
          => emit outcome by=deadline outcome=interrupted
          => finish interrupted exit 5
    "#]]);
}

#[test]
fn the_deadline_runs_before_acceptance_too() {
    check(expect![[r#"
        limit 100ms
        at 100ms
        tick
          => emit interrupting by=deadline
        at 120ms
        accepted u
          => emit turn_started turn=u
        at 130ms
        < u ends interrupted
          => emit outcome by=deadline outcome=interrupted
          => finish interrupted exit 5
    "#]]);
}

#[test]
fn any_input_after_the_deadline_notices_it() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        at 150ms
        < u delta m1 text
          => emit text_delta delta=text item=m1
          => emit interrupting by=deadline
          => interrupt u
    "#]]);
}

#[test]
fn an_end_that_comes_after_the_deadline_but_before_its_tick_counts() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        at 150ms
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_deadline_stops_while_a_person_is_asked_and_runs_on_after_the_answer() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        at 40ms
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        wake
          => wake never
        at 3600s
        tick
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        wake
          => wake 3600060ms
        at 3600059ms
        tick
        at 3600060ms
        tick
          => emit interrupting by=deadline
    "#]]);
}

#[test]
fn the_deadline_stands_still_until_the_last_open_request_is_answered() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        at 10ms
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        at 20ms
        < u asks 1 command c2
          => emit request_opened command=ls cwd=/w id=req-2 item=c2 kind=command place=undecidable thread=t
        at 500ms
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u resolved 0
        wake
          => wake never
        at 900ms
        answer req-2 decline by user
          => emit request_closed by=user decision=decline id=req-2
          => reply id=1 {"decision":"decline"}
        wake
          => wake 990ms
        at 950ms
        < u resolved 1
        wake
          => wake 990ms
    "#]]);
}

#[test]
fn a_request_that_codex_resolves_starts_the_clock_again() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        at 500ms
        < u resolved 7
        wake
          => wake never
        < u resolved 0
          => emit request_closed by=other_client decision=void id=req-1
        wake
          => wake 600ms
    "#]]);
}

#[test]
fn a_request_that_this_build_declines_does_not_stop_the_clock() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        at 50ms
        < u asks 0 vague form
          => emit request_opened id=req-1 kind=unsupported method=mcpServer/elicitation/request summary="the MCP server tiny asks with a form that cannot be shown: Who?" thread=t
          => emit request_closed by=talaria decision=decline id=req-1
          => reply id=0 {"_meta":null,"action":"decline","content":null}
        wake
          => wake 100ms
    "#]]);
}

#[test]
fn a_request_that_comes_after_the_deadline_does_not_win_time() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        at 150ms
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        at 200ms
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
          => emit interrupting by=deadline
    "#]]);
}

#[test]
fn the_deadline_does_not_fire_in_the_wait_for_late_items() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        at 90ms
        < u ends completed
        wake
          => wake 490ms
        at 200ms
        tick
        at 490ms
        tick
          => find the terminals of c1
        background
          => emit item_abandoned item=c1
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn without_a_limit_silence_ends_nothing() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        wake
          => wake never
        at 864000s
        tick
        tick
        wake
          => wake never
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn early_and_repeated_ticks_change_nothing() {
    check(expect![[r#"
        limit 100ms
        tick
        tick
        accepted u
          => emit turn_started turn=u
        tick
        at 99ms
        tick
        tick
        wake
          => wake 100ms
        at 100ms
        tick
          => emit interrupting by=deadline
        tick
        tick
        wake
          => wake 10100ms
    "#]]);
}

#[test]
fn a_deadline_that_codex_ignores_is_enforced() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        < u begins
        at 100ms
        tick
          => emit interrupting by=deadline
          => interrupt u
        at 10099ms
        tick
        at 10100ms
        tick
          => escalate
        escalated host_ended
          => emit escalated action=host_ended
          => emit outcome by=deadline outcome=interrupted
          => finish interrupted exit 5
    "#]]);
}

#[test]
fn a_deadline_that_codex_ignores_beside_other_turns_is_lost_not_completed() {
    check(expect![[r#"
        limit 100ms
        accepted u
          => emit turn_started turn=u
        < u begins
        at 100ms
        tick
          => emit interrupting by=deadline
          => interrupt u
        at 10100ms
        tick
          => escalate
        escalated abandoned
          => emit escalated action=abandoned
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex did not end the turn within 10 s of the wish to stop it; other turns run on the same Codex, so this one was abandoned" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_deadline_before_the_beginning_is_enforced_too() {
    check(expect![[r#"
        limit 100ms
        at 100ms
        tick
          => emit interrupting by=deadline
        at 10100ms
        tick
          => escalate
        escalated host_ended
          => emit escalated action=host_ended
          => emit outcome by=deadline outcome=interrupted
          => finish interrupted exit 5
    "#]]);
}
