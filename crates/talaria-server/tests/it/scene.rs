//! An engine behind a real socket in a directory of its own.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use talaria_core::api::{Caller, Kind, NewSession, NewTurn, Say, SessionStarted, Stop, When};
use talaria_core::event::Event;
use talaria_core::policy::Answers;
use talaria_core::wire::call::UserInput;
use talaria_engine::engine::Engine;
use talaria_server::client::{Client, Follow};
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
    pub(crate) engine: Engine,
    pub(crate) notices: Arc<Mutex<Vec<String>>>,
    server: JoinHandle<()>,
}

impl Scene {
    pub(crate) fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let engine = Engine::in_memory(home.path(), "0.1.0", 1);
        Self::of(home, engine)
    }

    pub(crate) fn of(home: TempDir, engine: Engine) -> Self {
        let socket = talaria_server::socket_path(home.path());
        let notices = Arc::<Mutex<Vec<String>>>::default();
        let server = serve(&socket, &engine, &notices);
        Self { home, socket, engine, notices, server }
    }

    /// Ends the engine and waits until its server is gone.
    pub(crate) async fn stop(&mut self) {
        self.engine.stop(Stop { keep_turns: true }).await.unwrap();
        (&mut self.server).await.unwrap();
    }

    /// Brings up an engine that knows what the last one knew.
    pub(crate) fn start_again(&mut self) {
        self.engine = self.engine.restarted();
        self.server = serve(&self.socket, &self.engine, &self.notices);
    }

    pub(crate) fn server(&mut self) -> &mut JoinHandle<()> {
        &mut self.server
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.socket).await.unwrap()
    }

    /// Sends bytes and nothing more, and reads everything that comes back until the server closes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        // The server may close before it read everything.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        rest(stream).await
    }

    /// Sends bytes and reads everything that comes back, until the server closes because it was asked to.
    pub(crate) async fn raw_to_end(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        let _ = stream.write_all(bytes).await;
        rest(stream).await
    }
}

async fn rest(mut stream: UnixStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn serve(socket: &std::path::Path, engine: &Engine, notices: &Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    let listener = talaria_server::bind(socket).unwrap();
    let notices = Arc::clone(notices);
    let tell = move |notice: talaria_server::Notice| notices.lock().unwrap().push(notice.to_string());
    tokio::spawn(talaria_server::serve(engine.clone(), listener, tell))
}

pub(crate) fn turn(text: &str) -> NewTurn {
    NewTurn {
        input: vec![UserInput::Text { text: text.to_owned() }],
        effort: None,
        limit_ms: None,
        quiet_after_ms: None,
        answers: Answers::default(),
        caller: Caller {
            codex: "/usr/bin/codex".to_owned(),
            version: "0.166.0".to_owned(),
            path_dir: None,
            codex_home: None,
            environment: vec![("PATH".to_owned(), "/bin".to_owned())],
        },
    }
}

pub(crate) fn new(kind: Kind, text: &str) -> NewSession {
    NewSession { kind, cwd: "/".to_owned(), model: None, sandbox: None, approval: None, turn: turn(text) }
}

pub(crate) async fn started(client: &Client, text: &str) -> SessionStarted {
    client.start_session(&new(Kind::Exec, text)).await.unwrap()
}

pub(crate) fn say(text: &str) -> Say {
    Say { text: text.to_owned(), when: When::Now }
}

/// The number and the text of the next event.
pub(crate) async fn next(follow: &mut Follow) -> (i64, String) {
    let numbered = tokio::time::timeout(PATIENCE, follow.next()).await.expect("an event is missing");
    let numbered = numbered.unwrap().unwrap();
    match numbered.event {
        Event::Warning { message } => (numbered.seq, message),
        other => panic!("{other:?}"),
    }
}
