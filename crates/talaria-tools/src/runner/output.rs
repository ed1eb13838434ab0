//! What a command printed and how it ended, as a model reads it: the first line says which, and what is left out.
//!
//! Pure but for reading the spool. Long output is shown by its beginning and its end, with the position of the middle.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use talaria_core::tool::{LONGEST_RESULT, ToolOutcome};

use crate::files::keep_long_text;
use crate::keeper::{CommandEnd, CommandEnding, CommandState, KeptCommand};

/// How many characters of output fit into a result; the rest is for the first line and for masks of secrets.
const ROOM: usize = LONGEST_RESULT - 900;
/// How many of them are the beginning.
const BEGINNING: usize = ROOM / 3;
/// How much is read at once.
const READ: usize = 256 * 1024;

/// A part of what a command printed.
pub(super) struct ShownOutput {
    text: String,
    /// From which byte to which.
    from: u64,
    pub(super) to: u64,
    /// A part of it is left out.
    pub(super) is_cut: bool,
    /// The file that has all of it.
    pub(super) whole: Option<PathBuf>,
}

/// Writes everything that a command printed and that was kept to a file of its own, secrets masked. The same again changes
/// nothing.
pub(super) fn keep_whole(command: &KeptCommand, directory: &Path) -> io::Result<PathBuf> {
    let (mut reader, mut bytes) = (command.output(0), Vec::new());
    loop {
        let piece = reader.read(READ)?;
        if piece.bytes.is_empty() && piece.skipped == 0 {
            break;
        }
        if piece.skipped > 0 {
            bytes.extend(format!("\n[{} bytes were not kept]\n", piece.skipped).bytes());
        }
        bytes.extend(piece.bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    keep_long_text(directory, &format!("output-{}.txt", command.id().as_str()), &text)
}

/// Reads the output from a position on, and shows as much of it as fits.
pub(super) fn show(command: &KeptCommand, from: u64) -> io::Result<ShownOutput> {
    let mut reader = command.output(from);
    let mut beginning = Vec::new();
    let mut end: Vec<u8> = Vec::new();
    let mut left_out: u64 = 0;
    let mut middle = from;
    loop {
        let piece = reader.read(READ)?;
        if piece.bytes.is_empty() && piece.skipped == 0 {
            break;
        }
        left_out += piece.skipped;
        let mut rest = piece.bytes.as_slice();
        if left_out == 0 && end.is_empty() && beginning.len() < BEGINNING {
            let length = rest.len().min(BEGINNING - beginning.len());
            beginning.extend_from_slice(&rest[..length]);
            middle = from + beginning.len() as u64;
            rest = &rest[length..];
        }
        end.extend_from_slice(rest);
        if let Some(more) = end.len().checked_sub(ROOM - BEGINNING).filter(|more| *more > 0) {
            end.drain(..more);
            left_out += more as u64;
        }
    }
    let text = match left_out {
        0 => {
            beginning.extend(end);
            String::from_utf8_lossy(&beginning).into_owned()
        }
        left_out => format!(
            "{}\n[{left_out} bytes from byte {middle} on are left out here]\n{}",
            String::from_utf8_lossy(&beginning),
            String::from_utf8_lossy(&end)
        ),
    };
    Ok(ShownOutput { text, from, to: reader.position(), is_cut: left_out > 0, whole: None })
}

impl ShownOutput {
    /// The result of a call that waited for, or looked at, a command in this state.
    pub(super) fn outcome(
        &self,
        command: &KeptCommand,
        state: &CommandState,
        waited: Option<Duration>,
    ) -> ToolOutcome {
        let id = command.id().as_str();
        let part = self.part();
        match state {
            CommandState::Ended(end) => {
                let whole = self.whole.as_deref().map(whole_words).unwrap_or_default();
                let text = format!("{}; {part}.{}{whole}\n{}", ending(end), remarks(end), self.text);
                match &end.ending {
                    CommandEnding::NotStarted(_) => ToolOutcome::failed(&text),
                    CommandEnding::Exited(_) | CommandEnding::Signalled(_) => ToolOutcome::done(&text),
                }
            }
            CommandState::Running | CommandState::Starting => {
                let waited =
                    waited.map(|waited| format!(" after {} s", waited.as_secs())).unwrap_or_default();
                ToolOutcome::done(&format!(
                    "Still running{waited} as process {id}, incomplete; {part}. Use process to poll, write or kill.\n{}",
                    self.text
                ))
            }
            CommandState::NotStarted => ToolOutcome::failed("the command was not started"),
            CommandState::Lost => ToolOutcome::unknown(&format!(
                "the process that kept command {id} was killed, so how the command ended is not known; {part}.\n{}",
                self.text
            )),
            CommandState::Copied | CommandState::Missing => {
                ToolOutcome::failed(&format!("there is no process {id} in this conversation any more"))
            }
        }
    }

    fn part(&self) -> String {
        match (self.from, self.to) {
            (0, 0) => "no output".to_owned(),
            (0, to) => format!("output of {to} bytes"),
            (from, to) if from == to => "no new output".to_owned(),
            (from, to) => format!("output from byte {from} to {to}"),
        }
    }
}

/// Names the file, for the first line.
fn whole_words(path: &Path) -> String {
    format!(" All of it is in {}: read or search that file.", path.display())
}

fn ending(end: &CommandEnd) -> String {
    let how = match &end.ending {
        CommandEnding::Exited(code) => format!("Exit code {code}"),
        CommandEnding::Signalled(signal) => format!("Ended by signal {signal}"),
        CommandEnding::NotStarted(why) => format!("Not started: {why}"),
    };
    let stopped = if end.is_stopped { ", as asked" } else { "" };
    format!("{how}{stopped}, complete")
}

fn remarks(end: &CommandEnd) -> String {
    let mut remarks = String::new();
    if end.leftovers > 0 && !end.is_stopped {
        remarks += &format!(" {} processes that it left running were ended.", end.leftovers);
    }
    if end.unspooled_bytes > 0 {
        remarks += &format!(" {} bytes of output were lost because the disk is full.", end.unspooled_bytes);
    }
    remarks
}
