//! Interface of the chat: inputs and news in, wishes (commands for the driver) out.
//!
//! The driver sends one `News` for every `ChatEffect` that promises one, also when the engine refused. Nothing here is an
//! effect: a wish is only a word until the driver has carried it out, and the chat shows it as such.

use talaria_core::api::{Numbered, Offers, RequestInfo, SessionInfo, TaskCounts, TaskLine, When};
use talaria_core::config::Theme;
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::request::Answer;
use talaria_render::StyledText;

use super::commands::SlashCommand;

/// Input of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatInput {
    /// A key.
    Key(KeyPress),
    /// Text that was pasted; only bracketed paste is a paste.
    Paste(String),
}

/// A key with modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPress {
    /// Which.
    pub code: Code,
    /// Whether Ctrl was held.
    pub ctrl: bool,
    /// Whether Alt was held.
    pub alt: bool,
    /// Whether Shift was held. A character includes it already.
    pub shift: bool,
}

/// Which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Esc.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key.
    F(u8),
}

/// Input for the model: text with images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptDraft {
    /// The text, whole, pastes included, with a marker where each image is.
    pub text: String,
    /// Image files, absolute, in the order of their markers.
    pub images: Vec<String>,
}

/// A command of the chat for its driver.
#[derive(Debug)]
pub enum ChatEffect {
    /// A turn: the first one of a new conversation if there is none. Answered by `News::Started` or `News::Refused`.
    Send(PromptDraft),
    /// Further input for the running turn, or for the one after it. Refusals come as `News::Refused`.
    Say(PromptDraft, When),
    /// Stop the running turn.
    Interrupt,
    /// An answer to a request. Answered by `News::Answered` or `News::Refused`.
    Answer {
        /// Which.
        ticket: TicketId,
        /// What.
        answer: Answer,
        /// The digest of what was shown.
        digest: Option<String>,
    },
    /// Events before this number, newest page first. Answered by `News::Older`.
    Older {
        /// The oldest loaded event.
        before: i64,
    },
    /// Files whose path has these letters. Answered by `News::Files`.
    Files(String),
    /// The names of conversations and tasks. Answered by `News::Names`, if they can be had.
    Names,
    /// Is this text, as it was pasted, the path of an image file? Answered by `News::Image`.
    Image(String),
    /// What the clipboard has. Answered by `News::Clipboard`.
    Clipboard,
    /// A shell command of the person. Answered by `News::ShellOutput` and `News::ShellEnded`.
    Shell(String),
    /// Stop the shell command.
    StopShell,
    /// A slash command that needs the engine. Answered by `News::Reply`, `News::Pick`, `News::Opened`, …
    Run(SlashCommand),
    /// A line was sent; add it to the history.
    Remember(String),
    /// The person leaves. Nothing stops.
    Leave,
}

/// What a new conversation on the built-in loop would begin with, and the choices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopOffers {
    /// The model provider.
    pub provider: String,
    /// The model, if one is named.
    pub model: Option<String>,
    /// The providers that can be asked from here, each with the models that are known by name.
    pub providers: Vec<(String, Vec<String>)>,
}

/// What a clipboard has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClipboardContent {
    /// An image, kept in this file.
    Image(String),
    /// Text.
    Text(String),
    /// Nothing that can be inserted, and why.
    Nothing(String),
}

/// News from the driver.
#[derive(Debug)]
pub enum News {
    /// Another conversation, or none (`/new`), is on the screen from now on.
    Opened(Option<Box<SessionInfo>>),
    /// A turn was written down; its events have greater numbers.
    Started {
        /// The conversation.
        session: SessionId,
        /// Which turn of it.
        turn: i64,
    },
    /// Something happened.
    Event(Box<Numbered>),
    /// All events that were there when the conversation was opened have been reported.
    CaughtUp,
    /// Older events.
    Older {
        /// Of which conversation.
        session: SessionId,
        /// The requested range: events before this number.
        before: i64,
        /// Oldest first, and empty if there are none; `None` if they could not be fetched.
        events: Option<Vec<Numbered>>,
    },
    /// The conversation can no longer be followed, in words: it is not known here whether its turn runs.
    Lost(String),
    /// The engine is away, and is called again.
    Away,
    /// A person stopped the engine; the next wish that needs it starts it.
    Stopped,
    /// The engine is back.
    Back,
    /// What waits for a person, in all conversations, and how many tasks there are.
    Waiting {
        /// The open requests.
        requests: Vec<RequestInfo>,
        /// Tasks that have not ended.
        tasks: TaskCounts,
        /// How many commands run in the background.
        background: usize,
    },
    /// The last turn of a task has ended.
    Ended(TaskLine),
    /// Files for the letters that were asked for.
    Files {
        /// The request.
        letters: String,
        /// The best first.
        paths: Vec<String>,
    },
    /// The names of conversations and tasks.
    Names {
        /// The conversations, the newest first.
        sessions: Vec<SessionInfo>,
        /// The tasks, the newest first.
        tasks: Vec<TaskLine>,
    },
    /// Whether pasted text is the path of an image file.
    Image {
        /// The pasted text.
        pasted: String,
        /// The file, absolute, if it is one.
        path: Option<String>,
    },
    /// What the clipboard has.
    Clipboard(ClipboardContent),
    /// Output of a slash command.
    Reply(StyledText),
    /// The engine has taken the answer to this request.
    Answered {
        /// Which.
        ticket: TicketId,
    },
    /// Something could not be done.
    Refused {
        /// What, in words.
        what: String,
        /// Input that was refused and returns to the input line.
        prompt: Option<PromptDraft>,
        /// The request whose answer was not taken.
        ticket: Option<TicketId>,
    },
    /// The shell command printed something; not yet made harmless.
    ShellOutput(String),
    /// The shell command is over.
    ShellEnded {
        /// Its exit code, if there is one.
        exit: Option<i32>,
        /// How long it ran, in milliseconds; `None` if it did not run.
        took_ms: Option<u64>,
        /// Note for the user.
        note: Option<String>,
    },
    /// Settings of a new conversation here, and the choices.
    Offers(Box<Offers>),
    /// The same on the built-in loop, which needs no Codex.
    LoopOffers(Box<LoopOffers>),
    /// No turn can run here until the person has done something about it: no Codex, no login.
    Missing {
        /// The missing parts.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// The person's choice for later turns; an event reports the settings in force.
    Chosen {
        /// The model provider, if one was chosen.
        provider: Option<String>,
        /// The model, if one was chosen.
        model: Option<String>,
        /// The effort, if one was chosen.
        effort: Option<String>,
    },
    /// The permissions that the person wants from the next turn on; an event reports those in force.
    PermissionsAsked {
        /// The sandbox.
        sandbox: Option<String>,
        /// The approval policy.
        approval: Option<String>,
    },
    /// It looks like this from now on.
    Theme(Theme),
    /// A list to choose from; the choice is run as a command.
    Pick {
        /// The choice.
        title: String,
        /// The rows, each with the command that it represents.
        rows: Vec<(String, SlashCommand)>,
    },
}
