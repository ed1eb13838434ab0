//! One turn with a person around it: events are shown, questions asked, Ctrl-C interrupts. `exec`, `demo` and `task watch`
//! use it; the loop is `line_loop`.
//!
//! The turn runs in the engine, so this can end at any time without an effect on it. When the engine goes away, because
//! it is replaced or died, the events continue where they stopped.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use talaria_core::api::{AnswerRequest, Interrupt, Numbered};
use talaria_core::event::{Event, Started, Usage};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;
use talaria_server::client::{Client, ClientError};
use tokio::task::JoinSet;

use crate::engine::refused;
use crate::face::{Answerer, Face, Wish};
use crate::line_loop::{self, Arrivals, LineFrontEnd};
use crate::line_reader::LineReader;
use crate::retry::retry;
use crate::stops::{Stop, Stops};
use crate::trouble::{Trouble, exit};
use talaria_render::Renderer;

pub(crate) mod news;
mod parting;

use news::{News, Stream};
use parting::{Parting, leave, leave_stopped};

/// A turn that is to be followed.
#[derive(Debug)]
pub(crate) struct Followed<'a> {
    pub(crate) client: &'a Client,
    pub(crate) session: SessionId,
    /// The number of the turn, from 1. A future one is awaited.
    pub(crate) turn: i64,
    /// Events of this turn have greater numbers.
    pub(crate) after: i64,
    /// Up to here it has happened already: what was asked then may be answered.
    pub(crate) past: i64,
    /// What leaving means.
    pub(crate) bond: Bond,
}

/// What the person here is to the turn.
#[derive(Debug)]
pub(crate) enum Bond {
    /// The client that started it: Ctrl-C stops it, and so does an output without a reader.
    Owner,
    /// A passive client of this task: leaving changes nothing.
    Onlooker(String),
    /// The demo, whose engine ends with it: Ctrl-C stops the turn, and so does leaving.
    Demo,
}

impl Followed<'_> {
    /// How to come back to it.
    fn again(&self) -> String {
        match &self.bond {
            Bond::Owner | Bond::Demo => format!("talaria exec --attach {}", self.session.short()),
            Bond::Onlooker(task) => format!("talaria task watch {task}"),
        }
    }
}

/// How the show ended.
pub(crate) struct End {
    /// What the turn came to; of a turn that was left, that this is not known.
    pub(crate) report: Report,
    /// The exit code of the command: that of the turn, or of how the person left.
    pub(crate) exit: u8,
    /// What Codex said is in force.
    pub(crate) started: Option<Started>,
    /// Did the person leave before the turn ended?
    pub(crate) has_left: bool,
    /// Who answered here, for the next turn: a keyboard is read once, or one reader takes the lines of another.
    pub(crate) answerer: Answerer,
}

/// How long what is on its way to the engine is waited for when the person leaves.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Something that was asked of the engine is done, or was refused.
enum Done {
    Answer(TicketId, Result<(), ClientError>),
    Interrupt(Result<(), ClientError>),
}

/// Shows a turn to its end, or until the person leaves. `Err` means that nothing can be shown any more.
pub(crate) async fn run(
    followed: &Followed<'_>,
    renderer: Box<dyn Renderer + Send>,
    answerer: Answerer,
    stops: &mut Stops,
) -> Result<End, Trouble> {
    let stream = Stream::follow(followed.client, &followed.session, followed.after);
    let mut following = Following {
        followed,
        face: Face::new(renderer, answerer, followed.past),
        arrivals: TurnArrivals { stream, errands: JoinSet::new() },
        returned_by: None,
        asked_to_stop: false,
    };
    let Ended { exit, report, has_left } = line_loop::run(&mut following, stops).await?;
    let Following { face, arrivals: TurnArrivals { mut errands, .. }, .. } = following;
    if has_left {
        // The last answer or request may still be on its way.
        let _ =
            tokio::time::timeout(LAST_WORDS, async { while errands.join_next().await.is_some() {} }).await;
    }
    match face.broken() {
        // The reader of our output has seen enough.
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::new(exit::FAILED, "cannot write the output").because(error))
        }
        _ => {
            let started = face.started().cloned();
            Ok(End { report, exit, started, has_left, answerer: face.into_answerer() })
        }
    }
}

/// A turn while it is followed.
struct Following<'a> {
    followed: &'a Followed<'a>,
    face: Face,
    arrivals: TurnArrivals,
    /// The last turn before this one that returned what waited for it.
    returned_by: Option<i64>,
    asked_to_stop: bool,
}

/// Events of the turn, and what became of what was asked of the engine.
struct TurnArrivals {
    stream: Stream,
    errands: JoinSet<Done>,
}

enum TurnNews {
    Stream(News),
    Done(Option<Done>),
}

/// How the loop ended.
struct Ended {
    exit: u8,
    report: Report,
    has_left: bool,
}

type Flow = ControlFlow<Ended>;

impl Arrivals for TurnArrivals {
    type Arrival = TurnNews;

    async fn next(&mut self) -> TurnNews {
        tokio::select! {
            news = self.stream.next() => TurnNews::Stream(news),
            Some(done) = self.errands.join_next() => TurnNews::Done(done.ok()),
        }
    }

    fn waiting(&mut self) -> Option<TurnNews> {
        self.stream.waiting().map(TurnNews::Stream)
    }
}

impl Arrivals for Stops {
    type Arrival = Stop;

    async fn next(&mut self) -> Stop {
        Stops::next(self).await
    }
}

