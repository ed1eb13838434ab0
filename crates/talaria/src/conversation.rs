//! One turn with a person around it: events are shown, questions asked, Ctrl-C interrupts. `exec` and `demo` use it.
//!
//! The turn runs in the engine, so this can end at any time without an effect on it. When the engine goes away, because
//! it is replaced or died, the events continue where they stopped.

use std::io;
use std::time::Duration;

use talaria_core::api::{AnswerRequest, Interrupt, Numbered};
use talaria_core::event::{Event, Started, Usage};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::next_step::NextStep;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;
use talaria_server::client::{Client, ClientError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::engine::refused;
use crate::face::{Answerer, Face, TICK, Wish};
use crate::insist::insist;
use crate::keyboard::{Lines, Typed};
use crate::stops::{EndSignal, Stop, Stops};
use crate::trouble::{Trouble, complain, exit};
use talaria_render::Renderer;

pub(crate) mod news;

use news::{News, Stream};

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
    /// How to log in to the Codex that runs it, where `codex login` would be another one.
    pub(crate) login: Option<String>,
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
#[derive(Debug)]
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
    /// Where lines arrive that are typed.
    pub(crate) lines: Option<Lines>,
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
    mut lines: Option<Lines>,
    stops: &mut Stops,
) -> Result<End, Trouble> {
    // Unbounded in type, bounded by use: a line that the person types is one wish at most.
    let (wishes, mut wanted) = mpsc::unbounded_channel();
    let mut face = Face::new(renderer, answerer, followed.past, wishes);
    let mut stream = Stream::follow(followed.client, &followed.session, followed.after);
    let mut returned_by = None;
    let mut errands = JoinSet::new();
    let mut ticks = tokio::time::interval(TICK);
    let mut asked_to_stop = false;
    let is_onlooker = matches!(followed.bond, Bond::Onlooker(_));
    let mut has_left = true;
    let (exit, report) = loop {
        tokio::select! {
            news = stream.next() => match take(&mut face, &mut stream, news, followed, &mut returned_by)? {
                Some(Last::Outcome(report)) => {
                    has_left = false;
                    break (report.exit_code(), *report);
                }
                Some(Last::EngineStopped) => break leave_stopped(&mut face, followed),
                None => face.flush(),
            },
            _ = ticks.tick() => face.tick(),
            typed = next_line(&mut lines) => face.take_line(typed),
            Some(done) = errands.join_next() => report_failure(&mut face, done.ok()),
            wish = wanted.recv() => match wish {
                Some(Wish::Answer { ticket, answer, by, digest }) => {
                    let answer = AnswerRequest { answer: answer.revealed(), by, digest };
                    errands.spawn(deliver(followed.client.clone(), ticket, answer));
                }
                Some(Wish::Interrupt) if is_onlooker => break leave(&mut face, followed, Parting::Unheard),
                Some(Wish::Interrupt) => drop(errands.spawn(interrupt(followed.client.clone(), followed.session.clone()))),
                Some(Wish::Leave) | None => break leave(&mut face, followed, Parting::Unheard),
            },
            stop = stops.next() => match stop {
                Stop::Leave(signal) => break leave(&mut face, followed, Parting::Signal { signal, asked_to_stop }),
                Stop::Asked if asked_to_stop || is_onlooker => break leave(&mut face, followed, Parting::CtrlC),
                Stop::Asked => {
                    asked_to_stop = true;
                    errands.spawn(interrupt(followed.client.clone(), followed.session.clone()));
                }
            },
        }
    };
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
            Ok(End { report, exit, started, has_left, answerer: face.into_answerer(), lines })
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
            News::Away => face.note("the engine does not respond; reconnecting"),
            News::Back => face.note("reconnected to the engine"),
            News::Over(Some(ClientError::Stopped)) => return Ok(Some(Last::EngineStopped)),
            News::Over(error) => {
                let trouble = match error {
                    Some(error) => refused("the turn can no longer be followed", &error),
                    None => Trouble::new(exit::FAILED, "the turn can no longer be followed"),
                };
                return Err(trouble.try_this(followed.again()).exiting(exit::LOST));
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
        && report.next_step == Some(NextStep::Login)
    {
        **report = report.as_ref().clone().with_hint(login.clone());
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

/// Why a turn is left before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parting {
    /// Ctrl-C, which has stopped what it could.
    CtrlC,
    /// A signal that means the command and not the turn.
    Signal { signal: EndSignal, asked_to_stop: bool },
    /// The terminal is gone, or the output has no reader: no words arrive.
    Unheard,
}

/// The person goes, the turn stays.
fn leave(face: &mut Face, followed: &Followed<'_>, parting: Parting) -> (u8, Report) {
    let (who, exit) = match parting {
        Parting::Signal { signal, .. } => (format!("{} ended this command", signal.name()), signal.exit()),
        Parting::CtrlC | Parting::Unheard => ("you left".to_owned(), exit::INTERRUPTED),
    };
    let why = match (&followed.bond, parting) {
        (Bond::Demo, _) => format!("{who} before the turn ended; the demo ends with it"),
        // The first Ctrl-C asked the turn to stop.
        (Bond::Owner, Parting::CtrlC | Parting::Signal { asked_to_stop: true, .. }) => format!(
            "{who} before the turn ended; it was asked to stop, and continues until it does: {}",
            followed.again()
        ),
        (Bond::Owner | Bond::Onlooker(_), _) => {
            let questions = questions_left(face);
            format!("{who} before the turn ended; it continues{questions}: {}", followed.again())
        }
    };
    let report = Report::new(Outcome::Lost { why }, None, Usage::default(), 0);
    face.leave(&report, exit);
    if let Some(words) = parting_words(followed, &who, parting, questions_left(face)) {
        complain(&words);
    }
    (exit, report)
}

/// Fate of the questions of a turn that continues without this command, if that is not what was asked for: only the
/// command declined them.
fn questions_left(face: &Face) -> &'static str {
    if face.declines_all() {
        ", and questions that this command would have declined wait for an answer (talaria requests list)"
    } else {
        ""
    }
}

/// The line that says how to come back; none where it reaches no reader.
fn parting_words(
    followed: &Followed<'_>,
    who: &str,
    parting: Parting,
    questions: &'static str,
) -> Option<String> {
    let again = followed.again();
    Some(match (parting, &followed.bond) {
        (Parting::Unheard, _) => return None,
        (_, Bond::Demo) => format!("{who} before the turn ended; the demo ends, and the turn with it\n"),
        (Parting::CtrlC, Bond::Owner) => format!(
            "you left before the turn ended; it was asked to stop, and continues until it does\n\
             follow it: {again}\n\
             stop it, and everything else: talaria stop\n"
        ),
        (Parting::CtrlC, Bond::Onlooker(task)) => format!(
            "you left; the task continues\n\
             watch it: {again}\n\
             stop it:  talaria task interrupt {task}\n"
        ),
        (Parting::Signal { asked_to_stop: true, .. }, Bond::Owner) => {
            format!("{who}; the turn was asked to stop, and continues until it does. Follow it: {again}\n")
        }
        (Parting::Signal { .. }, Bond::Owner) => {
            format!(
                "{who}; the turn continues{questions}. Follow it, or stop it there with Ctrl-C: {again}\n"
            )
        }
        (Parting::Signal { .. }, Bond::Onlooker(task)) => {
            format!(
                "{who}; the task continues{questions}. Watch it: {again}; stop it: talaria task interrupt {task}\n"
            )
        }
    })
}

/// A person stopped the engine. The turn may continue without it; this command starts no other to find out.
fn leave_stopped(face: &mut Face, followed: &Followed<'_>) -> (u8, Report) {
    let why = "the engine was stopped before the turn was seen to end";
    let report = Report::new(Outcome::Lost { why: why.to_owned() }, None, Usage::default(), 0);
    let again = followed.again();
    let report = report.with_hint(again.clone());
    face.leave(&report, exit::INTERRUPTED);
    complain(&format!(
        "{why}: it was ended with `talaria stop`, and this command does not start it again\n\
         see what happened to the turn: {again}\n"
    ));
    (exit::INTERRUPTED, report)
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
