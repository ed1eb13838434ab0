//! Choices by number, and by a mark that the arrows move and Enter takes.

use expect_test::expect;
use talaria_core::item::{FileAction, FileChange};

use super::*;

fn asked() -> Play {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.wishes();
    play
}

fn long_patch(files: usize, lines: usize) -> Ask {
    let change = |at: usize| FileChange {
        path: format!("/home/me/project/src/file{at}.rs"),
        action: FileAction::Add,
        move_to: None,
        diff: "new line\n".repeat(lines),
    };
    let mut ask = sample::ask_patch(Some((0..files).map(change).collect()));
    if let Ask::Patch { grant_root, .. } = &mut ask {
        *grant_root = None;
    }
    ask
}

#[test]
fn arrows_mark_a_choice_and_enter_takes_it() {
    for (keys, decision) in [
        ("Down Enter", "\"accept\""),
        ("Down Down Enter", "accept_for_session"),
        ("Down Down Down Up Enter", "accept_for_session"),
        ("Up Enter", "cancel"),
        ("Down Down Down Down Down Down Down Enter", "cancel"),
        ("Down Down Down Enter", "decline"),
    ] {
        let mut play = asked();
        play.press(keys);
        let wishes = play.wishes();
        assert!(wishes.contains(decision), "{keys}: {wishes}");
    }
    let mut play = asked();
    play.press("Down Down");
    expect![[r#"
          1 [y] yes, once
        › 2 [s] yes, for this session
          3 [n] no, continue
          4 [r] no, and say why
          5 [x] no, stop the turn
    "#]]
    .assert_eq(
        &play
            .screen()
            .lines()
            .filter(|row| row.contains("] "))
            .map(|row| format!("{row}\n"))
            .collect::<String>(),
    );
}

#[test]
fn nothing_is_marked_at_first_so_that_enter_alone_decides_nothing() {
    for keys in ["Enter", "Down Up Enter", "Enter Enter Enter"] {
        let mut play = asked();
        play.press(keys).wait(5000);
        assert_eq!(play.wishes(), "", "{keys}");
    }
    let mut play = asked();
    play.press("Enter");
    assert!(play.screen().contains("nothing is marked"), "{}", play.screen());
}

#[test]
fn a_number_is_the_choice_beside_it() {
    for (number, decision) in
        [("1", "\"accept\""), ("2", "accept_for_session"), ("3", "decline"), ("5", "cancel")]
    {
        let mut play = asked();
        play.press(number);
        assert!(play.wishes().contains(decision), "{number}");
    }
    let mut play = asked();
    play.press("4");
    assert!(play.screen().contains("tell the model why"), "{}", play.screen());
    let mut play = asked();
    play.write("10 files").wait(5000);
    assert_eq!((play.wishes(), play.rows_with("› 10")), (String::new(), "› 10 files\n".to_owned()));
}

#[test]
fn a_mark_decides_nothing_before_the_request_was_seen_for_a_moment() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).draw();
    play.wait(400).key(key("Down")).key(key("Enter"));
    assert_eq!(play.wishes(), "");
    play.wait(100).key(key("Down")).key(key("Enter"));
    assert!(play.wishes().contains("answer r-1"), "{}", play.screen());
}

#[test]
fn the_mark_is_gone_when_the_next_request_appears() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).asked("r-2", sample::ask_command("pwd")).settle();
    play.press("Down").event(Event::RequestClosed {
        id: TicketId::new("r-1"),
        decision: talaria_core::request::Decision::Decline,
        by: talaria_core::request::Who::User,
        why: None,
    });
    play.settle().press("Enter");
    assert!(!play.wishes().contains("answer r-2"), "{}", play.screen());
}

