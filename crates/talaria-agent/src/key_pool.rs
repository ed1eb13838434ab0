//! The keys of providers and what became of them: which one a request takes, and when one that failed is tried again.
//!
//! Pure; the engine has one ledger for all conversations. States are only an order of preference: a provider's newer word always
//! counts, so that a key is used even if every key failed before, and one that works is good again whatever was believed of it.
//! A refusal of permission says nothing about a key. Nothing here shows a key.

use std::collections::HashMap;

use talaria_core::provider::KeyStrategy;

use crate::failure::{FailureClass, ModelFailure};
use crate::profile::KeyRules;
use crate::transport::ApiKey;

/// How long a key rests that is used up, in seconds, where the provider names no time.
const USED_UP: i64 = 3_600;
/// The same for a key whose requests are limited.
const LIMITED: i64 = 60;
/// After how long a key that was not accepted is tried again: such an answer may have had another reason.
const NOT_ACCEPTED: i64 = 300;

/// A key and where it was found. Another key in the same place is another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PooledKey {
    /// The provider.
    pub provider: String,
    /// The name of the variable or of the file.
    pub source: String,
    /// The key.
    pub key: ApiKey,
}

/// The health of a key, as far as its provider showed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyHealth {
    /// Nothing is wrong with it.
    #[default]
    Good,
    /// Its credit or allowance is used up until this time, in seconds since 1970.
    Exhausted {
        /// The provider's own time, or an estimate.
        until: i64,
    },
    /// The provider did not accept it.
    Dead {
        /// When, in seconds since 1970.
        since: i64,
    },
}

impl KeyHealth {
    /// When it is tried again.
    pub fn back_at(self) -> i64 {
        match self {
            Self::Good => i64::MIN,
            Self::Exhausted { until } => until,
            Self::Dead { since } => since.saturating_add(NOT_ACCEPTED),
        }
    }
}

/// The history of a key in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its health.
    pub health: KeyHealth,
    /// Requests that run with it.
    pub in_use: u64,
    /// Requests that were sent with it.
    pub requests: u64,
    /// Tokens of the answers.
    pub tokens: u64,
    /// The place of its last use in the order of all uses.
    last: u64,
}

/// Which key a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChoice {
    /// This one.
    Use {
        /// Its place in the list.
        place: usize,
        /// How many others may work.
        spare: usize,
    },
    /// Every key that may work has as many requests as it may have.
    Busy,
    /// There is no key.
    None,
}

/// The records of all keys.
#[derive(Debug, Default)]
pub struct KeyLedger {
    records: HashMap<PooledKey, KeyRecord>,
    uses: u64,
}

impl KeyLedger {
    /// Chooses a key and counts the request. `kept` is the key that the turn has so far.
    pub fn take(
        &mut self,
        keys: &[PooledKey],
        rules: KeyRules,
        kept: Option<&PooledKey>,
        now: i64,
    ) -> KeyChoice {
        let record = |key| self.records.get(key).copied().unwrap_or_default();
        let records: Vec<KeyRecord> = keys.iter().map(record).collect();
        let works: Vec<usize> =
            (0..keys.len()).filter(|place| records[*place].health.back_at() <= now).collect();
        let is_free = |place: &usize| rules.max_concurrent.is_none_or(|most| records[*place].in_use < most);
        let place = if works.is_empty() {
            // The one that may work first: the provider's word is newer than ours.
            (0..keys.len()).filter(is_free).min_by_key(|place| records[*place].health.back_at())
        } else {
            let free: Vec<usize> = works.iter().copied().filter(is_free).collect();
            let same = free.iter().copied().find(|place| kept == Some(&keys[*place]));
            same.or_else(|| match rules.strategy {
                KeyStrategy::FillFirst => free.first().copied(),
                KeyStrategy::RoundRobin => free.into_iter().min_by_key(|place| records[*place].last),
            })
        };
        let Some(place) = place else {
            return if keys.is_empty() { KeyChoice::None } else { KeyChoice::Busy };
        };
        self.uses += 1;
        let uses = self.uses;
        let record = self.records.entry(keys[place].clone()).or_default();
        record.in_use += 1;
        record.requests += 1;
        record.last = uses;
        KeyChoice::Use { place, spare: works.iter().filter(|other| **other != place).count() }
    }

    /// A request with this key is over.
    pub fn release(&mut self, key: &PooledKey) {
        if let Some(record) = self.records.get_mut(key) {
            record.in_use = record.in_use.saturating_sub(1);
        }
    }

    /// The provider answered with this key.
    pub fn worked(&mut self, key: &PooledKey, tokens: u64) {
        let record = self.records.entry(key.clone()).or_default();
        record.health = KeyHealth::Good;
        record.tokens = record.tokens.saturating_add(tokens);
    }

    /// A request with this key failed.
    pub fn failed(&mut self, key: &PooledKey, failure: &ModelFailure, now: i64) {
        let after = |seconds: i64| failure.wait.map_or(now.saturating_add(seconds), |wait| wait.at(now));
        let health = match failure.class {
            FailureClass::Auth => KeyHealth::Dead { since: now },
            FailureClass::Quota => KeyHealth::Exhausted { until: after(USED_UP) },
            FailureClass::RateLimit => KeyHealth::Exhausted { until: after(LIMITED) },
            // Entitlement is no word about the key, and the others are none about the account.
            _ => return,
        };
        self.records.entry(key.clone()).or_default().health = health;
    }

    /// Returns the record of a key.
    pub fn record(&self, key: &PooledKey) -> KeyRecord {
        self.records.get(key).copied().unwrap_or_default()
    }

