//! Standard error of an engine, which is `engine.log` for one in the background: secrets masked, one format.
//!
//! Three things are written there: lines of the engine (`EngineLog` is their writer), messages to a person (`complain`
//! masks those itself), and panics (`mask_panics`). Called by `talaria serve` before the engine is opened.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Display;
use std::io::{self, Write};

use talaria_guard::redact::redact;

use crate::trouble::complain;

/// Writes whole lines to `out` without the secrets in them. Every call is one event of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EngineLog<W>(pub(crate) W);

impl<W: Write> Write for EngineLog<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(redact(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Lets panics say what they say without the secrets in it: their words may be those of a peer.
pub(crate) fn mask_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let backtrace = Backtrace::capture();
        let at = jiff::Timestamp::now();
        complain(&format!(
            "{at} thread '{}' {}",
            thread.name().unwrap_or("unnamed"),
            words(panic, &backtrace)
        ));
    }));
}

fn words(panic: &impl Display, backtrace: &Backtrace) -> String {
    match backtrace.status() {
        BacktraceStatus::Captured => format!("{panic}\n{backtrace}\n"),
        _ => format!("{panic}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_of_the_log_is_masked() {
        let secret = format!("ghp_{}", "Fake4Material7NotReal2Fake4Material7");
        let mut out = Vec::new();
        {
            let mut log = EngineLog(&mut out);
            write_whole(&mut log, &format!("WARN session s: refused: {secret}\n"));
            write_whole(&mut log, "INFO adopted Codex 0.166.0, process 12\n");
        }
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(&secret) && text.contains("[redacted:github-token:40]"), "{text}");
        assert!(text.ends_with("\nINFO adopted Codex 0.166.0, process 12\n"), "{text}");
    }

    fn write_whole(log: &mut impl Write, line: &str) {
        log.write_all(line.as_bytes()).unwrap();
        log.flush().unwrap();
    }
}
