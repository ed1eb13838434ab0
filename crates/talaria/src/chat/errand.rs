//! One errand for each wish: asks the engine, and returns the result. Runs concurrently with the loop of the
//! front end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use talaria_core::api::{
    AnswerRequest, Interrupt, Numbered, ProblemCode, RequestInfo, SessionInfo, SessionQuery, SessionStarted,
    TaskQuery, When,
};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::request::{Answer, Decision, Who};
use talaria_core::runtime::Runtime;
use talaria_render::StyledText;
use talaria_server::client::ClientError;
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::{News, PromptDraft};
use tokio::sync::{Notify, mpsc};

use super::chat_context::{ChatContext, Chosen, typed_path};
use super::files::Files;
use super::login::{self, LoginSlot};
use super::loop_offers;
use super::reported_state::ReportedState;
use super::{clipboard, commands, sending, shell, words};
use crate::engine::{not_done, refused};
use crate::input;
use crate::retry::retry;
use crate::trouble::{Trouble, exit};

/// The number of events in a page of older ones.
const PAGE: i64 = 1000;
/// At most this many conversations, and as many tasks, are offered.
const NAMES: usize = 50;
/// At most this many files are offered.
const FILES: usize = 50;

/// The wish.
#[derive(Debug)]
pub(super) enum Errand {
    Send(PromptDraft),
    Say(PromptDraft, When),
    /// The last turn at the time of the wish.
    Interrupt {
        turn: i64,
    },
    Answer {
        ticket: TicketId,
        answer: Answer,
        digest: Option<String>,
    },
    /// A yes to a request of another conversation that was shown.
    Accept {
        request: Box<RequestInfo>,
        decision: Decision,
    },
    Older {
        before: i64,
    },
    Files(String),
    Names,
    Image(String),
    Clipboard,
    Shell(String),
    Command(SlashCommand),
}

/// Name of an unconfirmed message.
pub(super) const MESSAGE: &str = "your message";
/// Name of an unconfirmed stop.
pub(super) const STOP: &str = "the request to stop the turn";

/// Name of an unconfirmed answer.
pub(super) const ANSWER: &str = "your answer";

/// The same where that is known.
pub(super) fn answer_to(ticket: &TicketId) -> String {
    format!("your answer to {ticket}")
}

impl Errand {
    /// Unsettled actions to report to a person who leaves.
    pub(super) fn name(&self) -> Option<String> {
        let name = match self {
            Self::Send(_) | Self::Say(..) => MESSAGE,
            Self::Interrupt { .. } => STOP,
            Self::Answer { ticket, .. } => return Some(answer_to(ticket)),
            Self::Accept { request, .. } => return Some(answer_to(&request.id)),
            Self::Command(SlashCommand::Deny { .. }) => ANSWER,
            Self::Command(SlashCommand::Compact) => "/compact",
            Self::Command(SlashCommand::Fork(_)) => "/fork",
            Self::Command(SlashCommand::Undo) => "/undo",
            Self::Command(SlashCommand::Retry) => "/retry",
            Self::Command(SlashCommand::Task(_)) => "/task",
            Self::Command(SlashCommand::Export(_)) => "/export",
            Self::Command(SlashCommand::Rename(_)) => "/rename",
            Self::Command(SlashCommand::Login(_)) => "/login",
            Self::Command(SlashCommand::Theme(_)) => "/theme",
            Self::Command(SlashCommand::CodexRuntime(_)) => "/codex-runtime",
            // Words may wait for it.
            Self::Command(command) if is_choice(command) => "your choice",
            Self::Older { .. }
            | Self::Files(_)
            | Self::Names
            | Self::Image(_)
            | Self::Clipboard
            | Self::Shell(_)
            | Self::Command(_) => return None,
        };
        Some(name.to_owned())
    }
}

/// Where it is done.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) context: Arc<ChatContext>,
    pub(super) files: Arc<Files>,
    pub(super) session: Option<SessionId>,
    /// The directory of the conversation, or of the one that would begin.
    pub(super) cwd: String,
    pub(super) chosen: Chosen,
    /// The last reported event at the time of the wish.
    pub(super) reported: ReportedState,
    /// The conversation on the screen at the time of the wish.
    pub(super) epoch: u64,
    pub(super) look_again: Arc<Notify>,
    pub(super) login: Arc<LoginSlot>,
}

/// Result of an errand.
#[derive(Debug)]
pub(super) enum Done {
    /// It is reported unchanged.
    News(News),
    /// It is about the conversation that was on the screen when it was asked for.
    About { news: News, of: Option<SessionId>, epoch: u64 },
    /// A turn was written down.
    Started { started: SessionStarted, epoch: u64 },
    /// It was not; the exit code says why.
    NotStarted { news: News, exit: u8, epoch: u64 },
    /// The stop of this turn was confirmed.
    Stopping { turn: i64, epoch: u64 },
    /// Open this conversation.
    Open(Box<SessionInfo>),
    /// This was chosen for the turns to come.
    Chosen(Chosen, String),
    /// The result of a choice was reported.
    ChoiceMade(Choice),
    /// A request from another conversation, and the text that shows all of it.
    Shown(Box<RequestInfo>, StyledText),
    /// A command of the person printed something, or is over.
    Shell { number: u64, news: News },
    /// It is time to follow the conversation again.
    FollowAgain { epoch: u64 },
    /// How the engine was when it was looked for.
    EngineSeen(Seen),
    /// An errand is over; always its last.
    Over(u64),
}

