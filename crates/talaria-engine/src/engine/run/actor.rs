//! The task of one session: opens the conversation, runs its turns one after another, and resumes what an
//! earlier engine left.
//!
//! Everything that a turn needs is in the store; this task can end at any moment, and another one continues from there.
//! It ends by itself when nothing was to be done for a while.

use std::time::Duration;

use talaria_codex_proto::settle::Deed;
use talaria_core::backoff::Backoff;
use talaria_core::event::{Event, QueuedInput, Usage};
use talaria_core::event_redactor;
use talaria_core::ids::SessionId;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::policy::Answers;
use talaria_core::request::Who;
use talaria_core::runtime::Runtime;
use talaria_core::tool::{OfferedTool, contract};
use talaria_guard::redact::redact;
use talaria_store::{Change, NewTurnRow, SessionRow, StoreError, TurnRow};
use tokio::sync::mpsc;

use crate::engine::Inner;
use crate::engine::journal::{Journal, TaskContext};
use crate::engine::run::input::{self, Content};
use crate::engine::run::opening::{self, Opened, Purpose, failed};
use crate::engine::run::runtime::{Conversation, close_lost_turn, runtime_of};
use crate::engine::run::session_directory::{SessionHandle, Work};
use crate::engine::run::settings::{Settings, Wanted};
use crate::engine::tasks::queue::TaskPlace;
use crate::engine::tools::offered_tools;
use talaria_codex::conversation::{BackgroundNews, Command, Prompt, Watcher as _};
use talaria_codex::spec::Surroundings;
use talaria_home::clock::now_ms;

mod attending;
mod budgeting;
mod reviewing;
mod waiting;

use waiting::unless_stopped;

/// How long a session that does nothing keeps its conversation loaded.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// How long one of a task does.
const TASK_PATIENCE: Duration = Duration::from_secs(60);
/// How long the conversation of a single command does: it is seldom continued, and is then found on its host.
const EXEC_PATIENCE: Duration = Duration::from_secs(5);
/// The pauses between two attempts to continue.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
/// The input with which Codex continues after it was lost.
const GO_ON: &str = "Codex was stopped in the middle of the previous turn and has been started again. Some of its steps \
                     may not have been finished. Check the current state, then continue.";

/// The task of one session.
pub(crate) struct Actor {
    engine: std::sync::Arc<Inner>,
    id: SessionId,
    handle: SessionHandle,
    inbox: mpsc::UnboundedReceiver<Work>,
    conversation: Option<Conversation>,
    /// The options that it was opened with, as they are stored.
    opened_with: Option<String>,
    /// The tools that the conversation asks for where it has to start a thread.
    offered: Vec<OfferedTool>,
    /// The environment of the command that asked last.
    surroundings: Surroundings,
    is_task: bool,
    /// One prompt on the command line, which as a rule is the last.
    is_exec: bool,
    /// Result of background commands, until there is a journal to report it to.
    untold: Vec<BackgroundNews>,
    /// The place of a turn that an earlier engine left running, until that is resumed.
    place: Option<TaskPlace>,
    /// Something was done since the task began: a review may be due.
    has_worked: bool,
    /// The last turn was interrupted because a budget was reached.
    is_over_budget: bool,
}

impl Actor {
    pub(crate) fn new(
        engine: std::sync::Arc<Inner>,
        id: SessionId,
        handle: SessionHandle,
        inbox: mpsc::UnboundedReceiver<Work>,
    ) -> Self {
        let surroundings = Surroundings::own();
        Self {
            engine,
            id,
            handle,
            inbox,
            conversation: None,
            opened_with: None,
            offered: Vec::new(),
            surroundings,
            is_task: false,
            is_exec: false,
            untold: Vec::new(),
            place: None,
            has_worked: false,
            is_over_budget: false,
        }
    }

