//! Resuming a turn that an earlier engine had in flight. The thread is read, missed steps are reported, and the turn
//! continues, or its end is reported.
//!
//! Until the read is complete, frames of Codex are held: the missed steps precede them, and without the turn's name it is
//! unknown which belong to it. A living Codex is trusted if it reports a turn as running, completed or failed. A missing
//! or interrupted turn must be read again before it counts.

use std::time::Duration;

use super::deadline::Deadline;
use super::flight::{Flight, RecordedRequest};
use super::sending::SETTLE_LIMIT;
use super::{Input, Moment, OpenItem, Order, Output, Phase, Settling, Turn};
use crate::missed::{self, Course, MissedStep};
use crate::project;
use crate::settle::{EndedTurn, Found, Settlement};
use crate::wire::history::ThreadStatus;
use crate::wire::notification::{Notification, TurnStatus};
use talaria_core::event::{Event, Stage};
use talaria_core::gap::Extent;
use talaria_core::gap::Gap;
use talaria_core::ids::TurnId;
use talaria_core::item::{Item, ItemBody};
use talaria_core::outcome::{FailureCode, Outcome};

/// How long after a doubtful reading the thread is read again.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// How many readings must say that the thread has no such turn: Codex may be slow to take what was sent to it.
const ABSENT: u32 = 3;
/// How many must say that an idle thread's turn was interrupted: both versions say so for a moment of one that completes.
const INTERRUPTED: u32 = 3;
/// How many may say nothing.
const UNKNOWN: u32 = 5;
/// How long Codex may take to offer its open requests again once the turn is known to run (measured: under 10 ms).
const OFFER_LIMIT: Duration = Duration::from_secs(5);
/// Reported where an adopted turn cannot be followed to its end.
const WHY: &str = "Talaria ended while the turn ran";

/// State from an earlier engine.
#[derive(Debug)]
pub(super) struct Adoption {
    stage: Stage,
    since: Option<u64>,
    /// The steps as recorded.
    begun: Vec<Item>,
    ended: Vec<Item>,
    /// Frames before the read.
    held: Vec<Input>,
    /// The turn that may have been interrupted.
    doubted: Option<(TurnId, Found)>,
    /// What readings said nothing certain about, by what they said.
    absent: u32,
    interrupted: u32,
    unknown: u32,
    read_again: Option<Moment>,
    /// Missed steps have been reported.
    is_told: bool,
    /// Requests that Codex has not offered again.
    pub(super) awaited: Vec<RecordedRequest>,
    pub(super) offers_until: Option<Moment>,
}

impl Adoption {
    /// Did a reading say something that may pass?
    fn is_doubtful(&self) -> bool {
        self.absent + self.interrupted + self.unknown > 0
    }
}

impl Turn {
    /// Resumes a turn that an earlier engine had in flight. Its first output is a read of the thread: on a living Codex
    /// the response to `thread/resume`, which Codex's next frames follow; its vantage is `Reconnected`.
    pub fn adopt(now: Moment, order: Order, flight: Flight) -> Self {
        let limit = order.limit.map(|limit| limit.saturating_sub(flight.used));
        let mut turn = Self::new(now, order);
        turn.outputs.clear();
        turn.deadline = Deadline::new(now, limit);
        turn.total = turn.order.baseline.plus(flight.spent);
        turn.id = flight.turn;
        turn.stopped_by = flight.stopped_by;
        turn.declined = flight.declined;
        turn.limits = flight.limits;
        turn.approvals = flight.approvals;
        for item in &flight.ended {
            turn.remember_ended(item);
        }
        for item in &flight.begun {
            let kind = OpenItem::of(&item.body);
            turn.announce(turn.order.thread.clone(), item);
            turn.open_items.insert(item.id.clone(), kind);
        }
        for agent in flight.agents {
            for item in &agent.begun {
                turn.announce(agent.thread.clone(), item);
            }
            turn.children.restore(agent);
        }
        if flight.stage == Stage::Prepared {
            turn.total.partial = false;
            return turn;
        }
        // Codex reports tokens once. A total that no engine received is unknown until the next one.
        turn.total.partial = true;
        turn.adoption = Some(Box::new(Adoption {
            stage: flight.stage,
            since: flight.since,
            begun: flight.begun,
            ended: flight.ended,
            held: Vec::new(),
            doubted: None,
            absent: 0,
            interrupted: 0,
            unknown: 0,
            read_again: None,
            is_told: false,
            awaited: flight.requests,
            offers_until: None,
        }));
        if turn.is_person_asked() {
            turn.deadline.pause(now);
        }
        let (why, evidence) = match flight.gone {
            Some(why) => (why, Settling::Gone),
            None => (WHY.to_owned(), Settling::Adopted),
        };
        if evidence == Settling::Gone {
            turn.children_gone();
        }
        turn.phase = Phase::Settling { why, evidence, until: now + SETTLE_LIMIT };
        turn.outputs.push_back(Output::Read);
        turn
    }

