//! Ends hosts whose owner died without ending them, before a new one starts.
//!
//! A Codex on a unix socket outlives its client, so a Talaria that was killed leaves one running. Its directory has a
//! lock that only a living owner holds, and its name is the nonce that the host and everything below it carry in their
//! environment. A process is ended by its pid only if its start time is the recorded one. Processes that are not
//! proven to be of this home are left alone (`ownership`): a copy of a home has the directories of the original. A
//! kept host is never touched here: `adoption` attaches to it or ends it.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::directory::{self, BUILDING};
use super::environment::NONCE;
use super::ownership;
use talaria_home::descendants;

/// How long a directory may take to be built.
const BUILDING_TIME: Duration = Duration::from_secs(60);

/// Ends what dead owners left below `hosts`. Returns how many hosts were ended.
pub(crate) fn sweep(hosts: &Path) -> usize {
    let Ok(entries) = fs::read_dir(hosts) else { return 0 };
    entries.flatten().filter(|entry| sweep_one(&entry.path())).count()
}

fn sweep_one(root: &Path) -> bool {
    // Its end is for the engine to decide, also when no engine lives.
    if directory::is_kept(root) {
        return false;
    }
    let Ok(lock) = File::open(root.join("lock")) else {
        // A link to a directory that a restart of the machine removed; everything else without a lock is not ours.
        if root.is_symlink() && !root.exists() {
            directory::remove(root);
        }
        // Its creator was killed before it took the lock; nothing was started in it.
        if is_building(root) && fs::metadata(root).is_ok_and(|directory| !is_fresh(&directory)) {
            let _ = fs::remove_dir(root);
        }
        return false;
    };
    // One that is being built is locked a moment after its lock file appears.
    let is_fresh = lock.metadata().is_ok_and(|file| is_fresh(&file));
    if lock.try_lock().is_err() || (is_building(root) && is_fresh) {
        return false;
    }
    let nonce = root.file_name().unwrap_or_default().to_string_lossy();
    let (pid, carriers) = (recorded(root), descendants::carrying(&format!("{NONCE}={nonce}")));
    let is_own = root.parent().is_some_and(|hosts| ownership::is_own(hosts, &nonce, pid));
    if !is_own && (!carriers.is_empty() || pid.is_some()) {
        return false;
    }
    let by_number = fs::read_to_string(root.join("pid")).ok().is_some_and(|text| end(&text));
    let by_nonce = descendants::kill_survivors(&carriers) > 0;
    directory::remove(root);
    by_number || by_nonce
}

/// The process that is recorded here, if it is still that process.
fn recorded(root: &Path) -> Option<i32> {
    let text = fs::read_to_string(root.join("pid")).ok()?;
    let (pid, started) = text.split_once(' ')?;
    let pid = pid.parse().ok()?;
    (descendants::start_time(pid).as_deref() == Some(started)).then_some(pid)
}

fn is_fresh(file: &fs::Metadata) -> bool {
    file.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age < BUILDING_TIME))
}

fn is_building(root: &Path) -> bool {
    root.file_name().is_some_and(|name| name.to_string_lossy().starts_with(BUILDING))
}

fn end(text: &str) -> bool {
    let Some((pid, started)) = text.split_once(' ') else { return false };
    let Ok(number) = pid.parse::<i32>() else { return false };
    let Some(pid) = Pid::from_raw(number) else { return false };
    if started.is_empty() || descendants::start_time(number).as_deref() != Some(started) {
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

    use talaria_testkit::eventually;

    use super::*;
    use crate::directory::{HostDirectory, Tenure};

    fn sleeper() -> std::process::Child {
        Command::new("sleep").arg("600").process_group(0).spawn().unwrap()
    }

    /// A process that carries the name of a host and works in its directory, and its record.
    fn host(root: &Path) -> std::process::Child {
        fs::create_dir_all(root.join("empty")).unwrap();
        let nonce = root.file_name().unwrap();
        let mut command = Command::new("sleep");
        command.arg("600").env(NONCE, nonce).current_dir(root.join("empty")).process_group(0);
        let child = command.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        fs::write(root.join("pid"), format!("{pid} {}", descendants::start_time(pid).unwrap())).unwrap();
        child
    }

    #[tokio::test]
    async fn a_host_whose_owner_lives_is_left_alone_and_a_dead_owners_is_ended() {
        let hosts = tempfile::tempdir().unwrap();
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let directory = HostDirectory::create(hosts.path(), &nonce, Tenure::Private).unwrap();
        let mut child = host(directory.root());
        assert_eq!(sweep(hosts.path()), 0);
        assert!(child.try_wait().unwrap().is_none());

        // The owner dies: its lock is released, its directory remains.
        directory.leave();
        drop(directory);
        // A program that another test starts holds a copy of the lock until it executes.
        let ended =
            eventually("it is swept", async || Some(sweep(hosts.path())).filter(|ended| *ended > 0)).await;
        assert_eq!(ended, 1);
        assert!(!child.wait().unwrap().success());
        assert!(!hosts.path().join(&nonce).exists());
    }

    #[test]
    fn a_copy_of_the_directory_of_a_host_does_not_end_it() {
        let [hosts, copy] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let mut child = host(&hosts.path().join(&nonce));
        let copied = copy.path().join(&nonce);
        fs::create_dir_all(copied.join("empty")).unwrap();
        fs::copy(hosts.path().join(&nonce).join("pid"), copied.join("pid")).unwrap();
        File::create(copied.join("lock")).unwrap();
        assert_eq!(sweep(copy.path()), 0);
        assert!(child.try_wait().unwrap().is_none(), "it is the original's");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_carries_the_nonce_is_ended_although_no_pid_was_written_down() {
        let root = tempfile::tempdir().unwrap();
        let home = talaria_home::home::TalariaHome::resolve(Some(root.path().into()), None).unwrap();
        let id = crate::identity::mint();
        crate::identity::HomeRecord::of(&home, id.clone()).unwrap().write(&home).unwrap();
        let (hosts, nonce) = (home.hosts_dir(), format!("{id}{}", crate::identity::mint()));
        let mut child = Command::new("sleep").arg("600").env(NONCE, &nonce).spawn().unwrap();
        fs::create_dir_all(hosts.join(&nonce)).unwrap();
        File::create(hosts.join(&nonce).join("lock")).unwrap();
        assert_eq!(sweep(&hosts), 1);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_link_to_nowhere_is_removed_and_a_directory_being_built_is_left_alone() {
        let hosts = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", hosts.path().join("gone")).unwrap();
        fs::create_dir(hosts.path().join(".building")).unwrap();
        File::create(hosts.path().join(".building/lock")).unwrap();
        assert_eq!(sweep(hosts.path()), 0);
        let left: Vec<_> =
            fs::read_dir(hosts.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [".building"]);
    }

    #[test]
    fn a_kept_host_is_left_alone_although_its_engine_is_dead() {
        let hosts = tempfile::tempdir().unwrap();
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let mut child = Command::new("sleep").arg("600").env(NONCE, &nonce).process_group(0).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let directory = HostDirectory::create(hosts.path(), &nonce, Tenure::Kept).unwrap();
        directory.record(pid, descendants::start_time(pid).as_deref()).unwrap();
        directory.leave();
        drop(directory);
        assert_eq!(sweep(hosts.path()), 0);
        assert!(child.try_wait().unwrap().is_none() && hosts.path().join(&nonce).is_dir());
        child.kill().unwrap();
        child.wait().unwrap();
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
