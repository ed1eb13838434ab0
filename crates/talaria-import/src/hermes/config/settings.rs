//! Selects the settings of Hermes to import, with reasons for the others. A setting that would widen Codex's
//! permissions is never imported: it is named, and the person decides.

use serde_json::Value as Yaml;
use toml_edit::{Array, Value};

use super::yaml::Tree;
use talaria_core::edit::KeyPath;
use talaria_core::policy::Mode;
use talaria_guard::rules::Rule;

/// Whose models Codex runs.
const PROVIDERS: [&str; 2] = ["openai", "openai-codex"];
/// Prefixes of those models' names, for settings without a provider.
const MODELS: [&str; 5] = ["gpt-", "codex", "o1", "o3", "o4"];
/// Where those models are; Hermes writes the second one at its login.
const HOSTS: [&str; 2] = ["api.openai.com", "chatgpt.com"];
/// The words for effort that Codex has.
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];

/// A setting to import.
pub(super) struct Wish {
    /// Its name in Hermes.
    pub(super) from: String,
    pub(super) path: KeyPath,
    pub(super) value: Value,
}

/// Settings to import, and a report about the rest.
#[derive(Default)]
pub(super) struct Wishes {
    pub(super) wishes: Vec<Wish>,
    /// Settings that are not imported: name, reason, nearest name.
    pub(super) refused: Vec<(String, String, Option<&'static str>)>,
    /// Settings of which nothing more has to be said.
    pub(super) done: Vec<String>,
}

impl Wishes {
    fn wish(&mut self, from: &str, to: [&str; 2], value: impl Into<Value>) {
        if let Some(path) = KeyPath::new(to) {
            self.wishes.push(Wish { from: from.to_owned(), path, value: value.into() });
            self.done.push(from.to_owned());
        }
    }

    fn refuse(&mut self, from: &str, why: impl Into<String>, near: Option<&'static str>) {
        self.refused.push((from.to_owned(), why.into(), near));
        self.done.push(from.to_owned());
    }
}

/// Reads what has a counterpart here, MCP servers apart.
pub(super) fn wishes(tree: &Tree) -> Wishes {
    let mut wishes = Wishes::default();
    model(tree, &mut wishes);
    effort(tree, &mut wishes);
    approvals(tree, &mut wishes);
    compression(tree, &mut wishes);
    if tree.get("command_allowlist").and_then(Yaml::as_array).is_some_and(|list| !list.is_empty()) {
        let why = "it would let commands run without a question; add the ones you want yourself";
        wishes.refuse("command_allowlist", why, Some("approvals.allow"));
    }
    wishes
}

fn text(value: Option<&Yaml>) -> Option<&str> {
    value.and_then(Yaml::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn model(tree: &Tree, wishes: &mut Wishes) {
    let section = tree.get("model");
    let of = |name: &str| text(section.and_then(|section| section.get(name)));
    let named = ["default", "model", "name"].into_iter().find_map(|name| Some((name, of(name)?)));
    let (from, model) = match (named, text(section)) {
        (Some((name, model)), _) => (format!("model.{name}"), Some(model)),
        (None, model) => ("model".to_owned(), model),
    };
    let provider = of("provider").filter(|provider| !provider.eq_ignore_ascii_case("auto"));
    let is_elsewhere = of("base_url").is_some_and(|url| !is_openai(url));
    let fits = match provider {
        Some(provider) => PROVIDERS.iter().any(|known| provider.eq_ignore_ascii_case(known)),
        None => model.is_none_or(|model| MODELS.iter().any(|start| model.starts_with(start))),
    };
    if !fits || is_elsewhere {
        let why = match fits {
            true => "model.base_url is not an address of OpenAI, and Codex runs models of OpenAI only",
            false => "Codex runs models of OpenAI only; this one stays with Hermes",
        };
        for (name, _) in
            [(from.as_str(), model), ("model.provider", provider)].iter().filter(|(_, v)| v.is_some())
        {
            wishes.refuse(name, why, None);
        }
        return;
    }
    if let Some(model) = model {
        wishes.wish(&from, ["model", "default"], model);
    }
    if let Some(provider) = provider {
        wishes.wish("model.provider", ["model", "provider"], provider.to_lowercase());
    }
    if let Some(runtime) = of("openai_runtime") {
        wishes.wish("model.openai_runtime", ["model", "openai_runtime"], runtime.to_lowercase());
    }
}

/// The same names and values; the protected messages are counted alike.
fn compression(tree: &Tree, wishes: &mut Wishes) {
    let section = tree.get("compression");
    for name in ["enabled", "threshold", "protect_first_n", "protect_last_n"] {
        let value: Option<Value> = match section.and_then(|section| section.get(name)) {
            Some(Yaml::Bool(flag)) => Some((*flag).into()),
            Some(Yaml::Number(number)) => {
                number.as_i64().map(Value::from).or_else(|| number.as_f64().map(Value::from))
            }
            _ => None,
        };
        if let Some(value) = value {
            wishes.wish(&format!("compression.{name}"), ["compression", name], value);
        }
    }
}

fn is_openai(address: &str) -> bool {
    let url = url::Url::parse(address).ok();
    url.as_ref().and_then(url::Url::host_str).is_some_and(|host| HOSTS.contains(&host))
}

fn effort(tree: &Tree, wishes: &mut Wishes) {
    let Some(effort) = text(tree.get("agent").and_then(|agent| agent.get("reasoning_effort"))) else {
        return;
    };
    let from = "agent.reasoning_effort";
    let effort = effort.to_lowercase();
    match EFFORTS.contains(&effort.as_str()) {
        true => wishes.wish(from, ["model", "effort"], effort),
        false => {
            let why = format!("Codex does not know this word; it has {}", EFFORTS.join(", "));
            wishes.refuse(from, why, Some("model.effort"));
        }
    }
}

fn approvals(tree: &Tree, wishes: &mut Wishes) {
    let Some(section) = tree.get("approvals") else { return };
    let mode = match section.get("mode") {
        // Older readers of YAML take the bare word off for this.
        Some(Yaml::Bool(false)) => Some("off".to_owned()),
        mode => text(mode).map(str::to_lowercase),
    };
    match mode.as_deref() {
        Some("manual") => {
            wishes.wish("approvals.mode", ["approvals", "mode"], Mode::ApprovalRequired.as_str());
        }
        Some("smart") => wishes.wish("approvals.mode", ["approvals", "mode"], Mode::Auto.as_str()),
        Some("off") => {
            let why = "it would let everything run without a question and without a sandbox; if you want that, \
                       run talaria config set approvals.mode unrestricted";
            wishes.refuse("approvals.mode", why, Some("approvals.mode"));
        }
        Some(_) => {
            let why = format!("Talaria does not know this word; it has {}", Mode::NAMES.join(", "));
            wishes.refuse("approvals.mode", why, Some("approvals.mode"));
        }
        None => {}
    }
    let Some(Yaml::Array(rules)) = section.get("deny") else { return };
    let mut deny = Array::new();
    for (number, rule) in rules.iter().enumerate() {
        let from = format!("approvals.deny.{number}");
        match rule.as_str().map(|text| (text, Rule::deny(text))) {
            Some((text, Ok(_))) => deny.push(text),
            Some((_, Err(bad))) => {
                wishes.refuse(&from, format!("as a rule here it {bad}"), Some("approvals.deny"));
            }
            None => wishes.refuse(&from, "it is not a text", Some("approvals.deny")),
        }
    }
    if !deny.is_empty() {
        wishes.wish("approvals.deny", ["approvals", "deny"], deny);
    }
    wishes.done.push("approvals.deny".to_owned());
}
