//! Budgets of the configuration, applied: which limits a request has, its reservation, and what people read when there is no room.
//! The decision is `talaria_core::budget`, the sums are the store's.

use talaria_agent::loop_turn::PlannedAttempt;
use talaria_agent::spending::TokenCount;
use talaria_core::api::BudgetInfo;
use talaria_core::budget::{
    BudgetAmount, BudgetCharge, BudgetScope, BudgetShortfall, BudgetState, ScopedLimit,
};
use talaria_core::ids::SessionId;
use talaria_core::outcome::{FailureCode, Report};
use talaria_core::runtime::Runtime;
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_store::{ModelAttemptKey, NewReservation, SessionRow, StoreError};

use super::opening::failed;
use super::runtime::{LoopProvider, runtime_of};
use super::settings::Settings;
use crate::engine::Inner;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// The name of Codex among the providers.
pub(crate) const CODEX: &str = "codex";

impl Inner {
    /// The limits that apply to requests of a session at a provider: those of the session and of the sessions that delegated
    /// it, of the provider, and of the day.
    pub(crate) async fn budget_limits(
        &self,
        session: &SessionId,
        provider: &str,
    ) -> Result<Vec<ScopedLimit>, StoreError> {
        let config = self.config();
        let budget = &config.budget;
        if !budget.is_set() || budget.leaves_out(provider) {
            return Ok(Vec::new());
        }
        let mut limits = Vec::new();
        if budget.conversation.is_some() || budget.task.is_some() {
            let store = &self.shelf.store;
            let owners = store.budget_owners(session).await?;
            for id in std::iter::once(session).chain(&owners) {
                let Some(row) = store.session(id).await? else { continue };
                let (scope, limit) = match row.alias {
                    Some(_) => (BudgetScope::Task(id.clone()), budget.task),
                    None => (BudgetScope::Conversation(id.clone()), budget.conversation),
                };
                limits.extend(limit.map(|limit| ScopedLimit { scope, limit }));
            }
        }
        let day = today();
        let of_provider = budget.of_provider(provider).map(|limit| ScopedLimit {
            scope: BudgetScope::Provider { name: provider.to_owned(), day },
            limit,
        });
        limits.extend(of_provider);
        limits.extend(budget.day.map(|limit| ScopedLimit { scope: BudgetScope::Day(day), limit }));
        Ok(limits)
    }

    /// Reserves what a request can cost. Returns the limit that it would pass; it must not be sent then.
    pub(crate) async fn reserve(
        &self,
        session: &SessionId,
        key: ModelAttemptKey,
        provider: &str,
        charge: BudgetCharge,
    ) -> Result<Option<BudgetShortfall>, StoreError> {
        let limits = self.budget_limits(session, provider).await?;
        if limits.is_empty() {
            return Ok(None);
        }
        faults::point("before:budget-reserved").await;
        let reserved = self.shelf.store.reserve_budget(NewReservation {
            session: session.clone(),
            key,
            epoch: self.shelf.epoch,
            at: now_ms(),
            provider: provider.to_owned(),
            charge,
            limits,
            uncounted: self.config().budget.uncounted(),
        });
        let reserved = reserved.await?;
        faults::point("after:budget-reserved").await;
        Ok(reserved)
    }

    /// The first limit of a session that has no room at all, with `more` tokens that are not counted yet.
    pub(crate) async fn used_up(
        &self,
        session: &SessionId,
        provider: &str,
        more: u64,
    ) -> Result<Option<BudgetState>, StoreError> {
        let limits = self.budget_limits(session, provider).await?;
        let uncounted = self.config().budget.uncounted();
        let states = self.shelf.store.budget_states(&limits, &uncounted).await?;
        let is_used_up = |state: &BudgetState| match state.limit {
            BudgetAmount::Tokens(_) => state.room() <= more,
            BudgetAmount::Money(_) => state.room() == 0,
        };
        Ok(states.into_iter().find(is_used_up))
    }

    /// The budgets of today, of the conversations and tasks whose turns run or wait, and of those that delegated them.
    pub(crate) async fn budgets(&self, sessions: &[SessionId]) -> Result<Vec<BudgetInfo>, StoreError> {
        let config = self.config();
        let day = today();
        let mut limits: Vec<ScopedLimit> = Vec::new();
        limits.extend(config.budget.day.map(|limit| ScopedLimit { scope: BudgetScope::Day(day), limit }));
        for (name, limit) in &config.budget.providers {
            let scope = BudgetScope::Provider { name: name.clone(), day };
            limits.extend(limit.map(|limit| ScopedLimit { scope, limit }));
        }
        for session in sessions {
            // A provider that has no name has no limit of its own.
            for limit in self.budget_limits(session, "").await? {
                if !limits.contains(&limit) {
                    limits.push(limit);
                }
            }
        }
        let states = self.shelf.store.budget_states(&limits, &config.budget.uncounted()).await?;
        Ok(states.iter().map(info).collect())
    }
}

