//! Steps and messages: how they begin, grow and end.

use talaria_core::background::BackgroundEnd;
use talaria_core::event::Abandonment;
use talaria_core::ids::{BackgroundId, ItemId, ThreadId};
use talaria_core::item::{Author, FileChange, Item, ItemBody};

use super::Transcript;
use super::cell::{Body, KeyPress};
use super::crew::Crew;
use super::lifecycle::Lifecycle;
use super::message::{Message, Voice};
use super::patch::Patch;
use super::person::Person;
use super::remark::Remark;
use super::roll::Handle;
use super::step::Step;
use super::take::{Reach, Scene};
use talaria_render::{Paint, diff, news, step_note, tool_line};

impl Transcript {
    /// A piece of a message.
    pub(super) fn said_more(&mut self, scene: Scene, handle: Handle, delta: &str, voice: Voice) {
        let voice = self.voices.get(&handle).copied().unwrap_or(voice);
        match self.open(scene, &handle) {
            _ if delta.is_empty() => {}
            Reach::Nowhere => {
                let mut message = Message::new(voice);
                message.push(delta);
                if let Some(why) = self.void.get(&handle) {
                    message.make_void(why);
                }
                self.add_bound(scene, handle, Body::Message(Box::new(message)));
            }
            Reach::Later(key) => self.message(scene, key, |message| message.push(delta)),
            Reach::Earlier(_) => self.earlier(handle, delta),
            Reach::Seen => {}
        }
    }

    /// A piece of output.
    pub(super) fn append_output(&mut self, scene: Scene, handle: Handle, delta: &str) {
        match self.open(scene, &handle) {
            Reach::Nowhere => {
                let mut step = Step::headless(scene.at);
                step.print(delta);
                self.add_bound(scene, handle, Body::Step(Box::new(step)));
            }
            Reach::Later(key) => self.step(scene, key, |step, _| step.print(delta)),
            Reach::Earlier(_) => self.earlier(handle, delta),
            Reach::Seen => {}
        }
    }

    /// How far the call of a tool is.
    pub(super) fn show_progress(&mut self, scene: Scene, handle: Handle, message: &str) {
        match self.open(scene, &handle) {
            Reach::Nowhere => {
                let mut step = Step::headless(scene.at);
                step.advance(message);
                self.add_bound(scene, handle, Body::Step(Box::new(step)));
            }
            Reach::Later(key) => self.step(scene, key, |step, _| step.advance(message)),
            Reach::Earlier(_) | Reach::Seen => {}
        }
    }

    /// A patch changes other things by now.
    pub(super) fn replace_patch(&mut self, scene: Scene, handle: Handle, changes: &[FileChange]) {
        let changes = diff::nearby(changes, &self.cwd);
        match self.open(scene, &handle) {
            Reach::Nowhere => {
                let patch = Patch::begun(&changes, scene.at);
                self.add_bound(scene, handle, Body::Patch(Box::new(patch)));
            }
            Reach::Later(key) => self.change(scene, key, |body| {
                if let Body::Patch(patch) = body {
                    patch.replace(&changes);
                }
            }),
            Reach::Earlier(_) | Reach::Seen => {}
        }
    }

    /// A step began.
    pub(super) fn begin_item(&mut self, scene: Scene, handle: Handle, item: &Item) {
        match &item.body {
            ItemBody::UserMessage { .. } => self.person(scene, handle, item),
            ItemBody::AgentMessage { text, phase, .. } => {
                let voice = voice(phase.as_deref());
                self.voices.insert(handle.clone(), voice);
                self.said_more(scene, handle, text, voice);
            }
            ItemBody::Patch { changes, .. } => self.replace_patch(scene, handle, changes),
            body if tool_line::label(body, self.paint).is_some() => match self.open(scene, &handle) {
                Reach::Nowhere => {
                    let step = Step::begun(body, scene.at, self.paint);
                    let key = self.add_bound(scene, handle, Body::Step(Box::new(step)));
                    self.adopt(scene, key, body);
                }
                Reach::Later(key) | Reach::Earlier(key) => {
                    self.step(scene, key, |step, paint| {
                        if !step.is_described() {
                            step.describe(body, paint);
                        }
                    });
                }
                Reach::Seen => {}
            },
            _ => {}
        }
    }

