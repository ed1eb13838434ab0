//! Sizes and prices of well-known models. Data written as code.
//!
//! From the vendors' price pages by way of a public table, on the day of `AS_OF`. Prices change: every figure can be
//! overridden in the configuration, and a model that is not here has an unknown price, not none.

use super::{ModelFacts, ModelFactsSource, PriceTier};

const AS_OF: &str = "2026-08-08";

/// One model.
struct KnownModel {
    provider: &'static str,
    name: &'static str,
    window: u64,
    max_output: Option<u64>,
    images: bool,
    prices: &'static [PriceTier],
}

/// The names of the models of a provider.
pub(super) fn names(provider: &str) -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter(move |known| known.provider == provider).map(|known| known.name)
}

/// Finds a model of a provider by its name, with or without a date at the end. A relay names models `vendor/name`: it has
/// the sizes of the vendor's model and prices of its own.
pub(super) fn find(provider: &str, model: &str) -> Option<ModelFacts> {
    let known = KNOWN.iter().find(|known| known.provider == provider && is_same(known.name, model));
    known.map(facts).or_else(|| {
        let (_, name) = model.split_once('/')?;
        let name = name.split(':').next().unwrap_or(name).replace('.', "-");
        let known = KNOWN.iter().find(|known| is_same(&known.name.replace('.', "-"), &name))?;
        Some(ModelFacts { prices: Vec::new(), as_of: None, ..facts(known) })
    })
}

