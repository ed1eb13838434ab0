//! Calls about a whole conversation: starting it, taking it up again, reading it, putting things into it, leaving it.

use serde::de;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use talaria_core::ids::ThreadId;
use talaria_core::policy::HideHome;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::tool::ToolSpec;

/// Starts a conversation. This is also the record of what was asked of it, from which it is resumed again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStart {
    pub cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's id; 0.166 takes only the one that its configuration names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// When to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// Whom to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    /// Instructions that replace Codex's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    /// Instructions in addition to Codex's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// Overrides of Codex's configuration for this thread alone; keys may be dotted.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
    /// Tools that Codex calls back for. It keeps them with the thread; they cannot be changed later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dynamic_tools: Vec<DynamicTool>,
    /// Whether what the model says is also reported as it is. There is no such wish on `thread/resume`.
    #[serde(skip_serializing_if = "is_false")]
    pub experimental_raw_events: bool,
    /// Whether Talaria's own files are hidden from its sandbox. Never sent: a permission profile in `config` does it.
    #[serde(skip)]
    pub hide_home: HideHome,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(wish: &bool) -> bool {
    !wish
}

/// The override that sets the effort of a thread; a turn has a separate field.
const EFFORT: &str = "model_reasoning_effort";

impl ThreadStart {
    /// Sets the effort for the whole thread.
    pub fn set_effort(&mut self, effort: impl Into<String>) {
        self.config.insert(EFFORT.to_owned(), Value::String(effort.into()));
    }

    /// The effort that was set for the whole thread.
    pub fn effort(&self) -> Option<&str> {
        self.config.get(EFFORT)?.as_str()
    }

    /// An override by its dotted name, whether it was written dotted or nested.
    pub fn config_override(&self, name: &str) -> Option<&Value> {
        look_up(&self.config, name)
    }
}

fn look_up<'a>(table: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    table.get(name).or_else(|| {
        let (head, rest) = name.split_once('.')?;
        look_up(table.get(head)?.as_object()?, rest)
    })
}

/// Who is asked when Codex asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalsReviewer {
    /// The client, and through it a person.
    User,
    /// A model.
    AutoReview,
}

/// A tool of ours, as Codex offers it to the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicTool {
    /// Its type; versions without this field support only functions.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<DynamicToolKind>,
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// A JSON schema of its arguments.
    pub input_schema: Value,
}

impl DynamicTool {
    /// The form that every version accepts; newer ones want the kind besides.
    pub fn of(spec: &ToolSpec) -> Self {
        Self {
            kind: None,
            name: spec.name.to_owned(),
            description: spec.description.to_owned(),
            input_schema: spec.schema.clone(),
        }
    }
}

/// Type of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DynamicToolKind {
    /// One that is called with arguments.
    Function,
}

/// Resumes a conversation, from memory or from its file.
///
/// Everything that was asked at its start is sent again: 0.130 forgets policy and sandbox, both forget the overrides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResume {
    pub thread_id: ThreadId,
    /// Leaves the earlier turns out of the answer: a long conversation would not fit into one message.
    pub exclude_turns: bool,
    #[serde(flatten)]
    pub settings: ThreadStart,
}

impl ThreadResume {
    /// Repeats the options of the start. Codex keeps the tools; raw events cannot be requested.
    pub fn new(thread_id: ThreadId, asked: &ThreadStart) -> Self {
        let settings =
            ThreadStart { dynamic_tools: Vec::new(), experimental_raw_events: false, ..asked.clone() };
        Self { thread_id, exclude_turns: true, settings }
    }
}

/// A conversation that was started or resumed, and what is in force on it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadStartReply {
    pub thread: Thread,
    pub cwd: String,
    pub model: String,
    pub model_provider: String,
    pub reasoning_effort: Option<String>,
    /// The sandbox, an object with a `type`; null if it was not reported.
    pub sandbox: Value,
    /// When it asks: a word, or an object with one key; null if it was not reported.
    pub approval_policy: Value,
    /// Whom it asks.
    pub approvals_reviewer: Option<String>,
    /// The directories that count as the workspace; only newer versions report them.
    pub runtime_workspace_roots: Vec<String>,
    /// The name of the permission profile, if one is in force.
    pub active_permission_profile: Option<String>,
}

impl<'de> Deserialize<'de> for ThreadStartReply {
    /// The id is read from the field of any version; the caller handles other missing fields.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[derive(Default)]
        struct Fields {
            cwd: String,
            model: String,
            model_provider: String,
            reasoning_effort: Option<String>,
            sandbox: Value,
            approval_policy: Value,
            approvals_reviewer: Option<String>,
            runtime_workspace_roots: Vec<String>,
            active_permission_profile: Option<ActiveProfile>,
        }
        #[derive(Deserialize)]
        struct ActiveProfile {
            id: String,
        }
        let whole = Value::deserialize(deserializer)?;
        let text = |pointer: &str| whole.pointer(pointer)?.as_str().filter(|text| !text.is_empty());
        let places = ["/thread/id", "/thread/sessionId", "/sessionId", "/threadId"];
        let Some(id) = places.into_iter().find_map(text).map(ThreadId::new) else {
            let mut keys: Vec<&str> =
                whole.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
            keys.sort_unstable();
            return Err(de::Error::custom(format!("it has no thread id, only {}", keys.join(", "))));
        };
        let path = text("/thread/path").map(str::to_owned);
        let fields = Fields::deserialize(whole).map_err(de::Error::custom)?;
        Ok(Self {
            thread: Thread { id, path },
            cwd: fields.cwd,
            model: fields.model,
            model_provider: fields.model_provider,
            reasoning_effort: fields.reasoning_effort,
            sandbox: fields.sandbox,
            approval_policy: fields.approval_policy,
            approvals_reviewer: fields.approvals_reviewer,
            runtime_workspace_roots: fields.runtime_workspace_roots,
            active_permission_profile: fields.active_permission_profile.map(|profile| profile.id),
        })
    }
}

