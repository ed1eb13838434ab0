//! What goes into the machine of a turn and what comes out of it, as data.

use std::time::Duration;

use talaria_core::event::{Event, Usage};
use talaria_core::ids::{ItemId, TurnId};
use talaria_core::next_step::NextStep;
use talaria_core::outcome::Report;
use talaria_core::request::Who;

use super::ladder::{LeftModel, ModelChange, ModelRoute};
use crate::attempt::{AttemptDiary, AttemptEnd, AttemptStage, WireNews};
use crate::compaction::CompactionSetup;
use crate::encode::{RequestHead, RequestOmissions};
use crate::fold::IncompleteReason;
use crate::history::{CallDisposition, CallId, CallInput, LogEntry, LogPart, ModelIssuer};
use crate::profile::ProviderProfile;
use crate::rendered::{PrefixDigest, RenderedRequest};
use crate::spending::TokenCount;

/// The output limit that a request names where that of the model is not known, and a budget has to bound it.
const ASSUMED_OUTPUT: u64 = 32_768;

/// The time of an input, as the shell knows it.
#[derive(Clone, Copy, Debug)]
pub struct LoopMoment {
    /// Monotonic, from any beginning.
    pub now: Duration,
    /// Seconds since 1970.
    pub unix: i64,
    /// Between 0 and 1, for pauses that vary.
    pub chance: f64,
}

/// What stays the same during a turn.
#[derive(Clone, Debug)]
pub struct LoopSetup {
    /// The turn, for the ids of its items.
    pub turn: TurnId,
    /// The provider.
    pub profile: ProviderProfile,
    /// Endpoint and account.
    pub issuer: ModelIssuer,
    /// Model, system prompt, tools and parameters.
    pub head: RequestHead,
    /// What the provider is known to refuse.
    pub omissions: RequestOmissions,
    /// The most model requests of the turn, retries not counted.
    pub rounds: u32,
    /// The chosen model is not asked before this time, in seconds since 1970, as long as another one can answer.
    pub rests_until: Option<i64>,
    /// The models that are asked when the chosen one fails, in this order.
    pub fallbacks: Vec<ModelRoute>,
    /// Whether they are also asked what a model or its provider refused.
    pub asks_on_refusal: bool,
    /// How the conversation is compacted; none where it must stay as it is.
    pub compaction: Option<CompactionSetup>,
    /// Requests name an output limit, also to models whose own one is not known: a budget has to bound what they cost.
    pub bounds_output: bool,
}

impl LoopSetup {
    pub(super) fn chosen(&self) -> ModelRoute {
        ModelRoute {
            profile: self.profile.clone(),
            issuer: self.issuer.clone(),
            model: self.head.model.clone(),
            omissions: self.omissions.clone(),
            rests_until: self.rests_until,
        }
    }

    /// Asks another model from now on.
    pub(super) fn take(&mut self, route: &ModelRoute) {
        self.profile = route.profile.clone();
        self.issuer = route.issuer.clone();
        self.head.model.clone_from(&route.model);
        self.head.max_output = None;
        self.omissions = route.omissions.clone();
        self.bound_output();
    }

    /// Names an output limit where it would otherwise be unknown.
    pub(super) fn bound_output(&mut self) {
        if self.bounds_output && self.most_output().is_none() {
            self.head.max_output = Some(ASSUMED_OUTPUT);
        }
    }

    /// The most tokens that an answer can have, if that is known.
    pub(super) fn most_output(&self) -> Option<u64> {
        self.head.output_limit(&self.profile).or_else(|| self.profile.model(&self.head.model).max_output)
    }
}

/// Something happened.
#[derive(Debug)]
pub enum LoopInput<'a> {
    /// The transport reports about an attempt. News of any but the current one change nothing.
    Wire {
        /// The number of the attempt.
        attempt: u64,
        /// What it reports.
        news: &'a WireNews,
    },
    /// A call ended: its result, or why there is none. A second result of a call changes nothing.
    CallEnded {
        /// The entry of the call in the history.
        seq: u64,
        /// Its fate.
        disposition: CallDisposition,
        /// What the model gets.
        parts: Vec<LogPart>,
    },
    /// The person adds something while the turn runs. It follows the results of the running calls.
    Steer(Vec<LogPart>),
    /// The turn continues although the model repeats itself.
    Proceed,
    /// The turn ends because the model repeats itself.
    GiveUp {
        /// Who decided it; none if no one could be asked.
        by: Option<Who>,
    },
    /// The person or Talaria stops the turn.
    Interrupt(Who),
    /// How many other keys of the provider may work, known when a request is sent.
    SpareKeys(usize),
    /// The planned request is not sent before a person allows more than a budget has.
    Withheld,
    /// It is sent now.
    Granted,
    /// It is not sent: a budget is reached.
    Forgone {
        /// What people read.
        message: String,
        /// What to do about it.
        next: NextStep,
        /// The next model of the ladder is asked instead, if there is one.
        asks_another: bool,
    },
    /// Time passed.
    Tick,
}

