//! Answers: formatted while streaming, complete at the end, at their columns whatever the script.

use talaria_scripted::{Gate, PlanStepStatus, Reply};
use talaria_testkit::screen::{Color, Screen};
use talaria_testkit::{Codex, Key};

use super::stage::{FREE, Stage, ended, quit, send};
use crate::scene::both_versions;

both_versions!(
    newest:
    an_answer_is_formatted_as_it_comes,
);

const ANSWER: &str = "\
## What the shop sells

1. **Bread**, baked at *night*
2. Milk

| thing | price |
|---|---:|
| bread | 2.50 |
| milk  | 1.20 |

```rust
fn price(thing: &str) -> u32 { 250 }
```

That is all.
";

async fn an_answer_is_formatted_as_it_comes(codex: Codex) {
    let stage = Stage::new(&codex).await;
    let gate = Gate::new();
    let (first, rest) = ANSWER.split_at(ANSWER.find("2. Milk").unwrap());
    stage.scene.model.push(Reply::new().text(first).gate(&gate).text(rest));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "What is for sale?").await;
    let streaming = terminal.wait_shown("Bread").await;
    assert!(!streaming.contains("Milk") && !streaming.contains("**"), "{}", streaming.text());
    gate.open();
    ended(&mut terminal, "That is all.").await;
    // Highlighting runs concurrently and is visible a moment later.
    let is_coloured = |screen: &Screen| screen.style_of("fn price").unwrap().foreground != Color::Default;
    let screen = terminal.wait_until("highlighted code", is_coloured).await;
    assert!(screen.style_of("What the shop sells").unwrap().is_bold);
    assert!(screen.style_of("night").unwrap().is_italic);
    assert!(!screen.contains("```"), "{}", screen.text());
    if codex.version == "0.166.0" {
        stage.shows("answer", &mut terminal).await;
    }
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn the_steps_of_a_turn_stay_on_the_screen() {
    let stage = Stage::usual().await;
    let steps = [
        ("Count", PlanStepStatus::Completed),
        ("Write", PlanStepStatus::InProgress),
        ("Check", PlanStepStatus::Pending),
    ];
    stage
        .scene
        .model
        .push(Reply::new().reasoning("**Looking around**\n\nThe folder is small.").command("seq 1 40"));
    stage.scene.model.push(Reply::new().plan("Three steps.", steps).command("cat missing; exit 3"));
    stage.scene.model.push(Reply::say("Done with it."));
    let mut terminal = stage.open(&FREE).await;
    send(&mut terminal, "Do three things").await;
    ended(&mut terminal, "Done with it.").await;
    let screen = stage.shows("steps", &mut terminal).await;
    assert!(!screen.contains("20"), "the middle of a long output is folded\n{}", screen.text());
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn wide_and_right_to_left_text_keeps_its_columns() {
    let stage = Stage::usual().await;
    let table = "| sign | name |\n|---|---|\n| 日本語 | wide |\n| שלום | right to left |\n| e\u{301}a | accent |\n| 👩‍👩‍👧 | family |\n\nEnd of signs.\n";
    stage.scene.model.push(Reply::say(table));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "日本 שלום e\u{301} 👩‍👩‍👧 signs").await;
    ended(&mut terminal, "End of signs.").await;
    stage.shows("wide", &mut terminal).await;
    // Typed ones as well, and the cursor is after them.
    terminal.type_keys("日本").await;
    let screen =
        terminal.wait_until("the typed text", |screen| screen.text().matches("日本").count() >= 3).await;
    let (row, column) = screen.cursor();
    assert_eq!(screen.cell(row, column - 1).unwrap().text, "本", "{}", screen.text());
    terminal.key(Key::Backspace).await;
    terminal.key(Key::Backspace).await;
    quit(terminal).await;
    stage.close().await;
}
