//! How a turn ends, and that it ends once: only by what Codex said, by its refusal, or by its disappearance.

use expect_test::expect;

use super::script::check;

#[test]
fn a_plain_turn_completes_with_its_text() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        steerable
          => steerable u
        < u begins
        < u item started user um hello
        < u item completed user um hello
          => heard um
        < u item started message m1
          => emit item_started item.id=m1 item.kind=agent_message item.text=""
        < u delta m1 good
          => emit text_delta delta=good item=m1
        < u delta m1 bye
          => emit text_delta delta=bye item=m1
        < u item completed message m1 good bye
          => emit item_completed item.id=m1 item.kind=agent_message item.text="good bye"
        < u usage 120/100/40/20/5
          => emit usage_updated context=7 input=7 turn.cached=40 turn.input=100 turn.output=20 turn.reasoning=5 turn.total=120 window=1000
        < u ends completed
          => emit outcome outcome=completed text="good bye" usage.cached=40 usage.input=100 usage.output=20 usage.reasoning=5 usage.total=120
          => finish completed exit 0 total 120
        steerable
          => steerable nothing
        wake
          => wake never
    "#]]);
}

#[test]
fn the_answer_to_turn_start_may_come_after_the_turn_began() {
    check(expect![[r#"
        < {"method":"warning","params":{"threadId":"t","message":"before the answer"}}
          => emit warning message="before the answer"
        < u begins
          => emit turn_started turn=u
        < u item started message m1
          => emit item_started item.id=m1 item.kind=agent_message item.text=""
        accepted u
        < u item completed message m1 hi
          => emit item_completed item.id=m1 item.kind=agent_message item.text=hi
        < u ends completed
          => emit outcome outcome=completed text=hi
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_answer_to_turn_start_may_come_before_the_turn_began() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_refused_turn_failed() {
    check(expect![[r#"
        refused -32602 input_too_large
          => emit outcome code=input_too_large hint="shorten the prompt, or let Codex read a file instead" message="Codex refused the turn: no" next_step.step=shorten_prompt outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn a_refusal_for_any_other_reason_is_told_in_codex_words() {
    check(expect![[r#"
        refused -32600 other
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message="Codex refused the turn: no" next_step.step=doctor outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn a_failure_without_a_reason_is_a_failure() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u ends failed
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message="Codex says that the turn failed, but not why" next_step.step=doctor outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn a_failure_has_the_class_of_its_reason() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u retry Reconnecting... 1/5
          => emit retrying message="Reconnecting... 1/5"
        < {"method":"error","params":{"threadId":"t","turnId":"u","willRetry":false,"error":{"message":"unexpected status 401 Unauthorized: x"}}}
        < u ends failed unexpected status 401 Unauthorized: x
          => emit outcome code=auth hint="run `talaria login`, then try again" message="unexpected status 401 Unauthorized: x" next_step.step=login outcome=failed
          => finish failed exit 6
    "#]]);
}

#[test]
fn an_interruption_that_nobody_asked_for_is_by_codex() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u ends interrupted
          => emit outcome by=codex outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_status_that_this_build_does_not_know_is_lost() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u ends levitated
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex ended the turn without saying how" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn an_end_that_says_in_progress_is_lost() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u ends inProgress
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex ended the turn without saying how" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_refused_turn_that_waits_for_an_interrupt_failed() {
    check(expect![[r#"
        interrupt by user
          => emit interrupting by=user
        refused -32602 input_too_large
          => emit outcome code=input_too_large hint="shorten the prompt, or let Codex read a file instead" message="Codex refused the turn: no" next_step.step=shorten_prompt outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn codex_gone_before_it_answered_is_lost_if_the_thread_does_not_tell() {
    check(expect![[r#"
        gone killed
          => read the thread
        gone killed again
        found unreadable no rollout found
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="killed; no rollout found" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn codex_gone_in_the_middle_closes_what_is_open_and_is_lost() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item started message m1
          => emit item_started item.id=m1 item.kind=agent_message item.text=""
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        gone killed
          => read the thread
        found ended u interrupted
          => emit request_closed by=codex decision=void id=req-1
          => emit item_abandoned item=c1 why=not_run
          => emit item_abandoned item=m1
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message=killed next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn codex_gone_while_it_interrupts_is_interrupted_if_the_thread_says_so() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        interrupt by user
          => emit interrupting by=user
        gone killed
          => read the thread
        found ended u interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn codex_gone_after_it_said_how_the_turn_ended_changes_nothing_about_that() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item completed message m1 done
          => emit item_completed item.id=m1 item.kind=agent_message item.text=done
        < u ends completed
        gone killed
          => emit item_abandoned item=c1
          => emit outcome outcome=completed text=done
          => finish completed exit 0
    "#]]);
}

#[test]
fn nothing_comes_out_after_the_end() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
        < u ends failed late
        < u item started command c1
        < u asks 0 command c1
        answer req-1 accept by user
        interrupt by user
        accepted v
        refused -1 x
        < {"method":"thread/levitated","params":{}}
        gone killed
        at 60s
        tick
        wake
          => wake never
        steerable
          => steerable nothing
    "#]]);
}

#[test]
fn a_second_end_of_the_same_turn_changes_nothing() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends completed
        at 300ms
        < u ends failed again
        wake
          => wake 400ms
        < u ends interrupted
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
fn the_last_final_message_is_the_text_whatever_follows() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed commentary m1 I look
          => emit item_completed item.id=m1 item.kind=agent_message item.phase=commentary item.text="I look"
        < u item completed final m2 the answer
          => emit item_completed item.id=m2 item.kind=agent_message item.phase=final_answer item.text="the answer"
        < u item completed message m3 a later remark
          => emit item_completed item.id=m3 item.kind=agent_message item.text="a later remark"
        < u ends completed
          => emit outcome outcome=completed text="the answer"
          => finish completed exit 0
    "#]]);
}

#[test]
fn without_a_final_message_the_last_unmarked_one_is_the_text() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed message m1 one
          => emit item_completed item.id=m1 item.kind=agent_message item.text=one
        < u item completed message m2 two
          => emit item_completed item.id=m2 item.kind=agent_message item.text=two
        < u item completed commentary m3 I look
          => emit item_completed item.id=m3 item.kind=agent_message item.phase=commentary item.text="I look"
        < u ends completed
          => emit outcome outcome=completed text=two
          => finish completed exit 0
    "#]]);
}

#[test]
fn commentary_and_half_a_message_are_no_text() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed commentary m1 I look
          => emit item_completed item.id=m1 item.kind=agent_message item.phase=commentary item.text="I look"
        < u item started message m2
          => emit item_started item.id=m2 item.kind=agent_message item.text=""
        < u delta m2 hal
          => emit text_delta delta=hal item=m2
        < u ends interrupted
          => emit item_abandoned item=m2
          => emit outcome by=codex outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_failed_turn_keeps_the_text_it_had() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed message m1 so far
          => emit item_completed item.id=m1 item.kind=agent_message item.text="so far"
        < u ends failed boom
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message=boom next_step.step=doctor outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn usage_is_the_difference_of_totals() {
    check(expect![[r#"
        baseline 1000/900/500/100/50
        accepted u
          => emit turn_started turn=u
        < u usage 1100/980/540/120/55
          => emit usage_updated context=7 input=7 turn.cached=40 turn.input=80 turn.output=20 turn.reasoning=5 turn.total=100 window=1000
        < u usage 1300/1150/640/150/60
          => emit usage_updated context=7 input=7 turn.cached=140 turn.input=250 turn.output=50 turn.reasoning=10 turn.total=300 window=1000
        < u ends completed
          => emit outcome outcome=completed usage.cached=140 usage.input=250 usage.output=50 usage.reasoning=10 usage.total=300
          => finish completed exit 0 total 1300
    "#]]);
}

#[test]
fn usage_of_a_total_that_went_down_counts_from_zero() {
    check(expect![[r#"
        baseline 1000
        accepted u
          => emit turn_started turn=u
        < u usage 30
          => emit usage_updated context=7 input=7 turn.input=30 turn.total=30 window=1000
        < u ends completed
          => emit outcome outcome=completed usage.input=30 usage.total=30
          => finish completed exit 0 total 30
    "#]]);
}

#[test]
fn a_total_that_may_lack_something_is_corrected_by_the_first_report() {
    check(expect![[r#"
        baseline at least 1000
        accepted u
          => emit turn_started turn=u
        < u item completed message m1 so far
          => emit item_completed item.id=m1 item.kind=agent_message item.text="so far"
        < u usage 5007
          => emit usage_updated context=7 input=7 turn.input=7 turn.total=7 window=1000
        < u usage 5107
          => emit usage_updated context=7 input=7 turn.input=107 turn.total=107 window=1000
        < u ends completed
          => emit outcome outcome=completed text="so far" usage.input=107 usage.total=107
          => finish completed exit 0 total 5107
    "#]]);
}

#[test]
fn figures_repeated_before_the_model_speaks_are_those_of_the_turn_before() {
    check(expect![[r#"
        baseline at least 1000
        accepted u
          => emit turn_started turn=u
        < u usage 5000
          => emit usage_updated context=7 input=7 window=1000
        < u item completed message m1 so far
          => emit item_completed item.id=m1 item.kind=agent_message item.text="so far"
        < u usage 5007
          => emit usage_updated context=7 input=7 turn.input=7 turn.total=7 window=1000
        < u ends completed
          => emit outcome outcome=completed text="so far" usage.input=7 usage.total=7
          => finish completed exit 0 total 5007
    "#]]);
}

#[test]
fn figures_that_a_compaction_repeats_are_not_spent_by_the_turn() {
    check(expect![[r#"
        baseline at least 1000
        accepted u
          => emit turn_started turn=u
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_started item.id=k item.kind=compaction
        < u usage 5000
          => emit usage_updated context=7 input=7 window=1000
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_completed item.by=codex item.id=k item.kind=compaction
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0 total 5000
    "#]]);
}

#[test]
fn a_turn_without_usage_keeps_the_total() {
    check(expect![[r#"
        baseline 1000
        accepted u
          => emit turn_started turn=u
        < u ends failed boom
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message=boom next_step.step=doctor outcome=failed
          => finish failed exit 1 total 1000
    "#]]);
}

#[test]
fn an_end_in_an_unknown_form_is_lost_if_it_is_of_this_turn() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"old","status":[]}}}
          => emit unknown method=turn/completed raw.method=turn/completed raw.params.threadId=t raw.params.turn.id=old raw.params.turn.status=[]
        < {"method":"turn/completed","params":{"threadId":"elsewhere","turn":{"id":"u","status":[]}}}
          => emit unknown method=turn/completed raw.method=turn/completed raw.params.threadId=elsewhere raw.params.turn.id=u raw.params.turn.status=[]
        < {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":[]}}}
          => emit unknown method=turn/completed raw.method=turn/completed raw.params.threadId=t raw.params.turn.id=u raw.params.turn.status=[]
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex ended the turn in a form that this version does not understand" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn a_turn_start_without_an_answer_is_lost_unless_the_turn_was_seen_to_begin() {
    check(expect![[r#"
        unanswered no answer within 30 s
          => read the thread
        found unreadable no answer either
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="no answer within 30 s; no answer either" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
    check(expect![[r#"
        < u begins
          => emit turn_started turn=u
        unanswered no answer within 30 s
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_login_that_codex_complained_of_explains_an_end_without_a_reason() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        login trouble
        < u ends failed boom
          => emit outcome code=auth hint="run `talaria login`, then try again" message=boom next_step.step=login outcome=failed
          => finish failed exit 6
    "#]]);
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        login trouble
        gone Codex ended unexpectedly
          => read the thread
        found ended u interrupted
          => emit outcome hint="run `talaria login`, then try again" message="Codex ended unexpectedly" next_step.step=login outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        login trouble
        < {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed","error":{"message":"limit","codexErrorInfo":"usageLimitExceeded"}}}}
          => emit outcome code=usage_limit hint="wait until the limit resets, or choose another model" message=limit next_step.step=await_limit outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn a_known_end_holds_whatever_form_a_second_one_has() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed message m1 done
          => emit item_completed item.id=m1 item.kind=agent_message item.text=done
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends completed
        < {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":[]}}}
          => emit unknown method=turn/completed raw.method=turn/completed raw.params.threadId=t raw.params.turn.id=u raw.params.turn.status=[]
          => emit item_abandoned item=c1
          => emit outcome outcome=completed text=done
          => finish completed exit 0
    "#]]);
}
