//! Text on standard output, for commands that do not render a turn.

use std::io::{self, Write};

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
