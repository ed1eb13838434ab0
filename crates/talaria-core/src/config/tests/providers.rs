//! What `[providers.NAME]` accepts, and the messages about mistakes in it.

use serde_json::json;

use super::{check, expect, parse};
use crate::provider::{KeyStrategy, ModelPrice, ProviderApi};

#[test]
fn a_provider_is_read_with_all_its_keys() {
    let text = r#"
[providers.house]
base_url = "https://models.example.com/v1/"
api = "chat"
key_file = "~/.keys/house"
headers = { X-Team = "blue" }
extra_body = { provider = { order = ["a", "b"] }, top_k = 4, seed = true, ratio = 0.5 }
[providers.house.models."big/one"]
context = 128000
max_output = 8000
price = { input = 3, output = 15.5, cached = 0.3 }
[providers.openai]
key_env = "WORK_KEY"
"#;
    let providers = check(text, &expect![""]).providers;
    let house = &providers[0];
    assert_eq!(house.base_url.as_deref(), Some("https://models.example.com/v1"));
    assert_eq!(
        (house.api, house.key_file.as_slice()),
        (Some(ProviderApi::Chat), &["~/.keys/house".to_owned()][..])
    );
    assert_eq!(house.headers, [("x-team".to_owned(), "blue".to_owned())]);
    let body = json!({ "provider": { "order": ["a", "b"] }, "top_k": 4, "seed": true, "ratio": 0.5 });
    assert_eq!(json!(house.extra_body), body);
    let model = &house.models[0];
    assert_eq!(
        (model.name.as_str(), model.context, model.max_output),
        ("big/one", Some(128_000), Some(8000))
    );
    let price = ModelPrice { input: 3_000_000, output: 15_500_000, cached: Some(300_000), cache_write: None };
    assert_eq!(model.price, Some(price));
    assert_eq!(providers[1].key_env, ["WORK_KEY"]);
    assert!(providers.iter().all(|provider| provider.wrong.is_empty()));
}

#[test]
fn several_keys_and_models_that_take_over_are_lists() {
    let text = r#"
[model]
fallback = ["openrouter/anthropic/claude-sonnet-4.5", "ollama/qwen3"]
fallback_on_refusal = true
[providers.openai]
key_env = ["WORK_KEY", "HOME_KEY"]
key_strategy = "round_robin"
max_concurrent = 2
fallback = []
[providers.groq]
key_env = []
key_strategy = "random"
fallback = ["groq", "openai-codex/gpt-5.5"]
[providers.xai]
key_env = ["A", "sk-secret"]
max_concurrent = 0
fallback = "groq/x"
"#;
    let config = check(
        text,
        &expect![[r#"
        error line 11: providers.groq.key_env: must not be empty; remove the key to leave it unset
        error line 12: providers.groq.key_strategy: "random" is not known; allowed: fill_first, round_robin
        error line 13: providers.groq.fallback: "groq" is not a provider and a model with a slash between them; write ["openrouter/anthropic/claude-sonnet-4.5"]
        error line 15: providers.xai.key_env: must be the name of an environment variable, not the secret itself
        error line 16: providers.xai.max_concurrent: must be a whole number above 0, not 0
        error line 17: providers.xai.fallback: must be a list of provider/model, not a string
    "#]],
    );
    let fallback: Vec<String> = config.model.fallback.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(fallback, ["openrouter/anthropic/claude-sonnet-4.5", "ollama/qwen3"]);
    assert_eq!(config.model.fallback_on_refusal, Some(true));
    let openai = &config.providers[0];
    assert_eq!((openai.key_env.len(), openai.key_strategy), (2, KeyStrategy::RoundRobin));
    assert_eq!((openai.max_concurrent, openai.fallback.as_deref()), (Some(2), Some(&[][..])));
    assert!(openai.wrong.is_empty() && config.providers[1..].iter().all(|one| !one.wrong.is_empty()));
}

#[test]
fn every_mistake_has_its_line_and_no_secret_is_repeated() {
    let text = r#"
[providers.house]
base_url = "https://me:sk-secret@models.example.com/v1"
api = "chats"
key_env = "sk-secret"
key_file = 7
headers = { Authorization = "Bearer sk-secret", "a b" = "x", host = "y", x-n = 1 }
extra_body = { stream = false, at = 1979-05-27 }
model = "x"
[providers.house.models.one]
context = "128k"
max_outputs = 5
price = { input = 1 }
[providers.openrouterr]
key_env = "A"
[providers.openai-codex]
key_env = "A"
[providers.openai]
base_url = "http://models.example.com/v1/chat/completions"
key_env = "A"
key_file = "b"
[providers.groq]
base_url = "http://models.example.com/v1"
[providers]
"a b" = 1
"#;
    check(
        text,
        &expect![[r#"
            error line 3: providers.house.base_url: must be an http or https address without a login, ? and #; such as "https://models.example.com/v1"
            error line 4: providers.house.api: "chats" is not known; allowed: responses, chat, messages; did you mean chat?
            error line 5: providers.house.key_env: must be the name of an environment variable, not the secret itself
            error line 6: providers.house.key_file: must be a string, not an integer
            error line 7: providers.house.headers.Authorization: carries a key, and keys do not belong in this file; use key_env or key_file
            error line 7: providers.house.headers.a b: is not a name of a header
            error line 7: providers.house.headers.host: is written by Talaria for every request
            error line 7: providers.house.headers.x-n: must be a string, not an integer
            error line 8: providers.house.extra_body.stream: is written by Talaria for every request
            error line 8: providers.house.extra_body.at: must be a value that JSON has, not a datetime
            warning line 9: providers.house.model: unknown key; did you mean models?
            error line 11: providers.house.models.one.context: must be a whole number above 0, not a string
            warning line 12: providers.house.models.one.max_outputs: unknown key; did you mean max_output?
            error line 13: providers.house.models.one.price: needs input and output; write { input = 3.0, output = 15.0, cached = 0.3 }, dollars for a million tokens
            error line 14: providers.openrouterr: is not built in, so it needs base_url and api; did you mean openrouter?
            error line 16: providers.openai-codex: is Codex with its own login, which no other program can share; use [providers.openai] with an API key, or another name
            error line 19: providers.openai.base_url: must end before /chat/completions, which Talaria adds; write "http://models.example.com/v1"
            error line 21: providers.openai.key_file: key_env is set as well, and the keys of a provider are all in variables or all in files; remove one of them
            warning line 23: providers.groq.base_url: sends keys and conversations to http://models.example.com/v1 without encryption; use https
            error line 25: providers.a b: must be a table, not an integer; write [providers.NAME]
        "#]],
    );
    let parsed = parse(text).unwrap();
    let house = &parsed.config.providers[0];
    assert!(!house.wrong.is_empty() && house.base_url.is_none());
    assert!(!format!("{:?}", parsed.problems).contains("sk-secret"), "{:?}", parsed.problems);
}

#[test]
fn a_section_that_is_no_table_is_named() {
    check(
        "providers = 1\n",
        &expect![[r#"
            error line 1: providers: must be a section, not an integer; write [providers.NAME] for each of them
        "#]],
    );
}
