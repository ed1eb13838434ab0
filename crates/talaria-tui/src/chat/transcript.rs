//! The conversation on the screen: events in, rows out.
//!
//! Owns the displayed part of a session and the scroll position. Pure: no clock, no engine, no terminal. Only visible cells
//! are laid out, so that a long session is as fast as a short one; distant cells are dropped and requested again
//! (`View::needs_older`). Nothing is shown as done without the event that says so. `Chat` calls it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use talaria_core::api::Numbered;
use talaria_core::background::BackgroundEnd;
use talaria_core::event::Started;
use talaria_core::ids::BackgroundId;

use self::cell::{Cell, Folding, KeyPress};
use self::folding::Round;
use self::message::Voice;
use self::missed::Missed;
pub use self::own::Ran;
use self::remark::Remark;
use self::roll::{Handle, Hole, PENDING, Roll};
use self::steering::Handed;
use self::take::Scene;
use self::waiting::Waiting;
use self::window::Anchor;
use talaria_render::{Highlighter, Look, Paint, StyledLine, StyledText};

mod asked;
mod cell;
mod code;
mod crew;
mod end;
mod finish;
mod folding;
mod formatted;
mod holes;
mod items;
mod kept;
mod lifecycle;
mod message;
mod missed;
mod own;
mod patch;
mod person;
mod plan;
mod printed;
mod remark;
mod request;
mod roll;
mod steering;
mod step;
mod take;
mod waiting;
mod window;
mod wrap;

#[cfg(test)]
mod tests;

/// After this many events the transcript looks for entries to drop.
const TRIM_EVERY: usize = 1000;

/// The displayed part of a session, and the scroll position.
#[derive(Debug)]
pub struct Transcript {
    paint: Paint,
    lights: Option<Arc<Highlighter>>,
    roll: Roll,
    newest: Option<i64>,
    clock: Clock,
    /// Where and when turns began, as far as that was reported.
    turns: HashMap<i64, Scene>,
    /// Does a turn run, as far as the events say?
    is_running: bool,
    /// Do events arrive?
    is_heard: bool,
    /// What messages that have not said anything yet will be.
    voices: HashMap<Handle, Voice>,
    /// Messages that do not count, and why: a page with their text may be loaded later.
    void: HashMap<Handle, String>,
    /// The cells of commands that run in the background.
    background: HashMap<BackgroundId, Handle>,
    /// How background commands ended: a page that is fetched later may say that one of them runs.
    background_ends: HashMap<BackgroundId, (BackgroundEnd, Option<i32>)>,
    /// Input passed to the running turn that it has not confirmed.
    handed: Handed,
    /// Notes about missing parts.
    missed: Vec<Missed>,
    /// Notes about queued input.
    waiting: Waiting,
    /// Settings in force, as reported last.
    started: Option<Started>,
    cwd: PathBuf,
    /// The home of the person.
    home: Option<String>,
    /// Pieces that belong before what is here of a message or a step.
    earlier: Vec<(Handle, String)>,
    anchor: Anchor,
    size: (usize, usize),
    now: Duration,
    fold: Folding,
    round: Round,
    frame: u64,
    /// The cells in the rows of the last view.
    shown: Vec<Option<KeyPress>>,
    laid: Vec<KeyPress>,
    untrimmed: usize,
}

/// What to add to the driver's time for the time of day, in milliseconds.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// From the events, until the driver reports it.
    Guessed(Option<i64>),
    /// The driver reported it: no event changes it, since one may have been written with another time of day.
    Told(i64),
}

/// The visible rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The rows, no more than there is room for.
    pub lines: Vec<StyledLine>,
    /// Whether there is more above.
    pub above: bool,
    /// How many things are below the window, wholly or partly; none at the bottom.
    pub below: usize,
    /// Requests the events before this number. Stays until `prepend` has added them.
    pub needs_older: Option<i64>,
    /// Will it look different soon, without an event? Time is shown, or colours of code are yet to come.
    pub again: bool,
}

/// A word of the chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its weight.
    pub tone: Tone,
    /// The text, harmless, perhaps of many lines.
    pub text: StyledText,
}

impl Note {
    /// A word with a weight.
    pub fn new(tone: Tone, text: impl Into<StyledText>) -> Self {
        Self { tone, text: text.into() }
    }
}

/// Kind of a message of the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is written.
    Info,
    /// Worth a look.
    Warn,
    /// Something did not work.
    Bad,
}

/// A movement of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// This many rows up.
    Up(usize),
    /// This many rows down.
    Down(usize),
    /// A window up.
    PageUp,
    /// A window down.
    PageDown,
    /// To the first event.
    Top,
    /// To the end, and along with it from then on.
    Bottom,
}

/// Scope of folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The last thing in view that can be; the next time the one before it in its place.
    Next,
    /// Everything.
    All,
}

impl Transcript {
    /// An empty conversation. The width is passed with each view.
    pub fn new(look: Look) -> Self {
        Self {
            paint: Paint::new(look),
            lights: None,
            roll: Roll::default(),
            newest: None,
            clock: Clock::Guessed(None),
            turns: HashMap::new(),
            is_running: false,
            is_heard: true,
            voices: HashMap::new(),
            void: HashMap::new(),
            background: HashMap::new(),
            background_ends: HashMap::new(),
            handed: Handed::default(),
            missed: Vec::new(),
            waiting: Waiting::default(),
            started: None,
            cwd: PathBuf::new(),
            home: None,
            earlier: Vec::new(),
            anchor: Anchor::Bottom,
            size: (80, 24),
            now: Duration::ZERO,
            fold: Folding::Folded,
            round: Round::default(),
            frame: 0,
            shown: Vec::new(),
            laid: Vec::new(),
            untrimmed: 0,
        }
    }