    /// Every key that was used, with what is known of it. Of several keys in one place it is the one that was used last.
    pub fn records(&self) -> Vec<(&PooledKey, KeyRecord)> {
        let mut latest: HashMap<(&str, &str), (&PooledKey, KeyRecord)> = HashMap::new();
        for (key, record) in &self.records {
            let known = latest.entry((&key.provider, &key.source)).or_insert((key, *record));
            if known.1.last < record.last {
                *known = (key, *record);
            }
        }
        let mut records: Vec<(&PooledKey, KeyRecord)> = latest.into_values().collect();
        records.sort_by(|(a, _), (b, _)| (&a.provider, &a.source).cmp(&(&b.provider, &b.source)));
        records
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::failure::WaitHint;

    const NOW: i64 = 1_000_000;

    fn keys(count: usize) -> Vec<PooledKey> {
        let key = |place| PooledKey {
            provider: "house".to_owned(),
            source: format!("KEY_{place}"),
            key: ApiKey::parse(&format!("secret-{place}")).unwrap(),
        };
        (0..count).map(key).collect()
    }

    fn failure(class: FailureClass, wait: Option<WaitHint>) -> ModelFailure {
        ModelFailure { wait, ..ModelFailure::transport(class, "x") }
    }

    fn took(ledger: &mut KeyLedger, keys: &[PooledKey], rules: KeyRules, now: i64) -> (usize, usize) {
        match ledger.take(keys, rules, None, now) {
            KeyChoice::Use { place, spare } => {
                ledger.release(&keys[place]);
                (place, spare)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fill_first_takes_the_first_that_works_and_round_robin_the_least_recent() {
        let (keys, mut ledger) = (keys(3), KeyLedger::default());
        let fill = KeyRules::default();
        assert_eq!(took(&mut ledger, &keys, fill, NOW), (0, 2));
        assert_eq!(took(&mut ledger, &keys, fill, NOW), (0, 2));
        let round = KeyRules { strategy: KeyStrategy::RoundRobin, ..fill };
        let order: Vec<usize> = (0..4).map(|_| took(&mut ledger, &keys, round, NOW).0).collect();
        assert_eq!(order, [1, 2, 0, 1]);
        assert_eq!(ledger.take(&keys, fill, Some(&keys[2]), NOW), KeyChoice::Use { place: 2, spare: 2 });
        assert_eq!(ledger.record(&keys[0]).requests, 3);
        assert_eq!(ledger.take(&[], fill, None, NOW), KeyChoice::None);
    }

    #[test]
    fn a_used_up_key_rests_until_the_providers_own_time_and_a_dead_one_five_minutes() {
        let (keys, mut ledger) = (keys(2), KeyLedger::default());
        let hint = Some(WaitHint::Until(NOW + 9_000));
        ledger.failed(&keys[0], &failure(FailureClass::Quota, hint), NOW);
        let rules = KeyRules::default();
        assert_eq!(took(&mut ledger, &keys, rules, NOW + 8_999), (1, 0));
        assert_eq!(took(&mut ledger, &keys, rules, NOW + 9_000), (0, 1));
        ledger.failed(&keys[0], &failure(FailureClass::Auth, None), NOW);
        assert_eq!(took(&mut ledger, &keys, rules, NOW + 299).0, 1);
        assert_eq!(took(&mut ledger, &keys, rules, NOW + 300).0, 0);
        let soon = Some(WaitHint::After(Duration::from_secs(5)));
        ledger.failed(&keys[0], &failure(FailureClass::RateLimit, soon), NOW);
        assert_eq!(took(&mut ledger, &keys, rules, NOW + 4).0, 1);
        assert_eq!(took(&mut ledger, &keys, rules, NOW + 5).0, 0);
    }

    #[test]
    fn if_every_key_failed_the_one_that_is_back_first_is_used_and_can_recover() {
        let (keys, mut ledger) = (keys(2), KeyLedger::default());
        ledger.failed(&keys[0], &failure(FailureClass::Quota, None), NOW);
        ledger.failed(&keys[1], &failure(FailureClass::Auth, None), NOW);
        let rules = KeyRules::default();
        assert_eq!(took(&mut ledger, &keys, rules, NOW), (1, 0), "no other key is promised");
        ledger.worked(&keys[1], 7);
        assert_eq!(ledger.record(&keys[1]).health, KeyHealth::Good);
        assert_eq!((took(&mut ledger, &keys, rules, NOW).0, ledger.record(&keys[1]).tokens), (1, 7));
    }

    #[test]
    fn entitlement_and_troubles_of_the_provider_say_nothing_about_a_key() {
        let (keys, mut ledger) = (keys(1), KeyLedger::default());
        for class in FailureClass::ALL {
            ledger.failed(&keys[0], &failure(class, None), NOW);
            let is_about_key =
                matches!(class, FailureClass::Auth | FailureClass::Quota | FailureClass::RateLimit);
            assert_eq!(ledger.record(&keys[0]).health != KeyHealth::Good, is_about_key, "{class}");
            ledger.worked(&keys[0], 0);
        }
    }

    #[test]
    fn a_key_has_at_most_as_many_requests_as_it_may_have() {
        let (keys, mut ledger) = (keys(2), KeyLedger::default());
        let rules = KeyRules { max_concurrent: Some(1), ..KeyRules::default() };
        assert_eq!(ledger.take(&keys, rules, None, NOW), KeyChoice::Use { place: 0, spare: 1 });
        assert_eq!(ledger.take(&keys, rules, Some(&keys[0]), NOW), KeyChoice::Use { place: 1, spare: 1 });
        assert_eq!(ledger.take(&keys, rules, None, NOW), KeyChoice::Busy);
        ledger.release(&keys[0]);
        assert_eq!(ledger.take(&keys, rules, None, NOW), KeyChoice::Use { place: 0, spare: 1 });
        assert!(!format!("{ledger:?}").contains("secret"), "{ledger:?}");
    }
}
