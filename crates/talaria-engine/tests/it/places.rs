//! Which operations Codex asks about, and whether accepted ones run in the sandbox: one table for each version,
//! on the real Codex.
//!
//! `talaria_core::bounds` is compared with it. A cell reads: asked or not; where it then happened (`ran` where there is
//! no sandbox to leave); and, of what was asked, what `Bounds` said before the answer. Everything is accepted.

// What a sandbox confines, and how to observe it, differs between systems.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use talaria_codex_proto::frame::{Decoded, Frame, decode_text};
use talaria_codex_proto::project;
use talaria_codex_proto::thread_bounds::ThreadBounds;
use talaria_codex_proto::wire::notification::Notification;
use talaria_codex_proto::wire::server_request::ServerRequest;
use talaria_codex_proto::wishes::Wishes;
use talaria_core::item::{FileAction, FileChange};
use talaria_guard::place::Place;
use talaria_scripted::{Reply, ScriptedModel};
use talaria_testkit::client::thread_id;
use talaria_testkit::{Codex, CodexHome, RawCodex};

const SANDBOXES: [&str; 3] = ["read-only", "workspace-write", "danger-full-access"];

/// How one sees whether a call left the sandbox.
#[derive(Clone, Copy)]
enum Probe {
    /// It writes `outside/<name of the call>` and succeeds all the same if it cannot.
    Writes,
    /// It fails if it cannot write that.
    Insists,
    /// It looks for a process that is not in the sandbox, and fails if there is none.
    Looks,
    /// It connects to loopback.
    Connects,
    /// It makes a file below the folder of its scene.
    Patches(&'static str),
}

struct Call {
    name: &'static str,
    probe: Probe,
    reply: Reply,
}

impl Call {
    fn command(name: &'static str, probe: Probe, command: &str, wish: Value) -> Self {
        let mut arguments = json!({ "cmd": command, "login": false });
        arguments.as_object_mut().unwrap().extend(wish.as_object().unwrap().clone());
        Self { name, probe, reply: Reply::new().function("exec_command", arguments) }
    }

    fn patch(name: &'static str, file: &'static str, root: &Path) -> Self {
        Self { name, probe: Probe::Patches(file), reply: Reply::new().patch(added(&root.join(file))) }
    }
}

fn added(path: &Path) -> String {
    format!("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch\n", path.display())
}

/// The model's calls in one scene, in order.
fn calls(root: &Path, port: u16) -> Vec<Call> {
    use Probe::{Connects, Insists, Looks, Patches, Writes};
    let out = root.join("outside");
    let out = out.display();
    let (none, leave) = (json!({}), json!({ "sandbox_permissions": "require_escalated" }));
    let leave_why = json!({ "sandbox_permissions": "require_escalated", "justification": "May I?" });
    let wider = |more: Value| json!({ "sandbox_permissions": "with_additional_permissions", "additional_permissions": more });
    let files = wider(json!({ "file_system": { "write": [root.join("outside")] } }));
    let network = wider(json!({ "network": { "enabled": true } }));
    let look = &format!("ls /proc/{}", std::process::id());
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let heredoc = format!("apply_patch <<'EOF'\n{}EOF", added(&root.join("work/by-command")));
    vec![
        Call::command("succeeds", Writes, &format!("touch {out}/succeeds; true"), none.clone()),
        Call::command("fails", Insists, &format!("touch {out}/fails"), none.clone()),
        Call::command("only looks", Looks, look, none.clone()),
        Call::command(
            "dangerous",
            Insists,
            &format!("rm -rf nothing && touch {out}/dangerous"),
            none.clone(),
        ),
        Call::command("rule: prompt", Insists, &format!("tee {out}/rule:-prompt"), none.clone()),
        Call::command("rule: allow", Writes, &format!("mkdir {out}/rule:-allow"), none.clone()),
        Call::command("leaves", Insists, &format!("touch {out}/leaves"), leave.clone()),
        Call::command("leaves, says why", Insists, &format!("touch {out}/leaves,-says-why"), leave_why),
        Call::command("leaves to look", Looks, look, leave),
        Call::command("wider files", Insists, &format!("touch {out}/wider-files"), files),
        Call::command("wider network", Connects, &connect, network),
        Call::patch("patch inside", "work/inside", root),
        Call::patch("patch outside", "outside/outside", root),
        Call::patch("patch into .git", "work/.git/hook", root),
        Call::patch("patch by a link", "work/link/by-link", root),
        Call {
            probe: Patches("work/by-command"),
            ..Call::command("patch by command", Writes, &heredoc, none)
        },
    ]
}

/// Talaria's knowledge of a thread at the time of a request.
pub(crate) struct Watch {
    bounds: ThreadBounds,
    wishes: Wishes,
}

impl Watch {
    /// Begins with the answer to `thread/start` or `thread/resume`.
    pub(crate) fn new(started: &Value, codex: &Codex) -> Self {
        let cwd = started["cwd"].as_str().unwrap();
        let version = codex.version.parse().unwrap();
        let bounds = ThreadBounds::new(&started["sandbox"], &started["approvalPolicy"], cwd, version);
        Self { bounds, wishes: Wishes::default() }
    }

