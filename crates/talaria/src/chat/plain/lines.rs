//! Lines from standard input, read by a thread of its own.
//!
//! Each line says how many questions had been put when it came: what was typed before a question is no answer to it. So at a
//! terminal a line is read as soon as it is typed; from a pipe, on demand.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::Input;

/// The longest line that is read.
const LONGEST: u64 = 4 * 1024 * 1024;
/// At most this many lines that were typed ahead are read; more stay in the terminal.
const AHEAD: usize = 64;

/// The lines.
pub(super) struct Lines {
    /// Asks for a line of a pipe.
    wanted: Option<mpsc::UnboundedSender<()>>,
    lines: mpsc::Receiver<Line>,
    asked: Arc<AtomicU64>,
    is_waiting: bool,
}

/// What came.
pub(super) struct Line {
    pub(super) text: Text,
    /// How many questions had been put when it came.
    pub(super) asked: u64,
}

/// Not to be printed: it may be a secret.
#[derive(PartialEq, Eq)]
pub(super) enum Text {
    /// A line without its end.
    Line(String),
    /// A line that is too long; where it ends was not looked for.
    TooLong,
    /// A line that is not UTF-8.
    Garbled,
    /// The end of input.
    Over,
}

impl Lines {
    /// Begins to read standard input.
    pub(super) fn open(input: Input) -> Self {
        Self::of(io::stdin(), input)
    }

    /// The same from elsewhere.
    pub(super) fn of(source: impl Read + Send + 'static, input: Input) -> Self {
        let (wanted, wants) = match input {
            Input::Terminal => (None, None),
            Input::Pipe => {
                // Unbounded in type, bounded by use: one line is asked for at a time.
                let (wanted, wants) = mpsc::unbounded_channel();
                (Some(wanted), Some(wants))
            }
        };
        let (sender, lines) = mpsc::channel(AHEAD);
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || read(BufReader::new(source), wants, &sender, &counted));
        Self { wanted, lines, asked, is_waiting: false }
    }

    /// A question is put: only lines from now on can answer it. Returns its number.
    pub(super) fn question_is_put(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Waits for the next line. One that was asked for and not taken is not lost.
    pub(super) async fn next(&mut self) -> Line {
        if let Some(wanted) = self.wanted.as_ref().filter(|_| !self.is_waiting) {
            self.is_waiting = wanted.send(()).is_ok();
        }
        let line = self.lines.recv().await;
        self.is_waiting = false;
        line.unwrap_or(Line { text: Text::Over, asked: 0 })
    }
}

fn read(
    mut input: impl BufRead,
    mut wants: Option<mpsc::UnboundedReceiver<()>>,
    lines: &mpsc::Sender<Line>,
    asked: &AtomicU64,
) {
    while wants.as_mut().is_none_or(|wants| wants.blocking_recv().is_some()) {
        let text = next_text(&mut input, LONGEST);
        let is_last = matches!(text, Text::Over | Text::TooLong);
        let line = Line { text, asked: asked.load(Ordering::SeqCst) };
        if lines.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}

fn next_text(input: &mut impl BufRead, longest: u64) -> Text {
    let mut bytes = Vec::new();
    match input.take(longest + 1).read_until(b'\n', &mut bytes) {
        Ok(0) | Err(_) => Text::Over,
        Ok(count) if count as u64 > longest => Text::TooLong,
        Ok(_) => String::from_utf8(bytes)
            .map_or(Text::Garbled, |text| Text::Line(text.trim_end_matches(['\r', '\n']).to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use talaria_testkit::until;

    use super::*;

    #[tokio::test]
    async fn what_was_typed_before_a_question_is_known_to_be_though_it_is_taken_later() {
        let (mut person, terminal) = UnixStream::pair().unwrap();
        let mut lines = Lines::of(terminal, Input::Terminal);
        person.write_all(b"early\n").unwrap();
        until("it is read when it is typed", || !lines.lines.is_empty()).await;
        assert_eq!(lines.question_is_put(), 1);
        assert_eq!(lines.next().await.asked, 0);
        person.write_all(b"late\n").unwrap();
        assert_eq!(lines.next().await.asked, 1);
    }

    #[test]
    fn a_line_that_is_no_text_or_too_long_is_no_other_line() {
        let read = |bytes: &[u8]| {
            let mut input = bytes;
            let mut texts = Vec::new();
            while texts.last().is_none_or(|last| matches!(last, Text::Line(_) | Text::Garbled)) {
                texts.push(next_text(&mut input, 4));
            }
            texts
        };
        let line = |text: &str| Text::Line(text.to_owned());
        assert!(read(b"abc\nd") == [line("abc"), line("d"), Text::Over]);
        assert!(read(b"abc\xff\nd") == [Text::TooLong], "what follows is a part of it");
        assert!(read(b"\xff\nd\r\n") == [Text::Garbled, line("d"), Text::Over]);
    }
}
