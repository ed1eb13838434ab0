//! Requests of other conversations, and answers of other clients.

use expect_test::expect;
use talaria_core::api::{Kind, SessionInfo, TaskCounts};
use talaria_core::request::{Decision, Who};

use super::*;
use talaria_render::Style;

fn closed(id: &str, decision: Decision) -> Event {
    Event::RequestClosed { id: TicketId::new(id), decision, by: Who::User, why: None }
}

fn waiting(requests: Vec<RequestInfo>) -> News {
    News::Waiting { requests, tasks: TaskCounts { working: 0, waiting: 1, queued: 0 }, background: 0 }
}

/// A conversation that was there before.
pub(super) fn info() -> SessionInfo {
    SessionInfo {
        provider: None,
        id: session(),
        title: "old".into(),
        runtime: "codex".into(),
        updated_at: Timestamp::UNIX_EPOCH,
        running: true,
        queued: false,
        kind: Kind::Chat,
        task: None,
        cwd: "/home/me/project".into(),
        model: None,
        created_at: Timestamp::UNIX_EPOCH,
        last_seq: 9,
    }
}

#[test]
fn an_answer_from_elsewhere_is_told_and_the_panel_goes() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.event(closed("r-1", Decision::Decline));
    let screen = play.screen();
    assert!(screen.contains("the request was answered elsewhere: declined"), "{screen}");
    assert!(!screen.contains("[y]"), "{screen}");
    play.press("y");
    assert_eq!(play.wishes(), "");
}

#[test]
fn a_refused_answer_can_be_given_again() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.press("y");
    play.wishes();
    let refused = |what: &str| News::Refused {
        what: what.to_owned(),
        prompt: None,
        ticket: Some(TicketId::new("r-1")),
    };
    play.news(refused("your answer was not accepted: the question has changed"));
    assert_eq!(play.rows_with("not accepted").matches("not accepted").count(), 1, "{}", play.screen());
    play.settle().press("y");
    play.wishes();
    play.news(refused("it is not known whether your answer was received"));
    assert!(!play.screen().contains("not accepted"), "that is not known\n{}", play.screen());
    play.settle().press("n");
    assert!(play.wishes().contains("decline"));
}

#[test]
fn nothing_is_asked_from_the_past() {
    let mut play = play();
    play.news(News::Opened(Some(Box::new(info()))));
    play.asked("r-1", sample::ask_command("ls")).asked("r-2", sample::ask_command("pwd")).settle();
    assert!(!play.screen().contains("[y]"));
    play.event(closed("r-1", Decision::Accept)).news(News::CaughtUp).settle();
    let screen = play.screen();
    assert!(screen.contains("[y]") && screen.contains("│ pwd"), "{screen}");
    play.press("y");
    assert!(play.wishes().contains("answer r-2"));
}

#[test]
fn a_request_that_the_events_do_not_tell_of_comes_with_what_waits_and_not_again_when_it_is_closed() {
    let mut play = play();
    let here = || RequestInfo { session: session(), task: None, ..of_task("r-1", "") };
    play.running().news(waiting(vec![here()])).settle().press("y");
    assert!(play.wishes().contains("answer r-1"));
    play.event(closed("r-1", Decision::Accept)).news(waiting(vec![here()])).settle();
    assert!(!play.screen().contains("[y]"), "an older list does not open it again");
}

#[test]
fn a_second_client_says_what_is_in_force_as_the_first_does() {
    let mut play = play();
    let mut offered = offers();
    offered.sandbox = Some("read-only".into());
    play.news(News::Offers(offered)).news(News::Opened(Some(Box::new(info()))));
    let here = || RequestInfo { session: session(), task: None, ..of_task("r-1", "") };
    play.news(waiting(vec![here()])).news(News::CaughtUp).settle();
    assert!(
        play.rows_with("sandbox").contains("(not known)"),
        "what would be in force elsewhere is no answer"
    );
    play.event(sample::session_started()).settle();
    assert!(play.rows_with("note").contains("sandbox (workspace-write)"), "{}", play.screen());
}

#[test]
fn it_is_seen_when_keys_begin_to_answer() {
    let mut play = play();
    play.news(waiting(vec![of_task("r-9", "deploy")])).press("F2").draw();
    let style = |play: &mut Play| {
        let frame = play.chat.frame(play.size.0, play.size.1, play.now);
        let rule = frame.lines.into_iter().find(|line| line.text().contains("keys answer")).unwrap();
        rule.spans[0].style
    };
    assert_eq!(style(play.wait(499)), Style::DIM);
    assert!(play.chat.is_ticking(), "nothing else happens that would have it drawn again");
    assert_eq!(style(play.wait(1)), Style::BOLD);
    assert!(!play.chat.is_ticking());
    play.press("y");
    assert!(play.wishes().contains("answer r-9"));
}

