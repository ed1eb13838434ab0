//! Opens the conversation of a session on a host: a new one, one that a host of an earlier engine still has loaded, or
//! one that has to be taken up again on another host. And gathers what is known of a turn that was in flight.

use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::settle::Vantage;
use talaria_codex_proto::turn::{Asked, Flight, RecordedRequest, Standing};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_codex_proto::wire::history::History;
use talaria_core::event::{Event, Started, Usage};
use talaria_core::ids::{RequestId, SessionId, TicketId};
use talaria_core::outcome::{FailureCode, Report};
use talaria_core::request::{Answer, Who};
use talaria_core::transcript::Message;
use talaria_store::{RequestFilter, RequestRow, RequestState, StoreError, TurnRow};

use crate::engine::Inner;
use crate::engine::journal::Shelf;
use crate::engine::journal::rows;
use crate::engine::run::actor::failed;
use crate::engine::run::servers::Ears;
use crate::engine::run::settings::{Settings, Wanted};
use talaria_codex::attach::AttachThreadError;
use talaria_codex::client::{CallError, pause};
use talaria_codex::conversation::{Flown, Options, Past, Reading, Session};
use talaria_codex::current::CurrentHost;
use talaria_codex::host::{Host, HostError, HostSpec};
use talaria_codex::revival::{self, Revival, RevivalError};
use talaria_codex::spec::Surroundings;
use talaria_codex::threads::{OpenThread, ThreadError};
use talaria_codex::users_servers;

/// How many messages a conversation that has to begin anew is told about at most.
const REMEMBERED: u32 = 400;
/// How often a thread is asked for that its host does not have: the input may be on its way.
const ASKS: u32 = 3;

/// How long is waited before a Codex is ended that did not take up its conversation.
const MOMENT: Duration = Duration::from_millis(250);

/// How a conversation was opened.
#[derive(Default)]
pub(crate) struct Opened {
    /// What a person should know about it.
    pub(crate) notice: Option<String>,
    /// What a person should know about its MCP servers.
    pub(crate) warnings: Vec<String>,
    /// Why the Codex that had a turn in flight is gone, if it is.
    pub(crate) gone: Option<String>,
    /// What the thread said when it was taken up.
    pub(crate) reading: Option<Reading>,
}

/// What a conversation is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To send a turn.
    Send,
    /// To find out what became of one.
    TakeUp,
}

/// Opens the conversation of a session.
pub(crate) async fn open(
    engine: &Arc<Inner>,
    row: &talaria_store::SessionRow,
    settings: &Settings,
    options: Options,
    surroundings: Surroundings,
    purpose: Purpose,
) -> Result<(Session, Opened), Box<Report>> {
    let mut spec = settings
        .spec(&engine.home, surroundings)
        .map_err(|problem| Box::new(failed(FailureCode::Other, problem.message)))?;
    let wanted: Option<Wanted> = row.asked.as_deref().and_then(|json| serde_json::from_str(json).ok());
    let mut asked = wanted
        .ok_or_else(|| {
            Box::new(failed(FailureCode::NotSent, "what was asked of the session cannot be read"))
        })?
        .thread();
    if let Some(model) = settings.model() {
        asked.model = Some(model.to_owned());
    }
    let brought = engine.servers.read(&engine.home, Ears::of(&spec));
    if !brought.config.is_empty() {
        asked.config.insert(users_servers::KEY.to_owned(), brought.config.into());
    }
    spec.referred = brought.variables;
    asked.hide_home = engine.hide_home();
    let started: Option<Started> = row.started.as_deref().and_then(|json| serde_json::from_str(json).ok());
    let opening = Opening { engine, row, spec, asked, options, purpose };
    let (session, mut opened) = match started {
        // A thread on which no turn was accepted may have vanished with its host.
        Some(before) => opening.take_up(before).await?,
        None => opening.start().await?,
    };
    opened.warnings.splice(..0, brought.warnings);
    Ok((session, opened))
}

struct Opening<'a> {
    engine: &'a Arc<Inner>,
    row: &'a talaria_store::SessionRow,
    spec: HostSpec,
    asked: ThreadStart,
    options: Options,
    purpose: Purpose,
}

