//! The keeper itself: claims a directory, runs its command, and writes how it ended. Runs in a process of its own.
//!
//! Standard output and standard error of the command are one pipe, so that their order is the command's. The command
//! has ended when its first process has; what it left running is ended and counted, because no one could name it any
//! more. Threads, no runtime: it must start in a moment. It answers to its directory alone and needs no engine.

use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use talaria_home::{boot, clock, descendants};

use super::directory::CommandDirectory;
use super::inbox::{Message, MessageState};
use super::record::{Claim, CommandEnd, CommandEnding, CommandInput, KeptCommandSpec};
use super::spool::SpoolWriter;

/// How long a command that is to end may take before it is killed.
const POLITE: Duration = Duration::from_millis(400);
/// How long output may still arrive after the end of the command before its leftovers are ended, and after that.
const LAST_OUTPUT: Duration = Duration::from_millis(100);
const NO_MORE_OUTPUT: Duration = Duration::from_secs(2);
/// How long leftovers are killed again: what is killed takes a moment to go.
const KILLS: u32 = 200;
const BETWEEN_KILLS: Duration = Duration::from_millis(5);

/// Why a keeper did not run its command. Nothing ran.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It is no directory of a command of ours.
    #[error("cannot run the command in {path}: {source}")]
    Directory {
        /// The directory.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Another keeper has it, or an engine gave it up.
    #[error("another process has claimed this command")]
    Claimed,
    /// Its end could not be written: for others it is not known.
    #[error("cannot write how the command ended: {0}")]
    Status(io::Error),
}

/// Runs the command of a directory and returns when it has ended and its status is on disk. Called by `talaria keep-command`.
pub fn keep(path: &Path) -> Result<(), KeepError> {
    let failed = |source| KeepError::Directory { path: path.display().to_string(), source };
    let (directory, stored) = CommandDirectory::open(path).map_err(failed)?;
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    let started = descendants::start_time(pid).unwrap_or_default();
    let claim = Claim::Keeper { pid, started, boot: boot::id() };
    if !directory.make_claim(&claim).map_err(failed)? {
        return Err(KeepError::Claimed);
    }
    let end = run(&directory, &stored.spec);
    directory.write_end(&end).map_err(KeepError::Status)
}

/// Runs the command and observes it to its end.
fn run(directory: &CommandDirectory, spec: &KeptCommandSpec) -> CommandEnd {
    let spool = Arc::new(Spool::new(directory, spec));
    let started = start(spec);
    let (mut child, output) = match started {
        Ok(started) => started,
        Err(error) => return spool.end(CommandEnding::NotStarted(error.to_string()), StopWish::default(), 0),
    };
    let stopper = Arc::new(Stopper::new(&child));
    let (drained, is_drained) = mpsc::channel();
    let pumped = Arc::clone(&spool);
    std::thread::spawn(move || {
        pumped.pump(output);
        let _ = drained.send(());
    });
    let input = pass_on_input(directory.clone(), child.stdin.take());
    listen(directory.clone(), Arc::clone(&stopper), input);
    let status = stopper.wait(&mut child);
    // The usual command has closed the pipe by now. One that has not left something running.
    let is_quiet = is_drained.recv_timeout(LAST_OUTPUT).is_ok();
    let leftovers = end_leftovers(directory);
    if !is_quiet {
        let _ = is_drained.recv_timeout(NO_MORE_OUTPUT);
    }
    let ending = match status {
        Ok(status) => ending(status),
        Err(error) => CommandEnding::NotStarted(format!("its end could not be observed: {error}")),
    };
    spool.end(ending, StopWish(stopper.is_wished()), leftovers)
}

fn start(spec: &KeptCommandSpec) -> io::Result<(Child, PipeReader)> {
    let (program, arguments) = spec.argv.split_first().ok_or_else(|| io::Error::other("no command"))?;
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&spec.cwd).process_group(0);
    command.stdin(match spec.input {
        CommandInput::Nothing => Stdio::null(),
        CommandInput::Open => Stdio::piped(),
    });
    command.stdout(writer.try_clone()?).stderr(writer);
    Ok((command.spawn()?, reader))
}

fn ending(status: ExitStatus) -> CommandEnding {
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnding::Exited(code),
        (None, signal) => CommandEnding::Signalled(signal.unwrap_or_default()),
    }
}

/// Was the end asked for?
#[derive(Clone, Copy, Default)]
struct StopWish(bool);

/// What the command prints, on its way to the disk.
struct Spool {
    writer: Mutex<SpoolWriter>,
    unspooled: Mutex<u64>,
}

impl Spool {
    fn new(directory: &CommandDirectory, spec: &KeptCommandSpec) -> Self {
        let writer = SpoolWriter::new(directory.path(), spec.limits);
        Self { writer: Mutex::new(writer), unspooled: Mutex::new(0) }
    }

