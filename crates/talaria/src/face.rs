//! The face of a running turn: shows its events, and asks its questions here.
//!
//! `conversation` calls it for every event, for lines that were typed and when time passed; what it wants of the engine
//! it leaves in `wishes`. A face that cannot be written to any more stops the turn, because its reader would not see what it
//! does; but a terminal that was closed only ends the show.

use std::io;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use talaria_core::api::{Numbered, ProblemCode};
use talaria_core::event::{Event, Started};
use talaria_core::ids::TicketId;
use talaria_core::outcome::Report;
use talaria_core::request::{Answer, Ask, Decision, Who};
use talaria_server::client::ClientError;

use crate::keyboard::Keyboard;
use crate::line_reader::{LineReader, LineText, TypedLine};
use crate::questions::{LineAnswer, Questions, Taken};
use crate::trouble::complain;
use crate::{look, terminal_echo};
use talaria_render::dialog::Dialog;
use talaria_render::{Renderer, Shown};

/// Who answers when Codex asks.
pub(crate) enum Answerer {
    /// The person at the keyboard.
    Person(Keyboard),
    /// No one: everything is declined.
    Nobody,
    /// A client elsewhere; the command for it is shown.
    Elsewhere,
    /// The demo, which accepts the commands and patches of its own script.
    Demo,
}

/// What the face wants of the engine.
#[derive(Debug)]
pub(crate) enum Wish {
    /// An answer to a request.
    Answer {
        ticket: TicketId,
        answer: Answer,
        by: Who,
        /// Digest of the question that was shown.
        digest: Option<String>,
    },
    /// The turn is to stop.
    Interrupt,
    /// The terminal is gone: the show is over, the turn is not.
    Leave,
}

/// Shows a turn and asks its questions.
pub(crate) struct Face {
    renderer: Box<dyn Renderer + Send>,
    answerer: Answerer,
    wishes: Vec<Wish>,
    questions: Questions,
    /// What happened up to here is over: questions asked then may have been answered.
    past: i64,
    /// Earlier questions that are not closed yet.
    unanswered: Vec<(TicketId, Ask, Option<String>)>,
    age: Age,
    last_event: Instant,
    next_tick: Instant,
    /// The turn was asked to stop: nothing is asked any more.
    is_stopping: bool,
    /// What the keyboard was read for last: which question, which step of it, and its number among all that were put.
    asked: Option<(TicketId, usize, u64)>,
    started: Option<Started>,
    broken: Option<io::Error>,
}

/// Time as the events tell it, counted from the first one that is shown: a turn that is joined late is as old as it is, and
/// so are its steps.
#[derive(Debug, Default)]
struct Age {
    /// When the first event happened, how old it was when it came, and when that was.
    first: Option<(Timestamp, Duration, Instant)>,
}

impl Age {
    /// When an event happened; `wall` is the time of day now.
    fn of(&mut self, at: Timestamp, wall: Timestamp) -> Duration {
        let passed = |since: Timestamp, until: Timestamp| {
            Duration::try_from(until.duration_since(since)).unwrap_or_default()
        };
        let (first, ..) = *self.first.get_or_insert_with(|| (at, passed(at, wall), Instant::now()));
        passed(first, at)
    }

    fn now(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |(_, before, came)| before + came.elapsed())
    }
}

impl Face {
    /// Makes a face; events up to the number `past` are only shown.
    pub(crate) fn new(renderer: Box<dyn Renderer + Send>, answerer: Answerer, past: i64) -> Self {
        let now = Instant::now();
        Self {
            renderer,
            answerer,
            wishes: Vec::new(),
            questions: Questions::default(),
            past,
            unanswered: Vec::new(),
            age: Age::default(),
            last_event: now,
            next_tick: now,
            is_stopping: false,
            asked: None,
            started: None,
            broken: None,
        }
    }

    /// Shows an event, and asks its question, if it is one.
    pub(crate) fn show(&mut self, numbered: &Numbered) {
        self.last_event = Instant::now();
        let now = self.age.of(numbered.at, Timestamp::now());
        self.write(|renderer| renderer.numbered(now, numbered));
        match &numbered.event {
            Event::RequestOpened { id, ask, digest, .. } if ask.is_answerable() => {
                self.unanswered.push((id.clone(), (**ask).clone(), digest.clone()));
            }
            Event::RequestClosed { id, by, .. } => self.close(id, *by),
            Event::Interrupting { .. } => self.is_stopping = true,
            Event::SessionStarted(started) => self.started = Some((**started).clone()),
            _ => {}
        }
        if numbered.seq >= self.past {
            for (ticket, ask, digest) in std::mem::take(&mut self.unanswered) {
                self.put(ticket, ask, digest);
            }
        }
    }