/// A conversation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    pub id: ThreadId,
    /// The file in which Codex keeps it; the file exists after the first turn.
    #[serde(default)]
    pub path: Option<String>,
}

/// Reads a conversation without taking it up.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRead {
    pub thread_id: ThreadId,
    /// Whether its turns are wanted; refused for one that had none yet.
    pub include_turns: bool,
}

/// Injects items into the model's context. They are no turns, and people do not see them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadInjectItems {
    pub thread_id: ThreadId,
    /// The items, in the model's own shape.
    pub items: Vec<InjectedMessage>,
}

/// A message in the model's own shape.
#[derive(Clone, Debug, Serialize)]
pub struct InjectedMessage {
    r#type: &'static str,
    role: &'static str,
    content: Vec<InjectedText>,
}

#[derive(Clone, Debug, Serialize)]
struct InjectedText {
    r#type: &'static str,
    text: String,
}

impl InjectedMessage {
    /// Something that the person's side says.
    pub fn from_user(text: impl Into<String>) -> Self {
        let content = vec![InjectedText { r#type: "input_text", text: text.into() }];
        Self { r#type: "message", role: "user", content }
    }
}

/// Unsubscribes from a conversation; Codex keeps it loaded for a while.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribe {
    pub thread_id: ThreadId,
}

/// Has a conversation shortened. The answer says nothing; `turn/started` names the turn that does it. What runs on the
/// thread is interrupted for it (0.130 and 0.166).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompact {
    pub thread_id: ThreadId,
}

/// Archives a conversation. 0.130 refuses it for one that had no turn yet.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchive {
    pub thread_id: ThreadId,
}

/// Takes a conversation out of the archive. Both versions refuse it for one that is not archived.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnarchive {
    pub thread_id: ThreadId,
}

/// Asks which conversations are loaded: the cheapest thing to ask a Codex.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ThreadLoadedList {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(value: Value) -> Result<ThreadStartReply, serde_json::Error> {
        serde_json::from_str(&value.to_string())
    }

    #[test]
    fn the_thread_id_is_the_first_that_is_not_empty_of_four_places() {
        let all = json!({
            "thread": { "id": "a", "sessionId": "b" }, "sessionId": "c", "threadId": "d", "model": "m",
        });
        let without = |pointers: &[&str]| {
            let mut value = all.clone();
            for pointer in pointers {
                *value.pointer_mut(pointer).unwrap() = json!("");
            }
            reply(value).unwrap().thread.id
        };
        assert_eq!(without(&[]).as_str(), "a");
        assert_eq!(without(&["/thread/id"]).as_str(), "b");
        assert_eq!(without(&["/thread/id", "/thread/sessionId"]).as_str(), "c");
        assert_eq!(without(&["/thread/id", "/thread/sessionId", "/sessionId"]).as_str(), "d");
        assert_eq!(reply(json!({ "threadId": "d" })).unwrap().thread.id.as_str(), "d");
    }

    #[test]
    fn an_answer_without_a_thread_id_says_which_keys_it_has() {
        let error = reply(json!({ "thread": { "id": null }, "model": "m", "cwd": "/w" })).unwrap_err();
        assert!(error.to_string().starts_with("it has no thread id, only cwd, model, thread"), "{error}");
        assert!(reply(json!([1])).is_err());
    }

    #[test]
    fn an_override_is_found_dotted_and_nested() {
        let read = |config: Value| {
            let Value::Object(config) = config else { panic!("an object") };
            let start = ThreadStart { config, ..ThreadStart::default() };
            start.config_override("sandbox_workspace_write.network_access").cloned()
        };
        assert_eq!(read(json!({ "sandbox_workspace_write.network_access": true })), Some(json!(true)));
        assert_eq!(read(json!({ "sandbox_workspace_write": { "network_access": true } })), Some(json!(true)));
        assert_eq!(read(json!({ "sandbox_workspace_write": true })), None);
    }

    #[test]
    fn a_resume_asks_for_everything_again_that_a_resume_can_carry() {
        let mut asked = ThreadStart {
            cwd: "/w".to_owned(),
            model: Some("m".to_owned()),
            model_provider: Some("p".to_owned()),
            sandbox: Some(Sandbox::ReadOnly),
            approval_policy: Some(ApprovalPolicy::Never),
            approvals_reviewer: Some(ApprovalsReviewer::User),
            base_instructions: Some("b".to_owned()),
            developer_instructions: Some("d".to_owned()),
            experimental_raw_events: true,
            dynamic_tools: vec![DynamicTool {
                kind: None,
                name: "t".to_owned(),
                description: String::new(),
                input_schema: json!({}),
            }],
            ..ThreadStart::default()
        };
        asked.set_effort("high");
        let mut expected = serde_json::to_value(&asked).unwrap();
        let fields = expected.as_object_mut().unwrap();
        fields.remove("experimentalRawEvents");
        fields.remove("dynamicTools");
        fields.insert("threadId".to_owned(), json!("x"));
        fields.insert("excludeTurns".to_owned(), json!(true));
        let resume = ThreadResume::new(ThreadId::new("x"), &asked);
        assert_eq!(serde_json::to_value(resume).unwrap(), expected);
        assert_eq!(asked.effort(), Some("high"));
    }
}
