//! `talaria exec`: one turn of Codex, streamed. The turn runs in the engine; this sends it there and shows it.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use serde::Serialize;
use talaria_core::api::{Kind, NewTurn, SessionDetail, SessionStarted};
use talaria_core::event::Usage;
use talaria_core::ids::SessionId;
use talaria_core::json_line::json_line;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::policy::Answers;
use talaria_core::request::Who;
use talaria_core::wire::call::UserInput;
use talaria_engine::codex::locate::{CodexBinary, Origin};
use talaria_server::client::Client;

use crate::args::{Approve, Exec};
use crate::conversation::{self, Bond, Followed};
use crate::engine::{self, refused_id};
use crate::face::{Answerer, Face};
use crate::input::Silence;
use crate::keyboard::{Keyboard, Lines};
use crate::last_open::LastOpen;
use crate::output::print;
use crate::patience::patiently;
use crate::settings::{Settings, login_hint};
use crate::stops::{Stops, unless_stopped};
use crate::trouble::{Trouble, complain, exit};
use crate::wanted::Wanted;
use crate::{caller, input, look};
use talaria_face::render::{JsonLines, Quiet, Renderer, Terminal, complaint};

/// After how much silence a person is told for the first time, unless the configuration says otherwise.
pub(crate) const QUIET: Duration = Duration::from_secs(120);

/// Runs the command. The number is the exit code.
pub(crate) async fn run(options: Exec) -> Result<u8, Trouble> {
    let result = match &options.attach {
        Some(id) => attach(&options, id).await,
        None => run_turn(&options).await,
    };
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
    let silence = if options.stdin { Silence::ToTheEnd } else { Silence::Briefly };
    let input = input::for_exec(options.prompt.as_deref(), silence, &options.image)?;
    let mut stops = Stops::listen()?;
    let cwd = input::working_directory(options.cwd.as_deref())?;
    let settings = Settings::load()?.accept()?;
    let starting = async {
        let codex = settings.codex().await?;
        let turn = turn(options, &settings, &codex, input);
        let client = engine::reach(&settings.home).await?;
        let started = start(&client, options, &settings, cwd, turn).await?;
        let login = (codex.origin != Origin::Path).then(|| login_hint(&codex));
        Ok((client, started, login))
    };
    let (client, started, login) =
        unless_stopped(&mut stops, patiently("starting the turn", starting)).await?;
    let SessionStarted { id: session, turn, after, .. } = started;
    LastOpen::in_home(settings.home.root()).note(&session);
    let followed = Followed { client: &client, session, turn, after, past: after, login, bond: Bond::Owner };
    follow(options, &followed, &mut stops).await
}

/// Follows a turn that was started elsewhere.
async fn attach(options: &Exec, id: &str) -> Result<Report, Trouble> {
    if options.approve == Approve::All {
        return Err(Trouble::new(exit::USAGE, "`--approve all` cannot be said to a turn that runs already")
            .try_this("use `--approve ask`, `wait` or `decline`"));
    }
    let mut stops = Stops::listen()?;
    let settings = Settings::load()?.accept()?;
    let looking = async {
        let client = engine::reach(&settings.home).await?;
        match client.session(id).await {
            Ok(detail) => Ok((client, detail)),
            Err(error) => Err(refused_id("cannot follow this conversation", &error)),
        }
    };
    let (client, detail) = unless_stopped(&mut stops, patiently("looking for the turn", looking)).await?;
    let session = detail.info.id.clone();
    LastOpen::in_home(settings.home.root()).note(&session);
    match detail.turns.iter().rev().find(|turn| turn.outcome.is_none()) {
        Some(turn) => {
            let (turn, past) = (turn.turn, detail.info.last_seq);
            let bond = Bond::Owner;
            let followed = Followed { client: &client, session, turn, after: 0, past, login: None, bond };
            follow(options, &followed, &mut stops).await
        }
        None => show_last(options, &detail),
    }
}

