//! What a person is asked to agree to, in words that no runtime owns: a command, an address, files, a tool, wider
//! permissions, or words.
//!
//! `gate` decides about it, `bounds` says where it would happen, `escrow` binds an answer to it. The asker converts its
//! own request into one; everything that a yes could carry out is in it.

use serde_json::Value;
use talaria_guard::shell::CommandText;

use crate::item::FileChange;
use crate::request::Question;

/// What is asked.
#[derive(Clone, Debug)]
pub enum Subject<'a> {
    /// A command is to be run, or to be given input.
    Command(CommandSubject<'a>),
    /// A host is to be reached.
    Network {
        /// The host.
        host: &'a str,
        /// The protocol.
        protocol: &'a str,
        /// The command that wants to reach it, as far as it is known.
        command: CommandSubject<'a>,
    },
    /// Files are to be changed.
    Patch {
        /// How; `None` if that is not known.
        changes: Option<&'a [FileChange]>,
        /// A directory that becomes writable.
        grant_root: Option<&'a str>,
    },
    /// The sandbox is to be wider.
    Permissions {
        /// Where.
        cwd: Option<&'a str>,
        /// How, as the asker writes it.
        wanted: &'a Value,
    },
    /// A tool of an MCP server is to be called.
    Tool {
        /// Its name, if that is certain.
        tool: Option<&'a str>,
        /// How the server puts it.
        form: FormSubject<'a>,
    },
    /// A person is to say something: nothing happens but that.
    Words(WordsSubject<'a>),
}

/// A command.
#[derive(Clone, Debug)]
pub struct CommandSubject<'a> {
    /// What is wanted of it.
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

/// What is wanted of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandUse<'a> {
    /// To run it.
    Run,
    /// To send it input while it runs.
    Input,
    /// Something that this build does not know, by the asker's word.
    Other(&'a str),
}

/// What a person is asked in words.
#[derive(Clone, Debug)]
pub enum WordsSubject<'a> {
    /// Questions of the model.
    Questions(Vec<Question>),
    /// A form or an address of an MCP server.
    Form(FormSubject<'a>),
}

/// How an MCP server puts something to a person.
#[derive(Clone, Debug)]
pub struct FormSubject<'a> {
    /// The server.
    pub server: &'a str,
    /// The way it is to be shown.
    pub mode: Option<&'a str>,
    /// Its words.
    pub message: &'a str,
    /// The fields that it wants.
    pub schema: &'a Value,
    /// The address that it wants visited.
    pub url: Option<&'a str>,
    /// What else it says.
    pub meta: Option<&'a Value>,
}
