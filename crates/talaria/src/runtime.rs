//! `talaria codex-runtime`: shows who runs the turns, and changes it. Starts no engine and migrates nothing.
//!
//! `talaria_core::runtime` decides; here the facts are gathered, each at most once, and the file is changed.

mod look;
mod page;

use serde_json::json;
use talaria_codex::locate::{CodexBinary, LocateError, locate};
use talaria_core::edit::{self, KeyPath};
use talaria_core::json_line::json_line;
use talaria_core::next_step::NextStep;
use talaria_core::runtime::{Facts, KEY, RuntimeChoice, SwitchDecision, decide, needs_codex};

use crate::args::CodexRuntime;
use crate::config::{FIRST_LINE, Form, lock, replace, text_trouble};
use crate::engine::{self, refused};
use crate::output::print;
use crate::progress::with_progress;
use crate::settings::{Settings, codex_trouble};
use crate::stops::{Stops, stopped, unless_stopped};
use crate::trouble::{Trouble, exit};
use talaria_render::plain;

pub(crate) async fn run(options: &CodexRuntime) -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    print(
        &unless_stopped(&mut stops, show_or_switch(options), stopped("stopped; nothing was changed")).await?,
    )?;
    Ok(0)
}

/// Shows or changes it, and returns the text for it.
pub(crate) async fn show_or_switch(options: &CodexRuntime) -> Result<String, Trouble> {
    let settings = Settings::load()?;
    let current = current(&settings);
    let codex =
        if needs_codex(current, options.wanted) { Some(locate(&settings.search()).await) } else { None };
    let is_change = options.wanted.is_some_and(|wanted| Some(wanted) != current);
    let running = if is_change { running(&settings).await? } else { Vec::new() };
    let found = codex.as_ref().map(Result::is_ok);
    match decide(Facts { current, wanted: options.wanted, codex: found, running: &running }) {
        SwitchDecision::Report => {
            let state = look::state(&settings, current, codex).await;
            Ok(if options.json { page::json(&state) } else { page::text(&state) })
        }
        SwitchDecision::Unchanged(choice) => {
            Ok(done(&settings, choice, current, found != Some(false), options.json.into()))
        }
        SwitchDecision::NoCodex => Err(no_codex(codex)),
        SwitchDecision::TurnsRun => Err(turns_run(&running)),
        SwitchDecision::Write(choice) => {
            write(&settings, choice)?;
            Ok(done(&settings, choice, current, found != Some(false), options.json.into()))
        }
    }
}

/// The value in the file; an invalid one counts as none, and any request changes it.
fn current(settings: &Settings) -> Option<RuntimeChoice> {
    let key = KEY.join(".");
    let is_wrong = settings.problems.iter().any(|problem| problem.key.as_deref() == Some(key.as_str()));
    (!is_wrong).then(|| settings.config.model.openai_runtime.unwrap_or_default())
}

/// The turns that run in the engine of this home, if there is one.
async fn running(settings: &Settings) -> Result<Vec<String>, Trouble> {
    let asking = async {
        match engine::find(&settings.home).await? {
            Some(client) => client.status().await.map(|status| status.turns),
            None => Ok(Vec::new()),
        }
    };
    let turns = with_progress("asking the engine", asking).await;
    let turns = turns
        .map_err(|error| refused("cannot ask the engine whether turns run; nothing was changed", &error))?;
    Ok(turns.into_iter().map(|turn| turn.task.unwrap_or_else(|| turn.session.to_string())).collect())
}

fn no_codex(codex: Option<Result<CodexBinary, LocateError>>) -> Trouble {
    match codex {
        Some(Err(error)) => codex_trouble(&error),
        _ => Trouble::new(exit::CODEX, "cannot use Codex").try_this("run `talaria setup`"),
    }
}

fn turns_run(running: &[String]) -> Trouble {
    Trouble::new(exit::BLOCKED, "the runtime was not changed")
        .because(format!("a turn would be split between two runtimes; running: {}", running.join(", ")))
        .try_this(NextStep::StopTurns)
}

fn write(settings: &Settings, choice: RuntimeChoice) -> Result<(), Trouble> {
    let file = settings.home.config_file();
    let locked = lock(&settings.home)?;
    let Some(path) = KeyPath::new(KEY) else { return Ok(()) };
    let new = edit::set(locked.text().unwrap_or(FIRST_LINE), &path, choice.name())
        .map_err(|problem| text_trouble(&file, &problem))?;
    replace(locked, &new).map(drop)
}

fn done(
    settings: &Settings,
    choice: RuntimeChoice,
    before: Option<RuntimeChoice>,
    has_codex: bool,
    form: Form,
) -> String {
    let changed = before != Some(choice);
    let verdict = look::verdict(settings, choice, has_codex).ok();
    if form == Form::Json {
        let effect = changed.then_some("next_turn");
        let object = json!({
            "openai_runtime": choice, "before": before, "changed": changed, "effect": effect, "verdict": verdict,
        });
        json_line(&object)
    } else {
        plain(&page::changed(&settings.home.config_file(), choice, before, verdict)).into_owned()
    }
}
