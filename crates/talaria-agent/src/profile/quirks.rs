//! In what servers of one family differ, as data. Each field names one difference that was observed.

use serde::{Deserialize, Serialize};

use crate::family::ModelFamily;

/// The member that limits the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimitField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// `max_output_tokens`.
    MaxOutputTokens,
}

impl OutputLimitField {
    /// The member's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxOutputTokens => "max_output_tokens",
        }
    }
}

/// How the operator's words are addressed in the middle of a conversation, and the system prompt in Chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorRole {
    /// `developer`.
    Developer,
    /// `system`.
    System,
    /// There is none: they become a marked part of the person's words.
    User,
}

/// The member of a Chat message that carries reasoning back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningField {
    /// `reasoning_content`, text.
    ReasoningContent,
    /// `reasoning`, text.
    Reasoning,
    /// `reasoning_details`, the relay's own list.
    Details,
    /// Parts of type `thinking` in the content.
    ThinkingParts,
}

/// When reasoning is sent back on assistant messages. It never leaves the provider and model that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReturn {
    /// Never.
    Never,
    /// On messages with calls.
    OnCalls,
    /// On every message; where there was none, this text replaces it (servers differ on the empty string).
    Always {
        /// The text.
        empty: &'static str,
    },
}

/// What an id of a call may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIdRule {
    /// At most this many characters of any kind.
    AtMost(usize),
    /// Exactly nine letters and digits.
    NineAlphanumeric,
    /// Letters, digits, `_` and `-`, at most 64.
    Word64,
}

/// The form of a tool result's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolContentForm {
    /// A string; images of a result follow in a message of the person's.
    Text,
    /// Parts, images among them.
    Parts,
}

/// How an effort is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingParam {
    /// It is not.
    None,
    /// `reasoning_effort: "high"`.
    ReasoningEffort,
    /// `reasoning: {"effort": "high"}`.
    ReasoningObject,
    /// `thinking: {"type": "enabled"}`, or `disabled` for the effort `none`.
    ThinkingType,
    /// `enable_thinking: true`.
    EnableThinking,
    /// `chat_template_kwargs: {"enable_thinking": true}`.
    ChatTemplate,
    /// `thinking: {"type": "adaptive"}` with `output_config: {"effort": …}`, by model a budget of tokens.
    Adaptive,
}

/// How the provider's prompt cache is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMarking {
    /// The server finds equal prefixes by itself, or has no cache.
    Automatic,
    /// `prompt_cache_key` routes requests of one conversation to one cache.
    Key,
    /// `cache_control` on the head and on the last two messages of the person.
    Marks,
    /// `cache_control` on parts of Chat messages, for models that need it; a relay passes it on.
    PartMarks,
}

/// Where thinking may be in the text of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InlineThinking {
    /// Nowhere: tags are ordinary text.
    Never,
    /// In one `<think>` block at the beginning of the answer.
    AtStart,
}

/// How a provider is asked to search the web itself, while the model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderSearch {
    /// It is not.
    None,
    /// A tool of type `web_search`.
    ResponsesTool,
    /// A tool of type `web_search_20250305`.
    MessagesTool,
    /// `plugins: [{"id": "web"}]`, which searches before the model answers.
    Plugin,
}

/// In what a server differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderQuirks {
    /// The member that limits the output.
    pub output_limit: OutputLimitField,
    /// How the operator is named.
    pub operator: OperatorRole,
    /// Does it accept `stream_options: {"include_usage": true}`?
    pub stream_usage: bool,
    /// Does it accept `strict` in tools, and take a tool without it for strict?
    pub strict_tools: bool,
    /// Does it accept `parallel_tool_calls`?
    pub parallel_calls: bool,
    /// Does it accept `store`?
    pub store: bool,
    /// Which member carries reasoning back.
    pub reasoning_field: ReasoningField,
    /// When reasoning goes back.
    pub reasoning_return: ReasoningReturn,
    /// Ids of calls.
    pub call_ids: CallIdRule,
    /// The form of tool results.
    pub tool_content: ToolContentForm,
    /// How an effort is asked for.
    pub thinking: ThinkingParam,
    /// Does it want a message of the model between a tool result and the person's words?
    pub assistant_between: bool,
    /// How its cache is used.
    pub cache: CacheMarking,
    /// Does it cut input that is too long without a word?
    pub silent_overflow: bool,
    /// Does it say `stop` for text that was cut at the output limit?
    pub stop_when_cut: bool,
    /// Does it sign calls (`extra_content`), and want the signature back?
    pub signed_calls: bool,
    /// Where thinking may be in the text.
    pub inline_thinking: InlineThinking,
    /// How it is asked to search the web itself.
    pub search: ProviderSearch,
    /// Does it take a tool named `web_search` for its own?
    pub reserves_search_name: bool,
}

impl ProviderQuirks {
    /// The usual behaviour of a family.
    pub fn of(family: ModelFamily) -> Self {
        let chat = Self {
            output_limit: OutputLimitField::MaxTokens,
            operator: OperatorRole::System,
            stream_usage: true,
            strict_tools: false,
            parallel_calls: false,
            store: false,
            reasoning_field: ReasoningField::ReasoningContent,
            reasoning_return: ReasoningReturn::Never,
            call_ids: CallIdRule::AtMost(40),
            tool_content: ToolContentForm::Text,
            thinking: ThinkingParam::None,
            assistant_between: false,
            cache: CacheMarking::Automatic,
            silent_overflow: false,
            stop_when_cut: false,
            signed_calls: false,
            inline_thinking: InlineThinking::AtStart,
            search: ProviderSearch::None,
            reserves_search_name: false,
        };
        match family {
            ModelFamily::Chat => chat,
            ModelFamily::Responses => Self {
                output_limit: OutputLimitField::MaxOutputTokens,
                operator: OperatorRole::Developer,
                strict_tools: true,
                parallel_calls: true,
                store: true,
                call_ids: CallIdRule::AtMost(64),
                tool_content: ToolContentForm::Parts,
                thinking: ThinkingParam::ReasoningObject,
                cache: CacheMarking::Key,
                inline_thinking: InlineThinking::Never,
                search: ProviderSearch::ResponsesTool,
                ..chat
            },
            ModelFamily::Messages => Self {
                operator: OperatorRole::User,
                call_ids: CallIdRule::Word64,
                tool_content: ToolContentForm::Parts,
                thinking: ThinkingParam::Adaptive,
                cache: CacheMarking::Marks,
                inline_thinking: InlineThinking::Never,
                search: ProviderSearch::MessagesTool,
                ..chat
            },
        }
    }
}
