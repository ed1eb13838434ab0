//! Result of input whose admission was never confirmed, decided by reading the thread and by nothing else.
//!
//! Before a turn is sent, three things are recorded: our own id for the input, the last turn known then, and the
//! input itself. When the answer does not come, the thread is read and looked through here. A version that keeps our id
//! is asked for it; an older one for a turn that is newer than the last one known and begins with our words; for a
//! compaction both are asked for a newer turn that is one. Whatever is
//! not plain evidence is `Unknown`: no one may take it for a reason to send the input again. No I/O; called by the
//! session, which reads again as long as `Unknown` may pass.

use crate::wire::history::{History, HistoryItem, HistoryTurn, ThreadStatus, UserMessageRef};
use crate::wire::item::WireInput;
use crate::wire::notification::{TurnError, TurnStatus};
use talaria_core::gap::Extent;
use talaria_core::ids::TurnId;
use talaria_core::input::InputPart;

/// Kind of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deed {
    /// To say something to the model.
    #[default]
    Words,
    /// To shorten the conversation; nothing is said.
    Compaction,
}

/// The record from before the input was sent.
#[derive(Clone, Copy, Debug)]
pub struct RecordedInput<'a> {
    /// Kind of the turn.
    pub deed: Deed,
    /// Our own id for it, if the version keeps such ids.
    pub client_id: Option<&'a str>,
    /// The last turn of the thread that was known then.
    pub last_turn: Option<&'a TurnId>,
    /// The input.
    pub input: &'a [InputPart],
    /// The turn that it became, where that is known already: then only its end is looked for.
    pub turn: Option<&'a TurnId>,
}

/// From where the thread was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// From the Codex that was given the input: it may still be about to take it.
    SameHost,
    /// From that Codex, after the connection that sent the input had closed: input that it does not have will not
    /// arrive any more. A second read a moment later confirms it.
    Reconnected,
    /// After that Codex had ended: whatever it left is all there will ever be.
    AfterItsEnd,
}

/// Result of the input.
#[derive(Clone, Debug)]
pub enum Settlement {
    /// The thread has no trace of it, and none can appear: it was not admitted.
    NotThere,
    /// Found; its turn runs.
    Running {
        /// The turn.
        turn: TurnId,
        /// Its items so far.
        found: Found,
    },
    /// Found; this read does not show whether its turn still runs. Its frames, or the next read, decide.
    Admitted {
        /// The turn.
        turn: TurnId,
        /// Status of the thread.
        thread: ThreadStatus,
        /// Its items so far.
        found: Found,
    },
    /// Found; its turn has ended.
    Ended(Box<EndedTurn>),
    /// It cannot be known, or not yet.
    Unknown {
        /// Why, for people.
        why: String,
    },
}

/// A turn as reported by a thread.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Its items, in order.
    pub items: Vec<HistoryItem>,
    /// Completeness of the items.
    pub extent: Extent,
}

/// A turn that ended while no one listened.
#[derive(Clone, Debug)]
pub struct EndedTurn {
    /// Its id.
    pub turn: TurnId,
    /// Its outcome; never `InProgress` or `Unknown`.
    pub status: TurnStatus,
    /// Why it failed, if Codex says so.
    pub error: Option<TurnError>,
    /// Its items as far as Codex reports them: 0.130 reports only messages.
    pub items: Vec<HistoryItem>,
    /// Completeness of the items.
    pub extent: Extent,
}

