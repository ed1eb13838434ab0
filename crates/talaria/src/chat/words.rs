//! Error messages in the form of the chat. Pure.

use talaria_core::api::PermissionsChange;
use talaria_core::ids::SessionId;
use talaria_render::{StyledText, plain};
use talaria_tui::chat::contract::{News, PromptDraft};

use super::chat_context::Chosen;
use crate::trouble::Trouble;

/// What failed, why, and what to do next.
pub(super) fn of(trouble: &Trouble) -> String {
    let mut text = trouble.summary();
    let hint = trouble.hint_in_chat();
    if !hint.is_empty() {
        text.push('\n');
        text.push_str(&hint);
    }
    plain(&text).into_owned()
}

/// The same where there is room for one line.
pub(super) fn in_a_line(trouble: &Trouble) -> String {
    let text = of(trouble);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// Something could not be done.
pub(super) fn refused(trouble: &Trouble) -> News {
    News::Refused { what: of(trouble), prompt: None, ticket: None }
}

/// The same news, said of a conversation that is no longer on the screen.
pub(super) fn of_left(news: News, session: Option<&SessionId>) -> News {
    let whose = session.map_or_else(
        || "your request from before this conversation".to_owned(),
        |id| format!("your request in the conversation {}, which you left", id.short()),
    );
    match news {
        News::Reply(text) => News::Reply(StyledText::from(format!("{whose}:\n")) + text),
        News::Refused { what, prompt, ticket } => {
            News::Refused { what: format!("{whose}: {what}"), prompt, ticket }
        }
        news => news,
    }
}

/// A choice that is dropped before a turn was requested with it.
pub(super) fn not_used(dropped: &Chosen) -> String {
    let effort = dropped.effort.as_ref().map(|effort| format!("reasoning {effort}"));
    let model = match (&dropped.provider, &dropped.model) {
        (Some(provider), Some(model)) => Some(format!("{model} of {provider}")),
        (provider, model) => model.clone().or_else(|| provider.clone()),
    };
    let PermissionsChange { mode, sandbox, approval, .. } = &dropped.permissions;
    let mode = mode.map(|mode| format!("mode {mode}"));
    let sandbox = sandbox.map(|sandbox| format!("sandbox {sandbox}"));
    let approval = approval.map(|approval| format!("approvals {approval}"));
    let chosen: Vec<String> =
        model.into_iter().chain(effort).chain(mode).chain(sandbox).chain(approval).collect();
    let chosen = plain(&chosen.join(", ")).into_owned();
    format!("{chosen} was chosen before and is not used here: this conversation has its own settings\n")
}

/// Input was not taken: it returns to the input line.
pub(super) fn given_back(trouble: &Trouble, prompt: PromptDraft) -> News {
    News::Refused { what: of(trouble), prompt: Some(prompt), ticket: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::exit;

    #[test]
    fn a_refusal_says_why_and_what_next_and_is_harmless() {
        let trouble = Trouble::new(exit::FAILED, "cannot start the turn").because("no \u{1b}[2J Codex");
        let trouble = trouble.try_this("run `talaria setup`");
        assert_eq!(of(&trouble), "cannot start the turn: no ␛[2J Codex\nrun `talaria setup`");
        assert_eq!(in_a_line(&trouble), "cannot start the turn: no ␛[2J Codex; run `talaria setup`");
    }
}
