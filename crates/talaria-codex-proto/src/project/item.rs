//! Items: Codex's shapes into our vocabulary. Nothing is judged or shortened here; only the bytes of images and sound
//! are left out. Called by the turn machine for every item that began or ended.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::item::{
    CollabCall, HookFragment, ImageGeneration, McpResult, SubAgentActivity, WireBody, WireChange,
    WireChangeKind, WireContent, WireInput, WireItem, WireQuestion, WireSearch, WireSource, WireStatus,
};
use talaria_core::item::{
    AgentState, Attachment, Author, CommandSource, Compaction, FileAction, FileChange, Item, ItemBody,
    MessageQuestion, SearchAction, Status, ToolResult,
};
use talaria_core::tool::is_unknown_outcome;

#[cfg(test)]
mod tests;

/// Converts an item.
pub fn item(wire: WireItem) -> Item {
    Item { id: wire.id, body: body(wire.body) }
}

fn body(wire: WireBody) -> ItemBody {
    match wire {
        WireBody::UserMessage { content, client_id } => user_message(content, client_id),
        WireBody::AgentMessage { text, phase, questions } => {
            ItemBody::AgentMessage { text, phase, questions: questions.into_iter().map(question).collect() }
        }
        WireBody::Reasoning { summary, content } => ItemBody::Reasoning { summary, content },
        WireBody::Plan { text } => ItemBody::Plan { text },
        WireBody::CommandExecution {
            command,
            cwd,
            source,
            status,
            aggregated_output,
            exit_code,
            duration_ms,
        } => ItemBody::Command {
            command,
            cwd,
            source: command_source(source),
            status: self::status(status),
            // Codex writes -1 where there is none: the command was killed, or never started.
            exit_code: exit_code.filter(|&code| code >= 0),
            duration_ms,
            output: aggregated_output,
        },
        WireBody::FileChange { changes, status } => ItemBody::Patch {
            status: self::status(status),
            changes: changes.into_iter().map(file_change).collect(),
        },
        WireBody::McpToolCall { server, tool, status, arguments, result, error, duration_ms } => {
            ItemBody::Tool {
                server,
                tool,
                status: self::status(status),
                arguments,
                result: result.map(mcp_result),
                duration_ms,
                error: error.as_ref().map(error_text),
            }
        }
        WireBody::DynamicToolCall {
            namespace,
            tool,
            status,
            arguments,
            content_items,
            success,
            duration_ms,
        } => {
            let result = content_items.map(tool_result);
            let (status, success) = client_tool_end(self::status(status), success, result.as_ref());
            ItemBody::ClientTool { namespace, tool, status, success, arguments, result, duration_ms }
        }
        WireBody::FunctionCallOutput { name, namespace, output } => {
            ItemBody::ToolOutput { namespace, tool: name, result: tool_result(output) }
        }
        WireBody::HookPrompt { fragments } => ItemBody::HookPrompt { text: hook_text(&fragments) },
        WireBody::CollabAgentToolCall(call) => agents(*call),
        WireBody::SubAgentActivity(activity) => agent_activity(*activity),
        WireBody::WebSearch { query, action } => {
            ItemBody::WebSearch { query, action: action.map(search_action) }
        }
        WireBody::ImageView { path } => ItemBody::ImageView { path },
        WireBody::ImageGeneration(image) => image_generation(*image),
        WireBody::EnteredReviewMode { review } => ItemBody::ReviewStarted { review },
        WireBody::ExitedReviewMode { review } => ItemBody::ReviewEnded { review },
        WireBody::Sleep { duration_ms } => ItemBody::Sleep { duration_ms },
        // Who wanted it, and what it changed, is known to the turn.
        WireBody::ContextCompaction => ItemBody::Compaction(Compaction::default()),
        WireBody::Other { kind, raw } => ItemBody::Other { name: kind, raw },
    }
}

fn user_message(content: Vec<WireInput>, client_id: Option<String>) -> ItemBody {
    let (mut text, mut attachments) = (None, Vec::new());
    for part in content {
        match part {
            WireInput::Text(part) => add_line(&mut text, part),
            WireInput::Other { kind, name } => attachments.push(Attachment { kind: attachment(kind), name }),
        }
    }
    ItemBody::UserMessage { text: text.unwrap_or_default(), attachments, client_id, author: Author::Person }
}

/// Where the file lies is said by its name.
fn attachment(kind: String) -> String {
    match kind.as_str() {
        "localImage" => "image".to_owned(),
        "localAudio" => "audio".to_owned(),
        _ => kind,
    }
}

