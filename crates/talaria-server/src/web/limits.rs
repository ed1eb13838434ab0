//! Limits of callers over TCP: requests and streams of each token, wrong tokens of each address.
//!
//! Time comes in as an argument. A wrong token makes the next wrong ones of its address wait longer and longer; a right one
//! passes in any case, so that no one can lock out the user by guessing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many requests of one token are answered at once without waiting.
const BURST: f64 = 200.0;
/// How many more of them each second.
const PER_SECOND: f64 = 100.0;
/// How many streams one token may have open.
pub(super) const STREAMS: usize = 32;
/// How many wrong tokens of one address are answered without waiting.
pub(super) const FREE: u32 = 10;
/// The longest wait after a wrong token.
const LONGEST: Duration = Duration::from_secs(300);
/// After how long without a wrong token an address is forgotten.
const FORGET: Duration = Duration::from_secs(600);
/// How many addresses are remembered.
const ADDRESSES: usize = 10_000;

/// The counters.
#[derive(Default)]
pub(super) struct WebLimits {
    tokens: Mutex<HashMap<String, TokenUse>>,
    wrong: Mutex<HashMap<IpAddr, WrongTokens>>,
}

struct TokenUse {
    left: f64,
    at: Instant,
    streams: Arc<Semaphore>,
}

struct WrongTokens {
    count: u32,
    until: Instant,
    at: Instant,
}

/// Why a call has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverLimit {
    /// Too many requests in a short time.
    Requests,
    /// Too many open streams.
    Streams,
}

impl WebLimits {
    /// Counts a request of a token.
    pub(super) fn request(&self, token: &str, now: Instant) -> Result<(), OverLimit> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let used = tokens.entry(token.to_owned()).or_insert_with(|| TokenUse::new(now));
        let passed = now.saturating_duration_since(used.at).as_secs_f64();
        used.left = (used.left + passed * PER_SECOND).min(BURST);
        used.at = now;
        if used.left < 1.0 {
            return Err(OverLimit::Requests);
        }
        used.left -= 1.0;
        Ok(())
    }

    /// Counts a stream of a token, as long as the returned permit exists.
    pub(super) fn stream(&self, token: &str, now: Instant) -> Result<OwnedSemaphorePermit, OverLimit> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let used = tokens.entry(token.to_owned()).or_insert_with(|| TokenUse::new(now));
        Arc::clone(&used.streams).try_acquire_owned().map_err(|_| OverLimit::Streams)
    }

    /// Counts a wrong token of an address. Returns how long the address has to wait if it sent too many.
    pub(super) fn wrong(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let mut all = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= ADDRESSES {
            all.retain(|_, wrong| now.saturating_duration_since(wrong.at) < FORGET);
        }
        if all.len() >= ADDRESSES {
            // A peer with that many addresses is limited by the number of connections.
            all.clear();
        }
        let wrong = all.entry(network(from)).or_insert(WrongTokens { count: 0, until: now, at: now });
        if now.saturating_duration_since(wrong.at) >= FORGET {
            wrong.count = 0;
        }
        wrong.at = now;
        if now < wrong.until {
            return Some(wrong.until - now);
        }
        wrong.count = wrong.count.saturating_add(1);
        if wrong.count > FREE {
            let wait = Duration::from_secs(1 << (wrong.count - FREE).min(16)).min(LONGEST);
            wrong.until = now + wait;
            return Some(wait);
        }
        None
    }
}

impl TokenUse {
    fn new(now: Instant) -> Self {
        Self { left: BURST, at: now, streams: Arc::new(Semaphore::new(STREAMS)) }
    }
}

/// What one machine usually has: a whole address, or the first half of one of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let half = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(half.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_tokens_wait_longer_and_longer_and_only_where_they_come_from() {
        let limits = WebLimits::default();
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut now = Instant::now();
        assert!((0..FREE).all(|_| limits.wrong(one, now).is_none()));
        let mut waits = Vec::new();
        for _ in 0..12 {
            let wait = limits.wrong(one, now).unwrap();
            waits.push(wait.as_secs());
            now += wait;
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
        assert!(limits.wrong(other, now).is_none());
        let answered = (0..10_000).filter(|_| limits.wrong(one, now).is_none()).count();
        assert_eq!(answered, 0, "it has to wait");
        assert!(limits.wrong(one, now + FORGET + LONGEST).is_none(), "later it is forgotten");
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let limits = WebLimits::default();
        let now = Instant::now();
        let address = |n: u32| format!("2001:db8:1:2::{n:x}").parse().unwrap();
        assert!((0..FREE).all(|n| limits.wrong(address(n), now).is_none()));
        assert!(limits.wrong(address(99), now).is_some());
        assert!(limits.wrong("2001:db8:1:3::1".parse().unwrap(), now).is_none());
    }

    #[test]
    fn requests_of_a_token_are_limited_and_those_of_another_are_not() {
        let limits = WebLimits::default();
        let now = Instant::now();
        let passed = (0..1000).filter(|_| limits.request("a", now).is_ok()).count();
        assert_eq!(passed, 200);
        assert!(limits.request("b", now).is_ok());
        assert_eq!(
            (0..1000).filter(|_| limits.request("a", now + Duration::from_secs(1)).is_ok()).count(),
            100
        );
    }

    #[test]
    fn a_stream_that_ends_makes_room() {
        let limits = WebLimits::default();
        let now = Instant::now();
        let mut open: Vec<_> = (0..STREAMS).map(|_| limits.stream("a", now).unwrap()).collect();
        assert_eq!(limits.stream("a", now).err(), Some(OverLimit::Streams));
        open.pop();
        assert!(limits.stream("a", now).is_ok());
    }
}
