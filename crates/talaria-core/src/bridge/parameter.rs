//! Parameters of the actions: the one table of names, values and limits. The schema and the checks are generated from it.

use super::Action;
use super::Action::{
    Events, Interrupt, List, NotifyCompleted, Respond, Result, Send, Start, Status, Steer, Wait,
};
use crate::admission::LONGEST_PROMPT;

/// The longest that one `wait` takes, in seconds.
pub const LONGEST_WAIT: u64 = 3600;
/// How long `wait` takes by default: less than the 60 seconds after which common clients cancel a call.
pub const USUAL_WAIT: u64 = 45;
/// How many tasks, events or notifications are given when nothing is said.
pub(super) const USUAL_LIMIT: u64 = 10;
/// The longest deadline, in seconds: 30 days, as for every task.
const LONGEST_DEADLINE: u64 = 30 * 24 * 3600;
/// The longest path, in bytes.
const LONGEST_PATH: usize = 4096;

pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    /// The actions that accept it.
    pub(super) goes_with: &'static [Action],
    /// Its description for models.
    pub(super) about: &'static str,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// Text of at most this many bytes.
    Text(usize),
    /// One of these words; the schema names the default.
    Word { allowed: &'static [&'static str], usual: Option<&'static str> },
    /// An id, or the beginning of one.
    Id,
    /// Yes or no.
    Flag,
    /// A whole number within limits.
    Count { least: u64, most: u64, usual: Option<u64> },
    /// Some texts of at most this many bytes.
    Texts(usize),
    /// Names and values.
    Object,
}

const TASK: &[Action] = &[Status, Result, Events, Wait, Send, Steer, Interrupt, Respond];

