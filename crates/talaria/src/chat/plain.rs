//! The plain mode: the same conversation line by line, without redrawing, for screen readers, pipes and terminals that
//! cannot be drawn on.
//!
//! At a terminal lines are read at any time: while a turn runs they go to it or wait for the next, and while a question is
//! open they answer it. From a pipe each line is a turn of its own, one after another; there a question is answered by
//! `/approve` or `/deny` in the next line, or from elsewhere, and never by a line of text. A draft answer to a question
//! that is closed meanwhile is discarded: it may be a password, and is no message.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::Instant;

use talaria_core::api::{RequestInfo, When};
use talaria_core::config::Enter;
use talaria_tui::chat::RequestedSettings;
use talaria_tui::chat::commands::{Entry, SlashCommand};
use talaria_tui::chat::contract::{ChatEffect, News, PromptDraft};

use super::chat_context::shown_path;
use super::driver::{Driver, Turn};
use super::exit_message;
use super::signals::{Called, Signals};
use crate::keyboard::open_terminal;
use crate::line_loop::{self, Arrivals, LineFrontEnd};
use crate::line_reader::{LineReader, Reading, TypedLine};
use crate::questions::Questions;
use crate::requests::build;
use crate::trouble::{Trouble, complain, exit};
use crate::{look, progress, terminal_echo};

mod news;
mod page;
mod paper;
mod said;
#[cfg(test)]
mod tests;
mod typed;

use page::Page;
use said::Said;
use typed::Abandoned;

/// So much text of a pipe waits at most while a question is open; the rest stays in the pipe.
const MOST_HELD: usize = 1024 * 1024;
/// Width of the summary of a question that is asked again.
const ABOUT: usize = 60;
/// A first prompt that lost its conversation.
const NOT_SENT: &str = "the prompt of the command line was not sent\n";

/// Runs the conversation until the person leaves or the input ends. The number is the exit code.
pub(crate) async fn run(
    driver: Driver,
    prompt: Option<PromptDraft>,
    mut signals: Signals,
) -> Result<u8, Trouble> {
    // A line that comes and goes is nothing to be read line by line.
    progress::keep_quiet();
    let input = if io::stdin().is_terminal() { Input::Terminal } else { Input::Pipe };
    let page = Page::new(io::stdout(), look::of_stdout());
    let mut plain = Plain::new(driver, input, LineReader::of(io::stdin(), input.reading()), page);
    let begun = plain.begin(prompt);
    let ended = match begun {
        Ok(()) => line_loop::run(&mut plain, &mut signals).await,
        Err(error) => Err(error),
    };
    let ended = ended.and_then(|()| plain.page.end());
    terminal_echo::show();
    let why = plain.no_input();
    let left = plain.driver.leave().await;
    match ended {
        // The reader of our output has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(Trouble::new(exit::FAILED, "cannot write the output").because(error));
        }
        _ => complain(&format!("{why}{}", exit_message::words(&left))),
    }
    if let Some(signal) = signals.ended_by() {
        return Ok(signal.exit());
    }
    Ok(match plain.input {
        // A person has seen how each turn ended; a script reads the last one off the exit code.
        Input::Terminal => 0,
        Input::Pipe => match left.turn {
            Turn::Over | Turn::Queued => plain.code,
            // Why nothing is known has its own code.
            Turn::Unknown if plain.code != 0 => plain.code,
            _ => exit::INTERRUPTED,
        },
    })
}

/// From where lines come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// A person types them.
    Terminal,
    /// They are all there already, or a program writes them.
    Pipe,
}

impl Input {
    fn reading(self) -> Reading {
        match self {
            Self::Terminal => Reading::Ahead,
            Self::Pipe => Reading::OnDemand,
        }
    }
}

/// Whether the conversation continues, or the person leaves.
type Flow = ControlFlow<()>;

struct Plain<W: Write> {
    driver: Driver,
    page: Page<W>,
    lines: LineReader,
    input: Input,
    enter: Enter,
    questions: Questions,
    said: Said,
    /// The number of the question that is on the page.
    asked: Option<u64>,
    /// The question whose answer was being typed when it was closed: the next line is thrown away.
    abandoned: Option<Abandoned>,
    /// Lines of text from a pipe that have to wait until a question is settled.
    held: VecDeque<String>,
    /// Images of the command line, for the first message.
    images: Vec<String>,
    /// The conversation that the first prompt is for was not opened yet.
    awaits_first: bool,
    is_input_over: bool,
    has_input: bool,
    /// Codex is being asked what there is. Its answer is reported before a line is asked for; one that is typed is taken at once.
    is_looking: bool,
    /// Options of a new conversation.
    begins_with: RequestedSettings,
    was_interrupted: bool,
    /// Requests of other conversations that were reported.
    told_waiting: usize,
    /// What waits, as it was reported last.
    waiting: Vec<RequestInfo>,
    /// The exit code of the last turn.
    code: u8,
}

