//! Sub-agents: threads of their own, named by a step of the turn that started them. They have states, steps and
//! questions, and none of that ends, fails or fills the turn.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::flight::RecordedAgent;
use super::{Moment, Turn};
use crate::project;
use crate::wire::notification::{Notification, TurnStatus};
use talaria_core::event::{AgentPhase, Event};
use talaria_core::ids::{ItemId, ThreadId, TurnId};
use talaria_core::item::{Item, ItemBody, Status};

/// The sub-agents of a turn.
#[derive(Debug, Default)]
pub(super) struct Children {
    known: BTreeMap<ThreadId, Child>,
}

#[derive(Debug)]
struct Child {
    phase: AgentPhase,
    /// Its current turn, once reported.
    turn: Option<TurnId>,
    /// Its steps that have begun, and those that have ended: a repeated report counts once.
    begun: HashSet<ItemId>,
    ended: HashSet<ItemId>,
    /// Its commands that run: they can outlive an interrupt.
    commands: BTreeSet<ItemId>,
}

impl Children {
    pub(super) fn running(&self) -> usize {
        self.known.values().filter(|child| child.phase == AgentPhase::Running).count()
    }

    fn turn_of(&self, thread: &ThreadId) -> Option<TurnId> {
        self.known.get(thread)?.turn.clone()
    }

    fn running_threads(&self) -> Vec<ThreadId> {
        let running = self.known.iter().filter(|(_, child)| child.phase == AgentPhase::Running);
        running.map(|(thread, _)| thread.clone()).collect()
    }

    /// The turns that run, with their threads.
    pub(super) fn running_turns(&self) -> Vec<(ThreadId, TurnId)> {
        let running = self.known.iter().filter(|(_, child)| child.phase == AgentPhase::Running);
        running.filter_map(|(thread, child)| Some((thread.clone(), child.turn.clone()?))).collect()
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = &ThreadId> {
        self.known.keys()
    }

    /// Takes a sub-agent as it was recorded.
    pub(super) fn restore(&mut self, agent: RecordedAgent) {
        let is_command = |item: &&Item| matches!(item.body, ItemBody::Command { .. });
        let ids = |items: &[Item]| items.iter().map(|item| item.id.clone()).collect::<HashSet<_>>();
        let commands = agent.begun.iter().filter(is_command).map(|item| item.id.clone()).collect();
        let mut begun = ids(&agent.begun);
        begun.extend(agent.ended.iter().cloned());
        let ended = agent.ended.into_iter().collect();
        self.known.insert(agent.thread, Child { phase: agent.phase, turn: None, begun, ended, commands });
    }

    pub(super) fn has(&self, thread: &str) -> bool {
        self.known.contains_key(thread)
    }

    /// Takes the commands that a sub-agent has running.
    fn take_commands(&mut self, thread: &ThreadId) -> Vec<ItemId> {
        let child = self.known.get_mut(thread);
        child.map(|child| std::mem::take(&mut child.commands)).unwrap_or_default().into_iter().collect()
    }

    /// Sets a state; says whether it is news.
    fn set(&mut self, thread: &ThreadId, phase: AgentPhase, turn: Option<TurnId>) -> bool {
        match self.known.get_mut(thread) {
            Some(child) => {
                child.turn = turn;
                std::mem::replace(&mut child.phase, phase) != phase
            }
            None => {
                let (begun, ended, commands) = (HashSet::new(), HashSet::new(), BTreeSet::new());
                self.known.insert(thread.clone(), Child { phase, turn, begun, ended, commands });
                true
            }
        }
    }

    /// Notes that a step began; says whether that is news.
    fn begins(&mut self, thread: &ThreadId, item: &Item) -> bool {
        let is_step = !matches!(item.body, ItemBody::UserMessage { .. });
        let child = self.known.get_mut(thread);
        is_step
            && child.is_some_and(|child| {
                let is_news = child.begun.insert(item.id.clone());
                if is_news && matches!(item.body, ItemBody::Command { .. }) {
                    child.commands.insert(item.id.clone());
                }
                is_news
            })
    }

    /// Notes that a step ended; says whether that is news. What ended does not begin any more.
    fn ends(&mut self, thread: &ThreadId, item: &Item) -> bool {
        let is_step = !matches!(item.body, ItemBody::UserMessage { .. });
        let child = self.known.get_mut(thread);
        is_step
            && child.is_some_and(|child| {
                child.begun.insert(item.id.clone());
                child.commands.remove(&item.id);
                child.ended.insert(item.id.clone())
            })
    }
}

impl Turn {
    /// Learns from a step which sub-agents there are, and their states.
    pub(super) fn meet_children(&mut self, item: &Item) {
        match &item.body {
            ItemBody::Agents { status, threads, agents, .. } => {
                let told = |thread: &ThreadId| agents.iter().find(|agent| agent.thread == *thread);
                for thread in threads {
                    match told(thread).and_then(|agent| phase_of(&agent.status)) {
                        Some(phase) => self.child_stands(thread, phase),
                        // Naming a new one means that it works, unless it could not be had.
                        None if *status != Status::Failed && !self.children.has(thread.as_str()) => {
                            self.set_child(thread, AgentPhase::Running, None);
                        }
                        None => {}
                    }
                }
            }
            ItemBody::AgentActivity { activity, thread, .. } => {
                if let Some(phase) = phase_of(activity) {
                    self.child_stands(thread, phase);
                }
            }
            _ => {}
        }
    }

