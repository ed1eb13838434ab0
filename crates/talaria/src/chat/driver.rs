//! Carries out what a face of the chat wishes, and tells it what comes: the one engine room of the screen and of the plain
//! mode.
//!
//! Nothing here waits in the loop of a face: every wish is an errand beside it, whose results come back as news. Leaving
//! drops everything; the turn is the engine's and goes on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use talaria_core::api::{SessionInfo, SessionStarted, When};
use talaria_core::ids::SessionId;
use talaria_face::chat::commands::Command;
use talaria_face::chat::contract::{News, Prompt, Wish};
use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::desk::{Chosen, Desk};
use super::errand::{Done, Errand, Place};
use super::files::Files;
use super::history::History;
use super::progress::Progress;
use super::{errand, watch, words};
use crate::conversation::news::{News as Arrived, Stream};
use crate::exec::milliseconds;

/// So many results may wait for the face.
const AHEAD: usize = 1024;
/// Of a long conversation so many events are read at first; older ones when they are looked at.
const TAIL: i64 = 4000;
/// How long the last words may take when a person leaves.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long is waited before a conversation that can no longer be followed is followed again.
const AGAIN: Duration = Duration::from_secs(1);

/// The engine room of one chat.
pub(crate) struct Driver {
    desk: Arc<Desk>,
    files: Arc<Files>,
    history: Arc<History>,
    current: Option<Current>,
    chosen: Chosen,
    progress: Progress,
    stream: Option<Stream>,
    /// Counts the conversations that were on the screen: what was asked for one is not told to the next.
    epoch: u64,
    /// The first message is on its way; what follows it waits.
    is_beginning: bool,
    held: VecDeque<Wish>,
    /// A choice is being made of where the next words go, or of what answers them; they wait for it.
    is_choosing: bool,
    after_choice: VecDeque<Wish>,
    shell: Option<(AbortHandle, Instant)>,
    away: Away,
    open_errands: usize,
    results: mpsc::Receiver<Done>,
    teller: mpsc::Sender<Done>,
    errands: JoinSet<()>,
    look_again: Arc<Notify>,
    ready: VecDeque<News>,
}

/// The conversation on the screen.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) id: SessionId,
    pub(crate) cwd: String,
}

/// Who misses the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Away {
    stream: bool,
    watch: bool,
}

impl Driver {
    /// Begins with a conversation, or with none.
    pub(crate) fn new(desk: Desk, history: History, opened: Option<SessionInfo>) -> Self {
        let chosen = Chosen { model: desk.wanted.model.clone(), effort: desk.wanted.effort.clone() };
        let (teller, results) = mpsc::channel(AHEAD);
        let mut driver = Self {
            desk: Arc::new(desk),
            files: Arc::default(),
            history: Arc::new(history),
            current: None,
            chosen,
            progress: Progress::default(),
            stream: None,
            epoch: 0,
            is_beginning: false,
            held: VecDeque::new(),
            is_choosing: false,
            after_choice: VecDeque::new(),
            shell: None,
            away: Away::default(),
            open_errands: 0,
            results,
            teller,
            errands: JoinSet::new(),
            look_again: Arc::default(),
            ready: VecDeque::new(),
        };
        if let Some(info) = opened {
            driver.open(info);
        }
        let place = driver.place();
        driver.errands.spawn(errand::look_around(place, driver.teller.clone()));
        let (desk, again) = (Arc::clone(&driver.desk), Arc::clone(&driver.look_again));
        driver.errands.spawn(watch::run(desk, again, driver.teller.clone()));
        driver
    }

    /// What every errand needs.
    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// The conversation on the screen.
    pub(crate) fn current(&self) -> Option<&Current> {
        self.current.as_ref()
    }

    /// Does a turn run, as far as was told?
    pub(crate) fn is_running(&self) -> bool {
        self.progress.is_running()
    }

    /// Is something under way that was wished for?
    pub(crate) fn is_busy(&self) -> bool {
        self.open_errands > 0 || self.is_beginning || !self.ready.is_empty()
    }

