//! `talaria exec`: one turn of Codex, streamed. The turn runs in the engine; this sends it there and shows it.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use serde::Serialize;
use talaria_core::api::{Kind, NewSession, NewTurn, SessionDetail, SessionStarted};
use talaria_core::event::Usage;
use talaria_core::ids::SessionId;
use talaria_core::input::InputPart;
use talaria_core::json_line::json_line;
use talaria_core::next_step::NextStep;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::policy::Answers;
use talaria_core::request::Who;
use talaria_server::client::{Client, ClientError};

use crate::args::{Approve, AskedSettings, Exec};
use crate::conversation::{self, Bond, End, Followed};
use crate::engine::{self, refused_id};
use crate::face::{Answerer, Face};
use crate::input::Silence;
use crate::keyboard::Keyboard;
use crate::last_open::LastOpen;
use crate::output::{for_people, print};
use crate::progress::with_progress;
use crate::settings::{Settings, warn_of_program};
use crate::stops::{Stops, unless_stopped};
use crate::trouble::{Trouble, complain, exit};
use crate::{caller, input, look};
use talaria_render::{JsonLines, Quiet, Renderer, complaint};

/// Runs the command. The number is the exit code.
pub(crate) async fn run(options: Exec) -> Result<u8, Trouble> {
    let result = match &options.attach {
        Some(id) => attach(&options, id).await,
        None => run_turn(&options).await,
    };
    // A program that reads JSON waits for an outcome, also when there was no turn.
    if let (Err(trouble), true) = (&result, options.json) {
        print(&no_turn(trouble))?;
    }
    result
}

async fn run_turn(options: &Exec) -> Result<u8, Trouble> {
    // Before signals are taken over: Ctrl-C must end a wait for standard input.
    let silence = if options.stdin { Silence::ToTheEnd } else { Silence::Briefly };
    let input = input::for_exec(options.prompt.as_deref(), silence, &options.image)?;
    let mut stops = Stops::listen()?;
    let cwd = input::working_directory(options.asked.cwd.as_deref())?;
    let settings = Settings::load()?.accept()?;
    let handed = Cell::new(false);
    let starting = async {
        let client = engine::reach(&settings.home).await?;
        handed.set(true);
        let started = start(&client, options, cwd, turn(options, input)).await?;
        Ok((client, started))
    };
    let (client, started) = unless_stopped(&mut stops, with_progress("starting the turn", starting), || {
        stopped_early(handed.get())
    })
    .await?;
    let SessionStarted { id: session, turn, after, codex, .. } = started;
    warn_of_program(codex.as_ref());
    LastOpen::in_home(settings.home.root()).note(&session);
    let followed = Followed { client: &client, session, turn, after, past: after, bond: Bond::Owner };
    follow(options, &followed, &mut stops).await
}