    /// Works until it was idle for a while.
    pub(crate) async fn run(mut self) {
        loop {
            let work = match self.next_work().await {
                Some(Some(work)) => work,
                Some(None) => return,
                None => {
                    let desk = self.engine.desk.clone();
                    match desk.leave(&self.id, &mut self.inbox) {
                        Some(work) => work,
                        None => return self.release().await,
                    }
                }
            };
            self.has_worked = true;
            match work {
                Work::Turn(surroundings) => self.surroundings = surroundings,
                Work::Recover(place) => self.place = place,
                Work::Rewound => {
                    self.leave_thread().await;
                    self.handle.done();
                    continue;
                }
                Work::Review => {
                    // It begins while the next work is waited for.
                    self.handle.done();
                    continue;
                }
                Work::Background => {
                    if let Err(error) = self.take_up_background().await {
                        tracing::error!(
                            "session {}: its background commands are not followed: {error}",
                            self.id
                        );
                    }
                    self.handle.done();
                    continue;
                }
            }
            let mut retries = 0;
            while let Err(error) = self.run_what_waits().await {
                if !error.may_pass() {
                    tracing::error!("session {} stops: {error}", self.id);
                    break;
                }
                // A turn that is recorded is run: a store that is busy or full is waited for.
                tracing::warn!("session {} waits: {error}", self.id);
                tokio::time::sleep(BACKOFF.pause(retries)).await;
                retries += 1;
            }
            self.place = None;
            self.engine.queue.leave(&self.id);
            self.handle.done();
        }
    }

    /// How long the conversation stays loaded. That of a task is unloaded when other tasks wait.
    fn patience(&self) -> Duration {
        match (self.is_task, self.engine.queue.is_crowded()) {
            (true, true) => Duration::ZERO,
            (true, false) => TASK_PATIENCE,
            (false, _) if self.is_exec => EXEC_PATIENCE,
            (false, _) => PATIENCE,
        }
    }

    /// Gives up the open thread: it is not the conversation's any more.
    async fn leave_thread(&mut self) {
        if let Some(conversation) = self.conversation.take() {
            conversation.release().await;
        }
    }

    /// Lets the runtime unload the conversation.
    async fn release(self) {
        if let Some(conversation) = self.conversation {
            conversation.release().await;
        }
    }

    /// Runs every turn that has no outcome, in order.
    async fn run_what_waits(&mut self) -> Result<(), StoreError> {
        while let Some(turn) = self.next_turn().await? {
            let next = if self.engine.is_unwritten(&turn) { Purpose::Send } else { Purpose::TakeUp };
            let commands = self.handle.open();
            // An engine that ends stops every turn that is open by then, and begins no other.
            if self.engine.check_open().is_err() {
                self.handle.close();
                return Ok(());
            }
            let done = self.run_turn(&turn, next, commands).await;
            self.handle.close();
            if let Some(conversation) = &mut self.conversation {
                conversation.rest();
            }
            let report = done?;
            self.engine.withdraw_questions(&self.id).await?;
            self.after(&turn, &report).await?;
        }
        Ok(())
    }

    async fn next_turn(&self) -> Result<Option<TurnRow>, StoreError> {
        self.engine.shelf.store.next_unsettled(&self.id).await
    }

