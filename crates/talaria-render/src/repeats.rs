//! Warnings that come again and again, such as Codex's retries of a provider that cannot be reached: shown once, then counted.
//!
//! A block of warnings ends with anything else that is shown. The count is shown when it has grown tenfold, and at the end of
//! the block, so that a reader of a log sees that it continued.

use super::paint::Paint;

/// As many different warnings of a block are counted; further ones are shown each time.
const COUNTED: usize = 32;

/// The warnings of one block.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    warnings: Vec<Counted>,
}

#[derive(Debug)]
struct Counted {
    text: String,
    count: usize,
    /// The count that was shown last.
    shown: usize,
}

impl Repeats {
    /// Counts a warning. Returns the count if it should be shown now.
    pub(crate) fn count(&mut self, text: &str) -> Option<usize> {
        let Some(known) = self.warnings.iter_mut().find(|known| known.text == text) else {
            if self.warnings.len() < COUNTED {
                self.warnings.push(Counted { text: text.to_owned(), count: 1, shown: 1 });
            }
            return Some(1);
        };
        known.count += 1;
        if known.count < known.shown * 10 {
            return None;
        }
        known.shown = known.count;
        Some(known.count)
    }

    /// Ends the block. Returns each warning whose count was not shown, with the count.
    pub(crate) fn end(&mut self) -> Vec<(String, usize)> {
        let warnings = std::mem::take(&mut self.warnings).into_iter();
        let unshown = warnings.filter(|known| known.count > known.shown);
        unshown.map(|known| (known.text, known.count)).collect()
    }
}

/// A line with its count, unless that is one.
pub fn counted(text: &str, count: usize, paint: Paint) -> String {
    match count {
        1 => text.to_owned(),
        count => format!("{text} ({}{count})", paint.sign("×", "x")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use talaria_core::event::Event;
    use talaria_core::ids::SessionId;

    use crate::{JsonLines, Look, Renderer, TerminalRenderer, sample};

    fn retrying() -> Event {
        Event::Retrying { message: "cannot reach http://127.0.0.1:9/".into() }
    }

    fn warning() -> Event {
        Event::Warning { message: "no bubblewrap".into() }
    }

    fn shown(events: &[Event]) -> String {
        let mut out = Vec::new();
        let mut terminal =
            TerminalRenderer::new(&mut out, Look { color: false, width: None, live: false, unicode: true });
        events.iter().for_each(|event| terminal.event(Duration::ZERO, event).unwrap());
        terminal.close().unwrap();
        drop(terminal);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_retry_is_shown_once_and_counted_until_something_else_is_shown() {
        let mut events = vec![retrying(), retrying(), warning(), retrying(), warning()];
        events.push(sample::text("m-1", "Hello."));
        events.extend([retrying(), retrying()]);
        events.push(sample::completed("Hello."));
        expect![[r#"
            ↻ retrying: cannot reach http://127.0.0.1:9/
            warning: no bubblewrap
            ↻ retrying: cannot reach http://127.0.0.1:9/ (×3)
            warning: no bubblewrap (×2)

            Hello.

            ↻ retrying: cannot reach http://127.0.0.1:9/
            ↻ retrying: cannot reach http://127.0.0.1:9/ (×2)

            tokens: 9.6k in (4.8k cached), 12 out
        "#]]
        .assert_eq(&shown(&events));
    }

    #[test]
    fn a_count_is_shown_when_it_has_grown_tenfold_and_at_the_end() {
        expect![[r#"
            ↻ retrying: cannot reach http://127.0.0.1:9/
            ↻ retrying: cannot reach http://127.0.0.1:9/ (×10)
            ↻ retrying: cannot reach http://127.0.0.1:9/ (×100)
            ↻ retrying: cannot reach http://127.0.0.1:9/ (×123)
        "#]]
        .assert_eq(&shown(&vec![retrying(); 123]));
    }

    #[test]
    fn json_lines_have_every_retry() {
        let mut out = Vec::new();
        let mut lines = JsonLines::new(&mut out, &SessionId::new("s-1"));
        (0..5).for_each(|_| lines.event(Duration::ZERO, &retrying()).unwrap());
        lines.close().unwrap();
        drop(lines);
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 5);
    }
}
