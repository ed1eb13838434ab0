//! The record of a question: that it was asked, and what was decided by whom. It is answered elsewhere.

use talaria_core::ids::ItemId;
use talaria_core::request::{Ask, Decision, Who};

use super::cell::{Folding, Page};
use super::kept::{Kept, Limits};
use super::wrap::{Break, rows, wrap};
use talaria_render::{Color, Style, StyledLine, StyledText, cut, notice, tool_line};

const LIMITS: Limits = Limits { head: 8 * 1024, tail: 1024 };

/// Status of a step that waits for a person.
const WAITS: &str = "waiting for an answer";

/// Status of a step whose request was not answered.
const UNANSWERED: &str = "did not run: not answered";

/// Status of a step that another client may have accepted.
const ELSEWHERE: &str = "not answered here; it may have run";

/// Status of a step that had begun when the connection was lost.
const UNHEARD: &str = "it may still be running";

/// Result of a question that was open when the turn ended.
const LEFT: &str = "no answer was seen before the turn ended";

/// A question that was asked.
#[derive(Debug)]
pub(super) struct Request {
    /// Its subject; none if its beginning is not loaded.
    about: Option<Kept>,
    /// The command or the change that waits for it.
    step: Option<ItemId>,
    /// Is it right above, and does it say that it waits?
    is_told: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Open,
    Closed {
        /// When, as a time of day.
        at: i64,
        decision: Decision,
        by: Who,
        why: Option<String>,
    },
    /// The turn ended without an answer.
    Left,
}

impl Request {
    pub(super) fn opened(ask: &Ask) -> Self {
        let about = Some(Kept::of(&ask.label(), LIMITS));
        Self { about, step: tool_line::held_step(ask).cloned(), is_told: false, state: State::Open }
    }

    /// What waits for it says so itself: until it is decided, nothing more has to be said here.
    pub(super) fn stand_beside_its_step(&mut self) {
        self.is_told = true;
    }

    /// It was decided; that it was asked is not here.
    pub(super) fn decided(at: i64, decision: Decision, by: Who, why: Option<String>) -> Self {
        Self { about: None, step: None, is_told: false, state: State::Closed { at, decision, by, why } }
    }

    /// Shows afterwards what was asked.
    pub(super) fn fill_in(&mut self, ask: &Ask) {
        self.about = Some(Kept::of(&ask.label(), LIMITS));
        self.step = tool_line::held_step(ask).cloned();
    }

    /// It was decided.
    pub(super) fn close(&mut self, at: i64, decision: Decision, by: Who, why: Option<String>) {
        self.state = State::Closed { at, decision, by, why };
    }

    /// Its turn ended without an answer.
    pub(super) fn leave(&mut self) {
        self.state = State::Left;
    }

    /// When it was decided, how, and by whom.
    pub(super) fn answer(&self) -> Option<(i64, Decision, Who)> {
        match self.state {
            State::Closed { at, decision, by, .. } => Some((at, decision, by)),
            State::Open | State::Left => None,
        }
    }

    /// The step that waits for this decision.
    pub(super) fn step(&self) -> Option<&ItemId> {
        self.step.as_ref()
    }

    /// Does it wait for an answer?
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        self.about.as_ref().map_or(0, Kept::weight)
    }

    pub(super) fn rows(&self, page: &Page<'_>) -> Vec<StyledLine> {
        if self.is_told && self.is_open() {
            return Vec::new();
        }
        let paint = page.paint;
        let (lead, style) = match self.state {
            State::Open => ("? waiting for an answer: ", Style::PLAIN.color(Color::Yellow)),
            State::Closed { .. } | State::Left => ("? ", Style::DIM),
        };
        let mut out = Vec::new();
        if let Some(about) = &self.about {
            let about = about.shown();
            let about = talaria_guard::plain::reveal_line(&about);
            let line = format!("{lead}{about}");
            let line = match page.fold {
                Folding::Folded => cut(&line, page.width, paint),
                Folding::Unfolded => line,
            };
            wrap(paint.line(style, &line), page.width, 2, Break::Anywhere, &mut out);
        }
        let end = match &self.state {
            State::Open => return out,
            State::Closed { decision, by, why, .. } => notice::decided(*decision, *by, why.as_deref(), paint),
            State::Left => notice::warn(&format!("{} {LEFT}", paint.sign("→", "->")), paint),
        };
        let mut text = StyledText::plain(if self.about.is_some() { "  " } else { "" });
        text.append(end);
        out.extend(rows(text, page.width, 4, Break::Words));
        out
    }
}

/// The line of something that a person is asked about: it has no time, because it does not run.
pub(super) fn held(label: &str, page: &Page<'_>) -> StyledLine {
    idle(label, WAITS, page)
}

/// The line of something that a person was asked about, and no one answered.
pub(super) fn unanswered(label: &str, page: &Page<'_>) -> StyledLine {
    idle(label, UNANSWERED, page)
}

/// The line of something that Codex asked about, and that another client may have accepted.
pub(super) fn answered_elsewhere(label: &str, page: &Page<'_>) -> StyledLine {
    idle(label, ELSEWHERE, page)
}

/// The line of something that had begun when the connection was lost.
pub(super) fn unheard(label: &str, page: &Page<'_>) -> StyledLine {
    idle(label, UNHEARD, page)
}

fn idle(label: &str, words: &str, page: &Page<'_>) -> StyledLine {
    with_note(page.paint.sign("◌", "o"), label, words, page)
}

/// A sign, a name that is cut to fit, and dimmed words after it.
pub(super) fn with_note(sign: &str, label: &str, words: &str, page: &Page<'_>) -> StyledLine {
    let room = page.width.saturating_sub(words.len() + 4).max(8);
    let label = cut(label, room, page.paint);
    let mut line = StyledLine::of(Style::PLAIN, format!("{sign} {label}  "));
    line.push(page.paint.seen(Style::DIM), words);
    line
}
