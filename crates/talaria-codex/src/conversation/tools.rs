//! Running Talaria's tools in a conversation, and asking the user's hook about requests: the conversation knows neither, it is
//! constructed with a runner and a hook.
//!
//! A call runs concurrently with the turn; if the turn ends first, nothing awaits its outcome any more. A runner whose
//! calls change something must not depend on being waited for.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use talaria_core::hook::{HookVerdict, HookedCall};
use talaria_core::tool::{ToolInvocation, ToolOutcome};

/// A call of a tool while it runs.
pub type ToolWork = Pin<Box<dyn Future<Output = ToolOutcome> + Send>>;

/// Runs the calls of a conversation's tools. The default one has no tools.
#[derive(Clone)]
pub struct ToolRunner(Arc<dyn Fn(ToolInvocation) -> ToolWork + Send + Sync>);

impl ToolRunner {
    /// Runs each call with this function.
    pub fn new(run: impl Fn(ToolInvocation) -> ToolWork + Send + Sync + 'static) -> Self {
        Self(Arc::new(run))
    }

    /// Runs a call when it is waited for, not before: one that panics must panic there.
    pub fn run(&self, call: ToolInvocation) -> ToolWork {
        let run = Arc::clone(&self.0);
        Box::pin(async move { run(call).await })
    }
}

impl Default for ToolRunner {
    fn default() -> Self {
        Self::new(|call| {
            Box::pin(
                async move { ToolOutcome::failed(&format!("this conversation has no tool {}", call.tool)) },
            )
        })
    }
}

impl fmt::Debug for ToolRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolRunner")
    }
}

/// The hook's answer while it is awaited.
pub type HookWork = Pin<Box<dyn Future<Output = HookVerdict> + Send>>;

/// Asks the user's hook about the requests of a conversation, before a person is asked.
#[derive(Clone)]
pub struct RequestHook(Arc<dyn Fn(HookedCall) -> HookWork + Send + Sync>);

impl RequestHook {
    /// Asks with this function.
    pub fn new(ask: impl Fn(HookedCall) -> HookWork + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Asks about a call.
    pub fn ask(&self, call: HookedCall) -> HookWork {
        let ask = Arc::clone(&self.0);
        Box::pin(async move { ask(call).await })
    }
}

impl fmt::Debug for RequestHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestHook")
    }
}
