//! Reservations of what requests to models can cost, and what people allowed beyond a limit. `talaria_core::budget` decides.

use talaria_core::budget::{BudgetAmount, BudgetCharge, BudgetScope, ScopedLimit};
use talaria_core::ids::{SessionId, TicketId};

use crate::model::model_attempt::ModelAttemptKey;

/// A reservation that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReservation {
    pub session: SessionId,
    /// The attempt that it is for. Its row may not exist yet.
    pub key: ModelAttemptKey,
    /// The epoch of the engine that sends it.
    pub epoch: i64,
    pub at: i64,
    pub provider: String,
    /// The most that it can cost.
    pub charge: BudgetCharge,
    /// The limits that it must fit.
    pub limits: Vec<ScopedLimit>,
    /// The providers that no limit counts.
    pub uncounted: Vec<String>,
}

/// What a person allowed beyond a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAllowance {
    /// The request that they answered.
    pub ticket: TicketId,
    pub scope: BudgetScope,
    pub amount: BudgetAmount,
}
