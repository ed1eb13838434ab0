//! Layout of the output: growing messages, single lines, and the blank lines between them.
//!
//! One message is open at a time; anything else that appears ends it. `terminal` decides what is shown, this where.

use std::collections::HashSet;
use std::io::{self, Write};

use talaria_core::ids::ItemId;

use super::Look;
use super::canvas::Canvas;
use super::message::{Message, Remainder, Streamed, Voice};
use super::notice;
use super::paint::Paint;
use super::repeats::{Repeats, counted};
use super::styled::StyledText;

/// The last block on screen; different blocks are separated by an empty line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Settings in force.
    Head,
    /// A message.
    Message,
    /// A step, or a line about the turn.
    Step,
    /// A plan or a change of files.
    Change,
    /// A question to a person.
    Question,
    /// The choices for a question, with the cursor after them.
    Choices,
    /// The decision about a question, right below it.
    Decision,
    /// The outcome.
    End,
}

/// The canvas with what is being said on it.
#[derive(Debug)]
pub(crate) struct Stage<W: Write> {
    /// The output.
    pub(crate) canvas: Canvas<W>,
    look: Look,
    paint: Paint,
    section: Section,
    message: Option<Message>,
    streamed: Streamed,
    commentary: HashSet<ItemId>,
    has_answer: bool,
    /// The same, of answers that were completed: no later event makes them void.
    has_whole_answer: bool,
    repeats: Repeats,
}

impl<W: Write> Stage<W> {
    /// Starts at the beginning of a row.
    pub(crate) fn new(out: W, look: Look) -> Self {
        Self {
            canvas: Canvas::new(out, look),
            look,
            paint: Paint::new(look),
            section: Section::Head,
            message: None,
            streamed: Streamed::default(),
            commentary: HashSet::new(),
            has_answer: false,
            has_whole_answer: false,
            repeats: Repeats::default(),
        }
    }

    /// Appends lines.
    pub(crate) fn put(&mut self, section: Section, lines: &StyledText) -> io::Result<()> {
        self.end_repeats()?;
        self.add(section, lines)
    }

    /// Appends a dimmed line.
    pub(crate) fn dim(&mut self, text: &str) -> io::Result<()> {
        self.put(Section::Step, &notice::dim_in_rows(text, self.look.width, self.paint))
    }