    /// Takes a message of the thread; of a request, says where it happens if it is accepted.
    pub(crate) fn hear(&mut self, message: &Value, seen: &[Value]) -> Option<Place> {
        match decode_text(&message.to_string()) {
            Decoded::Known(Frame::Notification(Notification::RawItemCompleted(raw))) => {
                self.wishes.note(&raw.item);
                None
            }
            Decoded::Known(Frame::Request { request, .. }) => {
                let changes = changes_of(&request, seen);
                let wish = request.item().and_then(|item| self.wishes.of(item));
                self.bounds.place(&project::subject(&request, Some(&changes))?, wish)
            }
            _ => None,
        }
    }
}

/// The files of the item that a request belongs to.
fn changes_of(request: &ServerRequest, seen: &[Value]) -> Vec<FileChange> {
    let is_its = |item: &&Value| request.item().is_some_and(|id| item["id"] == id.as_str());
    let started = seen.iter().filter(|message| message["method"] == "item/started");
    let item = started.map(|message| &message["params"]["item"]).find(is_its);
    let changes = item.and_then(|item| item["changes"].as_array()).into_iter().flatten();
    let change = |change: &Value| FileChange {
        path: change["path"].as_str().unwrap().to_owned(),
        action: FileAction::Update,
        move_to: None,
        diff: String::new(),
    };
    changes.map(change).collect()
}

/// One combination of sandbox and policy: a separate thread, with one turn.
struct Scene {
    sandbox: &'static str,
    policy: &'static str,
    root: PathBuf,
    calls: Vec<Call>,
    thread: String,
    watch: Watch,
    /// Of each call, what `place` said when it was asked about.
    said: Vec<Option<Place>>,
}

impl Scene {
    fn call_id(&self, call: &Call) -> String {
        format!("{}/{}/{}", self.sandbox, self.policy, call.name)
    }

    fn prompt(&self) -> String {
        format!("{} {}", self.sandbox, self.policy)
    }

    /// Takes a message of its thread as Talaria would.
    fn hear(&mut self, message: &Value, seen: &[Value]) {
        let Some(place) = self.watch.hear(message, seen) else { return };
        let item = message["params"]["itemId"].as_str().unwrap();
        let asked = self.calls.iter().position(|call| self.call_id(call) == item);
        let asked = asked.unwrap_or_else(|| panic!("nobody called {item}"));
        assert_eq!(self.said[asked].replace(place), None, "{item} is asked about once");
    }

    /// Returns where a call happened; `told` is its tool result.
    fn happened(&self, call: &Call, told: &str) -> &'static str {
        let is_there = |file: &str| self.root.join(file).exists();
        // Only the code is certain: 0.130 now and then loses what a command printed.
        let code = told.split("exited with code ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let left = match (call.probe, code) {
            (Probe::Patches(file), _) if is_there(file) => self.sandbox == "read-only" || !is_workspace(file),
            (Probe::Writes | Probe::Insists, Some(_)) => {
                is_there(&format!("outside/{}", call.name.replace(' ', "-")))
            }
            (Probe::Looks | Probe::Connects, Some(code)) => code == "0",
            _ => return "refused",
        };
        match (self.sandbox, left) {
            ("danger-full-access", _) => "ran",
            (_, true) => "outside",
            (_, false) => "inside",
        }
    }

