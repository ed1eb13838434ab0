//! Ends hosts whose owner died without ending them, before a new one starts.
//!
//! A Codex on a unix socket outlives its client, so a Talaria that was killed leaves one behind. Its directory has a lock
//! that only a living owner holds, and its name is the nonce that the host and everything below it carry in their
//! environment. By number a process is ended only if its start time is the one written down.

use std::fs::{self, File};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process_group};

use super::descendants;
use super::directory::{self, BUILDING};
use super::environment::NONCE;

/// Ends what dead owners left below `hosts`. Gives how many hosts were ended.
pub(crate) fn sweep(hosts: &Path) -> usize {
    let Ok(entries) = fs::read_dir(hosts) else { return 0 };
    let finished =
        entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with(BUILDING));
    finished.filter(|entry| sweep_one(&entry.path())).count()
}

fn sweep_one(root: &Path) -> bool {
    // Without a lock file this is not ours.
    let Ok(lock) = File::open(root.join("lock")) else { return false };
    if lock.try_lock().is_err() {
        return false;
    }
    let by_number = fs::read_to_string(root.join("pid")).ok().is_some_and(|text| end(&text));
    let nonce = root.file_name().unwrap_or_default().to_string_lossy();
    let carriers = descendants::carrying(&format!("{NONCE}={nonce}"));
    let by_nonce = descendants::kill_survivors(&carriers) > 0;
    directory::remove(root);
    by_number || by_nonce
}

fn end(text: &str) -> bool {
    let Some((pid, started)) = text.split_once(' ') else { return false };
    let Ok(number) = pid.parse::<i32>() else { return false };
    let Some(pid) = Pid::from_raw(number) else { return false };
    if started.is_empty() || descendants::started(number).as_deref() != Some(started) {
        return false;
    }
    let below = descendants::below(number);
    let killed = kill_process_group(pid, Signal::KILL).is_ok();
    descendants::kill_survivors(&below);
    killed
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;
    use crate::codex::directory::HostDirectory;

    fn sleeper() -> std::process::Child {
        Command::new("sleep").arg("600").process_group(0).spawn().unwrap()
    }

    #[test]
    fn a_host_whose_owner_lives_is_left_alone_and_a_dead_owners_is_ended() {
        let hosts = tempfile::tempdir().unwrap();
        let mut child = sleeper();
        let pid = i32::try_from(child.id()).unwrap();
        let directory = HostDirectory::create(hosts.path(), "a").unwrap();
        directory.record(pid, descendants::started(pid).as_deref()).unwrap();
        assert_eq!(sweep(hosts.path()), 0);
        assert!(child.try_wait().unwrap().is_none());

        // The owner dies: its lock is freed, its directory stays.
        let kept = hosts.path().join("b");
        fs::create_dir(&kept).unwrap();
        fs::copy(hosts.path().join("a/pid"), kept.join("pid")).unwrap();
        File::create(kept.join("lock")).unwrap();
        assert_eq!(sweep(hosts.path()), 1);
        assert!(!child.wait().unwrap().success());
        assert!(!kept.exists());
    }

    #[test]
    fn what_carries_the_nonce_is_ended_although_no_pid_was_written_down() {
        let hosts = tempfile::tempdir().unwrap();
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let mut child = Command::new("sleep").arg("600").env(NONCE, &nonce).spawn().unwrap();
        fs::create_dir(hosts.path().join(&nonce)).unwrap();
        File::create(hosts.path().join(&nonce).join("lock")).unwrap();
        assert_eq!(sweep(hosts.path()), 1);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_pid_that_was_used_again_is_left_alone() {
        let hosts = tempfile::tempdir().unwrap();
        let mut child = sleeper();
        let root = hosts.path().join("c");
        fs::create_dir(&root).unwrap();
        File::create(root.join("lock")).unwrap();
        fs::write(root.join("pid"), format!("{} some-other-start", child.id())).unwrap();
        assert_eq!(sweep(hosts.path()), 0);
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
