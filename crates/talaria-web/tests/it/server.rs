//! A server on loopback that writes what the test says, byte for byte, and a network in which any address leads to it.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use talaria_core::config::PrivateHost;
use talaria_web::{FetchError, FetchLimits, FetchedBody, HopRules, Network, PageFetcher, Roots};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// Output of a server after the head of a request, as long as the client reads.
pub(crate) enum Script {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These, then a piece again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// These, then nothing, and the connection stays open.
    Stalls(Vec<u8>),
}

/// A server that answers each connection with the next script.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

pub(crate) fn reply(head: &str, body: &[u8]) -> Script {
    let mut bytes = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    Script::Bytes(bytes)
}

pub(crate) fn html(body: &str) -> Script {
    reply("200 OK\r\ncontent-type: text/html; charset=utf-8", body.as_bytes())
}

pub(crate) fn redirect(to: &str) -> Script {
    reply(&format!("302 Found\r\nlocation: {to}"), b"")
}

impl Server {
    pub(crate) async fn start(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            for script in scripts {
                let Ok((mut stream, _)) = listener.accept().await else { return };
                let head = read_head(&mut stream).await;
                seen.lock().unwrap().push(head);
                tokio::spawn(play(stream, script));
            }
            // Unexpected connections are counted.
            while listener.accept().await.is_ok() {
                seen.lock().unwrap().push("unexpected".to_owned());
            }
        });
        Self { address, heads }
    }

    /// The heads of the requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

async fn play(mut stream: TcpStream, script: Script) -> Option<()> {
    match script {
        Script::Bytes(bytes) => stream.write_all(&bytes).await.ok()?,
        Script::Endless(first, again) => {
            stream.write_all(&first).await.ok()?;
            loop {
                stream.write_all(&again).await.ok()?;
            }
        }
        Script::Stalls(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            // Returns when the client closes.
            let _ = stream.read(&mut [0]).await;
        }
    }
    Some(())
}

/// A network whose names are in a table, and which notes what it is asked for. Every address is reached at `server`.
pub(crate) struct Net {
    pub(crate) names: Vec<(&'static str, Vec<&'static str>)>,
    pub(crate) server: SocketAddr,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
}

impl Net {
    pub(crate) fn new(server: &Server, names: &[(&'static str, &[&'static str])]) -> Self {
        let names = names.iter().map(|(name, addresses)| (*name, addresses.to_vec())).collect();
        Self { names, server: server.address, log: Arc::default() }
    }

    /// Each look-up of a name uses up the first entry of that name, so that a name can change its mind.
    fn network(&self) -> Network {
        let (names, log) = (Arc::new(Mutex::new(self.names.clone())), Arc::clone(&self.log));
        let resolve = move |name: String, port: u16| {
            log.lock().unwrap().push(format!("resolve {name}"));
            let mut names = names.lock().unwrap();
            let found = names.iter().position(|(known, _)| *known == name).map(|at| names.remove(at).1);
            let answer = match found {
                Some(found) => Ok(found
                    .iter()
                    .map(|text| (text.parse::<std::net::IpAddr>().unwrap(), port).into())
                    .collect()),
                None => Err(io::ErrorKind::NotFound.into()),
            };
            Box::pin(std::future::ready(answer)) as BoxFuture<'static, io::Result<Vec<SocketAddr>>>
        };
        let (server, log) = (self.server, Arc::clone(&self.log));
        let dial = move |address: SocketAddr| {
            log.lock().unwrap().push(format!("dial {address}"));
            Box::pin(TcpStream::connect(server)) as BoxFuture<'static, io::Result<TcpStream>>
        };
        Network::new(resolve, dial)
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) async fn fetch(&self, url: &str) -> Result<FetchedBody, FetchError> {
        self.fetch_within(url, FetchLimits::default(), &[], |_| true).await
    }

    pub(crate) async fn fetch_within(
        &self,
        url: &str,
        limits: FetchLimits,
        allow: &[PrivateHost],
        may_follow: impl Fn(&Url) -> bool + Send + Sync,
    ) -> Result<FetchedBody, FetchError> {
        let log = Arc::clone(&self.log);
        let before_request = move |url: Url, address: SocketAddr| {
            log.lock().unwrap().push(format!("request {url} at {address}"));
            Box::pin(std::future::ready(Ok(()))) as BoxFuture<'static, Result<(), String>>
        };
        let fetcher = PageFetcher::new(self.network(), Roots::Only(Vec::new()), limits);
        let rules = HopRules { allow, may_follow: &may_follow, before_request: &before_request };
        fetcher.fetch(&Url::parse(url).unwrap(), &rules).await
    }
}
