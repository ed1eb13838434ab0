//! Runs a command line of the person's own, with what a command of the conversation may do and no more.
//!
//! It runs on the host that has the conversation, or would have it. The hard floor and deny rules apply, because a typing
//! mistake does as much harm as a model. Nothing is recorded: it is no part of the conversation. The command ends when no
//! client reads its output any more, and when the engine ends. Called by the server for `POST /v1/shell`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use talaria_codex_proto::confine::Confined;
use talaria_codex_proto::power::SandboxInForce;
use talaria_codex_proto::wire::call::{ConfigRead, EffectiveConfig};
use talaria_codex_proto::wire::notification::PrintedStream;
use talaria_core::api::{Problem, ProblemCode, Shell, ShellNews, ShellStream};
use talaria_core::event::Started;
use talaria_core::policy::Sandbox;
use talaria_guard::place::Place;
use talaria_guard::printed::Printed;
use talaria_guard::redact::redact;
use talaria_guard::rules::{Ground, RuleSubject, Verdict};
use talaria_guard::shell::CommandText;
use tokio::sync::{mpsc, watch};

use crate::engine::Engine;
use crate::engine::Inner;
use crate::engine::access::caller::Needs;
use crate::engine::lifecycle::imports;
use crate::engine::run::settings::Wanted;
use talaria_codex::client::CallError;
use talaria_codex::commands::{CommandEvent, CommandRefused, CommandSpec, Execution};
use talaria_codex::host::Host;
use talaria_codex::trust;

/// Capacity of the output channel. Further output waits on the host, where it is bounded, too.
const WAITING: usize = 32;
/// How often another host is asked for when the one that was given is about to be ended.
const TRIES: u32 = 3;
/// The exit code that Codex reports for a command that it ended at its limit. Not a code of the command.
const CODE_OF_LIMIT: i32 = 124;

/// A command that runs. Dropping this ends it, with everything that it started.
#[derive(Debug)]
pub struct ShellExecution(mpsc::Receiver<ShellNews>);

impl ShellExecution {
    /// What happens next; `None` after its end, or if the engine ended.
    pub async fn next(&mut self) -> Option<ShellNews> {
        self.0.recv().await
    }
}

/// Where a command runs, and of which conversation it is.
struct Whereabouts {
    cwd: String,
    session: Option<talaria_store::SessionRow>,
}

/// A command that was handed to Codex.
struct Begun {
    execution: Execution,
    /// Note about its sandbox.
    note: Option<String>,
    at: Instant,
}

impl Engine {
    /// Runs a command line.
    pub async fn shell(&self, shell: Shell) -> Result<ShellExecution, Problem> {
        let caller = self.inner.enter()?;
        self.require(Needs::Shell, "shell", "run a command outside of a turn").await?;
        if shell.command.trim().is_empty() {
            return Err(Problem::new(ProblemCode::BadRequest, "the command line is empty"));
        }
        self.check_local(&shell.caller)?;
        let session = match &shell.session {
            Some(id) => Some(self.find(id).await?),
            None => None,
        };
        self.check_shell(&shell, session.as_ref()).await?;
        if let Some(session) = &session {
            imports::only_to_be_read(session)?;
        }
        let cwd = session.as_ref().map_or(&shell.cwd, |session| &session.cwd).clone();
        if !Path::new(&cwd).is_absolute() || !Path::new(&cwd).is_dir() {
            let message = format!("{cwd:?} is not the absolute path of a directory");
            return Err(Problem::new(ProblemCode::BadRequest, message));
        }
        self.inner.permit(&shell.command, &cwd)?;
        let whereabouts = Whereabouts { cwd, session };
        let limit = shell.limit_ms.map(Duration::from_millis);
        let Begun { execution, note, at: began } = self.inner.execute(&shell, &whereabouts, limit).await?;
        self.record_shell(&shell).await;
        let (sender, receiver) = mpsc::channel(WAITING);
        let telling = Telling { news: sender, ended: self.inner.ended.subscribe(), note, limit, began };
        self.inner.tasks.spawn(async move {
            telling.tell(execution).await;
            drop(caller);
        });
        Ok(ShellExecution(receiver))
    }
}

impl Inner {
    /// Refuses what the hard floor or a rule of the user's forbids.
    fn permit(&self, command: &str, cwd: &str) -> Result<(), Problem> {
        let home = std::env::var("HOME").ok();
        let talaria = self.home.root().to_str();
        let ground = Ground { cwd: Some(cwd), home: home.as_deref(), talaria };
        // A person who types a line that is not understood here has decided already.
        let line = CommandText::new(command);
        match self.rules().judge(&RuleSubject::Command { line: &line, ground }, Place::Inside) {
            Verdict::Forbidden { by, why } => {
                let message = redact(&format!("this is not run: {by}: {why}")).into_owned();
                Err(Problem::new(ProblemCode::Forbidden, message)
                    .try_this("run it in a terminal of your own if you mean it"))
            }
            Verdict::Allowed { .. } | Verdict::Ask { .. } => Ok(()),
        }
    }

