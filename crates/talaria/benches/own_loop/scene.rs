//! A home with an engine whose only provider is the bench's: started, asked, and ended with everything that it started.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Row as _};
use talaria_core::api::{Kind, LocalCaller, NewSession, NewTurn};
use talaria_core::input::InputPart;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_server::client::Client;
use talaria_server::socket_path;
use talaria_testkit::{CodexHome, EngineGuard, Marker};

use crate::cpu;
use crate::provider::Provider;

const TALARIA: &str = env!("CARGO_BIN_EXE_talaria");
const MODEL: &str = "tiny";
/// The database sends no notification about its rows: polling is the only way. The engine does not notice it.
const LOOK: Duration = Duration::from_millis(2);
/// After this the bench gives up.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Scene {
    pub(crate) provider: Provider,
    pub(crate) client: Client,
    codex_home: CodexHome,
    guard: EngineGuard,
    environment: Vec<(OsString, OsString)>,
    engine: Child,
    database: SqliteConnection,
}

impl Scene {
    pub(crate) async fn start() -> Self {
        let provider = Provider::start();
        let codex_home = CodexHome::with_config("");
        let home = codex_home.root().join("talaria");
        fs::create_dir(&home).unwrap();
        let config = format!(
            "[providers.bench]\nbase_url = \"http://{}\"\napi = \"responses\"\nkey_env = \"BENCH_KEY\"\n\
             [providers.bench.models.{MODEL}]\ncontext = 2000000\n",
            provider.address
        );
        fs::write(home.join("config.toml"), config).unwrap();
        let marker = Marker::new();
        let own = codex_home.environment().into_iter().map(|(name, value)| (name.into(), value));
        let mut environment: Vec<(OsString, OsString)> = own.collect();
        environment.push(("TALARIA_HOME".into(), home.clone().into()));
        environment.push(("BENCH_KEY".into(), "sk-bench-0123456789".into()));
        environment.push(("NO_PROXY".into(), "127.0.0.1".into()));
        environment.push(("SCENE_MARK".into(), marker.environment().1.into()));
        let guard = EngineGuard::new(Path::new(TALARIA), environment.clone(), marker);
        let log = File::create(codex_home.root().join("engine.log")).unwrap();
        let mut command = program();
        command.arg("serve").envs(environment.iter().cloned()).current_dir(codex_home.work());
        let engine = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let client = tokio::time::timeout(PATIENCE, connect(&socket_path(&home))).await.unwrap();
        let options = SqliteConnectOptions::new().filename(home.join("talaria.db"));
        let database = options.connect().await.unwrap();
        Self { provider, client, codex_home, guard, environment, engine, database }
    }

    /// Process of the engine, or of the tool that runs it.
    pub(crate) fn engine(&self) -> u32 {
        self.engine.id()
    }

    /// Milliseconds that the engine has run.
    pub(crate) fn cpu(&self) -> f64 {
        cpu::of(self.engine.id())
    }

    /// Starts a conversation; returns its id.
    pub(crate) async fn begin(&self) -> String {
        let new = NewSession {
            kind: Kind::Chat,
            cwd: self.work().display().to_string(),
            model: Some(MODEL.to_owned()),
            sandbox: Some(Sandbox::ReadOnly),
            approval: Some(ApprovalPolicy::OnRequest),
            turn: self.turn(),
        };
        self.client.start_session(&new).await.unwrap().id.to_string()
    }

    pub(crate) fn turn(&self) -> NewTurn {
        let text = |text: &OsString| text.to_str().unwrap().to_owned();
        let mut environment: Vec<(String, String)> = std::env::vars().collect();
        environment.extend(self.environment.iter().map(|(name, value)| (text(name), text(value))));
        NewTurn {
            input: vec![InputPart::Text { text: "do it".to_owned() }],
            provider: Some("bench".to_owned()),
            model: Some(MODEL.to_owned()),
            quiet_after_ms: Some(60_000),
            caller: LocalCaller { codex: None, codex_home: None, environment },
            ..NewTurn::default()
        }
    }

    fn work(&self) -> PathBuf {
        self.codex_home.work()
    }

    /// Waits until no turn runs. Asks the database, so that the engine has no work with it.
    pub(crate) async fn rest(&mut self) {
        let rests = async {
            while self.count("select count(*) from turn where stage <> 'settled'").await > 0 {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, rests).await.unwrap();
    }

    /// What a query counts.
    pub(crate) async fn count(&mut self, query: &'static str) -> i64 {
        sqlx::query(query).fetch_one(&mut self.database).await.unwrap().get(0)
    }

    /// Ends everything.
    pub(crate) async fn close(self) {
        let Self { guard, mut engine, .. } = self;
        guard.close().await.unwrap();
        engine.wait().unwrap();
    }
}

/// The program; below the tool that `BENCH_UNDER` names with its arguments, for example a profiler.
fn program() -> Command {
    let under = std::env::var("BENCH_UNDER").unwrap_or_default();
    let mut words = under.split_whitespace();
    let Some(tool) = words.next() else { return Command::new(TALARIA) };
    let mut command = Command::new(tool);
    command.args(words).arg(TALARIA);
    command
}

async fn connect(socket: &Path) -> Client {
    loop {
        match Client::connect(socket).await {
            Ok(client) => return client,
            Err(_) => tokio::time::sleep(LOOK).await,
        }
    }
}
