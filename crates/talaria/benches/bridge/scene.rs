//! A home with an engine and the Codex of this bench: started, asked, and ended with everything that it started.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use talaria_core::api::{LocalCaller, NewTask, NewTurn, TaskLine, TaskQuery};
use talaria_core::input::InputPart;
use talaria_core::policy::Answers;
use talaria_server::client::Client;
use talaria_server::socket_path;
use talaria_testkit::app_server::write_program;
use talaria_testkit::{CodexHome, EngineGuard, Marker};

use crate::arrivals::Arrivals;
use crate::codex;

const TALARIA: &str = env!("CARGO_BIN_EXE_talaria");
/// The engine sends no notification about its state: polling is the only way. No figure contains it.
const LOOK: Duration = Duration::from_millis(2);
/// After this the bench gives up.
const PATIENCE: Duration = Duration::from_secs(180);
/// How many tasks may run at once, all on one Codex.
const TASKS: usize = 1000;

pub(crate) struct Scene {
    codex_home: CodexHome,
    guard: EngineGuard,
    environment: Vec<(OsString, OsString)>,
    codex: PathBuf,
    engine: Option<Child>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let codex_home = CodexHome::with_config("");
        let root = codex_home.root();
        let (codex, home) = (root.join("codex"), root.join("talaria"));
        let script = "#!/bin/sh\nexport {name}={log}\nexec {program} \"$@\"\n"
            .replace("{name}", codex::LOG)
            .replace("{log}", &quoted(&root.join("arrivals")))
            .replace("{program}", &quoted(&std::env::current_exe().unwrap()));
        write_program(&codex, &script).unwrap();
        fs::create_dir(&home).unwrap();
        let config = format!(
            "[codex]\nbin = {codex:?}\nmax_hosts = 1\nthreads_per_host = {TASKS}\n[bridge]\nmax_tasks = {TASKS}\n"
        );
        fs::write(home.join("config.toml"), config).unwrap();
        let marker = Marker::new();
        let own = codex_home.environment().into_iter().map(|(name, value)| (name.into(), value));
        let mut environment: Vec<(OsString, OsString)> = own.collect();
        environment.push(("TALARIA_HOME".into(), home.into()));
        // Talaria keeps its own variables from Codex, so the marker has a neutral name.
        environment.push(("SCENE_MARK".into(), marker.environment().1.into()));
        let guard = EngineGuard::new(Path::new(TALARIA), environment.clone(), marker);
        Self { codex_home, guard, environment, codex, engine: None }
    }

    /// Talaria's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.codex_home.root().join("talaria")
    }

    /// A file of the bench's own, on the disk of the home.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.codex_home.root().join(name)
    }

    /// What arrives at the Codex of this scene.
    pub(crate) fn arrivals(&self) -> Arrivals {
        Arrivals::open(&self.file("arrivals"))
    }

    /// Starts the engine and waits until it answers.
    pub(crate) async fn start(&mut self) -> Client {
        let log = File::create(self.file("engine.log")).unwrap();
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

    /// Ends the engine, for another one to be started.
    pub(crate) async fn stop(&mut self) {
        assert!(self.command(&["stop"]).stdout(Stdio::null()).status().unwrap().success());
        self.engine.take().unwrap().wait().unwrap();
    }

    /// The program.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(TALARIA);
        command.args(arguments).envs(self.environment.iter().cloned()).current_dir(self.codex_home.work());
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The Codex of this scene as a process for another client than the engine.
    pub(crate) fn codex(&self, socket: &Path) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.codex);
        command.args(["app-server", "--listen", &format!("unix://{}", socket.display())]);
        command.envs(self.environment.iter().cloned()).kill_on_drop(true);
        command
    }

    /// A task for the Codex of this scene.
    pub(crate) fn task(&self, prompt: &str) -> NewTask {
        let text = |text: &OsString| text.to_str().unwrap().to_owned();
        let mut environment: Vec<(String, String)> = std::env::vars().collect();
        environment.extend(self.environment.iter().map(|(name, value)| (text(name), text(value))));
        let turn = NewTurn {
            input: vec![InputPart::Text { text: prompt.to_owned() }],
            quiet_after_ms: Some(60_000),
            answers: Some(Answers::Person),
            caller: LocalCaller {
                codex: Some(self.codex.display().to_string()),
                codex_home: None,
                environment,
            },
            ..NewTurn::default()
        };
        NewTask {
            cwd: self.codex_home.work().display().to_string(),
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
            turn,
        }
    }

    /// Waits until no task runs, and returns the newest.
    pub(crate) async fn rest(&self, client: &Client, limit: usize) -> Vec<TaskLine> {
        let active = TaskQuery { limit: 1, active: true, ..TaskQuery::default() };
        let rests = async {
            while !client.tasks(&active).await.unwrap().is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, rests).await.unwrap();
        client.tasks(&TaskQuery { limit, ..TaskQuery::default() }).await.unwrap()
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

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