/// Result of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Later input has the intended target.
    Made,
    /// Everything is as it was.
    Refused,
}

/// How the engine was when it was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    There,
    /// It did not answer, and is called again.
    Away,
    /// A person stopped it: it stays down until the next request.
    Stopped,
}

/// Runs one errand to its end. The result has no receiver once the person has left.
pub(super) async fn run(errand: Errand, number: u64, place: Place, teller: mpsc::Sender<Done>) {
    let is_choice = matches!(&errand, Errand::Command(command) if is_choice(command));
    let mut choice = Choice::Refused;
    if let Errand::Shell(command) = &errand {
        shell::run(command, number, &place, &teller).await;
    } else if let Errand::Command(SlashCommand::Login(word)) = &errand {
        for done in login::run(word.as_deref(), &place, &teller).await {
            let _ = teller.send(done).await;
        }
    } else {
        for done in carry_out(errand, &place).await {
            let is_asked = matches!(&done, Done::News(News::PermissionsAsked { .. }));
            if is_asked || matches!(done, Done::Open(_) | Done::Chosen(..)) {
                choice = Choice::Made;
            }
            let _ = teller.send(done).await;
        }
    }
    if is_choice {
        let _ = teller.send(Done::ChoiceMade(choice)).await;
    }
    let _ = teller.send(Done::Over(number)).await;
}

/// Does the command choose where the next words go, or what answers them?
pub(super) fn is_choice(command: &SlashCommand) -> bool {
    match command {
        SlashCommand::Model(words) => !words.is_empty(),
        SlashCommand::Reasoning(effort) => effort.is_some(),
        SlashCommand::Permissions(words) => !words.is_empty(),
        command => opens(command),
    }
}

/// Whether the command opens another conversation.
pub(super) fn opens(command: &SlashCommand) -> bool {
    matches!(command, SlashCommand::New | SlashCommand::Resume(Some(_)) | SlashCommand::Fork(_))
        || opens_task(command)
}

/// Is it `/task watch` with the name of a task?
fn opens_task(command: &SlashCommand) -> bool {
    let SlashCommand::Task(typed) = command else { return false };
    let mut words = typed.split_whitespace();
    words.next() == Some("watch") && words.any(|word| !word.starts_with('-'))
}

async fn carry_out(errand: Errand, place: &Place) -> Vec<Done> {
    let one = |news| vec![Done::News(news)];
    match errand {
        Errand::Send(prompt) => vec![sending::send(prompt, place).await],
        Errand::Say(prompt, when) => sending::say(prompt, when, place).await.into_iter().collect(),
        Errand::Interrupt { turn } => match interrupt(place).await {
            Ok(()) => vec![Done::Stopping { turn, epoch: place.epoch }],
            Err(trouble) => one(words::refused(&trouble)),
        },
        Errand::Answer { ticket, answer, digest } => {
            let answered = reply(place, &ticket, answer, digest).await;
            place.look_again.notify_one();
            match answered {
                Ok(()) => one(News::Answered { ticket }),
                Err(error) => {
                    let what = match error {
                        ClientError::Broken(_) => "it is not known whether your answer was received",
                        _ => "your answer was not accepted",
                    };
                    let what = words::of(&refused(what, &error));
                    one(News::Refused { what, prompt: None, ticket: Some(ticket) })
                }
            }
        }
        Errand::Accept { request, decision } => match commands::accept(&request, decision, place).await {
            Ok(done) => done,
            Err(trouble) => one(words::refused(&trouble)),
        },
        Errand::Older { before } => {
            let Some(session) = place.session.clone() else { return Vec::new() };
            let events = older(&session, before, place).await;
            one(News::Older { session, before, events })
        }
        Errand::Files(letters) => {
            let paths = place.files.fitting(&place.cwd, &letters, FILES).await;
            one(News::Files { letters, paths })
        }
        Errand::Names => names(place).await.map_or_else(Vec::new, one),
        Errand::Image(pasted) => {
            // Its name is that of an image; whether it exists is unknown.
            let path = input::image_path(&typed_path(pasted.trim(), &place.cwd)).ok();
            one(News::Image { path, pasted })
        }
        Errand::Clipboard => {
            let content = clipboard::read(place.context.settings.home.root()).await;
            one(News::Clipboard(content))
        }
        Errand::Command(command) => {
            let is_about = is_about_conversation(&command);
            let done = match commands::run(command, place).await {
                Ok(done) => done,
                Err(trouble) => one(words::refused(&trouble)),
            };
            if is_about { done.into_iter().map(|done| about(done, place)).collect() } else { done }
        }
        Errand::Shell(_) => Vec::new(),
    }
}

