//! Advice to the user in the chat: as slash commands where there is one, else as shell commands.

use talaria_core::next_step::NextStep;

/// The step in the words of the chat.
pub fn in_chat(step: &NextStep) -> String {
    match step {
        NextStep::FindSession => "see `/task list` and `/sessions`".to_owned(),
        NextStep::ListSessions => "`/sessions` shows what there is".to_owned(),
        NextStep::ListProviders => step.in_shell(),
        NextStep::ListRequests => "`/requests` shows what is waiting".to_owned(),
        NextStep::ListTasks => "`/task list` shows whether it started".to_owned(),
        NextStep::ListActiveTasks => "`/task list --active` shows the tasks that are running".to_owned(),
        NextStep::ListBackground => "`/ps` lists them".to_owned(),
        NextStep::ListMemory => "see `/memory`".to_owned(),
        NextStep::ListMemoryChanges => "see `/memory history` and `/memory pending`".to_owned(),
        NextStep::ListSkills => "see `/skills` and `/skills proposals`".to_owned(),
        NextStep::ListSkillProposals => "see `/skills proposals --all`".to_owned(),
        NextStep::CheckTask { task } => format!("`/task show {task}` shows whether it arrived"),
        NextStep::ShowSession { session } => format!("see `/resume {session}`"),
        NextStep::ContinueSession { session } => format!("`/resume {session}` opens it"),
        NextStep::ContinueTask { task } => format!("`/task send {task} PROMPT` starts another turn"),
        NextStep::FollowTurn { session } => {
            format!("follow it with `/resume {session}`, and send the prompt when the turn has ended")
        }
        NextStep::StopTurn => "wait until it ends, or stop it with /stop".to_owned(),
        NextStep::StopTask { task, then } => {
            format!("wait until it ends, or stop it with `/task interrupt {task}`; then {then}")
        }
        NextStep::StopTurns => {
            "wait until they end, or stop them: a task with `/task interrupt ID`, another turn with \
                                `/resume ID` and /stop"
                .to_owned()
        }
        NextStep::StopAllBackground { command } => format!("`/ps stop {command} --all` stops all of them"),
        NextStep::StartTask => "`/task start \"…\"` starts one".to_owned(),
        NextStep::StartSession => "your next message starts one".to_owned(),
        NextStep::MoreTasks { limit } => format!("/task list --limit {limit}"),
        NextStep::AnswerRequests => "/requests".to_owned(),
        NextStep::ReadRequest { request } => format!("/approve {request}"),
        NextStep::AnswerRequest { request } => format!("/approve {request} (or /deny)"),
        NextStep::FollowListed => "/resume ID".to_owned(),
        NextStep::ShowTask { task } => format!("/task show {task}"),
        NextStep::WatchTask { task } => format!("/task watch {task}"),
        NextStep::SteerTask { task } => format!("/task steer {task} \"…\""),
        NextStep::ShowChanges { task } => format!("/task show {task} --diff"),
        NextStep::ApplyTask { task } => format!("/task apply {task}"),
        NextStep::SendTask { task } => format!("/task send {task} \"…\""),
        NextStep::WriteElsewhere => "name another file: /export FILE".to_owned(),
        NextStep::ShortenConversation => {
            "shorten it with /compact, start a new one with /new, or ask for less at once".to_owned()
        }
        NextStep::BeginAnew => "start a new conversation with /new, or ask for less at once".to_owned(),
        NextStep::ChooseModel => {
            "choose another model with /model; if every model fails, check the provider's base_url in \
                                  Codex's config.toml"
                .to_owned()
        }
        NextStep::AwaitLimit => "wait until the limit resets, or choose another model with /model".to_owned(),
        NextStep::FindConversation => "see `/sessions`".to_owned(),
        NextStep::RestartEngine => {
            "it was ended with `talaria stop`; send your message again to start it".to_owned()
        }
        // Done outside of the chat, or the same in it.
        NextStep::Login
        | NextStep::CheckProvider { .. }
        | NextStep::RetryLater
        | NextStep::ShortenPrompt
        | NextStep::CheckModel
        | NextStep::Retry
        | NextStep::CheckNetwork
        | NextStep::CheckSandbox
        | NextStep::SendAgain
        | NextStep::Doctor
        | NextStep::CheckEffects
        | NextStep::Setup { .. }
        | NextStep::ReplaceCodex
        | NextStep::InstallCodex
        | NextStep::StartEngine
        | NextStep::StopEngine
        | NextStep::CheckEngine
        | NextStep::Advice { .. } => step.in_shell(),
    }
}