impl Opening<'_> {
    async fn start(self) -> Result<(Session, Opened), Box<Report>> {
        let host = self.engine.hosts.get(&self.spec).await.map_err(|error| Box::new(no_host(&error)))?;
        check_login(&host).await?;
        let thread = host.start_thread(&self.asked).await.map_err(|error| Box::new(no_thread(&error)))?;
        let warnings = thread.warnings.clone();
        let session = self.session(host, thread, Past::default());
        Ok((session, Opened { warnings, ..Opened::default() }))
    }

    /// Takes up a conversation that an engine had open.
    async fn take_up(self, before: Started) -> Result<(Session, Opened), Box<Report>> {
        let known = self.row.host.as_deref().and_then(|nonce| self.engine.hosts.named(nonce));
        if let Some(host) = known.filter(|host| host.is_alive()) {
            match self.attach(&host, &before).await {
                Ok(Some((thread, reading))) => {
                    let warnings = thread.warnings.clone();
                    let past = self.past().await;
                    let session = self.session(host, thread, past);
                    let reading = reading
                        .map(|history| Reading { history: Ok(history), vantage: Vantage::Reconnected });
                    return Ok((session, Opened { reading, warnings, ..Opened::default() }));
                }
                Ok(None) => {}
                // Nothing was ever accepted there, and there is nothing to be resumed.
                Err(error) if self.row.thread.is_none() && self.is_over(&error) => {
                    return self.start().await;
                }
                Err(error) => {
                    // An engine that is being shut down loses its connections first. It must not end Codex, which waits
                    // for the next engine, and a moment later it is gone itself.
                    tokio::time::sleep(MOMENT).await;
                    tracing::warn!("session {}: its host does not take it up: {error}", self.row.id);
                    // Codex lets nobody else write to the conversation while a process holds it.
                    if host.has_other_turns(&before.thread) {
                        host.drain("it did not take up a conversation");
                    } else {
                        host.terminate("Codex did not take up a conversation any more").await;
                    }
                }
            }
        } else if self.row.thread.is_none() && self.purpose == Purpose::Send {
            return self.start().await;
        }
        // Whoever died before it could say that Codex took the input may have left a whole turn there.
        self.revive(&before).await
    }

    /// Does it follow that the thread has nothing that is worth looking for? A Codex that died meanwhile says nothing.
    fn is_over(&self, error: &ThreadError) -> bool {
        self.purpose == Purpose::Send || matches!(error, ThreadError::Call(CallError::Refused { .. }))
    }

    /// Takes up a thread on the host that has it; without a change if it is loaded there. None if it is not, and its MCP
    /// servers need another host: one with the variables that they refer to.
    async fn attach(
        &self,
        host: &Arc<Host>,
        before: &Started,
    ) -> Result<Option<(OpenThread, Option<History>)>, ThreadError> {
        let mut asks = 1;
        let thread = &before.thread;
        loop {
            let taken = match host.attach_thread(thread).await {
                Ok(mut attached) => {
                    attached.thread.warnings.extend(host.shown_files(&attached.thread.standing, &self.asked));
                    Ok(Some((attached.thread, Some(attached.history.resumed_warm()))))
                }
                Err(AttachThreadError::NotLoaded) if self.needs_another(host) => Ok(None),
                Err(AttachThreadError::NotLoaded) => host
                    .resume_thread(thread, &self.asked_again(before))
                    .await
                    .map(|thread| Some((thread, None))),
                Err(AttachThreadError::Call(error)) => Err(error.into()),
            };
            match taken {
                Err(ThreadError::Call(CallError::Refused { .. })) if asks < ASKS => {
                    tokio::time::sleep(pause(asks)).await;
                    asks += 1;
                }
                taken => return taken,
            }
        }
    }

    /// Codex forgets the effort of a conversation that is resumed with a model (0.130 and 0.166).
    fn asked_again(&self, before: &Started) -> ThreadStart {
        let mut asked = self.asked.clone();
        if let (Some(_), None, Some(effort)) = (&asked.model, asked.effort(), &before.effort) {
            asked.set_effort(effort.clone());
        }
        asked
    }

    fn needs_another(&self, host: &Arc<Host>) -> bool {
        let can_move = self.purpose == Purpose::Send && self.row.thread.is_some();
        can_move && !self.spec.referred.is_empty() && !self.engine.hosts.is_fit(host, &self.spec)
    }

    async fn revive(self, before: &Started) -> Result<(Session, Opened), Box<Report>> {
        let past = self.past().await;
        let digest = past.digest();
        let source = self.engine.hosts.source(self.spec.clone());
        let revived = revival::revive(&*source, &self.asked, before, &digest).await;
        let revived = revived.map_err(|error| Box::new(not_revived(&error)))?;
        let (past, notice) = match &revived.how {
            Revival::Resumed => (past, None),
            // A fresh thread has no turns and has spent nothing.
            Revival::Seeded { .. } => (past.on_a_new_thread(), Some(revived.how.to_string())),
        };
        let reading = match self.purpose {
            Purpose::Send => None,
            Purpose::TakeUp => {
                let history = match &revived.how {
                    Revival::Resumed => {
                        let read = revived.host.read_thread(&before.thread).await;
                        read.map_err(|error| error.to_string())
                    }
                    // Another thread says nothing about what the first one took.
                    Revival::Seeded { why, .. } => Err(format!("the conversation cannot be read: {why}")),
                };
                Some(Reading { history, vantage: Vantage::AfterItsEnd })
            }
        };
        let is_stopped = self.row.host.as_ref().is_some_and(|host| self.engine.stopped_hosts.contains(host));
        let gone = match is_stopped {
            true => "`talaria stop` ended Codex while the turn ran and no engine lived",
            false => "Codex ended while the turn ran",
        };
        let gone = Some(gone.to_owned());
        let warnings = revived.thread.warnings.clone();
        let session = self.session(revived.host, revived.thread, past);
        Ok((session, Opened { notice, warnings, gone, reading }))
    }

    fn session(&self, host: Arc<Host>, thread: OpenThread, past: Past) -> Session {
        let current = CurrentHost::new(host, self.engine.hosts.source(self.spec.clone()));
        Session::with(self.row.id.clone(), current, self.asked.clone(), self.options.clone(), thread, past)
    }

    /// What is known of the conversation from before.
    async fn past(&self) -> Past {
        let store = &self.engine.shelf.store;
        let turns = store.last_turns(&self.row.id, None, u32::MAX).await.unwrap_or_default();
        let settled = turns.iter().filter(|turn| turn.settled_at.is_some());
        let last_turn = settled.clone().filter_map(|turn| turn.codex_turn.clone()).next_back();
        let usage = |turn: &TurnRow| serde_json::from_str::<Usage>(turn.usage.as_deref()?).ok();
        let total = settled.filter_map(usage).fold(Usage::default(), Usage::plus);
        let messages = messages(&self.engine.shelf, &self.row.id).await;
        Past { last_turn, total, messages }
    }
}

