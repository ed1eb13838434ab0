//! Codex's reports about the conversation on the screen: the settings in force, the use of its context, and the
//! account's rate limits. Pure.

use talaria_core::event::{Event, RateLimits, Started};

/// Reports so far.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedState {
    /// The settings in force.
    pub(super) started: Option<Box<Started>>,
    /// Tokens in the context, and how many fit.
    pub(super) context: Option<(u64, u64)>,
    /// Rate limits of the account, as reported since the conversation was opened.
    pub(super) limits: Option<Box<RateLimits>>,
}

impl ReportedState {
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

    /// Updates values that are valid only when reported live.
    pub(super) fn take_live(&mut self, event: &Event) {
        if let Event::RateLimits(limits) = event {
            self.limits = Some(limits.clone());
        }
    }
}
