//! Hosts of a pool as the source of hosts for conversations.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::HostPool;
use crate::host::{Host, HostError};
use crate::source::HostSource;
use crate::spec::HostSpec;

/// Hosts of a pool, all of one kind.
#[derive(Clone, Debug)]
pub struct PooledHosts {
    hosts: HostPool,
    spec: HostSpec,
}

impl PooledHosts {
    /// Takes hosts of this kind from the pool.
    pub fn new(hosts: HostPool, spec: HostSpec) -> Self {
        Self { hosts, spec }
    }
}

impl HostSource for PooledHosts {
    fn spec(&self) -> &HostSpec {
        &self.spec
    }

    fn host(&self) -> BoxFuture<'_, Result<Arc<Host>, HostError>> {
        self.hosts.get(&self.spec).boxed()
    }

    /// Other conversations may use it; without any it ends after its idle time.
    fn give_back(&self, host: Arc<Host>) -> BoxFuture<'_, ()> {
        drop(host);
        std::future::ready(()).boxed()
    }
}
