//! A letter decides only if nothing follows it at once: the first letter of a word does not.

use expect_test::expect;

use super::*;

fn asked() -> Play {
    let mut play = play();
    play.running().asked("r-1", sample::ask_wide_command("/etc/x")).settle();
    play.press("Down").settle();
    play.wishes();
    play
}

#[test]
fn the_first_letter_of_a_word_decides_nothing_and_the_word_goes_to_the_input_line() {
    for word in ["stop it", "yes", "always", "no, wait", "run it once more", "xargs", "YES"] {
        let mut play = asked();
        for letter in word.chars() {
            play.write(&letter.to_string()).draw().wait(150);
        }
        play.wait(5000);
        assert_eq!(play.wishes(), "", "{word}");
        let screen = play.screen();
        assert!(screen.contains(&format!("› {word}")), "{word}\n{screen}");
        assert!(screen.contains("Ctrl-G answers it"), "the question waits: {screen}");
        play.press("Ctrl-G y");
        assert!(play.wishes().contains("accept"), "{word}: it can still be answered");
    }
}

#[test]
fn the_screen_says_that_a_letter_is_taken_and_that_a_word_decided_nothing() {
    let mut play = asked();
    play.write("y");
    assert!(play.chat.is_ticking(), "time decides it");
    expect![[r#"
        ── answering [y] ───────────────────────────────────────────────────────────────
    "#]]
    .assert_eq(&play.rows_with("answering"));
    play.write("e");
    expect![[r#"
        ── you were typing, so nothing was decided; Ctrl-G answers ─────────────────────
    "#]]
    .assert_eq(&play.rows_with("nothing was"));
    assert!(!play.screen().contains("answering"));
}

#[test]
fn a_letter_that_nothing_follows_decides_after_a_moment() {
    let mut play = asked();
    play.write("y").wait(199);
    assert_eq!(play.wishes(), "");
    play.wait(1);
    assert!(play.wishes().contains("answer r-1"));
    play.wait(1000);
    assert_eq!(play.wishes(), "", "once");
}

#[test]
fn enter_behind_a_letter_neither_hastens_nor_hinders_it() {
    let mut play = asked();
    play.write("y").key(key("Enter"));
    assert_eq!(play.wishes(), "");
    play.wait(200);
    assert!(play.wishes().contains("answer r-1"));
}

#[test]
fn any_other_key_and_a_paste_take_a_letter_back() {
    for name in ["Esc", "Backspace", "Ctrl-G", "F1", "PageUp", "Ctrl-C", "Up"] {
        let mut play = asked();
        play.write("y").key(key(name)).wait(5000);
        assert!(!play.wishes().contains("answer"), "{name}");
    }
    let mut play = asked();
    play.write("y").paste("es please").wait(5000);
    assert_eq!(play.wishes(), "");
    assert!(play.screen().contains("› yes please"), "{}", play.screen());
}

#[test]
fn words_do_not_choose_among_the_options_of_a_question() {
    for word in ["green", "2 of them", "none", "other", "red"] {
        let mut play = play();
        let questions = vec![sample::question("colour", "Which colour?", &["Red", "Blue"])];
        play.running().asked("r-1", sample::ask_input(questions)).settle();
        play.wishes();
        play.write(word).wait(5000);
        assert_eq!(play.wishes(), "", "{word}");
        assert!(play.screen().contains(&format!("› {word}")), "{word}\n{}", play.screen());
        play.press("Ctrl-G 2");
        assert!(play.wishes().contains("Blue"), "{word}");
    }
}

#[test]
fn a_yes_that_waits_while_the_question_changes_accepts_nothing_unread() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command(&"step\n".repeat(99))).settle();
    for _ in 0..9 {
        play.press("PageDown").settle();
    }
    play.write("y");
    let Event::SessionStarted(mut started) = sample::session_started() else { unreachable!() };
    started.sandbox = "danger-full-access".into();
    play.event(Event::SessionStarted(started)).wait(1000);
    assert!(!play.wishes().contains("answer"), "{}", play.screen());
}
