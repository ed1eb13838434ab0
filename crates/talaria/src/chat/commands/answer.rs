//! `/requests`, `/approve` and `/deny`: what waits for a person, and a word about it.

use jiff::Timestamp;
use talaria_core::api::RequestInfo;
use talaria_core::request::{Decision, Typed};

use super::super::errand::{Place, reply};
use crate::engine::refused;
use crate::requests::{build, find, not_answered, table};
use crate::trouble::{Trouble, exit};

/// What waits, in all conversations.
pub(super) async fn list(place: &Place) -> Result<String, Trouble> {
    let open = open(place).await?;
    if open.is_empty() {
        return Ok("nothing waits for an answer\n".to_owned());
    }
    let first = &open[0].id;
    let how = format!("answer with: /approve {first} or /deny {first} why not\n");
    Ok(table(&open, Timestamp::now()).show(place.desk.look()) + &how)
}

/// Says yes or no.
pub(super) async fn give(
    request: Option<String>,
    decision: Decision,
    reason: Option<String>,
    place: &Place,
) -> Result<String, Trouble> {
    let request = match request {
        Some(id) => find(&place.desk.client, &id).await?,
        None => meant(open(place).await?, place)?,
    };
    let typed = Typed { decision, reason, answers: None };
    let answer = build::answer(request.ask.as_ref(), typed)?;
    let told = reply(place, &request.id, answer, request.digest.clone()).await;
    place.look_again.notify_one();
    told.map_err(|error| not_answered(&error))?;
    Ok(format!("{}: {decision}\n", request.id))
}

async fn open(place: &Place) -> Result<Vec<RequestInfo>, Trouble> {
    place.desk.client.requests().await.map_err(|error| refused("cannot list requests", &error))
}

/// The one that a person means who names none: the only one of this conversation, or else the only one there is.
fn meant(open: Vec<RequestInfo>, place: &Place) -> Result<RequestInfo, Trouble> {
    let here = |request: &RequestInfo| Some(&request.session) == place.session.as_ref();
    let (mut near, mut far): (Vec<_>, Vec<_>) = open.into_iter().partition(here);
    match (near.len(), far.len()) {
        (1, _) => Ok(near.remove(0)),
        (0, 1) => Ok(far.remove(0)),
        (0, 0) => Err(Trouble::new(exit::USAGE, "nothing waits for an answer")),
        _ => {
            let names: Vec<String> = near.iter().chain(&far).map(|request| request.id.to_string()).collect();
            Err(Trouble::new(exit::USAGE, "several things wait for an answer")
                .try_this(format!("name one: {}", names.join(", "))))
        }
    }
}
