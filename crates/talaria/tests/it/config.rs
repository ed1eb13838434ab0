//! `talaria config`: one key is changed and nothing else, or nothing at all, and the person learns why.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};

use crate::scene::{Ended, Scene, names, write_program};

/// The points that a replacement passes, in their order.
const POINTS: [&str; 5] = ["locked", "created", "written", "compared", "renamed"];

fn file(scene: &Scene) -> PathBuf {
    scene.home().join("config.toml")
}

fn text(scene: &Scene) -> String {
    fs::read_to_string(file(scene)).unwrap()
}

#[tokio::test]
async fn set_and_unset_change_one_key_and_keep_everything_else() {
    let scene = Scene::empty().await;
    let begin =
        "\u{feff}# mine\r\n[codex] # all of it\r\n  bin = '/a'   # nightly\r\n\n[model]\r\ndefault=\"m\"";
    scene.configure(begin);
    fs::set_permissions(file(&scene), fs::Permissions::from_mode(0o640)).unwrap();
    let set = scene.run(&["config", "set", "codex.sandbox", "read-only"]).await.exits(0);
    set.complains(&["codex.sandbox is set in ", "it takes effect from the next turn"]);
    assert_eq!(text(&scene), begin.replace("nightly\r\n", "nightly\r\n  sandbox = \"read-only\"\r\n"));
    scene.run(&["config", "set", "model.default", "gpt-5.5"]).await.exits(0);
    scene
        .run(&["config", "set", "codex.sandbox", "read-only"])
        .await
        .exits(0)
        .complains(&["already has that value"]);
    scene.run(&["config", "unset", "codex.sandbox"]).await.exits(0);
    assert_eq!(text(&scene), begin.replace("default=\"m\"", "default=\"gpt-5.5\""));
    assert_eq!(fs::metadata(file(&scene)).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(&scene.home()), ["config.toml"]);
    scene.close().await;
}

