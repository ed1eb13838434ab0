//! Reads `[providers.NAME]` into a [`ProviderConfig`], and reports every mistake with its place.
//!
//! Owns which keys there are. A wrong key makes the whole provider unusable (it is in `ProviderConfig::wrong`): a request
//! without its header or to another address would be another request. Values of headers and of the key's place are in no
//! message, because people write secrets there. Called by the reader in `config` for the whole section.

mod values;

pub(super) use values::fallback;

use serde_json::{Map, Value};
use toml_edit::{Item, TableLike};

use super::keys::Wrong;
use super::servers::Found;
use super::{Severity, article, did_you_mean, notify, start_of};
use crate::nearest::nearest;
use crate::provider::{BUILT_IN_PROVIDERS, CODEX_PROVIDER, ProviderConfig, ProviderModelConfig};

pub(super) const KEYS: &[&str] = &[
    "base_url",
    "api",
    "key_env",
    "key_file",
    "key_strategy",
    "max_concurrent",
    "fallback",
    "headers",
    "extra_body",
    "idle_timeout",
    "web_search",
    "models",
];
pub(super) const MODEL_KEYS: &[&str] = &["context", "max_output", "price"];

/// Reads the whole section.
pub(super) fn read(section: &dyn TableLike) -> (Vec<ProviderConfig>, Vec<Found>) {
    let mut providers = Vec::new();
    let mut found = Vec::new();
    for (name, item) in section.iter() {
        let mut reading = Reading { provider: ProviderConfig::default(), found: Vec::new() };
        reading.provider.name = name.to_owned();
        reading.provider(item, start_of(section, name, item));
        providers.push(reading.provider);
        found.extend(reading.found);
    }
    (providers, found)
}

struct Reading {
    provider: ProviderConfig,
    found: Vec<Found>,
}

impl Reading {
    fn provider(&mut self, item: &Item, start: Option<usize>) {
        let Some(table) = item.as_table_like() else {
            let message = format!("must be a table, not {}", article(item.type_name()));
            return self.fail("", start, message, Some("write [providers.NAME]".to_owned()));
        };
        self.check_name(start);
        for (key, item) in table.iter() {
            let at = start_of(table, key, item);
            match key {
                "base_url" => self.provider.base_url = self.value(key, at, values::base_url(item)),
                "api" => self.provider.api = self.value(key, at, values::api(item)),
                "key_env" => self.provider.key_env = self.values(key, at, item, notify::variable),
                "key_file" => self.provider.key_file = self.values(key, at, item, super::keys::text),
                "key_strategy" => {
                    let strategy = self.value(key, at, values::key_strategy(item));
                    self.provider.key_strategy = strategy.unwrap_or_default();
                }
                "max_concurrent" => {
                    self.provider.max_concurrent = self.value(key, at, super::keys::count(item));
                }
                "fallback" => self.provider.fallback = self.value(key, at, fallback(item)),
                "headers" => self.headers(item, at),
                "extra_body" => self.extra_body(item, at),
                "idle_timeout" => {
                    self.provider.idle_timeout = self.value(key, at, values::idle_timeout(item));
                }
                "web_search" => {
                    let wish = self.value(key, at, super::keys::flag(item));
                    self.provider.web_search = wish.unwrap_or_default();
                }
                "models" => self.models(item, at),
                _ => {
                    let hint = nearest(key, KEYS.iter().copied()).map(did_you_mean);
                    self.report(key, at, Severity::Warning, "unknown key".to_owned(), hint);
                }
            }
        }
        self.check_whole(table, start);
    }

