//! The real sandbox of both versions: what it lets through is what the bounds say, and no user setting widens it.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use talaria_core::policy::Sandbox;
use talaria_testkit::{Codex, CodexHome};
use talaria_tools::sandbox::{
    ExcludedTemporary, HidingProfile, NetworkAccess, SandboxBounds, SandboxLeave, SandboxProgram, launch,
};

/// Tries everything that matters and prints one word for each thing that worked.
const TRIES: &str = r#"
(echo x > here) 2>/dev/null && printf 'cwd '
(echo x > ../beside) 2>/dev/null && printf 'beside '
(echo x > ../root/file) 2>/dev/null && printf 'root '
(exec 3<>"/dev/tcp/127.0.0.1/$0") 2>/dev/null && printf 'network '
(cat ../hidden/file) >/dev/null 2>&1 && printf 'hidden '
exit 7"#;

struct Scene {
    home: CodexHome,
    codex: SandboxProgram,
    listener: TcpListener,
}

impl Scene {
    fn new(codex: &Codex, config: &str) -> Self {
        let home = CodexHome::with_config(config);
        for name in ["root", "hidden"] {
            fs::create_dir(home.root().join(name)).unwrap();
        }
        fs::write(home.root().join("hidden/file"), "x").unwrap();
        let version = codex.version.parse().unwrap();
        let codex = SandboxProgram { binary: codex.native.clone(), version };
        Self { home, codex, listener: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    fn bounds(&self, mode: Sandbox, network: NetworkAccess) -> SandboxBounds {
        let writable_roots = vec![self.root()];
        SandboxBounds { mode, writable_roots, excluded: ExcludedTemporary::default(), network, hiding: None }
    }

    fn root(&self) -> PathBuf {
        self.home.root().join("root")
    }

    /// What worked inside these bounds.
    fn worked(&self, bounds: &SandboxBounds) -> String {
        let port = self.listener.local_addr().unwrap().port().to_string();
        let command = ["bash", "-c", TRIES, &port].map(str::to_owned);
        let launch =
            launch(Some(&self.codex), bounds, &self.home.work(), SandboxLeave::Stay, &command).unwrap();
        let mut run = Command::new(&launch.argv[0]);
        run.args(&launch.argv[1..]).current_dir(self.home.work()).envs(self.home.environment());
        let output = run.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "the exit code is the command's; {said}");
        for made in [self.home.work().join("here"), self.home.root().join("beside"), self.root().join("file")]
        {
            let _ = fs::remove_file(made);
        }
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

#[test]
fn each_mode_lets_through_what_it_says_on_both_versions() {
    for codex in Codex::both() {
        let scene = Scene::new(&codex, "");
        let worked = |mode, network| scene.worked(&scene.bounds(mode, network));
        let (off, on) = (NetworkAccess::Off, NetworkAccess::On);
        assert_eq!(worked(Sandbox::ReadOnly, off), "hidden", "{}", codex.version);
        assert_eq!(worked(Sandbox::WorkspaceWrite, off), "cwd root hidden", "{}", codex.version);
        assert_eq!(worked(Sandbox::WorkspaceWrite, on), "cwd root network hidden", "{}", codex.version);
        assert_eq!(worked(Sandbox::DangerFullAccess, off), "cwd beside root network hidden");
    }
}

#[test]
fn the_users_own_configuration_widens_nothing() {
    let config = "sandbox_mode = \"danger-full-access\"\n[sandbox_workspace_write]\nnetwork_access = true\n";
    for codex in Codex::both() {
        let scene = Scene::new(&codex, config);
        let mut bounds = scene.bounds(Sandbox::ReadOnly, NetworkAccess::Off);
        assert_eq!(scene.worked(&bounds), "hidden", "{}", codex.version);
        (bounds.mode, bounds.writable_roots) = (Sandbox::WorkspaceWrite, Vec::new());
        assert_eq!(scene.worked(&bounds), "cwd hidden", "{}", codex.version);
    }
}

#[test]
fn a_profile_hides_files_on_both_versions() {
    for codex in Codex::both() {
        let scene = Scene::new(&codex, "");
        let text = |path: &Path| serde_json::Value::from(path.to_str().unwrap()).to_string();
        let (root, hidden) = (text(&scene.root()), text(&scene.home.root().join("hidden")));
        let table = format!(
            "{{ filesystem = {{ \":root\" = \"read\", \":project_roots\" = \"write\", {root} = \"write\", {hidden} = \"none\" }} }}"
        );
        let mut bounds = scene.bounds(Sandbox::WorkspaceWrite, NetworkAccess::Off);
        bounds.hiding = Some(HidingProfile { name: "talaria-test".to_owned(), table });
        assert_eq!(scene.worked(&bounds), "cwd root", "{}", codex.version);
    }
}
