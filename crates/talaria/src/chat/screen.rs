//! The screen: passes keys and news to the chat, its frames to the terminal, its wishes to the driver.
//!
//! A frame is drawn when something has changed, and not more often than eyes can follow. While nothing happens nothing
//! is done, except that a running turn lets its clocks tick.

use std::io::{self, Stdout};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::EventStream;
use futures_util::StreamExt;
use jiff::Timestamp;
use ratatui_core::backend::Backend;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::{Terminal, TerminalOptions, Viewport};
use ratatui_crossterm::CrosstermBackend;
use talaria_core::config::Theme;
use talaria_render::{Highlighter, Look};
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::{ChatEffect, ChatInput, Code, KeyPress, News, PromptDraft};
use talaria_tui::chat::draw::draw;
use talaria_tui::chat::{Chat, ChatFrame, Opens, Setup};

use super::driver::Driver;
use super::exit_message;
use super::signals::{Called, Signals};
use crate::stops::EndSignal;
use crate::trouble::{Trouble, complain, exit};
use crate::{look, progress};

mod aside;
mod guard;
mod keys;

pub(crate) use guard::restore_within;

use guard::Guard;
use keys::Came;

/// How long a frame is shown at least.
const FRAME: Duration = Duration::from_millis(16);
/// How often clocks tick.
const TICK: Duration = Duration::from_millis(100);

/// Runs the conversation until the person leaves. The number is the exit code.
pub(crate) async fn run(
    driver: Driver,
    said: Vec<String>,
    prompt: Option<PromptDraft>,
    mut signals: Signals,
) -> Result<u8, Trouble> {
    let cannot = |error: io::Error| {
        Trouble::new(exit::FAILED, "cannot use the terminal")
            .because(error)
            .try_this("`talaria --plain` works without it")
    };
    let chat = Chat::new(setup(&driver, said));
    signals.listen_for_stops()?;
    // Other output would be written into the screen.
    progress::keep_quiet();
    let guard = Guard::take().map_err(cannot)?;
    let terminal = blank(size().map_err(cannot)?).map_err(cannot)?;
    let mut screen = Screen { chat, driver, terminal, guard, since: Instant::now(), shown: None };
    if let Some(prompt) = prompt {
        screen.begin(prompt);
    }
    let ended = screen.run(&mut signals).await;
    let Screen { driver, guard, terminal, .. } = screen;
    let is_lost = guard.is_lost();
    drop(guard);
    // It would show the cursor again, on a screen that is no longer its own.
    drop(terminal);
    complain(&exit_message::words(&driver.leave().await));
    if is_lost {
        return Err(Trouble::new(exit::FAILED, "a part of the chat failed; its message is above"));
    }
    ended.map(|()| signals.ended_by().map_or(0, EndSignal::exit)).map_err(cannot)
}

fn setup(driver: &Driver, history: Vec<String>) -> Setup {
    let context = driver.context();
    let config = &context.settings.config;
    let found = look::of_stdout();
    // Without colours there is one theme; with them the person chooses.
    let theme = if found.color { config.chat.theme.unwrap_or_default() } else { Theme::Mono };
    Setup {
        look: Look { color: true, live: true, ..found },
        theme,
        enter: config.chat.enter.unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cwd: context.cwd.clone(),
        home: std::env::var("HOME").ok(),
        asked: context.asked(),
        history,
    }
}

/// Whether the conversation continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    GoOn,
    Leave,
}

struct Screen {
    chat: Chat,
    driver: Driver,
    terminal: Terminal<CrosstermBackend<Stdout>>,
    guard: Guard,
    since: Instant,
    /// The frame on the terminal.
    shown: Option<(ChatFrame, Theme)>,
}

impl Screen {
    async fn run(&mut self, signals: &mut Signals) -> io::Result<()> {
        let mut events = EventStream::new();
        // Reading them takes a while; code is plain until then.
        let mut syntaxes = tokio::task::spawn_blocking(|| Arc::new(Highlighter::load()));
        let mut are_loaded = false;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Something may have changed since the last frame.
        let mut is_stale = true;
        let mut drawn = Instant::now() - FRAME;
        loop {
            if self.guard.is_lost() {
                return Ok(());
            }
            self.tell_time();
            if is_stale && drawn.elapsed() >= FRAME {
                is_stale = false;
                self.show()?;
                drawn = Instant::now();
                // Drawing may show that older events are needed.
                self.grant();
            }
            let frame_is_due = tokio::time::sleep_until((drawn + FRAME).into());
            let is_ticking = self.chat.is_ticking();
            let flow = tokio::select! {
                // Keys before time: a letter decides when nothing has followed it, also if the loop was busy for a while.
                // News last: it may come without an end.
                biased;
                came = events.next() => {
                    is_stale = true;
                    match came {
                        Some(Ok(event)) => self.handle_arrival(keys::read(event))?,
                        // The terminal is gone, or can no longer be read.
                        Some(Err(_)) | None => Flow::Leave,
                    }
                }
                called = signals.next() => {
                    is_stale = true;
                    self.handle_signal(called)?
                }
                () = self.guard.wait_for_panic() => Flow::GoOn,
                loaded = &mut syntaxes, if !are_loaded => {
                    (are_loaded, is_stale) = (true, true);
                    if let Ok(syntaxes) = loaded {
                        self.chat.use_syntaxes(syntaxes);
                    }
                    Flow::GoOn
                }
                _ = ticks.tick(), if is_ticking => {
                    is_stale = true;
                    self.chat.tick(self.since.elapsed());
                    self.grant()
                }
                () = frame_is_due, if is_stale => Flow::GoOn,
                news = self.driver.next() => {
                    is_stale |= self.take_news(news);
                    self.grant()
                }
            };
            if flow == Flow::Leave {
                return Ok(());
            }
        }
    }

