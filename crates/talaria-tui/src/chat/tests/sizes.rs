//! The status line and the whole screen in windows of all sizes.

use expect_test::expect;
use talaria_core::api::TaskCounts;
use talaria_core::event::{RateLimits, RateWindow, Usage};

use super::*;

fn busy() -> Play {
    let mut play = play();
    play.running();
    let turn = Usage { input: 9000, cached: 0, output: 600, reasoning: 0, total: 9600, partial: false };
    play.event(Event::UsageUpdated { turn, context: 42_000, window: Some(100_000), input: None });
    let window = |used_percent| Some(RateWindow { used_percent, minutes: Some(300), resets_at: None });
    let limits = RateLimits { primary: window(12.0), secondary: window(85.0), plan: None, reached: None };
    play.event(Event::RateLimits(Box::new(limits)));
    let tasks = TaskCounts { working: 2, waiting: 1, queued: 0 };
    play.news(News::Waiting { requests: vec![of_task("r-9", "deploy")], tasks, background: 0 });
    play.wait(75_000);
    play
}

#[test]
fn the_status_line_drops_what_matters_least() {
    let mut play = busy();
    let mut told = String::new();
    for columns in [160, 120, 100, 80, 60, 40, 30, 20] {
        play.size = (columns, 24);
        told += play.screen().lines().last().unwrap();
        told += "\n";
    }
    play.news(News::Away);
    told += play.screen().lines().last().unwrap();
    expect![[r#"
        ⠋ working 1m 15s · 1 request waits: F2 · codex·gpt-5.5·high · workspace-write/on-request · context 42% · limit 85% · 3 tasks · turn 9.6k tokens
        ⠋ working 1m 15s · 1 request waits: F2 · codex·gpt-5.5·high · workspace-write/on-request · context 42% · 3 tasks
        ⠋ working 1m 15s · 1 request waits: F2 · codex·gpt-5.5·high · workspace-write/on-request · 3 tasks
        ⠋ working 1m 15s · 1 request waits: F2 · codex·gpt-5.5·high · workspace-write
        ⠋ working 1m 15s · 1 request waits: F2 · codex·gpt-5.5·high
        ⠋ working 1m 15s · 1 request waits: F2
        1 request waits: F2 · 3 tasks
        1 request waits: F2
        engine away"#]].assert_eq(&told);
}

#[test]
fn a_running_turn_fits_a_phone() {
    let mut play = busy().at(40, 12);
    play.write("a longer line that has to be broken somewhere");
    expect![[r#"
        model     gpt-5.5 (high), provider
                  openai, Codex 0.166.0
        cwd       ~/project
        sandbox   workspace-write, approval
                  on-request

        ▌ go
        ▌ not confirmed yet
        ── Enter steers; F3: queue; Esc stops ──
        › a longer line that has to be broken
          somewhere
        ⠋ working 1m 15s · 1 request waits: F2
    "#]]
    .assert_eq(&play.screen());
    play.size = (20, 5);
    expect![[r#"

        ▌ go
        ▌ not confirmed yet
        ↑ broken somewhere
        1 request waits: F2
    "#]]
    .assert_eq(&play.screen());
}

#[test]
fn without_unicode_our_signs_are_ascii() {
    let mut play = with_look(Look { color: true, width: None, live: true, unicode: false });
    play.running().write("x").press("Enter").asked("r-1", sample::ask_command("ls")).settle();
    let screen = play.screen();
    assert!(screen.is_ascii(), "{screen}");
    play.press("F1");
    assert!(play.screen().is_ascii());
}

#[test]
fn in_a_small_window_words_are_shortened_and_never_cut_at_their_front() {
    let mut play = play().at(20, 5);
    play.running().asked("r-1", sample::ask_command("ls")).settle();
    let mut told = String::new();
    let mut tell = |play: &mut Play, what: &str| {
        told += &format!("{what}:\n{}", play.screen());
    };
    play.press("y").settle();
    tell(&mut play, "an early yes");
    play.press("Ctrl-G").settle();
    tell(&mut play, "the keys are elsewhere");
    play.press("Ctrl-G r").write("because it is too late for that");
    tell(&mut play, "a reason");
    play.press("Enter");
    tell(&mut play, "answered");
    expect![[r#"
        an early yes:
          │ ls
        unseen 4-23: Space
        read it all first
        [y/s/n/r/x]
        ? waiting for you
        the keys are elsewhere:
          │ ls
        read it all first
        Ctrl-G answers it
        › say what to do
        ? waiting for you
        a reason:
          │ ls
          in      /home/me/p
        unseen 5-23: Down
        why: …late for that
        ? waiting for you
        answered:
          │ ls
        ── 3-3/23 ──
        answer on its way
        › say what to do
        ? waiting for you
    "#]]
    .assert_eq(&told);
}

#[test]
fn the_row_above_the_input_says_in_narrow_windows_what_fits() {
    let mut play = play();
    play.running();
    let mut told = String::new();
    for columns in [40, 30, 20] {
        play.size = (columns, 9);
        told += &play.rows_with("── ");
    }
    play.press("F3").asked("r-1", sample::ask_command("ls")).settle();
    for columns in [40, 30, 20] {
        play.size = (columns, 9);
        told += &play.rows_with("answer");
    }
    expect![[r#"
        ── Enter steers; F3: queue; Esc stops ──
        ── Enter steers ──────────────
        ── Enter steers ────
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_window_that_is_too_small_says_so_in_what_fits() {
    let told = [(40, 4), (19, 5), (10, 3), (9, 1), (5, 2), (4, 1), (2, 1), (1, 1)].map(|(columns, rows)| {
        let mut play = play().at(columns, rows);
        format!("{columns}x{rows}: {}\n", play.screen().trim_end())
    });
    expect![[r#"
        40x4: the window is too small
        19x5: too small
        10x3: too small
        9x1: too small
        5x2: small
        4x1: sma…
        2x1: s…
        1x1: …
    "#]]
    .assert_eq(&told.concat());
    for size in [(0, 0), (0, 3), (3, 0)] {
        assert_eq!(play().at(size.0, size.1).screen().trim(), "");
    }
}

#[test]
fn a_chosen_completion_is_seen_also_above_a_request() {
    for rows in [9, 12, 15, 18, 24] {
        let mut play = play().at(80, rows);
        play.running().asked("r-1", sample::ask_command("ls")).settle();
        play.press("Ctrl-G").write("/");
        for _ in 0..22 {
            play.press("Down");
            let screen = play.screen();
            let marked = screen.lines().filter(|row| row.starts_with("› /")).count();
            assert_eq!(marked, 2, "the input line and the choice, {rows} rows\n{screen}");
        }
    }
}

#[test]
fn a_narrow_status_line_still_says_what_may_be_done() {
    let open = |width| {
        let mut play = play().at(width, 20);
        let mut started = sample::session_started();
        if let Event::SessionStarted(started) = &mut started {
            started.sandbox = "danger-full-access".into();
        }
        play.event(started).event(sample::completed("done"));
        play.rows_with("codex·")
    };
    assert_eq!(open(60), "codex·gpt-5.5·high · danger-full-access/on-request\n");
    assert_eq!(open(40), "codex·gpt-5.5·high · no sandbox\n");
    let mut narrow = play().at(40, 20);
    narrow.event(sample::session_started()).event(sample::completed("done"));
    assert_eq!(narrow.rows_with("codex·"), "codex·gpt-5.5·high · workspace-write\n");
}

#[test]
fn limits_are_shown_as_long_as_they_hold() {
    let told = |used_percent: f64, reached: Option<&str>| {
        let primary = Some(RateWindow { used_percent, minutes: Some(300), resets_at: Some(1000) });
        let reached = reached.map(str::to_owned);
        Event::RateLimits(Box::new(RateLimits { primary, secondary: None, plan: None, reached }))
    };
    let status = |play: &mut Play| play.screen().lines().last().unwrap_or_default().to_owned();
    let mut play = play();
    play.chat.set_clock(Duration::ZERO, Timestamp::from_second(900).unwrap());
    play.news(News::Opened(Some(Box::new(elsewhere::info()))));
    play.event(sample::session_started()).event(told(70.0, None)).news(News::CaughtUp);
    assert!(!status(&mut play).contains("limit"), "nobody knows what was used since: {}", status(&mut play));
    play.event(told(71.0, None));
    assert!(status(&mut play).contains("limit 71%"), "{}", status(&mut play));
    play.event(told(100.0, Some("primary")));
    assert!(status(&mut play).contains("limit reached"), "{}", status(&mut play));
    play.chat.set_clock(Duration::ZERO, Timestamp::from_second(1001).unwrap());
    assert!(!status(&mut play).contains("limit"), "it has begun anew: {}", status(&mut play));
}