    /// Shows how a turn ended that was over before the show began, and how long it took.
    pub(crate) fn show_ended(&mut self, report: &Report, took: Option<Duration>) {
        self.write(|renderer| renderer.ended(report, took));
        self.flush();
    }

    /// When [`Self::tick`] is to be called.
    pub(crate) fn due(&self) -> Instant {
        self.next_tick
    }

    /// Lets the spinner turn, in the window as wide as it is now.
    pub(crate) fn tick(&mut self) {
        self.next_tick = Instant::now() + TICK;
        let now = self.age.now();
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

    /// Returns what it wants of the engine since it was asked last.
    pub(crate) fn take_wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.wishes)
    }

    /// Where a person types; none where no one is asked here.
    pub(crate) fn lines(&mut self) -> Option<&mut LineReader> {
        match &mut self.answerer {
            Answerer::Person(keyboard) => Some(&mut keyboard.lines),
            Answerer::Nobody | Answerer::Elsewhere | Answerer::Demo => None,
        }
    }

    /// Returns whether a line was asked for that has not come yet.
    pub(crate) fn is_line_wanted(&mut self) -> bool {
        self.lines().is_some_and(|lines| lines.is_waiting())
    }

    /// Takes what the person typed.
    pub(crate) fn take_line(&mut self, line: TypedLine) {
        self.renderer.prompt_read();
        if line.text == LineText::Failed {
            return self.wish(Wish::Leave);
        }
        let Some((ticket, dialog)) = self.questions.first() else { return };
        // It was typed for a question or a step that is gone: the person has not seen this one.
        let is_seen = self.asked.as_ref().is_some_and(|(asked, step, number)| {
            asked == ticket && *step == dialog.count() && *number == line.asked
        });
        match line.text {
            LineText::Line(text) if is_seen => match self.questions.take(&text) {
                Taken::Answer(answer) => self.send_answer(answer, Who::User),
                Taken::Ask => self.prompt(),
            },
            // Closing the input is a no.
            LineText::Over | LineText::TooLong if is_seen => self.decline_first(Who::User),
            _ => self.prompt(),
        }
    }

    /// Reports that an answer was not accepted. If it does not fit, the person is asked again.
    pub(crate) fn refused(&mut self, ticket: &TicketId, error: &ClientError) {
        let is = |code| matches!(error, ClientError::Problem(problem) if problem.code == code);
        let fits = !is(ProblemCode::Misfit);
        let is_unknown = matches!(error, ClientError::Broken(_));
        match &self.answerer {
            Answerer::Person(_) if is_unknown => {
                self.note(&format!("it is not known whether your answer was recorded: {error}"));
            }
            Answerer::Person(_) => self.note(&format!("your answer was not accepted: {error}")),
            _ if is_unknown => {
                self.note(&format!("it is not known whether the request was answered: {error}"));
            }
            // No one answered here; who did, the turn shows by itself.
            _ if is(ProblemCode::Conflict) => {}
            _ => self.note(&format!("the request could not be answered: {error}")),
        }
        if fits {
            return self.drop_question(ticket);
        }
        self.questions.ask_again(ticket);
        self.asked = None;
        self.prompt();
    }

    /// Says something beside the turn.
    pub(crate) fn note(&mut self, text: &str) {
        let mut shown = Shown::Here;
        self.write(|renderer| {
            shown = renderer.note(text)?;
            renderer.flush()
        });
        if shown == Shown::Nowhere {
            complain(&format!("{text}\n"));
        }
    }

    /// Ends the show although the turn has not ended; `report` and the exit code of the command say so to programs.
    pub(crate) fn leave(&mut self, report: &Report, exit: u8) {
        terminal_echo::show();
        self.write(|renderer| renderer.left(report, exit));
        self.write(|renderer| renderer.close());
    }

    /// What Codex said is in force, if it has said so.
    pub(crate) fn started(&self) -> Option<&Started> {
        self.started.as_ref()
    }

    /// Why nothing more can be shown, if so.
    pub(crate) fn broken(&self) -> Option<&io::Error> {
        self.broken.as_ref()
    }

    /// Is every question declined here, without a person?
    pub(crate) fn declines_all(&self) -> bool {
        matches!(self.answerer, Answerer::Nobody)
    }

    /// Returns who answers.
    pub(crate) fn into_answerer(self) -> Answerer {
        self.answerer
    }

    /// Makes everything visible.
    pub(crate) fn flush(&mut self) {
        self.write(|renderer| renderer.flush());
    }

    fn put(&mut self, ticket: TicketId, ask: Ask, digest: Option<String>) {
        let decide = |decision: Decision| LineAnswer {
            ticket: ticket.clone(),
            answer: decision.into(),
            digest: digest.clone(),
        };
        match &self.answerer {
            Answerer::Nobody => self.send_answer(decide(Decision::Decline), Who::Nobody),
            Answerer::Elsewhere => self.note(&format!(
                "waiting for an answer: talaria requests answer {ticket} accept (or decline, …)"
            )),
            Answerer::Demo => {
                let is_scripted = matches!(ask, Ask::Command { .. } | Ask::Patch { .. });
                let decision = if is_scripted { Decision::Accept } else { Decision::Decline };
                self.send_answer(decide(decision), Who::Demo);
            }
            Answerer::Person(_) => {
                self.questions.add(ticket, ask, digest);
                // Also when another one is open: the new question is now last on the screen, and an answer would
                // be taken for the old one, so that one is asked again below it.
                self.prompt();
            }
        }
    }

    /// Asks the first question, again if need be. A secret that would be seen is declined instead.
    fn prompt(&mut self) {
        let questions = std::mem::take(&mut self.questions);
        let is_asked = questions.first().is_none_or(|(ticket, dialog)| self.ask(ticket, dialog).is_ok());
        self.questions = questions;
        if !is_asked {
            self.decline_first(Who::Nobody);
        }
    }

    /// Shows what is wanted and waits for a line. `Err` means that what is typed would be seen and must not be.
    fn ask(&mut self, ticket: &TicketId, dialog: &Dialog) -> io::Result<()> {
        let is_asked = |(asked, step, _): &(TicketId, usize, u64)| asked == ticket && *step == dialog.count();
        if let Answerer::Person(keyboard) = &self.answerer
            && !self.asked.as_ref().is_some_and(is_asked)
        {
            terminal_echo::show();
            if dialog.is_secret() {
                keyboard.hide_typing()?;
            }
            // Text typed for another question is no answer to this one.
            keyboard.forget_typed();
            self.asked = Some((ticket.clone(), dialog.count(), keyboard.lines.question_is_put()));
        }
        self.write(|renderer| renderer.prompt(ticket, dialog));
        self.flush();
        if let Some(lines) = self.lines() {
            lines.want();
        }
        Ok(())
    }

    /// A request is closed. If it was answered elsewhere, that is said: the line that was waited for leads nowhere now.
    fn close(&mut self, ticket: &TicketId, by: Who) {
        self.unanswered.retain(|(open, ..)| open != ticket);
        if self.questions.is_waiting(ticket) && by == Who::User {
            self.note("it was answered elsewhere, not in this terminal");
        }
        self.drop_question(ticket);
    }

    fn drop_question(&mut self, ticket: &TicketId) {
        let was_first = self.questions.is_first(ticket);
        self.questions.close(ticket);
        if was_first {
            terminal_echo::show();
            self.prompt();
        }
    }

    fn decline_first(&mut self, by: Who) {
        if let Some(answer) = self.questions.answer_first(Decision::Decline.into()) {
            self.send_answer(answer, by);
        }
    }

    fn send_answer(&mut self, LineAnswer { ticket, answer, digest }: LineAnswer, by: Who) {
        terminal_echo::show();
        self.wish(Wish::Answer { ticket, answer, by, digest });
    }

    fn wish(&mut self, wish: Wish) {
        self.wishes.push(wish);
    }

    fn write(&mut self, show: impl FnOnce(&mut dyn Renderer) -> io::Result<()>) {
        if self.broken.is_some() {
            return;
        }
        if let Err(error) = show(self.renderer.as_mut()) {
            self.broken = Some(error);
            let is_closed = self.renderer.can_ask();
            self.wish(if is_closed { Wish::Leave } else { Wish::Interrupt });
        }
    }
}

/// How long it must be quiet before a covered question is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_is_joined_late_is_as_old_as_it_is() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut age = Age::default();
        assert_eq!(age.of(at(100), at(115)), Duration::ZERO);
        assert_eq!(age.of(at(119), at(119)), Duration::from_secs(19));
        assert!(age.now() >= Duration::from_secs(15), "{:?}", age.now());
    }
}