    /// Reads to the end of the pipe. A full disk does not stop the command: what cannot be written is counted.
    fn pump(&self, mut output: PipeReader) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = match output.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let mut writer = lock(&self.writer);
            let before = writer.written();
            let is_failed = *lock(&self.unspooled) > 0 || writer.append(&buffer[..read]).is_err();
            if is_failed {
                let done = writer.written() - before;
                *lock(&self.unspooled) += read as u64 - done;
            }
        }
    }

    fn end(&self, ending: CommandEnding, wish: StopWish, leftovers: usize) -> CommandEnd {
        CommandEnd {
            ending,
            is_stopped: wish.0,
            output_bytes: lock(&self.writer).written(),
            unspooled_bytes: *lock(&self.unspooled),
            leftovers,
            ended_at: clock::now_ms(),
        }
    }
}

/// Ends the command when that is asked for. It never signals a process id that may have been reused.
struct Stopper {
    pid: Option<Pid>,
    has_ended: Mutex<bool>,
    ended: Condvar,
    wish: AtomicBool,
}

impl Stopper {
    fn new(child: &Child) -> Self {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Self { pid, has_ended: Mutex::new(false), ended: Condvar::new(), wish: AtomicBool::new(false) }
    }

    /// Waits for the end of the first process. Until `has_ended` is set the process is not reaped, so its id is its own.
    fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        if let Some(pid) = self.pid {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
        }
        *lock(&self.has_ended) = true;
        self.ended.notify_all();
        child.wait()
    }

    /// Asks the command to end, and kills it if it does not.
    fn stop(&self) {
        self.wish.store(true, Ordering::SeqCst);
        self.signal(Signal::TERM);
        let waited = self.ended.wait_timeout_while(lock(&self.has_ended), POLITE, |has_ended| !*has_ended);
        drop(waited);
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let has_ended = lock(&self.has_ended);
        if let Some(pid) = self.pid.filter(|_| !*has_ended) {
            // The group may be empty by now.
            let _ = kill_process_group(pid, signal);
        }
    }

    fn is_wished(&self) -> bool {
        self.wish.load(Ordering::SeqCst)
    }
}

/// Passes input on in a thread of its own: a command that reads nothing must not keep its keeper from ending it.
fn pass_on_input(directory: CommandDirectory, stdin: Option<ChildStdin>) -> mpsc::Sender<(String, Message)> {
    // Bounded by what the engine posts: each message is a file of its own.
    let (sender, messages) = mpsc::channel::<(String, Message)>();
    std::thread::spawn(move || {
        let mut stdin = stdin;
        for (name, message) in messages {
            let passed = match (message, stdin.as_mut()) {
                (Message::Write(text), Some(pipe)) => {
                    pipe.write_all(text.as_bytes()).and_then(|()| pipe.flush()).is_ok()
                }
                (Message::EndInput, Some(_)) => stdin.take().is_some(),
                (_, _) => false,
            };
            directory.settle(&name, if passed { MessageState::PassedOn } else { MessageState::Refused });
        }
    });
    sender
}

/// Answers the bell for as long as the keeper lives.
fn listen(directory: CommandDirectory, stopper: Arc<Stopper>, input: mpsc::Sender<(String, Message)>) {
    std::thread::spawn(move || {
        // For reading and writing, so that the end of one engine is not the end of the pipe.
        let Ok(mut bell) = std::fs::File::options().read(true).write(true).open(directory.bell()) else {
            return;
        };
        let mut seen: Vec<String> = Vec::new();
        loop {
            for (name, message) in directory.waiting().unwrap_or_default() {
                if seen.contains(&name) {
                    continue;
                }
                seen.push(name.clone());
                match message {
                    Message::Stop => {
                        directory.settle(&name, MessageState::PassedOn);
                        stopper.stop();
                    }
                    message => drop(input.send((name, message))),
                }
            }
            let mut rings = [0; 64];
            if bell.read(&mut rings).is_err() {
                return;
            }
        }
    });
}

/// Ends every process that the command left, whatever its parent is. Returns how many there were.
fn end_leftovers(directory: &CommandDirectory) -> usize {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mark = directory.id().mark();
    let left = || {
        let mut left = descendants::below(own);
        left.extend(descendants::carrying(&mark).into_iter().filter(|entry| entry.pid != own));
        left.sort_by_key(|entry| entry.pid);
        left.dedup();
        left
    };
    let found = left();
    let mut remaining = found.clone();
    for _ in 0..KILLS {
        if descendants::kill_survivors(&remaining) == 0 {
            break;
        }
        std::thread::sleep(BETWEEN_KILLS);
        remaining = left();
    }
    found.len()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