#[test]
fn esc_puts_a_request_of_another_conversation_away() {
    let mut play = play();
    play.news(waiting(vec![of_task("r-9", "deploy")])).press("F2").settle().press("Esc");
    assert!(!play.screen().contains("make deploy"));
    assert!(play.screen().contains("1 request waits"));
}

#[test]
fn a_request_of_a_task_is_a_badge_and_opens_in_the_same_panel() {
    let mut play = play();
    play.news(waiting(vec![of_task("r-9", "deploy")]));
    expect![[r#"
        1 request waits: F2 · 1 task
    "#]]
    .assert_eq(&play.rows_with("1 request"));
    assert!(!play.screen().contains("make deploy"), "it does not come by itself");
    play.press("F2").settle();
    expect![[r#"
        Talaria 0.6.0
          folder       ~/project
          runtime      asking Codex
          model        not known yet
          permissions  not known yet
        Type what you want done and press Enter.
        / lists commands, @ names a file, ! runs a shell command, ? shows the keys.
        Ctrl-D leaves; turns continue: `talaria --last` returns.
        A request from the task deploy
        ? The model asks to run a command
          │ make deploy
          in      /home/me/project
          reason  may I?
                  sure
          note    if you accept, the command may run outside the sandbox, with all your
                  rights
          1 [y] yes, once
          2 [s] yes, for this session
          3 [n] no, continue
          4 [r] no, and say why
          5 [x] no, stop the turn
        ── keys answer, or arrows and Enter; Ctrl-G: input line ────────────────────────
        › say what to do   / commands   @ files   ! shell
        1 task
    "#]]
    .assert_eq(&play.screen());
    play.press("y");
    expect![[r#"
        answer r-9 {"decision":"accept","reason":null,"content":{"kind":"nothing"}} [digest of r-9]
    "#]]
    .assert_eq(&play.wishes());
    play.news(waiting(Vec::new()));
    assert!(!play.screen().contains("your answer was recorded"), "somebody else may have answered");
    play.news(News::Answered { ticket: TicketId::new("r-9") });
    assert!(play.screen().contains("your answer was recorded"));
    play.news(waiting(vec![of_task("r-9", "deploy")]));
    assert_eq!(play.rows_with("request waits"), "", "an older list does not open it again");
}

#[test]
fn of_several_requests_one_is_chosen_from_a_list() {
    let mut play = play();
    play.news(waiting(vec![of_task("r-8", "build"), of_task("r-9", "deploy")]));
    play.press("F2").settle();
    expect![[r#"
        › the task build: make deploy
        the task deploy: make deploy
        2 requests wait: F2 · 1 task
    "#]]
    .assert_eq(&play.rows_with("task"));
    play.press("Down Enter").settle().press("n");
    assert!(play.wishes().contains("answer r-9"));
}

#[test]
fn a_request_of_the_conversation_that_was_left_waits_elsewhere() {
    let mut play = play();
    let here = RequestInfo { session: session(), task: None, ..of_task("r-1", "") };
    play.running().news(waiting(vec![here])).settle();
    assert!(play.screen().contains("[y]"));
    play.news(News::Opened(None)).settle();
    assert_eq!(play.rows_with("request waits"), "1 request waits: F2 · 1 task\n");
    play.news(News::Opened(Some(Box::new(info())))).news(News::CaughtUp).settle();
    assert!(play.screen().contains("[y]"), "and is asked again there");
    assert_eq!(play.rows_with("request waits"), "");
}

#[test]
fn a_page_of_another_conversation_is_not_put_into_this_one() {
    let mut play = play();
    play.news(News::Opened(Some(Box::new(info()))));
    play.seq = 1;
    play.event(sample::ended("m", sample::message_body("the end", None))).news(News::CaughtUp).settle();
    assert_eq!(play.wishes(), "Older { before: 2 }\n");
    play.seq = 0;
    let said = play.numbered(sample::ended("n", sample::message_body("the beginning", None)));
    let strange = Numbered { session: SessionId::new("s-other"), seq: 9, ..said.clone() };
    play.news(News::Event(Box::new(strange)));
    let page = |id: &str, events| News::Older { session: SessionId::new(id), before: 2, events };
    play.news(page("s-other", Some(vec![said.clone()]))).settle();
    assert!(!play.screen().contains("the beginning"));
    play.news(page("s-1", None)).settle();
    assert!(play.screen().contains("earlier events"), "what could not be fetched is still missing");
    assert_eq!(play.wishes(), "", "it is not asked for at once");
    play.wait(2000).settle();
    assert_eq!(play.wishes(), "Older { before: 2 }\n");
    play.news(page("s-1", Some(vec![said])));
    let screen = play.screen();
    assert!(screen.contains("the beginning") && !screen.contains("earlier events"), "{screen}");
}

#[test]
fn a_page_that_was_asked_for_before_the_window_moved_does_not_have_the_next_one_asked_for_twice() {
    let mut play = play();
    play.news(News::Opened(Some(Box::new(info()))));
    play.seq = 5000;
    play.event(sample::ended("m", sample::message_body("the end", None))).news(News::CaughtUp).settle();
    assert_eq!(play.wishes(), "Older { before: 5001 }\n");
    play.press("Ctrl-Home").settle();
    assert_eq!(play.wishes(), "Older { before: 1001 }\n");
    play.seq = 3999;
    let said = play.numbered(sample::ended("n", sample::message_body("in the middle", None)));
    let page = |before, events| News::Older { session: session(), before, events };
    play.news(page(5001, Some(vec![said]))).settle();
    assert_eq!(play.wishes(), "");
    // Nor is it asked for again because another one could not be fetched.
    play.news(page(3000, None)).wait(2000).settle();
    assert_eq!(play.wishes(), "");
    play.seq = 0;
    let said = play.numbered(sample::ended("o", sample::message_body("the beginning", None)));
    play.news(page(1001, Some(vec![said]))).settle();
    let screen = play.screen();
    assert!(screen.contains("the beginning"), "{screen}");
    assert_eq!(play.wishes(), "Older { before: 2001 }\n", "the next one");
}

#[test]
fn a_conversation_that_was_there_shows_none_of_what_was_asked_for_before() {
    let mut play = play();
    let mut offered = offers();
    offered.sandbox = Some("read-only".into());
    play.news(News::Offers(offered));
    play.news(News::Chosen { provider: None, model: Some("mini".into()), effort: None });
    assert!(play.screen().contains("mini"));
    let info = SessionInfo { running: false, ..info() };
    play.news(News::Opened(Some(Box::new(info)))).news(News::CaughtUp);
    let screen = play.screen();
    assert!(
        !screen.contains("mini") && !screen.contains("read-only") && !screen.contains("gpt-5.5"),
        "{screen}"
    );
}

#[test]
fn the_badge_says_whether_it_counts_the_request_that_is_shown() {
    let mut play = play();
    let waiting = |count: usize| News::Waiting {
        requests: (0..count).map(|at| of_task(&format!("r-{at}"), "deploy")).collect(),
        tasks: TaskCounts::default(),
        background: 0,
    };
    let mut told = String::new();
    for count in [1, 2] {
        play.news(waiting(count));
        told += &play.rows_with(": F2");
    }
    play.running().asked("r-9", sample::ask_command("ls"));
    for count in [1, 2] {
        play.news(waiting(count));
        told += &play.rows_with(": F2");
    }
    expect![[r#"
        1 request waits: F2
        2 requests wait: F2
        ? waiting for you · 1 more waits: F2 · codex·gpt-5.5·high · workspace-write
        ? waiting for you · 2 more wait: F2 · codex·gpt-5.5·high · workspace-write
    "#]]
    .assert_eq(&told);
}

#[test]
fn an_answer_to_a_task_says_to_what_and_why() {
    let mut play = play();
    play.news(waiting(vec![of_task("r-9", "t-1")])).press("F2").settle();
    play.press("r").write("not on a Friday").press("Enter");
    assert_eq!(
        play.wishes(),
        "answer r-9 {\"decision\":\"decline\",\"reason\":\"not on a Friday\",\"content\":{\"kind\":\"nothing\"}} [digest of r-9]\n"
    );
    // A person who does not wait for it is notified all the same.
    play.press("Ctrl-G Esc").news(News::Answered { ticket: TicketId::new("r-9") });
    let screen = play.screen();
    for words in [
        "A request from the task t-1: make deploy",
        "your answer was recorded: declined, because: not on a Friday",
    ] {
        assert!(screen.contains(words), "{screen}");
    }
    play.news(News::Answered { ticket: TicketId::new("r-9") });
    assert_eq!(play.rows_with("your answer was recorded").lines().count(), 1);
}

#[test]
fn what_waited_is_not_said_to_wait_once_the_engine_was_stopped() {
    let mut play = play();
    play.news(waiting(vec![of_task("r-9", "t-1")]));
    assert!(play.rows_with(": F2").starts_with("1 request waits"));
    play.news(News::Stopped);
    assert_eq!(play.rows_with(": F2"), "");
}

#[test]
fn a_question_that_nobody_answered_was_not_answered_elsewhere() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.event(closed("r-1", Decision::Void));
    assert!(!play.screen().contains("answered elsewhere"), "{}", play.screen());
}

#[test]
fn what_waits_elsewhere_is_listed_by_the_name_of_its_conversation() {
    let mut play = play();
    let called = |id: &str, title: Option<&str>, task: Option<&str>| RequestInfo {
        title: title.map(str::to_owned),
        task: task.map(str::to_owned),
        ..of_task(id, "")
    };
    play.news(waiting(vec![
        called("r-1", Some("fix the flaky\u{1b}[2J test"), Some("codex-1")),
        called("r-2", Some("a title that is much too long to stand beside a request"), None),
        called("r-3", None, Some("codex-3")),
        called("r-4", Some(" "), None),
    ]));
    play.press("F2");
    expect![[r#"
        › task fix the flaky␛[2J test: make deploy
        a title that is much too long to...: make deploy
        the task codex-3: make deploy
        the conversation s-2: make deploy
    "#]]
    .assert_eq(&play.rows_with("make deploy"));
    play.press("Enter");
    assert!(play.screen().contains("A request from the task codex-1 (fix the flaky␛[2J test)"));
}

#[test]
fn a_list_names_the_command_and_the_question_shows_all_of_it() {
    let mut play = play();
    let wrapped = "/bin/bash -lc 'make deploy'";
    let ask = Some(sample::ask_command(wrapped));
    let of_task = RequestInfo { summary: wrapped.into(), ask, ..of_task("r-2", "codex-1") };
    play.running().news(waiting(vec![of_task]));
    for (id, command) in [("r-1", "/bin/bash -lc 'make clean'"), ("r-3", "/bin/bash -lc 'make test'")] {
        play.asked(id, sample::ask_command(command)).settle();
    }
    assert!(play.screen().contains("/bin/bash -lc 'make clean'"), "{}", play.screen());
    play.press("F2");
    expect![[r#"
        › here: make test
        the task codex-1: make deploy
    "#]]
    .assert_eq(&play.rows_with(": make "));
    play.press("Down").press("Enter");
    let screen = play.screen();
    assert!(screen.contains("  │ make deploy\n  shell   /bin/bash -lc\n"), "{screen}");
}

#[test]
fn what_a_rule_decided_was_not_answered_elsewhere() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.event(Event::RequestClosed {
        id: TicketId::new("r-1"),
        decision: Decision::Decline,
        by: Who::Floor,
        why: Some("the hard floor".into()),
    });
    let screen = play.screen();
    assert!(screen.contains("declined by the hard floor") && !screen.contains("elsewhere"), "{screen}");
}

#[test]
fn a_conversation_of_another_folder_and_a_task_say_so_when_they_are_opened() {
    let mut play = play();
    play.running();
    let task = SessionInfo {
        id: SessionId::new("s-9"),
        task: Some("codex-9\u{1b}".into()),
        cwd: "/home/me/other".into(),
        ..info()
    };
    play.news(News::Opened(Some(Box::new(task)))).event(sample::session_started());
    assert_eq!(play.rows_with("this is task"), "", "not before its past was told");
    play.news(News::CaughtUp);
    let screen = play.screen();
    for words in ["this is task codex-9␛", "/resume s-1 goes back", "works in ~/other"] {
        assert!(screen.replace("\n  ", " ").contains(words), "{words}: {screen}");
    }
    play.news(News::Opened(Some(Box::new(SessionInfo { cwd: "/home/me/project".into(), ..info() }))));
    play.news(News::CaughtUp);
    assert_eq!(play.rows_with("this conversation works"), "");
}

#[test]
fn a_turn_that_is_left_behind_is_named() {
    let mut play = play();
    play.running().news(News::Opened(None));
    assert!(
        play.screen().contains("the previous conversation is still running; /resume s-1 opens it"),
        "{}",
        play.screen()
    );
    play.news(News::Opened(None));
    assert_eq!(play.rows_with("/resume s-1"), "", "there is none now");
}
