//! The processes below a process, from the system's own table.
//!
//! Linux lists them in `/proc`, with their session; elsewhere `ps` does. Used when a host ends, so that nothing it
//! started survives; a process is identified by pid and start time, because pids are reused.

use std::collections::HashSet;

use rustix::process::{Pid, Signal, kill_process};

/// A process at one point in time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessEntry {
    /// Its process id.
    pub pid: i32,
    parent: i32,
    /// The session on Linux, the process group elsewhere.
    session: i32,
    /// When it started, in whatever unit the system has.
    pub started: String,
}

/// Lists everything below `leader`, and everything in the session that it leads. The leader itself is not in the list.
pub fn below(leader: i32) -> Vec<ProcessEntry> {
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

/// The command lines of everything below `leader`, arguments joined by blanks.
#[cfg(target_os = "linux")]
pub fn command_lines_below(leader: i32) -> Vec<String> {
    let read = |entry: &ProcessEntry| std::fs::read(format!("/proc/{}/cmdline", entry.pid)).ok();
    let joined = |line: Vec<u8>| String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
    below(leader).iter().filter_map(read).map(joined).collect()
}

/// The command lines of everything below `leader`, arguments joined by blanks.
#[cfg(not(target_os = "linux"))]
pub fn command_lines_below(leader: i32) -> Vec<String> {
    let pids: Vec<String> = below(leader).iter().map(|entry| entry.pid.to_string()).collect();
    if pids.is_empty() {
        return Vec::new();
    }
    ps(&["-ww", "-o", "command=", "-p", &pids.join(",")]).lines().map(str::to_owned).collect()
}

/// Lists everything that has `variable` (`name=value`) in its environment, whatever its parent is now.
#[cfg(target_os = "linux")]
pub fn carrying(variable: &str) -> Vec<ProcessEntry> {
    table().into_iter().filter(|entry| carries(entry.pid, variable)).collect()
}

/// Lists everything whose environment has a value of `name` that begins with `prefix`, each with that value.
#[cfg(target_os = "linux")]
pub fn carrying_prefix(name: &str, prefix: &str) -> Vec<(ProcessEntry, String)> {
    let beginning = format!("{name}={prefix}");
    let value = |entry: &ProcessEntry| {
        let environment = std::fs::read(format!("/proc/{}/environ", entry.pid)).unwrap_or_default();
        let one = environment.split(|byte| *byte == 0).find(|one| one.starts_with(beginning.as_bytes()))?;
        Some(String::from_utf8_lossy(&one[name.len() + 1..]).into_owned())
    };
    table().into_iter().filter_map(|entry| value(&entry).map(|value| (entry, value))).collect()
}

/// Lists everything whose environment has a value of `name` that begins with `prefix`, each with that value.
#[cfg(not(target_os = "linux"))]
pub fn carrying_prefix(name: &str, prefix: &str) -> Vec<(ProcessEntry, String)> {
    let shown = ps(&["-axEww", "-o", "pid=,command="]);
    let values: std::collections::HashMap<i32, String> =
        shown.lines().filter_map(|line| value_carried(line, name, prefix)).collect();
    table()
        .into_iter()
        .filter_map(|entry| values.get(&entry.pid).cloned().map(|value| (entry, value)))
        .collect()
}

/// Reads a line of `ps -E`: the pid, and the value of a variable that begins with `prefix`.
#[cfg(any(test, not(target_os = "linux")))]
fn value_carried(line: &str, name: &str, prefix: &str) -> Option<(i32, String)> {
    let mut words = line.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    values.find(|value| value.starts_with(prefix)).map(|value| (pid, value.to_owned()))
}

/// Returns whether a process works in this directory, compared by inode: a copy of the directory is another one.
#[cfg(target_os = "linux")]
pub fn works_in(pid: i32, directory: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |path: &std::path::Path| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    let theirs = place(format!("/proc/{pid}/cwd").as_ref());
    theirs.is_some() && theirs == place(directory)
}

/// Elsewhere the working directory of another process cannot be asked for without unsafe code.
#[cfg(not(target_os = "linux"))]
pub fn works_in(_pid: i32, _directory: &std::path::Path) -> bool {
    false
}

/// The command line of a process, as far as it can be read.
#[cfg(target_os = "linux")]
pub fn command_line(pid: i32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    words.join(" ").trim_end().to_owned()
}

/// The command line of a process, as far as it can be read.
#[cfg(not(target_os = "linux"))]
pub fn command_line(pid: i32) -> String {
    ps(&["-ww", "-o", "command=", "-p", &pid.to_string()]).trim_end().to_owned()
}

/// Does a process have `variable` (`name=value`) in its environment? One that does not let us look does not count.
#[cfg(target_os = "linux")]
pub fn carries(pid: i32, variable: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
}

/// Does a process have `variable` (`name=value`) in its environment? One that does not let us look does not count.
#[cfg(not(target_os = "linux"))]
pub fn carries(pid: i32, variable: &str) -> bool {
    carrying(variable).iter().any(|entry| entry.pid == pid)
}

/// Elsewhere `ps` shows the environment after the command, for processes of the same user; macOS hides that of its own
/// protected programs, which are then found only while Codex lives.
#[cfg(not(target_os = "linux"))]
pub fn carrying(variable: &str) -> Vec<ProcessEntry> {
    let shown = ps(&["-axEww", "-o", "pid=,command="]);
    let pids: HashSet<i32> = shown.lines().filter_map(|line| pid_carrying(line, variable)).collect();
    table().into_iter().filter(|entry| pids.contains(&entry.pid)).collect()
}

/// Reads a line of `ps -E`: the pid, followed by the command and the environment as words.
#[cfg(any(test, not(target_os = "linux")))]
fn pid_carrying(line: &str, variable: &str) -> Option<i32> {
    let mut words = line.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    words.any(|word| word == variable).then_some(pid)
}

/// Kills those of `entries` whose pid and start time still match. Returns how many.
pub fn kill_survivors(entries: &[ProcessEntry]) -> usize {
    if entries.is_empty() {
        return 0;
    }
    let alive = table();
    // A Talaria that was started by a command of this host carries its name as well.
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let entries = entries.iter().filter(|entry| entry.pid != own);
    let same =
        |entry: &&ProcessEntry| alive.iter().any(|now| now.pid == entry.pid && now.started == entry.started);
    let survivors: Vec<&ProcessEntry> = entries.filter(same).collect();
    for survivor in &survivors {
        if let Some(pid) = Pid::from_raw(survivor.pid) {
            // It may have ended just now.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    survivors.len()
}

/// When a process started; `None` if there is no such process, or it has ended and only waits to be reaped.
#[cfg(target_os = "linux")]
pub fn start_time(pid: i32) -> Option<String> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).map(|entry| entry.started)
}

/// When a process started; `None` if there is no such process, or it has ended and only waits to be reaped.
#[cfg(not(target_os = "linux"))]
pub fn start_time(pid: i32) -> Option<String> {
    table().into_iter().find(|entry| entry.pid == pid).map(|entry| entry.started)
}

#[cfg(target_os = "linux")]
fn table() -> Vec<ProcessEntry> {
    let Ok(directory) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = directory.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// Reads `/proc/<pid>/stat`; the name in parentheses may contain anything, also spaces and parentheses.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &str) -> Option<ProcessEntry> {
    let (pid, rest) = stat.split_once(" (")?;
    let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split(' ').collect();
    let state = *fields.first()?;
    if state == "Z" {
        return None;
    }
    Some(ProcessEntry {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: (*fields.get(19)?).to_owned(),
    })
}

#[cfg(not(target_os = "linux"))]
fn table() -> Vec<ProcessEntry> {
    ps(&["-axo", "pid=,ppid=,pgid=,stat=,lstart="]).lines().filter_map(parse_ps).collect()
}

/// The time of start is compared as text, so language and time zone must always be the same.
#[cfg(not(target_os = "linux"))]
pub fn ps(arguments: &[&str]) -> String {
    let ps = std::process::Command::new("ps").args(arguments).env("LC_ALL", "C").env("TZ", "UTC").output();
    ps.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Reads a line of `ps`; one that has ended and is only waiting to be reaped does not count.
#[cfg(any(test, not(target_os = "linux")))]
fn parse_ps(line: &str) -> Option<ProcessEntry> {
    let mut fields = line.split_whitespace();
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (pid, parent, session) = (number()?, number()?, number()?);
    let has_ended = fields.next()?.starts_with('Z');
    let started = fields.collect::<Vec<_>>().join(" ");
    (!has_ended).then_some(ProcessEntry { pid, parent, session, started })
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
    fn the_lines_of_ps_are_read() {
        let line = "  812     1   812 Ss   Sun Nov 15 22:01:15 2026    ";
        let entry = parse_ps(line).unwrap();
        assert_eq!((entry.pid, entry.parent, entry.session), (812, 1, 812));
        assert_eq!(entry.started, "Sun Nov 15 22:01:15 2026");
        assert_eq!(parse_ps("  813   812   812 Z    Sun Nov 15 22:01:15 2026"), None);
        assert_eq!(
            pid_carrying(" 812 codex app-server HOME=/h TALARIA_HOST=ab1 X=y", "TALARIA_HOST=ab1"),
            Some(812)
        );
        assert_eq!(pid_carrying(" 812 codex app-server HOME=/h TALARIA_HOST=ab12", "TALARIA_HOST=ab1"), None);
        let carried =
            |prefix| value_carried(" 812 codex HOME=/h TALARIA_HOST=ab12 X=y", "TALARIA_HOST", prefix);
        assert_eq!(carried("ab"), Some((812, "ab12".to_owned())));
        assert_eq!(carried("cd"), None);
    }

    #[test]
    fn a_child_is_found_and_killed_once() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let found: Vec<ProcessEntry> = below(own).into_iter().filter(|entry| entry.pid == pid).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(kill_survivors(&found), 1);
        child.wait().unwrap();
        assert_eq!(kill_survivors(&found), 0);
    }
}
