//! Advice to the user, as data. Each client renders it: the command line as shell commands ([`NextStep::in_shell`], also the
//! `hint` of the API and of `--json`), the chat as slash commands (`talaria-tui`, `chat/next_step`).
//!
//! A step has its own variant if clients word it differently, or if a program would act on it. Advice that is the same
//! everywhere is [`NextStep::Advice`], plain text in the API and in stored rows. The library errors return steps, never
//! words for one client. All texts of both clients are in one snapshot: `crates/talaria/src/advice/next_steps.txt`.

use serde::{Deserialize, Serialize};

/// Advice to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "step", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are ids, and say so by their names")]
pub enum NextStep {
    /// Look for a session or a task in the lists.
    FindSession,
    /// Look at the list of conversations.
    ListSessions,
    /// Look at the model providers.
    ListProviders,
    /// Look at what waits for an answer.
    ListRequests,
    /// Look at the tasks.
    ListTasks,
    /// Look at the tasks that run.
    ListActiveTasks,
    /// Look at the commands that run in the background.
    ListBackground,
    /// Look at what is remembered.
    ListMemory,
    /// Look at the changes of the memory, and at those that wait.
    ListMemoryChanges,
    /// Look at the skills, and at what was proposed about them.
    ListSkills,
    /// Look at what was proposed about skills, also at what was decided.
    ListSkillProposals,
    /// See whether a task received something.
    CheckTask { task: String },
    /// Look at a conversation.
    ShowSession { session: String },
    /// Start another turn of a conversation.
    ContinueSession { session: String },
    /// Start another turn of a task.
    ContinueTask { task: String },
    /// Follow the turn that runs on a conversation, then send the prompt.
    FollowTurn { session: String },
    /// Wait for the end of the turn, or stop it.
    StopTurn,
    /// Wait for the end of a task, or stop it, then do this.
    StopTask { task: String, then: String },
    /// Wait for the end of turns of several conversations, or stop them.
    StopTurns,
    /// Stop all background commands of a conversation.
    StopAllBackground { command: String },
    /// Start a task.
    StartTask,
    /// Start a conversation.
    StartSession,
    /// Show more tasks.
    MoreTasks { limit: usize },
    /// Answer what waits.
    AnswerRequests,
    /// Read a request whole.
    ReadRequest { request: String },
    /// Answer a request.
    AnswerRequest { request: String },
    /// Follow one of the conversations that are listed.
    FollowListed,
    /// Show a task.
    ShowTask { task: String },
    /// Watch a task.
    WatchTask { task: String },
    /// Say more to the turn of a task that runs.
    SteerTask { task: String },
    /// Show what a task changed.
    ShowChanges { task: String },
    /// Apply what a task changed.
    ApplyTask { task: String },
    /// Send a task its next turn.
    SendTask { task: String },
    /// Write to another file.
    WriteElsewhere,
    /// Log in to Codex.
    Login,
    /// Check the key of a model provider.
    CheckProvider { provider: String },
    /// Wait a little, then send the prompt again.
    RetryLater,
    /// Wait until the limit of the account resets.
    AwaitLimit,
    /// Shorten the conversation.
    ShortenConversation,
    /// Begin a new conversation, where the one that is full cannot be shortened.
    BeginAnew,
    /// Shorten the prompt.
    ShortenPrompt,
    /// Choose another model.
    ChooseModel,
    /// Check the model, its effort and its provider.
    CheckModel,
    /// The provider failed; try again.
    Retry,
    /// Check the network.
    CheckNetwork,
    /// Find out why the sandbox does not start.
    CheckSandbox,
    /// Send the prompt again: nothing was done.
    SendAgain,
    /// Check the installation.
    Doctor,
    /// See what a lost turn did before it is repeated.
    CheckEffects,
    /// Install the Codex that Talaria is tested with.
    Setup { codex: String },
    /// Name another Codex than the configured one, or none and install it.
    ReplaceCodex,
    /// Codex could not be started: install it, or say where it is.
    InstallCodex,
    /// Look at one conversation in the list.
    FindConversation,
    /// Start the engine.
    StartEngine,
    /// Run the command again: it starts the engine that a person stopped.
    RestartEngine,
    /// Use the engine that holds the home, or stop it.
    StopEngine,
    /// Try again, and check the engine if that fails.
    CheckEngine,
    /// Advice that is the same in every face.
    Advice { text: String },
}

