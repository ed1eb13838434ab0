//! What every scenario needs: a home for Talaria, one for Codex, a model, and the program itself, piped or in a terminal.
//!
//! A scene is left with `close`, which stops its engine and checks the invariants of every scenario: no process is left, no
//! host has a directory any more, and the model was asked nothing unforeseen. Nothing here reaches beyond loopback: any
//! attempt would meet a proxy that does not exist.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use talaria_scripted::ScriptedModel;
use talaria_testkit::app_server::InstalledAppServer;
use talaria_testkit::{AppServer, Codex, CodexHome, EngineGuard, Marker, Terminal, terminal, until};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use crate::survival::lane::is_alive;

pub(crate) use talaria_testkit::both_versions;

/// How long anything may take before the test gives up. Far more than needed: it only ends a test that hangs.
const PATIENCE: Duration = Duration::from_secs(240);

/// A way to nowhere: a port on loopback where nothing listens.
const NO_WAY_OUT: &str = "http://127.0.0.1:9";

/// Everything around one run, or several, of the program.
pub(crate) struct Scene {
    pub(crate) model: ScriptedModel,
    pub(crate) codex_home: CodexHome,
    environment: Vec<(OsString, OsString)>,
    marker: Marker,
    /// `None` once the scene was left.
    engine: Option<EngineGuard>,
}

