//! Somebody who gives the terminal back when the chat cannot: it was killed, or ran into a fault that no hook hears of.
//!
//! A small process of the same program stays beside the chat and reads a pipe from it: a line for every time that the
//! terminal is taken or given back. The system closes the pipe when the chat is gone, however it went. It answers no
//! signal: it lives as long as the chat. Without it everything works, only not that.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;

use crossterm::cursor::Show;
use crossterm::queue;
use crossterm::terminal::LeaveAlternateScreen;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::guard;
use crate::trouble::{Trouble, exit};
use modes::Modes;

mod modes;

/// The subcommand that is the keeper.
pub(crate) const NAME: &str = "keep-terminal";

/// Starts a program that answers no signal: not those to the job, nor the one that keeps the terminal from whoever is no
/// longer its foreground.
const DEAF: &str = r#"trap "" INT QUIT TERM HUP TSTP TTOU; exec "$0" "$@""#;

/// The pipe to the keeper, for as long as the chat lives.
static PIPE: OnceLock<Option<ChildStdin>> = OnceLock::new();

/// How the terminal is before it is taken; `taken` wants to know it.
pub(super) fn before() -> Option<Modes> {
    tcgetattr(stdin()).ok().map(|terminal| Modes::of(&terminal))
}

/// The terminal was taken, and was like this before.
pub(super) fn taken(before: Option<Modes>) {
    if let Some(before) = before {
        PIPE.get_or_init(begin);
        tell(&format!("taken {before}\n"));
    }
}

/// The terminal was given back.
pub(super) fn given() {
    tell("given\n");
}

fn begin() -> Option<ChildStdin> {
    let program = std::env::current_exe().ok()?;
    let mut keeper = Command::new("sh");
    keeper.args(["-c", DEAF]).arg(program).arg(NAME);
    keeper.stdin(Stdio::piped()).stdout(Stdio::inherit()).stderr(Stdio::null());
    keeper.spawn().ok()?.stdin
}

fn tell(line: &str) {
    if let Some(Some(mut pipe)) = PIPE.get().map(Option::as_ref) {
        // A keeper that is gone keeps nothing.
        let _ = pipe.write_all(line.as_bytes());
    }
}

/// Is the keeper: waits for the end of the chat, and gives back what it had not. The number is the exit code.
pub(crate) fn run() -> Result<u8, Trouble> {
    if io::stdin().is_terminal() {
        return Err(
            Trouble::new(exit::USAGE, "only the chat starts this").try_this("`talaria` opens the chat")
        );
    }
    let cannot = |error| Trouble::new(exit::FAILED, "cannot give the terminal back").because(error);
    keep().map(|()| 0).map_err(cannot)
}

fn keep() -> io::Result<()> {
    let mut held = None;
    for line in io::stdin().lock().lines() {
        held = line?.strip_prefix("taken ").and_then(Modes::read);
    }
    if let Some(before) = held {
        give_back(before)?;
    }
    Ok(())
}

/// A shell that has noticed the end sets its terminal as it likes; what it has set is left alone.
fn give_back(before: Modes) -> io::Result<()> {
    let mut terminal = tcgetattr(stdout())?;
    let mut text = Vec::new();
    if Modes::of(&terminal) == before.as_taken(&terminal) {
        before.apply(&mut terminal);
        tcsetattr(stdout(), OptionalActions::Now, &terminal)?;
        guard::put_back(&mut text);
    } else {
        queue!(text, LeaveAlternateScreen, Show)?;
    }
    rustix::io::write(stdout(), &text)?;
    Ok(())
}