    /// A step ended.
    pub(super) fn end_item(&mut self, scene: Scene, handle: Handle, item: &Item) {
        match &item.body {
            ItemBody::UserMessage { .. } => self.person(scene, handle, item),
            ItemBody::AgentMessage { text, phase, questions } => {
                self.complete_message(scene, handle, text, voice(phase.as_deref()));
                for question in questions {
                    self.remark(scene, Remark::aside(&step_note::question(question)));
                }
            }
            ItemBody::Plan { text } => self.complete_message(scene, handle, text, Voice::Answer),
            ItemBody::Reasoning { summary, content } => {
                let parts = if summary.is_empty() { content } else { summary };
                self.complete_message(scene, handle, &parts.join("\n\n"), Voice::Thought);
            }
            ItemBody::Patch { status, changes } => {
                self.replace_patch(scene, handle.clone(), changes);
                if let Some(key) = self.roll.find(&handle).map(|cell| cell.key) {
                    self.change(scene, key, |body| {
                        if let Body::Patch(patch) = body {
                            patch.life = Lifecycle::ended(*status);
                        }
                    });
                }
            }
            body if tool_line::label(body, self.paint).is_some() => {
                let key = match self.open(scene, &handle) {
                    Reach::Nowhere => {
                        let step = Step::headless(scene.at);
                        self.add_bound(scene, handle, Body::Step(Box::new(step)))
                    }
                    Reach::Later(key) => key,
                    Reach::Earlier(_) | Reach::Seen => return,
                };
                self.step(scene, key, |step, paint| step.end(body, paint));
                self.adopt(scene, key, body);
            }
            ItemBody::AgentActivity { thread, path, activity, .. } => {
                self.crew(scene, thread, |crew, _| crew.activity(thread, path, activity));
            }
            body => {
                if let Some(note) = step_note::note(body) {
                    self.remark(scene, Remark::aside(&note));
                }
            }
        }
    }

    /// The turn ended, and Codex never reported the end of a step.
    pub(super) fn abandon_item(&mut self, scene: Scene, handle: &Handle, why: Option<Abandonment>) {
        if let Reach::Later(key) = self.open(scene, handle) {
            self.change(scene, key, |body| match body {
                Body::Message(message) => message.leave(),
                Body::Step(step) => step.life.leave(why),
                Body::Patch(patch) => patch.life.leave(why),
                _ => {}
            });
        }
    }

    /// An answer does not count: what is shown of it is struck out, also where an older page brings it later.
    pub(super) fn make_void(&mut self, scene: Scene, items: &[ItemId], why: &str) {
        let mut was_shown = false;
        for item in items {
            let handle = Handle::Item(scene.turn, item.clone());
            if let Some(cell) = self.roll.find(&handle)
                && let Body::Message(message) = &mut cell.body
            {
                message.make_void(why);
                message.leave();
                cell.last = cell.last.max(scene.seq);
                cell.touch();
                was_shown = true;
            }
            self.void.insert(handle, why.to_owned());
        }
        if !was_shown {
            self.remark(scene, Remark::warning(&news::unseen_void(why)));
        }
    }

    /// A command outlived its turn and runs in the background, unless a later event that is loaded reported its end.
    pub(super) fn stays(&mut self, scene: Scene, handle: &Handle, id: &BackgroundId) {
        let end = self.background_ends.get(id).copied();
        if let Reach::Later(key) = self.reach(scene, handle) {
            self.step(scene, key, |step, _| {
                step.stay();
                if let Some((end, exit_code)) = end {
                    step.end_in_background(end, exit_code);
                }
            });
        }
    }

    /// A background command ended.
    pub(super) fn ended_in_background(
        &mut self,
        scene: Scene,
        handle: &Handle,
        end: BackgroundEnd,
        exit_code: Option<i32>,
    ) {
        if let Reach::Later(key) = self.reach(scene, handle) {
            self.step(scene, key, |step, _| step.end_in_background(end, exit_code));
        }
    }

    /// Something about a sub-agent, below the call that made it, or by itself if that is not known.
    pub(super) fn crew(&mut self, scene: Scene, thread: &ThreadId, change: impl FnOnce(&mut Crew, Paint)) {
        let handle = Handle::Agent(scene.turn, thread.clone());
        let key = match self.reach(scene, &handle) {
            Reach::Nowhere => {
                let step = Step::only_crew(scene.at);
                self.add_bound(scene, handle, Body::Step(Box::new(step)))
            }
            Reach::Later(key) => key,
            Reach::Earlier(_) | Reach::Seen => return,
        };
        self.step(scene, key, |step, paint| change(&mut step.crew, paint));
    }