impl Scene {
    /// A scene without any Codex.
    pub(crate) async fn empty() -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let codex_home = CodexHome::new(&model);
        Self::around(model, codex_home)
    }

    /// A real Codex whose model is the scripted one.
    pub(crate) async fn real(codex: &Codex) -> Self {
        let scene = Self::empty().await;
        scene.use_codex(&codex.native);
        scene
    }

    /// A real Codex that would need a login, and has none.
    pub(crate) async fn without_login(codex: &Codex) -> Self {
        let config = "model = \"gpt-5.5\"\ncheck_for_update_on_startup = false\n\n\
                      [analytics]\nenabled = false\n\n[features]\nplugins = false\n";
        let scene = Self::around(ScriptedModel::start().await.unwrap(), CodexHome::with_config(config));
        scene.use_codex(&codex.native);
        scene
    }

    /// A scripted app-server in the place of Codex.
    pub(crate) async fn scripted(server: AppServer) -> (Self, InstalledAppServer) {
        let scene = Self::empty().await;
        let installed = server.install(&scene.codex_home.root().join("scripted"));
        scene.use_codex(&installed.codex);
        (scene, installed)
    }

    fn around(model: ScriptedModel, codex_home: CodexHome) -> Self {
        let (environment, marker) = (Vec::new(), Marker::new());
        let mut scene = Self { model, codex_home, environment, marker, engine: None };
        for directory in [scene.home(), scene.user_home()] {
            fs::create_dir_all(directory).unwrap();
        }
        // As the program makes it.
        fs::set_permissions(scene.home(), fs::Permissions::from_mode(0o700)).unwrap();
        // Later settings of a test are for its commands; the home stays the same.
        let program = Path::new(env!("CARGO_BIN_EXE_talaria"));
        scene.engine = Some(EngineGuard::new(program, scene.variables(), scene.marker.clone()));
        scene
    }

    /// Adds a variable to the environment of the program, in the place of another of that name.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.environment.push((name.into(), value.into()));
    }

    /// What `TALARIA_HOME` names.
    pub(crate) fn home(&self) -> PathBuf {
        self.codex_home.root().join("talaria")
    }

    /// What `HOME` names; empty at the beginning.
    pub(crate) fn user_home(&self) -> PathBuf {
        self.codex_home.root().join("user")
    }

    /// The directory that the program is started in.
    pub(crate) fn work(&self) -> PathBuf {
        self.codex_home.work()
    }

    /// Writes Talaria's configuration.
    pub(crate) fn configure(&self, toml: &str) {
        fs::write(self.home().join("config.toml"), toml).unwrap();
    }

    /// Names the Codex to be used.
    pub(crate) fn use_codex(&self, path: &Path) {
        self.configure(&format!("[codex]\nbin = {:?}\n", path.to_str().unwrap()));
    }

    /// Makes a directory with programs that are shell scripts, and nothing else, the whole PATH.
    pub(crate) fn only_programs(&mut self, scripts: &[(&str, &str)]) {
        let directory = self.codex_home.root().join("programs");
        fs::create_dir(&directory).unwrap();
        for (name, script) in scripts {
            write_program(&directory.join(name), script);
        }
        self.set("PATH", directory);
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let own = self.codex_home.environment().into_iter().map(|(name, value)| (name.into(), value));
        let mut variables: Vec<(OsString, OsString)> = own.collect();
        let mut add = |name: &str, value: OsString| variables.push((name.into(), value));
        add("TALARIA_HOME", self.home().into());
        add("HOME", self.user_home().into());
        // Talaria keeps its own variables from Codex, so the mark has a name that nothing else uses.
        add("SCENE_MARK", self.marker.environment().1.into());
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            add(name, NO_WAY_OUT.into());
        }
        add("LC_ALL", "C.UTF-8".into());
        add("COLUMNS", "100".into());
        variables.extend(self.environment.iter().cloned());
        variables
    }

    /// The program, to be started with pipes.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_talaria"));
        command.args(arguments);
        self.piped(command)
    }

    /// The program, to be started with pipes and to be stopped with SIGINT, which a test run in the background ignores.
    pub(crate) fn interruptible(&self, arguments: &[&str]) -> Running {
        if !cfg!(target_os = "linux") {
            return self.start(arguments);
        }
        let mut command = Command::new("/usr/bin/env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_talaria")]).args(arguments);
        Running::from(self.piped(command).spawn().unwrap())
    }

    pub(crate) fn piped(&self, mut command: Command) -> Command {
        command.current_dir(self.work()).envs(self.variables());
        for name in SECRETS {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Starts the program with pipes.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::from(self.command(arguments).spawn().unwrap())
    }

    /// Runs the program to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).end().await
    }

    /// Runs the program with something on its standard input.
    pub(crate) async fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let running = Running::from(child);
        // A program that reads no further than it must closes the pipe.
        let feed = async move {
            let _ = stdin.write_all(input).await;
        };
        tokio::join!(feed, running.end()).1
    }

    /// Starts the program in a terminal, without colours.
    pub(crate) fn terminal(&self, arguments: &[&str]) -> Terminal {
        Terminal::spawn_sized(self.terminal_command(arguments), 50, 110)
    }

    /// Starts the program in a terminal that shows colours.
    pub(crate) fn colour_terminal(&self, arguments: &[&str]) -> Terminal {
        Terminal::spawn_sized(self.terminal_command(arguments).env_remove("NO_COLOR"), 50, 110)
    }

    /// Starts the program in a terminal that shows colours, with one variable that the terminal does not have.
    pub(crate) fn terminal_with(&self, variable: &str, arguments: &[&str]) -> Terminal {
        let command = terminal::Command::new("/usr/bin/env").args([variable, env!("CARGO_BIN_EXE_talaria")]);
        Terminal::spawn_sized(self.in_scene(command.args(arguments)).env_remove("NO_COLOR"), 50, 110)
    }

    /// Starts the program in a terminal, and when it has ended a shell command in the same terminal.
    pub(crate) fn terminal_then(&self, arguments: &[&str], script: &str) -> Terminal {
        let script = format!("trap '' INT; (trap - INT; exec \"$0\" \"$@\"); {script}");
        let command = terminal::Command::new("/bin/sh").args(["-c", &script, env!("CARGO_BIN_EXE_talaria")]);
        Terminal::spawn_sized(self.in_scene(command.args(arguments)), 50, 110)
    }

    /// The program, to be started in a terminal.
    pub(crate) fn terminal_command(&self, arguments: &[&str]) -> terminal::Command {
        self.in_scene(terminal::Command::new(env!("CARGO_BIN_EXE_talaria")).args(arguments))
    }

    /// A script for a shell with job control; `$TALARIA` is the program.
    pub(crate) fn shell_command(&self, script: &str) -> terminal::Command {
        let command = self.in_scene(terminal::Command::new("sh").args(["-mc", script]));
        command.env("TALARIA", env!("CARGO_BIN_EXE_talaria"))
    }

    fn in_scene(&self, command: terminal::Command) -> terminal::Command {
        let command = command.current_dir(self.work()).envs(self.variables());
        SECRETS.iter().fold(command, terminal::Command::env_remove)
    }

    /// What `talaria status --json` says.
    pub(crate) async fn status(&self) -> Value {
        let ended = self.run(&["status", "--json"]).await.exits(0);
        let [status] = &ended.json()[..] else { panic!("not one line: {ended}") };
        status.clone()
    }

    /// The pid of the engine of this home, if one runs.
    pub(crate) async fn engine_pid(&self) -> Option<Pid> {
        self.status().await["engine"]["pid"]
            .as_i64()
            .and_then(|pid| Pid::from_raw(i32::try_from(pid).unwrap()))
    }

    /// Kills the engine, and waits until it is gone.
    pub(crate) async fn kill_engine(&self) {
        let pid = self.engine_pid().await.unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        until("the engine is gone", || !is_alive(pid.as_raw_nonzero().get())).await;
    }

    /// Closes a scene whose Codex ignores interrupts: an engine would wait for its turn as long as it may.
    pub(crate) async fn close_deaf(self) {
        self.kill_engine().await;
        self.close().await;
    }

    /// The pid of the one Codex that runs for this home.
    pub(crate) async fn codex_pid(&self) -> Pid {
        let status = self.status().await;
        let hosts = status["hosts"].as_array().unwrap();
        let [host] = &hosts[..] else { panic!("not one host: {hosts:?}") };
        Pid::from_raw(i32::try_from(host["pid"].as_i64().unwrap()).unwrap()).unwrap()
    }

    /// Waits until the status satisfies `is_reached`: the engine reports its state nowhere else. Lists that are unknown
    /// without an engine are empty here.
    pub(crate) async fn wait_status(&self, is_reached: impl Fn(&Value) -> bool) -> Value {
        let reached = async {
            loop {
                let mut status = self.status().await;
                if status["engine"].is_null() {
                    for list in ["hosts", "turns", "background", "requests"] {
                        status[list] = Value::Array(Vec::new());
                    }
                }
                if is_reached(&status) {
                    return status;
                }
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.unwrap()
    }

    /// Stops the engine and checks the invariants of every scenario.
    pub(crate) async fn close(mut self) {
        if let Err(survivors) = self.engine.take().unwrap().close().await {
            panic!("processes are left: {survivors:?}");
        }
        assert_eq!(names(&self.home().join("hosts")), [""; 0], "directories of hosts are left");
        assert_eq!(self.model.unscripted().len(), 0, "the model was asked more than the script foresaw");
    }
}

/// Variables that would log Codex in.
const SECRETS: [&str; 3] = ["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"];

/// The names in a directory, sorted; none if it does not exist.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Writes a shell script that can be run.
pub(crate) fn write_program(path: &Path, script: &str) {
    talaria_testkit::app_server::write_program(path, &format!("#!/bin/sh\n{script}\n")).unwrap();
}

/// The program while it runs with pipes.
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    seen: String,
    stderr: BufReader<ChildStderr>,
    account: String,
}