fn is_same(known: &str, model: &str) -> bool {
    model.strip_prefix(known).is_some_and(|rest| {
        let date = rest.strip_prefix('-').unwrap_or(rest);
        let digits = date.bytes().filter(u8::is_ascii_digit).count();
        rest.is_empty()
            || (rest.len() > date.len()
                && digits == 8
                && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
    })
}

fn facts(known: &KnownModel) -> ModelFacts {
    ModelFacts {
        window: Some(known.window),
        max_output: known.max_output,
        efforts: None,
        images: Some(known.images),
        prices: known.prices.to_vec(),
        source: ModelFactsSource::BuiltIn,
        as_of: Some(AS_OF.to_owned()),
    }
}

const fn tier(
    above_input: u64,
    input: u64,
    cached: Option<u64>,
    cache_write_short: Option<u64>,
    cache_write_long: Option<u64>,
    output: u64,
) -> PriceTier {
    PriceTier { above_input, input, cached, cache_write_short, cache_write_long, output }
}

const fn model(
    provider: &'static str,
    name: &'static str,
    window: u64,
    max_output: Option<u64>,
    images: bool,
    prices: &'static [PriceTier],
) -> KnownModel {
    KnownModel { provider, name, window, max_output, images, prices }
}

#[rustfmt::skip]
const KNOWN: &[KnownModel] = &[
    model("openai", "gpt-5.6", 1_050_000, Some(128_000), true, &[tier(0, 5_000_000, Some(500_000), Some(6_250_000), None, 30_000_000), tier(272_000, 10_000_000, Some(1_000_000), Some(12_500_000), None, 45_000_000)]),
    model("openai", "gpt-5.6-sol", 1_050_000, Some(128_000), true, &[tier(0, 5_000_000, Some(500_000), Some(6_250_000), None, 30_000_000), tier(272_000, 10_000_000, Some(1_000_000), Some(12_500_000), None, 45_000_000)]),
    model("openai", "gpt-5.6-terra", 1_050_000, Some(128_000), true, &[tier(0, 2_000_000, Some(200_000), Some(2_500_000), None, 12_000_000), tier(272_000, 4_000_000, Some(400_000), Some(5_000_000), None, 18_000_000)]),
    model("openai", "gpt-5.6-luna", 1_050_000, Some(128_000), true, &[tier(0, 200_000, Some(20_000), Some(250_000), None, 1_200_000), tier(272_000, 400_000, Some(40_000), Some(500_000), None, 1_800_000)]),
    model("openai", "gpt-5.5", 1_050_000, Some(128_000), true, &[tier(0, 5_000_000, Some(500_000), None, None, 30_000_000), tier(272_000, 10_000_000, Some(1_000_000), None, None, 45_000_000)]),
    model("openai", "gpt-5.4", 1_050_000, Some(128_000), true, &[tier(0, 2_500_000, Some(250_000), None, None, 15_000_000), tier(272_000, 5_000_000, Some(500_000), None, None, 22_500_000)]),
    model("openai", "gpt-5.4-mini", 400_000, Some(128_000), true, &[tier(0, 750_000, Some(75_000), None, None, 4_500_000)]),
    model("openai", "gpt-5.4-nano", 400_000, Some(128_000), true, &[tier(0, 200_000, Some(20_000), None, None, 1_250_000)]),
    model("openai", "gpt-5.3-codex", 400_000, Some(128_000), true, &[tier(0, 1_750_000, Some(175_000), None, None, 14_000_000)]),
    model("openai", "gpt-5.2", 400_000, Some(128_000), true, &[tier(0, 1_750_000, Some(175_000), None, None, 14_000_000)]),
    model("openai", "gpt-5.2-codex", 400_000, Some(128_000), true, &[tier(0, 1_750_000, Some(175_000), None, None, 14_000_000)]),
    model("openai", "gpt-5.1", 400_000, Some(128_000), true, &[tier(0, 1_250_000, Some(125_000), None, None, 10_000_000)]),
    model("openai", "gpt-5.1-codex", 400_000, Some(128_000), true, &[tier(0, 1_250_000, Some(125_000), None, None, 10_000_000)]),
    model("openai", "gpt-5.1-codex-max", 400_000, Some(128_000), true, &[tier(0, 1_250_000, Some(125_000), None, None, 10_000_000)]),
    model("openai", "gpt-5.1-codex-mini", 400_000, Some(128_000), true, &[tier(0, 250_000, Some(25_000), None, None, 2_000_000)]),
    model("openai", "gpt-5", 400_000, Some(128_000), true, &[tier(0, 1_250_000, Some(125_000), None, None, 10_000_000)]),
    model("openai", "gpt-5-mini", 400_000, Some(128_000), true, &[tier(0, 250_000, Some(25_000), None, None, 2_000_000)]),
    model("openai", "gpt-5-nano", 400_000, Some(128_000), true, &[tier(0, 50_000, Some(5_000), None, None, 400_000)]),
    model("anthropic", "claude-fable-5", 1_000_000, Some(128_000), true, &[tier(0, 10_000_000, Some(1_000_000), Some(12_500_000), Some(20_000_000), 50_000_000)]),
    model("anthropic", "claude-opus-5", 1_000_000, Some(128_000), true, &[tier(0, 5_000_000, Some(500_000), Some(6_250_000), Some(10_000_000), 25_000_000)]),
    model("anthropic", "claude-opus-4-8", 1_000_000, Some(128_000), true, &[tier(0, 5_000_000, Some(500_000), Some(6_250_000), Some(10_000_000), 25_000_000)]),
    model("anthropic", "claude-opus-4-7", 1_000_000, Some(128_000), true, &[tier(0, 5_000_000, Some(500_000), Some(6_250_000), Some(10_000_000), 25_000_000)]),
    model("anthropic", "claude-opus-4-6", 1_000_000, Some(128_000), true, &[tier(0, 5_000_000, Some(500_000), Some(6_250_000), Some(10_000_000), 25_000_000)]),
    model("anthropic", "claude-opus-4-5", 200_000, Some(64_000), true, &[tier(0, 5_000_000, Some(500_000), Some(6_250_000), Some(10_000_000), 25_000_000)]),
    model("anthropic", "claude-sonnet-5", 1_000_000, Some(128_000), true, &[tier(0, 2_000_000, Some(200_000), Some(2_500_000), Some(4_000_000), 10_000_000)]),
    model("anthropic", "claude-sonnet-4-6", 1_000_000, Some(64_000), true, &[tier(0, 3_000_000, Some(300_000), Some(3_750_000), Some(6_000_000), 15_000_000)]),
    model("anthropic", "claude-haiku-4-5", 200_000, Some(64_000), true, &[tier(0, 1_000_000, Some(100_000), Some(1_250_000), Some(2_000_000), 5_000_000)]),
    model("anthropic", "claude-sonnet-4-5", 200_000, Some(64_000), true, &[tier(0, 3_000_000, Some(300_000), Some(3_750_000), Some(6_000_000), 15_000_000), tier(200_000, 6_000_000, Some(600_000), Some(7_500_000), Some(12_000_000), 22_500_000)]),
    model("deepseek", "deepseek-v4-pro", 1_000_000, None, false, &[tier(0, 435_000, Some(3_625), None, None, 870_000)]),
    model("deepseek", "deepseek-v4-flash", 1_000_000, None, false, &[tier(0, 140_000, Some(2_800), None, None, 280_000)]),
    model("deepseek", "deepseek-chat", 131_072, Some(8_192), false, &[tier(0, 280_000, Some(28_000), None, None, 420_000)]),
    model("deepseek", "deepseek-reasoner", 131_072, Some(65_536), false, &[tier(0, 280_000, Some(28_000), None, None, 420_000)]),
    model("kimi", "kimi-k2.6", 262_144, None, true, &[tier(0, 950_000, Some(160_000), None, None, 4_000_000)]),
    model("kimi", "kimi-k2.5", 262_144, None, true, &[tier(0, 600_000, Some(100_000), None, None, 3_000_000)]),
    model("glm", "glm-5.1", 200_000, Some(128_000), false, &[tier(0, 1_400_000, Some(260_000), None, None, 4_400_000)]),
    model("glm", "glm-5", 200_000, Some(128_000), false, &[tier(0, 1_000_000, Some(200_000), None, None, 3_200_000)]),
    model("glm", "glm-4.7", 200_000, Some(128_000), false, &[tier(0, 600_000, Some(110_000), None, None, 2_200_000)]),
    model("glm", "glm-4.6", 200_000, Some(128_000), false, &[tier(0, 600_000, Some(110_000), None, None, 2_200_000)]),
    model("qwen", "qwen3.7-max", 991_808, Some(65_536), false, &[tier(0, 2_500_000, Some(500_000), None, None, 7_500_000)]),
    model("qwen", "qwen3-max", 258_048, Some(65_536), false, &[]),
    model("qwen", "qwen3-coder-plus", 997_952, Some(65_536), false, &[]),
    model("xai", "grok-4.5", 500_000, None, true, &[tier(0, 2_000_000, Some(500_000), None, None, 6_000_000), tier(200_000, 4_000_000, Some(1_000_000), None, None, 12_000_000)]),
    model("xai", "grok-4.3", 1_000_000, None, true, &[tier(0, 1_250_000, Some(200_000), None, None, 2_500_000), tier(200_000, 2_500_000, Some(400_000), None, None, 5_000_000)]),
    model("xai", "grok-code-fast-1", 256_000, None, false, &[tier(0, 200_000, Some(20_000), None, None, 1_500_000)]),
    model("gemini", "gemini-3.1-pro-preview", 1_048_576, Some(65_536), true, &[tier(0, 2_000_000, Some(200_000), None, None, 12_000_000), tier(200_000, 4_000_000, Some(400_000), None, None, 18_000_000)]),
    model("gemini", "gemini-3.6-flash", 1_048_576, Some(65_536), true, &[tier(0, 1_500_000, Some(150_000), None, None, 7_500_000)]),
    model("gemini", "gemini-3.5-flash", 1_048_576, Some(65_535), true, &[tier(0, 1_500_000, Some(150_000), None, None, 9_000_000)]),
    model("gemini", "gemini-3.5-flash-lite", 1_048_576, Some(65_536), true, &[tier(0, 300_000, Some(30_000), None, None, 2_500_000)]),
    model("gemini", "gemini-2.5-pro", 1_048_576, Some(65_535), true, &[tier(0, 1_250_000, Some(125_000), None, None, 10_000_000), tier(200_000, 2_500_000, Some(250_000), None, None, 15_000_000)]),
    model("gemini", "gemini-2.5-flash", 1_048_576, Some(65_535), true, &[tier(0, 300_000, Some(30_000), None, None, 2_500_000)]),
    model("groq", "openai/gpt-oss-120b", 131_072, Some(32_766), false, &[tier(0, 150_000, Some(75_000), None, None, 600_000)]),
    model("groq", "openai/gpt-oss-20b", 131_072, Some(32_768), false, &[tier(0, 75_000, Some(37_500), None, None, 300_000)]),
    model("groq", "llama-3.3-70b-versatile", 128_000, Some(32_768), false, &[tier(0, 590_000, None, None, None, 790_000)]),
    model("mistral", "mistral-large-latest", 262_144, None, true, &[tier(0, 500_000, None, None, None, 1_500_000)]),
    model("mistral", "mistral-medium-latest", 262_144, None, true, &[tier(0, 1_500_000, None, None, None, 7_500_000)]),
];
