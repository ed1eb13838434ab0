//! Items may arrive late or never: late ones are shown, dangling ones are abandoned, and neither delays the end for
//! long.

use expect_test::expect;

use super::script::check;

#[test]
fn late_items_are_shown_and_end_the_wait() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item started command c2
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
        < u ends completed
        wake
          => wake 400ms
        at 50ms
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        at 90ms
        < u item completed command c2
          => emit item_completed item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=completed
          => emit outcome outcome=completed
          => finish completed exit 0
        wake
          => wake never
    "#]]);
}

#[test]
fn a_late_message_is_the_text() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started message m1
          => emit item_started item.id=m1 item.kind=agent_message item.text=""
        < u ends completed
        at 50ms
        < u item completed message m1 late but whole
          => emit item_completed item.id=m1 item.kind=agent_message item.text="late but whole"
          => emit outcome outcome=completed text="late but whole"
          => finish completed exit 0
    "#]]);
}

#[test]
fn dangling_items_are_abandoned_after_the_wait() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item started message m1
          => emit item_started item.id=m1 item.kind=agent_message item.text=""
        at 1s
        < u ends completed
        at 1399ms
        tick
        at 1400ms
        tick
          => find the terminals of c1
        background
          => emit item_abandoned item=c1
          => emit item_abandoned item=m1
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_item_that_begins_in_the_wait_is_closed_too() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends completed
        at 100ms
        < u item started command c2
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        wake
          => wake 400ms
        at 400ms
        tick
          => find the terminals of c2
        background
          => emit item_abandoned item=c2
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_failed_turn_waits_for_late_items_too() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends failed boom
        at 50ms
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message=boom next_step.step=doctor outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn an_interrupted_turn_does_not_wait_for_items_that_never_come() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends interrupted
          => end the terminals of c1
        terminals ended one command
          => emit terminals_ended message="ended one command"
        at 400ms
        tick
          => emit item_abandoned item=c1
          => emit outcome by=codex outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_command_that_outlives_its_turn_runs_in_the_background() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item started command c2
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
        < u ends completed
        at 400ms
        tick
          => find the terminals of c1, c2
        background c1
          => emit background_started command=serve cwd=/w id=bg-c1 item=c1
          => emit item_abandoned item=c2
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_codex_that_does_not_say_what_still_runs_leaves_the_end_unknown() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends completed
        at 400ms
        tick
          => find the terminals of c1
        at 10s
        tick
          => emit item_abandoned item=c1
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_item_without_a_beginning_is_shown_and_holds_nothing() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_item_of_a_new_kind_is_shown_by_its_name() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started teleport x1
          => emit item_started item.id=x1 item.kind=other item.name=teleport item.raw.id=x1 item.raw.to=Mars item.raw.type=teleport
        < u item completed teleport x1
          => emit item_completed item.id=x1 item.kind=other item.name=teleport item.raw.id=x1 item.raw.to=Mars item.raw.type=teleport
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_the_person_said_is_no_step_and_holds_nothing() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started user um hello
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn plan_and_diff_are_passed_on() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"turn/plan/updated","params":{"threadId":"t","turnId":"u","explanation":null,"plan":[{"step":"look","status":"completed"},{"step":"fix","status":"inProgress"},{"step":"rest","status":"someday"}]}}
          => emit plan_updated steps=[{"status":"completed","step":"look"},{"status":"in_progress","step":"fix"},{"status":"pending","step":"rest"}]
        < {"method":"turn/diff/updated","params":{"threadId":"t","turnId":"u","diff":"+hi"}}
          => emit diff_updated diff=+hi
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_was_said_too_late_for_the_model_is_not_passed_over() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed user i1
          => heard i1
        < u item completed message m1 first
          => emit item_completed item.id=m1 item.kind=agent_message item.text=first
        < u item completed user i2
          => heard i2
        < u item completed message m2 second
          => emit item_completed item.id=m2 item.kind=agent_message item.text=second
        < u item completed user i3
          => heard i3
        < u ends completed
          => emit warning message="the turn ended before the model read what was said last; it is part of the conversation, and the next turn sees it"
          => emit outcome outcome=completed text=second
          => finish completed exit 0
    "#]]);
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed user i1
          => heard i1
        < u item completed message m1 first
          => emit item_completed item.id=m1 item.kind=agent_message item.text=first
        < u item completed user i2
          => heard i2
        < u item completed message m2 second
          => emit item_completed item.id=m2 item.kind=agent_message item.text=second
        < u ends completed
          => emit outcome outcome=completed text=second
          => finish completed exit 0
    "#]]);
}
