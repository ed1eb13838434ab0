//! Silence: reported at growing intervals, investigated, and never an end.

use expect_test::expect;

use super::script::check;

#[test]
fn silence_is_told_at_growing_intervals_and_looked_into() {
    check(expect![[r#"
        quiet 60s
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        wake
          => wake 60000ms
        at 60s
        tick
          => emit quiet open_items=["c1"] seconds=60
          => read the thread
        wake
          => wake 180000ms
        found running u
        at 180s
        tick
          => emit quiet open_items=["c1"] seconds=180
          => read the thread
        wake
          => wake 420000ms
        at 420s
        tick
          => emit quiet open_items=["c1"] seconds=420
          => read the thread
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn output_and_sub_agents_are_signs_of_life() {
    check(expect![[r#"
        quiet 60s
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        at 59s
        < {"method":"item/commandExecution/outputDelta","params":{"threadId":"t","turnId":"u","itemId":"c1","delta":"."}}
          => emit output_delta delta=. item=c1
        at 118s
        < child/x item started command k1
          => emit agent_item_started item.command=ls item.cwd=/w item.id=k1 item.kind=command item.status=in_progress thread=child
        wake
          => wake 178000ms
        at 177s
        < {"method":"thread/levitated","params":{"threadId":"t"}}
          => emit unknown method=thread/levitated raw.method=thread/levitated raw.params.threadId=t
        wake
          => wake 237000ms
        # what others do is none
        < other/x item started command k1
        < {"method":"account/updated","params":{}}
        wake
          => wake 237000ms
    "#]]);
}

#[test]
fn a_person_may_think_for_as_long_as_it_takes() {
    check(expect![[r#"
        quiet 60s
        accepted u
          => emit turn_started turn=u
        < u asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=t
        wake
          => wake never
        at 86400s
        tick
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        wake
          => wake 86460000ms
    "#]]);
}

#[test]
fn a_look_that_finds_the_end_ends_the_turn_with_what_still_comes() {
    check(expect![[r#"
        quiet 60s
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        at 60s
        tick
          => emit quiet open_items=["c1"] seconds=60
          => read the thread
        found ended u completed the answer
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit outcome outcome=completed text="the answer"
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_look_that_finds_another_turn_or_nothing_changes_nothing() {
    check(expect![[r#"
        quiet 60s
        accepted u
          => emit turn_started turn=u
        at 60s
        tick
          => emit quiet open_items=[] seconds=60
          => read the thread
        found ended old completed
        found absent
        found unreadable no answer within 30 s
          => emit warning message="Codex is running, but does not report the state of the turn: no answer within 30 s"
        steerable
          => steerable u
    "#]]);
}

#[test]
fn the_longest_pause_is_an_hour() {
    check(expect![[r#"
        quiet 3000s
        accepted u
          => emit turn_started turn=u
        at 3000s
        tick
          => emit quiet open_items=[] seconds=3000
          => read the thread
        wake
          => wake 6600000ms
        at 6600s
        tick
          => emit quiet open_items=[] seconds=6600
          => read the thread
        wake
          => wake 10200000ms
    "#]]);
}
