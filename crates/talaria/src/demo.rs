//! `talaria demo`: a real Codex turn through Talaria, on a scripted model. No account, nothing leaves the machine.
//!
//! Engine and Codex get separate homes, so the user's are neither read nor written, and the engine ends with the
//! demo. The files of the demo are kept for inspection.

use std::io;
use std::path::{Path, PathBuf};

use talaria_codex::locate::{CodexBinary, CodexOrigin, LocateError, locate};
use talaria_core::api::{Kind, LocalCaller, NewSession, NewTurn, SessionStarted, Stop};
use talaria_core::input::InputPart;
use talaria_core::policy::{Answers, ApprovalPolicy, Sandbox};
use talaria_home::home::{TalariaHome, ensure_dir};
use talaria_scripted::ScriptedModel;
use talaria_server::client::Client;

use crate::conversation::{self, Bond, End, Followed};
use crate::exec::person_or;
use crate::face::Answerer;
use crate::output::print_lines;
use crate::progress::with_progress;
use crate::settings::{Settings, codex_trouble, version_note};
use crate::setup::install_pinned;
use crate::stop::wait_until_gone;
use crate::stops::{Stops, stopped, unless_stopped};
use crate::trouble::{Trouble, complain, exit};
use crate::{caller, engine, look};
use talaria_render::TerminalRenderer;

mod script;

const STOPPED: &str = "the demo was stopped before its turn started";

pub(crate) async fn run() -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    let settings = Settings::load()?.accept()?;
    let codex = unless_stopped(&mut stops, find_or_fetch(&settings), stopped(STOPPED)).await?;
    let place = DemoFolders::create(&settings.home)?;
    let model = start_model(&place).await?;
    introduce(&codex, &model)?;
    let home = TalariaHome::resolve(Some(place.talaria_home.clone().into_os_string()), None)
        .map_err(|error| cannot_prepare(&error).try_this(error.next_step()))?;
    let client = unless_stopped(&mut stops, engine::reach(&home), stopped(STOPPED)).await?;
    let told = tell(&client, &codex, &place, &mut stops).await;
    end(&client).await;
    let End { exit: code, started, .. } = told?;
    conclude(&place, started.and_then(|started| started.path).as_deref())?;
    Ok(code)
}

/// Ends the engine of the demo, and with it everything that it started.
async fn end(client: &Client) {
    let ending = async {
        if let Err(error) = client.stop(Stop::default()).await {
            complain(&format!("warning: the engine of the demo did not end: {error}\n"));
        }
        wait_until_gone(client).await;
    };
    with_progress("ending the demo", ending).await;
}

async fn find_or_fetch(settings: &Settings) -> Result<CodexBinary, Trouble> {
    match locate(&settings.search()).await {
        Ok(codex) => {
            if let Some(note) = version_note(&codex.version) {
                complain(&format!("warning: {note}\n"));
            }
            Ok(codex)
        }
        Err(LocateError::NotFound { .. }) => {
            complain("Codex is not on PATH; fetching it with npm. This happens once.\n");
            Ok(install_pinned(&settings.home).await?.binary().clone())
        }
        Err(error) => Err(codex_trouble(&error)),
    }
}

/// Where the demo keeps its things.
struct DemoFolders {
    root: PathBuf,
    talaria_home: PathBuf,
    codex_home: PathBuf,
    work: PathBuf,
}

impl DemoFolders {
    fn create(home: &TalariaHome) -> Result<Self, Trouble> {
        let root = home.demo_dir().join(talaria_codex::conversation::new_id().to_string());
        let (talaria_home, codex_home) = (root.join("home"), root.join("codex-home"));
        let place = Self { talaria_home, codex_home, work: root.join("work"), root };
        for directory in [&place.talaria_home, &place.codex_home, &place.work] {
            ensure_dir(directory).map_err(|error| cannot_prepare(&error).try_this(error.next_step()))?;
        }
        write(&place.work.join("greeting.txt"), script::GREETING)?;
        Ok(place)
    }
}

