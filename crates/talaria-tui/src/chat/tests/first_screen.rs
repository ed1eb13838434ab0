//! The first screen says what is known, and nothing else.

use expect_test::expect;
use talaria_core::api::SessionInfo;
use talaria_core::event::Started;

use super::*;
use crate::chat::contract::LoopOffers;

fn missing(what: &str, remedy: &str) -> News {
    News::Missing { what: what.into(), remedy: remedy.into() }
}

#[test]
fn before_codex_has_answered_the_screen_says_that_it_is_asked() {
    expect![[r#"
        Talaria 0.6.0
          folder       ~/project
          runtime      asking Codex
          model        not known yet
          permissions  not known yet

        Type what you want done and press Enter.
        / lists commands, @ names a file, ! runs a shell command, ? shows the keys.
        Ctrl-D leaves; turns continue: `talaria --last` returns.












        ── Enter sends ─────────────────────────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell

    "#]]
    .assert_eq(&play().screen());
}

#[test]
fn the_screen_says_what_would_run_where_and_with_which_permissions() {
    let mut play = play();
    play.news(News::Offers(offers()));
    expect![[r#"
        Talaria 0.6.0
          folder       ~/project
          runtime      Codex 0.166.0 (me@example.org, chatgpt, plus)
          model        gpt-5.5, effort medium at openai
          permissions  sandbox workspace-write, approvals on-request

        Type what you want done and press Enter.
        / lists commands, @ names a file, ! runs a shell command, ? shows the keys.
        Ctrl-D leaves; turns continue: `talaria --last` returns.












        ── Enter sends ─────────────────────────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell
        codex·gpt-5.5·medium · workspace-write/on-request
    "#]]
    .assert_eq(&play.screen());
}

#[test]
fn what_was_asked_for_is_not_called_in_force() {
    let mut play = play();
    play.news(News::Offers(offers()));
    play.news(News::Chosen { provider: None, model: Some("mini".into()), effort: Some("high".into()) });
    expect![[r#"
        model        mini (requested), effort high at openai
        codex·mini·high · workspace-write/on-request
    "#]]
    .assert_eq(&play.rows_with("mini"));
}

#[test]
fn permissions_that_were_asked_for_are_marked_until_a_turn_has_them() {
    let asked = |sandbox: &str, approval: &str| News::PermissionsAsked {
        sandbox: Some(sandbox.into()),
        approval: Some(approval.into()),
    };
    let started = |sandbox: &str, approval: &str| {
        let Event::SessionStarted(started) = sample::session_started() else { unreachable!() };
        let (sandbox, approval) = (sandbox.into(), approval.into());
        Event::SessionStarted(Box::new(Started { sandbox, approval, ..*started }))
    };
    let mut play = play();
    play.news(News::Offers(offers())).news(asked("read-only", "untrusted"));
    let mut told = play.rows_with("codex·");
    play.running().event(sample::completed("done"));
    play.news(asked("read-only", "untrusted"));
    told += &play.rows_with("codex·");
    // A turn of another client that has something else, and one that has it.
    play.event(started("workspace-write", "never")).event(sample::turn_started());
    told += &play.rows_with("codex·");
    play.event(sample::completed("done")).event(started("read-only", "untrusted"));
    told += &play.rows_with("codex·");
    // A turn from here, on which Codex gave less than was asked for.
    play.event(sample::completed("done")).news(asked("workspace-write", "on-request"));
    play.write("go on")
        .press("Enter")
        .event(started("read-only", "on-request"))
        .event(sample::turn_started());
    told += &play.rows_with("codex·");
    expect![[r#"
        codex·gpt-5.5·medium · read-only/untrusted
        codex·gpt-5.5·high · read-only/untrusted (next turn)
        ⠋ working 0s · codex·gpt-5.5·high · read-only/untrusted (next turn)
        codex·gpt-5.5·high · read-only/untrusted
        ⠋ working 0s · codex·gpt-5.5·high · read-only/on-request
    "#]]
    .assert_eq(&told);
}

#[test]
fn what_was_chosen_for_the_next_turn_stays_until_a_turn_brings_it() {
    let mut play = play();
    play.running().event(sample::completed("done"));
    play.news(News::Chosen { provider: None, model: Some("mini".into()), effort: None });
    let confirmed = |model: &str| Event::SettingsConfirmed { model: model.into(), effort: None };
    let mut told = play.rows_with("codex·");
    // A turn that shortens the conversation, or one of another client.
    play.event(sample::session_started()).event(sample::turn_started()).event(confirmed("gpt-5.5"));
    play.event(sample::completed("shortened"));
    told += &play.rows_with("codex·");
    play.write("go on").press("Enter").event(sample::turn_started()).event(confirmed("mini"));
    told += &play.rows_with("codex·");
    play.event(sample::completed("done"));
    play.news(News::Chosen { provider: None, model: Some("refused".into()), effort: None });
    play.write("again").press("Enter").event(sample::turn_started()).event(confirmed("mini"));
    told += &play.rows_with("codex·");
    expect![[r#"
        codex·mini·high (next turn) · workspace-write/on-request
        codex·mini (next turn) · workspace-write/on-request
        ⠋ working 0s · codex·mini · workspace-write/on-request
        ⠋ working 0s · codex·mini · workspace-write/on-request
    "#]]
    .assert_eq(&told);
}

#[test]
fn what_is_missing_is_told_with_the_command_that_helps() {
    let mut play = play();
    play.news(missing("there is no Codex on this machine", "run `talaria setup`"));
    expect![[r#"
        Talaria 0.6.0
          missing      there is no Codex on this machine
                       run `talaria setup`
          folder       ~/project
          runtime      not known
          model        not known
          permissions  not known

        Type what you want done and press Enter.
        / lists commands, @ names a file, ! runs a shell command, ? shows the keys.
        Ctrl-D leaves; turns continue: `talaria --last` returns.










        ── Enter sends ─────────────────────────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell

    "#]]
    .assert_eq(&play.screen());
    let mut nobody = offers();
    nobody.account = AccountInfo { needed: true, kind: None, name: None, plan: None };
    play.news(News::Offers(nobody));
    expect![[r#"
        Talaria 0.6.0
          missing      not logged in to Codex
                       /login, or `talaria login` in a shell
          folder       ~/project
          runtime      Codex 0.166.0
          model        gpt-5.5, effort medium at openai
          permissions  sandbox workspace-write, approvals on-request

        Type what you want done and press Enter.
        / lists commands, @ names a file, ! runs a shell command, ? shows the keys.
        Ctrl-D leaves; turns continue: `talaria --last` returns.










        ── Enter sends ─────────────────────────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell
        codex·gpt-5.5·medium · workspace-write/on-request
    "#]]
    .assert_eq(&play.screen());
    play.news(missing("not logged in", "run `/opt/codex login`"));
    expect![[r#"
                       run `/opt/codex login`
    "#]]
    .assert_eq(&play.rows_with("login"));
    play.news(News::Away);
    expect![[r#"
        engine away · codex·gpt-5.5·medium · workspace-write/on-request
    "#]]
    .assert_eq(&play.rows_with("away"));
    play.news(News::Back);
    assert_eq!(play.rows_with("away"), "");
}

#[test]
fn an_engine_that_a_person_stopped_is_not_called_away() {
    let mut play = play();
    play.news(News::Stopped);
    let is_said = |play: &mut Play| (play.rows_with("stopped"), play.rows_with("starts it"));
    expect![[r#"
        missing      Talaria's engine was stopped
        engine stopped
    "#]]
    .assert_eq(&is_said(&mut play).0);
    expect![[r#"
                       your next message or command starts it again
    "#]]
    .assert_eq(&is_said(&mut play).1);
    play.news(News::Back);
    assert_eq!(is_said(&mut play), (String::new(), String::new()));
}

#[test]
fn permissions_that_codex_does_not_tell_are_not_made_up() {
    let mut play = play();
    let mut silent = offers();
    (silent.sandbox, silent.approval) = (None, None);
    play.news(News::Offers(silent));
    expect![[r#"
        permissions  Codex's defaults; shown when the first turn starts
    "#]]
    .assert_eq(&play.rows_with("permissions"));
}

#[test]
fn small_windows_show_what_matters_most() {
    let mut play = play().at(40, 12);
    play.news(News::Offers(offers()));
    expect![[r#"
        Talaria 0.6.0
        folder  ~/project
        runtime
          Codex 0.166.0 (me@example.org,
          chatgpt, plus)
        model  gpt-5.5, effort medium at openai
        permissions
          sandbox workspace-write, approvals
          on-request
        ── Enter sends ─────────────────────────
        › say what to do   / commands   @ files
        codex·gpt-5.5·medium · workspace-write
    "#]]
    .assert_eq(&play.screen());
    play.size = (20, 5);
    expect![[r#"
        Talaria 0.6.0
        folder  ~/project
        runtime
        › say what to do
        codex·gpt-5.5·medium
    "#]]
    .assert_eq(&play.screen());
    play.news(missing("no Codex", "run `talaria setup`"));
    expect![[r#"
        Talaria 0.6.0
        missing  no Codex
          run `talaria
        › say what to do
        codex·gpt-5.5·medium
    "#]]
    .assert_eq(&play.screen());
    play.size = (19, 5);
    expect![[r#"
        too small




    "#]]
    .assert_eq(&play.screen());
    play.write("hello").press("Enter");
    assert!(play.wishes().contains("Send"), "keys work all the same");
}

#[test]
fn a_note_of_ours_stands_below_the_first_screen() {
    let mut play = play();
    play.news(News::Reply("nothing was found".into()));
    let screen = play.screen();
    assert!(screen.contains("Talaria 0.6.0") && screen.contains("nothing was found"), "{screen}");
}

#[test]
fn a_missing_login_is_not_missing_any_more_once_the_model_has_answered() {
    let mut play = play();
    let mut nobody = offers();
    nobody.account.needed = true;
    play.news(News::Offers(nobody));
    play.news(News::Missing { what: "not logged in".into(), remedy: "run `codex login`".into() });
    play.running().event(sample::failed()).news(News::Opened(None));
    assert!(play.screen().contains("not logged in"), "a turn that failed shows nothing of the kind");
    play.news(News::Opened(None)).running().event(sample::completed("done")).news(News::Opened(None));
    assert!(!play.screen().contains("not logged in"), "{}", play.screen());
}

#[test]
fn the_first_screen_fits_a_phone() {
    let mut play = play().at(40, 20);
    play.news(News::Offers(offers()));
    expect![[r#"
        Talaria 0.6.0
        folder  ~/project
        runtime
          Codex 0.166.0 (me@example.org,
          chatgpt, plus)
        model  gpt-5.5, effort medium at openai
        permissions
          sandbox workspace-write, approvals
          on-request

        Type what you want done and press Enter.
        / lists commands, @ names a file, ! runs
        a shell command, ? shows the keys.
        Ctrl-D leaves; turns continue: `talaria
        --last` returns.


        ── Enter sends ─────────────────────────
        › say what to do   / commands   @ files
        codex·gpt-5.5·medium · workspace-write
    "#]]
    .assert_eq(&play.screen());
}

#[test]
fn folders_below_home_are_shown_as_people_write_them() {
    let mut play = play();
    play.event(sample::session_started());
    expect![[r#"
        cwd       ~/project
    "#]]
    .assert_eq(&play.rows_with("project"));
    let session = serde_json::json!({ "id": "s-2", "title": "Pears?", "runtime": "codex",
        "updated_at": "2026-01-01T00:00:10Z", "running": false, "kind": "chat", "task": null,
        "cwd": "/home/me/elsewhere", "model": null, "created_at": "2026-01-01T00:00:10Z", "last_seq": 1 });
    play.news(News::Opened(Some(Box::new(serde_json::from_value(session).unwrap()))));
    expect![[r#"
        folder       ~/elsewhere
    "#]]
    .assert_eq(&play.rows_with("elsewhere"));
}

#[test]
fn what_is_missing_is_told_once_and_looked_for_anew_in_a_new_conversation() {
    let mut play = play();
    play.news(missing("no Codex", "run `talaria setup`")).news(missing("no Codex", "run `talaria setup`"));
    assert_eq!(play.rows_with("no Codex").lines().count(), 1);
    play.news(News::Opened(None));
    assert!(play.screen().contains("asking Codex"));
    play.news(missing("no Codex", "run `talaria setup`"));
    assert_eq!(play.rows_with("no Codex").lines().count(), 1);
    play.news(News::Opened(None)).news(missing("an old Codex", "run `talaria setup`"));
    assert_eq!((play.rows_with("no Codex"), play.rows_with("an old").lines().count()), (String::new(), 1));
}

#[test]
fn long_words_go_on_in_the_next_row_in_windows_of_any_width() {
    for columns in [20, 30, 39, 40, 41, 60] {
        let mut play = play().at(columns, 40);
        play.chat.known.cwd = "/srv/a-folder-with-a-long-name/another-one/and-the-last".into();
        play.news(missing("not logged in", "run `/opt/somewhere/far/away/node_modules/.bin/codex login`"));
        let screen: String = play.screen().split_whitespace().collect();
        for words in ["another-one/and-the-last", "node_modules/.bin/codexlogin`"] {
            assert!(screen.contains(words), "{columns}: {}", play.screen());
        }
    }
}

#[test]
fn an_effort_that_codex_does_not_name_is_the_usual_one_of_a_model_that_it_lists() {
    let Event::SessionStarted(mut started) = sample::session_started() else { unreachable!() };
    started.effort = None;
    let mut play = play();
    play.news(News::Offers(offers())).write("go").press("Enter");
    play.event(Event::SessionStarted(started.clone()));
    let mut told = play.rows_with("codex·");
    play.event(Event::SettingsConfirmed { model: "unlisted".into(), effort: None });
    told += &play.rows_with("codex·");
    play.event(Event::SettingsConfirmed { model: "mini".into(), effort: Some("high".into()) });
    told += &play.rows_with("codex·");
    // One that was there before; until Codex has said something of it, nothing is known.
    let info = SessionInfo { running: false, model: Some("gpt-5.5".into()), ..elsewhere::info() };
    play.news(News::Opened(Some(Box::new(info))));
    told += &play.rows_with("codex·");
    play.event(Event::SessionStarted(started));
    told += &play.rows_with("codex·");
    expect![[r#"
        ⠋ sending 0s · codex·gpt-5.5·medium · workspace-write/on-request
        ⠋ sending 0s · codex·unlisted · workspace-write/on-request
        ⠋ sending 0s · codex·mini·high · workspace-write/on-request
        codex·gpt-5.5
        codex·gpt-5.5·medium · workspace-write/on-request
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_conversation_of_the_built_in_loop_is_never_called_codex() {
    let mut play = play();
    play.news(News::LoopOffers(Box::new(LoopOffers {
        provider: "house".into(),
        model: None,
        providers: vec![("house".into(), vec!["small".into()]), ("other".into(), vec!["big".into()])],
    })));
    expect![[r#"
        folder       ~/project
        runtime      Talaria's built-in loop
        model        none is named at house; choose one with /model
        permissions  as on Codex, by the folder; shown when the first turn starts
        › say what to do   / commands   @ files   ! shell
    "#]]
    .assert_eq(&play.rows_with("  "));
    play.news(News::Chosen { provider: Some("other".into()), model: Some("big".into()), effort: None });
    expect![[r#"
        model        big (requested) at other
        other·big
    "#]]
    .assert_eq(&play.rows_with("big"));
    let Event::SessionStarted(started) = sample::session_started() else { panic!("no start") };
    let on_loop = Started { codex: String::new(), provider: "other".into(), model: "big".into(), ..*started };
    play.running().event(Event::SessionStarted(Box::new(on_loop)));
    let status = play.rows_with("other·big");
    assert!(!status.is_empty() && !status.contains("codex"), "{}", play.screen());
}
