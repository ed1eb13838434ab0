//! The head of a request: model, system prompt, tools and parameters. It stays byte for byte as it is within an epoch; no
//! clock and no counter belong into it.

use serde_json::{Value, json};
use talaria_core::tool::ToolEffect;

use super::json::Bytes;
use super::text_of;
use crate::family::ModelFamily;
use crate::history::WEB_SEARCH;
use crate::profile::{
    CacheMarking, OperatorRole, OutputLimitField, ProviderProfile, ProviderSearch, ThinkingParam,
};
use crate::rendered::PrefixDigest;

/// Output that is asked for where neither the person nor the table of models says how much.
const USUAL_OUTPUT: u64 = 16_384;
/// The most output that is asked for of a model that can write more.
const MOST_UNASKED_OUTPUT: u64 = 32_000;

/// The name of the search where the provider takes the other one for its own tool.
const SEARCH_ELSEWHERE: &str = "search_web";
/// How often the provider may search for one answer.
const MOST_SEARCHES: u64 = 8;

/// The name of a tool in requests to this provider.
pub(super) fn wire_name<'a>(profile: &ProviderProfile, name: &'a str) -> &'a str {
    if profile.quirks.reserves_search_name && name == WEB_SEARCH { SEARCH_ELSEWHERE } else { name }
}

/// The name of a tool that this provider's model called.
pub(crate) fn own_name(profile: &ProviderProfile, name: String) -> String {
    let is_other = profile.quirks.reserves_search_name && name == SEARCH_ELSEWHERE;
    if is_other { WEB_SEARCH.to_owned() } else { name }
}

/// A tool as a model of the loop sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// A JSON schema of its arguments.
    pub schema: Value,
    /// Does it only read?
    pub effect: ToolEffect,
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestHead {
    /// The model.
    pub model: String,
    /// The system prompt, in blocks.
    pub system: Vec<String>,
    /// The tools, sorted by name.
    pub tools: Vec<LoopToolSpec>,
    /// The effort, if one is wished for.
    pub effort: Option<String>,
    /// The most output tokens.
    pub max_output: Option<u64>,
    /// Names the conversation to the provider's cache, at most 64 characters.
    pub cache_key: String,
}

