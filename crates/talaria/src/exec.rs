//! `talaria exec`: one turn of Codex, streamed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use talaria_core::event::Usage;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::policy::{Answers, Mode};
use talaria_core::request::Who;
use talaria_core::wire::call::ThreadStart;
use talaria_engine::codex::client::CallError;
use talaria_engine::codex::current::CurrentHost;
use talaria_engine::codex::host::{Host, HostError, HostSpec};
use talaria_engine::codex::locate::CodexBinary;
use talaria_engine::codex::threads::ThreadError;
use talaria_engine::session::{self, Session};

use crate::args::{Approve, Exec};
use crate::conversation::{self, Say};
use crate::face::Answerer;
use crate::input;
use crate::keyboard::{Keyboard, Lines};
use crate::look;
use crate::output::print;
use crate::patience::patiently;
use crate::render::{JsonLines, Quiet, Renderer, Terminal, complaint};
use crate::settings::{Settings, login_hint};
use crate::stops::{Stops, unless_stopped};
use crate::trouble::{Trouble, complain, exit};

/// After how much silence a person is told for the first time, unless the configuration says otherwise.
const QUIET: Duration = Duration::from_secs(120);

/// Runs the command. The number is the exit code.
pub(crate) async fn run(options: Exec) -> Result<u8, Trouble> {
    let result = run_turn(&options).await;
    match &result {
        Ok(report) if options.quiet => complain(&complaint(report)),
        // Whoever reads JSON waits for an outcome, also when there was no turn.
        Err(trouble) if options.json => print(&no_turn(trouble))?,
        _ => {}
    }
    result.map(|report| report.exit)
}

async fn run_turn(options: &Exec) -> Result<Report, Trouble> {
    // Before signals are taken over: Ctrl-C must end a wait for standard input.
    let input = input::read(options)?;
    let mut stops = Stops::listen()?;
    let cwd = input::working_directory(options.cwd.as_deref())?;
    let settings = Settings::load()?.accept()?;
    let starting = async {
        let codex = settings.codex().await?;
        let spec = HostSpec::new(&codex, settings.codex_home(), settings.home.hosts_dir());
        Ok((start_host(spec).await?, codex))
    };
    let (host, codex) = unless_stopped(&mut stops, patiently("starting Codex", starting)).await?;
    stops.guard(&host);
    let turn = async {
        let starting = async {
            check_login(&host.get(), &codex).await?;
            start_session(&host, options, &settings, cwd).await
        };
        let mut session =
            unless_stopped(&mut stops, patiently("starting the conversation", starting)).await?;
        let say = Say { input, limit: options.timeout.or(settings.config.codex.turn_timeout) };
        let renderer = renderer(options, &session);
        let (answerer, lines) = match options.approve {
            Approve::Ask => person_or(Answerer::Nobody, renderer.as_ref()),
            Approve::Decline | Approve::All => (Answerer::Nobody, None),
        };
        conversation::run(&mut session, say, renderer, answerer, lines, &mut stops).await
    };
    let report = turn.await;
    end_host(&host.get(), report.as_ref().ok()).await;
    report
}

/// Ends Codex: politely after a turn that ended, at once after one that was left or lost.
pub(crate) async fn end_host(host: &Host, report: Option<&Report>) {
    match report.map(|report| &report.outcome) {
        Some(Outcome::Lost { .. }) => host.kill().await,
        _ => host.close().await,
    }
}