    fn remember_ended(&mut self, item: &Item) {
        self.note_end(item);
        if let ItemBody::AgentMessage { text, phase, .. } = &item.body {
            self.answer.take(text, phase.as_deref());
        }
    }

    fn is_holding(&self) -> bool {
        matches!(self.phase, Phase::Settling { evidence: Settling::Adopted, .. })
    }

    /// Keeps what Codex reports until the thread was read. Returns what may be taken now.
    pub(super) fn hold_back(&mut self, now: Moment, input: Input) -> Option<Input> {
        if !self.is_holding() {
            return Some(input);
        }
        match input {
            Input::Notification(_) | Input::Request { .. } | Input::Unknown(_) | Input::Corrupt(_) => {
                let adoption = self.adoption.as_mut()?;
                adoption.held.push(input);
                if adoption.is_doubtful()
                    && let Some(turn) = self.sign_of_life()
                {
                    let doubted = self.adoption.as_mut().and_then(|adoption| adoption.doubted.take());
                    self.resume_running(now, turn, doubted.map(|(_, found)| found).unwrap_or_default());
                }
                None
            }
            // Codex's last report before it ended is still valid.
            Input::Gone(why) => {
                self.release(now);
                Some(Input::Gone(why))
            }
            other => Some(other),
        }
    }

    /// The turn, if a held frame shows that it runs or has ended. A turn without a name is the one that began here.
    fn sign_of_life(&self) -> Option<TurnId> {
        let adoption = self.adoption.as_ref()?;
        let doubted = adoption.doubted.as_ref().map(|(turn, _)| turn);
        let known = self.id.as_ref().or(doubted);
        adoption.held.iter().find_map(|input| {
            let Input::Notification(told) = input else { return None };
            let scope = told.scope();
            let turn = scope.turn.filter(|_| scope.thread == Some(self.order.thread.as_str()))?;
            let is_it = match known {
                Some(known) => known.as_str() == turn,
                None => {
                    let is_old = self.order.after.as_ref().is_some_and(|old| old.as_str() == turn);
                    matches!(told, Notification::TurnStarted(_)) && !is_old
                }
            };
            is_it.then(|| TurnId::new(turn))
        })
    }

    /// Processes the held frames.
    fn release(&mut self, now: Moment) {
        let held = self.adoption.as_mut().map(|adoption| std::mem::take(&mut adoption.held));
        for input in held.unwrap_or_default() {
            self.take(now, input);
        }
    }

    /// Takes what the thread says about a turn that was resumed.
    pub(super) fn settle_adopted(&mut self, now: Moment, settlement: Settlement, why: &str) {
        // A report of Codex is better evidence than a doubtful read.
        let sign = self.sign_of_life();
        match settlement {
            Settlement::NotThere | Settlement::Unknown { .. } if let Some(turn) = sign => {
                self.resume_running(now, turn, Found::default());
            }
            Settlement::NotThere if self.is_certain(now, |seen| &mut seen.absent, ABSENT) => {
                if self.id.is_some() {
                    return self.lose(format!("{why}; the conversation does not have the turn"));
                }
                let message = "Codex never took the input: Talaria ended while it was being sent".to_owned();
                self.finish(Outcome::Failed { code: FailureCode::NotSent, message });
            }
            Settlement::Running { turn, found } => self.resume_running(now, turn, found),
            Settlement::Admitted { turn, thread: ThreadStatus::Active, found } => {
                self.resume_running(now, turn, found);
            }
            Settlement::Admitted { turn, found, .. } => {
                if self.is_certain(now, |seen| &mut seen.interrupted, INTERRUPTED) {
                    let Found { items, extent } = found;
                    let status = TurnStatus::Interrupted;
                    self.take_end(now, EndedTurn { turn, status, error: None, items, extent });
                } else if let Some(adoption) = &mut self.adoption {
                    adoption.doubted = Some((turn, found));
                }
            }
            Settlement::Ended(ended) => self.take_end(now, *ended),
            Settlement::Unknown { why: more } if self.is_certain(now, |seen| &mut seen.unknown, UNKNOWN) => {
                self.lose(format!("{why}; {more}"));
            }
            Settlement::NotThere | Settlement::Unknown { .. } => {}
        }
    }

