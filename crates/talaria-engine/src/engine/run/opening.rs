//! Opening a conversation, for every runtime: its purpose, how it was opened, and the facts about a turn that was in flight.

use std::time::Duration;

use talaria_codex::conversation::{Flown, Reading};
use talaria_codex_proto::turn::{AnswerStage, Flight, RecordedRequest};
use talaria_core::event::{Event, Stage, Usage};
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::{Answer, Who};
use talaria_core::tool::OfferedTool;
use talaria_core::transcript::Message;
use talaria_store::{MessageRow, RequestFilter, RequestRow, RequestState, StoreError, TurnRow};

use crate::engine::journal::EngineServices;
use crate::engine::journal::asker::Asker;
use crate::engine::journal::rows;

/// How many messages a conversation that has to start again gets at most.
const REMEMBERED: u32 = 400;

/// How a conversation was opened.
#[derive(Default)]
pub(crate) struct Opened {
    /// Notes for the user.
    pub(crate) notice: Option<String>,
    /// Notes for the user about its MCP servers.
    pub(crate) warnings: Vec<String>,
    /// Why the Codex that had a turn in flight is gone, if it is.
    pub(crate) gone: Option<String>,
    /// Response of the thread when it was resumed.
    pub(crate) reading: Option<Reading>,
    /// Which tools the thread has, if it was just started.
    pub(crate) contract: Option<i64>,
    /// The tools that a thread of this conversation is started with.
    pub(crate) offered: Vec<OfferedTool>,
}

/// Purpose of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To send a turn.
    Send,
    /// To find out what became of one.
    TakeUp,
}

/// The report of a turn that cannot be run.
pub(crate) fn failed(code: FailureCode, message: impl Into<String>) -> Report {
    Report::new(Outcome::Failed { code, message: message.into() }, None, Usage::default(), 0)
}

/// The newest part of a session's transcript.
pub(crate) async fn messages(shelf: &EngineServices, session: &SessionId) -> Vec<Message> {
    let kept = said(shelf, session).await.unwrap_or_default();
    kept.iter().filter_map(|message| serde_json::from_str(&message.json).ok()).collect()
}

/// The newest messages, without those of undone turns.
async fn said(shelf: &EngineServices, session: &SessionId) -> Result<Vec<MessageRow>, StoreError> {
    let undone = shelf.store.undone_turns(session).await?;
    let mut kept = shelf.store.last_messages(session, REMEMBERED).await?;
    kept.retain(|message| message.turn.is_none_or(|turn| !undone.contains(&turn)));
    Ok(kept)
}

/// The same after a turn, without the turn that is next: a thread that starts for it gets the rest as its past.
pub(crate) async fn earlier_messages(
    shelf: &EngineServices,
    session: &SessionId,
    after: i64,
) -> Result<Vec<Message>, StoreError> {
    let next = shelf.store.next_unsettled(session).await?.map(|turn| turn.ordinal);
    let kept = said(shelf, session).await?;
    let earlier = kept.iter().filter(|message| next.is_none() || message.turn != next);
    let earlier = earlier.filter(|message| message.turn.is_none_or(|turn| turn > after));
    Ok(earlier.filter_map(|message| serde_json::from_str(&message.json).ok()).collect())
}

/// Gathers what is known of a turn that was in flight; and names the requests whose answer was secret and is forgotten.
pub(crate) async fn flight(
    shelf: &EngineServices,
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
    let times = kept.iter().filter_map(|event| {
        let happened = serde_json::from_str::<Event>(&event.json).ok()?;
        Some((u64::try_from(event.at).ok()?, happened))
    });
    flight.used = Duration::from_millis(used(turn, times));
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
        matches!(record.standing, AnswerStage::Open) && requests.iter().any(was_answered)
    };
    let forgotten = flight.requests.iter().filter(is_forgotten).map(|record| record.ticket.clone()).collect();
    Ok((Flown { flight, events, reading: opened.reading.take() }, forgotten))
}

/// How much of a turn's limit was used up, as far as is known: from when it was sent until the last thing that was recorded,
/// without the time in which a person was asked.
fn used(turn: &TurnRow, events: impl IntoIterator<Item = (u64, Event)>) -> u64 {
    let mut begun = turn.sent_at.and_then(|at| u64::try_from(at).ok());
    let (mut used, mut open) = (0, Vec::new());
    for (at, event) in events {
        if let Event::Ledger { stage: Stage::Accepted, .. } = &event {
            begun = begun.or(Some(at));
        }
        if let Some(before) = begun {
            if open.is_empty() {
                used += at.saturating_sub(before);
            }
            begun = Some(at.max(before));
        }
        match event {
            Event::RequestOpened { id, .. } => open.push(id),
            Event::RequestClosed { id, .. } => open.retain(|one| *one != id),
            _ => {}
        }
    }
    used
}

fn recorded(shelf: &EngineServices, request: &RequestRow, is_closed: bool) -> Option<RecordedRequest> {
    let Some(Asker::Codex(asked)) = Asker::of(&request.origin) else { return None };
    let answer = || -> Option<Answer> {
        let sealed = request.answer_sealed.as_deref()?;
        serde_json::from_str(&shelf.seal.reveal(sealed)?).ok()
    };
    let by = who(request);
    let standing = match request.state {
        RequestState::Answered => match answer() {
            Some(answer) => AnswerStage::Answered { answer, by },
            // It was secret, and is not known any more.
            None => AnswerStage::Open,
        },
        RequestState::Delivering => AnswerStage::Delivering { answer: answer(), by },
        _ => AnswerStage::Open,
    };
    Some(RecordedRequest {
        ticket: request.id.clone(),
        asked,
        ask: serde_json::from_str(&request.ask).ok()?,
        binding: request.binding.as_deref().and_then(|binding| serde_json::from_str(binding).ok()),
        standing,
        is_closed,
    })
}

/// Who answered a request.
pub(crate) fn who(request: &RequestRow) -> Who {
    let by = request.answered_by.as_deref().unwrap_or_default();
    // After the word, the text may say from where.
    rows::value(by.split_whitespace().next().unwrap_or_default()).unwrap_or(Who::User)
}
