//! Model and effort: requested values, and those that Codex reports as in force.
//!
//! Only Codex's report counts. Newer versions report every change (`thread/settings/updated`, before the response to
//! `turn/start`); older ones report nothing, but write the settings of each turn into the rollout file, which is read
//! then. A value without evidence until the turn ends is reported as unknown.

use std::time::Duration;

use super::{ModelSettings, Moment, Output, Phase, Turn};
use crate::wire::notification::ThreadSettings;
use talaria_core::event::Event;
use talaria_core::outcome::Outcome;

/// How long after its end a turn waits for what its file says.
pub(super) const FILE_LIMIT: Duration = Duration::from_secs(2);

/// Where a Codex says what is in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToldBy {
    /// By a notification.
    #[default]
    Notice,
    /// In the file of the conversation.
    File,
}

/// The values in force when a turn is requested, and the differing ones that it requests.
#[derive(Clone, Debug, Default)]
pub struct Choosing {
    /// The values in force.
    pub in_force: ModelSettings,
    /// Requested values that are not in force yet; empty once Codex reported the values in force.
    pub wanted: ModelSettings,
    /// Where Codex says what is.
    pub told_by: ToldBy,
}

impl Choosing {
    /// The values to request, given the choice and the values in force.
    pub fn new(wished: ModelSettings, in_force: ModelSettings, told_by: ToldBy) -> Self {
        let wanted = ModelSettings {
            model: wished.model.filter(|model| in_force.model.as_ref() != Some(model)),
            effort: wished.effort.filter(|effort| in_force.effort.as_ref() != Some(effort)),
        };
        Self { in_force, wanted, told_by }
    }
}

impl Turn {
    /// Codex has the turn: its settings can be read from the file, if Codex does not report them.
    pub(super) fn look_up_settings(&mut self) {
        let choosing = &self.order.choosing;
        if choosing.told_by == ToldBy::File && !choosing.wanted.is_empty() {
            self.is_looking_up = true;
            self.outputs.push_back(Output::LookUpSettings);
        }
    }

    /// Takes what the file of the conversation says, if it says anything.
    pub(super) fn take_settings(&mut self, now: Moment, found: Option<ModelSettings>) {
        if !std::mem::take(&mut self.is_looking_up) {
            return;
        }
        if let Some(found) = found {
            self.confirm(found);
        }
        if let Phase::Ending { waits, .. } = &mut self.phase {
            waits.settings = None;
            self.finish_when_nothing_is_awaited(now);
        }
    }

    pub(super) fn confirm_settings(&mut self, settings: &ThreadSettings) {
        self.confirm(ModelSettings { model: Some(settings.model.clone()), effort: settings.effort.clone() });
    }

    /// Codex says what is in force.
    fn confirm(&mut self, told: ModelSettings) {
        let wanted = std::mem::take(&mut self.order.choosing.wanted);
        let is_news = told != self.order.choosing.in_force || !wanted.is_empty();
        self.context.is_model_new |= told.model != self.order.choosing.in_force.model;
        if let (true, Some(model)) = (is_news, told.model.clone()) {
            self.emit(Event::SettingsConfirmed { model, effort: told.effort.clone() });
        }
        for (what, wanted, told) in
            [("model", &wanted.model, &told.model), ("effort", &wanted.effort, &told.effort)]
        {
            if let Some(wanted) = wanted
                && told.as_ref() != Some(wanted)
            {
                let told = told.as_deref().unwrap_or("none");
                let message =
                    format!("{what} {wanted} was asked for, and Codex says that {told} is in force");
                self.emit(Event::Warning { message });
            }
        }
        self.order.choosing.in_force = told;
    }

    /// Says what was asked for and is neither confirmed nor denied.
    pub(super) fn tell_unconfirmed(&mut self, outcome: &Outcome) {
        let wanted = std::mem::take(&mut self.order.choosing.wanted);
        if wanted.is_empty() || self.id.is_none() || matches!(outcome, Outcome::Lost { .. }) {
            return;
        }
        let model = wanted.model.map(|model| format!("model {model}"));
        let effort = wanted.effort.map(|effort| format!("effort {effort}"));
        let asked: Vec<String> = model.into_iter().chain(effort).collect();
        let message = format!("Codex did not say whether {} is in force", asked.join(", "));
        self.emit(Event::Warning { message });
    }
}
