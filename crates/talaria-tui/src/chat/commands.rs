//! Slash commands: one table is the source of parsing, help, completion and the plain mode.
//!
//! A command is only parsed here; the driver carries it out. Nothing is guessed: a word that is not known is a
//! mistake with a suggestion, never the nearest command. Called by the composer and by the plain mode.

mod arguments;
mod help;
mod table;
mod words;

use std::fmt;

use talaria_core::nearest::nearest;
use talaria_core::request::Decision;

pub use help::{help, keys};
pub use table::TABLE;
pub(crate) use words::split_spelled;
pub use words::{first_split, split, within_word};

/// The word of `/permissions` for Shift-Tab: the other one of the modes `auto` and `approval-required`.
pub const NEXT_MODE: &str = "next";

/// A slash command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlashCommand {
    /// A new conversation.
    New,
    /// Resume this one; without one there is a list.
    Resume(Option<String>),
    /// Change the title of the conversation.
    Rename(String),
    /// List conversations.
    Sessions,
    /// Find words in everything said and done.
    Search(String),
    /// Use this model from the next turn, perhaps after the name of its provider; without one there is a list.
    Model(Vec<String>),
    /// Think this much from the next turn; without one there is a list.
    Reasoning(Option<String>),
    /// Show the permissions of the conversation, or change them from the next turn on.
    Permissions(Vec<String>),
    /// Log in to Codex, with a code on another device, or cancel that.
    Login(Option<String>),
    /// Show what is not committed in the folder.
    Diff,
    /// Copy the last answer to the clipboard.
    Copy,
    /// Shorten the conversation.
    Compact,
    /// Begin another conversation with the turns of this one; the words say up to where.
    Fork(Vec<String>),
    /// Undo the last turn.
    Undo,
    /// Undo the last turn and send its input again.
    Retry,
    /// Token usage.
    Usage,
    /// What every part of the prompt costs.
    Context,
    /// A memory command with the arguments of `talaria memory`, as typed; the list if there are none.
    Memory(String),
    /// What runs and what waits.
    Status,
    /// List tasks.
    Tasks,
    /// Something about a task, in the words of `talaria task`, as they were typed.
    Task(String),
    /// List background commands, show what one printed, or stop one: the words as they were typed.
    Ps(Vec<String>),
    /// A skills command with the arguments of `talaria skills`, as typed; the list if there are none.
    Skills(String),
    /// List what waits for a person.
    Requests,
    /// Say yes to a request.
    Approve {
        /// Which; the one on the screen if none is named.
        request: Option<String>,
        /// One of the three kinds of yes.
        decision: Decision,
    },
    /// Say no to a request, perhaps with a reason.
    Deny {
        /// Which; the one on the screen if none is named.
        request: Option<String>,
        /// Why.
        reason: Option<String>,
    },
    /// Stop the running turn.
    Stop,
    /// Send this to the running turn.
    Steer(String),
    /// Keep this for the next turn.
    Queue(String),
    /// Show or choose who runs the turns.
    CodexRuntime(Option<String>),
    /// Write the conversation into a file.
    Export(Option<String>),
    /// Choose the looks.
    Theme(Option<String>),
    /// The commands.
    Help(Option<String>),
    /// Leave.
    Quit,
}

/// Input of a person, parsed when it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Words for the model.
    Say(String),
    /// A slash command.
    Command(SlashCommand),
    /// A shell command, without its `!`.
    Shell(String),
}

/// One command: everything that is known about it.
#[derive(Debug)]
pub struct Definition {
    /// Its name, without the slash.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Its arguments, as they are shown.
    pub usage: &'static str,
    /// Description, in one line.
    pub help: &'static str,
    /// One use of it.
    pub example: &'static str,
    /// Where it makes sense.
    pub needs: Needs,
    /// What its arguments may be, by their place.
    pub arguments: &'static [&'static [CompletionSource]],
    /// How its arguments become a command.
    shape: Shape,
}

/// Precondition of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A conversation.
    Session,
    /// A running turn.
    Turn,
}

/// Where the candidates for an argument come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionSource {
    /// The ids of conversations.
    Sessions,
    /// The models that are offered.
    Models,
    /// The efforts that the model offers.
    Efforts,
    /// The ids of open requests.
    Requests,
    /// The ids of tasks.
    Tasks,
    /// The ids of tasks, unless the first argument is one of these.
    TasksUnless(&'static [&'static str]),
    /// Files.
    Files,
    /// The commands themselves.
    Commands,
    /// These words, each with a line of help.
    Words(&'static [(&'static str, &'static str)]),
}

/// How arguments become a command.
#[derive(Debug)]
enum Shape {
    /// There are none.
    Bare(SlashCommand),
    /// One word, or none.
    Word(fn(Option<String>) -> SlashCommand),
    /// One of the words that the definition names, or none.
    Choice(fn(Option<String>) -> SlashCommand),
    /// Two words at most.
    Pair(fn(Vec<String>) -> SlashCommand),
    /// Any number of words.
    Words(fn(Vec<String>) -> SlashCommand),
    /// All of the rest as it was typed, and there must be something.
    Text(fn(String) -> SlashCommand),
    /// All of the rest as it was typed, perhaps nothing.
    Line(fn(String) -> SlashCommand),
    /// A request, and for how long.
    Approve,
    /// A request, and why not.
    Deny,
}

