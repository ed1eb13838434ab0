//! The conversation in the terminal, without I/O: inputs and news in, rows and wishes (commands for the driver)
//! out.
//!
//! The driver reads keys, asks the engine and draws; it decides nothing. The parts are independent of each
//! other; `key_routing` and `news` connect them, `layout` arranges them on the screen.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use talaria_core::config::{Enter, Theme};
use talaria_core::ids::{SessionId, TicketId};

mod command_runner;
pub mod commands;
pub mod completion;
pub mod composer;
pub mod contract;
pub mod draw;
mod first_prompt;
pub mod folder;
mod frame;
pub mod history;
mod images;
mod key_routing;
mod keys;
mod known;
mod layout;
pub mod line;
mod list;
mod news;
pub mod next_step;
mod opening;
mod panel;
mod pending;
mod replaced_requests;
mod requests;
mod setup;
mod shell;
mod status;
mod task_end;
#[cfg(test)]
mod tests;
mod theme;
pub mod transcript;
mod turn;
mod welcome;

pub use first_prompt::Opens;
pub use frame::ChatFrame;
pub use known::RequestedSettings;
pub use setup::Setup;
pub use task_end::task_end_text;
pub use welcome::{beginning, loop_beginning};

use commands::SlashCommand;
use composer::Composer;
use contract::{ChatEffect, PromptDraft};
use first_prompt::FirstPrompt;
use history::PromptHistory;
use keys::Keys;
use known::{Engine, Known};
use list::List;
use panel::{Felt, Panel};
use pending::Pending;
use replaced_requests::ReplacedRequests;
use requests::Requests;
use shell::Shell;
use transcript::{Note, Tone, Transcript};
use turn::{Sight, Turn};

use talaria_render::{Highlighter, Look, Paint, StyledText};

/// How long a remark about a key is shown above the input line, and how long a second Ctrl-C leaves.
const A_WHILE: Duration = Duration::from_secs(2);

/// The conversation on the screen. Feed it inputs and news, drain its wishes after each, and draw its frames.
#[derive(Debug)]
pub struct Chat {
    look: Look,
    theme: Theme,
    enter: Enter,
    known: Known,
    /// The conversation, once there is one.
    session: Option<SessionId>,
    turn: Turn,
    sight: Sight,
    /// Did the engine say that the running turn was asked to stop?
    is_stop_confirmed: bool,
    /// State of the turn in the part of the past that was reported so far; it counts once the whole past has been reported.
    past: Turn,
    /// Notes about the conversation, shown once all of its past has been reported.
    arrival: Option<String>,
    /// The last turn that is known to have ended.
    ended: i64,
    transcript: Transcript,
    /// Was anything said or done in this conversation?
    has_talk: bool,
    /// Have the events come that were there when the conversation was opened? Before, nothing is asked of the person.
    is_caught_up: bool,
    composer: Composer,
    /// The input of a requested turn, until Codex has begun with it.
    sent: Option<PromptDraft>,
    /// The prompt of the command line, until the conversation that it is for has been reported.
    first: Option<FirstPrompt>,
    pending: Pending,
    requests: Requests,
    panel: Option<Panel>,
    /// Requests that the shown one replaced.
    replaced: ReplacedRequests,
    /// Answers to requests of other conversations that the engine has not taken yet, in words.
    given: Vec<(TicketId, String)>,
    /// The request that had been read when the first key of the current input was pressed.
    line_about: Option<TicketId>,
    /// A question was closed while an answer was being typed: the rest of that line is dropped.
    is_dropping: bool,
    popup: Option<Popup>,
    shell: Option<Shell>,
    /// Until when a second Ctrl-C leaves.
    leave_by: Option<Duration>,
    /// A remark, and until when it is shown.
    flash: Option<(Duration, String)>,
    /// Does something in the conversation, or of a request, change by itself?
    is_moving: bool,
    /// Events before this one were asked for.
    asked_older: Option<i64>,
    /// They could not be fetched; at this time they are asked for again.
    older_again: Option<Duration>,
    /// How wide the window was when it was drawn last.
    columns: Option<u16>,
    clock: Option<(Duration, Timestamp)>,
    syntaxes: Option<Arc<Highlighter>>,
    wishes: Vec<ChatEffect>,
}

/// The overlay that has the keyboard.
#[derive(Debug)]
enum Popup {
    List(List<Picks>),
    Keys(Keys),
}

/// What choosing a row of a list means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Picks {
    Run(SlashCommand),
    Show(TicketId),
}

