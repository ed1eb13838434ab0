//! A window that gets narrower and wider while a turn runs in it.

use std::time::Duration;

use expect_test::expect;
use talaria_core::item::Status;

use super::screen::Window;
use super::{Renderer, TerminalRenderer, sample};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_spinner_leaves_no_rows_behind_in_a_narrower_window() {
    let window = Window::new(80);
    let mut terminal = TerminalRenderer::new(window.clone(), sample::TERMINAL);
    let command = "cargo test --workspace --all-features --no-fail-fast --message-format short";
    let command = sample::command_body(command, Status::InProgress, None, None);
    terminal.event(SECOND, &sample::turn_started()).unwrap();
    terminal.event(SECOND, &sample::text("m", "Some words that are there to stay, and **half")).unwrap();
    terminal.event(SECOND, &sample::ended("m", sample::message_body("All of it.", None))).unwrap();
    terminal.event(SECOND, &sample::began("c", command)).unwrap();
    let mut now = SECOND;
    for width in [80, 60, 41, 40, 30, 24, 20, 24, 50, 80] {
        window.resize(width);
        terminal.resize(Some(width));
        for _ in 0..5 {
            now += Duration::from_millis(100);
            terminal.tick(now).unwrap();
        }
        let text = window.text();
        let spinners: Vec<&str> = text.lines().filter(|row| row.contains(" running  ")).collect();
        // Where there is no room for drafts there is no spinner either.
        assert_eq!(spinners.len(), usize::from(width >= 24), "{width} columns:\n{text}");
        assert!(spinners.iter().all(|row| text.ends_with(row)), "{width} columns:\n{text}");
    }
    terminal.close().unwrap();
    let told = "Some words that are there to stay, and **half\n\n\
                Codex replaced the message above with this one:\n\nAll of it.\n";
    assert_eq!(window.text(), told);
}

#[test]
fn a_message_goes_on_in_the_new_width() {
    let window = Window::new(80);
    let mut terminal = TerminalRenderer::new(window.clone(), sample::TERMINAL);
    let words = "These words fill the rows of the window, ";
    terminal.event(SECOND, &sample::turn_started()).unwrap();
    terminal.event(SECOND, &sample::text("m", &format!("- {words}{words}"))).unwrap();
    terminal.tick(9 * SECOND).unwrap();
    window.resize(40);
    terminal.resize(Some(40));
    terminal.tick(10 * SECOND).unwrap();
    terminal.event(11 * SECOND, &sample::text("m", words)).unwrap();
    terminal.flush().unwrap();
    terminal.resize(None);
    terminal.event(12 * SECOND, &sample::text("m", words)).unwrap();
    terminal.close().unwrap();
    window.resize(80);
    // Earlier output is left to the terminal; new output fits the new width.
    expect![[r#"
        • These words fill the rows of the window, These words fill the rows of the
          window, These words fill the rows of
          the window, These words fill the rows
          of the window,
    "#]]
    .assert_eq(&window.text());
}

/// The signs of a text; where its rows break is another matter.
fn signs(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn no_change_of_width_loses_text_or_leaves_drafts() {
    const PIECES: [&str; 12] = [
        "word",
        " ",
        " ",
        " of ",
        "\n",
        "\n\n",
        "**",
        "`",
        "- ",
        "世界",
        "averyveryverylongwordwithoutanyspaces/in/it",
        "> ",
    ];
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..600 {
        let pieces: Vec<&str> = (0..1 + random(80)).map(|_| PIECES[random(PIECES.len())]).collect();
        let (still, moved) = (Window::new(80), Window::new(80));
        let mut in_still = TerminalRenderer::new(still.clone(), sample::TERMINAL);
        let mut in_moved = TerminalRenderer::new(moved.clone(), sample::TERMINAL);
        let mut now = SECOND;
        let start = sample::turn_started();
        in_still.event(now, &start).unwrap();
        in_moved.event(now, &start).unwrap();
        for piece in &pieces {
            now += SECOND * u32::try_from(random(3)).unwrap();
            let piece = sample::text("m", piece);
            in_still.event(now, &piece).unwrap();
            in_moved.event(now, &piece).unwrap();
            in_moved.flush().unwrap();
            if random(5) == 0 {
                let width = 20 + random(70);
                moved.resize(width);
                in_moved.resize(Some(width));
            }
            now += SECOND * u32::try_from(random(3)).unwrap();
            in_moved.tick(now).unwrap();
        }
        in_still.close().unwrap();
        in_moved.close().unwrap();
        assert_eq!(signs(&moved.text()), signs(&still.text()), "round {round}: {:?}", pieces.concat());
    }
}