/// Decides what became of the input.
pub fn settle(sent: &RecordedInput<'_>, history: &History, vantage: Vantage) -> Settlement {
    let turns = &history.turns;
    if let Some(known) = sent.turn {
        return match turns.iter().find(|turn| turn.id == *known) {
            Some(turn) => settle_turn(history, turn, vantage),
            None if vantage == Vantage::Reconnected => Settlement::NotThere,
            None => unknown("the thread does not have the turn"),
        };
    }
    if let Some(id) = sent.client_id
        && let Some(turn) = turns.iter().find(|turn| turn.said().any(|said| said.client_id == Some(id)))
    {
        return settle_turn(history, turn, vantage);
    }
    let newer = match sent.last_turn {
        None => turns.as_slice(),
        Some(last) => match turns.iter().position(|turn| turn.id == *last) {
            Some(at) => &turns[at + 1..],
            None => return unknown("the thread no longer has the turn before it"),
        },
    };
    if sent.deed == Deed::Compaction && !newer.is_empty() {
        let is_compaction = |turn: &&HistoryTurn| turn.is_whole() && turn.is_compaction();
        let mut ours = newer.iter().filter(is_compaction);
        return match (ours.next(), ours.next()) {
            (Some(turn), None) => settle_turn(history, turn, vantage),
            _ => unknown("the thread has newer turns, and none of them is plainly the one that shortens it"),
        };
    }
    if newer.iter().any(|turn| !turn.is_whole() || turn.said().next().is_none()) {
        return unknown("the thread has a newer turn, and Codex does not report what was said in it");
    }
    if sent.client_id.is_none() {
        let mut ours = newer.iter().filter(|turn| turn.said().next().is_some_and(|said| is_ours(sent, said)));
        match (ours.next(), ours.next()) {
            (Some(turn), None) => return settle_turn(history, turn, vantage),
            (Some(_), Some(_)) => return unknown("the thread has several newer turns with the same words"),
            (None, _) if was_steered(sent, turns, newer) => {
                return unknown("another turn has the same words, as further input");
            }
            (None, _) => {}
        }
    }
    match vantage {
        Vantage::AfterItsEnd | Vantage::Reconnected => Settlement::NotThere,
        Vantage::SameHost => {
            unknown("the thread does not have it yet, and the Codex that was given it still runs")
        }
    }
}

fn unknown(why: &str) -> Settlement {
    Settlement::Unknown { why: why.to_owned() }
}

fn settle_turn(history: &History, turn: &HistoryTurn, vantage: Vantage) -> Settlement {
    let extent = history.extent(turn);
    let found = || Found { items: turn.items.clone(), extent };
    match (turn.status, vantage) {
        (TurnStatus::InProgress, Vantage::SameHost | Vantage::Reconnected) => {
            Settlement::Running { turn: turn.id.clone(), found: found() }
        }
        (TurnStatus::InProgress, Vantage::AfterItsEnd) => {
            unknown("its turn is said to run although the Codex that ran it has ended")
        }
        (TurnStatus::Unknown, _) => unknown("its turn has a status that this version does not know"),
        // Both versions say so for a moment of a turn that is just beginning, or has ended well and is not written yet.
        (TurnStatus::Interrupted, Vantage::SameHost | Vantage::Reconnected) => {
            Settlement::Admitted { turn: turn.id.clone(), thread: history.status.clone(), found: found() }
        }
        (status @ (TurnStatus::Completed | TurnStatus::Interrupted | TurnStatus::Failed), _) => {
            Settlement::Ended(Box::new(EndedTurn {
                turn: turn.id.clone(),
                status,
                error: turn.error.clone(),
                items: turn.items.clone(),
                extent,
            }))
        }
    }
}

/// Input that reaches Codex while a turn runs becomes further input of that turn: then there is no newer turn of ours.
fn was_steered(sent: &RecordedInput<'_>, turns: &[HistoryTurn], newer: &[HistoryTurn]) -> bool {
    let before = turns.len() - newer.len();
    let candidates = turns.iter().skip(before.saturating_sub(1));
    candidates.flat_map(|turn| turn.said().skip(1)).any(|said| is_ours(sent, said))
}

/// 0.130 joins the texts of one message and appends images, so both are compared separately.
fn is_ours(sent: &RecordedInput<'_>, said: UserMessageRef<'_>) -> bool {
    let (mut text, mut files) = (String::new(), Vec::new());
    for part in sent.input {
        match part {
            InputPart::Text { text: piece } => text.push_str(piece),
            InputPart::LocalImage { path } => files.push(path.as_str()),
        }
    }
    let (mut said_text, mut said_files) = (String::new(), Vec::new());
    for part in said.content {
        match part {
            WireInput::Text(piece) => said_text.push_str(piece),
            WireInput::Other { name, .. } => said_files.extend(name.as_deref()),
        }
    }
    (text, files) == (said_text, said_files)
}

#[cfg(test)]
mod tests;
