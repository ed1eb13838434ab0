//! Conversations of Hermes as sessions for the store: redacted, with plausible times.

use talaria_core::event::Usage;
use talaria_core::ids::SessionId;
use talaria_core::transcript::Message;
use talaria_guard::redact::redact;
use talaria_store::{
    ConversationPart, ImportedFrom, ImportedSession, ImportedTurn, NewSessionRow, SessionKind, StoreError,
};

use super::{Conversation, ImportRun, PROGRAM, PastTurn, Piece};
use crate::convert::{self, TurnTimes};

/// How many characters of what was said first are a title.
const TITLE: usize = 80;

/// Makes a session of a piece, under this id if it is new.
pub(super) fn session(piece: Piece, id: SessionId, run: &ImportRun) -> Result<ImportedSession, StoreError> {
    let Piece { conversation, is_first, mut turns, last } = piece;
    // Hermes counts a conversation as a whole.
    if let Some(last) = turns.last_mut().filter(|_| is_first) {
        last.report.usage = usage(&conversation);
    }
    let ends = turns.iter().map(|turn| turn.times().1).chain(conversation.ended_at);
    let updated_at = ends.max().unwrap_or_default().clamp(0, run.now);
    let session = new_session(&conversation, &turns, id, run);
    let turns = turns.iter().map(|turn| imported_turn(turn, run)).collect::<Result<_, _>>()?;
    let part = ConversationPart {
        program: PROGRAM.to_owned(),
        name: conversation.id,
        parent: conversation.parent,
        run: run.name.clone(),
        last,
    };
    Ok(ImportedSession { session, from: ImportedFrom::Conversation(part), turns, updated_at })
}

fn new_session(
    conversation: &Conversation,
    turns: &[PastTurn],
    id: SessionId,
    run: &ImportRun,
) -> NewSessionRow {
    let clean = |text: &Option<String>| {
        text.as_deref().map(|text| redact(text).into_owned()).filter(|text| !text.trim().is_empty())
    };
    let line = |text: &str| text.lines().next().unwrap_or_default().chars().take(TITLE).collect::<String>();
    let first = turns.iter().map(PastTurn::prompt).find(|prompt| !prompt.is_empty()).map(line);
    let began = turns.first().map(|turn| turn.times().0).unwrap_or_default();
    NewSessionRow {
        id,
        kind: SessionKind::Chat,
        alias: None,
        title: clean(&conversation.title).map(|title| line(&title)).or(first),
        cwd: clean(&conversation.cwd).unwrap_or_else(|| "/".to_owned()),
        runtime: PROGRAM.to_owned(),
        model: clean(&conversation.model),
        asked: None,
        settings: None,
        task: None,
        first_turn: None,
        created_at: conversation.started_at.unwrap_or(began).clamp(0, run.now),
        audit: None,
    }
}

fn imported_turn(turn: &PastTurn, run: &ImportRun) -> Result<ImportedTurn, StoreError> {
    let (began, ended) = turn.times();
    let times = TurnTimes { began: began.clamp(0, run.now), ended: ended.clamp(0, run.now) };
    let messages = turn.messages.iter().map(|kept| {
        let (key, at) = (format!("{PROGRAM}/{}", kept.id), kept.at.clamp(0, times.ended));
        convert::message(key, &kept.message, searched(&kept.message), at)
    });
    let messages = messages.collect::<Result<_, _>>()?;
    convert::turn(run.name.clone(), turn.prompt().to_owned(), &turn.report, times, messages)
}

fn usage(conversation: &Conversation) -> Usage {
    let Conversation { input, cached, output, reasoning, .. } = *conversation;
    // There the input does not count cached tokens.
    let input = input.saturating_add(cached);
    Usage { input, cached, output, reasoning, total: input.saturating_add(output), partial: false }
}

/// Everything in a message that a person may search for.
fn searched(message: &Message) -> String {
    let mut text = message.content.clone().unwrap_or_default();
    for call in &message.tool_calls {
        text += &format!("\n{} {}", call.function.name, call.function.arguments);
    }
    text.trim_start().to_owned()
}
