//! The stored rows, as the API returns them. Pure.

use jiff::Timestamp;
use talaria_core::access::PeerEvidence;
use talaria_core::api::RequestState as Told;
use talaria_core::api::{
    AuditEntry, Kind, Problem, ProblemCode, RequestInfo, ReviewInfo, RunningTurn, SessionInfo, SessionOrigin,
    TurnInfo, UsageBy, UsageSum,
};
use talaria_core::escrow::Binding;
use talaria_core::event::{Event, Started};
use talaria_core::ids::{ItemId, TicketId, short_id};
use talaria_core::item::{ItemBody, Status};
use talaria_core::outcome::Report;
use talaria_core::request::{Ask, Decision, Who};
use talaria_guard::shorten::shorten_line;
use talaria_store::{
    AuditOutcome, AuditRow, OriginRow, RequestRow, RequestState, ReviewRow, SessionCandidate, SessionKind,
    SessionRow, SessionState, StoreError, TurnRow, UsageSumRow,
};

use crate::engine::journal::rows;
use crate::engine::run::settings::Settings;
use crate::engine::seal::Seal;

pub(crate) fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or_default()
}

pub(crate) fn kind(kind: SessionKind) -> Kind {
    match kind {
        SessionKind::Chat => Kind::Chat,
        SessionKind::Exec => Kind::Exec,
        SessionKind::Task => Kind::Task,
    }
}

pub(crate) fn kept_kind(kind: Kind) -> SessionKind {
    match kind {
        Kind::Chat => SessionKind::Chat,
        Kind::Exec => SessionKind::Exec,
        Kind::Task => SessionKind::Task,
    }
}

pub(crate) fn session(session: &SessionRow) -> SessionInfo {
    SessionInfo {
        id: session.id.clone(),
        title: session.title.clone().unwrap_or_default(),
        runtime: session.runtime.clone(),
        updated_at: time(session.updated_at),
        running: session.state == SessionState::Running,
        // Only the queue knows.
        queued: false,
        kind: kind(session.kind),
        task: session.alias.clone(),
        cwd: session.cwd.clone(),
        provider: provider_of(session),
        model: session.model.clone(),
        created_at: time(session.created_at),
        last_seq: session.last_seq,
    }
}

/// The model provider: the one that was chosen last, or the one that the first turn reported.
fn provider_of(session: &SessionRow) -> Option<String> {
    let chosen = Settings::of_row(session).and_then(|settings| settings.provider().map(str::to_owned));
    let reported = || {
        let started: Started = serde_json::from_str(session.started.as_deref()?).ok()?;
        Some(started.provider).filter(|provider| !provider.is_empty())
    };
    chosen.or_else(reported)
}

pub(crate) fn origin(origin: OriginRow) -> SessionOrigin {
    let OriginRow { program, name, parent, parent_session } = origin;
    SessionOrigin { program, name, parent, parent_session }
}

pub(crate) fn report(turn: &TurnRow) -> Option<Report> {
    serde_json::from_str(turn.outcome.as_deref()?).ok()
}

pub(crate) fn turn(turn: &TurnRow) -> TurnInfo {
    TurnInfo {
        turn: turn.ordinal,
        stage: turn.stage,
        outcome: report(turn),
        prompt: turn.input_text.clone(),
        created_at: time(turn.created_at),
        sent_at: turn.sent_at.map(time),
        settled_at: turn.settled_at.map(time),
        usage: turn.usage.as_deref().and_then(|usage| serde_json::from_str(usage).ok()),
        undone_at: turn.undone_at.map(time),
    }
}

pub(crate) fn review(review: &ReviewRow) -> ReviewInfo {
    ReviewInfo {
        first_turn: review.first_turn,
        last_turn: review.last_turn,
        state: review.state,
        attempts: review.attempts,
        due_at: time(review.due_at),
        ended_at: review.ended_at.map(time),
        usage: review.usage.as_deref().and_then(|usage| serde_json::from_str(usage).ok()),
        report: review.report.as_deref().and_then(|report| serde_json::from_str(report).ok()),
    }
}

