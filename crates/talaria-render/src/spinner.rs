//! The current activity, in one row: a spinner, the awaited step, its duration.
//!
//! Pure: time in, a row out. `terminal` shows it as a draft and only where a row can be redrawn.

use std::time::Duration;

use talaria_core::ids::ItemId;

use super::paint::{Paint, cut};
use super::sanitize::one_line;
use super::style::Style;
use super::styled::StyledLine;

/// A step that was announced and has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) item: ItemId,
    /// What to call it on screen.
    pub(crate) label: String,
    since: Duration,
    phase: Phase,
    /// The end of what it printed.
    output: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Runs,
    /// A person is asked about it, or has not accepted it.
    Held,
}

/// More of the last line of output is not kept; no terminal shows it.
const LONGEST_LINE: usize = 512;

impl Running {
    /// Notes a beginning.
    pub(crate) fn new(item: ItemId, label: String, since: Duration) -> Self {
        Self { item, label, since, phase: Phase::Runs, output: String::new() }
    }

    /// A person is asked about it: until a yes it does not run.
    pub(crate) fn hold(&mut self) {
        self.phase = Phase::Held;
    }

    /// It was accepted: its time counts from now.
    pub(crate) fn release(&mut self, now: Duration) {
        (self.phase, self.since) = (Phase::Runs, now);
    }

    /// Does it run, as far as is known?
    pub(crate) fn is_running(&self) -> bool {
        self.phase == Phase::Runs
    }

    /// Notes a piece of output; the last line with something in it is kept.
    pub(crate) fn print(&mut self, delta: &str) {
        for piece in delta.split_inclusive(['\n', '\r']) {
            let is_new_line = self.output.ends_with(['\n', '\r']);
            if piece.trim().is_empty() && (self.output.is_empty() || is_new_line) {
                continue;
            }
            if is_new_line || self.output.len() + piece.len() > LONGEST_LINE {
                self.output.clear();
            }
            self.output.push_str(piece);
            if self.output.len() > LONGEST_LINE {
                self.output = self.output.chars().take(LONGEST_LINE / 4).collect();
            }
        }
    }
}

/// The row for a moment. `running` is a step that runs; `waited` is how old the turn is.
pub(crate) fn row(
    running: Option<&Running>,
    now: Duration,
    waited: Duration,
    width: usize,
    paint: Paint,
) -> StyledLine {
    let sign = sign(now, paint);
    let text = match running {
        None => format!("{sign} working  {}", seconds(waited)),
        Some(step) => {
            let elapsed = seconds(now.saturating_sub(step.since));
            let output = one_line(step.output.trim());
            // The command gets half of the row, so that its output is seen.
            let label =
                if output.is_empty() { step.label.clone() } else { cut(&step.label, width / 2, paint) };
            let space = if output.is_empty() { "" } else { "  " };
            format!("{sign} running  {label}  {elapsed}{space}{output}")
        }
    };
    paint.line(Style::DIM, &cut(&text, width, paint))
}

/// The turning sign at a moment.
pub fn sign(now: Duration, paint: Paint) -> &'static str {
    const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
    let beat = usize::try_from(now.as_millis() / 100).unwrap_or(0);
    paint.sign(FRAMES[beat % FRAMES.len()], ASCII[beat % ASCII.len()])
}

/// Whole seconds, for what is still running.
pub fn seconds(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds => format!("{}m {:02}s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_row_names_the_step_its_time_and_its_last_line() {
        let paint = Paint::new(sample::PIPE);
        let second = Duration::from_secs(1);
        assert_eq!(row(None, second, 75 * second, 40, paint).text(), "⠋ working  1m 15s");
        let mut step = Running::new(ItemId::new("c"), "make".into(), second);
        assert_eq!(row(Some(&step), 4 * second, second, 40, paint).text(), "⠋ running  make  3s");
        for delta in ["first\nsec", "ond\n", "\n"] {
            step.print(delta);
        }
        assert_eq!(row(Some(&step), 4 * second, second, 40, paint).text(), "⠋ running  make  3s  second");
        step.print("10%\r20%\u{1b}[K");
        assert_eq!(row(Some(&step), 4 * second, second, 40, paint).text(), "⠋ running  make  3s  20%␛[K");
        step.print(&"x".repeat(5000));
        assert!(row(Some(&step), second, second, 40, paint).width() <= 40);
    }
}
