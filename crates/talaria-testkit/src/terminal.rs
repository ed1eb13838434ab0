//! A program in a pseudo-terminal: type like a person, wait for what it prints, look at the screen.
//!
//! Waiting is for a state and never for a time, and fails with the screen if the program ends or [`LIMIT`] passes
//! first. For a program that prints, [`Terminal::wait_for`] looks, like `expect`, only at what was printed after the
//! last match, so that asking twice for the same prompt waits for the second one. For a program that draws,
//! `terminal/watch.rs` has the waits for a state of the screen.
//!
//! The terminal answers the questions that a program may ask it: where the cursor is, and what kind it is.

mod keys;
mod watch;

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use pty_process::OwnedWritePty;
pub use pty_process::{Command, Size};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch as channel;
use tokio::task::JoinHandle;

use crate::screen::{Watcher, cells, emulator};
pub use keys::Key;

/// How long anything may take on a busy machine before the test fails.
pub const LIMIT: Duration = Duration::from_secs(240);

/// The kernel's processing of typed keys before the program gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Lines are edited and shown: as a shell expects to find the terminal.
    Cooked,
    /// Some of that is switched off.
    Raw,
}

/// A running program and the terminal it believes to be in; both end on drop.
pub struct Terminal {
    child: Child,
    keyboard: OwnedWritePty,
    /// The same terminal as a file, for what the halves cannot do.
    pty: File,
    seen: Arc<Mutex<Seen>>,
    ended: channel::Receiver<bool>,
    reader: JoinHandle<()>,
    matched: usize,
}

struct Seen {
    bytes: Vec<u8>,
    screen: vt100::Parser<Watcher>,
}

impl Terminal {
    /// Starts a program in a terminal of the usual size, 24 by 80.
    pub fn spawn(command: Command) -> Self {
        Self::spawn_sized(command, 24, 80)
    }

    /// Starts a program in a terminal of the given size, as its controlling terminal.
    pub fn spawn_sized(command: Command, rows: u16, columns: u16) -> Self {
        Self::spawn_as("xterm-256color", command, rows, columns)
    }

    /// Starts a program in a terminal that is named so by `TERM`; an empty name sets none.
    pub fn spawn_as(name: &str, command: Command, rows: u16, columns: u16) -> Self {
        let command = if name.is_empty() { command.env_remove("TERM") } else { command.env("TERM", name) };
        stop_ignoring_signals();
        let start = || {
            let (pty, pts) = pty_process::open()?;
            pty.resize(Size::new(rows, columns))?;
            let file = File::from(pty.as_fd().try_clone_to_owned()?);
            // On Ctrl-C the kernel throws away what was not read yet, a moment after the signal: that may already be
            // the program's answer to it.
            let mut modes = tcgetattr(&file)?;
            modes.local_modes |= LocalModes::NOFLSH;
            tcsetattr(&file, OptionalActions::Now, &modes)?;
            let child = command.kill_on_drop(true).spawn(pts)?;
            Ok::<_, pty_process::Error>((pty, file, child))
        };
        let (pty, file, child) = match start() {
            Ok(started) => started,
            Err(cause) => panic!("cannot start the program in a terminal: {cause}"),
        };
        let (mut output, keyboard) = pty.into_split();
        let seen = Arc::new(Mutex::new(Seen { bytes: Vec::new(), screen: emulator(rows, columns) }));
        let (changed, ended) = channel::channel(false);
        let (shared, pty) = (seen.clone(), file);
        let replies = pty.try_clone();
        let reader = tokio::spawn(async move {
            let mut buffer = [0; 4096];
            // Linux reports the end of the program as an error of the terminal, macOS as an empty read.
            while let Ok(length @ 1..) = output.read(&mut buffer).await {
                let reply = lock(&shared).take(&buffer[..length]);
                // A program that has gone meanwhile needs no answer.
                let _ = replies.as_ref().map(|mut pty| pty.write_all(&reply));
                changed.send_replace(false);
            }
            changed.send_replace(true);
        });
        Self { child, keyboard, pty, seen, ended, reader, matched: 0 }
    }

    /// Waits until `text` is printed after the last match; fails with the screen otherwise.
    pub async fn wait_for(&mut self, text: &str) {
        let searched = tokio::time::timeout(LIMIT, async {
            loop {
                let ended = *self.ended.borrow_and_update();
                let plain = self.transcript();
                if let Some(at) = plain.get(self.matched..).and_then(|rest| rest.find(text)) {
                    self.matched += at + text.len();
                    return Ok(());
                }
                if ended || self.ended.changed().await.is_err() {
                    return Err("the program ended");
                }
            }
        });
        let why = match searched.await {
            Ok(Ok(())) => return,
            Ok(Err(why)) => why,
            Err(_) => "too long",
        };
        panic!(
            "{why} while waiting for {text:?}\n--- screen\n{}\n--- transcript\n{}",
            self.screen(),
            self.transcript()
        );
    }

