//! Processes that a dead engine left: Codex hosts of this home, and the commands of their turns. They are found and ended
//! without an engine and without the database, so that `talaria stop` and `talaria status` are correct even when neither
//! can be used.
//!
//! Only what is proven to be of this home counts (`codex/ownership`); a copy of a home has none. A host with a living owner,
//! such as that of a `talaria doctor`, is not left over. The caller makes sure that no engine lives; ending takes its lock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;

use crate::engine::lifecycle::loop_commands;
use crate::engine::lifecycle::stop_marker;
use crate::engine::{Holder, Lock, LockError, is_locked};
use talaria_codex::directory::{self, HostPaths};
use talaria_codex::environment::NONCE;
use talaria_codex::identity::{HomeRecord, OwnHosts, Relation};
use talaria_codex::ownership::{is_nonce, works_here};
use talaria_codex::process::CodexProcess;
use talaria_codex::stderr::HostStderr;
use talaria_home::descendants::{self, ProcessEntry};
use talaria_home::foreign_process::ForeignProcess;
use talaria_home::home::TalariaHome;
use talaria_tools::keeper::{COMMAND_MARK, CommandId, CommandState};

/// How long what was killed may take to be gone, and how often that is looked at.
const GONE_LIMIT: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);
/// The longest command line that is shown.
const LONGEST: usize = 200;

/// Kind of a leftover process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftKind {
    /// A `codex app-server`.
    Codex,
    /// A command of one of its turns, or something else that it started.
    Command,
}

/// A process of this home that lives although no engine does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftProcess {
    /// Its pid.
    pub pid: i32,
    /// Kind of process.
    pub kind: LeftKind,
    /// Its command line, not redacted; long ones are cut.
    pub command: String,
    entry: ProcessEntry,
    nonce: String,
}

/// Result of the processes that were left.
#[derive(Clone, Debug, Default)]
pub struct LeftEnded {
    /// Those that were ended.
    pub ended: Vec<LeftProcess>,
    /// Those that live on although they were killed.
    pub survivors: Vec<LeftProcess>,
}

/// Whether an engine holds the lock of this home, responsive or not.
pub fn is_held(home: &TalariaHome) -> bool {
    is_locked(&home.lock_file())
}

/// The home that this one is a copy of, while that is in use; as far as the file of this home says.
pub fn original_in_use(home: &TalariaHome) -> Option<PathBuf> {
    match HomeRecord::read(home)?.compare(home) {
        Ok(Relation::Copy { of }) => Some(of),
        _ => None,
    }
}

/// Finds the processes of this home that live without an engine, by pid.
pub fn find(home: &TalariaHome) -> Vec<LeftProcess> {
    let relation = HomeRecord::read(home).map(|record| record.compare(home));
    if is_held(home) || matches!(relation, Some(Ok(Relation::Copy { .. } | Relation::Adopted { .. }))) {
        return Vec::new();
    }
    of_ids(home, &OwnHosts::of_home(home))
}

/// Ends leftover processes, and writes the stop marker: turns that this interrupts are settled by the next engine, which
/// reads the reason there. Refuses while an engine holds the home.
pub async fn end(home: &TalariaHome, holder: &Holder) -> Result<LeftEnded, LockError> {
    let _lock = Lock::take(&home.lock_file(), holder)?;
    let own = OwnHosts::of_home(home);
    let found = of_ids(home, &own);
    let nonces: Vec<String> = nonces(&found).into_iter().collect();
    stop_marker::begin(home.root(), &nonces);
    // Their keepers end them and write how they ended; what is left is killed with the rest.
    loop_commands::end_all(&loop_commands::command_room(home)).await;
    Ok(end_found(home, &own, found).await)
}

/// Ends what carries the id of a home that is gone: the home that was moved here, while it was in use.
pub(crate) async fn end_of_former(home: &TalariaHome, former: &str) -> usize {
    let own = OwnHosts::of([former.to_owned()]);
    let found = of_ids(home, &own);
    end_found(home, &own, found).await.ended.len()
}

