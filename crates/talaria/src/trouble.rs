//! Errors of commands for people: what failed, why, what to do next, and the exit code.

use std::fmt::Display;
use std::io::{self, Write};

use talaria_core::next_step::NextStep;
use talaria_guard::redact::redact;
use talaria_tui::chat::next_step::in_chat;

use crate::look;
use talaria_render::{in_rows, plain};

/// The exit codes that are not those of a turn.
pub(crate) mod exit {
    /// Something failed.
    pub(crate) const FAILED: u8 = 1;
    /// The command line or a file that it names is wrong.
    pub(crate) const USAGE: u8 = 2;
    /// Policy, the user's own configuration or what runs right now forbids it.
    pub(crate) const BLOCKED: u8 = 3;
    /// Stopped by the person.
    pub(crate) const INTERRUPTED: u8 = 4;
    /// Codex is missing or not logged in.
    pub(crate) const CODEX: u8 = 6;
    /// Its outcome is unknown.
    pub(crate) const LOST: u8 = 7;
    /// SIGHUP ended the command, as a shell counts: 128 and the number of the signal.
    pub(crate) const HUNG_UP: u8 = 129;
    /// SIGTERM ended the command.
    pub(crate) const TERMINATED: u8 = 143;
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) struct Trouble {
    what: String,
    cause: Option<String>,
    next_step: Option<Box<NextStep>>,
    pub(crate) exit: u8,
}

impl Trouble {
    /// Something failed.
    pub(crate) fn new(exit: u8, what: impl Into<String>) -> Self {
        Self { what: what.into(), cause: None, next_step: None, exit }
    }

    /// Why. The words may be those of others, so secrets are taken out of them.
    pub(crate) fn because(mut self, cause: impl Display) -> Self {
        self.cause = Some(redact(&cause.to_string()).into_owned());
        self
    }

    /// What to do next.
    pub(crate) fn try_this(mut self, step: impl Into<NextStep>) -> Self {
        self.next_step = Some(Box::new(step.into()));
        self
    }

    /// The same, of another thing that failed.
    pub(crate) fn renamed(self, what: impl Into<String>) -> Self {
        Self { what: what.into(), ..self }
    }

    /// The same with another exit code.
    pub(crate) fn exiting(self, exit: u8) -> Self {
        Self { exit, ..self }
    }

    /// Why it failed; what failed where nothing more is known.
    pub(crate) fn cause(&self) -> &str {
        self.cause.as_deref().unwrap_or(&self.what)
    }

    /// What to do next, as it is typed in a shell.
    pub(crate) fn hint(&self) -> String {
        self.next_step.as_deref().map(NextStep::in_shell).unwrap_or_default()
    }

    /// What to do next, in the words of the chat.
    pub(crate) fn hint_in_chat(&self) -> String {
        self.next_step.as_deref().map(in_chat).unwrap_or_default()
    }

    /// What to do next.
    pub(crate) fn next_step(&self) -> Option<&NextStep> {
        self.next_step.as_deref()
    }

    /// What failed and why, in one line.
    pub(crate) fn summary(&self) -> String {
        match &self.cause {
            Some(cause) => format!("{}: {cause}", self.what),
            None => self.what.clone(),
        }
    }

    /// Prints it on standard error.
    pub(crate) fn tell(&self) {
        let mut text = format!("error: {}\n", self.what);
        let hint = self.next_step.as_deref().map(NextStep::in_shell);
        for (word, line) in [("cause", self.cause.as_deref()), ("hint", hint.as_deref())] {
            if let Some(line) = line {
                text.push_str(&format!("{word}: {line}\n"));
            }
        }
        complain(&text);
    }
}

/// Writes to standard error, which is a log for an engine in the background. Part of the text may be of others, so nothing
/// in it reaches the terminal as a command, and secrets are masked. On a terminal lines break between words. A closed
/// standard error is ignored.
pub(crate) fn complain(text: &str) {
    let text = in_rows(&redact(&plain(text)), look::of_stderr().width);
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_the_words_of_others_is_not_told() {
        let secret = format!("sk-{}", "proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6");
        let trouble =
            Trouble::new(exit::FAILED, "no").because(format!("refused: Bearer {secret} is invalid"));
        assert!(!trouble.summary().contains(&secret), "{}", trouble.summary());
        assert!(trouble.cause().contains("[redacted:"), "{}", trouble.cause());
    }
}
