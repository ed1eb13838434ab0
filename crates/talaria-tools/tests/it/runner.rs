//! Calls from plan to result, and what a new engine says about calls whose engine died at each step.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use talaria_core::bounds::Confinement;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::tool::ToolVerdict;
use talaria_testkit::until;
use talaria_tools::call::{CommandWait, LoopCall};
use talaria_tools::files::FileBounds;
use talaria_tools::keeper::{CommandId, CommandState};
use talaria_tools::runner::{
    EffectRecord, LoopScene, LoopToolRunner, PreparedCall, ReadFiles, SettledCall, ToolReport,
};
use talaria_tools::sandbox::{ExcludedTemporary, NetworkAccess, SandboxBounds};

use crate::keeper_process::{environment, room};

/// A conversation without a sandbox, so that its commands need no Codex.
struct Conversation {
    folder: tempfile::TempDir,
    runner: LoopToolRunner,
    scene: LoopScene,
}

impl Conversation {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (work, talaria) = (base.join("work"), base.join("talaria"));
        fs::create_dir(&work).unwrap();
        let runner = LoopToolRunner::new(room(&talaria.join("commands")), None, "/bin/sh".into());
        let sandbox = SandboxBounds {
            mode: Sandbox::DangerFullAccess,
            writable_roots: Vec::new(),
            excluded: ExcludedTemporary::default(),
            network: NetworkAccess::On,
            hiding: None,
        };
        let texts = talaria.join("long-texts/s");
        let runner = runner.with_long_texts(texts.clone());
        let files = FileBounds { confinement: Confinement::Missing, talaria, workplaces: vec![texts] };
        let scene = LoopScene {
            cwd: work,
            home: None,
            sandbox,
            files,
            policy: ApprovalPolicy::OnRequest,
            environment: environment(),
            read: ReadFiles::default(),
        };
        Self { folder, runner, scene }
    }

    /// Another engine of the same home: it knows nothing but what is on disk.
    fn next_engine(&self) -> LoopToolRunner {
        let commands = self.folder.path().canonicalize().unwrap().join("talaria/commands");
        LoopToolRunner::new(room(&commands), None, "/bin/sh".into())
    }

    fn prepare(&self, tool: &str, arguments: &Value) -> PreparedCall {
        let Ok(LoopCall::Machine(call)) = LoopCall::parse(tool, arguments) else {
            panic!("{tool} {arguments}")
        };
        let plan = self.runner.plan(&call, &self.scene).unwrap();
        self.runner.prepare(plan, "call").unwrap()
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> ToolReport {
        let prepared = self.prepare(tool, &arguments);
        let report = self.runner.perform(prepared).await;
        if let Some((path, digest)) = report.seen.clone() {
            self.scene.read.note(path, digest);
        }
        report
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scene.cwd.join(name)
    }
}

fn process(record: &EffectRecord) -> CommandId {
    match record {
        EffectRecord::Command { process } => process.clone(),
        other => panic!("{other:?}"),
    }
}

