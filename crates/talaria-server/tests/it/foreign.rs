//! An engine of another version, as far as commands look at it: something on the socket that says who it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use talaria_core::api::{EngineInfo, Interrupt, Problem, ProblemCode, Say, Stop, VERSION, When};
use talaria_core::request::Who;
use talaria_server::client::{Client, ClientError};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

/// Identifies itself to every client, and does nothing else.
pub(crate) struct Foreign {
    pub(crate) home: TempDir,
    pub(crate) socket: PathBuf,
    /// Number of connections.
    visits: Arc<AtomicUsize>,
    _task: JoinHandle<()>,
}

impl Foreign {
    pub(crate) fn start(version: &str, api: u32) -> Self {
        Self::dying(version, api, |_| false)
    }

    /// One that dies while a client asks, at the visits that are named (from 1).
    fn dying(version: &str, api: u32, dies_at: impl Fn(usize) -> bool + Send + 'static) -> Self {
        Self::answering(
            version,
            api,
            move |visit, answer| {
                if dies_at(visit) { String::new() } else { answer.to_owned() }
            },
        )
    }

    /// One that answers the first visit, says that it is ending to the next ones, and then answers this.
    fn replaced(after: usize, next: &str) -> Self {
        let ending = serde_json::to_string(&Problem::new(ProblemCode::Stopping, "the engine is ending"));
        let (ending, next) =
            (response("503 Service Unavailable", &ending.unwrap()), response("200 OK", next));
        Self::answering("9.9.9", VERSION, move |visit, info| match visit {
            1 => info.to_owned(),
            visit if visit <= 1 + after => ending.clone(),
            _ => next.clone(),
        })
    }

    fn answering(version: &str, api: u32, at: impl Fn(usize, &str) -> String + Send + 'static) -> Self {
        let home = tempfile::tempdir().unwrap();
        let info = EngineInfo {
            pid: std::process::id(),
            version: version.to_owned(),
            build: 1,
            api,
            home: home.path().to_str().unwrap().to_owned(),
            since: "2026-01-01T00:00:00Z".parse().unwrap(),
        };
        let body = serde_json::to_string(&info).unwrap();
        let answer = response("200 OK", &body);
        let socket = talaria_server::socket_path(home.path());
        let listener = talaria_server::bind(&socket).unwrap();
        let visits = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&visits);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let visit = count.fetch_add(1, Ordering::Relaxed) + 1;
                tell(stream, &at(visit, &answer)).await;
            }
        });
        Self { home, socket, visits, _task: task }
    }
}

fn response(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

async fn tell(mut stream: UnixStream, answer: &str) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            // It only probed for an engine.
            Err(_) => return,
        }
    }
    let _ = stream.write_all(answer.as_bytes()).await;
}

#[tokio::test]
async fn a_question_that_an_engine_took_into_its_death_is_asked_again() {
    let engine = Foreign::dying("9.9.9", VERSION, |visit| visit < 4);
    assert_eq!(Client::connect(&engine.socket).await.unwrap().engine().version, "9.9.9");
    let engine = Foreign::dying("9.9.9", VERSION, |_| true);
    let error = Client::connect(&engine.socket).await.unwrap_err();
    assert!(matches!(error, ClientError::Broken(_)), "{error}");
    assert_eq!(engine.visits.load(Ordering::Relaxed), 20);
}

#[tokio::test]
async fn what_an_ending_engine_did_not_do_is_asked_of_the_next_one() {
    let engine = Foreign::replaced(3, "[]");
    let client = Client::connect(&engine.socket).await.unwrap();
    assert!(client.requests().await.unwrap().is_empty());
    assert_eq!(engine.visits.load(Ordering::Relaxed), 5, "three refusals, then an answer");
    let engine = Foreign::replaced(2, r#"{"to_running_turn":true}"#);
    let client = Client::connect(&engine.socket).await.unwrap();
    let say = Say { text: "hello".to_owned(), images: Vec::new(), when: When::Now };
    assert!(client.say("s", &say).await.unwrap().to_running_turn);
}

#[tokio::test]
async fn what_an_ending_engine_may_have_done_is_not_asked_again() {
    let engine = Foreign::replaced(1, "null");
    let client = Client::connect(&engine.socket).await.unwrap();
    let error = client.interrupt("s", Interrupt { by: Who::User }).await.unwrap_err();
    let ClientError::Problem(problem) = &error else { panic!("{error}") };
    assert_eq!(problem.code, ProblemCode::Stopping);
    assert_eq!(engine.visits.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn what_changes_something_is_not_asked_again_because_it_may_have_been_done() {
    let engine = Foreign::dying("9.9.9", VERSION, |visit| visit == 2);
    let client = Client::connect(&engine.socket).await.unwrap();
    let error = client.stop(Stop::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::Broken(_)), "{error}");
    assert_eq!(engine.visits.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_conversation_is_followed_although_the_engine_died_when_that_began() {
    let engine = Foreign::dying("9.9.9", VERSION, |visit| visit == 2);
    let client = Client::connect(&engine.socket).await.unwrap();
    client.follow("s", 0).await.unwrap();
    assert_eq!(engine.visits.load(Ordering::Relaxed), 3);
}
