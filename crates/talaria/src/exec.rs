//! `talaria exec`: one turn of Codex, streamed.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use talaria_core::wire::call::{ThreadStart, UserInput};
use talaria_engine::codex::client::CallError;
use talaria_engine::codex::host::{Host, HostError, HostSpec};
use talaria_engine::session::Session;
use tokio::sync::mpsc;

use crate::args::{Approve, Exec};
use crate::conversation::{self, Say, Stops, unless_stopped};
use crate::face::Answerer;
use crate::keyboard::{Keyboard, TypedLine};
use crate::look;
use crate::patience::patiently;
use crate::render::{JsonLines, Quiet, Renderer, Terminal, complaint};
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

/// The longest input that Codex takes, in characters.
const INPUT_LIMIT: usize = 1_048_576;

/// Runs the command. The number is the exit code.
pub(crate) async fn run(options: Exec) -> Result<u8, Trouble> {
    // Before signals are taken over: Ctrl-C must end a wait for standard input.
    let input = input(&options)?;
    let mut stops = Stops::listen()?;
    let cwd = working_directory(options.cwd.as_deref())?;
    let settings = Settings::load()?.accept()?;
    let starting = async {
        let codex = settings.codex().await?;
        start_host(HostSpec::new(&codex, settings.codex_home(), settings.home.hosts_dir())).await
    };
    let host = unless_stopped(&mut stops, patiently("starting Codex", starting)).await?;
    let turn = async {
        let starting = async {
            check_login(&host).await?;
            start_session(&host, &options, &settings, cwd).await
        };
        let mut session =
            unless_stopped(&mut stops, patiently("starting the conversation", starting)).await?;
        let say = Say { input, limit: options.timeout.or(settings.config.codex.turn_timeout) };
        let renderer = renderer(&options, &session);
        let (answerer, lines) = match options.approve {
            Approve::Ask => person_or(Answerer::Nobody, renderer.as_ref()),
            Approve::Decline => (Answerer::Nobody, None),
        };
        conversation::run(&mut session, say, renderer, answerer, lines, &mut stops).await
    };
    let report = end_host(&host, turn.await).await?;
    if options.quiet {
        complain(&complaint(&report));
    }
    Ok(report.exit)
}

/// Ends Codex: politely after a turn, at once when the turn was left.
pub(crate) async fn end_host<T>(host: &Host, turn: Result<T, Trouble>) -> Result<T, Trouble> {
    match &turn {
        Ok(_) => host.close().await,
        Err(_) => host.kill(),
    }
    turn
}

fn input(options: &Exec) -> Result<Vec<UserInput>, Trouble> {
    let text = if options.prompt == "-" { read_prompt()? } else { options.prompt.clone() };
    if text.trim().is_empty() {
        return Err(Trouble::new(exit::USAGE, "the prompt is empty")
            .try_this("say what Codex should do: talaria exec \"explain this repo\""));
    }
    let length = text.chars().count();
    if length > INPUT_LIMIT {
        return Err(too_long(length.to_string()));
    }
    let mut input = vec![UserInput::Text { text }];
    for image in &options.image {
        input.push(UserInput::LocalImage { path: image_path(image)? });
    }
    Ok(input)
}

fn too_long(length: String) -> Trouble {
    Trouble::new(exit::USAGE, format!("the prompt is too long: {length} characters"))
        .because(format!("Codex takes at most {INPUT_LIMIT}"))
        .try_this("put the text into a file and ask Codex to read it")
}

