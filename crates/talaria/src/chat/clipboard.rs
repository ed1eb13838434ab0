//! The clipboard of the desktop, for Ctrl-V: an image as a file, or text. A terminal passes neither on by itself: it pastes text
//! only, and only where the person asks the terminal for it.
//!
//! The programs of the desktop are asked, each for a limited time and size. Images are kept below the home for as long as a
//! message with them may wait, and are readable by the person alone.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use talaria_tui::chat::contract::ClipboardContent;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::input;

/// How long a program may take. One waits for its owner, which may be gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// So much is read at most; an image that Codex takes is smaller.
const MOST: u64 = 21 * 1024 * 1024;
/// How long an image is kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The folder of the images in the home.
const FOLDER: &str = "pasted";
/// The formats that Codex takes, the best first, with the ends of their files.
const FORMATS: [(&str, &str); 4] =
    [("image/png", "png"), ("image/jpeg", "jpg"), ("image/webp", "webp"), ("image/gif", "gif")];

/// A program that prints what the clipboard has.
struct Program {
    name: &'static str,
    /// Prints the formats, one per line; none where it can print text alone.
    formats: &'static [&'static str],
    /// Prints one format; its name follows.
    image: &'static [&'static str],
    text: &'static [&'static str],
}

const WAYLAND: Program = Program {
    name: "wl-paste",
    formats: &["--list-types"],
    image: &["--no-newline", "--type"],
    text: &["--no-newline", "--type", "text"],
};
const X11: Program = Program {
    name: "xclip",
    formats: &["-selection", "clipboard", "-o", "-t", "TARGETS"],
    image: &["-selection", "clipboard", "-o", "-t"],
    text: &["-selection", "clipboard", "-o"],
};
const MAC: Program = Program { name: "pbpaste", formats: &[], image: &[], text: &[] };

/// Returns what the clipboard has. An image precedes the text that programs put beside it.
pub(super) async fn read(home: &Path) -> ClipboardContent {
    let mut answered = false;
    for program in [WAYLAND, X11, MAC] {
        let formats = match program.formats {
            [] => String::new(),
            arguments => match run(program.name, arguments, &[]).await {
                Printed::Output(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                // An empty clipboard is a failure to it.
                Printed::Failed => {
                    answered = true;
                    continue;
                }
                Printed::Missing => continue,
            },
        };
        let offered = FORMATS.into_iter().find(|(name, _)| formats.lines().any(|line| line.trim() == *name));
        if let Some((format, end)) = offered
            && let Printed::Output(bytes) = run(program.name, program.image, &[format]).await
        {
            return match keep(home, &bytes, end) {
                Ok(path) => ClipboardContent::Image(path),
                Err(why) => ClipboardContent::Nothing(format!("the image of the clipboard: {why}")),
            };
        }
        match run(program.name, program.text, &[]).await {
            Printed::Output(bytes) if !bytes.is_empty() => {
                return ClipboardContent::Text(String::from_utf8_lossy(&bytes).into_owned());
            }
            Printed::Missing => {}
            Printed::Output(_) | Printed::Failed => answered = true,
        }
    }
    ClipboardContent::Nothing(match answered {
        true => "the clipboard has no image and no text".to_owned(),
        false => "no program for the clipboard: install wl-clipboard or xclip".to_owned(),
    })
}

/// Programs that take text for the clipboard on standard input.
const WRITERS: [(&str, &[&str]); 3] =
    [("wl-copy", &[]), ("xclip", &["-selection", "clipboard", "-in"]), ("pbcopy", &[])];

/// Writes text to the clipboard. The error says why that failed.
pub(super) async fn write(text: &str) -> Result<(), String> {
    let mut why = "no program for the clipboard: install wl-clipboard or xclip".to_owned();
    for (name, arguments) in WRITERS {
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut child) = command.kill_on_drop(true).spawn() else { continue };
        let written = async {
            let mut input = child.stdin.take()?;
            input.write_all(text.as_bytes()).await.ok()?;
            drop(input);
            child.wait().await.ok()?.success().then_some(())
        };
        match tokio::time::timeout(PATIENCE, written).await {
            Ok(Some(())) => return Ok(()),
            _ => why = format!("{name} failed"),
        }
    }
    Err(why)
}

/// How a program ended.
enum Printed {
    Output(Vec<u8>),
    Failed,
    Missing,
}

async fn run(program: &str, arguments: &[&str], more: &[&str]) -> Printed {
    let mut command = Command::new(program);
    command.args(arguments).args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.kill_on_drop(true).spawn() else { return Printed::Missing };
    let Some(output) = child.stdout.take() else { return Printed::Failed };
    let read = async {
        let mut bytes = Vec::new();
        output.take(MOST).read_to_end(&mut bytes).await.ok()?;
        child.wait().await.ok()?.success().then_some(bytes)
    };
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(Some(bytes)) => Printed::Output(bytes),
        _ => Printed::Failed,
    }
}

/// Keeps an image in a file of the home, and removes old ones. The error says why it cannot be sent.
fn keep(home: &Path, bytes: &[u8], end: &str) -> Result<String, String> {
    let folder = home.join(FOLDER);
    let text = |error: std::io::Error| error.to_string();
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(text)?;
    forget_old(&folder);
    let at = jiff::Timestamp::now().as_microsecond();
    let path = folder.join(format!("clipboard-{at}-{}.{end}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(&path).and_then(|mut file| file.write_all(bytes)).map_err(text)?;
    match input::image_path(&path) {
        Ok(path) => Ok(path),
        Err(trouble) => {
            let _ = fs::remove_file(&path);
            Err(trouble.summary())
        }
    }
}

fn forget_old(folder: &Path) {
    let is_old = |path: &PathBuf| {
        let at = fs::metadata(path).and_then(|data| data.modified()).ok();
        at.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > KEPT)
    };
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for old in paths.filter(is_old) {
        // One that cannot be removed is removed another time.
        let _ = fs::remove_file(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_kept_for_a_week_and_readable_by_their_person_alone() {
        use std::os::unix::fs::PermissionsExt;

        let home = tempfile::tempdir().unwrap();
        let kept = keep(home.path(), b"\x89PNG\r\n\x1a\n....", "png").unwrap();
        assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
        let old = SystemTime::now() - KEPT - Duration::from_secs(60);
        fs::File::options().write(true).open(&kept).unwrap().set_modified(old).unwrap();
        let next = keep(home.path(), b"GIF89a......", "gif").unwrap();
        assert!(!Path::new(&kept).exists() && Path::new(&next).exists());
        assert!(keep(home.path(), b"no image", "png").unwrap_err().contains("not a PNG"));
        assert_eq!(
            fs::read_dir(home.path().join(FOLDER)).unwrap().count(),
            1,
            "what cannot be sent is not kept"
        );
    }
}
