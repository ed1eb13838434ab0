//! Lines from standard input, read by a thread of its own when somebody wants one.
//!
//! Each line says how many questions had been put when it came: what was typed before a question is no answer to it.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

/// The longest line that is read; more is the next line.
const LONGEST: u64 = 4 * 1024 * 1024;

/// The lines.
pub(super) struct Lines {
    wanted: mpsc::UnboundedSender<()>,
    lines: mpsc::UnboundedReceiver<Line>,
    asked: Arc<AtomicU64>,
    is_waiting: bool,
}

/// What came. Not to be printed: it may be a secret.
pub(super) struct Line {
    /// The text without its end; `None` at the end of input.
    pub(super) text: Option<String>,
    /// How many questions had been put when it came.
    pub(super) asked: u64,
}

impl Lines {
    /// Begins to read standard input.
    pub(super) fn open() -> Self {
        let (wanted, wants) = mpsc::unbounded_channel();
        let (sender, lines) = mpsc::unbounded_channel();
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || read(wants, &sender, &counted));
        Self { wanted, lines, asked, is_waiting: false }
    }

    /// A question is put: only lines from now on can answer it. Gives its number.
    pub(super) fn question_is_put(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Waits for the next line. One that was asked for and not taken is not lost.
    pub(super) async fn next(&mut self) -> Line {
        if !self.is_waiting {
            self.is_waiting = self.wanted.send(()).is_ok();
        }
        let line = self.lines.recv().await;
        self.is_waiting = false;
        line.unwrap_or(Line { text: None, asked: 0 })
    }
}

fn read(mut wants: mpsc::UnboundedReceiver<()>, lines: &mpsc::UnboundedSender<Line>, asked: &AtomicU64) {
    let mut input = io::stdin().lock();
    while wants.blocking_recv().is_some() {
        let mut bytes = Vec::new();
        let text = match input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes) {
            Ok(1..) => Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned()),
            Ok(0) | Err(_) => None,
        };
        if lines.send(Line { text, asked: asked.load(Ordering::SeqCst) }).is_err() {
            return;
        }
    }
}
