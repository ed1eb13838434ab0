//! An accepted request was on the screen completely, in windows of any size.

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
        ? The model asks to run a command of 41 lines
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
        ── 1-15/47; 16-47 not seen yet: Space or PageDown ──
        [y] yes, once  [s] yes, for this session  [n] no, continue
        [r] no, and say why  [x] no, stop the turn:
        ── keys answer, or arrows and Enter; Ctrl-G: input line ────────────────────────
        › say what to do   / commands   @ files   ! shell
        ? waiting for you · codex·gpt-5.5·high · workspace-write/on-request
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
        ? The model asks to run a command
          │ cargo test --workspace --all-target
          │ s --locked
          in      /home/me/project
          reason  may I?
                  sure
          note    Codex asks when it wants to
        ── 1-7/12; 8-12 unseen: Space ──
        [y/s/n/r/x]
        ── keys answer; Ctrl-G: input line ─────
        › say what to do   / commands   @ files
        ? waiting for you · codex·gpt-5.5·high
    "#]]
    .assert_eq(&play.screen());
    play.size = (20, 5);
    expect![[r#"
        ? The model asks to
        run a command
        unseen 3-25: Space
        [y/s/n/r/x]
        ? waiting for you
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
        ── 1-15/70; 16-70 not seen yet: Space or PageDown ──
        ── 56-70/70; 16-55 not seen yet: PageUp ──
        ── 16-29/70; 30-55 not seen yet: Space or PageDown ──
        ── 30-43/70; 44-55 not seen yet: Space or PageDown ──
    "#]]
    .assert_eq(&told);
    play.wishes();
    play.press("a");
    assert!(play.wishes().contains("accept_always"), "{}", play.screen());
}

#[test]
fn rows_that_were_not_seen_are_named_in_narrow_windows_with_a_key_that_every_keyboard_has() {
    let mut told = String::new();
    for columns in [80, 40, 30, 22, 20] {
        let mut play = play().at(columns, 16);
        play.running().asked("r-1", sample::ask_command(&"step\n".repeat(20))).settle();
        let mut tell = |play: &mut Play| {
            let screen = play.screen();
            let is_mark = |row: &&str| row.contains("seen") && !row.contains("read it");
            told += &format!("{columns}: {}\n", screen.lines().find(is_mark).unwrap_or("all seen"));
        };
        tell(&mut play);
        play.press("End").settle();
        tell(&mut play);
        play.press("Home r").settle();
        tell(&mut play);
        play.press("Esc Ctrl-G").settle();
        tell(&mut play);
    }
    expect![[r#"
        80: ── 1-10/27; 11-27 not seen yet: Space or PageDown ──
        80: ── 18-27/27; 11-17 not seen yet: PageUp ──
        80: ── 1-11/27; 12-17 not seen yet: PageDown ──
        80: ── 1-11/27; 12-17 not seen yet ──
        40: ── 1-7/32; 8-32 unseen: Space ──
        40: ── 26-32/32; 8-25 unseen: Up ──
        40: ── 1-11/32; 12-25 unseen: Down ──
        40: ── 1-11/32; 12-25 not seen yet ──
        30: 1-7/34, unseen 8-34: Space
        30: 28-34/34, unseen 8-27: Up
        30: 1-10/34, unseen 11-27: Down
        30: ── 1-11/34; 12-27 unseen ──
        22: unseen 12-41: Space
        22: unseen 12-30: Up
        22: unseen 12-30: Down
        22: 1-11/41, unseen 12-30
        20: unseen 12-44: Space
        20: unseen 12-33: Up
        20: unseen 12-33: Down
        20: unseen 12-33
    "#]]
    .assert_eq(&told);
}

#[test]
fn space_shows_the_rows_that_it_is_named_for() {
    let mut play = play().at(40, 16);
    play.running().asked("r-1", sample::ask_command(&"step\n".repeat(20))).settle();
    for _ in 0..20 {
        if play.screen().contains("unseen") {
            play.press("Space").settle();
        }
    }
    play.press("y");
    assert!(play.wishes().contains("answer r-1"), "{}", play.screen());
}
