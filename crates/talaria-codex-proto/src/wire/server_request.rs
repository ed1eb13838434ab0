//! Requests that Codex sends. Each waits until it is answered, without a time limit.
//!
//! Called by `frame` to read one, by `project` for its words, by `reply` for the answer. Nothing here decides. A field of
//! which only a part is needed, or whose shape Codex may change, stays a `Value`.

use serde::Deserialize;
use serde::de::MapAccess;
use serde_json::Value;

use super::notification::Scope;
use talaria_core::ids::{ItemId, ThreadId, TurnId};
use talaria_core::tool::{ToolCaller, ToolConfinement, ToolInvocation};

mod command;

pub use command::{CommandAction, CommandApproval, NetworkAmendment, NetworkContext};

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
    "item/tool/call" => ToolCall(Box<DynamicToolCallParams>),
    "account/chatgptAuthTokens/refresh" => TokenRefresh(HostRequest),
    "attestation/generate" => Attestation(HostRequest),
    "currentTime/read" => CurrentTime(HostRequest),
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
            Self::ToolCall(p) => scope(&p.thread_id, Some(&p.turn_id)),
            Self::TokenRefresh(p) | Self::Attestation(p) | Self::CurrentTime(p) => {
                Scope { thread: p.thread_id.as_ref().map(ThreadId::as_str), turn: None }
            }
        }
    }

    /// The step it belongs to, where it says so.
    pub fn item(&self) -> Option<&ItemId> {
        match self {
            Self::Command(p) => Some(&p.item_id),
            Self::Patch(p) => Some(&p.item_id),
            Self::Permissions(p) => Some(&p.item_id),
            Self::UserInput(p) => p.item_id.as_ref(),
            Self::ToolCall(p) => Some(&p.call_id),
            Self::Elicitation(_) | Self::TokenRefresh(_) | Self::Attestation(_) | Self::CurrentTime(_) => {
                None
            }
        }
    }
}

fn scope<'a>(thread: &'a ThreadId, turn: Option<&'a TurnId>) -> Scope<'a> {
    Scope { thread: Some(thread.as_str()), turn: turn.map(TurnId::as_str) }
}

/// May files be changed? The changes are in the item.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchApproval {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
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
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    /// What relative paths are relative to.
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
    /// The profile: `network` and `fileSystem`. Granted parts are returned unchanged.
    #[serde(default)]
    pub permissions: Value,
}

/// Questions of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInputRequest {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    #[serde(default)]
    pub item_id: Option<ItemId>,
    pub questions: Vec<UserInputQuestion>,
    /// Does the model wait for as long as it takes? 0.130 does not say.
    #[serde(default)]
    pub is_blocking: Option<bool>,
    /// The older way to say that it does not: answered with nothing after this time.
    #[serde(default)]
    pub auto_resolution_ms: Option<u64>,
}

/// A question of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInputQuestion {
    /// Names it in the answer.
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub header: String,
    #[serde(default)]
    pub question: String,
    /// May the answer be none of the options?
    #[serde(default)]
    pub is_other: bool,
    /// Must the answer stay unseen?
    #[serde(default)]
    pub is_secret: bool,
    /// The options; none means free text.
    #[serde(default)]
    pub options: Option<Vec<WireOption>>,
}

/// Something that may be chosen.
#[derive(Clone, Debug, Deserialize)]
pub struct WireOption {
    /// Its name, which is also the answer.
    pub label: String,
    #[serde(default)]
    pub description: String,
}

/// An MCP server asks, or Codex asks whether its tool may run.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Elicitation {
    pub thread_id: ThreadId,
    #[serde(default)]
    pub turn_id: Option<TurnId>,
    pub server_name: String,
    /// `form`, `url`, or something newer.
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub message: String,
    /// The form, as JSON schema.
    #[serde(default)]
    pub requested_schema: Value,
    /// Where the person should go.
    #[serde(default)]
    pub url: Option<String>,
    /// `codex_approval_kind` says whether this is Codex's own question about a tool.
    #[serde(default, rename = "_meta")]
    pub meta: Option<Value>,
}

impl Elicitation {
    /// Is this Codex asking whether a tool may run?
    pub fn is_tool_approval(&self) -> bool {
        self.approval_kind() == Some("mcp_tool_call")
    }

    /// Codex's own word for what it asks; `None` if the server asks.
    pub fn approval_kind(&self) -> Option<&str> {
        self.tool_fact("codex_approval_kind").and_then(Value::as_str)
    }

    /// Codex's description of the tool.
    pub fn tool_fact(&self, name: &str) -> Option<&Value> {
        self.meta.as_ref()?.get(name).filter(|fact| !fact.is_null())
    }

    /// Does Codex offer to remember an approval for this long: `session` or `always`? It says so with one word or several.
    pub fn can_persist(&self, duration: &str) -> bool {
        self.is_tool_approval()
            && match self.tool_fact("persist") {
                Some(Value::Array(words)) => words.iter().any(|word| word == duration),
                Some(word) => word == duration,
                None => false,
            }
    }
}

/// The model calls a client-provided tool. Not a question for people.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCallParams {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// The call, which is also the item.
    pub call_id: ItemId,
    /// The group that the tool belongs to.
    #[serde(default)]
    pub namespace: Option<String>,
    pub tool: String,
    /// Its arguments, as the model wrote them.
    #[serde(default)]
    pub arguments: Value,
}

impl DynamicToolCallParams {
    /// The call in our words. `own` is the thread of the session: a call of any other thread is one of a sub-agent.
    pub fn invocation(&self, own: &ThreadId, confinement: ToolConfinement) -> ToolInvocation {
        ToolInvocation {
            thread: self.thread_id.clone(),
            turn: self.turn_id.clone(),
            item: self.call_id.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            caller: if self.thread_id == *own { ToolCaller::Session } else { ToolCaller::SubAgent },
            confinement,
        }
    }
}

/// A request of Codex to its client program: fresh tokens, an attestation, the time.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRequest {
    /// The conversation, if it concerns one.
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_of_another_thread_is_one_of_a_sub_agent() {
        let call = json!({ "threadId": "own", "turnId": "u", "callId": "c", "namespace": null,
                           "tool": "talaria_x", "arguments": { "a": 1 } });
        let call: DynamicToolCallParams = serde_json::from_value(call).unwrap();
        let caller = |own: &str| call.invocation(&ThreadId::new(own), ToolConfinement::default()).caller;
        assert_eq!((caller("own"), caller("parent")), (ToolCaller::Session, ToolCaller::SubAgent));
        let named = call.invocation(&ThreadId::new("parent"), ToolConfinement::default());
        assert_eq!((named.thread.as_str(), named.turn.as_str(), named.item.as_str()), ("own", "u", "c"));
    }
}
