//! The connection of the attempt that runs: a task that sends the request and reports what arrives. Dropping it closes the
//! connection at once.

use std::sync::Arc;

use talaria_agent::attempt::WireNews;
use talaria_agent::profile::ProviderProfile;
use talaria_agent::rendered::RenderedRequest;
use talaria_agent::transport::{ApiKey, ModelEndpoint, ModelTransport, ProxySettings, TransportLimits};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::LoopProvider;
use super::dump::{AttemptDump, AttemptName};
use crate::engine::Inner;

/// How many pieces wait at most: a provider that is faster than the disk is slowed down.
const WAITING_PIECES: usize = 64;

/// Where requests go.
pub(super) struct LoopEndpoint {
    pub(super) profile: ProviderProfile,
    pub(super) key: Option<ApiKey>,
    pub(super) proxies: ProxySettings,
    /// Where the exchange is written for diagnosis, if it is.
    pub(super) dump: Option<AttemptDump>,
}

impl LoopEndpoint {
    /// The endpoint of a provider, by the proxies of the caller's environment.
    pub(super) fn new(
        engine: &Inner,
        provider: &LoopProvider,
        key: Option<ApiKey>,
        name: AttemptName<'_>,
    ) -> Self {
        let surroundings = &provider.surroundings;
        let proxies = ProxySettings::from_variables(|name| {
            surroundings.variable(name).and_then(|value| value.into_string().ok())
        });
        let dump = engine.debug_requests.as_deref().map(|directory| AttemptDump::new(directory, name));
        Self { profile: provider.found.profile.clone(), key, proxies, dump }
    }
}

/// One attempt on the wire.
pub(super) struct WireFeed {
    attempt: u64,
    news: mpsc::Receiver<WireNews>,
    task: AbortOnDropHandle<()>,
}

impl WireFeed {
    /// Sends a request.
    pub(super) fn send(
        transport: Arc<ModelTransport>,
        endpoint: LoopEndpoint,
        request: RenderedRequest,
        attempt: u64,
    ) -> Self {
        let (sender, news) = mpsc::channel(WAITING_PIECES);
        let task = tokio::spawn(async move { exchange(&transport, endpoint, &request, &sender).await });
        Self { attempt, news, task: AbortOnDropHandle::new(task) }
    }

    pub(super) fn attempt(&self) -> u64 {
        self.attempt
    }

    /// The next thing that arrived; pending after the last one.
    pub(super) async fn next(&mut self) -> WireNews {
        match self.news.recv().await {
            Some(news) => news,
            None => std::future::pending().await,
        }
    }

    /// Lets the answer, which counts, end by itself, so that the connection serves the next request.
    pub(super) fn release(self) {
        let Self { news, task, .. } = self;
        drop(news);
        task.detach();
    }

    /// What has arrived already.
    pub(super) fn arrived(&mut self) -> Option<WireNews> {
        self.news.try_recv().ok()
    }
}

async fn exchange(
    transport: &ModelTransport,
    endpoint: LoopEndpoint,
    request: &RenderedRequest,
    news: &mpsc::Sender<WireNews>,
) {
    // A closed channel means that the attempt is over.
    let _ = news.send(WireNews::Connecting).await;
    let LoopEndpoint { profile, key, proxies, mut dump } = endpoint;
    if let Some(dump) = &dump {
        dump.request(&profile.base_url, request);
    }
    let to = ModelEndpoint {
        base_url: &profile.base_url,
        key: key.as_ref().map(|key| (key, profile.key_header)),
        proxies: &proxies,
        limits: TransportLimits::from(profile.limits),
    };
    let sending = news.clone();
    let response = transport
        .send(request, to, &mut || {
            // The channel has room: at most two pieces precede this one.
            let _ = sending.try_send(WireNews::Sent);
        })
        .await;
    let mut response = match response {
        Ok(response) => response,
        Err(error) => {
            if let Some(dump) = &mut dump {
                dump.end(&error.text);
            }
            let _ = news.send(WireNews::Broken(error.to_failure())).await;
            return;
        }
    };
    if let Some(dump) = &mut dump {
        dump.head(response.status, &response.headers);
    }
    let accepted =
        WireNews::Accepted { status: response.status, headers: std::mem::take(&mut response.headers) };
    let _ = news.send(accepted).await;
    loop {
        let piece = match response.body.next().await {
            Ok(Some(bytes)) => {
                if let Some(dump) = &mut dump {
                    dump.piece(&bytes);
                }
                WireNews::Bytes(bytes.to_vec())
            }
            Ok(None) => {
                let _ = news.send(WireNews::Eof).await;
                return;
            }
            Err(error) => {
                if let Some(dump) = &mut dump {
                    dump.end(&error.text);
                }
                WireNews::Broken(error.to_failure())
            }
        };
        let is_over = matches!(piece, WireNews::Broken(_));
        if news.send(piece).await.is_err() {
            // It is over, and what is left is short or of no use.
            return response.body.finish();
        }
        if is_over {
            return;
        }
    }
}
