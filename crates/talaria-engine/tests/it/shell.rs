//! A person's own shell commands, on the real Codex: output, sandbox and end.

use std::path::Path;
use std::time::Duration;

use talaria_codex::commands::MOST_PRINTED;
use talaria_core::api::{
    Kind, NewSession, Problem, ProblemCode, SessionStarted, Shell, ShellNews, ShellStream,
};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::principal::Principal;
use talaria_engine::engine::ShellExecution;
use talaria_scripted::Reply;
use talaria_testkit::app_server::directive::{on, reply};
use talaria_testkit::{AppServer, Codex};

use crate::home::{Home, calling};
use crate::stage::{PATIENCE, both_versions};

both_versions!(
    what_it_prints_comes_as_it_is_printed_and_its_exit_code_last,
    it_may_write_where_its_conversation_may_and_nowhere_else;
    newest:
    nobody_who_asked_for_no_sandbox_gets_one_that_can_be_written,
    dropping_it_ends_it_with_everything_that_it_started,
    endless_output_is_cut_and_told,
    secrets_are_masked_and_bytes_that_are_no_text_are_replaced,
    its_limit_ends_it_and_an_engine_that_stops_does_too,
);

impl Home {
    fn line(&self, command: &str, sandbox: Option<Sandbox>) -> Shell {
        Shell {
            session: None,
            cwd: self.codex_home.work().to_str().unwrap().to_owned(),
            command: command.to_owned(),
            sandbox,
            caller: self.caller.clone(),
            limit_ms: None,
        }
    }

    async fn begin(&self, shell: Shell) -> Result<ShellExecution, Problem> {
        self.on(|engine| async move { engine.shell(shell).await }).await
    }

    /// Runs a command to its end.
    async fn shell(&self, shell: Shell) -> Ran {
        let run = self.begin(shell).await.unwrap();
        to_the_end(run).await
    }

    /// Runs a conversation with one turn, and returns it.
    async fn conversation(&self, sandbox: Sandbox) -> SessionStarted {
        self.model.push(Reply::say("hello"));
        let new = NewSession {
            kind: Kind::Chat,
            cwd: self.codex_home.work().to_str().unwrap().to_owned(),
            model: None,
            sandbox: Some(sandbox),
            approval: Some(ApprovalPolicy::OnRequest),
            turn: self.turn("hi"),
        };
        let started = self.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
        self.events(&started, 0).await.outcome().await;
        started
    }
}

/// A command that has ended.
#[derive(Debug)]
struct Ran {
    out: String,
    err: String,
    exit: Option<i32>,
    cut: bool,
    note: Option<String>,
}

async fn next(run: &mut ShellExecution) -> Option<ShellNews> {
    tokio::time::timeout(PATIENCE, run.next()).await.unwrap()
}

async fn to_the_end(mut run: ShellExecution) -> Ran {
    let (mut out, mut err) = (String::new(), String::new());
    loop {
        match next(&mut run).await.unwrap() {
            ShellNews::Output { stream: ShellStream::Stdout, text } => out.push_str(&text),
            ShellNews::Output { stream: ShellStream::Stderr, text } => err.push_str(&text),
            ShellNews::Cut { .. } => {}
            ShellNews::Ended { exit, cut, note, .. } => {
                assert_eq!(next(&mut run).await, None, "the end is the last");
                return Ran { out, err, exit, cut, note };
            }
        }
    }
}

/// Waits until something of this is printed.
async fn prints(run: &mut ShellExecution, words: &str) {
    let mut seen = String::new();
    while !seen.contains(words) {
        match next(run).await.unwrap() {
            ShellNews::Output { text, .. } => seen.push_str(&text),
            other => panic!("{other:?} after {seen:?}"),
        }
    }
}

async fn what_it_prints_comes_as_it_is_printed_and_its_exit_code_last(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let script = "echo one; until [ -e go ]; do sleep 0.02; done; echo two >&2; cat; tty; exit 3";
    let mut run = home.begin(home.line(script, Some(Sandbox::ReadOnly))).await.unwrap();
    prints(&mut run, "one\n").await;
    std::fs::write(home.codex_home.work().join("go"), "").unwrap();
    let ran = to_the_end(run).await;
    assert_eq!((ran.exit, ran.cut, ran.note), (Some(3), false, None));
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("not a tty\n", "two\n"), "no input and no terminal");
    home.close().await;
}

