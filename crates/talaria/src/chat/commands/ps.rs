//! `/ps`: the background commands of every conversation, by number or id. The words are those of `talaria ps`.

use jiff::Timestamp;
use talaria_core::api::{BackgroundInfo, StopBackground};
use talaria_render::StyledText;
use talaria_server::client::Client;

use super::super::errand::Place;
use crate::advice::Reader;
use crate::engine::refused;
use crate::ps;
use crate::trouble::{Trouble, exit};

/// At most this many lines of the output of a command are shown.
const SHOWN: usize = 40;

/// Carries the command out.
pub(super) async fn run(words: &[String], place: &Place) -> Result<StyledText, Trouble> {
    let client = &place.context.client;
    let running =
        client.background().await.map_err(|error| refused("cannot list background commands", &error))?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => Ok(ps::list(&running, Timestamp::now(), place.context.look(), Reader::Chat)),
        ["stop"] => {
            let [only] = &running[..] else { return Err(which(&running)) };
            stop(client, only.id.as_str(), StopBackground::default()).await
        }
        ["stop", id] => stop(client, &named(id, &running), StopBackground::default()).await,
        ["stop", id, "--all"] | ["stop", "--all", id] => {
            stop(client, &named(id, &running), StopBackground { all: true }).await
        }
        [id] => {
            let id = named(id, &running);
            let found = running.iter().find(|one| ps::is_named(one, &id));
            let found = found.ok_or_else(|| ps::unknown(&id))?;
            ps::tail(client, found, SHOWN).await.map(StyledText::from)
        }
        _ => {
            Err(Trouble::new(exit::USAGE, "/ps does not take this")
                .try_this("usage: /ps [ID | stop ID [--all]]"))
        }
    }
}

async fn stop(client: &Client, id: &str, stop: StopBackground) -> Result<StyledText, Trouble> {
    ps::stop(client, id, stop).await.map(StyledText::from)
}

/// The id of the command with this number in the list; other words are ids.
fn named(word: &str, running: &[BackgroundInfo]) -> String {
    let number = word.parse::<usize>().ok().filter(|number| *number > 0 && *number <= running.len());
    let at_number = number.and_then(|number| running.get(number - 1));
    at_number.map_or_else(|| word.to_owned(), |one| one.id.to_string())
}

fn which(running: &[BackgroundInfo]) -> Trouble {
    if running.is_empty() {
        return Trouble::new(exit::USAGE, "no background command is running");
    }
    let names: Vec<String> = running.iter().map(|one| one.id.to_string()).collect();
    Trouble::new(exit::USAGE, "several background commands are running")
        .try_this(format!("name one: /ps stop {}", names.join(", ")))
}