impl Chat {
    /// Begins with nothing but the first screen.
    pub fn new(setup: Setup) -> Self {
        let Setup { look, theme, enter, version, cwd, home, asked, history } = setup;
        let mut composer = Composer::new(look);
        composer.remember(PromptHistory::new(history));
        Self {
            look,
            theme,
            enter,
            transcript: Transcript::new(look).at_home(home.clone()),
            known: Known { version, cwd, home, flags: asked.clone(), asked, ..Known::default() },
            session: None,
            turn: Turn::Idle,
            sight: Sight::Kept,
            is_stop_confirmed: false,
            past: Turn::Idle,
            arrival: None,
            ended: 0,
            has_talk: false,
            is_caught_up: true,
            composer,
            sent: None,
            first: None,
            pending: Pending::default(),
            requests: Requests::default(),
            panel: None,
            replaced: ReplacedRequests::default(),
            given: Vec::new(),
            line_about: None,
            is_dropping: false,
            popup: None,
            shell: None,
            leave_by: None,
            flash: None,
            is_moving: false,
            asked_older: None,
            older_again: None,
            columns: None,
            clock: None,
            syntaxes: None,
            wishes: Vec::new(),
        }
    }

    /// Lets time pass. Called a few times a second while `is_ticking`.
    pub fn tick(&mut self, now: Duration) {
        self.flash.take_if(|(until, _)| now >= *until);
        self.leave_by.take_if(|until| now >= *until);
        match self.panel.as_mut().map(|panel| panel.tick(now)) {
            Some(Felt::Answer(answer)) => self.answer(answer),
            Some(Felt::Unknown(letter)) => self.ignore_letter(now, letter),
            _ => {}
        }
        if self.older_again.take_if(|at| now >= *at).is_some() {
            self.asked_older = None;
        }
    }

    /// Returns the effects since the last call, in the order in which to carry them out.
    pub fn wishes(&mut self) -> Vec<ChatEffect> {
        std::mem::take(&mut self.wishes)
    }

    /// Does something on the screen change by itself?
    pub fn is_ticking(&self) -> bool {
        let is_waiting = self.flash.is_some() || self.older_again.is_some();
        let is_held = self.held().is_some();
        !self.turn.is_idle() || self.shell.is_some() || is_waiting || is_held || self.is_moving
    }

    /// Drawing options.
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Says what time it is by the clock on the wall, so that what began before shows its true time. To be called again
    /// before news, since that clock may be set.
    pub fn set_clock(&mut self, now: Duration, wall: Timestamp) {
        self.clock = Some((now, wall));
        self.transcript.set_clock(now, wall);
    }

    /// The time of day, if it is known.
    fn wall(&self, now: Duration) -> Option<Timestamp> {
        let (at, wall) = self.clock?;
        wall.checked_add(now.saturating_sub(at)).ok()
    }

    /// Is it known whether a turn of this conversation runs?
    fn is_turn_known(&self) -> bool {
        let is_away = self.known.engine == Engine::Away && self.session.is_some();
        self.sight == Sight::Kept && !is_away
    }

    /// Colours code from now on.
    pub fn use_syntaxes(&mut self, syntaxes: Arc<Highlighter>) {
        self.transcript.use_syntaxes(Arc::clone(&syntaxes));
        self.syntaxes = Some(syntaxes);
    }

    /// An empty conversation.
    fn clear_transcript(&mut self) {
        self.transcript = Transcript::new(self.look).at_home(self.known.home.clone());
        if let Some((now, wall)) = self.clock {
            self.transcript.set_clock(now, wall);
        }
        if let Some(syntaxes) = &self.syntaxes {
            self.transcript.use_syntaxes(Arc::clone(syntaxes));
        }
    }

    /// The looks, with the width of the window as it was drawn last.
    fn look_now(&self) -> Look {
        Look { width: self.columns.map(usize::from), ..self.look }
    }

    fn paint(&self) -> Paint {
        Paint::new(self.look)
    }

    /// Says something of ours in the conversation.
    fn note(&mut self, tone: Tone, text: impl Into<StyledText>) {
        self.transcript.note(Note::new(tone, text));
    }

    /// Says something of ours for a while.
    fn flash(&mut self, now: Duration, text: &str) {
        self.flash = Some((now + A_WHILE, text.to_owned()));
    }

    /// Shows the oldest request of this conversation, unless one is shown.
    fn show_request(&mut self) {
        if self.panel.is_none()
            && self.is_caught_up
            && let Some(ticket) = self.requests.first_here().cloned()
        {
            self.show_ticket(&ticket);
        }
    }

    /// Shows a request; a line being typed keeps the keyboard.
    fn show_ticket(&mut self, ticket: &TicketId) {
        let Some(request) = self.requests.find(ticket, &self.known) else { return };
        if let Some(shown) = self.panel.take() {
            self.replaced.put(shown);
        }
        let mut panel = self.replaced.take(&request).unwrap_or_else(|| Panel::new(request));
        if self.composer.is_busy() || self.popup.is_some() {
            panel.leave_keyboard();
        }
        self.panel = Some(panel);
    }
}
