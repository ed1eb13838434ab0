//! Sub-agents: shown with their states, steps and questions. None of it ends, fails or fills the turn.

use expect_test::expect;
use serde_json::{Value, json};

use super::super::sub_agents;
use super::script::check;
use talaria_core::item::Item;

#[test]
fn a_sub_agents_end_does_not_end_its_parent() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < child/x item started command k1
          => emit agent_item_started item.command=ls item.cwd=/w item.id=k1 item.kind=command item.status=in_progress thread=child
        < child/x item completed command k1
          => emit agent_item_completed item.command=ls item.cwd=/w item.id=k1 item.kind=command item.status=completed thread=child
        < child/x item completed final m1 the child's answer
          => emit agent_item_completed item.id=m1 item.kind=agent_message item.phase=final_answer item.text="the child's answer" thread=child
        < child/x usage 900
        < child/x ends completed
          => emit agent_updated phase=completed thread=child
        < u item completed final m2 the parent's answer
          => emit item_completed item.id=m2 item.kind=agent_message item.phase=final_answer item.text="the parent's answer"
        < u ends completed
          => emit outcome outcome=completed text="the parent's answer"
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_outcome_waits_for_sub_agents_and_says_how_many() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 one
          => emit agent_updated phase=running thread=one
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["one"]
        < u item completed agents a2 two
          => emit agent_updated phase=running thread=two
          => emit item_completed item.action=spawnAgent item.id=a2 item.kind=agents item.status=completed item.threads=["two"]
        < one/x begins
        < two/x begins
        < u ends completed
          => emit children_running count=2
        wake
          => wake 60000ms
        < one/x ends failed boom
          => emit agent_updated phase=failed thread=one
          => emit children_running count=1
        < two/x ends completed
          => emit agent_updated phase=completed thread=two
          => emit children_running
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_wait_for_sub_agents_is_bounded_and_the_report_says_what_was_left() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < u ends completed
          => emit children_running count=1
        at 60s
        tick
          => emit outcome children_running=1 outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_sub_agents_question_outlives_its_parents_turn_and_stops_the_wait() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < child/x asks 0 command k1
          => emit request_opened command=ls cwd=/w id=req-1 item=k1 kind=command place=undecidable thread=child
        < u asks 1 command c1
          => emit request_opened command=ls cwd=/w id=req-2 item=c1 kind=command place=undecidable thread=t
        < u ends completed
          => emit request_closed by=codex decision=void id=req-2
          => emit children_running count=1
        wake
          => wake never
        at 3600s
        tick
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        wake
          => wake 3660000ms
        < child/x ends completed
          => emit agent_updated phase=completed thread=child
          => emit children_running
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_interrupt_stops_the_sub_agents_too() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        interrupt by user
          => emit interrupting by=user
          => interrupt u
          => interrupt child/x
        < u ends interrupted
          => emit children_running count=1
        < child/x ends interrupted
          => emit agent_updated phase=interrupted thread=child
          => emit children_running
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn an_interrupt_after_the_end_stops_the_sub_agents_and_a_second_ends_the_wait() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < u ends completed
          => emit children_running count=1
        interrupt by user
          => emit interrupting by=user
          => interrupt child/x
        wake
          => wake 5000ms
        interrupt by user
          => emit outcome children_running=1 outcome=completed
          => finish completed exit 0
    "#]]);
}

/// An interrupt does not end commands, neither the turn's nor those of its sub-agents.
#[test]
fn what_a_stopped_sub_agent_left_running_is_ended() {
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
        < child/x item completed command k1
          => emit agent_item_completed item.command=ls item.cwd=/w item.id=k1 item.kind=command item.status=completed thread=child
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        interrupt by user
          => emit interrupting by=user
          => interrupt u
          => interrupt child/x
        < child/x ends interrupted
          => emit agent_updated phase=interrupted thread=child
          => end the terminals of k2 on child
        < u ends interrupted
          => end the terminals of c1
        terminals ended one
          => emit terminals_ended message="ended one"
        terminals ended another
          => emit terminals_ended message="ended another"
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn what_a_sub_agent_left_running_is_ended_after_the_end_of_the_turn_too() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < child/x item started command k1
          => emit agent_item_started item.command=ls item.cwd=/w item.id=k1 item.kind=command item.status=in_progress thread=child
        < u ends completed
          => emit children_running count=1
        interrupt by user
          => emit interrupting by=user
          => interrupt child/x
        < child/x ends interrupted
          => emit agent_updated phase=interrupted thread=child
          => end the terminals of k1 on child
          => emit children_running
        wake
          => wake 5000ms
        terminals ended one
          => emit terminals_ended message="ended one"
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_sub_agents_end_voids_its_own_questions_only() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x asks 0 command k1
          => emit request_opened command=ls cwd=/w id=req-1 item=k1 kind=command place=undecidable thread=child
        < u asks 1 command c1
          => emit request_opened command=ls cwd=/w id=req-2 item=c1 kind=command place=undecidable thread=t
        < child/x ends completed
          => emit agent_updated phase=completed thread=child
          => emit request_closed by=codex decision=void id=req-1
        answer req-2 accept by user
          => emit request_closed by=user decision=accept id=req-2
          => reply id=1 {"decision":"accept"}
    "#]]);
}

