//! `talaria_web` in turns of the built-in loop, against a server that behaves badly: what arrives at the model is bounded, readable and
//! fenced, what must not be fetched is refused, and every address is in the audit log.

#[path = "../../../../talaria-guard/src/redact/tests/corpus.rs"]
mod corpus;

use std::collections::HashMap;
use std::process::Command;
use std::sync::{Arc, Mutex};

use corpus::examples;
use serde_json::{Value, json};
use talaria_scripted::Reply;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::own_loop::{exec, scene};
use crate::scene::Scene;

/// How a path is answered.
#[derive(Clone)]
pub(crate) enum Page {
    /// These bytes, and the end.
    Bytes(Vec<u8>),
    /// These bytes, and then the same kilobytes without end.
    Endless(Vec<u8>),
    /// These bytes, and nothing more.
    Drips(Vec<u8>),
}

/// A server with a few pages, and the paths that were asked for.
pub(crate) struct PageServer {
    port: u16,
    visits: Arc<Mutex<Vec<String>>>,
}

impl PageServer {
    pub(crate) async fn start(pages: Vec<(&str, Page)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let pages: HashMap<String, Page> =
            pages.into_iter().map(|(path, page)| (path.to_owned(), page)).collect();
        let (pages, visits) = (Arc::new(pages), Arc::<Mutex<Vec<String>>>::default());
        let seen = Arc::clone(&visits);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&pages), Arc::clone(&seen)));
            }
        });
        Self { port, visits }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn visits(&self) -> Vec<String> {
        self.visits.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, pages: Arc<HashMap<String, Page>>, visits: Arc<Mutex<Vec<String>>>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    visits.lock().unwrap().push(path.clone());
    let gone = Page::Bytes(says("404 Not Found", b""));
    // A client that has enough closes the connection.
    match pages.get(&path).unwrap_or(&gone) {
        Page::Bytes(bytes) => drop(stream.write_all(bytes).await),
        Page::Endless(first) => {
            let mut sent = stream.write_all(first).await;
            while sent.is_ok() {
                sent = stream.write_all(&[b'x'; 65_536]).await;
            }
        }
        Page::Drips(first) => {
            let _ = stream.write_all(first).await;
            let _ = stream.read(&mut byte).await;
        }
    }
}

