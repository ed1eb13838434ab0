//! Redacts events before they are shown or stored: every text in every event passes here.
//!
//! Streamed text is redacted as a stream, one per step: a possible beginning of a secret is held until it is
//! decided, at the latest when the step ends. Ids, names, states, settings, numbers, working directories and the
//! paths of patches are unchanged, and so are texts that are useless unless whole: the label of an option (it is the
//! answer), the value of a form's option, the default of a form's field, and the address that an MCP server wants a
//! person to visit. The table in `tests` lists each of these fields. Called by the session for each event.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::event::{Event, PlanStep};
use crate::ids::ItemId;
use crate::item::FileChange;
use crate::outcome::{Outcome, Report};
use talaria_guard::redact::{Stream, redact, redact_json};

mod ask;
mod item;
#[cfg(test)]
mod tests;

pub use item::cover_item;

/// Covers the secrets of one turn's events.
#[derive(Debug, Default)]
pub struct EventRedactor {
    /// Texts that are still coming.
    streams: HashMap<ItemId, Piece>,
}

/// A streamed text, and the kind of its pieces.
#[derive(Debug)]
struct Piece {
    stream: Stream,
    event: fn(ItemId, String) -> Event,
}

impl EventRedactor {
    /// Redacts an event and emits the result: nothing, the event, or held text before it.
    pub fn cover(&mut self, event: Event, tell: &mut impl FnMut(Event)) {
        match event {
            Event::TextDelta { item, delta } => {
                self.piece(item, &delta, |item, delta| Event::TextDelta { item, delta }, tell);
            }
            Event::ReasoningDelta { item, delta } => {
                self.piece(item, &delta, |item, delta| Event::ReasoningDelta { item, delta }, tell);
            }
            Event::OutputDelta { item, delta } => {
                self.piece(item, &delta, |item, delta| Event::OutputDelta { item, delta }, tell);
            }
            Event::PlanDelta { item, delta } => {
                self.piece(item, &delta, |item, delta| Event::PlanDelta { item, delta }, tell);
            }
            mut other => {
                match &other {
                    Event::ItemCompleted { item } => self.end(&item.id, tell),
                    Event::ItemAbandoned { item, .. } => self.end(item, tell),
                    // Text that is held back belongs to the void text: shown later, it would count.
                    Event::AttemptVoid { items, .. } => items.iter().for_each(|item| self.end(item, tell)),
                    Event::BackgroundStarted(command) => self.end(&command.item, tell),
                    Event::Outcome(_) => self.end_all(tell),
                    _ => {}
                }
                cover_event(&mut other);
                tell(other);
            }
        }
    }

    fn piece(
        &mut self,
        item: ItemId,
        delta: &str,
        event: fn(ItemId, String) -> Event,
        tell: &mut impl FnMut(Event),
    ) {
        let new = || Piece { stream: Stream::new(), event };
        let mut out = String::new();
        match self.streams.get_mut(&item) {
            Some(piece) => piece.stream.push(delta, &mut out),
            None => self.streams.entry(item.clone()).or_insert_with(new).stream.push(delta, &mut out),
        }
        if !out.is_empty() {
            tell(event(item, out));
        }
    }

    fn end(&mut self, item: &ItemId, tell: &mut impl FnMut(Event)) {
        if let Some(Piece { mut stream, event }) = self.streams.remove(item) {
            let mut out = String::new();
            stream.finish(&mut out);
            if !out.is_empty() {
                tell(event(item.clone(), out));
            }
        }
    }

    fn end_all(&mut self, tell: &mut impl FnMut(Event)) {
        let mut items: Vec<ItemId> = self.streams.keys().cloned().collect();
        items.sort();
        for item in items {
            self.end(&item, tell);
        }
    }
}

fn cover_event(event: &mut Event) {
    match event {
        Event::ItemStarted { item }
        | Event::ItemCompleted { item }
        | Event::AgentItemStarted { item, .. }
        | Event::AgentItemCompleted { item, .. } => cover_item(item),
        Event::PatchUpdated { changes, .. } => cover_changes(changes),
        Event::SessionStarted(started) => {
            started.writable_roots.iter_mut().flatten().for_each(text);
        }
        Event::PlanUpdated { explanation, steps } => {
            maybe(explanation);
            steps.iter_mut().for_each(|PlanStep { step, .. }| text(step));
        }
        Event::RequestOpened { ask, .. } => ask::cover(ask),
        Event::RequestClosed { why: words, .. } | Event::ModelRerouted { reason: words, .. } => maybe(words),
        Event::DiffUpdated { diff: words }
        | Event::ToolProgress { message: words, .. }
        | Event::Retrying { message: words }
        | Event::AttemptVoid { why: words, .. }
        | Event::Warning { message: words }
        | Event::TerminalsEnded { message: words }
        | Event::HostReplaced { message: words }
        | Event::BackgroundOutput { delta: words, .. }
        | Event::BackgroundEnded { command: words, .. }
        | Event::Corrupt { reason: words, .. } => text(words),
        Event::Steering { input } | Event::Queued { input, .. } => text(&mut input.text),
        Event::Unqueued { inputs, .. } => inputs.iter_mut().for_each(|input| text(&mut input.text)),
        Event::BackgroundStarted(command) => text(&mut command.command),
        Event::Unknown { raw, .. } => json(raw),
        Event::Outcome(report) => cover_report(report),
        Event::Gap(gap) => text(&mut gap.message),
        Event::Reviewed(report) => {
            maybe(&mut report.why);
            for change in &mut report.changes {
                maybe(&mut change.before);
                maybe(&mut change.after);
            }
            for skill in &mut report.skills {
                text(&mut skill.name);
            }
        }
        Event::Ledger { .. }
        | Event::TurnStarted { .. }
        | Event::TextDelta { .. }
        | Event::ReasoningDelta { .. }
        | Event::OutputDelta { .. }
        | Event::PlanDelta { .. }
        | Event::ItemAbandoned { .. }
        | Event::DeliveryUnknown { .. }
        | Event::UsageUpdated { .. }
        | Event::RateLimits(_)
        | Event::SettingsConfirmed { .. }
        | Event::Compacted
        | Event::TurnUndone { .. }
        | Event::AgentUpdated { .. }
        | Event::ChildrenRunning { .. }
        | Event::Quiet { .. }
        | Event::Interrupting { .. }
        | Event::Escalated { .. }
        | Event::Steered { .. } => {}
    }
}

/// Covers the secrets of a report.
pub fn cover_report(report: &mut Report) {
    maybe(&mut report.message);
    maybe(&mut report.text);
    maybe(&mut report.hint);
    match &mut report.outcome {
        Outcome::Failed { message: words, .. } | Outcome::Lost { why: words } => text(words),
        Outcome::Completed | Outcome::Interrupted { .. } => {}
    }
}

fn cover_changes(changes: &mut [FileChange]) {
    // Paths stay whole: after a restart they decide where the patch would write, and a mask could hide a `..`.
    for change in changes {
        text(&mut change.diff);
    }
}

fn text(words: &mut String) {
    if let Cow::Owned(covered) = redact(words) {
        *words = covered;
    }
}

fn maybe(words: &mut Option<String>) {
    if let Some(words) = words {
        text(words);
    }
}

fn each(words: &mut [String]) {
    words.iter_mut().for_each(text);
}

fn json(raw: &mut Box<RawValue>) {
    if let Cow::Owned(covered) = redact_json(raw) {
        *raw = covered;
    }
}
