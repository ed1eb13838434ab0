//! What the engine has learned about model providers since it started: the state of their keys, models that rest, parameters that
//! were refused. Shared by all conversations; in memory only, so that a new engine believes nothing that is no longer so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use talaria_agent::attempt::AttemptEnd;
use talaria_agent::key_pool::{KeyChoice, KeyHealth, KeyLedger, KeyRecord, PooledKey};
use talaria_agent::profile::KeyRules;
use talaria_agent::transport::ApiKey;
use talaria_core::api::{ProviderKeyInfo, ProviderKeyState};
use talaria_home::clock::now_ms;
use tokio::sync::watch;

/// Milliseconds in a second.
const SECOND: i64 = 1_000;

/// The health of providers, shared by all conversations.
#[derive(Default)]
pub(crate) struct ProviderHealth {
    learned: Mutex<LearnedHealth>,
    /// Changes when a key is free or new.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct LearnedHealth {
    keys: KeyLedger,
    /// Until when a model (`provider/model`) is not asked while another one can answer, in seconds since 1970.
    rests: HashMap<String, i64>,
    /// Parameters that an endpoint refuses for a model.
    refused: HashMap<(String, String), Vec<String>>,
}

/// A key that a request uses. The next request may have it when this is dropped.
pub(crate) struct KeyLease {
    health: Arc<ProviderHealth>,
    key: PooledKey,
}

impl KeyLease {
    pub(crate) fn key(&self) -> &ApiKey {
        &self.key.key
    }

    /// Which key it is, to keep it for the next request of the turn.
    pub(crate) fn pooled(&self) -> &PooledKey {
        &self.key
    }

    /// Records what the end of a request says about its key. Other requests may have the key afterwards.
    pub(crate) fn settle(self, end: &AttemptEnd, tokens: u64) {
        match end {
            AttemptEnd::Completed(_) | AttemptEnd::Incomplete(_) | AttemptEnd::Refused { .. } => {
                self.health.learned().keys.worked(&self.key, tokens);
            }
            AttemptEnd::Failed(failure) => self.health.learned().keys.failed(&self.key, failure, now()),
            AttemptEnd::Cut { .. } | AttemptEnd::Cancelled { .. } => {}
        }
    }
}

impl Drop for KeyLease {
    fn drop(&mut self) {
        self.health.learned().keys.release(&self.key);
        self.health.changed.send_replace(());
    }
}

/// A key for a request.
pub(crate) enum TakenKey {
    /// This one, and how many others may work.
    Leased(KeyLease, usize),
    /// All of them have as many requests as they may have.
    Busy,
}

impl ProviderHealth {
    /// Takes one of these keys, of which there is at least one.
    pub(crate) fn take(
        self: &Arc<Self>,
        keys: &[PooledKey],
        rules: KeyRules,
        kept: Option<&PooledKey>,
    ) -> TakenKey {
        match self.learned().keys.take(keys, rules, kept, now()) {
            KeyChoice::Use { place, spare } => {
                TakenKey::Leased(KeyLease { health: Arc::clone(self), key: keys[place].clone() }, spare)
            }
            KeyChoice::Busy | KeyChoice::None => TakenKey::Busy,
        }
    }

    /// A model is not asked before this time while another one can answer.
    pub(crate) fn rest(&self, model: &str, until: i64) {
        self.learned().rests.insert(model.to_owned(), until);
    }

    /// A model answered: it does not rest.
    pub(crate) fn answered(&self, model: &str) {
        self.learned().rests.remove(model);
    }

    /// Until when a model rests.
    pub(crate) fn rests_until(&self, model: &str) -> Option<i64> {
        self.learned().rests.get(model).copied().filter(|until| *until > now())
    }

    /// The models that rest, with the time.
    pub(crate) fn resting(&self) -> Vec<(String, Timestamp)> {
        let learned = self.learned();
        let rests = learned.rests.iter().filter(|(_, until)| **until > now());
        let mut all: Vec<(String, Timestamp)> =
            rests.filter_map(|(model, until)| Some((model.clone(), time(*until)?))).collect();
        all.sort();
        all
    }

    /// An endpoint refuses a parameter for a model.
    pub(crate) fn refuse(&self, base_url: &str, model: &str, parameter: String) {
        let mut learned = self.learned();
        let known = learned.refused.entry((base_url.to_owned(), model.to_owned())).or_default();
        if !known.contains(&parameter) {
            known.push(parameter);
        }
    }

    /// The parameters that an endpoint refuses for a model.
    pub(crate) fn refused(&self, base_url: &str, model: &str) -> Vec<String> {
        let key = (base_url.to_owned(), model.to_owned());
        self.learned().refused.get(&key).cloned().unwrap_or_default()
    }

    /// Keys of the user changed: what made models rest may be over.
    pub(crate) fn take_new_keys(&self) {
        self.learned().rests.clear();
        self.changed.send_replace(());
    }

    /// Changes when a key is free or new. Mark it as seen before looking for a key, so that none is missed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The keys that were used, without the keys.
    pub(crate) fn keys(&self) -> Vec<ProviderKeyInfo> {
        let learned = self.learned();
        let info = |(key, record): (&PooledKey, KeyRecord)| {
            let back_at = Some(record.health.back_at()).filter(|at| *at > now());
            ProviderKeyInfo {
                provider: key.provider.clone(),
                source: key.source.clone(),
                state: match (record.health, back_at) {
                    (KeyHealth::Exhausted { .. }, Some(_)) => ProviderKeyState::Exhausted,
                    (KeyHealth::Dead { .. }, _) => ProviderKeyState::Dead,
                    (KeyHealth::Good | KeyHealth::Exhausted { .. }, _) => ProviderKeyState::Ok,
                },
                until: back_at.and_then(time),
                requests: record.requests,
                in_use: record.in_use,
                tokens: record.tokens,
            }
        };
        learned.keys.records().into_iter().map(info).collect()
    }

    fn learned(&self) -> MutexGuard<'_, LearnedHealth> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now() -> i64 {
    now_ms() / SECOND
}

fn time(seconds: i64) -> Option<Timestamp> {
    Timestamp::from_second(seconds).ok()
}
