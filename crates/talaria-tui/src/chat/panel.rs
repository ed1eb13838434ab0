//! The approval panel: a request that waits for the person, shown whole, with one key for each choice.
//!
//! The answer carries the digest of the request that is shown. A request must have been on the screen completely
//! before it can be accepted, and no key meant for the input line answers (`grip`, `hold`). `dialog` turns lines into
//! an answer.

use std::time::Duration;

use talaria_core::ids::TicketId;
use talaria_core::request::{Answer, Ask, Decision};
use talaria_guard::place::Place;

use super::contract::{Code, KeyPress};
use talaria_render::dialog::{Dialog, DialogResult, Step};

mod choices;
mod entry;
mod grip;
mod hold;
mod page;
mod rows;
mod short;

pub(super) use grip::Route;
pub(super) use hold::Held;
pub(super) use rows::Rows;

use choices::UNREAD_KEY;
use entry::Entry;
use grip::Grip;
use hold::Hold;
use page::Page;
use rows::Body;

/// A request that waits for a person.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) ticket: TicketId,
    pub(super) ask: Ask,
    pub(super) digest: Option<String>,
    pub(super) scene: Scene,
}

/// Known place of the operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scene {
    /// Another conversation, if it is not this one, in words.
    pub(super) origin: Option<String>,
    /// The sub-agent that asks, if it is one, in words.
    pub(super) agent: Option<String>,
    pub(super) sandbox: String,
    pub(super) approval: String,
    pub(super) cwd: String,
    pub(super) place: Option<Place>,
}

/// Is an answer wanted?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asking,
    /// An answer was sent, and it is not known yet whether it counts.
    Sent,
}

/// The request on the screen.
#[derive(Debug)]
pub(super) struct Panel {
    ticket: TicketId,
    digest: Option<String>,
    scene: Scene,
    dialog: Dialog,
    stage: Stage,
    entry: Entry,
    /// The question in rows: a long diff is not laid out for every frame.
    body: Option<Body>,
    /// The marked choice, and the step that it belongs to.
    marked: Option<(usize, usize)>,
    /// Whether the choices on the screen have numbers.
    has_numbers: bool,
    page: Page,
    grip: Grip,
    shown_at: Option<Duration>,
    hold: Hold,
    problem: Option<String>,
}

/// Message about a yes that was too early.
const UNREAD: &str = "read it all first";
/// The same about the yes to a long patch after its list of files.
const UNREAD_LIST: &str = "read the list of files first";

/// Effect of a key.
#[derive(Debug)]
pub(super) enum Felt {
    /// Nothing that concerns others.
    Nothing,
    /// The person has decided.
    Answer(Answer),
    /// The person does not want to answer now.
    Left,
    /// The key was not for the panel.
    NotMine,
    /// The key is none of those that answer.
    Unknown(char),
}

impl Panel {
    /// Shows a request. It has the keyboard; where something is being typed, the caller takes that away.
    pub(super) fn new(request: Request) -> Self {
        Self {
            ticket: request.ticket,
            digest: request.digest,
            scene: request.scene,
            dialog: Dialog::new(request.ask),
            stage: Stage::Asking,
            entry: Entry::default(),
            body: None,
            marked: None,
            has_numbers: false,
            page: Page::default(),
            grip: Grip::Offered,
            shown_at: None,
            hold: Hold::default(),
            problem: None,
        }
    }

    /// Which request it is.
    pub(super) fn ticket(&self) -> &TicketId {
        &self.ticket
    }

    /// The digest of what is shown.
    pub(super) fn digest(&self) -> Option<&String> {
        self.digest.as_ref()
    }

    /// Does it belong to another conversation?
    pub(super) fn is_from_elsewhere(&self) -> bool {
        self.scene.origin.is_some()
    }

    /// Was it answered from here?
    pub(super) fn is_sent(&self) -> bool {
        self.stage == Stage::Sent
    }