impl LineFrontEnd for Following<'_> {
    type News = TurnArrivals;
    type Signals = Stops;
    type End = Ended;
    type Error = Trouble;

    fn inputs(&mut self) -> (&mut TurnArrivals, Option<&mut LineReader>) {
        (&mut self.arrivals, self.face.lines())
    }

    fn take_news(&mut self, news: TurnNews) -> Result<Flow, Trouble> {
        match news {
            TurnNews::Stream(News::Event(numbered)) => {
                let report = take_event(&mut self.face, *numbered, self.followed, &mut self.returned_by);
                if let Some(report) = report {
                    self.face.flush();
                    return Ok(Flow::Break(Ended { exit: report.exit_code(), report, has_left: false }));
                }
            }
            TurnNews::Stream(News::Away) => self.face.note("the engine does not respond; reconnecting"),
            TurnNews::Stream(News::Back) => self.face.note("reconnected to the engine"),
            TurnNews::Stream(News::Over(Some(ClientError::Stopped))) => {
                return Ok(leave_stopped(&mut self.face, self.followed));
            }
            TurnNews::Stream(News::Over(error)) => {
                let trouble = match error {
                    Some(error) => refused("the turn can no longer be followed", &error),
                    None => Trouble::new(exit::FAILED, "the turn can no longer be followed"),
                };
                return Err(trouble.try_this(self.followed.again()).exiting(exit::LOST));
            }
            TurnNews::Done(done) => report_failure(&mut self.face, done),
        }
        Ok(Flow::Continue(()))
    }

    /// Makes everything visible, and does what the face wants of the engine.
    fn rest(&mut self) -> Result<Flow, Trouble> {
        self.face.flush();
        for wish in self.face.take_wishes() {
            match wish {
                Wish::Answer { ticket, answer, by, digest } => {
                    let answer = AnswerRequest { answer: answer.revealed(), by, digest };
                    self.arrivals.errands.spawn(deliver(self.followed.client.clone(), ticket, answer));
                }
                Wish::Interrupt if !self.is_onlooker() => self.interrupt(),
                Wish::Interrupt | Wish::Leave => return Ok(self.leave(Parting::Unheard)),
            }
        }
        Ok(Flow::Continue(()))
    }

    fn take_signal(&mut self, stop: Stop) -> Result<Flow, Trouble> {
        match stop {
            Stop::Leave(signal) => {
                return Ok(self.leave(Parting::Signal { signal, asked_to_stop: self.asked_to_stop }));
            }
            Stop::Asked if self.asked_to_stop || self.is_onlooker() => {
                return Ok(self.leave(Parting::CtrlC));
            }
            Stop::Asked => {
                self.asked_to_stop = true;
                self.interrupt();
            }
        }
        Ok(Flow::Continue(()))
    }

    fn face(&mut self) -> Option<&mut Face> {
        Some(&mut self.face)
    }
}

impl Following<'_> {
    fn is_onlooker(&self) -> bool {
        matches!(self.followed.bond, Bond::Onlooker(_))
    }

    fn interrupt(&mut self) {
        self.arrivals.errands.spawn(interrupt(self.followed.client.clone(), self.followed.session.clone()));
    }

    fn leave(&mut self, parting: Parting) -> Flow {
        leave(&mut self.face, self.followed, parting)
    }
}

/// Shows what belongs to the turn; those before it are passed over. `returned_by` is the last of them that returned what
/// waited for it: if it did not complete, the turn that is followed never comes.
fn take_event(
    face: &mut Face,
    mut numbered: Numbered,
    followed: &Followed<'_>,
    returned_by: &mut Option<i64>,
) -> Option<Report> {
    if let Some(theirs) = numbered.turn.filter(|theirs| *theirs < followed.turn) {
        match &numbered.event {
            Event::Unqueued { .. } => *returned_by = Some(theirs),
            Event::Outcome(report) if *returned_by == Some(theirs) => {
                let report = never_run(report)?;
                numbered.event = Event::Outcome(Box::new(report.clone()));
                face.show(&numbered);
                return Some(report);
            }
            _ => {}
        }
        return None;
    }
    face.show(&numbered);
    match numbered.event {
        Event::Outcome(report) => Some(*report),
        _ => None,
    }
}

/// What a turn comes to whose input was returned because of how the turn before it ended; `None` if that one completed.
fn never_run(before: &Report) -> Option<Report> {
    let message = match &before.outcome {
        Outcome::Completed => return None,
        outcome => {
            format!("the turn before it did not complete ({}), so this input was not run", outcome.word())
        }
    };
    let outcome = Outcome::Failed { code: FailureCode::NotSent, message };
    Some(Report::new(outcome, None, Usage::default(), 0))
}

fn report_failure(face: &mut Face, done: Option<Done>) {
    match done {
        Some(Done::Answer(ticket, Err(error))) => face.refused(&ticket, &error),
        Some(Done::Interrupt(Err(error))) => face.note(&format!("the turn could not be stopped: {error}")),
        _ => {}
    }
}

async fn deliver(client: Client, ticket: TicketId, answer: AnswerRequest) -> Done {
    let result = retry(|| client.answer(ticket.as_str(), &answer)).await;
    Done::Answer(ticket, result.map(drop))
}

async fn interrupt(client: Client, session: SessionId) -> Done {
    Done::Interrupt(retry(|| client.interrupt(session.as_str(), Interrupt { by: Who::User })).await)
}
