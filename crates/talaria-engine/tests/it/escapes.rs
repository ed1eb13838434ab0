//! Where the tables of `places` do not reach: what happens by chance, in code mode, and on a resumed thread.

// What a sandbox confines, and how to observe it, differs between systems.
#![cfg(target_os = "linux")]

use std::fs;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_guard::place::Place;
use talaria_scripted::{Reply, ScriptedModel};
use talaria_testkit::client::thread_id;
use talaria_testkit::{Codex, CodexHome, RawCodex};

use crate::places::Watch;
use crate::stage::both_versions;

both_versions!(
    under_untrusted_an_accepted_command_that_fails_at_once_is_run_again_outside_unasked,
    a_resumed_thread_has_no_raw_calls_and_nothing_can_be_decided,
);

/// How often chance may be against us.
const TRIES: usize = 40;
/// What ends within this time is looked at by Codex for the marks of a sandbox.
const AT_ONCE: Duration = Duration::from_millis(150);
/// More tries than this cannot have ended at once without being run again.
const MISSED: usize = 2;

struct Lab {
    model: ScriptedModel,
    home: CodexHome,
}

impl Lab {
    async fn new() -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let home = CodexHome::new(&model);
        fs::create_dir(home.root().join("outside")).unwrap();
        Self { model, home }
    }

    fn start(&self, policy: &str) -> Value {
        let cwd = self.home.work();
        json!({ "cwd": cwd, "sandbox": "workspace-write", "approvalPolicy": policy, "experimentalRawEvents": true })
    }

    fn outside(&self, name: &str) -> std::path::PathBuf {
        self.home.root().join("outside").join(name)
    }
}

/// Accepts everything until the turn ends; returns the text of each request.
async fn accept_all(client: &mut RawCodex, thread: &str, watch: &mut Watch) -> Vec<Place> {
    let mut said = Vec::new();
    loop {
        let message = client.look(|message| message["params"]["threadId"] == thread).await;
        said.extend(watch.hear(&message, &client.seen));
        if message.get("id").is_some() {
            client.answer(&message, json!({ "decision": "accept" })).await;
        }
        if message["method"] == "turn/completed" {
            assert_eq!(message["params"]["turn"]["status"], "completed");
            return said;
        }
    }
}

/// Whether a command ends at once is chance: it is tried until it happens. On a machine that is too busy for that it shows
/// only that nothing else happened.
async fn under_untrusted_an_accepted_command_that_fails_at_once_is_run_again_outside_unasked(codex: Codex) {
    let lab = Lab::new().await;
    let mut client = RawCodex::connect(&codex.native, &lab.home).await;
    let started = client.call("thread/start", lab.start("untrusted")).await;
    let (file, (sender, asked)) = (lab.outside("file"), mpsc::channel());
    lab.model.route(move |request| {
        sender.send(Instant::now()).ok()?;
        if file.exists() || request.tool_outputs().len() == TRIES {
            return Some(Reply::say("done"));
        }
        let arguments = json!({ "cmd": format!("touch {}", file.display()), "login": false });
        Some(Reply::new().function("exec_command", arguments))
    });
    let (thread, mut watch) = (thread_id(&started), Watch::new(&started, &codex));
    client.begin(&thread, "go").await;
    let said = accept_all(&mut client, &thread, &mut watch).await;
    client.end().await;

    let told = lab.model.requests().last().unwrap().tool_outputs();
    assert_eq!(said, vec![Place::Undecidable; told.len()], "one request for each call, and none for leaving");
    if lab.outside("file").exists() {
        assert!(
            told.last().unwrap().contains("exited with code 0"),
            "the model hears of the second run alone"
        );
    } else {
        let asked: Vec<Instant> = asked.try_iter().collect();
        let at_once = asked.windows(2).filter(|pair| pair[1] - pair[0] < AT_ONCE).count();
        assert!(at_once <= MISSED, "{at_once} commands ended at once and none was run again");
    }
}

async fn a_resumed_thread_has_no_raw_calls_and_nothing_can_be_decided(codex: Codex) {
    let lab = Lab::new().await;
    let dangerous =
        || Reply::new().function("exec_command", json!({ "cmd": "rm -rf nothing", "login": false }));
    lab.model.play([dangerous(), Reply::say("done"), dangerous(), Reply::say("done")]);
    let mut client = RawCodex::connect(&codex.native, &lab.home).await;
    let started = client.call("thread/start", lab.start("on-request")).await;
    let (thread, mut watch) = (thread_id(&started), Watch::new(&started, &codex));
    client.begin(&thread, "go").await;
    assert_eq!(accept_all(&mut client, &thread, &mut watch).await, [Place::Inside]);
    client.end().await;

    let mut client = RawCodex::connect(&codex.native, &lab.home).await;
    let mut resume = lab.start("on-request");
    resume["threadId"] = json!(thread);
    let resumed = client.call("thread/resume", resume).await;
    let mut watch = Watch::new(&resumed, &codex);
    client.begin(&thread, "again").await;
    assert_eq!(accept_all(&mut client, &thread, &mut watch).await, [Place::Undecidable]);
    assert!(!client.seen.iter().any(|message| message["method"] == "rawResponseItem/completed"));
    client.end().await;
}

/// In code mode the raw call is a script, and the commands that it starts have ids of their own.
#[tokio::test]
async fn in_code_mode_nothing_can_be_decided() {
    let (codex, lab) = (Codex::v0_166(), Lab::new().await);
    let script = |wish: &str, name: &str| {
        let command = format!("rm -rf nothing; touch {}; true", lab.outside(name).display());
        Reply::new().custom("exec", format!("text(await tools.exec_command({{cmd: '{command}'{wish}}}));"))
    };
    let leaves = ", sandbox_permissions: 'require_escalated'";
    lab.model.play([script("", "ordinary"), script(leaves, "leaves"), Reply::say("done")]);
    let mut client = RawCodex::connect(&codex.native, &lab.home).await;
    let mut start = lab.start("on-request");
    start["model"] = json!("gpt-6.1-sol");
    let started = client.call("thread/start", start).await;
    let (thread, mut watch) = (thread_id(&started), Watch::new(&started, &codex));
    client.begin(&thread, "go").await;
    let said = accept_all(&mut client, &thread, &mut watch).await;
    assert_eq!(said, [Place::Undecidable, Place::Undecidable]);
    assert!(!lab.outside("ordinary").exists() && lab.outside("leaves").exists(), "one stayed and one left");
    client.end().await;
}
