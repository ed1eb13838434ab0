//! Decides how a turn is run: from what a client asked for, the configuration, and the Codex that is installed.
//!
//! The one place where that happens: clients send what was asked for and leave out the rest. Nothing is written here.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use talaria_codex::folder_defaults::{FolderDefaults, FolderRequest};
use talaria_codex::locate::{CodexBinary, CodexLocator, CodexSearch};
use talaria_codex::spec::Surroundings;
use talaria_core::access::StartRight;
use talaria_core::api::{CodexProgram, Kind, LocalCaller, NewSession, NewTurn, Problem, ProblemCode};
use talaria_core::config::Config;
use talaria_core::policy::Answers;
use talaria_core::preferences::Preferences;
use talaria_core::runtime::Runtime;
use talaria_home::home::TalariaHome;
use talaria_store::SessionRow;

use crate::engine::Engine;
use crate::engine::Inner;
use crate::engine::run::providers::kept_runtime;
use crate::engine::run::settings::{Settings, Wanted};

/// After how much silence of Codex a person is notified for the first time, unless the configuration says otherwise.
const IDLE_WARNING: Duration = Duration::from_secs(120);

/// The Codex to run, and its environment.
pub(crate) struct CodexChoice {
    pub(crate) binary: CodexBinary,
    pub(crate) codex_home: Option<PathBuf>,
    pub(crate) surroundings: Surroundings,
}

impl CodexChoice {
    /// As clients see it.
    pub(crate) fn program(&self) -> CodexProgram {
        CodexProgram {
            path: self.binary.path.display().to_string(),
            version: self.binary.version.to_string(),
            origin: self.binary.origin,
        }
    }
}

/// A turn of which everything is decided.
pub(crate) struct ResolvedTurn {
    /// Who runs it.
    pub(crate) runtime: Runtime,
    /// The Codex that runs it, or whose sandbox its commands use. On Codex there always is one.
    pub(crate) codex: Option<CodexChoice>,
    /// The environment of the command that asks.
    pub(crate) surroundings: Surroundings,
    /// Settings, in the form stored with the session.
    pub(crate) settings: Settings,
    pub(crate) limit_ms: Option<u64>,
}

impl ResolvedTurn {
    /// The Codex that runs it, as clients see it.
    pub(crate) fn program(&self) -> Option<CodexProgram> {
        let runs = self.runtime == Runtime::CodexAppServer;
        self.codex.as_ref().filter(|_| runs).map(CodexChoice::program)
    }
}

/// The configuration that was last read without an error.
#[derive(Default)]
pub(crate) struct LastConfig(Mutex<Config>);

impl LastConfig {
    /// Reads the file. One that is not valid any more leaves what it said before: the rules of the turn say that it is
    /// broken, and accept nothing meanwhile.
    fn read(&self, home: &TalariaHome) -> Config {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok((config, _)) = home.load_config() {
            *last = config;
        }
        last.clone()
    }
}

/// Finds Codex programs and reads the configuration for turns.
#[derive(Default)]
pub(crate) struct Resolver {
    config: LastConfig,
    locator: CodexLocator,
}

impl Engine {
    /// Decides what a new conversation leaves to the configuration, in place, and how its first turn is run.
    pub(crate) async fn resolve_session(
        &self,
        new: &mut NewSession,
    ) -> Result<(ResolvedTurn, Wanted), Problem> {
        let config = self.inner.config();
        let wanted = Preferences::of_session(new);
        new.model = wanted.model(&config);
        new.sandbox = wanted.sandbox(&config);
        new.approval = wanted.approval(&config);
        // The conversation has it: only a later turn names another.
        new.turn.model = None;
        let resolved = self.resolve(&new.turn, new.kind, &config, None).await?;
        if resolved.runtime == Runtime::CodexAppServer {
            // Codex decides itself what its configuration says about the folder.
            return Ok((resolved, Wanted::of(new)));
        }
        let provider = resolved.settings.provider().unwrap_or_default();
        new.model = Some(self.inner.loop_model(provider, wanted.model.as_deref(), &config)?);
        let defaults = self.inner.folder_defaults(new, &resolved.surroundings, &config)?;
        (new.sandbox, new.approval) = (Some(defaults.sandbox), Some(defaults.approval));
        let wanted = Wanted::of(new).confined_by(defaults);
        Ok((resolved, wanted))
    }

    /// Decides how the first turn of a task is run.
    pub(crate) async fn resolve_task(&self, turn: &NewTurn) -> Result<ResolvedTurn, Problem> {
        self.resolve(turn, Kind::Task, &self.inner.config(), None).await
    }

    /// Decides how a further turn is run.
    pub(crate) async fn resolve_turn(
        &self,
        turn: &NewTurn,
        kind: Kind,
        session: &SessionRow,
    ) -> Result<ResolvedTurn, Problem> {
        self.resolve(turn, kind, &self.inner.config(), Some(session)).await
    }

