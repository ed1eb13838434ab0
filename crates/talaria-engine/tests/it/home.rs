//! A home of Talaria with an engine that can be stopped, dropped like one that was killed, and followed by another.
//!
//! Each engine has its own runtime: when that is shut down, every task of the engine ends at once, and only the files
//! and Codex remain. `close` checks that no process remains.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use talaria_codex::pool::PoolLimits;
use talaria_core::access::Identity;
use talaria_core::api::{
    AnswerRequest, Kind, LocalCaller, NewSession, NewTurn, Numbered, Say, SessionDetail, SessionStarted,
    Stop, When,
};
use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::input::InputPart;
use talaria_core::outcome::Report;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::principal::Principal;
use talaria_core::request::Who;
use talaria_engine::engine::{Engine, EngineOptions, JournalFollower, LockError, OpenError, OpenOptions};
use talaria_home::home::TalariaHome;
use talaria_scripted::ScriptedModel;
use talaria_testkit::app_server::{AppServer, InstalledAppServer};
use talaria_testkit::{Codex, CodexHome, Marker, stand_in};
use tokio::runtime::Runtime;

use crate::stage::PATIENCE;

/// A home, the engine that has it, and the Codex that it uses.
pub(crate) struct Home {
    pub(crate) model: ScriptedModel,
    pub(crate) codex_home: CodexHome,
    pub(crate) marker: Marker,
    pub(crate) caller: LocalCaller,
    /// How many tasks the next engine lets work at once.
    pub(crate) max_tasks: usize,
    /// What its hosts may take.
    pub(crate) limits: PoolLimits,
    running: Option<(Engine, Runtime)>,
}

impl Home {
    /// A home whose Codex is a real one.
    pub(crate) async fn real(codex: &Codex) -> Self {
        Self::with(&codex.native).await
    }

    /// A home whose Codex plays a script.
    pub(crate) async fn scripted(server: AppServer) -> (Self, InstalledAppServer) {
        let mut home = Self::with(Path::new("codex")).await;
        let installed = home.install(server);
        (home, installed)
    }

    /// A home whose Codex is the one that starts in milliseconds and has a model inside.
    pub(crate) async fn standing_in() -> Self {
        let mut home = Self::with(Path::new("codex")).await;
        let program = stand_in::install(&home.codex_home.root().join("bin"));
        home.use_codex(&program);
        home
    }

