//! Commands of people on a host, in its sandbox and in no conversation (`command/exec`).
//!
//! Their output is routed by name to the code that started the command; the reader of the socket never waits for it. It
//! is bounded: each request limits how much of a stream Codex sends. Codex ends a command when the connection closes,
//! so none outlives the engine. Called by the engine's `shell`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::wire::call::{
    CommandExec, CommandExecReply, CommandTerminate, SandboxPolicy, Streaming,
};
use talaria_codex_proto::wire::notification::CommandPrintedParams;
use talaria_core::ids::ThreadId;
use talaria_core::policy::HideHome;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::client::CallError;
use super::host::Host;
use super::live_turns::TurnGuard;
use talaria_home::descendants;

/// Bytes of each stream that Codex sends.
pub const MOST_PRINTED: u64 = 4 * 1024 * 1024;
/// Carries the name of a command in its environment, and in that of everything that it starts.
const MARK: &str = "TALARIA_COMMAND";
/// How long to wait for an ended command before it is ended again, and how often that is repeated.
const ENDING: Duration = Duration::from_millis(250);
const TRIES: u32 = 20;

/// A command to be run.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where.
    pub cwd: String,
    /// Its sandbox.
    pub policy: SandboxPolicy,
    /// Whether it can read what is Talaria's own.
    pub hide_home: HideHome,
    /// How long at most; `None` for as long as it takes.
    pub limit: Option<Duration>,
}

/// A running command. Its host counts as busy, so that it is not ended as idle.
#[derive(Debug)]
pub struct Execution {
    host: Arc<Host>,
    name: String,
    printed: mpsc::UnboundedReceiver<CommandPrintedParams>,
    answer: JoinHandle<Result<CommandExecReply, CallError>>,
    /// The exit code, until it is reported.
    ended: Option<Result<i32, CallError>>,
    is_over: bool,
    _guard: TurnGuard,
}

/// Something about a command that runs.
#[derive(Debug)]
pub enum CommandEvent {
    /// It printed something.
    Printed(CommandPrintedParams),
    /// It has ended with this exit code, or the exit code is unknown.
    Ended(Result<i32, CallError>),
}

/// Why a host does not run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandRefused {
    /// Its end was decided.
    #[error("Codex is being replaced")]
    Retired,
    /// The maximum number of commands runs already.
    #[error("too many commands run already")]
    TooMany,
}

impl Host {
    /// Runs a command.
    pub fn execute(self: &Arc<Self>, line: CommandSpec) -> Result<Execution, CommandRefused> {
        let name = format!("command-{}", uuid::Uuid::new_v4().simple());
        let guard = self.enter_turn(&ThreadId::new(name.as_str()));
        // Counted before the check, so that a concurrent decision to end the host sees this command.
        if self.is_retired() {
            return Err(CommandRefused::Retired);
        }
        let printed = self.commands().listen(&name).ok_or(CommandRefused::TooMany)?;
        let streaming = Streaming {
            process_id: name.clone(),
            stream_stdout_stderr: true,
            output_bytes_cap: MOST_PRINTED,
        };
        let hides = line.hide_home != HideHome::Never;
        let profile = hides.then(|| self.hiding_profile(&line.policy, &line.cwd)).flatten();
        let mut env = BTreeMap::from([(MARK.to_owned(), name.clone())]);
        let (command, sandbox_policy) = match profile {
            Some(profile) => {
                env.extend(self.sandbox_environment());
                // The program of Codex applies the sandbox itself, so that there is none around it.
                (self.sandboxed(line.command, &line.cwd, &profile), SandboxPolicy::DangerFullAccess)
            }
            None => (line.command, line.policy),
        };
        let exec = CommandExec {
            command,
            cwd: line.cwd,
            timeout_ms: line.limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            disable_timeout: line.limit.is_none(),
            sandbox_policy,
            streaming: Some(streaming),
            env,
        };
        let host = Arc::clone(self);
        let answer = tokio::spawn(async move { host.call_without_limit(&exec).await });
        Ok(Execution {
            host: Arc::clone(self),
            name,
            printed,
            answer,
            ended: None,
            is_over: false,
            _guard: guard,
        })
    }
}

impl Execution {
    /// Waits for the next event. Cancel-safe.
    pub async fn next(&mut self) -> CommandEvent {
        loop {
            if self.is_over {
                // Codex responds after it has sent all output.
                if let Ok(printed) = self.printed.try_recv() {
                    return CommandEvent::Printed(printed);
                }
                let told_before = || Err(CallError::Gone { why: "it has ended".to_owned() });
                return CommandEvent::Ended(self.ended.take().unwrap_or_else(told_before));
            }
            tokio::select! {
                Some(printed) = self.printed.recv() => return CommandEvent::Printed(printed),
                answer = &mut self.answer => {
                    self.is_over = true;
                    self.ended = Some(match answer {
                        Ok(answer) => answer.map(|reply| reply.exit_code),
                        Err(broken) => Err(CallError::Gone { why: broken.to_string() }),
                    });
                }
            }
        }
    }

    /// Ends the command with everything that it started, and waits until it is gone, but not for long.
    pub async fn end(mut self) {
        if self.is_over {
            return;
        }
        for _ in 0..TRIES {
            // One that Codex has not begun yet is not known to it: then it is ended the next time.
            let _ = self.host.call(&CommandTerminate { process_id: self.name.clone() }).await;
            let mark = format!("{MARK}={}", self.name);
            // Without a sandbox, processes that left the process group keep running.
            let survivors = move || descendants::kill_survivors(&descendants::carrying(&mark));
            let _ = tokio::task::spawn_blocking(survivors).await;
            if tokio::time::timeout(ENDING, &mut self.answer).await.is_ok() {
                return;
            }
        }
        tracing::warn!("{} did not end within {:?}", self.name, ENDING * TRIES);
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.host.commands().forget(&self.name);
    }
}
