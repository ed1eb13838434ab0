//! The plain mode: the same conversation line by line, without redrawing, for screen readers, pipes and terminals that
//! cannot be drawn on.
//!
//! At a terminal lines are read at any time: while a turn runs they go to it or wait for the next, and while a question is
//! open they answer it. From a pipe each line is a turn of its own, one after another; there a question is answered by
//! `/approve` or `/deny` in the next line, or from elsewhere, and never by a line of text.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};

use talaria_core::api::When;
use talaria_core::config::Enter;
use talaria_core::event::Event;
use talaria_face::chat::commands::{self, Command, Entry};
use talaria_face::chat::contract::{Prompt, Wish};
use talaria_face::render;

use super::driver::Driver;
use super::farewell;
use super::signals::{Called, Signals};
use crate::echo;
use crate::trouble::{Trouble, complain, exit};

mod lines;
mod news;
mod page;
mod questions;

use lines::{Line, Lines};
use page::Page;
use questions::{Questions, Taken};

/// Runs the conversation until the person leaves or the input ends. The number is the exit code.
pub(crate) async fn run(driver: Driver, mut signals: Signals) -> Result<u8, Trouble> {
    let mut plain = Plain::new(driver);
    let ended = plain.run(&mut signals).await;
    echo::show();
    let words = farewell::words(&plain.driver);
    let has_left_running = plain.driver.is_running();
    plain.driver.leave().await;
    match ended {
        // Whoever read our output has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(Trouble::new(exit::FAILED, "cannot write the output").because(error));
        }
        _ => complain(&words.unwrap_or_default()),
    }
    Ok(match plain.input {
        // A person has seen how each turn ended; a script reads the last one off the exit code.
        Input::Terminal => 0,
        Input::Pipe if has_left_running => exit::INTERRUPTED,
        Input::Pipe => plain.code,
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

/// Does the conversation go on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    GoOn,
    Leave,
}

struct Plain {
    driver: Driver,
    page: Page,
    lines: Lines,
    input: Input,
    enter: Enter,
    questions: Questions,
    /// The number of the question that stands on the page.
    asked: Option<u64>,
    /// Lines of text from a pipe that have to wait until a question is settled.
    held: VecDeque<String>,
    is_input_over: bool,
    is_shell_running: bool,
    was_interrupted: bool,
    /// Requests of other conversations that were told.
    told_waiting: usize,
    /// The exit code of the last turn.
    code: u8,
}

impl Plain {
    fn new(driver: Driver) -> Self {
        let input = if io::stdin().is_terminal() { Input::Terminal } else { Input::Pipe };
        let enter = driver.desk().settings.config.chat.enter.unwrap_or_default();
        Self {
            driver,
            page: Page::new(),
            lines: Lines::open(),
            input,
            enter,
            questions: Questions::default(),
            asked: None,
            held: VecDeque::new(),
            is_input_over: false,
            is_shell_running: false,
            was_interrupted: false,
            told_waiting: 0,
            code: 0,
        }
    }

    async fn run(&mut self, signals: &mut Signals) -> io::Result<()> {
        if self.input == Input::Terminal {
            let (version, cwd) = (env!("CARGO_PKG_VERSION"), &self.driver.desk().cwd);
            let head = format!("Talaria {version} in {cwd}; /help says what can be typed, Ctrl-D leaves\n");
            self.page.say(&render::plain(&head))?;
        }
        loop {
            while let Some(news) = self.driver.waiting() {
                self.news(news)?;
            }
            if self.rest()? == Flow::Leave {
                return Ok(());
            }
            let may_read = self.may_read();
            tokio::select! {
                news = self.driver.next() => if let Some(news) = news { self.news(news)? },
                line = self.lines.next(), if may_read => {
                    if self.take_line(line)? == Flow::Leave {
                        return Ok(());
                    }
                }
                called = signals.next() => if self.called(called)? == Flow::Leave { return Ok(()) },
            }
        }
    }

    /// Nothing runs, and everything that was wished for is done.
    fn is_idle(&self) -> bool {
        !self.driver.is_busy() && !self.driver.is_running() && !self.is_shell_running
    }

    fn may_read(&self) -> bool {
        match self.input {
            _ if self.is_input_over => false,
            Input::Terminal => true,
            // A question may be answered by the next line.
            Input::Pipe => {
                !self.driver.is_busy()
                    && (self.is_idle() && self.held.is_empty() || self.questions.first().is_some())
            }
        }
    }

    /// What is to be done when there is no news: put a question, go on with the input, or leave.
    fn rest(&mut self) -> io::Result<Flow> {
        if self.questions.first().is_some() && self.asked.is_none() {
            self.put()?;
        }
        let next = if self.is_idle() { self.held.pop_front() } else { None };
        if let Some(text) = next {
            self.send(text);
        } else if self.is_input_over {
            let is_stuck = self.questions.first().is_some() && !self.driver.is_busy();
            if is_stuck {
                complain("a question is open, and no further line can answer it\n");
            }
            if self.is_idle() || is_stuck {
                return Ok(Flow::Leave);
            }
        } else if self.input == Input::Terminal && self.is_idle() {
            self.page.sign()?;
        }
        Ok(Flow::GoOn)
    }

    /// Puts the first question, or says how it can be answered.
    fn put(&mut self) -> io::Result<()> {
        let Some((ticket, dialog)) = self.questions.first() else { return Ok(()) };
        if self.input == Input::Pipe {
            self.asked = Some(0);
            let how = format!(
                "it waits for an answer: the line /approve or /deny, or elsewhere: talaria requests answer {ticket} accept\n"
            );
            return self.page.say(&how);
        }
        let (is_secret, text) = (dialog.is_secret(), render::wanted(dialog, self.page.look()));
        echo::show();
        if is_secret && hide().is_err() {
            self.asked = Some(0);
            return self
                .page
                .say("what is typed here would be seen; answer it elsewhere: talaria requests list\n");
        }
        self.asked = Some(self.lines.question_is_put());
        self.page.ask(&text)
    }

    fn take_line(&mut self, line: Line) -> io::Result<Flow> {
        self.page.line_came();
        let Some(text) = line.text else {
            self.is_input_over = true;
            // At a terminal the end of input means that the person leaves.
            return Ok(if self.input == Input::Terminal { Flow::Leave } else { Flow::GoOn });
        };
        let is_answer = self.input == Input::Terminal
            && self.questions.first().is_some()
            && self.asked == Some(line.asked)
            && !text.starts_with('/');
        if is_answer {
            return self.answer(&text).map(|()| Flow::GoOn);
        }
        if text.trim().is_empty() {
            self.asked = None;
            return Ok(Flow::GoOn);
        }
        match commands::read(&text) {
            Err(mistake) => {
                self.code = exit::USAGE;
                self.page.say(&render::plain(&mistake.to_string()))?;
            }
            Ok(Entry::Command(Command::Quit)) => return Ok(Flow::Leave),
            Ok(entry) => self.enter(entry, &text),
        }
        self.asked = None;
        Ok(Flow::GoOn)
    }

    fn enter(&mut self, entry: Entry, typed: &str) {
        // What a program writes is not what a person may want to type again.
        if self.input == Input::Terminal {
            self.driver.wish(Wish::Remember(typed.to_owned()));
        }
        match entry {
            Entry::Command(command) => {
                if let Command::Approve { request, .. } | Command::Deny { request, .. } = &command {
                    self.questions.leave_to_command(request.as_deref());
                }
                self.driver.wish(Wish::Run(command));
            }
            Entry::Shell(command) => {
                self.is_shell_running = true;
                self.driver.wish(Wish::Shell(command));
            }
            Entry::Say(text) if self.input == Input::Pipe && !self.is_idle() => self.held.push_back(text),
            Entry::Say(text) => self.send(text),
        }
    }

    fn send(&mut self, text: String) {
        let prompt = Prompt { text, images: Vec::new() };
        self.driver.wish(if self.driver.is_running() {
            let when = if self.enter == Enter::Steer { When::Now } else { When::Next };
            Wish::Say(prompt, when)
        } else {
            self.was_interrupted = false;
            Wish::Send(prompt)
        });
    }

    fn answer(&mut self, line: &str) -> io::Result<()> {
        echo::show();
        self.asked = None;
        match self.questions.take(line) {
            Taken::Ask => Ok(()),
            Taken::Wish(wish) => {
                self.driver.wish(wish);
                Ok(())
            }
        }
    }

    fn called(&mut self, called: Called) -> io::Result<Flow> {
        match called {
            Called::GoOn => Ok(Flow::GoOn),
            Called::End => Ok(Flow::Leave),
            Called::Interrupt if self.is_shell_running => {
                self.driver.wish(Wish::StopShell);
                Ok(Flow::GoOn)
            }
            Called::Interrupt if self.was_interrupted || self.input == Input::Pipe && self.is_idle() => {
                Ok(Flow::Leave)
            }
            Called::Interrupt => {
                self.was_interrupted = true;
                if self.input == Input::Pipe {
                    // Whoever stops a pipe does not mean its next line.
                    self.is_input_over = true;
                    self.held.clear();
                }
                if self.driver.is_running() || self.driver.is_busy() {
                    self.driver.wish(Wish::Interrupt);
                } else {
                    self.page.say("Ctrl-C again leaves\n")?;
                }
                Ok(Flow::GoOn)
            }
        }
    }

    /// Learns of questions, and of how a turn ended.
    fn learn(&mut self, event: &Event) {
        if matches!(event, Event::RequestClosed { .. } | Event::Outcome(_)) {
            self.asked = None;
            echo::show();
        }
        self.questions.event(event);
        if let Event::Outcome(report) = event {
            self.code = report.exit;
            self.was_interrupted = false;
        }
    }
}

/// Hides what is typed.
fn hide() -> io::Result<()> {
    echo::hide(&std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty")?)
}
