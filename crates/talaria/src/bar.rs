//! A progress bar on standard error: one line that is drawn again on a terminal, one line per stage elsewhere.

use std::io::{self, IsTerminal, Write};

use talaria_codex::install::InstallProgress;
use talaria_render::writer;

const WIDTH: usize = 30;

/// Shows the progress of an installation.
#[derive(Debug)]
pub(crate) struct Bar {
    what: String,
    live: bool,
    last: String,
}

impl Bar {
    /// Makes a bar for `what`.
    pub(crate) fn new(what: String) -> Self {
        Self { what, live: io::stderr().is_terminal(), last: String::new() }
    }

    /// Shows where it is now.
    pub(crate) fn show(&mut self, progress: InstallProgress) {
        let text = format!(
            "{}: {}",
            self.what,
            if self.live { drawn(progress) } else { stage(progress).to_owned() }
        );
        if text == self.last {
            return;
        }
        // A closed standard error is ignored.
        let _ = if self.live {
            write!(io::stderr(), "{}{text}", writer::ERASE_ROW).and_then(|()| io::stderr().flush())
        } else {
            writeln!(io::stderr(), "{text}")
        };
        self.last = text;
    }

    /// Ends the line.
    pub(crate) fn end(&mut self) {
        if self.live && !self.last.is_empty() {
            let _ = writeln!(io::stderr());
            self.last.clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}

fn stage(progress: InstallProgress) -> &'static str {
    match progress {
        InstallProgress::Waiting => "waiting for another installation to finish",
        InstallProgress::Resolving => "asking npm",
        InstallProgress::Downloading { .. } => "downloading",
        InstallProgress::Verifying => "checking",
        InstallProgress::Done => "done",
    }
}

fn drawn(progress: InstallProgress) -> String {
    let InstallProgress::Downloading { bytes_on_disk, expected } = progress else {
        return stage(progress).to_owned();
    };
    let here = megabytes(bytes_on_disk);
    match expected {
        Some(expected) if expected > 0 => {
            let part = bytes_on_disk.min(expected);
            let filled = usize::try_from(part * WIDTH as u64 / expected).unwrap_or(WIDTH);
            let percent = part * 100 / expected;
            let rest = WIDTH - filled;
            format!(
                "[{}{}] {percent:>3} %  {here} of {} MB",
                "#".repeat(filled),
                ".".repeat(rest),
                megabytes(expected)
            )
        }
        // The size is not known: something moves while something arrives.
        _ => format!("[{}] {here} MB", pacing(bytes_on_disk)),
    }
}

/// A block that moves back and forth, a step for every five megabytes.
fn pacing(bytes_on_disk: u64) -> String {
    const BLOCK: usize = 5;
    let way = WIDTH - BLOCK;
    let step = usize::try_from(bytes_on_disk / 5_000_000).unwrap_or(0) % (2 * way);
    let before = if step < way { step } else { 2 * way - step };
    format!("{}{}{}", ".".repeat(before), "#".repeat(BLOCK), ".".repeat(way - before))
}

fn megabytes(bytes: u64) -> u64 {
    bytes / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_never_runs_over_its_end() {
        let at = |bytes_on_disk| {
            drawn(InstallProgress::Downloading { bytes_on_disk, expected: Some(400_000_000) })
        };
        assert_eq!(at(0), format!("[{}]   0 %  0 of 400 MB", ".".repeat(30)));
        assert_eq!(at(200_000_000), format!("[{}{}]  50 %  200 of 400 MB", "#".repeat(15), ".".repeat(15)));
        assert_eq!(at(500_000_000), format!("[{}] 100 %  500 of 400 MB", "#".repeat(30)));
    }

    #[test]
    fn a_bar_of_unknown_length_moves_to_and_fro_and_keeps_its_width() {
        let at = |megabytes: u64| pacing(megabytes * 1_000_000);
        assert_eq!(at(0), format!("#####{}", ".".repeat(25)));
        assert_eq!(at(125), format!("{}#####", ".".repeat(25)));
        assert_eq!(at(130), format!("{}#####.", ".".repeat(24)));
        assert!((0..2000).all(|megabytes| at(megabytes).len() == WIDTH));
    }
}