pub(crate) fn running(session: &SessionRow, turn: &TurnRow, host: Option<i32>) -> RunningTurn {
    RunningTurn {
        session: session.id.clone(),
        task: session.alias.clone(),
        turn: turn.ordinal,
        stage: turn.stage,
        title: session.title.clone().unwrap_or_default(),
        since: time(turn.sent_at.unwrap_or(turn.created_at)),
        host,
        // Only the turn itself knows.
        waits_for: None,
    }
}

fn request_state(state: RequestState) -> Told {
    match state {
        RequestState::Open => Told::Open,
        RequestState::Answered => Told::Answered,
        RequestState::Delivering => Told::Delivering,
        RequestState::Delivered => Told::Delivered,
        RequestState::Void => Told::Void,
        RequestState::Escrowed => Told::Escrowed,
        RequestState::Undelivered => Told::Undelivered,
        RequestState::Expired => Told::Expired,
    }
}

/// A digest of what a request asks, shown with it; `None` if what a yes would mean is not known.
pub(crate) fn digest(request: &RequestRow, seal: &Seal) -> Option<String> {
    let binding: Binding = serde_json::from_str(request.binding.as_deref()?).ok()?;
    Some(seal.mark(&binding.subject))
}

/// A row of the audit log.
pub(crate) fn audit(row: AuditRow) -> AuditEntry {
    let AuditRow { id, entry } = row;
    AuditEntry {
        id,
        at: time(entry.at),
        action: entry.action,
        refused: entry.outcome == AuditOutcome::Refused,
        principal: entry.principal,
        established: entry.established,
        peer: PeerEvidence { pid: entry.pid, terminal: entry.terminal, program: entry.program },
        session: entry.session,
        request: entry.request,
        digest: entry.digest,
        decision: entry.decision,
        reason: entry.reason,
    }
}

/// A day, in milliseconds.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// Costs that were added up.
pub(crate) fn usage(by: UsageBy, row: UsageSumRow, title: Option<String>) -> UsageSum {
    let day =
        |days: &str| days.parse::<i64>().ok().map(|days| time(days * DAY_MS).strftime("%F").to_string());
    UsageSum {
        key: match by {
            UsageBy::Day => row.key.as_deref().and_then(day),
            UsageBy::Model | UsageBy::Session => row.key,
        },
        title,
        requests: u64::try_from(row.requests).unwrap_or_default(),
        unreported: u64::try_from(row.unreported).unwrap_or_default(),
        estimated: u64::try_from(row.estimated).unwrap_or_default(),
        asked: row.asked,
        amount: row.amount,
        unpriced: u64::try_from(row.unpriced).unwrap_or_default(),
        usage: row.usage,
        last_at: time(row.last_at),
    }
}

/// A request of this conversation.
pub(crate) fn request(request: &RequestRow, session: Option<&SessionRow>, seal: &Seal) -> RequestInfo {
    let ask: Option<Ask> = serde_json::from_str(&request.ask).ok();
    RequestInfo {
        id: request.id.clone(),
        session: request.session.clone(),
        task: session.and_then(|session| session.alias.clone()),
        title: session.and_then(|session| session.title.clone()),
        kind: request.kind.clone(),
        summary: request.summary.clone(),
        since: time(request.opened_at),
        state: request_state(request.state),
        place: request.place.as_deref().and_then(rows::value),
        choices: ask.as_ref().map(Ask::choices).unwrap_or_default(),
        digest: digest(request, seal),
        answered_by: request.answered_by.clone(),
        decision: request.decision.as_deref().and_then(rows::value),
        answered_at: request.answered_at.map(time),
        ask,
    }
}

/// Who answered a request, from the row: the word for who, then from where.
pub(crate) fn answerer(by: &str) -> String {
    let (word, place) = by.split_once(" (").map_or((by, None), |(word, place)| (word, Some(place)));
    let who = rows::value::<Who>(word).map_or_else(|| word.to_owned(), |who| who.to_string());
    let place = place.and_then(|place| place.strip_suffix(')')?.split_once(", ").map(|(_, via)| via));
    match place {
        Some(via) => format!("{who} ({via})"),
        None => who,
    }
}

