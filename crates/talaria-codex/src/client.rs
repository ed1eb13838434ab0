//! Requests to Codex: at most 64 in flight, each with a time limit, overload retried.
//!
//! Past about 128 requests in flight Codex drops some without an answer, hence the bound; without a time limit a
//! dropped request would hang. Only a refusal with `-32001` is retried: it says that the request was not processed.
//! Cancelling a call forgets it; a late response is ignored.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use talaria_codex_proto::wire::call::Call;
use talaria_codex_proto::wire::rpc_error::RpcError;
use talaria_core::backoff::Backoff;
use talaria_core::ids::RequestId;
use talaria_home::clock::chance;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::permit::SendPermit;

/// How many requests may wait for their answer at once.
const IN_FLIGHT: usize = 64;
/// How often a request is retried when the server is overloaded.
const RETRIES: u32 = 6;
/// The pauses before asking again.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));

/// Why a request got no usable response.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Codex said no.
    #[error("Codex refused {method}: {error}")]
    Refused {
        /// The method.
        method: &'static str,
        /// Its reason.
        error: RpcError,
    },
    /// Codex did not answer.
    #[error("Codex did not answer {method} within {} s", limit.as_secs())]
    TimedOut {
        /// The method.
        method: &'static str,
        /// How long we waited.
        limit: Duration,
    },
    /// Codex is gone.
    #[error("{why}")]
    Gone {
        /// What happened.
        why: String,
    },
    /// The answer, or our own request, does not have the expected shape.
    #[error("Codex's answer to {method} is not understood: {error}")]
    Shape {
        /// The method.
        method: &'static str,
        /// The decoding error.
        error: serde_json::Error,
    },
}

type Answer = Result<Box<RawValue>, RpcError>;

/// A message on its way to the writer.
#[derive(Debug)]
pub(crate) struct Outbound {
    pub(crate) text: String,
    /// The permit to redeem before the message is written, and the request that fails if it cannot be redeemed.
    pub(crate) permit: Option<(SendPermit, RequestId)>,
    /// The point of the write, for tests that stop there.
    pub(crate) point: Option<&'static str>,
}

/// Our side of one connection.
#[derive(Debug)]
pub(crate) struct Client {
    next_id: AtomicI64,
    waiting: Mutex<Waiting>,
    /// Unbounded in type, bounded by use: at most 64 requests, and one answer for each request of Codex.
    outgoing: mpsc::UnboundedSender<Outbound>,
    in_flight: Semaphore,
}

#[derive(Debug, Default)]
struct Waiting {
    calls: HashMap<i64, oneshot::Sender<Answer>>,
    gone: Option<String>,
}

#[derive(Serialize)]
struct Envelope<'a, P> {
    id: i64,
    method: &'a str,
    params: &'a P,
}

impl Client {
    /// Makes a client that writes messages to `outgoing`.
    pub(crate) fn new(outgoing: mpsc::UnboundedSender<Outbound>) -> Self {
        let waiting = Mutex::default();
        Self { next_id: AtomicI64::new(1), waiting, outgoing, in_flight: Semaphore::new(IN_FLIGHT) }
    }

    /// Sends a request and waits for the answer.
    pub(crate) async fn call<C: Call>(&self, params: &C, limit: Duration) -> Result<C::Reply, CallError> {
        self.call_permitted(params, limit, None).await
    }

    /// The same for a request that may be written only by the engine that redeems the permit; without one it is an
    /// ordinary call.
    pub(crate) async fn call_permitted<C: Call>(
        &self,
        params: &C,
        limit: Duration,
        permit: Option<SendPermit>,
    ) -> Result<C::Reply, CallError> {
        let attempts = self.call_until_heard(params, permit);
        let answer = match tokio::time::timeout(limit, attempts).await {
            Ok(answer) => answer?,
            Err(_) => return Err(CallError::TimedOut { method: C::METHOD, limit }),
        };
        serde_json::from_str(answer.get()).map_err(|error| CallError::Shape { method: C::METHOD, error })
    }

    /// Sends a request and waits for the response without a time limit: the caller ends what it started.
    pub(crate) async fn call_without_limit<C: Call>(&self, params: &C) -> Result<C::Reply, CallError> {
        let answer = self.call_until_heard(params, None).await?;
        serde_json::from_str(answer.get()).map_err(|error| CallError::Shape { method: C::METHOD, error })
    }

    /// Sends a request that `cancel` ends: it is sent when this is dropped, or times out, before the response.
    pub(crate) async fn call_cancellable<C: Call, X: Call>(
        &self,
        params: &C,
        limit: Duration,
        cancel: impl Fn(RequestId) -> X,
    ) -> Result<C::Reply, CallError> {
        // The id of the call is the next one or, with concurrent calls, a later one: it is known when the call is sent.
        let sent = Mutex::new(None);
        let mut guard = CancelGuard { client: self, sent: &sent, cancel, is_answered: false };
        let answer = tokio::time::timeout(
            limit,
            self.call_with(params, None, |id| {
                *sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
            }),
        )
        .await;
        let Ok(answer) = answer else { return Err(CallError::TimedOut { method: C::METHOD, limit }) };
        guard.is_answered = true;
        let answer = answer?.map_err(|error| CallError::Refused { method: C::METHOD, error })?;
        serde_json::from_str(answer.get()).map_err(|error| CallError::Shape { method: C::METHOD, error })
    }