    fn check_name(&mut self, start: Option<usize>) {
        let name = self.provider.name.clone();
        if name == CODEX_PROVIDER {
            let message = "is Codex with its own login, which no other program can share".to_owned();
            let hint = "use [providers.openai] with an API key, or another name".to_owned();
            self.fail("", start, message, Some(hint));
        } else if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            let message = "a name of a provider has letters, digits, -, _ and . only".to_owned();
            self.fail("", start, message, None);
        }
    }

    /// What concerns several keys.
    fn check_whole(&mut self, table: &dyn TableLike, start: Option<usize>) {
        if !BUILT_IN_PROVIDERS.contains(&self.provider.name.as_str()) {
            let missing: Vec<&str> =
                ["base_url", "api"].into_iter().filter(|key| !table.contains_key(key)).collect();
            if !missing.is_empty() && self.provider.name != CODEX_PROVIDER {
                let message = format!("is not built in, so it needs {}", missing.join(" and "));
                let hint = nearest(&self.provider.name, BUILT_IN_PROVIDERS);
                self.fail("", start, message, hint.map(did_you_mean));
            }
        }
        if !self.provider.key_env.is_empty() && !self.provider.key_file.is_empty() {
            let at = table.get("key_file").and_then(|item| start_of(table, "key_file", item));
            let message =
                "key_env is set as well, and the keys of a provider are all in variables or all in files";
            self.fail("key_file", at, message.to_owned(), Some("remove one of them".to_owned()));
        }
        if let Some(url) = self.provider.base_url.as_deref().filter(|url| values::is_readable_on_the_way(url))
        {
            let at = table.get("base_url").and_then(|item| start_of(table, "base_url", item));
            let message = format!("sends keys and conversations to {url} without encryption");
            self.report("base_url", at, Severity::Warning, message, Some("use https".to_owned()));
        }
    }

    fn headers(&mut self, item: &Item, at: Option<usize>) {
        let Some(entries) = self.table("headers", item, at) else { return };
        for (name, value) in entries.iter() {
            let at = start_of(entries, name, value);
            if let Some(header) = self.value(&format!("headers.{name}"), at, values::header(name, value)) {
                self.provider.headers.push(header);
            }
        }
    }

    fn extra_body(&mut self, item: &Item, at: Option<usize>) {
        let Some(entries) = self.table("extra_body", item, at) else { return };
        let mut members = Map::new();
        for (name, value) in entries.iter() {
            let at = start_of(entries, name, value);
            let key = format!("extra_body.{name}");
            let read = match name {
                "model" | "messages" | "input" | "tools" | "stream" => {
                    let message = "is written by Talaria for every request".to_owned();
                    Err(Wrong { message, hint: None, start: None })
                }
                _ => values::json(value),
            };
            if let Some(value) = self.value::<Value>(&key, at, read) {
                members.insert(name.to_owned(), value);
            }
        }
        self.provider.extra_body = members;
    }

    fn models(&mut self, item: &Item, at: Option<usize>) {
        let Some(entries) = self.table("models", item, at) else { return };
        for (name, value) in entries.iter() {
            let at = start_of(entries, name, value);
            let Some(facts) = self.table(&format!("models.{name}"), value, at) else { continue };
            let mut model = ProviderModelConfig { name: name.to_owned(), ..ProviderModelConfig::default() };
            for (key, item) in facts.iter() {
                let at = start_of(facts, key, item);
                let place = format!("models.{name}.{key}");
                match key {
                    "context" => model.context = self.value(&place, at, super::keys::count(item)),
                    "max_output" => model.max_output = self.value(&place, at, super::keys::count(item)),
                    "price" => model.price = self.value(&place, at, values::price(item)),
                    _ => {
                        let hint = nearest(key, MODEL_KEYS.iter().copied()).map(did_you_mean);
                        self.report(&place, at, Severity::Warning, "unknown key".to_owned(), hint);
                    }
                }
            }
            self.provider.models.push(model);
        }
    }

    fn table<'a>(&mut self, key: &str, item: &'a Item, at: Option<usize>) -> Option<&'a dyn TableLike> {
        let table = item.as_table_like();
        if table.is_none() {
            let message = format!("must be a table, not {}", article(item.type_name()));
            self.fail(key, at, message, None);
        }
        table
    }

    fn value<T>(&mut self, key: &str, at: Option<usize>, read: Result<T, Wrong>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.fail(key, at, wrong.message, wrong.hint);
                None
            }
        }
    }

    /// Reads one value, or a list of them.
    fn values<T>(
        &mut self,
        key: &str,
        at: Option<usize>,
        item: &Item,
        read: fn(&Item) -> Result<T, Wrong>,
    ) -> Vec<T> {
        let Some(array) = item.as_array() else {
            return self.value(key, at, read(item)).into_iter().collect();
        };
        if array.is_empty() {
            let hint = Some("remove the key to leave it unset".to_owned());
            self.fail(key, at, "must not be empty".to_owned(), hint);
        }
        let items: Vec<Item> = array.iter().map(|value| Item::Value(value.clone())).collect();
        items.iter().filter_map(|item| self.value(key, at, read(item))).collect()
    }

    fn fail(&mut self, key: &str, start: Option<usize>, message: String, hint: Option<String>) {
        let colon = if key.is_empty() { "" } else { ": " };
        self.provider.wrong.push(format!("{key}{colon}{message}"));
        self.report(key, start, Severity::Error, message, hint);
    }

    fn report(
        &mut self,
        key: &str,
        start: Option<usize>,
        severity: Severity,
        message: String,
        hint: Option<String>,
    ) {
        let dot = if key.is_empty() { "" } else { "." };
        let key = format!("providers.{}{dot}{key}", self.provider.name);
        self.found.push(Found { start, key, severity, message, hint });
    }
}
