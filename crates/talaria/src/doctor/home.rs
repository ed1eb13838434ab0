//! The checks of `talaria doctor` that are about the home itself: can others read or write it, is it a copy?

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use talaria_codex::identity::HomeRecord;
use talaria_engine::engine::leftovers::original_in_use;
use talaria_home::home::TalariaHome;

use super::Check;

/// How many files are named.
const NAMED: usize = 5;

/// Is the home a person's alone, and where it was?
pub(super) fn home(home: &TalariaHome) -> Vec<Check> {
    if !home.root().exists() {
        return Vec::new();
    }
    let mut checks = vec![access(home.root())];
    if let Some(original) = original_in_use(home) {
        let detail = format!(
            "{} is a copy of {}, which is in use; the first command that starts an engine here leaves unfinished work to it",
            home.root().display(),
            original.display()
        );
        let remedy = "use the original, or continue here with new work";
        checks.push(Check::warning("copy", detail, remedy));
    } else if let Some(original) = HomeRecord::read(home).and_then(|record| record.copy_of) {
        let detail = format!("this home began as a copy of {original}; it has nothing in common with it now");
        checks.push(Check::ok("copy", detail));
    }
    checks
}

/// Can others look into the home, or change what is in it?
fn access(root: &Path) -> Check {
    let shown = root.display();
    let metadata = match fs::metadata(root) {
        Ok(metadata) => metadata,
        Err(error) => return Check::problem("home", format!("{shown}: {error}"), "check the directory"),
    };
    let (owner, own) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != own {
        let detail = format!("{shown} belongs to user {owner}, not to you (user {own})");
        return Check::problem("home", detail, "set TALARIA_HOME to a directory of your own");
    }
    let mode = metadata.mode() & 0o777;
    let remedy = format!("chmod 700 {shown}");
    if mode & 0o022 != 0 {
        let detail =
            format!("{shown} can be written by others (mode {mode:04o}): they can replace anything in it");
        return Check::problem("home", detail, remedy);
    }
    if mode & 0o055 == 0 {
        return Check::ok("home", format!("{shown} is yours alone"));
    }
    let exposed = open_files(root);
    let files = if exposed.is_empty() {
        "the files in it are yours alone".to_owned()
    } else {
        let more = if exposed.len() > NAMED { ", …" } else { "" };
        format!("open to them: {}{more}", exposed[..exposed.len().min(NAMED)].join(", "))
    };
    Check::warning(
        "home",
        format!("{shown} can be entered or listed by others (mode {mode:04o}); {files}"),
        remedy,
    )
}

/// What lies in the home and is open to others.
fn open_files(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let is_open = |entry: &fs::DirEntry| {
        entry.metadata().is_ok_and(|file| !file.is_symlink() && file.mode() & 0o077 != 0)
    };
    let mut names: Vec<String> =
        entries.filter(is_open).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    use super::super::Status;
    use super::*;

    #[test]
    fn a_home_that_others_can_enter_or_change_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let at = |mode: u32| {
            set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
            access(directory.path())
        };
        assert_eq!(at(0o700).status, Status::Ok);
        let open = at(0o755);
        assert_eq!(open.status, Status::Warning);
        assert!(open.detail.ends_with("the files in it are yours alone"), "{}", open.detail);
        write(directory.path().join("config.toml"), "").unwrap();
        set_permissions(directory.path().join("config.toml"), Permissions::from_mode(0o644)).unwrap();
        assert!(at(0o711).detail.ends_with("open to them: config.toml"));
        for mode in [0o777, 0o770, 0o702] {
            assert_eq!(at(mode).status, Status::Problem, "{mode:o}");
        }
        at(0o700);
    }
}
