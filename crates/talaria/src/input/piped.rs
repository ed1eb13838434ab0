//! Standard input in addition to a prompt: `git diff | talaria exec "review this"`.
//!
//! A terminal, `/dev/null` and a closed descriptor are no input. A pipe may be inherited and silent indefinitely (a
//! service, a CI job), so its first byte is waited for only a few seconds; once there is one, it is read to its end.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::fs::{FileType, fstat};

use super::{INPUT_LIMIT, too_long};
use crate::trouble::{Trouble, complain, exit};

/// How long a pipe may be silent before the turn begins without it.
const FIRST_BYTE: Duration = Duration::from_secs(3);

/// Longer than anyone waits.
const EVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// Whether a silent pipe is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// For a few seconds.
    Briefly,
    /// However long it takes.
    ToTheEnd,
}

/// What kind of input there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// None: a terminal, a device, or closed.
    Nothing,
    /// A file: it has an end.
    File,
    /// A pipe or a socket.
    Pipe,
}

/// Whether there could be input.
pub(crate) fn is_there() -> bool {
    kind() != Kind::Nothing
}

/// Reads standard input, if there is any; `None` if there is none or it is empty.
pub(crate) fn read(silence: Silence) -> Result<Option<String>, Trouble> {
    let kind = kind();
    if kind == Kind::Nothing {
        return Ok(None);
    }
    let chunks = chunks();
    let longest = INPUT_LIMIT * 4;
    let mut bytes = Vec::new();
    let is_patient = kind == Kind::File || silence == Silence::ToTheEnd;
    let patience = if is_patient { EVER } else { FIRST_BYTE };
    let mut next = chunks.recv_timeout(patience);
    if next == Err(RecvTimeoutError::Timeout) {
        complain(&format!(
            "no data on standard input for {} seconds; the turn starts without it (--stdin waits for it)\n",
            FIRST_BYTE.as_secs()
        ));
        return Ok(None);
    }
    while let Ok(chunk) = next {
        bytes.extend(chunk);
        if bytes.len() > longest {
            return Err(too_long(format!("more than {INPUT_LIMIT}")));
        }
        next = chunks.recv_timeout(EVER);
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        Trouble::new(exit::USAGE, "standard input is not text")
            .because(format!("byte {} is not valid UTF-8", error.utf8_error().valid_up_to() + 1))
            .try_this(
                "save it to a file and name the file in the prompt, or close standard input with </dev/null",
            )
    })?;
    complain(&format!("read {} bytes from standard input\n", text.len()));
    Ok(Some(text))
}

/// The prompt with standard input, marked as such. The fence is longer than any in the text.
pub(crate) fn with_prompt(prompt: &str, text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!(
        "{prompt}\n\nStandard input of the command ({} bytes):\n\n{fence}\n{text}{end}{fence}\n",
        text.len()
    )
}

fn kind() -> Kind {
    let Ok(about) = fstat(io::stdin().as_fd()) else { return Kind::Nothing };
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Fifo | FileType::Socket => Kind::Pipe,
        _ => Kind::Nothing,
    }
}

/// Reads standard input on a separate thread, which a silent pipe may block for as long as the program runs. Closed at the
/// end of the input, and at an error, which is an end too.
fn chunks() -> Receiver<Vec<u8>> {
    let (sender, chunks) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut chunk = vec![0; CHUNK];
        while let Ok(read @ 1..) = io::stdin().read(&mut chunk) {
            if sender.send(chunk[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_holds_whatever_the_text_has() {
        assert_eq!(
            with_prompt("sum up", "a\n```\nb"),
            "sum up\n\nStandard input of the command (7 bytes):\n\n````\na\n```\nb\n````\n"
        );
    }
}
