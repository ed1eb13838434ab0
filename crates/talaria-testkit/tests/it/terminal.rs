//! The terminal harness: a program there believes that a person sits before it.

use std::os::unix::process::ExitStatusExt;

use expect_test::expect;
use rustix::process::Signal;
use talaria_testkit::screen::{Color, Modes};
use talaria_testkit::terminal::{Command, Discipline, LIMIT};
use talaria_testkit::{Key, Terminal};

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

/// The shell makes a job in the background ignore Ctrl-C; a test run may be one.
#[tokio::test]
async fn signals_that_the_caller_ignores_reach_the_program() {
    let tests =
        ["terminal::ctrl_c_is_a_signal_to_the_program", "terminal::a_closed_window_is_told_to_the_program"];
    let run = tokio::process::Command::new("sh")
        .args(["-c", r#"trap '' INT QUIT HUP; exec "$@""#, "sh"])
        .arg(std::env::current_exe().unwrap())
        .arg("--exact")
        .args(tests)
        .output();
    let output = tokio::time::timeout(LIMIT, run).await.unwrap().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("2 passed"), "{printed}");
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

/// Redraws one row whenever the terminal changes its size or a line arrives, as full-screen programs do.
const DRAWING: &str = r#"
    printf '\033[?1049h\033[?2004h\033[?25l'
    draw() { printf '\033[H\033[2J\033[1;32msize\033[0m %s' "$(stty size)"; }
    trap draw WINCH
    trap 'printf "\033[?25h\033[?2004l\033[?1049l"; exit 3' TERM
    draw
    while :; do sleep 0.02; done
"#;

#[tokio::test]
async fn a_drawn_screen_is_waited_for_resized_and_restored() {
    let mut terminal = Terminal::spawn_sized(shell(DRAWING), 10, 40);
    let screen = terminal.wait_shown("size 10 40").await;
    assert_eq!(screen.lines()[0], "size 10 40");
    let style = screen.style_of("size").unwrap();
    assert_eq!((style.foreground, style.is_bold), (Color::Idx(2), true));
    let modes = screen.modes();
    assert!(modes.is_alternate_screen && modes.is_bracketed_paste && modes.is_cursor_hidden);
    terminal.resize(5, 20);
    let screen = terminal.wait_shown("size 5 20").await;
    assert_eq!(screen.size(), (5, 20));
    assert_eq!(terminal.settled().await, screen);
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.exit_code().await, Some(3));
    assert_eq!(terminal.look().modes(), &Modes::default());
}

#[tokio::test]
async fn what_a_killed_program_left_switched_on_is_seen() {
    let mut terminal = Terminal::spawn_sized(shell(DRAWING), 10, 40);
    terminal.wait_shown("size 10 40").await;
    terminal.signal(Signal::KILL);
    assert_eq!(terminal.exit_status().await.signal(), Some(9));
    assert_ne!(terminal.look().modes(), &Modes::default());
}

#[tokio::test]
async fn keys_and_pastes_arrive_as_a_terminal_sends_them() {
    let script = r"printf '\033[?2004h'; stty -icanon -echo -isig; echo ready; dd bs=1 count=32 2>/dev/null | od -An -c";
    let mut terminal = Terminal::spawn_sized(shell(script), 10, 80);
    terminal.wait_shown("ready").await;
    assert_eq!(terminal.discipline(), Discipline::Raw);
    terminal.key(Key::Up).await;
    terminal.key(Key::Ctrl('c')).await;
    terminal.key(Key::AltEnter).await;
    // An escape in the text would end the paste before its end.
    terminal.paste("two\n\x1b[201~x").await;
    terminal.key(Key::PageUp).await;
    assert_eq!(terminal.exit_code().await, Some(0));
    let words = terminal.look().text().split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    expect![[r#"033 [ A 003 033 \n 033 [ 2 0 0 ~ t w o \n [ 2 0 1 ~ x 033 [ 2 0 1 ~ 033 [ 5 ~"#]]
        .assert_eq(&words);
}

#[tokio::test]
async fn a_program_that_asks_for_the_cursor_is_told() {
    let script = r#"stty -icanon -echo; printf 'ab\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c"#;
    let mut terminal = Terminal::spawn(shell(script));
    assert_eq!(terminal.exit_code().await, Some(0));
    assert!(terminal.look().contains("033   [   1   ;   3   R"), "{}", terminal.screen());
}

#[tokio::test]
async fn a_closed_window_is_told_to_the_program() {
    let mut terminal = Terminal::spawn(shell("trap 'exit 9' HUP; echo ready; while :; do sleep 0.02; done"));
    terminal.wait_shown("ready").await;
    assert_eq!(terminal.hang_up().await.code(), Some(9));
}

#[tokio::test]
async fn a_terminal_without_a_name_has_none() {
    let mut terminal = Terminal::spawn_as("", shell(r#"echo "name: <$TERM>""#), 5, 40);
    terminal.wait_shown("name: <>").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    assert_eq!(terminal.discipline(), Discipline::Cooked);
}

#[tokio::test]
#[should_panic(expected = "the program ended while waiting for \"never\" on the screen\n┌")]
async fn waiting_for_a_screen_that_never_comes_fails_with_it() {
    Terminal::spawn(shell("echo something else")).wait_shown("never").await;
}