/// Reads standard input, but never more than could be a prompt.
fn read_prompt() -> Result<String, Trouble> {
    let unreadable = |error: io::Error| {
        Trouble::new(exit::USAGE, "cannot read the prompt from standard input").because(error)
    };
    let longest = INPUT_LIMIT * 4;
    let mut bytes = Vec::new();
    io::stdin().lock().take(longest as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > longest {
        return Err(too_long(format!("more than {INPUT_LIMIT}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        Trouble::new(exit::USAGE, "the prompt on standard input is not text")
            .because(format!("byte {} is not valid UTF-8", error.utf8_error().valid_up_to() + 1))
            .try_this("save it to a file and ask Codex to read it")
    })
}

fn image_path(image: &Path) -> Result<String, Trouble> {
    let trouble = |cause: String| {
        Trouble::new(exit::USAGE, format!("cannot use the image {}", image.display())).because(cause)
    };
    let path = image.canonicalize().map_err(|error| trouble(error.to_string()))?;
    if !path.is_file() {
        return Err(trouble("it is not a file".to_owned()));
    }
    std::fs::File::open(&path).map_err(|error| trouble(error.to_string()))?;
    path.into_os_string().into_string().map_err(|_| trouble("its path is not valid UTF-8".to_owned()))
}

fn working_directory(cwd: Option<&Path>) -> Result<String, Trouble> {
    let wanted = cwd.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let trouble = |cause: String| {
        let what = format!("cannot work in {}", wanted.display());
        Trouble::new(exit::USAGE, what).because(cause).try_this("name a directory that exists with --cwd")
    };
    let path = wanted.canonicalize().map_err(|error| trouble(error.to_string()))?;
    if !path.is_dir() {
        return Err(trouble("it is not a directory".to_owned()));
    }
    path.into_os_string().into_string().map_err(|_| trouble("its path is not valid UTF-8".to_owned()))
}

/// Starts a host, with words for people if it does not come up.
pub(crate) async fn start_host(spec: HostSpec) -> Result<Arc<Host>, Trouble> {
    match Host::start(spec).await {
        Ok(host) => Ok(Arc::new(host)),
        Err(error) => {
            let code = if matches!(error, HostError::Spawn { .. }) { exit::CODEX } else { exit::FAILED };
            Err(Trouble::new(code, "cannot start Codex")
                .because(error)
                .try_this("run `talaria doctor` to see what is wrong"))
        }
    }
}

/// Codex would find out only after minutes of retries that nobody is logged in.
async fn check_login(host: &Host) -> Result<(), Trouble> {
    let account =
        host.account().await.map_err(|error| call_trouble("cannot ask Codex who is logged in", &error))?;
    if account.requires_openai_auth && account.account.is_none() {
        return Err(Trouble::new(exit::CODEX, "Codex is not logged in")
            .because("the configured model provider needs an OpenAI login, and there is none")
            .try_this("run `codex login`, or try `talaria demo`, which needs no account"));
    }
    Ok(())
}

async fn start_session(
    host: &Arc<Host>,
    options: &Exec,
    settings: &Settings,
    cwd: String,
) -> Result<Session, Trouble> {
    let config = &settings.config;
    let start = ThreadStart {
        cwd,
        model: options.model.clone().or_else(|| config.model.default.clone()),
        sandbox: options.sandbox.or(config.codex.sandbox),
        approval_policy: options.approval.or(config.codex.approval_policy),
        config: serde_json::Map::new(),
    };
    let effort = options.effort.clone().or_else(|| config.model.effort.clone());
    Session::start(Arc::clone(host), start, effort)
        .await
        .map_err(|error| call_trouble("Codex did not start the conversation", &error))
}

/// A request that got no usable answer, with words for people.
pub(crate) fn call_trouble(what: &str, error: &CallError) -> Trouble {
    let code = match error {
        CallError::Gone { .. } | CallError::TimedOut { .. } => 7,
        CallError::Refused { .. } | CallError::Shape { .. } => exit::FAILED,
    };
    Trouble::new(code, what).because(error).try_this("run `talaria doctor` to check the installation")
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

type Lines = mpsc::UnboundedReceiver<TypedLine>;

/// A person is asked only where the question can be seen and the answer typed.
pub(crate) fn person_or(otherwise: Answerer, renderer: &dyn Renderer) -> (Answerer, Option<Lines>) {
    match renderer.can_ask().then(Keyboard::open).flatten() {
        Some((keyboard, lines)) => (Answerer::Person(keyboard), Some(lines)),
        None => (otherwise, None),
    }
}