    /// Sends a request and accepts any response: a refusal proves that Codex is alive too.
    pub(crate) async fn is_heard<C: Call>(&self, params: &C, limit: Duration) -> Result<(), CallError> {
        match tokio::time::timeout(limit, self.call_once(params, None)).await {
            Ok(answer) => answer.map(drop),
            Err(_) => Err(CallError::TimedOut { method: C::METHOD, limit }),
        }
    }

    async fn call_until_heard<C: Call>(
        &self,
        params: &C,
        mut permit: Option<SendPermit>,
    ) -> Result<Box<RawValue>, CallError> {
        let mut retries = 0;
        loop {
            match self.call_once(params, permit.take()).await? {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_overload() && retries < RETRIES => {
                    tokio::time::sleep(pause(retries)).await;
                    retries += 1;
                }
                Err(error) => return Err(CallError::Refused { method: C::METHOD, error }),
            }
        }
    }

    async fn call_once<C: Call>(&self, params: &C, permit: Option<SendPermit>) -> Result<Answer, CallError> {
        self.call_with(params, permit, |_| ()).await
    }

    async fn call_with<C: Call>(
        &self,
        params: &C,
        permit: Option<SendPermit>,
        sent: impl FnOnce(i64),
    ) -> Result<Answer, CallError> {
        let slot = self.in_flight.acquire().await;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let envelope = Envelope { id, method: C::METHOD, params };
        let text = serde_json::to_string(&envelope)
            .map_err(|error| CallError::Shape { method: C::METHOD, error })?;
        let (sender, receiver) = oneshot::channel();
        {
            let mut waiting = self.lock();
            if let Some(why) = &waiting.gone {
                return Err(CallError::Gone { why: why.clone() });
            }
            waiting.calls.insert(id, sender);
        }
        let _forget = Forget { client: self, id };
        let permit = permit.map(|permit| (permit, RequestId::Number(id)));
        let answer = match self.outgoing.send(Outbound { text, permit, point: None }) {
            Ok(()) => {
                sent(id);
                receiver.await.ok()
            }
            Err(_) => None,
        };
        drop(slot);
        answer.ok_or_else(|| CallError::Gone { why: self.why_gone() })
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str) {
        self.send(&serde_json::json!({ "method": method }), None);
    }

    /// Answers a request of Codex.
    pub(crate) fn respond(&self, id: &RequestId, result: &Value) {
        self.send(&serde_json::json!({ "id": id, "result": result }), None);
    }

    /// Sends a response whose write is a point for tests that stop there.
    pub(crate) fn respond_at(&self, point: &'static str, id: &RequestId, result: &Value) {
        self.send(&serde_json::json!({ "id": id, "result": result }), Some(point));
    }

    /// Refuses a request of Codex, with the reason.
    pub(crate) fn refuse(&self, id: &RequestId, error: &RpcError) {
        let error = serde_json::json!({ "code": error.code, "message": error.message });
        self.send(&serde_json::json!({ "id": id, "error": error }), None);
    }

    /// A failed send can be ignored: every session gets the end of the connection.
    fn send(&self, message: &Value, point: Option<&'static str>) {
        let _ = self.outgoing.send(Outbound { text: message.to_string(), permit: None, point });
    }

    /// Delivers a response to the call that waits for it.
    pub(crate) fn resolve(&self, id: &RequestId, answer: Answer) {
        let RequestId::Number(id) = id else { return };
        if let Some(sender) = self.lock().calls.remove(id) {
            let _ = sender.send(answer);
        }
    }

    /// Fails all pending and future calls.
    pub(crate) fn fail_all(&self, why: &str) {
        let mut waiting = self.lock();
        waiting.gone.get_or_insert_with(|| why.to_owned());
        waiting.calls.clear();
    }

    fn why_gone(&self) -> String {
        self.lock().gone.clone().unwrap_or_else(|| "the connection to Codex closed".to_owned())
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the request that ends another one, unless that has its response.
struct CancelGuard<'a, X: Call, F: Fn(RequestId) -> X> {
    client: &'a Client,
    sent: &'a Mutex<Option<i64>>,
    cancel: F,
    is_answered: bool,
}

impl<X: Call, F: Fn(RequestId) -> X> Drop for CancelGuard<'_, X, F> {
    fn drop(&mut self) {
        let sent = *self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sent) = sent.filter(|_| !self.is_answered) else { return };
        let id = self.client.next_id.fetch_add(1, Ordering::Relaxed);
        let params = (self.cancel)(RequestId::Number(sent));
        let envelope = Envelope { id, method: X::METHOD, params: &params };
        if let Ok(text) = serde_json::to_string(&envelope) {
            // The response is of no interest, and none waits for it.
            let _ = self.client.outgoing.send(Outbound { text, permit: None, point: None });
        }
    }
}

/// Forgets a call that is no longer waited for.
struct Forget<'a> {
    client: &'a Client,
    id: i64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.client.lock().calls.remove(&self.id);
    }
}

/// The backoff before a retry of an overloaded server, with jitter over half of it so that many callers do not retry at once.
pub fn pause(retries: u32) -> Duration {
    BACKOFF.spread_pause(retries, 0.5, chance())
}
