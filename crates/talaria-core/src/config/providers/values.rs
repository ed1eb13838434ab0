//! The single values of `[providers.NAME]`: valid values, and the message about an invalid one.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Map, Value};
use toml_edit::Item;
use url::{Host, Url};

use super::super::keys::{Wrong, duration, wrong_type};
use super::did_you_mean;
use crate::nearest::nearest;
use crate::provider::{FallbackModel, KeyStrategy, ModelPrice, ProviderApi};

/// Headers that carry a credential, or that the transport writes.
const KEY_HEADERS: [&str; 5] = ["authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"];
const OWN_HEADERS: [&str; 5] = ["host", "content-length", "content-type", "transfer-encoding", "connection"];

fn wrong(message: &str, hint: Option<String>) -> Wrong {
    Wrong { message: message.to_owned(), hint, start: None }
}

pub(super) fn base_url(item: &Item) -> Result<String, Wrong> {
    let Some(text) = item.as_str() else { return Err(wrong_type(item, "a string")) };
    let bad = || {
        let hint = Some("such as \"https://models.example.com/v1\"".to_owned());
        wrong("must be an http or https address without a login, ? and #", hint)
    };
    let url = Url::parse(text).map_err(|_| bad())?;
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() || !is_bare {
        return Err(bad());
    }
    let text = text.trim_end_matches('/');
    let paths = ["/responses", "/chat/completions", "/messages"];
    if let Some(path) = paths.into_iter().find(|path| text.ends_with(path)) {
        let hint = Some(format!("write \"{}\"", text.trim_end_matches(path)));
        return Err(wrong(&format!("must end before {path}, which Talaria adds"), hint));
    }
    Ok(text.to_owned())
}

/// Does this address lead over networks of others without encryption?
pub(super) fn is_readable_on_the_way(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    let is_near = match url.host() {
        Some(Host::Domain(name)) => {
            name == "localhost" || name.ends_with(".localhost") || name.ends_with(".local")
        }
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback() || address.is_unique_local(),
        None => true,
    };
    url.scheme() == "http" && !is_near
}

/// A limit of zero would cut every request.
pub(super) fn idle_timeout(item: &Item) -> Result<Duration, Wrong> {
    let limit = duration(item)?;
    if limit.is_zero() {
        return Err(wrong("must be longer than nothing", None));
    }
    Ok(limit)
}

pub(super) fn key_strategy(item: &Item) -> Result<KeyStrategy, Wrong> {
    let Some(text) = item.as_str() else {
        return Err(wrong_type(item, &format!("one of {}", KeyStrategy::NAMES.join(", "))));
    };
    match text {
        "fill_first" => Ok(KeyStrategy::FillFirst),
        "round_robin" => Ok(KeyStrategy::RoundRobin),
        other => {
            let hint = nearest(other, KeyStrategy::NAMES).map(did_you_mean);
            let allowed = KeyStrategy::NAMES.join(", ");
            Err(wrong(&format!("\"{other}\" is not known; allowed: {allowed}"), hint))
        }
    }
}

/// Models that take over, in order. An empty list means none.
pub(in super::super) fn fallback(item: &Item) -> Result<Vec<FallbackModel>, Wrong> {
    let Some(array) = item.as_array() else { return Err(wrong_type(item, "a list of provider/model")) };
    let hint = || Some("write [\"openrouter/anthropic/claude-sonnet-4.5\"]".to_owned());
    let mut models: Vec<FallbackModel> = Vec::new();
    for value in array {
        let text = value.as_str().ok_or_else(|| wrong("must hold strings", hint()))?;
        let model: FallbackModel = text.parse().map_err(|why: String| wrong(&why, hint()))?;
        if models.contains(&model) {
            return Err(wrong(&format!("names {model} twice"), None));
        }
        models.push(model);
    }
    Ok(models)
}

