//! Model and effort: only Codex's word makes them be in force. And turns that Codex takes without naming them.

use expect_test::expect;

use super::super::{Choosing, ModelSettings, ToldBy};
use super::script::check;

#[test]
fn a_model_is_in_force_when_codex_says_so_and_not_before() {
    check(expect![[r#"
        in-force old low
        wants new high
        < {"method":"thread/settings/updated","params":{"threadId":"other","threadSettings":{"sandboxPolicy":{"type":"readOnly"},"approvalPolicy":"on-request","model":"theirs","effort":"low","cwd":"/w"}}}
        < {"method":"thread/settings/updated","params":{"threadId":"t","threadSettings":{"sandboxPolicy":{"type":"readOnly"},"approvalPolicy":"on-request","model":"new","effort":"high","cwd":"/w"}}}
          => emit settings_confirmed effort=high model=new
        accepted u
          => emit turn_started turn=u
        # Once more: nothing is new.
        < {"method":"thread/settings/updated","params":{"threadId":"t","threadSettings":{"sandboxPolicy":{"type":"readOnly"},"approvalPolicy":"on-request","model":"new","effort":"high","cwd":"/w"}}}
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn another_model_than_asked_for_is_told_and_warned_of() {
    check(expect![[r#"
        in-force old low
        wants new high
        < {"method":"thread/settings/updated","params":{"threadId":"t","threadSettings":{"sandboxPolicy":{"type":"readOnly"},"approvalPolicy":"on-request","model":"third","effort":null,"cwd":"/w"}}}
          => emit settings_confirmed model=third
          => emit warning message="model new was asked for, and Codex says that third is in force"
          => emit warning message="effort high was asked for, and Codex says that none is in force"
        accepted u
          => emit turn_started turn=u
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_is_in_force_is_not_asked_for_again() {
    let choice = |model: Option<&str>, effort: Option<&str>| ModelSettings {
        model: model.map(str::to_owned),
        effort: effort.map(str::to_owned),
    };
    let in_force = || choice(Some("one"), Some("low"));
    for (wished, wanted) in [
        (in_force(), ModelSettings::default()),
        (choice(Some("one"), Some("high")), choice(None, Some("high"))),
        (choice(Some("two"), Some("low")), choice(Some("two"), None)),
        (ModelSettings::default(), ModelSettings::default()),
    ] {
        assert_eq!(Choosing::new(wished, in_force(), ToldBy::Notice).wanted, wanted);
    }
}

#[test]
fn a_codex_that_keeps_its_model_says_so_and_is_heard() {
    check(expect![[r#"
        in-force old low
        wants new
        < {"method":"thread/settings/updated","params":{"threadId":"t","threadSettings":{"sandboxPolicy":{"type":"readOnly"},"approvalPolicy":"on-request","model":"old","effort":"low","cwd":"/w"}}}
          => emit settings_confirmed effort=low model=old
          => emit warning message="model new was asked for, and Codex says that old is in force"
        accepted u
          => emit turn_started turn=u
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn of_a_lost_turn_nothing_is_said_but_that_it_is_lost() {
    check(expect![[r#"
        in-force old
        wants new
        accepted u
          => emit turn_started turn=u
        gone it crashed
          => read the thread
        found unreadable no host
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="it crashed; no host" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn what_nobody_confirmed_is_not_called_in_force() {
    check(expect![[r#"
        in-force old low
        wants new high
        accepted u
          => emit turn_started turn=u
        < u begins
        < u ends completed
          => emit warning message="Codex did not say whether model new, effort high is in force"
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_refused_turn_says_nothing_of_its_model() {
    check(expect![[r#"
        in-force old
        wants new
        refused -32602 input_too_large
          => emit outcome code=input_too_large hint="shorten the prompt, or let Codex read a file instead" message="Codex refused the turn: no" next_step.step=shorten_prompt outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn an_older_codex_is_believed_by_its_file_and_waited_for_a_moment() {
    check(expect![[r#"
        file
        in-force old
        wants new
        accepted u
          => emit turn_started turn=u
          => look up the settings
        < u begins
        at 100ms
        < u ends completed
        wake
          => wake 2100ms
        at 150ms
        settings new
          => emit settings_confirmed model=new
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_file_that_says_nothing_does_not_hold_up_the_end() {
    check(expect![[r#"
        file
        in-force old
        wants - high
        accepted u
          => emit turn_started turn=u
          => look up the settings
        < u ends completed
        at 2s
        tick
          => emit warning message="Codex did not say whether effort high is in force"
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn nothing_is_looked_up_where_nothing_was_asked_for() {
    check(expect![[r#"
        file
        in-force old low
        accepted u
          => emit turn_started turn=u
        settings new high
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn what_codex_took_without_a_name_is_the_turn_that_begins_next() {
    check(expect![[r#"
        after old
        taken
        < old begins
        < old ends completed
        < u begins
          => emit turn_started turn=u
        < u item started message m1
          => emit item_started item.id=m1 item.kind=agent_message item.text=""
        < u item completed message m1
          => emit item_completed item.id=m1 item.kind=agent_message item.text=""
        < u ends completed
          => emit outcome outcome=completed text=""
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_beginning_may_come_before_the_answer() {
    check(expect![[r#"
        < u begins
          => emit turn_started turn=u
        taken
        wake
          => wake never
        < u ends failed boom
          => emit outcome code=other hint="run `talaria doctor` to check the installation" message=boom next_step.step=doctor outcome=failed
          => finish failed exit 1
    "#]]);
}

#[test]
fn what_codex_took_and_never_began_is_read_and_lost_and_not_sent_again() {
    check(expect![[r#"
        ledger
        taken
        wake
          => wake 15000ms
        at 15s
        tick
          => emit ledger stage=unknown
          => read the thread
        found unreadable it has newer turns
          => emit ledger stage=unknown
          => emit outcome hint="check what it did before you send the prompt again; `talaria doctor` checks the installation" message="Codex took what was sent, and did not begin; it has newer turns" next_step.step=check_effects outcome=lost usage.partial=true
          => finish lost exit 7
    "#]]);
}

#[test]
fn what_codex_took_can_be_stopped_before_it_begins() {
    check(expect![[r#"
        taken
        interrupt by user
          => emit interrupting by=user
        < u begins
          => emit turn_started turn=u
          => interrupt u
        < u ends interrupted
          => emit outcome by=user outcome=interrupted
          => finish interrupted exit 4
    "#]]);
}
