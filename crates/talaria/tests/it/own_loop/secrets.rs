//! Keys of providers: in requests to them and nowhere else. Not in rows, logs, events or command lines, and not in the
//! environment of the commands that a model runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use talaria_scripted::{Gate, Reply};
use talaria_testkit::Codex;

use crate::own_loop::{FAMILIES, MODEL, exec, prefer, scene, scene_configured, scene_with};
use crate::scene::both_versions;
use crate::tasks::{rest, shown, start};

both_versions! {
    newest:
    a_key_is_in_no_file_event_or_command_after_tools_errors_and_a_crash,
}

/// No pattern knows these: what hides them must know the key itself.
const PLAIN_KEY: &str = "zq81house9f3kd0w2lmx7";
const OTHER_KEY: &str = "uv55other1p8tr6n0abc4";

async fn a_key_is_in_no_file_event_or_command_after_tools_errors_and_a_crash(codex: Codex) {
    let mut scene = scene_with(&codex).await;
    scene.set("OWN_KEY", PLAIN_KEY);
    scene.set("ANTHROPIC_API_KEY", OTHER_KEY);
    let mut printed = String::new();
    for family in FAMILIES {
        scene.model.push(
            Reply::new().function("run", json!({ "command": "env; cat /proc/$PPID/environ; echo end" })),
        );
        scene.model.push(Reply::say("Done."));
        let ended =
            exec(&scene, family, &["--json", "--sandbox", "workspace-write", "Show the environment."]).await;
        let ended = ended.exits(0);
        let request = scene.model.requests().pop().unwrap();
        let outputs = request.tool_outputs();
        assert!(outputs[0].contains("PATH=") && outputs[0].contains("end"), "{family}: {outputs:?}");
        for word in ["OWN_KEY", "ANTHROPIC_API_KEY", PLAIN_KEY, OTHER_KEY] {
            assert!(!outputs[0].contains(word), "{family}: a command sees {word}");
        }
        let sent = request.headers.iter().filter(|(_, value)| value.contains(PLAIN_KEY)).count();
        assert_eq!(
            (sent, request.text.contains(PLAIN_KEY)),
            (1, false),
            "{family}: the key is in one header"
        );
        printed += &ended.to_string();
        // A provider that repeats the key in its words, before and after the status.
        scene.model.push(Reply::refuse(401, "invalid_api_key", format!("{PLAIN_KEY} is wrong")));
        printed += &exec(&scene, family, &["--json", "Go."]).await.exits(6).to_string();
        scene
            .model
            .push(Reply::new().text("Hm.").error_frame("invalid_api_key", format!("{PLAIN_KEY} is wrong")));
        printed += &exec(&scene, family, &["--json", "Go."]).await.exits(6).to_string();
    }
    assert!(printed.contains("[key] is wrong"), "{printed}");

    let gate = Gate::new();
    let asked = scene.model.requests().len();
    scene.model.push(Reply::new().text("Half of ").gate(&gate).text("it."));
    prefer(&scene, "own-chat", MODEL);
    let task = start(&scene, &["Go on."]).await;
    scene.model.wait_for_requests(asked + 1).await;
    if cfg!(target_os = "linux") {
        assert_eq!(command_lines_with(&[PLAIN_KEY, OTHER_KEY]), [""; 0]);
    }
    scene.kill_engine().await;
    scene.model.push(Reply::say("The whole of it."));
    // The key comes with the command that starts the next engine.
    scene.run(&["task", "list"]).await.exits(0);
    rest(&scene).await;
    let ended = shown(&scene, &task).await;
    assert_eq!(ended["outcome"]["outcome"], "completed", "{ended}");
    printed += &ended.to_string();

    for key in [PLAIN_KEY, OTHER_KEY] {
        assert!(!printed.contains(key), "{printed}");
        assert_eq!(files_with(&scene.home(), key), [""; 0]);
        assert_eq!(files_with(&scene.work(), key), [""; 0]);
    }
    gate.open();
    scene.close().await;
}