#[tokio::test]
async fn a_missing_file_is_made_private_and_says_what_it_is() {
    let scene = Scene::empty().await;
    scene.run(&["config", "get"]).await.exits(0).complains(&["does not exist; nothing is set"]);
    scene.run(&["config", "check"]).await.exits(0).complains(&["does not exist"]);
    let set = scene.run(&["config", "set", "codex.turn_timeout", "15m", "--json"]).await.exits(0);
    let told = &set.json()[0];
    assert_eq!(
        (&told["value"], &told["changed"], &told["effect"]),
        (&json!("15m"), &json!(true), &json!("next_turn"))
    );
    assert!(text(&scene).starts_with("# Talaria's configuration."), "{}", text(&scene));
    assert!(text(&scene).ends_with("\n\n[codex]\nturn_timeout = \"15m\"\n"));
    assert_eq!(fs::metadata(file(&scene)).unwrap().permissions().mode() & 0o777, 0o600);
    let path = scene.run(&["config", "path"]).await.exits(0);
    assert_eq!(path.stdout, format!("{}\n", file(&scene).display()));
    scene.close().await;
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_and_nothing_is_written() {
    let scene = Scene::empty().await;
    let cases: [(&[&str], &str); 6] = [
        (&["set", "codex.sandbox", "writeable"], "allowed: read-only, workspace-write, danger-full-access"),
        (&["set", "codex.sandbx", "read-only"], "did you mean codex.sandbox?"),
        (&["set", "codex.max_hosts", "-1"], "must be a whole number above 0, not -1"),
        (&["set", "codex..bin", "x"], "is not a key"),
        (&["get", "codex.sandbx"], "did you mean codex.sandbox?"),
        (&["unset", "modle.default"], "did you mean model?"),
    ];
    for (arguments, told) in cases {
        let arguments = [&["config"][..], arguments].concat();
        scene.run(&arguments).await.exits(2).complains(&[told]);
        assert_eq!(names(&scene.home()), [""; 0], "{arguments:?}");
    }
    let broken = "[codex]\nbin = \n";
    scene.configure(broken);
    for arguments in
        [&["config", "set", "codex.home", "/x"][..], &["config", "unset", "codex.home"], &["config", "get"]]
    {
        scene.run(arguments).await.exits(1).complains(&["line 2, column 7: "]);
        assert_eq!(text(&scene), broken);
    }
    scene.close().await;
}

#[tokio::test]
async fn what_is_set_is_shown_and_secrets_are_not() {
    let scene = Scene::empty().await;
    let secret = format!("sk-{}", "proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6");
    scene.configure(&format!(
        "[codex]\nbin = \"/a b\"\nmax_hosts = 3\n[model]\ndefault = \"x\\u001b[2J\"\neffort = \"{secret}\"\n"
    ));
    let all = scene.run(&["config", "get"]).await.exits(0);
    assert!(
        all.stdout
            .starts_with("codex.bin = \"/a b\"\ncodex.max_hosts = 3\nmodel.default = \"x\\u001B[2J\"\n"),
        "{all}"
    );
    let lines = scene.run(&["config", "get", "--json"]).await.exits(0);
    assert_eq!(lines.json()[1], json!({ "key": "codex.max_hosts", "value": 3 }));
    assert_eq!(scene.run(&["config", "get", "codex.bin"]).await.exits(0).stdout, "/a b\n");
    assert_eq!(scene.run(&["config", "get", "model.default"]).await.exits(0).stdout, "x␛[2J\n");
    assert_eq!(
        scene.run(&["config", "get", "codex"]).await.exits(0).stdout,
        "codex.bin = \"/a b\"\ncodex.max_hosts = 3\n"
    );
    for arguments in [
        &["config", "get"][..],
        &["config", "get", "--json"],
        &["config", "get", "model.effort"],
        &["config", "get", "model.effort", "--json"],
    ] {
        let ended = scene.run(arguments).await.exits(0);
        assert!(ended.stdout.contains("[redacted:") && !ended.stdout.contains(&secret), "{ended}");
    }
    let unset = scene.run(&["config", "get", "codex.home"]).await.exits(1);
    assert_eq!((unset.stdout.as_str(), unset.stderr.as_str()), ("", "codex.home is not set\n"));
    let unset = scene.run(&["config", "get", "codex.home", "--json"]).await.exits(1);
    assert_eq!(unset.json()[0]["value"], Value::Null);
    scene.close().await;
}

#[tokio::test]
async fn secrets_of_servers_are_known_by_where_they_stand() {
    let scene = Scene::empty().await;
    scene.configure(
        "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"--token\", \"hunter2\", \"--fast\"]\n\
         env = { MY_PAT = \"hunter2\", MODE = \"fast\", API_TOKEN = \"${API_TOKEN}\" }\n\
         [mcp_servers.b]\nurl = \"https://x/?api_key=hunter2\"\nheaders = { Cookie = \"hunter2\" }\n",
    );
    for arguments in [
        &["config", "get"][..],
        &["config", "get", "--json"],
        &["config", "get", "mcp_servers.a.args"],
        &["config", "get", "mcp_servers.b.headers.Cookie"],
    ] {
        let ended = scene.run(arguments).await.exits(0);
        assert!(ended.stdout.contains("[redacted:") && !ended.stdout.contains("hunter2"), "{ended}");
    }
    let shown = scene.run(&["config", "get", "mcp_servers.a"]).await.exits(0);
    assert!(shown.stdout.contains("\"--fast\"") && shown.stdout.contains("MODE = \"fast\""), "{shown}");
    assert!(shown.stdout.contains("API_TOKEN = \"${API_TOKEN}\""), "a reference is no secret: {shown}");
    scene.close().await;
}

#[tokio::test]
async fn a_key_that_others_need_and_a_whole_section_are_refused_and_nothing_is_written() {
    let scene = Scene::empty().await;
    scene.configure("[mcp_servers.a]\ncommand = \"x\"\ntimeout = 5\n");
    let before = fs::read_to_string(file(&scene)).unwrap();
    let ended = scene.run(&["config", "unset", "mcp_servers.a.command"]).await.exits(2);
    assert!(ended.stderr.contains("the file is unchanged") && ended.stderr.contains("hint: "), "{ended}");
    let ended = scene.run(&["config", "set", "mcp_servers.a", "x"]).await.exits(2);
    assert!(ended.stderr.contains("for example mcp_servers.a.command"), "{ended}");
    assert_eq!(fs::read_to_string(file(&scene)).unwrap(), before);
    scene.run(&["config", "unset", "mcp_servers.a"]).await.exits(0);
    scene.close().await;
}

#[tokio::test]
async fn check_lists_every_problem_with_its_place() {
    let scene = Scene::empty().await;
    let place = file(&scene).display().to_string();
    scene.configure("[codex]\n  sandbox = \"none\"\nsandbx = 1\n");
    let ended = scene.run(&["config", "check"]).await.exits(1);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(
        lines[0].starts_with(&format!("{place}:2:3: error: codex.sandbox: \"none\" is not known")),
        "{ended}"
    );
    assert!(lines[1].starts_with(&format!("{place}:3:1: warning: codex.sandbx: unknown key")), "{ended}");
    let json = scene.run(&["config", "check", "--json"]).await.exits(1).json();
    assert_eq!((json.len(), &json[0]["line"], &json[0]["severity"]), (2, &json!(2), &json!("error")));
    scene.configure("[codex]\nsandbx = 1\n");
    scene.run(&["config", "check"]).await.exits(0).prints(&[":2:1: warning: "]);
    scene.configure("[codex]\nbin = \"/a\"\nbin = 1\n");
    scene.run(&["config", "check"]).await.exits(1).prints(&[&format!("{place}:3:1: error: duplicate key")]);
    scene.configure("[codex]\nbin = \"/a\"\n");
    let valid = scene.run(&["config", "check"]).await.exits(0);
    assert_eq!((valid.stdout.as_str(), valid.stderr), ("", format!("{place} is valid\n")));
    scene.close().await;
}

#[tokio::test]
async fn what_is_no_file_to_change_is_left_alone_and_named() {
    let scene = Scene::empty().await;
    let set = &["config", "set", "codex.bin", "/b"];
    scene.configure("[codex]\nbin = \"/a\"\n");
    fs::set_permissions(file(&scene), fs::Permissions::from_mode(0o444)).unwrap();
    scene.run(set).await.exits(1).complains(&["it is read-only", "chmod u+w"]);
    assert_eq!(text(&scene), "[codex]\nbin = \"/a\"\n");
    fs::remove_file(file(&scene)).unwrap();
    fs::create_dir(file(&scene)).unwrap();
    for arguments in [&set[..], &["config", "get"], &["config", "check"], &["config", "edit"]] {
        scene.run(arguments).await.exits(1).complains(&["it is a directory"]);
    }
    fs::remove_dir(file(&scene)).unwrap();
    fs::write(file(&scene), b"[codex]\nbin = \"\xff\"\n").unwrap();
    scene.run(set).await.exits(1).complains(&["line 2 is not UTF-8"]);
    fs::write(file(&scene), "# many words\n".repeat(10 * 1024 * 1024 / 13)).unwrap();
    scene.run(set).await.exits(0);
    assert_eq!(scene.run(&["config", "get"]).await.exits(0).stdout, "codex.bin = \"/b\"\n");
    scene.close().await;
}

#[tokio::test]
async fn a_running_engine_that_does_not_see_a_change_is_named() {
    let scene = Scene::empty().await;
    let held = fs::File::create(scene.home().join("engine.lock")).unwrap();
    fs::write(scene.home().join("engine.lock"), r#"{"pid":4711,"version":"0.1.0"}"#).unwrap();
    held.lock().unwrap();
    let ended = scene.run(&["config", "set", "codex.max_hosts", "2"]).await.exits(0);
    ended.complains(&["takes effect when the engine starts", "process 4711", "talaria stop --keep-turns"]);
    drop(held);
    let ended = scene.run(&["config", "set", "codex.max_hosts", "3"]).await.exits(0);
    assert!(!ended.stderr.contains("4711"), "{ended}");
    scene.close().await;
}

/// Runs `config edit` with an editor that is a shell script; `$1` is the copy.
async fn edit(scene: &mut Scene, script: &str) -> Ended {
    let program = scene.work().join("an editor");
    write_program(&program, script);
    scene.set("EDITOR", format!("'{}' --wait", program.display()));
    scene.run(&["config", "edit"]).await
}

#[tokio::test]
async fn an_edit_counts_only_when_it_is_valid() {
    let mut scene = Scene::empty().await;
    scene.set("TMPDIR", scene.work());
    // The variable has an option, so the copy is the second argument.
    let made =
        edit(&mut scene, "cp \"$2\" seen; ls -l \"$2\" > mode; echo '[codex]\nbin = \"/a\"' >> \"$2\"").await;
    made.exits(0).complains(&["config.toml is changed"]);
    assert!(
        text(&scene).starts_with("# Talaria's configuration.") && text(&scene).ends_with("bin = \"/a\"\n")
    );
    assert!(fs::read_to_string(scene.work().join("mode")).unwrap().starts_with("-rw-------"));
    let before = text(&scene);
    edit(&mut scene, "exit 0").await.exits(0).complains(&["was not changed"]);
    edit(&mut scene, "rm \"$2\"")
        .await
        .exits(1)
        .complains(&["was not changed", "the copy to be edited no longer exists"]);
    assert_eq!(text(&scene), before);
    assert!(!names(&scene.work()).iter().any(|name| name.starts_with("talaria-config-")));

    let bad = edit(&mut scene, "echo 'sandbox = \"none\"' >> \"$2\"").await.exits(1);
    let bad = bad.complains(&["error: codex.sandbox: \"none\" is not known", "the edited text is not valid"]);
    assert_eq!(text(&scene), before);
    let kept = bad.stderr.split("is kept in ").nth(1).unwrap().trim();
    assert!(fs::read_to_string(kept).unwrap().ends_with("sandbox = \"none\"\n"));
    fs::remove_file(kept).unwrap();
    edit(&mut scene, "exit 3").await.exits(1).complains(&["it ended with exit status: 3"]);
    assert!(
        !names(&scene.work()).iter().any(|name| name.starts_with("talaria-config-")),
        "nothing was edited"
    );
    let meanwhile =
        edit(&mut scene, "echo '# mine' >> \"$2\"; echo '# theirs' >> \"$TALARIA_HOME/config.toml\"").await;
    meanwhile.exits(1).complains(&["it was changed elsewhere while you edited", "is kept in "]);
    assert_eq!(text(&scene), format!("{before}# theirs\n"));
    scene.set("VISUAL", "false");
    scene.run(&["config", "edit"]).await.exits(1).complains(&["cannot edit with false"]);
    scene.close().await;
}

#[tokio::test]
async fn a_person_at_a_terminal_may_edit_again() {
    let mut scene = Scene::empty().await;
    let program = scene.work().join("editor");
    write_program(
        &program,
        "if [ -e \"$TALARIA_HOME/../again\" ]; then echo '[codex]' > \"$1\"; else : > \"$TALARIA_HOME/../again\"; echo '[codex' > \"$1\"; fi",
    );
    scene.set("VISUAL", program);
    let mut terminal = scene.terminal(&["config", "edit"]);
    terminal.wait_for("Edit again? [Y/n]").await;
    terminal.type_keys("\r").await;
    terminal.wait_for("is changed").await;
    assert_eq!(terminal.exit_code().await, Some(0));
    assert_eq!(text(&scene), "[codex]\n");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_every_step_leaves_the_old_or_the_new_file_and_the_next_run_no_trace() {
    let mut scene = Scene::empty().await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    let old = "[codex]\nbin = \"/old\"\n";
    let new = "[codex]\nbin = \"/new\"\n";
    for point in POINTS {
        scene.configure(old);
        let mut trap = points.trap(&format!("after:file-{point}"), 0);
        let running = scene.start(&["config", "set", "codex.bin", "/new"]);
        let held = trap.reached().await.unwrap();
        running.kill().await;
        drop(held);
        let is_left = names(&scene.home()).len() > 1;
        assert_eq!(
            is_left,
            ["created", "written", "compared"].contains(&point),
            "a kill at {point} hit something else"
        );
        assert_eq!(text(&scene), if point == "renamed" { new } else { old }, "{point}");
        scene.run(&["config", "set", "codex.bin", "/new"]).await.exits(0);
        assert_eq!(
            (text(&scene).as_str(), names(&scene.home())),
            (new, vec!["config.toml".to_owned()]),
            "{point}"
        );
    }
    points.passed();
    scene.configure(old);
    scene.run(&["config", "set", "codex.bin", "/new"]).await.exits(0);
    assert_eq!(points.passed(), POINTS.map(|point| format!("after:file-{point}")), "every step was hit");
    scene.close().await;
}

#[tokio::test]
async fn a_full_disk_leaves_the_old_file() {
    let scene = Scene::empty().await;
    let old = format!("# {}\n[codex]\nbin = \"/old\"\n", "x".repeat(4000));
    scene.configure(&old);
    let inner = scene.command(&[]);
    let mut shell = tokio::process::Command::new("/bin/sh");
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" config set codex.bin /new";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_talaria")]).current_dir(scene.work());
    shell.envs(inner.as_std().get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
    let output = shell.stdin(Stdio::null()).output().await.unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot write ") && told.contains("the file is as it was"), "{told}");
    assert_eq!((text(&scene), names(&scene.home())), (old, vec!["config.toml".to_owned()]));
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_at_the_same_time_lose_nothing() {
    let scene = Scene::empty().await;
    let keys =
        ["codex.bin", "codex.home", "model.default", "model.effort", "model.provider", "notify.email_user"];
    let runs = keys.map(|key| scene.start(&["config", "set", key, "value"]).end());
    for ended in futures_util::future::join_all(runs).await {
        ended.exits(0);
    }
    let all = scene.run(&["config", "get"]).await.exits(0);
    for key in keys {
        assert!(all.stdout.contains(&format!("{key} = \"value\"\n")), "{key} is lost: {all}");
    }
    scene.run(&["config", "check"]).await.exits(0);
    scene.close().await;
}