fn cannot_prepare(cause: &dyn std::fmt::Display) -> Trouble {
    Trouble::new(exit::FAILED, "cannot prepare the demo").because(cause)
}

fn write(path: &Path, text: &str) -> Result<(), Trouble> {
    std::fs::write(path, text).map_err(|error| cannot_prepare(&format!("{}: {error}", path.display())))
}

async fn start_model(place: &DemoFolders) -> Result<ScriptedModel, Trouble> {
    let model = ScriptedModel::start().await.map_err(|error| cannot_prepare(&error))?;
    model.route(|request| Some(script::reply(request)));
    write(&place.codex_home.join("config.toml"), &script::codex_config(&model.base_url()))?;
    Ok(model)
}

fn introduce(codex: &CodexBinary, model: &ScriptedModel) -> Result<(), Trouble> {
    let origin = match codex.origin {
        CodexOrigin::Configured => "named in the configuration",
        CodexOrigin::Path => "found on PATH",
        CodexOrigin::Installed => "installed by Talaria",
    };
    print_lines(&format!(
        "Talaria demo: a real turn of Codex {}, {origin}.\n\
         The model is scripted: its words were written in advance and come from\n\
         {}. No account is needed, and nothing leaves this machine.\n\n\
         > {}\n\n",
        codex.version,
        model.base_url(),
        script::PROMPT,
    ))
}

/// Runs the turn.
async fn tell(
    client: &Client,
    codex: &CodexBinary,
    place: &DemoFolders,
    stops: &mut Stops,
) -> Result<End, Trouble> {
    let new = NewSession {
        kind: Kind::Exec,
        cwd: place.work.display().to_string(),
        model: None,
        sandbox: Some(Sandbox::WorkspaceWrite),
        approval: Some(ApprovalPolicy::Untrusted),
        turn: NewTurn {
            input: vec![InputPart::Text { text: script::PROMPT.to_owned() }],
            answers: Some(Answers::Person),
            caller: LocalCaller {
                codex: Some(codex.path.display().to_string()),
                codex_home: Some(place.codex_home.display().to_string()),
                ..caller::describe()
            },
            ..NewTurn::default()
        },
    };
    let starting = async {
        let started = client.start_session(&new).await;
        started.map_err(|error| engine::refused("cannot start the demo", &error))
    };
    let started = unless_stopped(stops, with_progress("starting Codex", starting), stopped(STOPPED)).await?;
    let SessionStarted { id: session, turn, after, .. } = started;
    let followed = Followed { client, session, turn, after, past: after, bond: Bond::Demo };
    let renderer = Box::new(TerminalRenderer::new(io::stdout(), look::of_stdout()));
    let answerer = person_or(Answerer::Demo, renderer.as_ref());
    conversation::run(&followed, renderer, answerer, stops).await
}

/// How to call this program from here: by its name if that finds it, else by its path.
fn program() -> String {
    let this = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_this =
        |directory: PathBuf| directory.join("talaria").canonicalize().is_ok_and(|found| found == this);
    if this.as_os_str().is_empty() || std::env::split_paths(&path).any(is_this) {
        return "talaria".to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    this.strip_prefix(&here).unwrap_or(&this).display().to_string()
}

fn conclude(place: &DemoFolders, transcript: Option<&str>) -> Result<(), Trouble> {
    let mut stored = vec![("files", place.work.display().to_string())];
    // Codex writes it with the first turn; a turn that was left early may have none.
    let written = transcript.filter(|path| Path::new(path).is_file());
    stored.extend(written.map(|path| ("transcript", path.to_owned())));
    stored.push(("everything", place.root.display().to_string()));
    let stored: String = stored.iter().map(|(what, path)| format!("  {what:<11} {path}\n")).collect();
    let program = program();
    print_lines(&format!(
        "\nWhere it is stored:\n{stored}\n\
         Try next:\n  \
         {program} doctor                        check Codex, its login and the sandbox\n  \
         {program} exec \"explain this repo\"      a turn with your own Codex login\n  \
         {program} exec --json \"say hello\"       the same for scripts, one event a line\n",
    ))
}