/// Is what the command says about the conversation on the screen?
fn is_about_conversation(command: &SlashCommand) -> bool {
    matches!(
        command,
        SlashCommand::Usage
            | SlashCommand::Context
            | SlashCommand::Memory(_)
            | SlashCommand::Status
            | SlashCommand::Export(_)
            | SlashCommand::Rename(_)
            | SlashCommand::Compact
            | SlashCommand::Undo
            | SlashCommand::Retry
    )
}

/// A chat that has opened another conversation meanwhile must not take it for that one's.
fn about(done: Done, place: &Place) -> Done {
    match done {
        Done::News(news) => Done::About { news, of: place.session.clone(), epoch: place.epoch },
        done => done,
    }
}

/// Asks the running turn to stop.
async fn interrupt(place: &Place) -> Result<(), Trouble> {
    let Some(session) = &place.session else {
        return Err(Trouble::new(exit::USAGE, "no turn is running here"));
    };
    let client = &place.context.client;
    let asked = retry(|| client.interrupt(session.as_str(), Interrupt { by: Who::User }));
    asked.await.map_err(|error| match error {
        ClientError::Problem(problem) if problem.code == ProblemCode::Conflict => {
            Trouble::new(exit::USAGE, "no turn is running here")
        }
        error => not_done("the turn was not stopped", &error, "`talaria status` shows what is running"),
    })
}

/// Sends an answer to the engine.
pub(super) async fn reply(
    place: &Place,
    ticket: &TicketId,
    answer: Answer,
    digest: Option<String>,
) -> Result<(), ClientError> {
    let client = &place.context.client;
    let answer = AnswerRequest { answer: answer.revealed(), by: Who::User, digest };
    let was_broken = AtomicBool::new(false);
    let told = retry(|| async {
        let told = client.answer(ticket.as_str(), &answer).await;
        if matches!(told, Err(ClientError::Broken(_))) {
            was_broken.store(true, Ordering::Relaxed);
        }
        told
    });
    match told.await {
        // Said twice, because it was not known whether the first time arrived: it did.
        Err(ClientError::Problem(problem))
            if problem.code == ProblemCode::Conflict
                && was_broken.load(Ordering::Relaxed)
                && client.request(ticket.as_str()).await.is_ok_and(|request| is_ours(&request)) =>
        {
            Ok(())
        }
        told => told.map(drop),
    }
}

/// Was it answered from here?
fn is_ours(request: &RequestInfo) -> bool {
    // The engine writes down which process answered.
    let own = format!("process {})", std::process::id());
    request.answered_by.as_ref().is_some_and(|by| by.ends_with(&own))
}

/// Completion candidates, newest first; none if they cannot be fetched.
async fn names(place: &Place) -> Option<News> {
    let client = &place.context.onlooker;
    let query = SessionQuery { limit: NAMES, ..SessionQuery::default() };
    let sessions = client.sessions(&query).await.ok()?;
    let tasks = client.tasks(&TaskQuery { limit: NAMES, ..TaskQuery::default() }).await.ok()?;
    Some(News::Names { sessions, tasks })
}

/// The page of events before this number, if it can be read.
async fn older(session: &SessionId, before: i64, place: &Place) -> Option<Vec<Numbered>> {
    let after = before.saturating_sub(PAGE + 1).max(0);
    let limit = usize::try_from(before - after - 1).unwrap_or(0);
    if limit == 0 {
        return Some(Vec::new());
    }
    let mut events = place.context.onlooker.events(session.as_str(), after, limit).await.ok()?;
    events.retain(|event| event.seq < before);
    Some(events)
}

/// Finds out what a conversation here would begin with, and what is missing for that.
pub(super) async fn look_around(place: Place, teller: mpsc::Sender<Done>) {
    let context = &place.context;
    let mut told = Vec::new();
    let (runtime, provider) = match &place.session {
        None => (Some(context.new_runtime(&place.chosen).await), context.new_provider(&place.chosen)),
        Some(id) => match context.onlooker.session(id.as_str()).await {
            Ok(detail) => (Runtime::named(&detail.info.runtime), detail.info.provider),
            Err(_) => (None, None),
        },
    };
    if runtime == Some(Runtime::OwnLoop) {
        for news in loop_offers::look(context, provider, &place.chosen) {
            let _ = teller.send(Done::News(news)).await;
        }
        return;
    }
    match context.offers(&place.cwd).await {
        Ok(offers) => {
            let needs_login = offers.account.needed;
            told.push(News::Offers(Box::new(offers)));
            if needs_login {
                let remedy = "/login, or `talaria login` in a shell".to_owned();
                told.push(News::Missing { what: "not logged in to Codex".to_owned(), remedy });
            }
        }
        Err(trouble) => {
            let (what, remedy) = (trouble.summary(), trouble.hint_in_chat());
            told.push(News::Missing { what, remedy });
        }
    }
    for news in told {
        let _ = teller.send(Done::News(news)).await;
    }
}
