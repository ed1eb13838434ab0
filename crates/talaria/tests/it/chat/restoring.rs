//! The terminal is as it was, however the chat ends.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::screen::Modes;
use talaria_testkit::terminal::Discipline;
use talaria_testkit::{Key, Terminal, until};

use super::stage::{PROMPT, READY, Stage, quit, send};

/// Nothing is left switched on, and the kernel edits lines again.
pub(super) fn assert_restored(terminal: &Terminal) {
    assert_eq!(terminal.look().modes(), &Modes::default(), "{}", terminal.screen());
    assert_eq!(terminal.discipline(), Discipline::Cooked);
    // Once too often would misplace the cursor.
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert_eq!(raw.matches("\x1b[?1049h").count(), raw.matches("\x1b[?1049l").count());
}

#[tokio::test]
async fn signals_to_end_leave_the_terminal_as_it_was_and_the_turn_running() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let stage = Stage::usual().await;
        let gate = Gate::new();
        stage.scene.model.push(Reply::new().text("half ").gate(&gate).text("and whole."));
        let mut terminal = stage.open(&[]).await;
        send(&mut terminal, "Talk").await;
        terminal.wait_shown("half").await;
        terminal.signal(signal);
        assert_eq!(terminal.exit_code().await, Some(code), "{}", terminal.transcript());
        assert_restored(&terminal);
        let status = stage.scene.status().await;
        assert_eq!(status["turns"].as_array().unwrap().len(), 1, "{signal:?} stopped the turn: {status}");
        gate.open();
        stage.scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
        stage.close().await;
    }
}

#[tokio::test]
async fn a_panic_leaves_the_terminal_as_it_was_and_says_what_happened() {
    let stage = Stage::usual().await;
    // A list of calls would push the message off the screen.
    let command = stage.command(&[]).env("TALARIA_PANIC", "chat").env("RUST_BACKTRACE", "0");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_shown(PROMPT).await;
    assert_eq!(terminal.discipline(), Discipline::Raw);
    send(&mut terminal, "Talk").await;
    assert_ne!(terminal.exit_code().await, Some(0));
    assert_restored(&terminal);
    assert!(terminal.screen().contains("a fault that a test asked for"), "{}", terminal.screen());
    stage.close().await;
}

/// Runs the chat as a job of a shell that leaves the terminal as it finds it.
const AS_ONE_COMMAND: &str = r#"
    sh -c 'echo $$ > pid; exec "$TALARIA"'
    echo "gone with $?"; read -r line; echo "heard $line"
"#;

#[tokio::test]
async fn a_chat_that_is_killed_leaves_the_terminal_as_it_was_and_the_turn_running() {
    is_killed(kill_process).await;
}

#[tokio::test]
async fn a_chat_whose_whole_job_is_killed_leaves_the_terminal_as_it_was() {
    is_killed(kill_process_group).await;
}

async fn is_killed(kill: impl Fn(Pid, Signal) -> rustix::io::Result<()>) {
    let stage = Stage::usual().await;
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text("half ").gate(&gate).text("and whole."));
    let command =
        stage.scene.shell_command(AS_ONE_COMMAND).current_dir(stage.folder()).env_remove("NO_COLOR");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_shown(READY).await;
    send(&mut terminal, "Talk").await;
    terminal.wait_shown("half").await;
    assert_eq!(terminal.discipline(), Discipline::Raw);
    kill(job(&stage), Signal::KILL).unwrap();
    terminal.wait_for("gone with 137").await;
    // The shell knew it perhaps first.
    terminal.wait_until("the usual modes", |screen| screen.modes() == &Modes::default()).await;
    terminal.type_keys("me\n").await;
    terminal.wait_shown("heard me").await;
    assert_restored(&terminal);
    let status = stage.scene.status().await;
    assert_eq!(status["turns"].as_array().unwrap().len(), 1, "{status}");
    gate.open();
    stage.scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    stage.close().await;
}

#[tokio::test]
async fn a_chat_that_was_left_gives_the_terminal_back_once() {
    let stage = Stage::usual().await;
    let command =
        stage.scene.shell_command(AS_ONE_COMMAND).current_dir(stage.folder()).env_remove("NO_COLOR");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_shown(READY).await;
    terminal.type_keys("/quit\n").await;
    terminal.wait_shown("gone with 0").await;
    terminal.type_keys("me\n").await;
    terminal.wait_shown("heard me").await;
    assert_restored(&terminal);
    stage.close().await;
}

