//! Questions and what waits for them: a step that a person is asked about does not run, and says so itself.
//!
//! A step, its question and the answer may come here in any order, because older pages come later. However they come, the
//! step has the state that the last of them says.

use talaria_core::ids::TicketId;
use talaria_core::request::{Ask, Decision, Who};

use super::Transcript;
use super::cell::Body;
use super::request::Request;
use super::roll::Handle;
use super::take::{Reach, Scene};
use talaria_render::{diff, tool_line};

impl Transcript {
    /// A person is asked.
    pub(super) fn show_question(&mut self, scene: Scene, ticket: &TicketId, ask: &Ask) {
        let near = diff::nearby_ask(ask, &self.cwd);
        let handle = Handle::Ticket(ticket.clone());
        match self.reach(scene, &handle) {
            Reach::Nowhere | Reach::Later(_) => {
                let step = tool_line::held_step(ask).map(|step| Handle::Item(scene.turn, step.clone()));
                let mut request = Request::opened(&near);
                if step.is_some_and(|step| self.hold_step(scene, &step)) {
                    request.stand_beside_its_step();
                }
                self.add_bound(scene, handle, Body::Request(request));
            }
            // The answer is here, so nothing waits for it.
            Reach::Earlier(key) => self.change(scene, key, |body| {
                if let Body::Request(request) = body {
                    request.fill_in(&near);
                }
            }),
            Reach::Seen => {}
        }
    }

    /// A person, or another decider, has answered.
    pub(super) fn show_decision(
        &mut self,
        scene: Scene,
        ticket: &TicketId,
        decision: Decision,
        by: Who,
        why: Option<&str>,
    ) {
        let handle = Handle::Ticket(ticket.clone());
        let why = why.map(str::to_owned);
        match self.reach(scene, &handle) {
            Reach::Nowhere => {
                let request = Request::decided(scene.at, decision, by, why);
                self.add_bound(scene, handle, Body::Request(request));
            }
            Reach::Later(key) => {
                let mut step = None;
                self.change(scene, key, |body| {
                    if let Body::Request(request) = body {
                        step = request.step().cloned();
                        request.close(scene.at, decision, by, why);
                    }
                });
                if let Some(step) = step {
                    self.release_step(scene, &Handle::Item(scene.turn, step), (decision, by));
                }
            }
            Reach::Earlier(_) | Reach::Seen => {}
        }
    }

    /// Older events were loaded: one of their steps may wait for a question that is loaded already, or was
    /// answered.
    pub(super) fn look_for_held(&mut self) {
        let asked = self.roll.cells().filter_map(|cell| match &cell.body {
            Body::Request(request) => {
                let step = Handle::Item(cell.turn, request.step()?.clone());
                Some((cell.key, step, request.answer()))
            }
            _ => None,
        });
        for (key, step, answer) in asked.collect::<Vec<_>>() {
            // One that has continued since the question knows of it.
            let Some(cell) = self.roll.find(&step).filter(|cell| cell.last < key.0) else { continue };
            let is_held = hold(&mut cell.body);
            if let Some((at, decision, by)) = answer {
                release(&mut cell.body, at, decision, by);
            }
            cell.touch();
            if let (true, Some(cell)) = (is_held, self.roll.cell(key)) {
                if let Body::Request(request) = &mut cell.body {
                    request.stand_beside_its_step();
                }
                cell.touch();
            }
        }
    }

    /// A person is asked about a step. Is the step here, and says that it waits?
    fn hold_step(&mut self, scene: Scene, step: &Handle) -> bool {
        let Reach::Later(key) = self.reach(scene, step) else { return false };
        let mut is_held = false;
        self.change(scene, key, |body| is_held = hold(body));
        is_held
    }

    /// The person has answered about a step.
    fn release_step(&mut self, scene: Scene, step: &Handle, (decision, by): (Decision, Who)) {
        if let Reach::Later(key) = self.reach(scene, step) {
            self.change(scene, key, |body| release(body, scene.at, decision, by));
        }
    }
}

fn hold(body: &mut Body) -> bool {
    match body {
        Body::Step(step) => step.life.hold(),
        Body::Patch(patch) => patch.life.hold(),
        _ => false,
    }
}

fn release(body: &mut Body, at: i64, decision: Decision, by: Who) {
    match body {
        Body::Step(step) => step.life.release(at, decision, by),
        Body::Patch(patch) => patch.life.release(at, decision, by),
        _ => {}
    }
}
