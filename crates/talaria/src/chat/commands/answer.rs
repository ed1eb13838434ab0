//! `/requests`, `/approve` and `/deny` of what is not on the page: what waits for a person, and a word about it.
//!
//! Nothing is accepted that was not shown whole first, and the answer carries the digest of what was shown.

use jiff::Timestamp;
use talaria_core::api::{RequestInfo, RequestState};
use talaria_core::request::{Decision, Typed};
use talaria_render::{Look, StyledText};
use talaria_tui::chat::contract::News;

use super::super::errand::{Done, Place, reply};
use crate::engine::refused;
use crate::requests::{build, find, not_answered, question, standing, table};
use crate::trouble::{Trouble, exit};

/// What waits, in all conversations.
pub(super) async fn list(place: &Place) -> Result<StyledText, Trouble> {
    let open = open(place).await?;
    if open.is_empty() {
        return Ok("no open requests\n".into());
    }
    let first = &open[0].id;
    let how = format!("answer with: /approve {first} or /deny {first} REASON\n");
    let look = place.context.look();
    Ok(table(&open, Timestamp::now(), look).show(look) + how)
}

/// Shows a request whole. A yes to it can be said when that was read.
pub(super) async fn show(
    id: Option<String>,
    decision: Decision,
    place: &Place,
) -> Result<Vec<Done>, Trouble> {
    let request = find("cannot show this request", &place.context.client, &named(id)?).await?;
    if request.state != RequestState::Open {
        let how = standing(&request, Timestamp::now());
        return Err(Trouble::new(exit::USAGE, format!("{} is no longer open", request.id)).because(how));
    }
    let text = page(&request, decision, place.context.look()).ok_or_else(|| {
        Trouble::new(exit::USAGE, "this request cannot be shown here")
            .try_this(format!("/deny {} refuses it", request.id))
    })?;
    Ok(vec![Done::Shown(Box::new(request), text)])
}

/// Says no; that needs no reading.
pub(super) async fn deny(
    id: Option<String>,
    reason: Option<String>,
    place: &Place,
) -> Result<Vec<Done>, Trouble> {
    let request = find("the answer was not accepted", &place.context.client, &named(id)?).await?;
    give(&request, Typed { decision: Decision::Decline, reason, answers: None }, place).await
}

/// Says yes to a request as it was shown.
pub(in super::super) async fn accept(
    request: &RequestInfo,
    decision: Decision,
    place: &Place,
) -> Result<Vec<Done>, Trouble> {
    give(request, Typed { decision, reason: None, answers: None }, place).await
}

async fn give(request: &RequestInfo, typed: Typed, place: &Place) -> Result<Vec<Done>, Trouble> {
    let decision = typed.decision;
    let answer = build::chat_answer(&request.id, request.ask.as_ref(), typed)?;
    let told = reply(place, &request.id, answer, request.digest.clone()).await;
    place.look_again.notify_one();
    told.map_err(|error| not_answered(&error))?;
    let reply = News::Reply(format!("{}: {decision}\n", request.id).into());
    Ok(vec![Done::News(News::Answered { ticket: request.id.clone() }), Done::News(reply)])
}

async fn open(place: &Place) -> Result<Vec<RequestInfo>, Trouble> {
    place.context.client.requests().await.map_err(|error| refused("cannot list requests", &error))
}

fn named(id: Option<String>) -> Result<String, Trouble> {
    id.ok_or_else(|| {
        Trouble::new(exit::USAGE, "no request is shown here").try_this("/requests lists the open ones")
    })
}

/// The whole question, and the command for a yes.
fn page(request: &RequestInfo, decision: Decision, look: Look) -> Option<StyledText> {
    let text = question(request, look)?;
    let (id, whose) =
        (&request.id, request.task.clone().unwrap_or_else(|| request.session.short().to_owned()));
    let word = match decision {
        Decision::AcceptForSession => " session",
        Decision::AcceptAlways => " always",
        _ => "",
    };
    Some(text + format!("waiting in {whose}; answer with: /approve {id}{word} or /deny {id} REASON\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use talaria_core::request::Ask;

    use super::*;

    #[test]
    fn a_request_is_shown_whole_before_a_yes() {
        let ask: Ask = serde_json::from_value(json!({ "kind": "permissions", "thread": "t", "item": "i",
            "cwd": null, "reason": "to fetch \u{1b}[2J", "permissions": { "network": true, "files": [] } }))
        .unwrap();
        let request: RequestInfo =
            serde_json::from_value(json!({ "id": "req-1", "session": "s-1", "task": null,
            "kind": "permissions", "summary": "network", "since": "2026-01-01T00:00:00Z", "state": "open",
            "ask": ask }))
            .unwrap();
        let look = Look { color: false, live: true, width: Some(80), unicode: true };
        let text = page(&request, Decision::Accept, look).unwrap().text();
        assert!(text.contains("network") && text.contains("to fetch ␛[2J"), "{text}");
        assert!(text.ends_with("answer with: /approve req-1 or /deny req-1 REASON\n"), "{text}");
        assert!(page(&RequestInfo { ask: None, ..request }, Decision::Accept, look).is_none());
    }
}
