//! What every scenario needs: a model, a home, a host, a conversation on it, and a turn that the test can follow.
//!
//! A stage is left with `close`, which checks what must hold after every scenario: no process is left, and the user's
//! `config.toml` is as it was. Nothing here sleeps; a wait that times out fails with the events so far.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use talaria_codex::conversation::{CodexConversation, Command, Options, Watcher};
use talaria_codex::host::{Host, HostError, HostSpec};
use talaria_codex::locate::{CodexBinary, CodexOrigin};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::input::InputPart;
use talaria_core::item::{Item, ItemBody};
use talaria_core::outcome::Report;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::request::{Answer, Ask, Who};
use talaria_scripted::ScriptedModel;
use talaria_testkit::app_server::{AppServer, InstalledAppServer};
use talaria_testkit::{Codex, CodexHome, Marker};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub(crate) use talaria_testkit::both_versions;

/// How long anything may take before the test gives up. Far more than needed: it only ends a test that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Makes one test of each scenario and transport; the version decides which one is used.
macro_rules! both_transports {
    ($($scenario:ident),* $(,)?) => {
        mod unix_socket {
            $(#[tokio::test(flavor = "multi_thread")] async fn $scenario() {
                super::$scenario("0.166.0").await;
            })*
        }
        mod stdio {
            $(#[tokio::test(flavor = "multi_thread")] async fn $scenario() {
                super::$scenario("0.126.0").await;
            })*
        }
    };
}
pub(crate) use both_transports;

/// A real Codex with a scripted model.
pub(crate) struct Real {
    pub(crate) model: ScriptedModel,
    pub(crate) home: CodexHome,
    pub(crate) host: Arc<Host>,
    pub(crate) marker: Marker,
    config: Vec<u8>,
}

impl Real {
    pub(crate) async fn start(codex: &Codex) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let home = CodexHome::new(&model);
        let config = fs::read(home.path().join("config.toml")).unwrap();
        let marker = Marker::new();
        let host = Host::start(real_spec(codex, &home, &marker)).await.unwrap();
        Self { model, home, host: Arc::new(host), marker, config }
    }

    /// Starts a conversation without a sandbox, where commands and patches are asked about.
    pub(crate) async fn session(&self) -> CodexConversation {
        self.session_with(self.unconfined(ApprovalPolicy::Untrusted)).await
    }

    pub(crate) fn unconfined(&self, policy: ApprovalPolicy) -> ThreadStart {
        let cwd = self.home.work().to_str().unwrap().to_owned();
        let (sandbox, approval_policy) = (Some(Sandbox::DangerFullAccess), Some(policy));
        ThreadStart { cwd, sandbox, approval_policy, ..ThreadStart::default() }
    }

    pub(crate) async fn session_with(&self, start: ThreadStart) -> CodexConversation {
        self.session_as(start, Options::default()).await
    }

    pub(crate) async fn session_as(&self, start: ThreadStart, options: Options) -> CodexConversation {
        CodexConversation::start(Arc::clone(&self.host), start, options).await.unwrap()
    }

    /// Ends the host and checks what must hold after every scenario.
    pub(crate) async fn close(self) {
        self.host.close().await;
        assert_eq!(self.marker.survivors(), [], "when a host is closed, nothing of it is left");
        let config = fs::read(self.home.path().join("config.toml")).unwrap();
        assert_eq!(String::from_utf8_lossy(&config), String::from_utf8_lossy(&self.config), "config.toml");
        assert_eq!(self.model.unscripted().len(), 0, "the model was asked more than the script foresaw");
        assert_eq!(self.host.unknown_messages().1, 0, "the real Codex sent something corrupt");
    }
}

pub(crate) fn real_spec(codex: &Codex, home: &CodexHome, marker: &Marker) -> HostSpec {
    let binary = binary(&codex.native, codex.version);
    let mut spec = HostSpec::new(&binary, Some(home.path()), home.root().join("hosts"));
    spec.environment = home.environment().into_iter().map(|(name, value)| (name.into(), value)).collect();
    spec.environment.push(marked(marker));
    spec
}

