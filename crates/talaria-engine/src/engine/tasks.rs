//! Tasks: starting, continuing, listing and showing them. A task is a session with an additional row; its
//! status follows from its turns and requests.

pub(crate) mod power;
pub(crate) mod queue;
pub(crate) mod status;
pub(crate) mod worktrees;

use talaria_core::admission;
use talaria_core::api::{
    Kind, NewSession, NewTask, NewTurn, Problem, ProblemCode, SessionStarted, TaskEvent, TaskInfo, TaskLine,
    TaskQuery, TaskSent, TaskStarted, TaskStatus,
};
use talaria_core::event::Usage;
use talaria_core::next_step::NextStep;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::preferences::Preferences;
use talaria_core::principal::Principal;
use talaria_core::runtime::Runtime;
use talaria_store::{
    Cursor, NewAudit, NewDelegation, RequestFilter, RequestState, SessionRow, StoreError, TaskFilter,
    TaskRow, TurnRow,
};

use crate::engine::Engine;
use crate::engine::access::scope;
use crate::engine::queries::views;
use crate::engine::run::catalog::CheckedTurn;
use crate::engine::run::resolve::ResolvedTurn;
use crate::engine::run::session_directory::Work;
use crate::engine::run::settings::{Wanted, Widening};
use crate::engine::tasks::status::Standing;
use crate::engine::tasks::worktrees::Kept;
use crate::worktree::{Force, Made};
use talaria_codex::conversation::When;
use talaria_codex::spec::Surroundings;
use talaria_home::faults;

/// How many of the last events are shown.
const EVENTS: u32 = 20;
/// Maximum number of tasks in one response.
const MOST: usize = 10_000;
/// Pieces of text say nothing by themselves.
const PIECES: [&str; 4] = ["text_delta", "reasoning_delta", "output_delta", "plan_delta"];

/// Events that say which commands run.
const STEPS: [&str; 5] =
    ["item_started", "item_completed", "item_abandoned", "request_opened", "request_closed"];

/// Owner and additional properties of a new task.
#[derive(Clone)]
pub(crate) struct TaskStart {
    pub(crate) owner: Principal,
    /// Power that a person must grant before it begins.
    pub(crate) widening: Option<Widening>,
    /// The conversation that delegates it, if one does.
    pub(crate) delegation: Option<NewDelegation>,
    /// The environment of its Codex; that of the caller if there is none.
    pub(crate) surroundings: Option<Surroundings>,
}

impl Engine {
    /// Records a new task, and runs it when there is a place.
    pub async fn start_task(&self, mut new: NewTask) -> Result<TaskStarted, Problem> {
        let _caller = self.inner.enter()?;
        self.check_local(&new.turn.caller)?;
        admission::check(&new)?;
        let config = self.inner.config();
        let codex_home = self.inner.codex_home(&new.turn.caller, &config);
        new.turn.caller.codex_home = codex_home.map(|home| home.to_string_lossy().into_owned());
        let widening = self.bound(&mut new).await?;
        let owner = self.principal().clone();
        self.start_bounded(new, TaskStart { owner, widening, delegation: None, surroundings: None }).await
    }

    /// Records a task that a conversation delegates. Its rights are bounded by its parent; neither Talaria's own files nor
    /// those of Codex become writable for it.
    pub(crate) async fn start_delegated_task(
        &self,
        mut new: NewTask,
        start: TaskStart,
    ) -> Result<TaskStarted, Problem> {
        // Also while the engine ends: the call began, and the next engine runs what is recorded.
        let _caller = std::sync::Arc::clone(&self.inner.callers);
        admission::check(&new)?;
        let cwd = scope::directory("cwd", &new.cwd).await?;
        if new.sandbox == Some(Sandbox::WorkspaceWrite) {
            self.keep_out(std::slice::from_ref(&cwd), &new).await?;
        }
        new.cwd = cwd.to_string_lossy().into_owned();
        self.start_bounded(new, start).await
    }

