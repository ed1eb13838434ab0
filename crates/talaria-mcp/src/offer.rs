//! The tools of the user's servers as a conversation offers them: names, order, and what fits. Pure.
//!
//! The result is stored with the head of a conversation, so that its requests keep their beginning whatever the servers say
//! later. Same input, same bytes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use talaria_core::servers::Offered;

/// The most that all tools of servers may take in a request, in bytes of texts and schemas, and what one may take.
const ALL_BYTES: usize = 64 * 1024;
const ONE_TOOL_BYTES: usize = 16 * 1024;
/// The longest description of a tool, in characters; longer ones are cut.
const LONGEST_DESCRIPTION: usize = 2_000;
/// The longest name of a tool or a parameter that every family accepts.
const LONGEST_NAME: usize = 64;

/// Keywords that providers refuse at the top of a schema.
const REFUSED_KEYS: [&str; 6] = ["enum", "const", "not", "if", "then", "else"];

/// Whether a tool says of itself that it only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolAccess {
    /// It only reads.
    Reads,
    /// It may change something.
    Changes,
}

/// A tool of a server, as a conversation offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedServerTool {
    /// Its name for the model: `mcp__server__tool`.
    pub name: String,
    /// The server.
    pub server: String,
    /// Its name for the server.
    pub tool: String,
    /// The server's description.
    pub description: String,
    /// The server's schema, as far as providers accept it.
    pub schema: Value,
    /// Whether it only reads.
    pub access: ToolAccess,
}

/// What a server lists.
#[derive(Clone, Debug)]
pub struct ListedTools {
    /// The server.
    pub server: String,
    /// Which of its tools the configuration offers.
    pub offered: Offered,
    /// Everything that it lists.
    pub tools: Vec<rmcp::model::Tool>,
}

/// A tool that is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutTool {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Why.
    pub why: &'static str,
}

/// What a conversation offers of the user's servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOffer {
    /// The tools, by name.
    pub tools: Vec<OfferedServerTool>,
    /// The tools that did not fit.
    pub left_out: Vec<LeftOutTool>,
}

/// Chooses what a conversation offers.
pub fn offer_tools(listed: Vec<ListedTools>) -> ServerOffer {
    let mut candidates: Vec<OfferedServerTool> = Vec::new();
    let mut names = BTreeSet::new();
    for ListedTools { server, offered, tools } in listed {
        for tool in tools.iter().filter(|tool| is_offered(&offered, &tool.name)) {
            let mut name = tool_name(&server, &tool.name);
            if !names.insert(name.clone()) {
                name = hashed_name(&server, &tool.name);
                if !names.insert(name.clone()) {
                    // The same tool twice.
                    continue;
                }
            }
            candidates.push(OfferedServerTool {
                name,
                server: server.clone(),
                tool: tool.name.to_string(),
                description: description(tool),
                schema: schema(&tool.input_schema),
                access: access(tool),
            });
        }
    }
    candidates.sort_by(|a, b| a.name.cmp(&b.name));
    let mut offer = ServerOffer::default();
    let mut left = ALL_BYTES;
    for tool in candidates {
        let bytes = tool.name.len() + tool.description.len() + tool.schema.to_string().len();
        let why = match bytes {
            _ if !has_plain_names(&tool.schema) => {
                Some("the name of one of its parameters is not accepted by every provider")
            }
            _ if bytes > ONE_TOOL_BYTES => Some("its schema is too large"),
            _ if bytes > left => Some("the tools of all servers together are too large"),
            _ => None,
        };
        match why {
            Some(why) => offer.left_out.push(LeftOutTool { server: tool.server, tool: tool.tool, why }),
            None => {
                left -= bytes;
                offer.tools.push(tool);
            }
        }
    }
    offer
}

fn is_offered(offered: &Offered, tool: &str) -> bool {
    match offered {
        Offered::All => true,
        Offered::Only(names) => names.iter().any(|name| name == tool),
        Offered::Without(names) => !names.iter().any(|name| name == tool),
    }
}

fn access(tool: &rmcp::model::Tool) -> ToolAccess {
    let Some(annotations) = &tool.annotations else { return ToolAccess::Changes };
    match (annotations.read_only_hint, annotations.destructive_hint) {
        (Some(true), None | Some(false)) => ToolAccess::Reads,
        _ => ToolAccess::Changes,
    }
}

fn description(tool: &rmcp::model::Tool) -> String {
    let text = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default().trim();
    match text.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Providers refuse a schema that is no object, some an object without properties, and most a choice between objects. The
/// parameters of all choices are offered; which of them go together the server checks itself.
fn schema(schema: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    let mut properties = taken_object(&mut schema, "properties");
    let mut required = taken_list(&mut schema, "required");
    for key in ["allOf", "oneOf", "anyOf"] {
        for mut choice in taken_list(&mut schema, key) {
            let Some(choice) = choice.as_object_mut() else { continue };
            for (name, value) in taken_object(choice, "properties") {
                properties.entry(name).or_insert(value);
            }
            if key == "allOf" {
                let further = taken_list(choice, "required").into_iter();
                required.extend(further.filter(|name| !required.contains(name)).collect::<Vec<_>>());
            }
        }
    }
    schema.retain(|key, _| !REFUSED_KEYS.contains(&key.as_str()));
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    Value::Object(schema)
}

fn taken_object(schema: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match schema.remove(key) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn taken_list(schema: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match schema.remove(key) {
        Some(Value::Array(entries)) => entries,
        _ => Vec::new(),
    }
}

/// Do all parameters of a schema have names that every provider accepts?
fn has_plain_names(schema: &Value) -> bool {
    let is_plain = |name: &String| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_sign)
    };
    schema["properties"].as_object().is_none_or(|properties| properties.keys().all(is_plain))
}

