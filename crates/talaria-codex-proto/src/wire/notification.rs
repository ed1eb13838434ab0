//! Notifications that Codex sends and Talaria reads.
//!
//! The table at the end assigns each its method. A method that is not in the table, or whose parameters do not fit, is
//! `unknown` for `frame`, never an error.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{self, MapAccess};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::item::{WireChange, WireItem};
use super::raw_call::{RawItemParams, RawResponseParams};
use talaria_core::ids::{ItemId, RequestId, ThreadId, TurnId};

macro_rules! notifications {
    ($($method:literal => $variant:ident($params:ty),)*) => {
        /// A notification. Pieces of text, of which there are thousands, are borrowed from the message.
        #[derive(Clone, Debug)]
        pub enum Notification<'a> {
            $(#[doc = concat!("`", $method, "`")] $variant($params),)*
        }

        impl<'a> Notification<'a> {
            /// The methods in the table.
            pub const METHODS: &'static [&'static str] = &[$($method),*];

            /// Reads the parameters of `method` straight from the message; `None` if the method is not in the table.
            pub(crate) fn read<A: MapAccess<'a>>(method: &str, map: &mut A) -> Option<Result<Self, A::Error>> {
                match method {
                    $($method => Some(map.next_value::<$params>().map(Self::$variant)),)*
                    _ => None,
                }
            }

            /// The method.
            pub fn method(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $method,)*
                }
            }

            /// The conversation and turn it belongs to, as far as it says.
            pub fn scope(&self) -> Scope<'_> {
                match self {
                    $(Self::$variant(params) => params.scope(),)*
                }
            }

            /// Makes it outlive the message.
            pub fn into_owned(self) -> Notification<'static> {
                match self {
                    $(Self::$variant(params) => Notification::$variant(params.into_owned()),)*
                }
            }
        }
    };
}

