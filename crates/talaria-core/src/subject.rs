//! The operation that a person is asked to approve, independent of a runtime: a command, an address, files, a
//! tool, wider permissions, or a question.
//!
//! `gate` decides about it, `bounds` says where it would happen, `escrow` binds an answer to it. The asker converts its
//! own request into one; everything that a yes could carry out is in it.

use serde_json::Value;
use talaria_guard::shell::CommandText;

use crate::item::FileChange;
use crate::request::Question;

/// The operation in question.
#[derive(Clone, Debug)]
pub enum Subject<'a> {
    /// Run a command, or send it input.
    Command(CommandSubject<'a>),
    /// Connect to a host.
    Network {
        /// The host.
        host: &'a str,
        /// The protocol.
        protocol: &'a str,
        /// The command that connects to it, if known.
        command: CommandSubject<'a>,
    },
    /// Change files.
    Patch {
        /// How; `None` if that is not known.
        changes: Option<&'a [FileChange]>,
        /// A directory that becomes writable.
        grant_root: Option<&'a str>,
    },
    /// Widen the sandbox.
    Permissions {
        /// Where.
        cwd: Option<&'a str>,
        /// How, as the asker writes it.
        wanted: &'a Value,
    },
    /// Call a tool of an MCP server.
    Tool {
        /// Its name, if that is certain.
        tool: Option<&'a str>,
        /// The server's own form.
        form: FormSubject<'a>,
    },
    /// Ask a person for an answer; nothing else happens.
    Words(WordsSubject<'a>),
}

/// A command.
#[derive(Clone, Debug)]
pub struct CommandSubject<'a> {
    /// The operation on it.
    pub action: CommandUse<'a>,
    /// The command line; never blank.
    pub line: Option<CommandText<'a>>,
    /// Where it runs.
    pub cwd: Option<&'a str>,
    /// It is started by a command that runs already.
    pub is_nested: bool,
    /// A wider sandbox for this command, as the asker writes it.
    pub wider: Option<&'a Value>,
    /// The words with which commands begin that "always" would allow.
    pub always: Vec<String>,
    /// The host that "always" would allow.
    pub always_host: Option<String>,
}

/// The operation on a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandUse<'a> {
    /// To run it.
    Run,
    /// To send it input while it runs.
    Input,
    /// Something that this build does not know, by the asker's word.
    Other(&'a str),
}

/// Questions to a person.
#[derive(Clone, Debug)]
pub enum WordsSubject<'a> {
    /// Questions of the model.
    Questions(Vec<Question>),
    /// A form or an address of an MCP server.
    Form(FormSubject<'a>),
}

/// An elicitation of an MCP server.
#[derive(Clone, Debug)]
pub struct FormSubject<'a> {
    /// The server.
    pub server: &'a str,
    /// The mode of display.
    pub mode: Option<&'a str>,
    /// Its words.
    pub message: &'a str,
    /// The requested fields.
    pub schema: &'a Value,
    /// The address to visit.
    pub url: Option<&'a str>,
    /// What else it says.
    pub meta: Option<&'a Value>,
}
