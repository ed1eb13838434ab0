//! Facts about the runtime: gathered once, each with its evidence.

use serde::Serialize;
use talaria_codex::host::{Host, HostSpec};
use talaria_codex::locate::{CodexBinary, LocateError};
use talaria_core::api::SessionQuery;
use talaria_core::runtime::{CodexIsOff, RuntimeChoice, RuntimeSelection, runtime_for};
use talaria_core::servers::{Literals, translate};
use talaria_engine::engine::outside_tools;
use talaria_guard::redact::redact;
use talaria_tools::call::loop_tools;

use crate::engine;
use crate::progress::with_progress;
use crate::settings::{LOGIN_HINT, Settings};

/// At most this many conversations are listed.
const CONVERSATIONS: usize = 10;

/// Everything that is shown.
#[derive(Debug, Serialize)]
pub(super) struct State {
    /// The value in the file; none if invalid.
    pub(super) openai_runtime: Option<RuntimeChoice>,
    /// The problem of the file, if any.
    pub(super) problems: Vec<String>,
    pub(super) provider: Option<String>,
    /// Who runs a conversation; none if the choice contradicts the provider.
    pub(super) verdict: Option<RuntimeSelection>,
    pub(super) codex: Codex,
    /// Tools of the built-in loop alone.
    #[serde(skip)]
    pub(super) loop_tools: Vec<&'static str>,
    /// Talaria's own tools, on every runtime.
    #[serde(skip)]
    pub(super) own_tools: Vec<&'static str>,
    /// Servers of Talaria's configuration that conversations get.
    pub(super) mcp_servers: Vec<String>,
    /// The newest conversations; not known while no engine runs.
    pub(super) conversations: Option<Vec<ConversationRuntime>>,
}

/// Who runs a conversation.
#[derive(Debug, Serialize)]
pub(super) struct ConversationRuntime {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) runtime: String,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
}

/// Facts about Codex.
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

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(super) enum Login {
    /// Logged in.
    In { account: String, plan: Option<String> },
    /// Not logged in, although a login is needed.
    Out,
    /// The provider that Codex uses is not OpenAI.
    NotNeeded,
    /// Codex did not say.
    Unknown { why: String },
}

/// Gathers everything.
pub(super) async fn state(
    settings: &Settings,
    current: Option<RuntimeChoice>,
    codex: Option<Result<CodexBinary, LocateError>>,
) -> State {
    let has_codex = codex.as_ref().is_none_or(Result::is_ok);
    let codex = match codex {
        Some(Ok(codex)) => inspect_codex(settings, &codex).await,
        Some(Err(error)) => Codex {
            error: Some(error.to_string()),
            hint: Some(error.next_step().in_shell()),
            ..Codex::default()
        },
        None => Codex::default(),
    };
    State {
        conversations: conversations(settings).await,
        openai_runtime: current,
        problems: settings.problems.iter().map(|problem| redact(&problem.to_string()).into_owned()).collect(),
        provider: settings.config.model.provider.clone(),
        verdict: verdict(settings, current.unwrap_or_default(), has_codex).ok(),
        codex,
        mcp_servers: servers(settings),
        loop_tools: loop_tools().into_iter().map(|tool| tool.name).collect(),
        own_tools: outside_tools(settings.home.root()).into_iter().map(|tool| tool.spec.name).collect(),
    }
}

/// Asks a running engine; none is started for this.
async fn conversations(settings: &Settings) -> Option<Vec<ConversationRuntime>> {
    let query = SessionQuery { limit: CONVERSATIONS, ..SessionQuery::default() };
    let asking = async { engine::find(&settings.home).await.ok()??.sessions(&query).await.ok() };
    let sessions = with_progress("asking the engine", asking).await?;
    let listed = sessions.into_iter().map(|session| ConversationRuntime {
        id: session.id.short().to_owned(),
        title: session.title,
        runtime: session.runtime,
        provider: session.provider,
        model: session.model,
    });
    Some(listed.collect())
}

/// Who would run a conversation with this choice.
pub(super) fn verdict(
    settings: &Settings,
    choice: RuntimeChoice,
    has_codex: bool,
) -> Result<RuntimeSelection, CodexIsOff> {
    runtime_for(settings.config.model.provider.as_deref(), choice, has_codex)
}

async fn inspect_codex(settings: &Settings, codex: &CodexBinary) -> Codex {
    let login = login(settings, codex).await;
    let hint = matches!(login, Login::Out).then(|| LOGIN_HINT.to_owned());
    Codex {
        version: Some(codex.version.to_string()),
        path: Some(codex.path.display().to_string()),
        error: None,
        login: Some(login),
        hint,
    }
}

/// Asks Codex itself; its files are private.
async fn login(settings: &Settings, codex: &CodexBinary) -> Login {
    let unknown = |error: &dyn std::fmt::Display| Login::Unknown {
        why: first_line(&redact(&error.to_string())).to_owned(),
    };
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

/// What follows are last words of Codex, with a trace perhaps; `talaria doctor` shows them all.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The servers that conversations get: one that is off or cannot be used is none.
fn servers(settings: &Settings) -> Vec<String> {
    let servers = settings.config.servers.iter().filter(|server| server.enabled);
    let usable = servers.filter(|server| translate(server, Literals::Keep).server.is_ok());
    usable.map(|server| server.name.clone()).collect()
}
