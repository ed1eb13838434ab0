//! The seam between the engine and what runs turns: an open conversation of a session, on whichever runtime that session has.
//!
//! Codex is one arm of `Conversation`, the built-in loop another. An enum and not a trait, because every runtime is
//! known here and each arm keeps what is its own. The actor, the journal and the queries name no host and no wire type.

mod codex;
mod own_loop;

use std::sync::Arc;

use talaria_codex::conversation::{
    BackgroundNews, Command, Flown, Options, Prompt, SideAnswer, SideQuestion, SideQuestionError,
};
use talaria_codex::spec::Surroundings;
use talaria_core::config::AuxiliaryModel;
use talaria_core::event::Started;
use talaria_core::ids::BackgroundId;
use talaria_core::outcome::{FailureCode, Report};
use talaria_core::runtime::Runtime;
use talaria_core::transcript::Message;
use talaria_store::SessionRow;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::engine::Inner;
use crate::engine::journal::Journal;
use crate::engine::run::background::KeptCommand;
use crate::engine::run::opening::{Opened, Purpose, failed};
use crate::engine::run::settings::Settings;
use codex::{CodexFrames, CodexQueue, CodexRuntime};
pub(crate) use own_loop::{LoopProvider, close_lost_turn, loop_prompt_parts};
use own_loop::{LoopRuntime, LoopSideQuestion};

/// The runtime that has a session; none for one that another program left.
pub(crate) fn runtime_of(row: &SessionRow) -> Option<Runtime> {
    Runtime::named(&row.runtime)
}

/// An open conversation.
pub(crate) enum Conversation {
    Codex(Box<CodexRuntime>),
    OwnLoop(Box<LoopRuntime>),
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
            Some(Runtime::OwnLoop) => {
                let opened = own_loop::open(engine, row, settings, options, surroundings, purpose).await;
                opened.map(|(conversation, opened)| (Self::OwnLoop(Box::new(conversation)), opened))
            }
            None => {
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
            Self::OwnLoop(own) => own.run(prompt, commands, journal).await,
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
            Self::Codex(codex) => codex.conversation.resume_turn(prompt, flown, commands, journal).await,
            Self::OwnLoop(own) => own.resume(prompt, flown, commands, journal).await,
        }
    }

    /// The settings in force, as reported by the runtime.
    pub(crate) fn in_force(&self) -> &Started {
        match self {
            Self::Codex(codex) => codex.conversation.started(),
            Self::OwnLoop(own) => own.in_force(),
        }
    }

    /// The name of the process that has the conversation, if it has one that outlives the engine.
    pub(crate) fn host(&self) -> Option<String> {
        match self {
            Self::Codex(codex) => codex.host(),
            Self::OwnLoop(_) => None,
        }
    }

    /// Changes how further turns are run, and what is known of the conversation if it has to start again.
    pub(crate) fn prepare(
        &mut self,
        options: Options,
        messages: Vec<Message>,
        settings: &Settings,
        surroundings: &Surroundings,
    ) {
        match self {
            Self::Codex(codex) => {
                codex.conversation.set_options(options);
                codex.conversation.remember(messages);
            }
            Self::OwnLoop(own) => own.prepare(options, settings, surroundings),
        }
    }

    /// Frees what is needed during a turn only.
    pub(crate) fn rest(&mut self) {
        match self {
            Self::Codex(codex) => codex.conversation.rest(),
            Self::OwnLoop(_) => {}
        }
    }

    /// Prepares a question for the model of the conversation, or another one, that leaves the conversation as it is; none while
    /// the runtime cannot ask one. The error says why it never can.
    pub(crate) async fn side_question(
        &self,
        text: String,
        model: Option<AuxiliaryModel>,
    ) -> Result<Option<RuntimeQuestion>, String> {
        match self {
            Self::Codex(codex) => {
                // Codex asks no other provider.
                let model = model.filter(|wanted| wanted.provider.is_none()).map(|wanted| wanted.model);
                let asked = model.clone().or_else(|| Some(codex.conversation.started().model.clone()));
                let question = Box::new(codex.conversation.side_question(text, model));
                let model = asked.filter(|model| !model.is_empty());
                Ok(Some(RuntimeQuestion::Codex { question, model }))
            }
            Self::OwnLoop(own) => {
                let question = own.side_question(text, model).await?;
                Ok(question.map(|question| RuntimeQuestion::OwnLoop(Box::new(question))))
            }
        }
    }

    /// Lets the runtime unload the conversation.
    pub(crate) async fn release(self) {
        match self {
            Self::Codex(codex) => codex.release().await,
            Self::OwnLoop(_) => {}
        }
    }

    /// Where news of background commands arrive; none while no such command runs.
    pub(crate) fn background(&self) -> Option<BackgroundFeed> {
        match self {
            Self::Codex(codex) => codex.background().map(BackgroundFeed::Codex),
            Self::OwnLoop(_) => None,
        }
    }

    /// Returns frames about background commands, and holds the other ones.
    pub(crate) async fn overhear(&mut self, batch: BackgroundBatch) -> Vec<BackgroundNews> {
        match (self, batch) {
            (Self::Codex(codex), BackgroundBatch::Codex(frames)) => codex.overhear(frames).await,
            (Self::OwnLoop(_), BackgroundBatch::Codex(_)) => Vec::new(),
        }
    }

    /// Returns the frames that `overhear` held to the next turn, in order.
    pub(crate) fn give_back(&mut self) {
        match self {
            Self::Codex(codex) => codex.give_back(),
            Self::OwnLoop(_) => {}
        }
    }

    /// Follows background commands again after the conversation was opened again; those that run no more have ended.
    pub(crate) async fn watch_again(&mut self, kept: Vec<KeptCommand>) -> FollowedAgain {
        match self {
            Self::Codex(codex) => codex.watch_again(kept).await,
            Self::OwnLoop(_) => FollowedAgain::default(),
        }
    }
}

/// A question to the model of a conversation that leaves the conversation as it is.
pub(crate) enum RuntimeQuestion {
    Codex { question: Box<SideQuestion>, model: Option<String> },
    OwnLoop(Box<LoopSideQuestion>),
}

impl RuntimeQuestion {
    /// Asks, until there is an answer or `stop` is cancelled.
    pub(crate) async fn ask(&self, stop: &CancellationToken) -> Result<SideAnswer, SideQuestionError> {
        match self {
            Self::Codex { question, .. } => question.ask(stop).await,
            Self::OwnLoop(question) => question.ask(stop).await,
        }
    }

    /// When what it costs is counted: the built-in loop counts every request with its end.
    pub(crate) fn counted_model(&self) -> CountedModel {
        match self {
            Self::Codex { model, .. } => CountedModel::WithAnswer(model.clone()),
            Self::OwnLoop(_) => CountedModel::WithRequests,
        }
    }
}

/// When the cost of a question is counted.
pub(crate) enum CountedModel {
    /// With the answer, for this model if its name is known.
    WithAnswer(Option<String>),
    /// It was counted already, with each request.
    WithRequests,
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
