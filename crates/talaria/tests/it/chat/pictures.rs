//! The pictures of the README: screens of the chat on the real Codex, drawn. `./pictures` rebuilds them.

use std::fs;

use expect_test::expect_file;
use talaria_scripted::{ModelUsage, PlanStepStatus, Reply};
use talaria_testkit::Terminal;
use talaria_testkit::screen::{Color, Screen};

use super::stage::{READY, Stage, asked, committed_text, ended, is_at_prompt, quit, send};
use crate::scene::write_program;

const PROGRAM: &str = "\
/// The price in cents after a discount.
pub fn discounted(cents: u32, percent: u32) -> u32 {
    cents - cents / 100 * percent
}
";

const STEPS: [(&str, PlanStepStatus); 3] = [
    ("Find where the discount is taken", PlanStepStatus::Completed),
    ("Round to the nearest cent", PlanStepStatus::InProgress),
    ("Check the prices", PlanStepStatus::Pending),
];

const PATCH: &str = "\
*** Begin Patch
*** Update File: src/price.rs
@@
-/// The price in cents after a discount.
+/// The price in cents after a discount, rounded to the nearest cent.
 pub fn discounted(cents: u32, percent: u32) -> u32 {
-    cents - cents / 100 * percent
+    cents - (cents * percent + 50) / 100
 }
*** End Patch
";

const ANSWER: &str = "\
**Fixed.** `discounted` divided before it multiplied, so the odd cents were lost:

| price | discount | before | now |
|---|---|---|---|
| 19.99 | 15 % | 17.14 | **16.99** |
| 4.50 | 10 % | 4.10 | **4.05** |
| 100.00 | 20 % | 80.00 | 80.00 |

- It rounds to the *nearest* cent now.
- Prices without odd cents are as they were.

```rust
pub fn discounted(cents: u32, percent: u32) -> u32 {
    cents - (cents * percent + 50) / 100
}
```
";

async fn draw(stage: &Stage, name: &str, terminal: &mut Terminal) {
    // A picture of the next version would be the same one.
    let filter = stage.filter().replace(concat!("Talaria ", env!("CARGO_PKG_VERSION")), "Talaria");
    let drawn = |screen: &Screen| screen.filtered(&filter).to_svg("talaria");
    let committed = expect_file![format!("../../../../../docs/pictures/{name}.svg")];
    let expected = committed_text(&committed);
    let screen =
        terminal.settled_as(|screen| expected.as_ref().is_none_or(|text| *text == drawn(screen))).await;
    committed.assert_eq(&drawn(&screen));
}

fn usage(input: u64) -> ModelUsage {
    ModelUsage { input, cached: input / 2, output: 220, reasoning: 90 }
}

async fn question(terminal: &mut Terminal, text: &str) -> Screen {
    terminal.wait_shown(text).await;
    asked(terminal).await
}

#[tokio::test]
async fn the_pictures_are_what_the_chat_shows() {
    let stage = Stage::usual().await;
    fs::create_dir(stage.folder().join("src")).unwrap();
    fs::write(stage.folder().join("src/price.rs"), PROGRAM).unwrap();
    write_program(&stage.folder().join("check"), "echo '3 prices are right'");
    let config = stage.scene.codex_home.path().join("config.toml");
    fs::write(&config, fs::read_to_string(&config).unwrap().replace("mock", "acme")).unwrap();
    let change = Reply::new().reasoning("**Looking for the discount**").plan("", STEPS);
    let change = change.text("The division comes first, and loses the odd cents.").patch(PATCH);
    stage.scene.model.push(change.usage(usage(9_400)));
    stage.scene.model.push(Reply::new().command("./check").usage(usage(9_900)));
    stage.scene.model.push(Reply::say(ANSWER).usage(usage(10_300)));
    let mut terminal = stage.start(16, 100, &["--sandbox", "workspace-write", "--approval", "untrusted"]);
    let is_ready = |screen: &Screen| screen.contains(READY) && is_at_prompt(screen);
    terminal.wait_until("what runs, and a place to type", is_ready).await;
    draw(&stage, "first", &mut terminal).await;
    terminal.resize(30, 100);
    send(&mut terminal, "15 % off 19.99 comes out as 17.14. Find out why and mend it.").await;
    question(&mut terminal, "+    cents - (cents").await;
    draw(&stage, "approval", &mut terminal).await;
    terminal.type_keys("y").await;
    question(&mut terminal, "│ ./check").await;
    terminal.type_keys("y").await;
    ended(&mut terminal, "pub fn discounted").await;
    let is_coloured = |screen: &Screen| screen.style_of("u32 {").unwrap().foreground != Color::Default;
    terminal.wait_until("highlighted code", is_coloured).await;
    draw(&stage, "answer", &mut terminal).await;
    quit(terminal).await;
    stage.close().await;
}