/// Follows a turn that was started elsewhere.
async fn attach(options: &Exec, id: &str) -> Result<u8, Trouble> {
    if options.approve == Approve::All {
        return Err(Trouble::new(
            exit::USAGE,
            "`--approve all` cannot be used for a turn that is already running",
        )
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
    let looking = with_progress("looking for the turn", looking);
    let stopped = || Trouble::new(exit::INTERRUPTED, "stopped before the conversation was found");
    let (client, detail) = unless_stopped(&mut stops, looking, stopped).await?;
    let session = detail.info.id.clone();
    LastOpen::in_home(settings.home.root()).note(&session);
    // The first: those after it wait for its end.
    match detail.turns.iter().find(|turn| turn.outcome.is_none()) {
        Some(turn) => {
            let (turn, past) = (turn.turn, detail.info.last_seq);
            let bond = Bond::Owner;
            let followed = Followed { client: &client, session, turn, after: 0, past, bond };
            follow(options, &followed, &mut stops).await
        }
        None => show_last(options, &detail),
    }
}

/// Nothing runs: says so, and how it ended the last time.
fn show_last(options: &Exec, detail: &SessionDetail) -> Result<u8, Trouble> {
    let (id, name) = (&detail.info.id, detail.info.id.short());
    let last = detail.turns.last();
    let took = last.and_then(|turn| Duration::try_from(turn.settled_at?.duration_since(turn.sent_at?)).ok());
    let Some(report) = last.and_then(|turn| turn.outcome.clone()) else {
        return Err(Trouble::new(exit::FAILED, format!("no turn is running in {name}, and none ever ran"))
            .try_this(format!("talaria exec --resume {name} \"…\" starts a turn")));
    };
    complain(&format!("no turn is running in {name}; its last turn ended like this:\n"));
    let mut face = Face::new(renderer(options, id), Answerer::Elsewhere, 0);
    face.show_ended(&report, took);
    if options.quiet {
        complain(&complaint(&report));
    }
    Ok(report.exit_code())
}

async fn follow(options: &Exec, followed: &Followed<'_>, stops: &mut Stops) -> Result<u8, Trouble> {
    let renderer = renderer(options, &followed.session);
    let answerer = match options.approve {
        // A turn that was started elsewhere is not refused anything because it is not watched here.
        Approve::Ask if options.attach.is_some() => person_or(Answerer::Elsewhere, renderer.as_ref()),
        Approve::Ask => person_or(Answerer::Nobody, renderer.as_ref()),
        Approve::Wait => Answerer::Elsewhere,
        Approve::Decline | Approve::All => Answerer::Nobody,
    };
    let End { report, exit, has_left, .. } = conversation::run(followed, renderer, answerer, stops).await?;
    // Why it was left has been said, and how the turn ends is not known.
    if options.quiet && !has_left {
        complain(&complaint(&report));
    }
    Ok(exit)
}

/// The turn as it was typed.
fn turn(options: &Exec, input: Vec<InputPart>) -> NewTurn {
    let answers = match options.approve {
        Approve::All => Some(Answers::Everything),
        Approve::Decline | Approve::Wait => Some(Answers::Person),
        Approve::Ask => None,
    };
    NewTurn {
        input,
        provider: options.asked.provider.clone(),
        runtime: options.asked.runtime,
        model: options.asked.model.clone(),
        effort: options.asked.effort.clone(),
        limit_ms: options.timeout.map(milliseconds),
        quiet_after_ms: None,
        answers,
        mode: options.asked.mode,
        caller: caller::describe(),
    }
}

/// Hands the turn to the engine: a further one of a conversation, or the first of a new one.
async fn start(
    client: &Client,
    options: &Exec,
    cwd: String,
    turn: NewTurn,
) -> Result<SessionStarted, Trouble> {
    if let Some(id) = &options.resume {
        return match client.start_turn(id, &turn).await {
            Ok(started) => Ok(started),
            Err(error @ ClientError::Broken(_)) => Err(not_confirmed("cannot resume it", &error)),
            Err(error) => Err(refused_id("cannot resume this conversation", &error)),
        };
    }
    let AskedSettings { sandbox, approval, .. } = options.asked;
    let new = NewSession { kind: Kind::Exec, cwd, model: None, sandbox, approval, turn };
    client.start_session(&new).await.map_err(|error| not_confirmed("cannot start the turn", &error))
}

/// How to find out whether a turn began that was handed to the engine.
const LOOK: &str = "`talaria status` shows what is running";

/// The engine did not take the turn, or the connection broke before it said so.
fn not_confirmed(what: &str, error: &ClientError) -> Trouble {
    let trouble = engine::not_done(what, error, LOOK);
    match error {
        ClientError::Broken(_) => trouble.exiting(exit::LOST),
        _ => trouble,
    }
}

/// The person stopped it before the engine confirmed the turn.
fn stopped_early(was_handed: bool) -> Trouble {
    if !was_handed {
        return Trouble::new(exit::INTERRUPTED, "stopped before the turn started");
    }
    Trouble::new(exit::LOST, "stopped before the engine confirmed the turn")
        .because("it may have started")
        .try_this(LOOK)
}

/// The outcome line of a turn that never began, or of which nothing more is known; it belongs to no session.
fn no_turn(trouble: &Trouble) -> String {
    let outcome = match trouble.exit {
        exit::INTERRUPTED => Outcome::Interrupted { by: Who::User },
        // The engine may have begun it.
        exit::LOST | exit::TERMINATED | exit::HUNG_UP => Outcome::Lost { why: trouble.summary() },
        exit::CODEX => Outcome::Failed { code: FailureCode::Codex, message: trouble.summary() },
        _ => Outcome::Failed { code: FailureCode::Other, message: trouble.summary() },
    };
    let report = Report::new(outcome, None, Usage::default(), 0);
    // The same hint as in the text; where there is none, none is made up.
    let hint = trouble.next_step().map(NextStep::in_shell);
    let next_step = trouble.next_step().and_then(NextStep::as_data);
    let report = Report { hint, next_step, ..report };
    #[derive(Serialize)]
    struct OutcomeLine<'a> {
        r#type: &'static str,
        session: Option<&'a str>,
        seq: u64,
        #[serde(flatten)]
        report: &'a Report,
        exit: u8,
    }
    let line = OutcomeLine { r#type: "outcome", session: None, seq: 1, report: &report, exit: trouble.exit };
    json_line(&line)
}

fn renderer(options: &Exec, session: &SessionId) -> Box<dyn Renderer + Send> {
    if options.json {
        Box::new(JsonLines::new(io::stdout(), session))
    } else if options.quiet {
        Box::new(Quiet::new(io::stdout(), look::of_stdout()))
    } else {
        for_people()
    }
}

/// A person is asked only where the question can be seen and the answer typed.
pub(crate) fn person_or(otherwise: Answerer, renderer: &dyn Renderer) -> Answerer {
    renderer.can_ask().then(Keyboard::open).flatten().map_or(otherwise, Answerer::Person)
}

/// A duration as the API has it.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_turn_that_may_have_begun_is_not_said_to_have_failed() {
        let line = |trouble: &Trouble| serde_json::from_str::<Value>(&no_turn(trouble)).unwrap();
        let broken = not_confirmed("cannot start the turn", &ClientError::Broken("closed".to_owned()));
        for unknown in [broken, stopped_early(true)] {
            let told = line(&unknown);
            assert_eq!((&told["outcome"], &told["exit"]), (&"lost".into(), &7.into()), "{told}");
            assert_eq!(told["hint"], LOOK);
        }
        let told = line(&stopped_early(false));
        assert_eq!((&told["outcome"], &told["exit"]), (&"interrupted".into(), &4.into()), "{told}");
        let told = line(&not_confirmed("cannot start the turn", &ClientError::Stopped));
        assert_eq!((&told["outcome"], &told["exit"]), (&"failed".into(), &1.into()), "{told}");
        let told = line(&Trouble::new(exit::CODEX, "Codex is missing"));
        assert_eq!((&told["code"], &told["exit"]), (&"codex".into(), &6.into()), "{told}");
    }
}
