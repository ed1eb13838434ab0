//! The command line that runs a command in Codex's own sandbox, and where a command runs. Pure: values in, values out.
//!
//! `codex sandbox` needs no app-server and no account; exit code and output are the command's. Everything that decides is
//! on its command line, so that nothing in the user's Codex configuration widens it. Without Codex there is no sandbox:
//! the command then runs outside, and a person is asked every time. Tested on both real versions.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use talaria_core::policy::Sandbox;
use talaria_core::toml_write::push_string;
use talaria_core::version::Version;
use talaria_guard::place::Place;

/// A Codex whose sandbox can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProgram {
    /// Its native program.
    pub binary: PathBuf,
    /// Its version.
    pub version: Version,
}

/// What bounds the commands of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxBounds {
    /// The sandbox.
    pub mode: Sandbox,
    /// What may be written besides the working directory and the temporary directories.
    pub writable_roots: Vec<PathBuf>,
    /// Temporary directories that may not be written.
    pub excluded: ExcludedTemporary,
    /// May commands use the network?
    pub network: NetworkAccess,
    /// A profile that also hides files of Talaria, if one is in force.
    pub hiding: Option<HidingProfile>,
}

/// Temporary directories that commands may not write, in a sandbox that can be written in at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedTemporary {
    /// `/tmp`.
    pub slash_tmp: bool,
    /// The directory that `TMPDIR` names.
    pub tmpdir: bool,
}

/// Whether commands reach the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkAccess {
    /// They do not.
    Off,
    /// They do.
    On,
}

/// A permission profile of Codex that hides files. It replaces the mode on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HidingProfile {
    /// Its name.
    pub name: String,
    /// What it permits, as an inline table of TOML.
    pub table: String,
}

/// Whether a command is to leave the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxLeave {
    /// It stays inside.
    Stay,
    /// It runs outside, as a person or a rule agreed to.
    Leave,
}

/// How a command is started, and where that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLaunch {
    /// The program and its arguments. It must be started in the working directory of the command.
    pub argv: Vec<String>,
    /// Where it runs. Without a sandbox to leave everything is inside.
    pub place: Place,
}

/// Says how to run `command` in the working directory `cwd`.
///
/// `None` if a path of the sandbox is not UTF-8: Codex reads its command line as text.
pub fn launch(
    codex: Option<&SandboxProgram>,
    bounds: &SandboxBounds,
    cwd: &Path,
    leave: SandboxLeave,
    command: &[String],
) -> Option<CommandLaunch> {
    let plain = |place| Some(CommandLaunch { argv: command.to_vec(), place });
    let codex = match (bounds.mode, leave, codex) {
        (Sandbox::DangerFullAccess, _, _) => return plain(Place::Inside),
        (_, SandboxLeave::Leave, _) | (_, _, None) => return plain(Place::Outside),
        (_, SandboxLeave::Stay, Some(codex)) => codex,
    };
    let mut argv = vec![codex.binary.to_str()?.to_owned(), "sandbox".to_owned()];
    if codex.version.names_sandbox_system() {
        argv.push(if cfg!(target_os = "macos") { "macos" } else { "linux" }.to_owned());
    }
    match &bounds.hiding {
        Some(profile) => {
            let HidingProfile { name, table } = profile;
            argv.extend(["-c".to_owned(), format!("permissions.{name}={table}")]);
            argv.extend(["--permissions-profile", name, "--include-managed-config", "-C"].map(str::to_owned));
            argv.push(cwd.to_str()?.to_owned());
        }
        None => {
            for setting in settings(bounds)? {
                argv.extend(["-c".to_owned(), setting]);
            }
        }
    }
    argv.push("--".to_owned());
    argv.extend_from_slice(command);
    Some(CommandLaunch { argv, place: Place::Inside })
}

