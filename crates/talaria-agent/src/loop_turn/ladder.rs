//! The models that may answer in a turn: the one that the person chose, and those that take over when it fails.
//!
//! Pure. A model that failed rests until the time that its provider names; the chosen one is asked again from then on, in the middle of
//! a turn, too. The machine changes its setup when the ladder says so.

use crate::encode::RequestOmissions;
use crate::history::ModelIssuer;
use crate::profile::ProviderProfile;

/// How often a turn returns to the chosen model: each change begins a new prefix.
const MOST_RETURNS: u32 = 3;

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct ModelRoute {
    /// Its provider.
    pub profile: ProviderProfile,
    /// Endpoint and account.
    pub issuer: ModelIssuer,
    /// The model.
    pub model: String,
    /// What the provider is known to refuse.
    pub omissions: RequestOmissions,
    /// It is not asked before this time, in seconds since 1970, as long as another one can answer.
    pub rests_until: Option<i64>,
}

impl ModelRoute {
    /// Its name for people and in events: `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.profile.name, self.model)
    }

    fn rests(&self, now: i64) -> bool {
        self.rests_until.is_some_and(|until| until > now)
    }
}

/// Another model answers from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChange {
    /// The place of the model that answered, in the order of the ladder; 0 is the chosen one.
    pub left: usize,
    /// Its name.
    pub from: String,
    /// The name of the model that answers now.
    pub to: String,
    /// Why.
    pub why: String,
    /// When the model that was left may work again, in seconds since 1970, if that is known.
    pub until: Option<i64>,
}

/// What an earlier engine left: the model that answered last, if it was not the chosen one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftModel {
    /// Its name.
    pub name: String,
    /// Until when the chosen one rests.
    pub until: Option<i64>,
}

#[derive(Debug)]
pub(super) struct ModelLadder {
    routes: Vec<ModelRoute>,
    current: usize,
    returns: u32,
    has_asked: bool,
}

impl ModelLadder {
    pub(super) fn new(chosen: ModelRoute, fallbacks: Vec<ModelRoute>) -> Self {
        let mut routes = vec![chosen];
        routes.extend(fallbacks);
        Self { routes, current: 0, returns: 0, has_asked: false }
    }

    /// Takes the place that an earlier engine had.
    pub(super) fn resume(&mut self, left: &LeftModel) {
        let Some(place) = self.routes.iter().position(|route| route.name() == left.name) else { return };
        if place > 0 {
            self.routes[0].rests_until = left.until.max(self.routes[0].rests_until);
            self.current = place;
        }
    }

    pub(super) fn current(&self) -> usize {
        self.current
    }

    pub(super) fn route(&self) -> &ModelRoute {
        &self.routes[self.current]
    }

    /// Is there another model after this one?
    pub(super) fn has_next(&self) -> bool {
        self.current + 1 < self.routes.len()
    }

    /// Looks, before a request, whether another model is to be asked: the chosen one rests, or its time has come.
    pub(super) fn before_request(&mut self, now: i64) -> Option<ModelChange> {
        let is_first = !std::mem::replace(&mut self.has_asked, true);
        let until = self.routes[0].rests_until?;
        if self.current == 0 {
            // If all of them rest, the chosen one is asked.
            let place = self.routes.iter().position(|route| !route.rests(now)).filter(|_| is_first)?;
            let why = "its provider asked for a pause until then".to_owned();
            return (place > 0).then(|| self.change(place, why, Some(until)));
        }
        if until > now || self.returns >= MOST_RETURNS {
            return None;
        }
        self.returns += 1;
        self.routes[0].rests_until = None;
        Some(self.change(0, "the time that its provider named is over".to_owned(), None))
    }

    /// Leaves a model that failed.
    pub(super) fn fall_back(&mut self, why: String, until: Option<i64>, now: i64) -> ModelChange {
        let until = until.filter(|until| *until > now);
        self.routes[self.current].rests_until = until;
        let after = self.current + 1;
        let free = self.routes.iter().skip(after).position(|route| !route.rests(now));
        let place = free.map_or(after, |at| after + at).min(self.routes.len() - 1);
        self.change(place, why, until)
    }

    /// Remembers what the provider of the current model refuses.
    pub(super) fn learn(&mut self, parameter: &str) {
        let parameters = &mut self.routes[self.current].omissions.parameters;
        if !parameters.iter().any(|known| known == parameter) {
            parameters.push(parameter.to_owned());
        }
    }

    fn change(&mut self, place: usize, why: String, until: Option<i64>) -> ModelChange {
        let (left, from) = (self.current, self.route().name());
        self.current = place;
        ModelChange { left, from, to: self.route().name(), why, until }
    }
}
