//! Who had a conversation shortened, and the figures that are known of it.

use expect_test::expect;

use super::script::check;

/// The figures as both versions report them.
#[test]
fn a_shortening_that_the_person_asked_for_says_so_with_its_figures() {
    check(expect![[r#"
        compacts
        accepted u
          => emit turn_started turn=u
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_started item.id=k item.kind=compaction
        < {"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"u","tokenUsage":{"total":{"totalTokens":0,"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"last":{"totalTokens":400,"inputTokens":380,"cachedInputTokens":0,"outputTokens":20,"reasoningOutputTokens":0},"modelContextWindow":1000}}}
          => emit usage_updated context=400 input=380 window=1000
        < {"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"u","tokenUsage":{"total":{"totalTokens":500,"inputTokens":500,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"last":{"totalTokens":500,"inputTokens":480,"cachedInputTokens":0,"outputTokens":20,"reasoningOutputTokens":0},"modelContextWindow":1000}}}
          => emit usage_updated context=500 input=480 turn.input=500 turn.total=500 window=1000
        < {"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"u","tokenUsage":{"total":{"totalTokens":500,"inputTokens":500,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"last":{"totalTokens":90,"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"modelContextWindow":1000}}}
          => emit usage_updated context=90 turn.input=500 turn.total=500 window=1000
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_completed item.after=90 item.before=400 item.by=user item.id=k item.kind=compaction
        < u ends completed
          => emit outcome outcome=completed usage.input=500 usage.total=500
          => finish completed exit 0 total 500
    "#]]);
}

#[test]
fn a_shortening_by_codex_itself_says_so() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"u","tokenUsage":{"total":{"totalTokens":900,"inputTokens":900,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"last":{"totalTokens":900,"inputTokens":880,"cachedInputTokens":0,"outputTokens":20,"reasoningOutputTokens":0},"modelContextWindow":1000}}}
          => emit usage_updated context=900 input=880 turn.input=900 turn.total=900 window=1000
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_started item.id=k item.kind=compaction
        < {"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"u","tokenUsage":{"total":{"totalTokens":1900,"inputTokens":1900,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"last":{"totalTokens":1000,"inputTokens":980,"cachedInputTokens":0,"outputTokens":20,"reasoningOutputTokens":0},"modelContextWindow":1000}}}
          => emit usage_updated context=1000 input=980 turn.input=1900 turn.total=1900 window=1000
        < {"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"u","tokenUsage":{"total":{"totalTokens":1900,"inputTokens":1900,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"last":{"totalTokens":90,"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0},"modelContextWindow":1000}}}
          => emit usage_updated context=90 turn.input=1900 turn.total=1900 window=1000
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_completed item.after=90 item.before=900 item.by=codex item.id=k item.kind=compaction
        < u ends completed
          => emit outcome outcome=completed usage.input=1900 usage.total=1900
          => finish completed exit 0 total 1900
    "#]]);
}

#[test]
fn figures_that_do_not_come_are_not_known() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_started item.id=k item.kind=compaction
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_completed item.by=codex item.id=k item.kind=compaction
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_shortening_before_another_model_begins_names_the_change() {
    check(expect![[r#"
        in-force old
        wants new
        accepted u
          => emit turn_started turn=u
        < {"method":"thread/settings/updated","params":{"threadId":"t","threadSettings":{"model":"new","effort":null,"cwd":"/w","sandboxPolicy":{"type":"readOnly"},"approvalPolicy":"on-request"}}}
          => emit settings_confirmed model=new
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_started item.id=k item.kind=compaction
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_completed item.by=model_change item.id=k item.kind=compaction
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_later_one_in_the_same_turn_does_not() {
    check(expect![[r#"
        in-force old
        wants new
        accepted u
          => emit turn_started turn=u
        < {"method":"thread/settings/updated","params":{"threadId":"t","threadSettings":{"model":"new","effort":null,"cwd":"/w","sandboxPolicy":{"type":"readOnly"},"approvalPolicy":"on-request"}}}
          => emit settings_confirmed model=new
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < {"method":"item/started","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_started item.id=k item.kind=compaction
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","startedAtMs":0,"completedAtMs":0,"item":{"type":"contextCompaction","id":"k"}}}
          => emit item_completed item.by=codex item.id=k item.kind=compaction
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}