/// The files that steps changed and the commands that they ran, in order, each once.
pub(crate) fn work_of(events: &[talaria_store::EventRow]) -> (Vec<String>, Vec<String>) {
    let (mut files, mut commands) = (Vec::new(), Vec::new());
    for event in events {
        let Ok(Event::ItemCompleted { item }) = serde_json::from_str(&event.json) else { continue };
        match item.body {
            ItemBody::Patch { changes, status: Status::Completed } => {
                for change in changes {
                    let path = change.move_to.unwrap_or(change.path);
                    if !files.contains(&path) {
                        files.push(path);
                    }
                }
            }
            // One that was declined never ran.
            ItemBody::Command { command, status, .. } if status != Status::Declined => {
                commands.push(command);
            }
            _ => {}
        }
    }
    (files, commands)
}

/// The commands that have begun and not ended, of the events of one turn. One that waits for a person does not run.
pub(crate) fn commands_that_run(events: &[talaria_store::EventRow]) -> Vec<String> {
    let mut running: Vec<(ItemId, String)> = Vec::new();
    let mut held: Vec<(TicketId, ItemId)> = Vec::new();
    for event in events {
        match serde_json::from_str(&event.json) {
            Ok(Event::ItemStarted { item }) => {
                if let ItemBody::Command { command, .. } = item.body {
                    running.push((item.id, command));
                }
            }
            Ok(Event::ItemCompleted { item }) => running.retain(|(id, _)| *id != item.id),
            Ok(Event::ItemAbandoned { item, .. }) => running.retain(|(id, _)| *id != item),
            Ok(Event::RequestOpened { id, ask, .. }) => {
                if let Ask::Command { item, .. } = *ask {
                    held.push((id, item));
                }
            }
            Ok(Event::RequestClosed { id, decision, .. }) if decision.is_yes() => {
                held.retain(|(ticket, _)| *ticket != id);
            }
            _ => {}
        }
    }
    running.retain(|(id, _)| !held.iter().any(|(_, item)| item == id));
    running.into_iter().map(|(_, command)| command).collect()
}

/// One line about something that happened in a task; `None` for what is only bookkeeping.
pub(crate) fn summarise(event: &Event) -> Option<String> {
    let text = match event {
        Event::ItemCompleted { item } => step(&item.body)?,
        Event::RequestOpened { ask, .. } => format!("asks: {}", ask.label()),
        Event::RequestClosed { decision: Decision::Void, by: by @ Who::OtherClient, .. } => {
            format!("no longer asked: {by} answered, or Codex withdrew it")
        }
        Event::RequestClosed { decision: Decision::Void, .. } => "closed without an answer".to_owned(),
        Event::RequestClosed { decision, by, .. } => format!("{decision} by {by}"),
        Event::Outcome(report) => match &report.message {
            Some(message) => format!("{}: {message}", report.outcome.word()),
            None => report.outcome.word().to_owned(),
        },
        Event::SessionStarted(started) => match started.codex_version() {
            Some(version) => format!("opened on Codex {version}"),
            None => format!("opened with {} of {}", started.model, started.provider),
        },
        Event::TurnStarted { .. } => "the turn began".to_owned(),
        Event::HostReplaced { message } => message.clone(),
        _ => return None,
    };
    Some(one_line(&text))
}

/// One line about a step.
fn step(body: &ItemBody) -> Option<String> {
    Some(match body {
        ItemBody::Command { command, status, exit_code, .. } => match (status, exit_code) {
            (Status::Declined, _) => format!("did not run {command}: declined"),
            (Status::Interrupted, _) => format!("ran {command} (stopped)"),
            (_, Some(code)) => format!("ran {command} (exit code {code})"),
            (Status::Failed, None) => format!("ran {command} (failed)"),
            (_, None) => format!("ran {command}"),
        },
        ItemBody::Patch { changes, status } => {
            let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            let paths = paths.join(", ");
            match status {
                Status::Completed => format!("changed {paths}"),
                Status::Declined => format!("did not change {paths}: declined"),
                _ => format!("tried to change {paths}: {}", word(*status)),
            }
        }
        ItemBody::AgentMessage { text, .. } => format!("said: {text}"),
        ItemBody::UserMessage { .. } | ItemBody::Reasoning { .. } => return None,
        other => other.kind().to_owned(),
    })
}

