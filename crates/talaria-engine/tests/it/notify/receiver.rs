//! An HTTP server on loopback that keeps what it is sent, and answers as the test says: also badly.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// How a receiver answers.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// With this status line's rest and headers, and this body.
    Says(&'static str, String),
    /// With 200, but only when released.
    Gated(Arc<Notify>),
    /// Not at all.
    Never,
    /// One byte after another, endlessly.
    Trickle,
    /// With a status at once, and a body without end.
    Flood(&'static str),
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Arrived {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("no {name} in {:?}", self.headers), |(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A running receiver; it ends with the test.
pub(crate) struct Receiver {
    pub(crate) port: u16,
    arrived: mpsc::UnboundedReceiver<Arrived>,
    connections: watch::Receiver<usize>,
}

/// A certificate of one's own.
pub(crate) struct Identity {
    pub(crate) certificate: Vec<u8>,
    acceptor: TlsAcceptor,
}

impl Identity {
    pub(crate) fn of(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let certificate = made.cert.der().to_vec();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(certificate.clone())], key)
            .unwrap();
        Self { certificate, acceptor: TlsAcceptor::from(Arc::new(config)) }
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }
}

impl Receiver {
    /// Answers with each reply once, and with the last one from then on.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        Self::listen(replies, None).await
    }

    /// The same with TLS.
    pub(crate) async fn start_tls(replies: Vec<Reply>, identity: &Identity) -> Self {
        Self::listen(replies, Some(identity.acceptor())).await
    }

    pub(crate) async fn ok() -> Self {
        Self::start(vec![says("200 OK", "")]).await
    }

    async fn listen(replies: Vec<Reply>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, arrived) = mpsc::unbounded_channel();
        let (count, connections) = watch::channel(0);
        tokio::spawn(async move {
            let mut replies = replies.into_iter();
            let mut reply = replies.next().unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                count.send_modify(|count| *count += 1);
                let (tls, tell, now) = (tls.clone(), tell.clone(), reply.clone());
                reply = replies.next().unwrap_or(reply);
                tokio::spawn(async move {
                    match tls {
                        None => answer(stream, now, &tell).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => answer(stream, now, &tell).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self { port, arrived, connections }
    }

    /// Waits for the next request.
    pub(crate) async fn next(&mut self) -> Arrived {
        self.arrived.recv().await.unwrap()
    }

    /// Has anything come that was not looked at?
    pub(crate) fn is_empty(&self) -> bool {
        self.arrived.is_empty()
    }

    /// Waits until all connections so far are counted, and returns their number.
    pub(crate) async fn visitors(&mut self) -> usize {
        let before = *self.connections.borrow_and_update();
        // Connections are taken in their order, so that this one is the last.
        let _last = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        *self.connections.wait_for(|count| *count > before).await.unwrap() - 1
    }

    /// A webhook here.
    pub(crate) fn webhook(&self, path: &str) -> String {
        format!("webhook:http://127.0.0.1:{}{path}", self.port)
    }

    /// The permission to come here.
    pub(crate) fn permit(&self) -> String {
        format!("allow_private = [\"127.0.0.1:{0}\", \"localhost:{0}\"]\n", self.port)
    }
}

pub(crate) fn says(head: &'static str, body: &str) -> Reply {
    Reply::Says(head, body.to_owned())
}

/// Reads a request and answers it; a client may hang up.
async fn answer<S>(mut stream: S, reply: Reply, tell: &mpsc::UnboundedSender<Arrived>) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let arrived = read(&mut stream).await?;
    tell.send(arrived).ok()?;
    match reply {
        Reply::Gated(gate) => {
            gate.notified().await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.ok()
        }
        Reply::Says(head, body) => {
            let text = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(text.as_bytes()).await.ok()?;
            stream.shutdown().await.ok()
        }
        Reply::Never => std::future::pending().await,
        Reply::Trickle => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await.ok()?;
            loop {
                stream.write_all(b"a").await.ok()?;
                stream.flush().await.ok()?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Reply::Flood(head) => {
            stream.write_all(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes()).await.ok()?;
            loop {
                stream.write_all(&[b'z'; 4096]).await.ok()?;
            }
        }
    }
}

async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> Option<Arrived> {
    let mut bytes = Vec::new();
    let end = loop {
        stream.read_buf(&mut bytes).await.ok().filter(|length| *length > 0)?;
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Ok(0), |(_, value)| value.parse::<usize>()).ok()?;
    while bytes.len() < end + 4 + length {
        stream.read_buf(&mut bytes).await.ok().filter(|length| *length > 0)?;
    }
    Some(Arrived { path, headers, body: String::from_utf8(bytes[end + 4..].to_vec()).unwrap() })
}
