//! Servers on loopback: one that writes what a test says and keeps connections, one with TLS, a proxy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use talaria_agent::rendered::{PrefixDigest, RenderedRequest};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

pub(crate) fn request(body: &str) -> RenderedRequest {
    RenderedRequest {
        method: "POST",
        path: "/responses".to_owned(),
        headers: vec![("x-extra".to_owned(), "1".to_owned())],
        body: body.as_bytes().to_vec(),
        prefix: PrefixDigest::of(b""),
        spans: Vec::new(),
        left_out: Vec::new(),
    }
}

pub(crate) fn reply(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A server that answers each request with the next text and leaves the connection open.
pub(crate) struct KeepingServer {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    heads: UnboundedReceiver<String>,
}

impl KeepingServer {
    pub(crate) async fn start(replies: Vec<Vec<u8>>) -> Self {
        Self::with(None, replies).await
    }

    pub(crate) async fn with(tls: Option<TlsAcceptor>, replies: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (sender, heads) = unbounded_channel();
        let replies = Arc::new(std::sync::Mutex::new(std::collections::VecDeque::from(replies)));
        let counted = connections.clone();
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                counted.fetch_add(1, Ordering::SeqCst);
                let (sender, replies, tls) = (sender.clone(), replies.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => answer(stream, &sender, &replies).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => answer(stream, &sender, &replies).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self { address, connections, heads }
    }

    /// The next request: its head and body as text.
    pub(crate) async fn next(&mut self) -> String {
        self.heads.recv().await.unwrap()
    }
}

type Replies = std::sync::Mutex<std::collections::VecDeque<Vec<u8>>>;

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    sender: &UnboundedSender<String>,
    replies: &Replies,
) -> Option<()> {
    loop {
        let request = read_request(&mut stream).await?;
        let reply = replies.lock().unwrap().pop_front();
        let _ = sender.send(request);
        match reply {
            // An empty reply closes the connection.
            Some(reply) if !reply.is_empty() => stream.write_all(&reply).await.ok()?,
            _ => return None,
        }
    }
}

pub(crate) async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(head + &String::from_utf8(body).unwrap())
}

/// TLS for a name, and the certificate to trust.
pub(crate) fn tls_for(name: &str) -> (TlsAcceptor, Vec<u8>) {
    let pair = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
    // Certificates of different names then have different issuers.
    parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
    let certificate = parameters.self_signed(&pair).unwrap().der().clone();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(pair.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate.to_vec())
}

/// A proxy that carries every tunnel to one address, or refuses it with a status line. Returns the heads that it read.
pub(crate) async fn proxy(to: Result<SocketAddr, &'static str>) -> (SocketAddr, UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, heads) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let sender = sender.clone();
            tokio::spawn(async move {
                let head = read_request(&mut stream).await?;
                let is_tunnel = head.starts_with("CONNECT ");
                let _ = sender.send(head.clone());
                let to = match to {
                    Ok(to) => to,
                    Err(status) => {
                        return stream.write_all(format!("{status}\r\n\r\n").as_bytes()).await.ok();
                    }
                };
                let mut target = TcpStream::connect(to).await.ok()?;
                match is_tunnel {
                    true => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.ok()?,
                    false => target.write_all(head.as_bytes()).await.ok()?,
                }
                tokio::io::copy_bidirectional(&mut stream, &mut target).await.ok().map(drop)
            });
        }
    });
    (address, heads)
}
