//! What is kept, as the API tells it. Pure.

use jiff::Timestamp;
use talaria_core::access::PeerEvidence;
use talaria_core::api::RequestState as Told;
use talaria_core::api::{
    AuditEntry, Kind, Problem, ProblemCode, RequestInfo, RunningTurn, SessionInfo, SessionOrigin, TurnInfo,
};
use talaria_core::escrow::Binding;
use talaria_core::event::Event;
use talaria_core::item::ItemBody;
use talaria_core::outcome::Report;
use talaria_core::request::Ask;
use talaria_store::legacy::hermes::Origin;
use talaria_store::{
    AuditOutcome, AuditRow, Request, RequestState, Session, SessionKind, SessionState, StoreError, Turn,
};

use super::rows;
use super::seal::Seal;

/// Who runs turns in this build.
pub(super) const RUNTIME: &str = "codex_app_server";

pub(super) fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or_default()
}

pub(super) fn kind(kind: SessionKind) -> Kind {
    match kind {
        SessionKind::Chat => Kind::Chat,
        SessionKind::Exec => Kind::Exec,
        SessionKind::Task => Kind::Task,
    }
}

pub(super) fn kept_kind(kind: Kind) -> SessionKind {
    match kind {
        Kind::Chat => SessionKind::Chat,
        Kind::Exec => SessionKind::Exec,
        Kind::Task => SessionKind::Task,
    }
}

pub(super) fn session(session: &Session) -> SessionInfo {
    SessionInfo {
        id: session.id.clone(),
        title: session.title.clone().unwrap_or_default(),
        runtime: session.runtime.clone(),
        updated_at: time(session.updated_at),
        running: session.state == SessionState::Running,
        kind: kind(session.kind),
        task: session.alias.clone(),
        cwd: session.cwd.clone(),
        model: session.model.clone(),
        created_at: time(session.created_at),
        last_seq: session.last_seq,
    }
}

pub(super) fn origin(origin: Origin) -> SessionOrigin {
    let Origin { program, name, parent, parent_session } = origin;
    SessionOrigin { program, name, parent, parent_session }
}

pub(super) fn report(turn: &Turn) -> Option<Report> {
    serde_json::from_str(turn.outcome.as_deref()?).ok()
}

pub(super) fn turn(turn: &Turn) -> TurnInfo {
    TurnInfo {
        turn: turn.ordinal,
        stage: turn.stage,
        outcome: report(turn),
        prompt: turn.input_text.clone(),
        created_at: time(turn.created_at),
        settled_at: turn.settled_at.map(time),
        usage: turn.usage.as_deref().and_then(|usage| serde_json::from_str(usage).ok()),
    }
}

pub(super) fn running(session: &Session, turn: &Turn, host: Option<i32>) -> RunningTurn {
    RunningTurn {
        session: session.id.clone(),
        task: session.alias.clone(),
        turn: turn.ordinal,
        stage: turn.stage,
        title: session.title.clone().unwrap_or_default(),
        since: time(turn.created_at),
        host,
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

/// Stands for what a request asks, as it is told with it; `None` if what a yes would mean is not known.
pub(super) fn digest(request: &Request, seal: &Seal) -> Option<String> {
    let binding: Binding = serde_json::from_str(request.binding.as_deref()?).ok()?;
    Some(seal.mark(&binding.subject))
}

/// A row of the audit log.
pub(super) fn audit(row: AuditRow) -> AuditEntry {
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

/// A request of this conversation.
pub(super) fn request(request: &Request, session: Option<&Session>, seal: &Seal) -> RequestInfo {
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
        ask,
    }
}

/// The files that steps changed and the commands that they ran, in order, each once.
pub(super) fn work_of(events: &[talaria_store::Event]) -> (Vec<String>, Vec<String>) {
    let (mut files, mut commands) = (Vec::new(), Vec::new());
    for event in events {
        let Ok(Event::ItemCompleted { item }) = serde_json::from_str(&event.json) else { continue };
        match item.body {
            ItemBody::Patch { changes, status: talaria_core::item::Status::Completed } => {
                for change in changes {
                    let path = change.move_to.unwrap_or(change.path);
                    if !files.contains(&path) {
                        files.push(path);
                    }
                }
            }
            ItemBody::Command { command, .. } => commands.push(command),
            _ => {}
        }
    }
    (files, commands)
}

/// One line about something that happened in a task; `None` for what is only bookkeeping.
pub(super) fn told(event: &Event) -> Option<String> {
    let text = match event {
        Event::ItemCompleted { item } => step(&item.body)?,
        Event::RequestOpened { ask, .. } => format!("asks: {}", ask.label()),
        Event::RequestClosed { decision, by, .. } => format!("{decision} by {by}"),
        Event::Outcome(report) => match &report.message {
            Some(message) => format!("{}: {message}", report.outcome.word()),
            None => report.outcome.word().to_owned(),
        },
        Event::SessionStarted(started) => format!("opened on Codex {}", started.codex),
        Event::TurnStarted { .. } => "Codex began to work".to_owned(),
        Event::HostReplaced { message } => message.clone(),
        _ => return None,
    };
    Some(one_line(&text))
}

/// One line about a step.
fn step(body: &ItemBody) -> Option<String> {
    Some(match body {
        ItemBody::Command { command, exit_code, .. } => match exit_code {
            Some(code) => format!("ran {command} (exit code {code})"),
            None => format!("ran {command}"),
        },
        ItemBody::Patch { changes, .. } => {
            let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            format!("changed {}", paths.join(", "))
        }
        ItemBody::AgentMessage { text, .. } => format!("said: {text}"),
        ItemBody::UserMessage { .. } | ItemBody::Reasoning { .. } => return None,
        other => other.kind().to_owned(),
    })
}

/// The beginning of a text, in one line.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > LONGEST {
        line = line.chars().take(LONGEST - 1).collect();
        line.push('…');
    }
    line
}

/// What the store says, as the API tells it.
pub(super) fn problem(error: &StoreError) -> Problem {
    let code = match error {
        StoreError::UnknownSession(_) => ProblemCode::Unknown,
        StoreError::Fenced { .. } | StoreError::Closed => ProblemCode::Stopping,
        StoreError::Conflict(_) => ProblemCode::Conflict,
        _ => ProblemCode::Store,
    };
    Problem::new(code, error.to_string()).try_this(error.next_step())
}
