//! The actions of the tool.

/// The actions of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Starts a task and returns at once.
    Start,
    /// Shows one task.
    Status,
    /// Lists the caller's tasks.
    List,
    /// Returns the answer of a task that has ended, and what it changed.
    Result,
    /// Lists what happened in a task.
    Events,
    /// Waits until a task has ended or needs a person.
    Wait,
    /// Starts the next turn of a task.
    Send,
    /// Sends further words to the running turn.
    Steer,
    /// Stops the turn that runs; `cancel` means the same.
    Interrupt,
    /// Answers a request of Codex.
    Respond,
    /// Sends the notifications that are owed.
    NotifyCompleted,
}

impl Action {
    /// Every name that is understood, `cancel` included, in the order in which models see them.
    pub const NAMES: [&'static str; 12] = [
        "start",
        "status",
        "list",
        "result",
        "events",
        "wait",
        "send",
        "steer",
        "interrupt",
        "cancel",
        "respond",
        "notify_completed",
    ];

    /// The name of the action.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Status => "status",
            Self::List => "list",
            Self::Result => "result",
            Self::Events => "events",
            Self::Wait => "wait",
            Self::Send => "send",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
            Self::Respond => "respond",
            Self::NotifyCompleted => "notify_completed",
        }
    }

    /// Finds an action by its name; blanks around it and large letters do not matter.
    pub fn find(text: &str) -> Option<Self> {
        Some(match text.trim().to_lowercase().as_str() {
            "start" => Self::Start,
            "status" => Self::Status,
            "list" => Self::List,
            "result" => Self::Result,
            "events" => Self::Events,
            "wait" => Self::Wait,
            "send" => Self::Send,
            "steer" => Self::Steer,
            "interrupt" | "cancel" => Self::Interrupt,
            "respond" => Self::Respond,
            "notify_completed" => Self::NotifyCompleted,
            _ => return None,
        })
    }
}
