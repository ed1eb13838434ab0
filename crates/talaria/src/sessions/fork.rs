//! `talaria sessions fork`: another conversation that begins with the turns of this one, as `/fork` makes it in the chat.

use talaria_core::api::{Fork, ForkPoint, SessionInfo};
use talaria_render::{Look, plain_line};
use talaria_server::client::{Client, ClientError};

use super::json_lines;
use crate::args::ForkOptions;
use crate::engine::{not_done, refused_id};
use crate::look;
use crate::output::print;
use crate::progress::with_progress;
use crate::trouble::Trouble;

pub(super) async fn run(client: &Client, options: &ForkOptions) -> Result<(), Trouble> {
    let point = match (options.at, options.before_compaction) {
        (Some(turn), _) => ForkPoint::Turn { turn },
        (None, true) => ForkPoint::BeforeCompaction,
        (None, false) => ForkPoint::Last,
    };
    let info = fork(client, &options.id, point).await?;
    let look = look::of_stdout();
    print(&if options.json {
        json_lines(&[&info])
    } else {
        let id = look::session_id(&info.id, look).to_owned();
        forked_words(&info, look) + &format!("continue it: talaria exec --resume {id} \"…\"\n")
    })
}

/// Forks a conversation.
pub(crate) async fn fork(client: &Client, id: &str, point: ForkPoint) -> Result<SessionInfo, Trouble> {
    let what = "the conversation was not forked";
    with_progress("forking", client.fork(id, Fork { point })).await.map_err(|error| match error {
        ClientError::Broken(_) => {
            not_done(what, &error, "look at the list of conversations before you repeat it")
        }
        _ => refused_id(what, &error),
    })
}

/// One line about a fork.
pub(crate) fn forked_words(info: &SessionInfo, look: Look) -> String {
    format!("{}  {}\n", look::session_id(&info.id, look), plain_line(&info.title))
}
