//! A question to the model of a conversation that leaves the conversation as it is.
//!
//! Where Codex can, it is one request on top of the thread, with the prompt cache of the thread. Elsewhere, for another model and
//! for a long question, it is a turn on a copy of the thread that only reads, asks no one, and has none of our tools. Either can be stopped
//! at any moment without waiting for it, so the next turn of the conversation is never delayed.

use std::sync::Arc;
use std::time::Duration;

use talaria_codex_proto::settle::Deed;
use talaria_codex_proto::wire::call::{ThreadSampleReply, ThreadStart};
use talaria_core::event::{Event, Usage};
use talaria_core::ids::{ThreadId, TurnId};
use talaria_core::input::InputPart;
use talaria_core::outcome::Outcome;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::request::Who;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{CodexConversation, Command, Options, Past, Prompt, Watcher, new_id};
use crate::client::CallError;
use crate::host::Host;
use crate::threads::ThreadError;

/// The longest question that Codex asks on top of a thread, in bytes; 0.166 refuses a longer one.
const LONGEST_SAMPLE: usize = 4_000;
/// How long the model may take.
const LIMIT: Duration = Duration::from_secs(180);

/// The model's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideAnswer {
    /// None if it called a tool or said nothing.
    pub text: Option<String>,
    /// Tokens used.
    pub usage: Usage,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SideQuestionError {
    /// It was stopped.
    #[error("it was stopped")]
    Stopped,
    /// The conversation has no finished turn.
    #[error("the conversation has no finished turn")]
    NothingToAsk,
    /// Codex did not ask the model.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The copy was not opened.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The turn on the copy did not complete.
    #[error("{0}")]
    Turn(String),
}

/// A question that can be asked while the conversation does other things.
#[derive(Debug)]
pub struct SideQuestion {
    host: Arc<Host>,
    thread: ThreadId,
    last_turn: Option<TurnId>,
    asked: ThreadStart,
    /// Tokens of the thread so far; a copy counts on from them.
    total: Usage,
    /// Another model than that of the conversation.
    model: Option<String>,
    text: String,
}

impl CodexConversation {
    /// Prepares a question for the model of the conversation, or for another one. To be asked between turns.
    pub fn side_question(&self, text: String, model: Option<String>) -> SideQuestion {
        SideQuestion {
            host: self.current.get(),
            thread: self.started.thread.clone(),
            last_turn: self.last_turn.clone(),
            asked: self.asked.clone(),
            total: self.total,
            model: model.filter(|model| *model != self.started.model),
            text,
        }
    }
}

impl SideQuestion {
    /// Asks, until there is an answer or `stop` is cancelled.
    pub async fn ask(&self, stop: &CancellationToken) -> Result<SideAnswer, SideQuestionError> {
        let last_turn = self.last_turn.as_ref().ok_or(SideQuestionError::NothingToAsk)?;
        let is_sampled = self.model.is_none()
            && self.host.version().samples_threads()
            && self.text.len() <= LONGEST_SAMPLE;
        match is_sampled {
            true => {
                let sample = self.host.sample_thread(&self.thread, last_turn, &self.text, LIMIT);
                tokio::select! {
                    reply = sample => Ok(sampled(reply?)),
                    () = stop.cancelled() => Err(SideQuestionError::Stopped),
                }
            }
            false => self.ask_copy(stop).await,
        }
    }

    async fn ask_copy(&self, stop: &CancellationToken) -> Result<SideAnswer, SideQuestionError> {
        let mut asked = self.asked.clone();
        (asked.sandbox, asked.approval_policy) = (Some(Sandbox::ReadOnly), Some(ApprovalPolicy::Never));
        if self.model.is_some() {
            asked.model.clone_from(&self.model);
        }
        let thread = self.host.fork_thread(&self.thread, &asked).await?;
        let id = thread.started.thread.clone();
        let host = Arc::clone(&self.host);
        let past = Past { total: self.total, ..Past::default() };
        let mut copy =
            CodexConversation::with(new_id(), host.into(), asked, Options::default(), thread, past);
        // Unbounded in type, bounded by use: an interrupt when it is stopped, and one for each request.
        let (sender, mut commands) = mpsc::unbounded_channel();
        let mut listener = SideListener { commands: sender.clone() };
        let prompt = Prompt {
            deed: Deed::Words,
            input: vec![InputPart::text(self.text.as_str())],
            context: None,
            limit: Some(LIMIT),
            client_id: None,
            escrow: Vec::new(),
        };
        let stopping = async {
            stop.cancelled().await;
            // The turn may have ended meanwhile.
            let _ = sender.send(Command::Interrupt { by: Who::Talaria });
            std::future::pending::<()>().await;
        };
        let report = tokio::select! {
            report = copy.run(prompt, &mut commands, &mut listener) => report,
            () = stopping => return Err(SideQuestionError::Stopped),
        };
        drop(copy);
        self.host.release_thread(&id).await;
        match report.outcome {
            Outcome::Completed => Ok(SideAnswer { text: report.text, usage: report.usage }),
            _ if stop.is_cancelled() => Err(SideQuestionError::Stopped),
            Outcome::Interrupted { .. } => Err(SideQuestionError::Turn(
                "the model asked for an approval, and there is no one to ask".to_owned(),
            )),
            Outcome::Failed { message, .. } | Outcome::Lost { why: message } => {
                Err(SideQuestionError::Turn(message))
            }
        }
    }
}

fn sampled(reply: ThreadSampleReply) -> SideAnswer {
    let ThreadSampleReply { text, input_tokens, cached_input_tokens, output_tokens } = reply;
    let partial = input_tokens.is_none() || output_tokens.is_none();
    let number = Option::unwrap_or_default;
    let (input, output) = (number(input_tokens), number(output_tokens));
    let cached = number(cached_input_tokens);
    let total = input.saturating_add(output);
    SideAnswer { text, usage: Usage { input, cached, output, reasoning: 0, total, partial } }
}

/// Keeps nothing of a turn on the copy. A request stops it: there is no one to ask.
struct SideListener {
    commands: mpsc::UnboundedSender<Command>,
}

impl Watcher for SideListener {
    fn event(&mut self, event: Event) {
        if let Event::RequestOpened { .. } = event {
            // The turn that opened it receives this.
            let _ = self.commands.send(Command::Interrupt { by: Who::Talaria });
        }
    }
}