    /// The place of the operation changed; the request must be read again, and no key for the former text answers.
    pub(super) fn renew(&mut self, scene: Scene) {
        if scene != self.scene {
            (self.scene, self.body, self.page) = (scene, None, Page::default());
            (self.shown_at, self.marked, self.hold) = (None, None, Hold::default());
        }
    }

    /// The last layout is on the screen now.
    pub(super) fn was_drawn(&mut self, now: Duration) {
        if self.page.was_drawn() {
            self.shown_at.get_or_insert(now);
        }
        if self.page.is_whole() {
            self.problem.take_if(|problem| problem == UNREAD || problem == UNREAD_LIST);
        }
    }

    /// It is no longer on the screen: a key pressed now is not for it.
    pub(super) fn was_hidden(&mut self) {
        (self.shown_at, self.marked) = (None, None);
        self.page.was_hidden();
    }

    /// Target of a key now.
    pub(super) fn route(&self, now: Duration) -> Route {
        self.grip.route(self.shown_at, now)
    }

    /// Has it been on the screen for a moment?
    pub(super) fn is_seen(&self, now: Duration) -> bool {
        grip::is_seen(self.shown_at, now)
    }

    /// Is a line being typed for it? For a secret this is not visible.
    pub(super) fn is_entering(&self) -> bool {
        let has_begun = self.dialog.is_secret() || self.has_line();
        self.has_keyboard() && self.takes_line() && has_begun
    }

    /// Was something typed for it?
    pub(super) fn has_line(&self) -> bool {
        !self.entry.text().is_empty()
    }

    /// Do keys go to it, as far as the screen shows?
    pub(super) fn has_keyboard(&self) -> bool {
        self.grip != Grip::Line
    }

    /// The person starts to answer.
    pub(super) fn take_keyboard(&mut self) {
        self.grip = Grip::Taken;
    }

    /// The person types something else.
    pub(super) fn leave_keyboard(&mut self) {
        self.grip = Grip::Line;
        self.marked = None;
    }

    /// It may have the keyboard, as if it had just appeared.
    pub(super) fn offer_keyboard(&mut self) {
        self.grip = Grip::Offered;
        (self.shown_at, self.marked) = (None, None);
    }

    /// The answer was refused, or its fate is unknown, for the reason `why`; the person may answer again.
    pub(super) fn refused(&mut self, why: &str) {
        self.stage = Stage::Asking;
        self.problem = Some(talaria_guard::plain::one_line(why).into_owned());
        self.dialog.back();
    }

    /// Notes that an answer was sent. No key is accepted until it is known whether it counts.
    pub(super) fn sent(&mut self) {
        self.stage = Stage::Sent;
        self.grip = Grip::Line;
        self.problem = None;
    }

    /// Does it want a line, and not a key?
    pub(super) fn takes_line(&self) -> bool {
        match self.dialog.step() {
            _ if self.stage == Stage::Sent => false,
            Step::Choice => false,
            Step::Question(_) => self.dialog.question().is_none_or(|question| {
                // With more options than digits a number is a line. A secret answer is a line that no one sees.
                question.secret || question.options.is_empty() || question.options.len() > 9
            }),
            Step::Reason | Step::Other(_) | Step::Field(_) => true,
        }
    }

    /// Takes pasted text, if a line is wanted.
    pub(super) fn paste(&mut self, text: &str) -> Felt {
        if !self.takes_line() {
            return Felt::NotMine;
        }
        self.entry.paste(text);
        Felt::Nothing
    }

    /// Says yes, as the keys do.
    pub(super) fn accept(&mut self, decision: Decision) -> Felt {
        let key = match decision {
            Decision::Accept => 'y',
            Decision::AcceptForSession => 's',
            Decision::AcceptAlways => 'a',
            Decision::Decline | Decision::Cancel | Decision::Void => return Felt::NotMine,
        };
        if self.dialog.step() == Step::Choice { self.choice(key) } else { Felt::NotMine }
    }

