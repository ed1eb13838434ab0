//! The commands of the README and of the guide are run, in a shell, one page after the other in its own home; `talaria
//! config check` accepts its TOML.
//!
//! `ID` is the newest task, or conversation if there is no task; `REQUEST` the open request. Lines that cannot run here are
//! listed with the reason; that it parses is a test of `args`. A line of the list that no page has any more fails, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use talaria_scripted::{ModelRequest, Reply};
use talaria_testkit::Codex;
use talaria_testkit::guide::{Page, pages, simple_commands};
use tokio::process::Command;

use crate::scene::{Scene, write_program};
use crate::task_worktree::repository;

/// Lines that are not run, by how they begin, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("./test", "runs this test"),
    ("cargo ", "builds the program"),
    ("claude ", "a program of others"),
    ("codex ", "Codex's own command line"),
    ("goose ", "a program of others"),
    ("talaria demo", "its own tests run it; it may fetch a Codex"),
    ("talaria setup", "fetches a Codex with npm"),
    ("talaria config edit", "opens an editor"),
    ("talaria login", "would log in with ChatGPT; its own tests play that"),
    ("talaria --image", "opens the chat; its tests do"),
    ("talaria --last", "opens the chat; its tests do"),
    ("talaria --resume", "opens the chat; its tests do"),
    ("talaria resume", "opens the chat; its tests do"),
    ("talaria \"fix the failing test\"", "opens the chat; its tests do"),
    ("talaria --model", "opens the chat; its tests do"),
    ("talaria --provider", "opens the chat; its tests do"),
    ("talaria exec --provider", "asks a provider; the tests of own_loop do"),
    ("talaria exec --resume ID --provider", "asks a provider; the tests of own_loop do"),
    ("talaria task start --provider", "asks a provider; the tests of own_loop do"),
    ("talaria --plain", "opens the chat; its tests do"),
    ("talaria exec --attach", "needs a running turn"),
    ("talaria providers test", "asks a provider; the tests of own_loop do"),
    ("talaria sessions compact", "asks a model; the tests of own_loop do"),
    ("talaria sessions fork ID --before-compaction", "needs a compaction; the tests of the engine have one"),
    (
        "talaria sessions undo",
        "needs a further turn for each line; the tests of own_loop and of the engine do",
    ),
    ("talaria sessions retry", "the same"),
    ("talaria task steer", "needs a running turn"),
    ("talaria task interrupt", "needs a running turn"),
    ("talaria skills diff", "needs a proposal of a model; its own tests make one"),
    ("talaria skills accept", "the same"),
    ("talaria skills reject", "the same"),
    ("talaria import", "its own tests run it on databases of other programs"),
];

/// The whole lines that do not exit with 0, with what they exit.
const EXITS: &[(&str, i32, &str)] = &[
    ("talaria migrate", 2, "without a terminal it shows the diff and wants --yes"),
    ("talaria migrate --undo", 2, "the same"),
];

fn begins(line: &str, with: &str) -> bool {
    line.strip_prefix(with)
        .is_some_and(|rest| rest.is_empty() || with.ends_with(' ') || rest.starts_with(' '))
}

fn is_run(line: &str) -> bool {
    line != "talaria" && !NOT_RUN.iter().any(|(start, _)| begins(line, start))
}

/// The model of the pages: a prompt about the changelog changes a file, one about a test commits, all others are answered.
fn model(request: &ModelRequest) -> Option<Reply> {
    let prompt = request.prompt();
    let is_first = !request.is_after_tool();
    Some(match () {
        () if is_first && prompt.contains("changelog") => Reply::new().command("touch changed"),
        () if is_first && prompt.contains("flaky") => {
            Reply::new().command("echo two >> poem.txt && git commit -qam 'a second line'")
        }
        () => Reply::say("Three files."),
    })
}

/// A page that is played: its scene, and what its shell finds.
struct Play {
    scene: Scene,
    programs: PathBuf,
}

impl Play {
    async fn start(codex: &Codex) -> Self {
        let scene = Scene::real(codex).await;
        scene.model.route(model);
        let work = repository(&scene);
        fs::write(work.join("prompt.txt"), "count the words\n").unwrap();
        // Files that lines of the pages write must not keep a task with a worktree from starting.
        fs::write(work.join(".git/info/exclude"), "*\n!poem.txt\n").unwrap();
        Self::in_scene(scene)
    }

    /// Adds the program to the PATH of a scene.
    fn in_scene(mut scene: Scene) -> Self {
        let programs = scene.user_home().join("programs");
        fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_talaria"), programs.join("talaria")).unwrap();
        write_program(&programs.join("notify-send"), "exit 0");
        let path = std::env::var("PATH").unwrap();
        scene.set("PATH", format!("{}:{path}", programs.display()));
        Self { scene, programs }
    }

    /// Inserts real names into a line. Waits until the last task has either ended or asked something.
    async fn named(&self, line: &str) -> String {
        let words: Vec<String> = simple_commands(line).into_iter().flatten().collect();
        let has = |name: &str| words.iter().any(|word| word == name);
        if !has("ID") && !has("REQUEST") {
            return line.to_owned();
        }
        let is_settled = |status: &Value| {
            let many = |list: &str| status[list].as_array().map_or(0, Vec::len);
            many("turns") == 0 || many("requests") > 0
        };
        let status = self.scene.wait_status(is_settled).await;
        let first = |listed: Vec<Value>| listed.first().map(|row| row["id"].as_str().unwrap().to_owned());
        let tasks = self.scene.run(&["task", "list", "--json"]).await.exits(0).json();
        let sessions = self.scene.run(&["sessions", "list", "--json"]).await.exits(0).json();
        let mut id = first(tasks).or_else(|| first(sessions));
        if id.is_none() {
            // The page is about conversations that exist already.
            self.scene.run(&["exec", "fix the flaky test"]).await.exits(0);
            id = first(self.scene.run(&["sessions", "list", "--json"]).await.exits(0).json());
        }
        let request = status["requests"][0]["id"].as_str();
        let mut line = line.to_owned();
        for (name, value) in [("ID", id.as_deref()), ("REQUEST", request)] {
            if has(name) {
                let value = value.unwrap_or_else(|| panic!("there is no {name} for: {line}"));
                line = line.replace(&format!(" {name}"), &format!(" {value}"));
            }
        }
        line
    }

