//! A person's own shell command: run in the sandbox of the conversation, with streamed output.

use std::time::Instant;

use talaria_core::api::{Shell, ShellNews, ShellStream};
use talaria_server::client::ClientError;
use talaria_tui::chat::contract::News;
use tokio::sync::mpsc;

use super::errand::{Done, Place};
use super::words;
use crate::caller;
use crate::engine::refused;
use crate::exec::milliseconds;
use crate::trouble::Trouble;

/// Why the output of a command ended, and its start if it may have run.
struct Broken {
    trouble: Trouble,
    since: Option<Instant>,
}

impl Broken {
    fn before_it_ran(trouble: Trouble) -> Self {
        Self { trouble, since: None }
    }
}

/// Runs it to its end. Dropping the future ends the command.
pub(super) async fn run(command: &str, number: u64, place: &Place, teller: &mpsc::Sender<Done>) {
    if let Err(Broken { trouble, since }) = pass_on(command, number, place, teller).await {
        let note = Some(words::in_a_line(&trouble));
        let took_ms = since.map(|since| milliseconds(since.elapsed()));
        let news = News::ShellEnded { exit: None, took_ms, note };
        let _ = teller.send(Done::Shell { number, news }).await;
    }
}

async fn pass_on(
    command: &str,
    number: u64,
    place: &Place,
    teller: &mpsc::Sender<Done>,
) -> Result<(), Broken> {
    let context = &place.context;
    let shell = Shell {
        session: place.session.as_ref().map(ToString::to_string),
        cwd: place.cwd.clone(),
        command: command.to_owned(),
        sandbox: context.wanted.sandbox(&context.settings.config),
        caller: caller::describe(),
        limit_ms: None,
    };
    let since = Instant::now();
    let mut run = context.client.shell(&shell).await.map_err(|error| match error {
        // The engine may have started it.
        ClientError::Broken(_) => {
            let trouble = refused("it is not known whether the command ran", &error);
            Broken { trouble, since: Some(since) }
        }
        error => Broken::before_it_ran(refused("the command could not be run", &error)),
    })?;
    while let Some(news) = run.next().await {
        let news = news.map_err(|error| {
            let trouble = refused("how the command ended is not known", &error);
            Broken { trouble, since: Some(since) }
        })?;
        let news = chat_news(news);
        let _ = teller.send(Done::Shell { number, news }).await;
    }
    Ok(())
}

fn chat_news(news: ShellNews) -> News {
    match news {
        ShellNews::Output { text, .. } => News::ShellOutput(text),
        ShellNews::Cut { stream } => {
            let stream = match stream {
                ShellStream::Stdout => "standard output",
                ShellStream::Stderr => "standard error",
            };
            News::ShellOutput(format!("\n(more of {stream} is not shown; the command continues)\n"))
        }
        ShellNews::Ended { exit, took_ms, note, .. } => {
            News::ShellEnded { exit, took_ms: Some(took_ms), note }
        }
    }
}