    /// Counts a read with this result; if that is not enough, the thread is read again.
    fn is_certain(&mut self, now: Moment, seen: fn(&mut Adoption) -> &mut u32, enough: u32) -> bool {
        let Some(adoption) = &mut self.adoption else { return true };
        let count = seen(adoption);
        *count += 1;
        let is_enough = *count >= enough;
        adoption.read_again = (!is_enough).then(|| now + READ_AGAIN);
        is_enough
    }

    /// The turn runs: it continues here.
    fn resume_running(&mut self, now: Moment, turn: TurnId, found: Found) {
        self.go_on(now, turn, found, Course::Runs);
        if let Some(adoption) = &mut self.adoption {
            adoption.offers_until = (!adoption.awaited.is_empty()).then(|| now + OFFER_LIMIT);
        }
        if self.stopped_by.is_some() {
            self.send_interrupt(now);
        }
        self.release(now);
    }

    /// The turn ended while no one listened.
    fn take_end(&mut self, now: Moment, ended: EndedTurn) {
        let found = Found { items: ended.items.clone(), extent: ended.extent };
        self.read_answer(&ended);
        self.go_on(now, ended.turn, found, Course::Over);
        self.release(now);
        let outcome = self.outcome_of(ended.status, ended.error.as_ref());
        self.conclude(now, outcome);
    }

    fn go_on(&mut self, now: Moment, turn: TurnId, found: Found, course: Course) {
        let was_known = self.id.is_some();
        self.phase = Phase::Running;
        self.accept(turn);
        let stage = self.adoption.as_ref().map(|adoption| adoption.stage);
        if was_known && stage == Some(Stage::Unknown) {
            self.record(Stage::Accepted);
        }
        self.begun = true;
        self.quiet.sign(now);
        self.tell_missed(now, found, course);
    }

    /// Reports the steps that were missed, and what is not known.
    pub(super) fn tell_missed(&mut self, now: Moment, found: Found, course: Course) {
        let Some(adoption) = &mut self.adoption else { return };
        adoption.read_again = None;
        if std::mem::replace(&mut adoption.is_told, true) {
            return;
        }
        let (begun, ended) = (std::mem::take(&mut adoption.begun), std::mem::take(&mut adoption.ended));
        let since = adoption.since;
        let items: Vec<Item> = found.items.into_iter().map(|item| project::item(item.0)).collect();
        let mut open = missed::without_end(&begun, &items, course);
        let news = missed::missed(&begun, &ended, items);
        let mut count = 0;
        for news in news {
            match news {
                MissedStep::Began(item) => self.take_begun(self.order.thread.clone(), item),
                MissedStep::Ended(item) => {
                    count += 1;
                    open.retain(|id| *id != item.id);
                    self.take_ended(now, self.order.thread.clone(), item);
                }
            }
        }
        self.emit(Event::Gap(Gap::new(since, count, open, found.extent)));
    }

    /// A turn that was resumed ends without a reading: then nothing is known of what was missed.
    pub(super) fn tell_unread(&mut self, outcome: &Outcome) {
        let is_nothing = matches!(outcome, Outcome::Failed { code: FailureCode::NotSent, .. });
        let Some(adoption) = self.adoption.as_mut().filter(|adoption| !adoption.is_told && !is_nothing)
        else {
            return;
        };
        adoption.is_told = true;
        let open = adoption.begun.iter().map(|item| item.id.clone()).collect();
        let gap = Gap::new(adoption.since, 0, open, Extent::Messages);
        self.emit(Event::Gap(gap));
    }

    /// Wake-up time of an adopted turn for the state of an earlier engine.
    pub(super) fn adoption_at(&self) -> Option<Moment> {
        let adoption = self.adoption.as_ref()?;
        let read_again = adoption.read_again.filter(|_| self.is_holding());
        [read_again, adoption.offers_until].into_iter().flatten().min()
    }

    pub(super) fn pass_adoption(&mut self, now: Moment) {
        let is_holding = self.is_holding();
        let Some(adoption) = &mut self.adoption else { return };
        if is_holding && adoption.read_again.is_some_and(|at| at <= now) {
            adoption.read_again = None;
            self.outputs.push_back(Output::Read);
        }
        if self.adoption.as_ref().is_some_and(|adoption| adoption.offers_until.is_some_and(|at| at <= now)) {
            self.give_up_offers(now);
        }
    }
}
