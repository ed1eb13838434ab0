//! The providers that need no configuration but a key. Data written as code; addresses and quirks as the vendors document
//! them or as they were observed.

use super::{
    CacheMarking, CallIdRule, InlineThinking, OutputLimitField, ProviderProfile, ProviderQuirks,
    ProviderSearch, ReasoningField, ReasoningReturn, ThinkingParam,
};
use crate::family::ModelFamily;

/// Returns the profile of a provider that is built in.
pub fn builtin_profile(name: &str) -> Option<ProviderProfile> {
    builtin_profiles().into_iter().find(|profile| profile.name == name)
}

/// Returns every profile that is built in. Subscriptions of ChatGPT are not among them: their refresh tokens can be used
/// once, so a second program with the same login would end Codex's.
pub fn builtin_profiles() -> Vec<ProviderProfile> {
    let chat = ProviderQuirks::of(ModelFamily::Chat);
    let mut profiles = vec![
        profile("openai", "OpenAI", ModelFamily::Responses, "https://api.openai.com/v1", &["OPENAI_API_KEY"]),
        profile(
            "anthropic",
            "Anthropic",
            ModelFamily::Messages,
            "https://api.anthropic.com/v1",
            &["ANTHROPIC_API_KEY"],
        ),
        profile(
            "openrouter",
            "OpenRouter",
            ModelFamily::Chat,
            "https://openrouter.ai/api/v1",
            &["OPENROUTER_API_KEY"],
        )
        .with(ProviderQuirks {
            reasoning_field: ReasoningField::Details,
            reasoning_return: ReasoningReturn::OnCalls,
            thinking: ThinkingParam::ReasoningObject,
            cache: CacheMarking::PartMarks,
            parallel_calls: true,
            inline_thinking: InlineThinking::Never,
            search: ProviderSearch::Plugin,
            ..chat
        }),
        profile(
            "deepseek",
            "DeepSeek",
            ModelFamily::Chat,
            "https://api.deepseek.com/v1",
            &["DEEPSEEK_API_KEY"],
        )
        .with(ProviderQuirks {
            reasoning_return: ReasoningReturn::Always { empty: "" },
            thinking: ThinkingParam::ThinkingType,
            ..chat
        }),
        profile(
            "kimi",
            "Kimi (Moonshot)",
            ModelFamily::Chat,
            "https://api.moonshot.ai/v1",
            &["MOONSHOT_API_KEY", "KIMI_API_KEY"],
        )
        .with(ProviderQuirks {
            reasoning_return: ReasoningReturn::Always { empty: " " },
            thinking: ThinkingParam::ThinkingType,
            ..chat
        }),
        profile(
            "glm",
            "GLM (Z.ai)",
            ModelFamily::Chat,
            "https://api.z.ai/api/paas/v4",
            &["ZAI_API_KEY", "GLM_API_KEY"],
        )
        .with(ProviderQuirks {
            reasoning_return: ReasoningReturn::OnCalls,
            thinking: ThinkingParam::ThinkingType,
            silent_overflow: true,
            ..chat
        }),
        profile(
            "qwen",
            "Qwen (DashScope)",
            ModelFamily::Chat,
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            &["DASHSCOPE_API_KEY"],
        )
        .with(ProviderQuirks {
            thinking: ThinkingParam::EnableThinking,
            parallel_calls: true,
            ..chat
        }),
        // Its Responses API refuses `service_tier`, which is never sent; reasoning comes back sealed and is replayed.
        profile("xai", "xAI", ModelFamily::Responses, "https://api.x.ai/v1", &["XAI_API_KEY"]).with(
            ProviderQuirks { reserves_search_name: true, ..ProviderQuirks::of(ModelFamily::Responses) },
        ),
        profile(
            "gemini",
            "Gemini (compatible endpoint)",
            ModelFamily::Chat,
            "https://generativelanguage.googleapis.com/v1beta/openai",
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        )
        .with(ProviderQuirks {
            signed_calls: true,
            thinking: ThinkingParam::ReasoningEffort,
            inline_thinking: InlineThinking::Never,
            ..chat
        }),
        profile("groq", "Groq", ModelFamily::Chat, "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]).with(
            ProviderQuirks {
                output_limit: OutputLimitField::MaxCompletionTokens,
                reasoning_field: ReasoningField::Reasoning,
                thinking: ThinkingParam::ReasoningEffort,
                parallel_calls: true,
                ..chat
            },
        ),
        profile("mistral", "Mistral", ModelFamily::Chat, "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"])
            .with(ProviderQuirks {
                reasoning_field: ReasoningField::ThinkingParts,
                call_ids: CallIdRule::NineAlphanumeric,
                assistant_between: true,
                stream_usage: false,
                parallel_calls: true,
                inline_thinking: InlineThinking::Never,
                ..chat
            }),
        profile(
            "mimo",
            "MiMo (Xiaomi)",
            ModelFamily::Chat,
            "https://api.xiaomimimo.com/v1",
            &["XIAOMI_API_KEY", "MIMO_API_KEY"],
        )
        .with(ProviderQuirks {
            reasoning_return: ReasoningReturn::OnCalls,
            thinking: ThinkingParam::ThinkingType,
            ..chat
        }),
        profile(
            "minimax",
            "MiniMax",
            ModelFamily::Messages,
            "https://api.minimax.io/anthropic/v1",
            &["MINIMAX_API_KEY"],
        )
        .with(ProviderQuirks { search: ProviderSearch::None, ..ProviderQuirks::of(ModelFamily::Messages) }),
        profile(
            "nvidia",
            "NVIDIA NIM",
            ModelFamily::Chat,
            "https://integrate.api.nvidia.com/v1",
            &["NVIDIA_API_KEY"],
        )
        .with(ProviderQuirks { thinking: ThinkingParam::ChatTemplate, ..chat }),
    ];
    let local = |name, title, port: u16, quirks| {
        profile(name, title, ModelFamily::Chat, &format!("http://127.0.0.1:{port}/v1"), &[]).with(quirks)
    };
    profiles.extend([
        local(
            "ollama",
            "Ollama",
            11434,
            ProviderQuirks {
                reasoning_field: ReasoningField::Reasoning,
                thinking: ThinkingParam::ReasoningEffort,
                silent_overflow: true,
                stop_when_cut: true,
                ..chat
            },
        ),
        local("lmstudio", "LM Studio", 1234, chat),
        local(
            "llamacpp",
            "llama.cpp",
            8080,
            ProviderQuirks { reasoning_return: ReasoningReturn::OnCalls, ..chat },
        ),
        local("vllm", "vLLM", 8000, ProviderQuirks { thinking: ThinkingParam::ChatTemplate, ..chat }),
    ]);
    profiles
}

fn profile(
    name: &str,
    title: &str,
    family: ModelFamily,
    base_url: &str,
    key_env: &[&str],
) -> ProviderProfile {
    ProviderProfile {
        title: title.to_owned(),
        key_env: key_env.iter().map(|&name| name.to_owned()).collect(),
        ..ProviderProfile::custom(name, family, base_url)
    }
}

impl ProviderProfile {
    fn with(self, quirks: ProviderQuirks) -> Self {
        Self { quirks, ..self }
    }
}