async fn answer(runner: &LoopToolRunner, record: &EffectRecord) -> ToolReport {
    match runner.settle(record).await {
        SettledCall::Answered(report) => *report,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_command_returns_its_exit_code_and_its_output() {
    let mut talk = Conversation::new();
    let report = talk.call("run", json!({ "command": "pwd; echo oops >&2; exit 3" })).await;
    let cwd = talk.scene.cwd.display().to_string();
    let expected = format!("Exit code 3, complete; output of {} bytes.\n{cwd}\noops\n", cwd.len() + 6);
    assert_eq!((report.outcome.text(), report.running), (expected.as_str(), None));
    let long = talk.call("run", json!({ "command": "seq 1 20000" })).await;
    let text = long.outcome.text();
    assert!(text.contains("\n1\n2\n3\n") && text.ends_with("19999\n20000\n"), "{text}");
    assert!(text.contains(" bytes from byte ") && text.chars().count() <= 10_000, "{}", text.chars().count());
    // All of it is a file that the file tools may read.
    let (_, named) = text.lines().next().unwrap().split_once("All of it is in ").unwrap();
    let path = named.strip_suffix(": read or search that file.").unwrap();
    let found = talk.call("search", json!({ "pattern": "^12345$", "path": path })).await;
    assert!(found.outcome.text().contains("12345"), "{}", found.outcome.text());
    assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 20_000);
}

#[tokio::test]
async fn a_command_that_outlasts_its_wait_continues_and_is_polled_written_to_and_ended() {
    let mut talk = Conversation::new();
    let slow = talk.call("run", json!({ "command": "echo begun; sleep 600", "seconds": 1 })).await;
    assert!(
        slow.outcome.text().starts_with("Still running after 1 s as process "),
        "{}",
        slow.outcome.text()
    );
    let id = slow.running.unwrap();
    let killed = talk.call("process", json!({ "process": id.as_str(), "action": "kill" })).await;
    assert!(
        killed.outcome.text().starts_with("Ended by signal 15, as asked, complete"),
        "{}",
        killed.outcome.text()
    );
    let loud = json!({ "command": "while read x; do echo got $x; done; echo end", "background": true });
    let id = talk.call("run", loud).await.running.unwrap();
    let name = id.as_str().to_owned();
    let write = json!({ "process": name, "action": "write", "text": "a\n", "end": true });
    let written = talk.call("process", write).await;
    assert_eq!(written.outcome.text(), format!("Process {name} has the input, complete."));
    let polled = talk.call("process", json!({ "process": name, "action": "poll", "seconds": 30 })).await;
    assert_eq!(polled.outcome.text(), "Exit code 0, complete; output of 10 bytes.\ngot a\nend\n");
    let again = talk.call("process", json!({ "process": name, "action": "poll" })).await;
    assert_eq!(again.outcome.text(), "Exit code 0, complete; no new output.\n");
    let from = talk.call("process", json!({ "process": name, "action": "poll", "from": 6 })).await;
    assert_eq!(from.outcome.text(), "Exit code 0, complete; output from byte 6 to 10.\nend\n");
}

#[tokio::test]
async fn a_command_is_answered_truthfully_by_the_next_engine_at_each_step() {
    let talk = Conversation::new();
    let proof = talk.file("ran");
    let arguments = json!({ "command": format!("echo x >> {}; echo out", proof.display()) });
    // Recorded, and the engine died before the start.
    let prepared = talk.prepare("run", &arguments);
    let report = answer(&talk.next_engine(), prepared.record()).await;
    assert_eq!(report.outcome.verdict(), ToolVerdict::Failed);
    assert!(report.outcome.text().contains("was not started"), "{}", report.outcome.text());
    // The first engine was only slow: it can not start it any more.
    let late = talk.runner.perform(prepared).await;
    assert!(!late.outcome.is_success() && !proof.exists(), "{}", late.outcome.text());
    // It ended while no engine was there.
    let prepared = talk.prepare("run", &arguments);
    let record = prepared.record().clone();
    talk.runner.perform(prepared).await;
    let report = answer(&talk.next_engine(), &record).await;
    assert_eq!(report.outcome.text(), "Exit code 0, complete; output of 4 bytes.\nout\n");
    assert_eq!(fs::read_to_string(&proof).unwrap(), "x\n", "once");
    // It still runs.
    let prepared =
        talk.prepare("run", &json!({ "command": "echo on; read x; echo off", "background": true }));
    let record = prepared.record().clone();
    talk.runner.perform(prepared).await;
    let next = talk.next_engine();
    let SettledCall::Running(id) = next.settle(&record).await else { panic!("it runs") };
    let report = next.collect(&id, CommandWait::Background).await;
    assert!(report.outcome.text().starts_with("Still running") && report.outcome.text().ends_with("on\n"));
    // Its keeper was killed.
    let claim = talk.folder.path().join("talaria/commands").join(id.as_str()).join("keeper.json");
    let claim: Value = serde_json::from_slice(&fs::read(claim).unwrap()).unwrap();
    let pid = i32::try_from(claim["pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    until("it is lost", || next.commands().find(&id).unwrap().state().unwrap() == CommandState::Lost).await;
    let report = answer(&next, &record).await;
    assert_eq!(report.outcome.verdict(), ToolVerdict::Unknown);
    assert_eq!(process(&record), id);
}

#[tokio::test]
async fn an_edit_is_answered_truthfully_by_the_next_engine_at_each_step() {
    let mut talk = Conversation::new();
    fs::write(talk.file("a.txt"), "one\ntwo\n").unwrap();
    talk.call("read", json!({ "path": "a.txt" })).await;
    let prepared = talk.prepare("edit", &json!({ "path": "a.txt", "old": "two", "new": "2" }));
    let record = prepared.record().clone();
    let next = talk.next_engine();
    assert_eq!(answer(&next, &record).await.outcome.verdict(), ToolVerdict::Failed);
    let report = talk.runner.perform(prepared).await;
    assert!(report.outcome.is_success() && report.change.is_some(), "{}", report.outcome.text());
    let landed = answer(&next, &record).await;
    assert_eq!((landed.outcome.verdict(), landed.seen), (ToolVerdict::Done, report.seen));
    fs::write(talk.file("a.txt"), "by hand\n").unwrap();
    assert_eq!(answer(&next, &record).await.outcome.verdict(), ToolVerdict::Unknown);
    // A plan on the old content is refused by the effect itself, too.
    talk.call("read", json!({ "path": "a.txt" })).await;
    let stale = talk.prepare("edit", &json!({ "path": "a.txt", "old": "by", "new": "my" }));
    fs::write(talk.file("a.txt"), "by an editor\n").unwrap();
    let refused = talk.runner.perform(stale).await;
    assert!(!refused.outcome.is_success(), "{}", refused.outcome.text());
    assert_eq!(fs::read_to_string(talk.file("a.txt")).unwrap(), "by an editor\n");
}

#[tokio::test]
async fn input_is_sent_once_whichever_engine_asks() {
    let talk = Conversation::new();
    let prepared =
        talk.prepare("run", &json!({ "command": "while read x; do echo got $x; done", "background": true }));
    let id = process(prepared.record());
    talk.runner.perform(prepared).await;
    let input = talk.prepare("process", &json!({ "process": id.as_str(), "action": "write", "text": "a\n" }));
    let record = input.record().clone();
    let next = talk.next_engine();
    let before = answer(&next, &record).await;
    assert_eq!(before.outcome.verdict(), ToolVerdict::Failed, "{}", before.outcome.text());
    talk.runner.perform(input).await;
    let after = answer(&next, &record).await;
    assert_eq!(after.outcome.verdict(), ToolVerdict::Done, "{}", after.outcome.text());
    let command = next.commands().find(&id).unwrap();
    until("it was read", || command.output(0).read(100).unwrap().bytes == b"got a\n").await;
    next.stop(&id).await;
    assert_eq!(next.settle(&EffectRecord::Reads).await, SettledCall::MayRepeat);
}

#[tokio::test]
async fn files_are_searched_and_images_are_returned() {
    let mut talk = Conversation::new();
    fs::write(talk.file("a.txt"), "needle\n").unwrap();
    let found = talk.call("search", json!({ "pattern": "need" })).await;
    assert!(found.outcome.text().ends_with("a.txt\n1: needle\n"), "{}", found.outcome.text());
    fs::write(talk.file("i.gif"), b"GIF89a\x0a\x00\x05\x00").unwrap();
    let image = talk.call("view_image", json!({ "path": "i.gif" })).await;
    assert_eq!(image.image.map(|image| (image.width, image.height)), Some((10, 5)));
    let text = talk.call("read", json!({ "path": "i.gif" })).await;
    assert!(text.outcome.text().ends_with("is an image; use view_image"), "{}", text.outcome.text());
}
