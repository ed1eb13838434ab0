//! `local`: the desktop, else the terminal, else nothing.

use std::ffi::OsString;
use std::path::Path;

use expect_test::expect;
use talaria_core::config::NotifyConfig;
use talaria_core::notice::Notice;
use talaria_engine::notify::Senders;
use talaria_testkit::Terminal;
use talaria_testkit::terminal::Command;

use super::{ample, notice, parcel, send};

fn hostile() -> Notice {
    Notice { title: "\u{1b}[2J<b>\r\nx\u{7}".to_owned(), ..notice() }
}

fn with(variables: &[(&str, &Path)]) -> Senders {
    let environment =
        variables.iter().map(|(name, value)| (OsString::from(name), value.as_os_str().to_owned()));
    Senders::new(NotifyConfig::default(), environment).with_limits(ample())
}

async fn told(senders: &Senders, tty: Option<&Path>) -> String {
    let mut parcel = parcel(hostile());
    parcel.tty = tty.map(Path::to_owned);
    send(senders, "local", &parcel).await.unwrap().note
}

/// A `notify-send` that writes its arguments to a file, or fails.
#[cfg(target_os = "linux")]
fn desktop(place: &Path, exit: u8) {
    let program = place.join("notify-send");
    let script =
        format!("#!/bin/sh\nfor word; do echo \"[$word]\"; done > {}/shown\nexit {exit}\n", place.display());
    // Written by another process: a program that any process has open for writing cannot be started, and every test
    // that starts something at that moment would have it open.
    let writing = "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let written = std::process::Command::new("sh").args(["-c", writing, "sh", &script]).arg(program).status();
    assert!(written.unwrap().success());
}

#[tokio::test]
async fn without_desktop_and_terminal_nobody_is_told_and_the_receipt_says_so() {
    let place = tempfile::tempdir().unwrap();
    let bare = with(&[("PATH", place.path())]);
    assert_eq!(told(&bare, None).await, "there is no desktop and no terminal");
    // Neither files nor links nor devices without an end are terminals.
    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    for tty in [file.as_path(), Path::new("/dev/null"), Path::new("/dev/gone"), Path::new("/dev/stdin")] {
        assert_eq!(told(&bare, Some(tty)).await, "there is no desktop and no terminal", "{tty:?}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_desktop_shows_title_and_text_without_markup() {
    let place = tempfile::tempdir().unwrap();
    desktop(place.path(), 0);
    let without_bus = with(&[("PATH", place.path())]);
    assert_eq!(told(&without_bus, None).await, "there is no desktop and no terminal");
    let senders = with(&[("PATH", place.path()), ("DBUS_SESSION_BUS_ADDRESS", Path::new("unix:path=/x"))]);
    assert_eq!(told(&senders, None).await, "shown on the desktop");
    let shown = std::fs::read_to_string(place.path().join("shown")).unwrap();
    expect![[r#"
        [--app-name=Talaria]
        [--]
        [codex-ab12 completed: ␛[2J<b> x␇]
        [␛[2J&lt;b&gt; x␇

        Done: it waited for the wrong port.

        1 file changed, +3 -1, on talaria/codex-ab12
        Look: talaria task show codex-ab12]
    "#]]
    .assert_eq(&shown);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn where_the_desktop_fails_the_terminal_rings() {
    let place = tempfile::tempdir().unwrap();
    desktop(place.path(), 1);
    let senders = with(&[("PATH", place.path()), ("DBUS_SESSION_BUS_ADDRESS", Path::new("unix:path=/x"))]);
    let mut terminal = Terminal::spawn(Command::new("sh").arg("-c").arg("echo at $(tty) end; exec cat"));
    terminal.wait_for(" end").await;
    let transcript = terminal.transcript();
    let tty = transcript.split_whitespace().nth(1).unwrap().to_owned();
    assert_eq!(told(&senders, Some(Path::new(&tty))).await, format!("shown on {tty}"));
    terminal.wait_for("[talaria] codex-ab12 completed: ␛[2J<b> x␇").await;
}
