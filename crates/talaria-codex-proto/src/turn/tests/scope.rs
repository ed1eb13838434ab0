//! Only frames of this thread and this turn count. A late end of another turn is the classic false state.

use expect_test::expect;

use super::script::check;

#[test]
fn an_old_turns_late_end_does_not_end_this_one() {
    check(expect![[r#"
        < old ends completed
        < old ends failed boom
        accepted u
          => emit turn_started turn=u
        < old ends completed
        < old ends interrupted
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_old_turns_late_frames_do_not_fill_this_one() {
    check(expect![[r#"
        < old item completed command c0
        < old usage 900
        accepted u
          => emit turn_started turn=u
        < old item completed command c0
        < old item completed message m0 the old answer
        < old delta m0 old
        < old usage 900
        < old retry Reconnecting
        < old begins
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_old_turns_late_item_does_not_end_the_wait_for_our_own() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u ends completed
        < old item completed command c1
        wake
          => wake 400ms
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn another_threads_frames_do_not_count_even_with_the_same_turn_id() {
    check(expect![[r#"
        < other/u begins
        accepted u
          => emit turn_started turn=u
        < other/u item started command c1
        < other/u item completed message m1 not ours
        < other/u usage 900
        < other/u ends failed boom
        < {"method":"warning","params":{"threadId":"other","message":"not ours"}}
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn before_the_turn_has_a_name_only_its_beginning_counts() {
    check(expect![[r#"
        < u item started command c1
        < u ends completed
        < u begins
          => emit turn_started turn=u
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_belongs_to_no_thread_is_shown() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"warning","params":{"message":"for all"}}
          => emit warning message="for all"
        < {"method":"configWarning","params":{"summary":"no bubblewrap"}}
          => emit warning message="no bubblewrap"
        < {"method":"mcpServer/startupStatus/updated","params":{"threadId":"t","name":"tiny","status":"ready"}}
        < {"method":"mcpServer/startupStatus/updated","params":{"threadId":"t","name":"tiny","status":"failed","error":"no such file"}}
          => emit warning message="MCP server tiny: no such file"
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn unknown_and_corrupt_messages_are_shown_and_end_nothing() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"thread/levitated","params":{"threadId":"t"}}
          => emit unknown method=thread/levitated raw.method=thread/levitated raw.params.threadId=t
        < {"method":"turn/completed","params":[]}
          => emit unknown method=turn/completed raw.method=turn/completed raw.params=[]
        < {"id":
          => emit corrupt bytes=6 reason="not a JSON-RPC message: EOF while parsing a value at line 1 column 6"
        steerable
          => steerable u
    "#]]);
}

#[test]
fn a_sub_agents_request_is_opened_and_answered() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x begins
        < child/x item started command c1
          => emit agent_item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress thread=child
        < child/x asks 0 command c1
          => emit request_opened command=ls cwd=/w id=req-1 item=c1 kind=command place=undecidable thread=child
        answer req-1 accept by user
          => emit request_closed by=user decision=accept id=req-1
          => reply id=0 {"decision":"accept"}
        < child/x resolved 0
        < child/x ends completed
          => emit agent_updated phase=completed thread=child
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_sub_agents_patch_does_not_show_our_item_of_the_same_name() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started patch p1
          => emit item_started item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=in_progress
        < child/x asks 0 patch p1
          => emit request_opened id=req-1 item=p1 kind=patch place=outside thread=child
        < u asks 1 patch p1
          => emit request_opened changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] id=req-2 item=p1 kind=patch place=outside thread=t
    "#]]);
}

#[test]
fn a_sub_agents_patch_shows_what_the_sub_agent_announced() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < child/x item started patch p1
        < child/x asks 0 patch p1
          => emit request_opened changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] id=req-1 item=p1 kind=patch place=outside thread=child
    "#]]);
}

#[test]
fn a_sub_agents_patch_that_changes_before_it_is_asked_about_is_shown_as_it_is_now() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed agents a1 child
          => emit agent_updated phase=running thread=child
          => emit item_completed item.action=spawnAgent item.id=a1 item.kind=agents item.status=completed item.threads=["child"]
        < child/x item started patch p1
          => emit agent_item_started item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=in_progress thread=child
        < {"method":"item/fileChange/patchUpdated","params":{"threadId":"child","turnId":"x","itemId":"p1","changes":[{"path":"b.txt","kind":{"type":"delete"},"diff":"bye"}]}}
        < child/x asks 0 patch p1
          => emit request_opened changes=[{"action":"delete","diff":"bye","move_to":null,"path":"b.txt"}] id=req-1 item=p1 kind=patch place=outside thread=child
    "#]]);
}
