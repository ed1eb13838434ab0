//! `talaria serve`: the engine of this home, until it is stopped or has nothing to do for long.
//!
//! Signals end only the engine: Codex and its turns continue, and the next engine resumes them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use talaria_codex::pool::PoolLimits;
use talaria_core::api::{Stop, WebStatus};
use talaria_core::config::Config;
use talaria_engine::engine::{Engine, EngineOptions, LockError, OpenError, OpenOptions};
use talaria_engine::peer_process;
use talaria_server::client::launch::{Build, HELD};
use talaria_server::web::{self, WebListener};
use talaria_server::{ServerNotice, bind, serve, socket_path};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Serve;
use crate::engine::this_build;
use crate::engine_log::{EngineLog, mask_panics};
use crate::pdf;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

/// After how long without anything to do an engine ends, unless the configuration says otherwise.
const IDLE: Duration = Duration::from_secs(30 * 60);

pub(crate) async fn run(options: &Serve) -> Result<u8, Trouble> {
    let settings = Settings::load()?;
    // An engine that was started by a command lives on with what is right in the file.
    let settings = if options.detached { settings } else { settings.accept()? };
    let cannot =
        |cause: &dyn std::fmt::Display| Trouble::new(exit::FAILED, "cannot start the engine").because(cause);
    if let Some(why) = peer_process::unfit_for_engine() {
        return Err(cannot(&why)
            .try_this("run any talaria command in a terminal of your own: it starts the engine there"));
    }
    settings.home.ensure().map_err(|error| cannot(&error).try_this(error.next_step()))?;
    let build = this_build().map_err(|error| cannot(&error))?;
    mask_panics();
    let log = || EngineLog(std::io::stderr());
    tracing_subscriber::fmt().with_writer(log).with_ansi(false).with_target(false).init();
    panic_if_wanted();
    let options_of_engine = engine_options(&settings.config, build, options.debug_requests.as_deref())?;
    let engine = Engine::open(settings.home.clone(), options_of_engine).await;
    let engine = engine.map_err(|error| {
        let trouble = cannot(&error).try_this(error.next_step());
        // The client that started this one uses the other.
        let exit = if matches!(error, OpenError::Lock(LockError::Held(_))) { HELD } else { trouble.exit };
        trouble.exiting(exit)
    })?;
    let listener = bind(&socket_path(settings.home.root()))
        .map_err(|error| cannot(&error).try_this(error.next_step()))?;
    if !options.detached {
        let home = settings.home.root().display();
        complain(&format!(
            "the engine of {home} is running (process {}); Ctrl-C ends it, its turns continue\n",
            std::process::id()
        ));
    }
    let ender = tokio::spawn(end_on_signal(Arc::new(engine.clone())));
    let over_tcp = open_web(&engine, &settings).await;
    let web = async {
        if let Some(listener) = over_tcp {
            web::serve(engine.clone(), listener, tell).await;
        }
    };
    tokio::join!(serve(engine.clone(), listener, tell), web);
    ender.abort();
    Ok(0)
}

/// Opens the address of `[web] listen`. An engine that cannot open it works all the same; `talaria status`, `talaria doctor`
/// and the log say why.
async fn open_web(engine: &Engine, settings: &Settings) -> Option<WebListener> {
    let failed = |problem: String| {
        complain(&format!("{} the API is not reachable over TCP: {problem}\n", jiff::Timestamp::now()));
        engine.set_web(WebStatus { url: None, problem: Some(problem), tokens: 0 });
    };
    let plan = match settings.config.web.listen.plan() {
        Ok(plan) => plan?,
        Err(refusal) => {
            failed(format!("{refusal}; {}", refusal.remedy()));
            return None;
        }
    };
    match WebListener::open(&plan, |path| settings.home.user_path(path)).await {
        Ok(listener) => {
            let url = listener.url();
            complain(&format!("{} the API is reachable at {url}, with a token\n", jiff::Timestamp::now()));
            engine.set_web(WebStatus { url: Some(url), problem: None, tokens: 0 });
            Some(listener)
        }
        Err(error) => {
            failed(format!("{error}; {}", error.next_step().in_shell()));
            None
        }
    }
}

/// For tests of the log after a panic: a separate task panics, and the engine continues.
fn panic_if_wanted() {
    if talaria_home::faults::is_panic_wanted("serve") {
        let words = std::env::var("TALARIA_PANIC_WORDS").unwrap_or_default();
        tracing::warn!("a test wants a panic: {words}");
        #[expect(clippy::panic, reason = "a test wants to see it; never in a release")]
        tokio::spawn(async move { panic!("a fault that a test asked for: {words}") });
    }
}

/// Engine options of the configuration.
fn engine_options(config: &Config, build: Build, dumps: Option<&Path>) -> Result<EngineOptions, Trouble> {
    let usual = PoolLimits::default();
    let count =
        |number: Option<u64>, otherwise| number.and_then(|n| usize::try_from(n).ok()).unwrap_or(otherwise);
    let dumps = dumps.map(std::path::absolute).transpose().map_err(|error| {
        Trouble::new(exit::USAGE, "cannot write requests to that directory").because(error)
    })?;
    Ok(EngineOptions {
        version: build.version,
        build: build.build,
        // Who may call over TCP must not find no one there.
        idle: match config.web.listen.address {
            Some(_) => None,
            None => Some(config.engine.idle_timeout.unwrap_or(IDLE)),
        },
        limits: PoolLimits {
            max_hosts: count(config.codex.max_hosts, usual.max_hosts),
            threads_per_host: count(config.codex.threads_per_host, usual.threads_per_host),
            idle: config.codex.host_idle.unwrap_or(usual.idle),
            memory_kib: config.codex.host_memory_mib.map(|mib| mib.saturating_mul(1024)).or(usual.memory_kib),
            ..usual
        },
        max_tasks: count(config.bridge.max_tasks, usual_tasks()),
        store: OpenOptions::default(),
        user_home: std::env::var_os("HOME").filter(|home| !home.is_empty()).map(Into::into),
        pdf: pdf::reader(),
        debug_requests: dumps,
    })
}

/// How many tasks Codex works on at once, unless the configuration says otherwise: a turn takes a core while its commands
/// run, and some hundred megabytes with them.
fn usual_tasks() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().trim_end_matches(" kB").parse::<usize>().ok()
    });
    let by_memory = memory.map_or(usize::MAX, |kib| kib / (512 * 1024));
    (2 * cores).min(by_memory).clamp(2, 32)
}

/// A line for the log.
fn tell(notice: ServerNotice) {
    complain(&format!("{} {notice}\n", jiff::Timestamp::now()));
}

/// Ends the engine on the first signal, and leaves what it runs running.
async fn end_on_signal(engine: Arc<Engine>) {
    let mut waits = tokio::task::JoinSet::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // A signal that cannot be listened for ends the engine by itself: turns survive that, too.
        if let Ok(mut signal) = signal(kind) {
            waits.spawn(async move { signal.recv().await });
        }
    }
    if waits.join_next().await.is_some()
        && let Err(problem) = engine.stop(Stop { keep_turns: true, stay_down: false }).await
    {
        complain(&format!("{} the engine did not end: {problem}\n", jiff::Timestamp::now()));
    }
}
