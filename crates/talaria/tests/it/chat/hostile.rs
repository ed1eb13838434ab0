//! Text of others that pretends: escape sequences, bidi controls and invisible characters are seen and do nothing.

use talaria_scripted::Reply;

use super::stage::{FREE, Stage, asked, ended, quit, send};

/// Clears, moves, renames the window, writes the clipboard, rings, switches the screen.
const ESCAPES: &str =
    "\u{1b}[2J\u{1b}[H\u{1b}]2;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{7}\u{1b}[?1049l\u{9b}31m";

#[tokio::test]
async fn a_command_to_approve_shows_what_is_invisible_in_it() {
    let stage = Stage::usual().await;
    let command = "echo \u{202e}dlrow\u{202c} ze\u{200b}ro \u{2066}x\u{2069} \u{1b}[8mhidden\u{1b}[0m";
    stage.scene.model.push(Reply::new().command(command));
    stage.scene.model.push(Reply::say("Then not."));
    let mut terminal = stage.open_asking().await;
    send(&mut terminal, "Echo").await;
    asked(&mut terminal).await;
    let screen = stage.shows("hostile", &mut terminal).await;
    for invisible in ['\u{202e}', '\u{202c}', '\u{200b}', '\u{2066}', '\u{2069}'] {
        assert!(!screen.text().contains(invisible), "{invisible:?}\n{}", screen.text());
    }
    for visible in ["202E", "200B", "2066", "hidden"] {
        assert!(
            screen.text().to_uppercase().contains(&visible.to_uppercase()),
            "{visible}\n{}",
            screen.text()
        );
    }
    terminal.type_keys("n").await;
    terminal.wait_shown("Then not.").await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn escapes_in_answers_output_and_names_do_nothing() {
    let stage = Stage::usual().await;
    std::fs::write(stage.folder().join("bad"), format!("before{ESCAPES}after\n")).unwrap();
    stage.scene.model.push(Reply::new().text(format!("said{ESCAPES}more")).command("cat bad"));
    stage.scene.model.push(Reply::say("Harmless."));
    let mut terminal = stage.open(&FREE).await;
    let title = terminal.title();
    send(&mut terminal, "Show it").await;
    let screen = ended(&mut terminal, "Harmless.").await;
    for text in ["Show it", "said", "more", "before", "after"] {
        assert!(screen.contains(text), "{text} was wiped away\n{}", screen.text());
    }
    assert_eq!((terminal.title(), terminal.copies(), terminal.bells()), (title, 0, 0));
    assert!(screen.modes().is_alternate_screen);
    stage.shows("escapes", &mut terminal).await;
    send(&mut terminal, "!cat bad").await;
    terminal.settled().await;
    assert_eq!((terminal.copies(), terminal.bells()), (0, 0));
    quit(terminal).await;
    stage.close().await;
}