/// The files below a directory that contain a text. A pipe would be waited for, so it is left out.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let entries = fs::read_dir(directory).unwrap().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with(&path, text));
        } else if path.is_file()
            && fs::read(&path)
                .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

/// The command lines of processes that contain one of these.
fn command_lines_with(texts: &[&str]) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.filter(|line| texts.iter().any(|text| line.contains(text))).collect()
}

#[tokio::test]
async fn requests_are_dumped_for_diagnosis_without_the_key_and_for_their_owner_alone() {
    let mut scene = scene().await;
    scene.set("OWN_KEY", PLAIN_KEY);
    let mut engine = scene.start(&["serve", "--debug-requests", "dumps"]);
    engine.wait_for_account("is running").await;
    scene.model.push(
        Reply::refuse(503, "server_error", format!("not now, {PLAIN_KEY}")).header("retry-after-ms", "1"),
    );
    scene.model.push(Reply::say("The answer."));
    let pretty = "token ghp_0123456789abcdefghijABCDEFGHIJ012345";
    exec(&scene, "messages", &["--json", &format!("Say it, {pretty}.")]).await.exits(0);
    let dumps = scene.work().join("dumps");
    let names = crate::scene::names(&dumps);
    assert_eq!(names.len(), 4, "a request and an answer of each attempt: {names:?}");
    let read = |ending: &str| {
        let name = names.iter().find(|name| name.ends_with(ending)).unwrap();
        fs::read_to_string(dumps.join(name)).unwrap()
    };
    let (request, refusal, answer) =
        (read("attempt-1.request.txt"), read("attempt-1.answer.txt"), read("attempt-2.answer.txt"));
    assert!(request.starts_with("POST http://127.0.0.1:") && request.contains("Say it"), "{request}");
    assert!(refusal.contains("status 503") && refusal.contains("not now, [key]"), "{refusal}");
    assert!(answer.contains("status 200") && answer.contains("The answer."), "{answer}");
    for text in [PLAIN_KEY, "ghp_0123456789abcdefghij"] {
        assert_eq!(files_with(&dumps, text), [""; 0], "{text}");
    }
    for name in &names {
        assert_eq!(fs::metadata(dumps.join(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    scene.run(&["stop"]).await.exits(0);
    engine.end().await.exits(0);
    scene.close().await;
}

#[tokio::test]
async fn a_command_gets_a_secret_variable_only_if_the_user_named_it() {
    let mut scene = scene_configured("[tools]\nenvironment = [\"GH_TOKEN\"]\n").await;
    scene.set("GH_TOKEN", PLAIN_KEY);
    scene.set("NPM_TOKEN", OTHER_KEY);
    scene.model.push(Reply::new().function("run", json!({ "command": "env | sort > seen" })));
    scene.model.push(Reply::say("Done."));
    exec(&scene, "chat", &["--sandbox", "danger-full-access", "Go."]).await.exits(0);
    let seen = fs::read_to_string(scene.work().join("seen")).unwrap();
    assert!(seen.contains(&format!("GH_TOKEN={PLAIN_KEY}\n")), "{seen}");
    assert!(!seen.contains("NPM_TOKEN") && !seen.contains("OWN_KEY"), "{seen}");
    // The next turn reads the file again.
    scene.run(&["config", "unset", "tools.environment"]).await.exits(0);
    scene.model.push(Reply::new().function("run", json!({ "command": "env > seen" })));
    scene.model.push(Reply::say("Done."));
    let session = scene.run(&["sessions", "list", "--json"]).await.exits(0).json()[0]["id"].clone();
    scene.run(&["exec", "--resume", session.as_str().unwrap(), "Again."]).await.exits(0);
    assert!(!fs::read_to_string(scene.work().join("seen")).unwrap().contains("GH_TOKEN"));
    scene.close().await;
}