/// Adds a part to a text; the first one is taken as it is, and mostly there is only one.
fn add_line(text: &mut Option<String>, part: String) {
    match text {
        Some(text) => {
            text.push('\n');
            text.push_str(&part);
        }
        None => *text = Some(part),
    }
}

fn question(wire: WireQuestion) -> MessageQuestion {
    MessageQuestion { title: wire.title, options: wire.options.unwrap_or_default() }
}

fn mcp_result(wire: McpResult) -> ToolResult {
    let mut result = tool_result(wire.content);
    let structured = || wire.structured_content.as_deref().map(RawValue::get).map(str::to_owned);
    result.text = result.text.or_else(structured);
    result
}

/// How a call of a tool of ours ended. Codex knows only success and failure. A result that says that its effect is not known is
/// neither; nor is a failure without any text, which Codex reports of a call that it stopped waiting for.
fn client_tool_end(
    status: Status,
    success: Option<bool>,
    result: Option<&ToolResult>,
) -> (Status, Option<bool>) {
    let has_failed = status == Status::Failed || (status == Status::Completed && success == Some(false));
    let text = result.and_then(|result| result.text.as_deref());
    match has_failed && text.is_none_or(is_unknown_outcome) {
        true => (Status::Unknown, None),
        false => (status, success),
    }
}

fn tool_result(content: Vec<WireContent>) -> ToolResult {
    let mut result = ToolResult::default();
    for part in content {
        match part {
            WireContent::Text(part) => add_line(&mut result.text, part),
            WireContent::Image => result.images += 1,
            WireContent::Other => result.other += 1,
        }
    }
    result
}

fn hook_text(fragments: &[HookFragment]) -> String {
    fragments.iter().map(|fragment| fragment.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn agents(call: CollabCall) -> ItemBody {
    let state = |(thread, state): (_, crate::wire::item::WireAgentState)| AgentState {
        thread,
        status: state.status,
        message: state.message,
    };
    ItemBody::Agents {
        action: call.tool,
        status: status(call.status),
        threads: call.receiver_thread_ids,
        prompt: call.prompt,
        model: call.model,
        effort: call.reasoning_effort,
        agents: call.agents_states.into_iter().map(state).collect(),
    }
}

fn agent_activity(activity: SubAgentActivity) -> ItemBody {
    ItemBody::AgentActivity {
        activity: activity.kind,
        thread: activity.agent_thread_id,
        path: activity.agent_path,
        model: activity.model,
        effort: activity.reasoning_effort,
    }
}

fn search_action(wire: WireSearch) -> SearchAction {
    match wire {
        WireSearch::Search { query, queries } => {
            let one = || query.into_iter().collect();
            SearchAction::Search { queries: queries.filter(|all| !all.is_empty()).unwrap_or_else(one) }
        }
        WireSearch::OpenPage { url } => SearchAction::OpenPage { url },
        WireSearch::FindInPage { url, pattern } => SearchAction::FindInPage { url, pattern },
        WireSearch::Other => SearchAction::Other,
    }
}

fn image_generation(image: ImageGeneration) -> ItemBody {
    let word = |failure: &Value| match failure.get("type").and_then(Value::as_str) {
        Some(word) => word.to_owned(),
        None => failure.to_string(),
    };
    ItemBody::ImageGeneration {
        status: status(image.status),
        prompt: image.revised_prompt,
        path: image.saved_path,
        failure: image.failure.as_ref().map(word),
    }
}

fn error_text(error: &Value) -> String {
    match error.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => error.as_str().map_or_else(|| error.to_string(), str::to_owned),
    }
}

fn status(wire: WireStatus) -> Status {
    match wire {
        WireStatus::InProgress => Status::InProgress,
        WireStatus::Completed => Status::Completed,
        WireStatus::Failed => Status::Failed,
        WireStatus::Declined => Status::Declined,
        WireStatus::Interrupted => Status::Interrupted,
        WireStatus::Other => Status::Unknown,
    }
}

fn command_source(wire: WireSource) -> CommandSource {
    match wire {
        // Two ways of the model to run a command; the item itself changes from one to the other.
        WireSource::Agent | WireSource::UnifiedExecStartup => CommandSource::Agent,
        WireSource::UnifiedExecInteraction => CommandSource::Interaction,
        WireSource::UserShell => CommandSource::User,
        WireSource::Other => CommandSource::Unknown,
    }
}

/// Converts a change of a file.
pub fn file_change(wire: WireChange) -> FileChange {
    let (action, move_to) = match wire.kind {
        WireChangeKind::Add => (FileAction::Add, None),
        WireChangeKind::Delete => (FileAction::Delete, None),
        WireChangeKind::Update { move_path } => (FileAction::Update, move_path),
    };
    FileChange { path: wire.path, action, move_to, diff: wire.diff }
}
