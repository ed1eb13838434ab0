//! The final answer and nothing else: for `answer=$(talaria exec -q …)`.
//!
//! `complaint` has the problems, for the caller to write to another stream. In a pipe the answer is unchanged; on a
//! terminal it is made harmless first.

use std::io::{self, Write};
use std::time::Duration;

use talaria_core::event::Event;
use talaria_core::outcome::{Outcome, Report};

use super::paint::Paint;
use super::sanitize::sanitize;
use super::{Look, Renderer, notice};

/// Prints the answer of a turn that completed.
pub struct Quiet<W: Write> {
    out: W,
    look: Look,
}

impl<W: Write> Quiet<W> {
    /// Wraps the stream that takes the answer.
    pub fn new(out: W, look: Look) -> Self {
        Self { out, look }
    }
}

/// Problems of a turn, as lines; empty on success.
pub fn complaint(report: &Report) -> String {
    let plain = Paint::new(Look { color: false, width: None, live: false, unicode: true });
    notice::ending(report, None, plain).into_iter().map(|lines| lines.text() + "\n").collect()
}

impl<W: Write> Renderer for Quiet<W> {
    fn event(&mut self, _now: Duration, event: &Event) -> io::Result<()> {
        let Event::Outcome(report) = event else { return Ok(()) };
        let (Outcome::Completed, Some(text)) = (&report.outcome, &report.text) else { return Ok(()) };
        if self.look.live {
            self.out.write_all(sanitize(text).as_bytes())?;
        } else {
            self.out.write_all(text.as_bytes())?;
        }
        if text.ends_with('\n') { Ok(()) } else { self.out.write_all(b"\n") }
    }

    fn tick(&mut self, _now: Duration) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn output(look: Look, events: &[Event]) -> String {
        let mut bytes = Vec::new();
        let mut quiet = Quiet::new(&mut bytes, look);
        for event in events {
            quiet.event(Duration::ZERO, event).unwrap();
        }
        quiet.flush().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_the_answer_is_printed() {
        let mut events = sample::one_of_each();
        events.push(sample::completed("forty\ttwo"));
        assert_eq!(output(sample::PIPE, &events), "forty\ttwo\n");
    }

    #[test]
    fn a_turn_that_did_not_complete_prints_nothing() {
        assert_eq!(output(sample::PIPE, &[sample::failed(), sample::lost(), sample::interrupted()]), "");
    }

    #[test]
    fn an_answer_cannot_command_the_terminal() {
        let events = [sample::completed("\u{1b}]0;gone\u{7}hello")];
        assert_eq!(output(sample::TERMINAL, &events), "␛]0;gone␇hello\n");
    }
}
