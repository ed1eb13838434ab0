//! `talaria doctor` looks at everything a turn needs, and each row has evidence for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use talaria_scripted::{Gate, Reply};
use talaria_testkit::app_server::directive::{on, reply, reply_error};
use talaria_testkit::fault_points::{FaultPoints, VARIABLE};
use talaria_testkit::{AppServer, Codex, Terminal};

use crate::scene::{Ended, Scene, both_versions, names};

both_versions!(
    everything_is_in_order;
    newest:
    json_prints_one_check_per_line,
    nobody_logged_in_is_a_problem,
);

/// The status and remedy of one check in `--json` output.
fn check(ended: &Ended, name: &str) -> Value {
    let rows = ended.json();
    let found: Vec<&Value> = rows.iter().filter(|row| row["check"] == name).collect();
    let [row] = found[..] else { panic!("not one {name}: {ended}") };
    row.clone()
}

/// The words that do not change from run to run.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_terminal_lines_break_between_words_and_in_a_pipe_not_at_all() {
    let scene = Scene::empty().await;
    scene.use_codex(std::path::Path::new("/nowhere/codex"));
    let nowhere = "/nowhere/at/all";
    for arguments in [&["doctor"][..], &["exec", "--cwd", nowhere, "go"], &["task", "show", "codex-none"]] {
        let piped = scene.run(arguments).await;
        for columns in [80, 40] {
            let mut terminal = Terminal::spawn_sized(scene.terminal_command(arguments), 50, columns);
            assert_eq!(terminal.exit_code().await, piped.code, "{}", terminal.transcript());
            let shown = terminal.transcript();
            // The home is deep below a temporary directory; longer words than rows have to break.
            let fits = |word: &&str| word.len() < 39;
            let whole: Vec<&str> =
                words(&piped.stdout).into_iter().chain(words(&piped.stderr)).filter(fits).collect();
            let rows = words(&shown);
            for word in whole {
                assert!(rows.contains(&word), "{word:?} was cut at {columns} columns:\n{shown}");
            }
            let is_wide = |row: &&str| row.chars().count() > usize::from(columns);
            assert_eq!(shown.lines().find(is_wide), None, "the terminal breaks this");
        }
    }
    scene.close().await;
}

async fn everything_is_in_order(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let ended = scene.run(&["doctor"]).await.exits(0);
    assert_eq!(ended.stderr, "");
    // Warnings of Codex itself depend on the machine, and are last.
    let is_ours = |line: &&str| !line.is_empty() && !line.contains(" codex says ");
    let rows: Vec<&str> = ended.stdout.lines().take_while(is_ours).collect();
    let checks: Vec<&str> = rows.iter().filter_map(|row| row.split_whitespace().nth(1)).collect();
    let ours = ["config", "home", "engine", "socket", "store", "web"];
    let codexs = ["codex", "version", "schema", "app-server", "login", "sandbox", "own"];
    assert_eq!(checks, [&ours[..], &codexs].concat(), "{ended}");
    assert!(rows.iter().all(|row| row.starts_with("ok ")), "{ended}");
    let home = scene.codex_home.path();
    let ended = ended.prints(&[
        codex.native.to_str().unwrap(),
        &format!("{} (supported from 0.125.0, tested up to 0.166.0)", codex.version),
        home.to_str().unwrap(),
        "not needed: the configured provider is not OpenAI",
        "a command could write ",
        "a command in a sandbox cannot read ",
    ]);
    assert!(!ended.stdout.contains('\u{1b}'), "{ended}");
    assert_eq!(scene.model.requests().len(), 0, "a check costs nothing");
    assert_eq!(names(&scene.work()), [""; 0], "nothing is changed");
    assert_eq!(names(&scene.user_home()), [""; 0], "nothing is changed");
    assert_eq!(scene.engine_pid().await, None, "no engine is started");
    scene.close().await;
}

async fn json_prints_one_check_per_line(codex: Codex) {
    let scene = Scene::real(&codex).await;
    let ended = scene.run(&["doctor", "--json"]).await.exits(0);
    let mut rows = ended.json();
    rows.retain(|row| row["check"] != "codex says");
    assert_eq!(rows.len(), 13, "{ended}");
    for row in &rows {
        assert_eq!(row["status"], "ok", "{ended}");
        assert!(
            row["check"].is_string() && row["detail"].is_string() && row.get("remedy").is_none(),
            "{row}"
        );
    }
    scene.close().await;
}

