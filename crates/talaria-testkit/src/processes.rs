//! Who is still alive of what a test started.
//!
//! A test sets a [`Marker`] in the environment of the processes that it starts. Children inherit it, also through
//! `setsid`, a double fork or a shell, so that "no Codex process survives" can be proved. A zombie has no
//! environment any more and does not count. Linux reads `/proc`; macOS asks `ps`.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

/// The variable that carries the mark.
pub const VARIABLE: &str = "TALARIA_TEST_MARK";

/// A string that no other process on this machine carries.
#[derive(Clone, Debug)]
pub struct Marker(String);

/// A process that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivingProcess {
    /// Its id.
    pub pid: u32,
    /// Its command line, as far as it can be read.
    pub command: String,
}

impl Marker {
    /// Makes a new mark.
    pub fn new() -> Self {
        Self(format!("mark-{}-{:016x}", std::process::id(), RandomState::new().hash_one(Instant::now())))
    }

    /// Returns the variable to set on whatever the test starts.
    pub fn environment(&self) -> (&'static str, &str) {
        (VARIABLE, &self.0)
    }

    /// Lists the living processes that carry the mark in environment or command line.
    pub fn survivors(&self) -> Vec<LivingProcess> {
        let myself = std::process::id();
        marked(&self.0).into_iter().filter(|process| process.pid != myself).collect()
    }

    /// Waits until no process carries the mark; returns those that still do at the limit.
    pub async fn wait_gone(&self, limit: Duration) -> Result<(), Vec<LivingProcess>> {
        let end = Instant::now() + limit;
        loop {
            let survivors = self.survivors();
            if survivors.is_empty() {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(survivors);
            }
            // The kernel does not notify of the end of a foreign process: polling is the only way.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Default for Marker {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_os = "linux")]
fn marked(mark: &str) -> Vec<LivingProcess> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let describe = |pid| {
        // A process may end between the listing and the reading.
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let carries = contains(&environment, mark) || contains(&command, mark);
        carries.then(|| LivingProcess { pid, command: String::from_utf8_lossy(&command).replace('\0', " ") })
    };
    pids.filter_map(describe).collect()
}

#[cfg(target_os = "linux")]
fn contains(bytes: &[u8], mark: &str) -> bool {
    bytes.windows(mark.len()).any(|window| window == mark.as_bytes())
}

#[cfg(not(target_os = "linux"))]
fn marked(mark: &str) -> Vec<LivingProcess> {
    // -E adds the environment of our own processes to the command.
    let Ok(output) = std::process::Command::new("ps").args(["-axEww", "-o", "pid=,stat=,command="]).output()
    else {
        return Vec::new();
    };
    let describe = |line: &str| {
        let (pid, rest) = line.trim().split_once(' ')?;
        let (state, command) = rest.trim().split_once(' ')?;
        let alive = !state.starts_with('Z') && command.contains(mark);
        let command = command.split(VARIABLE).next().unwrap_or_default().trim().to_owned();
        alive.then(|| Some(LivingProcess { pid: pid.parse().ok()?, command }))?
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(describe).collect()
}
