//! Providers as people and programs read them. Pure.

use serde_json::{Value, json};
use talaria_agent::profile::ProviderProfile;
use talaria_agent::transport::KeyState;
use talaria_core::api::ProviderKeyInfo;
use talaria_core::json_line::json_line;
use talaria_guard::redact::redact;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText};

use super::KeyedProvider;
use super::probe::{Probe, ProbeVerdict};

/// The list.
pub(super) fn list(providers: &[KeyedProvider], used: &[ProviderKeyInfo], look: Look) -> StyledText {
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
            keys_in_words(known, used),
            models,
        ]);
    }
    let mut text = sheet.show(look);
    text += "use one with --provider NAME --model MODEL; `talaria providers test NAME` sends it a small request\n";
    text
}

/// Where the keys of a provider are and what became of them.
fn keys_in_words(known: &KeyedProvider, used: &[ProviderKeyInfo]) -> String {
    let states = if known.pool.is_empty() { std::slice::from_ref(&known.key) } else { &known.pool };
    let words = states.iter().map(|state| {
        let words = key_in_words(state);
        match use_of(known, state, used) {
            Some(used) => format!("{words} ({})", use_in_words(used)),
            None => words,
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// What the engine knows about a key that is in this place.
fn use_of<'a>(
    known: &KeyedProvider,
    state: &KeyState,
    used: &'a [ProviderKeyInfo],
) -> Option<&'a ProviderKeyInfo> {
    let KeyState::Found { source, .. } = state else { return None };
    used.iter().find(|used| used.provider == known.provider.profile.name && used.source == *source)
}

fn use_in_words(used: &ProviderKeyInfo) -> String {
    let until = used.until.map(|until| format!(" until {}", until.strftime("%Y-%m-%d %H:%M:%S UTC")));
    let requests = match used.requests {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    };
    format!("{}{}, {requests}", used.state.as_str(), until.unwrap_or_default())
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
pub(super) fn json(known: &KeyedProvider, used: &[ProviderKeyInfo]) -> String {
    let profile = &known.provider.profile;
    let key = |state: &KeyState| match state {
        KeyState::NotNeeded => json!({ "state": "not_needed" }),
        KeyState::Found { source, .. } => match use_of(known, state, used) {
            Some(used) => json!({ "state": "found", "source": source, "used": used }),
            None => json!({ "state": "found", "source": source }),
        },
        KeyState::Missing { variables } => json!({ "state": "missing", "variables": variables }),
        KeyState::Refused { source, why, .. } => json!({ "state": "refused", "source": source, "why": why }),
    };
    let pool: Vec<Value> = known.pool.iter().map(key).collect();
    let fallback = known.provider.fallback.as_ref();
    let fallback = fallback.map(|chain| chain.iter().map(ToString::to_string).collect::<Vec<_>>());
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
        "key": key(&known.key),
        "keys": pool,
        "fallback": fallback,
        "models": models,
        "wrong": known.provider.wrong,
    }))
}

/// A provider that answered.
pub(super) fn probe(profile: &ProviderProfile, probe: &Probe) -> StyledText {
    let mut text = StyledText::default();
    let mut line = |name: &str, value: String| text += format!("{name:<14}{value}\n").as_str();
    line("provider", format!("{} ({})", profile.name, profile.base_url));
    line(
        "model",
        match &probe.said_model {
            Some(said) if *said != probe.asked_model => format!("{said} (asked for {})", probe.asked_model),
            _ => probe.asked_model.clone(),
        },
    );
    let first = probe.first_byte_ms.map_or_else(|| "unknown".to_owned(), |ms| format!("{ms} ms"));
    line("first byte", format!("{first}, answer after {} ms", probe.total_ms));
    line("tokens", format!("{} in, {} out", number(probe.tokens.input), number(probe.tokens.output)));
    line("price", probe.price.map_or_else(|| "unknown".to_owned(), dollars));
    line("request id", probe.request_id.clone().unwrap_or_else(|| "none".to_owned()));
    line("answer", probe.text.split_whitespace().collect::<Vec<_>>().join(" "));
    text
}

/// The same, or why it did not answer, for programs.
pub(super) fn probe_json(provider: &str, probe: &Probe) -> String {
    let (code, class, message, next) = match &probe.verdict {
        ProbeVerdict::Works => (None, None, None, None),
        ProbeVerdict::Fails { code, class, message, next } => {
            let class = class.map(talaria_agent::failure::FailureClass::as_str);
            (Some(code.to_string()), class, Some(redact(message).into_owned()), Some(next.in_shell()))
        }
    };
    json_line(&json!({
        "provider": provider,
        "works": matches!(probe.verdict, ProbeVerdict::Works),
        "asked_model": probe.asked_model,
        "model": probe.said_model,
        "first_byte_ms": probe.first_byte_ms,
        "total_ms": probe.total_ms,
        "tokens": { "input": probe.tokens.input, "output": probe.tokens.output },
        "price_usd": probe.price.map(|price| price as f64 / 1e9),
        "request_id": probe.request_id,
        "text": redact(&probe.text),
        "code": code,
        "class": class,
        "message": message,
        "hint": next,
        "exit": probe.exit_code(),
    }))
}

fn number(tokens: Option<u64>) -> String {
    tokens.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string())
}

/// Billionths of a dollar as dollars.
fn dollars(price: u64) -> String {
    format!("${:.6}", price as f64 / 1e9)
}