    /// Appends a warning; a repeated one is counted.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        match self.repeats.count(text) {
            Some(count) => self.add_warning(text, count),
            None => Ok(()),
        }
    }

    /// Appends the counts of warnings that were not shown yet.
    pub(crate) fn end_repeats(&mut self) -> io::Result<()> {
        self.repeats.end().iter().try_for_each(|(text, count)| self.add_warning(text, *count))
    }

    /// Appends the choices below the question, and leaves the cursor after them.
    pub(crate) fn offer(&mut self, choices: &StyledText) -> io::Result<()> {
        self.end_repeats()?;
        self.end_message()?;
        self.canvas.fresh_row()?;
        self.section = Section::Choices;
        self.canvas.text(choices)
    }

    /// Appends the decision, without an empty line after the question.
    pub(crate) fn decide(&mut self, lines: &StyledText) -> io::Result<()> {
        self.end_repeats()?;
        self.end_message()?;
        self.section = Section::Decision;
        self.canvas.lines(lines)
    }

    /// Fits everything that follows into this width.
    pub(crate) fn resize(&mut self, width: usize) {
        self.look.width = Some(width);
        self.canvas.resize(width);
        if let Some(message) = &mut self.message {
            message.resize(width);
        }
    }

    /// Begins a turn: nothing has been answered.
    pub(crate) fn begin_turn(&mut self) {
        self.has_answer = false;
        self.has_whole_answer = false;
    }

    /// Notes that a message is said along the way. One that is being shown keeps its look.
    pub(crate) fn mark_commentary(&mut self, item: &ItemId) {
        if !self.is_open(item, Voice::Answer) {
            self.commentary.insert(item.clone());
        }
    }

    /// Shows a piece of an answer or a commentary.
    pub(crate) fn stream_text(&mut self, item: &ItemId, delta: &str) -> io::Result<()> {
        self.streamed.push(item, delta);
        let voice = self.voice(item);
        self.has_answer |= voice == Voice::Answer && !delta.is_empty();
        self.say(item, voice, delta)
    }

    /// Shows a piece of reasoning.
    pub(crate) fn stream_reasoning(&mut self, item: &ItemId, delta: &str) -> io::Result<()> {
        self.streamed.push(item, delta);
        self.say(item, Voice::Reasoning, delta)
    }

    /// Shows what is missing of a message, now that all of it is known.
    pub(crate) fn complete_text(&mut self, item: &ItemId, text: &str) -> io::Result<()> {
        let voice = self.voice(item);
        self.has_answer |= voice == Voice::Answer && !text.is_empty();
        self.has_whole_answer |= voice == Voice::Answer && !text.is_empty();
        match self.streamed.complete(item, text) {
            Remainder::Nothing => {}
            Remainder::End(end) if !self.is_open(item, voice) => {
                let end = format!("{}{end}", self.paint.sign("…", "..."));
                self.say(item, voice, &end)?;
            }
            Remainder::End(text) | Remainder::Whole(text) => self.say(item, voice, text)?,
            Remainder::Instead(text) => {
                self.dim("Codex replaced the message above with this one:")?;
                self.say(item, voice, text)?;
            }
        }
        self.end_message()
    }

    /// Shows reasoning that was not streamed. Streamed reasoning is not compared: Codex joins its parts
    /// differently.
    pub(crate) fn complete_reasoning(&mut self, item: &ItemId, summary: &[String]) -> io::Result<()> {
        if self.streamed.take(item).is_none() && !summary.is_empty() {
            self.say(item, Voice::Reasoning, &summary.join("\n\n"))?;
        }
        self.end_message()
    }

    /// Shows the final answer, if no message has shown one.
    pub(crate) fn answer(&mut self, text: &str) -> io::Result<()> {
        if self.has_answer {
            return Ok(());
        }
        self.end_message()?;
        self.say(&ItemId::new(""), Voice::Answer, text)
    }

    /// Ends messages that do not count. Says whether any of their text was shown here.
    pub(crate) fn void(&mut self, items: &[ItemId]) -> io::Result<bool> {
        let mut was_shown = false;
        for item in items {
            was_shown |= self.streamed.take(item).is_some();
        }
        self.has_answer = self.has_whole_answer;
        self.end_message()?;
        Ok(was_shown)
    }

    /// Ends the message that is open, if one is.
    pub(crate) fn end_message(&mut self) -> io::Result<()> {
        let Some(message) = self.message.take() else { return Ok(()) };
        let mut out = StyledText::default();
        message.finish(&mut out);
        self.canvas.text(&out)?;
        self.canvas.fresh_row()
    }

    /// The last block on screen.
    pub(crate) fn section(&self) -> Section {
        self.section
    }

    /// The message that is open.
    pub(crate) fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    fn say(&mut self, item: &ItemId, voice: Voice, text: &str) -> io::Result<()> {
        if !self.is_open(item, voice) {
            self.end_repeats()?;
            self.end_message()?;
            self.enter(Section::Message)?;
        }
        let (look, paint) = (self.look, self.paint);
        let message = self.message.get_or_insert_with(|| Message::new(item.clone(), voice, look, paint));
        let mut out = StyledText::default();
        message.push(text, &mut out);
        self.canvas.text(&out)
    }

    fn add(&mut self, section: Section, lines: &StyledText) -> io::Result<()> {
        self.end_message()?;
        self.enter(section)?;
        self.canvas.lines(lines)
    }

    fn add_warning(&mut self, text: &str, count: usize) -> io::Result<()> {
        let text = counted(text, count, self.paint);
        self.add(Section::Step, &notice::warn_in_rows(&text, self.look.width, self.paint))
    }

    fn enter(&mut self, section: Section) -> io::Result<()> {
        if self.section != section || matches!(section, Section::Message | Section::Question) {
            self.canvas.gap()?;
        }
        self.section = section;
        Ok(())
    }

    fn is_open(&self, item: &ItemId, voice: Voice) -> bool {
        self.message.as_ref().is_some_and(|message| message.is(item, voice))
    }

    fn voice(&self, item: &ItemId) -> Voice {
        if self.commentary.contains(item) { Voice::Commentary } else { Voice::Answer }
    }
}