/// Every key that decides, so that the user's own values for it do not.
fn settings(bounds: &SandboxBounds) -> Option<Vec<String>> {
    let mut roots = String::new();
    for root in &bounds.writable_roots {
        roots.push_str(if roots.is_empty() { "" } else { ", " });
        push_string(&mut roots, root.to_str()?);
    }
    let network = bounds.network == NetworkAccess::On;
    let mut mode = String::new();
    push_string(&mut mode, bounds.mode.as_str());
    Some(vec![
        format!("sandbox_mode={mode}"),
        format!("sandbox_workspace_write.network_access={network}"),
        format!("sandbox_workspace_write.writable_roots=[{roots}]"),
        format!("sandbox_workspace_write.exclude_slash_tmp={}", bounds.excluded.slash_tmp),
        format!("sandbox_workspace_write.exclude_tmpdir_env_var={}", bounds.excluded.tmpdir),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(mode: Sandbox) -> SandboxBounds {
        SandboxBounds {
            mode,
            writable_roots: Vec::new(),
            excluded: ExcludedTemporary::default(),
            network: NetworkAccess::Off,
            hiding: None,
        }
    }

    fn codex(version: Version) -> SandboxProgram {
        SandboxProgram { binary: PathBuf::from("/opt/codex"), version }
    }

    fn line(version: Version, bounds: &SandboxBounds) -> String {
        let command = ["true".to_owned()];
        let launch = launch(Some(&codex(version)), bounds, Path::new("/w"), SandboxLeave::Stay, &command);
        let launch = launch.unwrap();
        assert_eq!(launch.place, Place::Inside);
        launch.argv.join(" ")
    }

    #[test]
    fn older_versions_want_the_name_of_the_system() {
        let system = if cfg!(target_os = "macos") { "macos" } else { "linux" };
        let old = line(Version::new(0, 130, 0), &bounds(Sandbox::ReadOnly));
        let expected = format!("/opt/codex sandbox {system} -c sandbox_mode=\"read-only\" -c ");
        assert!(old.starts_with(&expected), "{old}");
        let new = line(Version::new(0, 166, 0), &bounds(Sandbox::ReadOnly));
        assert_eq!(old.replacen(&format!(" {system}"), "", 1), new);
    }

    #[test]
    fn every_key_that_widens_the_sandbox_is_set() {
        let mut wanted = bounds(Sandbox::WorkspaceWrite);
        wanted.writable_roots = vec![PathBuf::from("/a b"), PathBuf::from("/quote\"d")];
        wanted.network = NetworkAccess::On;
        wanted.excluded.slash_tmp = true;
        assert_eq!(
            line(Version::new(0, 166, 0), &wanted),
            "/opt/codex sandbox -c sandbox_mode=\"workspace-write\" \
             -c sandbox_workspace_write.network_access=true \
             -c sandbox_workspace_write.writable_roots=[\"/a b\", \"/quote\\\"d\"] \
             -c sandbox_workspace_write.exclude_slash_tmp=true \
             -c sandbox_workspace_write.exclude_tmpdir_env_var=false -- true"
        );
    }

    #[test]
    fn without_codex_or_with_consent_the_command_is_outside_and_without_a_sandbox_inside() {
        let command = ["true".to_owned()];
        let place = |codex: Option<&SandboxProgram>, mode, leave| {
            launch(codex, &bounds(mode), Path::new("/w"), leave, &command).unwrap()
        };
        let codex = codex(Version::new(0, 166, 0));
        for mode in [Sandbox::ReadOnly, Sandbox::WorkspaceWrite] {
            assert_eq!(place(None, mode, SandboxLeave::Stay).place, Place::Outside);
            let left = place(Some(&codex), mode, SandboxLeave::Leave);
            assert_eq!((left.place, left.argv.as_slice()), (Place::Outside, &command[..]));
        }
        let full = place(Some(&codex), Sandbox::DangerFullAccess, SandboxLeave::Stay);
        assert_eq!((full.place, full.argv.as_slice()), (Place::Inside, &command[..]));
    }

    #[test]
    fn a_path_that_is_no_text_is_not_guessed() {
        use std::os::unix::ffi::OsStringExt as _;
        let mut wanted = bounds(Sandbox::WorkspaceWrite);
        wanted.writable_roots = vec![std::ffi::OsString::from_vec(vec![b'/', 0xff]).into()];
        let codex = codex(Version::new(0, 166, 0));
        assert_eq!(launch(Some(&codex), &wanted, Path::new("/w"), SandboxLeave::Stay, &[]), None);
    }
}