    async fn execute(
        &self,
        shell: &Shell,
        whereabouts: &Whereabouts,
        limit: Option<Duration>,
    ) -> Result<Begun, Problem> {
        let named =
            whereabouts.session.as_ref().and_then(|session| self.hosts.named(session.host.as_deref()?));
        let mut known = named.filter(|host| host.draining().is_none());
        for _ in 0..TRIES {
            let host = match known.take() {
                Some(host) => host,
                None => self.host_of(shell).await?,
            };
            let confined = self.confined(&host, shell.sandbox, whereabouts).await?;
            let line = CommandSpec {
                command: vec![interpreter().to_owned(), "-c".to_owned(), shell.command.clone()],
                cwd: whereabouts.cwd.clone(),
                policy: confined.policy,
                hide_home: self.hide_home(),
                limit,
            };
            // Measured before Codex receives the command: one that Codex ends at the time limit has then taken
            // at least that long here.
            let at = Instant::now();
            match host.execute(line) {
                Ok(execution) => return Ok(Begun { execution, note: confined.note, at }),
                Err(CommandRefused::Retired) => {}
                Err(CommandRefused::TooMany) => {
                    let problem = Problem::new(ProblemCode::Overloaded, CommandRefused::TooMany.to_string());
                    return Err(problem.try_this("wait until one has ended"));
                }
            }
        }
        Err(Problem::new(ProblemCode::Codex, "Codex is being replaced").try_this("try again in a moment"))
    }

    /// The host that would run a conversation of this caller's.
    async fn host_of(&self, shell: &Shell) -> Result<Arc<Host>, Problem> {
        let spec = self.host_spec(&self.codex_of(&shell.caller).await?)?;
        let host = self.hosts.get(&spec).await.map_err(|error| {
            Problem::new(ProblemCode::Codex, format!("cannot start Codex: {error}")).next(error.next_step())
        })?;
        // The reserved slot is released without a conversation.
        drop(host.thread_slots().begin_opening());
        Ok(host)
    }

    /// Settings in force in the conversation, or in a new one there.
    async fn confined(
        &self,
        host: &Host,
        sandbox: Option<Sandbox>,
        whereabouts: &Whereabouts,
    ) -> Result<Confined, Problem> {
        let (cwd, started, wanted) = (&whereabouts.cwd, whereabouts.started(), whereabouts.wanted());
        if let Some(sandbox) = started.as_ref().and_then(|started| host.confinement(&started.thread)) {
            return Ok(Confined::in_force(&sandbox, cwd));
        }
        let asked = match started.map(|started| started.sandbox) {
            Some(word) => match word.parse() {
                Ok(sandbox) => Some(sandbox),
                Err(_) => return Ok(Confined::in_force(&SandboxInForce::Unknown(word), cwd)),
            },
            None if whereabouts.session.is_some() => wanted.as_ref().and_then(Wanted::sandbox),
            None => sandbox,
        };
        let mut config = match host.call(&ConfigRead { cwd: cwd.clone(), include_layers: false }).await {
            Ok(reply) => reply.config,
            Err(CallError::Refused { .. }) => EffectiveConfig::default(),
            Err(error) => {
                let message = format!("cannot ask Codex for its sandbox: {error}");
                return Err(Problem::new(ProblemCode::Codex, message));
            }
        };
        if let Some(wanted) = &wanted {
            wanted.override_workspace(config.sandbox_workspace_write.get_or_insert_default());
        }
        Ok(Confined::asked(asked, &config, trust::of(&config, cwd), cwd))
    }
}

impl Whereabouts {
    /// Codex's response when the conversation was last opened.
    fn started(&self) -> Option<Started> {
        serde_json::from_str(self.session.as_ref()?.started.as_deref()?).ok()
    }

    /// Options requested for it.
    fn wanted(&self) -> Option<Wanted> {
        serde_json::from_str(self.session.as_ref()?.asked.as_deref()?).ok()
    }
}

/// The shell that understands what people type; not every system has bash there.
fn interpreter() -> &'static str {
    ["/bin/bash", "/bin/sh"].into_iter().find(|path| Path::new(path).exists()).unwrap_or("/bin/sh")
}