/// Ends processes: Codex is asked first, everything else is killed, until nothing is left.
async fn end_found(home: &TalariaHome, own: &OwnHosts, found: Vec<LeftProcess>) -> LeftEnded {
    let hosts = home.hosts_dir();
    let codex = found.iter().filter(|process| process.kind == LeftKind::Codex);
    let asked = codex.filter_map(|process| {
        let stranger = ForeignProcess::pin(process.pid, &process.entry.started)?;
        let adopted = CodexProcess::adopt(stranger, &process.nonce, HostStderr::default());
        Some(async move { adopted.end().await })
    });
    join_all(asked).await;
    let mut entries: Vec<ProcessEntry> = found.iter().map(|process| process.entry.clone()).collect();
    let gone = async {
        loop {
            // Processes started meanwhile carry the name of their host, too.
            entries.extend(of_ids(home, own).into_iter().map(|process| process.entry));
            if descendants::kill_survivors(&entries) == 0 {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    // A process that cannot be killed hangs in the kernel: nothing more can be done about it.
    let _ = tokio::time::timeout(GONE_LIMIT, gone).await;
    let survives = |process: &LeftProcess| {
        descendants::start_time(process.pid).as_deref() == Some(process.entry.started.as_str())
    };
    let (survivors, ended): (Vec<_>, Vec<_>) = found.into_iter().partition(survives);
    for nonce in nonces(&ended).difference(&nonces(&survivors)) {
        directory::remove_leftovers(&hosts, nonce);
    }
    LeftEnded { ended, survivors }
}

fn nonces(processes: &[LeftProcess]) -> BTreeSet<String> {
    let hosts = processes.iter().filter(|process| !process.nonce.is_empty());
    hosts.map(|process| process.nonce.clone()).collect()
}

/// The processes of hosts that carry one of the ids, or that work in a directory of this home, and what is below them.
fn of_ids(home: &TalariaHome, own: &OwnHosts) -> Vec<LeftProcess> {
    let hosts = home.hosts_dir();
    let mut left: HashMap<String, Option<LeftHost>> = HashMap::new();
    let mut found: BTreeMap<i32, LeftProcess> = BTreeMap::new();
    for (entry, nonce) in descendants::carrying_prefix(NONCE, "") {
        let verdict = left.entry(nonce.clone()).or_insert_with(|| left_host(&hosts, own, &nonce));
        let Some(host) = *verdict else { continue };
        let command = descendants::command_line(entry.pid);
        let is_codex = host.pid.map_or_else(|| command.contains(" app-server"), |pid| pid == entry.pid);
        if is_codex {
            for below in descendants::below(entry.pid) {
                let command = descendants::command_line(below.pid);
                let process = process(below, LeftKind::Command, command, &nonce);
                found.entry(process.pid).or_insert(process);
            }
        }
        let kind = if is_codex { LeftKind::Codex } else { LeftKind::Command };
        found.insert(entry.pid, process(entry, kind, command, &nonce));
    }
    for entry in of_loop(home) {
        let command = descendants::command_line(entry.pid);
        // It belongs to no host.
        found.entry(entry.pid).or_insert_with(|| process(entry, LeftKind::Command, command, ""));
    }
    let itself = i32::try_from(std::process::id()).unwrap_or_default();
    found.remove(&itself);
    found.into_values().collect()
}

/// The processes of commands of the built-in loop whose directories are in this home and were written here.
fn of_loop(home: &TalariaHome) -> Vec<ProcessEntry> {
    let room = loop_commands::command_room(home);
    let mut states = HashMap::new();
    let mut left = Vec::new();
    for (entry, id) in descendants::carrying_prefix(COMMAND_MARK, "") {
        let state = states.entry(id).or_insert_with_key(|id| {
            let id: CommandId = id.parse().ok()?;
            room.find(&id).ok()?.state().ok()
        });
        if !matches!(state, None | Some(CommandState::Missing | CommandState::Copied)) {
            left.push(entry);
        }
    }
    left
}

/// A host that is left over.
#[derive(Clone, Copy)]
struct LeftHost {
    /// Its process, if that was recorded.
    pid: Option<i32>,
}

/// Is a host of this name left over here?
fn left_host(hosts: &Path, own: &OwnHosts, nonce: &str) -> Option<LeftHost> {
    if !is_nonce(nonce) {
        return None;
    }
    let place = HostPaths::find(hosts, nonce);
    let pid = place.recorded().map(|(pid, _)| pid);
    let is_own = own.has(nonce) || pid.is_some_and(|pid| works_here(hosts, nonce, pid));
    (is_own && !directory::is_owned(&place.root)).then_some(LeftHost { pid })
}

fn process(entry: ProcessEntry, kind: LeftKind, command: String, nonce: &str) -> LeftProcess {
    let command = match command.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &command[..at]),
        None => command,
    };
    LeftProcess { pid: entry.pid, kind, command, entry, nonce: nonce.to_owned() }
}
