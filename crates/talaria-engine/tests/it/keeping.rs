//! Hosts that outlive the engine that started them: they continue, are adopted by the next engine if they are
//! provably ours, and are ended with everything below them if not. No other process is ended.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use talaria_codex::host::{AttachError, Host, HostError, HostSpec, reap_strays};
use talaria_codex::host_register::{HostRecord, HostRegister, StartedProcess};
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_codex_proto::wire::notification::TurnStatus;
use talaria_scripted::{Gate, Reply, ScriptedModel};
use talaria_testkit::app_server::directive::{exit, hang, on, spawn, stderr};
use talaria_testkit::{AppServer, Codex, CodexHome, Marker, build_dir, eventually, until};
use tokio_util::sync::CancellationToken;

use crate::ledger::{Ledger, Step};
use crate::stage::{both_versions, real_spec, scripted_spec};
use crate::threads::{exchange, runs, say, turn_that_is};

both_versions!(
    a_turn_outlives_its_owner_and_completes_under_the_next;
    newest:
    the_end_of_an_adopted_codex_is_noticed_and_everything_below_it_goes,
);

/// A real Codex in a kept host, with a scripted model.
pub(crate) struct Kept {
    pub(crate) model: ScriptedModel,
    pub(crate) home: CodexHome,
    pub(crate) marker: Marker,
    pub(crate) ledger: Arc<Ledger>,
    spec: HostSpec,
    host: Option<Arc<Host>>,
}

impl Kept {
    pub(crate) async fn start(codex: &Codex) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let home = CodexHome::new(&model);
        let (marker, ledger) = (Marker::new(), Ledger::new());
        let spec = real_spec(codex, &home, &marker);
        let host = Some(ledger.start(spec.clone()).await);
        Self { model, home, marker, ledger, spec, host }
    }

    pub(crate) async fn start_another(&mut self, codex: &Codex) {
        let spec = real_spec(codex, &self.home, &self.marker);
        self.host = Some(self.ledger.start(spec).await);
    }

    pub(crate) fn host(&self) -> &Arc<Host> {
        self.host.as_ref().unwrap()
    }

    /// The engine ends, and another one attaches.
    pub(crate) async fn change_owner(&mut self) {
        let before = self.host.take().unwrap();
        let pid = before.pid();
        assert!(Arc::into_inner(before).is_some(), "nobody else holds it");
        let register = Arc::clone(&self.ledger) as Arc<dyn HostRegister>;
        let adopted = Host::attach(&self.ledger.record(), self.spec.clone(), register).await.unwrap();
        assert_eq!((adopted.pid(), adopted.is_kept(), adopted.end_reason()), (pid, true, None));
        assert_eq!(adopted.version(), &self.spec.version);
        self.host = Some(Arc::new(adopted));
    }

    /// Ends the host, and checks that nothing of it is left.
    pub(crate) async fn close(self) {
        self.host().close().await;
        assert_eq!(self.marker.survivors(), []);
        assert_eq!(self.ledger.records(), []);
        assert_eq!(fs::read_dir(&self.spec.hosts).unwrap().count(), 0);
        assert_eq!(self.model.unscripted().len(), 0);
    }
}

async fn a_turn_outlives_its_owner_and_completes_under_the_next(codex: Codex) {
    let mut kept = Kept::start(&codex).await;
    let gate = Gate::new();
    kept.model.push(Reply::new().text("half ").gate(&gate).text("whole"));
    let cwd = kept.home.work().to_str().unwrap().to_owned();
    let asked = ThreadStart { cwd, ..Default::default() };
    let thread = kept.host().start_thread(&asked).await.unwrap().started.thread;
    let turn = say(kept.host(), &thread, "go").await;
    gate.reached().await;
    kept.change_owner().await;
    kept.change_owner().await;
    gate.open();
    let ended = turn_that_is(kept.host(), &thread, &turn, TurnStatus::Completed).await;
    assert!(ended.said().count() == 1, "{ended:?}");
    kept.model.push(Reply::say("and on"));
    exchange(kept.host(), &thread, "next").await;
    kept.close().await;
}

