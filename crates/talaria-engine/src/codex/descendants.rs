//! The processes below a process, from the system's own table.
//!
//! Linux gives them in `/proc`, with the session they belong to; elsewhere `ps` is asked. Used when a host ends, so that
//! nothing it started stays behind; a process is named by pid and start time, because pids are used again.

use std::collections::HashSet;

use rustix::process::{Pid, Signal, kill_process};

/// A process at one point in time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) pid: i32,
    parent: i32,
    /// The session on Linux, the process group elsewhere.
    session: i32,
    /// When it started, in whatever unit the system has.
    started: String,
}

/// Lists everything below `leader`, and everything in the session that it leads. The leader itself is not in the list.
pub(crate) fn below(leader: i32) -> Vec<Entry> {
    let table = table();
    let mut found: HashSet<i32> = HashSet::from([leader]);
    loop {
        let before = found.len();
        for entry in &table {
            if found.contains(&entry.parent) || entry.session == leader {
                found.insert(entry.pid);
            }
        }
        if found.len() == before {
            break;
        }
    }
    found.remove(&leader);
    table.into_iter().filter(|entry| found.contains(&entry.pid)).collect()
}

/// Lists everything that has `variable` (`name=value`) in its environment, whoever is its parent now.
#[cfg(target_os = "linux")]
pub(crate) fn carrying(variable: &str) -> Vec<Entry> {
    let carries = |entry: &Entry| {
        let environment = std::fs::read(format!("/proc/{}/environ", entry.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    };
    table().into_iter().filter(carries).collect()
}

/// Elsewhere the environment of a process is not to be had for certain.
#[cfg(not(target_os = "linux"))]
pub(crate) fn carrying(_variable: &str) -> Vec<Entry> {
    Vec::new()
}

/// Kills those of `entries` that still are the processes they were. Gives how many.
pub(crate) fn kill_survivors(entries: &[Entry]) -> usize {
    if entries.is_empty() {
        return 0;
    }
    let alive = table();
    let same = |entry: &&Entry| alive.iter().any(|now| now.pid == entry.pid && now.started == entry.started);
    let survivors: Vec<&Entry> = entries.iter().filter(same).collect();
    for survivor in &survivors {
        if let Some(pid) = Pid::from_raw(survivor.pid) {
            // It may have ended just now.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    survivors.len()
}

/// When a process started; `None` if there is no such process.
pub(crate) fn started(pid: i32) -> Option<String> {
    table().into_iter().find(|entry| entry.pid == pid).map(|entry| entry.started)
}

#[cfg(target_os = "linux")]
fn table() -> Vec<Entry> {
    let Ok(directory) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = directory.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// Reads `/proc/<pid>/stat`; the name in parentheses may contain anything, also spaces and parentheses.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &str) -> Option<Entry> {
    let (pid, rest) = stat.split_once(" (")?;
    let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split(' ').collect();
    let state = *fields.first()?;
    if state == "Z" {
        return None;
    }
    Some(Entry {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: (*fields.get(19)?).to_owned(),
    })
}

#[cfg(not(target_os = "linux"))]
fn table() -> Vec<Entry> {
    let ps = std::process::Command::new("ps").args(["-axo", "pid=,ppid=,pgid=,lstart="]).output();
    let Ok(output) = ps else { return Vec::new() };
    let parse = |line: &str| {
        let mut fields = line.split_whitespace();
        let mut number = || fields.next()?.parse::<i32>().ok();
        let (pid, parent, session) = (number()?, number()?, number()?);
        Some(Entry { pid, parent, session, started: fields.collect::<Vec<_>>().join(" ") })
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_with_parentheses_and_spaces_is_read_past() {
        let stat = "42 (a ) (b) R) S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2";
        let entry = parse_stat(stat).unwrap();
        assert_eq!((entry.pid, entry.parent, entry.session, entry.started.as_str()), (42, 7, 41, "12345"));
    }

    #[test]
    fn a_child_is_found_and_killed_once() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let found: Vec<Entry> = below(own).into_iter().filter(|entry| entry.pid == pid).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(kill_survivors(&found), 1);
        child.wait().unwrap();
        assert_eq!(kill_survivors(&found), 0);
    }
}
