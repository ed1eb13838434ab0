//! The one main loop of everything that talks to a person line by line: `exec`, `demo` and `task watch` (`conversation`), one
//! request (`requests::person`) and the plain mode of the chat (`chat::plain`).
//!
//! News come in and are shown, questions are asked when there are no more news, typed lines and signals are handled as they
//! come. What any of that means is decided by the front end; a new one implements [`LineFrontEnd`]. Nothing is written here.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::time::Instant;

use crate::face::Face;
use crate::line_reader::{LineReader, TypedLine};

/// A source of news or of signals, one after another. Nothing is lost when waiting for it is cancelled.
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

    /// Handles a signal.
    fn take_signal(&mut self, signal: <Self::Signals as Arrivals>::Arrival) -> LoopStep<Self>;

    /// The face that asks the person, which then handles lines and time. Without one, the methods below do.
    fn face(&mut self) -> Option<&mut Face> {
        None
    }

    /// Returns whether a line may come now, and asks for it where lines are read on demand.
    fn wants_line(&mut self) -> bool {
        self.face().is_some_and(Face::is_line_wanted)
    }

    /// Takes a line.
    fn take_line(&mut self, line: TypedLine) -> LoopStep<Self> {
        if let Some(face) = self.face() {
            face.take_line(line);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// When [`Self::tick`] is to be called, if it is.
    fn due(&mut self) -> Option<Instant> {
        self.face().map(|face| face.due())
    }

    /// It is time.
    fn tick(&mut self) -> Result<(), Self::Error> {
        self.face().into_iter().for_each(Face::tick);
        Ok(())
    }
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

/// Waits until then; without a time indefinitely.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::line_reader::{LineText, Reading};

    /// What has arrived; after that nothing comes.
    struct Queued(VecDeque<&'static str>);

    impl Arrivals for Queued {
        type Arrival = &'static str;

        async fn next(&mut self) -> &'static str {
            match self.0.pop_front() {
                Some(arrival) => arrival,
                None => std::future::pending().await,
            }
        }

        fn waiting(&mut self) -> Option<&'static str> {
            self.0.pop_front()
        }
    }

    /// Asks one question after the news, and ends with the line that answers it.
    struct Asking {
        news: Queued,
        lines: LineReader,
        /// Types one line.
        person: Option<UnixStream>,
        log: Vec<String>,
    }

    impl LineFrontEnd for Asking {
        type News = Queued;
        type Signals = Queued;
        type End = Vec<String>;
        type Error = Infallible;

        fn inputs(&mut self) -> (&mut Queued, Option<&mut LineReader>) {
            (&mut self.news, Some(&mut self.lines))
        }

        fn take_news(&mut self, news: &'static str) -> LoopStep<Self> {
            self.log.push(news.to_owned());
            Ok(ControlFlow::Continue(()))
        }

        fn rest(&mut self) -> LoopStep<Self> {
            self.lines.question_is_put();
            self.log.push("asked".to_owned());
            Ok(ControlFlow::Continue(()))
        }

        fn wants_line(&mut self) -> bool {
            let Some(mut person) = self.person.take() else { return false };
            self.lines.want();
            person.write_all(b"yes\n").unwrap();
            true
        }

        fn take_line(&mut self, line: TypedLine) -> LoopStep<Self> {
            let LineText::Line(text) = line.text else { panic!("not a line") };
            self.log.push(format!("{text} to {}", line.asked));
            Ok(ControlFlow::Break(std::mem::take(&mut self.log)))
        }

        fn take_signal(&mut self, signal: &'static str) -> LoopStep<Self> {
            Ok(ControlFlow::Break(vec![signal.to_owned()]))
        }
    }

    #[tokio::test]
    async fn news_are_shown_before_a_question_is_asked_and_a_line_is_read_after_it() {
        let (person, terminal) = UnixStream::pair().unwrap();
        let lines = LineReader::of(terminal, Reading::OnDemand);
        let news = Queued(["one", "two"].into());
        let mut asking = Asking { news, lines, person: Some(person), log: Vec::new() };
        let Ok(log) = run(&mut asking, &mut Queued(VecDeque::new())).await;
        assert_eq!(log, ["one", "two", "asked", "yes to 1"]);
        let Ok(log) = run(&mut asking, &mut Queued(["stop"].into())).await;
        assert_eq!(log, ["stop"], "a signal ends the wait");
    }
}
