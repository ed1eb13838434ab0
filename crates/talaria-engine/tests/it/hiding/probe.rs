//! A command that tries to read, write and reach what a home keeps, and says what it could do.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use talaria_scripted::{ModelRequest, Reply};

use super::host_sockets;
use crate::home::Home;

/// Output where everything is hidden.
pub(super) const HIDDEN: &str = "key 0\ntalaria.db 0\ntalaria.db-wal 0\nconfig.toml 0\n";
/// Additional output where the workspace and the temporary directories are writable.
pub(super) const USABLE: &str = "work\ntmp\ntmpdir\n";

/// The engine's socket, and the tool result.
pub(super) struct Probe {
    _listener: UnixListener,
    port: u16,
}

impl Probe {
    /// Opens the engine of a home with a configuration and a socket, and has the model run every prompt as a command.
    pub(super) async fn prepare(home: &mut Home) -> Self {
        home.configure("[codex]\nhide_home = \"auto\"\n");
        home.open().await;
        home.model.route(|request: &ModelRequest| {
            // Other input of the person is not a command.
            let prompt = request.prompt();
            match request.is_after_tool() {
                true => Some(Reply::say("done")),
                false if prompt == "hi" => None,
                false => Some(Reply::new().command(prompt)),
            }
        });
        Self::of(home)
    }

    /// The same for a home whose model has a script already; its engine is open.
    pub(super) fn of(home: &Home) -> Self {
        if !home.talaria().config_file().exists() {
            home.configure("[codex]\nhide_home = \"auto\"\n");
        }
        let run = home.talaria().root().join("run");
        fs::create_dir_all(&run).unwrap();
        let listener = UnixListener::bind(run.join("engine.sock")).unwrap();
        let base_url = home.model.base_url();
        let port = base_url.trim_end_matches("/v1").rsplit(':').next().unwrap();
        Self { _listener: listener, port: port.parse().unwrap() }
    }

    /// The command.
    pub(super) fn script(&self, home: &Home) -> String {
        let talaria = home.talaria();
        let root = talaria.root().display();
        format!(
            "for f in key talaria.db talaria.db-wal config.toml; do \
             echo \"$f $(cat {root}/$f 2>/dev/null | wc -c)\"; (: >> {root}/$f) 2>/dev/null && echo writable; done; \
             touch in 2>/dev/null && echo work; \
             t=$(mktemp -p /tmp 2>/dev/null) && echo tmp && rm $t; \
             t=$(mktemp -p \"$TMPDIR\" 2>/dev/null) && echo tmpdir && rm $t; true"
        )
    }

    /// A command that tries to reach the sockets of the engine and of Codex itself.
    pub(super) fn reach(&self, home: &Home) -> String {
        let sockets = host_sockets(home);
        assert_eq!(sockets.len(), 1, "{sockets:?}");
        let engine = home.talaria().root().join("run/engine.sock");
        let tries: Vec<String> = [engine, sockets[0].clone()].iter().map(|socket| connect(socket)).collect();
        tries.join("; ")
    }

    /// A command that shows that the network is open.
    pub(super) fn loopback(&self) -> String {
        format!("(exec 3<>/dev/tcp/127.0.0.1/{}) 2>/dev/null && echo loopback", self.port)
    }

    /// The command's last line of output.
    pub(super) fn seen(&self, home: &Home) -> String {
        let requests = home.model.requests();
        let outputs = requests.iter().rev().find_map(|request| request.tool_outputs().pop());
        let text = outputs.unwrap();
        let text = text.split_once("Output:\n").map_or(text.as_str(), |(_, output)| output);
        text.to_owned()
    }
}

fn connect(socket: &Path) -> String {
    let program = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    format!("python3 -c '{program}' {} 2>/dev/null && echo reached || echo out of reach", socket.display())
}

/// Starts a sub-agent; 0.166 keeps these tools apart from the others.
pub(super) fn spawn(version: &str, task: &str) -> Reply {
    let arguments = json!({ "message": task });
    if version == "0.130.0" {
        return Reply::new().function("spawn_agent", arguments);
    }
    let item = json!({ "type": "function_call", "call_id": "call_spawn", "name": "spawn_agent",
                       "namespace": "multi_agent_v1", "arguments": arguments.to_string() });
    Reply::new().event(json!({ "type": "response.output_item.done", "item": item }))
}

/// A repository of the user's with one commit.
pub(super) fn repository(home: &Home) -> PathBuf {
    let path = home.codex_home.root().join("repository");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("a.txt"), "one\n").unwrap();
    for arguments in
        [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message", "first"]]
    {
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").current_dir(&path);
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@localhost"]).args(arguments);
        assert!(git.status().unwrap().success(), "git {arguments:?}");
    }
    path
}