    async fn start_bounded(&self, mut new: NewTask, start: TaskStart) -> Result<TaskStarted, Problem> {
        let config = self.inner.config();
        let wanted = Preferences { model: new.model.clone(), ..Preferences::of_turn(&new.turn) };
        new.model = wanted.model(&config);
        new.turn.model = None;
        let mut turn = self.resolve_task(&new.turn).await?;
        if let (Runtime::OwnLoop, Some(provider)) = (turn.runtime, turn.settings.provider()) {
            new.model = Some(self.inner.loop_model(provider, wanted.model.as_deref(), &config)?);
        }
        if let Some(surroundings) = start.surroundings {
            turn.surroundings = surroundings;
        }
        self.check_choice(CheckedTurn {
            cwd: &new.cwd,
            model: new.model.as_deref(),
            effort: turn.settings.effort(),
            input: &new.turn.input,
            runtime: turn.runtime,
            codex: turn.codex.as_ref(),
            session: None,
        })
        .await?;
        let notify = self.kept_targets(&new.notify)?;
        let task = crate::engine::mint_task();
        let made = self.make_worktree(&new, &task).await?;
        let is_free = start.widening.is_none();
        let owner = start.owner.to_string();
        let row = talaria_store::NewTaskRow {
            owner: owner.clone(),
            worktree: made
                .clone()
                .map(|made| Kept { made, discarded: None })
                .and_then(|kept| serde_json::to_string(&kept).ok()),
            notify,
            origin: None,
            delegation: start.delegation,
        };
        let started = self.write_task(&new, &turn, &task, made.as_ref(), row, start.widening).await;
        let started = match (started, &made) {
            (Ok(started), _) => started,
            (Err(problem), None) => return Err(problem),
            (Err(problem), Some(made)) => {
                // No one has worked there: nothing is lost.
                if let Err(error) = made.discard(Force::KeepWork).await {
                    tracing::warn!("the worktree {} is left: {error}", made.worktree.display());
                }
                return Err(problem);
            }
        };
        faults::point("after:prepared").await;
        let status = if is_free {
            self.inner.queue.stand(&started.id, &owner);
            self.inner.give(&started.id, Work::Turn(turn.surroundings.clone()));
            status::before_it_is_sent(self.inner.queue.ahead(&started.id).is_some())
        } else {
            // The response to the caller names the request. If this fails, the task opens it itself.
            if let Err(error) = self.inner.put_own_request(&started.id).await {
                tracing::warn!("the request of the task {task} is not stored yet: {error}");
            }
            self.inner.give(&started.id, Work::Turn(turn.surroundings.clone()));
            TaskStatus::WaitingForApproval
        };
        Ok(TaskStarted {
            id: task,
            session: started.id,
            status,
            cwd: made.as_ref().map_or(new.cwd, |made| made.cwd.to_string_lossy().into_owned()),
            branch: made.map(|made| made.branch),
            after: started.after,
            codex: turn.program(),
        })
    }

    async fn write_task(
        &self,
        new: &NewTask,
        turn: &ResolvedTurn,
        task: &str,
        made: Option<&Made>,
        row: talaria_store::NewTaskRow,
        widening: Option<Widening>,
    ) -> Result<SessionStarted, Problem> {
        let cwd = made.map_or_else(|| new.cwd.clone(), |made| made.cwd.to_string_lossy().into_owned());
        let session = NewSession {
            kind: Kind::Task,
            cwd,
            model: new.model.clone(),
            sandbox: Some(new.sandbox.unwrap_or(Sandbox::ReadOnly)),
            approval: Some(new.approval.unwrap_or(ApprovalPolicy::Untrusted)),
            turn: new.turn.clone(),
        };
        let git = made.map(Made::writable_roots).unwrap_or_default();
        let git = git.iter().map(|root| root.to_string_lossy().into_owned());
        let roots = new.writable_roots.iter().cloned().chain(git);
        let wanted =
            Wanted::of(&session).writing(roots, new.network).at(new.terminal.clone()).needing(widening);
        let audit = NewAudit { principal: row.owner.clone(), ..self.audit_entry("start_task") };
        self.inner.create(&session, turn, &wanted, Some((task.to_owned(), row)), audit).await
    }

