//! Steps that are no work of their own and get one dimmed line: agents, reviews, hooks, unknown kinds.
//!
//! The raw text only: `notice::dim` makes it harmless and joins it into one line.

use talaria_core::item::{ItemBody, MessageQuestion};

/// The line for a step that is only worth a note.
pub fn note(body: &ItemBody) -> Option<String> {
    Some(match body {
        ItemBody::Compaction(facts) => facts.words(),
        ItemBody::HookPrompt { text } => format!("a hook said: {text}"),
        ItemBody::ToolOutput { tool, .. } => format!("output of {tool}"),
        ItemBody::AgentActivity { activity, path, model: Some(model), .. } => {
            format!("agent {path} ({model}): {activity}")
        }
        ItemBody::AgentActivity { activity, path, model: None, .. } => format!("agent {path}: {activity}"),
        ItemBody::ReviewStarted { review } => format!("review begins: {review}"),
        // Its findings follow as a message.
        ItemBody::ReviewEnded { .. } => "review ended".to_owned(),
        ItemBody::Other { name, .. } => format!("step: {name}"),
        _ => return None,
    })
}

/// The line for the text that Talaria sent the model about a request that was declined.
pub fn told_model(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    format!("sent to the model: {}", lines.join(" "))
}

/// The line for something that the model asks in passing.
pub fn question(question: &MessageQuestion) -> String {
    match question.options.as_slice() {
        [] => format!("? {}", question.title),
        options => format!("? {} ({})", question.title, options.join(" / ")),
    }
}
