//! Facts about a model: sizes, abilities and prices, with the source and the day.

use serde::{Deserialize, Serialize};

/// Where facts come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFactsSource {
    /// Nothing is known.
    #[default]
    Unknown,
    /// The table of this build.
    BuiltIn,
    /// The user's configuration.
    Configured,
    /// The provider's own list.
    Provider,
}

/// Prices of one range of input sizes, in millionths of a dollar for a million tokens (so in 10⁻¹² dollars a token).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceTier {
    /// The tier counts for requests with more input tokens than this.
    pub above_input: u64,
    /// Input that is not cached.
    pub input: u64,
    /// Input read from the cache; `None`: the same as other input.
    pub cached: Option<u64>,
    /// Writing input to the cache for minutes; `None`: the same as other input.
    pub cache_write_short: Option<u64>,
    /// Writing input to the cache for an hour; `None`: the same as for minutes.
    pub cache_write_long: Option<u64>,
    /// Output, reasoning included.
    pub output: u64,
}

/// Facts about a model. Every field may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFacts {
    /// Tokens that fit its context.
    pub window: Option<u64>,
    /// The most tokens that it may write.
    pub max_output: Option<u64>,
    /// The efforts that it accepts, if that is known.
    pub efforts: Option<Vec<String>>,
    /// Does it read images? Unknown counts as yes: the provider's refusal is a class of its own.
    pub images: Option<bool>,
    /// Prices, the lowest tier first. Empty: unknown, which is not zero.
    pub prices: Vec<PriceTier>,
    /// Where this comes from.
    pub source: ModelFactsSource,
    /// The day of the prices, `2026-08-08`.
    pub as_of: Option<String>,
}

impl ModelFacts {
    /// Fills what is missing from other facts.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let has_prices = !self.prices.is_empty();
        Self {
            window: self.window.or(other.window),
            max_output: self.max_output.or(other.max_output),
            efforts: self.efforts.or(other.efforts),
            images: self.images.or(other.images),
            as_of: if has_prices { self.as_of } else { other.as_of },
            prices: if has_prices { self.prices } else { other.prices },
            source: self.source,
        }
    }
}