async fn the_end_of_an_adopted_codex_is_noticed_and_everything_below_it_goes(codex: Codex) {
    let mut kept = Kept::start(&codex).await;
    kept.model.push(Reply::new().command("sleep 9107"));
    let asked = ThreadStart {
        cwd: kept.home.work().to_str().unwrap().to_owned(),
        sandbox: Some(talaria_core::policy::Sandbox::DangerFullAccess),
        approval_policy: Some(talaria_core::policy::ApprovalPolicy::Never),
        ..Default::default()
    };
    let thread = kept.host().start_thread(&asked).await.unwrap().started.thread;
    say(kept.host(), &thread, "sleep").await;
    runs(&kept.marker, "sleep 9107", true).await;
    kept.change_owner().await;
    kill_process(Pid::from_raw(kept.host().pid()).unwrap(), Signal::KILL).unwrap();
    until("its end is noticed", || !kept.host().is_alive() && kept.host().end_reason().is_some()).await;
    let why = kept.host().end_reason().unwrap();
    assert!(why.starts_with("Codex ended unexpectedly"), "{why}");
    kept.close().await;
}

/// A scripted Codex without an owner, and its record.
struct Orphan {
    folder: tempfile::TempDir,
    marker: Marker,
    ledger: Arc<Ledger>,
    spec: HostSpec,
    record: HostRecord,
}

impl Orphan {
    async fn leave(server: AppServer) -> Self {
        let folder = tempfile::tempdir_in(build_dir::homes()).unwrap();
        let program = server.install(&folder.path().join("bin"));
        let (marker, ledger) = (Marker::new(), Ledger::new());
        let spec = scripted_spec(&program.codex, "0.166.0", folder.path(), &marker);
        let host = ledger.start(spec.clone()).await;
        assert!(Arc::into_inner(host).is_some());
        let record = ledger.record();
        Self { folder, marker, ledger, spec, record }
    }

    async fn attach(&self, record: &HostRecord) -> Result<Host, AttachError> {
        Host::attach(record, self.spec.clone(), Arc::clone(&self.ledger) as Arc<dyn HostRegister>).await
    }

    async fn refused(&self, record: &HostRecord) -> AttachError {
        let error = self.attach(record).await.unwrap_err();
        assert!(self.ledger.ends().last().unwrap().starts_with("not adopted"), "{:?}", self.ledger.ends());
        error
    }

    fn birth(&self) -> StartedProcess {
        self.record.birth.clone().unwrap()
    }

    fn nothing_is_left(&self) {
        assert_eq!(self.marker.survivors(), []);
        let left = fs::read_dir(self.folder.path().join("hosts")).unwrap().count();
        assert_eq!(left, 0, "and no directory of a host");
    }
}

fn ready() -> AppServer {
    let end = on("thread/start", [stderr("its last words"), exit(1)]);
    AppServer::ready([stderr("a word before"), spawn("sleep 600 & wait"), end])
}

/// The standard error of an adopted Codex is read: the report of its end quotes what it wrote since.
async fn ends_with_its_last_words(adopted: &Host) {
    assert!(adopted.start_thread(&ThreadStart::default()).await.is_err());
    until("its end is noticed", || adopted.end_reason().is_some()).await;
    let why = "Codex ended unexpectedly\ncodex stderr (last line):\n  its last words";
    assert_eq!(adopted.end_reason(), Some(why));
}

/// A foreign process, which must survive.
struct Bystander(Child);