    /// `Err` means that nothing can be recorded any more: another engine is in charge, or this one ends.
    async fn run_turn(
        &mut self,
        turn: &TurnRow,
        next: Purpose,
        mut commands: mpsc::UnboundedReceiver<Command>,
    ) -> Result<Report, StoreError> {
        let shelf = self.engine.shelf.clone();
        let mut row = shelf
            .store
            .session(&self.id)
            .await?
            .ok_or_else(|| StoreError::UnknownSession(self.id.clone()))?;
        // A turn was undone, and its successor was recorded before this task learned of it.
        if row.started.is_none() {
            self.leave_thread().await;
        }
        let task = self.card(&row).await?;
        self.is_task = task.is_some();
        self.is_exec = row.kind == talaria_store::SessionKind::Exec;
        let owner = task.as_ref().map(|task| task.owner.clone());
        let card = task.clone();
        let progress = self.engine.review_progress(&row, owner.as_deref(), turn);
        let mut journal = Journal::new(shelf.clone(), self.handle.feed.clone(), self.id.clone(), turn, task);
        let last = shelf.store.last_turns(&self.id, None, 1).await?.pop();
        let behind = last.map_or(0, |last| last.ordinal - turn.ordinal);
        journal.follow_up(self.waiting(behind).await?);
        journal.learn(progress);
        let handle = self.handle.clone();
        if self.is_task && next == Purpose::Send {
            match self.wait_for_power(row, &mut commands, &mut journal).await? {
                Ok(granted) => row = granted,
                Err(report) => return refuse(&mut journal, report).await,
            }
        }
        if next == Purpose::Send
            && let Err(report) = self.wait_for_budget(&row, turn, &mut commands, &mut journal).await?
        {
            return refuse(&mut journal, report).await;
        }
        // Directories may have changed while a person was asked.
        let trouble = card.as_ref().and_then(|task| no_worktree(task).or_else(|| moved(&row)));
        if let Some(owner) = owner {
            let (queue, id) = (self.engine.queue.clone(), self.id.clone());
            let place = match next {
                Purpose::TakeUp => self.place.take().unwrap_or_else(|| queue.enter_at_once()),
                // It was about to be sent when an earlier engine ended, and has its place since.
                Purpose::Send if let Some(place) = self.place.take() => place,
                Purpose::Send => {
                    let place = queue.enter(&id, &owner);
                    match unless_stopped(place, &mut commands, &mut journal, &handle).await? {
                        Ok(place) => place,
                        Err(by) => return refuse(&mut journal, interrupted(by)).await,
                    }
                }
            };
            journal.take(place);
        }
        if let (Purpose::Send, Some(why)) = (next, trouble) {
            return refuse(&mut journal, failed(FailureCode::NotSent, why)).await;
        }
        let opened = match next {
            Purpose::Send => {
                let opened = self.open(&row, next);
                match unless_stopped(opened, &mut commands, &mut journal, &handle).await? {
                    Ok(opened) => opened,
                    // Codex may take long to come up. Nothing was sent: the turn is over at once.
                    Err(by) => return refuse(&mut journal, interrupted(by)).await,
                }
            }
            Purpose::TakeUp => self.open(&row, next).await,
        };
        std::mem::take(&mut self.untold).into_iter().for_each(|news| journal.background(news));
        let flight = match (opened, next) {
            (Ok(opened), Purpose::Send) => {
                journal.prompt(&turn.input_text);
                let contract = opened.contract;
                self.begin(&mut journal, opened.notice, opened.warnings);
                journal.tools(&row, contract, &self.offered, self.lack_notice(&row));
                for folder in self.engine.skills_named_in(&turn.input_text, &row.cwd).await {
                    journal.use_skill(&folder);
                }
                None
            }
            (Ok(mut opened), Purpose::TakeUp) => {
                let is_elsewhere = opened.gone.is_some();
                let (flown, forgotten) = opening::flight(&shelf, turn, &row, &mut opened).await?;
                journal.recall(&flown.flight.requests, forgotten);
                journal.count_again(&flown.events);
                if is_elsewhere {
                    self.begin(&mut journal, opened.notice, opened.warnings);
                } else if let Some(conversation) = &self.conversation {
                    // Nothing of what was reported about the conversation has changed.
                    journal.on(conversation.host(), conversation.in_force());
                    journal.confirm(&row, conversation.in_force());
                }
                journal.tools(&row, opened.contract, &self.offered, self.lack_notice(&row));
                Some(flown)
            }
            (Err(report), Purpose::Send) => return refuse(&mut journal, *report).await,
            (Err(report), Purpose::TakeUp) => {
                let why = report.message.clone().unwrap_or_default();
                let why = format!("Talaria ended while the turn ran; {why}");
                return self.lose(journal, turn, &row, why).await;
            }
        };
        let mut content = self.engine.unseal(turn);
        let is_readable = content.is_some();
        let mut is_longer = false;
        if let (Purpose::Send, false, Some(Content::Words(words))) = (next, turn.ours, &mut content)
            && words.context.is_none()
        {
            let hook = self.engine.run_turn_start(&row, turn);
            match unless_stopped(hook, &mut commands, &mut journal, &handle).await? {
                Ok((context, note)) => {
                    note.into_iter().for_each(|message| journal.event(Event::Warning { message }));
                    words.context = context;
                }
                Err(by) => return refuse(&mut journal, interrupted(by)).await,
            }
            if words.context.is_some() {
                journal.note_foreign_text();
                is_longer = true;
            }
        }
        let delegated = self.engine.delegated_by(&self.id).await?;
        if delegated.iter().any(|row| row.delivered_at.is_none()) {
            journal.expect_results();
        }
        if let (Some(Content::Words(words)), None) = (&mut content, &flight) {
            let results = self.engine.owed_results(turn.ordinal, &delegated).await;
            if is_longer || results.is_some() {
                self.engine.seal_additions(turn.ordinal, words, results, &mut journal).await?;
            }
        }
        let watch = self.watch_spending(&row, &mut journal).await?;
        let Some(conversation) = &mut self.conversation else { return Err(StoreError::Closed) };
        let (deed, input, context) = match content {
            Some(Content::Compaction) => (Deed::Compaction, Vec::new(), None),
            Some(Content::Words(words)) => (Deed::Words, words.input, words.context),
            None => (Deed::Words, Vec::new(), None),
        };
        let prompt = Prompt {
            deed,
            input,
            context,
            limit: turn.limit_ms.and_then(|limit| u64::try_from(limit).ok()).map(Duration::from_millis),
            client_id: Some(turn.client_id.clone()),
            escrow: self.engine.escrowed(&self.id).await?,
        };
        let report = match flight {
            None if !is_readable => {
                let what = "the prompt that was kept can no longer be read: the key of this home has changed";
                return refuse(&mut journal, failed(FailureCode::NotSent, what)).await;
            }
            None => conversation.run(prompt, &mut commands, &mut journal).await,
            Some(flown) => conversation.resume(prompt, flown, &mut commands, &mut journal).await,
        };
        self.is_over_budget = watch.is_some_and(|watch| watch.has_interrupted());
        match journal.broken_by().cloned() {
            None => Ok(report),
            // The write contradicts the rows, so writing it again does not help, and no other engine is in charge.
            Some(StoreError::Conflict(why)) => {
                let why = format!("Talaria could not record what happened in the turn: {why}");
                self.conversation = None;
                let task = self.card(&row).await?;
                let journal = Journal::new(shelf, self.handle.feed.clone(), self.id.clone(), turn, task);
                self.lose(journal, turn, &row, why).await
            }
            Some(_) => {
                self.conversation = None;
                Err(StoreError::Closed)
            }
        }
    }

