//! What a person can do next, as each face says it: a shell command, or a slash command of the chat. Pure.
//!
//! A step is data ([`NextStep`]) where the faces say it differently; other advice is text, and the same everywhere. The test
//! here lists every step in the words of both faces in one file, so that the wording is reviewed in one place.

use talaria_core::next_step::NextStep;
use talaria_tui::chat::next_step::in_chat;

/// Where advice is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// In a shell.
    Shell,
    /// In a chat.
    Chat,
}

impl Reader {
    /// The step as it can be followed there.
    pub(crate) fn says(self, step: &NextStep) -> String {
        match self {
            Self::Shell => step.in_shell(),
            Self::Chat => in_chat(step),
        }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    /// As it is typed in a shell.
    shell: String,
    step: Option<NextStep>,
}

impl Advice {
    /// The words for a shell.
    pub(crate) fn in_shell(&self) -> &str {
        &self.shell
    }

    /// The words for a chat.
    pub(crate) fn in_chat(&self) -> String {
        self.step.as_ref().map_or_else(|| self.shell.clone(), in_chat)
    }

    /// The step, where it is one.
    pub(crate) fn step(&self) -> Option<&NextStep> {
        self.step.as_ref()
    }
}

impl From<NextStep> for Advice {
    fn from(step: NextStep) -> Self {
        Self { shell: step.in_shell(), step: Some(step) }
    }
}

impl From<String> for Advice {
    fn from(shell: String) -> Self {
        Self { shell, step: None }
    }
}

impl From<&str> for Advice {
    fn from(shell: &str) -> Self {
        shell.to_owned().into()
    }
}

impl From<&String> for Advice {
    fn from(shell: &String) -> Self {
        shell.clone().into()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// One of each; the match fails to compile when a step has no sample.
    macro_rules! samples {
        ($($name:ident $({ $($field:ident: $sample:expr),+ })?),+ $(,)?) => {
            fn samples() -> Vec<NextStep> {
                let _ = |step: &NextStep| match step { $(NextStep::$name { .. } => ()),+ };
                vec![$(NextStep::$name $({ $($field: $sample.into()),+ })?),+]
            }
        };
    }

    samples! {
        FindSession, ListSessions, ListRequests, ListTasks, ListActiveTasks, ListBackground,
        CheckTask { task: "codex-1a2b3c" }, ShowSession { session: "5e6f7a8b" }, ContinueSession { session: "5e6f7a8b" },
        ContinueTask { task: "codex-1a2b3c" }, FollowTurn { session: "5e6f7a8b" }, StopTurn,
        StopTask { task: "codex-1a2b3c", then: "apply it" }, StopTurns, StopAllBackground { command: "bg-1a2b3c" },
        StartTask, StartSession, MoreTasks { limit: 100_usize }, AnswerRequests, ReadRequest { request: "req-1a2b3c" },
        AnswerRequest { request: "req-1a2b3c" }, FollowListed, ShowTask { task: "codex-1a2b3c" },
        WatchTask { task: "codex-1a2b3c" }, SteerTask { task: "codex-1a2b3c" }, ShowChanges { task: "codex-1a2b3c" },
        ApplyTask { task: "codex-1a2b3c" }, SendTask { task: "codex-1a2b3c" }, WriteElsewhere, Login,
        CheckProvider { provider: "mock" }, RetryLater, AwaitLimit, ShortenConversation, ShortenPrompt, ChooseModel,
        CheckModel, Retry, CheckNetwork, CheckSandbox, SendAgain, Doctor, CheckEffects,
    }

    #[test]
    fn every_step_in_the_words_of_each_face() {
        let entry = |step: &NextStep| {
            let name = serde_json::to_value(step).unwrap();
            let name = name["step"].as_str().unwrap_or_default();
            format!("{name}\n  shell: {}\n  chat:  {}\n", Reader::Shell.says(step), Reader::Chat.says(step))
        };
        let text: String = samples().iter().map(entry).collect();
        expect_file!["advice/next_steps.txt"].assert_eq(&text);
    }

    #[test]
    fn a_chat_is_told_slash_commands_of_steps_and_text_as_it_is() {
        let step = Advice::from(NextStep::ContinueTask { task: "codex-1".to_owned() });
        assert_eq!(step.in_shell(), "`talaria task send codex-1 PROMPT` starts another turn");
        assert_eq!(step.in_chat(), "`/task send codex-1 PROMPT` starts another turn");
        let text = Advice::from("run `talaria setup`");
        assert_eq!(
            (text.in_shell(), text.in_chat().as_str()),
            ("run `talaria setup`", "run `talaria setup`")
        );
    }
}
