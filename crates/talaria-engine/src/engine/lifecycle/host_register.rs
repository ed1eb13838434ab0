//! Writes the life of hosts into the store, before each step is taken.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use talaria_guard::redact::redact;
use talaria_store::{HostProcess, NewHost, Store};

use talaria_codex::host_register::{HostIntent, HostRecord, HostRegister, RegisterError, StartedProcess};
use talaria_home::clock::now_ms;

/// The store as the register of hosts.
#[derive(Debug)]
pub(crate) struct StoredHosts(pub(crate) Store);

impl HostRegister for StoredHosts {
    fn intend<'a>(&'a self, intent: &'a HostIntent) -> BoxFuture<'a, Result<(), RegisterError>> {
        async move {
            let host = NewHost {
                nonce: intent.nonce.clone(),
                socket: intent.socket.to_string_lossy().into_owned(),
                dir: intent.directory.to_string_lossy().into_owned(),
                version: intent.key.version.clone(),
                codex_home: intent.key.codex_home.as_ref().map(|home| home.to_string_lossy().into_owned()),
                key: serde_json::to_string(&intent.key).map_err(|error| RegisterError(error.to_string()))?,
                created_at: now_ms(),
            };
            self.0.intend_host(host).await.map_err(|error| RegisterError(error.to_string()))
        }
        .boxed()
    }

    fn complete<'a>(
        &'a self,
        nonce: &'a str,
        birth: &'a StartedProcess,
    ) -> BoxFuture<'a, Result<(), RegisterError>> {
        async move {
            let StartedProcess { pid, started, boot } = birth.clone();
            let process = HostProcess { pid, started, boot };
            self.0.complete_host(nonce, process).await.map_err(|error| RegisterError(error.to_string()))
        }
        .boxed()
    }

    fn ended<'a>(&'a self, nonce: &'a str, why: &'a str) -> BoxFuture<'a, ()> {
        async move {
            // The reason may quote what Codex said.
            if let Err(error) = self.0.end_host(nonce, &redact(why), now_ms()).await {
                tracing::warn!("the end of the host {nonce} could not be recorded: {error}");
            }
        }
        .boxed()
    }
}

/// The record of a host; `None` if it can no longer be read.
pub(crate) fn record(host: &talaria_store::HostRow) -> Option<HostRecord> {
    let intent = HostIntent {
        nonce: host.nonce.clone(),
        directory: host.dir.clone().into(),
        socket: host.socket.clone().into(),
        key: serde_json::from_str(&host.key).ok()?,
    };
    let birth = host.process.clone().map(|process| StartedProcess {
        pid: process.pid,
        started: process.started,
        boot: process.boot,
    });
    Some(HostRecord { intent, birth })
}
