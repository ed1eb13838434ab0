//! The client of the engine: one method for each route, with the names and types of the engine itself.
//!
//! A request is sent once. Only if there is no listener, so that nothing can have been sent, the engine is started (if this
//! client may do that) and the request sent again; and if the engine was ending and did nothing (`retry`). Every front end
//! of Talaria uses this and nothing else.

mod error;
mod event;
mod follow;
pub mod launch;
mod retry;
mod shell;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use talaria_core::api::{
    self, AnswerRequest, Answered, Applied, AuditEntry, AuditQuery, BackgroundInfo, BackgroundStopped,
    Compact, ContextReport, Discard, Discarded, EngineInfo, EngineStatus, Fork, Import, Imported, Interrupt,
    LookAt, MemoryDone, MemoryHistoryQuery, MemoryImport, MemoryImported, MemoryList, MemoryProposal,
    MemoryQuery, MemoryRevision, MemoryWish, NewSession, NewTask, NewToken, NewTurn, NoticeInfo, Notify,
    Numbered, Offers, OutsideCall, OutsideResult, PermissionsChange, Problem, ProblemCode, Prune, Pruned,
    RenameSession, RequestInfo, Said, Say, SearchHit, SessionDetail, SessionInfo, SessionPermissions,
    SessionQuery, SessionStarted, Shell, SkillDone, SkillList, SkillProposal, SkillProposalQuery, SkillQuery,
    SkillText, SkillTextQuery, SkillWish, Stop, StopBackground, Stopped, StoredMessage, TaskDiff, TaskInfo,
    TaskLine, TaskQuery, TaskSent, TaskStarted, TokenInfo, TokenMade, Undo, Undone, UsageBy, UsageQuery,
    UsageSum,
};
use talaria_core::principal::Principal;

pub use error::ClientError;
pub use follow::Follow;
pub use shell::ShellRun;

use crate::route::{self, BODY_LIMIT, Route, Verb, percent_encoded};
use launch::Launcher;
use retry::Retries;
use wire::Question;

/// How long the engine may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);
/// How long is waited before something is asked again.
const MOMENT: Duration = Duration::from_millis(100);
/// How often it is asked at most. A killed process still takes connections for as long as the system needs to remove it.
const ASKS: usize = 20;
/// How long the engine may take to answer.
const ORDINARY: Duration = Duration::from_secs(60);
/// Time limit of requests that scan the whole database.
const THOROUGH: Duration = Duration::from_secs(600);

/// A client of one engine. Cheap to clone; it has no open connection.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
    engine: Arc<EngineInfo>,
    launcher: Option<Arc<Launcher>>,
    manner: Manner,
    principal: Option<Principal>,
}

/// Policy about an engine that a person stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// It is started again: the user asks for something.
    Wants,
    /// It stays down: the user's request is older than the stop. If another client starts one in time, that is
    /// used.
    WantedOnce,
    /// It stays down: this client is passive.
    LooksOn,
}

impl Client {
    /// Finds the engine that listens on `socket` and checks that both sides understand each other.
    pub async fn connect(socket: &Path) -> Result<Self, ClientError> {
        Self::knock(socket).await?.understood()
    }

    /// Finds the engine, whatever version it speaks.
    pub async fn knock(socket: &Path) -> Result<Self, ClientError> {
        let question = Question::get(route::INFO.path.to_owned());
        let engine = Arc::new(exchange(socket, &question, GREETING).await?);
        Ok(Self { socket: socket.to_owned(), engine, launcher: None, manner: Manner::Wants, principal: None })
    }

    /// Refuses an engine that speaks another version of the API.
    pub(crate) fn understood(self) -> Result<Self, ClientError> {
        if self.engine.api == api::VERSION {
            return Ok(self);
        }
        let version = self.engine.version.clone();
        Err(ClientError::Version { version, api: self.engine.api, own: api::VERSION })
    }

