//! Reads what the system says about a process: namespaces, filters, parents, terminal, program.
//!
//! The evidence from which the engine decides whether a caller is the person or acts for a model
//! (`talaria_core::access`). Reads only; a process that cannot be read is reported as such, never as harmless. Used by the
//! server for every connection, and by `talaria serve` for itself.

use talaria_core::access::{PeerEvidence, ProcessFacts};

use talaria_codex::environment::NONCE;
use talaria_tools::keeper::COMMAND_MARK;

/// How many parents are looked at. A chain that is longer is not believed.
const GENERATIONS: usize = 128;

/// Facts about the process `pid`. `hosts` are the Codex processes that the engine knows; others are recognised by the mark
/// in their environment. An error says why the process cannot be examined.
pub fn examine(pid: i32, hosts: &[i32]) -> Result<(ProcessFacts, PeerEvidence), String> {
    let before = system::start_time(pid)?;
    let mut facts = system::facts(pid)?;
    facts.codex = nearest_codex(pid, hosts)?;
    facts.keeper = nearest(pid, &[], COMMAND_MARK)?;
    let evidence = PeerEvidence::of(&facts, system::terminal(pid), system::program(pid));
    // The data could be of two processes if the process id was reused meanwhile.
    if system::start_time(pid)? != before {
        return Err(format!("process {pid} ended while it was examined"));
    }
    Ok((facts, evidence))
}

/// The nearest Codex of ours among a process and its parents.
fn nearest_codex(pid: i32, hosts: &[i32]) -> Result<Option<i32>, String> {
    nearest(pid, hosts, NONCE)
}

/// The outermost process that carries a variable, or is known by its number, above the nearest such process among a process
/// and its parents.
fn nearest(pid: i32, hosts: &[i32], variable: &str) -> Result<Option<i32>, String> {
    let mark = format!("{variable}=");
    let mut at = pid;
    for _ in 0..GENERATIONS {
        if at <= 1 {
            return Ok(None);
        }
        if hosts.contains(&at) || system::has_mark(at, &mark) {
            return Ok(Some(system::marked_ancestor(at, hosts, &mark)));
        }
        at = system::parent(at)?;
    }
    Err(format!("process {pid} has more than {GENERATIONS} parents"))
}

/// Why an engine must not run where this process does: in a sandbox of Codex, or below a Codex that Talaria started. An
/// engine there would treat every sandboxed command as a trusted peer.
pub fn unfit_for_engine() -> Option<String> {
    let pid = i32::try_from(std::process::id()).ok()?;
    let is_below = |variable: &str| {
        std::env::var_os(variable).is_some() || nearest(pid, &[], variable).is_ok_and(|found| found.is_some())
    };
    if is_below(NONCE) {
        return Some("it would run below a Codex that Talaria started".to_owned());
    }
    if is_below(COMMAND_MARK) {
        return Some("it would run in a command of the built-in loop".to_owned());
    }
    let sandbox = |name: &str| std::env::var_os(name).is_some();
    (sandbox("CODEX_SANDBOX")
        || sandbox("CODEX_SANDBOX_NETWORK_DISABLED")
        || system::is_below_sandbox_helper(pid))
    .then(|| "it would run in a sandbox of Codex".to_owned())
}

#[cfg(target_os = "linux")]
mod system {
    //! `/proc`.

    use std::fs;

    use talaria_core::access::{Namespaces, ProcessFacts};

