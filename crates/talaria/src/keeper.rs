//! A process that restores the terminal when the program cannot: it was killed, or ran into a fault that no hook sees.
//!
//! A small process of the same program reads a pipe from it: a line for every change or restoration of the terminal. The
//! system closes the pipe when the program ends for any reason. It ignores signals, and is not part of the program's job, so
//! that a kill of the program does not kill it, too. Without it everything else works.

use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use crossterm::cursor::{SetCursorStyle, Show};
use crossterm::event::DisableBracketedPaste;
use crossterm::queue;
use crossterm::terminal::LeaveAlternateScreen;
use rustix::stdio::stdout;
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};

use crate::trouble::{Trouble, exit};
pub(crate) use modes::Modes;

mod modes;

/// The subcommand that is the keeper.
pub(crate) const NAME: &str = "keep-terminal";

/// Starts a program that ignores signals: those to the job, and the one that protects the terminal from background
/// processes.
const DEAF: &str = r#"trap "" INT QUIT TERM HUP TSTP TTOU; exec "$0" "$@""#;

/// How long a terminal that takes nothing is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pipe to the keeper, for as long as the program lives.
static PIPE: OnceLock<Option<ChildStdin>> = OnceLock::new();

/// State of a terminal that a program changed, with its original modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// It is drawn on.
    Screen(Modes),
    /// Echo is off.
    Typing(Modes),
}

/// Says what was made, or is about to be made, of this terminal.
pub(crate) fn note_taken(held: Held, terminal: impl FnOnce() -> Stdio) {
    PIPE.get_or_init(|| begin(terminal()));
    tell(&match held {
        Held::Screen(before) => format!("{SCREEN}{before}\n"),
        Held::Typing(before) => format!("{TYPING}{before}\n"),
    });
}

/// The terminal was restored.
pub(crate) fn note_returned() {
    tell("given\n");
}

const SCREEN: &str = "screen ";
const TYPING: &str = "typing ";

fn begin(terminal: Stdio) -> Option<ChildStdin> {
    let program = std::env::current_exe().ok()?;
    let mut keeper = Command::new("sh");
    keeper.args(["-c", DEAF]).arg(program).arg(NAME).process_group(0);
    keeper.stdin(Stdio::piped()).stdout(terminal).stderr(Stdio::null());
    keeper.spawn().ok()?.stdin
}

fn tell(line: &str) {
    if let Some(Some(mut pipe)) = PIPE.get().map(Option::as_ref) {
        // A keeper that is gone keeps nothing.
        let _ = pipe.write_all(line.as_bytes());
    }
}

/// Is the keeper: waits for the end of the program, and restores what it had not. The number is the exit code.
pub(crate) fn run() -> Result<u8, Trouble> {
    if io::stdin().is_terminal() {
        return Err(Trouble::new(exit::USAGE, "only Talaria itself runs this command")
            .try_this("`talaria` opens the chat"));
    }
    let cannot = |error| Trouble::new(exit::FAILED, "cannot restore the terminal").because(error);
    keep().map(|()| 0).map_err(cannot)
}

fn keep() -> io::Result<()> {
    let mut held = None;
    for line in io::stdin().lock().lines() {
        held = read(&line?);
    }
    match held {
        Some(Held::Screen(before)) => give_back(before),
        Some(Held::Typing(before)) => show_typing(before),
        None => Ok(()),
    }
}

fn read(line: &str) -> Option<Held> {
    let screen = line.strip_prefix(SCREEN).and_then(Modes::read).map(Held::Screen);
    screen.or_else(|| line.strip_prefix(TYPING).and_then(Modes::read).map(Held::Typing))
}

/// A shell that has noticed the end sets its own modes; those are not changed.
fn give_back(before: Modes) -> io::Result<()> {
    let mut terminal = tcgetattr(stdout())?;
    let mut text = Vec::new();
    let found = Modes::of(&terminal);
    if found == before.as_taken(&terminal) {
        before.apply(&mut terminal);
        tcsetattr(stdout(), OptionalActions::Now, &terminal)?;
        put_back(&mut text);
    } else if found == before {
        // The modes were restored, but not the escape sequences.
        put_back(&mut text);
    } else {
        queue!(text, LeaveAlternateScreen, Show)?;
    }
    within(PATIENCE, move || {
        let _ = rustix::io::write(stdout(), &text);
    });
    Ok(())
}

/// Echo is on again. Half a secret must not become a command of the shell.
fn show_typing(before: Modes) -> io::Result<()> {
    let mut terminal = tcgetattr(stdout())?;
    if Modes::of(&terminal) == before.as_hidden() {
        tcflush(stdout(), QueueSelector::IFlush)?;
        before.apply(&mut terminal);
        tcsetattr(stdout(), OptionalActions::Now, &terminal)?;
    }
    Ok(())
}

/// What restores a terminal that was drawn on.
pub(crate) fn put_back(text: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = queue!(text, DisableBracketedPaste, SetCursorStyle::DefaultUserShape, Show, LeaveAlternateScreen);
}

/// Does something that writes to the terminal, and waits for its end, but not longer than this: the output may have no
/// reader. Not asked of the system first: it reports that there is room, and not for how much.
pub(crate) fn within(limit: Duration, write: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        write();
        let _ = done.send(());
    });
    let _ = is_done.recv_timeout(limit);
}
