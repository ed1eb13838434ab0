//! Plays the directives one after the other, and the handlers whenever their method arrives in between.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::link::Link;
use crate::transcript::{Directive, fill};

/// The play in progress.
pub(crate) struct Player {
    link: Link,
    log: Option<File>,
    handlers: HashMap<String, Vec<Directive>>,
    /// The message that was expected, or is being handled: what `$id` and `reply` refer to.
    remembered: Value,
}

impl Player {
    pub(crate) fn new(link: Link, log: Option<OsString>) -> Result<Self> {
        let open =
            |path| OpenOptions::new().create(true).append(true).open(path).context("open SCRIPTED_LOG");
        let log = log.map(open).transpose()?;
        Ok(Self { link, log, handlers: HashMap::new(), remembered: Value::Null })
    }

    /// Plays a list to its end.
    pub(crate) async fn play(&mut self, directives: &[Directive]) -> Result<()> {
        for directive in directives {
            // Boxed because lists contain lists.
            Box::pin(self.step(directive)).await?;
        }
        self.link.flush().await
    }

    /// Lets the handlers answer until the client disconnects.
    pub(crate) async fn serve(&mut self) -> Result<()> {
        loop {
            let message = self.next().await?;
            self.handle(message).await?;
        }
    }

    async fn step(&mut self, directive: &Directive) -> Result<()> {
        match directive {
            Directive::Expect(methods) => {
                let wanted =
                    |message: &Value| methods.iter().any(|method| message["method"] == method.as_str());
                self.expect(wanted).await
            }
            Directive::ExpectAnswer(id) => {
                self.expect(|message: &Value| message.get("method").is_none() && message["id"] == *id).await
            }
            Directive::Reply(result) => {
                let message = json!({ "id": "$id", "result": result });
                self.send(&message).await
            }
            Directive::ReplyError(error) => {
                let message = json!({ "id": "$id", "error": error });
                self.send(&message).await
            }
            Directive::Send { message, times: None } => self.send(message).await,
            Directive::Send { message, times: Some(times) } => self.repeat(message, *times).await,
            Directive::Raw(bytes) => self.link.send_raw(bytes).await,
            Directive::Huge(size) => self.link.send_raw(&huge(*size)).await,
            Directive::Stderr(text) => {
                // The client may have stopped reading.
                let _ = writeln!(std::io::stderr(), "{text}");
                Ok(())
            }
            Directive::Exit(code) => {
                self.link.flush().await?;
                std::process::exit(*code)
            }
            Directive::Close => {
                if !self.link.close().await? {
                    std::process::exit(0);
                }
                Ok(())
            }
            Directive::Hang => loop {
                self.next().await?;
            },
            Directive::Freeze => {
                self.link.flush().await?;
                std::future::pending().await
            }
            Directive::On { method, directives } => {
                self.handlers.insert(method.clone(), directives.clone());
                Ok(())
            }
            Directive::Loop(directives) => loop {
                self.play(directives).await?;
                // A list that never waits must not keep signals from being seen.
                tokio::task::yield_now().await;
            },
            Directive::IgnoreSignals => ignore_signals(),
            Directive::Spawn(command) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                shell.spawn().context("start the command")?;
                Ok(())
            }
        }
    }

    async fn expect(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<()> {
        loop {
            let message = self.next().await?;
            if wanted(&message) {
                self.remembered = message;
                return Ok(());
            }
            self.handle(message).await?;
        }
    }

    async fn handle(&mut self, message: Value) -> Result<()> {
        let Some(method) = message["method"].as_str() else { return Ok(()) };
        if let Some(directives) = self.handlers.get(method).cloned() {
            let before = std::mem::replace(&mut self.remembered, message);
            self.play(&directives).await?;
            self.remembered = before;
        } else if let Some(id) = message.get("id") {
            let error = format!("Invalid request: unknown variant `{method}`, expected one of …");
            let refusal = json!({ "id": id, "error": { "code": -32600, "message": error } });
            self.link.feed(refusal.to_string()).await?;
        }
        self.link.flush().await
    }

    /// Waits for any message and logs it; the process ends when no client can come any more.
    async fn next(&mut self) -> Result<Value> {
        self.link.flush().await?;
        let Some(text) = self.link.next().await? else { std::process::exit(0) };
        let message = serde_json::from_str(&text).unwrap_or(Value::String(text));
        if let Some(log) = &mut self.log {
            // One write a line: several processes may share the log.
            log.write_all(format!("{message}\n").as_bytes()).context("write SCRIPTED_LOG")?;
        }
        Ok(message)
    }

    async fn send(&mut self, message: &Value) -> Result<()> {
        self.link.feed(fill(message, &self.remembered).to_string()).await
    }

    async fn repeat(&mut self, message: &Value, times: u64) -> Result<()> {
        let text = fill(message, &self.remembered).to_string();
        let pieces: Vec<&str> = text.split("$n").collect();
        for count in 0..times {
            self.link.feed(pieces.join(&count.to_string())).await?;
        }
        Ok(())
    }
}

/// A valid notification of exactly `size` bytes, or the shortest there is.
fn huge(size: usize) -> Vec<u8> {
    let (head, tail) = (&br#"{"method":"scripted/huge","params":{"text":""#[..], &br#""}}"#[..]);
    let filling = vec![b'x'; size.saturating_sub(head.len() + tail.len())];
    [head, &filling, tail].concat()
}

fn ignore_signals() -> Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind).context("take over a signal")?;
        tokio::spawn(async move { while signals.recv().await.is_some() {} });
    }
    Ok(())
}
