//! The process below which a server runs: `talaria keep-server PROGRAM ARGUMENTS`.
//!
//! It passes the engine's messages on and lets the server write to the engine directly. When the engine closes the pipe, or
//! dies in any way, the server gets the end of its input, then a signal, then is killed with everything that it started.
//! So no server outlives its engine, also after `kill -9`. Threads, no runtime: it must start in a moment.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use talaria_home::descendants;

/// The variable that marks everything below a server. Processes with it are programs that a model uses, and no person.
pub(crate) const MARK: &str = "TALARIA_COMMAND";
/// How long a server may take to end after its input has ended, and after that until it is killed.
const GRACE: Duration = Duration::from_millis(1_500);
const POLITE: Duration = Duration::from_millis(400);
/// How long what is left is killed again.
const KILLS: u32 = 200;
const BETWEEN_KILLS: Duration = Duration::from_millis(5);
/// The exit code if the program cannot be started.
const NOT_STARTED: u8 = 127;

/// Whether the server has ended.
#[derive(Default)]
struct Ended {
    has_ended: Mutex<bool>,
    changed: Condvar,
}

/// Runs a server to its end and returns the exit code. Called by `talaria keep-server`.
pub fn keep_server(argv: &[OsString]) -> u8 {
    let Some((program, arguments)) = argv.split_first() else { return NOT_STARTED };
    let started = Command::new(program)
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            let _ = writeln!(io::stderr(), "cannot start {}: {error}", program.to_string_lossy());
            return NOT_STARTED;
        }
    };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = Arc::new(Ended::default());
    if let (Some(pid), Some(input)) = (pid, child.stdin.take()) {
        let ended = Arc::clone(&ended);
        std::thread::spawn(move || {
            pass_on(input);
            end(pid, &ended);
        });
    }
    let code = wait(pid, &mut child, &ended);
    end_leftovers();
    code
}

/// Copies the engine's messages until it closes the pipe or is gone.
fn pass_on(mut input: ChildStdin) {
    let mut stdin = io::stdin();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stdin.read(&mut buffer) {
            Ok(0) => return,
            // A server that closed its input is still to be ended with the engine.
            Ok(read) => drop(input.write_all(&buffer[..read]).and_then(|()| input.flush())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Ends a server whose input has ended.
fn end(pid: Pid, ended: &Ended) {
    for (limit, signal) in [(GRACE, Signal::TERM), (POLITE, Signal::KILL)] {
        let has_ended = ended.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = ended.changed.wait_timeout_while(has_ended, limit, |has_ended| !*has_ended);
        let (has_ended, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *has_ended {
            return;
        }
        // Not reaped before `has_ended` is set, so the id is its own.
        let _ = kill_process_group(pid, signal);
    }
}

fn wait(pid: Option<Pid>, child: &mut Child, ended: &Ended) -> u8 {
    if let Some(pid) = pid {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    }
    *ended.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
    ended.changed.notify_all();
    let status = child.wait().ok().and_then(|status| status.code());
    status.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Ends what the server left running.
fn end_leftovers() {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mark = std::env::var(MARK).ok().map(|value| format!("{MARK}={value}"));
    for _ in 0..KILLS {
        let mut left = descendants::below(own);
        if let Some(mark) = &mark {
            left.extend(descendants::carrying(mark).into_iter().filter(|entry| entry.pid != own));
        }
        if descendants::kill_survivors(&left) == 0 {
            return;
        }
        std::thread::sleep(BETWEEN_KILLS);
    }
}
