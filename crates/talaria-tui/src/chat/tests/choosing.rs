//! Lists, the table of keys, and what is chosen with them.

use expect_test::expect;

use super::*;

#[test]
fn a_list_is_chosen_from_and_the_choice_is_run() {
    let mut play = play();
    play.write("/model").press("Enter");
    assert!(play.wishes().contains("Run(Model([]))"));
    let row = |name: &str| (name.to_owned(), SlashCommand::Model(vec![name.to_owned()]));
    play.news(News::Pick { title: "model".into(), rows: vec![row("gpt-5.5"), row("mini")] });
    expect![[r#"
        Talaria 0.6.0
          folder       ~/project
          runtime      asking Codex
          model        not known yet
          permissions  not known yet

        Type what you want done and press Enter.
        / lists commands, @ names a file, ! runs a shell command, ? shows the keys.
        Ctrl-D leaves; turns continue: `talaria --last` returns.

        › /model







        model (1/2, type to filter; Enter chooses, Esc closes)
        › gpt-5.5
          mini
        ── Enter chooses; Esc closes ───────────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell

    "#]]
    .assert_eq(&play.screen());
    play.press("Down Enter");
    expect![[r#"
        Run(Model(["mini"]))
    "#]]
    .assert_eq(&play.wishes());
    assert!(!play.screen().contains("Esc closes"));
}

#[test]
fn help_keys_and_themes_need_no_engine() {
    let mut play = play();
    play.press("?");
    expect![[r#"
        Keys 1-20/27 (arrows and pages scroll, another key closes)
          Enter               send; during a turn: steer or queue, as shown
          Esc                 close a list or panel, else stop the running turn
          Ctrl-C              stop a ! command, else the turn, else clear; twice: leave
          Ctrl-D              leave, if the input is empty; turns continue
          y s a n r x, 1-9    answer a request: the keys beside its choices
          Up, Down, Enter     mark a choice of a request, and take the marked one
          u                   accept a long patch after the list of its files
          Ctrl-G              switch between a request and the input
          F1, ?               show the keys
          F2                  show the open requests of all conversations
          Shift-Tab           switch between the modes auto and approval-required
          F3                  choose whether Enter steers or queues
          PageUp, PageDown    scroll; Shift-Up, Shift-Down: by a row
          Ctrl-Home, Ctrl-End go to the beginning or the end of the conversation
          Ctrl-O, Alt-O       expand the last step, again: the one before it; or all
          Up, Down            move between rows, then through sent messages
          Ctrl-V              insert the image or the text of the clipboard
          Ctrl-R              search sent messages
          Tab                 choose from a list and insert it
          Alt-Enter, Ctrl-J   start a new line; so does a backslash before Enter
        ── Esc closes the list of keys ─────────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell

    "#]]
    .assert_eq(&play.screen());
    play.press("Esc");
    assert!(!play.screen().contains("any key closes"));
    play.write("/help").press("Esc Enter");
    assert!(play.screen().contains("Ctrl-Z"), "the end of it");
    play.press("PageUp");
    assert!(play.screen().contains("/quit"));
    play.write("/theme mono").press("Esc Enter");
    assert_eq!(play.chat.theme(), Theme::Mono);
    play.write("/theme").press("Esc Enter");
    assert!(play.screen().contains("› ✓ mono"));
    play.press("Up Enter");
    assert_eq!(play.chat.theme(), Theme::Contrast);
    assert!(!play.wishes().contains("Leave"));
    play.write("/quit").press("Esc Enter");
    assert!(play.wishes().contains("Leave"));
}

#[test]
fn lists_begin_at_what_is_in_force_or_was_asked_for_and_mark_it() {
    let mut play = play();
    play.running().news(News::Offers(offers()));
    let model = |name: &str| (name.to_owned(), SlashCommand::Model(vec![name.to_owned()]));
    let effort = |name: &str| (name.to_owned(), SlashCommand::Reasoning(Some(name.to_owned())));
    let mut told = String::new();
    let mut pick = |play: &mut Play, rows: &[(String, SlashCommand)]| {
        play.news(News::Pick { title: "one of".into(), rows: rows.to_vec() });
        let screen = play.screen();
        let list = screen.lines().skip_while(|row| !row.starts_with("one of")).take(rows.len() + 1);
        told.extend(list.map(|row| format!("{row}\n")));
        play.press("Esc");
    };
    let models = [model("mini"), model("gpt-5.5"), model("gpt-6")];
    pick(&mut play, &models);
    pick(&mut play, &[effort("low"), effort("high")]);
    play.news(News::Chosen { provider: None, model: Some("gpt-6".into()), effort: None });
    pick(&mut play, &models);
    pick(&mut play, &[model("another"), model("unlisted")]);
    expect![[r#"
        one of (2/3, type to filter; Enter chooses, Esc closes)
            mini
        › ✓ gpt-5.5
            gpt-6
        one of (2/2, type to filter; Enter chooses, Esc closes)
            low
        › ✓ high
        one of (3/3, type to filter; Enter chooses, Esc closes)
            mini
            gpt-5.5
        › ✓ gpt-6
        one of (1/2, type to filter; Enter chooses, Esc closes)
        › another
          unlisted
    "#]]
    .assert_eq(&told);
    play.write("/theme contrast").press("Esc Enter").write("/theme").press("Esc Enter");
    expect![[r#"
        terminal: in the colours of the terminal
        › ✓ contrast: nothing is dim or grey
        mono: without colours
    "#]]
    .assert_eq(&play.rows_with(": "));
}

#[test]
fn the_table_of_keys_scrolls_where_it_is_higher_than_the_window() {
    let mut play = play().at(40, 12);
    play.press("F1");
    expect![[r#"
        Keys 1-8/74 (arrows scroll)
          Enter
            send; during a turn: steer or queue,
            as shown
          Esc
            close a list or panel, else stop the
            running turn
          Ctrl-C
            stop a ! command, else the turn,
        ── Esc closes the list of keys ─────────
        › say what to do   / commands   @ files

    "#]]
    .assert_eq(&play.screen());
    play.press("PageDown PageDown Up");
    expect![[r#"
        Keys 16-23/74 (arrows scroll)
          Up, Down, Enter
            mark a choice of a request, and take
            the marked one
          u
            accept a long patch after the list
            of its files
          Ctrl-G
            switch between a request and the
        ── Esc closes the list of keys ─────────
        › say what to do   / commands   @ files

    "#]]
    .assert_eq(&play.screen());
    play.press("End PageDown Down");
    assert!(play.screen().contains("Ctrl-Z"), "{}", play.screen());
    play.press("Home");
    assert!(play.screen().contains("Enter\n"), "{}", play.screen());
    play.press("x");
    let screen = play.screen();
    assert!(!screen.contains("Keys ") && screen.contains("› x"), "{screen}");
}

#[test]
fn a_table_of_keys_that_is_seen_whole_is_closed_by_any_key() {
    let mut play = play().at(80, 40);
    play.press("F1 Down");
    assert!(!play.screen().contains("any key closes"));
}

#[test]
fn f3_says_what_enter_will_do_also_while_nothing_runs() {
    let mut play = play();
    play.press("F3");
    let mut told = play.rows_with("Enter ");
    play.press("F3");
    told += &play.rows_with("Enter ");
    play.running().press("F3");
    told += &play.rows_with("Enter ");
    play.wait(3000).asked("r-1", sample::ask_command("ls")).settle().press("F3");
    told += &play.rows_with("Enter ");
    expect![[r#"
        ── while a turn runs, Enter queues ─────────────────────────────────────────────
        ── while a turn runs, Enter steers it ──────────────────────────────────────────
        ── while a turn runs, Enter queues ─────────────────────────────────────────────
        ── while a turn runs, Enter steers it ──────────────────────────────────────────
    "#]]
    .assert_eq(&told);
}

#[test]
fn conversations_and_tasks_are_completed_by_their_names_and_by_what_they_are_about() {
    let mut play = play();
    play.write("/resume");
    assert_eq!(play.wishes(), "");
    play.write(" ");
    assert_eq!(play.wishes(), "Names\n");
    play.write("p").news(names());
    assert_eq!(play.wishes(), "", "once for a word");
    expect![[r#"
        Ctrl-D leaves; turns continue: `talaria --last` returns.
        s-2      Pears?
        codex-1  Plums
    "#]]
    .assert_eq(&play.rows_with("-"));
    play.press("Tab Tab");
    assert!(play.screen().contains("› /resume s-2"), "{}", play.screen());
    play.press("Ctrl-U").write("/task show ");
    assert_eq!(play.wishes(), "Names\n", "they may be others by now");
    expect![[r#"
        codex-1  working: Plums␛[2J
    "#]]
    .assert_eq(&play.rows_with("codex-"));
    play.press("Ctrl-U").write("/task list ");
    assert_eq!(play.wishes(), "");
}

#[test]
fn names_that_come_late_open_no_list_where_none_are_wanted() {
    let mut play = play();
    play.write("/resume ").press("Ctrl-U").write("hello").news(names());
    assert!(!play.screen().contains("Pears"), "{}", play.screen());
    play.press("Ctrl-U").write("/resume ").press("Esc").news(names());
    assert!(!play.screen().contains("Pears"), "the person closed it: {}", play.screen());
}

fn names() -> News {
    let at = "2026-01-01T00:00:10Z";
    let session = |id: &str, title: &str, task: Option<&str>| {
        serde_json::from_value(
            serde_json::json!({ "id": id, "title": title, "runtime": "codex", "updated_at": at,
            "running": false, "kind": "chat", "task": task, "cwd": "/", "model": null, "created_at": at,
            "last_seq": 1 }),
        )
        .unwrap()
    };
    let task =
        serde_json::from_value(serde_json::json!({ "id": "codex-1", "session": "s-3", "status": "working",
        "title": "Plums\u{1b}[2J", "owner": "person:me", "cwd": "/", "open_requests": 0, "created_at": at,
        "updated_at": at, "completed_at": null }))
        .unwrap();
    let sessions = vec![
        session("s-1", "Cherries?", None),
        session("s-2", "Pears?", None),
        session("s-3", "Plums", Some("codex-1")),
    ];
    News::Names { sessions, tasks: vec![task] }
}

#[test]
fn over_a_request_the_table_of_keys_says_that_keys_close_it() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle().press("F1").settle();
    let screen = play.screen();
    assert!(screen.contains("Esc closes the list") && !screen.contains("keys answer"), "{screen}");
    play.press("y");
    assert!(!play.wishes().contains("answer"));
    assert!(play.screen().contains("› y"), "{}", play.screen());
}