#[test]
fn codex_gone_takes_the_sub_agents_with_it() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < u ends completed
          => emit children_running count=1
        gone killed
          => emit agent_updated phase=interrupted thread=child
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_the_parent_says_about_its_sub_agents_counts() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"subAgentActivity","id":"s1","agentThreadId":"one","agentPath":"/one","kind":"started"}}}
          => emit agent_updated phase=running thread=one
          => emit item_completed item.activity=started item.id=s1 item.kind=agent_activity item.path=/one item.thread=one
        < u item completed agents a1 two
          => emit agent_updated phase=running thread=two
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["two"]
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"collabAgentToolCall","id":"w1","tool":"wait","status":"completed","senderThreadId":"t","receiverThreadIds":["one","two","t"],"agentsStates":{"one":{"status":"completed","message":"done"},"two":{"status":"running"}}}}}
          => emit agent_updated phase=completed thread=one
          => emit item_completed item.action=wait item.agents=[{"message":"done","status":"completed","thread":"one"},{"message":null,"status":"running","thread":"two"}] item.id=w1 item.kind=agents item.status=completed item.threads=["one","two","t"]
        < u ends completed
          => emit children_running count=1
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"subAgentActivity","id":"s2","agentThreadId":"two","agentPath":"/two","kind":"interrupted"}}}
          => emit agent_updated phase=interrupted thread=two
          => emit item_completed item.activity=interrupted item.id=s2 item.kind=agent_activity item.path=/two item.thread=two
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_a_sub_agent_works_on_is_still_known_when_its_parent_says_that_it_runs() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"collabAgentToolCall","id":"a2","tool":"wait","status":"completed","senderThreadId":"t","receiverThreadIds":["child"],"agentsStates":{"child":{"status":"running","message":null}}}}}
          => emit item_completed item.action=wait item.agents=[{"message":null,"status":"running","thread":"child"}] item.id=a2 item.kind=agents item.status=completed item.threads=["child"]
        interrupt by user
          => emit interrupting by=user
          => interrupt u
          => interrupt child/x
    "#]]);
}

#[test]
fn what_has_ended_or_begun_of_a_sub_agent_is_told_once() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x item started command k1
          => emit agent_item_started item.command=ls item.cwd=/w item.id=k1 item.kind=command item.status=in_progress thread=child
        < child/x item started command k1
        < child/x item completed command k1
          => emit agent_item_completed item.command=ls item.cwd=/w item.id=k1 item.kind=command item.status=completed thread=child
        < child/x item completed command k1
        < child/x item started command k1
        < child/x item started user k2 hello
        < child/x item completed user k2 hello
        < u ends completed
          => emit children_running count=1
    "#]]);
}

#[test]
fn a_thread_that_nobody_named_is_no_sub_agent() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < other/x begins
        < other/x item started command k1
        < other/x item completed command k1
        < other/x item completed agents a1 more
        < other/x ends interrupted
        interrupt by user
          => emit interrupting by=user
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}

#[test]
fn a_step_names_the_threads_of_its_sub_agents() {
    let item = |body: Value| {
        let mut item = json!({ "id": "i", "kind": "agents", "action": "spawn", "status": "completed" });
        item.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        serde_json::from_value::<Item>(item).unwrap()
    };
    let named = |body: Value| sub_agents(&item(body)).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(named(json!({ "threads": ["a", "b"] })), ["a", "b"]);
    assert_eq!(
        named(json!({ "kind": "agent_activity", "activity": "started", "thread": "c", "path": "/" })),
        ["c"]
    );
    assert!(named(json!({ "kind": "plan", "text": "a" })).is_empty());
}