    async fn resolve(
        &self,
        turn: &NewTurn,
        kind: Kind,
        config: &Config,
        session: Option<&SessionRow>,
    ) -> Result<ResolvedTurn, Problem> {
        self.inner.provider_keys.learn(&turn.caller, config);
        let found = self.codex_for(&turn.caller, config).await;
        let runtime = match session {
            Some(session) => kept_runtime(session, turn)?,
            None => self.inner.new_runtime(turn, config, found.is_ok())?,
        };
        let codex = match runtime {
            Runtime::CodexAppServer => Some(found?),
            Runtime::OwnLoop => found.ok(),
        };
        let surroundings = match &codex {
            Some(codex) => codex.surroundings.clone(),
            None if turn.caller.environment.is_empty() => Surroundings::own(),
            None => surroundings(&turn.caller),
        };
        let provider = match runtime {
            Runtime::CodexAppServer => None,
            Runtime::OwnLoop => Some(self.inner.loop_provider(turn, session, config)?),
        };
        let wanted = Preferences::of_turn(turn);
        // What a person chose for the conversation precedes the mode that a client started with.
        let chosen = session.and_then(Wanted::of_row).and_then(|wanted| wanted.answers());
        let answers = match kind {
            // Nothing is accepted on a model's behalf.
            _ if !self.is_person() => Answers::Person,
            Kind::Task => turn.answers.unwrap_or(Answers::Person),
            Kind::Exec | Kind::Chat => turn.answers.or(chosen).unwrap_or_else(|| wanted.answers(config)),
        };
        let settings = Settings::with(codex.as_ref()).asking(provider).running(
            turn.model.clone(),
            wanted.effort(config),
            turn.quiet_after_ms
                .unwrap_or_else(|| milliseconds(config.codex.idle_warning.unwrap_or(IDLE_WARNING))),
            answers,
        );
        Ok(ResolvedTurn { runtime, codex, surroundings, settings, limit_ms: limit(turn, config) })
    }

    async fn codex_for(&self, caller: &LocalCaller, config: &Config) -> Result<CodexChoice, Problem> {
        let named = caller.codex.as_deref().filter(|_| self.is_person());
        self.inner.find_codex(named, caller, config).await
    }

    fn is_person(&self) -> bool {
        self.access().starts == StartRight::Anything
    }
}

impl Inner {
    /// The configuration, as it is now.
    pub(crate) fn config(&self) -> Config {
        self.resolver.config.read(&self.home)
    }

    /// The Codex of a person, where no turn is run.
    pub(crate) async fn codex_of(&self, caller: &LocalCaller) -> Result<CodexChoice, Problem> {
        let config = self.config();
        self.provider_keys.learn(caller, &config);
        self.find_codex(caller.codex.as_deref(), caller, &config).await
    }

    async fn find_codex(
        &self,
        named: Option<&str>,
        caller: &LocalCaller,
        config: &Config,
    ) -> Result<CodexChoice, Problem> {
        let configured = || Some(self.home.user_path(config.codex.bin.as_deref()?));
        let explicit = named.map(PathBuf::from).or_else(configured);
        let (search, surroundings) = if caller.environment.is_empty() {
            (CodexSearch::from_env(explicit, &self.home), Surroundings::own())
        } else {
            let path = OsStr::new(caller.variable("PATH").unwrap_or_default());
            (CodexSearch::from_path(explicit, path, &self.home), surroundings(caller))
        };
        let found = self.resolver.locator.find(&search).await;
        let binary = found.map_err(|error| {
            Problem::new(ProblemCode::Codex, format!("cannot use Codex: {error}")).next(error.next_step())
        })?;
        Ok(CodexChoice { binary, codex_home: self.codex_home(caller, config), surroundings })
    }

    /// How long a turn may take.
    pub(crate) fn limit_of(&self, turn: &NewTurn) -> Option<Duration> {
        limit(turn, &self.config()).map(Duration::from_millis)
    }

    /// What Codex's configuration decides about a new conversation of the built-in loop.
    fn folder_defaults(
        &self,
        new: &NewSession,
        surroundings: &Surroundings,
        config: &Config,
    ) -> Result<FolderDefaults, Problem> {
        let variable = |name: &str| surroundings.variable(name).filter(|value| !value.is_empty());
        let user_home = variable("HOME").map(PathBuf::from);
        let codex_home = self
            .codex_home(&new.turn.caller, config)
            .filter(|home| !home.as_os_str().is_empty())
            .or_else(|| variable("CODEX_HOME").map(PathBuf::from))
            .or_else(|| Some(user_home.as_ref()?.join(".codex")));
        let request = FolderRequest { cwd: &new.cwd, sandbox: new.sandbox, approval: new.approval };
        FolderDefaults::read(request, codex_home.as_deref(), user_home.as_deref()).map_err(|error| {
            Problem::new(ProblemCode::BadRequest, error.to_string())
                .try_this("correct that file, or name both --sandbox and --approval")
        })
    }

    /// Where the Codex of a client keeps its files; without a value it is where Codex itself says.
    pub(crate) fn codex_home(&self, caller: &LocalCaller, config: &Config) -> Option<PathBuf> {
        let configured = || Some(self.home.user_path(config.codex.home.as_deref()?));
        let named = caller.codex_home.as_ref().map(PathBuf::from);
        named.or_else(configured).or_else(|| caller.variable("CODEX_HOME").map(PathBuf::from))
    }
}

fn limit(turn: &NewTurn, config: &Config) -> Option<u64> {
    turn.limit_ms.or_else(|| config.codex.turn_timeout.map(milliseconds))
}

/// The environment of the command that asks.
fn surroundings(caller: &LocalCaller) -> Surroundings {
    let variables = caller.environment.iter();
    Surroundings::of(variables.map(|(name, value)| (OsString::from(name), OsString::from(value))))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
