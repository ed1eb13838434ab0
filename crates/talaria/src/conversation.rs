//! One turn with a person around it: events are shown, questions asked, Ctrl-C interrupts. `exec` and `demo` use it.
//!
//! The turn runs in the engine, so this can end at any time without an effect on it. When the engine goes away, because
//! it is replaced or died, the events go on where they stopped.

use std::borrow::Cow;
use std::io;

use talaria_core::api::{AnswerRequest, Interrupt, Numbered};
use talaria_core::event::{Event, Started, Usage};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;
use talaria_server::client::{Client, ClientError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::engine::refused;
use crate::face::{Answerer, Face, TICK, Wish};
use crate::insist::insist;
use crate::keyboard::{Lines, Typed};
use crate::stops::{Stop, Stops};
use crate::trouble::{Trouble, complain, exit};
use talaria_face::render::Renderer;

pub(crate) mod news;

use news::{News, Stream};

/// A turn that is to be followed.
#[derive(Debug)]
pub(crate) struct Followed<'a> {
    pub(crate) client: &'a Client,
    pub(crate) session: SessionId,
    /// Which turn, from 1. If it is not there yet, it is waited for.
    pub(crate) turn: i64,
    /// Events of this turn have greater numbers.
    pub(crate) after: i64,
    /// Up to here it has happened already: what was asked then may be answered.
    pub(crate) past: i64,
    /// How to log in to the Codex that runs it, where `codex login` would be another one.
    pub(crate) login: Option<String>,
    /// What leaving means.
    pub(crate) bond: Bond,
}

/// What the person here is to the turn.
#[derive(Debug)]
pub(crate) enum Bond {
    /// Whoever wants it: Ctrl-C stops it, and so does an output that nobody reads.
    Owner,
    /// Somebody who looks on at this task: leaving changes nothing.
    Onlooker(String),
}

impl Followed<'_> {
    /// How to come back to it.
    fn again(&self) -> String {
        match &self.bond {
            Bond::Owner => format!("talaria exec --attach {}", self.session),
            Bond::Onlooker(task) => format!("talaria task watch {task}"),
        }
    }
}

/// How the show ended.
#[derive(Debug)]
pub(crate) struct End {
    /// What the turn came to; of a turn that was left, that this is not known.
    pub(crate) report: Report,
    /// What Codex said is in force.
    pub(crate) started: Option<Started>,
    /// Did the person leave before the turn ended?
    pub(crate) has_left: bool,
    /// Who answered here, for the next turn: a keyboard is read once, or one reader takes the lines of another.
    pub(crate) answerer: Answerer,
    /// Where lines arrive that are typed.
    pub(crate) lines: Option<Lines>,
}

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
    mut lines: Option<Lines>,
    stops: &mut Stops,
) -> Result<End, Trouble> {
    let (wishes, mut wanted) = mpsc::unbounded_channel();
    let mut face = Face::new(renderer, answerer, followed.past, wishes);
    let mut stream = Stream::follow(followed.client, &followed.session, followed.after);
    let mut returned_by = None;
    let mut errands = JoinSet::new();
    let mut ticks = tokio::time::interval(TICK);
    let mut asked_to_stop = false;
    let is_onlooker = matches!(followed.bond, Bond::Onlooker(_));
    let mut has_left = true;
    let report = loop {
        tokio::select! {
            news = stream.next() => match take(&mut face, &mut stream, news, followed, &mut returned_by)? {
                Some(Last::Outcome(report)) => {
                    has_left = false;
                    break *report;
                }
                Some(Last::EngineStopped) => break stopped(&mut face, followed),
                None => face.flush(),
            },
            _ = ticks.tick() => face.tick(),
            typed = next_line(&mut lines) => face.take_line(typed),
            Some(done) = errands.join_next() => told(&mut face, done.ok()),
            wish = wanted.recv() => match wish {
                Some(Wish::Answer { ticket, answer, by }) => {
                    let answer = AnswerRequest { answer: answer.revealed(), by, digest: face.digest(&ticket) };
                    errands.spawn(deliver(followed.client.clone(), ticket, answer));
                }
                Some(Wish::Interrupt) if is_onlooker => break leave(&mut face, followed, Words::Unheard),
                Some(Wish::Interrupt) => drop(errands.spawn(interrupt(followed.client.clone(), followed.session.clone()))),
                Some(Wish::Leave) | None => break leave(&mut face, followed, Words::Unheard),
            },
            stop = stops.next() => match stop {
                Stop::HungUp => break leave(&mut face, followed, Words::Unheard),
                Stop::Asked if asked_to_stop || is_onlooker => break leave(&mut face, followed, Words::Spoken),
                Stop::Asked => {
                    asked_to_stop = true;
                    errands.spawn(interrupt(followed.client.clone(), followed.session.clone()));
                }
            },
        }
    };
    match face.broken() {
        // Whoever read our output has seen enough.
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::new(exit::FAILED, "cannot write the output").because(error))
        }
        _ => {
            let started = face.started().cloned();
            Ok(End { report, started, has_left, answerer: face.into_answerer(), lines })
        }
    }
}

