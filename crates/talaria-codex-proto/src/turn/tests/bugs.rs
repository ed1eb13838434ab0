//! Faults of the reference that a transcript can show, each as the promise that takes its place. The numbers are those
//! of `docs/dev/traceability/faults.md`; what needs a real process or a real file is tested elsewhere, and that page
//! says where.

use expect_test::expect;

use super::script::{Run, check};

mod questions;

/// BUG-01. The end of the interrupted turn always arrives after the next one was requested.
#[test]
fn the_late_end_of_an_interrupted_turn_neither_ends_nor_fills_the_next() {
    check(expect![[r#"
        after old
        < old item completed message m0 the old answer
        < old ends interrupted
        accepted u
          => emit turn_started turn=u
        < old ends interrupted
        < u begins
        < u item completed message m1 the new answer
          => emit item_completed item.id=m1 item.kind=agent_message item.text="the new answer"
        < u ends completed
          => emit outcome outcome=completed text="the new answer"
          => finish completed exit 0
    "#]]);
}

/// BUG-02. A command that takes minutes after another one has ended is work, not silence.
#[test]
fn a_long_command_after_another_one_is_never_interrupted() {
    check(expect![[r#"
        quiet 90s
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item completed command a
          => emit item_completed item.command=ls item.cwd=/w item.id=a item.kind=command item.status=completed
        at 1s
        < u item started command b
          => emit item_started item.command=ls item.cwd=/w item.id=b item.kind=command item.status=in_progress
        at 80s
        < {"method":"item/commandExecution/outputDelta","params":{"threadId":"t","turnId":"u","itemId":"b","delta":"test 1"}}
          => emit output_delta delta="test 1" item=b
        at 160s
        < {"method":"item/reasoning/textDelta","params":{"threadId":"t","turnId":"u","itemId":"r","delta":"hm","contentIndex":0}}
        at 249s
        tick
        at 250s
        tick
          => emit quiet open_items=["b"] seconds=90
          => read the thread
        found running u
        at 100000s
        tick
          => emit quiet open_items=["b"] seconds=99840
          => read the thread
        steerable
          => steerable u
        < u item completed command b
          => emit item_completed item.command=ls item.cwd=/w item.id=b item.kind=command item.status=completed
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

/// BUG-03. The end is the end, whatever questions are open around it.
#[test]
fn an_end_among_questions_ends_the_turn_at_once() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u ends completed
          => emit request_closed by=codex decision=void id=req-1
          => emit outcome outcome=completed
          => finish completed exit 0
        < u asks 1 command c2
        wake
          => wake never
    "#]]);
}

/// BUG-04. Output before and between questions is shown as at any other time.
#[test]
fn everything_around_a_question_is_shown() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u delta m1 before
          => emit text_delta delta=before item=m1
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        < u delta m1 while
          => emit text_delta delta=while item=m1
        < u item completed message m1 before while
          => emit item_completed item.id=m1 item.kind=agent_message item.text="before while"
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < u delta m2 after
          => emit text_delta delta=after item=m2
    "#]]);
}

/// BUG-07. Ten minutes of a person's thinking cost nothing of the caller's limit.
#[test]
fn ten_minutes_at_a_question_do_not_end_the_turn() {
    check(expect![[r#"
        limit 600s
        accepted u
          => emit turn_started turn=u
        < u begins
        at 1s
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        at 601s
        tick
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        at 1199s
        tick
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

/// BUG-08. No limit applies unless one is set.
#[test]
fn a_turn_may_work_for_a_day() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        at 86400s
        tick
        < u delta m1 still here
          => emit text_delta delta="still here" item=m1
        wake
          => wake never
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

/// BUG-09. A stop before the turn was sent, or before Codex accepted it, is respected.
#[test]
fn a_stop_before_the_turn_began_is_not_forgotten() {
    check(expect![[r#"
        unsent
        interrupt by user
          => emit interrupting by=user
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
        send
    "#]]);
    check(expect![[r#"
        interrupt by user
          => emit interrupting by=user
        accepted u
          => emit turn_started turn=u
        < u begins
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

/// BUG-10. Only `completed` is a success.
#[test]
fn a_failure_without_an_error_and_an_interruption_by_codex_are_no_success() {
    for (status, word) in [("failed", "failed"), ("interrupted", "interrupted"), ("brandNew", "lost")] {
        let mut run = Run::new();
        for step in ["accepted u".to_owned(), format!("< u ends {status}")] {
            run.step(&step);
        }
        let last = run.shown.last().map(String::as_str).unwrap_or_default();
        assert!(last.starts_with(&format!("finish {word} exit ")) && !last.ends_with(" 0"), "{last}");
    }
}

/// BUG-11. What speaks of logins elsewhere does not turn another failure into one of the login.
#[test]
fn a_failure_that_has_a_class_keeps_it_whatever_was_complained_of() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"mcpServer/startupStatus/updated","params":{"threadId":"t","name":"tiny","status":"failed","error":"OAuth login required"}}
          => emit warning message="MCP server tiny: OAuth login required"
        < {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed","error":{"message":"the tool said 401 unauthorized","codexErrorInfo":"contextWindowExceeded"}}}}
          => emit outcome code=context_window hint="shorten this conversation (`talaria sessions compact ID`, /compact in the chat), start a new one, or ask for less at once" message="the tool said 401 unauthorized" next_step.step=shorten_conversation outcome=failed
          => finish failed exit 1
    "#]]);
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed","error":{"message":"x","codexErrorInfo":"unauthorized"}}}}
          => emit outcome code=auth hint="run `talaria login`, then try again" message=x next_step.step=login outcome=failed
          => finish failed exit 6
    "#]]);
}

/// BUG-11. The error text is the last resort, if Codex reports no class.
#[test]
fn every_word_for_a_broken_login_counts_where_codex_gives_no_class() {
    let words = [
        "invalid_grant",
        "invalid grant",
        "refresh token",
        "refresh_token",
        "token refresh",
        "token_refresh",
        "token has expired",
        "expired_token",
        "expired token",
        "not authenticated",
        "unauthenticated",
        "unauthorized",
        "401 unauthorized",
        "re-authenticate",
        "reauthenticate",
        "please log in",
        "please login",
        "auth profile",
        "no auth profile",
        "oauth",
    ];
    for word in words {
        let mut run = Run::new();
        for step in ["accepted u".to_owned(), format!("< u ends failed It says: {}!", word.to_uppercase())] {
            run.step(&step);
        }
        assert!(run.shown.iter().any(|line| line.contains("code=auth")), "{word}: {:?}", run.shown);
        assert!(run.shown.iter().any(|line| line == "finish failed exit 6"), "{word}: {:?}", run.shown);
    }
}

/// BUG-14. If Codex dies while it is asked to stop, nothing received before is lost.
#[test]
fn codex_gone_during_an_interrupt_keeps_what_was_heard() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item completed message m1 half of it
          => emit item_completed item.id=m1 item.kind=agent_message item.text="half of it"
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        gone killed
          => read the thread
        found unreadable no rollout
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="killed; no rollout" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

/// BUG-17. An answer about the mark is an answer; the turn continues until Codex ends it.
#[test]
fn the_abort_mark_in_an_answer_ends_nothing() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed message m1 <turn_aborted> is what it writes
          => emit item_completed item.id=m1 item.kind=agent_message item.text="<turn_aborted> is what it writes"
        < u delta m2 and on
          => emit text_delta delta="and on" item=m2
        steerable
          => steerable u
        < u ends completed
          => emit outcome outcome=completed text="<turn_aborted> is what it writes"
          => finish completed exit 0
    "#]]);
}

/// BUG-25. Time is measured since the program started. If it ever goes back, nothing fires early and nothing is delayed.
#[test]
fn a_clock_that_goes_back_neither_fires_nor_prolongs_a_limit() {
    check(expect![[r#"
        limit 100s
        accepted u
          => emit turn_started turn=u
        < u begins
        at 50s
        tick
        at 10s
        tick
        wake
          => wake 100000ms
        at 99s
        tick
        at 100s
        tick
          => emit interrupting by=deadline
          => interrupt u
    "#]]);
}

/// BUG-26. A stop that could not even be sent is not called an interruption unless something was done about it.
#[test]
fn a_turn_without_a_name_is_not_called_interrupted() {
    check(expect![[r#"
        interrupt by user
          => emit interrupting by=user
        at 10s
        tick
          => escalate
        escalated abandoned
          => emit escalated action=abandoned
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex did not begin the turn within 10 s of the wish to stop it; other turns run on the same Codex, so this one was abandoned" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

/// BUG-27. A comment after the answer is not the answer.
#[test]
fn commentary_after_the_answer_does_not_replace_it() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed final m1 forty-two
          => emit item_completed item.id=m1 item.kind=agent_message item.phase=final_answer item.text=forty-two
        < u item completed commentary m2 tidying up
          => emit item_completed item.id=m2 item.kind=agent_message item.phase=commentary item.text="tidying up"
        < u ends completed
          => emit outcome outcome=completed text=forty-two
          => finish completed exit 0
    "#]]);
}

/// BUG-28. A sub-agent is tracked as what it is: it neither answers nor ends the turn.
#[test]
fn a_sub_agent_neither_answers_for_its_parent_nor_ends_it() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < child/x item completed final k1 the answer of the child
          => emit agent_item_completed item.id=k1 item.kind=agent_message item.phase=final_answer item.text="the answer of the child" thread=child
        < child/x ends failed boom
          => emit agent_updated phase=failed thread=child
        steerable
          => steerable u
        < u item completed final m1 the answer
          => emit item_completed item.id=m1 item.kind=agent_message item.phase=final_answer item.text="the answer"
        < u ends completed
          => emit outcome outcome=completed text="the answer"
          => finish completed exit 0
    "#]]);
}

/// BUG-29. Retries, warnings, usage, limits, plans and diffs are all reported.
#[test]
fn nothing_that_codex_tells_about_a_turn_is_dropped() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u retry Reconnecting... 1/5
          => emit retrying message="Reconnecting... 1/5"
        < {"method":"warning","params":{"threadId":"t","message":"careful"}}
          => emit warning message=careful
        < {"method":"configWarning","params":{"summary":"an odd key"}}
          => emit warning message="an odd key"
        < u usage 120
          => emit usage_updated context=7 input=7 turn.input=120 turn.total=120 window=1000
        < {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":40,"resetsAt":1700}}}}
          => emit rate_limits primary.resets_at=1700 primary.used_percent=40.0
        < {"method":"turn/plan/updated","params":{"threadId":"t","turnId":"u","explanation":null,"plan":[{"step":"look","status":"inProgress"}]}}
          => emit plan_updated steps=[{"status":"in_progress","step":"look"}]
        < {"method":"turn/diff/updated","params":{"threadId":"t","turnId":"u","diff":"+a"}}
          => emit diff_updated diff=+a
        < u error out of credit
        < u ends failed
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message="out of credit" next_step.step=doctor outcome=failed usage.input=120 usage.total=120
          => finish failed exit 1 total 120
    "#]]);
}
