//! A person's own command that the engine runs: its output as a stream.
//!
//! Unlike a conversation it is not resumed: the command ends with the connection, so one that breaks is an error.

use std::path::Path;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use talaria_core::api::ShellNews;

use super::ClientError;
use super::wire::{self, Connection, Question};
use crate::sse::Decoder;

/// The longest piece that is read.
const PIECE_LIMIT: usize = 64 * 1024 * 1024;
/// The server sends something every 15 seconds; after this long without anything it is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// How long the engine may take to begin: it may have to start Codex.
const BEGIN: Duration = Duration::from_secs(60);

/// A command that runs. Dropping this ends it, with everything that it started.
#[derive(Debug)]
pub struct ShellRun {
    stream: Option<(Incoming, Connection)>,
    decoder: Decoder,
}

impl ShellRun {
    pub(super) async fn start(socket: &Path, question: &Question) -> Result<Self, ClientError> {
        let asked = tokio::time::timeout(BEGIN, wire::ask(socket, question)).await;
        let late = |_| ClientError::Broken("the command was not begun in time".to_owned());
        let (response, connection) = asked.map_err(late)??;
        Ok(Self { stream: Some((response.into_body(), connection)), decoder: Decoder::new(PIECE_LIMIT) })
    }

    /// Returns what happens next, waiting for it; after the end, or after an error, nothing. The end is always reported: a
    /// stream that breaks off before it is an error.
    ///
    /// Nothing is lost when this is cancelled.
    pub async fn next(&mut self) -> Option<Result<ShellNews, ClientError>> {
        loop {
            self.stream.as_ref()?;
            let step = self.step().await;
            if !matches!(step, Ok(None | Some(ShellNews::Output { .. } | ShellNews::Cut { .. }))) {
                self.stream = None;
            }
            if let Some(news) = step.transpose() {
                return Some(news);
            }
        }
    }

    async fn step(&mut self) -> Result<Option<ShellNews>, ClientError> {
        if let Some(message) = self.decoder.next_message() {
            let news = serde_json::from_str(&message.data);
            return news
                .map(Some)
                .map_err(|error| ClientError::Broken(format!("its answer is not understood: {error}")));
        }
        let Some((body, _)) = &mut self.stream else { return Ok(None) };
        match tokio::time::timeout(SILENCE, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.decoder.feed(data).map_err(|error| ClientError::Broken(error.to_string()))?;
                }
                Ok(None)
            }
            Ok(None | Some(Err(_))) | Err(_) => {
                Err(ClientError::Broken("the engine ended, and the command with it".to_owned()))
            }
        }
    }
}
