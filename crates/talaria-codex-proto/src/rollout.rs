//! The file in which Codex keeps a conversation, as far as it reports the steps of a turn that the thread itself does not.
//!
//! Not an interface of Codex: both versions write it, and neither promises its shape. So it is read tolerantly (unknown
//! lines and an incomplete last line are ignored) and trusted narrowly: a command has ended only if its exit code is
//! written. The thread takes precedence; the file adds steps to it (`complete`), in the order of the file. Needed for
//! 0.130, which does not report commands of a turn that has ended. Called by the code that reads a thread for a turn
//! that was resumed.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::choice::ModelSettings;
use crate::project;
use crate::wire::history::{HistoryItem, HistoryTurn};
use crate::wire::item::{WireBody, WireItem, WireStatus};
use crate::wire::raw_call::RawItem;
use talaria_core::gap::Extent;
use talaria_core::ids::{ItemId, TurnId};
use talaria_core::item::{Item, ItemBody};

pub(crate) mod call;
mod done;
#[cfg(test)]
mod tests;

use call::{Call, Output};

/// One turn according to a file.
#[derive(Clone, Debug, Default)]
pub struct Rollout {
    steps: Vec<Step>,
    /// Its end is written, so everything before it is.
    is_ended: bool,
    /// The texts of the messages that the model got as the user's.
    said: Vec<Vec<String>>,
}

/// Parts of a turn in the file that Codex sends no step for.
#[derive(Clone, Debug, Default)]
pub struct Untold {
    /// Calls that failed, with what the model got.
    pub failed: Vec<Item>,
    /// The texts of the messages that the model got as the user's.
    pub said: Vec<Vec<String>>,
}

impl Rollout {
    /// Is the end of the turn written?
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Failed calls, for which Codex sends no step. A command among them may have a step with the same id.
    pub fn untold(self) -> Untold {
        let failed = |step| match step {
            Step::Failed(item) => Some(*item),
            Step::Ended(item) if is_failed_command(&item.0.body) => Some(project::item(item.0)),
            Step::Ended(_) | Step::Said(_) | Step::Unclear(_) => None,
        };
        Untold { failed: self.steps.into_iter().filter_map(failed).collect(), said: self.said }
    }
}

fn is_failed_command(body: &WireBody) -> bool {
    matches!(body, WireBody::CommandExecution { status: WireStatus::Failed, exit_code: Some(1..), .. })
}

#[derive(Clone, Debug)]
enum Step {
    /// A message; its id is not always written.
    Said(String),
    /// A step that ended.
    Ended(Box<HistoryItem>),
    /// A call that failed; Codex has no step for it.
    Failed(Box<Item>),
    /// A call that is not understood, or whose end is not written.
    Unclear(ItemId),
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// What distinguishes a payload.
#[derive(Deserialize)]
struct Head {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    turn_id: Option<TurnId>,
    #[serde(default)]
    cwd: Option<String>,
}

/// Reads what a file says of a turn; `None` if it has no such turn.
pub fn read(text: &str, turn: &TurnId) -> Option<Rollout> {
    let mut draft: Option<Draft> = None;
    for line in text.lines() {
        let Ok(Line { kind, payload }) = serde_json::from_str::<Line<'_>>(line) else { continue };
        let Ok(head) = serde_json::from_str::<Head>(payload.get()) else { continue };
        match (kind, head.kind.as_str()) {
            ("event_msg", "task_started") if head.turn_id.as_ref() == Some(turn) => {
                draft = Some(Draft::default());
            }
            ("event_msg", "task_started") if draft.is_some() => break,
            _ => {
                if let Some(draft) = &mut draft {
                    draft.take(kind, &head, payload.get());
                }
            }
        }
    }
    draft.map(Draft::finish)
}

/// Reads with which model and effort a turn runs; `None` if the file does not say so (yet). `text` may be the end of a file.
pub fn settings(text: &str, turn: &TurnId) -> Option<ModelSettings> {
    #[derive(Deserialize)]
    struct Context {
        turn_id: TurnId,
        model: String,
        #[serde(default)]
        effort: Option<String>,
    }
    text.lines().rev().find_map(|line| {
        let Line { kind: "turn_context", payload } = serde_json::from_str(line).ok()? else { return None };
        let context: Context = serde_json::from_str(payload.get()).ok()?;
        (context.turn_id == *turn)
            .then_some(ModelSettings { model: Some(context.model), effort: context.effort })
    })
}

/// A turn while its lines are read.
#[derive(Default)]
struct Draft {
    cwd: String,
    is_ended: bool,
    steps: Vec<Step>,
    said: Vec<Vec<String>>,
    /// Calls without an end so far.
    calls: HashMap<ItemId, Call>,
    /// Commands that continued in a terminal, by the terminal's name.
    terminals: HashMap<String, ItemId>,
}

impl Draft {
    fn take(&mut self, kind: &str, head: &Head, payload: &str) {
        match (kind, head.kind.as_str()) {
            ("turn_context", _) => self.cwd = head.cwd.clone().unwrap_or_default(),
            // 0.166 writes the step itself.
            ("event_msg", "item_completed") => {
                if let Some(item) = done::item(payload) {
                    self.end(item);
                }
            }
            ("event_msg", "patch_apply_end") => {
                if let Some(item) = done::patch(payload) {
                    self.end(item);
                }
            }
            ("event_msg", "task_complete" | "turn_aborted") => self.is_ended = true,
            ("event_msg", "agent_message") => self.steps.extend(done::message(payload).map(Step::Said)),
            ("response_item", "function_call" | "custom_tool_call") => {
                let item = serde_json::from_str::<RawItem>(payload).ok();
                if let Some(call) = item.and_then(|item| call::read(&item)) {
                    self.steps.push(Step::Unclear(call.id.clone()));
                    self.calls.insert(call.id.clone(), call);
                }
            }
            ("response_item", "function_call_output" | "custom_tool_call_output") => {
                let item = serde_json::from_str::<RawItem>(payload).ok();
                if let Some(output) = item.and_then(|item| call::read_output(&item)) {
                    self.take_output(output);
                }
            }
            ("response_item", "message") => {
                if let Ok(RawItem { role, content, .. }) = serde_json::from_str(payload)
                    && role.as_deref() == Some("user")
                {
                    self.said.push(content);
                }
            }
            _ => {}
        }
    }

