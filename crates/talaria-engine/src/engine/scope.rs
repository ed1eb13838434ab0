//! Who may see and do what. People may do everything; a model sees and touches its own tasks, works in the directories
//! that are opened for it, and answers only what the user's policy lets it answer.
//!
//! What is not a model's to see does not exist for it: it is told the same as about an id that nobody has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use talaria_core::api::{NewTask, Problem, ProblemCode};
use talaria_core::config::{Rights, Severity};
use talaria_core::ids::SessionId;
use talaria_core::notice::Target;
use talaria_core::policy::Answers;
use talaria_core::principal::Principal;
use talaria_core::request::Who;
use talaria_store::{Found, Request, Session};

use super::{Engine, views, worktrees};
use crate::home::user_path;
use crate::worktree;

impl Engine {
    /// The same engine, for somebody else.
    #[must_use]
    pub fn on_behalf_of(&self, principal: Principal) -> Self {
        Self(Arc::clone(&self.0), Arc::new(principal))
    }

    /// For whom this is.
    pub fn principal(&self) -> &Principal {
        &self.1
    }

    /// Who does what is done through this.
    pub(super) fn who(&self, told: Who) -> Who {
        if self.1.is_model() { Who::Model } else { told }
    }

    /// What a model may do; `None` for people, who may do everything. Read anew each time, as the file is now.
    fn rights(&self) -> Option<Rights> {
        let config = || self.0.home.load_config().map(|(config, _)| config.bridge).unwrap_or_default();
        self.1.is_model().then(|| config().rights(self.1.name()))
    }

    /// Refuses a model what only people do.
    pub(super) fn only_people(&self, what: &str) -> Result<(), Problem> {
        match self.1.is_model() {
            false => Ok(()),
            true => Err(Problem::new(ProblemCode::Forbidden, format!("a model cannot {what}"))
                .try_this("ask the person to do it")),
        }
    }

    /// The only owner whose tasks are shown; `None` shows all.
    pub(super) fn only_owner(&self) -> Option<String> {
        self.rights().is_some_and(|rights| !rights.all).then(|| self.1.to_string())
    }

    /// Is this session to be seen?
    pub(super) async fn sees(&self, session: &SessionId) -> Result<bool, Problem> {
        let Some(rights) = self.rights() else { return Ok(true) };
        let task = self.0.shelf.store.task(session).await.map_err(|error| views::problem(&error))?;
        Ok(task.is_some_and(|task| rights.all || task.owner == self.1.to_string()))
    }

    /// Finds a session by what somebody typed.
    pub(super) async fn find(&self, id: &str) -> Result<Session, Problem> {
        let found = self.0.shelf.store.find_session(id).await.map_err(|error| views::problem(&error))?;
        match found {
            Found::One(session) if self.sees(&session.id).await? => Ok(*session),
            Found::Ambiguous(candidates) if !self.1.is_model() => {
                let names: Vec<&str> = candidates.iter().map(SessionId::as_str).collect();
                let message = format!("more than one session begins with {id:?}: {}", names.join(", "));
                Err(Problem::new(ProblemCode::Ambiguous, message).try_this("type more of the id"))
            }
            _ => {
                let hint = if self.1.is_model() {
                    "the action `list` names your tasks; give the whole id"
                } else {
                    "see `talaria task list` and `talaria sessions list`"
                };
                let message = format!("there is no session or task {id:?}");
                Err(Problem::new(ProblemCode::Unknown, message).try_this(hint))
            }
        }
    }

    /// May this caller answer this request?
    pub(super) fn check_answer(&self, request: &Request) -> Result<(), Problem> {
        let Some(rights) = self.rights() else { return Ok(()) };
        if rights.answers.contains(&request.kind) {
            return Ok(());
        }
        let message = format!(
            "{} is for a person to decide: the user's policy does not let {} answer a request of the kind {}",
            request.id, self.1, request.kind
        );
        let hint = format!(
            "tell the person what is asked and wait; they answer with `talaria requests answer {} accept` (or decline)",
            request.id
        );
        Err(Problem::new(ProblemCode::Forbidden, message).try_this(hint))
    }

    /// Holds a new task to what its caller may ask for, and to what is there.
    pub(super) async fn bound(&self, new: &mut NewTask) -> Result<(), Problem> {
        new.cwd = directory("cwd", &new.cwd).await?.to_string_lossy().into_owned();
        for root in &mut new.writable_roots {
            *root = directory("a writable root", root).await?.to_string_lossy().into_owned();
        }
        if let (None, Some(home)) = (self.rights(), &new.codex_home) {
            new.turn.caller.codex_home = Some(home.clone());
        }
        let Some(rights) = self.rights() else { return Ok(()) };
        self.check_rules()?;
        new.turn.answers = Answers::Person;
        new.terminal = None;
        let open = self.open_roots(&rights, new.started_in.as_deref()).await;
        let mut wanted: Vec<PathBuf> =
            std::iter::once(&new.cwd).chain(&new.writable_roots).map(PathBuf::from).collect();
        if new.worktree.is_some() {
            // A worktree is of the whole repository, and opens its git directory.
            wanted.extend(
                worktree::places(new.cwd.as_ref()).await.map_err(|error| worktrees::trouble(&error))?,
            );
        }
        for path in &wanted {
            if !open.iter().any(|root| path.starts_with(root)) {
                let path = path.display();
                let names: Vec<String> = open.iter().map(|root| root.display().to_string()).collect();
                let message = format!("{} may not let Codex work in {path}", self.1);
                let hint = format!(
                    "it may in: {}; the person can open another directory with bridge.roots in config.toml",
                    if names.is_empty() { "no directory".to_owned() } else { names.join(", ") }
                );
                return Err(Problem::new(ProblemCode::Forbidden, message).try_this(hint));
            }
        }
        self.keep_out(&wanted, new).await?;
        if let Some(home) = &new.codex_home {
            if !self.is_listed(home, &rights.codex_homes).await {
                let message = format!("{} may not choose the CODEX_HOME {home:?}", self.1);
                let hint =
                    "leave codex_home out; the person can list it in bridge.codex_homes in config.toml";
                return Err(Problem::new(ProblemCode::Forbidden, message).try_this(hint));
            }
            new.turn.caller.codex_home = Some(home.clone());
        }
        let read = |text: &String| text.trim().parse::<Target>().ok();
        let listed: Vec<Target> = rights.notify_targets.iter().filter_map(read).collect();
        // What cannot be read is refused for that.
        let allowed = |text: &&String| {
            read(text).is_none_or(|target| target == Target::Local || listed.contains(&target))
        };
        if let Some(target) = new.notify.iter().find(|text| !allowed(text)) {
            let label = target.parse::<Target>().map(|target| target.label()).unwrap_or_default();
            let message = format!("{} may not have {label} told", self.1);
            let hint = "use local; the person can list targets in bridge.notify_targets in config.toml";
            return Err(Problem::new(ProblemCode::Forbidden, message).try_this(hint));
        }
        Ok(())
    }

