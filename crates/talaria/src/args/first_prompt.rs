//! The prompt that the chat begins with. A misspelt command must never become a prompt, so a single word is one only after
//! `--`.

use clap::error::{Error, ErrorKind};
use clap::{Command, CommandFactory};
use talaria_core::nearest::nearest;

use super::{Chat, Cli};

impl Chat {
    /// Returns the prompt that was typed, or why it is none.
    pub(crate) fn first_prompt(&self) -> Result<Option<String>, Error> {
        let prompt = match (self.prompt.as_slice(), self.words.as_slice()) {
            ([], []) => return Ok(None),
            ([], words) => words.join(" "),
            ([prompt], []) if prompt.trim().is_empty() || prompt.contains(char::is_whitespace) => {
                prompt.clone()
            }
            (words, after) => return Err(unrecognized(words, after)),
        };
        if prompt.trim().is_empty() {
            return Err(mistake(ErrorKind::InvalidValue, "the prompt is empty".to_owned(), &[]));
        }
        Ok(Some(prompt))
    }
}

/// The words are no command, or come where no command can be.
fn unrecognized(words: &[String], after: &[String]) -> Error {
    let command = Cli::command();
    let names: Vec<&str> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name).collect();
    let word = words.first().map_or("", String::as_str);
    let all: Vec<&str> = words.iter().chain(after).map(String::as_str).collect();
    if names.contains(&word) {
        let what = format!("the command '{word}' must come before its options");
        let tip =
            format!("the options before it are those of the chat; `talaria {word} --help` lists its own");
        return mistake(ErrorKind::ArgumentConflict, what, &[tip]);
    }
    let as_prompt = match all.as_slice() {
        [word] => format!("`talaria -- {word}` sends it as a prompt"),
        words => format!("a prompt needs quotes: talaria \"{}\"", words.join(" ")),
    };
    let similar = nearest(word, names.iter().copied()).or_else(|| with_same_beginning(word, &names));
    let similar = similar.map(|name| format!("a similar command exists: '{name}'"));
    let tips: Vec<String> = similar.into_iter().chain([as_prompt]).collect();
    mistake(ErrorKind::InvalidSubcommand, format!("unrecognized command '{word}'"), &tips)
}

/// The command that is the beginning of the word (`execute`), or that the word is the beginning of (`sess`).
fn with_same_beginning<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let is_similar =
        |name: &&&str| name.len().min(word.len()) > 2 && (word.starts_with(**name) || name.starts_with(word));
    names.iter().find(is_similar).copied()
}

fn mistake(kind: ErrorKind, what: String, tips: &[String]) -> Error {
    let tips: String = tips.iter().map(|tip| format!("\n  tip: {tip}")).collect();
    let gap = if tips.is_empty() { "" } else { "\n" };
    Cli::command().error(kind, format!("{what}{gap}{tips}"))
}
