//! Notifications: `notices` writes what is owed in one transaction with what happened, `delivery` sends it.

pub(crate) mod delivery;
pub(crate) mod notices;