    /// A model works by rules; while they cannot be read as they were meant, it does not.
    fn check_rules(&self) -> Result<(), Problem> {
        let wrong = match self.0.home.load_config() {
            Err(error) => Some(error.to_string()),
            Ok((_, problems)) => problems
                .iter()
                .filter(|problem| problem.severity == Severity::Error)
                .filter_map(|problem| Some((problem.key.as_ref()?, &problem.message)))
                .find(|(key, _)| key.starts_with("bridge"))
                .map(|(key, message)| format!("{key}: {message}")),
        };
        match wrong {
            None => Ok(()),
            Some(wrong) => {
                let message = format!("config.toml does not say what models may do: {wrong}");
                Err(Problem::new(ProblemCode::Forbidden, message)
                    .try_this("ask the person to mend it; `talaria doctor` shows where"))
            }
        }
    }

    /// What says what a model may do, and what it is, is not for it to write: neither in these directories nor above.
    async fn keep_out(&self, wanted: &[PathBuf], new: &NewTask) -> Result<(), Problem> {
        let codex = new.turn.caller.codex_home.clone().map(PathBuf::from);
        let codex = codex.or_else(|| self.user_home().map(|home| home.join(".codex")));
        for kept in std::iter::once(self.0.home.root().to_owned()).chain(codex) {
            let Ok(kept) = tokio::fs::canonicalize(&kept).await else { continue };
            if let Some(path) = wanted.iter().find(|path| path.starts_with(&kept) || kept.starts_with(path)) {
                let message = format!(
                    "{} may not let Codex work in {}: {} is there",
                    self.1,
                    path.display(),
                    kept.display()
                );
                return Err(Problem::new(ProblemCode::Forbidden, message)
                    .try_this("choose a directory of the project"));
            }
        }
        Ok(())
    }

    /// The directories in which a model may let Codex work, without links. Where a client was started counts only if that
    /// is a place for work: the home directory and the root are where programs are started that nobody sent anywhere.
    async fn open_roots(&self, rights: &Rights, started_in: Option<&str>) -> Vec<PathBuf> {
        let is_place = |path: &&str| {
            let path = Path::new(path);
            path.parent().is_some() && self.user_home().as_deref() != Some(path)
        };
        let own = if rights.roots.is_empty() { started_in.filter(is_place) } else { None };
        let configured = rights.roots.iter().map(|root| user_path(root, self.user_home().as_deref()));
        let mut open = Vec::new();
        for root in configured.chain(own.map(PathBuf::from)) {
            // A root that is not there opens nothing.
            if let Ok(root) = tokio::fs::canonicalize(root).await {
                open.push(root);
            }
        }
        open
    }

    async fn is_listed(&self, path: &str, list: &[String]) -> bool {
        let Ok(path) = tokio::fs::canonicalize(path).await else { return false };
        for listed in list {
            let listed = user_path(listed, self.user_home().as_deref());
            if tokio::fs::canonicalize(listed).await.is_ok_and(|listed| listed == path) {
                return true;
            }
        }
        false
    }

    fn user_home(&self) -> Option<PathBuf> {
        std::env::var_os("HOME").map(PathBuf::from)
    }
}

/// A directory that is there, without links in its name.
async fn directory(what: &str, path: &str) -> Result<PathBuf, Problem> {
    let bad = |why: String| {
        Problem::new(ProblemCode::BadRequest, format!("{what} {path:?} cannot be used: {why}"))
            .try_this("name a directory that is there")
    };
    let real = tokio::fs::canonicalize(path).await.map_err(|error| bad(error.to_string()))?;
    let about = tokio::fs::metadata(&real).await.map_err(|error| bad(error.to_string()))?;
    if !about.is_dir() {
        return Err(bad("it is no directory".to_owned()));
    }
    if real.to_str().is_none() {
        return Err(bad("its name is not UTF-8".to_owned()));
    }
    Ok(real)
}

/// Whose engine this is, for what is done without a word about who does it.
pub(super) fn owner_of_the_home() -> Principal {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    if name.trim().is_empty() {
        return Principal::person(&rustix::process::getuid().as_raw().to_string());
    }
    Principal::person(&name)
}
