//! The face of a running turn: shows its events, and puts its questions to whoever answers them here.
//!
//! The session calls it for every event; the loop around the session calls it when a line was typed or time passed.
//! A face that cannot be written to any more stops the turn: nobody would see what it does.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use talaria_core::event::{Event, Usage};
use talaria_core::ids::TicketId;
use talaria_core::outcome::{Outcome, Report};
use talaria_core::request::{Answer, Ask, Decision, Who};
use talaria_engine::session::{Command, Watcher};
use tokio::sync::mpsc;

use crate::dialog::{Dialog, Next};
use crate::keyboard::{Asked, Keyboard, Keys, Typed};
use crate::render::Renderer;
use crate::trouble::exit;
use crate::{echo, look};

/// Who answers when Codex asks.
#[derive(Debug)]
pub(crate) enum Answerer {
    /// The person at the keyboard.
    Person(Keyboard),
    /// Nobody: everything is declined.
    Nobody,
    /// The demo, which accepts the commands and patches of its own script.
    Demo,
}

/// Shows a turn and puts its questions.
pub(crate) struct Face {
    renderer: Box<dyn Renderer + Send>,
    answerer: Answerer,
    commands: mpsc::UnboundedSender<Command>,
    questions: VecDeque<Question>,
    since: Instant,
    last_event: Instant,
    /// The turn was asked to stop: nothing is asked any more.
    is_stopping: bool,
    /// What the keyboard was read for last.
    asked: Option<Asked>,
    /// The last count that was told.
    usage: Usage,
    broken: Option<io::Error>,
}

#[derive(Debug)]
struct Question {
    ticket: TicketId,
    dialog: Dialog,
    /// The answer is on its way; it is not asked again.
    answered: bool,
}

impl Question {
    fn asked(&self) -> Asked {
        Asked { ticket: self.ticket.clone(), step: self.dialog.count() }
    }
}

impl Face {
    /// Makes a face that answers through `commands`.
    pub(crate) fn new(
        renderer: Box<dyn Renderer + Send>,
        answerer: Answerer,
        commands: mpsc::UnboundedSender<Command>,
    ) -> Self {
        let now = Instant::now();
        Self {
            renderer,
            answerer,
            commands,
            questions: VecDeque::new(),
            since: now,
            last_event: now,
            is_stopping: false,
            asked: None,
            usage: Usage::default(),
            broken: None,
        }
    }

    /// Shows an event, and puts the question that it may be.
    pub(crate) fn show(&mut self, event: &Event) {
        self.last_event = Instant::now();
        let now = self.last_event.duration_since(self.since);
        self.write(|renderer| renderer.event(now, event));
        match event {
            Event::RequestOpened { id, ask, .. } if ask.is_answerable() => self.put(id, ask),
            Event::RequestClosed { id, .. } => self.drop_question(id),
            Event::Interrupting { .. } => self.is_stopping = true,
            Event::UsageUpdated { turn, .. } => self.usage = *turn,
            _ => {}
        }
    }

    /// Lets the spinner turn, in the window as wide as it is now.
    pub(crate) fn tick(&mut self) {
        let now = self.since.elapsed();
        if self.renderer.can_ask() {
            self.renderer.resize(look::columns());
        }
        self.write(|renderer| renderer.tick(now));
        // A question that other things were shown below is asked again, once they pause.
        if !self.is_stopping && self.renderer.is_prompt_covered() && self.last_event.elapsed() > PAUSE {
            self.prompt();
        }
        self.flush();
    }

    /// Takes what the person typed.
    pub(crate) fn take_line(&mut self, typed: Typed) {
        if let Answerer::Person(keyboard) = &mut self.answerer {
            keyboard.line_came();
        }
        self.renderer.prompt_read();
        let Some(question) = self.questions.front_mut().filter(|question| !question.answered) else { return };
        // It was typed for a question or a step that is gone: the person has not seen this one.
        if typed.asked != Some(question.asked()) {
            return self.prompt();
        }
        let (answer, by) = match typed.keys {
            Keys::Line(text) => match question.dialog.take(&text) {
                Next::Answer(answer) => (answer, Who::User),
                Next::Ask => return self.prompt(),
            },
            // Closing the input is a no.
            Keys::Closed => (Decision::Decline.into(), Who::User),
            Keys::Failed => (Decision::Decline.into(), Who::Nobody),
        };
        self.answer_first(answer, by);
    }

