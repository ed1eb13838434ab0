//! The steps that people see of a call: a command, a patch, or a call of a tool.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::value::RawValue;
use talaria_agent::history::CallDisposition;
use talaria_core::event::Event;
use talaria_core::ids::ItemId;
use talaria_core::item::{CommandSource, FileChange, Item, ItemBody, Status, ToolResult};
use talaria_core::tool::ToolVerdict;

/// What a step shows of a call.
#[derive(Clone, Debug)]
pub(super) enum CallFace {
    /// A command and where it runs.
    Command { line: String, cwd: String },
    /// A change of a file.
    Patch(FileChange),
    /// A call of a tool of an MCP server.
    Server { server: String, tool: String, arguments: String },
    /// Anything else, with its arguments.
    Tool { name: String, arguments: String },
}

/// The steps of a turn that an earlier engine reported.
#[derive(Debug, Default)]
pub(super) struct LeftSteps {
    begun: HashMap<ItemId, CallFace>,
    ended: HashSet<ItemId>,
}

impl LeftSteps {
    /// Reads them from the events of the turn.
    pub(super) fn of(events: &[Event]) -> Self {
        let mut left = Self::default();
        for event in events {
            match event {
                Event::ItemStarted { item } => {
                    left.begun.extend(CallFace::of(item).map(|face| (item.id.clone(), face)));
                }
                Event::ItemCompleted { item } => drop(left.ended.insert(item.id.clone())),
                _ => {}
            }
        }
        left
    }

    /// How the step looked when it began, if it did.
    pub(super) fn face(&self, item: &ItemId) -> Option<&CallFace> {
        self.begun.get(item)
    }

    /// Was its end reported?
    pub(super) fn has_ended(&self, item: &ItemId) -> bool {
        self.ended.contains(item)
    }
}

/// How a step ended.
#[derive(Clone, Debug)]
pub(super) struct StepEnd {
    pub(super) status: Status,
    /// What the model gets.
    pub(super) text: String,
    pub(super) exit_code: Option<i32>,
    pub(super) took: Duration,
    pub(super) images: u32,
}

impl CallFace {
    /// The face of a step that was reported; none for what is no call.
    fn of(item: &Item) -> Option<Self> {
        match &item.body {
            ItemBody::Command { command, cwd, .. } => {
                Some(Self::Command { line: command.clone(), cwd: cwd.clone() })
            }
            ItemBody::Patch { changes, .. } => changes.first().cloned().map(Self::Patch),
            ItemBody::Tool { server, tool, arguments, .. } => {
                let arguments = arguments.as_ref().map(|json| json.get().to_owned()).unwrap_or_default();
                Some(Self::Server { server: server.clone(), tool: tool.clone(), arguments })
            }
            ItemBody::ClientTool { tool, arguments, .. } => {
                let arguments = arguments.as_ref().map(|json| json.get().to_owned()).unwrap_or_default();
                Some(Self::Tool { name: tool.clone(), arguments })
            }
            _ => None,
        }
    }

    /// The step when it begins.
    pub(super) fn begin(&self, id: &ItemId) -> Item {
        self.item(id, Status::InProgress, None)
    }

    /// The step when it has ended.
    pub(super) fn end(&self, id: &ItemId, end: &StepEnd) -> Item {
        self.item(id, end.status, Some(end))
    }

    fn item(&self, id: &ItemId, status: Status, end: Option<&StepEnd>) -> Item {
        let duration_ms = end.map(|end| u64::try_from(end.took.as_millis()).unwrap_or(u64::MAX));
        let body = match self {
            Self::Command { line, cwd } => ItemBody::Command {
                command: line.clone(),
                cwd: cwd.clone(),
                source: CommandSource::default(),
                status,
                exit_code: end.and_then(|end| end.exit_code),
                duration_ms,
                output: end.map(|end| end.text.clone()),
            },
            Self::Patch(change) => ItemBody::Patch { status, changes: vec![change.clone()] },
            Self::Server { server, tool, arguments } => ItemBody::Tool {
                server: server.clone(),
                tool: tool.clone(),
                status,
                arguments: RawValue::from_string(arguments.clone()).ok(),
                error: end.filter(|end| end.status == Status::Failed).map(|end| end.text.clone()),
                result: end.map(|end| ToolResult {
                    text: Some(end.text.clone()),
                    images: end.images,
                    ..ToolResult::default()
                }),
                duration_ms,
            },
            Self::Tool { name, arguments } => ItemBody::ClientTool {
                namespace: None,
                tool: name.clone(),
                status,
                success: end.map(|end| end.status == Status::Completed),
                arguments: RawValue::from_string(arguments.clone()).ok(),
                result: end.map(|end| ToolResult {
                    text: Some(end.text.clone()),
                    images: end.images,
                    ..ToolResult::default()
                }),
                duration_ms,
            },
        };
        Item { id: id.clone(), body }
    }
}

/// The state of a step by how its call ended.
pub(super) fn status(disposition: CallDisposition) -> Status {
    match disposition {
        CallDisposition::Done => Status::Completed,
        CallDisposition::Failed => Status::Failed,
        CallDisposition::NotStarted | CallDisposition::Skipped | CallDisposition::Stopped { .. } => {
            Status::Interrupted
        }
        CallDisposition::Unknown => Status::Unknown,
        CallDisposition::Refused => Status::Declined,
    }
}

/// How a call ended, by the verdict of its tool.
pub(super) fn disposition(verdict: ToolVerdict) -> CallDisposition {
    match verdict {
        ToolVerdict::Done => CallDisposition::Done,
        ToolVerdict::Failed => CallDisposition::Failed,
        ToolVerdict::Unknown => CallDisposition::Unknown,
    }
}
