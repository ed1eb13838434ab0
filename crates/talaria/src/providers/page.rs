//! Providers as people and programs read them. Pure.

use serde_json::{Value, json};
use talaria_agent::transport::KeyState;
use talaria_core::json_line::json_line;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText};

use super::KeyedProvider;

/// The list.
pub(super) fn list(providers: &[KeyedProvider], look: Look) -> StyledText {
    let mut sheet = Sheet::new(&["name", "api", "address", "key", "models"], "models").to_be_read();
    for known in providers {
        let profile = &known.provider.profile;
        let models = match known.provider.wrong.first() {
            Some(wrong) => format!("cannot be used: {wrong}"),
            None => models_in_short(&profile.known_models()),
        };
        sheet.row([
            profile.name.clone(),
            profile.family.to_string(),
            profile.base_url.clone(),
            key_in_words(&known.key),
            models,
        ]);
    }
    let mut text = sheet.show(look);
    text += "conversations still run on Codex; providers are used when Talaria has a model loop of its own\n";
    text
}

/// Where a key is, in a few words.
pub(super) fn key_in_words(key: &KeyState) -> String {
    match key {
        KeyState::NotNeeded => "not needed".to_owned(),
        KeyState::Found { source, .. } => source.clone(),
        KeyState::Missing { variables } => format!("missing: {}", variables.join(" or ")),
        KeyState::Refused { source, why, .. } => format!("{source} {why}"),
    }
}

fn models_in_short(models: &[String]) -> String {
    match models {
        [] => "any; none is known by name".to_owned(),
        [first] => first.clone(),
        [first, second] => format!("{first}, {second}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    }
}

/// A provider for programs.
pub(super) fn json(known: &KeyedProvider) -> String {
    let profile = &known.provider.profile;
    let key = match &known.key {
        KeyState::NotNeeded => json!({ "state": "not_needed" }),
        KeyState::Found { source, .. } => json!({ "state": "found", "source": source }),
        KeyState::Missing { variables } => json!({ "state": "missing", "variables": variables }),
        KeyState::Refused { source, why, .. } => json!({ "state": "refused", "source": source, "why": why }),
    };
    let model = |name: String| -> Value {
        let facts = profile.model(&name);
        json!({ "name": name, "context": facts.window, "max_output": facts.max_output })
    };
    let models: Vec<Value> = profile.known_models().into_iter().map(model).collect();
    json_line(&json!({
        "name": profile.name,
        "title": profile.title,
        "api": profile.family.as_str(),
        "base_url": profile.base_url,
        "configured": known.provider.is_configured,
        "key": key,
        "models": models,
        "wrong": known.provider.wrong,
    }))
}
