//! A process that is killed at any step of an edit leaves the old file or the new one, and which of them is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use talaria_testkit::fault_points::{FaultPoints, VARIABLE};
use talaria_tools::files::{ChangeFate, PlannedChange, resolve_path};

const ROLE: &str = "EDITED_BY_THIS_TEST_PROGRAM";
const BEFORE: &str = "one\ntwo\n";
const AFTER: &str = "one\n2\n";

/// Every step of a change, in order, and what the file is after a crash there.
const POINTS: [(&str, ChangeFate); 5] = [
    ("after:file-locked", ChangeFate::NotLanded),
    ("after:file-created", ChangeFate::NotLanded),
    ("after:file-written", ChangeFate::NotLanded),
    ("after:file-compared", ChangeFate::NotLanded),
    ("after:file-renamed", ChangeFate::Landed),
];

fn planned(path: &Path, before: Option<&str>) -> PlannedChange {
    let folder = path.parent().unwrap().canonicalize().unwrap();
    let resolved = resolve_path(&folder, None, path.file_name().unwrap().to_str().unwrap()).unwrap();
    PlannedChange::new(&resolved, before, AFTER)
}

/// The process that edits. In an ordinary run it does nothing.
#[test]
fn be_an_editor() {
    if let Some(path) = std::env::var_os(ROLE).map(PathBuf::from) {
        let before = fs::read_to_string(&path).ok();
        planned(&path, before.as_deref()).apply(AFTER).unwrap();
    }
}

async fn crash_at(point: &str, path: &Path, socket: &Path) {
    let points = FaultPoints::listen(socket);
    let mut trap = points.trap(point, 0);
    let name = format!("{}::be_an_editor", module_path!().split_once("::").unwrap().1);
    let mut editor = Command::new(std::env::current_exe().unwrap());
    editor.args([name.as_str(), "--exact", "--quiet"]).env(ROLE, path).env(VARIABLE, socket);
    let mut editor = editor.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let held = trap.reached().await.unwrap();
    editor.kill().unwrap();
    editor.wait().unwrap();
    drop(held);
}

#[tokio::test]
async fn a_crash_at_each_step_leaves_the_file_before_or_after_and_it_is_known_which() {
    for before in [Some(BEFORE), None] {
        for (point, expected) in POINTS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file.txt");
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            let change = planned(&path, before);
            crash_at(point, &path, &folder.path().join("points")).await;
            let found = fs::read_to_string(&path).ok();
            let content = if expected == ChangeFate::Landed { Some(AFTER) } else { before };
            assert_eq!(found.as_deref(), content, "{point}");
            assert_eq!(change.fate(), expected, "{point}");
            // The next engine can do it, if it did not happen, and what was left beside the file is gone.
            if expected == ChangeFate::NotLanded {
                change.apply(AFTER).unwrap();
                assert_eq!(change.fate(), ChangeFate::Landed);
            }
            let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.filter(|name| name != "points").collect();
            names.sort();
            assert_eq!(names, ["file.txt"], "{point}");
        }
    }
}
