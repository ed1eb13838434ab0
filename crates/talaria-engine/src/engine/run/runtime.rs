//! The seam between the engine and what runs turns: an open conversation of a session, on whichever runtime that session has.
//!
//! Codex is one arm of `Conversation`; a further runtime is a further arm. An enum and not a trait, because every runtime is
//! known here and each arm keeps what is its own. The actor, the journal and the queries name no host and no wire type.

mod codex;

use std::sync::Arc;

use talaria_codex::conversation::{BackgroundNews, Command, Flown, Options, Prompt, SideQuestion};
use talaria_codex::spec::Surroundings;
use talaria_core::event::Started;
use talaria_core::ids::BackgroundId;
use talaria_core::outcome::{FailureCode, Report};
use talaria_core::runtime::{Runtime, THIS_BUILD};
use talaria_core::transcript::Message;
use talaria_store::SessionRow;
use tokio::sync::mpsc;

use crate::engine::Inner;
use crate::engine::journal::Journal;
use crate::engine::run::background::KeptCommand;
use crate::engine::run::opening::{Opened, Purpose, failed};
use crate::engine::run::settings::Settings;
use codex::{CodexFrames, CodexQueue, CodexRuntime};

pub(crate) const NEW_SESSIONS: Runtime = Runtime::CodexAppServer;

/// The runtime of this build that has a session; none for one that another program left.
pub(crate) fn runtime_of(row: &SessionRow) -> Option<Runtime> {
    THIS_BUILD.iter().copied().find(|runtime| runtime.name() == row.runtime)
}

/// An open conversation.
pub(crate) enum Conversation {
    Codex(Box<CodexRuntime>),
}

/// Where the news of background commands arrive.
pub(crate) enum BackgroundFeed {
    Codex(CodexQueue),
}

/// What arrived there and was not looked at yet.
pub(crate) enum BackgroundBatch {
    Codex(CodexFrames),
}

impl Conversation {
    /// Opens the conversation of a session: a new one, or one that an engine had open before.
    pub(crate) async fn open(
        engine: &Arc<Inner>,
        row: &SessionRow,
        settings: &Settings,
        options: Options,
        surroundings: Surroundings,
        purpose: Purpose,
    ) -> Result<(Self, Opened), Box<Report>> {
        match runtime_of(row) {
            Some(Runtime::CodexAppServer) => {
                let opened = codex::open(engine, row, settings, options, surroundings, purpose).await;
                opened.map(|(conversation, opened)| (Self::Codex(Box::new(conversation)), opened))
            }
            Some(Runtime::OwnLoop) | None => {
                let why = format!("this version does not run conversations of {}", row.runtime);
                Err(Box::new(failed(FailureCode::NotSent, why)))
            }
        }
    }

    /// Sends a prompt and follows the turn to its end.
    pub(crate) async fn run(
        &mut self,
        prompt: Prompt,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        journal: &mut Journal,
    ) -> Report {
        match self {
            Self::Codex(codex) => codex.conversation.run(prompt, commands, journal).await,
        }
    }

    /// Follows a turn to its end that an earlier engine had in flight.
    pub(crate) async fn resume(
        &mut self,
        prompt: Prompt,
        flown: Flown,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        journal: &mut Journal,
    ) -> Report {
        match self {
            Self::Codex(codex) => codex.conversation.take_up(prompt, flown, commands, journal).await,
        }
    }

    /// The settings in force, as reported by the runtime.
    pub(crate) fn in_force(&self) -> &Started {
        match self {
            Self::Codex(codex) => codex.conversation.started(),
        }
    }

    /// The name of the process that has the conversation, if it has one that outlives the engine.
    pub(crate) fn host(&self) -> Option<String> {
        match self {
            Self::Codex(codex) => codex.host(),
        }
    }

    /// Changes how further turns are run, and what is known of the conversation if it has to start again.
    pub(crate) fn prepare(&mut self, options: Options, messages: Vec<Message>) {
        match self {
            Self::Codex(codex) => {
                codex.conversation.set_options(options);
                codex.conversation.remember(messages);
            }
        }
    }

    /// Frees what is needed during a turn only.
    pub(crate) fn rest(&mut self) {
        match self {
            Self::Codex(codex) => codex.conversation.rest(),
        }
    }

    /// Prepares a question for the model of the conversation, or another one, that leaves the conversation as it is.
    pub(crate) fn side_question(&self, text: String, model: Option<String>) -> SideQuestion {
        match self {
            Self::Codex(codex) => codex.conversation.side_question(text, model),
        }
    }

    /// Lets the runtime unload the conversation.
    pub(crate) async fn release(self) {
        match self {
            Self::Codex(codex) => codex.release().await,
        }
    }

    /// Where news of background commands arrive; none while no such command runs.
    pub(crate) fn background(&self) -> Option<BackgroundFeed> {
        match self {
            Self::Codex(codex) => codex.background().map(BackgroundFeed::Codex),
        }
    }

    /// Returns frames about background commands, and holds the other ones.
    pub(crate) async fn overhear(&mut self, batch: BackgroundBatch) -> Vec<BackgroundNews> {
        match (self, batch) {
            (Self::Codex(codex), BackgroundBatch::Codex(frames)) => codex.overhear(frames).await,
        }
    }

    /// Returns the frames that `overhear` held to the next turn, in order.
    pub(crate) fn give_back(&mut self) {
        match self {
            Self::Codex(codex) => codex.give_back(),
        }
    }

    /// Follows background commands again after the conversation was opened again; those that run no more have ended.
    pub(crate) async fn watch_again(&mut self, kept: Vec<KeptCommand>) -> FollowedAgain {
        match self {
            Self::Codex(codex) => codex.watch_again(kept).await,
        }
    }
}

/// Result of background commands when they were followed again.
#[derive(Default)]
pub(crate) struct FollowedAgain {
    pub(crate) news: Vec<BackgroundNews>,
    /// The commands that the runtime said are running.
    pub(crate) confirmed: Vec<BackgroundId>,
}

impl BackgroundFeed {
    /// Waits until something arrives. Cancel-safe.
    pub(crate) async fn next(&self) -> BackgroundBatch {
        match self {
            Self::Codex(queue) => BackgroundBatch::Codex(queue.next().await),
        }
    }
}
