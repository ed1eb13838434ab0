//! Tokens of a turn, and rate limits of the account.

use serde::{Deserialize, Serialize};

/// Tokens spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// The part of the input served from the provider's cache.
    pub cached: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The part of the output spent on reasoning.
    pub reasoning: u64,
    /// Everything.
    pub total: u64,
    /// More was spent than is known: Codex reported tokens while no engine was connected, or was gone before it could. The
    /// figures are a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

impl Usage {
    /// A running total after more was spent.
    pub fn plus(self, more: Usage) -> Usage {
        Usage {
            input: self.input.saturating_add(more.input),
            cached: self.cached.saturating_add(more.cached),
            output: self.output.saturating_add(more.output),
            reasoning: self.reasoning.saturating_add(more.reasoning),
            total: self.total.saturating_add(more.total),
            partial: self.partial || more.partial,
        }
    }

    /// Returns the difference between two running totals. A total that decreased (a new thread) counts from zero. The
    /// result is as exact as the later total.
    pub fn since(self, earlier: Usage) -> Usage {
        if self.total < earlier.total {
            return self;
        }
        Usage {
            input: self.input.saturating_sub(earlier.input),
            cached: self.cached.saturating_sub(earlier.cached),
            output: self.output.saturating_sub(earlier.output),
            reasoning: self.reasoning.saturating_sub(earlier.reasoning),
            total: self.total - earlier.total,
            partial: self.partial,
        }
    }
}

/// How much of an account's allowance is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateLimits {
    /// The short window.
    pub primary: Option<RateWindow>,
    /// The long window.
    pub secondary: Option<RateWindow>,
    /// The account's plan.
    pub plan: Option<String>,
    /// Which limit is reached, if one is.
    pub reached: Option<String>,
}

/// How much of one window is used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateWindow {
    /// In percent.
    pub used_percent: f64,
    /// How long the window is.
    pub minutes: Option<u64>,
    /// When it resets, in seconds since 1970.
    pub resets_at: Option<i64>,
}

impl RateLimits {
    /// When the exhausted limit resets: the later one of the windows that are used up.
    pub fn resets_at(&self) -> Option<i64> {
        let full = |window: &&RateWindow| window.used_percent >= 100.0;
        let windows = [self.primary.as_ref(), self.secondary.as_ref()];
        windows.into_iter().flatten().filter(full).filter_map(|window| window.resets_at).max()
    }
}
