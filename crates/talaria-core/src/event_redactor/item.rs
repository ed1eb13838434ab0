//! The texts of a step.

use super::{cover_changes, each, json, maybe, text};
use crate::item::{Item, ItemBody, SearchAction, ToolResult};

/// Covers the secrets of a step.
pub fn cover_item(item: &mut Item) {
    match &mut item.body {
        ItemBody::UserMessage { text: words, attachments, .. } => {
            text(words);
            attachments.iter_mut().for_each(|attachment| maybe(&mut attachment.name));
        }
        ItemBody::FailedCall { tool, error } => {
            text(tool);
            text(error);
        }
        ItemBody::HookPrompt { text: words }
        | ItemBody::Plan { text: words }
        | ItemBody::ImageView { path: words }
        | ItemBody::ReviewStarted { review: words }
        | ItemBody::ReviewEnded { review: words } => text(words),
        ItemBody::AgentMessage { text: words, questions, .. } => {
            text(words);
            for question in questions {
                text(&mut question.title);
                each(&mut question.options);
            }
        }
        ItemBody::Reasoning { summary, content } => {
            each(summary);
            each(content);
        }
        ItemBody::Command { command, output, .. } => {
            text(command);
            maybe(output);
        }
        ItemBody::Patch { changes, .. } => cover_changes(changes),
        ItemBody::Tool { arguments, result, error, .. } => {
            arguments.iter_mut().for_each(json);
            result.iter_mut().for_each(cover_result);
            maybe(error);
        }
        ItemBody::ClientTool { arguments, result, .. } => {
            arguments.iter_mut().for_each(json);
            result.iter_mut().for_each(cover_result);
        }
        ItemBody::ToolOutput { result, .. } => cover_result(result),
        ItemBody::Agents { prompt, agents, .. } => {
            maybe(prompt);
            agents.iter_mut().for_each(|agent| maybe(&mut agent.message));
        }
        ItemBody::WebSearch { query, action } => {
            text(query);
            match action {
                Some(SearchAction::Search { queries }) => each(queries),
                Some(SearchAction::OpenPage { url }) => maybe(url),
                Some(SearchAction::FindInPage { url, pattern }) => {
                    maybe(url);
                    maybe(pattern);
                }
                Some(SearchAction::Other) | None => {}
            }
        }
        ItemBody::ImageGeneration { prompt, path, failure, .. } => {
            maybe(prompt);
            maybe(path);
            maybe(failure);
        }
        ItemBody::Other { raw, .. } => json(raw),
        ItemBody::AgentActivity { .. } | ItemBody::Sleep { .. } | ItemBody::Compaction(_) => {}
    }
}

fn cover_result(result: &mut ToolResult) {
    maybe(&mut result.text);
}