pub(super) fn api(item: &Item) -> Result<ProviderApi, Wrong> {
    let Some(text) = item.as_str() else {
        return Err(wrong_type(item, &format!("one of {}", ProviderApi::NAMES.join(", "))));
    };
    match text {
        "responses" => Ok(ProviderApi::Responses),
        "chat" => Ok(ProviderApi::Chat),
        "messages" => Ok(ProviderApi::Messages),
        other => {
            let hint = nearest(other, ProviderApi::NAMES).map(did_you_mean);
            Err(wrong(&format!("\"{other}\" is not known; allowed: {}", ProviderApi::NAMES.join(", ")), hint))
        }
    }
}

pub(super) fn header(name: &str, item: &Item) -> Result<(String, String), Wrong> {
    let lower = name.to_ascii_lowercase();
    if KEY_HEADERS.contains(&lower.as_str()) {
        let hint = Some("use key_env or key_file".to_owned());
        return Err(wrong("carries a key, and keys do not belong in this file", hint));
    }
    if OWN_HEADERS.contains(&lower.as_str()) {
        return Err(wrong("is written by Talaria for every request", None));
    }
    let is_name =
        !lower.is_empty() && lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if !is_name {
        return Err(wrong("is not a name of a header", None));
    }
    match item.as_str() {
        Some(value) if value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) => {
            Ok((lower, value.to_owned()))
        }
        Some(_) => Err(wrong("has characters that a header cannot carry", None)),
        None => Err(wrong_type(item, "a string")),
    }
}

/// Reads any value but a date, which JSON does not have.
pub(super) fn json(item: &Item) -> Result<Value, Wrong> {
    if let Some(text) = item.as_str() {
        return Ok(Value::from(text));
    }
    if let Some(number) = item.as_integer() {
        return Ok(Value::from(number));
    }
    if let Some(number) = item.as_float() {
        let number = serde_json::Number::from_f64(number);
        return number.map(Value::Number).ok_or_else(|| wrong("must be a number that JSON has", None));
    }
    if let Some(flag) = item.as_bool() {
        return Ok(Value::from(flag));
    }
    if let Some(list) = item.as_array() {
        return list.iter().map(|value| json(&Item::Value(value.clone()))).collect();
    }
    if let Some(table) = item.as_table_like() {
        let members: Result<Map<String, Value>, Wrong> =
            table.iter().map(|(name, item)| Ok((name.to_owned(), json(item)?))).collect();
        return members.map(Value::Object);
    }
    Err(wrong_type(item, "a value that JSON has"))
}

/// Reads a price in dollars for a million tokens.
pub(super) fn price(item: &Item) -> Result<ModelPrice, Wrong> {
    const NAMES: [&str; 4] = ["input", "output", "cached", "cache_write"];
    let example = || {
        Some("write { input = 3.0, output = 15.0, cached = 0.3 }, dollars for a million tokens".to_owned())
    };
    let Some(table) = item.as_table_like() else {
        return Err(Wrong { hint: example(), ..wrong_type(item, "a table") });
    };
    if let Some((name, _)) = table.iter().find(|(name, _)| !NAMES.contains(name)) {
        return Err(wrong(
            &format!("\"{name}\" is not a kind of price; allowed: {}", NAMES.join(", ")),
            None,
        ));
    }
    let amount = |name: &str| -> Result<Option<u64>, Wrong> {
        let Some(item) = table.get(name) else { return Ok(None) };
        let dollars = item.as_float().or_else(|| item.as_integer().map(|dollars| dollars as f64));
        match dollars {
            Some(dollars) if (0.0..=1_000_000.0).contains(&dollars) => {
                Ok(Some((dollars * 1e6).round() as u64))
            }
            _ => Err(wrong(&format!("{name} must be a number of dollars from 0 up"), example())),
        }
    };
    match (amount("input")?, amount("output")?) {
        (Some(input), Some(output)) => {
            Ok(ModelPrice { input, output, cached: amount("cached")?, cache_write: amount("cache_write")? })
        }
        _ => Err(wrong("needs input and output", example())),
    }
}