async fn it_may_write_where_its_conversation_may_and_nowhere_else(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let (work, outside) = (home.codex_home.work(), home.codex_home.root().join("outside"));
    std::fs::create_dir(&outside).unwrap();
    let script = "pwd; touch inside && echo inside; touch ../outside/file && echo outside; true";
    let tries = async |home: &Home, started: &SessionStarted| {
        let shell = Shell {
            session: Some(started.id.to_string()),
            cwd: "/".to_owned(),
            ..home.line(script, Some(Sandbox::DangerFullAccess))
        };
        let ran = home.shell(shell).await;
        assert_eq!((ran.exit, ran.note), (Some(0), None), "{}", ran.err);
        let wrote = ran.out.strip_prefix(&format!("{}\n", work.display())).unwrap().to_owned();
        assert_eq!(work.join("inside").exists(), wrote.contains("inside"));
        assert_eq!(outside.join("file").exists(), wrote.contains("outside"));
        let _ = std::fs::remove_file(work.join("inside"));
        let _ = std::fs::remove_file(outside.join("file"));
        wrote
    };
    let mut begun = Vec::new();
    for (sandbox, wrote) in [
        (Sandbox::WorkspaceWrite, "inside\n"),
        (Sandbox::ReadOnly, ""),
        (Sandbox::DangerFullAccess, "inside\noutside\n"),
    ] {
        let started = home.conversation(sandbox).await;
        assert_eq!(tries(&home, &started).await, wrote, "{sandbox:?}");
        begun.push((started, wrote));
    }
    // The same on a host that has none of them loaded.
    home.stop(false).await;
    home.open().await;
    for (started, wrote) in &begun {
        assert_eq!(tries(&home, started).await, *wrote);
    }
    home.close().await;
}

async fn nobody_who_asked_for_no_sandbox_gets_one_that_can_be_written(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let line = |home: &Home| home.line("touch made", None);
    let ran = home.shell(line(&home)).await;
    assert!(ran.exit != Some(0) && ran.err.contains("Read-only"), "{ran:?}");
    let file = home.codex_home.path().join("config.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("sandbox_mode = \"workspace-write\"\n{before}")).unwrap();
    home.stop(false).await;
    home.open().await;
    let ran = home.shell(line(&home)).await;
    assert_eq!(ran.exit, Some(0), "the user's own configuration says so: {ran:?}");
    home.close().await;
}

async fn dropping_it_ends_it_with_everything_that_it_started(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    for sandbox in [Sandbox::WorkspaceWrite, Sandbox::DangerFullAccess] {
        // The numbers name the processes of this test among all others.
        let name = format!("7000.{}", uuid::Uuid::new_v4().as_u128() % 1_000_000_007);
        let script =
            format!("trap '' TERM HUP INT; setsid sleep {name} & sleep {name} & echo begun; sleep {name}");
        let mut run = home.begin(home.line(&script, Some(sandbox))).await.unwrap();
        prints(&mut run, "begun\n").await;
        let until = async |is_so: fn(usize) -> bool| {
            while !is_so(sleepers(&name)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, until(|count| count == 3)).await.unwrap();
        drop(run);
        let gone = tokio::time::timeout(PATIENCE, until(|count| count == 0)).await;
        assert!(gone.is_ok(), "{sandbox:?}: {} are left", sleepers(&name));
    }
    home.close().await;
}

/// How many processes sleep for this long.
fn sleepers(seconds: &str) -> usize {
    let is_one = |path: &Path| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        line == [b"sleep\0", seconds.as_bytes(), b"\0"].concat()
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|entry| is_one(&entry.path())).count()
}

async fn endless_output_is_cut_and_told(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let script = "yes 2>/dev/null | head -c 50000000; echo over >&2";
    let mut run = home.begin(home.line(script, Some(Sandbox::ReadOnly))).await.unwrap();
    let (mut bytes, mut was_cut) = (0, false);
    loop {
        match next(&mut run).await.unwrap() {
            ShellNews::Output { stream: ShellStream::Stdout, text } => {
                assert!(!was_cut);
                bytes += text.len() as u64;
            }
            ShellNews::Output { stream: ShellStream::Stderr, text } => assert_eq!(text, "over\n"),
            ShellNews::Cut { stream } => {
                assert_eq!(stream, ShellStream::Stdout);
                was_cut = true;
            }
            ShellNews::Ended { exit, cut, .. } => {
                assert_eq!((exit, cut, was_cut, bytes), (Some(0), true, true, MOST_PRINTED));
                break;
            }
        }
    }
    home.close().await;
}

