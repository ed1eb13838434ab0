//! Promises of an installation, with a shell script instead of npm. The real npm runs in `tests/it`.

use std::sync::{Arc, Mutex};

use talaria_core::version::PINNED;

use super::super::locate::tests::{codex, is_gone, npm_package, script, vendor};
use super::*;

/// Lays out the package as npm would, after noting the run. `DIR` is the directory to install into.
const LAY_OUT: &str = "mkdir -p DIR/node_modules && cp -r SOURCE/node_modules DIR/";

struct Place {
    dir: TempDir,
    home: TalariaHome,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = TalariaHome::resolve(Some(dir.path().join("home").into()), None).unwrap();
        npm_package(&dir.path().join("source"), "0.166.0", &vendor("bin/codex"));
        Self { dir, home }
    }

    /// Creates an npm that reports the size 20, or the content of `size`, and installs by running `body`.
    fn npm(&self, body: &str) {
        let body = body.replace("SOURCE", &self.at("source")).replace("DIR", "\"$dir\"");
        let (runs, size) = (self.at("runs"), self.at("size"));
        let parse = "while [ $# -gt 0 ]; do [ \"$1\" = --prefix ] && dir=$2; shift; done";
        script(
            &self.dir.path().join("npm"),
            &format!(
                "[ \"$1\" = view ] && {{ cat {size} 2>/dev/null || echo 20; exit; }}\necho run >> {runs}\n{parse}\n{body}"
            ),
        );
    }

    fn at(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.at("runs")).unwrap_or_default().lines().count()
    }

    async fn install(&self) -> (Result<InstallOutcome, InstallError>, Vec<InstallProgress>) {
        let mut seen = Vec::new();
        let npm = self.dir.path().join("npm");
        let result = install_with(&npm, &self.home, &PINNED, &mut |progress| seen.push(progress)).await;
        (result, seen)
    }

    /// Content of the directory of versions, without the lock.
    fn versions(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.home.codex_root()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != ".lock").collect()
    }

    async fn failure(&self) -> InstallError {
        let error = self.install().await.0.unwrap_err();
        assert_eq!(self.versions(), [""; 0], "a failed installation leaves nothing");
        assert_eq!(installed(&self.home, &PINNED), None);
        error
    }
}

#[tokio::test]
async fn the_first_time_installs_and_the_second_finds_it() {
    let place = Place::new();
    place.npm(LAY_OUT);
    let (result, seen) = place.install().await;
    let Ok(InstallOutcome::Fresh(binary)) = result else { panic!("{result:?}") };
    assert_eq!((binary.origin, &binary.version), (CodexOrigin::Installed, &PINNED));
    assert_eq!(installed(&place.home, &PINNED), Some(binary.path.clone()));
    assert_eq!(place.versions(), ["0.166.0"]);
    assert_eq!(seen.first(), Some(&InstallProgress::Resolving));
    assert!(
        matches!(
            seen[..],
            [.., InstallProgress::Downloading { .. }, InstallProgress::Verifying, InstallProgress::Done]
        ),
        "{seen:?}"
    );

    let (result, seen) = place.install().await;
    assert_eq!(result.unwrap(), InstallOutcome::AlreadyThere(binary));
    assert_eq!((seen, place.runs()), (vec![InstallProgress::Done], 1));
}

#[tokio::test]
async fn two_at_once_download_once() {
    let place = Place::new();
    place.npm(LAY_OUT);
    let ((first, _), (second, _)) = tokio::join!(place.install(), place.install());
    let fresh =
        [&first, &second].into_iter().filter(|result| matches!(result, Ok(InstallOutcome::Fresh(_)))).count();
    assert_eq!((fresh, place.runs()), (1, 1));
    assert_eq!(first.unwrap().binary(), second.unwrap().binary());
}

/// Installs with an npm that continues only after the size was reported; returns the reported progress.
async fn install_gated(place: &Place) -> (Result<InstallOutcome, InstallError>, Option<InstallProgress>) {
    let gate = place.at("gate");
    place.npm(&format!("echo 12345 > DIR/part; until [ -e {gate} ]; do sleep 0.01; done; {LAY_OUT}"));
    let npm = place.dir.path().join("npm");
    let mut told = None;
    let mut open_gate = |progress| {
        if told.is_none()
            && matches!(progress, InstallProgress::Downloading { bytes_on_disk: 6, expected: Some(_) })
        {
            std::fs::write(&gate, "").unwrap();
            told = Some(progress);
        }
    };
    let result = install_with(&npm, &place.home, &PINNED, &mut open_gate).await;
    (result, told)
}

#[tokio::test]
async fn the_size_is_told_while_it_grows() {
    let place = Place::new();
    let (result, told) = install_gated(&place).await;
    assert!(matches!(result, Ok(InstallOutcome::Fresh(_))), "{result:?}");
    assert_eq!(told, Some(InstallProgress::Downloading { bytes_on_disk: 6, expected: Some(20) }));
}

#[tokio::test]
async fn a_package_smaller_than_announced_is_not_put_in_place() {
    let place = Place::new();
    std::fs::write(place.at("size"), "1000000").unwrap();
    let (result, _) = install_gated(&place).await;
    assert!(matches!(result, Err(InstallError::Incomplete)), "{result:?}");
    assert_eq!(place.versions(), [""; 0]);
}

