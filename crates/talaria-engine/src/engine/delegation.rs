//! Delegated tasks: background tasks that the model of a conversation started. `starting` bounds and starts them, `delivery`
//! sees to it that the parent gets each result once, `pages` are the words.
//!
//! A task belongs to its parent by a row that is written with it (`talaria_store::DelegationRow`). Its result is owed from its
//! end on, and is delivered when a call of the parent returned it or when it was part of the input of the parent's next turn.
//! Called by the tool `talaria_delegate`, the journal and the task of a session.

mod delivery;
pub(crate) mod pages;
mod starting;

use std::sync::Arc;

use talaria_core::access::Identity;

use crate::engine::{Engine, Inner};

/// Instructions for one task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DelegatedGoal {
    pub(crate) goal: String,
    pub(crate) context: Option<String>,
    pub(crate) has_worktree: bool,
}

impl Inner {
    /// The engine as its owner uses it. The caller has checked the model's rights before.
    pub(crate) fn as_owner(self: &Arc<Self>) -> Engine {
        Engine { inner: Arc::clone(self), identity: Arc::new(Identity::owner(self.owner.clone())) }
    }
}