pub(crate) fn says(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

/// A scene that may read this server, although it is on this machine.
async fn scene_for(server: &PageServer) -> Scene {
    let scene = scene().await;
    let config = std::fs::read_to_string(scene.home().join("config.toml")).unwrap();
    // As many calls are followed by a review, which asks the model once more.
    let quiet = "[learning]\nmemory = \"off\"\nskills = \"off\"\n";
    scene.configure(&format!("{config}{quiet}[web]\nallow = [\"127.0.0.1:{}\"]\n", server.port));
    scene
}

/// Lets a model read these addresses in one turn; returns what it got.
async fn read(scene: &Scene, urls: &[String]) -> Vec<String> {
    // One answer has not too many calls.
    for part in urls.chunks(100) {
        let calls =
            part.iter().fold(Reply::new(), |reply, url| reply.function("talaria_web", json!({ "url": url })));
        scene.model.push(calls);
    }
    scene.model.push(Reply::say("Read."));
    let arguments = ["--sandbox", "danger-full-access", "Read them."];
    exec(scene, "responses", &arguments).await.exits(0);
    scene.model.requests().last().unwrap().tool_outputs()
}

/// The entries about web pages in the audit log: whether each was refused, and what it says.
async fn audited(scene: &Scene) -> Vec<(bool, String)> {
    let rows = scene.run(&["audit", "--limit", "5000", "--json"]).await.exits(0).json();
    let rows = rows.into_iter().filter(|row| row["action"] == "read_web");
    rows.map(|row| (row["refused"] == true, row["reason"].as_str().unwrap_or_default().to_owned())).collect()
}

fn packed(megabytes: usize) -> Vec<u8> {
    let script = format!("head -c {megabytes}000000 /dev/zero | gzip -9");
    Command::new("sh").args(["-c", &script]).output().unwrap().stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_without_end_bombs_and_other_encodings_are_bounded_and_readable() {
    let html = |charset: &str, body: &[u8]| {
        Page::Bytes(says(&format!("200 OK\r\ncontent-type: text/html; charset={charset}"), body))
    };
    let huge =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000000000\r\n\r\nThe beginning. ";
    let bomb = says("200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip", &packed(200));
    let metadata = says("302 Found\r\nlocation: http://169.254.169.254/latest/", b"");
    let inner = says("302 Found\r\nlocation: http://127.0.0.1:9/", b"");
    let server = PageServer::start(vec![
        ("/huge", Page::Endless(huge.to_vec())),
        ("/bomb", Page::Bytes(bomb)),
        ("/gbk", html("gbk", b"<p>\xc4\xe3\xba\xc3 pelican</p>")),
        ("/sjis", html("shift_jis", b"<p>\x93\xfa\x96\x7b\x8c\xea</p>")),
        ("/broken", html("utf-8", b"<p>caf\xe9 \xff\xfe end</p>")),
        ("/metadata", Page::Bytes(metadata)),
        ("/inner", Page::Bytes(inner)),
    ])
    .await;
    let scene = scene_for(&server).await;
    let paths = ["/huge", "/bomb", "/gbk", "/sjis", "/broken", "/metadata", "/inner"];
    let urls = paths.map(|path| server.at(path));
    let returned = read(&scene, &urls).await;
    let [huge, bomb, gbk, sjis, broken, metadata, inner] = &returned[..] else { panic!("{returned:?}") };
    assert!(huge.contains("The beginning.") && huge.contains("longer than 5 MB"), "{huge:.300}");
    assert!(bomb.contains("longer than 5 MB"), "{bomb:.300}");
    assert!(gbk.contains("你好 pelican") && sjis.contains("日本語"), "{gbk} {sjis}");
    assert!(broken.contains("caf\u{fffd}") && broken.contains("end"), "{broken}");
    assert!(metadata.contains("169.254.169.254 has an address that hands out"), "{metadata}");
    assert!(inner.contains("127.0.0.1 has a private address"), "{inner}");
    for page in [huge, bomb, gbk, sjis, broken] {
        assert!(page.contains("--- begin ") && page.chars().count() <= 10_000, "{page:.200}");
    }
    let entries = audited(&scene).await;
    let (refused, read): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(is_refused, _)| *is_refused);
    assert_eq!((read.len(), refused.len()), (7, 2), "{read:?} {refused:?}");
    for url in &urls {
        assert!(read.iter().any(|(_, what)| what.starts_with(&format!("GET {url} at "))), "{url}: {read:?}");
    }
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_drips_is_given_up_and_the_turn_continues() {
    let drip = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nslow";
    let server = PageServer::start(vec![("/drip", Page::Drips(drip.to_vec()))]).await;
    let scene = scene_for(&server).await;
    let returned = read(&scene, &[server.at("/drip")]).await;
    assert!(returned[0].contains("20"), "the limit is named: {returned:?}");
    assert!(!returned[0].contains("--- begin "), "nothing is passed off as a page: {returned:?}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_the_corpus_leaves_in_an_address_and_each_try_is_in_the_audit_log() {
    let server = PageServer::start(Vec::new()).await;
    let scene = scene_for(&server).await;
    let examples = examples();
    let mut urls = Vec::new();
    for example in &examples {
        let encoded: String = example.text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let plain: String = example.text.bytes().map(encoded_where_needed).collect();
        urls.push(server.at(&format!("/?q={plain}")));
        urls.push(server.at(&format!("/{plain}")));
        urls.push(server.at(&format!("/a/{encoded}/b?c=d")));
    }
    let returned = read(&scene, &urls).await;
    assert_eq!(returned.len(), urls.len());
    for (answer, url) in returned.iter().zip(&urls) {
        assert!(answer.contains("the address has a secret in it"), "{url}: {answer}");
    }
    assert_eq!(server.visits(), [""; 0], "nothing left");
    let entries = audited(&scene).await;
    assert_eq!(entries.len(), urls.len(), "every address is there");
    assert!(entries.iter().all(|(is_refused, _)| *is_refused));
    let all: Vec<Value> = scene.run(&["audit", "--limit", "5000", "--json"]).await.exits(0).json();
    let all = Value::Array(all).to_string();
    // The words of the audit log itself are no evidence: one example is the word "secret".
    for secret in examples.iter().flat_map(|example| &example.secrets).filter(|secret| secret.len() >= 8) {
        assert!(!all.contains(secret.as_str()), "{secret} is in the audit log");
    }
    scene.close().await;
}

/// A byte as an address has it.
fn encoded_where_needed(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        b' ' => "+".to_owned(),
        _ => format!("%{byte:02X}"),
    }
}
