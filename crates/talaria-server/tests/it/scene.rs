//! A real engine with a real socket in its own home, and a scripted program instead of Codex.
//!
//! Whatever a scene started is gone when it is dropped: its Codex outlives the engine, and must not outlive the test.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use talaria_codex::pool::PoolLimits;
use talaria_core::api::{Kind, LocalCaller, NewSession, NewTask, NewTurn, Say, SessionStarted, Stop, When};
use talaria_core::event::Event;
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::input::InputPart;
use talaria_engine::engine::{Engine, EngineOptions, LockError, OpenError, OpenOptions};
use talaria_home::home::TalariaHome;
use talaria_server::client::{Client, Follow};
use talaria_testkit::app_server::directive::{expect, notify, on, repeat, reply, send};
use talaria_testkit::app_server::{AppServer, InstalledAppServer, THREAD};
use talaria_testkit::processes::Marker;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

/// How long something may take that happens at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// An engine that is being served.
pub(crate) struct Scene {
    pub(crate) home: TempDir,
    pub(crate) socket: PathBuf,
    pub(crate) notices: Arc<Mutex<Vec<String>>>,
    marker: Marker,
    codex: InstalledAppServer,
    engine: Option<Engine>,
    server: JoinHandle<()>,
}

/// Behaviour of a scene's Codex: its turns run until they are interrupted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Talk {
    /// How much it reports at once when a turn begins.
    pub(crate) first: u64,
    /// How much it reports for everything that is said to a running turn.
    pub(crate) more: u64,
}

impl Scene {
    pub(crate) async fn start() -> Self {
        Self::talking(Talk::default()).await
    }

    pub(crate) async fn talking(talk: Talk) -> Self {
        Self::with(codex(talk, &[])).await
    }

    /// Its turns ask whether a command may be run, and wait.
    pub(crate) async fn asking() -> Self {
        Self::with(asking_codex()).await
    }

    /// Its Codex is this one.
    pub(crate) async fn with(server: AppServer) -> Self {
        let home = tempfile::tempdir().unwrap();
        let engine = open(home.path()).await;
        Self::of(home, engine, &server)
    }

