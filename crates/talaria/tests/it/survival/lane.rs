//! One home on which faults are played one after another: the engine as a child of the test, a client, and fault
//! injection. Lanes run concurrently and share nothing.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use talaria_core::api::{Kind, LocalCaller, NewSession, NewTurn};
use talaria_core::input::InputPart;
use talaria_core::policy::{Answers, ApprovalPolicy, Sandbox};
use talaria_scripted::ScriptedModel;
use talaria_server::client::Client;
use talaria_testkit::{CodexHome, FaultPoints, Marker};
use tokio::process::{Child, Command};

/// How long anything may take before it counts as not happening. Far more than needed: machines are busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);
/// What happens in other processes is reported nowhere: looking again is the only way.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// A home, its engine, and everything around it.
pub(crate) struct Lane {
    pub(crate) model: ScriptedModel,
    pub(crate) codex_home: CodexHome,
    pub(crate) points: FaultPoints,
    pub(crate) marker: Marker,
    codex: PathBuf,
    /// The engine that this lane started, if it is the one that runs.
    engine: Option<Child>,
}

impl Lane {
    /// A home that uses the given Codex.
    pub(crate) fn new(model: ScriptedModel, codex_home: CodexHome, codex: &Path) -> Self {
        let points = FaultPoints::listen(&codex_home.root().join("points"));
        let marker = Marker::new();
        let lane = Self { model, codex_home, points, marker, codex: codex.to_owned(), engine: None };
        for directory in [lane.home(), lane.codex_home.root().join("user")] {
            fs::create_dir_all(directory).unwrap();
        }
        let config = format!("[codex]\nbin = {:?}\n", codex.to_str().unwrap());
        fs::write(lane.home().join("config.toml"), config).unwrap();
        lane
    }

    /// Configures a program for `hooks.tool_call` that allows everything.
    pub(crate) fn allow_by_hook(&self) {
        let program = self.codex_home.root().join("allows");
        let script = "#!/bin/sh\ncat > /dev/null\necho '{\"decision\":\"allow\"}'\n";
        talaria_testkit::app_server::write_program(&program, script).unwrap();
        self.configure_more(&format!("[hooks]\ntool_call = {:?}\n", program.to_str().unwrap()));
    }

    /// Allows `talaria_web` to read pages at this port of this machine, without a question.
    pub(crate) fn allow_pages(&self, port: u16) {
        self.configure_more(&format!("[web]\nnetwork = \"always\"\nallow = [\"127.0.0.1:{port}\"]\n"));
    }

