//! Questions of Codex to a person, and the answers.
//!
//! `Ask` is what people are shown; the wire form of an answer is made in `reply`. What no one can be asked is declined
//! visibly, never left hanging. No name of a server, a tool or a command is trusted here: a person who accepts
//! something has seen it. Made by `project`, answered through the turn machine.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{ItemId, ThreadId};
use crate::item::FileChange;

mod answer;
mod check;
mod compose;
mod form;
mod label;
mod permissions;
mod question;

pub use answer::{Answer, Content, Given, Grant};
pub use check::Misfit;
#[cfg(test)]
pub(crate) use compose::tests as samples;
pub use compose::{Typed, Unfit, compose};
pub use form::{Field, FieldKind, Form, FormOption};
pub use label::{patch_summary, shell_words};
pub use permissions::{FileAccess, PathAccess, PermissionPlace, Permissions};
pub use question::{Question, QuestionOption};

/// A question, as shown to people.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    /// May this command run?
    Command {
        /// The thread that asks; a sub-agent's may differ from the session's.
        thread: ThreadId,
        /// The step it belongs to.
        item: ItemId,
        /// Distinguishes several questions about one step.
        approval: Option<String>,
        /// The command line.
        command: String,
        /// Codex's analysis of it, one phrase each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        actions: Vec<String>,
        /// Where it would run.
        cwd: Option<String>,
        /// Why, in Codex's or the model's words.
        reason: Option<String>,
        /// A wider sandbox, for this command.
        permissions: Option<Permissions>,
        /// The rule that Codex proposes: commands that begin with these words would no longer be asked about.
        always: Option<Vec<String>>,
        /// Why Talaria leaves it to a person, whatever the mode says: what its rules cannot see in the line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_because: Option<String>,
    },
    /// May this be typed into a command that runs already?
    Stdin {
        /// The thread that asks.
        thread: ThreadId,
        /// The step that runs the command.
        item: ItemId,
        /// Distinguishes several questions about one step.
        approval: Option<String>,
        /// The input that would be typed, as Codex writes it.
        command: String,
        /// Where the command was started.
        cwd: Option<String>,
        /// Why, and what the command is.
        reason: Option<String>,
        /// Is an acceptance remembered until the conversation ends?
        can_last: bool,
    },
    /// May this address be reached?
    Network {
        /// The thread that asks.
        thread: ThreadId,
        /// The step it belongs to.
        item: ItemId,
        /// The host.
        host: String,
        /// The protocol, in Codex's word.
        protocol: String,
        /// The command that needs it, if Codex names it.
        command: Option<String>,
        /// Why.
        reason: Option<String>,
        /// The host that Codex proposes to allow permanently.
        always: Option<String>,
    },
    /// May these files be changed?
    Patch {
        /// The thread that asks.
        thread: ThreadId,
        /// The step it belongs to.
        item: ItemId,
        /// The changes, from the step that announced them; `None` when Codex never reported what they are.
        changes: Option<Vec<FileChange>>,
        /// Why.
        reason: Option<String>,
        /// A directory that accepting would make writable for the rest of the session.
        grant_root: Option<String>,
    },
    /// May the sandbox be wider?
    Permissions {
        /// The thread that asks.
        thread: ThreadId,
        /// The step it belongs to.
        item: ItemId,
        /// What relative paths are relative to.
        cwd: Option<String>,
        /// Why.
        reason: Option<String>,
        /// What accepting would grant.
        permissions: Permissions,
    },
    /// May a task that a model started have more than the sandbox of its directory? Talaria asks this itself, before the
    /// task begins.
    TaskPower {
        /// The task.
        task: String,
        /// Who started it.
        model: String,
        /// Where it works.
        cwd: String,
        /// What accepting would grant, as long as the task exists.
        permissions: Permissions,
    },
    /// May the model read pages of a site, although the sandbox of the conversation has no network? Talaria asks this
    /// itself, for its tool `talaria_web`.
    WebPage {
        /// The thread whose model asks.
        thread: ThreadId,
        /// The call.
        item: ItemId,
        /// What accepting would permit: the host, with its port if that is unusual.
        site: String,
        /// The page.
        url: String,
    },
    /// May this call of one of Talaria's own tools run? Talaria asks this itself, where `hooks.tool_call` leaves it to a person.
    OwnTool {
        /// The thread whose model calls it.
        thread: ThreadId,
        /// The call.
        item: ItemId,
        /// The tool.
        tool: String,
        /// The arguments of the call, as JSON.
        arguments: String,
        /// Why a person is asked.
        reason: String,
    },
    /// Questions of the model to the person.
    Input {
        /// The thread that asks.
        thread: ThreadId,
        /// The step it belongs to.
        item: Option<ItemId>,
        /// The questions, all to be answered at once.
        questions: Vec<Question>,
        /// Does the model insist on an answer? `None` when Codex does not say.
        blocking: Option<bool>,
    },
    /// An MCP server asks the person for input.
    Elicitation {
        /// The thread that asks.
        thread: ThreadId,
        /// The server.
        server: String,
        /// Its message.
        message: String,
        /// The requested input.
        #[serde(flatten)]
        wish: Wish,
    },
    /// May this tool of an MCP server run?
    Tool {
        /// The thread that asks.
        thread: Option<ThreadId>,
        /// The server.
        server: String,
        /// Codex's description.
        message: String,
        /// The server's description of the tool.
        description: Option<String>,
        /// The arguments of the call, as JSON; `None` when Codex does not report them.
        arguments: Option<String>,
        /// How long Codex can remember an acceptance.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        persist: Vec<Persist>,
        /// The step that waits for it. Codex does not say: it is the call of this server with these arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<ItemId>,
    },
    /// A request of Codex to its client that this one does not support.
    Host {
        /// The wire's name for it.
        method: String,
        /// One line about it.
        summary: String,
    },
    /// Something that cannot be shown wholly, and so cannot be agreed to.
    Unsupported {
        /// The thread that asks.
        thread: Option<ThreadId>,
        /// The wire's name for it.
        method: String,
        /// One line about it.
        summary: String,
    },
}

