//! The user's own screen: a notification of the desktop, or else the bell and a line in the terminal of the person who
//! started the task.
//!
//! If there is neither, no one can be notified here, and that is no failure: the receipt says so, and the next command
//! shows the task. A terminal is written to only if it still is one and belongs to this user, and never waited for.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use rustix::fs::{Mode, OFlags};

use super::{Deliver, NotifyError, Parcel, Receipt, SendTimeouts};
use crate::program::{Program, Ran, find};

/// The way to the screen.
#[derive(Debug)]
pub(super) struct Local<'a> {
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) limits: SendTimeouts,
}

/// A program that shows something on the desktop.
struct Desktop {
    path: PathBuf,
    arguments: Vec<OsString>,
}

impl Deliver for Local<'_> {
    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Receipt, NotifyError>> {
        Box::pin(async move {
            if self.show(parcel).await {
                return Ok(Receipt { note: "shown on the desktop".to_owned() });
            }
            let note = match &parcel.tty {
                Some(tty) if ring(tty, &parcel.notice.subject()) => format!("shown on {}", tty.display()),
                _ => "there is no desktop and no terminal".to_owned(),
            };
            Ok(Receipt { note })
        })
    }
}

impl Local<'_> {
    async fn show(&self, parcel: &Parcel) -> bool {
        let Some(desktop) = self.desktop(&parcel.notice.subject(), &parcel.notice.body()) else {
            return false;
        };
        let ran = Program {
            path: &desktop.path,
            arguments: desktop.arguments.iter().map(OsString::as_os_str).collect(),
            environment: self.environment,
            input: "",
            limit: self.limits.desktop,
            reads: None,
        };
        matches!(ran.run().await, Ran::Ended { status, .. } if status.success())
    }

    fn desktop(&self, title: &str, body: &str) -> Option<Desktop> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        if cfg!(target_os = "macos") {
            let script =
                "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
            let path = find("osascript", self.environment)?;
            return Some(Desktop { path, arguments: words(&["-e", script, title, body]) });
        }
        let path = find("notify-send", self.environment).filter(|_| self.has_bus())?;
        // Desktops read the text as markup.
        let body = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        Some(Desktop { path, arguments: words(&["--app-name=Talaria", "--", title, &body]) })
    }

    /// Without a bus the program would start its own, which no one reads.
    fn has_bus(&self) -> bool {
        let value = |name: &str| {
            let found = self.environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
        };
        let socket = |directory: &OsStr| Path::new(directory).join("bus").exists();
        value("DBUS_SESSION_BUS_ADDRESS").is_some() || value("XDG_RUNTIME_DIR").is_some_and(socket)
    }
}

/// Rings the bell of a terminal and writes one line to it; says whether that was possible.
fn ring(tty: &Path, line: &str) -> bool {
    // Without waiting, without becoming its session, and only the device itself: never a pipe or a link to a file.
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if !tty.starts_with("/dev") {
        return false;
    }
    let Ok(device) = rustix::fs::open(tty, flags, Mode::empty()) else { return false };
    let is_ours =
        rustix::fs::fstat(&device).is_ok_and(|looked| looked.st_uid == rustix::process::geteuid().as_raw());
    if !is_ours || !rustix::termios::isatty(&device) {
        return false;
    }
    std::fs::File::from(device).write_all(format!("\u{7}\r\n[talaria] {line}\r\n").as_bytes()).is_ok()
}
