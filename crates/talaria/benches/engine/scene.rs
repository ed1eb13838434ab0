//! A home with an engine, a Codex and a model: started, asked, killed, and ended with everything that it started.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use talaria_core::api::{EngineStatus, Kind, LocalCaller, NewSession, NewTask, NewTurn};
use talaria_core::input::InputPart;
use talaria_core::policy::{Answers, ApprovalPolicy, Sandbox};
use talaria_scripted::ScriptedModel;
use talaria_server::client::Client;
use talaria_server::socket_path;
use talaria_testkit::{AppServer, Codex, CodexHome, EngineGuard, Marker};

use crate::memory::Memory;

const TALARIA: &str = env!("CARGO_BIN_EXE_talaria");
/// The engine sends no notification about its state: polling is the only way. Also the error of every printed time.
const LOOK: Duration = Duration::from_millis(5);
/// After this the bench gives up.
const PATIENCE: Duration = Duration::from_secs(180);

/// How many hosts there may be, and how many conversations each takes.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) hosts: usize,
    pub(crate) threads: usize,
}

pub(crate) struct Scene {
    pub(crate) model: ScriptedModel,
    codex_home: CodexHome,
    marker: Marker,
    guard: EngineGuard,
    environment: Vec<(OsString, OsString)>,
    codex: PathBuf,
    engine: Option<Child>,
    directories: AtomicUsize,
}

impl Scene {
    pub(crate) async fn real(codex: &Codex, layout: Layout) -> Self {
        Self::new(layout, |_| codex.native.clone()).await
    }

    pub(crate) async fn scripted(server: &AppServer, layout: Layout) -> Self {
        let install = |root: &Path| server.install(&root.join("scripted")).codex;
        Self::new(layout, install).await
    }

