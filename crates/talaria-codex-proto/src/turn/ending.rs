//! The end of a turn: Codex's report fixes the outcome, then the rest of the turn is awaited, each part for a bounded
//! time: late items, commands that outlive an interrupt, working sub-agents, the content of the file.

use std::time::Duration;

use super::choosing::FILE_LIMIT;
use super::deadline::Deadline;
use super::requests::End;
use super::{Moment, OpenItem, Output, Phase, Turn};
use crate::failure;
use crate::frame::Unknown;
use crate::settle::Deed;
use crate::wire::notification::{TurnError, TurnParams, TurnStatus};
use talaria_core::background::{BackgroundCommand, UnendedCommand};
use talaria_core::event::{Abandonment, Event, Stage, Usage};
use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::item::Compaction;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;

/// How long after its end a turn's last items may still come: 0.130 sends them 50 to 100 ms late.
const LATE_ITEMS: Duration = Duration::from_millis(400);
/// How long ending the commands of an interrupted turn may take.
const TERMINALS_LIMIT: Duration = Duration::from_secs(5);
/// How long sub-agents that were stopped may take to end.
const STOPPED_CHILDREN_LIMIT: Duration = Duration::from_secs(5);
/// How long sub-agents are waited for. The time that a person takes to answer them does not count.
const CHILDREN_LIMIT: Duration = Duration::from_secs(60);

/// Parts still awaited, with deadlines.
#[derive(Debug)]
pub(super) struct Waits {
    items: Option<Moment>,
    terminals: Option<Moment>,
    children: Option<Deadline>,
    pub(super) settings: Option<Moment>,
    /// Steps in the file that Codex did not report.
    pub(super) untold: Option<Moment>,
    /// The sub-agents were asked to stop.
    are_children_stopped: bool,
}

impl Waits {
    /// When the next of them is over.
    pub(super) fn next(&self) -> Option<Moment> {
        let children = self.children.as_ref().and_then(Deadline::at);
        [self.items, self.terminals, self.settings, self.untold, children].into_iter().flatten().min()
    }

    /// Drops what is over; says whether something is left.
    fn is_waiting(&mut self, now: Moment) -> bool {
        self.items = self.items.filter(|until| *until > now);
        self.terminals = self.terminals.filter(|until| *until > now);
        self.settings = self.settings.filter(|until| *until > now);
        self.untold = self.untold.filter(|until| *until > now);
        self.children = self.children.take().filter(|limit| limit.at().is_none_or(|at| at > now));
        self.next().is_some() || self.children.is_some()
    }
}

impl Turn {
    pub(super) fn end(&mut self, now: Moment, params: &TurnParams) {
        let outcome = self.outcome_of(params.turn.status, params.turn.error.as_ref());
        self.conclude(now, outcome);
    }

    /// Interprets Codex's status of an ended turn.
    pub(super) fn outcome_of(&self, status: TurnStatus, error: Option<&TurnError>) -> Outcome {
        match status {
            TurnStatus::Completed => Outcome::Completed,
            // A failure without a reason is one too; the error reported before may be the reason.
            TurnStatus::Failed => failure::failed(error.or(self.last_error.as_ref())),
            TurnStatus::Interrupted => Outcome::Interrupted { by: self.stopped_by.unwrap_or(Who::Codex) },
            TurnStatus::InProgress | TurnStatus::Unknown if self.is_marked_aborted => {
                Outcome::Interrupted { by: self.stopped_by.unwrap_or(Who::Codex) }
            }
            // An end that does not say how: what happened is not known.
            TurnStatus::InProgress | TurnStatus::Unknown => {
                Outcome::Lost { why: "Codex ended the turn without saying how".to_owned() }
            }
        }
    }

    /// Fixes the outcome. The first end is the end: another one neither changes it nor prolongs the wait.
    pub(super) fn conclude(&mut self, now: Moment, outcome: Outcome) {
        if matches!(self.phase, Phase::Ending { .. } | Phase::Done) {
            return;
        }
        let is_interrupted = matches!(outcome, Outcome::Interrupted { .. });
        // Steps that are open when a turn is interrupted never complete by themselves, and their commands
        // continue to run.
        if is_interrupted {
            let (thread, commands) = (self.order.thread.clone(), self.open_commands());
            self.end_terminals(now, thread, commands);
        }
        let terminals = (self.ending_terminals > 0).then(|| now + TERMINALS_LIMIT);
        let items = (!is_interrupted && !self.open_items.is_empty()).then(|| now + LATE_ITEMS);
        self.void_own_requests();
        let children = (self.children.running() > 0).then(|| self.await_children(now));
        let settings = self.is_looking_up.then(|| now + FILE_LIMIT);
        let untold = self.look_up_untold(now);
        let waits = Waits { items, terminals, children, settings, untold, are_children_stopped: false };
        self.phase = Phase::Ending { outcome, waits };
        self.finish_when_nothing_is_awaited(now);
    }

