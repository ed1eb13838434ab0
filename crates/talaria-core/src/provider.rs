//! A model provider as the user configured it: `[providers.NAME]` as data.
//!
//! Every field may be missing where the name is one of the built-in providers, whose profile then supplies it. No key is in
//! here: the configuration names the variable or the file that contains it. Read by `config/providers`, applied to profiles
//! by `talaria-agent`.

use std::time::Duration;

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// Names of the providers that need no address: `talaria-agent` has a profile for each.
pub const BUILT_IN_PROVIDERS: [&str; 18] = [
    "openai",
    "anthropic",
    "openrouter",
    "deepseek",
    "kimi",
    "glm",
    "qwen",
    "xai",
    "gemini",
    "groq",
    "mistral",
    "mimo",
    "minimax",
    "nvidia",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
];

/// The name of OpenAI, which both runtimes can ask.
pub const OPENAI_PROVIDER: &str = "openai";

/// The name that always means Codex: its subscription login can be used by one program only.
pub const CODEX_PROVIDER: &str = "openai-codex";

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderApi {
    /// OpenAI Responses.
    Responses,
    /// Chat Completions.
    Chat,
    /// Anthropic Messages.
    Messages,
}

impl ProviderApi {
    /// Every word for it.
    pub const NAMES: [&'static str; 3] = ["responses", "chat", "messages"];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Messages => "messages",
        }
    }
}

/// A model of a fallback chain: `provider/model`. Names of models may have slashes, those of providers have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackModel {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
}

impl FromStr for FallbackModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().split_once('/') {
            Some((CODEX_PROVIDER, _)) => Err(format!(
                "{CODEX_PROVIDER} runs on Codex, which cannot continue a turn of the built-in loop"
            )),
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
            }
            _ => Err(format!("{text:?} is not a provider and a model with a slash between them")),
        }
    }
}

impl fmt::Display for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// Which of several keys a turn begins with. It keeps its key until that one fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyStrategy {
    /// The first that works.
    #[default]
    FillFirst,
    /// The one that was used least recently.
    RoundRobin,
}

impl KeyStrategy {
    /// Every word for it.
    pub const NAMES: [&'static str; 2] = ["fill_first", "round_robin"];
}

/// A provider in the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderConfig {
    /// Its name.
    pub name: String,
    /// Where it is, with the version and without a slash at the end.
    pub base_url: Option<String>,
    /// How it is spoken to.
    pub api: Option<ProviderApi>,
    /// The environment variables with its keys. Empty: those of the built-in provider.
    pub key_env: Vec<String>,
    /// The files with its keys; as written, a leading `~` included.
    pub key_file: Vec<String>,
    /// Which of several keys is used.
    pub key_strategy: KeyStrategy,
    /// The most requests at once with one key.
    pub max_concurrent: Option<u64>,
    /// The models that are asked when one of this provider fails. None: those of `model.fallback`.
    pub fallback: Option<Vec<FallbackModel>>,
    /// Further headers of every request.
    pub headers: Vec<(String, String)>,
    /// Members that are added to every request body.
    pub extra_body: Map<String, Value>,
    /// How long it may be silent before a request counts as cut.
    pub idle_timeout: Option<Duration>,
    /// Whether it searches the web itself while the model answers.
    pub web_search: bool,
    /// The known facts about its models.
    pub models: Vec<ProviderModelConfig>,
    /// Why it cannot be used; the same as the problems of the file.
    pub wrong: Vec<String>,
}

/// A model of a provider in the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderModelConfig {
    /// Its name.
    pub name: String,
    /// Tokens that fit its context.
    pub context: Option<u64>,
    /// The most tokens that it writes.
    pub max_output: Option<u64>,
    /// What it costs.
    pub price: Option<ModelPrice>,
}

/// The price of a model, in millionths of a dollar for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelPrice {
    /// Input.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the cache.
    pub cached: Option<u64>,
    /// Input written to the cache.
    pub cache_write: Option<u64>,
}