    /// Lets this client restart a missing engine.
    pub(crate) fn launched_by(mut self, launcher: Arc<Launcher>) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Asks on behalf of someone else than the person whose engine it is.
    #[must_use]
    pub fn on_behalf_of(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// A client for passive callers: it starts an engine that died, and leaves one alone that a person stopped
    /// ([`ClientError::Stopped`]).
    #[must_use]
    pub fn looking_on(&self) -> Self {
        Self { manner: Manner::LooksOn, ..self.clone() }
    }

    /// A client for a single command: it restarts an engine that died, but starts none for its retries once a person
    /// stopped the engine that it had reached ([`ClientError::Stopped`]).
    #[must_use]
    pub fn for_one_wish(&self) -> Self {
        Self { manner: Manner::WantedOnce, ..self.clone() }
    }

    /// A client for an interactive person: every request starts an engine that was stopped.
    #[must_use]
    pub fn for_many_wishes(&self) -> Self {
        Self { manner: Manner::Wants, ..self.clone() }
    }

    /// Refuses to wait for an engine if a person stopped it and this client is passive. Does not check for a running
    /// engine.
    pub(crate) fn respect_rest(&self) -> Result<(), ClientError> {
        if self.manner == Manner::LooksOn && self.is_at_rest() { Err(ClientError::Stopped) } else { Ok(()) }
    }

    fn is_at_rest(&self) -> bool {
        self.launcher.as_ref().is_some_and(|launcher| launcher.is_at_rest())
    }

    /// Who the engine was when this client was made.
    pub fn engine(&self) -> &EngineInfo {
        &self.engine
    }

    /// Where the engine listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Identifies the engine.
    pub async fn info(&self) -> Result<EngineInfo, ClientError> {
        self.get(&route::INFO, None, &[]).await
    }

    /// Returns running turns, tasks and open requests.
    pub async fn status(&self) -> Result<EngineStatus, ClientError> {
        self.get(&route::STATUS, None, &[]).await
    }

    /// Starts a conversation with its first turn.
    pub async fn start_session(&self, new: &NewSession) -> Result<SessionStarted, ClientError> {
        self.post(&route::START_SESSION, None, new).await
    }

    /// Starts a further turn of a conversation.
    pub async fn start_turn(&self, id: &str, turn: &NewTurn) -> Result<SessionStarted, ClientError> {
        self.post(&route::START_TURN, Some(id), turn).await
    }

    /// Sends further input to a conversation.
    pub async fn say(&self, id: &str, say: &Say) -> Result<Said, ClientError> {
        self.post(&route::SAY, Some(id), say).await
    }

    /// Asks the running turn to stop; whether it did is reported by its outcome.
    pub async fn interrupt(&self, id: &str, interrupt: Interrupt) -> Result<(), ClientError> {
        self.post(&route::INTERRUPT, Some(id), &interrupt).await
    }

    /// Has a conversation shortened; how that ended is reported by the outcome of its turn. Refused while a turn runs.
    pub async fn compact(&self, id: &str, compact: &Compact) -> Result<SessionStarted, ClientError> {
        self.post(&route::COMPACT, Some(id), compact).await
    }

    /// Begins another conversation with the turns of this one; returns its list entry.
    pub async fn fork(&self, id: &str, fork: Fork) -> Result<SessionInfo, ClientError> {
        self.post(&route::FORK, Some(id), &fork).await
    }

    /// Undoes the last turn of a conversation. Refused while a turn runs.
    pub async fn undo(&self, id: &str, undo: Undo) -> Result<Undone, ClientError> {
        self.post(&route::UNDO, Some(id), &undo).await
    }

    /// Undoes the last turn of a conversation and sends its input again, with the settings in `turn`, which has no input.
    pub async fn retry(&self, id: &str, turn: &NewTurn) -> Result<SessionStarted, ClientError> {
        self.post(&route::RETRY, Some(id), turn).await
    }

    /// Changes the title of a conversation.
    pub async fn rename(&self, id: &str, title: &str) -> Result<SessionInfo, ClientError> {
        self.post(&route::RENAME, Some(id), &RenameSession { title: title.to_owned() }).await
    }

    /// Returns the permissions of a conversation: requested and in force.
    pub async fn permissions(&self, id: &str) -> Result<SessionPermissions, ClientError> {
        self.get(&route::PERMISSIONS, Some(id), &[]).await
    }

    /// Changes the permissions of a conversation from its next turn on.
    pub async fn change_permissions(
        &self,
        id: &str,
        change: &PermissionsChange,
    ) -> Result<SessionPermissions, ClientError> {
        self.post(&route::CHANGE_PERMISSIONS, Some(id), change).await
    }

    /// Asks what a conversation in a folder would start with. A Codex may have to be started for it.
    pub async fn offers(&self, look: &LookAt) -> Result<Offers, ClientError> {
        self.post(&route::OFFERS, None, look).await
    }

    /// Follows the events of a conversation that have greater numbers than `after`: stored ones, then live ones.
    pub async fn follow(&self, id: &str, after: i64) -> Result<Follow, ClientError> {
        check_id(id)?;
        match Follow::start(self, id, after).await {
            Err(ClientError::NotRunning) if self.launcher.is_some() => {
                self.revive().await?;
                Follow::start(self, id, after).await
            }
            result => result,
        }
    }

    /// Runs a command line in the sandbox of a conversation, and returns what it prints. Dropping that ends the command.
    pub async fn shell(&self, shell: &Shell) -> Result<ShellRun, ClientError> {
        let question = Question {
            principal: self.principal.clone(),
            ..Question::post(route::SHELL.path.to_owned(), encode_body(shell)?)
        };
        match ShellRun::start(&self.socket, &question).await {
            Err(ClientError::NotRunning) if self.launcher.is_some() => {
                self.revive().await?;
                ShellRun::start(&self.socket, &question).await
            }
            result => result,
        }
    }

    /// Lists conversations, the newest first.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionInfo>, ClientError> {
        let mut words = vec![("limit", query.limit.to_string()), ("running", query.running.to_string())];
        words.extend(query.before.clone().map(|before| ("before", before)));
        let kind = query.kind.and_then(|kind| serde_json::to_value(kind).ok());
        words.extend(kind.and_then(|kind| Some(("kind", kind.as_str()?.to_owned()))));
        self.get(&route::SESSIONS, None, &words).await
    }

