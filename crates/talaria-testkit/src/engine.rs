//! The engine that the commands of a test started: stopped at the end, and then no process of that home may be left.
//!
//! A command starts the engine in its own session, and that starts Codex in another one: neither ends with the
//! test. Everything that a test starts carries its [`Marker`], so every surviving process can be found, named and
//! ended.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::processes::{LivingProcess, Marker};

/// How long `talaria stop` may take: it promises 15 seconds.
const STOP: Duration = Duration::from_secs(25);
/// How long processes may take to be gone after that.
const GONE: Duration = Duration::from_secs(5);
/// The kernel does not notify of the end of a foreign process: polling is the only way.
const LOOK: Duration = Duration::from_millis(20);

/// Stops the engine of one home when it is dropped, and fails the test if a process of it is left.
#[derive(Debug)]
pub struct EngineGuard {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    marker: Marker,
    is_closed: bool,
}

impl EngineGuard {
    /// Guards the home that `environment` names. Everything that is started there must carry the mark.
    pub fn new(program: &Path, environment: Vec<(OsString, OsString)>, marker: Marker) -> Self {
        Self { program: program.to_owned(), environment, marker, is_closed: false }
    }

    /// Stops the engine, if one runs, and returns the processes that are left.
    pub async fn close(mut self) -> Result<(), Vec<LivingProcess>> {
        self.is_closed = true;
        let (stop, marker) = (self.stop(), self.marker.clone());
        let waited = tokio::task::spawn_blocking(move || stop.map(wait)).await;
        let left = marker.wait_gone(GONE).await;
        match waited {
            // A command that does not end is one of those who are left; a process that never was is not.
            Ok(_) => left.inspect_err(|left| left.iter().for_each(kill)),
            Err(cause) => panic!("cannot stop the engine: {cause}"),
        }
    }

    fn stop(&self) -> Option<Child> {
        let mut command = Command::new(&self.program);
        command.arg("stop").env_clear().envs(std::env::vars_os()).envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().ok()
    }
}

impl Drop for EngineGuard {
    /// A failed test leaves no process either; a passed one must not have needed this.
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        if let Some(child) = self.stop() {
            wait(child);
        }
        let end = Instant::now() + GONE;
        while !self.marker.survivors().is_empty() && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
        let left = self.marker.survivors();
        left.iter().for_each(kill);
        if !left.is_empty() && !std::thread::panicking() {
            panic!("processes are left: {left:?}");
        }
    }
}

fn wait(mut child: Child) {
    let end = Instant::now() + STOP;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
        std::thread::sleep(LOOK);
    }
    // It has ended, or never will.
    let _ = child.kill();
    let _ = child.wait();
}

/// Ends a process that carries the mark of this test, so it is one that the test started.
fn kill(process: &LivingProcess) {
    // `kill` is everywhere, and this package has no other use for signals.
    let _ = Command::new("kill").args(["-KILL", &process.pid.to_string()]).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(marker: &Marker) -> Child {
        let (name, value) = marker.environment();
        Command::new("sleep").arg("600").env(name, value).spawn().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_leftover_process_is_named_and_ended() {
        let marker = Marker::new();
        let mut child = sleeper(&marker);
        let guard = EngineGuard::new(Path::new("true"), Vec::new(), marker.clone());
        let left = guard.close().await.unwrap_err();
        assert_eq!(left.iter().map(|process| process.pid).collect::<Vec<_>>(), [child.id()]);
        child.wait().unwrap();
        assert_eq!(marker.survivors(), []);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_engine_that_stops_leaves_nobody() {
        let marker = Marker::new();
        let mut child = sleeper(&marker);
        let script = tempfile::NamedTempFile::new().unwrap();
        let stop = format!("#!/bin/sh\nkill {}\n", child.id());
        let path = script.into_temp_path();
        crate::app_server::write_program(&path, &stop).unwrap();
        let reaper = std::thread::spawn(move || child.wait());
        assert_eq!(EngineGuard::new(&path, Vec::new(), marker).close().await, Ok(()));
        reaper.join().unwrap().unwrap();
    }
}
