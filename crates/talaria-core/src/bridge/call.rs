//! One complete call of the tool: all required parameters are present. `admission` rejects invalid combinations
//! for a task, for all clients alike.

use std::time::Duration;

use serde_json::{Map, Value};

use super::arguments::{Arguments, missing};
use super::parameter::{USUAL_LIMIT, USUAL_WAIT};
use super::{Action, Mistake, Response};
use crate::api::Dirty;
use crate::policy::{ApprovalPolicy, Sandbox};

/// One call of the tool.
#[derive(Debug)]
pub enum BridgeCall {
    /// Starts a task.
    Start(Box<Start>),
    /// Shows a task.
    Status {
        /// The task.
        task: String,
    },
    /// Lists tasks.
    List {
        /// The maximum number.
        limit: usize,
    },
    /// Returns the answer of a task, and what it changed.
    Result {
        /// The task.
        task: String,
    },
    /// Lists what happened in a task.
    Events {
        /// The task.
        task: String,
        /// Only what has a greater number.
        after: i64,
        /// The maximum number.
        limit: usize,
    },
    /// Waits until a task has ended or needs a person.
    Wait {
        /// The task.
        task: String,
        /// For how long at most.
        timeout: Duration,
    },
    /// Starts the next turn of a task.
    Send {
        /// The task.
        task: String,
        /// The input.
        prompt: String,
        /// When the turn is stopped.
        deadline: Option<Duration>,
    },
    /// Sends further words to the running turn.
    Steer {
        /// The task.
        task: String,
        /// The words.
        instruction: String,
    },
    /// Stops the turn that runs.
    Interrupt {
        /// The task.
        task: String,
    },
    /// Answers a request.
    Respond {
        /// The task, if it was named.
        task: Option<String>,
        /// The request.
        request: String,
        /// The answer.
        response: Response,
    },
    /// Sends the notifications that are owed.
    NotifyCompleted {
        /// The maximum number.
        limit: usize,
        /// Only say what would be sent.
        dry_run: bool,
    },
}

/// A task to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The prompt.
    pub prompt: String,
    /// Where, if not where the server was started; perhaps relative to that.
    pub cwd: Option<String>,
    /// The model provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The sandbox.
    pub sandbox: Sandbox,
    /// When Codex asks.
    pub approval: ApprovalPolicy,
    /// Further directories that may be written; perhaps relative.
    pub writable_roots: Vec<String>,
    /// May commands use the network?
    pub network: bool,
    /// Work in a worktree, and what becomes of uncommitted changes.
    pub worktree: Option<Dirty>,
    /// When its turn is stopped.
    pub deadline: Option<Duration>,
    /// Another home for Codex.
    pub codex_home: Option<String>,
    /// Whom to notify.
    pub notify: Option<String>,
}

impl BridgeCall {
    /// Reads a call, and the parameters that do not go with its action and were left out.
    pub fn read(written: &Map<String, Value>) -> Result<(Self, Vec<&'static str>), Mistake> {
        let arguments = Arguments::read(written)?;
        let call = Self::from_arguments(&arguments)?;
        Ok((call, arguments.ignored))
    }

    fn from_arguments(given: &Arguments) -> Result<Self, Mistake> {
        let task = || given.needed("task_id");
        let limit = || number(given.count("limit").unwrap_or(USUAL_LIMIT));
        let deadline = given.count("deadline_seconds").map(Duration::from_secs);
        Ok(match given.action {
            Action::Start => Self::Start(Box::new(start(given, deadline)?)),
            Action::Status => Self::Status { task: task()? },
            Action::List => Self::List { limit: limit() },
            Action::Result => Self::Result { task: task()? },
            Action::Events => {
                let after = i64::try_from(given.count("after").unwrap_or_default()).unwrap_or(i64::MAX);
                Self::Events { task: task()?, after, limit: limit() }
            }
            Action::Wait => {
                let seconds = given.count("timeout_seconds").unwrap_or(USUAL_WAIT);
                Self::Wait { task: task()?, timeout: Duration::from_secs(seconds) }
            }
            Action::Send => Self::Send { task: task()?, prompt: given.needed("prompt")?, deadline },
            Action::Steer => Self::Steer { task: task()?, instruction: given.needed("instruction")? },
            Action::Interrupt => Self::Interrupt { task: task()? },
            Action::Respond => {
                let request = given.text("request_id").map_or_else(|| overloaded(given), Ok)?;
                Self::Respond { task: given.text("task_id"), request, response: Response::read(given)? }
            }
            Action::NotifyCompleted => {
                Self::NotifyCompleted { limit: limit(), dry_run: given.flag("dry_run") }
            }
        })
    }
}

/// The reference has the id of a request as `instruction`.
fn overloaded(given: &Arguments) -> Result<String, Mistake> {
    let id = given.text("instruction").ok_or_else(|| missing(Action::Respond, "request_id"))?;
    let written = Map::from_iter([
        ("action".to_owned(), Action::Respond.name().into()),
        ("request_id".to_owned(), id.into()),
    ]);
    Arguments::read(&written)?.needed("request_id")
}

fn start(given: &Arguments, deadline: Option<Duration>) -> Result<Start, Mistake> {
    let sandbox = match given.text("sandbox") {
        Some(word) => word.parse().map_err(|error| Mistake::new(format!("sandbox: {error}")))?,
        None => Sandbox::ReadOnly,
    };
    let approval = match given.text("approval_policy") {
        Some(word) => word.parse().map_err(|error| Mistake::new(format!("approval_policy: {error}")))?,
        None => ApprovalPolicy::Untrusted,
    };
    let dirty = match given.text("uncommitted").as_deref() {
        Some("leave") => Dirty::Leave,
        Some("copy") => Dirty::Copy,
        _ => Dirty::Refuse,
    };
    Ok(Start {
        prompt: given.needed("prompt")?,
        cwd: given.text("cwd"),
        provider: given.text("provider").map(|provider| provider.trim().to_owned()),
        model: given.text("model").map(|model| model.trim().to_owned()),
        sandbox,
        approval,
        writable_roots: given.texts("writable_roots"),
        network: given.flag("network"),
        worktree: given.flag("worktree").then_some(dirty),
        deadline,
        codex_home: given.text("codex_home"),
        notify: given.text("notify_target").map(|target| target.trim().to_owned()),
    })
}

fn number(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