notifications! {
    "item/agentMessage/delta" => AgentMessageDelta(Delta<'a>),
    "item/commandExecution/outputDelta" => CommandOutputDelta(Delta<'a>),
    "command/exec/outputDelta" => CommandPrinted(Box<CommandPrintedParams>),
    "item/reasoning/summaryTextDelta" => ReasoningSummaryDelta(Delta<'a>),
    "item/reasoning/textDelta" => ReasoningTextDelta(Delta<'a>),
    "item/started" => ItemStarted(Box<ItemParams>),
    "item/completed" => ItemCompleted(Box<ItemParams>),
    "turn/started" => TurnStarted(Box<TurnParams>),
    "turn/completed" => TurnCompleted(Box<TurnParams>),
    "turn/plan/updated" => PlanUpdated(Box<PlanParams>),
    "turn/diff/updated" => DiffUpdated(DiffParams),
    "thread/tokenUsage/updated" => TokenUsageUpdated(Box<TokenUsageParams>),
    "thread/status/changed" => ThreadStatusChanged(ThreadOnly),
    "thread/compacted" => ThreadCompacted(CompactedParams),
    "thread/settings/updated" => SettingsUpdated(Box<SettingsParams>),
    "thread/started" => ThreadStarted(Box<ThreadStartedParams>),
    "thread/closed" => ThreadClosed(ThreadOnly),
    "thread/readState/changed" => ReadStateChanged(ThreadOnly),
    "serverRequest/resolved" => RequestResolved(ResolvedParams),
    "error" => Error(Box<ErrorParams>),
    "warning" => Warning(WarningParams),
    "configWarning" => ConfigWarning(Summary),
    "deprecationNotice" => DeprecationNotice(Summary),
    "account/rateLimits/updated" => RateLimitsUpdated(Box<RateLimitsParams>),
    "remoteControl/status/changed" => RemoteControlChanged(Unscoped),
    "mcpServer/startupStatus/updated" => McpServerStatus(Box<McpStatusParams>),
    "item/reasoning/summaryPartAdded" => ReasoningPartAdded(ItemOnly),
    "rawResponseItem/completed" => RawItemCompleted(Box<RawItemParams>),
    "rawResponse/completed" => RawResponseCompleted(RawResponseParams),
    "item/plan/delta" => PlanDelta(Delta<'a>),
    "item/fileChange/outputDelta" => PatchOutputDelta(Delta<'a>),
    "item/fileChange/patchUpdated" => PatchUpdated(Box<PatchUpdatedParams>),
    "item/mcpToolCall/progress" => ToolProgress(Box<ToolProgressParams>),
    "item/commandExecution/terminalInteraction" => TerminalInteraction(ItemOnly),
    "item/autoApprovalReview/started" => ReviewStarted(TurnOnly),
    "item/autoApprovalReview/completed" => ReviewCompleted(Box<ReviewParams>),
    "model/rerouted" => ModelRerouted(Box<ReroutedParams>),
    "guardianWarning" => GuardianWarning(WarningParams),
    "modelProvider/authRecoveryStarted" => AuthRecoveryStarted(RecoveryParams),
    "modelProvider/authRecoveryCompleted" => AuthRecoveryCompleted(RecoveryParams),
    "hook/started" => HookStarted(ThreadOnly),
    "hook/completed" => HookCompleted(Box<HookParams>),
    "thread/environment/connected" => EnvironmentConnected(ThreadOnly),
    "thread/environment/disconnected" => EnvironmentDisconnected(ThreadOnly),
    "thread/name/updated" => NameUpdated(ThreadOnly),
    "thread/archived" => ThreadArchived(ThreadOnly),
    "thread/unarchived" => ThreadUnarchived(ThreadOnly),
    "thread/goal/updated" => GoalUpdated(ThreadOnly),
    "thread/goal/cleared" => GoalCleared(ThreadOnly),
    "thread/queue/changed" => QueueChanged(ThreadOnly),
    "skills/changed" => SkillsChanged(Unscoped),
    "account/updated" => AccountUpdated(Unscoped),
    "account/login/completed" => LoginCompleted(LoginCompletedParams),
}

/// The conversation and turn that a message belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope<'a> {
    pub thread: Option<&'a str>,
    pub turn: Option<&'a str>,
}

/// What every kind of parameters can say and do.
trait Params {
    type Owned;

    fn scope(&self) -> Scope<'_>;

    fn into_owned(self) -> Self::Owned;
}

impl<P: Params<Owned = P>> Params for Box<P> {
    type Owned = Self;

    fn scope(&self) -> Scope<'_> {
        P::scope(self)
    }

    fn into_owned(self) -> Self {
        self
    }
}

impl Params for Delta<'_> {
    type Owned = Delta<'static>;

    fn scope(&self) -> Scope<'_> {
        Scope { thread: Some(&self.thread_id), turn: Some(&self.turn_id) }
    }

    fn into_owned(self) -> Delta<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Delta {
            thread_id: own(self.thread_id),
            turn_id: own(self.turn_id),
            item_id: own(self.item_id),
            delta: own(self.delta),
        }
    }
}

macro_rules! scoped {
    ($($params:ident: $thread:expr, $turn:expr;)*) => {$(
        impl Params for $params {
            type Owned = Self;

            fn scope(&self) -> Scope<'_> {
                let thread: fn(&Self) -> Option<&ThreadId> = $thread;
                let turn: fn(&Self) -> Option<&TurnId> = $turn;
                Scope { thread: thread(self).map(ThreadId::as_str), turn: turn(self).map(TurnId::as_str) }
            }

            fn into_owned(self) -> Self {
                self
            }
        }
    )*};
}

scoped! {
    ItemParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    ItemOnly: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    TurnParams: |p| Some(&p.thread_id), |p| Some(&p.turn.id);
    PlanParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    DiffParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    TokenUsageParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    ThreadOnly: |p| Some(&p.thread_id), |_| None;
    TurnOnly: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    CompactedParams: |p| Some(&p.thread_id), |p| p.turn_id.as_ref();
    SettingsParams: |p| Some(&p.thread_id), |_| None;
    PatchUpdatedParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    ToolProgressParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    ReviewParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    ReroutedParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    RecoveryParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    HookParams: |p| Some(&p.thread_id), |p| p.turn_id.as_ref();
    CommandPrintedParams: |_| None, |_| None;
    RateLimitsParams: |_| None, |_| None;
    ThreadStartedParams: |p| Some(&p.thread.id), |_| None;
    ResolvedParams: |p| Some(&p.thread_id), |_| None;
    ErrorParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    WarningParams: |p| p.thread_id.as_ref(), |_| None;
    Summary: |_| None, |_| None;
    Unscoped: |_| None, |_| None;
    LoginCompletedParams: |_| None, |_| None;
    McpStatusParams: |p| p.thread_id.as_ref(), |_| None;
    RawItemParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
    RawResponseParams: |p| Some(&p.thread_id), |p| Some(&p.turn_id);
}