    /// Ends a turn that cannot be followed any further, with its requests.
    async fn lose(
        &self,
        mut journal: Journal,
        turn: &TurnRow,
        row: &SessionRow,
        why: String,
    ) -> Result<Report, StoreError> {
        let (flown, _) = opening::flight(&self.engine.shelf, turn, row, &mut Opened::default()).await?;
        let mut report = lost(why);
        match runtime_of(row) {
            Some(Runtime::OwnLoop) => {
                report.usage = close_lost_turn(&self.engine, &mut journal, &self.id, &flown.events).await;
            }
            _ => flown.flight.requests.into_iter().for_each(|request| journal.abandon(request)),
        }
        refuse(&mut journal, report).await
    }

    /// The input of the last turns, which wait; at most this many.
    async fn waiting(&self, count: i64) -> Result<Vec<QueuedInput>, StoreError> {
        let count = u32::try_from(count).unwrap_or_default();
        if count == 0 {
            return Ok(Vec::new());
        }
        let rows = self.engine.shelf.store.last_turns(&self.id, None, count).await?;
        let input = |row: &TurnRow| match self.engine.unseal(row) {
            Some(Content::Words(words)) => words.input,
            _ => input::text(row.input_text.as_str()),
        };
        Ok(rows.iter().map(|row| QueuedInput::of(&input(row))).collect())
    }

