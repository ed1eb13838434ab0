//! Standard output: text of commands that do not render a turn, and where a turn is rendered for people.

use std::io::{self, IsTerminal, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use talaria_render::{Renderer, SplitRenderer, StyledText, TerminalRenderer, in_rows, writer};

use crate::look;
use crate::trouble::{Trouble, exit};

/// Prints text. A reader that went away is not an error.
pub(crate) fn print(text: &str) -> Result<(), Trouble> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::new(exit::FAILED, "cannot write the output").because(error))
        }
        _ => Ok(()),
    }
}

/// Returns a page as standard output takes it: with colours on a terminal that has them.
pub(crate) fn encoded(page: &StyledText) -> String {
    writer::encode(page, look::of_stdout())
}

/// Prints lines of ours; on a terminal they break between words.
pub(crate) fn print_lines(text: &str) -> Result<(), Trouble> {
    print(&in_rows(text, look::columns()))
}

/// A turn for people: on a terminal all of it, in order; into a pipe or a file the answer alone, and the account of the
/// turn on standard error.
pub(crate) fn for_people() -> Box<dyn Renderer + Send> {
    if io::stdout().is_terminal() {
        Box::new(TerminalRenderer::new(io::stdout(), look::of_stdout()))
    } else {
        Box::new(SplitRenderer::new(WatchedStdout, io::stderr(), look::of_stderr()))
    }
}

/// Standard output that reports with `flush` that its reader left. Nothing is written there until the turn ends, so a
/// write does not find out in time.
struct WatchedStdout;

impl Write for WatchedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()?;
        let stdout = io::stdout();
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        let has_left = poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok()
            && watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP);
        if has_left { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}
