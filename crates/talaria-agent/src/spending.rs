//! Tokens of one model request and their price. Nothing here adds up requests of a turn; the turn does.
//!
//! Fields arrive in several frames, some of them partial: they are merged field by field, the last one that is there
//! wins. An unknown price is `None` and never zero.

use serde::{Deserialize, Serialize};
use talaria_core::usage::Usage;

use crate::profile::PriceTier;

/// Where figures come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Estimated from bytes.
    Estimated,
    /// The provider.
    Provider,
}

/// Tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCount {
    /// All input, cached and written to the cache included.
    pub input: Option<u64>,
    /// Input that was read from the cache.
    pub cached: Option<u64>,
    /// Input that was written to the cache for minutes.
    pub cache_write_short: Option<u64>,
    /// Input that was written to the cache for an hour.
    pub cache_write_long: Option<u64>,
    /// Output, reasoning included.
    pub output: Option<u64>,
    /// Output that was reasoning.
    pub reasoning: Option<u64>,
    /// What the provider says it costs, in billionths of a dollar.
    pub cost: Option<u64>,
    /// Where this comes from.
    pub source: TokenSource,
}

impl TokenCount {
    /// Takes every field that is there.
    pub fn merge(&mut self, later: Self) {
        let fields = [
            (&mut self.input, later.input),
            (&mut self.cached, later.cached),
            (&mut self.cache_write_short, later.cache_write_short),
            (&mut self.cache_write_long, later.cache_write_long),
            (&mut self.output, later.output),
            (&mut self.reasoning, later.reasoning),
            (&mut self.cost, later.cost),
        ];
        for (field, value) in fields {
            *field = value.or(*field);
        }
        if later.source != TokenSource::Unknown {
            self.source = later.source;
        }
    }

    /// The tokens in the vocabulary of turns. An unknown part makes it a lower bound.
    pub fn usage(self) -> Usage {
        let (input, output) = (self.input.unwrap_or_default(), self.output.unwrap_or_default());
        Usage {
            input,
            cached: self.cached.unwrap_or_default(),
            output,
            reasoning: self.reasoning.unwrap_or_default(),
            total: input.saturating_add(output),
            partial: self.source != TokenSource::Provider || self.input.is_none() || self.output.is_none(),
        }
    }

    /// The price in billionths of a dollar: what the provider says, else by the tier of the input. `None` if unknown.
    pub fn price(self, tiers: &[PriceTier]) -> Option<u64> {
        if self.cost.is_some() {
            return self.cost;
        }
        let (input, output) = (self.input?, self.output?);
        let tier = tiers.iter().rfind(|tier| tier.above_input == 0 || input > tier.above_input)?;
        let cached = self.cached.unwrap_or_default();
        let (short, long) =
            (self.cache_write_short.unwrap_or_default(), self.cache_write_long.unwrap_or_default());
        let plain = input.saturating_sub(cached).saturating_sub(short).saturating_sub(long);
        let price_short = tier.cache_write_short.unwrap_or(tier.input);
        let sums = [
            (plain, tier.input),
            (cached, tier.cached.unwrap_or(tier.input)),
            (short, price_short),
            (long, tier.cache_write_long.unwrap_or(price_short)),
            (output, tier.output),
        ];
        // Prices are in 10⁻¹² dollars a token.
        let total: u128 = sums.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        u64::try_from(total.div_ceil(1000)).ok()
    }

    /// The most that a request can cost before anything is known of its answer: a token of any text has two bytes or more on
    /// average.
    pub fn most(request_bytes: usize, output: u64) -> Self {
        let input = u64::try_from(request_bytes).unwrap_or(u64::MAX).div_ceil(2);
        Self { input: Some(input), output: Some(output), source: TokenSource::Estimated, ..Self::default() }
    }