#[tokio::test]
async fn the_keeper_of_the_terminal_is_nothing_to_type() {
    let stage = Stage::usual().await;
    let mut terminal = Terminal::spawn(stage.command(&["keep-terminal"]));
    assert_eq!(terminal.exit_code().await, Some(2));
    assert!(terminal.screen().contains("only Talaria itself runs this command"), "{}", terminal.screen());
    stage.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_chat_whose_terminal_takes_nothing_ends_when_it_is_told_to() {
    use rustix::termios::{Action, tcflow};
    let stage = Stage::usual().await;
    let command =
        stage.scene.shell_command(AS_ONE_COMMAND).current_dir(stage.folder()).env_remove("NO_COLOR");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_shown(READY).await;
    let pid = job(&stage);
    let device = fs::File::open(format!("/proc/{}/fd/1", pid.as_raw_nonzero())).unwrap();
    tcflow(&device, Action::OOff).unwrap();
    // It draws, and waits for someone who takes it.
    terminal.type_keys("x").await;
    let process = format!("/proc/{}", pid.as_raw_nonzero());
    until("it waits", || fs::read_to_string(format!("{process}/wchan")).unwrap().contains("wait_woken"))
        .await;
    kill_process(pid, Signal::TERM).unwrap();
    // Its shell writes as little as it does until the terminal takes something again.
    until("it ends", || !fs::exists(&process).unwrap()).await;
    tcflow(&device, Action::OOn).unwrap();
    terminal.wait_for("gone with 143").await;
    terminal.wait_until("the usual modes", |screen| screen.modes() == &Modes::default()).await;
    assert_restored(&terminal);
    terminal.type_keys("me\n").await;
    terminal.wait_shown("heard me").await;
    stage.close().await;
}

/// The chat that a script runs as its job.
fn job(stage: &Stage) -> Pid {
    let pid = fs::read_to_string(stage.folder().join("pid")).unwrap();
    pid.trim().parse().ok().and_then(Pid::from_raw).unwrap()
}

#[tokio::test]
async fn a_closed_window_ends_the_chat_and_not_the_turn() {
    let stage = Stage::usual().await;
    let gate = Gate::new();
    stage.scene.model.push(Reply::new().text("half ").gate(&gate).text("and whole."));
    let mut terminal = stage.open(&[]).await;
    send(&mut terminal, "Talk").await;
    terminal.wait_shown("half").await;
    let status = terminal.hang_up().await;
    assert_ne!(status.signal(), Some(9), "it ends by itself");
    gate.open();
    stage.scene.wait_status(|status| status["turns"].as_array().unwrap().is_empty()).await;
    stage.close().await;
}

/// Runs the chat as a job: the shell reports each suspension, and a line resumes it.
const AS_A_JOB: &str = r#"
    sh -c 'echo $$ > pid; exec "$TALARIA"'
    echo "aside by a signal"; read -r line; fg > /dev/null
    echo "aside by a key"; read -r line; fg > /dev/null
"#;

#[tokio::test]
async fn a_chat_that_is_put_aside_gives_the_terminal_back_and_comes_back_where_it_was() {
    let stage = Stage::usual().await;
    let command = stage.scene.shell_command(AS_A_JOB).current_dir(stage.folder()).env_remove("NO_COLOR");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_shown(READY).await;
    terminal.type_keys("half a line").await;
    terminal.wait_shown("half a line").await;
    let pid = job(&stage);
    for how in ["signal", "key"] {
        match how {
            "signal" => kill_process(pid, Signal::TSTP).unwrap(),
            _ => terminal.key(Key::Ctrl('z')).await,
        }
        terminal.wait_shown(&format!("aside by a {how}")).await;
        assert_restored(&terminal);
        terminal.key(Key::Enter).await;
        terminal.wait_shown("half a line").await;
        assert_eq!(terminal.discipline(), Discipline::Raw, "{how}");
    }
    terminal.key(Key::Ctrl('u')).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn a_chat_that_nobody_could_bring_back_is_not_put_aside() {
    let stage = Stage::usual().await;
    let mut terminal = stage.open(&[]).await;
    terminal.signal(Signal::TSTP);
    terminal.key(Key::Ctrl('z')).await;
    terminal.type_keys("still here").await;
    terminal.wait_shown("still here").await;
    terminal.key(Key::Ctrl('u')).await;
    quit(terminal).await;
    stage.close().await;
}
