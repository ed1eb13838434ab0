//! Records about the requests of a turn, from which another engine resumes them.
//!
//! An answer passes these stages in order: `Opened`, then `Delivering` before the first byte of it is written, then
//! its `Fate`. Nothing here is for people; the events are.

use super::flight::RequestIdentity;
use talaria_core::escrow::Binding;
use talaria_core::ids::TicketId;
use talaria_core::request::{Answer, Who};
use talaria_guard::place::Place;

/// Something to record.
#[derive(Clone, Debug)]
pub enum Record {
    /// A request was opened. `Event::RequestOpened` follows.
    Opened(Box<Opened>),
    /// The answer to this request is written next; `Event::RequestClosed` was reported before.
    Delivering {
        /// Our name for the request.
        ticket: TicketId,
        /// The answer; a secret in it must not be stored.
        answer: Box<Answer>,
        /// Who answered.
        by: Who,
    },
    /// Result of the answer to a request.
    Fate {
        /// Our name for the request.
        ticket: TicketId,
        /// What.
        fate: Fate,
    },
    /// An answer from before is used now; `Delivering` follows.
    EscrowUsed {
        /// The request that it had been given to.
        kept: TicketId,
        /// The request that it answers now.
        ticket: TicketId,
    },
}

/// Identity and binding of a request, from which it is found again.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Our name for it.
    pub ticket: TicketId,
    /// Codex's.
    pub asked: RequestIdentity,
    /// Binding of an answer; `None` if none can be kept.
    pub binding: Option<Binding>,
    /// Where it would happen.
    pub place: Option<Place>,
}

/// Result of an answer.
#[derive(Clone, Debug)]
pub enum Fate {
    /// Codex has it: it said so, or continued.
    Delivered,
    /// It may have been written; Codex ended without a confirmation.
    Unknown,
    /// It was never written, and Codex has ended. It may be kept in escrow.
    Kept {
        /// The answer.
        answer: Box<Answer>,
        /// Who answered.
        by: Who,
    },
    /// It was never written, and no one waits for it any more.
    Void,
}