impl RequestHead {
    /// A head with tools in their order.
    pub fn new(model: &str, system: Vec<String>, mut tools: Vec<LoopToolSpec>, cache_key: &str) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            model: model.to_owned(),
            system,
            tools,
            effort: None,
            max_output: None,
            cache_key: cache_key.chars().take(64).collect(),
        }
    }

    /// The tools that this provider is offered. One that searches itself has no use for ours.
    fn offered(&self, profile: &ProviderProfile) -> impl Iterator<Item = &LoopToolSpec> {
        let is_ours_replaced = profile.searches_itself();
        self.tools.iter().filter(move |tool| !is_ours_replaced || tool.name != WEB_SEARCH)
    }

    /// Is the provider asked to search? Not where it is to use no tools.
    fn has_search_of(&self, profile: &ProviderProfile, how: ProviderSearch) -> bool {
        profile.searches_itself() && profile.quirks.search == how && !self.tools.is_empty()
    }

    /// The digest of what a prefix begins with: tools and system prompt. Parameters are not part of it.
    pub fn digest(&self, profile: &ProviderProfile) -> PrefixDigest {
        let begin = PrefixDigest::of(b"head");
        let begin = if profile.searches_itself() { begin.chain(b"own search") } else { begin };
        let tools = self.offered(profile).fold(begin, |digest, tool| {
            let schema = text_of(&tool.schema);
            digest.chain(tool.name.as_bytes()).chain(tool.description.as_bytes()).chain(schema.as_bytes())
        });
        self.system.iter().fold(tools, |digest, block| digest.chain(block.as_bytes()))
    }

    /// The most output tokens that a request asks for; none where it leaves that to the provider.
    pub fn output_limit(&self, profile: &ProviderProfile) -> Option<u64> {
        let configured = || profile.configured_output(&self.model);
        self.max_output.or_else(configured).or_else(|| match profile.family {
            // It is mandatory there.
            ModelFamily::Messages => {
                let known = profile.model(&self.model).max_output;
                Some(known.map_or(USUAL_OUTPUT, |most| most.min(MOST_UNASKED_OUTPUT)))
            }
            ModelFamily::Responses | ModelFamily::Chat => None,
        })
    }

    /// The members of the body before the conversation, in a fixed order. `extra_body` of the profile replaces members, and
    /// refused ones are left out.
    pub(super) fn members(&self, profile: &ProviderProfile, refused: &[String]) -> Vec<(String, String)> {
        let mut members = match profile.family {
            ModelFamily::Responses => self.responses(profile),
            ModelFamily::Chat => self.chat(profile),
            ModelFamily::Messages => self.messages(profile),
        };
        for (name, value) in &profile.extra_body {
            match members.iter_mut().find(|(known, _)| known == name) {
                Some(member) => member.1 = text_of(value),
                None => members.push((name.clone(), text_of(value))),
            }
        }
        members.retain(|(name, _)| !refused.contains(name));
        members
    }

    fn responses(&self, profile: &ProviderProfile) -> Vec<(String, String)> {
        let tools = self.offered(profile).map(|tool| {
            let name = wire_name(profile, &tool.name);
            let mut value = json!({"type": "function", "name": name, "description": tool.description, "parameters": tool.schema});
            // Where it is left out the provider makes every parameter mandatory.
            if profile.quirks.strict_tools {
                value["strict"] = json!(false);
            }
            value
        });
        let mut members = vec![
            member("model", &json!(self.model)),
            member("instructions", &json!(self.system.join("\n\n"))),
        ];
        // An empty list is refused.
        if !self.tools.is_empty() {
            let search = self.has_search_of(profile, ProviderSearch::ResponsesTool);
            let search = search.then(|| json!({"type": "web_search"}));
            members.push(member("tools", &Value::Array(tools.chain(search).collect())));
            members.push(member("tool_choice", &json!("auto")));
        }
        members.push(member("stream", &json!(true)));
        if may_reason(&self.model) {
            members.push(member("include", &json!(["reasoning.encrypted_content"])));
        }
        if profile.quirks.parallel_calls && !self.tools.is_empty() {
            members.push(member("parallel_tool_calls", &json!(true)));
        }
        if profile.quirks.store {
            members.push(member("store", &json!(false)));
        }
        if let Some(effort) = &self.effort {
            members.push(member("reasoning", &json!({"effort": effort, "summary": "auto"})));
        }
        if profile.quirks.cache == CacheMarking::Key {
            members.push(member("prompt_cache_key", &json!(self.cache_key)));
        }
        if let Some(limit) = self.output_limit(profile) {
            members.push(member(OutputLimitField::MaxOutputTokens.as_str(), &json!(limit)));
        }
        members
    }

    fn chat(&self, profile: &ProviderProfile) -> Vec<(String, String)> {
        let quirks = &profile.quirks;
        let mut members = vec![member("model", &json!(self.model)), member("stream", &json!(true))];
        if quirks.stream_usage {
            members.push(member("stream_options", &json!({"include_usage": true})));
        }
        if !self.tools.is_empty() {
            let tools = self.offered(profile).map(|tool| {
                json!({"type": "function", "function":
                    {"name": tool.name, "description": tool.description, "parameters": tool.schema}})
            });
            members.push(member("tools", &Value::Array(tools.collect())));
            if quirks.parallel_calls {
                members.push(member("parallel_tool_calls", &json!(true)));
            }
        }
        if self.has_search_of(profile, ProviderSearch::Plugin) {
            members.push(member("plugins", &json!([{"id": "web"}])));
        }
        if let Some(limit) = self.output_limit(profile) {
            members.push(member(quirks.output_limit.as_str(), &json!(limit)));
        }
        if let Some(effort) = &self.effort {
            let thinks = effort != "none";
            match quirks.thinking {
                ThinkingParam::None | ThinkingParam::Adaptive => {}
                ThinkingParam::ReasoningEffort => members.push(member("reasoning_effort", &json!(effort))),
                ThinkingParam::ReasoningObject => {
                    members.push(member("reasoning", &json!({"effort": effort})));
                }
                ThinkingParam::ThinkingType => {
                    let kind = if thinks { "enabled" } else { "disabled" };
                    members.push(member("thinking", &json!({"type": kind})));
                }
                ThinkingParam::EnableThinking => members.push(member("enable_thinking", &json!(thinks))),
                ThinkingParam::ChatTemplate => {
                    members.push(member("chat_template_kwargs", &json!({"enable_thinking": thinks})));
                }
            }
        }
        members
    }

    fn messages(&self, profile: &ProviderProfile) -> Vec<(String, String)> {
        let limit = self.output_limit(profile).unwrap_or(USUAL_OUTPUT);
        let mut members = vec![
            member("model", &json!(self.model)),
            member("max_tokens", &json!(limit)),
            member("stream", &json!(true)),
        ];
        if let Some(effort) = &self.effort {
            if effort == "none" {
                members.push(member("thinking", &json!({"type": "disabled"})));
            } else if thinks_by_budget(&self.model) {
                let budget = match effort.as_str() {
                    "minimal" | "low" => 2_048,
                    "medium" => 8_192,
                    _ => 16_384,
                };
                let budget = budget.min(limit.saturating_sub(1)).max(1_024);
                members.push(member("thinking", &json!({"type": "enabled", "budget_tokens": budget})));
            } else {
                members.push(member("thinking", &json!({"type": "adaptive"})));
                members.push(member("output_config", &json!({"effort": effort})));
            }
        }
        let mark = json!({"type": "ephemeral"});
        if !self.tools.is_empty() {
            let search = self.has_search_of(profile, ProviderSearch::MessagesTool);
            let search = search.then(
                || json!({"type": "web_search_20250305", "name": WEB_SEARCH, "max_uses": MOST_SEARCHES}),
            );
            let own = self.offered(profile).map(
                |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}),
            );
            let mut tools: Vec<Value> = search.into_iter().chain(own).collect();
            if let Some(last) = tools.last_mut() {
                last["cache_control"] = mark.clone();
            }
            members.push(member("tools", &Value::Array(tools)));
        }
        let blocks: Vec<&String> = self.system.iter().filter(|block| !block.trim().is_empty()).collect();
        if !blocks.is_empty() {
            let last = blocks.len() - 1;
            let system = blocks.iter().enumerate().map(|(at, text)| {
                let mut value = json!({"type": "text", "text": text});
                if at == last {
                    value["cache_control"] = mark.clone();
                }
                value
            });
            members.push(member("system", &Value::Array(system.collect())));
        }
        members
    }

    /// The system prompt as the first message of a Chat request.
    pub(super) fn chat_system(&self, profile: &ProviderProfile) -> Option<Vec<u8>> {
        let text = self.system.join("\n\n");
        if text.trim().is_empty() {
            return None;
        }
        let role = match profile.quirks.operator {
            OperatorRole::Developer => "developer",
            OperatorRole::System | OperatorRole::User => "system",
        };
        let mut bytes = Bytes::default();
        bytes.raw("{\"role\":");
        bytes.text(role);
        bytes.raw(",\"content\":");
        bytes.text(&text);
        bytes.raw("}");
        Some(bytes.into_vec())
    }
}

fn member(name: &str, value: &Value) -> (String, String) {
    (name.to_owned(), text_of(value))
}

/// Is this none of the models that never reason? Those refuse to be asked for reasoning; of others that do, the refusal is
/// repaired.
fn may_reason(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    !["gpt-3.5", "gpt-4", "chatgpt-4o"].iter().any(|old| name.starts_with(old))
}

/// Models before the adaptive form, which want a number of tokens.
fn thinks_by_budget(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    [
        "claude-3",
        "claude-opus-4-0",
        "claude-opus-4-1",
        "claude-opus-4-2",
        "claude-opus-4-5",
        "claude-sonnet-4-0",
    ]
    .iter()
    .chain(&["claude-sonnet-4-2", "claude-sonnet-4-5", "claude-haiku-4"])
    .any(|old| name.starts_with(old))
}