    /// A step that ended takes the place of its call.
    fn end(&mut self, item: WireItem) {
        let id = item.id.clone();
        let place = self.steps.iter().position(|step| step.is(&id));
        let step = match &item.body {
            WireBody::AgentMessage { text, .. } => Step::Said(text.clone()),
            _ => Step::Ended(Box::new(HistoryItem(item))),
        };
        match place {
            Some(place) => self.steps[place] = step,
            None => self.steps.push(step),
        }
        self.calls.remove(&id);
    }

    fn take_output(&mut self, output: Output) {
        let Some(call) = self.calls.get(&output.call) else { return };
        if let Some(error) = output.failure(call) {
            let body = ItemBody::FailedCall { tool: call.tool.clone(), error };
            return self.fail(Item { id: output.call, body });
        }
        let (id, terminal) = (call.id.clone(), call.terminal.clone());
        // Input to a terminal, or a wait for it, belongs to the command that was started there.
        let owner = terminal.as_ref().and_then(|terminal| self.terminals.get(terminal)).cloned();
        if terminal.is_some() {
            self.calls.remove(&id);
            self.steps.retain(|step| !step.is(&id));
        }
        let Some(call) = self.calls.get_mut(owner.as_ref().unwrap_or(&id)) else { return };
        call.printed.push_str(&output.printed);
        if let Some(terminal) = output.terminal {
            self.terminals.insert(terminal, call.id.clone());
        }
        if let Some(item) = output.exit_code.and_then(|code| call.ended(code, &self.cwd)) {
            self.end(item);
        }
    }

    /// A call that failed keeps its place.
    fn fail(&mut self, item: Item) {
        self.calls.remove(&item.id);
        if let Some(place) = self.steps.iter().position(|step| step.is(&item.id)) {
            self.steps[place] = Step::Failed(Box::new(item));
        }
    }

    fn finish(self) -> Rollout {
        Rollout { steps: self.steps, is_ended: self.is_ended, said: self.said }
    }
}

impl Step {
    fn is(&self, id: &ItemId) -> bool {
        match self {
            Self::Said(_) => false,
            Self::Ended(item) => item.0.id == *id,
            Self::Failed(item) => item.id == *id,
            Self::Unclear(call) => call == id,
        }
    }
}

/// Adds steps that the thread does not report to a turn. Reported steps are unchanged and keep their order.
pub fn complete(turn: &mut HistoryTurn, rollout: &Rollout) {
    let mut told = std::mem::take(&mut turn.items);
    let mut items = Vec::with_capacity(told.len() + rollout.steps.len());
    for step in &rollout.steps {
        let place = told.iter().position(|item| match step {
            Step::Said(text) => {
                matches!(&item.0.body, WireBody::AgentMessage { text: told, .. } if told == text)
            }
            Step::Ended(ended) => ended.0.id == item.0.id,
            Step::Failed(failed) => failed.id == item.0.id,
            Step::Unclear(call) => *call == item.0.id,
        });
        match (place, step) {
            (Some(place), _) => items.extend(told.drain(..=place)),
            (None, Step::Ended(item)) => items.push(HistoryItem::clone(item)),
            (None, Step::Said(_) | Step::Failed(_) | Step::Unclear(_)) => {}
        }
    }
    items.append(&mut told);
    // A call that the file leaves unclear is clear if the thread reports it.
    let is_clear = |step: &Step| match step {
        Step::Unclear(call) => items.iter().any(|item| item.0.id == *call),
        Step::Said(_) | Step::Ended(_) | Step::Failed(_) => true,
    };
    if rollout.is_ended && rollout.steps.iter().all(is_clear) {
        turn.extent = Extent::Steps;
    }
    turn.items = items;
}
