//! The task of one session: opens the conversation on a host, runs its turns one after another, and takes up what an
//! engine that is gone left behind.
//!
//! Everything that a turn needs is in the store; this task can end at any moment, and another one goes on from there. It
//! ends by itself when nothing was to be done for a while.

use std::time::Duration;

use talaria_codex_proto::settle::Deed;
use talaria_core::event::{Event, QueuedInput, Usage};
use talaria_core::ids::SessionId;
use talaria_core::input::InputPart;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::policy::Answers;
use talaria_core::request::Who;
use talaria_core::veil;
use talaria_guard::redact::redact;
use talaria_store::{Change, NewTurn, StoreError, TurnRow};
use tokio::sync::mpsc;

use crate::engine::Inner;
use crate::engine::journal::{Card, Journal};
use crate::engine::run::desk::{Seat, Work};
use crate::engine::run::input::{self, Content};
use crate::engine::run::opening::{self, Opened, Purpose};
use crate::engine::run::settings::{Settings, Wanted};
use crate::engine::tasks::queue::Place;
use crate::engine::tasks::worktrees::Kept;
use talaria_codex::conversation::{BackgroundNews, Command, Prompt, Session, Watcher as _, When};
use talaria_codex::spec::Surroundings;
use talaria_home::clock::now_ms;

mod attending;

/// How long a session that does nothing keeps its conversation loaded.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// How long one of a task does.
const TASK_PATIENCE: Duration = Duration::from_secs(60);
/// How long one of a single command does: nobody is likely to go on with it, and who does finds it on its host.
const EXEC_PATIENCE: Duration = Duration::from_secs(5);
/// The longest pause between two tries to go on.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// What Codex is told when it is asked to go on after it was lost.
const GO_ON: &str = "Codex was stopped in the middle of the previous turn and has been started again. Some of its steps \
                     may not have been finished. Look at how things stand, then go on.";

/// The task of one session.
pub(crate) struct Actor {
    engine: std::sync::Arc<Inner>,
    id: SessionId,
    seat: Seat,
    inbox: mpsc::UnboundedReceiver<Work>,
    session: Option<Session>,
    /// The environment of the command that asked last.
    surroundings: Surroundings,
    is_task: bool,
    /// One prompt on the command line, which as a rule is the last.
    is_exec: bool,
    /// What became of background commands, until a journal can be told.
    untold: Vec<BackgroundNews>,
    /// The place of a turn that an earlier engine left running, until that is taken up.
    place: Option<Place>,
}

impl Actor {
    pub(crate) fn new(
        engine: std::sync::Arc<Inner>,
        id: SessionId,
        seat: Seat,
        inbox: mpsc::UnboundedReceiver<Work>,
    ) -> Self {
        let surroundings = Surroundings::own();
        Self {
            engine,
            id,
            seat,
            inbox,
            session: None,
            surroundings,
            is_task: false,
            is_exec: false,
            untold: Vec::new(),
            place: None,
        }
    }

