//! Renders a turn for people: each event at its position on screen.
//!
//! Decides the order and the distances only; how things look is decided by the modules this one calls. Used for pipes
//! too, without colours and drafts.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use talaria_core::event::{Abandonment, Event, PlanStep, Started};
use talaria_core::ids::{ItemId, TicketId};
use talaria_core::item::{Author, Item, ItemBody, Status};
use talaria_core::outcome::Report;
use talaria_core::request::{Ask, Decision};
use talaria_guard::place::Place;

use super::diff::{self, Amount};
use super::message::Message;
use super::news::{self, NewsLine};
use super::paint::Paint;
use super::question::{self, QuestionContext};
use super::spinner::{self, Running};
use super::stage::{Section, Stage};
use super::styled::StyledText;
use super::{Look, Renderer, Shown, heading, notice, prompt, step_note, tool_line};
use crate::dialog::Dialog;

/// Lines of a diff that no one is asked about.
const DIFF_LINES: usize = 200;
/// A message that pauses for longer gets a spinner below.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the notice that a turn is being stopped waits for text that was said before.
pub const HELD_NOTICE: Duration = Duration::from_millis(300);

/// Shows a turn on a terminal, or as text without escapes.
pub struct TerminalRenderer<W: Write> {
    stage: Stage<W>,
    look: Look,
    paint: Paint,
    now: Duration,
    last_event: Duration,
    turn_start: Option<Duration>,
    running: Vec<Running>,
    shown_patches: HashSet<ItemId>,
    shown_unknown: HashSet<String>,
    plan: Vec<PlanStep>,
    /// The questions that are open, each with the step that does not run before it is accepted.
    open_requests: HashMap<TicketId, Option<ItemId>>,
    /// The question that was shown last.
    asked: Option<TicketId>,
    /// Where what is asked about would happen.
    places: HashMap<TicketId, Place>,
    /// The model and the effort that were shown last.
    model: Option<(String, Option<String>)>,
    sandbox: String,
    approval: String,
    cwd: PathBuf,
    /// The notice that the turn is being stopped, and since when it waits: the redactor holds the last word, and releases
    /// it after this event.
    stopping: Option<(Duration, Event)>,
}

impl<W: Write> TerminalRenderer<W> {
    /// Starts at the beginning of a row.
    pub fn new(out: W, look: Look) -> Self {
        let look = Look { width: look.width.or(look.live.then_some(80)), ..look };
        Self {
            stage: Stage::new(out, look),
            look,
            paint: Paint::new(look),
            now: Duration::ZERO,
            last_event: Duration::ZERO,
            turn_start: None,
            running: Vec::new(),
            shown_patches: HashSet::new(),
            shown_unknown: HashSet::new(),
            plan: Vec::new(),
            open_requests: HashMap::new(),
            asked: None,
            places: HashMap::new(),
            model: None,
            sandbox: String::new(),
            approval: String::new(),
            cwd: PathBuf::new(),
            stopping: None,
        }
    }

    /// Takes over what was shown to be in force: questions and settings that follow are seen in its light.
    pub fn know(&mut self, started: &Started) {
        started.sandbox.clone_into(&mut self.sandbox);
        started.approval.clone_into(&mut self.approval);
        self.cwd = PathBuf::from(&started.cwd);
        self.model = Some((started.model.clone(), started.effort.clone()));
    }

    /// Shows reasoning in one line: its heading, or how it begins. For renderers that do not stream it.
    pub fn thought(&mut self, text: &str) -> io::Result<()> {
        match heading::of(text) {
            Some(heading) => self.stage.dim(&format!("thinking: {heading}")),
            None => Ok(()),
        }
    }

