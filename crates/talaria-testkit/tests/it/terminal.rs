//! The terminal harness: a program there believes that a person sits before it.

use talaria_testkit::Terminal;
use talaria_testkit::terminal::Command;

fn shell(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

#[tokio::test]
async fn one_types_and_reads() {
    let script = r#"test -t 0 && test -t 1 && echo terminal; printf 'name? '; read name; printf '\033[1mhi %s\033[0m\n' "$name"; exit 5"#;
    let mut terminal = Terminal::spawn(shell(script));
    terminal.wait_for("terminal").await;
    terminal.wait_for("name? ").await;
    terminal.type_keys("Ada\n").await;
    terminal.wait_for("hi Ada").await;
    assert_eq!(terminal.exit_code().await, Some(5));
    assert!(terminal.screen().contains("name? Ada\nhi Ada"), "{}", terminal.screen());
}

#[tokio::test]
async fn ctrl_c_is_a_signal_to_the_program() {
    let mut terminal =
        Terminal::spawn(shell("trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.1; done"));
    terminal.wait_for("ready").await;
    terminal.ctrl_c().await;
    terminal.wait_for("caught").await;
    assert_eq!(terminal.exit_code().await, Some(7));
}

#[tokio::test]
async fn the_screen_shows_what_was_drawn_last() {
    let mut terminal = Terminal::spawn_sized(shell(r"stty size; printf 'working\r\033[Kdone\n'"), 10, 40);
    terminal.wait_for("10 40").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    assert!(terminal.screen().contains("done") && !terminal.screen().contains("working"));
    assert!(terminal.transcript().contains("working"));
}

#[tokio::test]
#[should_panic(expected = "the program ended while waiting for \"never\"")]
async fn waiting_for_what_never_comes_fails_with_the_screen() {
    Terminal::spawn(shell("echo something else")).wait_for("never").await;
}
