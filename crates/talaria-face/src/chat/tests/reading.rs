//! What is accepted was on the screen, all of it, in windows of any size.

use expect_test::expect;
use talaria_core::request::Ask;

use super::*;

#[test]
fn what_is_too_long_is_read_before_it_is_accepted() {
    let mut play = play();
    let command: String = (1..=40).map(|line| format!("step {line}\n")).collect();
    play.running().asked("r-1", sample::ask_command(&command)).settle();
    expect![[r#"

        ▌ go
        ▌ not confirmed yet
        ? Codex asks to run a command of 41 lines
          │ step 1
          │ step 2
          │ step 3
          │ step 4
          │ step 5
          │ step 6
          │ step 7
          │ step 8
          │ step 9
          │ step 10
          │ step 11
          │ step 12
          │ step 13
          │ step 14
        ── 1-15/47; 16-47 not seen yet: PageDown ──
        [y] yes, once  [s] yes, for this session  [n] no, go on  [r] no, and say why
        [x] no, and stop the turn:
        ── keys answer; Ctrl-G: input line ─────────────────────────────────────────────
        › say what to do   / commands   @ files   ! shell
        ⠋ working 1s · codex·gpt-5.5·high · workspace-write/on-request
    "#]]
    .assert_eq(&play.screen());
    play.press("y").settle();
    assert_eq!(play.wishes(), "");
    expect![[r#"
        read it all first
    "#]]
    .assert_eq(&play.rows_with("read it"));
    play.press("End").settle().press("y");
    assert_eq!(play.wishes(), "", "a jump over the middle does not count");
    for _ in 0..4 {
        play.settle().press("Space");
    }
    play.settle().press("y");
    assert!(play.wishes().contains("answer r-1"));
}

#[test]
fn a_no_needs_no_reading() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command(&"step\n".repeat(99))).settle();
    play.press("n");
    assert!(play.wishes().contains("decline"));
}

#[test]
fn the_panel_in_small_windows_keeps_the_command_and_the_keys() {
    let mut play = play().at(40, 12);
    play.running()
        .asked("r-1", sample::ask_command("cargo test --workspace --all-targets --locked"))
        .settle();
    expect![[r#"
        ? Codex asks to run a command
          │ cargo test --workspace --all-target
          │ s --locked
          in      /home/me/project
        ── 1-4/12 Down ──
        [y] yes, once
        [s] yes, for this session
        [n] no, go on  [r] no, and say why
        [x] no, and stop the turn:
        ── keys answer; Ctrl-G: input line ─────
        › say what to do   / commands   @ files
        ⠋ working 1s · codex·gpt-5.5·high
    "#]]
    .assert_eq(&play.screen());
    play.size = (20, 5);
    expect![[r#"
        ? Codex asks to run
        a command
        ── 1-2/25 Down ──
        [y/s/n/r/x]
        ⠋ working 1s
    "#]]
    .assert_eq(&play.screen());
    play.settle().press("y");
    assert_eq!(play.wishes(), "", "in rows of this width it was not seen whole");
    for _ in 0..30 {
        play.settle().press("Down");
    }
    play.settle().press("y");
    assert!(play.wishes().contains("answer r-1"));
}

#[test]
fn in_a_window_that_is_too_small_nothing_is_answered_unseen() {
    let mut play = play();
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    play.size = (10, 2);
    play.settle().press("y");
    assert_eq!(play.wishes(), "");
}

#[test]
fn a_long_command_with_itself_as_the_rule_is_read_once_and_the_rows_that_are_missing_are_named() {
    let script: String = (1..=61).map(|line| format!("step {line}\n")).collect();
    let mut ask = sample::ask_command(&format!("/bin/bash -lc '{script}'"));
    let Ask::Command { always, .. } = &mut ask else { panic!() };
    *always = Some(vec!["/bin/bash".into(), "-lc".into(), script]);
    let mut play = play();
    play.running().asked("r-1", ask).settle();
    let mut told = play.rows_with("not seen");
    play.press("End").settle();
    told += &play.rows_with("not seen");
    play.press("y").settle();
    for _ in 0..3 {
        told += &play.rows_with("not seen");
        play.press("PageDown").settle();
    }
    expect![[r#"
        ── 1-15/70; 16-70 not seen yet: PageDown ──
        ── 56-70/70; 16-55 not seen yet: PageUp ──
        ── 16-29/70; 30-55 not seen yet: PageDown ──
        ── 30-43/70; 44-55 not seen yet: PageDown ──
    "#]]
    .assert_eq(&told);
    play.wishes();
    play.press("a");
    assert!(play.wishes().contains("accept_always"), "{}", play.screen());
}
