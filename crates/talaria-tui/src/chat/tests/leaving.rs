//! Stopping, clearing and leaving: the mildest thing first.

use expect_test::expect;

use super::*;

#[test]
fn esc_interrupts_when_nothing_is_to_be_closed() {
    let mut play = play();
    play.press("Esc");
    assert_eq!(play.wishes(), "", "nothing is running");
    play.running().write("/mo").press("Esc");
    assert_eq!(play.wishes(), "", "the list was closed");
    play.press("Esc");
    assert_eq!(play.wishes(), "Interrupt\n");
    expect![[r#"
        ⠋ stopping 0s · codex·gpt-5.5·high · workspace-write/on-request
    "#]]
    .assert_eq(&play.rows_with("stopping"));
    assert!(play.screen().contains("/mo"), "what was typed stays");
}

#[test]
fn a_turn_that_is_stopped_before_it_began_stops_when_it_begins() {
    let mut play = play();
    play.write("go").press("Enter").write("and more").press("Enter Esc");
    assert!(!play.wishes().contains("Interrupt"), "nobody has it who could stop it");
    assert!(play.screen().contains("stopping"));
    play.news(News::Started { session: session(), turn: 1 });
    assert_eq!(play.wishes(), "Interrupt\n");
    assert!(play.screen().contains("› and more"), "what was to follow is not sent");
}

#[test]
fn esc_gives_the_keyboard_back_before_it_interrupts() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.press("r Esc");
    assert!(play.screen().contains("[y]"), "back to the choices");
    play.press("Esc");
    assert!(play.screen().contains("Ctrl-G answers it"));
    assert_eq!(play.wishes(), "");
    play.press("Esc");
    assert_eq!(play.wishes(), "Interrupt\n");
}

#[test]
fn ctrl_c_interrupts_and_a_second_one_leaves() {
    let mut play = play();
    play.running().write("half").press("Ctrl-C");
    assert_eq!(play.wishes(), "Interrupt\n");
    expect![[r#"
        ── stopping the turn (Ctrl-C again leaves the chat) ────────────────────────────
    "#]]
    .assert_eq(&play.rows_with("again"));
    assert!(play.screen().contains("› half"), "while a turn runs nothing is cleared");
    play.press("Ctrl-C");
    assert_eq!(play.wishes(), "Leave\n");
}

#[test]
fn a_second_ctrl_c_that_comes_late_does_not_leave() {
    let mut play = play();
    play.press("Ctrl-C").wait(2000).press("Ctrl-C");
    assert_eq!(play.wishes(), "");
    play.write("x").press("Ctrl-C");
    assert_eq!(play.wishes(), "", "another key was between them");
    assert!(!play.screen().contains("› x"), "without a turn it clears the line");
    play.press("Ctrl-C");
    assert_eq!(play.wishes(), "Leave\n");
}

#[test]
fn what_a_second_ctrl_c_would_do_is_not_said_any_longer_than_it_is_true() {
    for what in ["a key", "a paste", "an arrow", "a search"] {
        let mut play = play();
        play.write("half").press("Ctrl-C");
        assert!(play.screen().contains("Ctrl-C again leaves the chat"));
        match what {
            "a key" => play.write("new"),
            "a paste" => play.paste("new"),
            "an arrow" => play.press("Left"),
            _ => play.press("Ctrl-R"),
        };
        assert!(!play.screen().contains("again leaves"), "{what}");
        play.press("Esc Ctrl-C");
        assert_eq!(play.wishes(), "", "{what}");
    }
}

#[test]
fn ctrl_c_works_also_where_a_request_or_a_list_is_open() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.press("Ctrl-C");
    assert_eq!(play.wishes(), "Interrupt\n");
    let mut play = super::play();
    play.write("/theme").press("Esc Enter").press("Ctrl-C");
    assert!(!play.screen().contains("Esc closes"));
}

#[test]
fn ctrl_d_leaves_only_with_an_empty_line() {
    let mut play = play();
    play.write("x").press("Ctrl-D");
    assert_eq!(play.wishes(), "");
    play.press("Backspace Ctrl-D");
    assert_eq!(play.wishes(), "Leave\n");
}

#[test]
fn nothing_moves_while_nothing_happens() {
    let mut play = play();
    play.news(News::Offers(offers()));
    assert!(!play.chat.is_ticking());
    let before = play.chat.frame(80, 24, play.now);
    play.wait(60_000);
    assert_eq!(before, play.chat.frame(80, 24, play.now));
    play.running();
    assert!(play.chat.is_ticking());
    play.event(sample::completed("done"));
    assert!(!play.chat.is_ticking());
}

#[test]
fn a_turn_that_ended_before_it_was_said_to_have_begun_does_not_run() {
    let mut play = play();
    play.write("go").press("Enter").event(sample::turn_started()).event(sample::completed("done"));
    play.news(News::Started { session: session(), turn: 1 });
    assert!(!play.chat.is_ticking());
    play.news(News::Started { session: session(), turn: 2 });
    assert!(play.chat.is_ticking());
}

#[test]
fn another_conversation_takes_nothing_of_the_last_one_with_it() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.news(News::Opened(None));
    let screen = play.screen();
    assert!(screen.contains("Enter sends") && !screen.contains("[y]") && screen.contains("Talaria 0.6.0"));
}

#[test]
fn ctrl_d_behind_a_text_says_why_it_does_not_leave() {
    let mut play = play();
    play.write("half").press("Ctrl-D");
    assert_eq!(play.wishes(), "");
    assert!(play.screen().contains("the input is not empty: Ctrl-C clears it"), "{}", play.screen());
    play.press("Home Ctrl-D");
    assert_eq!(play.rows_with("› alf"), "› alf\n");
}