async fn nobody_logged_in_is_a_problem(codex: Codex) {
    let scene = Scene::without_login(&codex).await;
    let ended = scene.run(&["doctor"]).await.exits(1);
    ended.prints(&[
        "problem  login         not logged in\n",
        "-> run `talaria login`\n",
        "ok       sandbox ",
        "Solve the problems above: turns may not run, or not as you configured them.",
    ]);
    scene.close().await;
}

#[tokio::test]
async fn a_missing_codex_is_a_problem() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    let ended = scene.run(&["doctor"]).await.exits(1);
    ended.prints(&[
        "ok       config ",
        "problem  codex         codex was not found; looked in ",
        "-> run talaria setup",
    ]);
    let row = check(&scene.run(&["doctor", "--json"]).await.exits(1), "codex");
    assert_eq!(row["status"], "problem");
    scene.close().await;
}

#[tokio::test]
async fn a_configuration_with_mistakes_is_a_problem_or_a_warning() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    scene.configure("[codex\n");
    scene.run(&["doctor"]).await.exits(1).prints(&["problem  config ", "line 1, column "]);
    scene.configure("[codex]\nsandbox = \"none\"\nsandbx = 1\n");
    let ended = scene.run(&["doctor"]).await.exits(1);
    ended.prints(&[
        "problem  config        line 2: codex.sandbox: ",
        "warning  config        line 3: codex.sandbx: ",
    ]);
    scene.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_work_has_a_line_and_ends_nothing() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    scene.configure(
        "[mcp_servers.gone]\ncommand = \"no-such-program\"\n\
         [mcp_servers.unset]\nurl = \"https://example.com/\"\nheaders = { A = \"${NO_SUCH_VARIABLE}\" }\n\
         [mcp_servers.bad]\nurl = \"example.com\"\n",
    );
    let ended = scene.run(&["doctor"]).await.exits(1);
    ended.prints(&[
        "problem  config        line 7: mcp_servers.bad.url: must be an http:// or https:// address\n",
        "warning  mcp server    gone: the program no-such-program is not found\n",
        "warning  mcp server    unset: the variable NO_SUCH_VARIABLE is not set\n",
    ]);
    scene.close().await;
}

/// A Codex in whose sandbox a command ends like this.
fn with_sandbox(exit: i32, stdout: &str, stderr: &str) -> AppServer {
    AppServer::ready([on(
        "command/exec",
        [reply(json!({ "exitCode": exit, "stdout": stdout, "stderr": stderr }))],
    )])
}

#[tokio::test]
async fn an_untested_version_is_a_warning_and_no_problem() {
    for (version, note) in [("0.999.0", "is newer than 0.166.0"), ("0.126.0", "it works over stdio")] {
        let (scene, _) = Scene::scripted(with_sandbox(0, "inside\n", "").version(version)).await;
        let ended = scene.run(&["doctor", "--json"]).await.exits(0);
        let row = check(&ended, "version");
        assert_eq!(row["status"], "warning", "{ended}");
        assert!(row["remedy"].as_str().unwrap().contains(note), "{row}");
        scene.run(&["doctor"]).await.exits(0).prints(&["Turns will run; look at the warnings above."]);
        scene.close().await;
    }
}

#[tokio::test]
async fn a_sandbox_that_does_not_hold_is_a_problem() {
    let refused = on("command/exec", [reply_error(json!({ "code": -32603, "message": "no sandbox here" }))]);
    let cases = [
        (with_sandbox(1, "", "bwrap: no permissions"), "(exit 1): bwrap: no permissions"),
        (with_sandbox(0, "inside\noutside\n", ""), "a command could write outside its directory"),
        (with_sandbox(0, "outside\n", ""), "a command could write outside its directory"),
        (AppServer::ready([refused]), "no sandbox here"),
    ];
    for (server, detail) in cases {
        let (scene, installed) = Scene::scripted(server).await;
        let ended = scene.run(&["doctor", "--json"]).await.exits(1);
        let row = check(&ended, "sandbox");
        assert_eq!(row["status"], "problem", "{ended}");
        assert!(row["detail"].as_str().unwrap().contains(detail), "{row}");
        let calls = installed.received();
        let call = calls.iter().find(|message| message["method"] == "command/exec").unwrap();
        let roots = &call["params"]["sandboxPolicy"]["writableRoots"];
        assert_eq!(roots[0], call["params"]["cwd"], "the writable roots are named: {call}");
        scene.close().await;
    }
}

#[tokio::test]
async fn an_app_server_that_does_not_come_up_is_a_problem() {
    use talaria_testkit::app_server::directive::{exit, stderr};
    let (scene, _) = Scene::scripted(AppServer::script([stderr("no cheese"), exit(9)])).await;
    scene.run(&["doctor"]).await.exits(1).prints(&["problem  app-server ", "no cheese"]);
    scene.close().await;
}