/// Sends what a command prints to the client that started it.
struct Telling {
    news: mpsc::Sender<ShellNews>,
    ended: watch::Receiver<bool>,
    note: Option<String>,
    limit: Option<Duration>,
    began: Instant,
}

/// The client no longer reads.
struct Gone;

impl Telling {
    /// Sends until the command has ended; ends it if the client does not read, or if the engine ends.
    async fn tell(mut self, mut execution: Execution) {
        let mut streams =
            [ShellStream::Stdout, ShellStream::Stderr].map(|stream| (stream, Printed::default()));
        let mut cut = false;
        loop {
            let news = self.news.clone();
            let happened = tokio::select! {
                happened = execution.next() => Some(happened),
                () = news.closed() => None,
                _ = self.ended.wait_for(|ended| *ended) => None,
            };
            let Some(happened) = happened else { return execution.end().await };
            let told = match happened {
                CommandEvent::Printed(printed) => {
                    let at = usize::from(printed.stream == PrintedStream::Stderr);
                    let (stream, text) = &mut streams[at];
                    let mut told = self.output(*stream, text.push(&printed.bytes)).await;
                    if printed.cap_reached && told.is_ok() {
                        cut = true;
                        told = self.output(*stream, text.finish()).await;
                        if told.is_ok() {
                            told = self.give(ShellNews::Cut { stream: *stream }).await;
                        }
                    }
                    told
                }
                CommandEvent::Ended(result) => {
                    for (stream, text) in &mut streams {
                        if self.output(*stream, text.finish()).await.is_err() {
                            return;
                        }
                    }
                    let note = self.note.take();
                    let ended =
                        ended(result, cut, Timing { limit: self.limit, took: self.began.elapsed() }, note);
                    // It is over, whether the client reads that or not.
                    let _ = self.give(ended).await;
                    return;
                }
            };
            if told.is_err() {
                return execution.end().await;
            }
        }
    }

    async fn output(&mut self, stream: ShellStream, text: String) -> Result<(), Gone> {
        if text.is_empty() { Ok(()) } else { self.give(ShellNews::Output { stream, text }).await }
    }

    /// A reader that is slow is waited for, but not by an engine that ends.
    async fn give(&mut self, news: ShellNews) -> Result<(), Gone> {
        tokio::select! {
            sent = self.news.send(news) => sent.map_err(|_| Gone),
            _ = self.ended.wait_for(|ended| *ended) => Err(Gone),
        }
    }
}

/// How long a command ran, and for how long it could.
#[derive(Clone, Copy)]
struct Timing {
    limit: Option<Duration>,
    took: Duration,
}

/// How a command ended. That it was ended at its limit is said where Codex reports it, not where it merely took as long.
fn ended(result: Result<i32, CallError>, cut: bool, timing: Timing, note: Option<String>) -> ShellNews {
    let Timing { limit, took } = timing;
    let (exit, why) = match (result, limit.filter(|limit| took >= *limit)) {
        (Ok(code), Some(limit)) if code == CODE_OF_LIMIT || code < 0 => {
            (None, Some(format!("it was ended after its limit of {} ms", limit.as_millis())))
        }
        // What 0.130 says of a command that was killed.
        (Ok(code), _) if code < 0 => (None, Some("it was killed".to_owned())),
        (Ok(code), _) => (Some(code), None),
        (Err(CallError::Refused { error, .. }), _) => {
            (None, Some(format!("Codex did not run it: {}", error.message)))
        }
        (Err(error), _) => (None, Some(format!("how it ended is not known: {error}"))),
    };
    let notes: Vec<String> = [note, why].into_iter().flatten().collect();
    let note = (!notes.is_empty()).then(|| redact(&notes.join("; ")).into_owned());
    ShellNews::Ended { exit, cut, took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX), note }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_codex_ended_at_the_limit_is_said_to_be_ended_by_it() {
        let told = |code: i32, took: u64| {
            let timing =
                Timing { limit: Some(Duration::from_millis(300)), took: Duration::from_millis(took) };
            match ended(Ok(code), false, timing, None) {
                ShellNews::Ended { exit, note, .. } => (exit, note),
                other => panic!("{other:?}"),
            }
        };
        let by_limit = Some("it was ended after its limit of 300 ms".to_owned());
        assert_eq!(told(124, 300), (None, by_limit.clone()));
        assert_eq!(told(-1, 301), (None, by_limit));
        assert_eq!(told(0, 301), (Some(0), None), "it ended by itself just then");
        assert_eq!(told(124, 299), (Some(124), None), "its own code");
        assert_eq!(told(-1, 20), (None, Some("it was killed".to_owned())));
    }
}