    /// The letter that waits whether something follows it.
    pub(super) fn held(&self) -> Option<Held> {
        self.hold.held()
    }

    /// Something followed the letter: returns it, and nothing is decided.
    pub(super) fn take_back(&mut self) -> Option<(char, Held)> {
        self.hold.take_back()
    }

    /// Lets time pass: a letter that nothing followed decides, if it is one of the keys.
    pub(super) fn tick(&mut self, now: Duration) -> Felt {
        match self.hold.due(now) {
            None => Felt::Nothing,
            Some(Held::Answer(letter)) => self.choice(letter),
            Some(Held::Unknown(letter)) => Felt::Unknown(letter),
        }
    }

    /// Takes a key.
    pub(super) fn key(&mut self, now: Duration, key: KeyPress) -> Felt {
        if self.move_mark(key.code) || self.scroll(key.code) {
            return Felt::Nothing;
        }
        match key.code {
            Code::Esc if self.takes_line() => {
                self.entry.take();
                self.dialog.back();
                Felt::Nothing
            }
            Code::Esc => Felt::Left,
            _ if self.stage == Stage::Sent => Felt::NotMine,
            Code::Enter if self.takes_line() => {
                let line = self.entry.take();
                self.line(&line)
            }
            _ if self.takes_line() => {
                self.entry.key(key);
                Felt::Nothing
            }
            Code::Enter => self.marked_key().map_or(Felt::NotMine, |marked| self.choice(marked)),
            // They begin a command, a file, a shell command or the list of keys.
            Code::Char('/' | '@' | '!' | '?') => Felt::NotMine,
            Code::Char(c) if !key.ctrl && !key.alt && !self.choices().is_empty() => {
                let held = if self.key_of(c).is_some() { Held::Answer(c) } else { Held::Unknown(c) };
                self.hold.begin(now, held);
                Felt::Nothing
            }
            _ => Felt::NotMine,
        }
    }

    /// One key is one choice; a yes needs that everything was seen.
    fn choice(&mut self, c: char) -> Felt {
        let Some(key) = self.key_of(c) else { return Felt::Nothing };
        let is_yes = self.dialog.step() == Step::Choice && matches!(key, 'y' | 's' | 'a');
        if is_yes && !self.page.is_whole() {
            self.page.go_on();
            self.problem = Some(UNREAD.to_owned());
            return Felt::Nothing;
        }
        if key == UNREAD_KEY {
            return self.accept_unread();
        }
        self.line(key.encode_utf8(&mut [0; 4]))
    }

    /// Accepts a long patch of which only the list of files was read.
    fn accept_unread(&mut self) -> Felt {
        let list_end = self.body.as_ref().and_then(|body| body.list_end);
        if list_end.is_some_and(|end| self.page.has_seen(end)) {
            return self.line("y");
        }
        self.page.go_on();
        self.problem = Some(UNREAD_LIST.to_owned());
        Felt::Nothing
    }

    fn line(&mut self, line: &str) -> Felt {
        self.problem = None;
        match self.dialog.take(line) {
            DialogResult::Ask => Felt::Nothing,
            DialogResult::Answer(answer) => Felt::Answer(answer),
        }
    }

    fn scroll(&mut self, code: Code) -> bool {
        if !self.page.overflows() {
            return false;
        }
        let page = self.page.height();
        match code {
            Code::Up => self.page.scroll(-1),
            Code::Down => self.page.scroll(1),
            Code::PageUp => self.page.scroll(-page),
            Code::PageDown => self.page.scroll(page),
            Code::Char(' ') if !self.takes_line() => self.page.scroll(page),
            Code::Home => self.page.scroll(isize::MIN),
            Code::End => self.page.scroll(isize::MAX),
            _ => return false,
        }
        true
    }
}