async fn secrets_are_masked_and_bytes_that_are_no_text_are_replaced(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let script =
        format!("printf 'sk-proj-abcdefghijkl'; sleep 0.1; printf '{} next\\n\\377\\000\\n'", &key[20..]);
    let ran = home.shell(home.line(&script, Some(Sandbox::ReadOnly))).await;
    assert!(!ran.out.contains("abcdefghijkl") && !ran.out.contains("0123456789ABCD"), "{}", ran.out);
    assert!(ran.out.ends_with(" next\n\u{fffd}\0\n"), "{:?}", ran.out);
    home.close().await;
}

async fn its_limit_ends_it_and_an_engine_that_stops_does_too(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    // Long enough for a sandbox and a shell to start while both cores are busy.
    let late = Shell { limit_ms: Some(2_000), ..home.line("echo begun; sleep 600", Some(Sandbox::ReadOnly)) };
    let ran = home.shell(late).await;
    assert_eq!(ran.out, "begun\n");
    let note = Some("it was ended after its limit of 2000 ms".to_owned());
    assert_eq!((ran.exit, ran.note), (None, note), "no exit code: the command has none");
    let mut run =
        home.begin(home.line("echo begun; sleep 600", Some(Sandbox::DangerFullAccess))).await.unwrap();
    prints(&mut run, "begun\n").await;
    // Checks that nothing is left.
    home.close().await;
    assert_eq!(next(&mut run).await, None);
}

/// A Codex that would run anything, and runs nothing.
async fn gullible() -> (Home, talaria_testkit::app_server::InstalledAppServer) {
    let done = serde_json::json!({ "exitCode": 0, "stdout": "", "stderr": "" });
    let config = serde_json::json!({ "config": {}, "origins": {} });
    Home::scripted(AppServer::ready([on("command/exec", [reply(done)]), on("config/read", [reply(config)])]))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_floor_or_rules_forbid_is_refused_before_codex_sees_it() {
    let (mut home, codex) = gullible().await;
    home.configure("[approvals]\ndeny = [\"git push *\"]\n");
    home.open().await;
    for (command, by) in
        [("cd / && rm -rf /*", "the hard floor"), ("true; git push --force", "the deny rule")]
    {
        let problem = home.begin(home.line(command, Some(Sandbox::DangerFullAccess))).await.unwrap_err();
        assert_eq!(problem.code, ProblemCode::Forbidden);
        assert!(problem.message.contains(by), "{}", problem.message);
    }
    let ran = |codex: &talaria_testkit::app_server::InstalledAppServer| {
        codex.received().iter().filter(|message| message["method"] == "command/exec").count()
    };
    assert_eq!(ran(&codex), 0);
    assert_eq!(home.shell(home.line("true", Some(Sandbox::DangerFullAccess))).await.exit, Some(0));
    assert_eq!(ran(&codex), 1);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_is_refused_in_words() {
    let (mut home, _codex) = gullible().await;
    home.open().await;
    let blank = home.line(" \n", None);
    let nowhere = Shell { cwd: "relative".to_owned(), ..home.line("ls", None) };
    let gone = Shell { cwd: "/no/such/directory".to_owned(), ..home.line("ls", None) };
    for shell in [blank, nowhere, gone] {
        assert_eq!(home.begin(shell).await.unwrap_err().code, ProblemCode::BadRequest);
    }
    let stranger = Shell { session: Some("none".to_owned()), ..home.line("ls", None) };
    assert_eq!(home.begin(stranger).await.unwrap_err().code, ProblemCode::Unknown);
    let shell = home.line("ls", None);
    let model: Principal = "model:x".parse().unwrap();
    let refused =
        home.on(|engine| async move { calling(&engine, &model).shell(shell).await.unwrap_err() }).await;
    assert_eq!(refused.code, ProblemCode::Forbidden);
    home.close().await;
}