    async fn with(program: &Path) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let (codex_home, marker) = (CodexHome::new(&model), Marker::new());
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut environment: Vec<(String, String)> = codex_home
            .environment()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into_string().unwrap()))
            .collect();
        // What begins with TALARIA_ does not reach Codex.
        environment.push(("SCENE".to_owned(), marker.environment().1.to_owned()));
        environment.push(("PATH".to_owned(), std::env::var("PATH").unwrap()));
        let caller = LocalCaller { codex: None, codex_home: Some(text(&codex_home.path())), environment };
        let limits = PoolLimits::default();
        let mut home = Self { model, codex_home, marker, caller, max_tasks: 64, limits, running: None };
        home.use_codex(program);
        home
    }

    /// Names the Codex to use, and prepends it to PATH: a model may not name one.
    fn use_codex(&mut self, program: &Path) {
        self.caller.codex = Some(program.to_str().unwrap().to_owned());
        let path = self.caller.environment.iter_mut().find(|(name, _)| name == "PATH");
        let (path, directory) = (&mut path.unwrap().1, program.parent().unwrap().to_str().unwrap());
        *path = format!("{directory}:{path}");
    }

    /// Replaces Codex by a script.
    pub(crate) fn install(&mut self, server: AppServer) -> InstalledAppServer {
        let installed = server.version("0.166.0").install(&self.codex_home.root().join("bin"));
        self.use_codex(&installed.codex);
        installed
    }

    pub(crate) fn talaria(&self) -> TalariaHome {
        TalariaHome::resolve(Some(self.codex_home.root().join("talaria").into()), None).unwrap()
    }

    pub(crate) fn configure(&self, toml: &str) {
        self.talaria().ensure().unwrap();
        std::fs::write(self.talaria().config_file(), toml).unwrap();
    }

    /// Starts an engine. The previous one may take a moment to release the lock.
    pub(crate) async fn open(&mut self) {
        self.open_with(None).await;
    }

    pub(crate) async fn open_with(&mut self, idle: Option<Duration>) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let (runtime, home) = (runtime.unwrap(), self.talaria());
        let user_home = Some(self.codex_home.root().join("user"));
        let (max_tasks, limits) = (self.max_tasks, self.limits);
        let options = EngineOptions { max_tasks, limits, user_home, ..options(idle) };
        let opening = runtime.spawn(async move {
            loop {
                match Engine::open(home.clone(), options.clone()).await {
                    Err(OpenError::Lock(LockError::Held(_))) => {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                    opened => break opened.unwrap(),
                }
            }
        });
        let engine = tokio::time::timeout(PATIENCE, opening).await.unwrap().unwrap();
        self.running = Some((engine, runtime));
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.running.as_ref().unwrap().0
    }

    /// Does something on the runtime of the engine, so that it ends with it.
    pub(crate) async fn on<F, T>(&self, work: impl FnOnce(Engine) -> F) -> T
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let (engine, runtime) = self.running.as_ref().unwrap();
        runtime.spawn(work(engine.clone())).await.unwrap()
    }

    /// Drops the engine wherever it is, as if it had been killed.
    pub(crate) async fn crash(&mut self) {
        let (engine, runtime) = self.running.take().unwrap();
        drop(engine);
        tokio::task::spawn_blocking(move || runtime.shutdown_timeout(PATIENCE)).await.unwrap();
    }

    pub(crate) async fn stop(&mut self, keep_turns: bool) -> talaria_core::api::Stopped {
        let stopped = self
            .on(move |engine| async move { engine.stop(Stop { keep_turns, stay_down: false }).await })
            .await;
        self.crash().await;
        stopped.unwrap()
    }

    /// Stops everything, and checks that nothing is left.
    pub(crate) async fn close(mut self) {
        self.stop(false).await;
        assert_eq!(self.marker.survivors(), [], "when an engine has stopped, nothing of it is left");
        assert_eq!(self.model.unscripted().len(), 0, "the model was asked more than the script foresaw");
    }

    pub(crate) fn turn(&self, text: &str) -> NewTurn {
        NewTurn {
            input: vec![InputPart::Text { text: text.to_owned() }],
            caller: self.caller.clone(),
            ..NewTurn::default()
        }
    }

    /// Starts a conversation without a sandbox.
    pub(crate) async fn start(&self, approval: ApprovalPolicy, text: &str) -> SessionStarted {
        self.start_in(&self.codex_home.work(), approval, text).await
    }

    /// The same in another directory, to its end.
    pub(crate) async fn run_in(&self, cwd: &Path, text: &str) -> Report {
        let started = self.start_in(cwd, ApprovalPolicy::Never, text).await;
        self.events(&started, 0).await.outcome().await
    }

    async fn start_in(&self, cwd: &Path, approval: ApprovalPolicy, text: &str) -> SessionStarted {
        let new = NewSession {
            kind: Kind::Exec,
            cwd: cwd.to_str().unwrap().to_owned(),
            model: None,
            sandbox: Some(Sandbox::DangerFullAccess),
            approval: Some(approval),
            turn: self.turn(text),
        };
        self.on(|engine| async move { engine.start_session(new).await }).await.unwrap()
    }

    /// Runs a conversation's first turn to its end.
    pub(crate) async fn run(&self, text: &str) -> (SessionStarted, Report) {
        let started = self.start(ApprovalPolicy::Never, text).await;
        let report = self.events(&started, 0).await.outcome().await;
        (started, report)
    }

    pub(crate) async fn say_next(&self, started: &SessionStarted, text: &str) {
        let say = Say { text: text.to_owned(), images: Vec::new(), when: When::Next };
        self.engine().say(started.id.as_str(), say).await.unwrap();
    }

    pub(crate) async fn answer(
        &self,
        ticket: &TicketId,
        decision: &str,
    ) -> Result<talaria_core::api::Answered, talaria_core::api::Problem> {
        let answer = serde_json::json!({ "decision": decision });
        self.engine().answer(ticket.as_str(), AnswerRequest { answer, by: Who::User, digest: None }).await
    }

    pub(crate) async fn detail(&self, started: &SessionStarted) -> SessionDetail {
        self.engine().session(started.id.as_str()).await.unwrap()
    }

    /// Follows a conversation from a number on.
    pub(crate) async fn events(&self, started: &SessionStarted, after: i64) -> Events {
        let follow = self.engine().follow(started.id.as_str(), after).await.unwrap();
        Events { follow, last: after, seen: Vec::new() }
    }

    /// Everything that was written down about a conversation.
    pub(crate) async fn all(&self, started: &SessionStarted) -> Vec<Numbered> {
        let lines = self.engine().events(started.id.as_str(), 0, 1000).await.unwrap();
        lines.iter().map(|line| serde_json::from_str(&line.json).unwrap()).collect()
    }

    /// Ends every Codex at once.
    pub(crate) async fn kill_codex(&self, pids: &[i32]) {
        for pid in pids {
            kill_process(Pid::from_raw(*pid).unwrap(), Signal::KILL).unwrap();
        }
    }

    /// The processes that are Codex.
    pub(crate) async fn hosts(&self) -> Vec<i32> {
        self.engine().status().await.unwrap().hosts.iter().map(|host| host.pid).collect()
    }
}

