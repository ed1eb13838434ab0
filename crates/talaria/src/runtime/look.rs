//! What there is to say about the runtime: gathered once, each fact with its evidence.

use serde::Serialize;
use talaria_core::edit::{KeyPath, leaves};
use talaria_core::redact::redact;
use talaria_core::runtime::{Choice, THIS_BUILD, Verdict, runtime_for};
use talaria_engine::codex::host::{Host, HostSpec};
use talaria_engine::codex::locate::{CodexBinary, LocateError};
use talaria_engine::user_file::UserFile;

use crate::config::file_trouble;
use crate::settings::{Settings, login_hint};
use crate::trouble::Trouble;

/// Everything that is shown.
#[derive(Debug, Serialize)]
pub(super) struct State {
    /// What the file says; none if that cannot be used.
    pub(super) openai_runtime: Option<Choice>,
    /// What is wrong in the file, if anything.
    pub(super) problems: Vec<String>,
    pub(super) provider: Option<String>,
    pub(super) verdict: Option<Verdict>,
    pub(super) codex: Codex,
    /// Servers of Talaria's configuration that are not switched off.
    pub(super) mcp_servers: Vec<String>,
}

/// What is known of Codex.
#[derive(Debug, Default, Serialize)]
pub(super) struct Codex {
    pub(super) version: Option<String>,
    pub(super) path: Option<String>,
    /// Why it cannot be used.
    pub(super) error: Option<String>,
    pub(super) login: Option<Login>,
    /// What to do about a missing Codex or login.
    pub(super) hint: Option<String>,
}

/// Whether somebody is logged in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(super) enum Login {
    /// Somebody is.
    In { account: String, plan: Option<String> },
    /// Nobody is, and somebody must be.
    Out,
    /// The provider that Codex uses is not OpenAI.
    NotNeeded,
    /// Codex did not say.
    Unknown { why: String },
}

/// Gathers everything.
pub(super) async fn state(
    settings: &Settings,
    current: Option<Choice>,
    codex: Option<Result<CodexBinary, LocateError>>,
) -> Result<State, Trouble> {
    let codex = match codex {
        Some(Ok(codex)) => found(settings, &codex).await,
        Some(Err(error)) => {
            Codex { error: Some(error.to_string()), hint: Some(error.hint().to_owned()), ..Codex::default() }
        }
        None => Codex::default(),
    };
    Ok(State {
        openai_runtime: current,
        problems: settings.problems.iter().map(|problem| redact(&problem.to_string()).into_owned()).collect(),
        provider: settings.config.model.provider.clone(),
        verdict: verdict(settings, current.unwrap_or_default()),
        codex,
        mcp_servers: servers(settings)?,
    })
}

/// Who would run a conversation with this choice.
pub(super) fn verdict(settings: &Settings, choice: Choice) -> Option<Verdict> {
    runtime_for(settings.config.model.provider.as_deref(), choice, THIS_BUILD)
}

async fn found(settings: &Settings, codex: &CodexBinary) -> Codex {
    let login = login(settings, codex).await;
    let hint = matches!(login, Login::Out).then(|| login_hint(codex));
    Codex {
        version: Some(codex.version.to_string()),
        path: Some(codex.path.display().to_string()),
        error: None,
        login: Some(login),
        hint,
    }
}

/// Asks Codex itself; its files are nobody else's business.
async fn login(settings: &Settings, codex: &CodexBinary) -> Login {
    let unknown =
        |error: &dyn std::fmt::Display| Login::Unknown { why: redact(&error.to_string()).into_owned() };
    let spec = HostSpec::new(codex, settings.codex_home(), settings.home.hosts_dir());
    let host = match Host::start(spec).await {
        Ok(host) => host,
        Err(error) => return unknown(&error),
    };
    let reply = host.account().await;
    host.close().await;
    match reply {
        Err(error) => unknown(&error),
        Ok(reply) => match (reply.account, reply.requires_openai_auth) {
            (Some(account), _) => Login::In { account: account.kind.to_string(), plan: account.plan_type },
            (None, false) => Login::NotNeeded,
            (None, true) => Login::Out,
        },
    }
}

fn servers(settings: &Settings) -> Result<Vec<String>, Trouble> {
    let text = UserFile::read(&settings.home.config_file()).map_err(|error| file_trouble(&error))?;
    let section = KeyPath::new(["mcp_servers"]);
    let found = leaves(&text.unwrap_or_default(), section.as_ref()).unwrap_or_default();
    let is_off = |name: &String| {
        found.iter().any(|leaf| {
            leaf.path.parts().get(1) == Some(name)
                && leaf.path.parts().get(2).is_some_and(|key| key == "enabled")
                && leaf.json() == false
        })
    };
    let mut names: Vec<String> = Vec::new();
    for name in found.iter().filter_map(|leaf| leaf.path.parts().get(1)) {
        if !names.contains(name) && !is_off(name) {
            names.push(name.clone());
        }
    }
    Ok(names)
}