    /// Shows one conversation.
    pub async fn session(&self, id: &str) -> Result<SessionDetail, ClientError> {
        self.get(&route::SESSION, Some(id), &[]).await
    }

    /// What every part of a conversation's prompt costs.
    pub async fn context(&self, id: &str) -> Result<ContextReport, ClientError> {
        self.get(&route::CONTEXT, Some(id), &[]).await
    }

    /// Reads stored messages with greater numbers than `after`, at most `limit`.
    pub async fn messages(
        &self,
        id: &str,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, ClientError> {
        self.get(&route::MESSAGES, Some(id), &page(after, limit)).await
    }

    /// Reads stored events with greater numbers than `after`, at most `limit`.
    pub async fn events(&self, id: &str, after: i64, limit: usize) -> Result<Vec<Numbered>, ClientError> {
        let events: Vec<Box<RawValue>> = self.get(&route::EVENTS, Some(id), &page(after, limit)).await?;
        let read = events.iter().map(|event| event::read(event.get())).collect::<Result<_, _>>();
        read.map_err(|error| ClientError::Broken(format!("an event is not understood: {error}")))
    }

    /// Searches the text of all conversations.
    pub async fn search(&self, words: &str, limit: usize) -> Result<Vec<SearchHit>, ClientError> {
        let query = [("words", words.to_owned()), ("limit", limit.to_string())];
        self.ask(&route::SEARCH, None, &query, Bytes::new(), THOROUGH).await
    }

    /// Deletes conversations, or lists those that it would delete.
    pub async fn prune(&self, prune: &Prune) -> Result<Pruned, ClientError> {
        self.ask(&route::PRUNE, None, &[], encode_body(prune)?, THOROUGH).await
    }

    /// Lists the commands that run in the background.
    pub async fn background(&self) -> Result<Vec<BackgroundInfo>, ClientError> {
        self.get(&route::BACKGROUND, None, &[]).await
    }

    /// Stops a command that runs in the background; its end is reported by an event.
    pub async fn stop_background(
        &self,
        id: &str,
        stop: StopBackground,
    ) -> Result<BackgroundStopped, ClientError> {
        self.post(&route::STOP_BACKGROUND, Some(id), &stop).await
    }

    /// Lists the open requests.
    pub async fn requests(&self) -> Result<Vec<RequestInfo>, ClientError> {
        self.get(&route::REQUESTS, None, &[]).await
    }

    /// Shows one request.
    pub async fn request(&self, id: &str) -> Result<RequestInfo, ClientError> {
        self.get(&route::REQUEST, Some(id), &[]).await
    }

    /// Answers a request.
    pub async fn answer(&self, id: &str, answer: &AnswerRequest) -> Result<Answered, ClientError> {
        self.post(&route::ANSWER, Some(id), answer).await
    }

    /// Starts a task.
    pub async fn start_task(&self, new: &NewTask) -> Result<TaskStarted, ClientError> {
        self.post(&route::START_TASK, None, new).await
    }

    /// Lists tasks, latest activity first.
    pub async fn tasks(&self, query: &TaskQuery) -> Result<Vec<TaskLine>, ClientError> {
        self.task_lines(query).await
    }

    /// The same as JSON, a text for each, for callers that only pass it on.
    pub async fn tasks_in_json(&self, query: &TaskQuery) -> Result<Vec<Box<RawValue>>, ClientError> {
        self.task_lines(query).await
    }

    async fn task_lines<T: DeserializeOwned>(&self, query: &TaskQuery) -> Result<T, ClientError> {
        let mut words = vec![("limit", query.limit.to_string()), ("active", query.active.to_string())];
        words.extend(query.before.clone().map(|before| ("before", before)));
        self.get(&route::TASKS, None, &words).await
    }

    /// Shows one task.
    pub async fn task(&self, id: &str) -> Result<TaskInfo, ClientError> {
        self.get(&route::TASK, Some(id), &[]).await
    }

    /// Starts the next turn of a task.
    pub async fn send(&self, id: &str, turn: &NewTurn) -> Result<TaskSent, ClientError> {
        self.post(&route::SEND, Some(id), turn).await
    }

    /// Shows the changes of a task in its worktree.
    pub async fn diff(&self, id: &str) -> Result<TaskDiff, ClientError> {
        self.get(&route::DIFF, Some(id), &[]).await
    }

    /// Applies the changes of a task to the user's checkout.
    pub async fn apply(&self, id: &str) -> Result<Applied, ClientError> {
        self.post(&route::APPLY, Some(id), &()).await
    }

    /// Discards the worktree of a task.
    pub async fn discard(&self, id: &str, discard: Discard) -> Result<Discarded, ClientError> {
        self.post(&route::DISCARD, Some(id), &discard).await
    }

    /// Sends pending notifications, or lists those that it would send.
    pub async fn notify(&self, notify: Notify) -> Result<Vec<NoticeInfo>, ClientError> {
        self.ask(&route::NOTIFY, None, &[], encode_body(&notify)?, THOROUGH).await
    }

    /// Memory across conversations.
    pub async fn memory(&self, query: &MemoryQuery) -> Result<MemoryList, ClientError> {
        let MemoryQuery { cwd, session } = query.clone();
        let asked = [cwd.map(|cwd| ("cwd", cwd)), session.map(|session| ("session", session))];
        let asked: Vec<_> = asked.into_iter().flatten().collect();
        self.get(&route::MEMORY, None, &asked).await
    }

    /// Changes the memory.
    pub async fn change_memory(&self, wish: &MemoryWish) -> Result<MemoryDone, ClientError> {
        self.post(&route::CHANGE_MEMORY, None, wish).await
    }

    /// Runs one of Talaria's tools outside of a turn.
    pub async fn call_tool(&self, call: &OutsideCall) -> Result<OutsideResult, ClientError> {
        self.ask(&route::CALL_TOOL, None, &[], encode_body(call)?, THOROUGH).await
    }

    /// Changes of the memory, newest first.
    pub async fn memory_history(
        &self,
        query: &MemoryHistoryQuery,
    ) -> Result<Vec<MemoryRevision>, ClientError> {
        let mut asked = vec![("limit", query.limit.to_string())];
        asked.extend(query.entry.clone().map(|entry| ("entry", entry)));
        asked.extend(query.before.map(|before| ("before", before.to_string())));
        self.get(&route::MEMORY_HISTORY, None, &asked).await
    }

    /// Imports the memory of another agent, undoes that, or previews either.
    pub async fn import_memory(&self, import: &MemoryImport) -> Result<MemoryImported, ClientError> {
        self.ask(&route::IMPORT_MEMORY, None, &[], encode_body(import)?, THOROUGH).await
    }

    /// Changes of the memory that wait for a person.
    pub async fn memory_pending(&self) -> Result<Vec<MemoryProposal>, ClientError> {
        self.get(&route::MEMORY_PENDING, None, &[]).await
    }

    /// The skills for a directory.
    pub async fn skills(&self, query: &SkillQuery) -> Result<SkillList, ClientError> {
        let asked: Vec<_> = query.cwd.iter().map(|cwd| ("cwd", cwd.clone())).collect();
        self.get(&route::SKILLS, None, &asked).await
    }

    /// Decides a proposal about a skill, archives a skill or restores one.
    pub async fn change_skills(&self, wish: &SkillWish) -> Result<SkillDone, ClientError> {
        self.post(&route::CHANGE_SKILLS, None, wish).await
    }

    /// A file of a skill.
    pub async fn skill(&self, query: &SkillTextQuery) -> Result<SkillText, ClientError> {
        let mut asked = vec![("name", query.name.clone())];
        asked.extend(query.cwd.clone().map(|cwd| ("cwd", cwd)));
        asked.extend(query.file.clone().map(|file| ("file", file)));
        self.get(&route::SKILL, None, &asked).await
    }

    /// Proposals about skills, newest first.
    pub async fn skill_proposals(
        &self,
        query: &SkillProposalQuery,
    ) -> Result<Vec<SkillProposal>, ClientError> {
        self.get(&route::SKILL_PROPOSALS, None, &[("all", query.all.to_string())]).await
    }

    /// What models cost, added up; the latest first.
    pub async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageSum>, ClientError> {
        let by = match query.by {
            UsageBy::Day => "day",
            UsageBy::Model => "model",
            UsageBy::Session => "session",
        };
        self.get(&route::USAGE, None, &[("by", by.to_owned()), ("days", query.days.to_string())]).await
    }

    /// Makes a token for the API over TCP.
    pub async fn create_token(&self, new: &NewToken) -> Result<TokenMade, ClientError> {
        self.post(&route::CREATE_TOKEN, None, new).await
    }

    /// The tokens, newest first.
    pub async fn tokens(&self) -> Result<Vec<TokenInfo>, ClientError> {
        self.get(&route::TOKENS, None, &[]).await
    }

    /// Revokes a token.
    pub async fn revoke_token(&self, id: &str) -> Result<TokenInfo, ClientError> {
        self.post(&route::REVOKE_TOKEN, Some(id), &()).await
    }

    /// The audit log, newest first.
    pub async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, ClientError> {
        let mut asked = vec![("limit", query.limit.to_string())];
        asked.extend(query.before.map(|before| ("before", before.to_string())));
        self.get(&route::AUDIT, None, &asked).await
    }

    /// Takes over the tasks of another program's database.
    pub async fn import(&self, import: &Import) -> Result<Imported, ClientError> {
        self.ask(&route::IMPORT, None, &[], encode_body(import)?, THOROUGH).await
    }

    /// Ends the engine; none is started for it. When this returns it has stopped working and ends in a moment.
    pub async fn stop(&self, stop: Stop) -> Result<Stopped, ClientError> {
        let question = Question::post(route::STOP.path.to_owned(), encode_body(&stop)?);
        exchange(&self.socket, &question, ORDINARY).await
    }

    /// Restarts the engine, if this client may.
    pub(crate) async fn revive(&self) -> Result<(), ClientError> {
        let Some(launcher) = &self.launcher else { return Ok(()) };
        if self.manner != Manner::Wants && launcher.is_at_rest() {
            return Err(ClientError::Stopped);
        }
        // The launcher asks the engine itself, through clients that cannot launch: boxed, because the types go in a circle.
        Box::pin(launcher.ensure()).await?;
        Ok(())
    }

    async fn get<T: DeserializeOwned>(
        &self,
        route: &Route,
        id: Option<&str>,
        query: &[(&str, String)],
    ) -> Result<T, ClientError> {
        self.ask(route, id, query, Bytes::new(), ORDINARY).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        route: &Route,
        id: Option<&str>,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.ask(route, id, &[], encode_body(body)?, ORDINARY).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        route: &Route,
        id: Option<&str>,
        query: &[(&str, String)],
        body: Bytes,
        limit: Duration,
    ) -> Result<T, ClientError> {
        let mut target = match id {
            Some(id) => route.with(check_id(id)?),
            None => route.path.to_owned(),
        };
        for (at, (name, value)) in query.iter().enumerate() {
            target.push(if at == 0 { '?' } else { '&' });
            target.push_str(&format!("{name}={}", percent_encoded(value)));
        }
        let principal = self.principal.clone();
        let question = Question { verb: route.verb, target, body, last_event: None, principal };
        let mut retries = Retries::of(route);
        loop {
            let asked = match exchange(&self.socket, &question, limit).await {
                Err(ClientError::NotRunning) if self.launcher.is_some() => {
                    // An engine that a person stopped meanwhile is not started again for what was asked before.
                    if retries.has_begun() && self.is_at_rest() {
                        return Err(ClientError::Stopped);
                    }
                    self.revive().await?;
                    exchange(&self.socket, &question, limit).await
                }
                asked => asked,
            };
            match asked {
                Err(error) if retries.wait_after(&error).await => {}
                asked => return asked,
            }
        }
    }
}

async fn exchange<T: DeserializeOwned>(
    socket: &Path,
    question: &Question,
    limit: Duration,
) -> Result<T, ClientError> {
    let once = async || {
        let (response, _connection) = wire::ask(socket, question).await?;
        wire::read(response).await
    };
    let exchange = async {
        let mut asks = 1;
        loop {
            match once().await {
                // An engine that dies takes what was just asked with it. What changes nothing is asked again.
                Err(ClientError::Broken(_)) if question.verb == Verb::Get && asks < ASKS => {
                    asks += 1;
                    tokio::time::sleep(MOMENT).await;
                }
                // That is how an engine refuses that cannot even say so.
                Err(ClientError::Broken(why)) if asks == ASKS => {
                    let why = format!("{why}, {ASKS} times; it may have reached its connection limit");
                    return Err(ClientError::Broken(why));
                }
                result => return result,
            }
        }
    };
    let late = |_| ClientError::Broken(format!("no answer after {} seconds", limit.as_secs()));
    tokio::time::timeout(limit, exchange).await.map_err(late)?
}

/// An empty id would name the list.
fn check_id(id: &str) -> Result<&str, ClientError> {
    if id.is_empty() {
        let problem = Problem::new(ProblemCode::Unknown, "the id is empty");
        return Err(ClientError::Problem(problem));
    }
    Ok(id)
}

fn page(after: i64, limit: usize) -> [(&'static str, String); 2] {
    [("after", after.to_string()), ("limit", limit.to_string())]
}

fn encode_body(body: &impl Serialize) -> Result<Bytes, ClientError> {
    let text = serde_json::to_vec(body)
        .map_err(|error| ClientError::Broken(format!("the question cannot be written: {error}")))?;
    // The engine would close the connection in the middle of it.
    if text.len() > BODY_LIMIT {
        let message = format!("the message is longer than {BODY_LIMIT} bytes");
        return Err(ClientError::Problem(Problem::new(ProblemCode::BadRequest, message)));
    }
    Ok(Bytes::from(text))
}