    /// Creates a skill in the home directory of the user.
    pub(crate) fn add_skill(&self, name: &str) {
        let folder = self.home.path().join("user/.agents/skills").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join("SKILL.md"),
            format!("---\nname: {name}\ndescription: About {name}\n---\n"),
        )
        .unwrap();
    }

    /// Serves an engine that was opened already.
    pub(crate) fn serving(home: TempDir, engine: Engine) -> Self {
        Self::of(home, engine, &codex(Talk::default(), &[]))
    }

    fn of(home: TempDir, engine: Engine, server: &AppServer) -> Self {
        let socket = talaria_server::socket_path(home.path());
        let notices = Arc::<Mutex<Vec<String>>>::default();
        let codex = server.install(&home.path().join("bin"));
        let server = serve(&socket, &engine, &notices);
        Self { home, socket, notices, marker: Marker::new(), codex, engine: Some(engine), server }
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    /// Ends the engine, leaves its turns running, and waits until its server is gone.
    pub(crate) async fn stop(&mut self) {
        let engine = self.engine.take().unwrap();
        engine.stop(Stop { keep_turns: true, stay_down: false }).await.unwrap();
        (&mut self.server).await.unwrap();
    }

    /// Starts an engine that continues where the last one stopped.
    pub(crate) async fn start_again(&mut self) {
        let engine = open(self.home.path()).await;
        self.server = serve(&self.socket, &engine, &self.notices);
        self.engine = Some(engine);
    }

    pub(crate) fn server(&mut self) -> &mut JoinHandle<()> {
        &mut self.server
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.socket).await.unwrap()
    }

    pub(crate) fn turn(&self, text: &str) -> NewTurn {
        // What begins with TALARIA_ does not reach Codex.
        let mark = ("SCENE".to_owned(), self.marker.environment().1.to_owned());
        NewTurn {
            input: vec![InputPart::Text { text: text.to_owned() }],
            caller: LocalCaller {
                codex: Some(self.codex.codex.to_str().unwrap().to_owned()),
                codex_home: None,
                environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), mark],
            },
            ..NewTurn::default()
        }
    }

    pub(crate) fn new_session(&self, kind: Kind, text: &str) -> NewSession {
        let (cwd, turn) = ("/".to_owned(), self.turn(text));
        NewSession { kind, cwd, model: None, sandbox: None, approval: None, turn }
    }

    pub(crate) fn new_task(&self, text: &str) -> NewTask {
        NewTask {
            cwd: "/".to_owned(),
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
            turn: self.turn(text),
        }
    }

    /// Starts a conversation, and waits until its turn runs. Returns the number of the event that says so.
    pub(crate) async fn started(&self, client: &Client, text: &str) -> (SessionStarted, i64) {
        let started = client.start_session(&self.new_session(Kind::Exec, text)).await.unwrap();
        let seq = running(client, &started.id, started.after).await;
        (started, seq)
    }

    /// Uses a separate Codex for the conversations that are started from here on: one scripted Codex has one thread.
    pub(crate) fn another_codex(&mut self) {
        let folder = tempfile::tempdir_in(self.home.path()).unwrap().keep();
        self.codex = codex(Talk::default(), &[]).install(&folder);
    }

    /// Likewise, a Codex whose turns ask.
    pub(crate) fn another_asking_codex(&mut self) {
        let folder = tempfile::tempdir_in(self.home.path()).unwrap().keep();
        self.codex = asking_codex().install(&folder);
    }

    /// Codex's received messages with this method, in order.
    pub(crate) fn received(&self, method: &str) -> Vec<Value> {
        self.codex.received().into_iter().filter(|message| message["method"] == method).collect()
    }

    /// Sends bytes and nothing more, and reads the whole response until the server closes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        // The server may close before it read everything.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        rest(stream).await
    }

    /// Sends bytes and reads the whole response, until the server closes on request.
    pub(crate) async fn raw_to_end(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        let _ = stream.write_all(bytes).await;
        rest(stream).await
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for process in self.marker.survivors() {
            let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
            // It may have ended by itself meanwhile.
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

fn asking_codex() -> AppServer {
    let params = json!({
        "threadId": THREAD, "turnId": "turn-1", "itemId": "c", "command": "ls", "cwd": "/",
    });
    let ask = json!({ "id": 7, "method": "item/commandExecution/requestApproval", "params": params });
    codex(Talk::default(), &[send(ask)])
}

/// A Codex that has a few turns, one after another, each of which begins with `first`.
fn codex(talk: Talk, first: &[Value]) -> AppServer {
    let said = json!({ "method": "warning", "params": { "threadId": THREAD, "message": WORDS } });
    let steered = [reply(json!({ "turnId": "$.params.expectedTurnId" })), repeat(talk.more, said.clone())];
    let turns = (1..=TURNS).flat_map(|number| {
        let turn = |status: &str| {
            let id = format!("turn-{number}");
            json!({ "id": id, "items": [], "itemsView": "full", "status": status, "error": null })
        };
        let running = json!({ "threadId": THREAD, "turn": turn("inProgress") });
        let ended = json!({ "threadId": THREAD, "turn": turn("interrupted") });
        let begin = [
            expect("turn/start"),
            on("thread/turns/list", [reply(json!({ "data": [turn("inProgress")] }))]),
            on("turn/interrupt", [reply(json!({})), notify("turn/completed", ended)]),
            reply(json!({ "turn": turn("inProgress") })),
            notify("turn/started", running),
            repeat(talk.first, said.clone()),
        ];
        begin.into_iter().chain(first.iter().cloned())
    });
    let models = json!({ "data": [{ "id": "gpt-7", "model": "gpt-7" }], "nextCursor": null });
    let turn = |status: &str| json!({ "id": "compaction", "items": [], "status": status, "error": null });
    let compacted = [
        reply(json!({})),
        notify("turn/started", json!({ "threadId": THREAD, "turn": turn("inProgress") })),
        notify("turn/completed", json!({ "threadId": THREAD, "turn": turn("completed") })),
    ];
    let handlers =
        [on("turn/steer", steered), on("model/list", [reply(models)]), on("thread/compact/start", compacted)];
    AppServer::ready(handlers.into_iter().chain(turns))
}

/// How many turns the Codex of a scene can have.
const TURNS: u32 = 3;

/// A message of Codex; the buffers of a socket are full after a few thousand of them.
pub(crate) const WORDS: &str = "$n, a text of a certain length";

/// Opens the engine of a home. A previous one may take a moment to release it.
pub(crate) async fn open(home: &Path) -> Engine {
    let opened = async {
        loop {
            match try_open(home, "0.1.0", 1).await {
                Err(OpenError::Lock(LockError::Held(_))) => {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                opened => break opened.unwrap(),
            }
        }
    };
    tokio::time::timeout(PATIENCE, opened).await.expect("somebody holds the home")
}

pub(crate) async fn try_open(home: &Path, version: &str, build: i64) -> Result<Engine, OpenError> {
    let home = TalariaHome::resolve(Some(home.into()), None).unwrap();
    let (limits, store) = (PoolLimits::default(), OpenOptions::default());
    let version = version.to_owned();
    let user_home = Some(home.root().join("user"));
    let options = EngineOptions {
        version,
        build,
        idle: None,
        limits,
        max_tasks: 4,
        store,
        user_home,
        pdf: None,
        debug_requests: None,
    };
    Engine::open(home, options).await
}

async fn rest(mut stream: UnixStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn serve(socket: &Path, engine: &Engine, notices: &Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    let listener = talaria_server::bind(socket).unwrap();
    let notices = Arc::clone(notices);
    let tell = move |notice: talaria_server::ServerNotice| notices.lock().unwrap().push(notice.to_string());
    tokio::spawn(talaria_server::serve(engine.clone(), listener, tell))
}

pub(crate) fn say(text: &str) -> Say {
    Say { text: text.to_owned(), images: Vec::new(), when: When::Now }
}

/// Waits until a turn runs. Returns the number of the event that says so.
pub(crate) async fn running(client: &Client, session: &SessionId, after: i64) -> i64 {
    let mut follow = client.follow(session.as_str(), after).await.unwrap();
    until(&mut follow, |event| matches!(event, Event::TurnStarted { .. })).await
}

/// Waits until a turn asks something. Returns the ticket.
pub(crate) async fn asked(client: &Client, session: &SessionId, after: i64) -> TicketId {
    let mut follow = client.follow(session.as_str(), after).await.unwrap();
    loop {
        if let Event::RequestOpened { id, .. } = next(&mut follow).await.1 {
            return id;
        }
    }
}

/// Waits for an event, and returns its number.
pub(crate) async fn until(follow: &mut Follow, is_it: impl Fn(&Event) -> bool) -> i64 {
    loop {
        let (seq, event) = next(follow).await;
        if is_it(&event) {
            return seq;
        }
    }
}

/// The next event with its number.
pub(crate) async fn next(follow: &mut Follow) -> (i64, Event) {
    let numbered = tokio::time::timeout(PATIENCE, follow.next()).await.expect("an event is missing");
    let numbered = numbered.unwrap().unwrap();
    (numbered.seq, numbered.event)
}