    /// Sends the prompt of the command line; to a conversation that is opened first, once all of it has been reported.
    fn begin(&mut self, prompt: PromptDraft) {
        let opens = if self.driver.current().is_some() { Opens::Conversation } else { Opens::Nothing };
        self.chat.begin_with(self.since.elapsed(), prompt, opens);
        self.grant();
    }

    /// The clock on the wall may be set at any time, and continues while the machine sleeps.
    fn tell_time(&mut self) {
        self.chat.set_clock(self.since.elapsed(), Timestamp::now());
    }

    /// Processes all pending news; returns whether there were any.
    fn take_news(&mut self, news: Option<News>) -> bool {
        self.tell_time();
        let now = self.since.elapsed();
        let mut next = news;
        let mut has_come = false;
        // A flood is shown in parts, so that keys are processed in between.
        for _ in 0..1024 {
            let Some(news) = next else { break };
            has_come = true;
            self.chat.news(now, news);
            next = self.driver.waiting();
        }
        if let Some(news) = next {
            self.chat.news(now, news);
        }
        has_come
    }

    fn handle_arrival(&mut self, came: Came) -> io::Result<Flow> {
        match came {
            Came::Input(input) => {
                fault_at(&input);
                self.chat.input(self.since.elapsed(), input);
                Ok(self.grant())
            }
            // It returns as a signal, to this program as to the others of its job.
            Came::Suspend => {
                aside::wish();
                Ok(Flow::GoOn)
            }
            Came::Resized => self.redraw(),
            Came::Nothing => Ok(Flow::GoOn),
        }
    }

    fn handle_signal(&mut self, called: Called) -> io::Result<Flow> {
        match called {
            Called::End => Ok(Flow::Leave),
            Called::Stop if aside::can_come_back() => {
                self.guard.lend(aside::stop)?;
                self.redraw()
            }
            Called::Stop => Ok(Flow::GoOn),
            Called::GoOn => {
                self.guard.retake()?;
                self.redraw()
            }
            // The terminal sends no such signal now: another program did, and means the key.
            Called::Interrupt => {
                let key = KeyPress { code: Code::Char('c'), ctrl: true, alt: false, shift: false };
                self.chat.input(self.since.elapsed(), ChatInput::Key(key));
                Ok(self.grant())
            }
        }
    }

    fn redraw(&mut self) -> io::Result<Flow> {
        self.shown = None;
        self.terminal = blank(size()?)?;
        Ok(Flow::GoOn)
    }

    /// Passes the wishes of the chat to the driver.
    fn grant(&mut self) -> Flow {
        for wish in self.chat.wishes() {
            match wish {
                ChatEffect::Leave | ChatEffect::Run(SlashCommand::Quit) => return Flow::Leave,
                // A request that was not reported has not been seen, and a yes to it would be blind.
                ChatEffect::Run(SlashCommand::Approve { request: Some(id), .. }) => {
                    let what = format!("{id} is not open; /requests lists the open ones");
                    let refused = News::Refused { what, prompt: None, ticket: None };
                    self.chat.news(self.since.elapsed(), refused);
                }
                wish => self.driver.wish(wish),
            }
        }
        Flow::GoOn
    }

    /// Draws the chat, if it looks different.
    fn show(&mut self) -> io::Result<()> {
        let area = size()?;
        if self.terminal.get_frame().area() != area {
            self.redraw()?;
        }
        let frame = self.chat.frame(area.width, area.height, self.since.elapsed());
        let theme = self.chat.theme();
        if self.shown.as_ref().is_some_and(|(shown, as_theme)| *shown == frame && *as_theme == theme) {
            self.chat.drawn(self.since.elapsed());
            return Ok(());
        }
        self.terminal.draw(|target| {
            draw(&frame, theme, target.buffer_mut());
            if let Some(cursor) = frame.cursor {
                target.set_cursor_position(cursor);
            }
        })?;
        self.chat.drawn(self.since.elapsed());
        self.shown = Some((frame, theme));
        Ok(())
    }
}

/// How large the window is.
fn size() -> io::Result<Rect> {
    let (width, height) = crossterm::terminal::size()?;
    Ok(Rect::new(0, 0, width, height))
}

/// An empty window. Its size is passed in and never asked of the terminal, which would answer in the middle of the keys.
fn blank(area: Rect) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let mut backend = CrosstermBackend::new(io::stdout());
    backend.clear()?;
    Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })
}

/// Lets a test see what becomes of the terminal when the program panics.
fn fault_at(input: &ChatInput) {
    let is_enter = matches!(input, ChatInput::Key(KeyPress { code: Code::Enter, .. }));
    if is_enter && talaria_home::faults::is_panic_wanted("chat") {
        #[expect(clippy::panic, reason = "a test wants to see it; never in a release")]
        {
            panic!("a fault that a test asked for");
        }
    }
}
