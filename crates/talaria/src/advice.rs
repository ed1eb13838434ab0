//! Advice to the user in the words of each front end: a shell command, or a slash command of the chat. Pure.
//!
//! The test here lists every step in the words of both faces in one file, so that the wording is reviewed in one place.

use talaria_core::next_step::NextStep;
use talaria_tui::chat::next_step::in_chat;

/// Where advice is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Shell,
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
        FindSession, ListSessions, ListProviders, ListRequests, ListTasks, ListActiveTasks, ListBackground, ListMemory, ListMemoryChanges,
        ListSkills, ListSkillProposals,
        CheckTask { task: "codex-1a2b3c" }, ShowSession { session: "5e6f7a8b" }, ContinueSession { session: "5e6f7a8b" },
        ContinueTask { task: "codex-1a2b3c" }, FollowTurn { session: "5e6f7a8b" }, StopTurn,
        StopTask { task: "codex-1a2b3c", then: "apply it" }, StopTurns, StopAllBackground { command: "bg-1a2b3c" },
        StartTask, StartSession, MoreTasks { limit: 100_usize }, AnswerRequests, ReadRequest { request: "req-1a2b3c" },
        AnswerRequest { request: "req-1a2b3c" }, FollowListed, ShowTask { task: "codex-1a2b3c" },
        WatchTask { task: "codex-1a2b3c" }, SteerTask { task: "codex-1a2b3c" }, ShowChanges { task: "codex-1a2b3c" },
        ApplyTask { task: "codex-1a2b3c" }, SendTask { task: "codex-1a2b3c" }, WriteElsewhere, Login,
        CheckProvider { provider: "mock" }, RetryLater, AwaitLimit, ShortenConversation, BeginAnew, ShortenPrompt, ChooseModel,
        CheckModel, Retry, CheckNetwork, CheckSandbox, SendAgain, Doctor, CheckEffects,
        Setup { codex: "0.166.0" }, ReplaceCodex, InstallCodex, FindConversation, StartEngine, RestartEngine, StopEngine,
        CheckEngine, Advice { text: "check the permissions of the file" },
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
}
