//! Sends input to the engine. If the connection breaks, it is unknown whether the input arrived: that is looked up
//! before anything is claimed.

use jiff::Timestamp;
use talaria_core::api::{
    Kind, ProblemCode, Say, SessionDetail, SessionQuery, SessionStarted, TurnInfo, When,
};
use talaria_guard::redact::redact;
use talaria_server::client::ClientError;
use talaria_tui::chat::contract::PromptDraft;

use super::chat_context::Unstarted;
use super::errand::{Done, Place};
use super::words::given_back;
use crate::engine::{not_done, not_known};
use crate::retry::retry;

/// What to do where that is not known.
const LOOK: &str = "look at the conversation before you send it again";
/// At most this many of the newest conversations are searched for one that may have begun.
const LOOKED_AT: usize = 10;

/// Begins a turn.
pub(super) async fn send(prompt: PromptDraft, place: &Place) -> Done {
    let (epoch, since) = (place.epoch, Timestamp::now());
    let unstarted = match place.context.start(place.session.as_ref(), &prompt, &place.chosen).await {
        Ok(started) => return Done::Started { started, epoch },
        Err(unstarted) => unstarted,
    };
    let trouble = match unstarted {
        Unstarted::Refused(trouble) => trouble,
        Unstarted::Unknown(trouble) => match find_turn(&prompt, since, place).await {
            Ok(Begun::Yes(started)) => return Done::Started { started, epoch },
            Ok(Begun::No) => trouble,
            Ok(Begun::Perhaps) | Err(_) => not_known(&trouble, LOOK),
        },
    };
    Done::NotStarted { exit: trouble.exit, news: given_back(&trouble, prompt), epoch }
}

/// Says it to the turn that runs; if none does any more, it begins one.
pub(super) async fn say(prompt: PromptDraft, when: When, place: &Place) -> Option<Done> {
    let Some(session) = &place.session else { return Some(send(prompt, place).await) };
    let say = Say { text: prompt.text.clone(), images: prompt.images.clone(), when };
    match place.context.client.say(session.as_str(), &say).await {
        Ok(_) => None,
        Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Conflict => {
            Some(send(prompt, place).await)
        }
        Err(error) => {
            let trouble = not_done("it was not sent", &error, LOOK);
            Some(Done::News(given_back(&trouble, prompt)))
        }
    }
}

/// Whether a turn began after all.
#[derive(Debug, PartialEq, Eq)]
enum Begun {
    Yes(SessionStarted),
    No,
    /// A turn began that looks different.
    Perhaps,
}

/// Looks whether the engine wrote the turn down before the connection broke.
async fn find_turn(prompt: &PromptDraft, since: Timestamp, place: &Place) -> Result<Begun, ClientError> {
    let client = &place.context.client;
    if let Some(id) = &place.session {
        let detail = retry(|| client.session(id.as_str())).await?;
        return Ok(compare_turn(&detail, prompt, since));
    }
    let query = SessionQuery { limit: LOOKED_AT, kind: Some(Kind::Chat), ..SessionQuery::default() };
    let newest = retry(|| client.sessions(&query)).await?;
    let here = |cwd: &str, at: Timestamp| cwd == place.context.cwd && at >= since;
    for info in newest.iter().filter(|info| here(&info.cwd, info.created_at)) {
        let detail = retry(|| client.session(info.id.as_str())).await?;
        let found = compare_turn(&detail, prompt, since);
        if matches!(found, Begun::Yes(_)) {
            return Ok(found);
        }
    }
    Ok(Begun::No)
}

fn compare_turn(detail: &SessionDetail, prompt: &PromptDraft, since: Timestamp) -> Begun {
    let masked = redact(&prompt.text);
    let is_new = |turn: &&TurnInfo| turn.created_at >= since;
    match detail.turns.last().filter(is_new) {
        None => Begun::No,
        Some(turn) if turn.prompt.trim().starts_with(masked.trim()) => Begun::Yes(SessionStarted {
            id: detail.info.id.clone(),
            task: detail.info.task.clone(),
            turn: turn.turn,
            after: 0,
            codex: None,
        }),
        Some(_) => Begun::Perhaps,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation(prompt: &str, at: &str) -> SessionDetail {
        serde_json::from_value(json!({ "id": "s-1", "title": prompt, "runtime": "codex", "updated_at": at,
            "running": true, "kind": "chat", "task": null, "cwd": "/", "model": null, "created_at": at,
            "last_seq": 1, "thread": null, "codex": null, "messages": [], "older_messages": 0,
            "turns": [{ "turn": 3, "stage": "accepted", "outcome": null, "prompt": prompt, "created_at": at,
                "settled_at": null, "usage": null }] }))
        .unwrap()
    }

    #[test]
    fn a_turn_that_was_written_down_before_the_connection_broke_is_found() {
        let since: Timestamp = "2026-01-01T00:00:10Z".parse().unwrap();
        let prompt = PromptDraft { text: "mend it\n".to_owned(), images: Vec::new() };
        let looked = |text: &str, at: &str| compare_turn(&conversation(text, at), &prompt, since);
        assert!(
            matches!(looked("mend it", "2026-01-01T00:00:11Z"), Begun::Yes(started) if started.turn == 3)
        );
        assert_eq!(looked("mend it", "2026-01-01T00:00:09Z"), Begun::No, "that was said before");
        assert_eq!(looked("something else", "2026-01-01T00:00:11Z"), Begun::Perhaps);
    }
}
