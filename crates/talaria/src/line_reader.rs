//! Lines that a person types or a program writes, read by a thread of its own.
//!
//! Each line says how many questions had been put when it came: what was typed before a question is no answer to it. So where
//! lines may be typed ahead they are read as soon as they are there; from a pipe, and for questions only, on demand. A line may
//! be a secret: it is passed on and not stored.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

/// The longest line that is read.
const LONGEST: u64 = 4 * 1024 * 1024;
/// At most this many lines that were typed ahead are read; more stay in the terminal.
const AHEAD: usize = 64;

/// When lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As soon as they are there.
    Ahead,
    /// One for each time that one is wanted.
    OnDemand,
}

/// The lines.
pub(crate) struct LineReader {
    /// Asks for a line.
    wanted: Option<mpsc::Sender<()>>,
    lines: mpsc::Receiver<TypedLine>,
    asked: Arc<AtomicU64>,
    is_waiting: bool,
}

/// What came.
pub(crate) struct TypedLine {
    pub(crate) text: LineText,
    /// How many questions had been put when it came.
    pub(crate) asked: u64,
}

/// Not to be printed: it may be a secret.
#[derive(PartialEq, Eq)]
pub(crate) enum LineText {
    /// A line without its end.
    Line(String),
    /// A line that is too long; where it ends was not looked for.
    TooLong,
    /// A line that is not UTF-8.
    Garbled,
    /// The end of input.
    Over,
    /// The input cannot be read; a terminal is gone.
    Failed,
}

impl TypedLine {
    /// Returns whether this is no line, but the end of them.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self.text, LineText::Over | LineText::Failed)
    }
}

impl LineReader {
    /// Begins to read.
    pub(crate) fn of(source: impl Read + Send + 'static, reading: Reading) -> Self {
        let (wanted, wants) = match reading {
            Reading::Ahead => (None, None),
            Reading::OnDemand => {
                // One line is asked for at a time.
                let (wanted, wants) = mpsc::channel(1);
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
    pub(crate) fn question_is_put(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Asks for a line. One that was asked for and has not come yet counts.
    pub(crate) fn want(&mut self) {
        if let Some(wanted) = self.wanted.as_ref().filter(|_| !self.is_waiting) {
            self.is_waiting = wanted.try_send(()).is_ok();
        }
    }

    /// Returns whether a line was asked for that has not come yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Waits for the next line. One that was asked for and not taken is not lost.
    pub(crate) async fn next(&mut self) -> TypedLine {
        let line = self.lines.recv().await;
        self.is_waiting = false;
        line.unwrap_or(TypedLine { text: LineText::Over, asked: 0 })
    }
}

fn read(
    mut input: impl BufRead,
    mut wants: Option<mpsc::Receiver<()>>,
    lines: &mpsc::Sender<TypedLine>,
    asked: &AtomicU64,
) {
    while wants.as_mut().is_none_or(|wants| wants.blocking_recv().is_some()) {
        let text = next_text(&mut input, LONGEST);
        let is_last = match text {
            LineText::Line(_) | LineText::Garbled => false,
            // A terminal can be read again after its end was typed.
            LineText::Over => wants.is_none(),
            LineText::TooLong | LineText::Failed => true,
        };
        let line = TypedLine { text, asked: asked.load(Ordering::SeqCst) };
        if lines.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}

fn next_text(input: &mut impl BufRead, longest: u64) -> LineText {
    let mut bytes = Vec::new();
    match input.take(longest + 1).read_until(b'\n', &mut bytes) {
        Ok(0) => LineText::Over,
        Err(_) => LineText::Failed,
        Ok(count) if count as u64 > longest => LineText::TooLong,
        Ok(_) => String::from_utf8(bytes)
            .map_or(LineText::Garbled, |text| LineText::Line(text.trim_end_matches(['\r', '\n']).to_owned())),
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
        let mut lines = LineReader::of(terminal, Reading::Ahead);
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
            while texts.last().is_none_or(|last| matches!(last, LineText::Line(_) | LineText::Garbled)) {
                texts.push(next_text(&mut input, 4));
            }
            texts
        };
        let line = |text: &str| LineText::Line(text.to_owned());
        assert!(read(b"abc\nd") == [line("abc"), line("d"), LineText::Over]);
        assert!(read(b"abc\xff\nd") == [LineText::TooLong], "what follows is a part of it");
        assert!(read(b"\xff\nd\r\n") == [LineText::Garbled, line("d"), LineText::Over]);
    }
}
