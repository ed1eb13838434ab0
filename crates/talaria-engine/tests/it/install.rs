//! The real npm installs the real, pinned Codex.

use std::path::Path;

use talaria_codex::install::{InstallOutcome, InstallProgress, install, installed};
use talaria_codex::locate::{CodexOrigin, CodexSearch, locate};
use talaria_core::version::PINNED;
use talaria_home::home::TalariaHome;

#[tokio::test]
async fn the_pinned_codex_is_installed_once_by_two_at_the_same_time_and_then_found() {
    let dir = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let home = TalariaHome::resolve(Some(dir.path().into()), None).unwrap();
    let (mut first_seen, mut second_seen) = (Vec::new(), Vec::new());
    let mut note_first = |progress| first_seen.push(progress);
    let mut note_second = |progress| second_seen.push(progress);
    let (first, second) =
        tokio::join!(install(&home, &PINNED, &mut note_first), install(&home, &PINNED, &mut note_second));
    let (first, second) = (first.unwrap(), second.unwrap());

    let is_fresh = |installed: &InstallOutcome| matches!(installed, InstallOutcome::Fresh(_));
    assert!(is_fresh(&first) != is_fresh(&second), "exactly one of them downloads");
    assert_eq!(first.binary(), second.binary());
    let (worker, waiter) =
        if is_fresh(&first) { (first_seen, second_seen) } else { (second_seen, first_seen) };
    assert!(waiter.contains(&InstallProgress::Waiting), "{waiter:?}");
    assert!(matches!(
        worker[..],
        [.., InstallProgress::Downloading { .. }, InstallProgress::Verifying, InstallProgress::Done]
    ));
    let largest = worker.iter().filter_map(|progress| match progress {
        InstallProgress::Downloading { bytes_on_disk, .. } => Some(*bytes_on_disk),
        _ => None,
    });
    assert!(largest.max() > Some(10_000_000), "the program itself was seen to arrive: {worker:?}");

    let search = CodexSearch { explicit: None, path: None, installed: home.codex_root() };
    let found = locate(&search).await.unwrap();
    assert_eq!((found.origin, &found.version), (CodexOrigin::Installed, &PINNED));
    assert_eq!(Some(&found.path), installed(&home, &PINNED).as_ref());
    assert_ne!(found.launcher.as_ref(), Some(&found.path), "the native program, not the launcher");
    assert!(found.path.starts_with(home.codex_dir(&PINNED).canonicalize().unwrap()));
}