/// Every parameter but `action`.
pub(super) const ALL: [Parameter; 24] = [
    Parameter {
        name: "prompt",
        takes: Takes::Text(LONGEST_PROMPT),
        goes_with: &[Start, Send],
        about: "What Codex is to do. Needed for start and send.",
    },
    Parameter {
        name: "task_id",
        takes: Takes::Id,
        goes_with: TASK,
        about: "The task, as start returned it (codex-…). Needed for everything but start, list, respond and notify_completed.",
    },
    Parameter {
        name: "instruction",
        takes: Takes::Text(LONGEST_PROMPT),
        goes_with: &[Steer, Respond],
        about: "steer: the further words for the turn that runs. respond: the request id, if request_id is not given.",
    },
    Parameter {
        name: "request_id",
        takes: Takes::Id,
        goes_with: &[Respond],
        about: "respond: the request that is answered (req-…), from pending_requests.",
    },
    Parameter {
        name: "decision",
        takes: Takes::Word {
            allowed: &["accept", "acceptForSession", "decline", "cancel"],
            usual: Some("decline"),
        },
        goes_with: &[Respond],
        about: "respond: the person's decision. With answers or content it is accept unless something else is said.",
    },
    Parameter {
        name: "answers",
        takes: Takes::Object,
        goes_with: &[Respond],
        about: "respond, for questions of Codex: {\"question id\": [\"answer\", …]}.",
    },
    Parameter {
        name: "content",
        takes: Takes::Object,
        goes_with: &[Respond],
        about: "respond, for a form of an MCP server: {\"field\": value}; for wider permissions: {\"grant\": \"all\", \"network\" or \
                \"files\", \"scope\": \"turn\" or \"session\"}.",
    },
    Parameter {
        name: "reason",
        takes: Takes::Text(4096),
        goes_with: &[Respond],
        about: "respond, with decline or cancel: the reason, which Codex gets.",
    },
    Parameter {
        name: "cwd",
        takes: Takes::Text(LONGEST_PATH),
        goes_with: &[Start],
        about: "start: the directory to work in. Default: where this server was started. Others only where the person allowed them.",
    },
    Parameter {
        name: "provider",
        takes: Takes::Text(64),
        goes_with: &[Start],
        about: "start: the model provider, such as anthropic; without it the person's own choice holds.",
    },
    Parameter {
        name: "model",
        takes: Takes::Text(256),
        goes_with: &[Start],
        about: "start: the model; without it the person's own choice holds.",
    },
    Parameter {
        name: "sandbox",
        takes: Takes::Word { allowed: &["read-only", "workspace-write"], usual: Some("read-only") },
        goes_with: &[Start],
        about: "start: what commands may write. workspace-write is needed to change files.",
    },
    Parameter {
        name: "approval_policy",
        takes: Takes::Word { allowed: &["untrusted", "on-request"], usual: Some("untrusted") },
        goes_with: &[Start],
        about: "start: untrusted asks the person before every command that is not known to be harmless, on-request when the model \
                wants to leave the sandbox.",
    },
    Parameter {
        name: "writable_roots",
        takes: Takes::Texts(LONGEST_PATH),
        goes_with: &[Start],
        about: "start, with workspace-write: further directories that may be written.",
    },
    Parameter {
        name: "network",
        takes: Takes::Flag,
        goes_with: &[Start],
        about: "start, with workspace-write: may commands use the network?",
    },
    Parameter {
        name: "worktree",
        takes: Takes::Flag,
        goes_with: &[Start],
        about: "start, with workspace-write: work in a git worktree on a branch of its own (talaria/<task id>) and leave the checkout alone.",
    },
    Parameter {
        name: "uncommitted",
        takes: Takes::Word { allowed: &["refuse", "leave", "copy"], usual: Some("refuse") },
        goes_with: &[Start],
        about: "start, with worktree: what becomes of changes in the checkout that are not committed. leave: the task does not see \
                them; copy: it gets a copy.",
    },
    Parameter {
        name: "deadline_seconds",
        takes: Takes::Count { least: 1, most: LONGEST_DEADLINE, usual: None },
        goes_with: &[Start, Send],
        about: "start, send: stop the turn after this time; the time a person takes to answer does not count. Default: the person's codex.turn_timeout, if set.",
    },
    Parameter {
        name: "codex_home",
        takes: Takes::Text(LONGEST_PATH),
        goes_with: &[Start],
        about: "start: another CODEX_HOME, for tests and isolated runs. Only one that the person listed.",
    },
    Parameter {
        name: "notify_target",
        takes: Takes::Text(2048),
        goes_with: &[Start],
        about: "start: whom Talaria notifies when the task ends or waits for a person: local, or a target that the person listed.",
    },
    Parameter {
        name: "timeout_seconds",
        takes: Takes::Count { least: 0, most: LONGEST_WAIT, usual: Some(USUAL_WAIT) },
        goes_with: &[Wait],
        about: "wait: return the current state after this time. The task continues.",
    },
    Parameter {
        name: "after",
        takes: Takes::Count { least: 0, most: i64::MAX as u64, usual: Some(0) },
        goes_with: &[Events],
        about: "events: only what has a greater number.",
    },
    Parameter {
        name: "limit",
        takes: Takes::Count { least: 1, most: 1000, usual: Some(USUAL_LIMIT) },
        goes_with: &[List, Events, NotifyCompleted],
        about: "list, events, notify_completed: the maximum number.",
    },
    Parameter {
        name: "dry_run",
        takes: Takes::Flag,
        goes_with: &[NotifyCompleted],
        about: "notify_completed: only say what would be sent.",
    },
];

/// Words that a sandbox or a policy of Codex has, and a task does not get, with the reason.
pub(super) fn refused(name: &str, word: &str) -> Option<&'static str> {
    match (name, word) {
        ("sandbox", "danger-full-access") => {
            Some("no one watches a task, so its commands always run in a sandbox")
        }
        ("approval_policy", "never") => {
            Some("no one watches a task, so a person is asked before it does what is not harmless")
        }
        ("approval_policy", "on-failure") => {
            Some("it runs what failed in the sandbox again outside, without being asked")
        }
        _ => None,
    }
}