/// Why something typed is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandMistake {
    /// The error.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl fmt::Display for CommandMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.hint)
    }
}

/// Reads what a person sent: `/…` is a command, `!…` a shell command, everything else is said.
///
/// `//…` says a text that begins with one slash, and a space before `/` or `!` makes a text of it. A path such as
/// `/usr/bin/env …` is a text, because no command has a second slash in its name.
pub fn read(text: &str) -> Result<Entry, CommandMistake> {
    if let Some(rest) = text.strip_prefix(' ').filter(|rest| rest.starts_with(['/', '!'])) {
        return Ok(Entry::Say(rest.to_owned()));
    }
    if let Some(shell) = text.strip_prefix('!') {
        return match shell.trim() {
            "" => Err(mistake(
                "there is nothing to run",
                "type a shell command after the !, such as !git status",
            )),
            command => Ok(Entry::Shell(command.to_owned())),
        };
    }
    match text.strip_prefix('/') {
        Some(rest) if rest.starts_with('/') => Ok(Entry::Say(rest.to_owned())),
        Some(rest) if !first_word(rest).0.contains('/') => parse(text).map(Entry::Command),
        // Two joined commands are neither a path nor input for a model.
        Some(rest) if rest.split('/').next().and_then(find).is_some() && !rest.contains("//") => {
            Err(mistake("two commands are on one line", "Ctrl-U clears it; a leading space sends it as text"))
        }
        _ => Ok(Entry::Say(text.to_owned())),
    }
}

/// Reads a command with its slash.
pub fn parse(line: &str) -> Result<SlashCommand, CommandMistake> {
    let (name, rest) = first_word(line.strip_prefix('/').unwrap_or(line));
    let definition = named(name)?;
    definition.read(rest.trim())
}

/// Finds a command by its name or another name of it; case does not count.
pub fn find(name: &str) -> Option<&'static Definition> {
    let name = name.strip_prefix('/').unwrap_or(name).to_ascii_lowercase();
    TABLE.iter().find(|one| one.name == name || one.aliases.contains(&name.as_str()))
}

/// Finds the definition of a command.
pub fn definition(command: &SlashCommand) -> Option<&'static Definition> {
    find(match command {
        SlashCommand::New => "new",
        SlashCommand::Resume(_) => "resume",
        SlashCommand::Rename(_) => "rename",
        SlashCommand::Sessions => "sessions",
        SlashCommand::Search(_) => "search",
        SlashCommand::Model(_) => "model",
        SlashCommand::Permissions(_) => "permissions",
        SlashCommand::Login(_) => "login",
        SlashCommand::Diff => "diff",
        SlashCommand::Copy => "copy",
        SlashCommand::Reasoning(_) => "reasoning",
        SlashCommand::Compact => "compact",
        SlashCommand::Fork(_) => "fork",
        SlashCommand::Undo => "undo",
        SlashCommand::Retry => "retry",
        SlashCommand::Usage => "usage",
        SlashCommand::Context => "context",
        SlashCommand::Memory(_) => "memory",
        SlashCommand::Status => "status",
        SlashCommand::Tasks => "tasks",
        SlashCommand::Task(_) => "task",
        SlashCommand::Ps(_) => "ps",
        SlashCommand::Skills(_) => "skills",
        SlashCommand::Requests => "requests",
        SlashCommand::Approve { .. } => "approve",
        SlashCommand::Deny { .. } => "deny",
        SlashCommand::Stop => "stop",
        SlashCommand::Steer(_) => "steer",
        SlashCommand::Queue(_) => "queue",
        SlashCommand::CodexRuntime(_) => "codex-runtime",
        SlashCommand::Export(_) => "export",
        SlashCommand::Theme(_) => "theme",
        SlashCommand::Help(_) => "help",
        SlashCommand::Quit => "quit",
    })
}

/// Finds a command by name, or suggests the most similar one.
fn named(name: &str) -> Result<&'static Definition, CommandMistake> {
    let name = name.strip_prefix('/').unwrap_or(name);
    if let Some(definition) = find(name) {
        return Ok(definition);
    }
    if name.is_empty() {
        return Err(mistake("there is no command after the slash", "/help lists them; // sends a slash"));
    }
    let names = TABLE.iter().flat_map(|one| std::iter::once(one.name).chain(one.aliases.iter().copied()));
    let hint = match nearest(name, names) {
        Some(near) => format!("did you mean /{near}? // at the start sends the line as text"),
        None => {
            "/help lists the commands; $NAME uses a skill; // at the start sends the line as text".to_owned()
        }
    };
    Err(mistake(format!("there is no command /{}", shortened(name)), hint))
}

fn first_word(text: &str) -> (&str, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text.split_at(end)
}

fn mistake(what: impl Into<String>, hint: impl Into<String>) -> CommandMistake {
    CommandMistake { what: what.into(), hint: hint.into() }
}

/// Input of a person, made safe for a message.
fn shortened(word: &str) -> String {
    let shown: String = word.chars().take(40).collect();
    let dots = if shown.len() < word.len() { "…" } else { "" };
    talaria_guard::plain::reveal_line(&shown).into_owned() + dots
}

#[cfg(test)]
mod tests;