/// Reads the one row of a check after doing something to the home.
async fn row(scene: &Scene, name: &str) -> Value {
    let ended = scene.run(&["doctor", "--json"]).await;
    check(&ended, name)
}

#[tokio::test]
async fn a_damaged_database_and_an_open_home_are_told() {
    let mut scene = Scene::empty().await;
    scene.only_programs(&[]);
    scene.run(&["sessions", "list"]).await.exits(0);
    assert_eq!(row(&scene, "store").await["status"], "ok", "while an engine has it open");
    scene.run(&["stop"]).await.exits(0);
    let database = scene.home().join("talaria.db");
    let whole = fs::read(&database).unwrap();
    let before = names(&scene.home());
    assert_eq!(row(&scene, "store").await["status"], "ok");
    let mut pages = whole.clone();
    let middle = pages.len() / 2;
    pages[middle..middle + 12_000].fill(0x5a);
    for damaged in [&pages[..], &whole[..middle]] {
        fs::write(&database, damaged).unwrap();
        let found = row(&scene, "store").await;
        assert_eq!(found["status"], "problem", "{found}");
        assert!(found["detail"].as_str().unwrap().contains("is damaged"), "{found}");
    }
    fs::write(&database, &whole).unwrap();
    assert_eq!(names(&scene.home()), before, "nothing is left, copied or repaired");
    for (mode, status) in [(0o700, "ok"), (0o755, "warning"), (0o777, "problem")] {
        fs::set_permissions(scene.home(), fs::Permissions::from_mode(mode)).unwrap();
        let found = row(&scene, "home").await;
        assert_eq!(found["status"], status, "{found}");
    }
    scene.run(&["sessions", "list"]).await.exits(0);
    let page = scene.run(&["status"]).await.exits(0);
    page.prints(&["note      others can change what is in ", "(mode 0777): chmod 700 "]);
    scene.close().await;
}

#[tokio::test]
async fn an_engine_that_is_ending_is_told_until_it_has_ended() {
    let mut scene = Scene::real(&Codex::v0_166()).await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    let gate = Gate::new();
    scene.model.push(Reply::new().text("half").gate(&gate));
    let running = scene.start(&["exec", "go"]);
    gate.reached().await;
    let pid = scene.engine_pid().await.unwrap().as_raw_nonzero();
    let mut trap = points.trap("before:outcome", 0);
    let stopping = scene.start(&["stop"]);
    let held = trap.reached().await.unwrap();
    // It lives and answers: neither is it gone, nor has it left anything.
    let ended = scene.run(&["doctor", "--json"]).await;
    let row = check(&ended, "engine");
    assert_eq!(row["status"], "ok", "{row}");
    assert!(row["detail"].as_str().unwrap().ends_with(&format!("process {pid}")), "{row}");
    assert!(!ended.stdout.contains("left over"), "{ended}");
    drop(held);
    stopping.end().await.exits(0).prints(&["has ended"]);
    running.end().await.exits(4);
    assert_eq!(
        check(&scene.run(&["doctor", "--json"]).await, "engine")["detail"],
        "none is running; commands start one"
    );
    gate.open();
    scene.close().await;
}

#[tokio::test]
async fn an_engine_that_is_starting_is_neither_missing_nor_in_order() {
    let mut scene = Scene::empty().await;
    let points = FaultPoints::listen(&scene.work().join("points"));
    scene.set(VARIABLE, points.socket());
    let mut trap = points.trap("open:store", 0);
    let running = scene.start(&["sessions", "list"]);
    let held = trap.reached().await.unwrap();
    let row = check(&scene.run(&["doctor", "--json"]).await, "engine");
    assert_eq!(row["status"], "warning", "{row}");
    assert_eq!(row["detail"], "it is starting or ending: it holds this home and does not answer");
    assert!(row["remedy"].as_str().unwrap().starts_with("run `talaria doctor` again in a moment"), "{row}");
    scene.run(&["status"]).await.exits(0).prints(&["the engine is starting or ending"]);
    let status = scene.status().await;
    assert_eq!(
        (&status["turns"], &status["left"]),
        (&Value::Null, &Value::Null),
        "neither is known: {status}"
    );
    drop(held);
    running.end().await.exits(0);
    assert_eq!(check(&scene.run(&["doctor", "--json"]).await, "engine")["status"], "ok");
    scene.close().await;
}