    /// Takes a wish. What comes of it is told by `next`.
    pub(crate) fn wish(&mut self, wish: Wish) {
        match wish {
            Wish::Send(_) | Wish::Say(..) | Wish::Shell(_) | Wish::Run(_) if self.is_choosing => {
                self.after_choice.push_back(wish);
            }
            // Both need the name of a conversation that is being made.
            Wish::Send(_) | Wish::Say(..) | Wish::Interrupt if self.is_beginning => self.held.push_back(wish),
            Wish::Send(prompt) => self.begin(Errand::Send(prompt)),
            Wish::Say(prompt, _) if self.current.is_none() => self.begin(Errand::Send(prompt)),
            Wish::Say(prompt, when) => self.run(Errand::Say(prompt, when)),
            Wish::Interrupt => self.run(Errand::Interrupt),
            Wish::Answer { ticket, answer, digest } => self.run(Errand::Answer { ticket, answer, digest }),
            Wish::Older { before } => self.run(Errand::Older { before }),
            Wish::Files(letters) => self.run(Errand::Files(letters)),
            Wish::Image(pasted) => self.run(Errand::Image(pasted)),
            Wish::Shell(command) => {
                self.stop_shell();
                self.shell = Some((self.spawn(Errand::Shell(command)), Instant::now()));
            }
            Wish::StopShell => self.stop_shell(),
            Wish::Run(command) => self.command(command),
            Wish::Remember(line) => {
                let history = Arc::clone(&self.history);
                // A history that cannot be written is not worth a word.
                self.errands.spawn_blocking(move || drop(history.add(&line)));
            }
            // The face leaves, and everything here with it.
            Wish::Leave => {}
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::New => {
                self.close();
                self.ready.push_back(News::Opened(None));
            }
            Command::Stop => self.wish(Wish::Interrupt),
            Command::Steer(text) => self.say(text, When::Now),
            Command::Queue(text) => self.say(text, When::Next),
            command => {
                self.is_choosing = errand::is_choice(&command);
                self.run(Errand::Command(command));
            }
        }
    }

    fn say(&mut self, text: String, when: When) {
        let prompt = Prompt { text, images: Vec::new() };
        self.wish(Wish::Say(prompt, when));
    }

    /// Waits for something to tell. `None` means that something was settled without a word.
    ///
    /// Nothing is lost when this is cancelled.
    pub(crate) async fn next(&mut self) -> Option<News> {
        if let Some(news) = self.ready.pop_front() {
            return Some(news);
        }
        tokio::select! {
            arrived = next_of(&mut self.stream) => self.arrived(arrived),
            Some(done) = self.results.recv() => self.done(done),
            Some(ended) = self.errands.join_next() => stand_by(ended),
        }
        self.ready.pop_front()
    }

    /// Gives what is there already.
    pub(crate) fn waiting(&mut self) -> Option<News> {
        while self.ready.is_empty() {
            if let Some(arrived) = self.stream.as_mut().and_then(Stream::waiting) {
                self.arrived(arrived);
            } else {
                let Ok(done) = self.results.try_recv() else { break };
                self.done(done);
            }
        }
        self.ready.pop_front()
    }

    /// Lets what was said last reach the engine, for a moment.
    pub(crate) async fn leave(mut self) {
        self.stop_shell();
        let last_words = async {
            while self.open_errands > 0 {
                let Some(done) = self.results.recv().await else { return };
                if matches!(done, Done::Over) {
                    self.open_errands -= 1;
                }
            }
        };
        // An errand that takes longer was none of the short ones that matter.
        let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
    }

    fn begin(&mut self, errand: Errand) {
        self.is_beginning = self.current.is_none();
        self.run(errand);
    }

    fn run(&mut self, errand: Errand) {
        self.spawn(errand);
    }

    fn spawn(&mut self, errand: Errand) -> AbortHandle {
        self.open_errands += 1;
        self.errands.spawn(errand::run(errand, self.place(), self.teller.clone()))
    }

    fn place(&self) -> Place {
        Place {
            desk: Arc::clone(&self.desk),
            files: Arc::clone(&self.files),
            session: self.current.as_ref().map(|current| current.id.clone()),
            cwd: self.current.as_ref().map_or_else(|| self.desk.cwd.clone(), |current| current.cwd.clone()),
            chosen: self.chosen.clone(),
            epoch: self.epoch,
            look_again: Arc::clone(&self.look_again),
        }
    }

    fn stop_shell(&mut self) {
        if let Some((shell, since)) = self.shell.take().filter(|(shell, _)| !shell.is_finished()) {
            // Codex ends the command when nobody listens any more.
            shell.abort();
            self.open_errands = self.open_errands.saturating_sub(1);
            let (took_ms, note) = (milliseconds(since.elapsed()), Some("stopped".to_owned()));
            self.ready.push_back(News::ShellEnded { exit: None, took_ms, note });
        }
    }

