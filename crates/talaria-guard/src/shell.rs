//! Understands a command line: text in, every simple command that would run out.
//!
//! Owns the grammar of the Bourne family (sh, bash, zsh where they agree), quoting and expansion as far as they can be
//! known without running anything, and the programs that only start other programs (`wrappers`). Must not guess:
//! unsupported syntax is `Unparsable`, text that only the running shell can determine is an undecidable word or
//! command. Runs in linear time and with bounded nesting on every text. Called by `rules`, which decides.

mod awk;
mod brace;
mod code;
mod compound;
mod dollar;
mod draft;
mod git;
mod grammar;
mod lex;
mod lexed;
mod options;
mod redirect;
mod runs;
mod sed;
mod source;
mod starters;
mod unwrap;
mod variables;
mod word;
mod wrapped;
mod wrappers;

use std::cell::OnceCell;
use std::fmt;

use draft::Draft;
pub use word::{Word, WordExtent, WordPiece};

pub(crate) use awk::effects as awk_effects;
pub(crate) use code::is_interpreter;
pub(crate) use git::verb as git_verb;
pub(crate) use lexed::is_name;
pub(crate) use sed::scripts as sed_scripts;
pub(crate) use wrappers::{is_carrier, is_trusted};

/// How deep commands may be nested, wrappers and substitutions included.
pub const MAX_DEPTH: usize = 32;

/// The longest text that is looked at, in bytes: twice what Linux takes as one argument.
pub const MAX_LENGTH: usize = 256 * 1024;

/// Why a text is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unparsable {
    /// Something that was opened is never closed.
    #[error("{0} is not closed")]
    Unclosed(&'static str),
    /// Something is where it is not allowed.
    #[error("{0} is not expected here")]
    Unexpected(&'static str),
    /// The shell would understand it, this reader does not.
    #[error("{0} is not understood")]
    Unsupported(&'static str),
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("it is nested too deep")]
    TooDeep,
    /// Longer than [`MAX_LENGTH`], or growing beyond measure when expanded.
    #[error("it is too long")]
    TooLong,
}

/// A command line that was understood: all its simple commands, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellLine {
    /// Every command, a wrapper before what it starts, a command before what is substituted into it.
    pub commands: Vec<SimpleCommand>,
    /// The lists, subshells, substitutions and functions that contain the commands; the first is the line itself.
    pub groups: Vec<Group>,
    /// Whether an expansion could run or set anything, such as arithmetic on variables.
    pub has_hidden_effects: bool,
}

/// One program with its words, or assignments alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The assignments `NAME=value` before the program; for `export` and its like also those after it.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Where its input and output go.
    pub redirects: Vec<Redirect>,
    /// Its role in the line.
    pub role: CommandRole,
    /// Its position in the line.
    pub at: At,
    /// True if the shell does not wait for it.
    pub is_background: bool,
    /// The directory that a wrapper starts it in.
    pub directory: Option<Word>,
}

/// Role of a simple command in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRole {
    /// An ordinary command.
    Plain,
    /// The shell that Codex wraps around the whole line.
    Runner,
    /// Only starts the commands that follow in its group: `nohup`, `time`, `bash -c`.
    Carrier,
    /// Starts the commands that follow with other rights, arguments or input: `sudo`, `xargs`.
    Wrapper,
    /// No command: the redirects of a loop or group, or the values of a loop's variable.
    Frame,
    /// Represents commands that only the running shell will know.
    Unknown,
    /// Represents code that its owner runs and this reader does not understand: `python3 -c`, `perl -e`, `make --eval`.
    Code,
}

/// The position of a command or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// The innermost group, an index into [`ShellLine::groups`].
    pub group: usize,
    /// The pipeline, numbered over the whole line.
    pub pipeline: usize,
    /// The stage of that pipeline, from 0.
    pub stage: usize,
}