/// A piece of text of an item.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta<'a> {
    #[serde(borrow)]
    pub thread_id: Cow<'a, str>,
    #[serde(borrow)]
    pub turn_id: Cow<'a, str>,
    #[serde(borrow)]
    pub item_id: Cow<'a, str>,
    #[serde(borrow)]
    pub delta: Cow<'a, str>,
}

/// An item that began or ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item: WireItem,
}

impl ItemParams {
    /// Reads parameters whose item was not understood in one pass: a rare kind, or one that is kept whole.
    pub(crate) fn keep_whole(params: &RawValue) -> Option<Box<Self>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Raw<'a> {
            thread_id: ThreadId,
            turn_id: TurnId,
            #[serde(borrow)]
            item: &'a RawValue,
        }
        let Raw { thread_id, turn_id, item } = serde_json::from_str(params.get()).ok()?;
        Some(Box::new(Self { thread_id, turn_id, item: WireItem::second_look(item)? }))
    }
}

/// Something about an item.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemOnly {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
}

/// A turn that began or ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnParams {
    pub thread_id: ThreadId,
    pub turn: WireTurn,
}

/// A turn.
#[derive(Clone, Debug, Deserialize)]
pub struct WireTurn {
    pub id: TurnId,
    pub status: TurnStatus,
    #[serde(default)]
    pub error: Option<TurnError>,
}

/// The state of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// It ended by itself.
    Completed,
    /// It was stopped.
    Interrupted,
    /// It broke.
    Failed,
    /// It runs.
    InProgress,
    /// A word this build does not know.
    #[serde(other)]
    Unknown,
}

/// Why something failed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    /// For people.
    #[serde(default)]
    pub message: String,
    /// For programs: a word, or an object with one key.
    #[serde(default)]
    pub codex_error_info: Option<Value>,
    #[serde(default)]
    pub additional_details: Option<String>,
}

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.additional_details {
            Some(details) if !details.is_empty() && !self.message.contains(details.as_str()) => {
                write!(f, " ({details})")
            }
            _ => Ok(()),
        }
    }
}

/// The plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// Why it changed.
    #[serde(default)]
    pub explanation: Option<String>,
    pub plan: Vec<WirePlanStep>,
}

/// A step of the plan.
#[derive(Clone, Debug, Deserialize)]
pub struct WirePlanStep {
    /// Text of the step.
    pub step: String,
    /// `pending`, `inProgress` or `completed`.
    pub status: String,
}

/// All changes of a turn.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// A unified diff.
    pub diff: String,
}

/// Tokens.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub token_usage: TokenUsage,
}

/// Tokens of a conversation.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Since its beginning.
    pub total: Tokens,
    /// Of the last model request.
    pub last: Tokens,
    /// The size of the context window.
    #[serde(default)]
    pub model_context_window: Option<u64>,
}

/// A count of tokens.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    pub total_tokens: u64,
    /// Input, cached included.
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    /// Output, reasoning included.
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
}

/// Something about a conversation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadOnly {
    pub thread_id: ThreadId,
}

/// A conversation that began.
#[derive(Clone, Debug, Deserialize)]
pub struct ThreadStartedParams {
    pub thread: super::call::Thread,
}

/// A request of Codex that is closed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedParams {
    pub thread_id: ThreadId,
    pub request_id: RequestId,
}

/// Something went wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub error: TurnError,
    /// Does Codex try again by itself?
    pub will_retry: bool,
}

/// Something a person should know.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarningParams {
    /// The conversation, if it is about one.
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
    pub message: String,
}

/// A notice with a summary.
#[derive(Clone, Debug, Deserialize)]
pub struct Summary {
    pub summary: String,
}

/// Parameters that Talaria does not read.
#[derive(Clone, Debug, Deserialize)]
pub struct Unscoped {}

