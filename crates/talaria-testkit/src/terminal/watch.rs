//! For programs that draw: the screen as a value, and waiting until it is as it shall be.
//!
//! The printed bytes do not show what such a screen contains, so these waits look at the screen after
//! every change of it. [`Terminal::settled`] is for snapshots: it waits until nothing that a snapshot shows has changed
//! for a moment, which a spinner and a running clock do not prevent.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout};

use super::keys::{Arrows, Key};
use super::{LIMIT, Terminal, lock};
use crate::screen::{Filter, Screen};

/// How long a screen must be unchanged to count as settled: several frames of any program that draws.
const QUIET: Duration = Duration::from_millis(250);

/// How long a screen may rest in another state than the expected one: a program that gets no time draws nothing.
const PATIENCE: Duration = Duration::from_secs(15);

impl Terminal {
    /// Returns the screen as it is now.
    pub fn look(&self) -> Screen {
        Screen::of(&lock(&self.seen).screen)
    }

    /// Waits until the screen shows a text, and returns that screen.
    pub async fn wait_shown(&mut self, text: &str) -> Screen {
        self.wait_until(&format!("{text:?} on the screen"), |screen| screen.contains(text)).await
    }

    /// Waits until the screen no longer shows a text, and returns that screen.
    pub async fn wait_hidden(&mut self, text: &str) -> Screen {
        self.wait_until(&format!("{text:?} to leave the screen"), |screen| !screen.contains(text)).await
    }

    /// Waits until the screen is as it shall be, and returns it; `what` names that state in a failure.
    pub async fn wait_until(&mut self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Screen {
        let reached = timeout(LIMIT, async {
            loop {
                let ended = *self.ended.borrow_and_update();
                let screen = self.look();
                if is_so(&screen) {
                    return Ok(screen);
                }
                if ended || self.ended.changed().await.is_err() {
                    return Err("the program ended");
                }
            }
        });
        let why = match reached.await {
            Ok(Ok(screen)) => return screen,
            Ok(Err(why)) => why,
            Err(_) => "too long",
        };
        panic!("{why} while waiting for {what}\n{}", framed(&self.look()));
    }

    /// Waits until what a snapshot would show has not changed for a moment, and returns that screen.
    pub async fn settled(&mut self) -> Screen {
        let filter = Filter::new();
        let quiet = async {
            let mut last = self.look();
            loop {
                let same = timeout(QUIET, self.changed_from(&last, &filter)).await;
                match same {
                    Ok(Some(other)) => last = other,
                    // Nothing changed for a moment, or nothing ever will.
                    Ok(None) | Err(_) => return self.look(),
                }
            }
        };
        match timeout(LIMIT, quiet).await {
            Ok(screen) => screen,
            Err(_) => panic!("the screen does not come to rest\n{}", framed(&self.look())),
        }
    }

    /// Waits until the screen has settled as it shall be, and returns it; after a while it returns any screen that has
    /// settled, so that the comparison shows the difference.
    pub async fn settled_as(&mut self, is_so: impl Fn(&Screen) -> bool) -> Screen {
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.settled().await;
            if is_so(&screen) || Instant::now() >= until {
                return screen;
            }
        }
    }

    /// Waits until the screen looks different from that one; `None` when the program has ended before.
    async fn changed_from(&mut self, last: &Screen, filter: &Filter) -> Option<Screen> {
        let before = (last.filtered(filter).text(), last.cursor());
        loop {
            if *self.ended.borrow_and_update() {
                return None;
            }
            let now = self.look();
            if (now.filtered(filter).text(), now.cursor()) != before {
                return Some(now);
            }
            self.ended.changed().await.ok()?;
        }
    }

    /// Presses a key.
    pub async fn key(&mut self, key: Key) {
        let is_application = self.look().modes().is_application_cursor;
        let arrows = if is_application { Arrows::Application } else { Arrows::Usual };
        self.type_keys(&key.bytes(arrows)).await;
    }

    /// Pastes a text: marked as pasted if the program has asked for that, else as if it were typed.
    pub async fn paste(&mut self, text: &str) {
        let (begin, end) =
            if self.look().modes().is_bracketed_paste { ("\x1b[200~", "\x1b[201~") } else { ("", "") };
        // Terminals send a line break as Enter does, and no escapes that would end the paste.
        let text = text.replace('\x1b', "").replace('\n', "\r");
        if let Err(cause) = self.keyboard.write_all(format!("{begin}{text}{end}").as_bytes()).await {
            panic!("cannot paste: {cause}\n{}", framed(&self.look()));
        }
    }

    /// Returns the title that the program set last.
    pub fn title(&self) -> Option<String> {
        lock(&self.seen).screen.callbacks().title.clone()
    }

    /// Returns how often the bell was rung.
    pub fn bells(&self) -> usize {
        lock(&self.seen).screen.callbacks().bells
    }

    /// Returns how often the clipboard was written to.
    pub fn copies(&self) -> usize {
        lock(&self.seen).screen.callbacks().copies
    }
}

/// A screen for the reader of a failure: with its edges and its cursor.
fn framed(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (row, column) = screen.cursor();
    let edge = "─".repeat(usize::from(columns));
    let lines: String = screen.lines().iter().map(|line| format!("│{line}\n")).collect();
    format!("┌{edge}\n{lines}└{edge}\n{columns}×{rows}, cursor in row {}, column {}", row + 1, column + 1)
}
