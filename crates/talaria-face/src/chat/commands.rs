//! What can be typed after a slash.

/// A slash command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A new conversation.
    New,
    /// Go on with this one; without one there is a list.
    Resume(Option<String>),
    /// List conversations.
    Sessions,
    /// Find words in everything said and done.
    Search(String),
    /// Use this model from the next turn; without one there is a list.
    Model(Option<String>),
    /// Think this much from the next turn; without one there is a list.
    Reasoning(Option<String>),
    /// Shorten the conversation.
    Compact,
    /// What was spent.
    Usage,
    /// What runs and what waits.
    Status,
    /// List tasks.
    Tasks,
    /// Something about a task, in the words of `talaria task`.
    Task(Vec<String>),
    /// List what waits for a person.
    Requests,
    /// Say yes to a request; the one on the screen if none is named.
    Approve(Option<String>),
    /// Say no to a request, perhaps with a reason.
    Deny {
        /// Which; the one on the screen if none is named.
        request: Option<String>,
        /// Why.
        reason: Option<String>,
    },
    /// Stop the running turn.
    Stop,
    /// Give this to the running turn.
    Steer(String),
    /// Keep this for the next turn.
    Queue(String),
    /// Show or choose who runs the turns.
    CodexRuntime(Option<String>),
    /// Write the conversation into a file.
    Export(Option<String>),
    /// Choose the looks.
    Theme(Option<String>),
    /// What can be typed.
    Help(Option<String>),
    /// Leave.
    Quit,
}