    /// Types keys; `\n` is sent as the Enter key.
    pub async fn type_keys(&mut self, keys: &str) {
        if let Err(cause) = self.keyboard.write_all(keys.replace('\n', "\r").as_bytes()).await {
            panic!("cannot type {keys:?}: {cause}\n{}", self.transcript());
        }
    }

    /// Presses Ctrl-C.
    pub async fn ctrl_c(&mut self) {
        self.type_keys("\u{3}").await;
    }

    /// Presses Ctrl-D: the end of the input.
    pub async fn ctrl_d(&mut self) {
        self.type_keys("\u{4}").await;
    }

    /// Changes the size of the terminal, as dragging a window does.
    pub fn resize(&self, rows: u16, columns: u16) {
        // Nothing is read in between: output for the new window must not be drawn into the old one, where it would
        // remain.
        let mut seen = lock(&self.seen);
        if let Err(cause) = self.keyboard.resize(Size::new(rows, columns)) {
            panic!("cannot resize the terminal: {cause}");
        }
        seen.screen.set_size(cells(rows), cells(columns));
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        let pid = self.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(Err(cause)) = pid.map(|pid| kill_process(pid, signal)) {
            panic!("cannot send {signal:?}: {cause}");
        }
    }

    /// Closes the window: the terminal is gone, and the kernel signals the program. Returns how the program ends.
    pub async fn hang_up(self) -> ExitStatus {
        self.reader.abort();
        let Self { mut child, keyboard, pty, reader, .. } = self;
        // Only when the last handle is closed is the terminal gone.
        let _ = reader.await;
        drop((keyboard, pty));
        match tokio::time::timeout(LIMIT, child.wait()).await {
            Ok(Ok(status)) => status,
            other => panic!("the program does not end without a terminal: {other:?}"),
        }
    }

    /// Returns what the kernel does with keys now.
    pub fn discipline(&self) -> Discipline {
        let usual = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        match tcgetattr(&self.pty) {
            Ok(state) if state.local_modes.contains(usual) => Discipline::Cooked,
            Ok(_) => Discipline::Raw,
            Err(cause) => panic!("cannot ask the terminal for its settings: {cause}"),
        }
    }

    /// Waits for the end of the program and returns its status, when all its output has been read.
    pub async fn exit_status(&mut self) -> ExitStatus {
        let ended = async {
            let status = self.child.wait().await;
            // A grandchild may keep the terminal open: its output is not waited for.
            let drained = self.ended.wait_for(|ended| *ended);
            let _ = tokio::time::timeout(Duration::from_secs(1), drained).await;
            status
        };
        match tokio::time::timeout(LIMIT, ended).await {
            Ok(Ok(status)) => status,
            Ok(Err(cause)) => panic!("cannot wait for the program: {cause}"),
            Err(_) => panic!("the program does not end\n{}", self.transcript()),
        }
    }

    /// Waits for the end of the program and returns its exit code, if no signal ended it.
    pub async fn exit_code(&mut self) -> Option<i32> {
        self.exit_status().await.code()
    }

    /// Returns the process id while the program runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns what a person would see now.
    pub fn screen(&self) -> String {
        lock(&self.seen).screen.screen().contents()
    }

    /// Returns everything printed so far, without colours and cursor movements.
    pub fn transcript(&self) -> String {
        plain(&String::from_utf8_lossy(&lock(&self.seen).bytes))
    }

    /// Returns the very bytes printed so far.
    pub fn raw(&self) -> Vec<u8> {
        lock(&self.seen).bytes.clone()
    }
}

impl Seen {
    /// Takes what the program printed; returns what the terminal answers.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.bytes.extend_from_slice(bytes);
        self.screen.process(bytes);
        std::mem::take(&mut self.screen.callbacks_mut().replies)
    }
}

/// Makes programs that are started from now on react to Ctrl-C, Ctrl-\ and a closed window, also if the caller of the
/// tests ignores these signals, as the shell does for a job in the background: a program would inherit that.
///
/// A signal that has a handler here has its default effect in a program that is started. The handler does nothing, so
/// this process still ignores what it ignored; a signal that it does not ignore is left alone.
fn stop_ignoring_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        for kind in [SignalKind::interrupt(), SignalKind::quit(), SignalKind::hangup()] {
            if ignored >> (kind.as_raw_value() - 1) & 1 == 1
                && let Err(cause) = signal(kind)
            {
                panic!("cannot handle a signal that is ignored: {cause}");
            }
        }
    });
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes escape sequences and carriage returns; an unfinished sequence at the end is removed as well.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => match chars.next() {
                Some('[') => drop(chars.find(|char| ('\u{40}'..='\u{7e}').contains(char))),
                Some(']') => drop(chars.find(|char| matches!(char, '\u{7}' | '\\'))),
                _ => {}
            },
            '\r' | '\u{7}' => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn only_the_words_remain() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m\r\n\u{1b}]0;title\u{7}next\u{1b}[2"), "red\nnext");
    }
}
