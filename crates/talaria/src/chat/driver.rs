//! Carries out the wishes of a chat front end, and reports news: the one driver of the screen and of the plain mode.
//!
//! Nothing here blocks the loop of a front end: every wish is a concurrent errand, whose results are returned as news.
//! Leaving drops everything but the last words (`leaving`); the turn is the engine's and continues.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use talaria_core::api::{RequestInfo, SessionInfo, SessionStarted};
use talaria_core::ids::SessionId;
use talaria_tui::chat::contract::{ChatEffect, News};
use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::chat_context::{ChatContext, Chosen};
use super::errand::{Done, Errand, Place};
use super::files::Files;
use super::history::History;
use super::login::LoginSlot;
use super::pending_wishes::PendingWishes;
use super::progress::Progress;
use super::{errand, watch, words};
use crate::conversation::news::{News as Arrived, Stream};
use crate::last_open::LastOpen;

mod choosing;
mod command;
mod following;
mod leaving;
mod stopping;
#[cfg(test)]
pub(super) mod tests;
mod void;

use following::Away;
pub(crate) use leaving::{Left, Turn};

/// At most this many results may wait for the face.
const AHEAD: usize = 1024;
/// At most this many requests of other conversations are remembered as shown.
const SHOWN: usize = 16;

/// The engine room of one chat.
pub(crate) struct Driver {
    context: Arc<ChatContext>,
    files: Arc<Files>,
    history: Arc<History>,
    last_open: LastOpen,
    current: Option<Current>,
    chosen: Chosen,
    /// The last choice in any conversation: the next new conversation begins with it.
    for_new: Chosen,
    /// No turn was asked for yet with what was chosen.
    is_choice_unused: bool,
    progress: Progress,
    stream: Option<Stream>,
    /// Counts the conversations that were on the screen: results for one are not reported to the next.
    epoch: u64,
    /// The first message is on its way; what follows it waits.
    is_beginning: bool,
    held: VecDeque<ChatEffect>,
    /// A choice is being made of where the next words go, or of what answers them; they wait for it.
    is_choosing: bool,
    after_choice: VecDeque<ChatEffect>,
    is_choice_refused: bool,
    /// The exit code of the last message that began no turn.
    unsent: Option<u8>,
    shell: Option<Shell>,
    /// Requests of other conversations whose whole text was shown, as it was shown; the newest last.
    shown: VecDeque<RequestInfo>,
    away: Away,
    /// Whether the reason for the engine's absence was reported.
    is_absence_explained: bool,
    pending_wishes: PendingWishes,
    results: mpsc::Receiver<Done>,
    teller: mpsc::Sender<Done>,
    errands: JoinSet<()>,
    look_again: Arc<Notify>,
    login: Arc<LoginSlot>,
    ready: VecDeque<News>,
}

/// The conversation on the screen.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) id: SessionId,
    pub(crate) cwd: String,
}

/// A command of the person that runs.
#[derive(Debug)]
struct Shell {
    number: u64,
    task: AbortHandle,
    since: Instant,
}

impl Driver {
    /// Begins with a conversation, or with none.
    pub(crate) fn new(context: ChatContext, history: History, opened: Option<SessionInfo>) -> Self {
        let chosen = Chosen {
            provider: context.provider_for(opened.as_ref()),
            model: context.wanted.model.clone(),
            effort: context.wanted.effort.clone(),
            ..Chosen::default()
        };
        let (teller, results) = mpsc::channel(AHEAD);
        let mut driver = Self {
            last_open: LastOpen::in_home(context.settings.home.root()),
            context: Arc::new(context),
            files: Arc::default(),
            history: Arc::new(history),
            current: None,
            is_choice_unused: chosen != Chosen::default(),
            for_new: chosen.clone(),
            chosen,
            progress: Progress::default(),
            stream: None,
            epoch: 0,
            is_beginning: false,
            held: VecDeque::new(),
            is_choosing: false,
            after_choice: VecDeque::new(),
            is_choice_refused: false,
            unsent: None,
            shell: None,
            shown: VecDeque::new(),
            away: Away::default(),
            is_absence_explained: false,
            pending_wishes: PendingWishes::default(),
            results,
            teller,
            errands: JoinSet::new(),
            look_again: Arc::default(),
            login: Arc::default(),
            ready: VecDeque::new(),
        };
        if let Some(info) = opened {
            driver.open(info);
        }
        driver.look_around();
        let (context, again) = (Arc::clone(&driver.context), Arc::clone(&driver.look_again));
        driver.errands.spawn(watch::run(context, again, driver.teller.clone()));
        driver
    }

    /// What every errand needs.
    pub(crate) fn context(&self) -> &ChatContext {
        &self.context
    }