    /// Starts the next turn of a task; while one runs, it waits.
    pub async fn send(&self, id: &str, turn: NewTurn) -> Result<TaskSent, Problem> {
        admission::check_turn(&turn)?;
        self.check_local(&turn.caller)?;
        let session = self.find(id).await?;
        self.check_drive("send", &session).await?;
        let (_, row) = self.task_row(&session).await?;
        if let Some(origin) = row.origin {
            let message = format!("this task was imported from {origin}: its conversation is not here");
            return Err(Problem::new(ProblemCode::Conflict, message).try_this("start a new task"));
        }
        if let Some(problem) = Kept::of(&row).and_then(|kept| kept.problem("it cannot continue")) {
            return Err(problem);
        }
        let limit = self.inner.limit_of(&turn);
        match self.pass_on(session.id.as_str(), turn.input.clone(), When::Next, limit).await {
            Ok(_) => return Ok(TaskSent { turn: None, waits: true, after: session.last_seq }),
            Err(problem) if problem.code == ProblemCode::Conflict => {}
            Err(problem) => return Err(problem),
        }
        let started = self.start_turn(session.id.as_str(), turn).await?;
        Ok(TaskSent { turn: Some(started.turn), waits: false, after: started.after })
    }

    /// Tasks, the one first in which something happened last.
    pub async fn tasks(&self, query: TaskQuery) -> Result<Vec<TaskLine>, Problem> {
        let behind = match &query.before {
            Some(id) => {
                let last = self.find(id).await?;
                Some(Cursor { updated_at: last.updated_at, id: last.id })
            }
            None => None,
        };
        let filter = TaskFilter { owner: self.only_owner(), active: query.active.then_some(true) };
        let wanted = query.limit.clamp(1, MOST);
        let limit = u32::try_from(wanted).unwrap_or(u32::MAX);
        let (mut behind, mut lines) = (behind, Vec::new());
        // A page of which a token sees little is filled up from the next ones.
        while lines.len() < wanted {
            let page = self.inner.shelf.store.tasks(&filter, behind.as_ref(), limit).await;
            let page = page.map_err(|error| views::problem(&error))?;
            lines.extend(
                page.tasks.into_iter().filter(|line| self.is_line_within(line)).map(|line| self.line(line)),
            );
            behind = page.next;
            if behind.is_none() {
                break;
            }
        }
        lines.truncate(wanted);
        Ok(lines)
    }

    fn line(&self, line: talaria_store::TaskLineRow) -> TaskLine {
        let standing = Standing {
            turn: line.turn.as_ref().map(status::of_line),
            open_requests: line.open_requests,
            wants_words: line.wants_input,
            is_queued: self.inner.queue.ahead(&line.id).is_some(),
        };
        TaskLine {
            waits_for: self.inner.provider_keys.awaited_by(&line.id),
            id: line.alias.unwrap_or_default(),
            status: standing.status(),
            session: line.id,
            title: line.title.unwrap_or_default(),
            owner: owner(&line.owner),
            cwd: line.cwd,
            open_requests: u32::try_from(line.open_requests).unwrap_or(u32::MAX),
            created_at: views::time(line.created_at),
            updated_at: views::time(line.updated_at),
            completed_at: line.turn.and_then(|turn| turn.settled_at).map(views::time),
        }
    }

    /// One task with what it did.
    pub async fn task(&self, id: &str) -> Result<TaskInfo, Problem> {
        let session = self.find(id).await?;
        let (alias, row) = self.task_row(&session).await?;
        self.show(&session, alias, row).await
    }

    /// The row of a task, and its name.
    pub(crate) async fn task_row(&self, session: &SessionRow) -> Result<(String, TaskRow), Problem> {
        let row = self.inner.shelf.store.task(&session.id).await.map_err(|error| views::problem(&error))?;
        session.alias.clone().zip(row).ok_or_else(|| {
            let id = session.id.short();
            let message = format!("{id} is a session, but no task");
            Problem::new(ProblemCode::Unknown, message).next(NextStep::ShowSession { session: id.to_owned() })
        })
    }