    /// Prepends pieces from an older page.
    pub(super) fn put_earlier(&mut self) {
        for (handle, text) in std::mem::take(&mut self.earlier) {
            let Some(cell) = self.roll.find(&handle).filter(|cell| cell.is_open()) else { continue };
            match &mut cell.body {
                Body::Message(message) => message.push_front(&text),
                Body::Step(step) => step.print_front(&text),
                _ => {}
            }
            cell.touch();
        }
    }

    fn complete_message(&mut self, scene: Scene, handle: Handle, text: &str, voice: Voice) {
        self.voices.remove(&handle);
        match self.open(scene, &handle) {
            Reach::Nowhere if text.trim().is_empty() => {}
            Reach::Nowhere => {
                let mut message = Message::new(voice);
                message.complete(text);
                self.add_bound(scene, handle, Body::Message(Box::new(message)));
            }
            Reach::Later(key) => {
                self.message(scene, key, |message| {
                    message.speak(voice);
                    message.complete(text);
                });
            }
            Reach::Earlier(_) | Reach::Seen => {}
        }
    }

    /// Input of the person: the sent line is confirmed, wherever it is.
    fn person(&mut self, scene: Scene, handle: Handle, item: &Item) {
        let ItemBody::UserMessage { text, attachments, author, .. } = &item.body else { return };
        if self.reach(scene, &handle) != Reach::Nowhere {
            return;
        }
        if *author == Author::Talaria {
            let remark = Remark::aside(&step_note::told_model(text));
            self.add_bound(scene, handle, Body::Remark(remark));
            return;
        }
        self.take_back(text);
        self.show_handed(scene, text);
        self.waits_no_longer(scene, text);
        self.add_bound(scene, handle, Body::Person(Person::said(text, attachments)));
    }

    /// A cell that has ended is not changed by a later event: the id was used again.
    fn open(&mut self, scene: Scene, handle: &Handle) -> Reach {
        match self.reach(scene, handle) {
            Reach::Later(key) if self.roll.cell(key).is_some_and(|cell| !cell.is_open()) => Reach::Nowhere,
            reach => reach,
        }
    }

    fn earlier(&mut self, handle: Handle, delta: &str) {
        match self.earlier.iter_mut().find(|(known, _)| *known == handle) {
            Some((_, text)) => text.push_str(delta),
            None => self.earlier.push((handle, delta.to_owned())),
        }
    }

    /// Takes the sub-agents that a call names below it, unless they are below another.
    fn adopt(&mut self, scene: Scene, key: KeyPress, body: &ItemBody) {
        let ItemBody::Agents { threads, .. } = body else { return };
        for thread in threads {
            let handle = Handle::Agent(scene.turn, thread.clone());
            let found = self.roll.find(&handle).map(|cell| {
                let is_alone = matches!(&cell.body, Body::Step(step) if step.is_only_crew());
                (cell.key, is_alone)
            });
            match found {
                Some((alone, true)) => {
                    let crew = self.roll.remove(alone).and_then(|cell| match cell.body {
                        Body::Step(step) => Some((step.crew, cell.last)),
                        _ => None,
                    });
                    if let (Some((crew, last)), Some(cell)) = (crew, self.roll.cell(key)) {
                        if let Body::Step(step) = &mut cell.body {
                            step.crew.join(crew);
                        }
                        cell.last = cell.last.max(last);
                        cell.touch();
                    }
                    self.roll.bind(handle, key);
                }
                Some((_, false)) => {}
                None => self.roll.bind(handle, key),
            }
        }
    }

    fn message(&mut self, scene: Scene, key: KeyPress, change: impl FnOnce(&mut Message)) {
        self.change(scene, key, |body| {
            if let Body::Message(message) = body {
                change(message);
            }
        });
    }

    fn step(&mut self, scene: Scene, key: KeyPress, change: impl FnOnce(&mut Step, Paint)) {
        let paint = self.paint;
        self.change(scene, key, |body| {
            if let Body::Step(step) = body {
                change(step, paint);
            }
        });
    }
}

fn voice(phase: Option<&str>) -> Voice {
    if phase == Some("commentary") { Voice::Commentary } else { Voice::Answer }
}