    /// Ends the show although the turn has not ended. What becomes of it is not known.
    pub(crate) fn leave(&mut self) -> Report {
        let why = "you left before the turn ended".to_owned();
        let report = Report::new(Outcome::Lost { why }, None, self.usage, 0);
        let report = Report { exit: exit::INTERRUPTED, ..report };
        self.show(&Event::Outcome(Box::new(report.clone())));
        self.write(|renderer| renderer.close());
        report
    }

    /// Why nothing more can be shown, if so.
    pub(crate) fn broken(&self) -> Option<&io::Error> {
        self.broken.as_ref()
    }

    fn put(&mut self, ticket: &TicketId, ask: &Ask) {
        match &self.answerer {
            Answerer::Nobody => self.answer(ticket.clone(), Decision::Decline.into(), Who::Nobody),
            Answerer::Demo => {
                let is_scripted = matches!(ask, Ask::Command { .. } | Ask::Patch { .. });
                let decision = if is_scripted { Decision::Accept } else { Decision::Decline };
                self.answer(ticket.clone(), decision.into(), Who::Demo);
            }
            Answerer::Person(_) => {
                self.questions.push_back(Question {
                    ticket: ticket.clone(),
                    dialog: Dialog::new(ask.clone()),
                    answered: false,
                });
                // Also when another one is open: the new question now stands last on the screen, and an answer would
                // be taken for the old one, so that one is asked again below it.
                self.prompt();
            }
        }
    }

    /// Asks the first question, again if need be.
    fn prompt(&mut self) {
        let Some(question) = self.questions.pop_front_if(|question| !question.answered) else { return };
        let asked = question.asked();
        if let Answerer::Person(keyboard) = &self.answerer
            && self.asked.as_ref() != Some(&asked)
        {
            echo::show();
            // A secret that would be seen is not asked for.
            if question.dialog.is_secret() && keyboard.hide_typing().is_err() {
                self.questions.push_front(question);
                return self.answer_first(Decision::Decline.into(), Who::Nobody);
            }
            // What was typed while something else stood there is no answer to this.
            keyboard.forget_typed();
            self.asked = Some(asked.clone());
        }
        self.write(|renderer| renderer.prompt(&question.ticket, &question.dialog));
        self.flush();
        if let Answerer::Person(keyboard) = &mut self.answerer {
            keyboard.want_line(asked);
        }
        self.questions.push_front(question);
    }

    fn drop_question(&mut self, ticket: &TicketId) {
        let was_first = self.questions.front().is_some_and(|question| question.ticket == *ticket);
        self.questions.retain(|question| question.ticket != *ticket);
        if was_first {
            echo::show();
        }
        if was_first && !self.questions.is_empty() {
            self.prompt();
        }
    }

    fn answer_first(&mut self, answer: Answer, by: Who) {
        let Some(question) = self.questions.front_mut() else { return };
        question.answered = true;
        let ticket = question.ticket.clone();
        echo::show();
        self.answer(ticket, answer, by);
    }

    fn answer(&mut self, ticket: TicketId, answer: Answer, by: Who) {
        self.command(Command::Answer { ticket, answer, by });
    }

    /// A session that takes no commands any more has ended, and with it the question.
    fn command(&mut self, command: Command) {
        let _ = self.commands.send(command);
    }

    fn flush(&mut self) {
        self.write(|renderer| renderer.flush());
    }

    fn write(&mut self, show: impl FnOnce(&mut dyn Renderer) -> io::Result<()>) {
        if self.broken.is_some() {
            return;
        }
        if let Err(error) = show(self.renderer.as_mut()) {
            self.broken = Some(error);
            self.command(Command::Interrupt { by: Who::User });
        }
    }
}

/// A face that the session and the loop around it share.
pub(crate) struct Shared<'a>(pub(crate) &'a Mutex<Face>);

impl Shared<'_> {
    /// Does something with the face.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Face) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Watcher for Shared<'_> {
    fn event(&mut self, event: Event) {
        self.with(|face| face.show(&event));
    }

    fn caught_up(&mut self) {
        self.with(Face::flush);
    }
}

/// How long it must be quiet before a covered question is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// How often the spinner turns.
pub(crate) const TICK: Duration = Duration::from_millis(100);
