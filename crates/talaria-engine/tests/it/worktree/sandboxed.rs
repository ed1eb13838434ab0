//! The real Codex at work in worktrees: commits go through the four roots, and nothing else does.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use talaria_engine::worktree::{Dirty, Force, Made};
use talaria_scripted::{ModelRequest, Reply, ScriptedModel};
use talaria_testkit::client::thread_id;
use talaria_testkit::{Codex, CodexHome, RawCodex};

use super::{Place, git, shown};
use crate::stage::both_versions;

both_versions!(
    a_commit_works_and_hooks_configuration_and_other_branches_cannot_be_written,
    roots_that_are_sent_again_on_a_resume_hold_again;
    newest:
    two_tasks_commit_without_touching_each_other_or_the_users_checkout,
);

const COMMIT: &str = "git add -A && git -c user.name=Codex -c user.email=codex@localhost commit -q -m 'In the sandbox' && echo committed";

/// A Codex whose model runs the prompt as a command.
struct Bench {
    model: ScriptedModel,
    home: CodexHome,
    client: RawCodex,
}

fn obey(request: &ModelRequest) -> Reply {
    if request.is_after_tool() {
        return Reply::say("done");
    }
    let arguments = json!({ "cmd": request.prompt(), "login": false, "yield_time_ms": 30_000 });
    Reply::new().function("exec_command", arguments)
}

impl Bench {
    async fn start(codex: &Codex) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        model.route(|request| Some(obey(request)));
        let home = CodexHome::new(&model);
        let client = RawCodex::connect(&codex.native, &home).await;
        Self { model, home, client }
    }

    async fn thread(&mut self, made: &Made) -> String {
        thread_id(&self.client.call("thread/start", start(made)).await)
    }

    /// The tool result of this command.
    fn told(&self, command: &str) -> String {
        let requests = self.model.requests();
        let last =
            requests.iter().rev().find(|request| request.is_after_tool() && request.prompt() == command);
        last.unwrap().tool_outputs().pop().unwrap()
    }

    /// Runs a command in the sandbox; no one is asked whether it may leave it.
    async fn run(&mut self, thread: &str, command: &str) -> String {
        let (asked, turn) =
            self.client.turn_with(thread, command, |_| json!({ "decision": "decline" })).await;
        assert_eq!((asked.len(), turn["status"].as_str()), (0, Some("completed")), "{turn}");
        self.told(command)
    }
}

fn start(made: &Made) -> Value {
    json!({
        "cwd": made.cwd, "sandbox": "workspace-write", "approvalPolicy": "never",
        "config": { "sandbox_workspace_write.writable_roots": made.ready_roots().unwrap() },
    })
}

/// A command that tries to append to files and says which of them it could.
fn attempts(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path| format!("'{}'", path.display())).collect::<Vec<_>>().join(" ");
    format!(
        "for f in {names}; do if (echo x >> \"$f\") 2>/dev/null; then echo \"wrote $f\"; fi; done; echo tried"
    )
}

async fn a_commit_works_and_hooks_configuration_and_other_branches_cannot_be_written(codex: Codex) {
    let place = Place::new();
    let (made, other) = (place.made("t1").await, place.made("t2").await);
    let before = place.state();
    let mut bench = Bench::start(&codex).await;
    let thread = bench.thread(&made).await;
    let told = bench.run(&thread, &format!("echo d > d.txt && {COMMIT}")).await;
    assert!(told.contains("committed"), "{told}");

    let common = &made.common;
    let closed = [
        common.join("hooks/pre-commit"),
        common.join("config"),
        common.join("config.worktree"),
        common.join("HEAD"),
        common.join("index"),
        common.join("info/attributes"),
        common.join("packed-refs"),
        common.join("refs/heads/main"),
        other.admin.join("HEAD"),
        other.worktree.join("a.txt"),
        place.user().join("a.txt"),
        place.worktrees().join("x"),
        made.worktree.join(".git"),
    ];
    let told = bench.run(&thread, &attempts(&closed)).await;
    assert!(told.contains("tried") && !told.contains("wrote"), "{told}");
    for command in
        ["git branch mine", "git update-ref refs/heads/main HEAD~0", "git config a.b c", "git stash"]
    {
        fs::write(made.worktree.join("a.txt"), "dirty\n").unwrap();
        let told = bench.run(&thread, &format!("{command} && echo it-worked")).await;
        assert!(!told.contains("\nit-worked"), "{told}");
    }
    // The gaps of the sandbox are the reason why nothing in there is trusted.
    let open = [made.admin.join("commondir"), made.admin.join("gitdir"), made.admin.join("config.worktree")];
    let told = bench.run(&thread, &attempts(&open)).await;
    assert_eq!(told.matches("wrote").count(), open.len(), "{told}");
    assert_eq!(place.state(), before);
    assert_eq!(made.changes().await.unwrap().altered.len(), open.len());
    bench.client.end().await;
}