    async fn run(&self, line: &str) -> (Option<i32>, String) {
        let mut shell = Command::new("bash");
        // Without `pipefail` the end of a pipe would hide what is wrong before it.
        shell.args(["--norc", "-o", "pipefail", "-c", line]);
        let output = self.scene.piped(shell).stdin(Stdio::null()).output().await.unwrap();
        let text =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.code(), text)
    }

    async fn page(&self, page: &Page) -> Vec<String> {
        let mut wrong = Vec::new();
        for written in page.command_lines().iter().filter(|line| is_run(line)) {
            let line = self.named(written).await;
            let (code, text) = self.run(&line).await;
            let expected = EXITS.iter().find(|(line, ..)| written == line).map_or(0, |(_, code, _)| *code);
            if code != Some(expected) {
                wrong.push(format!("{}: {line}\nexit {code:?}\n{text}", page.name));
            }
            if text.contains("panicked") {
                wrong.push(format!("{}: {line}\n{text}", page.name));
            }
        }
        wrong
    }

    /// What `talaria config check` says about a block.
    async fn check(&self, toml: &str) -> (Option<i32>, String) {
        let home = self.programs.join("checked");
        let _ = fs::create_dir(&home);
        fs::write(home.join("config.toml"), toml).unwrap();
        self.run(&format!("TALARIA_HOME={} talaria config check", shell_word(&home))).await
    }
}

fn shell_word(path: &Path) -> String {
    format!("'{}'", path.display())
}

async fn play(name: &str) {
    let all = pages();
    let page = all.iter().find(|page| page.name == name).unwrap_or_else(|| panic!("no page {name}"));
    let play = Play::start(&Codex::v0_166()).await;
    let wrong = play.page(page).await;
    // Tasks of the page that wait for an answer end with the engine.
    play.scene.run(&["stop"]).await;
    play.scene.close().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

macro_rules! each_page {
    ($($test:ident: $name:literal,)*) => {
        const PLAYED: &[&str] = &[$($name),*];

        $(#[tokio::test]
        async fn $test() {
            play($name).await;
        })*
    };
}

each_page!(
    the_commands_of_the_readme_run: "README.md",
    the_commands_about_first_steps_run: "docs/guide/first-steps.md",
    the_commands_about_the_chat_run: "docs/guide/chat.md",
    the_commands_about_providers_run: "docs/guide/providers.md",
    the_commands_about_failing_providers_run: "docs/guide/provider-failures.md",
    the_commands_about_budgets_run: "docs/guide/budgets.md",
    the_commands_about_tasks_run: "docs/guide/tasks.md",
    the_commands_about_approvals_run: "docs/guide/approvals-and-rules.md",
    the_commands_about_the_memory_run: "docs/guide/memory.md",
    the_commands_about_skills_run: "docs/guide/skills.md",
    the_commands_about_learning_run: "docs/guide/learning.md",
    the_commands_about_hooks_run: "docs/guide/hooks.md",
    the_commands_about_mcp_run: "docs/guide/mcp.md",
    the_commands_about_the_mcp_server_run: "docs/guide/mcp-server.md",
    the_commands_about_notifications_run: "docs/guide/notifications.md",
    the_commands_about_configuration_run: "docs/guide/configuration.md",
    the_commands_about_the_api_run: "docs/guide/api.md",
    the_commands_about_undo_run: "docs/guide/undo.md",
    the_commands_about_scripting_run: "docs/guide/scripting.md",
    the_commands_about_migrating_run: "docs/guide/migrating.md",
    the_commands_about_storage_run: "docs/guide/storage.md",
    the_commands_about_troubleshooting_run: "docs/guide/troubleshooting.md",
);

#[test]
fn every_page_is_played_and_every_exception_is_needed() {
    let all = pages();
    let lines: Vec<String> = all.iter().flat_map(Page::command_lines).collect();
    for page in &all {
        let is_played = PLAYED.contains(&page.name.as_str());
        let runs = page.command_lines().iter().any(|line| is_run(line));
        assert!(is_played || !runs, "{} has commands and no test", page.name);
    }
    for (start, _) in NOT_RUN {
        assert!(lines.iter().any(|line| begins(line, start)), "no page has {start:?} any more");
    }
    for (exits, ..) in EXITS {
        assert!(lines.iter().any(|line| line == exits), "no page has {exits:?} any more");
    }
}

#[tokio::test]
async fn the_configuration_in_the_guide_is_accepted() {
    let play = Play::in_scene(Scene::empty().await);
    let mut checked = 0;
    for page in pages() {
        for block in page.blocks("toml") {
            let (code, text) = play.check(&block.text).await;
            assert_eq!(code, Some(0), "{}: {text}", block.place);
            assert!(!text.contains("warning"), "{}: {text}", block.place);
            checked += 1;
        }
    }
    assert!(checked > 5, "only {checked} blocks were found");
    let (code, _) = play.check("[codex]\nsandboxes = 1\nsandbox = 2\n").await;
    assert_eq!(code, Some(1), "a mistake is seen");
    play.scene.close().await;
}
