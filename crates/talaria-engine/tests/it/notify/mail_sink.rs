//! A mail server on loopback that keeps what it is sent, and behaves as the test says.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

/// How a mail server behaves.
#[derive(Clone, Default)]
pub(crate) struct Manner {
    /// TLS from the first byte.
    pub(crate) wrapped: Option<TlsAcceptor>,
    /// TLS after `STARTTLS`.
    pub(crate) upgrade: Option<TlsAcceptor>,
    /// Its response to a recipient.
    pub(crate) recipient: Option<&'static str>,
    /// It says nothing after the greeting.
    pub(crate) is_mute: bool,
}

/// A received mail, and the commands before it.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) said: Vec<String>,
    pub(crate) text: String,
}

/// A running mail server.
pub(crate) struct MailSink {
    pub(crate) port: u16,
    mails: mpsc::UnboundedReceiver<Mail>,
    /// Every line that any client sent outside of a mail.
    pub(crate) said: Arc<Mutex<Vec<String>>>,
}

impl MailSink {
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, mails) = mpsc::unbounded_channel();
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = said.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (manner, tell, said) = (manner.clone(), tell.clone(), kept.clone());
                tokio::spawn(async move {
                    let end = match manner.wrapped.clone() {
                        None => talk(stream, "220 sink\r\n", &manner, &tell, &said).await,
                        Some(tls) => {
                            let stream = tls.accept(stream).await.ok()?;
                            talk(stream, "220 sink\r\n", &manner, &tell, &said).await.map(|_| None)?
                        }
                    };
                    if let (Some(stream), Some(tls)) = (end?, manner.upgrade.clone()) {
                        let stream = tls.accept(stream).await.ok()?;
                        talk(stream, "", &Manner { upgrade: None, ..manner }, &tell, &said).await;
                    }
                    Some(())
                });
            }
        });
        Self { port, mails, said }
    }

    /// Waits for the next mail.
    pub(crate) async fn next(&mut self) -> Mail {
        self.mails.recv().await.unwrap()
    }

    /// Has anything come that was not looked at?
    pub(crate) fn is_empty(&self) -> bool {
        self.mails.is_empty()
    }
}

/// Talks until the client leaves or asks for TLS, in which case the stream is returned.
async fn talk<S>(
    stream: S,
    greeting: &str,
    manner: &Manner,
    tell: &mpsc::UnboundedSender<Mail>,
    heard: &Mutex<Vec<String>>,
) -> Option<Option<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stream = BufReader::new(stream);
    stream.write_all(greeting.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    if manner.is_mute {
        std::future::pending::<()>().await;
    }
    let mut said = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|length| *length > 0)?;
        let line = line.trim_end().to_owned();
        heard.lock().unwrap().push(line.clone());
        let reply = match line.split(' ').next()? {
            "EHLO" if manner.upgrade.is_some() => "250-sink\r\n250 STARTTLS",
            "EHLO" => "250-sink\r\n250 AUTH PLAIN",
            "STARTTLS" => "220 go",
            "AUTH" => "235 welcome",
            "RCPT" => manner.recipient.unwrap_or("250 fine"),
            "DATA" => "354 go on",
            "QUIT" => "221 bye",
            _ => "250 fine",
        };
        said.push(line.clone());
        stream.write_all(format!("{reply}\r\n").as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
        match line.as_str() {
            "STARTTLS" => return Some(Some(stream.into_inner())),
            "DATA" => {
                let text = mail(&mut stream).await?;
                tell.send(Mail { said: said.clone(), text }).ok()?;
                stream.write_all(b"250 kept\r\n").await.ok()?;
                stream.flush().await.ok()?;
            }
            _ => {}
        }
    }
}

/// Reads a mail to its single dot, and takes the dots away that protect lines.
async fn mail<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> Option<String> {
    let mut text = String::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|length| *length > 0)?;
        if line == ".\r\n" {
            return Some(text);
        }
        text.push_str(line.strip_prefix('.').unwrap_or(&line));
    }
}
