//! Requests that Codex sends. Each waits until it is answered, for ever if need be.

use serde::Deserialize;
use serde::de::MapAccess;
use serde_json::Value;

use super::notification::Scope;
use crate::ids::{ItemId, ThreadId, TurnId};

macro_rules! server_requests {
    ($($method:literal => $variant:ident($params:ty),)*) => {
        /// A request of Codex.
        #[derive(Clone, Debug)]
        pub enum ServerRequest {
            $(#[doc = concat!("`", $method, "`")] $variant($params),)*
        }

        impl ServerRequest {
            /// The methods in the table.
            pub const METHODS: &'static [&'static str] = &[$($method),*];

            /// Reads the parameters of `method`; `None` if the method is not in the table.
            pub(crate) fn read<'de, A: MapAccess<'de>>(
                method: &str,
                map: &mut A,
            ) -> Option<Result<Self, A::Error>> {
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
        }
    };
}

server_requests! {
    "item/commandExecution/requestApproval" => Command(Box<CommandApproval>),
    "item/fileChange/requestApproval" => Patch(Box<PatchApproval>),
    "item/permissions/requestApproval" => Permissions(Box<PermissionsApproval>),
    "item/tool/requestUserInput" => UserInput(Box<UserInputRequest>),
    "mcpServer/elicitation/request" => Elicitation(Box<Elicitation>),
}

impl ServerRequest {
    /// The conversation and turn it belongs to.
    pub fn scope(&self) -> Scope<'_> {
        match self {
            Self::Command(p) => scope(&p.thread_id, Some(&p.turn_id)),
            Self::Patch(p) => scope(&p.thread_id, Some(&p.turn_id)),
            Self::Permissions(p) => scope(&p.thread_id, Some(&p.turn_id)),
            Self::UserInput(p) => scope(&p.thread_id, Some(&p.turn_id)),
            Self::Elicitation(p) => scope(&p.thread_id, p.turn_id.as_ref()),
        }
    }
}

fn scope<'a>(thread: &'a ThreadId, turn: Option<&'a TurnId>) -> Scope<'a> {
    Scope { thread: Some(thread.as_str()), turn: turn.map(TurnId::as_str) }
}

/// May a command run?
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandApproval {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// The item.
    pub item_id: ItemId,
    /// The command line.
    #[serde(default)]
    pub command: Option<String>,
    /// Where.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// What is asked for: `command` (0.130 does not say), or something newer, such as input for a running one.
    #[serde(default)]
    pub kind: Option<String>,
    /// A wider sandbox that accepting would grant.
    #[serde(default)]
    pub additional_permissions: Option<Value>,
    /// A network address that accepting would open.
    #[serde(default)]
    pub network_approval_context: Option<Value>,
}

/// May files be changed? The changes are in the item.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchApproval {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// The item.
    pub item_id: ItemId,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// A directory that becomes writable.
    #[serde(default)]
    pub grant_root: Option<String>,
}

/// May the sandbox be wider?
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionsApproval {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Questions of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInputRequest {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: TurnId,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A question of the model.
#[derive(Clone, Debug, Deserialize)]
pub struct Question {
    /// What is asked.
    #[serde(default)]
    pub question: String,
}

/// An MCP server asks, or Codex asks whether its tool may run.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Elicitation {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The turn.
    #[serde(default)]
    pub turn_id: Option<TurnId>,
    /// The server.
    pub server_name: String,
    /// What is asked.
    #[serde(default)]
    pub message: String,
    /// `codex_approval_kind` says whether this is Codex's own question about a tool.
    #[serde(default, rename = "_meta")]
    pub meta: Option<Value>,
}

impl Elicitation {
    /// Is this Codex asking whether a tool may run?
    pub fn is_tool_approval(&self) -> bool {
        self.tool_fact("codex_approval_kind").and_then(Value::as_str) == Some("mcp_tool_call")
    }

    /// What Codex tells about the tool under this name.
    pub fn tool_fact(&self, name: &str) -> Option<&Value> {
        self.meta.as_ref()?.get(name).filter(|fact| !fact.is_null())
    }
}