    /// Facts about a task that the journal uses.
    async fn card(&self, row: &SessionRow) -> Result<Option<TaskContext>, StoreError> {
        let task = self.engine.shelf.store.task(&self.id).await?;
        Ok(task.zip(row.alias.clone()).map(|(task, id)| TaskContext::new(id, task)))
    }

    /// Notice, shown once, that a thread lacks tools. The configuration is read for such a thread only.
    fn lack_notice(&self, row: &SessionRow) -> Option<String> {
        if row.contract_said || contract::is_current(row.contract) {
            return None;
        }
        let tools = offered_tools(&self.engine.config());
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        contract::lack_notice(row.contract, &names)
    }

    /// Reports where the turn runs.
    fn begin(&self, journal: &mut Journal, notice: Option<String>, warnings: Vec<String>) {
        let Some(conversation) = &self.conversation else { return };
        journal.on(conversation.host(), conversation.in_force());
        journal.event(Event::SessionStarted(Box::new(conversation.in_force().clone())));
        if let Some(message) = notice {
            journal.event(Event::HostReplaced { message: redact(&message).into_owned() });
        }
        for message in warnings {
            journal.event(Event::Warning { message });
        }
    }

    /// Sees to it that the conversation is open.
    async fn open(&mut self, row: &SessionRow, next: Purpose) -> Result<Opened, Box<Report>> {
        let settings = Settings::of_row(row).ok_or_else(|| {
            Box::new(failed(FailureCode::NotSent, "the settings of the session cannot be read"))
        })?;
        let mut options = settings.options(self.engine.rules());
        options.tools = self.engine.tool_runner(&self.id, self.surroundings.clone());
        options.hook = self.engine.has_call_hook().then(|| self.engine.request_hook(&self.id));
        if self.is_task {
            // It may have been resumed with more: a task asks a person.
            options.answers = Answers::Person;
        }
        if next == Purpose::Send && self.opened_with != row.asked {
            // A person changed its permissions. It is opened again, and what is in force then is reported.
            self.conversation = None;
        }
        if let (Some(conversation), Purpose::Send) = (&mut self.conversation, next) {
            let messages = opening::messages(&self.engine.shelf, &self.id).await;
            conversation.prepare(options, messages, &settings, &self.surroundings);
            return Ok(Opened::default());
        }
        let surroundings = self.surroundings.clone();
        let (conversation, mut opened) =
            Conversation::open(&self.engine, row, &settings, options, surroundings, next).await?;
        self.offered = std::mem::take(&mut opened.offered);
        self.conversation = Some(conversation);
        // A turn in flight has what it began with; the next one compares that with what is asked for by then.
        let is_current =
            next == Purpose::Send || !Wanted::of_row(row).is_some_and(|wanted| wanted.is_changed());
        self.opened_with = row.asked.clone().filter(|_| is_current);
        self.watch_again().await;
        Ok(opened)
    }