fn binary(path: &Path, version: &str) -> CodexBinary {
    CodexBinary {
        path: path.to_owned(),
        launcher: None,
        path_dir: None,
        origin: CodexOrigin::Configured,
        version: version.parse().unwrap(),
        passed_over: None,
    }
}

pub(crate) fn marked(marker: &Marker) -> (OsString, OsString) {
    let (name, value) = marker.environment();
    (name.into(), value.into())
}

/// A scripted app-server in the place of Codex.
pub(crate) struct Scripted {
    pub(crate) host: Arc<Host>,
    pub(crate) program: InstalledAppServer,
    pub(crate) marker: Marker,
    pub(crate) folder: tempfile::TempDir,
}

impl Scripted {
    pub(crate) async fn start(server: AppServer, version: &str) -> Self {
        Self::try_start(server, version).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn try_start(server: AppServer, version: &str) -> Result<Self, HostError> {
        let folder = tempfile::tempdir_in(talaria_testkit::build_dir::homes()).unwrap();
        let program = server.version(version).install(&folder.path().join("bin"));
        let marker = Marker::new();
        match Host::start(scripted_spec(&program.codex, version, folder.path(), &marker)).await {
            Ok(host) => Ok(Self { host: Arc::new(host), program, marker, folder }),
            Err(error) => {
                marker.wait_gone(Duration::from_secs(5)).await.unwrap();
                Err(error)
            }
        }
    }

    pub(crate) async fn session(&self) -> CodexConversation {
        let start = ThreadStart { cwd: "/w".to_owned(), ..ThreadStart::default() };
        CodexConversation::start(Arc::clone(&self.host), start, Options::default()).await.unwrap()
    }

    pub(crate) async fn close(self) {
        self.host.close().await;
        assert_eq!(self.marker.survivors(), [], "when a host is closed, nothing of it is left");
    }
}

pub(crate) fn scripted_spec(codex: &Path, version: &str, folder: &Path, marker: &Marker) -> HostSpec {
    let mut spec = HostSpec::new(&binary(codex, version), None, folder.join("hosts"));
    spec.environment.push(marked(marker));
    spec
}

/// Passes events on to the test.
struct Forward {
    events: mpsc::UnboundedSender<Event>,
    queued: usize,
}

impl Watcher for Forward {
    fn event(&mut self, event: Event) {
        // A test that has seen enough may have left.
        let _ = self.events.send(event);
    }

    fn queue(&mut self, _input: &[InputPart], _limit: Option<Duration>) -> Option<usize> {
        self.queued += 1;
        Some(self.queued)
    }
}

/// A turn that runs concurrently with the test.
pub(crate) struct Turn {
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    pub(crate) seen: Vec<Event>,
    events: mpsc::UnboundedReceiver<Event>,
    task: JoinHandle<(CodexConversation, Report)>,
}

/// A turn that is over, with the conversation it belonged to.
pub(crate) struct Ended {
    pub(crate) session: CodexConversation,
    pub(crate) report: Report,
    pub(crate) events: Vec<Event>,
}

impl Ended {
    /// Ends the host that the conversation moved to after its own had died.
    pub(crate) async fn leave(&self) {
        self.session.host().get().close().await;
    }
}

/// Starts a turn that says `prompt`.
pub(crate) fn begin(session: CodexConversation, prompt: &str) -> Turn {
    begin_with(session, vec![InputPart::Text { text: prompt.to_owned() }], None, Vec::new())
}

/// Starts a turn that may take this long.
pub(crate) fn begin_within(session: CodexConversation, prompt: &str, limit: Duration) -> Turn {
    begin_with(session, vec![InputPart::Text { text: prompt.to_owned() }], Some(limit), Vec::new())
}

/// Starts a turn for which commands are waiting already.
pub(crate) fn begin_with(
    mut session: CodexConversation,
    input: Vec<InputPart>,
    limit: Option<Duration>,
    waiting: Vec<Command>,
) -> Turn {
    let (commands, mut obeyed) = mpsc::unbounded_channel();
    for command in waiting {
        commands.send(command).unwrap();
    }
    let (sender, events) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        let report =
            session.run_turn(input, limit, &mut obeyed, &mut Forward { events: sender, queued: 0 }).await;
        (session, report)
    });
    Turn { commands, seen: Vec::new(), events, task }
}

