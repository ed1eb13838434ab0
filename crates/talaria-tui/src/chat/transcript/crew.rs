//! The sub-agents that a call made: a line for each, below the call, and what they did.

use std::collections::VecDeque;

use talaria_core::event::AgentPhase;
use talaria_core::ids::{ItemId, ThreadId};
use talaria_core::item::{AgentState, Item};
use talaria_guard::shorten::shorten;

use super::cell::{Folding, Page};
use super::wrap::{Break, wrap};
use talaria_render::{Color, Paint, Style, StyledLine, cut, news, plain_line};

/// Maximum number of kept steps of a sub-agent.
const STEPS: usize = 40;
/// Status of one that worked when the turn ended: no events follow after that.
const LEFT: &str = "was still running when the turn ended";
/// Status of one that worked when the connection was lost.
const UNHEARD: &str = "state unknown";
/// Maximum length of one step.
const LONGEST_STEP: usize = 400;

/// Sub-agents, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Crew {
    agents: Vec<Agent>,
}

#[derive(Debug)]
struct Agent {
    thread: ThreadId,
    /// Its place among the agents, if that was reported.
    path: Option<String>,
    /// Its state, if that was reported.
    stand: Option<Stand>,
    steps: VecDeque<Deed>,
    forgotten: usize,
}

/// Something that a sub-agent does or did.
#[derive(Debug)]
struct Deed {
    /// Which step it is, if it is one: its end has more than its beginning.
    item: Option<ItemId>,
    words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Told(AgentPhase),
    /// The turn ended while it was at work.
    Left,
}

impl Agent {
    fn is_at_work(&self) -> bool {
        self.stand == Some(Stand::Told(AgentPhase::Running))
    }

    fn push(&mut self, item: Option<&ItemId>, words: &str) {
        self.steps.push_back(Deed { item: item.cloned(), words: shortened(words) });
        if self.steps.len() > STEPS {
            self.steps.pop_front();
            self.forgotten += 1;
        }
    }
}

impl Crew {
    /// Takes over all of another crew.
    pub(super) fn join(&mut self, other: Crew) {
        for agent in other.agents {
            match self.agents.iter_mut().find(|known| known.thread == agent.thread) {
                Some(known) => *known = agent,
                None => self.agents.push(agent),
            }
        }
    }

    /// A sub-agent appeared.
    pub(super) fn meet(&mut self, thread: &ThreadId) {
        self.agent(thread);
    }

    /// A sub-agent began a step, or ended one. Whether what has begun runs is not known: a person may be asked about it.
    pub(super) fn step(&mut self, thread: &ThreadId, item: &Item, paint: Paint) {
        let agent = self.agent(thread);
        let words = news::agent_step(item, paint).unwrap_or_default();
        // A message that has only begun says nothing yet.
        if words.trim().is_empty() {
            return;
        }
        match agent.steps.iter_mut().rev().find(|step| step.item.as_ref() == Some(&item.id)) {
            Some(step) => step.words = shortened(&words),
            None => agent.push(Some(&item.id), &words),
        }
    }

    /// A sub-agent has this state now.
    pub(super) fn update(&mut self, thread: &ThreadId, phase: AgentPhase) {
        self.agent(thread).stand = Some(Stand::Told(phase));
    }

    /// Something happened to a sub-agent that has a place among the others.
    pub(super) fn activity(&mut self, thread: &ThreadId, path: &str, activity: &str) {
        let agent = self.agent(thread);
        agent.path = Some(shortened(path));
        agent.push(None, activity);
    }

    /// Report of an ended call about a sub-agent.
    pub(super) fn report(&mut self, state: &AgentState) {
        let words = state.message.as_deref().filter(|message| !message.is_empty());
        let step = match words {
            Some(message) => format!("{}: {message}", state.status),
            None => state.status.clone(),
        };
        let agent = self.agent(&state.thread);
        if words.is_some() || agent.stand.is_none() {
            agent.push(None, &step);
        }
    }

    /// Is one of them said to be at work?
    pub(super) fn is_at_work(&self) -> bool {
        self.agents.iter().any(Agent::is_at_work)
    }

    /// The turn ended without a report of their end.
    pub(super) fn leave(&mut self) {
        let at_work = self.agents.iter_mut().filter(|agent| agent.is_at_work());
        at_work.for_each(|agent| agent.stand = Some(Stand::Left));
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        let steps = self.agents.iter().flat_map(|agent| &agent.steps);
        steps.map(|step| size_of::<Deed>() + step.words.len()).sum()
    }

    /// Appends the rows: in short one for each, with what it did last.
    pub(super) fn push_rows(&self, page: &Page<'_>, out: &mut Vec<StyledLine>) {
        let paint = page.paint;
        for agent in &self.agents {
            let warning = Style::PLAIN.color(Color::Yellow);
            let (word, style) = match agent.stand {
                None => (None, Style::DIM),
                Some(Stand::Left) => (Some(LEFT), warning),
                Some(Stand::Told(AgentPhase::Running)) if !page.is_heard => (Some(UNHEARD), Style::DIM),
                Some(Stand::Told(phase)) => {
                    let is_bad = matches!(phase, AgentPhase::Failed | AgentPhase::Interrupted);
                    (Some(news::phase_word(phase)), if is_bad { warning } else { Style::DIM })
                }
            };
            let name = match &agent.path {
                Some(path) => format!("agent {path}"),
                None => plain_line(&news::agent(&agent.thread)).into_owned(),
            };
            let mut text = format!("  {} {name}", paint.sign("└", "`-"));
            word.iter().for_each(|word| text.extend([" ", word]));
            if page.fold == Folding::Folded {
                let last = agent.steps.back().map(|step| format!(": {}", step.words)).unwrap_or_default();
                text = cut(&format!("{text}{last}"), page.width, paint);
            }
            wrap(paint.line(style, &text), page.width, 4, Break::Words, out);
            if page.fold == Folding::Folded {
                continue;
            }
            let plural = if agent.forgotten == 1 { "" } else { "s" };
            let more = (agent.forgotten > 0).then(|| format!("{} earlier step{plural}", agent.forgotten));
            let steps = agent.steps.iter().map(|step| &step.words);
            for step in more.iter().chain(steps) {
                let line = paint.line(Style::DIM, &format!("      {step}"));
                wrap(line, page.width, 6, Break::Words, out);
            }
        }
    }

    fn agent(&mut self, thread: &ThreadId) -> &mut Agent {
        let at = match self.agents.iter().position(|agent| agent.thread == *thread) {
            Some(at) => at,
            None => {
                let (steps, forgotten) = (VecDeque::new(), 0);
                self.agents.push(Agent { thread: thread.clone(), path: None, stand: None, steps, forgotten });
                self.agents.len() - 1
            }
        };
        &mut self.agents[at]
    }
}

fn shortened(step: &str) -> String {
    plain_line(&shorten(step.trim(), LONGEST_STEP)).into_owned()
}