impl<W: Write> Plain<W> {
    fn new(driver: Driver, input: Input, lines: LineReader, page: Page<W>) -> Self {
        let enter = driver.context().settings.config.chat.enter.unwrap_or_default();
        let begins_with = driver.context().asked();
        Self {
            driver,
            page,
            lines,
            input,
            enter,
            questions: Questions::default(),
            said: Said::default(),
            asked: None,
            abandoned: None,
            held: VecDeque::new(),
            images: Vec::new(),
            awaits_first: false,
            is_input_over: false,
            has_input: false,
            is_looking: true,
            begins_with,
            was_interrupted: false,
            told_waiting: 0,
            waiting: Vec::new(),
            code: 0,
        }
    }

    /// Says what this is. The prompt of the command line waits as a line of a pipe does, until a turn can begin.
    fn begin(&mut self, prompt: Option<PromptDraft>) -> io::Result<()> {
        let PromptDraft { text, images } = prompt.unwrap_or_default();
        let prompt = Some(text).filter(|text| !text.is_empty());
        self.images = images;
        self.has_input = prompt.is_some();
        self.awaits_first = prompt.is_some();
        self.held.extend(prompt);
        if self.input == Input::Pipe {
            return Ok(());
        }
        let (version, cwd) = (env!("CARGO_PKG_VERSION"), shown_path(&self.driver.context().cwd));
        let head = format!(
            "Talaria {version} in {cwd}\n\
             type what you want done and press Enter; /help lists commands\n\
             Ctrl-D leaves; turns continue\n"
        );
        self.page.say(&talaria_render::plain(&head))
    }

    /// Nothing runs, and everything that was wished for is done.
    fn is_idle(&self) -> bool {
        !self.driver.is_busy() && !self.driver.is_running() && !self.driver.is_shell_running()
    }

    fn may_read(&self) -> bool {
        match self.input {
            _ if self.is_input_over => false,
            Input::Terminal => true,
            // An old conversation is shown first, and a question may be answered by the next line.
            Input::Pipe => {
                !self.driver.is_busy()
                    && self.page.is_caught_up()
                    && (self.is_idle() && self.held.is_empty()
                        || self.questions.first().is_some() && has_room(&self.held))
            }
        }
    }

    /// Makes sure that a person sees what is wanted of them, whatever was written meanwhile.
    fn want_line(&mut self) -> io::Result<()> {
        let is_asked = self.asked.is_some_and(|number| number > 0);
        if is_asked {
            self.page.ask_again()
        } else if self.is_idle() && self.abandoned.is_none() && !self.is_looking && self.page.is_caught_up() {
            self.page.sign()
        } else {
            self.page.withdraw();
            Ok(())
        }
    }

    /// Why the program ends although nothing was sent.
    fn no_input(&self) -> &'static str {
        if !self.is_input_over || self.has_input || self.input == Input::Terminal || self.was_interrupted {
            ""
        } else if self.driver.current().is_some() {
            "there was no input: the conversation was only shown\n"
        } else {
            "there was no input, so nothing was sent; `talaria` in a terminal asks for it, and from a pipe every line is a turn\n"
        }
    }

    /// Asks the first question, or says how it can be answered.
    fn put(&mut self) -> io::Result<()> {
        let Some((ticket, dialog)) = self.questions.first() else { return Ok(()) };
        if self.input == Input::Pipe {
            self.asked = Some(0);
            let how = if build::takes_yes(dialog.ask()) {
                format!("the line /approve or /deny, or elsewhere: talaria requests answer {ticket} accept")
            } else {
                format!("the line /deny declines it; {}", build::with_answers(ticket))
            };
            let how = format!("waiting for an answer: {how}\n");
            return self.page.say(&how);
        }
        let (is_secret, text) = (dialog.is_secret(), talaria_render::wanted(dialog, self.page.look()));
        terminal_echo::show();
        if is_secret && open_terminal().and_then(|terminal| terminal_echo::hide(&terminal)).is_err() {
            self.asked = Some(0);
            return self
                .page
                .say("this terminal cannot hide input; answer from another one: talaria requests list\n");
        }
        let look = self.page.look();
        let about = talaria_render::cut(
            &talaria_render::plain_line(&dialog.ask().label()),
            ABOUT,
            talaria_render::Paint::new(look),
        );
        let again = talaria_render::StyledText::from(format!("still open: {about}\n")) + text.clone();
        self.asked = Some(self.lines.question_is_put());
        self.page.ask(&text, &again)
    }

    fn enter(&mut self, entry: Entry, typed: &str) {
        // Lines of a program are not added to a person's history.
        if self.input == Input::Terminal {
            self.driver.wish(ChatEffect::Remember(typed.to_owned()));
        }
        match entry {
            Entry::Command(command) => {
                if let SlashCommand::Steer(text) | SlashCommand::Queue(text) = &command {
                    self.said.note(text);
                }
                self.driver.wish(ChatEffect::Run(command));
            }
            Entry::Shell(command) => self.driver.wish(ChatEffect::Shell(command)),
            Entry::Say(text) if self.input == Input::Pipe && !self.is_idle() => self.held.push_back(text),
            Entry::Say(text) => self.send(text),
        }
    }

    fn send(&mut self, text: String) {
        self.said.note(&text);
        let prompt = PromptDraft { text, images: std::mem::take(&mut self.images) };
        self.driver.wish(if self.driver.is_running() {
            let when = if self.enter == Enter::Steer { When::Now } else { When::Next };
            ChatEffect::Say(prompt, when)
        } else {
            self.was_interrupted = false;
            ChatEffect::Send(prompt)
        });
    }
}