async fn two_tasks_commit_without_touching_each_other_or_the_users_checkout(codex: Codex) {
    let place = Place::new();
    place.write("mine.txt", "uncommitted\n");
    let mut all = Vec::new();
    for task in ["t1", "t2"] {
        all.push(place.make(task, Dirty::Leave).await.unwrap());
    }
    let before = place.state();
    let mut bench = Bench::start(&codex).await;
    let mut threads = Vec::new();
    for made in &all {
        threads.push(bench.thread(made).await);
    }
    // Ten commits each, at the same time.
    let command =
        |name: &str| format!("for n in 1 2 3 4 5 6 7 8 9 10; do echo {name} >> {name}.txt && {COMMIT}; done");
    for (thread, made) in threads.iter().zip(&all) {
        bench.client.begin(thread, &command(&made.branch.replace('/', "-"))).await;
    }
    for _ in &threads {
        // Whichever is first.
        let end = bench.client.look(|message| message["method"] == "turn/completed").await;
        assert_eq!(end["params"]["turn"]["status"], "completed");
    }
    for made in &all {
        let name = made.branch.replace('/', "-");
        let told = bench.told(&command(&name));
        assert_eq!(told.matches("committed").count(), 10, "{told}");
        let changes = made.changes().await.unwrap();
        let commits = "commit In the sandbox\n".repeat(10);
        let wanted = format!("Added {name}.txt +10 -0\n{commits}+10 -0 uncommitted false truncated false\n");
        assert_eq!(shown(&changes), wanted);
        assert_eq!(changes.altered, [] as [&str; 0]);
    }
    assert_eq!(place.state(), before);
    assert!(git(&place.user(), &["fsck", "--strict"]).is_empty());
    assert_eq!(all[0].apply().await.unwrap().files, ["talaria-t1.txt"]);
    for made in &all {
        made.discard(Force::DropWork).await.unwrap();
    }
    bench.client.end().await;
}

/// 0.130 forgets them; 0.166 keeps them. So they are sent again.
async fn roots_that_are_sent_again_on_a_resume_hold_again(codex: Codex) {
    let place = Place::new();
    let made = place.made("t1").await;
    let mut bench = Bench::start(&codex).await;
    let thread = bench.thread(&made).await;
    bench.run(&thread, "echo one > one.txt").await;
    let mut again = start(&made);
    again["threadId"] = json!(thread);
    let mut forgetful = again.clone();
    forgetful.as_object_mut().unwrap().remove("config");
    for (asked, name, is_kept) in [(forgetful, "two", codex.version == "0.166.0"), (again, "three", true)] {
        let Bench { model, home, client } = bench;
        client.end().await;
        let client = RawCodex::connect(&codex.native, &home).await;
        bench = Bench { model, home, client };
        bench.client.call("thread/resume", asked).await;
        let told = bench.run(&thread, &format!("echo x > {name}.txt && {COMMIT}")).await;
        assert_eq!(told.contains("\ncommitted"), is_kept, "{name}: {told}");
    }
    let changes = made.changes().await.unwrap();
    assert_eq!((changes.files.len(), changes.uncommitted), (3, false));
    bench.client.end().await;
}