/// What was said and done in a session, the newest part of it.
pub(crate) async fn messages(shelf: &Shelf, session: &SessionId) -> Vec<Message> {
    let kept = shelf.store.last_messages(session, REMEMBERED).await.unwrap_or_default();
    kept.iter().filter_map(|message| serde_json::from_str(&message.json).ok()).collect()
}

/// Codex would find out only after minutes of retries that nobody is logged in.
async fn check_login(host: &Host) -> Result<(), Box<Report>> {
    let account = host.account().await.map_err(|error| {
        Box::new(failed(FailureCode::NotSent, format!("cannot ask Codex who is logged in: {error}")))
    })?;
    if account.requires_openai_auth && account.account.is_none() {
        let why =
            "Codex is not logged in: the configured model provider needs an OpenAI login, and there is none";
        return Err(Box::new(failed(FailureCode::Auth, why)));
    }
    Ok(())
}

fn no_host(error: &HostError) -> Report {
    let mut report =
        failed(FailureCode::NotSent, format!("cannot start Codex: {error}")).with_hint(error.next_step());
    if matches!(error, HostError::Spawn { .. }) {
        report.exit = 6;
    }
    report
}

fn no_thread(error: &ThreadError) -> Report {
    failed(FailureCode::NotSent, format!("Codex did not start the conversation: {error}"))
        .with_hint(error.next_step())
}

