//! Budgets, and how much of each is used.

use serde::{Deserialize, Serialize};

use crate::ids::SessionId;

/// A budget and how much of it is used. All figures have its unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetInfo {
    /// `conversation`, `task`, `provider` or `day`; a provider's is for a day, too.
    pub scope: String,
    /// The conversation or task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// `money`, in billionths of a dollar, or `tokens`.
    pub unit: String,
    /// The limit, with what a person allowed beyond the configured one.
    pub limit: u64,
    /// The sum of all costs. Where a cost is not known, the most that it can have been counts.
    pub spent: u64,
    /// How much of that is such a bound.
    pub uncertain: u64,
    /// What running requests can cost at most.
    pub reserved: u64,
}

impl BudgetInfo {
    /// The budget in one line, for people.
    pub fn line(&self) -> String {
        use crate::budget::BudgetAmount;
        let show = |number: u64| match self.unit.as_str() {
            "money" => BudgetAmount::Money(number).to_string(),
            _ => BudgetAmount::Tokens(number).to_string(),
        };
        let of = match (&self.session, &self.provider) {
            (Some(session), _) => format!("{} {}", self.scope, session.short()),
            (None, Some(provider)) => format!("{provider} today"),
            (None, None) => "today".to_owned(),
        };
        let mut line = format!("{of}: {} of {}", show(self.spent), show(self.limit));
        if self.uncertain > 0 {
            line += &format!(" (up to {} of it is not known for certain)", show(self.uncertain));
        }
        if self.reserved > 0 {
            line += &format!(", {} reserved", show(self.reserved));
        }
        line
    }
}