    fn cell(&self, at: usize, told: &str) -> String {
        let (call, said) = (&self.calls[at], self.said[at]);
        let mut happened = self.happened(call, told);
        let is_false = said == Some(Place::Inside) && happened == "outside";
        assert!(!is_false, "{} {}: {told}", self.prompt(), call.name);
        // A command that fails within 150 ms is run again outside; whether it is that fast is chance, and under
        // `on-failure` also whether it is asked about.
        if matches!(call.probe, Probe::Insists) && self.sandbox != "danger-full-access" {
            if self.policy == "on-failure" && call.name == "fails" {
                return "either".to_owned();
            }
            if said == Some(Place::Undecidable) && happened != "refused" {
                happened = "either";
            }
        }
        match said {
            None if happened == "refused" => "refused".to_owned(),
            None => format!("unasked {happened}"),
            Some(Place::Undecidable) => format!("asked {happened} =?"),
            Some(said) => format!("asked {happened} ={said}"),
        }
    }
}

fn is_workspace(file: &str) -> bool {
    file.starts_with("work/") && !file.contains("/.git/") && !file.contains("/link/")
}

/// Plays every scene concurrently and returns the table.
async fn table(codex: Codex, policies: &[&'static str]) -> String {
    let model = ScriptedModel::start().await.unwrap();
    let home = CodexHome::new(&model);
    fs::create_dir(home.path().join("rules")).unwrap();
    let rules = ["prompt", "allow"].iter().zip(["tee", "mkdir"]);
    let rules =
        rules.map(|(decision, word)| format!("prefix_rule(pattern=[\"{word}\"], decision=\"{decision}\")\n"));
    fs::write(home.path().join("rules/default.rules"), rules.collect::<String>()).unwrap();
    let port =
        model.base_url().trim_start_matches("http://127.0.0.1:").trim_end_matches("/v1").parse().unwrap();

    let mut client = RawCodex::connect(&codex.native, &home).await;
    let mut scenes = Vec::new();
    for sandbox in SANDBOXES {
        for &policy in policies {
            let root = home.root().join(format!("{sandbox}-{policy}"));
            fs::create_dir_all(root.join("work/.git")).unwrap();
            fs::create_dir(root.join("outside")).unwrap();
            symlink(root.join("outside"), root.join("work/link")).unwrap();
            let cwd = root.join("work");
            let config = json!({ "features.exec_permission_approvals": true });
            let start = json!({ "cwd": cwd, "sandbox": sandbox, "approvalPolicy": policy, "config": config, "experimentalRawEvents": true });
            let started = client.call("thread/start", start).await;
            let calls = calls(&root, port);
            let said = vec![None; calls.len()];
            let (thread, watch) = (thread_id(&started), Watch::new(&started, &codex));
            scenes.push(Scene { sandbox, policy, root, calls, thread, watch, said });
        }
    }
    let script: Vec<(String, Vec<Reply>)> = scenes
        .iter()
        .map(|scene| {
            let replies = scene.calls.iter().map(|call| call.reply.clone().call_id(scene.call_id(call)));
            (scene.prompt(), replies.collect())
        })
        .collect();
    model.route(move |request| {
        let said = request.user_texts();
        let (_, replies) = script.iter().find(|(prompt, _)| said.contains(&prompt.as_str()))?;
        Some(replies.get(request.tool_outputs().len()).cloned().unwrap_or_else(|| Reply::say("done")))
    });

    for scene in &scenes {
        client.begin(&scene.thread, &scene.prompt()).await;
    }
    let mut running = scenes.len();
    while running > 0 {
        let message = client.look(|message| message["params"]["threadId"].is_string()).await;
        let scene = scenes.iter_mut().find(|scene| message["params"]["threadId"] == scene.thread.as_str());
        scene.unwrap().hear(&message, &client.seen);
        if message.get("id").is_some() {
            client.answer(&message, json!({ "decision": "accept" })).await;
        } else if message["method"] == "turn/completed" {
            assert_eq!(message["params"]["turn"]["status"], "completed", "{message}");
            running -= 1;
        }
    }
    client.end().await;

    let requests = model.requests();
    let told = |scene: &Scene| {
        let last = requests
            .iter()
            .rev()
            .find(|request| request.user_texts().contains(&scene.prompt().as_str()))
            .unwrap();
        let told = last.tool_outputs();
        assert_eq!(told.len(), scene.calls.len(), "{}", scene.prompt());
        told
    };
    let mut table = String::new();
    for row in scenes.chunks(policies.len()) {
        let told: Vec<Vec<String>> = row.iter().map(told).collect();
        line(&mut table, row[0].sandbox, row.iter().map(|scene| scene.policy.to_owned()));
        for at in 0..row[0].calls.len() {
            let cells = row.iter().zip(&told).map(|(scene, told)| scene.cell(at, &told[at]));
            line(&mut table, &format!("  {}", row[0].calls[at].name), cells);
        }
    }
    table
}

fn line(table: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let cells = cells.fold(String::new(), |line, cell| format!("{line}{cell:24}"));
    writeln!(table, "{name:20}{}", cells.trim_end()).unwrap();
}

async fn holds(codex: Codex, policies: &[&'static str], expected: Expect) {
    expected.assert_eq(&table(codex, policies).await);
}

#[tokio::test]
async fn what_0_130_asks_and_where_it_then_happens() {
    let expected = expect![[r#"
        read-only           untrusted               on-request              never                   on-failure
          succeeds          asked inside =?         unasked inside          unasked inside          unasked inside
          fails             asked either =?         unasked inside          unasked inside          either
          only looks        unasked inside          unasked inside          unasked inside          unasked inside
          dangerous         asked either =?         asked inside =inside    refused                 asked either =?
          rule: prompt      asked either =?         asked inside =inside    refused                 asked either =?
          rule: allow       unasked outside         unasked outside         unasked outside         unasked outside
          leaves            refused                 asked outside =outside  refused                 refused
          leaves, says why  refused                 asked outside =outside  refused                 refused
          leaves to look    refused                 unasked outside         refused                 refused
          wider files       refused                 asked outside =outside  refused                 refused
          wider network     refused                 asked outside =outside  refused                 refused
          patch inside      asked outside =outside  asked outside =outside  refused                 unasked outside
          patch outside     asked outside =outside  asked outside =outside  refused                 unasked outside
          patch into .git   asked outside =outside  asked outside =outside  refused                 unasked outside
          patch by a link   asked outside =outside  asked outside =outside  refused                 unasked outside
          patch by command  asked outside =outside  asked outside =outside  refused                 unasked outside
        workspace-write     untrusted               on-request              never                   on-failure
          succeeds          asked inside =?         unasked inside          unasked inside          unasked inside
          fails             asked either =?         unasked inside          unasked inside          either
          only looks        unasked inside          unasked inside          unasked inside          unasked inside
          dangerous         asked either =?         asked inside =inside    refused                 asked either =?
          rule: prompt      asked either =?         asked inside =inside    refused                 asked either =?
          rule: allow       unasked outside         unasked outside         unasked outside         unasked outside
          leaves            refused                 asked outside =outside  refused                 refused
          leaves, says why  refused                 asked outside =outside  refused                 refused
          leaves to look    refused                 unasked outside         refused                 refused
          wider files       refused                 asked outside =outside  refused                 refused
          wider network     refused                 asked outside =outside  refused                 refused
          patch inside      asked inside =?         unasked inside          unasked inside          unasked inside
          patch outside     asked outside =outside  asked outside =outside  refused                 unasked outside
          patch into .git   asked outside =outside  asked outside =outside  refused                 unasked outside
          patch by a link   asked outside =?        asked outside =outside  refused                 asked outside =?
          patch by command  asked inside =?         unasked inside          unasked inside          unasked inside
        danger-full-access  untrusted               on-request              never                   on-failure
          succeeds          asked ran =inside       unasked ran             unasked ran             unasked ran
          fails             asked ran =inside       unasked ran             unasked ran             unasked ran
          only looks        unasked ran             unasked ran             unasked ran             unasked ran
          dangerous         asked ran =inside       asked ran =inside       unasked ran             asked ran =inside
          rule: prompt      asked ran =inside       asked ran =inside       refused                 asked ran =inside
          rule: allow       unasked ran             unasked ran             unasked ran             unasked ran
          leaves            refused                 unasked ran             refused                 refused
          leaves, says why  refused                 unasked ran             refused                 refused
          leaves to look    refused                 unasked ran             refused                 refused
          wider files       refused                 unasked ran             refused                 refused
          wider network     refused                 unasked ran             refused                 refused
          patch inside      asked ran =inside       unasked ran             unasked ran             unasked ran
          patch outside     asked ran =inside       unasked ran             unasked ran             unasked ran
          patch into .git   asked ran =inside       unasked ran             unasked ran             unasked ran
          patch by a link   asked ran =inside       unasked ran             unasked ran             unasked ran
          patch by command  asked ran =inside       unasked ran             unasked ran             unasked ran
    "#]];
    holds(Codex::v0_130(), &["untrusted", "on-request", "never", "on-failure"], expected).await;
}

#[tokio::test]
async fn what_0_166_asks_and_where_it_then_happens() {
    let expected = expect![[r#"
        read-only           untrusted               on-request              never
          succeeds          asked inside =?         unasked inside          unasked inside
          fails             asked either =?         unasked inside          unasked inside
          only looks        asked inside =?         unasked inside          unasked inside
          dangerous         asked either =?         asked inside =inside    refused
          rule: prompt      asked either =?         asked inside =inside    refused
          rule: allow       unasked outside         unasked outside         unasked outside
          leaves            asked outside =outside  asked outside =outside  refused
          leaves, says why  asked outside =outside  asked outside =outside  refused
          leaves to look    asked outside =outside  asked outside =outside  refused
          wider files       refused                 asked outside =outside  refused
          wider network     refused                 asked outside =outside  refused
          patch inside      asked outside =outside  asked outside =outside  refused
          patch outside     asked outside =outside  asked outside =outside  refused
          patch into .git   asked outside =outside  asked outside =outside  refused
          patch by a link   asked outside =outside  asked outside =outside  refused
          patch by command  asked outside =outside  asked outside =outside  refused
        workspace-write     untrusted               on-request              never
          succeeds          asked inside =?         unasked inside          unasked inside
          fails             asked either =?         unasked inside          unasked inside
          only looks        asked inside =?         unasked inside          unasked inside
          dangerous         asked either =?         asked inside =inside    refused
          rule: prompt      asked either =?         asked inside =inside    refused
          rule: allow       unasked outside         unasked outside         unasked outside
          leaves            asked outside =outside  asked outside =outside  refused
          leaves, says why  asked outside =outside  asked outside =outside  refused
          leaves to look    asked outside =outside  asked outside =outside  refused
          wider files       refused                 asked outside =outside  refused
          wider network     refused                 asked outside =outside  refused
          patch inside      asked inside =inside    unasked inside          unasked inside
          patch outside     asked outside =outside  asked outside =outside  refused
          patch into .git   asked outside =outside  asked outside =outside  refused
          patch by a link   asked refused =inside   asked refused =outside  refused
          patch by command  asked inside =inside    unasked inside          unasked inside
        danger-full-access  untrusted               on-request              never
          succeeds          asked ran =inside       unasked ran             unasked ran
          fails             asked ran =inside       unasked ran             unasked ran
          only looks        asked ran =inside       unasked ran             unasked ran
          dangerous         asked ran =inside       asked ran =inside       refused
          rule: prompt      asked ran =inside       asked ran =inside       refused
          rule: allow       unasked ran             unasked ran             unasked ran
          leaves            asked ran =inside       unasked ran             refused
          leaves, says why  asked ran =inside       unasked ran             refused
          leaves to look    asked ran =inside       unasked ran             refused
          wider files       refused                 unasked ran             refused
          wider network     refused                 unasked ran             refused
          patch inside      asked ran =inside       unasked ran             unasked ran
          patch outside     asked ran =inside       unasked ran             unasked ran
          patch into .git   asked ran =inside       unasked ran             unasked ran
          patch by a link   asked ran =inside       unasked ran             unasked ran
          patch by command  asked ran =inside       unasked ran             unasked ran
    "#]];
    holds(Codex::v0_166(), &["untrusted", "on-request", "never"], expected).await;
}