    /// Adds to the configuration.
    pub(crate) fn configure_more(&self, more: &str) {
        let config = self.home().join("config.toml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, text + more).unwrap();
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.codex_home.root().join("talaria")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.codex_home.work()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.home().join("talaria.db")
    }

    /// By how many milliseconds the clock of the engine is moved.
    pub(crate) fn set_clock(&self, milliseconds: i64) {
        fs::write(self.codex_home.root().join("clock"), milliseconds.to_string()).unwrap();
    }

    /// The most pages that the database may have; `None` lifts the limit.
    pub(crate) fn limit_pages(&self, pages: Option<u32>) {
        let pages = pages.map(|pages| pages.to_string()).unwrap_or_default();
        fs::write(self.codex_home.root().join("pages"), pages).unwrap();
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let root = self.codex_home.root();
        let own = self.codex_home.environment().into_iter().map(|(name, value)| (name.into(), value));
        let mut variables: Vec<(OsString, OsString)> = own.collect();
        let mut add = |name: &str, value: OsString| variables.push((name.into(), value));
        add("TALARIA_HOME", self.home().into());
        add("HOME", root.join("user").into());
        add("LANE_MARK", self.marker.environment().1.into());
        add("LC_ALL", "C.UTF-8".into());
        variables
    }

    /// The program in this home.
    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let root = self.codex_home.root();
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.work()).envs(self.variables());
        command.env("TALARIA_FAULTS", self.points.socket());
        command.env("TALARIA_CLOCK", root.join("clock")).env("TALARIA_MAX_PAGES", root.join("pages"));
        for name in ["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command of the program to its end; returns its success and output.
    pub(crate) async fn run(&self, program: &Path, arguments: &[&str]) -> (bool, String) {
        let output = self.command(program, arguments).kill_on_drop(true).output().await.unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    /// Runs a command of the program on another home.
    pub(crate) async fn run_at(&self, home: &Path, arguments: &[&str]) -> (bool, String) {
        let mut command = self.command(program(), arguments);
        let output = command.env("TALARIA_HOME", home).kill_on_drop(true).output().await.unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    /// Copies the home, as a backup does that knows nothing of what runs there.
    pub(crate) fn copy_home(&self) -> PathBuf {
        let copy = self.codex_home.root().join("copy");
        let copied = std::process::Command::new("cp").arg("-a").arg(self.home()).arg(&copy).output().unwrap();
        assert!(copy.join("talaria.db").exists(), "{}", String::from_utf8_lossy(&copied.stderr));
        copy
    }

    /// Starts an engine and does not wait for it.
    pub(crate) fn spawn_engine(&mut self) {
        let mut command = self.command(program(), &["serve"]);
        let child = command.stdout(Stdio::null()).stderr(self.log()).kill_on_drop(true).spawn().unwrap();
        self.engine = Some(child);
    }

    fn log(&self) -> File {
        let path = self.codex_home.root().join("engine.log");
        OpenOptions::new().create(true).append(true).open(path).unwrap()
    }

    /// The end of what the engines of this home said.
    pub(crate) fn last_words(&self) -> String {
        let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        let text = read(self.codex_home.root().join("engine.log"));
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }

    /// Starts an engine, and waits until it answers.
    pub(crate) async fn start_engine(&mut self) -> Result<(), String> {
        self.spawn_engine();
        let Some(child) = &mut self.engine else { return Err("there is no engine".to_owned()) };
        let socket = self.codex_home.root().join("talaria/run/engine.sock");
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return Err(format!("the engine ended ({status})"));
            }
            if Client::connect(&socket).await.is_ok_and(|client| Some(client.engine().pid) == child.id()) {
                return Ok(());
            }
            if tokio::time::Instant::now() > end {
                return Err("the engine does not answer".to_owned());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A client of whatever engine runs.
    pub(crate) async fn client(&self) -> Option<Client> {
        Client::connect(&self.home().join("run/engine.sock")).await.ok()
    }

    /// Kills the engine, and waits until it is gone.
    pub(crate) async fn kill_engine(&mut self) {
        if let Some(mut child) = self.engine.take() {
            // It may have ended by itself.
            let _ = child.kill().await;
        }
    }

    /// Asks the engine to end, and waits until it is gone.
    pub(crate) async fn end_engine(&mut self) {
        self.end_engine_with(Signal::TERM).await;
    }

    /// Sends a signal to the engine, and waits until it is gone.
    pub(crate) async fn end_engine_with(&mut self, how: Signal) {
        if let Some(mut child) = self.engine.take() {
            if let Some(pid) = child.id() {
                signal(pid.try_into().unwrap(), how);
            }
            if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
                let _ = child.kill().await;
            }
        }
    }

    /// The processes of Codex that the engine knows.
    pub(crate) async fn codex_pids(&self) -> Vec<i32> {
        let Some(client) = self.client().await else { return Vec::new() };
        let status = client.status().await;
        status.map(|status| status.hosts.iter().map(|host| host.pid).collect()).unwrap_or_default()
    }

    /// A turn for the engine.
    pub(crate) fn turn(&self, prompt: &str) -> NewTurn {
        let text = |value: OsString| value.into_string().unwrap();
        let mut environment: Vec<(String, String)> = std::env::vars().collect();
        for (name, value) in self.variables() {
            let name = text(name);
            environment.retain(|(existing, _)| *existing != name);
            environment.push((name, text(value)));
        }
        NewTurn {
            input: vec![InputPart::Text { text: prompt.to_owned() }],
            answers: Some(Answers::Person),
            caller: LocalCaller {
                codex: Some(self.codex.to_str().unwrap().to_owned()),
                codex_home: Some(self.codex_home.path().to_str().unwrap().to_owned()),
                environment,
            },
            ..NewTurn::default()
        }
    }

    /// A session for the engine, in which commands are asked about.
    pub(crate) fn session(&self, prompt: &str) -> NewSession {
        NewSession {
            kind: Kind::Exec,
            cwd: self.work().to_str().unwrap().to_owned(),
            model: None,
            sandbox: Some(Sandbox::DangerFullAccess),
            approval: Some(ApprovalPolicy::Untrusted),
            turn: self.turn(prompt),
        }
    }
}

impl Drop for Lane {
    /// A failed test leaves no process; a passed one has checked that.
    fn drop(&mut self) {
        for process in self.marker.survivors() {
            signal(i32::try_from(process.pid).unwrap_or_default(), Signal::KILL);
        }
    }
}

/// The program as it was built for tests.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_talaria"))
}

/// Sends a signal to a process that this test started; one that is gone already is gone.
pub(crate) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Does a process that this test started live?
pub(crate) fn is_alive(pid: i32) -> bool {
    // A process that was waited for is over.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_over = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok()) && !is_over
}