impl Bystander {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").process_group(0).spawn().unwrap())
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    fn started(&self) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned()
    }

    fn lives(mut self) {
        assert!(self.0.try_wait().unwrap().is_none(), "somebody else's process was ended");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn an_intent_is_written_down_before_the_spawn_and_completed_after_it() {
    let orphan = Orphan::leave(ready()).await;
    let HostRecord { intent, birth } = &orphan.record;
    let birth = birth.as_ref().unwrap();
    assert!(intent.directory.join("kept").exists() && intent.socket.starts_with(&intent.directory));
    assert_eq!(intent.key, orphan.spec.key());
    assert!(orphan.marker.survivors().iter().any(|process| i64::from(process.pid) == i64::from(birth.pid)));
    let adopted = orphan.attach(&orphan.record).await.unwrap();
    ends_with_its_last_words(&adopted).await;
    adopted.close().await;
    assert_eq!(orphan.ledger.ends(), ["closed"]);
    orphan.nothing_is_left();
}

#[tokio::test]
async fn a_host_that_cannot_be_written_down_does_not_run() {
    for (step, starts) in [(Step::Intend, 0), (Step::Complete, 1)] {
        let folder = tempfile::tempdir_in(build_dir::homes()).unwrap();
        let program = AppServer::ready([]).install(&folder.path().join("bin"));
        let (marker, ledger) = (Marker::new(), Ledger::broken(step));
        let spec = scripted_spec(&program.codex, "0.166.0", folder.path(), &marker);
        let started =
            Host::start_kept(spec, Arc::clone(&ledger) as Arc<dyn HostRegister>, CancellationToken::new())
                .await;
        let error = started.unwrap_err();
        assert!(matches!(error, HostError::Register(_)), "{error:?}");
        assert!(error.to_string().ends_with("the disk is full"), "{error}");
        assert_eq!((marker.survivors(), ledger.ends().len()), (vec![], starts));
        assert!(fs::read_dir(folder.path().join("hosts")).map_or(0, Iterator::count) == 0);
    }
}

#[tokio::test]
async fn a_kept_start_that_is_given_up_leaves_no_process() {
    let folder = tempfile::tempdir_in(build_dir::homes()).unwrap();
    let program = AppServer::script([hang()]).install(&folder.path().join("bin"));
    let (marker, ledger) = (Marker::new(), Ledger::new());
    let spec = scripted_spec(&program.codex, "0.166.0", folder.path(), &marker);
    let starting = tokio::spawn(Host::start_kept(
        spec.clone(),
        Arc::clone(&ledger) as Arc<dyn HostRegister>,
        CancellationToken::new(),
    ));
    until("Codex is greeted", || !program.received().is_empty()).await;
    starting.abort();
    assert!(starting.await.unwrap_err().is_cancelled());
    marker.wait_gone(Duration::from_secs(5)).await.unwrap();
    // The record stays; it refers to no process.
    let error =
        Host::attach(&ledger.record(), spec, Arc::clone(&ledger) as Arc<dyn HostRegister>).await.unwrap_err();
    assert!(matches!(error, AttachError::Ended), "{error:?}");
    assert_eq!(ledger.records(), []);
}

#[tokio::test]
async fn a_host_whose_engine_died_between_spawn_and_record_is_found_by_its_name() {
    let orphan = Orphan::leave(ready()).await;
    let intended = HostRecord { birth: None, ..orphan.record.clone() };
    let adopted = orphan.attach(&intended).await.unwrap();
    assert_eq!(adopted.pid(), orphan.birth().pid);
    assert_eq!(orphan.ledger.record().birth, Some(orphan.birth()), "and is written down at last");
    adopted.close().await;
    orphan.nothing_is_left();
}

#[tokio::test]
async fn a_host_that_was_intended_and_never_listened_is_ended_by_its_name() {
    let orphan = Orphan::leave(ready()).await;
    fs::remove_file(&orphan.record.intent.socket).unwrap();
    let error = orphan.refused(&HostRecord { birth: None, ..orphan.record.clone() }).await;
    assert!(matches!(error, AttachError::Unproven { .. }), "{error:?}");
    orphan.nothing_is_left();
}

#[tokio::test]
async fn a_pid_that_was_used_again_is_not_adopted_and_not_ended() {
    let bystander = Bystander::start();
    for is_reused in [true, false] {
        let orphan = Orphan::leave(ready()).await;
        let StartedProcess { pid, started, boot } = orphan.birth();
        // Two that start within a hundredth of a second have the same start time: no process has this one.
        let pid = if is_reused { bystander.pid() } else { pid };
        let started = format!("{started}0");
        let birth = Some(StartedProcess { pid, started, boot });
        let error = orphan.refused(&HostRecord { birth, ..orphan.record.clone() }).await;
        assert!(matches!(error, AttachError::Ended), "{error:?}");
        // What carries its name is ended all the same.
        orphan.nothing_is_left();
    }
    bystander.lives();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_does_not_carry_the_name_is_not_adopted_and_not_ended() {
    let orphan = Orphan::leave(ready()).await;
    let bystander = Bystander::start();
    let birth =
        StartedProcess { pid: bystander.pid(), started: bystander.started(), boot: orphan.birth().boot };
    let error = orphan.refused(&HostRecord { birth: Some(birth), ..orphan.record.clone() }).await;
    assert!(error.to_string().contains("does not carry its name"), "{error}");
    orphan.nothing_is_left();
    bystander.lives();
}

#[tokio::test]
async fn another_name_finds_nothing_and_ends_nothing() {
    let orphan = Orphan::leave(ready()).await;
    for nonce in ["0123456789abcdef", "../../elsewhere", ""] {
        let mut record = orphan.record.clone();
        record.intent.nonce = nonce.to_owned();
        let error = orphan.refused(&record).await;
        assert!(matches!(error, AttachError::Unproven { .. }), "{error:?}");
    }
    let adopted = orphan.attach(&orphan.record).await.unwrap();
    adopted.close().await;
    orphan.nothing_is_left();
}

#[tokio::test]
async fn a_host_of_an_earlier_boot_has_ended() {
    let orphan = Orphan::leave(ready()).await;
    let birth = StartedProcess { boot: "another".to_owned(), ..orphan.birth() };
    let error = orphan.refused(&HostRecord { birth: Some(birth), ..orphan.record.clone() }).await;
    assert!(matches!(error, AttachError::Ended), "{error:?}");
    orphan.nothing_is_left();
}

#[tokio::test]
async fn a_socket_that_is_gone_or_somebody_elses_is_not_talked_to() {
    let orphan = Orphan::leave(ready()).await;
    fs::remove_file(&orphan.record.intent.socket).unwrap();
    let error = orphan.refused(&orphan.record).await;
    assert!(error.to_string().contains("has no socket"), "{error}");
    orphan.nothing_is_left();

    let orphan = Orphan::leave(ready()).await;
    fs::remove_file(&orphan.record.intent.socket).unwrap();
    let impostor = tokio::net::UnixListener::bind(&orphan.record.intent.socket).unwrap();
    let error = orphan.refused(&orphan.record).await;
    assert!(error.to_string().contains("another process listens"), "{error}");
    drop(impostor);
    orphan.nothing_is_left();
}

#[tokio::test]
async fn a_directory_that_others_can_enter_is_not_trusted() {
    let orphan = Orphan::leave(ready()).await;
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&orphan.record.intent.directory, open).unwrap();
    let error = orphan.refused(&orphan.record).await;
    assert!(error.to_string().contains("of ours alone"), "{error}");
    orphan.nothing_is_left();
}

#[tokio::test]
async fn a_host_that_another_engine_owns_is_left_alone() {
    let orphan = Orphan::leave(ready()).await;
    let owner = orphan.attach(&orphan.record).await.unwrap();
    let error = orphan.attach(&orphan.record).await.unwrap_err();
    assert!(matches!(error, AttachError::Owned), "{error:?}");
    assert_eq!(orphan.ledger.ends(), Vec::<String>::new());
    owner.account().await.unwrap();
    assert_eq!(reap_strays(&orphan.spec.hosts, &Default::default()).await, 0);
    // Not even when its record is lost, as long as it has an owner.
    owner.account().await.unwrap();
    owner.detach();
    let next = orphan.attach(&orphan.record).await.unwrap();
    next.close().await;
    orphan.nothing_is_left();
}

/// The clock is paused once the greeting was sent: the test does not wait for the limit.
#[tokio::test]
async fn a_host_that_does_not_greet_back_is_ended() {
    let orphan = Orphan::leave(ready()).await;
    let pid = Pid::from_raw(orphan.birth().pid).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    tokio::time::pause();
    let error = orphan.attach(&orphan.record).await.unwrap_err();
    tokio::time::resume();
    assert!(matches!(error, AttachError::Silent { .. }), "{error:?}");
    orphan.nothing_is_left();
}

#[tokio::test]
async fn hosts_without_a_record_are_ended_and_recorded_ones_are_not() {
    let orphan = Orphan::leave(ready()).await;
    let known = [orphan.record.intent.nonce.clone()].into_iter().collect();
    assert_eq!(reap_strays(&orphan.spec.hosts, &known).await, 0);
    assert!(!orphan.marker.survivors().is_empty());
    // A program that another test starts holds a copy of the lock until it executes.
    let reap =
        async || Some(reap_strays(&orphan.spec.hosts, &Default::default()).await).filter(|ended| *ended > 0);
    assert_eq!(eventually("it is reaped", reap).await, 1);
    orphan.nothing_is_left();
}

/// As in a copy of a home: the same record, and a copy of the directory.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_host_of_another_home_is_left_alone() {
    let orphan = Orphan::leave(ready()).await;
    let copy = orphan.folder.path().join("copy");
    let copied = Command::new("cp").arg("-a").arg(&orphan.spec.hosts).arg(&copy).status().unwrap();
    assert!(copied.success());
    let spec = HostSpec { hosts: copy.clone(), ..orphan.spec.clone() };
    let ledger = Ledger::new();
    let register = Arc::clone(&ledger) as Arc<dyn HostRegister>;
    let error = Host::attach(&orphan.record, spec, register).await.unwrap_err();
    assert!(matches!(error, AttachError::Unproven { .. }), "{error:?}");
    assert_eq!(reap_strays(&copy, &Default::default()).await, 0);
    fs::remove_dir_all(&copy).unwrap();
    let adopted = orphan.attach(&orphan.record).await.unwrap();
    assert_eq!(adopted.pid(), orphan.birth().pid, "it was not touched");
    adopted.close().await;
    orphan.nothing_is_left();
}

