//! Reports of Codex besides items and the end: all are used, and only changes are published.

use expect_test::expect;

use super::script::check;

#[test]
fn limits_of_the_account_are_told_when_they_are_news() {
    check(expect![[r#"
        < {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":99}}}}
        accepted u
          => emit turn_started turn=u
        < u begins
        < {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":null,"secondary":null}}}
        < {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":40,"windowDurationMins":300,"resetsAt":1700}}}}
          => emit rate_limits primary.minutes=300 primary.resets_at=1700 primary.used_percent=40.0
        < {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":40,"windowDurationMins":300,"resetsAt":1700}}}}
        < {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"resetsAt":1700},"rateLimitReachedType":"rate_limit_reached"}}}
          => emit rate_limits primary.resets_at=1700 primary.used_percent=100.0 reached=rate_limit_reached
    "#]]);
}

#[test]
fn a_turn_that_a_limit_stopped_says_until_when_to_wait() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u begins
        < {"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"resetsAt":1700},"secondary":{"usedPercent":20,"resetsAt":9900}}}}
          => emit rate_limits primary.resets_at=1700 primary.used_percent=100.0 secondary.resets_at=9900 secondary.used_percent=20.0
        < {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed","error":{"message":"limit","codexErrorInfo":"usageLimitExceeded"}}}}
          => emit outcome code=usage_limit hint="wait until the limit resets, or choose another model" message=limit next_step.step=await_limit outcome=failed retry_at=1700
          => finish failed exit 1
    "#]]);
}

#[test]
fn reroutes_compaction_progress_and_plans_are_told() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"model/rerouted","params":{"threadId":"t","turnId":"u","fromModel":"a","toModel":"b","reason":"highRiskCyberActivity"}}
          => emit model_rerouted from=a reason=highRiskCyberActivity to=b
        < {"method":"thread/compacted","params":{"threadId":"t","turnId":"u"}}
          => emit compacted
        < {"method":"item/mcpToolCall/progress","params":{"threadId":"t","turnId":"u","itemId":"i","message":"half"}}
          => emit tool_progress item=i message=half
        < {"method":"item/plan/delta","params":{"threadId":"t","turnId":"u","itemId":"p","delta":"first"}}
          => emit plan_delta delta=first item=p
        < {"method":"model/rerouted","params":{"threadId":"t","turnId":"old","fromModel":"a","toModel":"b"}}
    "#]]);
}

#[test]
fn warnings_of_every_kind_are_told() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"guardianWarning","params":{"threadId":"t","message":"careful"}}
          => emit warning message=careful
        < {"method":"modelProvider/authRecoveryStarted","params":{"threadId":"t","turnId":"u","message":"renewing","provider":"p"}}
          => emit warning message=renewing
        < {"method":"hook/completed","params":{"threadId":"t","turnId":"u","run":{"eventName":"preToolUse","status":"blocked","statusMessage":"no"}}}
          => emit warning message="hook preToolUse blocked: no"
        < {"method":"hook/completed","params":{"threadId":"t","turnId":"u","run":{"eventName":"preToolUse","status":"completed"}}}
        < {"method":"item/autoApprovalReview/completed","params":{"threadId":"t","turnId":"u","review":{"status":"denied","rationale":"risky"}}}
          => emit warning message="Codex's own reviewer: denied (risky)"
        < {"method":"item/autoApprovalReview/completed","params":{"threadId":"t","turnId":"u","review":{"status":"approved"}}}
        < {"method":"thread/environment/disconnected","params":{"threadId":"t","environmentId":"e"}}
          => emit warning message="Codex lost the environment that the commands run in"
        < {"method":"thread/settings/updated","params":{"threadId":"t","threadSettings":{"sandboxPolicy":{"type":"dangerFullAccess"},"approvalPolicy":"never","model":"m"}}}
          => emit settings_confirmed model=m
          => emit warning message="in force from now on: sandbox danger-full-access, approval never"
    "#]]);
}

#[test]
fn a_patch_that_changes_before_it_is_asked_about_is_shown_as_it_is_now() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started patch p1
          => emit item_started item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=in_progress
        < {"method":"item/fileChange/patchUpdated","params":{"threadId":"t","turnId":"u","itemId":"p1","changes":[{"path":"b.txt","kind":{"type":"delete"},"diff":"bye"}]}}
          => emit patch_updated changes=[{"action":"delete","diff":"bye","move_to":null,"path":"b.txt"}] item=p1
        < u asks 0 patch p1
          => emit request_opened changes=[{"action":"delete","diff":"bye","move_to":null,"path":"b.txt"}] id=req-1 item=p1 kind=patch place=outside thread=t
        < u item completed patch p1
          => emit item_completed item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=completed
        < {"method":"item/fileChange/patchUpdated","params":{"threadId":"t","turnId":"u","itemId":"p1","changes":[]}}
        < u asks 1 patch p1
          => emit request_opened id=req-2 item=p1 kind=patch place=outside thread=t
    "#]]);
}

#[test]
fn an_error_that_codex_gives_up_on_is_the_reason_of_a_failure_that_gives_none() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < old error not ours
        < u error the provider is down
        < u ends failed
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message="the provider is down" next_step.step=doctor outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn what_is_told_twice_counts_once() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item started command c1
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u item completed command c1
        < u item started command c1
        < u delta c1 late
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
        < u ends failed boom
    "#]]);
}

#[test]
fn an_answer_that_mentions_the_abort_mark_is_an_answer() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed message m1 the mark is <turn_aborted> in the file
          => emit item_completed item.id=m1 item.kind=agent_message item.text="the mark is <turn_aborted> in the file"
        < u ends completed
          => emit outcome outcome=completed text="the mark is <turn_aborted> in the file"
          => finish completed exit 0
    "#]]);
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed message m1 <turn_aborted>
          => emit item_completed item.id=m1 item.kind=agent_message item.text=<turn_aborted>
        < u ends completed
          => emit outcome outcome=completed text=<turn_aborted>
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_abort_mark_counts_where_codex_says_nothing_better() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed user m1 <turn_aborted> the user stopped it </turn_aborted>
          => heard m1
        < u ends levitated
          => emit outcome by=codex outcome=interrupted
          => finish interrupted exit 4
    "#]]);
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed user m1 <turn_aborted/>
          => heard m1
        gone killed
          => read the thread
        found unreadable no rollout
          => emit outcome by=codex outcome=interrupted
          => finish interrupted exit 4
    "#]]);
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < u item completed user m1 please explain <turn_aborted>
          => heard m1
        < u ends levitated
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex ended the turn without saying how" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}
