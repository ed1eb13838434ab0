//! Context of every errand of the chat: the engine, the settings, the selected Codex, and the assembly of a turn.
//!
//! Shared by all errands and never changed by them; later choices of the person are arguments.

use std::path::{Path, PathBuf};

use talaria_codex::locate::CodexBinary;
use talaria_core::api::{
    Kind, LookAt, NewSession, NewTurn, Offers, PermissionsChange, Problem, ProblemCode, SessionInfo,
    SessionStarted,
};
use talaria_core::ids::SessionId;
use talaria_core::model_choice::{ModelChoice, UnlistedModel, check_choice};
use talaria_core::policy::Answers;
use talaria_core::preferences::Preferences;
use talaria_core::provider::OPENAI_PROVIDER;
use talaria_core::runtime::{Runtime, RuntimeChoice, is_rerouted, runtime_for};
use talaria_render::Look;
use talaria_server::client::{Client, ClientError};
use talaria_tui::chat::contract::PromptDraft;
use talaria_tui::chat::{RequestedSettings, folder};
use tokio::sync::OnceCell;

use crate::engine::{refused, refused_id};
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};
use crate::{caller, input, look};

/// What every errand needs.
#[derive(Debug)]
pub(crate) struct ChatContext {
    /// For requests of the person.
    pub(crate) client: Client,
    /// For work that the person did not ask for: it starts no engine that a person stopped.
    pub(crate) onlooker: Client,
    pub(crate) settings: Settings,
    /// The command line arguments.
    pub(crate) wanted: Preferences,
    /// Who is asked in new conversations, as the command line says.
    provider: ProviderChoice,
    /// Where a new conversation works.
    pub(crate) cwd: String,
    replies: Replies,
    codex: OnceCell<CodexBinary>,
}

/// The provider and the runtime of new conversations.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderChoice {
    pub(crate) provider: Option<String>,
    pub(crate) runtime: Option<RuntimeChoice>,
}

/// Where the output of commands goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replies {
    /// They are drawn on the screen.
    Drawn,
    /// They are written as they are.
    Written,
}

/// The person's choices for later turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The model provider; on the built-in loop it may change with any turn.
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    /// The permissions of the conversation that would begin; a conversation that there is has its own, which the engine keeps.
    pub(crate) permissions: PermissionsChange,
}

/// Why no turn is known to have begun.
#[derive(Debug)]
pub(crate) enum Unstarted {
    /// The engine did not begin one.
    Refused(Trouble),
    /// The connection broke: it may have.
    Unknown(Trouble),
}

impl Chosen {
    /// Was a sandbox or a policy chosen by itself? Then a person answers, whatever mode the configuration names.
    fn names_permissions(&self) -> bool {
        let PermissionsChange { mode, sandbox, approval, .. } = &self.permissions;
        mode.is_none() && (sandbox.is_some() || approval.is_some())
    }
}

impl ChatContext {
    /// Makes one; Codex is looked for when it is needed.
    pub(crate) fn new(
        client: Client,
        settings: Settings,
        wanted: Preferences,
        cwd: String,
        replies: Replies,
    ) -> Self {
        Self {
            onlooker: client.looking_on(),
            client,
            settings,
            wanted,
            provider: ProviderChoice::default(),
            cwd,
            replies,
            codex: OnceCell::new(),
        }
    }

    /// The same for new conversations with this provider.
    pub(crate) fn asking(mut self, provider: ProviderChoice) -> Self {
        self.provider = provider;
        self
    }

    /// The provider that the command line names for a conversation that there is.
    pub(crate) fn provider_for(&self, opened: Option<&SessionInfo>) -> Option<String> {
        opened.and_then(|_| self.provider.provider.clone())
    }

    /// The provider of a new conversation with these choices, if one is named anywhere.
    pub(crate) fn new_provider(&self, chosen: &Chosen) -> Option<String> {
        let configured = &self.settings.config.model.provider;
        chosen.provider.clone().or_else(|| self.provider.provider.clone()).or_else(|| configured.clone())
    }

    /// The runtime that the command line names for a new conversation, unless a provider was chosen later that only one can ask.
    fn new_runtime_choice(&self, chosen: &Chosen) -> Option<RuntimeChoice> {
        self.provider.runtime.filter(|_| is_rerouted(chosen.provider.as_deref()))
    }

