//! Budgets: what conversations, tasks, providers and days may spend, and the decision whether another request fits.
//!
//! Pure. A request is reserved with the most that it can cost before it is sent, and settled with what it did cost. A limit
//! bounds what was spent and what is reserved together, so requests that run at once cannot pass it. The store keeps both
//! (`talaria-store`, `budget`), the engine asks before every request (`talaria-engine`, `run/budget`).

use std::fmt;
use std::str::FromStr;

use crate::ids::SessionId;

mod question;

pub use question::{BudgetReply, ask_for_more, read_reply};

/// Billionths of a dollar in a dollar.
const DOLLAR: u64 = 1_000_000_000;
/// The largest limit in dollars and in tokens: sums stay far from the end of the number range.
const MOST_DOLLARS: u64 = 1_000_000_000;
const MOST_TOKENS: u64 = 1_000_000_000_000_000;

/// A limit, or an amount of what it limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetAmount {
    /// Billionths of a dollar.
    Money(u64),
    /// Tokens, input (cached, too) and output.
    Tokens(u64),
}

impl BudgetAmount {
    /// The number, in its unit.
    pub fn number(self) -> u64 {
        match self {
            Self::Money(number) | Self::Tokens(number) => number,
        }
    }

    /// The word of the unit, as it is stored.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Money(_) => "money",
            Self::Tokens(_) => "tokens",
        }
    }

    /// Another number of the same unit.
    #[must_use]
    pub fn with(self, number: u64) -> Self {
        match self {
            Self::Money(_) => Self::Money(number),
            Self::Tokens(_) => Self::Tokens(number),
        }
    }

    /// The sum of two amounts of one unit; an amount of the other unit changes nothing.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        match self.unit() == more.unit() {
            true => self.with(self.number().saturating_add(more.number())),
            false => self,
        }
    }
}

impl fmt::Display for BudgetAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            // Ten-thousandths, rounded up: a cost is never shown as nothing.
            Self::Money(number) => {
                let parts = number.div_ceil(DOLLAR / 10_000);
                let (dollars, rest) = (parts / 10_000, parts % 10_000);
                match rest {
                    0 => write!(f, "${dollars}"),
                    _ if rest.is_multiple_of(100) => write!(f, "${dollars}.{:02}", rest / 100),
                    _ => write!(f, "${dollars}.{rest:04}"),
                }
            }
            Self::Tokens(1) => f.write_str("1 token"),
            Self::Tokens(number) if number >= 1_000_000 && number.is_multiple_of(100_000) => {
                tenths(f, number / 100_000, "M tokens")
            }
            Self::Tokens(number) if number >= 1_000 && number.is_multiple_of(100) => {
                tenths(f, number / 100, "k tokens")
            }
            Self::Tokens(number) => write!(f, "{number} tokens"),
        }
    }
}

fn tenths(f: &mut fmt::Formatter<'_>, tenths: u64, unit: &str) -> fmt::Result {
    match tenths % 10 {
        0 => write!(f, "{}{unit}", tenths / 10),
        rest => write!(f, "{}.{rest}{unit}", tenths / 10),
    }
}

/// A text is no amount of dollars or tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an amount of dollars or tokens above 0, such as \"$5\", \"$0.50\" or \"200k tokens\"")]
pub struct NoBudgetAmount;

impl FromStr for BudgetAmount {
    type Err = NoBudgetAmount;

    fn from_str(text: &str) -> Result<Self, NoBudgetAmount> {
        let text = text.trim();
        if let Some(dollars) = text.strip_prefix('$') {
            let number = decimal(dollars.trim(), DOLLAR).ok_or(NoBudgetAmount)?;
            let is_possible = number > 0 && number <= MOST_DOLLARS.saturating_mul(DOLLAR);
            return is_possible.then_some(Self::Money(number)).ok_or(NoBudgetAmount);
        }
        let count = text.strip_suffix("tokens").or_else(|| text.strip_suffix("token"));
        let count = count.ok_or(NoBudgetAmount)?.trim_end();
        let (digits, factor) = match count.chars().next_back() {
            Some('k' | 'K') => (&count[..count.len() - 1], 1_000),
            Some('m' | 'M') => (&count[..count.len() - 1], 1_000_000),
            _ => (count, 1),
        };
        let number = decimal(digits.trim_end(), factor).ok_or(NoBudgetAmount)?;
        let is_possible = number > 0 && number <= MOST_TOKENS;
        is_possible.then_some(Self::Tokens(number)).ok_or(NoBudgetAmount)
    }
}

/// Reads a decimal number in parts of `unit`; digits below one part are no amount.
fn decimal(text: &str, unit: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number =
        |text: &str| !text.is_empty() && text.len() <= 15 && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(part) {
        return None;
    }
    let places = u32::try_from(part.trim_end_matches('0').len()).ok()?;
    let scale = 10_u64.checked_pow(places)?;
    let part: u64 = match places {
        0 => 0,
        _ => part.trim_end_matches('0').parse().ok()?,
    };
    let scaled = part.checked_mul(unit)?;
    let exact = scaled.is_multiple_of(scale).then_some(scaled / scale)?;
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(exact)
}

/// What a limit is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetScope {
    /// A conversation, with the tasks that it delegated.
    Conversation(SessionId),
    /// A task, with those that it delegated.
    Task(SessionId),
    /// A provider on a day, in days since 1970 (UTC).
    Provider {
        /// Its name.
        name: String,
        /// The day.
        day: i64,
    },
    /// Everything on a day, in days since 1970 (UTC).
    Day(i64),
}