    /// Works until nothing is to be done for a while.
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
            match work {
                Work::Turn(surroundings) => self.surroundings = surroundings,
                Work::Recover(place) => self.place = place,
                Work::Background => {
                    if let Err(error) = self.take_up_background().await {
                        tracing::error!(
                            "session {}: its background commands are not followed: {error}",
                            self.id
                        );
                    }
                    self.seat.done();
                    continue;
                }
            }
            let mut pause = Duration::from_millis(50);
            while let Err(error) = self.run_what_waits().await {
                if !error.may_pass() {
                    tracing::error!("session {} stops: {error}", self.id);
                    break;
                }
                // A turn that is written down is run: a store that is busy or full is waited for.
                tracing::warn!("session {} waits: {error}", self.id);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            self.place = None;
            self.engine.queue.leave(&self.id);
            self.seat.done();
        }
    }

    /// How long the conversation stays loaded. One of a task makes room for those that wait.
    fn patience(&self) -> Duration {
        match (self.is_task, self.engine.queue.is_crowded()) {
            (true, true) => Duration::ZERO,
            (true, false) => TASK_PATIENCE,
            (false, _) if self.is_exec => EXEC_PATIENCE,
            (false, _) => PATIENCE,
        }
    }

    /// Lets Codex unload the conversation.
    async fn release(self) {
        if let Some(session) = self.session {
            let thread = session.started().thread.clone();
            session.host().get().release_thread(&thread).await;
        }
    }

    /// Runs every turn that has no outcome, in order.
    async fn run_what_waits(&mut self) -> Result<(), StoreError> {
        while let Some(turn) = self.next_turn().await? {
            let next = if self.engine.is_unwritten(&turn) { Purpose::Send } else { Purpose::TakeUp };
            let commands = self.seat.open();
            // An engine that ends tells every turn to stop that is open by then, and begins no other.
            if self.engine.check_open().is_err() {
                self.seat.close();
                return Ok(());
            }
            let done = self.run_turn(&turn, next, commands).await;
            self.seat.close();
            if let Some(session) = &mut self.session {
                session.rest();
            }
            let report = done?;
            self.after(&turn, &report).await?;
        }
        Ok(())
    }

    async fn next_turn(&self) -> Result<Option<TurnRow>, StoreError> {
        self.engine.shelf.store.next_unsettled(&self.id).await
    }

    /// `Err` means that nothing can be written down any more: somebody else is in charge, or the engine ends.
    async fn run_turn(
        &mut self,
        turn: &TurnRow,
        next: Purpose,
        mut commands: mpsc::UnboundedReceiver<Command>,
    ) -> Result<Report, StoreError> {
        let shelf = self.engine.shelf.clone();
        let row = shelf
            .store
            .session(&self.id)
            .await?
            .ok_or_else(|| StoreError::UnknownSession(self.id.clone()))?;
        let task = self.card(&row).await?;
        self.is_task = task.is_some();
        self.is_exec = row.kind == talaria_store::SessionKind::Exec;
        let owner = task.as_ref().map(|task| task.owner.clone());
        let trouble = task.as_ref().and_then(|task| no_worktree(task).or_else(|| moved(&row)));
        let mut journal = Journal::new(shelf.clone(), self.seat.feed.clone(), self.id.clone(), turn, task);
        let last = shelf.store.last_turns(&self.id, None, 1).await?.pop();
        let behind = last.map_or(0, |last| last.ordinal - turn.ordinal);
        journal.follow_up(self.waiting(behind).await?);
        let seat = self.seat.clone();
        if let Some(owner) = owner {
            let (queue, id) = (self.engine.queue.clone(), self.id.clone());
            let place = match next {
                Purpose::TakeUp => self.place.take().unwrap_or_else(|| queue.enter_at_once()),
                // It was about to be sent when an earlier engine ended, and has its place since.
                Purpose::Send if let Some(place) = self.place.take() => place,
                Purpose::Send => {
                    let place = queue.enter(&id, &owner);
                    match unless_stopped(place, &mut commands, &mut journal, &seat).await? {
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
                match unless_stopped(opened, &mut commands, &mut journal, &seat).await? {
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
                self.begin(&mut journal, opened.notice, opened.warnings);
                None
            }
            (Ok(mut opened), Purpose::TakeUp) => {
                let is_elsewhere = opened.gone.is_some();
                let (flown, forgotten) = opening::flight(&shelf, turn, &row, &mut opened).await?;
                journal.recall(&flown.flight.requests, forgotten);
                if is_elsewhere {
                    self.begin(&mut journal, opened.notice, opened.warnings);
                } else if let Some(session) = &self.session {
                    // Nothing of what was told about the conversation has changed.
                    journal.on(&session.host().get(), session.started());
                    journal.confirm(&row, session.started());
                }
                Some(flown)
            }
            (Err(report), Purpose::Send) => return refuse(&mut journal, *report).await,
            (Err(report), Purpose::TakeUp) => {
                let (flown, _) = opening::flight(&shelf, turn, &row, &mut Opened::default()).await?;
                for request in flown.flight.requests {
                    journal.abandon(request);
                }
                let why = report.message.clone().unwrap_or_default();
                return refuse(&mut journal, lost(format!("Talaria ended while the turn ran; {why}"))).await;
            }
        };
        let Some(session) = &mut self.session else { return Err(StoreError::Closed) };
        let content = self.engine.unseal(turn);
        let is_readable = content.is_some();
        let (deed, input) = match content {
            Some(Content::Compaction) => (Deed::Compaction, Vec::new()),
            Some(Content::Words(input)) => (Deed::Words, input),
            None => (Deed::Words, Vec::new()),
        };
        let prompt = Prompt {
            deed,
            input,
            limit: turn.limit_ms.and_then(|limit| u64::try_from(limit).ok()).map(Duration::from_millis),
            client_id: Some(turn.client_id.clone()),
            escrow: self.engine.escrowed(&self.id).await?,
        };
        let report = match flight {
            None if !is_readable => {
                let what = "the prompt that was kept can no longer be read: the key of this home has changed";
                return refuse(&mut journal, failed(FailureCode::NotSent, what)).await;
            }
            None => session.run(prompt, &mut commands, &mut journal).await,
            Some(flown) => session.take_up(prompt, flown, &mut commands, &mut journal).await,
        };
        if journal.is_broken() {
            self.session = None;
            return Err(StoreError::Closed);
        }
        Ok(report)
    }

    /// The input of the last so many turns, which wait.
    async fn waiting(&self, count: i64) -> Result<Vec<QueuedInput>, StoreError> {
        let count = u32::try_from(count).unwrap_or_default();
        if count == 0 {
            return Ok(Vec::new());
        }
        let rows = self.engine.shelf.store.last_turns(&self.id, None, count).await?;
        let input = |row: &TurnRow| match self.engine.unseal(row) {
            Some(Content::Words(words)) => words,
            _ => input::text(row.input_text.as_str()),
        };
        Ok(rows.iter().map(|row| QueuedInput::of(&input(row))).collect())
    }

    /// What the journal has to know of a task.
    async fn card(&self, row: &talaria_store::SessionRow) -> Result<Option<Card>, StoreError> {
        let task = self.engine.shelf.store.task(&self.id).await?;
        let card = |(task, id): (talaria_store::TaskRow, String)| {
            let worktree = Kept::of(&task);
            Card { id, owner: task.owner, notify: task.notify, worktree }
        };
        Ok(task.zip(row.alias.clone()).map(card))
    }

    /// Tells where the turn runs.
    fn begin(&self, journal: &mut Journal, notice: Option<String>, warnings: Vec<String>) {
        let Some(session) = &self.session else { return };
        journal.on(&session.host().get(), session.started());
        journal.event(Event::SessionStarted(Box::new(session.started().clone())));
        if let Some(message) = notice {
            journal.event(Event::HostReplaced { message: redact(&message).into_owned() });
        }
        for message in warnings {
            journal.event(Event::Warning { message });
        }
    }

    /// Sees to it that the conversation is open on a host.
    async fn open(&mut self, row: &talaria_store::SessionRow, next: Purpose) -> Result<Opened, Box<Report>> {
        let settings = Settings::kept(row).ok_or_else(|| {
            Box::new(failed(FailureCode::NotSent, "the settings of the session cannot be read"))
        })?;
        let mut options = settings.options(self.engine.rules());
        if self.is_task {
            // Whoever resumed it with more: a task asks a person.
            options.answers = Answers::Person;
        }
        if let (Some(session), Purpose::Send) = (&mut self.session, next) {
            session.set_options(options);
            session.remember(opening::messages(&self.engine.shelf, &self.id).await);
            return Ok(Opened::default());
        }
        let (session, opened) =
            opening::open(&self.engine, row, &settings, options, self.surroundings.clone(), next).await?;
        self.session = Some(session);
        self.watch_again().await;
        Ok(opened)
    }

    /// What follows the end of a turn.
    async fn after(&mut self, turn: &TurnRow, report: &Report) -> Result<(), StoreError> {
        let store = &self.engine.shelf.store;
        let is_lost = matches!(report.outcome, Outcome::Lost { .. });
        // A kept answer serves the turn after the loss, and no other.
        store.expire_escrow(&self.id, self.engine.shelf.epoch, turn.ordinal, now_ms()).await?;
        // What the person wants next goes before what nobody asked for.
        let is_next = self.next_turn().await?.is_none();
        if is_lost && is_next && !turn.ours && self.engine.continues_after_loss() {
            let text = input::text(GO_ON);
            let new = NewTurn {
                ordinal: turn.ordinal + 1,
                client_id: uuid::Uuid::now_v7().to_string(),
                input_sealed: self.engine.shelf.seal.close(&input::to_json(&text)).ok(),
                input_text: input::shown(&text),
                ours: true,
                ..NewTurn::default()
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

/// Which directory of a task is not what it was when it was checked, if one is: a link in its place would open another.
fn moved(row: &talaria_store::SessionRow) -> Option<String> {
    let wanted: Wanted = serde_json::from_str(row.asked.as_deref()?).ok()?;
    let is_same = |path: &&str| std::fs::canonicalize(path).is_ok_and(|real| real.as_os_str() == *path);
    let other = wanted.directories().find(|path| !is_same(path))?;
    Some(format!("{other} is not the directory any more that the task was started with"))
}

/// Why a task cannot work in its worktree, if it cannot.
fn no_worktree(task: &Card) -> Option<String> {
    let kept = task.worktree.as_ref()?;
    match &kept.discarded {
        Some(discarded) => Some(format!("the worktree of this task is gone ({discarded})")),
        None => kept.made.ready_roots().err().map(|error| error.to_string()),
    }
}

/// Waits for what a turn needs before it can be sent, or for somebody who wants it to stop: then it gives who. Input for
/// the next turn is written down meanwhile; what else is wanted is told again, for the turn to take.
async fn unless_stopped<T>(
    ready: impl Future<Output = T>,
    commands: &mut mpsc::UnboundedReceiver<Command>,
    journal: &mut Journal,
    seat: &Seat,
) -> Result<Result<T, Who>, StoreError> {
    let mut others = Others { commands: Vec::new(), seat };
    tokio::pin!(ready);
    loop {
        let command = tokio::select! {
            ready = &mut ready => return Ok(Ok(ready)),
            Some(command) = commands.recv() => command,
        };
        match command {
            Command::Interrupt { by } => return Ok(Err(by)),
            // Nothing runs yet that could take it, so it waits, also if it was meant for this turn.
            Command::Say { input, when, limit, kept } => match queue(journal, input, limit) {
                Ok(queued) => {
                    journal.event(queued);
                    journal.keep().await.map_err(|_| StoreError::Closed)?;
                    // Whoever asked may have gone.
                    kept.map(|kept| kept.send(When::Next));
                }
                Err(input) => others.commands.push(Command::Say { input, when, limit, kept }),
            },
            other => others.commands.push(other),
        }
    }
}

/// Writes down input for the next turn; gives it back if that cannot be done.
fn queue(
    journal: &mut Journal,
    input: Vec<InputPart>,
    limit: Option<Duration>,
) -> Result<Event, Vec<InputPart>> {
    let queued = QueuedInput::of(&input);
    journal.queue(input, limit).map(|waiting| Event::Queued { waiting, input: queued })
}

/// Commands that came too early; told again when this is dropped.
struct Others<'a> {
    commands: Vec<Command>,
    seat: &'a Seat,
}

impl Drop for Others<'_> {
    fn drop(&mut self) {
        for command in self.commands.drain(..) {
            self.seat.tell(command);
        }
    }
}

/// Ends a turn that cannot be run.
async fn refuse(journal: &mut Journal, mut report: Report) -> Result<Report, StoreError> {
    // The reason may quote what Codex said.
    veil::cover_report(&mut report);
    journal.event(Event::Outcome(Box::new(report.clone())));
    journal.keep().await.map_err(|_| StoreError::Closed)?;
    Ok(report)
}

pub(crate) fn failed(code: FailureCode, message: impl Into<String>) -> Report {
    Report::new(Outcome::Failed { code, message: message.into() }, None, Usage::default(), 0)
}

fn interrupted(by: Who) -> Report {
    Report::new(Outcome::Interrupted { by }, None, Usage::default(), 0)
}

fn lost(why: String) -> Report {
    Report::new(Outcome::Lost { why }, None, Usage::default(), 0)
}