/// Names of the variables between the test below and the process that it starts and kills.
const OWNER: &str = "IT_KEEPER_FOLDER";

/// Not a promise: the process that the test below kills. Ends at once when it is run by itself.
#[tokio::test]
async fn keeper_that_another_test_kills() {
    let Some(folder) = std::env::var_os(OWNER) else { return };
    let folder = Path::new(&folder);
    let mark = (std::env::var_os("IT_OWNER_VARIABLE").unwrap(), std::env::var_os("IT_OWNER_MARK").unwrap());
    let program = ready().install(&folder.join("bin"));
    let mut spec = scripted_spec(&program.codex, "0.166.0", folder, &Marker::new());
    spec.environment.push(mark);
    let ledger = Ledger::new();
    let _host = ledger.start(spec).await;
    println!("\nrecord {}", serde_json::to_string(&ledger.record()).unwrap());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_kept_host_survives_the_death_of_its_owner_and_is_adopted() {
    let (folder, marker) = (tempfile::tempdir_in(build_dir::homes()).unwrap(), Marker::new());
    let (variable, mark) = marker.environment();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "keeping::keeper_that_another_test_kills", "--nocapture"])
        .envs([("IT_OWNER_VARIABLE", variable), ("IT_OWNER_MARK", mark)])
        .env(OWNER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.into_iter().find_map(|line| Some(line.strip_prefix("record ")?.to_owned())).unwrap();
    let record: HostRecord = serde_json::from_str(&told).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();

    // The next start of anything sweeps; a kept host is not swept.
    let other = Marker::new();
    let program = AppServer::ready([]).install(&folder.path().join("other"));
    let spec = scripted_spec(&program.codex, "0.166.0", folder.path(), &other);
    Host::start(spec.clone()).await.unwrap().close().await;
    let adopted = Host::attach(&record, spec, Ledger::new()).await.unwrap();
    assert_eq!(Some(adopted.pid()), record.birth.map(|birth| birth.pid));
    adopted.account().await.unwrap();
    ends_with_its_last_words(&adopted).await;
    adopted.close().await;
    assert_eq!((marker.survivors(), other.survivors()), (vec![], vec![]));
    assert_eq!(fs::read_dir(folder.path().join("hosts")).unwrap().count(), 0);
}