impl From<Child> for Running {
    fn from(mut child: Child) -> Self {
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stdout, seen: String::new(), stderr, account: String::new() }
    }
}

impl Running {
    /// Its pid.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap()
    }

    /// Reads lines of standard output until one contains `text`.
    pub(crate) async fn wait_for(&mut self, text: &str) {
        read_until(&mut self.stdout, &mut self.seen, text).await;
    }

    /// Reads lines of standard error, the account of a turn whose answer goes into a pipe, until one contains `text`.
    pub(crate) async fn wait_for_account(&mut self, text: &str) {
        read_until(&mut self.stderr, &mut self.account, text).await;
    }

    /// Kills the program, as the kernel does when memory runs out.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Closes the pipe that the program writes to, now; the future waits for its end.
    pub(crate) fn hang_up(self) -> impl Future<Output = Ended> {
        let Self { child, stdout, seen, stderr, account } = self;
        drop(stdout);
        Self::collect(child, async move { seen }, stderr, account)
    }

    /// Waits until the program is blocked because its output is not read, according to the kernel.
    #[cfg(target_os = "linux")]
    pub(crate) async fn wait_held_up(&self) {
        let waits_for = format!("/proc/{}/wchan", self.child.id().unwrap());
        let is_held_up = || fs::read_to_string(&waits_for).unwrap().contains("pipe_write");
        until("it waits for a reader", is_held_up).await;
    }

    /// Waits for the end of the program without reading its output: the pipe stays open and full.
    #[cfg(target_os = "linux")]
    pub(crate) async fn end_unread(self) -> Ended {
        let Self { child, stdout, seen, stderr, account } = self;
        let ended = Self::collect(child, async move { seen }, stderr, account).await;
        drop(stdout);
        ended
    }

    /// Waits for the end of the program.
    pub(crate) async fn end(self) -> Ended {
        let Self { child, mut stdout, mut seen, stderr, account } = self;
        let read = async move {
            stdout.read_to_string(&mut seen).await.unwrap();
            seen
        };
        Self::collect(child, read, stderr, account).await
    }

    async fn collect(
        mut child: Child,
        stdout: impl Future<Output = String>,
        mut pipe: BufReader<ChildStderr>,
        mut account: String,
    ) -> Ended {
        let stderr = async {
            pipe.read_to_string(&mut account).await.unwrap();
            account
        };
        let all = async { tokio::join!(stdout, stderr, child.wait()) };
        match tokio::time::timeout(PATIENCE, all).await {
            Ok((stdout, stderr, status)) => Ended { code: status.unwrap().code(), stdout, stderr },
            Err(_) => panic!("the program does not end"),
        }
    }
}

