//! Calls of the model for which Codex has no step, output that Codex did not stream, and images that the model did not
//! get.
//!
//! Codex sends no step for a call that it refuses or cannot carry out; only the raw call and its output show it. A call
//! is reported as failed if no step has its id and its output says that it failed. Codex reports the step of a call
//! before its output, so nothing is reported twice. A thread that another process resumed has no raw events: there, and
//! where an engine was away, the file of the conversation is looked into when the turn has ended. Sub-agents have no
//! raw events here.

use std::collections::{HashMap, HashSet};

use super::choosing::FILE_LIMIT;
use super::{Moment, Output, Phase, Turn};
use crate::project;
use crate::rollout::Untold;
use crate::rollout::call::{self, Call};
use crate::settle::Deed;
use crate::wire::raw_call::RawItem;
use talaria_core::event::Event;
use talaria_core::ids::ItemId;
use talaria_core::item::{Attachment, Item, ItemBody};

/// Prefixes of texts with which Codex replaces an image.
const LEFT_OUT: &[&str] = &[
    "image content omitted because ",
    "Codex cannot attach image at `",
    "Codex could not read the local image at `",
    "Image located at `",
];

/// What raw events reported.
#[derive(Debug, Default)]
pub(super) struct RawCalls {
    /// Calls without an output so far.
    open: HashMap<ItemId, Call>,
    /// Texts that the model got instead of images, until the message that they belong to is reported.
    images: Vec<String>,
    /// The person's input, and whether it had images.
    said: String,
    has_images: bool,
    /// Does this thread have raw events?
    are_told: bool,
    /// The commands of which Codex streamed output.
    streamed: HashSet<String>,
}

impl RawCalls {
    /// Codex streamed a piece of the output of a command.
    pub(super) fn note_streamed(&mut self, item: &str) {
        if !self.streamed.contains(item) {
            self.streamed.insert(item.to_owned());
        }
    }
}

impl Turn {
    pub(super) fn hear_raw(&mut self, item: &RawItem) {
        self.order.gate.note(item);
        self.calls.are_told = true;
        match item.kind.as_str() {
            "function_call" | "custom_tool_call" => {
                if let Some(call) = call::read(item) {
                    self.calls.open.insert(call.id.clone(), call);
                }
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.tell_unstreamed(item);
                let open = item.call_id.as_ref().and_then(|id| self.calls.open.remove(id));
                if let Some(failed) = open.and_then(|call| self.failed_call(call, item)) {
                    self.last_word.of_model();
                    self.tell_failed(failed);
                }
            }
            "message" if item.role.as_deref() == Some("user") => {
                self.calls.images.extend(item.content.iter().filter(|text| is_left_out(text)).cloned());
            }
            _ => {}
        }
    }

    /// Reports what a command printed before it was left running. Codex streams no output from the first moments of a
    /// command and reports it with the end of the step, which a command in the background has not reached; the model
    /// gets it at once. If anything was streamed, the two overlap in an unknown way, so nothing is added; the same
    /// holds after an engine restart.
    fn tell_unstreamed(&mut self, item: &RawItem) {
        let Some(output) = call::read_output(item).filter(|output| output.terminal.is_some()) else { return };
        let is_new = self.adoption.is_none() && !self.calls.streamed.contains(output.call.as_str());
        if is_new && !output.printed.is_empty() && self.open_items.contains_key(&output.call) {
            self.emit(Event::OutputDelta { item: output.call, delta: output.printed });
        }
    }

    /// The step for a call that failed, by what the model got.
    fn failed_call(&self, mut call: Call, item: &RawItem) -> Option<Item> {
        let output = call::read_output(item)?;
        if let Some(error) = output.failure(&call) {
            return Some(Item { id: call.id, body: ItemBody::FailedCall { tool: call.tool, error } });
        }
        let code = output.exit_code.filter(|&code| code > 0)?;
        call.printed = output.printed;
        call.ended(code, &self.order.cwd).map(project::item)
    }

    /// Reports a call as failed unless it has its own step.
    fn tell_failed(&mut self, item: Item) {
        if self.open_items.contains_key(&item.id) || self.ended_items.contains_key(&item.id) {
            return;
        }
        self.note_end(&item);
        self.emit(Event::ItemCompleted { item: Box::new(item) });
    }

    /// Looks into the file where raw events may be missing; until when that is waited for.
    pub(super) fn look_up_untold(&mut self, now: Moment) -> Option<Moment> {
        let is_missing = !self.calls.are_told || self.adoption.is_some();
        let has_calls = self.order.deed == Deed::Words && self.id.is_some();
        if !is_missing || !has_calls || !self.order.has_file {
            return None;
        }
        self.outputs.push_back(Output::LookUpUntold);
        Some(now + FILE_LIMIT)
    }

    pub(super) fn take_untold(&mut self, now: Moment, untold: Untold) {
        let Phase::Ending { waits, .. } = &mut self.phase else { return };
        if waits.untold.take().is_none() {
            return;
        }
        untold.failed.into_iter().for_each(|item| self.tell_failed(item));
        if !self.calls.are_told {
            let texts = untold.said.into_iter().flatten();
            self.tell_left_out(texts.filter(|text| is_left_out(text)).collect());
        }
        self.finish_when_nothing_is_awaited(now);
    }

    /// Notes what the person said.
    pub(super) fn note_images(&mut self, text: &str, attachments: &[Attachment]) {
        self.calls.said.push_str(text);
        self.calls.has_images |= attachments.iter().any(|attachment| attachment.kind == "image");
    }

    /// A message of the person was reported: with raw events it is known by now which images were omitted.
    pub(super) fn warn_about_images(&mut self) {
        let images = std::mem::take(&mut self.calls.images);
        self.tell_left_out(images);
    }

    /// A person can write such a text too; only a message with images has it from Codex.
    fn tell_left_out(&mut self, texts: Vec<String>) {
        if !self.calls.has_images {
            return;
        }
        for text in texts {
            if !self.calls.said.contains(&text) {
                let message =
                    format!("the model did not get an image; Codex sent it this text instead: {text}");
                self.emit(Event::Warning { message });
            }
        }
    }
}

fn is_left_out(text: &str) -> bool {
    LEFT_OUT.iter().any(|beginning| text.starts_with(beginning))
}
