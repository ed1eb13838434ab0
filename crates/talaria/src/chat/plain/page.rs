//! Output of the plain mode: turns as `exec` shows them, our own messages between them, and prompts. Nothing is redrawn,
//! but a prompt is repeated below later output.
//!
//! It is made for screen readers: reasoning is folded to its heading, and the settings in force are reported when
//! they change.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use talaria_core::api::Numbered;
use talaria_core::event::{Event, Started};
use talaria_core::ids::ItemId;
use talaria_core::item::{Author, ItemBody};
use talaria_render::{HELD_NOTICE, Look, Renderer, StyledText, TerminalRenderer, plain, writer};

use super::paper::{Paper, Row};

/// The prompt before a typed line.
const SIGN: &str = "> ";

/// The page that grows.
pub(super) struct Page<W: Write> {
    look: Look,
    turn: i64,
    paper: Paper<W>,
    renderer: TerminalRenderer<Paper<W>>,
    /// The prompt to repeat after later output.
    prompt: Option<String>,
    /// The settings in force, as reported last.
    started: Option<Box<Started>>,
    /// When the first event happened that came of this conversation.
    began: Option<Timestamp>,
    /// Events of the last turn, while an old conversation is being read.
    past: Option<Vec<Numbered>>,
    /// When a notice that the renderer holds back is shown at the latest.
    notice_due: Option<Instant>,
}

impl<W: Write> Page<W> {
    /// An empty page; nothing on it is drawn again.
    pub(super) fn new(out: W, look: Look) -> Self {
        let (look, paper) = (Look { live: false, ..look }, Paper::new(out));
        let renderer = TerminalRenderer::new(paper.clone(), look);
        let (prompt, started, began, past, notice_due) = (None, None, None, None, None);
        Self { look, turn: 0, paper, renderer, prompt, started, began, past, notice_due }
    }

    /// Capabilities of the output.
    pub(super) fn look(&self) -> Look {
        self.look
    }

    /// Another conversation. An old one follows up to `caught_up`.
    pub(super) fn opening(&mut self, past: Past) {
        (self.turn, self.began, self.started) = (0, None, None);
        self.renderer = TerminalRenderer::new(self.paper.clone(), self.look);
        self.past = (past == Past::Follows).then(Vec::new);
    }

    /// Has everything old come?
    pub(super) fn is_caught_up(&self) -> bool {
        self.past.is_none()
    }

    /// Did this happen before everything that was read?
    pub(super) fn is_before(&self, at: Timestamp) -> bool {
        self.began.is_some_and(|began| at < began)
    }

    /// Everything old has come: its last turn is shown.
    pub(super) fn caught_up(&mut self) -> io::Result<()> {
        let past = self.past.take().unwrap_or_default();
        self.turn = 0;
        let ended: HashSet<&ItemId> =
            past.iter().filter_map(|numbered| ended_step(&numbered.event)).collect();
        // A step that has ended is reported once.
        let is_told =
            |numbered: &&Numbered| !started_step(&numbered.event).is_some_and(|item| ended.contains(item));
        for numbered in past.iter().filter(is_told) {
            if let Some(text) = person_message(&numbered.event) {
                self.person(text)?;
            }
            self.event(numbered)?;
        }
        Ok(())
    }

    /// Shows an event; of an old conversation only those of its last turn.
    pub(super) fn event(&mut self, numbered: &Numbered) -> io::Result<()> {
        self.began.get_or_insert(numbered.at);
        if let Some(past) = &mut self.past {
            // What belongs to no turn is between the events of one.
            if let Some(turn) = numbered.turn.filter(|turn| *turn > self.turn) {
                self.turn = turn;
                past.clear();
            }
            past.push(numbered.clone());
            return Ok(());
        }
        if let Some(turn) = numbered.turn.filter(|turn| *turn > self.turn) {
            self.renderer.close()?;
            if self.turn > 0 {
                self.paper.write_all(b"\n")?;
            }
            (self.turn, self.renderer) = (turn, TerminalRenderer::new(self.paper.clone(), self.look));
            if let Some(started) = &self.started {
                self.renderer.know(started);
            }
        }
        match &numbered.event {
            Event::SessionStarted(started) if self.started.as_ref() == Some(started) => return Ok(()),
            Event::SessionStarted(started) => self.started = Some(started.clone()),
            Event::SettingsConfirmed { model, effort } => {
                if let Some(started) = &mut self.started {
                    (started.model, started.effort) = (model.clone(), effort.clone());
                }
            }
            Event::ReasoningDelta { .. } => return Ok(()),
            Event::ItemCompleted { item } => {
                if let ItemBody::Reasoning { summary, content } = &item.body {
                    let parts = if summary.is_empty() { content } else { summary };
                    self.renderer.thought(&parts.join("\n\n"))?;
                    return self.renderer.flush();
                }
            }
            _ => {}
        }
        self.renderer.numbered(self.time(numbered.at), numbered)?;
        self.notice_due = match self.notice_due {
            _ if !self.renderer.has_held_notice() => None,
            None => Some(Instant::now() + HELD_NOTICE),
            due => due,
        };
        self.renderer.flush()
    }

