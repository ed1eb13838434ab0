//! The hosts of an engine: shared by kind, never more than allowed, ended when unused, replaced when they are too large
//! or die, and passed to the next engine.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use talaria_codex::conversation::{CodexConversation, Options};
use talaria_codex::current::CurrentHost;
use talaria_codex::host::{Host, HostError, HostSpec};
use talaria_codex::host_register::HostRegister;
use talaria_codex::pool::{HostPool, PoolLimits};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_codex_proto::wire::notification::TurnStatus;
use talaria_core::event::Event;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_scripted::{Gate, Reply, ScriptedModel};
use talaria_testkit::app_server::directive::hang;
use talaria_testkit::{AppServer, Codex, CodexHome, Marker, build_dir, until};

use crate::ledger::Ledger;
use crate::stage::{Ended, Turn, begin, both_versions, real_spec, scripted_spec};
use crate::threads::{say, turn_that_is};

both_versions!(
    newest:
    conversations_that_shared_a_dead_host_share_its_successor,
    a_host_that_is_too_large_is_replaced_between_turns_and_the_conversation_goes_on,
    a_host_on_which_a_turn_runs_is_never_idle,
    a_pool_hands_its_hosts_on_to_the_next,
    many_threads_fill_one_host_before_another_is_started,
);

/// Limits under which nothing happens by itself.
fn quiet() -> PoolLimits {
    PoolLimits {
        idle: Duration::from_secs(3600),
        memory_kib: None,
        look_every: Duration::from_secs(3600),
        ..PoolLimits::default()
    }
}

/// A pool of scripted Codexes.
struct Scripted {
    folder: tempfile::TempDir,
    marker: Marker,
    ledger: Arc<Ledger>,
    hosts: HostPool,
    spec: HostSpec,
}

impl Scripted {
    fn new(limits: PoolLimits) -> Self {
        let folder = tempfile::tempdir_in(build_dir::homes()).unwrap();
        let program = AppServer::ready([]).install(&folder.path().join("bin"));
        let (marker, ledger) = (Marker::new(), Ledger::new());
        let spec = scripted_spec(&program.codex, "0.166.0", folder.path(), &marker);
        let hosts = HostPool::new(Arc::clone(&ledger) as Arc<dyn HostRegister>, limits);
        Self { folder, marker, ledger, hosts, spec }
    }

    /// A spec of another kind.
    fn other(&self, name: &str) -> HostSpec {
        HostSpec { codex_home: Some(self.folder.path().join(name)), ..self.spec.clone() }
    }

    async fn get(&self) -> Arc<Host> {
        self.hosts.get(&self.spec).await.unwrap()
    }

