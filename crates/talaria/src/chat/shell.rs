//! A command line of the person's own: run in the sandbox of the conversation, told as it prints.

use talaria_core::api::{Shell, ShellNews, ShellStream};
use talaria_face::chat::contract::News;
use tokio::sync::mpsc;

use super::errand::{Done, Place};
use super::words;
use crate::engine::refused;
use crate::trouble::Trouble;

/// Runs it to its end. Dropping the future ends the command.
pub(super) async fn run(command: &str, number: u64, place: &Place, teller: &mpsc::Sender<Done>) {
    if let Err(trouble) = pass_on(command, number, place, teller).await {
        let note = Some(words::in_a_line(&trouble));
        let news = News::ShellEnded { exit: None, took_ms: 0, note };
        let _ = teller.send(Done::Shell { number, news }).await;
    }
}

async fn pass_on(
    command: &str,
    number: u64,
    place: &Place,
    teller: &mpsc::Sender<Done>,
) -> Result<(), Trouble> {
    let desk = &place.desk;
    let shell = Shell {
        session: place.session.as_ref().map(ToString::to_string),
        cwd: place.cwd.clone(),
        command: command.to_owned(),
        sandbox: desk.wanted.sandbox(&desk.settings.config),
        caller: desk.caller().await?,
        limit_ms: None,
    };
    let cannot = |error| refused("the command could not be run", &error);
    let mut run = desk.client.shell(&shell).await.map_err(cannot)?;
    while let Some(news) = run.next().await {
        let news = told(news.map_err(cannot)?);
        let _ = teller.send(Done::Shell { number, news }).await;
    }
    Ok(())
}

fn told(news: ShellNews) -> News {
    match news {
        ShellNews::Output { text, .. } => News::ShellOutput(text),
        ShellNews::Cut { stream } => {
            let stream = match stream {
                ShellStream::Stdout => "standard output",
                ShellStream::Stderr => "standard error",
            };
            News::ShellOutput(format!("\n(more of {stream} is not shown; the command goes on)\n"))
        }
        ShellNews::Ended { exit, took_ms, note, .. } => News::ShellEnded { exit, took_ms, note },
    }
}
