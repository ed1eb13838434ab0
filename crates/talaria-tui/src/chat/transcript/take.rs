//! What each event changes. One that belongs to a cell changes it in place; others make a cell of their own.
//!
//! Tolerant: a step may end here that began in a page that is not here, and a page may come later than the one after it. So
//! a cell knows the first and the last event that it was made of: one between them was seen, one before them fills in.

use talaria_core::api::Numbered;
use talaria_core::event::{Event, Started};
use talaria_core::ids::ItemId;

use super::super::folder;
use super::Transcript;
use super::cell::{Body, Cell, KeyPress};
use super::message::Voice;
use super::plan::Plan;
use super::remark::Remark;
use super::roll::Handle;
use talaria_render::news::{self, NewsLine};
use talaria_render::notice;

/// The position of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    /// Its number.
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    /// When it happened, in milliseconds since 1970.
    pub(super) at: i64,
}

/// How an event relates to the cell that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// There is none.
    Nowhere,
    /// It was seen.
    Seen,
    /// It precedes the loaded part of this cell.
    Earlier(KeyPress),
    /// It is news to this cell.
    Later(KeyPress),
}

impl Transcript {
    /// Notes what a new event says about the turn that runs.
    pub(super) fn follow_turn(&mut self, event: &Numbered) {
        match &event.event {
            Event::TurnStarted { .. }
            | Event::ItemStarted { .. }
            | Event::TextDelta { .. }
            | Event::ReasoningDelta { .. }
            | Event::OutputDelta { .. } => self.is_running = true,
            Event::Outcome(_) => {
                self.is_running = false;
                self.leave_turn(event.turn);
            }
            _ => {}
        }
    }

    /// Shows what an event says.
    pub(super) fn apply(&mut self, event: &Numbered) {
        let scene = Scene { seq: event.seq, turn: event.turn, at: event.at.as_millisecond() };
        let item = |id: &ItemId| Handle::Item(event.turn, id.clone());
        match &event.event {
            Event::SessionStarted(started) => self.session(scene, started),
            Event::SettingsConfirmed { model, effort } => self.show_model(scene, model, effort.as_deref()),
            Event::TurnStarted { .. } => self.turn(scene),
            Event::TextDelta { item: id, delta } | Event::PlanDelta { item: id, delta } => {
                self.said_more(scene, item(id), delta, Voice::Answer);
            }
            Event::ReasoningDelta { item: id, delta } => {
                self.said_more(scene, item(id), delta, Voice::Thought);
            }
            Event::OutputDelta { item: id, delta } => self.append_output(scene, item(id), delta),
            Event::ToolProgress { item: id, message } => self.show_progress(scene, item(id), message),
            Event::PatchUpdated { item: id, changes } => self.replace_patch(scene, item(id), changes),
            Event::ItemStarted { item: step } => self.begin_item(scene, item(&step.id), step),
            Event::ItemCompleted { item: step } => {
                self.end_item(scene, item(&step.id), step);
                self.look_for_missed(scene.turn);
            }
            Event::ItemAbandoned { item: id, why } => self.abandon_item(scene, &item(id), *why),
            Event::AttemptVoid { items, why, .. } => self.make_void(scene, items, why),
            Event::BackgroundStarted(command) => {
                let handle = item(&command.item);
                self.background.insert(command.id.clone(), handle.clone());
                self.stays(scene, &handle, &command.id);
            }
            Event::BackgroundOutput { id, delta, .. } => {
                if let Some(handle) = self.background.get(id).cloned() {
                    self.append_output(scene, handle, delta);
                }
            }
            Event::BackgroundEnded { id, end, exit_code, .. } => {
                self.background_ends.insert(id.clone(), (*end, *exit_code));
                if let Some(handle) = self.background.remove(id) {
                    self.ended_in_background(scene, &handle, *end, *exit_code);
                }
                self.tell(scene, &event.event);
            }
            Event::PlanUpdated { explanation, steps } => {
                let plan = Plan { explanation: explanation.clone(), steps: steps.clone() };
                self.show_plan(scene, plan);
            }
            Event::RequestOpened { id, ask, .. } => self.show_question(scene, id, ask),
            Event::RequestClosed { id, decision, by, why } => {
                self.show_decision(scene, id, *decision, *by, why.as_deref());
            }
            Event::AgentUpdated { thread, phase } => {
                self.crew(scene, thread, |crew, _| crew.update(thread, *phase));
            }
            Event::AgentItemStarted { thread, item } | Event::AgentItemCompleted { thread, item } => {
                self.crew(scene, thread, |crew, paint| crew.step(thread, item, paint));
            }
            // The usage is in the status line, and changes with every answer of the model.
            Event::RateLimits(limits) if limits.reached.is_none() => {}
            Event::Unknown { method, raw } => self.tell_once(scene, method, news::unknown(method, raw.get())),
            // Codex repeats it where a conversation is resumed in the middle of a turn.
            Event::Warning { message } => {
                if let Some(warning) = news::news(&event.event, self.paint) {
                    self.tell_once(scene, message, warning);
                }
            }
            Event::Gap(gap) => self.show_gap(scene, gap),
            Event::Queued { input, .. } => {
                self.withdraw_handed(scene, &input.text);
                if let Some(NewsLine::Aside(words) | NewsLine::Warning(words)) =
                    news::news(&event.event, self.paint)
                {
                    self.show_queued(scene, input, &words);
                }
            }
            Event::Steering { input } => self.hand(scene, &input.text),
            Event::Steered { .. } => self.show_steered(scene),
            Event::Outcome(report) => {
                self.end_handed(scene);
                self.finish(scene, report);
                self.look_for_missed(scene.turn);
            }
            Event::Unqueued { inputs, .. } => {
                for input in inputs {
                    self.withdraw_handed(scene, &input.text);
                    self.show_unqueued(scene, &input.text);
                }
                self.tell(scene, &event.event);
            }
            other => self.tell(scene, other),
        }
    }