/// May another line of a pipe wait here?
fn has_room(held: &VecDeque<String>) -> bool {
    // An empty string takes room, too.
    held.iter().map(|text| text.len() + size_of::<String>()).sum::<usize>() < MOST_HELD
}

impl Arrivals for Driver {
    type Arrival = Option<News>;

    async fn next(&mut self) -> Option<News> {
        Driver::next(self).await
    }

    fn waiting(&mut self) -> Option<Option<News>> {
        Driver::waiting(self).map(Some)
    }
}

impl Arrivals for Signals {
    type Arrival = Called;

    async fn next(&mut self) -> Called {
        Signals::next(self).await
    }
}

impl<W: Write> LineFrontEnd for Plain<W> {
    type News = Driver;
    type Signals = Signals;
    type End = ();
    type Error = io::Error;

    fn inputs(&mut self) -> (&mut Driver, Option<&mut LineReader>) {
        (&mut self.driver, Some(&mut self.lines))
    }

    fn take_news(&mut self, news: Option<News>) -> io::Result<Flow> {
        news.map_or(Ok(()), |news| self.show(news)).map(Flow::Continue)
    }

    /// The next action when there is no news: put a question, continue with the input, or leave.
    fn rest(&mut self) -> io::Result<Flow> {
        let may_put = self.asked.is_none() && self.abandoned.is_none() && self.page.is_caught_up();
        if may_put && self.questions.first().is_some() {
            self.put()?;
        }
        // From a pipe nothing is asked for while a turn runs, so that nothing would start the engine again.
        let is_left_alone = self.driver.is_engine_stopped() && !self.driver.is_busy();
        let is_expecting = self.driver.is_running() || !self.page.is_caught_up();
        if self.input == Input::Pipe && is_left_alone && is_expecting {
            return Ok(Flow::Break(()));
        }
        // What a script says next was meant for what it could not choose.
        if self.input == Input::Pipe && self.driver.is_choice_refused() {
            complain("the rest of the input was not read\n");
            return Ok(Flow::Break(()));
        }
        let may_send = self.is_idle() && self.page.is_caught_up();
        let next = if may_send { self.held.pop_front() } else { None };
        if let Some(text) = next {
            self.send(text);
        } else if self.is_input_over {
            let is_stuck = self.questions.first().is_some() && !self.driver.is_busy();
            if is_stuck {
                complain("a question is open, and no further line can answer it\n");
            }
            if self.is_idle() || is_stuck {
                return Ok(Flow::Break(()));
            }
        } else if self.input == Input::Terminal {
            self.want_line()?;
        }
        Ok(Flow::Continue(()))
    }

    fn wants_line(&mut self) -> bool {
        let may_read = self.may_read();
        if may_read {
            self.lines.want();
        }
        may_read
    }

    fn take_line(&mut self, line: TypedLine) -> io::Result<Flow> {
        self.read(line)
    }

    fn take_signal(&mut self, called: Called) -> io::Result<Flow> {
        if called == Called::Interrupt && self.input == Input::Terminal {
            self.page.note_interrupt()?;
        }
        match called {
            Called::GoOn => {
                self.page.resume();
                // A shell shows what is typed, and leaves it so.
                terminal_echo::hide_again();
                Ok(Flow::Continue(()))
            }
            // Here the system suspends the program: there is no handler for it.
            Called::Stop => Ok(Flow::Continue(())),
            Called::End => Ok(Flow::Break(())),
            Called::Interrupt if self.driver.is_shell_running() => {
                self.driver.wish(ChatEffect::StopShell);
                Ok(Flow::Continue(()))
            }
            Called::Interrupt if self.was_interrupted || self.input == Input::Pipe && self.is_idle() => {
                Ok(Flow::Break(()))
            }
            Called::Interrupt => {
                self.was_interrupted = true;
                if self.abandoned.take().is_some() {
                    // A draft answer to a closed question was discarded with the line.
                    terminal_echo::show();
                }
                if self.input == Input::Pipe {
                    // A stop of a pipe does not mean its next line.
                    self.is_input_over = true;
                    self.held.clear();
                } else if !self.held.is_empty() {
                    self.held.clear();
                    self.page.say(NOT_SENT)?;
                }
                if self.driver.is_running() || self.driver.is_busy() {
                    self.driver.wish(ChatEffect::Interrupt);
                } else {
                    self.page.say("Ctrl-C again leaves\n")?;
                }
                Ok(Flow::Continue(()))
            }
        }
    }

    fn due(&mut self) -> Option<Instant> {
        self.page.notice_due()
    }

    fn tick(&mut self) -> io::Result<()> {
        self.page.show_notice()
    }
}
