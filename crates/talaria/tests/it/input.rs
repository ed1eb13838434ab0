//! Bad input: each mistake has its exit code, its cause and a hint, and nothing was started for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use talaria_scripted::Reply;
use talaria_testkit::app_server::directive::{on, reply};
use talaria_testkit::{AppServer, Codex};

use crate::scene::{Scene, both_versions, names, write_program};

both_versions!(
    the_longest_prompt_is_taken_and_a_longer_one_is_not;
    newest:
    what_is_piped_in_beside_a_prompt_reaches_the_model_marked,
    nobody_logged_in_is_found_out_before_the_model_is_asked,
    an_unknown_key_is_a_warning_and_the_turn_runs,
    the_codex_on_path_is_used,
);

/// The longest input that Codex takes, in characters.
const LONGEST: usize = 1_048_576;

async fn the_longest_prompt_is_taken_and_a_longer_one_is_not(codex: Codex) {
    let scene = Scene::real(&codex).await;
    scene.model.push(Reply::say("read"));
    let longest = "ä".repeat(LONGEST);
    scene.run_with_input(&["exec", "--quiet", "-"], longest.as_bytes()).await.exits(0).prints(&["read"]);
    assert!(scene.model.requests()[0].prompt() == longest, "the prompt came whole");
    for longer in [format!("{longest}x"), "ä".repeat(5 * LONGEST)] {
        let ended = scene.run_with_input(&["exec", "-"], longer.as_bytes()).await.exits(2);
        ended.complains(&[
            "error: the prompt is too long: ",
            "cause: Codex accepts at most 1048576",
            "hint: ",
        ]);
    }
    assert_eq!(scene.model.requests().len(), 1);
    scene.close().await;
}

async fn what_is_piped_in_beside_a_prompt_reaches_the_model_marked(codex: Codex) {
    let scene = Scene::real(&codex).await;
    for _ in 0..3 {
        scene.model.push(Reply::say("read"));
    }
    let ended = scene.run_with_input(&["exec", "--quiet", "summarise"], b"data from a pipe").await.exits(0);
    ended.prints(&["read"]).complains(&["read 16 bytes from standard input"]);
    let marked = "summarise\n\nStandard input of the command (16 bytes):\n\n```\ndata from a pipe\n```\n";
    assert_eq!(scene.model.requests()[0].prompt(), marked);
    scene.run_with_input(&["exec", "--quiet", "nothing piped"], b"").await.exits(0);
    assert_eq!(scene.model.requests()[1].prompt(), "nothing piped", "an empty pipe is no input");
    scene.run_with_input(&["exec", "--quiet"], b"the pipe is the prompt").await.exits(0);
    assert_eq!(scene.model.requests()[2].prompt(), "the pipe is the prompt");
    let ended = scene.run_with_input(&["exec", "look"], b"\x89PNG\xff").await.exits(2);
    ended.complains(&["error: standard input is not text", "byte 1 is not valid UTF-8"]);
    let ended = scene.run(&["exec"]).await.exits(2);
    ended.complains(&["error: there is no prompt", "talaria exec -"]);
    assert_eq!(scene.model.requests().len(), 3);
    scene.close().await;
}