/// After what nothing more comes.
enum Last {
    /// The turn is over.
    Outcome(Box<Report>),
    /// A person stopped the engine; how the turn ends is not known here.
    EngineStopped,
}

/// Shows everything that is there; returns the last of it, if that came.
fn take(
    face: &mut Face,
    stream: &mut Stream,
    news: News,
    followed: &Followed<'_>,
    returned_by: &mut Option<i64>,
) -> Result<Option<Last>, Trouble> {
    let mut next = Some(news);
    while let Some(news) = next {
        match news {
            News::Event(numbered) => {
                if let Some(report) = take_event(face, *numbered, followed, returned_by) {
                    face.flush();
                    return Ok(Some(Last::Outcome(Box::new(report))));
                }
            }
            News::Away => face.note("the engine is away; waiting for it to come back"),
            News::Back => face.note("the engine is back"),
            News::Over(Some(ClientError::Stopped)) => return Ok(Some(Last::EngineStopped)),
            News::Over(error) => {
                let trouble = match error {
                    Some(error) => refused("the turn can no longer be followed", &error),
                    None => Trouble::new(exit::FAILED, "the turn can no longer be followed"),
                };
                return Err(trouble.try_this(followed.again()));
            }
        }
        next = stream.waiting();
    }
    Ok(None)
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
    if let (Event::Outcome(report), Some(login)) = (&mut numbered.event, &followed.login)
        && report.hint.as_deref() == Some(FailureCode::Auth.hint())
    {
        report.hint = Some(Cow::Owned(login.clone()));
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

fn told(face: &mut Face, done: Option<Done>) {
    match done {
        Some(Done::Answer(ticket, Err(error))) => face.refused(&ticket, &error),
        Some(Done::Interrupt(Err(error))) => face.note(&format!("the turn could not be stopped: {error}")),
        _ => {}
    }
}

/// Does anybody hear what is said?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    Spoken,
    Unheard,
}

/// The person goes, the turn stays.
fn leave(face: &mut Face, followed: &Followed<'_>, words: Words) -> Report {
    let again = followed.again();
    let why = format!("you left before the turn ended; it goes on: {again}");
    let report = Report::new(Outcome::Lost { why }, None, Usage::default(), 0);
    let report = Report { exit: exit::INTERRUPTED, ..report };
    face.leave(&report);
    if words == Words::Spoken {
        complain(&match &followed.bond {
            Bond::Owner => format!(
                "you left before the turn ended; it was asked to stop, and goes on until it does\n\
                 follow it: {again}\n\
                 stop it, and everything else: talaria stop\n"
            ),
            Bond::Onlooker(task) => format!(
                "you left; the task goes on\n\
                 watch it: {again}\n\
                 stop it:  talaria task interrupt {task}\n"
            ),
        });
    }
    report
}

/// A person stopped the engine. The turn may go on without it; this command starts no other to find out.
fn stopped(face: &mut Face, followed: &Followed<'_>) -> Report {
    let why = "the engine was stopped before the turn was seen to end";
    let report = Report::new(Outcome::Lost { why: why.to_owned() }, None, Usage::default(), 0);
    let again = followed.again();
    let hint = Some(Cow::Owned(again.clone()));
    let report = Report { exit: exit::INTERRUPTED, hint, ..report };
    face.leave(&report);
    complain(&format!(
        "{why}: somebody ended it with `talaria stop`, and this command does not start it again\n\
         what became of the turn: {again}\n"
    ));
    report
}

async fn deliver(client: Client, ticket: TicketId, answer: AnswerRequest) -> Done {
    let result = insist(|| client.answer(ticket.as_str(), &answer)).await;
    Done::Answer(ticket, result.map(drop))
}

async fn interrupt(client: Client, session: SessionId) -> Done {
    Done::Interrupt(insist(|| client.interrupt(session.as_str(), Interrupt { by: Who::User })).await)
}

/// The next line that was typed. The reader says why it ends before it does; then nothing comes any more.
async fn next_line(lines: &mut Option<Lines>) -> Typed {
    if let Some(receiver) = lines
        && let Some(typed) = receiver.recv().await
    {
        return typed;
    }
    std::future::pending().await
}