pub(crate) fn options(idle: Option<Duration>) -> EngineOptions {
    let (limits, store) = (PoolLimits::default(), OpenOptions::default());
    EngineOptions {
        version: "1.2.3".to_owned(),
        build: 1,
        idle,
        limits,
        max_tasks: 64,
        store,
        user_home: None,
        pdf: None,
        debug_requests: None,
    }
}

impl Drop for Home {
    /// A test that failed half-way leaves no process either.
    fn drop(&mut self) {
        if let Some((_, runtime)) = self.running.take() {
            runtime.shutdown_background();
        }
        for process in self.marker.survivors() {
            let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

/// The events of a conversation; each has the next number, or the test fails.
pub(crate) struct Events {
    follow: JournalFollower,
    last: i64,
    pub(crate) seen: Vec<Event>,
}

impl Events {
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let Ok(line) = tokio::time::timeout(PATIENCE, self.follow.next()).await else {
            panic!("it did not come: {:#?}", self.seen)
        };
        let numbered: Numbered = serde_json::from_str(&line?.json).unwrap();
        assert_eq!(numbered.seq, self.last + 1, "no gap and no repeat");
        self.last = numbered.seq;
        self.seen.push(numbered.event.clone());
        Some(numbered.event)
    }

    /// Waits for an event for which `pick` returns a value.
    pub(crate) async fn until<T>(&mut self, pick: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            let Some(event) = self.next().await else { panic!("the engine ended: {:#?}", self.seen) };
            if let Some(picked) = pick(&event) {
                return picked;
            }
        }
    }

    pub(crate) async fn is(&mut self, is_it: impl Fn(&Event) -> bool) {
        self.until(|event| is_it(event).then_some(())).await;
    }

    pub(crate) async fn outcome(&mut self) -> Report {
        self.until(|event| match event {
            Event::Outcome(report) => Some(Report::clone(report)),
            _ => None,
        })
        .await
    }

    /// Waits until Codex asks something.
    pub(crate) async fn request(&mut self) -> TicketId {
        self.until(|event| match event {
            Event::RequestOpened { id, .. } => Some(id.clone()),
            _ => None,
        })
        .await
    }
}

/// The completed steps; none twice.
pub(crate) fn completed_once(events: &[Numbered]) -> usize {
    let mut told = HashSet::new();
    for numbered in events {
        if let Event::ItemCompleted { item } = &numbered.event {
            assert!(told.insert(item.id.clone()), "told twice: {item:?}");
        }
    }
    told.len()
}

/// The same engine, for a caller that says who it is.
pub(crate) fn calling(engine: &Engine, claim: &Principal) -> Engine {
    engine.for_caller(Identity::owner(Principal::person("owner")).claiming(claim))
}