#[tokio::test]
async fn a_pipe_that_stays_silent_does_not_hold_the_turn_up() {
    let scene = Scene::real(&Codex::v0_166()).await;
    scene.model.push(Reply::say("begun"));
    let mut command = scene.command(&["exec", "--quiet", "go"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Open until the command has ended by itself.
    let _silent = child.stdin.take().unwrap();
    let ended = child.wait_with_output().await.unwrap();
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "begun\n");
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(told.contains("no data on standard input for 3 seconds"), "{told}");
    scene.close().await;
}

#[tokio::test]
async fn a_file_that_is_no_image_is_refused_before_anything_is_sent() {
    let scene = Scene::real(&Codex::v0_166()).await;
    fs::write(scene.work().join("greeting.txt"), "hello").unwrap();
    let ended = scene.run(&["exec", "--image", "greeting.txt", "what is this"]).await.exits(2);
    ended.complains(&["error: cannot use the image greeting.txt", "not a PNG, JPEG, GIF or WebP image"]);
    let ended = scene.run(&["exec", "--image", "missing.png", "what is this"]).await.exits(2);
    ended.complains(&["error: cannot use the image missing.png"]);
    assert_eq!(scene.model.requests().len(), 0);
    scene.close().await;
}

async fn nobody_logged_in_is_found_out_before_the_model_is_asked(codex: Codex) {
    let scene = Scene::without_login(&codex).await;
    let ended = scene.run(&["exec", "go"]).await.exits(6);
    let hint = "hint: run `talaria login`, then try again";
    ended.complains(&["error: the turn failed (auth)\ncause: Codex is not logged in", hint]);
    let ended = scene.run(&["exec", "--json", "go"]).await.exits(6);
    let events = ended.events();
    let outcome = events.last().unwrap();
    assert_eq!((&outcome["outcome"], &outcome["code"]), (&"failed".into(), &"auth".into()));
    assert!(outcome["message"].as_str().unwrap().starts_with("Codex is not logged in: "), "{outcome}");
    assert_eq!(scene.model.requests().len(), 0);
    scene.close().await;
}

async fn an_unknown_key_is_a_warning_and_the_turn_runs(codex: Codex) {
    let scene = Scene::empty().await;
    scene
        .configure(&format!("[codex]\nbin = {:?}\nsandbx = \"read-only\"\n", codex.native.to_str().unwrap()));
    scene.model.push(Reply::say("fine"));
    let ended = scene.run(&["exec", "--quiet", "go"]).await.exits(0);
    assert_eq!(ended.stdout, "fine\n");
    ended.complains(&["warning: ", "config.toml: line 3: codex.sandbx: ", "codex.sandbox"]);
    scene.close().await;
}

async fn the_codex_on_path_is_used(codex: Codex) {
    let mut scene = Scene::empty().await;
    // The commands of a turn need their programs too.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = codex.native.parent().unwrap().to_owned();
    let path = std::env::join_paths(std::iter::once(first).chain(std::env::split_paths(&path))).unwrap();
    scene.set("PATH", path);
    scene.model.push(Reply::say("fine"));
    let ended = scene.run(&["exec", "go"]).await.exits(0);
    ended.prints(&["fine"]).complains(&[&format!("Codex {}", codex.version)]);
    scene.close().await;
}

#[tokio::test]
async fn a_command_line_that_makes_no_sense_is_a_usage_error() {
    let scene = Scene::empty().await;
    let cases: [(&[&str], &str); 9] = [
        (&["exec"], "there is no prompt"),
        (&["exec", "go", "--timeout", "abc"], "\"abc\" is not a duration; write 90s, 15m, 1h30m"),
        (&["exec", "go", "--timeout", "0"], "longer than zero"),
        (&["exec", "go", "--sandbox", "none"], "read-only"),
        (&["exec", "go", "--approval", "sometimes"], "on-request"),
        (&["exec", "go", "--approve", "perhaps"], "decline"),
        (&["exec", "go", "--json", "--quiet"], "cannot be used with"),
        (&["exec", "go", "away"], "unexpected argument 'away'"),
        (&["execute"], "a similar command exists: 'exec'"),
    ];
    for (arguments, complaint) in cases {
        let ended = scene.run(arguments).await.exits(2).complains(&[complaint]);
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    scene.close().await;
}

#[tokio::test]
async fn an_input_that_cannot_be_sent_is_a_usage_error() {
    let scene = Scene::empty().await;
    fs::create_dir(scene.work().join("directory")).unwrap();
    let cases: [(&[&str], &[u8], &str); 7] = [
        (&["exec", ""], b"", "error: the prompt is empty\nhint: "),
        (&["exec", " \n\t "], b"", "error: the prompt is empty\nhint: "),
        (&["exec", "-"], b"", "error: the prompt is empty\nhint: "),
        (&["exec", "-"], b" \n", "error: the prompt is empty\nhint: "),
        (
            &["exec", "-"],
            b"good \xff bad",
            "error: the prompt on standard input is not text\ncause: byte 6 is not valid UTF-8",
        ),
        (
            &["exec", "--image", "none.png", "look"],
            b"",
            "error: cannot use the image none.png\ncause: No such file",
        ),
        (
            &["exec", "--image", "directory", "look"],
            b"",
            "error: cannot use the image directory\ncause: it is not a file",
        ),
    ];
    for (arguments, input, complaint) in cases {
        let ended = scene.run_with_input(arguments, input).await.exits(2).complains(&[complaint]);
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    scene.close().await;
}

#[tokio::test]
async fn a_directory_to_work_in_must_be_one() {
    let scene = Scene::empty().await;
    fs::write(scene.work().join("file"), "").unwrap();
    for (cwd, cause) in [("missing", "No such file"), ("file", "it is not a directory")] {
        let ended = scene.run(&["exec", "--cwd", cwd, "go"]).await.exits(2);
        ended.complains(&[&format!("error: cannot work in {cwd}\ncause: {cause}"), "hint: name a directory"]);
    }
    scene.close().await;
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_names_file_and_line() {
    let scene = Scene::empty().await;
    let file = scene.home().join("config.toml").display().to_string();
    let cases = [
        ("[codex]\nbin = \n", format!("{file}: line 2, column 7: ")),
        ("[codex]\n\nsandbox = \"none\"\n", format!("{file} is not valid\ncause: line 3: codex.sandbox: ")),
        (
            "[codex]\nturn_timeout = \"soon\"\n",
            format!("{file} is not valid\ncause: line 2: codex.turn_timeout: "),
        ),
    ];
    for (toml, complaint) in cases {
        scene.configure(toml);
        for command in [&["exec", "go"][..], &["demo"], &["setup"]] {
            let ended = scene.run(command).await.exits(2).complains(&[&complaint, "hint: correct that line"]);
            assert_eq!(ended.stdout, "", "{command:?}");
        }
    }
    assert_eq!(names(&scene.home()), ["config.toml"], "nothing was made for it");
    scene.close().await;
}

#[tokio::test]
async fn a_codex_that_cannot_be_used_is_told_with_the_way_out() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    let ended = scene.run(&["exec", "go"]).await.exits(6);
    ended.complains(&[
        "error: cannot start the turn\ncause: cannot use Codex: codex was not found; looked in ",
        "hint: run talaria setup",
    ]);

    let folder = scene.codex_home.root().to_owned();
    let old = AppServer::script([]).version("0.124.0").install(&folder.join("old")).codex;
    let plain = folder.join("plain");
    fs::write(&plain, "not a program").unwrap();
    let broken = folder.join("broken");
    write_program(&broken, "echo 'no such luck' >&2; exit 3");
    let stranger = folder.join("stranger");
    write_program(&stranger, "echo hello");
    let unreadable = folder.join("unreadable");
    fs::write(&unreadable, "not a program either").unwrap();
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o755)).unwrap();
    let cases = [
        (folder.join("missing"), "missing does not exist"),
        (folder.clone(), "is not a file"),
        (plain, "plain is not executable\nhint: run chmod +x"),
        (old, "is codex 0.124.0; the oldest that works is 0.125.0"),
        (broken, "no such luck"),
        (stranger, "printed no version, but \"hello"),
        (unreadable, "unreadable --version failed"),
    ];
    for (codex, complaint) in cases {
        scene.use_codex(&codex);
        let ended = scene.run(&["exec", "go"]).await.exits(6);
        ended.complains(&["error: cannot start the turn\ncause: cannot use Codex: ", complaint, "hint: "]);
    }
    scene.close().await;
}

#[tokio::test]
async fn an_untested_codex_runs_with_a_warning() {
    use talaria_testkit::app_server::{complete_turn, start_turn};
    for (version, warning) in [
        ("0.999.0", "warning: Codex 0.999.0 is newer than 0.166.0, the newest that was tested\n"),
        ("0.126.0", "warning: Codex 0.126.0 is older than 0.130.0: it works over stdio"),
    ] {
        let turn = start_turn().into_iter().chain(complete_turn("fine"));
        let (scene, _) = Scene::scripted(AppServer::ready(turn).version(version)).await;
        let ended = scene.run(&["exec", "--quiet", "go"]).await.exits(0).complains(&[warning]);
        assert_eq!(ended.stdout, "fine\n");
        scene.close().await;
    }
}

#[tokio::test]
async fn an_image_for_a_model_that_cannot_see_it_is_a_mistake_of_the_command() {
    let model = |id: &str, modalities: &[&str]| json!({ "model": id, "inputModalities": modalities });
    let list = json!({ "data": [model("blind", &["text"]), model("seeing", &["text", "image"])] });
    let (scene, _) = Scene::scripted(AppServer::ready([on("model/list", [reply(list)])])).await;
    fs::write(scene.work().join("a.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let ended = scene.run(&["exec", "--model", "blind", "--image", "a.png", "what is this"]).await.exits(2);
    ended.complains(&["blind cannot see images", "hint: choose a model that can, such as seeing"]);
    scene.run(&["sessions", "list"]).await.exits(0).prints(&["no conversations"]);
    scene.close().await;
}