impl Turn {
    /// Waits for an event for which `pick` returns a value.
    pub(crate) async fn until<T>(&mut self, pick: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            match tokio::time::timeout(PATIENCE, self.events.recv()).await {
                Ok(Some(event)) => {
                    let picked = pick(&event);
                    self.seen.push(event);
                    if let Some(picked) = picked {
                        return picked;
                    }
                }
                Ok(None) => panic!("the turn ended without it: {:#?}", self.seen),
                Err(_) => panic!("it did not come: {:#?}", self.seen),
            }
        }
    }

    /// Waits until Codex asks something.
    pub(crate) async fn request(&mut self) -> (TicketId, Ask) {
        self.until(|event| match event {
            Event::RequestOpened { id, ask, .. } => Some((id.clone(), Ask::clone(ask))),
            _ => None,
        })
        .await
    }

    /// Waits for a request of Codex and answers it; returns the request.
    pub(crate) async fn answer(&mut self, answer: impl Into<Answer>, by: Who) -> Ask {
        let (ticket, ask) = self.request().await;
        self.command(Command::Answer { ticket, answer: answer.into(), by }).await;
        ask
    }

    pub(crate) async fn command(&self, command: Command) {
        if self.commands.send(command).is_err() {
            panic!("the turn is over already: {:#?}", self.seen);
        }
    }

    /// Drops the turn in the middle.
    pub(crate) async fn abort(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    /// Follows the turn to its end.
    pub(crate) async fn end(mut self) -> Ended {
        let Ok(joined) = tokio::time::timeout(PATIENCE, &mut self.task).await else {
            self.task.abort();
            while let Ok(event) = self.events.try_recv() {
                self.seen.push(event);
            }
            panic!("the turn does not end: {:#?}", self.seen);
        };
        let (session, report) = joined.unwrap();
        while let Some(event) = self.events.recv().await {
            self.seen.push(event);
        }
        let events = self.seen;
        let outcomes = events.iter().filter(|event| matches!(event, Event::Outcome(_))).count();
        assert_eq!(outcomes, 1, "one outcome: {events:#?}");
        assert!(matches!(events.last(), Some(Event::Outcome(_))), "the outcome is last: {events:#?}");
        Ended { session, report, events }
    }
}

impl Ended {
    /// The completed items, in order.
    pub(crate) fn completed(&self) -> Vec<&Item> {
        let mut items = Vec::new();
        for event in &self.events {
            if let Event::ItemCompleted { item } = event {
                items.push(&**item);
            }
        }
        items
    }

    /// The completed commands.
    pub(crate) fn commands(&self) -> Vec<&Item> {
        self.completed().into_iter().filter(|item| matches!(item.body, ItemBody::Command { .. })).collect()
    }

    /// The pieces of text, joined.
    pub(crate) fn streamed_text(&self) -> String {
        let piece = |event: &Event| match event {
            Event::TextDelta { delta, .. } => Some(delta.clone()),
            _ => None,
        };
        self.events.iter().filter_map(piece).collect()
    }

    pub(crate) fn requests(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::RequestOpened { .. })).count()
    }

    pub(crate) fn text(&self) -> &str {
        self.report.text.as_deref().unwrap_or_default()
    }
}

/// A repository with a subdirectory, without running git.
pub(crate) fn repository(at: &Path) -> PathBuf {
    let inside = at.join("some/where");
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(at.join(".git/objects")).unwrap();
    fs::create_dir_all(at.join(".git/refs")).unwrap();
    fs::write(at.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    inside
}

/// Words as input.
pub(crate) fn said(text: &str) -> Vec<InputPart> {
    vec![InputPart::Text { text: text.to_owned() }]
}
