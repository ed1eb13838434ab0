//! `talaria sessions undo` and `retry`: the last turn is undone, and perhaps its input sent again, as `/undo` and `/retry` do in the
//! chat.

use talaria_core::api::{NewTurn, Undo, Undone};
use talaria_render::plain_line;
use talaria_server::client::{Client, ClientError};

use super::compact::follow;
use super::json_lines;
use crate::args::RetryOptions;
use crate::caller;
use crate::engine::{not_done, refused_id};
use crate::output::print;
use crate::progress::with_progress;
use crate::stops::{Stops, unless_stopped};
use crate::trouble::{Trouble, exit};

/// What to do where it is not known whether it happened.
const LOOK: &str = "look at the conversation before you repeat it";

pub(super) async fn run(client: &Client, id: &str, is_json: bool) -> Result<(), Trouble> {
    let undone = undo(client, id).await?;
    print(&if is_json { json_lines(&[&undone]) } else { undone_words(&undone) })
}

/// Undoes the last turn of a conversation.
pub(crate) async fn undo(client: &Client, id: &str) -> Result<Undone, Trouble> {
    let what = "the turn was not undone";
    with_progress("undoing", client.undo(id, Undo::default())).await.map_err(|error| match error {
        ClientError::Broken(_) => not_done(what, &error, LOOK),
        _ => refused_id(what, &error),
    })
}

/// Names the undone turn, and says that its changes to files stay.
pub(crate) fn undone_words(undone: &Undone) -> String {
    format!("turn {} is undone: {}\nits changes to files stay\n", undone.turn, plain_line(&undone.prompt))
}

/// Undoes the last turn, sends its input again and shows the turn to its end.
pub(super) async fn again(client: &Client, options: &RetryOptions) -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    let turn = NewTurn { caller: caller::describe(), ..NewTurn::default() };
    let starting = async { client.retry(&options.id, &turn).await.map_err(|error| not_repeated(&error)) };
    let stopped = || {
        Trouble::new(exit::INTERRUPTED, "stopped; the turn may be repeated all the same")
            .try_this("look at it with `talaria sessions show`")
    };
    let starting = with_progress("repeating the turn", starting);
    let started = unless_stopped(&mut stops, starting, stopped).await?;
    follow(client, started, options.json, &mut stops).await
}

/// Why a turn was not repeated, in the chat, too.
pub(crate) fn not_repeated(error: &ClientError) -> Trouble {
    let what = "the turn was not repeated";
    match error {
        ClientError::Broken(_) => not_done(what, error, LOOK),
        _ => refused_id(what, error),
    }
}