/// The end of a login.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginCompletedParams {
    pub success: bool,
    #[serde(default)]
    pub error: Option<String>,
    /// Which login; none for one with a key.
    #[serde(default)]
    pub login_id: Option<String>,
}

/// The state of an MCP server.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpStatusParams {
    /// The conversation it serves.
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
    pub name: String,
    /// `starting`, `ready`, `failed`, …
    pub status: String,
    #[serde(default)]
    pub error: Option<String>,
}

/// Something about a turn.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnOnly {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
}

/// A conversation that was shortened.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactedParams {
    pub thread_id: ThreadId,
    #[serde(default)]
    pub turn_id: Option<TurnId>,
}

/// The settings of a conversation have changed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsParams {
    pub thread_id: ThreadId,
    /// The settings in force.
    pub thread_settings: ThreadSettings,
}

/// The settings in force on a conversation, as far as they are read.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSettings {
    /// The sandbox, an object with a `type`.
    pub sandbox_policy: Value,
    /// When it asks: a word, or an object with one key.
    pub approval_policy: Value,
    pub model: String,
    /// The effort, if one is set.
    #[serde(default)]
    pub effort: Option<String>,
    #[serde(default)]
    pub cwd: String,
}

/// A patch whose changes are other ones than announced.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchUpdatedParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    /// All changes, as they are now.
    pub changes: Vec<WireChange>,
}

/// How far the call of an MCP server's tool is.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolProgressParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    /// In the server's words.
    pub message: String,
}

/// A request that Codex's own reviewer decided instead of a person.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// Its result.
    pub review: Review,
}

/// Decision of a reviewer.
#[derive(Clone, Debug, Deserialize)]
pub struct Review {
    /// `approved`, `denied`, `timedOut`, `aborted`.
    pub status: String,
    #[serde(default)]
    pub rationale: Option<String>,
}

/// Another model answers than the one that was asked.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReroutedParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// The model that was asked.
    pub from_model: String,
    /// The model that answers.
    pub to_model: String,
    /// Why, as a word.
    #[serde(default)]
    pub reason: Option<Value>,
}

/// Codex renews a login, or has done so.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// For people.
    pub message: String,
}

/// A hook of the user that ran.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookParams {
    pub thread_id: ThreadId,
    #[serde(default)]
    pub turn_id: Option<TurnId>,
    pub run: HookRun,
}

/// Result of a hook.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookRun {
    /// Its event.
    #[serde(default)]
    pub event_name: String,
    /// `completed`, `failed`, `blocked`, `stopped`.
    pub status: String,
    /// For people.
    #[serde(default)]
    pub status_message: Option<String>,
}

/// A command that runs in no conversation printed something.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandPrintedParams {
    /// Our name for it.
    pub process_id: String,
    pub stream: PrintedStream,
    #[serde(rename = "deltaBase64", deserialize_with = "from_base64")]
    pub bytes: Vec<u8>,
    /// Nothing of this stream follows: it printed as much as was agreed.
    pub cap_reached: bool,
}

/// Where a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrintedStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    BASE64.decode(text.as_bytes()).map_err(de::Error::custom)
}

/// How much of the account's allowance is used.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitsParams {
    pub rate_limits: WireRateLimits,
}

/// How much of an allowance is used.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireRateLimits {
    /// The short window.
    #[serde(default)]
    pub primary: Option<RateLimitWindow>,
    /// The long window.
    #[serde(default)]
    pub secondary: Option<RateLimitWindow>,
    /// The account's plan.
    #[serde(default)]
    pub plan_type: Option<String>,
    /// Which limit is reached, if one is.
    #[serde(default)]
    pub rate_limit_reached_type: Option<String>,
}

impl WireRateLimits {
    /// Does it say nothing at all? Codex sends that at every turn where there is no account.
    pub fn is_empty(&self) -> bool {
        self.primary.is_none() && self.secondary.is_none() && self.rate_limit_reached_type.is_none()
    }
}

/// How much of one window is used.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitWindow {
    /// In percent.
    pub used_percent: f64,
    /// How long the window is.
    #[serde(default)]
    pub window_duration_mins: Option<u64>,
    /// When it resets, in seconds since 1970.
    #[serde(default)]
    pub resets_at: Option<i64>,
}
