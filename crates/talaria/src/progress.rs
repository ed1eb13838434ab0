//! Reports progress to a waiting person: after a second, on a terminal, in one line that is erased again.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use unicode_width::UnicodeWidthStr;

/// Nothing may be written next to the screen's content.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on nothing is reported: the screen belongs to another part of the program.
pub(crate) fn keep_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// From when on a person wonders.
const PATIENCE: Duration = Duration::from_secs(1);

/// Does the work; says `what` for as long as it takes longer than a second.
pub(crate) async fn with_progress<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    let _note = Note::show(what);
    work.await
}

/// Shows the progress, in one line that changes and disappears.
#[derive(Default)]
pub(crate) struct Progress(Option<Note>);

impl Progress {
    /// Replaces the text.
    pub(crate) fn say(&mut self, what: &str) {
        // The old line is erased first.
        self.0 = None;
        self.0 = Some(Note::show(what));
    }
}

/// A line that is shown until it is dropped.
struct Note {
    columns: usize,
}

impl Note {
    fn show(what: &str) -> Self {
        if !io::stderr().is_terminal() || QUIET.load(Ordering::Relaxed) {
            return Self { columns: 0 };
        }
        let text = format!("{what} …");
        // A closed standard error is ignored.
        let _ = write!(io::stderr(), "{text}");
        Self { columns: text.width() }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if self.columns > 0 {
            let _ = write!(io::stderr(), "\r{}\r", " ".repeat(self.columns));
        }
    }
}
