//! Delivery of the input: each stage is reported before its step, nothing is sent twice, and an unknown stage is
//! settled only by reading the thread.

use expect_test::expect;

use super::script::check;

#[test]
fn every_stage_is_told_before_its_step() {
    check(expect![[r#"
        unsent
        client mine-1
        after old
        ledger
        send
          => emit ledger after=old client_id=mine-1 stage=sent
          => start
        send
        accepted u
          => emit ledger after=old client_id=mine-1 stage=accepted
          => emit turn_started turn=u
        < u begins
        < u ends completed
          => emit ledger after=old client_id=mine-1 stage=settled
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_interrupt_before_anything_was_sent_sends_nothing() {
    check(expect![[r#"
        unsent
        ledger
        interrupt by user
          => emit interrupting by=user
          => emit ledger stage=settled
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
        send
    "#]]);
}

#[test]
fn a_deadline_before_anything_was_sent_sends_nothing() {
    check(expect![[r#"
        limit 10ms
        unsent
        at 10ms
        tick
          => emit interrupting by=deadline
          => emit outcome by=deadline outcome=interrupted
          => finish interrupted exit 5
        send
    "#]]);
}

#[test]
fn codex_gone_before_anything_was_sent_is_a_failure_that_did_nothing() {
    check(expect![[r#"
        unsent
        ledger
        gone killed
          => emit ledger stage=settled
          => emit outcome code=not_sent hint="nothing was done; send the prompt again" message="nothing was sent to Codex: killed" next_step.step=send_again outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn an_input_that_codex_never_took_is_not_sent_again_and_not_called_lost() {
    check(expect![[r#"
        ledger
        unanswered no answer within 30 s
          => emit ledger stage=unknown
          => read the thread
        found absent
          => emit ledger stage=settled
          => emit outcome code=not_sent hint="nothing was done; send the prompt again" message="Codex never took the input: no answer within 30 s" next_step.step=send_again outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn an_unanswered_turn_that_the_thread_shows_running_is_followed() {
    check(expect![[r#"
        ledger
        unanswered no answer within 30 s
          => emit ledger stage=unknown
          => read the thread
        found running u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        steerable
          => steerable u
        < u item completed message m1 done
          => emit item_completed item.id=m1 item.kind=agent_message item.text=done
        < u ends completed
          => emit ledger stage=settled
          => emit outcome outcome=completed text=done
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_unanswered_turn_that_begins_while_the_thread_is_read_is_followed() {
    check(expect![[r#"
        unanswered no answer within 30 s
          => read the thread
        < u begins
          => emit turn_started turn=u
        found absent
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_unanswered_turn_that_somebody_wanted_to_stop_is_stopped_when_it_is_found() {
    check(expect![[r#"
        interrupt by user
          => emit interrupting by=user
        unanswered no answer within 30 s
          => read the thread
        found running u
          => emit turn_started turn=u
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_turn_that_had_completed_before_codex_went_completed() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        gone killed
          => read the thread
        found ended u completed the answer
          => emit outcome outcome=completed text="the answer"
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_was_heard_counts_more_than_what_is_read() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed final m1 heard
          => emit item_completed item.id=m1 item.kind=agent_message item.phase=final_answer item.text=heard
        gone killed
          => read the thread
        found ended u completed read
          => emit outcome outcome=completed text=heard
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_turn_that_broke_off_with_codex_is_lost_with_the_reason() {
    check(expect![[r#"
        ledger
        accepted u
          => emit ledger stage=accepted
          => emit turn_started turn=u
        gone Codex was killed by signal 9
          => emit ledger stage=unknown
          => read the thread
        found ended u interrupted
          => emit ledger stage=unknown
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex was killed by signal 9" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_turn_that_runs_on_a_codex_that_is_gone_is_no_evidence() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        gone killed
          => read the thread
        found running u
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message=killed next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_turn_that_the_thread_does_not_have_although_codex_took_it_is_lost() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        gone killed
          => read the thread
        found absent
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="killed; the conversation does not have the turn" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_thread_that_is_not_read_in_time_is_lost() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        gone killed
          => read the thread
        wake
          => wake 90000ms
        at 90s
        tick
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="killed; the conversation could not be read within 90 s" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn an_interrupt_while_the_thread_is_read_does_not_wait() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        gone killed
          => read the thread
        interrupt by user
          => emit interrupting by=user
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message=killed next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
        found ended u completed
    "#]]);
}

#[test]
fn a_refusal_after_the_turn_began_is_none() {
    check(expect![[r#"
        < u begins
          => emit turn_started turn=u
        refused -32600 late
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_beginning_of_the_turn_before_is_not_ours() {
    check(expect![[r#"
        after old
        < old begins
        < old ends completed
        accepted u
          => emit turn_started turn=u
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}
