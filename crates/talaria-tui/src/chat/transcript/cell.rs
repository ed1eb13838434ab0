//! One entry of the conversation: its content, and its rows for the current window.
//!
//! A cell is changed by events (`take`) and laid out only when it becomes visible (`window`). Rows are kept until the cell,
//! the width or, while it runs, the time changes.

use std::time::Duration;

use super::end::End;
use super::message::Message;
use super::own::Own;
use super::patch::Patch;
use super::person::Person;
use super::plan::Plan;
use super::remark::Remark;
use super::request::Request;
use super::step::Step;
use talaria_render::{Highlighter, Paint, StyledLine};

/// A cell's place: the number of the event that made it, and which of those that this event made.
pub(super) type KeyPress = (i64, u32);

/// One thing in the conversation.
#[derive(Debug)]
pub(super) struct Cell {
    /// Its place among the others.
    pub(super) key: KeyPress,
    /// The number of the last event that changed it.
    pub(super) last: i64,
    /// The turn that it belongs to.
    pub(super) turn: Option<i64>,
    /// Its content.
    pub(super) body: Body,
    /// Folded or unfolded by the person; otherwise as all are.
    pub(super) fold: Option<Folding>,
    /// In which frame it was in view last.
    pub(super) seen: u64,
    rows: Vec<StyledLine>,
    laid: Option<Laid>,
}

/// Content of a cell.
#[derive(Debug)]
pub(super) enum Body {
    Person(Person),
    Message(Box<Message>),
    Step(Box<Step>),
    Patch(Box<Patch>),
    Plan(Plan),
    Request(Request),
    Own(Box<Own>),
    Remark(Remark),
    End(Box<End>),
}

/// Is a cell shown in short, or whole?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folding {
    Folded,
    Unfolded,
}

impl Folding {
    /// The other one.
    pub(super) fn toggled(self) -> Self {
        match self {
            Self::Folded => Self::Unfolded,
            Self::Unfolded => Self::Folded,
        }
    }
}

/// Which kinds are next to each other; unlike things get an empty row between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Person,
    Message,
    Thought,
    Step,
    Change,
    Head,
    /// A command that was typed: its result is right below it.
    Echo,
    /// Output of a command of the person.
    Reply,
    End,
}

/// Parameters of a layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    /// The looks.
    pub(super) paint: Paint,
    /// The width of the window.
    pub(super) width: usize,
    /// How much of it.
    pub(super) fold: Folding,
    /// The time of the driver.
    pub(super) now: Duration,
    /// The time of day in milliseconds, as far as it is known.
    pub(super) wall: i64,
    /// Do events arrive? Else nothing is shown as running.
    pub(super) is_heard: bool,
    /// Knows the languages of code.
    pub(super) lights: Option<&'a Highlighter>,
}

