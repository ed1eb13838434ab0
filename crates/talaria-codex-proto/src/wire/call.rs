//! Requests that Talaria sends, with the part of the answer it reads.
//!
//! A field that is `None` is not written: then the user's own Codex configuration decides. Each shape is validated in
//! the tests against the JSON schema that the installed Codex generates. What only newer versions have is left out for
//! older ones by the sender (`Version` says which have it); nothing here knows a version.

mod command;
mod installed;
mod login;
mod offered;
mod side;
mod terminals;
mod thread;

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use talaria_core::input::InputPart;

pub use command::{CommandExec, CommandExecReply, CommandTerminate, SandboxPolicy, Streaming};
pub use installed::{
    Marketplace, MarketplaceError, PluginList, PluginListReply, UserConfig, UserConfigRead,
    UserConfigReadReply, WirePlugin,
};
pub use login::{LoginCancel, LoginStart, LoginStartReply};
pub use offered::{ModelList, ModelListReply, RateLimitsRead, RateLimitsReadReply, WireEffort, WireModel};
pub use side::{ThreadFork, ThreadRollback, ThreadSample, ThreadSampleCancel, ThreadSampleReply};
pub use terminals::{
    TerminalsClean, TerminalsList, TerminalsListReply, TerminalsTerminate, TerminalsTerminateReply,
    WireTerminal,
};
pub use thread::{
    ApprovalsReviewer, DynamicTool, DynamicToolKind, InjectedMessage, Thread, ThreadArchive, ThreadCompact,
    ThreadInjectItems, ThreadLoadedList, ThreadRead, ThreadResume, ThreadStart, ThreadStartReply,
    ThreadUnarchive, ThreadUnsubscribe,
};

use super::history::ThreadReadReply;
use talaria_core::ids::{ThreadId, TurnId};

/// A request of ours and the answer it gets.
pub trait Call: Serialize {
    /// The JSON-RPC method.
    const METHOD: &'static str;
    /// The response type.
    type Reply: DeserializeOwned;
}

macro_rules! call {
    ($params:ty, $method:literal, $reply:ty) => {
        impl Call for $params {
            const METHOD: &'static str = $method;
            type Reply = $reply;
        }
    };
}

call!(Initialize, "initialize", InitializeReply);
call!(ThreadStart, "thread/start", ThreadStartReply);
call!(ThreadResume, "thread/resume", ThreadStartReply);
call!(ThreadRead, "thread/read", ThreadReadReply);
call!(ThreadInjectItems, "thread/inject_items", IgnoredAny);
call!(ThreadUnsubscribe, "thread/unsubscribe", IgnoredAny);
call!(ThreadArchive, "thread/archive", IgnoredAny);
call!(ThreadUnarchive, "thread/unarchive", IgnoredAny);
call!(ThreadFork, "thread/fork", ThreadStartReply);
call!(ThreadRollback, "thread/rollback", IgnoredAny);
call!(ThreadSample, "thread/sample", ThreadSampleReply);
call!(ThreadSampleCancel, "thread/sample/cancel", IgnoredAny);
call!(ThreadCompact, "thread/compact/start", IgnoredAny);
call!(ThreadLoadedList, "thread/loaded/list", IgnoredAny);
call!(TerminalsClean, "thread/backgroundTerminals/clean", IgnoredAny);
call!(TerminalsList, "thread/backgroundTerminals/list", TerminalsListReply);
call!(TerminalsTerminate, "thread/backgroundTerminals/terminate", TerminalsTerminateReply);
call!(TurnStart, "turn/start", TurnStartReply);
call!(TurnSteer, "turn/steer", TurnSteerReply);
call!(TurnInterrupt, "turn/interrupt", IgnoredAny);
call!(AccountRead, "account/read", AccountReadReply);
call!(LoginStart, "account/login/start", LoginStartReply);
call!(LoginCancel, "account/login/cancel", IgnoredAny);
call!(ModelList, "model/list", ModelListReply);
call!(RateLimitsRead, "account/rateLimits/read", RateLimitsReadReply);
call!(ConfigRead, "config/read", ConfigReadReply);
call!(CommandExec, "command/exec", CommandExecReply);
call!(CommandTerminate, "command/exec/terminate", IgnoredAny);
call!(UserConfigRead, "config/read", UserConfigReadReply);
call!(PluginList, "plugin/list", PluginListReply);

/// The methods that Talaria needs of every Codex; `doctor` compares them with what the installed one has.
pub const METHODS: &[&str] = &[
    Initialize::METHOD,
    ThreadStart::METHOD,
    ThreadResume::METHOD,
    ThreadRead::METHOD,
    ThreadInjectItems::METHOD,
    ThreadUnsubscribe::METHOD,
    ThreadArchive::METHOD,
    ThreadUnarchive::METHOD,
    ThreadFork::METHOD,
    ThreadCompact::METHOD,
    ThreadLoadedList::METHOD,
    TerminalsClean::METHOD,
    TurnStart::METHOD,
    TurnSteer::METHOD,
    TurnInterrupt::METHOD,
    AccountRead::METHOD,
    LoginStart::METHOD,
    LoginCancel::METHOD,
    RateLimitsRead::METHOD,
    ModelList::METHOD,
    ConfigRead::METHOD,
    CommandExec::METHOD,
    CommandTerminate::METHOD,
];

/// Opens a connection.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    pub client_info: ClientInfo,
    pub capabilities: Capabilities,
}

/// Who a client is.
#[derive(Clone, Debug, Serialize)]
pub struct ClientInfo {
    pub name: String,
    /// A name for people.
    pub title: String,
    pub version: String,
}

