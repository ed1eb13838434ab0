//! What has to be recorded of the questions of a turn, so that another engine can take them up where they were.
//!
//! An answer goes through these in order: `Opened`, then `Delivering` before the first byte of it is written, then its
//! `Fate`. Nothing here is for people; the events are.

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
        /// The answer; a secret in it is not to be kept.
        answer: Box<Answer>,
        /// Who answered.
        by: Who,
    },
    /// What became of the answer to a request.
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

/// What has to be known of a request, so that it is found again and its answer is bound to it.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Our name for it.
    pub ticket: TicketId,
    /// Codex's.
    pub asked: RequestIdentity,
    /// What an answer is bound to; `None` where none can be kept.
    pub binding: Option<Binding>,
    /// Where it would happen.
    pub place: Option<Place>,
}

/// What became of an answer.
#[derive(Clone, Debug)]
pub enum Fate {
    /// Codex has it: it said so, or continued.
    Delivered,
    /// It may have been written; Codex went before it said anything.
    Unknown,
    /// It was never written, and Codex is gone. It may be put in escrow.
    Kept {
        /// The answer.
        answer: Box<Answer>,
        /// Who answered.
        by: Who,
    },
    /// It was never written, and no one waits for it any more.
    Void,
}
