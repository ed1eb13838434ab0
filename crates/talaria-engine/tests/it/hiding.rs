//! Talaria's own files in the sandboxes of the real Codex: nothing in them can read, write or reach what a home keeps.
//!
//! Newer versions of Codex hide nothing by default where a person may let a command leave the sandbox without a network,
//! because it would not leave then; the last scenarios test that, and the effect of the configuration.

// What a sandbox hides, and how to observe it, differs between systems.
#![cfg(target_os = "linux")]

mod probe;
mod refused;
mod wished;

use std::fs;
use std::path::{Path, PathBuf};

use talaria_core::api::{Dirty, Kind, NewSession, NewTask, SessionStarted, Shell, ShellNews, ShellStream};
use talaria_core::outcome::Outcome;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::home::Home;
use crate::stage::both_versions;
use probe::{HIDDEN, Probe, USABLE};

both_versions!(
    a_conversation_that_never_asks_hides_the_home_also_after_every_restart,
    a_socket_is_out_of_reach_with_an_open_network,
    a_task_commits_in_its_worktree_and_sees_nothing_else_of_the_home,
    a_command_of_the_persons_own_sees_nothing_either,
    a_sub_agent_sees_nothing_either,
    a_home_that_the_sandbox_could_write_is_hidden_and_left_as_it_was,
    a_permission_profile_of_the_users_own_stays_in_force_and_hides_as_well,
);

async fn a_conversation_that_never_asks_hides_the_home_also_after_every_restart(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let probe = Probe::prepare(&mut home).await;
    let before = home.codex_file();
    let started = home.sandboxed(Sandbox::WorkspaceWrite, ApprovalPolicy::Never, &probe.script(&home)).await;
    let hidden = format!("{HIDDEN}{USABLE}");
    assert_eq!(probe.seen(&home), hidden, "a new conversation");
    home.next(&started, &probe.script(&home)).await;
    assert_eq!(probe.seen(&home), hidden, "its next turn");
    home.stop(false).await;
    home.open().await;
    home.next(&started, &probe.script(&home)).await;
    assert_eq!(probe.seen(&home), hidden, "resumed on another Codex");
    let hosts = home.hosts().await;
    home.kill_codex(&hosts).await;
    home.next(&started, &probe.script(&home)).await;
    assert_eq!(probe.seen(&home), hidden, "after Codex was killed");
    home.crash().await;
    home.open().await;
    home.next(&started, &probe.script(&home)).await;
    assert_eq!(probe.seen(&home), hidden, "taken up by another engine");
    let warned = home.told_about(&started).await;
    assert!(!warned.iter().any(|warning| warning.contains("Talaria's own files")), "{warned:?}");
    let read_only = home.sandboxed(Sandbox::ReadOnly, ApprovalPolicy::Never, &probe.script(&home)).await;
    assert_eq!(probe.seen(&home), HIDDEN, "nothing can be written");
    drop(read_only);
    assert_eq!(home.codex_file(), before, "Codex wrote nothing into its configuration");
    home.close().await;
}

async fn a_socket_is_out_of_reach_with_an_open_network(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.codex_home.append_config("[sandbox_workspace_write]\nnetwork_access = true");
    let probe = Probe::prepare(&mut home).await;
    // A person is asked here: with an open network the home is hidden all the same.
    let ask = ApprovalPolicy::OnRequest;
    let started = home.sandboxed(Sandbox::WorkspaceWrite, ask, &probe.script(&home)).await;
    assert_eq!(probe.seen(&home), format!("{HIDDEN}{USABLE}"));
    let network = format!("{}; {}", probe.reach(&home), probe.loopback());
    home.next(&started, &network).await;
    assert_eq!(probe.seen(&home), "out of reach\nout of reach\nloopback\n", "the engine's and Codex's own");
    home.close().await;
}