    fn nearby_item<'a>(&self, item: &'a Item) -> Cow<'a, Item> {
        match &item.body {
            ItemBody::Patch { status, changes } => {
                let body = ItemBody::Patch { status: *status, changes: diff::nearby(changes, &self.cwd) };
                Cow::Owned(Item { id: item.id.clone(), body })
            }
            _ => Cow::Borrowed(item),
        }
    }

    fn begin(&mut self, item: &Item) -> io::Result<()> {
        self.note_phase(item);
        let Some(label) = tool_line::label(&item.body, self.paint) else { return Ok(()) };
        self.running.retain(|step| step.item != item.id);
        // A patch is shown with its question or at its end: a line here would only announce one of them.
        if !self.stage.canvas.can_redraw() && !matches!(item.body, ItemBody::Patch { .. }) {
            self.stage.put(Section::Step, &tool_line::started(&label, self.paint).into())?;
        }
        let mut step = Running::new(item.id.clone(), label, self.now);
        if self.is_asked_about(&item.id) {
            step.hold();
        }
        self.running.push(step);
        Ok(())
    }

    fn end(&mut self, item: &Item) -> io::Result<()> {
        self.running.retain(|step| step.item != item.id);
        self.note_phase(item);
        match &item.body {
            ItemBody::AgentMessage { text, questions, .. } => {
                self.stage.complete_text(&item.id, text)?;
                questions.iter().try_for_each(|question| self.stage.dim(&step_note::question(question)))
            }
            ItemBody::Plan { text } => self.stage.complete_text(&item.id, text),
            ItemBody::Reasoning { summary, .. } => self.stage.complete_reasoning(&item.id, summary),
            ItemBody::Patch { status: Status::Completed, changes }
                if !self.shown_patches.contains(&item.id) =>
            {
                let amount = Amount::Lines(DIFF_LINES);
                self.stage.put(Section::Change, &diff::show(changes, amount, self.look.width, self.paint))
            }
            ItemBody::UserMessage { text, author: Author::Talaria, .. } => {
                self.stage.dim(&step_note::told_model(text))
            }
            ItemBody::UserMessage { .. } => Ok(()),
            body => {
                if let Some(note) = step_note::note(body) {
                    return self.stage.dim(&note);
                }
                // A log has the whole name; on a terminal it takes one row.
                let width = self.look.width.filter(|_| self.look.live);
                match tool_line::ended(body, width, self.paint) {
                    Some(lines) => self.stage.put(Section::Step, &lines),
                    None => Ok(()),
                }
            }
        }
    }

    fn note_phase(&mut self, item: &Item) {
        if let ItemBody::AgentMessage { phase, .. } = &item.body
            && phase.as_deref() == Some("commentary")
        {
            self.stage.mark_commentary(&item.id);
        }
    }

    fn abandon(&mut self, item: &ItemId, why: Option<Abandonment>) -> io::Result<()> {
        let Some(index) = self.running.iter().position(|step| step.item == *item) else { return Ok(()) };
        let step = self.running.remove(index);
        self.stage.dim(&format!("{}  {}", step.label, tool_line::left(why)))
    }

    /// Does a notice wait that `tick` or `close` shows at the latest?
    pub fn has_held_notice(&self) -> bool {
        self.stopping.is_some()
    }

    /// Shows the notice that waits, if one does.
    fn release_notice(&mut self) -> io::Result<()> {
        match self.stopping.take() {
            Some((_, event)) => self.tell(&event),
            None => Ok(()),
        }
    }

    fn tell(&mut self, event: &Event) -> io::Result<()> {
        match news::news(event, self.paint) {
            Some(NewsLine::Aside(line)) => self.stage.dim(&line),
            Some(NewsLine::Warning(line)) => self.stage.warn(&line),
            None => Ok(()),
        }
    }

    fn ask(&mut self, id: &TicketId, ask: &Ask) -> io::Result<()> {
        self.asked = Some(id.clone());
        if let Ask::Patch { item, changes: Some(_), .. } = ask {
            self.shown_patches.insert(item.clone());
        }
        let cwd = self.cwd.to_string_lossy();
        let place = self.places.get(id).copied();
        let rules = QuestionContext { sandbox: &self.sandbox, approval: &self.approval, cwd: &cwd, place };
        let question = question::show(&diff::nearby_ask(ask, &self.cwd), self.paint, self.look.width, rules);
        self.stage.put(Section::Question, &question)
    }

    fn is_asked_about(&self, item: &ItemId) -> bool {
        self.open_requests.values().flatten().any(|held| held == item)
    }

    fn hold(&mut self, id: &TicketId, ask: &Ask) {
        let item = tool_line::held_step(ask);
        if let Some(step) = self.running.iter_mut().find(|step| Some(&step.item) == item) {
            step.hold();
        }
        self.open_requests.insert(id.clone(), item.cloned());
    }

    /// A request is closed. With a yes its step runs from now on, unless another request is open about it; otherwise it
    /// counts as not running until an event reports its end.
    fn release(&mut self, id: &TicketId, decision: Decision) {
        let Some(item) = self.open_requests.remove(id).flatten() else { return };
        if !decision.is_yes() || self.is_asked_about(&item) {
            return;
        }
        if let Some(step) = self.running.iter_mut().find(|step| step.item == item) {
            step.release(self.now);
        }
    }

    fn finish(&mut self, report: &Report, took: Option<Duration>) -> io::Result<()> {
        self.running.clear();
        self.open_requests.clear();
        if let Some(text) = &report.text {
            self.stage.answer(text)?;
        }
        let took = took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        self.stage.put(Section::End, &notice::outcome(report, took, self.look.width, self.paint))
    }

    fn draw(&mut self) {
        let Some(width) = self.look.width.filter(|_| self.stage.canvas.can_redraw()) else { return };
        let message = self.stage.message();
        let is_paused = message.is_none() || self.now.saturating_sub(self.last_event) > PAUSE;
        let mut draft = message.map(Message::draft).unwrap_or_default();
        if let Some(start) = self.turn_start
            && self.open_requests.is_empty()
            && is_paused
        {
            if !draft.is_empty() || self.stage.canvas.is_row_begun() {
                draft.end_line();
            }
            let waited = self.now.saturating_sub(start);
            let running = self.running.iter().rfind(|step| step.is_running());
            draft.push_line(spinner::row(running, self.now, waited, width.saturating_sub(1), self.paint));
        }
        self.stage.canvas.draw(&draft);
    }
}

