//! `talaria demo`: a real Codex turn through Talaria, on a scripted model. No account, nothing leaves the machine.
//!
//! Codex gets a home of its own, so the user's is neither read nor written. What the demo made stays, for looking at.

use std::io;
use std::path::{Path, PathBuf};

use talaria_core::outcome::Report;
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::wire::call::{ThreadStart, UserInput};
use talaria_engine::codex::current::CurrentHost;
use talaria_engine::codex::host::HostSpec;
use talaria_engine::codex::locate::{CodexBinary, LocateError, Origin, locate};
use talaria_engine::home::{TalariaHome, ensure_dir};
use talaria_engine::session::{Options, Session};
use talaria_scripted::ScriptedModel;

use crate::conversation::{self, Say};
use crate::exec::{end_host, no_conversation, person_or, start_host};
use crate::face::Answerer;
use crate::look;
use crate::output::print;
use crate::patience::patiently;
use crate::render::Terminal;
use crate::settings::{Settings, codex_trouble, version_note};
use crate::setup::install_pinned;
use crate::stops::{Stops, unless_stopped};
use crate::trouble::{Trouble, complain, exit};

mod script;

/// Runs the command.
pub(crate) async fn run() -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    let settings = Settings::load()?.accept()?;
    let codex = unless_stopped(&mut stops, find_or_fetch(&settings)).await?;
    let place = Place::create(&settings.home)?;
    let model = start_model(&place).await?;
    introduce(&codex, &model)?;
    let spec = HostSpec::new(&codex, Some(place.codex_home.clone()), settings.home.hosts_dir());
    let host = unless_stopped(&mut stops, patiently("starting Codex", start_host(spec))).await?;
    stops.guard(&host);
    let told = tell(&host, &place, &mut stops).await;
    end_host(&host.get(), told.as_ref().ok().map(|(report, _)| report)).await;
    let (report, transcript) = told?;
    conclude(&place, transcript.as_deref())?;
    Ok(report.exit)
}

async fn find_or_fetch(settings: &Settings) -> Result<CodexBinary, Trouble> {
    match locate(&settings.search()).await {
        Ok(codex) => {
            if let Some(note) = version_note(&codex) {
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
struct Place {
    root: PathBuf,
    codex_home: PathBuf,
    work: PathBuf,
}

impl Place {
    fn create(home: &TalariaHome) -> Result<Self, Trouble> {
        let root = home.demo_dir().join(talaria_engine::session::new_id().to_string());
        let place = Self { codex_home: root.join("codex-home"), work: root.join("work"), root };
        for directory in [&place.codex_home, &place.work] {
            ensure_dir(directory).map_err(|error| cannot_prepare(&error).try_this(error.hint()))?;
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

async fn start_model(place: &Place) -> Result<ScriptedModel, Trouble> {
    let model = ScriptedModel::start().await.map_err(|error| cannot_prepare(&error))?;
    model.route(|request| Some(script::reply(request)));
    write(&place.codex_home.join("config.toml"), &script::codex_config(&model.base_url()))?;
    Ok(model)
}

fn introduce(codex: &CodexBinary, model: &ScriptedModel) -> Result<(), Trouble> {
    let origin = match codex.origin {
        Origin::Configured => "named in the configuration",
        Origin::Path => "found on PATH",
        Origin::Installed => "installed by Talaria",
    };
    print(&format!(
        "Talaria demo: a real turn of Codex {}, {origin}.\n\
         The model is scripted: its words were written in advance and come from\n\
         {}. No account is needed, and nothing leaves this machine.\n\n\
         > {}\n\n",
        codex.version,
        model.base_url(),
        script::PROMPT,
    ))
}

/// Runs the turn. Gives how it ended, and the file in which Codex keeps the conversation.
async fn tell(
    host: &CurrentHost,
    place: &Place,
    stops: &mut Stops,
) -> Result<(Report, Option<String>), Trouble> {
    let start = ThreadStart {
        cwd: place.work.display().to_string(),
        sandbox: Some(Sandbox::WorkspaceWrite),
        approval_policy: Some(ApprovalPolicy::Untrusted),
        ..ThreadStart::default()
    };
    let starting = async {
        let started = Session::start(host.clone(), start, Options::default()).await;
        started.map_err(|error| no_conversation(&error))
    };
    let mut session = unless_stopped(stops, starting).await?;
    let say = Say { input: vec![UserInput::Text { text: script::PROMPT.to_owned() }], limit: None };
    let renderer = Box::new(Terminal::new(io::stdout(), look::of_stdout()));
    let (answerer, lines) = person_or(Answerer::Demo, renderer.as_ref());
    let report = conversation::run(&mut session, say, renderer, answerer, lines, stops).await?;
    Ok((report, session.started().path.clone()))
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

fn conclude(place: &Place, transcript: Option<&str>) -> Result<(), Trouble> {
    let mut stored = vec![("files", place.work.display().to_string())];
    // Codex writes it with the first turn; a turn that was left early may have none.
    let written = transcript.filter(|path| Path::new(path).is_file());
    stored.extend(written.map(|path| ("transcript", path.to_owned())));
    stored.push(("everything", place.root.display().to_string()));
    let stored: String = stored.iter().map(|(what, path)| format!("  {what:<11} {path}\n")).collect();
    let program = program();
    print(&format!(
        "\nWhere it is stored:\n{stored}\n\
         Try next:\n  \
         {program} doctor                        check Codex, its login and the sandbox\n  \
         {program} exec \"explain this repo\"      a turn with your own Codex login\n  \
         {program} exec --json \"say hello\"       the same for scripts, one event a line\n",
    ))
}