fn tool_name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", plain(server), plain(tool));
    if name.len() > LONGEST_NAME { hashed_name(server, tool) } else { name }
}

/// A name that is short enough and its own, whatever signs the original has.
fn hashed_name(server: &str, tool: &str) -> String {
    let sum = Sha256::new().chain_update(server).chain_update([0]).chain_update(tool).finalize();
    let hash = hex::encode(&sum[..4]);
    let name: String = format!("mcp__{}__{}", plain(server), plain(tool));
    format!("{}_{hash}", &name[..name.len().min(LONGEST_NAME - hash.len() - 1)])
}

fn plain(text: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(server: &str, tools: Value) -> ListedTools {
        ListedTools {
            server: server.to_owned(),
            offered: Offered::All,
            tools: serde_json::from_value(tools).unwrap(),
        }
    }

    fn tool(name: &str) -> Value {
        json!({ "name": name, "description": "Does it", "inputSchema": { "type": "object" } })
    }

    #[test]
    fn names_are_sorted_short_and_unique_and_schemas_are_objects() {
        let long = "t".repeat(80);
        let offer = offer_tools(vec![
            listed("b", json!([tool("two"), tool("a.b"), tool("a/b"), tool(&long)])),
            listed("a", json!([tool("one")])),
        ]);
        let names: Vec<&str> = offer.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names[..2], ["mcp__a__one", "mcp__b__a_b"]);
        assert!(names[2].starts_with("mcp__b__a_b_") && names[3].starts_with("mcp__b__tttt"), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= LONGEST_NAME) && names.is_sorted());
        assert_eq!(offer.tools[0].schema, json!({ "type": "object", "properties": {} }));
        assert!(offer.left_out.is_empty());
    }

    #[test]
    fn only_a_tool_that_says_so_reads() {
        let annotated = |hints: Value| {
            let tool = json!([{ "name": "x", "inputSchema": {}, "annotations": hints }]);
            offer_tools(vec![listed("a", tool)]).tools[0].access
        };
        assert_eq!(annotated(json!({ "readOnlyHint": true })), ToolAccess::Reads);
        assert_eq!(annotated(json!({ "readOnlyHint": true, "destructiveHint": true })), ToolAccess::Changes);
        assert_eq!(annotated(json!({ "readOnlyHint": false })), ToolAccess::Changes);
        assert_eq!(annotated(json!({})), ToolAccess::Changes);
    }

    #[test]
    fn what_the_configuration_leaves_out_and_what_does_not_fit_is_not_offered() {
        let names = |offered| {
            let mut listed = listed("a", json!([tool("one"), tool("two")]));
            listed.offered = offered;
            offer_tools(vec![listed]).tools.into_iter().map(|tool| tool.tool).collect::<Vec<_>>()
        };
        assert_eq!(names(Offered::Only(vec!["two".to_owned()])), ["two"]);
        assert_eq!(names(Offered::Without(vec!["two".to_owned()])), ["one"]);
        let large = |name: &str, bytes: usize| {
            let schema = json!({ "type": "object", "description": "x".repeat(bytes) });
            json!({ "name": name, "inputSchema": schema })
        };
        let tools: Vec<Value> =
            (0..6).map(|index| large(&format!("t{index}"), 14_000)).chain([large("huge", 17_000)]).collect();
        let offer = offer_tools(vec![listed("a", json!(tools))]);
        assert_eq!(offer.tools.len(), 4);
        let left: Vec<(&str, &str)> =
            offer.left_out.iter().map(|left| (left.tool.as_str(), left.why)).collect();
        assert_eq!(left[0], ("huge", "its schema is too large"));
        assert_eq!(left[1].0, "t4");
    }

    #[test]
    fn a_schema_that_providers_refuse_is_offered_without_its_choices_or_not_at_all() {
        let with =
            |schema: Value| offer_tools(vec![listed("a", json!([{ "name": "x", "inputSchema": schema }]))]);
        let offer = with(json!({
            "type": "object",
            "properties": { "kind": { "enum": ["a"] } },
            "required": ["kind"],
            "oneOf": [
                { "properties": { "id": { "type": "string" }, "kind": { "type": "number" } }, "required": ["id"] },
                { "properties": { "name": { "anyOf": [{ "type": "string" }] } } }
            ],
            "allOf": [{ "properties": { "all": {} }, "required": ["all"] }],
            "anyOf": [true], "enum": [{}], "not": {}, "if": {}, "then": {}, "else": {}, "const": {}
        }));
        assert_eq!(
            offer.tools[0].schema,
            json!({
                "type": "object",
                "properties": {
                    "kind": { "enum": ["a"] },
                    "id": { "type": "string" },
                    "name": { "anyOf": [{ "type": "string" }] },
                    "all": {}
                },
                "required": ["kind", "all"]
            }),
            "the parameters of the choices are known, and the server says which go together"
        );
        for name in ["with space", "", "ünicode", "$ref", &"n".repeat(65)] {
            let offer = with(json!({ "properties": { name: {} } }));
            assert!(offer.tools.is_empty(), "{name}");
            assert_eq!(
                offer.left_out[0].why,
                "the name of one of its parameters is not accepted by every provider"
            );
        }
        let offer = with(json!({ "properties": { "a.b_c-D9": {} } }));
        assert_eq!(offer.tools.len(), 1);
        let offer = with(json!({ "properties": null, "required": null }));
        assert_eq!(offer.tools[0].schema, json!({ "type": "object", "properties": {} }));
    }
}