    /// What follows the end of a turn.
    async fn after(&mut self, turn: &TurnRow, report: &Report) -> Result<(), StoreError> {
        self.call_turn_end(turn, report).await?;
        if let Some(message) = self.engine.write_snapshot(&self.id).await {
            let feed = self.handle.feed.clone();
            let mut journal = Journal::new(self.engine.shelf.clone(), feed, self.id.clone(), turn, None);
            journal.event(Event::Warning { message });
            journal.keep().await.map_err(|_| StoreError::Closed)?;
        }
        let store = &self.engine.shelf.store;
        let is_lost = matches!(report.outcome, Outcome::Lost { .. });
        // A kept answer is used by the turn after the loss, and by no other.
        store.expire_escrow(&self.id, self.engine.shelf.epoch, turn.ordinal, now_ms()).await?;
        // Input of the person runs before Talaria's own work.
        let is_next = self.next_turn().await?.is_none();
        let is_interrupted = std::mem::take(&mut self.is_over_budget)
            && matches!(report.outcome, Outcome::Interrupted { by: Who::Talaria });
        let words = match is_interrupted {
            // A person is asked before it is sent.
            true => Some(budgeting::GO_ON),
            false => (is_lost && !turn.ours && self.engine.continues_after_loss()).then_some(GO_ON),
        };
        if let Some(words) = words.filter(|_| is_next) {
            let text = input::text(words);
            let new = NewTurnRow {
                ordinal: turn.ordinal + 1,
                client_id: uuid::Uuid::now_v7().to_string(),
                input_sealed: self.engine.shelf.seal.close(&input::to_json(&text)).ok(),
                input_text: input::shown(&text),
                ours: true,
                ..NewTurnRow::default()
            };
            match self.engine.write(&self.id, vec![Change::NewTurn(new)]).await {
                // The person was faster.
                Err(StoreError::Conflict(_)) => {}
                written => written?,
            }
        }
        Ok(())
    }
}

impl Actor {
    /// Runs the hook for the end of a turn. The next turn does not wait for it.
    async fn call_turn_end(&self, turn: &TurnRow, report: &Report) -> Result<(), StoreError> {
        if self.engine.config().hooks.turn_end.is_none() {
            return Ok(());
        }
        let Some(row) = self.engine.shelf.store.session(&self.id).await? else { return Ok(()) };
        let (engine, feed) = (std::sync::Arc::clone(&self.engine), self.handle.feed.clone());
        let (turn, report) = (turn.clone(), report.clone());
        let mut ended = self.engine.ended.subscribe();
        self.engine.tasks.spawn(async move {
            let note = tokio::select! {
                note = engine.run_turn_end(&row, &turn, &report) => note,
                // The program is ended with the engine.
                _ = ended.wait_for(|ended| *ended) => None,
            };
            if let Some(message) = note {
                let mut journal = Journal::new(engine.shelf.clone(), feed, row.id, &turn, None);
                journal.event(Event::Warning { message });
                // Nothing can be written any more: the program fails again after the next turn.
                let _ = journal.keep().await;
            }
        });
        Ok(())
    }
}

/// Which directory of a task is not what it was when it was checked, if one is: a link in its place would open another.
fn moved(row: &SessionRow) -> Option<String> {
    let wanted: Wanted = serde_json::from_str(row.asked.as_deref()?).ok()?;
    let is_same = |path: &&str| std::fs::canonicalize(path).is_ok_and(|real| real.as_os_str() == *path);
    let other = wanted.directories().find(|path| !is_same(path))?;
    Some(format!("{other} is no longer the directory that the task was started with"))
}

/// Why a task cannot work in its worktree, if it cannot.
fn no_worktree(task: &TaskContext) -> Option<String> {
    let kept = task.worktree.as_ref()?;
    match &kept.discarded {
        Some(discarded) => Some(format!("the worktree of this task is gone ({discarded})")),
        None => kept.made.ready_roots().err().map(|error| error.to_string()),
    }
}

/// Ends a turn that cannot be run.
async fn refuse(journal: &mut Journal, mut report: Report) -> Result<Report, StoreError> {
    // The reason may quote what Codex said.
    event_redactor::cover_report(&mut report);
    journal.event(Event::Outcome(Box::new(report.clone())));
    journal.keep().await.map_err(|_| StoreError::Closed)?;
    Ok(report)
}

fn interrupted(by: Who) -> Report {
    Report::new(Outcome::Interrupted { by }, None, Usage::default(), 0)
}

fn lost(why: String) -> Report {
    Report::new(Outcome::Lost { why }, None, Usage::default(), 0)
}