impl Page<'_> {
    /// The width for what keeps the last column free: here it need not.
    pub(super) fn paper(&self) -> usize {
        self.width + 1
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Laid {
    width: usize,
    fold: Folding,
    is_heard: bool,
    /// Tenths of a second, of both times, where time is shown.
    beat: (u128, i64),
}

impl Cell {
    /// Something new.
    pub(super) fn new(key: KeyPress, turn: Option<i64>, body: Body) -> Self {
        Self { key, last: key.0, turn, body, fold: None, seen: 0, rows: Vec::new(), laid: None }
    }

    /// Says that it changed: its rows are laid out again.
    pub(super) fn touch(&mut self) {
        self.laid = None;
    }

    /// Forgets its rows.
    pub(super) fn forget(&mut self) {
        self.laid = None;
        self.rows = Vec::new();
        if let Body::Message(message) = &mut self.body {
            message.forget();
        }
    }

    /// Is it laid out?
    pub(super) fn is_laid(&self) -> bool {
        self.laid.is_some()
    }

    pub(super) fn rows(&mut self, page: &Page<'_>) -> &[StyledLine] {
        let is_moving = self.is_running() && page.is_heard;
        let beat = if is_moving { (page.now.as_millis() / 100, page.wall / 100) } else { (0, 0) };
        let laid = Laid { width: page.width, fold: page.fold, is_heard: page.is_heard, beat };
        if self.laid != Some(laid) {
            match &mut self.body {
                Body::Message(message) => message.lay_out(page),
                Body::Person(person) => self.rows = person.rows(page),
                Body::Step(step) => self.rows = step.rows(page),
                Body::Patch(patch) => self.rows = patch.rows(page),
                Body::Plan(plan) => self.rows = plan.rows(page),
                Body::Request(request) => self.rows = request.rows(page),
                Body::Own(own) => self.rows = own.rows(page),
                Body::Remark(remark) => self.rows = remark.rows(page),
                Body::End(end) => self.rows = end.rows(page),
            }
            self.laid = Some(laid);
        }
        self.laid_rows()
    }

    /// Its rows as they were laid out last.
    pub(super) fn laid_rows(&self) -> &[StyledLine] {
        match &self.body {
            Body::Message(message) => message.rows(),
            _ => &self.rows,
        }
    }

    /// Is it still running?
    pub(super) fn is_running(&self) -> bool {
        match &self.body {
            Body::Step(step) => step.life.is_running(),
            Body::Patch(patch) => patch.life.is_running(),
            _ => false,
        }
    }

    /// May an event still change it, as far as is known?
    pub(super) fn is_open(&self) -> bool {
        match &self.body {
            Body::Message(message) => message.is_open(),
            Body::Request(request) => request.is_open(),
            Body::Person(person) => person.is_pending(),
            Body::Step(step) => step.life.is_open(),
            Body::Patch(patch) => patch.life.is_open(),
            _ => false,
        }
    }

    /// The next piece may not be contiguous.
    pub(super) fn cut(&mut self) {
        match &mut self.body {
            Body::Message(message) if message.is_open() => message.cut(),
            Body::Step(step) if step.life.is_open() => step.cut(),
            _ => return,
        }
        self.touch();
    }

    /// Its turn has ended: open steps no longer count as running.
    pub(super) fn leave(&mut self) {
        match &mut self.body {
            Body::Message(message) if message.is_open() => message.leave(),
            Body::Request(request) if request.is_open() => request.leave(),
            Body::Patch(patch) if patch.life.is_open() => patch.life.leave(None),
            Body::Step(step) if step.life.is_open() || step.crew.is_at_work() => {
                step.life.leave(None);
                step.crew.leave();
            }
            _ => return,
        }
        self.touch();
    }

    /// Does it look different when it is unfolded?
    pub(super) fn has_more(&self, short: &Page<'_>, whole: &Page<'_>) -> bool {
        match &self.body {
            Body::Message(message) => message.is_foldable(),
            Body::Person(person) => person.is_long(),
            Body::Step(step) => step.rows(short) != step.rows(whole),
            Body::Patch(patch) => patch.rows(short) != patch.rows(whole),
            Body::Request(request) => request.rows(short) != request.rows(whole),
            Body::Own(own) => own.rows(short) != own.rows(whole),
            Body::End(end) => end.rows(short) != end.rows(whole),
            Body::Plan(_) | Body::Remark(_) => false,
        }
    }

    /// Kind of block, for spacing.
    pub(super) fn section(&self) -> Section {
        match &self.body {
            Body::Person(_) => Section::Person,
            Body::Message(message) if message.is_thought() => Section::Thought,
            Body::Message(_) => Section::Message,
            Body::Step(_) | Body::Request(_) => Section::Step,
            Body::Patch(_) | Body::Plan(_) => Section::Change,
            Body::Own(_) => Section::Reply,
            Body::Remark(remark) => remark.section(),
            Body::End(_) => Section::End,
        }
    }

    /// Its memory use, without rows.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>()
            + match &self.body {
                Body::Person(person) => person.weight(),
                Body::Message(message) => message.weight(),
                Body::Step(step) => step.weight(),
                Body::Patch(patch) => patch.weight(),
                Body::Plan(plan) => plan.weight(),
                Body::Request(request) => request.weight(),
                Body::Own(own) => own.weight(),
                Body::Remark(remark) => remark.weight(),
                Body::End(end) => end.weight(),
            }
    }
}

/// Whether an empty row separates these two.
pub(super) fn is_apart(before: Section, after: Section) -> bool {
    match (before, after) {
        (_, Section::Echo) => true,
        (Section::Echo, after) => !matches!(after, Section::Reply | Section::Step),
        (before, after) => {
            before != after || matches!(after, Section::Message | Section::Person | Section::Reply)
        }
    }
}

/// How long ago a time of day was.
pub(super) fn time_since(wall: i64, since: i64) -> Duration {
    Duration::from_millis(u64::try_from(wall.saturating_sub(since)).unwrap_or(0))
}
