//! The face of a running turn: shows its events, and puts its questions to whoever answers them here.
//!
//! The session calls it for every event; the loop around the session calls it when a line was typed or time passed.
//! A face that cannot be written to any more stops the turn: nobody would see what it does.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::request::{Ask, Decision, Who};
use talaria_engine::session::{Command, Watcher};
use tokio::sync::mpsc;

use crate::keyboard::{Keyboard, TypedLine};
use crate::render::{Renderer, parse_choice};

/// Who answers when Codex asks.
#[derive(Debug)]
pub(crate) enum Answerer {
    /// The person at the keyboard.
    Person(Keyboard),
    /// Nobody: everything is declined.
    Nobody,
    /// The demo, which accepts what its own script does.
    Demo,
}

/// Shows a turn and puts its questions.
pub(crate) struct Face {
    renderer: Box<dyn Renderer + Send>,
    answerer: Answerer,
    commands: mpsc::Sender<Command>,
    questions: VecDeque<Question>,
    since: Instant,
    broken: Option<io::Error>,
}

#[derive(Debug)]
struct Question {
    ticket: TicketId,
    ask: Ask,
}

impl Face {
    /// Makes a face that answers through `commands`.
    pub(crate) fn new(
        renderer: Box<dyn Renderer + Send>,
        answerer: Answerer,
        commands: mpsc::Sender<Command>,
    ) -> Self {
        let questions = VecDeque::new();
        Self { renderer, answerer, commands, questions, since: Instant::now(), broken: None }
    }

    /// Shows an event, and puts the question that it may be.
    pub(crate) fn show(&mut self, event: &Event) {
        let now = self.since.elapsed();
        self.write(|renderer| renderer.event(now, event));
        match event {
            Event::RequestOpened { id, ask } if ask.is_answerable() => self.put(id, ask),
            Event::RequestClosed { id, .. } => self.drop_question(id),
            _ => {}
        }
    }

    /// Lets the spinner turn.
    pub(crate) fn tick(&mut self) {
        let now = self.since.elapsed();
        self.write(|renderer| renderer.tick(now));
        self.flush();
    }

    /// Takes what the person typed.
    pub(crate) fn take_line(&mut self, line: TypedLine) {
        if let Answerer::Person(keyboard) = &mut self.answerer {
            keyboard.line_came();
        }
        self.renderer.prompt_read();
        let Some(question) = self.questions.front() else { return };
        let decision = match line.as_deref() {
            // Closing the input is a no.
            None => Some(Decision::Decline),
            Some(text) => parse_choice(text),
        };
        match decision {
            Some(Decision::AcceptForSession) if !question.ask.has_session_choice() => self.prompt(),
            Some(decision) => {
                let ticket = question.ticket.clone();
                self.answer(ticket, decision, Who::User);
            }
            None => self.prompt(),
        }
    }

    /// Leaves the screen tidy although the turn goes on.
    pub(crate) fn leave(&mut self) {
        self.write(|renderer| renderer.close());
    }

    /// Why nothing more can be shown, if so.
    pub(crate) fn broken(&self) -> Option<&io::Error> {
        self.broken.as_ref()
    }

    /// Makes everything visible. A question that other things were shown below is asked again.
    fn catch_up(&mut self) {
        if !self.questions.is_empty() && self.renderer.is_prompt_covered() {
            self.prompt();
        }
        self.flush();
    }

    fn put(&mut self, ticket: &TicketId, ask: &Ask) {
        match &self.answerer {
            Answerer::Nobody => self.answer(ticket.clone(), Decision::Decline, Who::Nobody),
            Answerer::Demo => self.answer(ticket.clone(), Decision::Accept, Who::Demo),
            Answerer::Person(_) => {
                self.questions.push_back(Question { ticket: ticket.clone(), ask: ask.clone() });
                // Also when another one is open: the new question now stands last on the screen, and an answer would
                // be taken for the old one, so that one is asked again below it.
                self.prompt();
            }
        }
    }

    /// Asks the first question, again if need be.
    fn prompt(&mut self) {
        let Some(question) = self.questions.pop_front() else { return };
        if let Answerer::Person(keyboard) = &self.answerer {
            keyboard.forget_typed();
        }
        self.write(|renderer| renderer.prompt(&question.ticket, &question.ask));
        self.questions.push_front(question);
        self.flush();
        if let Answerer::Person(keyboard) = &mut self.answerer {
            keyboard.want_line();
        }
    }

    fn drop_question(&mut self, ticket: &TicketId) {
        let was_first = self.questions.front().is_some_and(|question| question.ticket == *ticket);
        self.questions.retain(|question| question.ticket != *ticket);
        if was_first && !self.questions.is_empty() {
            self.prompt();
        }
    }

    fn answer(&mut self, ticket: TicketId, decision: Decision, by: Who) {
        self.command(Command::Answer { ticket, decision, by });
    }

    /// At most one command for each open request waits at a time, so the channel has room.
    fn command(&mut self, command: Command) {
        if let Err(error) = self.commands.try_send(command) {
            self.broken
                .get_or_insert_with(|| io::Error::other(format!("the turn takes no answers: {error}")));
        }
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
        self.with(Face::catch_up);
    }
}

/// How often the spinner turns.
pub(crate) const TICK: Duration = Duration::from_millis(100);