    async fn close(self) {
        self.hosts.close().await;
        assert_eq!((self.marker.survivors(), self.ledger.records()), (vec![], vec![]));
        assert_eq!(fs::read_dir(self.folder.path().join("hosts")).unwrap().count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_at_the_same_time_share_one_start() {
    let pool = Scripted::new(quiet());
    let callers = (0..12).map(|_| pool.get());
    let pids: Vec<i32> =
        futures_util::future::join_all(callers).await.iter().map(|host| host.pid()).collect();
    assert_eq!(pids, vec![pids[0]; 12]);
    assert_eq!(pool.ledger.records().len(), 1, "and every host of a pool is written down");
    pool.close().await;
}

#[tokio::test]
async fn a_full_host_is_followed_by_another_and_another_kind_never_shares() {
    let pool = Scripted::new(PoolLimits { threads_per_host: 2, ..quiet() });
    let first = pool.get().await;
    assert_eq!(pool.get().await.pid(), first.pid());
    let second = pool.get().await;
    assert_ne!(second.pid(), first.pid());
    let other = pool.hosts.get(&pool.other("elsewhere")).await.unwrap();
    assert!(![first.pid(), second.pid()].contains(&other.pid()));
    assert_eq!(pool.get().await.pid(), second.pid(), "the one with room");
    pool.close().await;
}

#[tokio::test]
async fn at_the_limit_a_host_takes_more_than_its_share_rather_than_failing() {
    let pool = Scripted::new(PoolLimits { max_hosts: 1, threads_per_host: 1, ..quiet() });
    let first = pool.get().await;
    assert_eq!(pool.get().await.pid(), first.pid());
    let error = pool.hosts.get(&pool.other("elsewhere")).await.unwrap_err();
    assert!(matches!(error, HostError::Full { max: 1 }), "{error:?}");
    assert!(error.next_step().in_shell().contains("codex.max_hosts"));
    pool.close().await;
}

#[tokio::test]
async fn at_the_limit_a_host_that_nobody_uses_makes_room() {
    let pool = Scripted::new(PoolLimits { max_hosts: 1, ..quiet() });
    let first = pool.get().await;
    // The promise is kept, and the conversation is over.
    let asked = ThreadStart { cwd: "/w".to_owned(), ..ThreadStart::default() };
    let session = CodexConversation::start(Arc::clone(&first), asked, Options::default()).await.unwrap();
    let elsewhere = pool.other("elsewhere");
    assert!(matches!(pool.hosts.get(&elsewhere).await, Err(HostError::Full { .. })));
    drop(session);
    let second = pool.hosts.get(&elsewhere).await.unwrap();
    assert!(!first.is_alive() && second.is_alive());
    assert_eq!(pool.ledger.ends(), ["it made room for another"]);
    pool.close().await;
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_undo_the_start_that_others_wait_for() {
    let pool = Scripted::new(quiet());
    let (hosts, spec) = (pool.hosts.clone(), pool.spec.clone());
    let impatient = tokio::spawn(async move { hosts.get(&spec).await.map(drop) });
    until("a start is written down", || !pool.ledger.records().is_empty()).await;
    impatient.abort();
    assert!(impatient.await.unwrap_err().is_cancelled());
    pool.get().await;
    assert_eq!((pool.ledger.records().len(), pool.ledger.ends().len()), (1, 0));
    pool.close().await;
}

#[tokio::test]
async fn a_pool_that_is_closed_while_a_host_starts_leaves_nothing() {
    let pool = Scripted::new(quiet());
    let silent = AppServer::script([hang()]).install(&pool.folder.path().join("silent"));
    let spec = HostSpec { binary: silent.codex, ..pool.spec.clone() };
    let hosts = pool.hosts.clone();
    let waiting = tokio::spawn(async move { hosts.get(&spec).await.map(drop) });
    until("Codex runs", || !pool.marker.survivors().is_empty()).await;
    let Scripted { hosts, ledger, .. } = &pool;
    hosts.close().await;
    assert_eq!((pool.marker.survivors(), ledger.records()), (vec![], vec![]));
    assert_eq!(ledger.ends(), ["Codex did not start: the engine ends"]);
    let error = waiting.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("the engine ends"), "{error}");
    let late = hosts.get(&pool.spec).await.unwrap_err();
    assert!(late.to_string().contains("the engine ends"), "{late}");
    pool.close().await;
}

#[tokio::test]
async fn a_start_that_fails_is_an_error_and_leaves_nothing() {
    let pool = Scripted::new(PoolLimits { max_hosts: 1, ..quiet() });
    let broken = HostSpec { binary: pool.folder.path().join("nowhere"), ..pool.spec.clone() };
    for _ in 0..2 {
        let error = pool.hosts.get(&broken).await.unwrap_err();
        assert!(matches!(error, HostError::Spawn { .. }), "{error:?}");
    }
    assert_eq!(pool.ledger.records(), []);
    pool.get().await;
    pool.close().await;
}

#[tokio::test]
async fn an_idle_host_is_ended_and_one_that_was_promised_is_not() {
    let pool = Scripted::new(PoolLimits { idle: Duration::ZERO, ..quiet() });
    let host = pool.get().await;
    pool.hosts.tidy().await;
    assert!(host.is_alive(), "somebody is about to use it");
    let asked = ThreadStart { cwd: "/w".to_owned(), ..ThreadStart::default() };
    let session = CodexConversation::start(Arc::clone(&host), asked, Options::default()).await.unwrap();
    pool.hosts.tidy().await;
    assert!(host.is_alive(), "somebody uses it");
    drop(session);
    pool.hosts.tidy().await;
    assert!(!host.is_alive());
    assert_eq!(pool.ledger.ends(), ["it was unused for 0 s"]);
    assert_eq!(pool.hosts.snapshot().await, []);
    pool.close().await;
}

#[tokio::test]
async fn a_dead_host_is_buried_and_not_given_to_anybody() {
    let pool = Scripted::new(quiet());
    let first = pool.get().await;
    kill_process(Pid::from_raw(first.pid()).unwrap(), Signal::KILL).unwrap();
    until("its end is noticed", || first.end_reason().is_some()).await;
    let second = pool.get().await;
    assert_ne!(second.pid(), first.pid());
    assert!(
        pool.ledger.ends()[0].starts_with("Codex ended unexpectedly (signal: 9"),
        "{:?}",
        pool.ledger.ends()
    );
    pool.close().await;
}

/// Versions that talk over stdio end with their owner; they are shared all the same.
#[tokio::test]
async fn a_version_that_cannot_be_kept_is_shared_and_ends_with_the_pool() {
    let folder = tempfile::tempdir_in(build_dir::homes()).unwrap();
    let program = AppServer::ready([]).version("0.126.0").install(&folder.path().join("bin"));
    let (marker, ledger) = (Marker::new(), Ledger::new());
    let spec = scripted_spec(&program.codex, "0.126.0", folder.path(), &marker);
    let hosts = HostPool::new(Arc::clone(&ledger) as Arc<dyn HostRegister>, quiet());
    let first = hosts.get(&spec).await.unwrap();
    assert_eq!(hosts.get(&spec).await.unwrap().pid(), first.pid());
    assert!(!first.is_kept() && ledger.records().is_empty());
    drop((first, hosts));
    marker.wait_gone(Duration::from_secs(5)).await.unwrap();
}

/// A pool of real Codexes.
struct Real {
    model: ScriptedModel,
    home: CodexHome,
    marker: Marker,
    ledger: Arc<Ledger>,
    hosts: HostPool,
    spec: HostSpec,
}

impl Real {
    async fn start(codex: &Codex, limits: PoolLimits) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let home = CodexHome::new(&model);
        let (marker, ledger) = (Marker::new(), Ledger::new());
        let spec = real_spec(codex, &home, &marker);
        let hosts = HostPool::new(Arc::clone(&ledger) as Arc<dyn HostRegister>, limits);
        Self { model, home, marker, ledger, hosts, spec }
    }

    fn asked(&self) -> ThreadStart {
        ThreadStart {
            cwd: self.home.work().to_str().unwrap().to_owned(),
            sandbox: Some(Sandbox::DangerFullAccess),
            approval_policy: Some(ApprovalPolicy::Never),
            ..ThreadStart::default()
        }
    }

    async fn session(&self) -> CodexConversation {
        let host = self.hosts.get(&self.spec).await.unwrap();
        let current = CurrentHost::new(host, self.hosts.source(self.spec.clone()));
        CodexConversation::start(current, self.asked(), Options::default()).await.unwrap()
    }

    async fn say(&self, session: CodexConversation, prompt: &str, answer: &str) -> Ended {
        self.model.push(Reply::say(answer));
        let ended = begin(session, prompt).end().await;
        assert_eq!(ended.text(), answer, "{:#?}", ended.report);
        ended
    }

    async fn close(self) {
        self.hosts.close().await;
        assert_eq!((self.marker.survivors(), self.ledger.records()), (vec![], vec![]));
        assert_eq!(fs::read_dir(&self.spec.hosts).unwrap().count(), 0);
        assert_eq!(self.model.unscripted().len(), 0);
    }
}

fn replaced(ended: &Ended) -> Vec<&str> {
    let mut told = Vec::new();
    for event in &ended.events {
        if let Event::HostReplaced { message } = event {
            told.push(message.as_str());
        }
    }
    told
}

const TAKEN_UP: &str = "Codex was restarted and resumed the conversation";

async fn conversations_that_shared_a_dead_host_share_its_successor(codex: Codex) {
    let pool = Real::start(&codex, quiet()).await;
    let (one, two) = (pool.session().await, pool.session().await);
    let one = pool.say(one, "tell me a word", "The word is heron.").await.session;
    let two = pool.say(two, "tell me a word", "The word is stork.").await.session;
    let first = one.host().get();
    assert_eq!(two.host().get().pid(), first.pid());
    kill_process(Pid::from_raw(first.pid()).unwrap(), Signal::KILL).unwrap();
    until("it has ended", || !first.is_alive()).await;
    pool.model.route(|request| {
        let heard =
            request.assistant_texts().into_iter().find(|text| text.starts_with("The word"))?.to_owned();
        Some(Reply::say(heard))
    });
    let turns = [begin(one, "which?"), begin(two, "which?")];
    let [one, two] = futures_util::future::join_all(turns.map(Turn::end)).await.try_into().ok().unwrap();
    assert_eq!((one.text(), two.text()), ("The word is heron.", "The word is stork."));
    assert_eq!((replaced(&one), replaced(&two)), (vec![TAKEN_UP], vec![TAKEN_UP]));
    let (next, same) = (one.session.host().get(), two.session.host().get());
    assert!(next.pid() == same.pid() && next.pid() != first.pid() && next.is_kept());
    assert_eq!(pool.ledger.record().birth.unwrap().pid, next.pid());
    drop((one, two));
    pool.close().await;
}

async fn a_host_that_is_too_large_is_replaced_between_turns_and_the_conversation_goes_on(codex: Codex) {
    let pool = Real::start(&codex, PoolLimits { memory_kib: Some(1), ..quiet() }).await;
    let gate = Gate::new();
    let session = pool.session().await;
    let first = session.host().get();
    pool.model.push(Reply::new().gate(&gate).text("The word is heron."));
    let turn = begin(session, "tell me a word");
    gate.reached().await;
    pool.hosts.tidy().await;
    let [shown] = &pool.hosts.snapshot().await[..] else { panic!("one host") };
    assert!(shown.draining.as_ref().unwrap().contains("more than the 0 MiB"), "{shown:?}");
    assert_eq!((shown.pid, shown.threads, shown.turns), (first.pid(), 1, 1));
    assert!(shown.memory_kib > 10_000 && shown.version == codex.version, "{shown:?}");
    let other = pool.hosts.get(&pool.spec).await.unwrap();
    assert_ne!(other.pid(), first.pid(), "it takes no new conversation");
    gate.open();
    let ended = turn.end().await;
    assert_eq!(ended.text(), "The word is heron.");
    assert!(first.is_alive(), "a turn that runs is not touched");
    pool.hosts.tidy().await;
    assert!(!first.is_alive());
    let ended = pool.say(ended.session, "which?", "heron").await;
    assert_eq!(replaced(&ended), [TAKEN_UP]);
    let request = pool.model.requests().pop().unwrap();
    assert!(request.assistant_texts().contains(&"The word is heron."), "it remembers");
    drop(ended);
    pool.close().await;
}

async fn a_host_on_which_a_turn_runs_is_never_idle(codex: Codex) {
    let pool = Real::start(&codex, PoolLimits { idle: Duration::ZERO, ..quiet() }).await;
    let host = pool.hosts.get(&pool.spec).await.unwrap();
    let gate = Gate::new();
    pool.model.push(Reply::new().text("half ").gate(&gate).text("whole"));
    let session =
        CodexConversation::start(Arc::clone(&host), pool.asked(), Options::default()).await.unwrap();
    let thread = session.started().thread.clone();
    let turn = say(&host, &thread, "go").await;
    gate.reached().await;
    drop(session);
    // No client follows this turn; Codex itself reports that it runs.
    assert_eq!((host.turns(), host.threads()), (0, 0));
    pool.hosts.tidy().await;
    assert!(host.is_alive());
    gate.open();
    turn_that_is(&host, &thread, &turn, TurnStatus::Completed).await;
    assert!(host.confinement(&thread).is_some(), "a thread stays where it was loaded");
    pool.close().await;
}

async fn a_pool_hands_its_hosts_on_to_the_next(codex: Codex) {
    let pool = Real::start(&codex, quiet()).await;
    let gate = Gate::new();
    pool.model.push(Reply::new().text("half ").gate(&gate).text("whole"));
    let host = pool.hosts.get(&pool.spec).await.unwrap();
    let thread = host.start_thread(&pool.asked()).await.unwrap().started.thread;
    let (pid, turn) = (host.pid(), say(&host, &thread, "go").await);
    gate.reached().await;
    pool.hosts.detach();
    assert!(!host.is_alive(), "who lets go has nothing any more");

    let next = HostPool::new(
        Arc::clone(&pool.ledger) as Arc<dyn HostRegister>,
        PoolLimits { idle: Duration::ZERO, ..quiet() },
    );
    let adopted = next.adopt(&pool.ledger.record(), pool.spec.clone()).await.unwrap();
    next.tidy().await;
    assert!(adopted.is_alive(), "it is not idle before its threads were taken up");
    let attached = adopted.attach_thread(&thread).await.unwrap();
    assert_eq!(attached.history.turns.last().unwrap().id, turn);
    assert_eq!(next.get(&pool.spec).await.unwrap().pid(), pid, "it is of the same kind as before");
    gate.open();
    turn_that_is(&adopted, &thread, &turn, TurnStatus::Completed).await;
    let [shown] = &next.snapshot().await[..] else { panic!("one host") };
    assert_eq!((shown.pid, shown.nonce.as_deref()), (pid, adopted.nonce()));
    next.close().await;
    pool.close().await;
}

async fn many_threads_fill_one_host_before_another_is_started(codex: Codex) {
    let pool = Real::start(&codex, PoolLimits { threads_per_host: 4, ..quiet() }).await;
    let mut sessions = Vec::new();
    for _ in 0..6 {
        sessions.push(pool.session().await);
    }
    let mut shown: Vec<usize> = pool.hosts.snapshot().await.iter().map(|host| host.threads).collect();
    shown.sort_unstable();
    assert_eq!(shown, [2, 4]);
    drop(sessions);
    pool.close().await;
}