    async fn show(&self, session: &SessionRow, alias: String, row: TaskRow) -> Result<TaskInfo, Problem> {
        let store = &self.inner.shelf.store;
        let read = async {
            // Read before the turn: a client that follows events after this number must not miss the outcome of the
            // turn.
            let events = store.last_events(&session.id, &PIECES, EVENTS).await?;
            let turns = store.last_turns(&session.id, None, u32::MAX).await?;
            let turn = turns.iter().find(|turn| turn.settled_at.is_none()).or(turns.last()).cloned();
            let filter =
                RequestFilter { session: Some(session.id.clone()), states: Some(vec![RequestState::Open]) };
            let requests = store.requests(&filter).await?;
            let mut steps = Vec::new();
            for ordinal in 1..=turns.last().map_or(0, |last| last.ordinal) {
                steps.extend(store.events_of_turn(&session.id, ordinal, &["item_completed"]).await?);
            }
            let notices = store.outbox_of(&session.id).await?;
            let is_open = |turn: &&TurnRow| turn.settled_at.is_none();
            let running = match turn.as_ref().filter(is_open) {
                Some(turn) => store.events_of_turn(&session.id, turn.ordinal, &STEPS).await?,
                None => Vec::new(),
            };
            Ok::<_, StoreError>((turns, turn, requests, steps, events, notices, running))
        };
        let (turns, turn, requests, steps, events, notices, running) =
            read.await.map_err(|error| views::problem(&error))?;
        let is_queued = |later: &&TurnRow| {
            later.settled_at.is_none() && turn.as_ref().is_some_and(|turn| later.ordinal > turn.ordinal)
        };
        let queued = turns.iter().filter(is_queued).map(|turn| turn.input_text.clone()).collect();
        let (mut files, commands) = views::work_of(&steps);
        let worktree = self.worktree_of(&row).await;
        if let Some(changes) = worktree.as_ref().and_then(|worktree| worktree.changes.as_ref()) {
            files = changes.files.iter().map(|file| file.path.clone()).collect();
        }
        let report = turn.as_ref().and_then(views::report);
        let ahead = self.inner.queue.ahead(&session.id);
        let standing = Standing {
            turn: turn.as_ref().map(status::of_turn),
            open_requests: i64::try_from(requests.len()).unwrap_or(i64::MAX),
            wants_words: requests.iter().any(|request| status::is_words(&request.kind)),
            is_queued: ahead.is_some(),
        };
        let status = standing.status();
        // A task that was cancelled in the queue leaves it after its outcome is stored.
        let ahead = ahead.filter(|_| status == TaskStatus::Queued);
        let wanted: Option<Wanted> =
            session.asked.as_deref().and_then(|json| serde_json::from_str(json).ok());
        Ok(TaskInfo {
            status,
            title: session.title.clone().unwrap_or_default(),
            answer: report.as_ref().and_then(|report| report.text.clone()),
            usage: turns.iter().filter_map(|turn| views::turn(turn).usage).reduce(Usage::plus),
            outcome: report,
            files,
            commands,
            running: views::commands_that_run(&running),
            queued,
            requests: requests
                .iter()
                .map(|request| views::request(request, Some(session), &self.inner.shelf.seal))
                .collect(),
            created_at: views::time(session.created_at),
            started_at: turn.as_ref().and_then(|turn| turn.sent_at).map(views::time),
            completed_at: completed_at(turn.as_ref()),
            updated_at: views::time(session.updated_at),
            owner: owner(&row.owner),
            cwd: session.cwd.clone(),
            model: session.model.clone(),
            sandbox: wanted.as_ref().and_then(Wanted::sandbox),
            approval: wanted.as_ref().and_then(Wanted::approval),
            network: wanted.as_ref().is_some_and(Wanted::network),
            writable_roots: wanted.map(Wanted::into_writable_roots).unwrap_or_default(),
            turns: turns.last().map_or(0, |last| last.ordinal),
            ahead,
            worktree,
            notices: notices.iter().map(|owed| self.notice_info(owed, &alias)).collect(),
            events: events.iter().filter_map(task_event).collect(),
            origin: row.origin,
            session: session.id.clone(),
            id: alias,
        })
    }
}

fn completed_at(turn: Option<&TurnRow>) -> Option<jiff::Timestamp> {
    turn.and_then(|turn| turn.settled_at).map(views::time)
}

fn owner(text: &str) -> Principal {
    text.parse().unwrap_or_else(|_| Principal::person(text))
}

fn task_event(event: &talaria_store::EventRow) -> Option<TaskEvent> {
    let text = views::summarise(&serde_json::from_str(&event.json).ok()?)?;
    Some(TaskEvent { seq: event.seq, at: views::time(event.at), kind: event.kind.clone(), text })
}