/// A list of commands inside a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Kind of list.
    pub kind: GroupKind,
    /// Its position; the line itself is its own group.
    pub at: At,
    /// The command whose word or inside it is.
    pub owner: Option<usize>,
    /// The group that shares its working directory and is not a separate process.
    pub scope: usize,
    /// How many groups are around it.
    pub depth: usize,
}

/// What kind of list of commands a group is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupKind {
    /// The whole line.
    Line,
    /// The body of a loop, a condition, a `{ … }`.
    Block,
    /// `( … )`.
    Subshell,
    /// `$( … )`, backticks, `<( … )`, `>( … )`.
    Substitution,
    /// The body of the function with this name.
    Function(String),
    /// A command started by a wrapper.
    Wrapped,
}

/// `NAME=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Word,
}

/// A redirect of input or output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Which way.
    pub kind: RedirectKind,
    /// The file, the descriptor, or the text of a here-document.
    pub target: Word,
}

/// Direction of a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`.
    Read,
    /// `>`, `>>`, `>|`, `&>`.
    Write,
    /// `<>`.
    ReadWrite,
    /// `2>&1`, `<&-`.
    Duplicate,
    /// `<<` and `<<<`: the text itself.
    Document,
}

/// Finds every simple command of a line, those inside wrappers and substitutions included.
///
/// `text` is what Codex calls `command`: quoted words joined by blanks, which is itself a line of shell. The text that
/// a `bash -c` in front gets is looked into like any other.
pub fn parse(text: &str) -> Result<ShellLine, Unparsable> {
    if text.len() > MAX_LENGTH {
        return Err(Unparsable::TooLong);
    }
    // These represent unknown text when a text is read again.
    if text.contains(|c| word::mark(c).is_some()) {
        return Err(Unparsable::Unsupported("a noncharacter"));
    }
    let mut draft = Draft::new(text);
    grammar::read_line(text, &mut draft)?;
    Ok(draft.finish())
}

/// A command line that is parsed at most once, however many decide about it.
#[derive(Debug, Clone)]
pub struct CommandText<'a> {
    text: &'a str,
    parsed: OnceCell<Result<ShellLine, Unparsable>>,
}

impl<'a> CommandText<'a> {
    /// Wraps a text without parsing it.
    pub fn new(text: &'a str) -> Self {
        Self { text, parsed: OnceCell::new() }
    }

    /// Returns the original text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns its commands; the first call parses the text.
    pub fn parsed(&self) -> Result<&ShellLine, Unparsable> {
        self.parsed.get_or_init(|| parse(self.text)).as_ref().map_err(|why| *why)
    }
}

impl ShellLine {
    /// The wrappers that start the command `index`, the innermost first.
    pub fn wrappers_of(&self, index: usize) -> impl Iterator<Item = usize> {
        let owner = |index: usize| {
            let group = &self.groups[self.commands[index].at.group];
            group.owner.filter(|_| group.kind == GroupKind::Wrapped)
        };
        std::iter::successors(owner(index), move |index| owner(*index))
    }
}

impl SimpleCommand {
    /// The name of the program without its directory and in lower case, if it is known.
    ///
    /// Lower case because some file systems do not distinguish `RM` from `rm`.
    pub fn program(&self) -> Option<String> {
        let text = self.words.first()?.text()?;
        let name = text.rsplit('/').next().unwrap_or(text);
        Some(name.to_ascii_lowercase())
    }
}

impl fmt::Display for SimpleCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let assignments = self.assignments.iter().map(|set| format!("{}={}", set.name, set.value));
        let words = self.words.iter().map(Word::to_string);
        let redirects = self.redirects.iter().map(Redirect::to_string);
        f.write_str(&assignments.chain(words).chain(redirects).collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Display for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.kind {
            RedirectKind::Read => "<",
            RedirectKind::Write => ">",
            RedirectKind::ReadWrite => "<>",
            RedirectKind::Duplicate => "&",
            RedirectKind::Document => "<<",
        };
        write!(f, "{sign}{}", self.target)
    }
}

#[cfg(test)]
mod tests;
