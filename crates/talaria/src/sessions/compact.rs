//! `talaria sessions compact`: shortens one conversation, as `/compact` does in the chat. A turn of its own, shown to its end.

use std::io;

use talaria_core::api::{Compact, SessionStarted};
use talaria_render::{JsonLines, Renderer};
use talaria_server::client::{Client, ClientError};

use crate::args::Compaction;
use crate::caller;
use crate::conversation::{self, Bond, Followed};
use crate::engine::{not_done, refused_id};
use crate::face::Answerer;
use crate::output::for_people;
use crate::progress::with_progress;
use crate::stops::{Stops, unless_stopped};
use crate::trouble::{Trouble, exit};

pub(super) async fn run(client: &Client, options: &Compaction) -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    let compact = Compact { caller: caller::describe() };
    let starting =
        async { client.compact(&options.id, &compact).await.map_err(|error| not_shortened(&error)) };
    let stopped = || {
        Trouble::new(exit::INTERRUPTED, "stopped; the conversation may be shortened all the same")
            .try_this("look at it with `talaria sessions show`")
    };
    let starting = with_progress("shortening the conversation", starting);
    let started = unless_stopped(&mut stops, starting, stopped).await?;
    follow(client, started, options.json, &mut stops).await
}

/// Shows a turn to its end, without a person to ask.
pub(super) async fn follow(
    client: &Client,
    started: SessionStarted,
    is_json: bool,
    stops: &mut Stops,
) -> Result<u8, Trouble> {
    let SessionStarted { id: session, turn, after, .. } = started;
    let renderer: Box<dyn Renderer + Send> = match is_json {
        true => Box::new(JsonLines::new(io::stdout(), &session)),
        false => for_people(),
    };
    let followed = Followed { client, session, turn, after, past: after, bond: Bond::Owner };
    Ok(conversation::run(&followed, renderer, Answerer::Nobody, stops).await?.exit)
}

/// Why a conversation was not shortened, in the chat, too.
pub(crate) fn not_shortened(error: &ClientError) -> Trouble {
    let what = "the conversation was not shortened";
    match error {
        ClientError::Broken(_) => not_done(what, error, "look at the conversation before you repeat it"),
        _ => refused_id(what, error),
    }
}