/// Nothing runs: says so, and how it ended the last time.
fn show_last(options: &Exec, detail: &SessionDetail) -> Result<Report, Trouble> {
    let id = &detail.info.id;
    let last = detail.turns.last();
    let took =
        last.and_then(|turn| Duration::try_from(turn.settled_at?.duration_since(turn.created_at)).ok());
    let Some(report) = last.and_then(|turn| turn.outcome.clone()) else {
        return Err(Trouble::new(exit::FAILED, format!("nothing runs on {id}, and nothing ever did"))
            .try_this(format!("talaria exec --resume {id} \"…\" starts a turn")));
    };
    complain(&format!("nothing runs on {id}; its last turn ended like this:\n"));
    let (wishes, _) = tokio::sync::mpsc::unbounded_channel();
    let mut face = Face::new(renderer(options, id), Answerer::Elsewhere, 0, wishes);
    face.show_ended(&report, took);
    Ok(report)
}

async fn follow(options: &Exec, followed: &Followed<'_>, stops: &mut Stops) -> Result<Report, Trouble> {
    let renderer = renderer(options, &followed.session);
    let (answerer, lines) = match options.approve {
        // A turn that was started elsewhere is not refused anything because nobody looks on here.
        Approve::Ask if options.attach.is_some() => person_or(Answerer::Elsewhere, renderer.as_ref()),
        Approve::Ask => person_or(Answerer::Nobody, renderer.as_ref()),
        Approve::Wait => (Answerer::Elsewhere, None),
        Approve::Decline | Approve::All => (Answerer::Nobody, None),
    };
    Ok(conversation::run(followed, renderer, answerer, lines, stops).await?.report)
}

/// What was typed about model and permissions.
fn wanted(options: &Exec) -> Wanted {
    let Exec { sandbox, approval, mode, .. } = *options;
    Wanted { model: options.model.clone(), effort: options.effort.clone(), sandbox, approval, mode }
}

/// The turn as it was typed and configured.
fn turn(options: &Exec, settings: &Settings, codex: &CodexBinary, input: Vec<UserInput>) -> NewTurn {
    let config = &settings.config;
    let wanted = wanted(options);
    let answers = match options.approve {
        Approve::All => Answers::Everything,
        Approve::Decline | Approve::Wait => Answers::Person,
        Approve::Ask => wanted.answers(config),
    };
    NewTurn {
        input,
        model: None,
        effort: wanted.effort(config),
        limit_ms: options.timeout.or(config.codex.turn_timeout).map(milliseconds),
        quiet_after_ms: Some(milliseconds(config.codex.idle_warning.unwrap_or(QUIET))),
        answers,
        caller: caller::describe(codex, settings.codex_home()),
    }
}

/// Hands the turn to the engine: a further one of a conversation, or the first of a new one.
async fn start(
    client: &Client,
    options: &Exec,
    settings: &Settings,
    cwd: String,
    turn: NewTurn,
) -> Result<SessionStarted, Trouble> {
    if let Some(id) = &options.resume {
        // A conversation keeps its model; only what was typed asks for another.
        let turn = NewTurn { model: options.model.clone(), ..turn };
        return match client.start_turn(id, &turn).await {
            Ok(started) => Ok(started),
            Err(error) => Err(refused_id("cannot go on with this conversation", &error)),
        };
    }
    let new = wanted(options).session(Kind::Exec, cwd, &settings.config, turn);
    client.start_session(&new).await.map_err(|error| engine::refused("cannot start the turn", &error))
}

/// The outcome line of a turn that never began; it belongs to no session.
fn no_turn(trouble: &Trouble) -> String {
    let outcome = if trouble.exit == exit::INTERRUPTED {
        Outcome::Interrupted { by: Who::User }
    } else {
        Outcome::Failed { code: FailureCode::Other, message: trouble.summary() }
    };
    let report = Report::new(outcome, None, Usage::default(), 0);
    // The same hint as in the text; where there is none, none is made up.
    let hint = Some(trouble.hint()).filter(|hint| !hint.is_empty()).map(|hint| Cow::Owned(hint.to_owned()));
    let report = Report { exit: trouble.exit, hint, ..report };
    #[derive(Serialize)]
    struct Line<'a> {
        r#type: &'static str,
        session: Option<&'a str>,
        seq: u64,
        #[serde(flatten)]
        report: &'a Report,
    }
    let line = Line { r#type: "outcome", session: None, seq: 1, report: &report };
    json_line(&line)
}

fn renderer(options: &Exec, session: &SessionId) -> Box<dyn Renderer + Send> {
    if options.json {
        Box::new(JsonLines::new(io::stdout(), session))
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

/// A time as the engine is told it.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
