//! The one main loop of everything that talks to a person line by line: `exec`, `demo` and `task watch` (`conversation`), one
//! request (`requests::person`) and the plain mode of the chat (`chat::plain`).
//!
//! News come in and are shown, questions are asked when there are no more news, typed lines and signals are handled as they
//! come. What any of that means is decided by the front end; a new one implements [`LineFrontEnd`]. Nothing is written here.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::time::Instant;

use crate::line_reader::{LineReader, TypedLine};

/// What comes one after another: news, or signals. Nothing is lost when waiting for it is cancelled.
pub(crate) trait Arrivals {
    type Arrival;

    /// Waits for the next.
    async fn next(&mut self) -> Self::Arrival;

    /// Returns what has arrived, without waiting.
    fn waiting(&mut self) -> Option<Self::Arrival> {
        None
    }
}

/// For a front end that only asks.
pub(crate) struct NoNews;

impl Arrivals for NoNews {
    type Arrival = Infallible;

    async fn next(&mut self) -> Infallible {
        std::future::pending().await
    }
}

/// Whether the loop continues, or with what it ends.
pub(crate) type LoopStep<F> = Result<ControlFlow<<F as LineFrontEnd>::End>, <F as LineFrontEnd>::Error>;

/// Shows something line by line and asks a person.
pub(crate) trait LineFrontEnd: Sized {
    type News: Arrivals;
    type Signals: Arrivals;
    /// What the loop ends with.
    type End;
    type Error;

    /// From where news and lines come; none where no line is ever read.
    fn inputs(&mut self) -> (&mut Self::News, Option<&mut LineReader>);

    /// Shows news.
    fn take_news(&mut self, news: <Self::News as Arrivals>::Arrival) -> LoopStep<Self>;

    /// All news that had arrived are shown: asks what is to be asked, and does what is to be done.
    fn rest(&mut self) -> LoopStep<Self>;

    /// Returns whether a line may come now, and asks for it where lines are read on demand.
    fn wants_line(&mut self) -> bool;

    /// Takes a line.
    fn take_line(&mut self, line: TypedLine) -> LoopStep<Self>;

    /// Handles a signal.
    fn take_signal(&mut self, signal: <Self::Signals as Arrivals>::Arrival) -> LoopStep<Self>;

    /// When [`Self::tick`] is to be called, if it is.
    fn due(&self) -> Option<Instant>;

    /// It is time.
    fn tick(&mut self) -> Result<(), Self::Error>;
}

/// Runs a front end until it ends.
pub(crate) async fn run<F: LineFrontEnd>(
    front: &mut F,
    signals: &mut F::Signals,
) -> Result<F::End, F::Error> {
    loop {
        while let Some(news) = front.inputs().0.waiting() {
            if let ControlFlow::Break(end) = front.take_news(news)? {
                return Ok(end);
            }
        }
        if let ControlFlow::Break(end) = front.rest()? {
            return Ok(end);
        }
        let (reads, due) = (front.wants_line(), front.due());
        let (news, lines) = front.inputs();
        let step = tokio::select! {
            news = news.next() => front.take_news(news)?,
            line = next_line(lines), if reads => front.take_line(line)?,
            signal = signals.next() => front.take_signal(signal)?,
            () = until(due) => {
                front.tick()?;
                ControlFlow::Continue(())
            }
        };
        if let ControlFlow::Break(end) = step {
            return Ok(end);
        }
    }
}

async fn next_line(lines: Option<&mut LineReader>) -> TypedLine {
    match lines {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}

/// Waits until then; without a time for ever.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