    /// Who would run a new conversation with these choices. Codex is looked for only where that decides.
    pub(crate) async fn new_runtime(&self, chosen: &Chosen) -> Runtime {
        let provider = self.new_provider(chosen);
        let configured = self.settings.config.model.openai_runtime;
        let choice = self.new_runtime_choice(chosen).or(configured).unwrap_or_default();
        let with = |has_codex| {
            runtime_for(provider.as_deref(), choice, has_codex)
                .map_or(Runtime::CodexAppServer, |selected| selected.runtime)
        };
        match (with(true), with(false)) {
            (with_codex, without) if with_codex == without => with_codex,
            (with_codex, without) => {
                if self.codex().await.is_ok() {
                    with_codex
                } else {
                    without
                }
            }
        }
    }

    /// The configured model, which belongs to the configured provider.
    pub(crate) fn usual_model(&self, chosen: &Chosen) -> Option<String> {
        let model = &self.settings.config.model;
        let usual = model.provider.as_deref().unwrap_or(OPENAI_PROVIDER);
        let new = self.new_provider(chosen);
        let is_usual = new.is_none_or(|name| {
            name.eq_ignore_ascii_case(usual) || (is_rerouted(Some(&name)) && is_rerouted(Some(usual)))
        });
        model.default.clone().filter(|_| is_usual)
    }

    /// Options of a new conversation; an existing one has its own.
    pub(crate) fn asked(&self) -> RequestedSettings {
        let (wanted, config) = (&self.wanted, &self.settings.config);
        RequestedSettings {
            provider: None,
            model: wanted.model.clone().or_else(|| self.usual_model(&Chosen::default())),
            effort: wanted.effort(config),
            sandbox: wanted.sandbox(config).map(|sandbox| sandbox.as_str().to_owned()),
            approval: wanted.approval(config).map(|approval| approval.as_str().to_owned()),
        }
    }

    /// The permissions of a new conversation: what was chosen, else the command line arguments. A chosen mode replaces both; a
    /// chosen sandbox or policy replaces a mode.
    pub(crate) fn permissions(&self, chosen: &Chosen) -> Preferences {
        let PermissionsChange { mode, sandbox, approval, .. } = chosen.permissions;
        let wanted = &self.wanted;
        if mode.is_some() {
            return Preferences { mode, sandbox, approval, ..wanted.clone() };
        }
        if !chosen.names_permissions() {
            return wanted.clone();
        }
        let config = &self.settings.config;
        let sandbox = sandbox.or_else(|| wanted.sandbox(config));
        let approval = approval.or_else(|| wanted.approval(config));
        Preferences { mode: None, sandbox, approval, ..wanted.clone() }
    }

    /// How replies are written now. Always as for a person: a diff that a program could read might command a terminal.
    pub(crate) fn look(&self) -> Look {
        let found = Look { live: true, ..look::of_stdout() };
        match self.replies {
            Replies::Written => found,
            Replies::Drawn => {
                Look { color: true, width: found.width.map(|width| width.saturating_sub(2)), ..found }
            }
        }
    }

    /// The selected Codex. Searched again as long as there is none: a person may install it meanwhile.
    pub(crate) async fn codex(&self) -> Result<&CodexBinary, Trouble> {
        self.codex.get_or_try_init(|| self.settings.locate()).await
    }

    /// Settings of a new conversation in this directory.
    pub(crate) async fn offers(&self, cwd: &str) -> Result<Offers, Trouble> {
        let look_at = LookAt { caller: caller::describe(), cwd: cwd.to_owned() };
        self.client.offers(&look_at).await.map_err(|error| match &error {
            // The error is sufficient: there is no Codex to ask.
            ClientError::Problem(problem) if problem.code == ProblemCode::Codex => {
                quoted(problem, exit::CODEX)
            }
            error => refused("cannot ask Codex what it offers", error),
        })
    }

    /// What happens to a model that Codex does not list, as the configuration says now.
    pub(crate) fn unlisted_model(&self) -> UnlistedModel {
        match self.settings.home.load_config() {
            Ok((config, _)) if config.model.allow_unlisted == Some(true) => UnlistedModel::Accept,
            _ => UnlistedModel::Refuse,
        }
    }

