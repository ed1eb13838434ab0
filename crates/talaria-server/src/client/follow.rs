//! The events of a conversation as they come, also across restarts of the engine: no gap, no repeat.
//!
//! The number of the last event that was given out is all that is needed to continue. When the connection ends it is made
//! again from there, first by waiting for the engine to come back (it may just be replaced by a newer one), then by
//! starting it, if the client may do that. The attempts are bounded; whatever arrives renews them.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use talaria_core::api::Numbered;
use talaria_core::backoff::Backoff;
use talaria_home::clock::chance;
use tokio::sync::watch;

use super::wire::{self, Connection, Question};
use super::{Client, ClientError, event};
use crate::route;
use crate::sse::Decoder;

/// The longest event that is read.
const EVENT_LIMIT: usize = 256 * 1024 * 1024;
/// The server sends something every 15 seconds; after this long without anything it is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// How long the engine may take to begin an answer.
const BEGIN: Duration = Duration::from_secs(60);
/// The pauses between attempts.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
/// This many attempts only wait for the engine to come back, about a second and a half.
const PATIENT: u32 = 7;
/// After this many attempts without any sign of life it is given up.
const ATTEMPTS: u32 = 12;

/// The events of one conversation.
#[derive(Debug)]
pub struct Follow {
    client: Client,
    id: String,
    last: i64,
    stream: Option<(Incoming, Connection)>,
    decoder: Decoder,
    attempts: u32,
    over: bool,
    connected: watch::Sender<bool>,
}

impl Follow {
    pub(super) async fn start(client: &Client, id: &str, after: i64) -> Result<Self, ClientError> {
        let mut follow = Self {
            client: client.clone(),
            id: id.to_owned(),
            last: after,
            stream: None,
            decoder: Decoder::new(EVENT_LIMIT),
            attempts: 0,
            over: false,
            connected: watch::Sender::new(true),
        };
        match follow.connect().await {
            // An engine that dies takes what was just asked with it, and nothing was changed by asking.
            Err(ClientError::Broken(_)) => follow.reconnect().await?,
            result => result?,
        }
        Ok(follow)
    }

    /// Returns the next event, waiting for it. After an error there is nothing more.
    ///
    /// Nothing is lost when this is cancelled.
    pub async fn next(&mut self) -> Option<Result<Numbered, ClientError>> {
        while !self.over {
            match self.step().await {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(error) => {
                    self.over = true;
                    self.stream = None;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// The number of the last event that was given out.
    pub fn last_seq(&self) -> i64 {
        self.last
    }

    /// Reports when the engine becomes unavailable or available: a waiting person should see why.
    pub fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }

    async fn step(&mut self) -> Result<Option<Numbered>, ClientError> {
        if let Some(message) = self.decoder.next_message() {
            let event =
                event::read(&message.data).map_err(|error| not_understood(message.id.as_deref(), &error))?;
            if event.seq <= self.last {
                return Ok(None);
            }
            self.last = event.seq;
            return Ok(Some(event));
        }
        let Some((body, _)) = &mut self.stream else {
            self.reconnect().await?;
            return Ok(None);
        };
        match tokio::time::timeout(SILENCE, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                self.attempts = 0;
                if let Some(data) = frame.data_ref() {
                    let fed = self.decoder.feed(data);
                    fed.map_err(|error| ClientError::Broken(error.to_string()))?;
                }
            }
            // The engine ended the stream because it ends, or it is gone.
            Ok(None | Some(Err(_))) | Err(_) => {
                self.stream = None;
                self.connected.send_replace(false);
            }
        }
        Ok(None)
    }

    async fn reconnect(&mut self) -> Result<(), ClientError> {
        // Not waited for: the client that stopped it was answered before the stream ended.
        self.client.respect_rest()?;
        loop {
            // Counted before the first wait, so that a cancelled attempt counts too.
            self.attempts += 1;
            tokio::time::sleep(pause(self.attempts)).await;
            if self.attempts > PATIENT {
                match self.client.revive().await {
                    // Someone else may start one, for something else.
                    Err(ClientError::Stopped) if self.attempts < ATTEMPTS => {}
                    result => result?,
                }
            }
            match self.connect().await {
                Err(error) if error.is_passing() && self.attempts < ATTEMPTS => {}
                result => return result,
            }
        }
    }

    async fn connect(&mut self) -> Result<(), ClientError> {
        let last_event = Some(self.last);
        let principal = self.client.principal.clone();
        let question = Question { last_event, principal, ..Question::get(route::FOLLOW.with(&self.id)) };
        let asked = tokio::time::timeout(BEGIN, wire::ask(self.client.socket(), &question)).await;
        let late = |_| ClientError::Broken("no answer in time".to_owned());
        let (response, connection) = asked.map_err(late)??;
        // An incomplete message is sent again.
        self.decoder = Decoder::new(EVENT_LIMIT);
        self.stream = Some((response.into_body(), connection));
        self.connected.send_replace(true);
        Ok(())
    }
}

fn not_understood(id: Option<&str>, error: &serde_json::Error) -> ClientError {
    ClientError::Broken(format!("event {} is not understood: {error}", id.unwrap_or("without a number")))
}

/// How long to wait before this attempt: at once, then ever longer, with a bit of chance in it so that many commands do
/// not come back at the same moment.
fn pause(attempt: u32) -> Duration {
    if attempt <= 1 {
        return Duration::ZERO;
    }
    BACKOFF.spread_pause(attempt - 2, 0.25, chance())
}