    /// Has the commands ended that an interrupted turn, this one or that of a sub-agent, left running.
    pub(super) fn end_terminals(&mut self, now: Moment, thread: ThreadId, items: Vec<ItemId>) {
        if items.is_empty() {
            return;
        }
        self.ending_terminals += 1;
        self.outputs.push_back(Output::EndTerminals { thread, items });
        if let Phase::Ending { waits, .. } = &mut self.phase {
            waits.terminals = Some(now + TERMINALS_LIMIT);
        }
    }

    fn open_commands(&self) -> Vec<ItemId> {
        self.unended_commands().into_iter().map(|command| command.item).collect()
    }

    /// The commands whose end Codex has not reported, in the order of their ids.
    fn unended_commands(&self) -> Vec<UnendedCommand> {
        let mut commands: Vec<_> = self
            .open_items
            .iter()
            .filter_map(|(item, kind)| match kind {
                OpenItem::Command { command, cwd } => {
                    Some(UnendedCommand { item: item.clone(), command: command.clone(), cwd: cwd.clone() })
                }
                OpenItem::Tool { .. } | OpenItem::Other => None,
            })
            .collect();
        commands.sort_by(|a, b| a.item.cmp(&b.item));
        commands
    }

    /// Asks once which commands of an ended turn still run in the background; says whether it did. Codex must be alive for
    /// that, and the commands of an interrupted turn have been ended instead.
    fn search_terminals(&mut self, now: Moment) -> bool {
        let mut commands = self.unended_commands();
        // A command that was never approved did not run.
        commands.retain(|command| !self.approvals.is_missing(&command.item));
        let Phase::Ending { outcome, waits } = &mut self.phase else { return false };
        let can_run = matches!(outcome, Outcome::Completed | Outcome::Failed { .. });
        if !can_run || commands.is_empty() || self.background.is_some() {
            return false;
        }
        self.background = Some(Vec::new());
        waits.terminals = Some(now + TERMINALS_LIMIT);
        let thread = self.order.thread.clone();
        self.outputs.push_back(Output::FindTerminals { thread, commands });
        true
    }

    pub(super) fn terminals_found(&mut self, now: Moment, found: Vec<BackgroundCommand>) {
        let Phase::Ending { waits, .. } = &mut self.phase else { return };
        waits.terminals = None;
        self.background = Some(found);
        self.finish_when_nothing_is_awaited(now);
    }

    fn await_children(&mut self, now: Moment) -> Deadline {
        self.emit(Event::ChildrenRunning { count: self.children.running() });
        let mut limit = Deadline::new(now, Some(CHILDREN_LIMIT));
        if self.is_person_asked() {
            limit.pause(now);
        }
        limit
    }

    /// The clock of the wait for sub-agents stops while one of them asks a person.
    pub(super) fn children_clock(&mut self) -> Option<&mut Deadline> {
        match &mut self.phase {
            Phase::Ending { waits, .. } => waits.children.as_mut(),
            _ => None,
        }
    }

    pub(super) fn child_ended_after_the_turn(&mut self, now: Moment) {
        let count = self.children.running();
        let Phase::Ending { waits, .. } = &mut self.phase else { return };
        if waits.children.is_some() {
            self.emit(Event::ChildrenRunning { count });
            self.finish_when_nothing_is_awaited(now);
        }
    }

    /// Stops the awaited sub-agents. Their leftover commands are handled when they report their end, so a part of the
    /// wait remains; a second request skips that, too.
    pub(super) fn stop_waiting_for_children(&mut self, now: Moment, by: Who) {
        let Phase::Ending { waits, .. } = &mut self.phase else { return };
        if waits.children.is_none() {
            return;
        }
        if waits.are_children_stopped {
            waits.children = None;
            return self.finish_when_nothing_is_awaited(now);
        }
        waits.are_children_stopped = true;
        waits.children = Some(Deadline::new(now, Some(STOPPED_CHILDREN_LIMIT)));
        self.emit(Event::Interrupting { by });
        self.interrupt_children();
    }