async fn a_task_commits_in_its_worktree_and_sees_nothing_else_of_the_home(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let probe = Probe::prepare(&mut home).await;
    let repository = probe::repository(&home);
    let commit = "echo x > x.txt && git add x.txt && \
                  git -c user.name=C -c user.email=c@localhost commit -q -m made 2>/dev/null && echo committed";
    let new = NewTask {
        cwd: repository.to_str().unwrap().to_owned(),
        approval: Some(ApprovalPolicy::OnRequest),
        network: true,
        worktree: Some(Dirty::Refuse),
        ..home.writing_task(&format!("{}; {commit}", probe.script(&home)))
    };
    let task = home.on(|engine| async move { engine.start_task(new).await }).await.unwrap();
    let started = SessionStarted { id: task.session.clone(), task: None, turn: 1, after: 0, codex: None };
    home.events(&started, 0).await.outcome().await;
    assert_eq!(probe.seen(&home), format!("{HIDDEN}{USABLE}committed\n"));
    let (id, turn) = (task.id.clone(), home.turn(&probe.script(&home)));
    home.stop(false).await;
    home.open().await;
    let after = home.all(&started).await.last().unwrap().seq;
    home.on(|engine| async move { engine.send(&id, turn).await }).await.unwrap();
    home.events(&started, after).await.outcome().await;
    assert_eq!(probe.seen(&home), format!("{HIDDEN}{USABLE}"), "resumed");
    home.close().await;
}

async fn a_command_of_the_persons_own_sees_nothing_either(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.codex_home.append_config("[sandbox_workspace_write]\nnetwork_access = true");
    let probe = Probe::prepare(&mut home).await;
    home.model.push(Reply::say("hello"));
    let ask = ApprovalPolicy::OnRequest;
    let started = home.sandboxed(Sandbox::WorkspaceWrite, ask, "hi").await;
    let run = |session: Option<String>, sandbox, command: String| Shell {
        session,
        cwd: home.codex_home.work().to_str().unwrap().to_owned(),
        command,
        sandbox: Some(sandbox),
        caller: home.caller.clone(),
        limit_ms: None,
    };
    let everything = format!("{}; {}", probe.script(&home), probe.reach(&home));
    let of_session = run(Some(started.id.to_string()), Sandbox::WorkspaceWrite, everything.clone());
    let usable = format!("{HIDDEN}{USABLE}out of reach\nout of reach\n");
    assert_eq!(printed(&home, of_session).await, usable);
    assert_eq!(printed(&home, run(None, Sandbox::WorkspaceWrite, everything)).await, usable);
    assert_eq!(printed(&home, run(None, Sandbox::ReadOnly, probe.script(&home))).await, HIDDEN);
    let open = printed(&home, run(None, Sandbox::DangerFullAccess, probe.script(&home))).await;
    assert!(open.starts_with("key 32\n"), "without a sandbox there is nothing to hide from: {open}");
    home.configure("[codex]\nhide_home = \"never\"");
    let open = printed(&home, run(None, Sandbox::WorkspaceWrite, probe.script(&home))).await;
    assert!(open.starts_with("key 32\n"), "{open}");
    home.close().await;
}

/// Standard output of a person's own command.
async fn printed(home: &Home, shell: Shell) -> String {
    let mut run = home.on(|engine| async move { engine.shell(shell).await }).await.unwrap();
    let mut out = String::new();
    while let Some(news) = tokio::time::timeout(crate::stage::PATIENCE, run.next()).await.unwrap() {
        match news {
            ShellNews::Output { stream: ShellStream::Stdout, text } => out.push_str(&text),
            ShellNews::Ended { exit, note, .. } => assert_eq!((exit, note), (Some(0), None), "{out}"),
            _ => {}
        }
    }
    out
}

async fn a_sub_agent_sees_nothing_either(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.open().await;
    let probe = Probe::of(&home);
    let (script, version) = (probe.script(&home), codex.version);
    home.model.route(move |request| {
        let is_child = request.user_texts().iter().any(|text| text.contains("be the child"));
        Some(match (is_child, request.tool_outputs().len()) {
            (true, 0) => Reply::new().command(script.clone()),
            (true, _) => Reply::say("I am the child."),
            (false, 0) => probe::spawn(version, "be the child"),
            (false, _) => Reply::say("I am the parent."),
        })
    });
    home.sandboxed(Sandbox::WorkspaceWrite, ApprovalPolicy::Never, "have a child").await;
    assert_eq!(probe.seen(&home), format!("{HIDDEN}{USABLE}"));
    home.close().await;
}

