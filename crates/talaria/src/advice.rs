//! Advice names commands, and where it is read decides how they are typed: in a shell, or behind a slash in a chat. Pure.
//!
//! Only our own words go through here. What others wrote stays as it is, also where it looks like a command.

use std::borrow::Cow;

/// Where advice is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// In a shell.
    Shell,
    /// In a chat.
    Chat,
}

/// How commands begin in a shell and in a chat; the first that fits counts. What has no counterpart is typed in a shell.
const BEGINNINGS: &[(&str, &str)] = &[
    ("talaria task ", "/task "),
    ("talaria ps", "/ps"),
    ("talaria requests list", "/requests"),
    ("read it whole with: talaria requests show ", "read it whole with: /approve "),
    ("talaria requests answer ", "/approve "),
    (" accept (or decline, …)", " (or /deny)"),
    ("talaria sessions list", "/sessions"),
    ("talaria sessions show ", "/resume "),
    ("talaria exec --attach ", "/resume "),
    ("talaria exec --resume ", "/resume "),
    (" PROMPT` gives it another turn", "` goes on with it"),
    (", then send the prompt again", ", and send it when the turn has ended"),
    ("`talaria exec \"…\"` starts one", "what you say next begins one"),
    ("talaria exec \"…\"", "what you say next"),
    ("talaria codex-runtime", "/codex-runtime"),
    ("name another file with -o", "name another file: /export FILE"),
    ("wait for its end, or interrupt it", "wait for its end, or /stop it"),
];

/// What `/approve` cannot do: advice that needs it is followed in a shell.
const ONLY_IN_A_SHELL: &str = " accept --answers ";

impl Reader {
    /// Advice as it can be followed there.
    pub(crate) fn advice(self, text: &str) -> Cow<'_, str> {
        if self == Self::Shell || text.contains(ONLY_IN_A_SHELL) {
            return Cow::Borrowed(text);
        }
        BEGINNINGS.iter().fold(Cow::Borrowed(text), |advice, (shell, chat)| {
            if advice.contains(shell) { Cow::Owned(advice.replace(shell, chat)) } else { advice }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_in_a_chat_names_what_can_be_typed_there() {
        let cases = [
            ("`talaria task start \"…\"` starts one", "`/task start \"…\"` starts one"),
            ("see `talaria task list` and `talaria sessions list`", "see `/task list` and `/sessions`"),
            (
                "answer with: talaria requests answer req-1 accept (or decline, …)",
                "answer with: /approve req-1 (or /deny)",
            ),
            ("`talaria exec --resume s-1 PROMPT` gives it another turn", "`/resume s-1` goes on with it"),
            ("run `talaria setup`", "run `talaria setup`"),
            (
                "talaria requests answer req-1 accept --answers '{…}'",
                "talaria requests answer req-1 accept --answers '{…}'",
            ),
        ];
        for (shell, chat) in cases {
            assert_eq!(Reader::Chat.advice(shell), chat);
            assert_eq!(Reader::Shell.advice(shell), shell);
        }
    }
}