fn word(status: Status) -> &'static str {
    match status {
        Status::InProgress => "not ended",
        Status::Completed => "done",
        Status::Failed => "failed",
        Status::Declined => "declined",
        Status::Interrupted => "stopped",
        Status::Unknown => "ended in an unknown way",
    }
}

/// The beginning of a text, in one line.
fn one_line(text: &str) -> String {
    shorten_line(text, 200)
}

/// Sessions to choose from: the end of each id, or the task, with what it is about.
pub(crate) fn candidates(candidates: &[SessionCandidate]) -> String {
    const TITLE: usize = 40;
    let one = |candidate: &SessionCandidate| {
        let name = short_id(&candidate.name);
        let title = candidate.title.as_deref().unwrap_or_default();
        let title: String = one_line(title).chars().take(TITLE).collect();
        if title.is_empty() { name.to_owned() } else { format!("{name} ({title})") }
    };
    candidates.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The store's word for it, as the API returns it.
pub(crate) fn problem(error: &StoreError) -> Problem {
    let code = match error {
        StoreError::UnknownSession(_) => ProblemCode::Unknown,
        StoreError::Fenced { .. } | StoreError::Closed => ProblemCode::Stopping,
        StoreError::Conflict(_) => ProblemCode::Conflict,
        _ => ProblemCode::Store,
    };
    Problem::new(code, error.to_string()).next(error.next_step())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn command(status: &str, exit_code: Option<i32>) -> Event {
        let item = json!({ "id": "c", "kind": "command", "command": "make", "cwd": "/w", "status": status,
            "exit_code": exit_code, "duration_ms": null, "output": null });
        serde_json::from_value(json!({ "type": "item_completed", "item": item })).unwrap()
    }

    fn patch(status: &str) -> Event {
        let change = json!({ "path": "a.txt", "action": "update", "move_to": null, "diff": "" });
        let item = json!({ "id": "p", "kind": "patch", "status": status, "changes": [change] });
        serde_json::from_value(json!({ "type": "item_completed", "item": item })).unwrap()
    }

    #[test]
    fn a_step_is_said_to_have_done_only_what_it_did() {
        let lines: Vec<String> = [
            command("completed", Some(0)),
            command("failed", Some(2)),
            command("interrupted", None),
            command("declined", None),
            patch("completed"),
            patch("failed"),
            patch("declined"),
        ]
        .iter()
        .filter_map(summarise)
        .collect();
        assert_eq!(
            lines,
            [
                "ran make (exit code 0)",
                "ran make (exit code 2)",
                "ran make (stopped)",
                "did not run make: declined",
                "changed a.txt",
                "tried to change a.txt: failed",
                "did not change a.txt: declined",
            ]
        );
    }

    #[test]
    fn a_question_that_nobody_answered_is_not_said_to_be_decided() {
        let closed = json!({ "type": "request_closed", "id": "req-1", "decision": "void", "by": "codex" });
        let closed: Event = serde_json::from_value(closed).unwrap();
        assert_eq!(summarise(&closed).as_deref(), Some("closed without an answer"));
        let closed =
            json!({ "type": "request_closed", "id": "req-1", "decision": "void", "by": "other_client" });
        let closed: Event = serde_json::from_value(closed).unwrap();
        let words = "no longer asked: another client of Codex answered, or Codex withdrew it";
        assert_eq!(summarise(&closed).as_deref(), Some(words));
    }

    #[test]
    fn who_answered_is_said_in_words() {
        assert_eq!(
            answerer("user (person:unknown, a terminal (process 23))"),
            "you (a terminal (process 23))"
        );
        assert_eq!(answerer("user (person:unknown)"), "you");
        assert_eq!(answerer("mode"), "the mode");
    }
}
