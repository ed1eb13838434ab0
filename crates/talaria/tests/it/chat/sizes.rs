//! Any window: the usual one, a phone, one that is resized while an answer streams, one without colours.

use talaria_scripted::{Gate, Reply};
use talaria_testkit::Terminal;
use talaria_testkit::screen::Color;

use super::stage::{PROMPT, Stage, ended, quit, send};

#[tokio::test]
async fn the_first_screen_says_what_runs_and_what_to_type() {
    let stage = Stage::usual().await;
    let mut terminal = stage.open(&[]).await;
    terminal.wait_shown("gpt-5.5").await;
    let screen = stage.shows("first", &mut terminal).await;
    for text in ["gpt-5.5", "0.166.0", "~/shop"] {
        assert!(screen.contains(text), "{text}\n{}", screen.text());
    }
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_tiny_window_still_takes_a_message_and_shows_the_answer() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("Small answer."));
    let mut terminal = stage.start(5, 20, &[]);
    terminal.wait_shown(PROMPT.trim()).await;
    send(&mut terminal, "hi").await;
    terminal.wait_shown("Small answer.").await;
    stage.shows("tiny", &mut terminal).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_window_that_changes_while_an_answer_comes_shows_it_whole() {
    let stage = Stage::usual().await;
    let gate = Gate::new();
    let words = "word ".repeat(40);
    stage.scene.model.push(Reply::new().text(format!("Begin {words}")).gate(&gate).text("and the end."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Talk").await;
    terminal.wait_shown("Begin").await;
    for (rows, columns) in [(10, 30), (40, 120), (5, 20), (24, 60)] {
        terminal.resize(rows, columns);
        terminal.settled().await;
    }
    gate.open();
    ended(&mut terminal, "and the end.").await;
    let screen = stage.shows("resized", &mut terminal).await;
    assert_eq!(screen.text().matches("word").count(), 40, "{}", screen.text());
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn without_colour_no_cell_has_one() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("**Bold**\n\n```rust\nfn main() {}\n```\n\nDone."));
    let command = stage.command(&[]).env("NO_COLOR", "1");
    let mut terminal = Terminal::spawn_sized(command, 24, 80);
    terminal.wait_shown(PROMPT).await;
    send(&mut terminal, "hi").await;
    terminal.wait_shown("Done.").await;
    let screen = terminal.settled().await;
    for row in 0..24 {
        for column in 0..80 {
            let style = screen.cell(row, column).unwrap().style;
            assert_eq!(
                (style.foreground, style.background),
                (Color::Default, Color::Default),
                "{row}:{column}"
            );
        }
    }
    quit(terminal).await;
    stage.close().await;
}