    /// Refuses a model or an effort that was typed on the command line and that Codex would not run. A Codex that
    /// cannot be asked refuses nothing; the first screen says what is wrong with it.
    pub(crate) async fn check_typed(&self, session: Option<&SessionInfo>) -> Result<(), Trouble> {
        let Preferences { model, effort, .. } = &self.wanted;
        if model.is_none() && effort.is_none() {
            return Ok(());
        }
        let runtime = match session {
            Some(info) => Runtime::named(&info.runtime),
            None => Some(self.new_runtime(&Chosen::default()).await),
        };
        if runtime == Some(Runtime::OwnLoop) {
            return Ok(());
        }
        let cwd = session.map_or(&self.cwd, |info| &info.cwd);
        let Ok(offers) = self.offers(cwd).await else { return Ok(()) };
        let configured = self.settings.config.model.default.as_deref().filter(|_| session.is_none());
        let choice = ModelChoice {
            model: model.as_deref(),
            effort: effort.as_deref(),
            in_use: session.and_then(|info| info.model.as_deref()).or(configured),
            unlisted: self.unlisted_model(),
        };
        check_choice(&offers, choice).map_err(|problem| refused_choice(&problem))
    }

    /// A turn, as it was typed and chosen.
    fn turn(&self, prompt: &PromptDraft, chosen: &Chosen) -> Result<NewTurn, Trouble> {
        let images: Vec<PathBuf> = prompt.images.iter().map(PathBuf::from).collect();
        Ok(NewTurn { input: input::parts(prompt.text.clone(), &images)?, ..self.turn_again(chosen) })
    }

    /// A turn without input of its own, as it was chosen.
    pub(crate) fn turn_again(&self, chosen: &Chosen) -> NewTurn {
        NewTurn {
            provider: chosen.provider.clone(),
            model: chosen.model.clone(),
            effort: chosen.effort.clone(),
            mode: self.permissions(chosen).mode,
            answers: chosen.names_permissions().then_some(Answers::Person),
            caller: caller::describe(),
            ..NewTurn::default()
        }
    }

    /// Starts a turn: a further one of a conversation, or the first of a new one.
    pub(crate) async fn start(
        &self,
        session: Option<&SessionId>,
        prompt: &PromptDraft,
        chosen: &Chosen,
    ) -> Result<SessionStarted, Unstarted> {
        let what = "cannot start the turn";
        let turn = self.turn(prompt, chosen).map_err(Unstarted::Refused)?;
        if let Some(id) = session {
            return match self.client.start_turn(id.as_str(), &turn).await {
                Ok(started) => Ok(started),
                Err(error @ ClientError::Broken(_)) => Err(Unstarted::Unknown(refused(what, &error))),
                Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Busy => {
                    let trouble =
                        Trouble::new(exit::FAILED, "not sent: a turn of this conversation is running");
                    let hint = "once that turn is shown here, send it again: it goes to that turn";
                    Err(Unstarted::Refused(trouble.try_this(hint)))
                }
                Err(error) => Err(Unstarted::Refused(refused_id(what, &error))),
            };
        }
        let Preferences { sandbox, approval, .. } = self.permissions(chosen);
        let provider = chosen.provider.clone().or_else(|| self.provider.provider.clone());
        let turn = NewTurn { provider, runtime: self.new_runtime_choice(chosen), ..turn };
        let cwd = self.cwd.clone();
        let new = NewSession { kind: Kind::Chat, cwd, model: None, sandbox, approval, turn };
        self.client.start_session(&new).await.map_err(|error| match error {
            ClientError::Broken(_) => Unstarted::Unknown(refused(what, &error)),
            error => Unstarted::Refused(refused(what, &error)),
        })
    }
}

/// A model or an effort that Codex would not run.
pub(crate) fn refused_choice(problem: &Problem) -> Trouble {
    quoted(problem, exit::USAGE)
}

/// A problem in the engine's words alone.
fn quoted(problem: &Problem, exit: u8) -> Trouble {
    let trouble = Trouble::new(exit, problem.message.clone());
    match problem.advice() {
        Some(step) => trouble.try_this(step),
        None => trouble,
    }
}

/// A path as people write it: below their home it begins with `~`.
pub(crate) fn shown_path(path: &str) -> String {
    folder::shown(path, std::env::var("HOME").ok().as_deref())
}

/// A path as it was typed: `~` is the person's home, and what is relative is seen from `cwd`.
pub(crate) fn typed_path(text: &str, cwd: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    Path::new(cwd).join(talaria_home::home::user_path(text, home.as_deref()))
}