    /// A step of the parent reports the state of a sub-agent. Its turn is known only from its own reports.
    fn child_stands(&mut self, thread: &ThreadId, phase: AgentPhase) {
        let turn = match phase {
            AgentPhase::Running => self.children.turn_of(thread),
            _ => None,
        };
        self.set_child(thread, phase, turn);
    }

    /// Handles a frame of another thread. An unknown thread is foreign.
    pub(super) fn overhear(&mut self, now: Moment, notification: Notification<'static>) {
        let is_child = notification.scope().thread.is_some_and(|thread| self.children.has(thread));
        if is_child {
            self.quiet.sign(now);
        }
        match notification {
            Notification::ItemStarted(params) if params.thread_id != self.order.thread => {
                let (thread, item) = (params.thread_id, Box::new(project::item(params.item)));
                self.announce(thread.clone(), &item);
                if self.children.begins(&thread, &item) {
                    self.emit(Event::AgentItemStarted { thread, item });
                }
            }
            Notification::ItemCompleted(params) if is_child => {
                let (thread, item) = (params.thread_id, Box::new(project::item(params.item)));
                if self.children.ends(&thread, &item) {
                    self.went_on(now, &thread, &item.id);
                    self.meet_children(&item);
                    self.emit(Event::AgentItemCompleted { thread, item });
                }
            }
            Notification::PatchUpdated(params) if is_child => {
                let changes = params.changes.into_iter().map(project::file_change).collect();
                self.announced.insert((params.thread_id, params.item_id), changes);
            }
            Notification::RawItemCompleted(params) if is_child => self.order.gate.note(&params.item),
            Notification::TurnStarted(params) if is_child => {
                self.set_child(&params.thread_id, AgentPhase::Running, Some(params.turn.id));
            }
            Notification::TurnCompleted(params) if is_child => {
                let phase = match params.turn.status {
                    TurnStatus::Completed => AgentPhase::Completed,
                    TurnStatus::Interrupted => AgentPhase::Interrupted,
                    TurnStatus::Failed | TurnStatus::InProgress | TurnStatus::Unknown => AgentPhase::Failed,
                };
                self.set_child(&params.thread_id, phase, None);
                if phase == AgentPhase::Interrupted {
                    let commands = self.children.take_commands(&params.thread_id);
                    self.end_terminals(now, params.thread_id.clone(), commands);
                }
                self.void_requests_of(&params.thread_id);
                self.child_ended_after_the_turn(now);
            }
            _ => {}
        }
    }

    /// Codex is gone, and everything that ran in it.
    pub(super) fn children_gone(&mut self) {
        for thread in self.children.running_threads() {
            self.set_child(&thread, AgentPhase::Interrupted, None);
        }
    }

    fn set_child(&mut self, thread: &ThreadId, phase: AgentPhase, turn: Option<TurnId>) {
        // A sub-agent may name its parent; that makes no one its own child.
        let is_child = *thread != self.order.thread;
        if is_child && self.children.set(thread, phase, turn) {
            self.emit(Event::AgentUpdated { thread: thread.clone(), phase });
        }
    }
}

/// Codex's words for the state of a sub-agent.
fn phase_of(word: &str) -> Option<AgentPhase> {
    Some(match word {
        "pendingInit" | "running" | "started" => AgentPhase::Running,
        "completed" => AgentPhase::Completed,
        "errored" | "notFound" => AgentPhase::Failed,
        "interrupted" | "shutdown" => AgentPhase::Interrupted,
        _ => return None,
    })
}

/// The threads of sub-agents that an item names; their frames belong to the turn that started them.
pub fn sub_agents(item: &Item) -> &[ThreadId] {
    match &item.body {
        ItemBody::Agents { threads, .. } => threads,
        ItemBody::AgentActivity { thread, .. } => std::slice::from_ref(thread),
        _ => &[],
    }
}