/// Input that an MCP server asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Wish {
    /// A form to be filled in.
    Form(Form),
    /// An address to be visited. Nothing here opens it.
    Url {
        /// The address.
        url: String,
    },
}

/// How long an acceptance is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Persist {
    /// Until the conversation ends.
    Session,
    /// Permanently; Codex writes it into its own configuration.
    Always,
}

impl Ask {
    /// The thread that asks, if Codex says so; a sub-agent's may differ from the session's.
    pub fn thread(&self) -> Option<&ThreadId> {
        match self {
            Self::Command { thread, .. }
            | Self::Stdin { thread, .. }
            | Self::Network { thread, .. }
            | Self::Patch { thread, .. }
            | Self::Permissions { thread, .. }
            | Self::WebPage { thread, .. }
            | Self::OwnTool { thread, .. }
            | Self::Input { thread, .. }
            | Self::Elicitation { thread, .. } => Some(thread),
            Self::Tool { thread, .. } | Self::Unsupported { thread, .. } => thread.as_ref(),
            Self::Host { .. } | Self::TaskPower { .. } => None,
        }
    }

    /// Says why Talaria leaves it to a person.
    #[must_use]
    pub fn because(mut self, why: Option<&str>) -> Self {
        if let (Self::Command { asked_because, .. }, Some(why)) = (&mut self, why) {
            *asked_because = Some(why.to_owned());
        }
        self
    }

    /// Can a person be asked this?
    pub fn is_answerable(&self) -> bool {
        !matches!(self, Self::Host { .. } | Self::Unsupported { .. })
    }

    /// The possible decisions, the mildest first. Nothing is offered that Codex would not carry out.
    pub fn choices(&self) -> Vec<Decision> {
        let (session, always) = match self {
            Self::Command { always, .. } => (true, always.is_some()),
            Self::Stdin { can_last, .. } => (*can_last, false),
            Self::Network { always, .. } => (true, always.is_some()),
            Self::Patch { .. } | Self::Permissions { .. } | Self::WebPage { .. } => (true, false),
            Self::Tool { persist, .. } => {
                (persist.contains(&Persist::Session), persist.contains(&Persist::Always))
            }
            Self::Input { .. } | Self::Elicitation { .. } | Self::TaskPower { .. } | Self::OwnTool { .. } => {
                (false, false)
            }
            Self::Host { .. } | Self::Unsupported { .. } => return Vec::new(),
        };
        let lasting = [(session, Decision::AcceptForSession), (always, Decision::AcceptAlways)];
        let lasting = lasting.into_iter().filter_map(|(is_offered, decision)| is_offered.then_some(decision));
        [Decision::Accept].into_iter().chain(lasting).chain([Decision::Decline, Decision::Cancel]).collect()
    }
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, once.
    Accept,
    /// Yes, and the same thing is not asked again on this thread.
    AcceptForSession,
    /// Yes, and by a rule that Codex proposed it is not asked again anywhere.
    AcceptAlways,
    /// No; the turn continues.
    Decline,
    /// No, and the turn ends.
    Cancel,
    /// Not decided here: the turn or Codex ended first, or another client of Codex answered.
    Void,
}

impl Decision {
    /// Is it a yes?
    pub fn is_yes(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptForSession | Self::AcceptAlways)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accept => "accepted",
            Self::AcceptForSession => "accepted for this session",
            Self::AcceptAlways => "always allowed",
            Self::Decline => "declined",
            Self::Cancel => "cancelled",
            Self::Void => "no longer open",
        })
    }
}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The person at the terminal.
    User,
    /// No one was asked: there was no terminal, or an option says what to decide.
    Nobody,
    /// The demo, which says so.
    Demo,
    /// The caller's deadline.
    Deadline,
    /// The caller that ended the engine.
    Stop,
    /// A model, where the user's policy lets it.
    Model,
    /// Codex itself, or another client of it.
    Codex,
    /// Another client of the same Codex, or Codex itself; the decision is unknown.
    OtherClient,
    /// This build, because it cannot show the question.
    Talaria,
    /// A rule of the user's.
    Rule,
    /// The mode: everything inside the sandbox is accepted.
    Mode,
    /// The hard floor, which applies in every mode.
    Floor,
    /// The user's program `hooks.tool_call`.
    Hook,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "you",
            Self::Nobody => "default, without asking a person",
            Self::Demo => "the demo",
            Self::Deadline => "the deadline",
            Self::Stop => "talaria stop",
            Self::Model => "a model",
            Self::Codex => "Codex",
            Self::OtherClient => "another client of Codex",
            Self::Talaria => "Talaria",
            Self::Rule => "a rule of yours",
            Self::Mode => "the mode",
            Self::Floor => "Talaria's hard floor",
            Self::Hook => "your hook",
        })
    }
}