    pub(super) fn facts(pid: i32) -> Result<ProcessFacts, String> {
        let namespace = |name: &str| {
            let link = fs::read_link(format!("/proc/{pid}/ns/{name}"));
            link.map(|link| Some(link.to_string_lossy().into_owned()))
                .map_err(|error| format!("the namespaces of process {pid} cannot be read: {error}"))
        };
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .map_err(|error| format!("process {pid} cannot be read: {error}"))?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|text| text.trim().parse::<u32>().ok())
        };
        let cgroup = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        Ok(ProcessFacts {
            pid,
            namespaces: Namespaces {
                pid: namespace("pid")?,
                user: namespace("user")?,
                mount: namespace("mnt")?,
            },
            no_new_privs: number("NoNewPrivs").unwrap_or(0) != 0,
            seccomp: (number("Seccomp").unwrap_or(0), number("Seccomp_filters").unwrap_or(0)),
            cgroup: cgroup.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned),
            codex: None,
            keeper: None,
        })
    }

    /// The fields of `/proc/PID/stat` after the name, which may contain anything: state, parent, group, session, terminal…
    fn stat(pid: i32) -> Result<Vec<String>, String> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))
            .map_err(|error| format!("process {pid} cannot be read: {error}"))?;
        let fields = text.rsplit_once(") ").map(|(_, fields)| fields.split(' ').map(str::to_owned).collect());
        fields.ok_or_else(|| format!("process {pid} cannot be read"))
    }

    fn field<T: std::str::FromStr>(pid: i32, at: usize) -> Result<T, String> {
        let value = stat(pid)?.get(at).and_then(|text| text.parse().ok());
        value.ok_or_else(|| format!("process {pid} cannot be read"))
    }

    pub(super) fn parent(pid: i32) -> Result<i32, String> {
        field(pid, 1)
    }

    pub(super) fn start_time(pid: i32) -> Result<String, String> {
        field(pid, 19)
    }

    /// Does a process have a variable in its environment whose text begins so?
    pub(super) fn has_mark(pid: i32, mark: &str) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one.starts_with(mark.as_bytes()))
    }

    /// The outermost process above `pid` that still carries the mark: Codex itself, where its commands inherit the mark.
    pub(super) fn marked_ancestor(pid: i32, hosts: &[i32], mark: &str) -> i32 {
        let mut at = pid;
        while !hosts.contains(&at)
            && let Ok(above) = parent(at)
            && above > 1
            && (hosts.contains(&above) || has_mark(above, mark))
        {
            at = above;
        }
        at
    }

    pub(super) fn terminal(pid: i32) -> Option<String> {
        let device: u64 = field(pid, 4).ok()?;
        let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
        match major {
            0 => None,
            136..=143 => Some(format!("/dev/pts/{}", (major - 136) * 256 + minor)),
            4 => Some(format!("/dev/tty{minor}")),
            _ => Some(format!("terminal {major}:{minor}")),
        }
    }

    pub(super) fn program(pid: i32) -> Option<String> {
        fs::read_link(format!("/proc/{pid}/exe")).ok().map(|path| path.to_string_lossy().into_owned())
    }

    pub(super) fn is_below_sandbox_helper(pid: i32) -> bool {
        let mut at = pid;
        for _ in 0..super::GENERATIONS {
            let arguments = fs::read(format!("/proc/{at}/cmdline")).unwrap_or_default();
            if is_sandbox_helper(&program(at).unwrap_or_default(), &String::from_utf8_lossy(&arguments)) {
                return true;
            }
            match parent(at) {
                Ok(above) if above > 0 => at = above,
                _ => return false,
            }
        }
        false
    }

    /// Is a process one of those with which Codex makes a sandbox? Bubblewrap alone says nothing: Flatpak uses it too.
    pub(super) fn is_sandbox_helper(program: &str, arguments: &str) -> bool {
        let is_bubblewrap = program.rsplit('/').next() == Some("bwrap");
        arguments.contains("codex-linux-sandbox")
            || is_bubblewrap && (program.contains("codex") || arguments.contains("codex"))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    //! `ps`. There are no namespaces; the sandbox of macOS cannot be seen from outside without an interface that only C has.

    use talaria_core::access::ProcessFacts;

    use talaria_home::descendants::ps;

    pub(super) fn facts(pid: i32) -> Result<ProcessFacts, String> {
        Ok(ProcessFacts { pid, ..ProcessFacts::default() })
    }

    fn column(pid: i32, name: &str) -> Result<String, String> {
        let text = ps(&["-o", &format!("{name}="), "-p", &pid.to_string()]).trim().to_owned();
        if text.is_empty() { Err(format!("process {pid} cannot be read")) } else { Ok(text) }
    }

    pub(super) fn parent(pid: i32) -> Result<i32, String> {
        column(pid, "ppid")?.parse().map_err(|_| format!("process {pid} cannot be read"))
    }

    pub(super) fn start_time(pid: i32) -> Result<String, String> {
        column(pid, "lstart")
    }

    pub(super) fn has_mark(pid: i32, mark: &str) -> bool {
        let shown = ps(&["-Eww", "-o", "command=", "-p", &pid.to_string()]);
        shown.split_whitespace().any(|word| word.starts_with(mark))
    }

    pub(super) fn marked_ancestor(pid: i32, _: &[i32], _: &str) -> i32 {
        pid
    }

    pub(super) fn terminal(pid: i32) -> Option<String> {
        column(pid, "tty").ok().filter(|name| !name.starts_with('?')).map(|name| format!("/dev/{name}"))
    }

    pub(super) fn program(pid: i32) -> Option<String> {
        column(pid, "comm").ok()
    }

    pub(super) fn is_below_sandbox_helper(_: i32) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    struct Sleeper(std::process::Child);

    impl Sleeper {
        fn with(variable: Option<(&str, &str)>) -> Self {
            let mut command = std::process::Command::new("sh");
            // The shell remains, and the sleeper is its child.
            command.args(["-c", "echo up; sleep 600 & echo $!; wait"]).stdout(std::process::Stdio::piped());
            Self(command.envs(variable).spawn().unwrap())
        }

        fn child(&mut self) -> i32 {
            use std::io::BufRead;
            let lines = std::io::BufReader::new(self.0.stdout.take().unwrap()).lines();
            lines.map_while(Result::ok).find_map(|line| line.parse().ok()).unwrap()
        }

        fn pid(&self) -> i32 {
            i32::try_from(self.0.id()).unwrap()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let kill = |pid: i32| {
                if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            };
            for entry in talaria_home::descendants::below(self.pid()) {
                kill(entry.pid);
            }
            kill(self.pid());
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_child_of_ours_looks_like_us() {
        let mut shell = Sleeper::with(None);
        let child = shell.child();
        let (engine, _) = examine(own(), &[]).unwrap();
        let (facts, evidence) = examine(child, &[]).unwrap();
        assert_eq!(
            talaria_core::access::classify(&engine, &facts, &[]),
            talaria_core::access::PeerClass::Person
        );
        assert_eq!(evidence.pid, Some(child));
        // It may not have become `sleep` yet.
        assert!(evidence.program.is_some());
    }

    #[test]
    fn what_is_below_codex_is_seen_by_its_mark_and_by_its_number() {
        let mut marked = Sleeper::with(Some((NONCE, "abcdef12")));
        let child = marked.child();
        assert_eq!(examine(child, &[]).unwrap().0.codex, Some(marked.pid()));
        let mut known = Sleeper::with(None);
        let child = known.child();
        assert_eq!(examine(child, &[]).unwrap().0.codex, None);
        assert_eq!(examine(child, &[known.pid()]).unwrap().0.codex, Some(known.pid()));
    }

    #[test]
    fn what_a_command_of_the_loop_started_is_seen_by_its_mark() {
        let mut marked = Sleeper::with(Some((COMMAND_MARK, "0123456789abcdef")));
        let child = marked.child();
        let (facts, _) = examine(child, &[]).unwrap();
        assert_eq!((facts.codex, facts.keeper), (None, Some(marked.pid())));
        let (engine, _) = examine(own(), &[]).unwrap();
        let keeper = marked.pid();
        assert_eq!(
            talaria_core::access::classify(&engine, &facts, &[]),
            talaria_core::access::PeerClass::BelowKeeper { keeper }
        );
    }

    #[test]
    fn only_the_sandbox_of_codex_is_taken_for_one() {
        let is = system::is_sandbox_helper;
        assert!(is("/x/bin/codex", "codex-linux-sandbox\0--command-cwd\0/w"));
        assert!(is("/opt/codex/codex-resources/bwrap", "bwrap\0--ro-bind"));
        assert!(is("/usr/bin/bwrap", "bwrap\0--\0/x/codex-arg0/codex"));
        assert!(!is("/usr/bin/bwrap", "bwrap\0--args\0flatpak-terminal"));
        assert!(!is("/x/bin/codex", "codex\0app-server"));
    }

    #[test]
    fn a_process_that_is_gone_is_not_examined() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        child.wait().unwrap();
        assert!(examine(pid, &[]).is_err());
    }
}