impl Inner {
    /// The budgets that requests of a session count for.
    pub(crate) async fn budgets_of(&self, session: &SessionRow) -> Result<Vec<BudgetInfo>, StoreError> {
        let limits = self.budget_limits(&session.id, &provider_of(session)).await?;
        let states = self.shelf.store.budget_states(&limits, &self.config().budget.uncounted()).await?;
        Ok(states.iter().map(info).collect())
    }
}

/// The name under which budgets count the provider of a session.
fn provider_of(session: &SessionRow) -> String {
    match runtime_of(session) {
        Some(Runtime::OwnLoop) => {
            let settings = Settings::of_row(session);
            settings.and_then(|settings| settings.provider().map(str::to_owned)).unwrap_or_default()
        }
        _ => CODEX.to_owned(),
    }
}

/// Days since 1970 (UTC).
fn today() -> i64 {
    now_ms().div_euclid(DAY_MS)
}

fn info(state: &BudgetState) -> BudgetInfo {
    let (scope, session, provider) = match &state.scope {
        BudgetScope::Conversation(id) => ("conversation", Some(id.clone()), None),
        BudgetScope::Task(id) => ("task", Some(id.clone()), None),
        BudgetScope::Provider { name, .. } => ("provider", None, Some(name.clone())),
        BudgetScope::Day(_) => ("day", None, None),
    };
    BudgetInfo {
        scope: scope.to_owned(),
        session,
        provider,
        unit: state.limit.unit().to_owned(),
        limit: state.limit.number(),
        spent: state.spent,
        uncertain: state.uncertain,
        reserved: state.reserved,
    }
}

/// The most that a planned request can cost. `provider` and its model are those that it is sent to.
pub(crate) fn most_charge(planned: &PlannedAttempt, provider: &LoopProvider) -> BudgetCharge {
    // Where a budget is set, requests name an output limit; one that was set during the turn finds none.
    let most = TokenCount::most(planned.bytes, planned.most_output.unwrap_or_default());
    let prices = provider.found.profile.model(&planned.model).prices;
    BudgetCharge { tokens: most.usage().total, amount: most.most_price(&prices) }
}

/// Whether any of these limits is in dollars.
pub(crate) fn has_money(limits: &[ScopedLimit]) -> Option<&ScopedLimit> {
    limits.iter().find(|one| matches!(one.limit, BudgetAmount::Money(_)))
}

/// Why a model without a known price is not asked under a budget in dollars.
pub(crate) fn unpriced(limit: &ScopedLimit, provider: &LoopProvider) -> Box<Report> {
    let (name, model) = (&provider.found.profile.name, &provider.model);
    let why = format!(
        "{} is in dollars, and the price of {model} at {name} is not known: what the turn costs could not be bounded",
        limit.scope.setting()
    );
    let hint = format!(
        "set the price as providers.{name}.models.\"{model}\".price, give {} in tokens, or leave {name} out of every budget: \
         `talaria config set budget.providers.{name} unlimited`",
        limit.scope.setting()
    );
    Box::new(failed(FailureCode::NotSent, why).with_hint(hint))
}

/// Why Codex is not asked under a budget in dollars.
pub(crate) fn unpriced_codex(limit: &ScopedLimit) -> Report {
    let setting = limit.scope.setting();
    let why = format!(
        "{setting} is in dollars, and Codex reports no price: what the turn costs could not be bounded"
    );
    let hint = format!(
        "give {setting} in tokens, or leave Codex to the limits of its subscription: \
         `talaria config set budget.providers.{CODEX} unlimited`"
    );
    failed(FailureCode::NotSent, why).with_hint(hint)
}

/// What people read when a turn ends because no one allowed more.
pub(crate) fn words_of_end(shortfall: &BudgetShortfall) -> String {
    let BudgetShortfall { state, wanted } = shortfall;
    let show = |number: u64| state.limit.with(number);
    let spent =
        format!("the budget {} is {}, and {} is spent", state.scope.words(), state.limit, show(state.spent));
    match wanted {
        None => format!("{spent}; the price of the next request is not known, so it was not sent"),
        Some(0) => format!("{spent}; no one allowed more"),
        Some(wanted) => {
            format!("{spent}; the next request can cost up to {}, and no one allowed more", show(*wanted))
        }
    }
}

/// What to do about a budget that is reached.
pub(crate) fn next_after_end(shortfall: &BudgetShortfall) -> String {
    format!(
        "raise it with `talaria config set {} AMOUNT`, or send the message in `talaria`, where you are asked for more",
        shortfall.state.scope.setting()
    )
}
