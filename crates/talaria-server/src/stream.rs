//! The events of one conversation, or what one command prints, as an event stream (`text/event-stream`).
//!
//! A slow reader blocks no one: a few lines wait here, the engine's `JournalFollower` reads the rest from the
//! store on demand.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use talaria_engine::engine::{EventLine, JournalFollower, ShellExecution};
use tokio::sync::mpsc;

/// After this much silence a comment says that the stream is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many lines wait for the reader.
const WAITING: usize = 32;

/// Answers with what `follow` returns, until the engine stops or the reader is gone.
pub(crate) fn response(follow: JournalFollower) -> Response {
    let (sender, receiver) = mpsc::channel(WAITING);
    // A separate task: the keep-alive comment that interrupts the wait must not interrupt
    // `JournalFollower::next`.
    tokio::spawn(pump(follow, sender));
    stream_of(receiver)
}

/// Answers with what a command prints, until it has ended. When the reader is gone, so is the command.
pub(crate) fn shell(run: ShellExecution) -> Response {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(pump_shell(run, sender));
    stream_of(receiver)
}

fn stream_of(receiver: Waiting) -> Response {
    let mut response = Response::new(Body::from_stream(stream::unfold(receiver, next_bytes)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn pump(mut follow: JournalFollower, sender: mpsc::Sender<EventLine>) {
    loop {
        let line = tokio::select! {
            line = follow.next() => line,
            () = sender.closed() => return,
        };
        let Some(line) = line else { return };
        if sender.send(line).await.is_err() {
            return;
        }
    }
}

async fn pump_shell(mut run: ShellExecution, sender: mpsc::Sender<EventLine>) {
    for seq in 1.. {
        let news = tokio::select! {
            news = run.next() => news,
            () = sender.closed() => return,
        };
        let Some(json) = news.and_then(|news| serde_json::to_string(&news).ok()) else { return };
        if sender.send(EventLine { seq, json: json.into() }).await.is_err() {
            return;
        }
    }
}

type Waiting = mpsc::Receiver<EventLine>;

async fn next_bytes(mut waiting: Waiting) -> Option<(Result<Bytes, Infallible>, Waiting)> {
    let mut lines = Vec::new();
    let bytes = match tokio::time::timeout(KEEP_ALIVE, waiting.recv_many(&mut lines, WAITING)).await {
        Ok(0) => return None,
        Ok(_) => {
            let mut text = String::with_capacity(lines.iter().map(|line| line.json.len() + 32).sum());
            lines.iter().for_each(|line| write(line, &mut text));
            Bytes::from(text)
        }
        Err(_) => Bytes::from_static(b": alive\n\n"),
    };
    Some((Ok(bytes), waiting))
}

fn write(line: &EventLine, text: &mut String) {
    text.push_str(&format!("id: {}\n", line.seq));
    // Raw JSON of Codex may contain line breaks between its tokens; a line of the stream has none.
    for part in line.json.split(['\n', '\r']) {
        text.push_str("data: ");
        text.push_str(part);
        text.push('\n');
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::Decoder;

    #[test]
    fn an_event_with_line_breaks_in_it_arrives_as_the_same_json() {
        let json = "{\"a\":\r\n 1,\n\"b\":\r2}";
        let mut text = String::new();
        write(&EventLine { seq: 7, json: json.into() }, &mut text);
        let mut decoder = Decoder::new(1000);
        decoder.feed(text.as_bytes()).unwrap();
        let message = decoder.next_message().unwrap();
        assert_eq!(message.id.as_deref(), Some("7"));
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&message.data), read(json));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_says_that_it_is_alive() {
        let (_sender, waiting) = mpsc::channel(1);
        let began = tokio::time::Instant::now();
        let (bytes, _) = next_bytes(waiting).await.unwrap();
        assert_eq!((&*bytes.unwrap(), began.elapsed()), (&b": alive\n\n"[..], KEEP_ALIVE));
    }
}