impl<W: Write> Renderer for TerminalRenderer<W> {
    fn event(&mut self, now: Duration, event: &Event) -> io::Result<()> {
        (self.now, self.last_event) = (now, now);
        if !is_streamed(event) {
            self.release_notice()?;
        }
        match event {
            Event::Interrupting { .. } => {
                self.stopping = Some((now, event.clone()));
                Ok(())
            }
            Event::SessionStarted(started) => {
                self.know(started);
                self.stage.put(Section::Head, &notice::started(started, self.look.width, self.paint))
            }
            Event::SettingsConfirmed { model, effort } => {
                let told = Some((model.clone(), effort.clone()));
                let is_new = self.model != told;
                self.model = told;
                if is_new { self.stage.dim(&notice::settings(model, effort.as_deref())) } else { Ok(()) }
            }
            Event::TurnStarted { .. } => {
                self.turn_start = Some(now);
                self.stage.begin_turn();
                Ok(())
            }
            Event::TextDelta { item, delta } => self.stage.stream_text(item, delta),
            Event::ReasoningDelta { item, delta } => self.stage.stream_reasoning(item, delta),
            Event::OutputDelta { item, delta } => {
                if let Some(step) = self.running.iter_mut().find(|step| step.item == *item) {
                    step.print(delta);
                }
                Ok(())
            }
            Event::ItemStarted { item } => self.begin(&self.nearby_item(item)),
            Event::ItemCompleted { item } => self.end(&self.nearby_item(item)),
            Event::ItemAbandoned { item, why } => self.abandon(item, *why),
            Event::AttemptVoid { items, why, .. } => match self.stage.void(items)? {
                true => self.tell(event),
                false => self.stage.warn(&news::unseen_void(why)),
            },
            Event::BackgroundStarted(command) => {
                self.running.retain(|step| step.item != command.item);
                self.tell(event)
            }
            Event::PlanUpdated { explanation, steps } => {
                if *steps == self.plan {
                    return Ok(());
                }
                steps.clone_into(&mut self.plan);
                self.stage.put(Section::Change, &notice::plan(explanation.as_deref(), steps, self.paint))
            }
            Event::RequestOpened { id, ask, place, .. } => {
                if let Some(place) = place {
                    self.places.insert(id.clone(), *place);
                }
                self.hold(id, ask);
                self.ask(id, ask)
            }
            Event::RequestClosed { id, decision, by, why } => {
                self.places.remove(id);
                self.release(id, *decision);
                self.asked = None;
                self.stage.decide(&notice::decided(*decision, *by, why.as_deref(), self.paint))
            }
            Event::Unknown { method, raw } => match news::unknown(method, raw.get()) {
                NewsLine::Warning(line) if self.shown_unknown.insert(method.clone()) => {
                    self.stage.warn(&line)
                }
                _ => Ok(()),
            },
            Event::Outcome(report) => {
                // A turn whose beginning was not shown has no known length.
                let took = self.turn_start.take().map(|start| now.saturating_sub(start));
                self.finish(report, took)
            }
            other => self.tell(other),
        }
    }

