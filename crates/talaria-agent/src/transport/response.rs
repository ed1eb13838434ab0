//! A response as it arrives: status and headers at once, the body piece by piece.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::error::{TransportCause, TransportError, TransportStage};
use super::key_mask::KeyMask;
use super::pool::{KeptConnection, PoolSlot};
use super::{ModelEndpoint, TransportLimits};

/// How much of a body may follow the part that its reader needed, if the connection is to be kept.
const TAIL_BYTES: usize = 64 * 1024;
const TAIL_TIME: std::time::Duration = std::time::Duration::from_secs(1);

/// A response whose head was read. Dropping it closes the connection.
#[derive(Debug)]
pub struct ModelResponse {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case. Values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: ModelBody,
}

impl ModelResponse {
    pub(super) fn new(
        response: Response<Incoming>,
        connection: KeptConnection,
        slot: PoolSlot,
        endpoint: &ModelEndpoint<'_>,
    ) -> Self {
        let status = response.status().as_u16();
        let mask = endpoint.key.and_then(|(key, _)| key.mask(status));
        let text = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
            let value = value.to_str().ok()?;
            let value = match endpoint.key {
                Some((key, _)) => key.hide_in(value, status),
                None => value.to_owned(),
            };
            Some((name.as_str().to_owned(), value))
        };
        let headers = response.headers().iter().filter_map(text).collect();
        let body = ModelBody {
            incoming: response.into_body(),
            kept: Some((connection, slot)),
            limits: endpoint.limits,
            mask,
            received: 0,
        };
        Self { status, headers, body }
    }

    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The body of a response. Dropping it closes the connection.
pub struct ModelBody {
    incoming: Incoming,
    /// Returned to the pool when the body was read to the end.
    kept: Option<(KeptConnection, PoolSlot)>,
    limits: TransportLimits,
    /// Takes the key out of what the peer writes.
    mask: Option<KeyMask>,
    received: u64,
}

impl ModelBody {
    /// Returns the next piece, or `None` at the end that HTTP marks. May be cancelled without losing a piece.
    pub async fn next(&mut self) -> Result<Option<Bytes>, TransportError> {
        loop {
            let cut = |cause, text| TransportError { stage: TransportStage::Body, cause, text };
            let frame = match timeout(self.limits.idle, self.incoming.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    self.kept = None;
                    return Err(TransportError::broken(TransportStage::Body, &error));
                }
                Ok(None) => {
                    if let Some((connection, slot)) = self.kept.take() {
                        slot.keep(connection);
                    }
                    let held = self.mask.as_mut().map(KeyMask::finish).unwrap_or_default();
                    return Ok((!held.is_empty()).then(|| Bytes::from(held)));
                }
                Err(_) => {
                    self.kept = None;
                    let seconds = self.limits.idle.as_secs_f32();
                    return Err(cut(
                        TransportCause::TimedOut,
                        format!("the server sent nothing for {seconds} s"),
                    ));
                }
            };
            let Ok(piece) = frame.into_data() else { continue };
            self.received += piece.len() as u64;
            if self.received > self.limits.bytes {
                self.kept = None;
                let text = format!("the response is longer than {} bytes", self.limits.bytes);
                return Err(cut(TransportCause::TooLarge, text));
            }
            let piece = match &mut self.mask {
                Some(mask) => Bytes::from(mask.cover(&piece)),
                None => piece,
            };
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
    }

    /// Reads the rest of a small body, such as that of an error; what is over `most` bytes, or lost, is left out.
    pub async fn read_text(mut self, most: usize) -> String {
        let mut bytes = Vec::new();
        while let Ok(Some(piece)) = self.next().await {
            bytes.extend_from_slice(&piece);
            if bytes.len() >= most {
                bytes.truncate(most);
                break;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Ends the reading after the event that ended the answer. The connection is kept if the body ends soon by itself,
    /// and closed otherwise; nothing waits for it.
    pub fn finish(mut self) {
        tokio::spawn(async move {
            let drain = async {
                let mut rest = TAIL_BYTES;
                while let Ok(Some(piece)) = self.next().await {
                    rest = match rest.checked_sub(piece.len()) {
                        Some(rest) => rest,
                        None => break,
                    };
                }
            };
            let _ = timeout(TAIL_TIME, drain).await;
        });
    }

    /// Bytes so far.
    pub fn received(&self) -> u64 {
        self.received
    }
}

impl std::fmt::Debug for ModelBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelBody").field("received", &self.received).finish_non_exhaustive()
    }
}