/// Reads lines into `seen` until one contains `text`.
async fn read_until(pipe: &mut (impl AsyncBufRead + Unpin), seen: &mut String, text: &str) {
    let search = async {
        loop {
            let mut line = String::new();
            let read = pipe.read_line(&mut line).await.unwrap();
            seen.push_str(&line);
            if read == 0 || line.contains(text) {
                return read > 0;
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, search).await;
    assert_eq!(found, Ok(true), "{text:?} did not come: {seen}");
}

/// A run of the program that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Checks the exit code, and that nothing panicked.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        assert!(!self.stderr.contains("panicked"), "{self}");
        self
    }

    /// Checks that standard output contains each of the texts.
    #[track_caller]
    pub(crate) fn prints(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stdout.contains(text), "stdout lacks {text:?}\n{self}");
        }
        self
    }

    /// Checks that standard error contains each of the texts.
    #[track_caller]
    pub(crate) fn complains(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "stderr lacks {text:?}\n{self}");
        }
        self
    }

    /// Reads standard output as JSON lines; anything else on it fails the test.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}\n{self}"))
        };
        assert!(self.stdout.is_empty() || self.stdout.ends_with('\n'), "an unfinished line\n{self}");
        self.stdout.lines().map(parse).collect()
    }

    /// Reads standard output as the events of one session, and checks the invariants of every line.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let events = self.json();
        let first = events[0]["seq"].as_u64().unwrap();
        for (index, event) in (0..).zip(&events) {
            assert!(event["type"].is_string(), "{event}");
            // The last line of a command that left is not an event of the engine, and has no number.
            let is_left = event["seq"].is_null() && event["outcome"] == "lost";
            assert!(is_left || event["seq"] == first + index, "{event}");
            assert_eq!(event["session"], events[0]["session"], "{event}");
            assert_eq!(
                event["type"] == "outcome",
                index + 1 == events.len() as u64,
                "the outcome is the last line: {self}"
            );
        }
        assert!(events[0]["session"].as_str().is_some_and(|id| !id.is_empty()), "{self}");
        assert_eq!(events.last().unwrap()["exit"].as_i64(), self.code.map(i64::from), "{self}");
        events
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr } = self;
        write!(f, "exit {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// The events of one type.
pub(crate) fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The one event of a type.
#[track_caller]
pub(crate) fn only<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = of_type(events, kind);
    let [event] = found[..] else { panic!("not one {kind}: {events:#?}") };
    event
}