async fn a_home_that_the_sandbox_could_write_is_hidden_and_left_as_it_was(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let probe = Probe::prepare(&mut home).await;
    // The home lies below this directory.
    let cwd = home.codex_home.root().to_owned();
    let entries = || {
        let entries = fs::read_dir(home.talaria().root()).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let talaria = home.talaria();
    for directory in
        [talaria.hosts_dir(), talaria.commands_dir(), talaria.imports_dir(), talaria.migrations_dir()]
    {
        fs::create_dir_all(directory).unwrap();
    }
    let before = entries();
    let text = format!("{}; touch {}/new 2>/dev/null", probe.script(&home), home.talaria().root().display());
    let started = home.sandboxed_in(&cwd, ApprovalPolicy::Never, &text).await;
    assert_eq!(probe.seen(&home), format!("{HIDDEN}{USABLE}"));
    assert_eq!(entries(), before, "nothing was made in the home");
    // Files created later are hidden as well.
    fs::write(home.talaria().root().join("engine.log"), "a line").unwrap();
    let log = home.talaria().root().join("engine.log");
    home.next(&started, &format!("cat {} 2>/dev/null | wc -c", log.display())).await;
    assert_eq!(probe.seen(&home), "0\n");
    home.close().await;
}

async fn a_permission_profile_of_the_users_own_stays_in_force_and_hides_as_well(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let file = home.codex_home.path().join("config.toml");
    let before = fs::read_to_string(&file).unwrap();
    let extra = home.codex_home.root().join("extra");
    fs::create_dir(&extra).unwrap();
    let profile = format!(
        "[permissions.mine.filesystem]\n\":root\" = \"read\"\n\":tmpdir\" = \"write\"\n\"{}\" = \"write\"\n",
        extra.display()
    );
    fs::write(&file, format!("default_permissions = \"mine\"\n{before}\n{profile}")).unwrap();
    let probe = Probe::prepare(&mut home).await;
    let text = format!("{}; touch {}/x && echo extra", probe.script(&home), extra.display());
    home.as_codex_is_set_up(ApprovalPolicy::Never, &text).await;
    assert_eq!(probe.seen(&home), format!("{HIDDEN}tmpdir\nextra\n"), "as the profile says");
    home.close().await;
}

impl Home {
    fn codex_file(&self) -> String {
        fs::read_to_string(self.codex_home.path().join("config.toml")).unwrap()
    }

    /// Runs a first turn in the working directory.
    async fn sandboxed(&self, sandbox: Sandbox, approval: ApprovalPolicy, text: &str) -> SessionStarted {
        self.first(&self.codex_home.work(), Some(sandbox), approval, text).await
    }

    /// The same in another directory, which it may write.
    async fn sandboxed_in(&self, cwd: &Path, approval: ApprovalPolicy, text: &str) -> SessionStarted {
        self.first(cwd, Some(Sandbox::WorkspaceWrite), approval, text).await
    }

    /// The same with the sandbox that the user's Codex has by itself.
    async fn as_codex_is_set_up(&self, approval: ApprovalPolicy, text: &str) -> SessionStarted {
        self.first(&self.codex_home.work(), None, approval, text).await
    }

    async fn first(
        &self,
        cwd: &Path,
        sandbox: Option<Sandbox>,
        approval: ApprovalPolicy,
        text: &str,
    ) -> SessionStarted {
        let new = NewSession {
            kind: Kind::Chat,
            cwd: cwd.to_str().unwrap().to_owned(),
            model: None,
            sandbox,
            approval: Some(approval),
            turn: self.turn(text),
        };
        let started = self.on(|engine| async move { engine.start_session(new).await }).await.unwrap();
        let report = self.events(&started, 0).await.outcome().await;
        assert!(matches!(report.outcome, Outcome::Completed), "{report:?}");
        started
    }

    /// Runs the next turn of a conversation.
    async fn next(&self, started: &SessionStarted, text: &str) {
        let after = self.all(started).await.last().unwrap().seq;
        let (id, turn) = (started.id.clone(), self.turn(text));
        self.on(|engine| async move { engine.start_turn(id.as_str(), turn).await }).await.unwrap();
        self.events(started, after).await.outcome().await;
    }

    /// Notices of a conversation to the person.
    async fn told_about(&self, started: &SessionStarted) -> Vec<String> {
        let events = self.all(started).await;
        events.iter().map(|numbered| format!("{:?}", numbered.event)).collect()
    }
}

/// The sockets of the hosts of a home, where they really are.
fn host_sockets(home: &Home) -> Vec<PathBuf> {
    let hosts = fs::read_dir(home.talaria().hosts_dir()).unwrap().flatten();
    hosts.filter_map(|entry| entry.path().join("s").canonicalize().ok()).collect()
}