    /// Says what an event has to say in one line.
    fn tell(&mut self, scene: Scene, event: &Event) {
        if let Some(news) = news::news(event, self.paint) {
            self.remark(scene, remark(&news));
        }
    }

    /// How an event relates to the cell of a handle.
    pub(super) fn reach(&mut self, scene: Scene, handle: &Handle) -> Reach {
        match self.roll.find(handle) {
            None => Reach::Nowhere,
            Some(cell) if scene.seq > cell.last => Reach::Later(cell.key),
            Some(cell) if scene.seq < cell.key.0 => Reach::Earlier(cell.key),
            Some(_) => Reach::Seen,
        }
    }

    /// Makes a cell.
    pub(super) fn add(&mut self, scene: Scene, body: Body) -> KeyPress {
        self.roll.insert(Cell::new((scene.seq, 0), scene.turn, body))
    }

    /// Makes a cell that later events find.
    pub(super) fn add_bound(&mut self, scene: Scene, handle: Handle, body: Body) -> KeyPress {
        let key = self.add(scene, body);
        self.roll.bind(handle, key);
        key
    }

    /// Changes a cell.
    pub(super) fn change(&mut self, scene: Scene, key: KeyPress, change: impl FnOnce(&mut Body)) {
        if let Some(cell) = self.roll.cell(key) {
            change(&mut cell.body);
            cell.last = cell.last.max(scene.seq);
            cell.touch();
        }
    }

    /// Says something in one line.
    pub(super) fn remark(&mut self, scene: Scene, remark: Remark) {
        self.add(scene, Body::Remark(remark));
    }

    fn session(&mut self, scene: Scene, started: &Started) {
        self.cwd = started.cwd.clone().into();
        let is_known = self.started.as_ref().is_some_and(|known| {
            Started { thread: known.thread.clone(), path: known.path.clone(), ..started.clone() } == *known
        });
        if !is_known {
            let cwd = folder::shown(&started.cwd, self.home.as_deref());
            let shown = Started { cwd, ..started.clone() };
            self.remark(scene, Remark::head(notice::started(&shown, None, self.paint)));
        }
        self.started = Some(started.clone());
    }

    /// Codex says which model answers; a known model is not repeated.
    fn show_model(&mut self, scene: Scene, model: &str, effort: Option<&str>) {
        let known = self.started.as_mut();
        if known.as_ref().is_some_and(|known| known.model == model && known.effort.as_deref() == effort) {
            return;
        }
        if let Some(known) = known {
            (known.model, known.effort) = (model.to_owned(), effort.map(str::to_owned));
        }
        self.remark(scene, Remark::aside(&notice::settings(model, effort)));
    }

    fn turn(&mut self, scene: Scene) {
        if let Some(turn) = scene.turn {
            self.turns.insert(turn, scene);
        }
    }

    fn show_plan(&mut self, scene: Scene, plan: Plan) {
        let handle = Handle::Plan(scene.turn);
        match self.reach(scene, &handle) {
            Reach::Nowhere => {
                self.add_bound(scene, handle, Body::Plan(plan));
            }
            Reach::Later(key) => self.change(scene, key, |body| *body = Body::Plan(plan)),
            Reach::Earlier(_) | Reach::Seen => {}
        }
    }

    /// Adds a line; a repeated one in this turn is counted.
    fn tell_once(&mut self, scene: Scene, name: &str, news: NewsLine) {
        let handle = Handle::News(scene.turn, name.to_owned());
        match self.reach(scene, &handle) {
            Reach::Nowhere => {
                self.add_bound(scene, handle, Body::Remark(remark(&news)));
            }
            Reach::Later(key) | Reach::Earlier(key) => self.change(scene, key, |body| {
                if let Body::Remark(remark) = body {
                    remark.repeat();
                }
            }),
            Reach::Seen => {}
        }
    }
}

fn remark(news: &NewsLine) -> Remark {
    match news {
        NewsLine::Aside(line) => Remark::aside(line),
        NewsLine::Warning(line) => Remark::warning(line),
    }
}