    fn close(&mut self) {
        self.epoch += 1;
        (self.current, self.stream) = (None, None);
        (self.progress, self.is_beginning) = (Progress::default(), false);
        self.held.clear();
        self.missed(Away { stream: false, ..self.away });
    }

    fn open(&mut self, info: SessionInfo) {
        self.close();
        let after = info.last_seq.saturating_sub(TAIL).max(0);
        self.progress.open(&info, after);
        self.follow(Current { id: info.id.clone(), cwd: info.cwd.clone() });
        self.ready.push_back(News::Opened(Some(Box::new(info))));
        self.tell_caught_up();
    }

    /// Follows a conversation from behind what was told of it.
    fn follow(&mut self, current: Current) {
        self.stream = Some(Stream::follow(&self.desk.client, &current.id, self.progress.last_seq()));
        self.current = Some(current);
    }

    fn arrived(&mut self, arrived: Arrived) {
        match arrived {
            Arrived::Event(numbered) => {
                self.progress.take(&numbered);
                self.ready.push_back(News::Event(numbered));
                self.tell_caught_up();
            }
            Arrived::Away => self.missed(Away { stream: true, ..self.away }),
            Arrived::Back => self.missed(Away { stream: false, ..self.away }),
            Arrived::Over(error) => {
                self.stream = None;
                self.missed(Away { stream: true, ..self.away });
                if let Some(error) = error.filter(|error| !crate::engine::may_come_back(error)) {
                    let trouble = crate::engine::refused("the conversation cannot be followed now", &error);
                    self.ready.push_back(words::refused(&trouble));
                }
                let (teller, epoch) = (self.teller.clone(), self.epoch);
                self.errands.spawn(async move {
                    tokio::time::sleep(AGAIN).await;
                    drop(teller.send(Done::FollowAgain { epoch }).await);
                });
            }
        }
    }

    fn tell_caught_up(&mut self) {
        if self.progress.has_just_caught_up() {
            self.ready.push_back(News::CaughtUp);
        }
    }

    fn missed(&mut self, away: Away) {
        let (was, is) = (self.away != Away::default(), away != Away::default());
        self.away = away;
        match (was, is) {
            (false, true) => self.ready.push_back(News::Away),
            (true, false) => self.ready.push_back(News::Back),
            _ => {}
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::News(news) => self.ready.push_back(news),
            Done::Started { started, epoch } => self.started(started, epoch),
            Done::NotStarted { news, epoch } => {
                if epoch == self.epoch {
                    self.is_beginning = false;
                }
                self.ready.push_back(news);
                // What was to follow the first message is for the person to decide again.
                std::mem::take(&mut self.held).into_iter().for_each(|wish| self.wish(wish));
            }
            Done::Open(info) => {
                // A conversation has its own settings.
                self.chosen = Chosen::default();
                self.open(*info);
            }
            Done::Chosen(chosen, reply) => {
                self.chosen = chosen.clone();
                let Chosen { model, effort } = chosen;
                self.ready.push_back(News::Chosen { model, effort });
                self.ready.push_back(News::Reply(reply));
            }
            Done::ChoiceMade => {
                self.is_choosing = false;
                std::mem::take(&mut self.after_choice).into_iter().for_each(|wish| self.wish(wish));
            }
            Done::FollowAgain { epoch } => {
                if let Some(current) = self.current.clone().filter(|_| epoch == self.epoch) {
                    self.follow(current);
                    self.missed(Away { stream: false, ..self.away });
                }
            }
            Done::EngineSeen(is_there) => self.missed(Away { watch: !is_there, ..self.away }),
            Done::Over => self.open_errands = self.open_errands.saturating_sub(1),
        }
    }

    fn started(&mut self, started: SessionStarted, epoch: u64) {
        let SessionStarted { id, turn, .. } = started;
        if epoch != self.epoch {
            let words = format!("the conversation {id} goes on without you; /resume {id} opens it");
            return self.ready.push_back(News::Reply(words));
        }
        self.progress.started(turn);
        if self.current.is_none() {
            self.follow(Current { id: id.clone(), cwd: self.desk.cwd.clone() });
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
