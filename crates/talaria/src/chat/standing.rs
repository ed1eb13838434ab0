//! What Codex told of the conversation on the screen: what is in force, how full its context is, and how
//! much of the account's limits is used. Pure.

use talaria_core::event::{Event, RateLimits, Started};

/// What was reported so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    /// What is in force.
    pub(super) started: Option<Box<Started>>,
    /// Tokens in the context, and how many fit.
    pub(super) context: Option<(u64, u64)>,
    /// How much of the account's limits was used, as told since the conversation was opened.
    pub(super) limits: Option<Box<RateLimits>>,
}

impl Standing {
    /// Learns from an event.
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::SessionStarted(started) => self.started = Some(started.clone()),
            Event::SettingsConfirmed { model, effort } => {
                if let Some(started) = &mut self.started {
                    (started.model, started.effort) = (model.clone(), effort.clone());
                }
            }
            Event::UsageUpdated { context, window, .. } => {
                self.context = window.filter(|window| *window > 0).map(|window| (*context, window));
            }
            _ => {}
        }
    }

    /// Learns what only holds when it is reported.
    pub(super) fn take_live(&mut self, event: &Event) {
        if let Event::RateLimits(limits) = event {
            self.limits = Some(limits.clone());
        }
    }
}