    /// The conversation on the screen.
    pub(crate) fn current(&self) -> Option<&Current> {
        self.current.as_ref()
    }

    /// Is a turn running, as far as was reported?
    pub(crate) fn is_running(&self) -> bool {
        self.progress.is_running()
    }

    /// Does a command of the person run, or wait to run?
    pub(crate) fn is_shell_running(&self) -> bool {
        self.shell.is_some() || self.has_waiting_shell()
    }

    /// Did a person stop the engine? It is started again by the next wish that needs it.
    pub(crate) fn is_engine_stopped(&self) -> bool {
        self.away.is_stopped
    }

    /// Does the engine not answer?
    pub(super) fn is_engine_away(&self) -> bool {
        self.away.is_missed()
    }

    /// Whether an errand is running.
    pub(crate) fn is_busy(&self) -> bool {
        !self.pending_wishes.is_empty() || self.is_beginning || !self.ready.is_empty()
    }

    /// Returns, once, the exit code of a message that started no turn.
    pub(crate) fn take_unsent(&mut self) -> Option<u8> {
        self.unsent.take()
    }

    /// Starts a wish. `next` returns its result.
    pub(crate) fn wish(&mut self, wish: ChatEffect) {
        match wish {
            wish if self.waits_for_choice(&wish) => self.after_choice.push_back(wish),
            // They need the name of a conversation that is being made.
            ChatEffect::Send(_) | ChatEffect::Say(..) if self.is_beginning => self.held.push_back(wish),
            ChatEffect::Send(prompt) => {
                // Another chat may have been opened here since, and this one may not live to say so.
                self.note_open();
                self.begin(Errand::Send(prompt));
            }
            ChatEffect::Say(prompt, _) if self.current.is_none() => self.begin(Errand::Send(prompt)),
            ChatEffect::Say(prompt, when) => self.run(Errand::Say(prompt, when)),
            ChatEffect::Interrupt => self.interrupt(),
            ChatEffect::Answer { ticket, answer, digest } => {
                self.run(Errand::Answer { ticket, answer, digest });
            }
            ChatEffect::Older { before } => self.run(Errand::Older { before }),
            ChatEffect::Files(letters) => self.run(Errand::Files(letters)),
            ChatEffect::Names => self.run(Errand::Names),
            ChatEffect::Image(pasted) => self.run(Errand::Image(pasted)),
            ChatEffect::Clipboard => self.run(Errand::Clipboard),
            ChatEffect::Shell(_) if self.shell.is_some() => {
                let what = "a shell command is already running: Ctrl-C stops it".to_owned();
                self.ready.push_back(News::Refused { what, prompt: None, ticket: None });
            }
            ChatEffect::Shell(command) => {
                let (number, task) = self.spawn(Errand::Shell(command));
                self.shell = Some(Shell { number, task, since: Instant::now() });
            }
            ChatEffect::StopShell => {
                self.stop_shell();
                self.take_back_shell();
            }
            ChatEffect::Run(command) => self.command(command),
            ChatEffect::Remember(line) => {
                let number = self.pending_wishes.begin(Some("your input, for the history".to_owned()));
                let (history, teller) = (Arc::clone(&self.history), self.teller.clone());
                self.errands.spawn_blocking(move || {
                    // A history that cannot be written is not worth a word.
                    drop(history.add(&line));
                    drop(teller.blocking_send(Done::Over(number)));
                });
            }
            // The face leaves, and everything here with it.
            ChatEffect::Leave => {}
        }
    }

    /// Waits for news. `None` means that something was settled without news.
    ///
    /// Nothing is lost when this is cancelled.
    pub(crate) async fn next(&mut self) -> Option<News> {
        if let Some(news) = self.ready.pop_front() {
            return Some(news);
        }
        tokio::select! {
            arrived = next_of(&mut self.stream) => self.take_arrival(arrived),
            Some(done) = self.results.recv() => self.done(done),
            Some(ended) = self.errands.join_next() => stand_by(ended),
        }
        self.ready.pop_front()
    }

    /// Returns what has arrived, without waiting.
    pub(crate) fn waiting(&mut self) -> Option<News> {
        while self.ready.is_empty() {
            if let Some(arrived) = self.stream.as_mut().and_then(Stream::waiting) {
                self.take_arrival(arrived);
            } else {
                let Ok(done) = self.results.try_recv() else { break };
                self.done(done);
            }
        }
        self.ready.pop_front()
    }

    fn begin(&mut self, errand: Errand) {
        self.is_beginning = self.current.is_none();
        self.run(errand);
    }

    fn run(&mut self, errand: Errand) {
        self.spawn(errand);
    }