fn not_revived(error: &RevivalError) -> Report {
    failed(FailureCode::NotSent, error.to_string()).with_hint(error.next_step())
}

/// Gathers what is known of a turn that was in flight; and names the requests whose answer was secret and is forgotten.
pub(crate) async fn flight(
    shelf: &Shelf,
    turn: &TurnRow,
    row: &talaria_store::SessionRow,
    opened: &mut Opened,
) -> Result<(Flown, Vec<TicketId>), StoreError> {
    let kept = shelf.store.all_events_of_turn(&row.id, turn.ordinal).await?;
    let since = kept.last().and_then(|event| u64::try_from(event.at).ok());
    let events: Vec<Event> = kept.iter().filter_map(|event| serde_json::from_str(&event.json).ok()).collect();
    let mut flight = Flight::replay(&events);
    flight.stage = turn.stage;
    flight.turn = flight.turn.or_else(|| turn.codex_turn.clone());
    (flight.since, flight.gone) = (since, opened.gone.take());
    flight.used = Duration::from_millis(used(turn, since));
    let filter = RequestFilter {
        session: Some(row.id.clone()),
        states: Some(vec![RequestState::Open, RequestState::Answered, RequestState::Delivering]),
    };
    let requests = shelf.store.requests(&filter).await?;
    let closed = |request: &RequestRow| {
        events.iter().any(|event| matches!(event, Event::RequestClosed { id, .. } if *id == request.id))
    };
    flight.requests = requests
        .iter()
        .filter(|request| request.turn == Some(turn.ordinal))
        .filter_map(|request| recorded(shelf, request, closed(request)))
        .collect();
    let is_forgotten = |record: &&RecordedRequest| {
        let was_answered =
            |request: &RequestRow| request.id == record.ticket && request.state == RequestState::Answered;
        matches!(record.standing, Standing::Open) && requests.iter().any(was_answered)
    };
    let forgotten = flight.requests.iter().filter(is_forgotten).map(|record| record.ticket.clone()).collect();
    Ok((Flown { flight, events, reading: opened.reading.take() }, forgotten))
}

/// How much of a turn's limit was used up, as far as is known: until the last thing that was written down.
fn used(turn: &TurnRow, since: Option<u64>) -> u64 {
    let sent = turn.sent_at.and_then(|at| u64::try_from(at).ok());
    sent.zip(since).map_or(0, |(sent, since)| since.saturating_sub(sent))
}

fn recorded(shelf: &Shelf, request: &RequestRow, is_closed: bool) -> Option<RecordedRequest> {
    let id: RequestId = serde_json::from_str(&request.peer.rpc_id).ok()?;
    let answer = || -> Option<Answer> {
        let sealed = request.answer_sealed.as_deref()?;
        serde_json::from_str(&shelf.seal.reveal(sealed)?).ok()
    };
    let by = who(request);
    let standing = match request.state {
        RequestState::Answered => match answer() {
            Some(answer) => Standing::Answered { answer, by },
            // It was secret, and is not known any more.
            None => Standing::Open,
        },
        RequestState::Delivering => Standing::Delivering { answer: answer(), by },
        _ => Standing::Open,
    };
    Some(RecordedRequest {
        ticket: request.id.clone(),
        asked: Asked {
            id,
            method: request.peer.method.clone(),
            thread: Some(request.peer.thread.clone()).filter(|thread| !thread.as_str().is_empty()),
            turn: None,
            item: request.peer.item.clone(),
        },
        ask: serde_json::from_str(&request.ask).ok()?,
        binding: request.binding.as_deref().and_then(|binding| serde_json::from_str(binding).ok()),
        standing,
        is_closed,
    })
}

/// Who answered a request.
pub(crate) fn who(request: &RequestRow) -> Who {
    let by = request.answered_by.as_deref().unwrap_or_default();
    // Behind the word may stand from where.
    rows::value(by.split_whitespace().next().unwrap_or_default()).unwrap_or(Who::User)
}