impl NextStep {
    /// The step as it is typed in a shell.
    pub fn in_shell(&self) -> String {
        match self {
            Self::FindSession => "see `talaria task list` and `talaria sessions list`".to_owned(),
            Self::ListSessions => "`talaria sessions list` shows what there is".to_owned(),
            Self::ListProviders => "`talaria providers list` shows what can be asked".to_owned(),
            Self::ListRequests => "`talaria requests list` shows what is waiting".to_owned(),
            Self::ListTasks => "`talaria task list` shows whether it started".to_owned(),
            Self::ListActiveTasks => "`talaria task list --active` shows the tasks that are running".to_owned(),
            Self::ListBackground => "`talaria ps` lists them".to_owned(),
            Self::ListMemory => "see `talaria memory list`".to_owned(),
            Self::ListMemoryChanges => "see `talaria memory history` and `talaria memory pending`".to_owned(),
            Self::ListSkills => "see `talaria skills list` and `talaria skills proposals`".to_owned(),
            Self::ListSkillProposals => "see `talaria skills proposals --all`".to_owned(),
            Self::CheckTask { task } => format!("`talaria task show {task}` shows whether it arrived"),
            Self::ShowSession { session } => format!("see `talaria sessions show {session}`"),
            Self::ContinueSession { session } => {
                format!("`talaria exec --resume {session} PROMPT` starts another turn")
            }
            Self::ContinueTask { task } => format!("`talaria task send {task} PROMPT` starts another turn"),
            Self::FollowTurn { session } => {
                format!("follow it with `talaria exec --attach {session}`, then send the prompt again")
            }
            Self::StopTurn => "wait until it ends, or interrupt it".to_owned(),
            Self::StopTask { task, then } => {
                format!("wait until it ends, or stop it with `talaria task interrupt {task}`; then {then}")
            }
            Self::StopTurns => "wait until they end, or stop them: a task with `talaria task interrupt ID`, another turn with \
                                Ctrl-C after `talaria exec --attach ID`"
                .to_owned(),
            Self::StopAllBackground { command } => format!("`talaria ps stop {command} --all` stops all of them"),
            Self::StartTask => "`talaria task start \"…\"` starts one".to_owned(),
            Self::StartSession => "`talaria exec \"…\"` starts one".to_owned(),
            Self::MoreTasks { limit } => format!("talaria task list --limit {limit}"),
            Self::AnswerRequests => "talaria requests list".to_owned(),
            Self::ReadRequest { request } => format!("talaria requests show {request}"),
            Self::AnswerRequest { request } => format!("talaria requests answer {request} accept (or decline, …)"),
            Self::FollowListed => "talaria exec --attach ID".to_owned(),
            Self::ShowTask { task } => format!("talaria task show {task}"),
            Self::WatchTask { task } => format!("talaria task watch {task}"),
            Self::SteerTask { task } => format!("talaria task steer {task} \"…\""),
            Self::ShowChanges { task } => format!("talaria task show {task} --diff"),
            Self::ApplyTask { task } => format!("talaria task apply {task}"),
            Self::SendTask { task } => format!("talaria task send {task} \"…\""),
            Self::WriteElsewhere => "name another file with -o".to_owned(),
            Self::Login => "run `talaria login`, then try again".to_owned(),
            Self::CheckProvider { provider } => format!(
                "check the key of the provider {provider} and its entry in Codex's config.toml; `talaria login` helps only \
                 if that provider uses it"
            ),
            Self::RetryLater => "wait a little, then send the prompt again".to_owned(),
            Self::AwaitLimit => "wait until the limit resets, or choose another model".to_owned(),
            Self::ShortenConversation => {
                "shorten this conversation (`talaria sessions compact ID`, /compact in the chat), start a new one, or ask for less at once".to_owned()
            }
            Self::BeginAnew => "start a new conversation, or ask for less at once".to_owned(),
            Self::ShortenPrompt => "shorten the prompt, or let Codex read a file instead".to_owned(),
            Self::ChooseModel => "choose another model (--model, or /model in the chat); if every model fails, check the \
                                  provider's base_url in Codex's config.toml"
                .to_owned(),
            Self::CheckModel => {
                "check the model and its effort, and the provider in Codex's config.toml".to_owned()
            }
            Self::Retry => "the provider had an error; try again in a moment".to_owned(),
            Self::CheckNetwork => "check the network and the provider's address, then try again".to_owned(),
            Self::CheckSandbox => "run `talaria doctor` to see why the sandbox does not start".to_owned(),
            Self::SendAgain => "nothing was done; send the prompt again".to_owned(),
            Self::Doctor => "run `talaria doctor` to check the installation".to_owned(),
            Self::CheckEffects => {
                "check what it did before you send the prompt again; `talaria doctor` checks the installation".to_owned()
            }
            Self::Setup { codex } => format!("run talaria setup to install codex {codex}"),
            Self::ReplaceCodex => "name another codex, or name none and run talaria setup".to_owned(),
            Self::InstallCodex => {
                "install Codex with `talaria setup`, or set codex.bin to where it is".to_owned()
            }
            Self::FindConversation => "see `talaria sessions list`".to_owned(),
            Self::StartEngine => "start one with: talaria serve".to_owned(),
            Self::RestartEngine => {
                "it was ended with `talaria stop`; run the command again to start it".to_owned()
            }
            Self::StopEngine => "use that engine, or end it with `talaria stop`".to_owned(),
            Self::CheckEngine => "try again in a moment; `talaria doctor` looks at the engine".to_owned(),
            Self::Advice { text } => text.clone(),
        }
    }

    /// The step, unless it is only text: that is the `hint` already.
    pub fn as_data(&self) -> Option<Self> {
        (!matches!(self, Self::Advice { .. })).then(|| self.clone())
    }
}

impl From<String> for NextStep {
    fn from(text: String) -> Self {
        Self::Advice { text }
    }
}

impl From<&str> for NextStep {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