    /// When `show_notice` is to be called, if it is.
    pub(super) fn notice_due(&self) -> Option<Instant> {
        self.notice_due.filter(|_| self.renderer.has_held_notice())
    }

    /// Shows the notice that was held back for text that may have come before it.
    pub(super) fn show_notice(&mut self) -> io::Result<()> {
        self.notice_due = None;
        self.renderer.close()
    }

    /// How long after the first event that was: what is reported late took no less time.
    fn time(&self, at: Timestamp) -> Duration {
        let past = self.began.map(|began| Duration::try_from(at.duration_since(began)));
        past.and_then(Result::ok).unwrap_or_default()
    }

    /// Shows what a person said who typed it at another time or place.
    pub(super) fn person(&mut self, text: &str) -> io::Result<()> {
        let said: String = text.lines().map(|line| format!("{SIGN}{line}\n")).collect();
        self.say(&plain(&said))
    }

    /// Writes words of ours, which are harmless already.
    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.renderer.close()?;
        self.paper.fresh_row()?;
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.paper.write_all(format!("{text}{end}").as_bytes())?;
        self.paper.flush()
    }

    /// Writes what a command of the chat has to say.
    pub(super) fn reply(&mut self, text: &StyledText) -> io::Result<()> {
        self.say(&writer::encode(text, self.look))
    }

    /// Writes what a command prints, as it comes.
    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        self.renderer.close()?;
        self.paper.print(&plain(text))
    }

    /// Writes what is wanted, and leaves the cursor after it; `again` is put where something was written below it.
    pub(super) fn ask(&mut self, text: &StyledText, again: &StyledText) -> io::Result<()> {
        self.renderer.close()?;
        self.prompt = Some(writer::encode(again, self.look));
        self.paper.prompt(&writer::encode(text, self.look))
    }

    /// Writes the sign that a line is wanted, unless it is there.
    pub(super) fn sign(&mut self) -> io::Result<()> {
        self.prompt = Some(SIGN.to_owned());
        self.ask_again()
    }

    /// Repeats the prompt, if later output has ended.
    pub(super) fn ask_again(&mut self) -> io::Result<()> {
        match &self.prompt {
            Some(prompt) if self.paper.row() == Row::Fresh => self.paper.prompt(prompt),
            _ => Ok(()),
        }
    }

    /// No line is wanted any more.
    pub(super) fn withdraw(&mut self) {
        self.prompt = None;
    }

    /// A line was typed: its end was echoed.
    pub(super) fn line_came(&mut self) {
        self.prompt = None;
        self.paper.row_ended();
        self.renderer.prompt_read();
    }

    /// The program continues after it was suspended: others have written meanwhile.
    pub(super) fn resume(&self) {
        self.paper.row_ended();
    }

    /// Ctrl-C was typed: its sign was echoed, and what had been typed is gone.
    pub(super) fn note_interrupt(&mut self) -> io::Result<()> {
        if self.paper.row() == Row::Fresh {
            // The sign is there all the same.
            self.paper.prompt("")?;
        }
        self.paper.fresh_row()?;
        self.renderer.prompt_read();
        Ok(())
    }

    /// Ends the page on a row of its own.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.renderer.close()?;
        self.paper.fresh_row()
    }
}

/// The message of a person, if the event has one.
pub(super) fn person_message(event: &Event) -> Option<&str> {
    match event {
        Event::ItemCompleted { item } => match &item.body {
            ItemBody::UserMessage { text, author: Author::Person, .. } => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The step that began, if the event has one. Messages and thoughts come in pieces, and are no steps.
fn started_step(event: &Event) -> Option<&ItemId> {
    match event {
        Event::ItemStarted { item } => {
            let is_said = matches!(
                item.body,
                ItemBody::AgentMessage { .. } | ItemBody::Reasoning { .. } | ItemBody::Plan { .. }
            );
            (!is_said).then_some(&item.id)
        }
        _ => None,
    }
}

/// The step that ended, if the event has one.
fn ended_step(event: &Event) -> Option<&ItemId> {
    match event {
        Event::ItemCompleted { item } => Some(&item.id),
        _ => None,
    }
}

/// Does the past of a conversation follow?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Past {
    Follows,
    None,
}