#[tokio::test]
async fn dropping_the_future_kills_npm_and_removes_the_half() {
    let place = Place::new();
    place.npm(&format!(
        "echo $$ > {0}; sleep 600 & echo $! >> {0}; echo half > DIR/half; wait",
        place.at("pids")
    ));
    let started = Arc::new(tokio::sync::Notify::new());
    let notify = Arc::clone(&started);
    let npm = place.dir.path().join("npm");
    let mut tell = |progress| {
        if matches!(progress, InstallProgress::Downloading { .. }) {
            notify.notify_one();
        }
    };
    tokio::select! {
        result = install_with(&npm, &place.home, &PINNED, &mut tell) => panic!("{result:?}"),
        () = started.notified() => {}
    }
    assert_eq!(place.versions(), [""; 0]);
    let pids = std::fs::read_to_string(place.at("pids")).unwrap();
    assert_eq!(pids.lines().count(), 2);
    assert!(pids.lines().all(|pid| is_gone(pid.parse().unwrap())), "{pids}");
}

#[tokio::test]
async fn a_waiting_installation_says_so_and_can_be_dropped() {
    let place = Place::new();
    ensure_dir(&place.home.codex_root()).unwrap();
    let held = lock(&place.home.codex_root(), &mut |_| {}).await.unwrap();
    let seen = Mutex::new(Vec::new());
    let npm = place.dir.path().join("npm");
    let mut note = |progress| seen.lock().unwrap().push(progress);
    {
        let mut waiting = Box::pin(install_with(&npm, &place.home, &PINNED, &mut note));
        tokio::select! {
            biased;
            result = &mut waiting => panic!("{result:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(*seen.lock().unwrap(), [InstallProgress::Waiting]);
    drop(held);
}

#[tokio::test]
async fn without_npm_the_way_to_get_it_is_told() {
    let place = Place::new();
    let error = place.failure().await;
    assert!(matches!(error, InstallError::NpmMissing), "{error:?}");
    assert!(
        error.next_step().in_shell().contains("Node.js")
            && error.next_step().in_shell().contains("npm i -g @openai/codex")
    );
}

#[tokio::test]
async fn what_npm_says_is_in_the_error() {
    let place = Place::new();
    place.npm("echo x > DIR/x; seq 100 >&2; exit 1");
    let expected = "npm could not install codex (exit status: 1):\n93\n94\n95\n96\n97\n98\n99\n100";
    assert_eq!(place.failure().await.to_string(), expected);

    place.npm("echo noise >&2; echo 'npm error code ENOTFOUND' >&2; echo 'npm error no way' >&2; seq 100 >&2; exit 1");
    let error = place.failure().await;
    let expected = "npm could not install codex (exit status: 1):\nnpm error code ENOTFOUND\nnpm error no way\n\
                    1\n2\n3\n4\n5\n6";
    assert_eq!(error.to_string(), expected);
    assert!(
        error.next_step().in_shell().starts_with("check the network"),
        "{}",
        error.next_step().in_shell()
    );
}

#[tokio::test]
async fn a_full_disk_and_an_unwritable_home_are_told_apart() {
    let place = Place::new();
    place.npm("echo 'npm ERR! code ENOSPC' >&2; exit 1");
    assert!(matches!(place.failure().await, InstallError::DiskFull { .. }));
    let full = InstallError::disk(Path::new("/h"), std::io::ErrorKind::StorageFull.into());
    assert_eq!(full.to_string(), "the disk is full: cannot install codex into /h");

    let file = tempfile::NamedTempFile::new().unwrap();
    let home = TalariaHome::resolve(Some(file.path().into()), None).unwrap();
    let error = install(&home, &PINNED, &mut |_| {}).await.unwrap_err();
    assert!(
        matches!(&error, InstallError::NotWritable { path, .. } if path.starts_with(file.path())),
        "{error}"
    );
    assert!(error.next_step().in_shell().contains("TALARIA_HOME"));
}

#[tokio::test]
async fn a_package_without_a_program_or_with_another_one_is_never_put_in_place() {
    let place = Place::new();
    place.npm(&format!("{LAY_OUT}; rm -r DIR/node_modules/@openai/codex-*"));
    assert!(matches!(place.failure().await, InstallError::Incomplete));
    place.npm(&format!("{LAY_OUT}; echo 'exit 9' > DIR/node_modules/@openai/{}", vendor("bin/codex")));
    assert!(matches!(place.failure().await, InstallError::Broken(_)));
    codex(&place.dir.path().join("source/node_modules/@openai").join(vendor("bin/codex")), "0.165.0");
    place.npm(LAY_OUT);
    assert_eq!(place.failure().await.to_string(), "npm installed codex 0.165.0 instead of 0.166.0");
}

#[tokio::test]
async fn a_broken_installation_and_leftovers_are_replaced() {
    let place = Place::new();
    place.npm(LAY_OUT);
    std::fs::create_dir_all(place.home.codex_root().join(".incoming-dead/node_modules")).unwrap();
    npm_package(&place.home.codex_dir(&PINNED), "0.0.1", &vendor("bin/codex"));
    assert!(matches!(place.install().await.0, Ok(InstallOutcome::Fresh(_))));
    assert_eq!(place.versions(), ["0.166.0"]);
}