/// A call that the model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedCall {
    /// Its entry in the history: it names the call within the conversation, whatever ids the provider repeats.
    pub seq: u64,
    /// Joins it with its result.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them; they are a JSON object, or free text.
    pub input: CallInput,
}

/// What an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptPurpose {
    /// The next answer of the conversation.
    Answer,
    /// A summary of its beginning.
    Summary {
        /// The place of the configured model that writes it; none for the model of the conversation.
        by: Option<usize>,
    },
}

/// The row of an attempt before its first byte is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedAttempt {
    /// Its number in the turn, from 1.
    pub number: u64,
    /// What it is for.
    pub purpose: AttemptPurpose,
    /// The model that is asked.
    pub model: String,
    /// Its place among the models of the turn; 0 is the chosen one.
    pub place: usize,
    /// The digest of the whole request.
    pub request: PrefixDigest,
    /// The digest of what stays at the beginning of the next request.
    pub prefix: PrefixDigest,
    /// The size of the request.
    pub bytes: usize,
    /// The most tokens that its answer can have, if that is known.
    pub most_output: Option<u64>,
}

/// An attempt that is over.
#[derive(Clone, Debug)]
pub struct EndedAttempt {
    /// Its number.
    pub number: u64,
    /// How it ended.
    pub end: AttemptEnd,
    /// How far it was.
    pub stage: AttemptStage,
    /// What it cost in tokens.
    pub tokens: TokenCount,
    /// The price in billionths of a dollar; none if it is not known.
    pub price: Option<u64>,
    /// What it can have cost at most where the provider did not report its end, and the price of that.
    pub bound: Option<(TokenCount, Option<u64>)>,
    /// Facts for diagnosis.
    pub diary: AttemptDiary,
    /// Characters that people saw of it.
    pub shown_chars: u64,
    /// What it adds to the history, stored in the same transaction.
    pub entries: Vec<LogEntry>,
}

/// What to do, in order. An output is durable before a later one is acted upon.
#[derive(Debug)]
pub enum LoopOutput {
    /// Report this.
    Emit(Event),
    /// Report that another model answers from now on.
    Change(ModelChange),
    /// The provider that is asked now refuses this parameter for this model.
    Learn(String),
    /// Store the row of an attempt.
    Plan(PlannedAttempt),
    /// Send the request of the attempt that was planned last.
    Send(Box<RenderedRequest>),
    /// Close the connection of this attempt.
    Close(u64),
    /// Store the end of an attempt, together with what it adds to the history.
    End(Box<EndedAttempt>),
    /// The text that was shown of this attempt does not count: strike it out.
    Void {
        /// The attempt.
        attempt: u64,
        /// Why.
        why: String,
        /// How many characters were shown.
        shown_chars: u64,
        /// The items that they belong to.
        items: Vec<ItemId>,
    },
    /// Append these entries to the history.
    Append(Vec<LogEntry>),
    /// This many of the last `Steer` inputs were not read by the model and will not be: return them to the person.
    Unread(usize),
    /// Run these calls, each exactly once, in this order or together.
    Start(Vec<RequestedCall>),
    /// An earlier engine may have run these calls: find out what became of each, and report that.
    Settle(Vec<RequestedCall>),
    /// The model repeats itself: ask the person whether the turn continues, and answer with `Proceed` or `GiveUp`.
    Doubt {
        /// The entry of the history that the doubt follows. It names the question, also for the next engine.
        after: u64,
        /// What the person reads.
        text: String,
    },
    /// Stop the calls that run. Each of them still needs its result.
    StopCalls,
    /// The turn is over.
    Finish(Box<Report>),
}

/// What an earlier engine left of a turn, besides the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftTurn {
    /// How many attempts the turn has had.
    pub attempts: u64,
    /// What they cost.
    pub usage: Usage,
    /// What the model said last in this turn.
    pub text: Option<String>,
    /// The last attempt ended with an answer that counts: nothing was asked since.
    pub is_answered: bool,
    /// Why the last attempt ended with an answer that the provider called incomplete, if it did.
    pub incomplete: Option<IncompleteReason>,
    /// The model that answered last, if the chosen one had failed.
    pub model: Option<LeftModel>,
}