    /// The price of these tokens in billionths of a dollar if nothing is read from a cache and everything is written to the
    /// most expensive one, in the most expensive tier that the input can reach. `None` if unknown.
    pub fn most_price(self, tiers: &[PriceTier]) -> Option<u64> {
        let (input, output) = (self.input?, self.output?);
        let reached = tiers.iter().filter(|tier| tier.above_input == 0 || input > tier.above_input);
        let price = |tier: &PriceTier| {
            let writes = [tier.cache_write_short, tier.cache_write_long].into_iter().flatten();
            let of_input = writes.fold(tier.input, u64::max);
            u128::from(input) * u128::from(of_input) + u128::from(output) * u128::from(tier.output)
        };
        let most = reached.map(price).max()?;
        u64::try_from(most.div_ceil(1000)).ok()
    }

    /// An upper bound for a request whose usage was never reported: four bytes are a token.
    pub fn estimate(request_bytes: usize, answer_bytes: u64) -> Self {
        let input = u64::try_from(request_bytes).unwrap_or(u64::MAX).div_ceil(4);
        Self {
            input: Some(input),
            output: Some(answer_bytes.div_ceil(4)),
            source: TokenSource::Estimated,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIERS: [PriceTier; 2] = [
        PriceTier {
            above_input: 0,
            input: 5_000_000,
            cached: Some(500_000),
            cache_write_short: Some(6_250_000),
            cache_write_long: None,
            output: 30_000_000,
        },
        PriceTier {
            above_input: 272_000,
            input: 10_000_000,
            cached: None,
            cache_write_short: None,
            cache_write_long: None,
            output: 45_000_000,
        },
    ];

    #[test]
    fn a_price_is_the_tier_of_the_input_and_unknown_is_not_zero() {
        let count = TokenCount {
            input: Some(1_000_000 / 4),
            cached: Some(200_000),
            cache_write_short: Some(10_000),
            output: Some(1_000),
            ..TokenCount::default()
        };
        // 40,000 at $5, 200,000 at $0.50, 10,000 at $6.25, 1,000 at $30 a million.
        assert_eq!(count.price(&TIERS), Some(200_000_000 + 100_000_000 + 62_500_000 + 30_000_000));
        let large = TokenCount { input: Some(272_001), output: Some(0), ..TokenCount::default() };
        assert_eq!(large.price(&TIERS), Some(2_720_010_000));
        assert_eq!(
            TokenCount { input: Some(1), ..TokenCount::default() }.price(&TIERS),
            None,
            "no output known"
        );
        assert_eq!(count.price(&[]), None);
        assert_eq!(
            TokenCount { cost: Some(7), ..TokenCount::default() }.price(&[]),
            Some(7),
            "the provider's word"
        );
    }

    #[test]
    fn the_most_that_a_request_costs_has_no_help_from_a_cache() {
        let most = TokenCount::most(2_000, 100);
        assert_eq!((most.input, most.output), (Some(1_000), Some(100)));
        // 1,000 at $6.25 and 100 at $30 a million.
        assert_eq!(most.most_price(&TIERS), Some(6_250_000 + 3_000_000));
        assert_eq!(most.most_price(&[]), None, "unknown is not zero");
        let cached = TokenCount { cached: Some(900), ..most };
        assert!(most.most_price(&TIERS) > cached.price(&TIERS));
        let large = TokenCount::most(600_000, 0);
        assert_eq!(large.most_price(&TIERS), Some(3_000_000_000), "the tier that it reaches");
    }

    #[test]
    fn later_figures_win_field_by_field() {
        let mut count = TokenCount { input: Some(10), output: Some(1), ..TokenCount::default() };
        count.merge(TokenCount { output: Some(7), source: TokenSource::Provider, ..TokenCount::default() });
        assert_eq!((count.input, count.output, count.source), (Some(10), Some(7), TokenSource::Provider));
        assert!(!count.usage().partial);
        assert!(TokenCount::estimate(9, 1).usage().partial, "an estimate is no figure of the provider");
        assert_eq!(TokenCount::estimate(9, 1).usage().total, 4);
    }
}