    /// Takes the next event; `now` is the time since the start of the program. One that was taken before is left out.
    pub fn take(&mut self, now: Duration, event: &Numbered) {
        if self.newest.is_some_and(|newest| event.seq <= newest) {
            return;
        }
        if self.newest.is_none() {
            self.roll.dig(Hole { first: 1, last: event.seq - 1 });
        }
        self.newest = Some(event.seq);
        if let Clock::Guessed(guess) = &mut self.clock {
            let ahead = event.at.as_millisecond().saturating_sub(millis(now));
            // Events of the past are reported late: the one that was reported soonest is nearest to the truth.
            *guess = Some(guess.map_or(ahead, |guess| guess.max(ahead)));
        }
        self.follow_turn(event);
        self.apply(event);
        self.untrimmed += 1;
        if self.untrimmed >= TRIM_EVERY {
            self.trim();
        }
    }

    /// Adds the events before this number, as far back as they were fetched, oldest first. None means that there are
    /// none. They may have been requested before the window moved: only they are loaded afterwards.
    pub fn prepend(&mut self, before: i64, events: Vec<Numbered>) {
        let last = before.saturating_sub(1);
        let Some(hole) = self.roll.hole(last) else { return };
        self.leave_hole(hole);
        let inside = |event: &&Numbered| (hole.first..=last).contains(&event.seq);
        // Numbers that no event has, between the last one and what was asked for, are not missing.
        let first = events.first().map_or(hole.first, |event| event.seq.max(hole.first));
        self.roll.fill(hole, first..=last);
        // Settings of the past are not the current ones.
        let (live, cwd) = (self.started.take(), self.cwd.clone());
        events.iter().filter(inside).for_each(|event| self.apply(event));
        if live.is_some() {
            (self.started, self.cwd) = (live, cwd);
        }
        self.put_earlier();
        self.look_for_held();
        self.look_for_left();
        self.look_for_answers();
        self.look_for_all_missed();
        self.look_for_said();
        self.trim();
    }

    /// Adds a message of the chat.
    pub fn note(&mut self, note: Note) {
        self.say(cell::Body::Remark(Remark::ours(note)));
    }

    /// Shows a command that was typed.
    pub fn echo(&mut self, command: &str) {
        self.say(cell::Body::Remark(Remark::echo(command)));
    }

    /// Shows a shell command of the person that has ended.
    pub fn ran(&mut self, ran: Ran) {
        self.say(cell::Body::Own(Box::new(own::Own::new(ran))));
    }

    /// Appends a cell without an event.
    fn say(&mut self, body: cell::Body) {
        let key = self.roll.behind(self.newest.unwrap_or(0));
        self.roll.insert(Cell::new(key, None, body));
        self.trim();
    }

    /// Shows input that was just sent. It stays at the bottom until an event confirms it.
    pub fn said(&mut self, text: &str, images: &[String]) {
        let body = cell::Body::Person(person::Person::pending(text, images));
        self.roll.insert(Cell::new((PENDING, 0), None, body));
    }

    /// Takes back what was sent and not taken.
    pub fn take_back(&mut self, text: &str) {
        if let Some(key) = self.pending(text) {
            self.roll.remove(key);
        }
    }

    /// Uses these languages for code.
    pub fn use_syntaxes(&mut self, lights: Arc<Highlighter>) {
        self.lights = Some(lights);
        self.roll.cells().for_each(Cell::forget);
    }

    /// Sets the time of day, so that what began before the chat was opened shows its true time.
    pub fn set_clock(&mut self, now: Duration, wall: Timestamp) {
        self.clock = Clock::Told(wall.as_millisecond().saturating_sub(millis(now)));
    }

    /// Shows folders below this home as people write them.
    pub(super) fn at_home(self, home: Option<String>) -> Self {
        Self { home, ..self }
    }

    /// The number of the last event.
    pub fn newest_seq(&self) -> Option<i64> {
        self.newest
    }

    /// Sets whether events arrive: else nothing is shown as running.
    pub fn hear(&mut self, is_heard: bool) {
        self.is_heard = is_heard;
    }

    /// Does a turn run, as far as the events say?
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    fn wall(&self, now: Duration) -> i64 {
        let ahead = match self.clock {
            Clock::Guessed(guess) => guess.unwrap_or(0),
            Clock::Told(ahead) => ahead,
        };
        millis(now).saturating_add(ahead)
    }

    fn trim(&mut self) {
        self.untrimmed = 0;
        let view = self.view_range();
        self.roll.trim(view);
    }

    fn pending(&mut self, text: &str) -> Option<KeyPress> {
        let is_it = |cell: &&mut Cell| match &cell.body {
            cell::Body::Person(person) => person.is_pending() && person.is(text),
            _ => false,
        };
        let mut pending = self.roll.cells().rev().take_while(|cell| cell.key.0 == PENDING);
        let mut found = None;
        for cell in pending.by_ref() {
            if is_it(&cell) {
                found = Some(cell.key);
            }
        }
        found
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