/// The outcome line of a turn that never began; it belongs to no session.
fn no_turn(trouble: &Trouble) -> String {
    let outcome = if trouble.exit == exit::INTERRUPTED {
        Outcome::Interrupted { by: Who::User }
    } else {
        Outcome::Failed { code: FailureCode::Other, message: trouble.summary() }
    };
    let report = Report::new(outcome, None, Usage::default(), 0);
    let report = Report { exit: trouble.exit, ..report };
    #[derive(Serialize)]
    struct Line<'a> {
        r#type: &'static str,
        session: Option<&'a str>,
        seq: u64,
        #[serde(flatten)]
        report: &'a Report,
    }
    let line = Line { r#type: "outcome", session: None, seq: 1, report: &report };
    // A report is plain data; it always has a JSON form.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

/// Starts a host, with words for people if it does not come up.
pub(crate) async fn start_host(spec: HostSpec) -> Result<CurrentHost, Trouble> {
    match Host::start(spec).await {
        Ok(host) => Ok(Arc::new(host).into()),
        Err(error) => {
            let code = if matches!(error, HostError::Spawn { .. }) { exit::CODEX } else { exit::FAILED };
            let step = error.next_step();
            Err(Trouble::new(code, "cannot start Codex").because(error).try_this(step))
        }
    }
}

/// Codex would find out only after minutes of retries that nobody is logged in.
async fn check_login(host: &Host, codex: &CodexBinary) -> Result<(), Trouble> {
    let account =
        host.account().await.map_err(|error| call_trouble("cannot ask Codex who is logged in", &error))?;
    if account.requires_openai_auth && account.account.is_none() {
        return Err(Trouble::new(exit::CODEX, "Codex is not logged in")
            .because("the configured model provider needs an OpenAI login, and there is none")
            .try_this(format!("{}, or try `talaria demo`, which needs no account", login_hint(codex))));
    }
    Ok(())
}

async fn start_session(
    host: &CurrentHost,
    options: &Exec,
    settings: &Settings,
    cwd: String,
) -> Result<Session, Trouble> {
    let config = &settings.config;
    // A mode that was typed is for this turn, so it goes before what the file says of sandbox and policy.
    let typed = options.mode.map(Mode::settings);
    let written = config.approvals.mode.map(Mode::settings);
    let answers = match options.approve {
        Approve::All => Answers::Everything,
        Approve::Decline => Answers::Person,
        Approve::Ask => typed.or(written).map_or(Answers::Person, |mode| mode.answers),
    };
    let start = ThreadStart {
        cwd,
        model: options.model.clone().or_else(|| config.model.default.clone()),
        sandbox: options
            .sandbox
            .or(typed.map(|mode| mode.sandbox))
            .or(config.codex.sandbox)
            .or(written.map(|mode| mode.sandbox)),
        approval_policy: options
            .approval
            .or(typed.map(|mode| mode.approval_policy))
            .or(config.codex.approval_policy)
            .or(written.map(|mode| mode.approval_policy)),
        ..ThreadStart::default()
    };
    let turns = session::Options {
        effort: options.effort.clone().or_else(|| config.model.effort.clone()),
        quiet_after: Some(config.codex.idle_warning.unwrap_or(QUIET)),
        rules: config.approvals.rules.clone(),
        answers,
        ..session::Options::default()
    };
    Session::start(host.clone(), start, turns).await.map_err(|error| no_conversation(&error))
}

/// A conversation that did not start, with words for people.
pub(crate) fn no_conversation(error: &ThreadError) -> Trouble {
    Trouble::new(exit::FAILED, "Codex did not start the conversation")
        .because(error)
        .try_this(error.next_step())
}

/// A request that got no usable answer, with words for people.
fn call_trouble(what: &str, error: &CallError) -> Trouble {
    Trouble::new(exit::FAILED, what).because(error).try_this("run `talaria doctor` to check the installation")
}

fn renderer(options: &Exec, session: &Session) -> Box<dyn Renderer + Send> {
    if options.json {
        Box::new(JsonLines::new(io::stdout(), session.id()))
    } else if options.quiet {
        Box::new(Quiet::new(io::stdout(), look::of_stdout()))
    } else {
        Box::new(Terminal::new(io::stdout(), look::of_stdout()))
    }
}

/// A person is asked only where the question can be seen and the answer typed.
pub(crate) fn person_or(otherwise: Answerer, renderer: &dyn Renderer) -> (Answerer, Option<Lines>) {
    match renderer.can_ask().then(Keyboard::open).flatten() {
        Some((keyboard, lines)) => (Answerer::Person(keyboard), Some(lines)),
        None => (otherwise, None),
    }
}