impl BudgetScope {
    /// Names it in the database.
    pub fn key(&self) -> String {
        match self {
            Self::Conversation(id) => format!("conversation/{id}"),
            Self::Task(id) => format!("task/{id}"),
            Self::Provider { name, day } => format!("provider/{name}/{day}"),
            Self::Day(day) => format!("day/{day}"),
        }
    }

    /// The key of the configuration that sets its limit.
    pub fn setting(&self) -> String {
        match self {
            Self::Conversation(_) => "budget.conversation".to_owned(),
            Self::Task(_) => "budget.task".to_owned(),
            Self::Provider { name, .. } => format!("budget.providers.{name}"),
            Self::Day(_) => "budget.day".to_owned(),
        }
    }

    /// Whose budget it is, for people.
    pub fn words(&self) -> String {
        match self {
            Self::Conversation(_) => "of the conversation".to_owned(),
            Self::Task(_) => "of the task".to_owned(),
            Self::Provider { name, .. } => format!("of {name} for today"),
            Self::Day(_) => "for today".to_owned(),
        }
    }
}

/// A limit and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedLimit {
    /// What for.
    pub scope: BudgetScope,
    /// How much.
    pub limit: BudgetAmount,
}

/// What a request can cost at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetCharge {
    /// Tokens.
    pub tokens: u64,
    /// Billionths of a dollar; none if the price is not known.
    pub amount: Option<u64>,
}

impl BudgetCharge {
    /// The part that a limit of this unit counts; none if it is not known.
    pub fn of(self, unit: BudgetAmount) -> Option<u64> {
        match unit {
            BudgetAmount::Money(_) => self.amount,
            BudgetAmount::Tokens(_) => Some(self.tokens),
        }
    }
}

/// A limit, and how much of it is used. All figures have the unit of the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetState {
    /// What for.
    pub scope: BudgetScope,
    /// The limit with what a person allowed beyond the configured one.
    pub limit: BudgetAmount,
    /// The sum of all costs; an unknown part of one counts as the most that it can have cost.
    pub spent: u64,
    /// How much of that is such a bound.
    pub uncertain: u64,
    /// What running requests reserved.
    pub reserved: u64,
}

impl BudgetState {
    /// What another request may cost.
    pub fn room(&self) -> u64 {
        self.limit.number().saturating_sub(self.spent).saturating_sub(self.reserved)
    }
}

/// Why a request is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetShortfall {
    /// The limit that it would pass.
    pub state: BudgetState,
    /// What it can cost; none if its price is not known.
    pub wanted: Option<u64>,
}

/// Decides whether a request fits all of its limits. Returns the first one that it would pass.
pub fn first_shortfall(states: &[BudgetState], charge: BudgetCharge) -> Option<BudgetShortfall> {
    states.iter().find_map(|state| {
        let wanted = charge.of(state.limit);
        let fits = wanted.is_some_and(|wanted| wanted <= state.room());
        (!fits).then(|| BudgetShortfall { state: state.clone(), wanted })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly_and_shown_as_they_are_written() {
        for text in
            ["$5", "$0.50", "$0.0001", "$1200", "1 token", "200k tokens", "1.5M tokens", "1234 tokens"]
        {
            assert_eq!(text.parse::<BudgetAmount>().unwrap().to_string(), text);
        }
        assert_eq!("$0.000000001".parse(), Ok(BudgetAmount::Money(1)));
        assert_eq!("$ 2.5".parse(), Ok(BudgetAmount::Money(2_500_000_000)));
        assert_eq!("2 m tokens".parse(), Ok(BudgetAmount::Tokens(2_000_000)));
        for text in [
            "",
            "5",
            "$",
            "$0",
            "-$5",
            "$-5",
            "$5.",
            "$.5",
            "0 tokens",
            "200k",
            "$0.0000000001",
            "1.5 tokens",
            "5€",
            "$99999999999999",
        ] {
            assert_eq!(text.parse::<BudgetAmount>(), Err(NoBudgetAmount), "{text}");
        }
        assert_eq!(BudgetAmount::Money(1).to_string(), "$0.0001", "never nothing");
    }

    fn state(limit: BudgetAmount, spent: u64, reserved: u64) -> BudgetState {
        BudgetState { scope: BudgetScope::Day(1), limit, spent, uncertain: 0, reserved }
    }

    #[test]
    fn a_request_has_to_fit_every_limit_and_an_unknown_price_fits_none_in_dollars() {
        let (money, tokens) = (BudgetAmount::Money(100), BudgetAmount::Tokens(10));
        let charge = |tokens, amount| BudgetCharge { tokens, amount };
        let states = [state(money, 50, 30), state(tokens, 4, 0)];
        assert_eq!(first_shortfall(&states, charge(6, Some(20))), None, "exactly up to both limits");
        let over = first_shortfall(&states, charge(6, Some(21))).unwrap();
        assert_eq!((over.state.limit, over.wanted, over.state.room()), (money, Some(21), 20));
        assert_eq!(first_shortfall(&states, charge(7, Some(0))).unwrap().state.limit, tokens);
        assert_eq!(first_shortfall(&states, charge(1, None)).unwrap().wanted, None);
        assert_eq!(first_shortfall(&states[1..], charge(1, None)), None, "tokens are known without a price");
    }
}