/// Capabilities that a client requests for a connection.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Experimental methods and fields.
    pub experimental_api: bool,
}

/// Codex's self-description.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeReply {
    /// Name and version of the server.
    pub user_agent: String,
    /// The directory with its configuration and conversations.
    #[serde(default)]
    pub codex_home: Option<String>,
}

/// Sends input and starts a turn.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStart {
    pub thread_id: ThreadId,
    pub input: Vec<UserInput>,
    /// The model, from this turn on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The effort, from this turn on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Our own name for what is said, which Codex keeps with it; only newer versions do (`Version::echoes_message_ids`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_user_message_id: Option<String>,
    /// Text that is not the user's, by its source; only newer versions take it (`Version::takes_context`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub additional_context: BTreeMap<&'static str, ContextEntry>,
}

/// Text for a turn that is not the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextEntry {
    kind: &'static str,
    name: &'static str,
    value: String,
}

impl ContextEntry {
    /// Text that the model must not obey.
    pub fn untrusted(name: &'static str, value: String) -> Self {
        Self { kind: "untrusted", name, value }
    }
}

/// A part of what a person says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserInput {
    /// Text.
    Text { text: String },
    /// An image file on the machine where Codex runs.
    LocalImage {
        /// Its absolute path.
        path: String,
    },
}

impl UserInput {
    /// Converts the input of a turn.
    pub fn of(input: Vec<InputPart>) -> Vec<Self> {
        let convert = |part| match part {
            InputPart::Text { text } => Self::Text { text },
            InputPart::LocalImage { path } => Self::LocalImage { path },
        };
        input.into_iter().map(convert).collect()
    }
}

/// The turn that began.
#[derive(Clone, Debug, Deserialize)]
pub struct TurnStartReply {
    pub turn: StartedTurn,
}

/// A turn, by its id.
#[derive(Clone, Debug, Deserialize)]
pub struct StartedTurn {
    pub id: TurnId,
}

/// Adds input to the running turn.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteer {
    pub thread_id: ThreadId,
    /// The turn that must still be running; otherwise Codex refuses.
    pub expected_turn_id: TurnId,
    pub input: Vec<UserInput>,
}

/// The turn that took the input.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerReply {
    pub turn_id: TurnId,
}

/// Stops a turn.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnInterrupt {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
}

/// Asks who is logged in.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountRead {
    /// Whether to renew the token first; that talks to the network.
    pub refresh_token: bool,
}

/// Who is logged in.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountReadReply {
    /// The account, if there is one.
    #[serde(default)]
    pub account: Option<Account>,
    /// Does the configured provider need an OpenAI login?
    pub requires_openai_auth: bool,
}

/// An account.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// `chatgpt`, `apiKey`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The address of a ChatGPT account.
    #[serde(default)]
    pub email: Option<String>,
    /// The plan of a ChatGPT account.
    #[serde(default)]
    pub plan_type: Option<String>,
}

/// Reads Codex's effective configuration in a directory.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigRead {
    pub cwd: String,
    /// Whether to list its source files.
    pub include_layers: bool,
}

/// Codex's configuration.
#[derive(Clone, Debug, Deserialize)]
pub struct ConfigReadReply {
    pub config: EffectiveConfig,
    /// Its source files, unchanged, if requested. Some keys are in no other field.
    #[serde(default)]
    pub layers: Option<Vec<Value>>,
}

/// The part of Codex's configuration that Talaria looks at.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct EffectiveConfig {
    /// The model, if the user said so.
    #[serde(default)]
    pub model: Option<String>,
    /// How much it thinks, if the user said so.
    #[serde(default)]
    pub model_reasoning_effort: Option<String>,
    /// The provider's id, if the user said so.
    #[serde(default)]
    pub model_provider: Option<String>,
    /// Another address for OpenAI's own provider, if the user said so.
    #[serde(default)]
    pub openai_base_url: Option<String>,
    /// When to ask, if the user said so.
    #[serde(default)]
    pub approval_policy: Option<Value>,
    /// The sandbox, if the user said so.
    #[serde(default)]
    pub sandbox_mode: Option<String>,
    /// The user's additional instructions for the model.
    #[serde(default)]
    pub developer_instructions: Option<String>,
    /// The permission profile, if the user chose one; it is used where no sandbox is asked for.
    #[serde(default)]
    pub default_permissions: Option<String>,
    /// The permission profiles of the user's own.
    #[serde(default)]
    pub permissions: Option<Map<String, Value>>,
    /// The profile that the user chose; its sandbox settings are not in the fields above.
    #[serde(default)]
    pub profile: Option<String>,
    /// Settings of the writable sandbox, if the user set them.
    #[serde(default)]
    pub sandbox_workspace_write: Option<WorkspaceConfig>,
    /// The user's settings for directories.
    #[serde(default)]
    pub projects: Option<Map<String, Value>>,
    /// The MCP servers of the user's own.
    #[serde(default)]
    pub mcp_servers: Option<UsersServers>,
}

/// Settings of the writable sandbox.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorkspaceConfig {
    /// Directories that can be written besides the working directory.
    pub writable_roots: Vec<String>,
    /// Whether commands may use the network.
    pub network_access: bool,
    /// Whether `$TMPDIR` is read-only.
    pub exclude_tmpdir_env_var: bool,
    /// Whether `/tmp` is read-only.
    pub exclude_slash_tmp: bool,
}

/// MCP servers by their names. There are secrets among their values, so only the names are shown.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct UsersServers(Map<String, Value>);

impl UsersServers {
    /// The entry of a server.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

impl std::fmt::Debug for UsersServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