    fn ended(&mut self, report: &Report, took: Option<Duration>) -> io::Result<()> {
        self.release_notice()?;
        self.finish(report, took)
    }

    fn note(&mut self, text: &str) -> io::Result<Shown> {
        self.release_notice()?;
        self.stage.warn(text)?;
        Ok(Shown::Here)
    }

    fn tick(&mut self, now: Duration) -> io::Result<()> {
        self.now = now;
        if self.stopping.as_ref().is_some_and(|(since, _)| now.saturating_sub(*since) >= HELD_NOTICE) {
            self.release_notice()?;
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.draw();
        self.stage.canvas.flush()
    }

    fn resize(&mut self, columns: Option<usize>) {
        let Some(columns) = columns.filter(|_| self.look.live) else { return };
        if self.look.width != Some(columns) {
            self.look.width = Some(columns);
            self.stage.resize(columns);
        }
    }

    fn close(&mut self) -> io::Result<()> {
        self.release_notice()?;
        self.stage.end_repeats()?;
        self.stage.end_message()?;
        self.stage.canvas.draw(&StyledText::default());
        self.stage.canvas.fresh_row()?;
        self.stage.canvas.flush()
    }

    fn can_ask(&self) -> bool {
        self.look.live
    }

    fn prompt(&mut self, id: &TicketId, dialog: &Dialog) -> io::Result<()> {
        if !self.can_ask() {
            return Ok(());
        }
        self.release_notice()?;
        let is_in_sight = matches!(self.stage.section(), Section::Question | Section::Choices);
        if self.asked.as_ref() != Some(id) || !is_in_sight {
            self.ask(id, dialog.ask())?;
        }
        self.stage.offer(&prompt::show(dialog, self.paint, self.look.width))?;
        self.flush()
    }

    fn is_prompt_covered(&self) -> bool {
        self.stage.section() != Section::Choices
    }

    fn prompt_read(&mut self) {
        self.stage.canvas.row_ended();
    }
}

/// Is it a piece of something that is being said or printed, or a figure that has no line?
fn is_streamed(event: &Event) -> bool {
    matches!(
        event,
        Event::TextDelta { .. }
            | Event::ReasoningDelta { .. }
            | Event::OutputDelta { .. }
            | Event::PlanDelta { .. }
            | Event::UsageUpdated { .. }
            | Event::Ledger { .. }
    )
}