#[test]
fn a_single_letter_that_is_no_key_does_nothing_and_says_so() {
    let mut play = asked();
    play.press("z");
    expect![[r#"
        ── keep typing to write a message; this key alone does nothing ─────────────────
    "#]]
    .assert_eq(&play.rows_with("keep typing"));
    play.wait(1000).draw();
    expect![[r#"
        ── z is none of the keys; Ctrl-G: input line ───────────────────────────────────
    "#]]
    .assert_eq(&play.rows_with("none of the keys"));
    play.wait(3000).press("y");
    assert!(play.wishes().contains("answer r-1"), "the keys still answer");
}

#[test]
fn a_word_that_begins_with_no_key_is_typed_also_by_slow_fingers() {
    let mut play = asked();
    for letter in ["h", "a", "y"] {
        play.write(letter).draw().wait(900);
    }
    play.wait(5000);
    assert_eq!((play.wishes(), play.rows_with("› hay")), (String::new(), "› hay\n".to_owned()));
}

#[test]
fn where_not_all_fits_the_marked_choice_is_named_alone() {
    let mut play = play().at(40, 12);
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    for _ in 0..20 {
        play.press("Down").settle();
    }
    assert_eq!(play.rows_with("› 5"), "› 5 [x] no, stop the turn\n", "{}", play.screen());
    play.press("Enter");
    assert!(play.wishes().contains("cancel"));
}

#[test]
fn the_options_of_a_question_can_be_marked_unless_it_is_secret() {
    let mut play = play();
    let question = sample::question("colour", "Which colour?", &["Red", "Blue"]);
    play.running().asked("r-1", sample::ask_input(vec![question.clone()])).settle();
    play.press("Down Down");
    assert_eq!(play.rows_with("› [2]"), "› [2] Blue\n", "{}", play.screen());
    play.press("Enter");
    assert!(play.wishes().contains("Blue"));
    let mut play = super::play();
    let secret = talaria_core::request::Question { secret: true, ..question };
    play.running().asked("r-1", sample::ask_input(vec![secret])).settle();
    play.press("Down Enter");
    assert!(!play.wishes().contains("answer"));
}

#[test]
fn a_long_patch_begins_with_its_files_and_can_be_accepted_unread_after_them() {
    let mut play = play();
    play.running().asked("r-1", long_patch(3, 60)).settle();
    let screen = play.screen();
    expect![[r#"
        ? The model asks to change 3 files
          3 files, +180 −0 lines:
            src/file0.rs (new, +60)
            src/file1.rs (new, +60)
            src/file2.rs (new, +60)
    "#]]
    .assert_eq(
        &screen
            .lines()
            .skip_while(|row| !row.starts_with('?'))
            .take(5)
            .map(|row| format!("{row}\n"))
            .collect::<String>(),
    );
    assert!(screen.contains("[u] yes, once, without reading the diffs"), "{screen}");
    play.press("y");
    assert_eq!(play.wishes(), "", "an ordinary yes needs all of it");
    play.settle().press("u");
    expect![[r#"
        answer r-1 {"decision":"accept","reason":null,"content":{"kind":"nothing"}} [digest of r-1]
    "#]]
    .assert_eq(&play.wishes());
}

#[test]
fn the_list_of_files_is_read_before_a_patch_is_accepted_unread() {
    let mut play = play();
    play.running().asked("r-1", long_patch(40, 5)).settle();
    play.press("u").settle();
    assert_eq!(play.wishes(), "");
    assert!(play.screen().contains("read the list of files first"), "{}", play.screen());
    for _ in 0..3 {
        play.press("PageDown").settle();
    }
    play.press("u");
    assert!(play.wishes().contains("answer r-1"), "{}", play.screen());
}

#[test]
fn a_patch_with_a_grant_for_the_session_cannot_be_accepted_unread() {
    let mut ask = long_patch(3, 60);
    if let Ask::Patch { grant_root, .. } = &mut ask {
        *grant_root = Some("/etc".into());
    }
    let mut play = play();
    play.running().asked("r-1", ask).settle();
    assert!(!play.screen().contains("[u]"), "{}", play.screen());
    play.press("u").settle();
    assert_eq!(play.wishes(), "", "the note about the grant is below the diffs");
}

#[test]
fn a_number_counts_only_where_the_choices_have_numbers() {
    let mut play = play();
    play.size = (60, 12);
    play.running().asked("r-1", sample::ask_command(&"echo a long line\n".repeat(30))).settle();
    for _ in 0..12 {
        play.press("PageDown").settle();
    }
    assert!(!play.screen().contains("2 [s]"), "{}", play.screen());
    play.press("2").settle();
    assert!(!play.wishes().contains("answer"), "{}", play.screen());
}

#[test]
fn a_letter_that_waits_does_not_decide_against_the_mark() {
    let mut play = asked();
    play.press("Down Down Down");
    play.write("y").key(key("Enter")).settle();
    assert_eq!(play.wishes(), "", "a yes was typed, and a no is marked");
}

#[test]
fn what_is_short_or_no_patch_or_was_read_cannot_be_accepted_unread() {
    let mut play = play();
    play.running().asked("r-1", long_patch(1, 9)).settle();
    assert!(!play.screen().contains("[u]"), "{}", play.screen());
    let mut play = super::play();
    play.running().asked("r-1", sample::ask_command(&"step\n".repeat(99))).settle();
    assert!(!play.screen().contains("[u]"), "{}", play.screen());
    play.press("u").wait(5000);
    assert!(!play.wishes().contains("answer"));
    let mut play = super::play();
    play.running().asked("r-1", long_patch(1, 60)).settle();
    for _ in 0..9 {
        play.press("PageDown").settle();
    }
    assert!(!play.screen().contains("[u]"), "{}", play.screen());
    play.press("u").wait(5000);
    assert!(!play.wishes().contains("answer"));
    play.settle().press("y");
    assert!(play.wishes().contains("answer r-1"), "{}", play.screen());
}