    pub(super) fn terminals_ended(&mut self, now: Moment, message: Option<String>) {
        let Some(others) = self.ending_terminals.checked_sub(1) else { return };
        self.ending_terminals = others;
        if let Some(message) = message {
            self.emit(Event::TerminalsEnded { message });
        }
        let Phase::Ending { waits, .. } = &mut self.phase else { return };
        if others == 0 {
            waits.terminals = None;
        }
        // The commands that were ended are reported as items, a moment later.
        waits.items = Some(now + LATE_ITEMS);
        self.finish_when_nothing_is_awaited(now);
    }

    pub(super) fn finish_when_nothing_is_awaited(&mut self, now: Moment) {
        let (is_all_told, running) = (self.open_items.is_empty(), self.children.running());
        let Phase::Ending { outcome, waits } = &mut self.phase else { return };
        if is_all_told {
            waits.items = None;
        }
        if running == 0 {
            waits.children = None;
        }
        if !waits.is_waiting(now) {
            let outcome = outcome.clone();
            if !self.search_terminals(now) {
                self.finish(outcome);
            }
        }
    }

    /// A message in a shape that this build does not know. If it says that this turn ended, that much is understood.
    pub(super) fn keep_unknown(&mut self, now: Moment, unknown: Unknown) {
        let is_this_thread = unknown.thread.as_ref() == Some(&self.order.thread);
        let is_end = unknown.method == "turn/completed" && is_this_thread;
        let is_ours = unknown.turn.is_none() || unknown.turn == self.id;
        if is_this_thread {
            self.quiet.sign(now);
        }
        // The host has refused it: no one could be asked.
        self.declined += u32::from(unknown.id.is_some());
        self.emit(Event::Unknown { method: unknown.method, raw: unknown.raw });
        if is_end && is_ours && self.id.is_some() {
            self.lose("Codex ended the turn in a form that this version does not understand".to_owned());
        }
    }

    /// A failure that has no class in Codex is one of the login, if Codex complained of that.
    fn explained(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Failed { code: FailureCode::Other, message } if self.has_login_trouble => {
                Outcome::Failed { code: FailureCode::Auth, message }
            }
            other => other,
        }
    }

    /// A compaction that failed changed nothing, which its words say.
    fn of_compaction(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Failed { code, message } if self.order.deed == Deed::Compaction => {
                Outcome::Failed { code, message: Compaction::failure(&message) }
            }
            other => other,
        }
    }

    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.tell_unread(&outcome);
        self.tell_unconfirmed(&outcome);
        self.tell_unanswered(&outcome);
        let is_lost = matches!(outcome, Outcome::Lost { .. });
        self.void_requests(if is_lost { End::Lost } else { End::Ended });
        for command in self.background.take().unwrap_or_default() {
            if self.open_items.remove(&command.item).is_some() {
                self.emit(Event::BackgroundStarted(Box::new(command)));
            }
        }
        let mut abandoned: Vec<_> = std::mem::take(&mut self.open_items).into_keys().collect();
        abandoned.sort();
        for item in abandoned {
            let why = self.approvals.is_missing(&item).then_some(Abandonment::NotRun);
            self.emit(Event::ItemAbandoned { item, why });
        }
        let outcome = self.of_compaction(self.explained(outcome));
        self.record(if is_lost { Stage::Unknown } else { Stage::Settled });
        match &outcome {
            // A model that was answering when Codex was lost spent more than was reported.
            Outcome::Lost { .. } => self.total.partial = true,
            Outcome::Failed { code: FailureCode::NotSent, .. } => self.total.partial = false,
            Outcome::Failed { .. } | Outcome::Completed | Outcome::Interrupted { .. } => {}
        }
        let usage = self.spent();
        let answer = match outcome {
            Outcome::Completed => self.answer.text(),
            Outcome::Failed { .. } | Outcome::Interrupted { .. } | Outcome::Lost { .. } => {
                self.answer.final_text()
            }
        };
        let report = Report::new(outcome, answer, usage, self.declined)
            .with_children(self.children.running())
            .with_limits(self.limits.as_ref());
        let report = if is_lost && self.has_login_trouble { report.with_login_hint() } else { report };
        let report = Box::new(report);
        self.emit(Event::Outcome(report.clone()));
        let total = Usage { partial: self.total.partial || self.order.baseline.partial, ..self.total };
        self.outputs.push_back(Output::Finish(report, total));
        self.phase = Phase::Done;
    }
}