    async fn new(layout: Layout, codex: impl FnOnce(&Path) -> PathBuf) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let codex_home = CodexHome::new(&model);
        let codex = codex(codex_home.root());
        let home = codex_home.root().join("talaria");
        fs::create_dir(&home).unwrap();
        let Layout { hosts, threads } = layout;
        let tasks = hosts * threads;
        let config = format!(
            "[codex]\nbin = {codex:?}\nmax_hosts = {hosts}\nthreads_per_host = {threads}\n[bridge]\nmax_tasks = {tasks}\n"
        );
        fs::write(home.join("config.toml"), config).unwrap();
        let marker = Marker::new();
        let own = codex_home.environment().into_iter().map(|(name, value)| (name.into(), value));
        let mut environment: Vec<(OsString, OsString)> = own.collect();
        environment.push(("TALARIA_HOME".into(), home.into()));
        // Talaria keeps its own variables from Codex, so the marker has a neutral name.
        environment.push(("SCENE_MARK".into(), marker.environment().1.into()));
        let guard = EngineGuard::new(Path::new(TALARIA), environment.clone(), marker.clone());
        Self {
            model,
            codex_home,
            marker,
            guard,
            environment,
            codex,
            engine: None,
            directories: AtomicUsize::new(0),
        }
    }

    fn home(&self) -> PathBuf {
        self.codex_home.root().join("talaria")
    }

    /// Starts the engine and waits until it answers.
    pub(crate) async fn start(&mut self) -> Client {
        let log = File::create(self.codex_home.root().join("engine.log")).unwrap();
        self.engine = Some(self.command(&["serve"]).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let socket = socket_path(&self.home());
        let answers = async {
            loop {
                match Client::connect(&socket).await {
                    Ok(client) => return client,
                    Err(_) => tokio::time::sleep(LOOK).await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, answers).await.unwrap()
    }

    /// The program, in its own directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(TALARIA);
        command.args(arguments).envs(self.environment.iter().cloned()).current_dir(self.directory());
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Makes a directory to work in.
    pub(crate) fn directory(&self) -> PathBuf {
        let number = self.directories.fetch_add(1, Ordering::Relaxed);
        let directory = self.codex_home.work().join(number.to_string());
        fs::create_dir(&directory).unwrap();
        directory
    }

    /// Kills the engine, as the kernel does when memory runs out.
    pub(crate) fn kill(&mut self) {
        let mut engine = self.engine.take().unwrap();
        engine.kill().unwrap();
        engine.wait().unwrap();
    }

    /// Starts a conversation in its own directory.
    pub(crate) async fn begin(&self, client: &Client) {
        self.begin_as(client, Kind::Chat).await;
    }

    /// Starts a conversation of this kind in its own directory.
    pub(crate) async fn begin_as(&self, client: &Client, kind: Kind) {
        let new = NewSession {
            kind,
            cwd: self.directory().display().to_string(),
            model: None,
            sandbox: Some(Sandbox::ReadOnly),
            approval: Some(ApprovalPolicy::Untrusted),
            turn: self.turn(),
        };
        client.start_session(&new).await.unwrap();
    }

    /// Starts a task in its own directory.
    pub(crate) async fn begin_task(&self, client: &Client) {
        let new = NewTask {
            cwd: self.directory().display().to_string(),
            model: None,
            sandbox: None,
            approval: None,
            writable_roots: Vec::new(),
            network: false,
            worktree: None,
            notify: Vec::new(),
            codex_home: None,
            started_in: None,
            terminal: None,
            turn: self.turn(),
        };
        client.start_task(&new).await.unwrap();
    }

    fn turn(&self) -> NewTurn {
        let text = |text: &OsString| text.to_str().unwrap().to_owned();
        let mut environment: Vec<(String, String)> = std::env::vars().collect();
        environment.extend(self.environment.iter().map(|(name, value)| (text(name), text(value))));
        NewTurn {
            input: vec![InputPart::Text { text: "do it".to_owned() }],
            quiet_after_ms: Some(60_000),
            answers: Some(Answers::Person),
            caller: LocalCaller {
                codex: Some(self.codex.display().to_string()),
                codex_home: None,
                environment,
            },
            ..NewTurn::default()
        }
    }

    /// Waits until the status satisfies `is_reached`.
    pub(crate) async fn wait(
        &self,
        client: &Client,
        is_reached: impl Fn(&EngineStatus) -> bool,
    ) -> EngineStatus {
        let mut last = None;
        let reached = async {
            loop {
                let status = client.status().await.unwrap();
                if is_reached(&status) {
                    return status;
                }
                last = Some(status);
                tokio::time::sleep(LOOK).await;
            }
        };
        match tokio::time::timeout(PATIENCE, reached).await {
            Ok(status) => status,
            Err(_) => panic!("it does not come to that: {last:#?}"),
        }
    }

    /// Starts the Codex of this scene as a process for another client than the engine.
    pub(crate) fn spawn_codex(&self, socket: &Path) -> tokio::process::Child {
        let mut command = tokio::process::Command::new(&self.codex);
        command.args(["app-server", "--listen", &format!("unix://{}", socket.display())]);
        command.envs(self.environment.iter().cloned()).stderr(Stdio::null()).kill_on_drop(true);
        command.spawn().unwrap()
    }

    /// The Codex of this scene.
    pub(crate) fn codex(&self) -> &Path {
        &self.codex
    }

    /// A name for a socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.codex_home.root().join("s")
    }

    /// Memory of the engine.
    pub(crate) fn engine_memory(&self) -> Option<Memory> {
        Memory::of(self.engine.as_ref().map(Child::id))
    }

    /// What everything else takes that was started here: Codex, with all below it.
    pub(crate) fn codex_memory(&self) -> Option<Memory> {
        let engine = self.engine.as_ref().map(Child::id);
        let others = self.marker.survivors().into_iter().map(|process| process.pid);
        Memory::of(others.filter(|process| Some(*process) != engine))
    }

    /// Ends everything.
    pub(crate) async fn close(self) {
        let Self { guard, engine, .. } = self;
        guard.close().await.unwrap();
        if let Some(mut engine) = engine {
            engine.wait().unwrap();
        }
    }
}
