//! Runs the test program itself as a keeper: a crate has no program of its own that its tests could start.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use talaria_tools::keeper::{CommandRoom, KeeperProgram, keep};

/// Says in the environment that this process is to be a keeper.
const ROLE: &str = "ROLE_OF_THIS_TEST_PROGRAM";

/// The keeper: the directory is the last argument. In an ordinary run it does nothing.
#[test]
fn be_a_keeper() {
    if std::env::var_os(ROLE).is_some_and(|role| role == "keeper") {
        let directory = PathBuf::from(std::env::args_os().next_back().unwrap());
        std::process::exit(i32::from(keep(&directory).is_err()));
    }
}

/// The commands below a directory, kept by this program.
pub(crate) fn room(root: &Path) -> CommandRoom {
    let name = format!("{}::be_a_keeper", module_path!().split_once("::").unwrap().1);
    let arguments = [name.as_str(), "--exact", "--quiet", "--nocapture"].map(OsString::from).to_vec();
    CommandRoom::new(root, KeeperProgram { program: std::env::current_exe().unwrap(), arguments })
}

/// The environment of a command in these tests.
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    let passed =
        ["PATH", "HOME"].iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    passed.chain([(ROLE.into(), "keeper".into())]).collect()
}