    fn spawn(&mut self, errand: Errand) -> (u64, AbortHandle) {
        let number = self.pending_wishes.begin(errand.name());
        (number, self.errands.spawn(errand::run(errand, number, self.place(), self.teller.clone())))
    }

    /// Looks what a conversation here would begin with, and what is missing for it.
    fn look_around(&mut self) {
        self.errands.spawn(errand::look_around(self.place(), self.teller.clone()));
    }

    fn place(&self) -> Place {
        Place {
            context: Arc::clone(&self.context),
            files: Arc::clone(&self.files),
            session: self.current.as_ref().map(|current| current.id.clone()),
            cwd: self
                .current
                .as_ref()
                .map_or_else(|| self.context.cwd.clone(), |current| current.cwd.clone()),
            chosen: self.chosen.clone(),
            reported: self.progress.reported().clone(),
            epoch: self.epoch,
            look_again: Arc::clone(&self.look_again),
            login: Arc::clone(&self.login),
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::News(news) => {
                if let News::Answered { ticket } = &news {
                    self.progress.answered(ticket);
                }
                self.ready.push_back(news);
            }
            Done::About { news, of, epoch } => {
                let is_here = epoch == self.epoch;
                self.ready.push_back(if is_here { news } else { words::of_left(news, of.as_ref()) });
            }
            Done::Started { started, epoch } => self.started(started, epoch),
            Done::NotStarted { news, exit, epoch } => {
                self.unsent = Some(exit);
                if epoch == self.epoch {
                    self.is_beginning = false;
                }
                self.ready.push_back(news);
                if epoch == self.epoch {
                    self.give_back_held("the previous message did not start a turn");
                    // A turn that is in the way is shown again, so that the message can go to it.
                    if !self.is_engine_stopped() {
                        self.follow_again(epoch);
                    }
                }
            }
            Done::Stopping { turn, epoch } => self.stopping(turn, epoch),
            Done::Open(info) => {
                // A conversation has its own settings.
                let dropped = std::mem::take(&mut self.chosen);
                self.open(*info);
                if std::mem::take(&mut self.is_choice_unused) {
                    self.ready.push_back(News::Reply(words::not_used(&dropped).into()));
                }
            }
            Done::Chosen(chosen, reply) => {
                let is_other_provider = chosen.provider != self.chosen.provider;
                (self.chosen, self.for_new) = (chosen.clone(), chosen);
                self.is_choice_unused = true;
                self.tell_chosen();
                if self.current.is_none() {
                    self.tell_permissions();
                }
                if is_other_provider && self.current.is_none() {
                    self.look_around();
                }
                self.ready.push_back(News::Reply(reply.into()));
            }
            Done::ChoiceMade(choice) => self.finish_choice(choice),
            Done::Shell { number, news } => {
                // Late output of a stopped command is dropped.
                if self.shell.as_ref().is_some_and(|shell| shell.number == number) {
                    if matches!(news, News::ShellEnded { .. }) {
                        self.shell = None;
                    }
                    self.ready.push_back(news);
                }
            }
            Done::Shown(request, text) => {
                self.shown.retain(|shown| shown.id != request.id);
                self.shown.push_back(*request);
                let over = self.shown.len().saturating_sub(SHOWN);
                self.shown.drain(..over);
                self.ready.push_back(News::Reply(text));
            }
            Done::FollowAgain { epoch } => self.follow_again(epoch),
            Done::EngineSeen(seen) => self.engine_seen(seen),
            Done::Over(number) => {
                self.pending_wishes.end(number);
                if self.is_engine_stopped() {
                    // It may have started the engine.
                    self.look_again.notify_one();
                }
            }
        }
    }

    fn started(&mut self, started: SessionStarted, epoch: u64) {
        let SessionStarted { id, turn, .. } = started;
        if epoch != self.epoch {
            let id = id.short();
            let words = format!("the conversation {id} continues without you; /resume {id} opens it");
            return self.ready.push_back(News::Reply(words.into()));
        }
        self.progress.started(turn);
        self.is_choice_unused = false;
        match self.current.clone() {
            None => {
                self.follow(Current { id: id.clone(), cwd: self.context.cwd.clone() });
                self.note_open();
            }
            // For any reason of its end: otherwise an unwatched turn would count as running indefinitely.
            Some(current) if self.stream.is_none() => self.follow(current),
            Some(_) => {}
        }
        self.is_beginning = false;
        self.ready.push_back(News::Started { session: id, turn });
        std::mem::take(&mut self.held).into_iter().for_each(|wish| self.wish(wish));
    }
}

async fn next_of(stream: &mut Option<Stream>) -> Arrived {
    match stream {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}

/// An errand that panicked is a mistake of ours: the chat ends with it, and says so.
fn stand_by(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
