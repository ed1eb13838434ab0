//! Source of another host for a conversation whose host ended: the pool, or a new private process.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::host::{Host, HostError};
use super::spec::HostSpec;

/// Provides hosts for conversations.
pub trait HostSource: fmt::Debug + Send + Sync {
    /// The kind of host that it provides.
    fn spec(&self) -> &HostSpec;

    /// A living host that takes a conversation.
    fn host(&self) -> BoxFuture<'_, Result<Arc<Host>, HostError>>;

    /// Takes back a host on which the conversation could not be opened.
    fn give_back(&self, host: Arc<Host>) -> BoxFuture<'_, ()>;
}

/// A private host each time: for tests, and for a conversation that is alone.
impl HostSource for HostSpec {
    fn spec(&self) -> &HostSpec {
        self
    }

    fn host(&self) -> BoxFuture<'_, Result<Arc<Host>, HostError>> {
        async { Host::start(self.clone()).await.map(Arc::new) }.boxed()
    }

    fn give_back(&self, host: Arc<Host>) -> BoxFuture<'_, ()> {
        async move { host.close().await }.boxed()
    }
}
