//! Who may see and do what. People may do everything; a model sees and touches its own tasks, works in the directories
//! that are opened for it, and answers only what the user's policy lets it answer.
//!
//! For a model, anything outside its scope does not exist: the response is the same as for an unknown id.

use std::path::{Path, PathBuf};

use talaria_codex::conversation::mint_ticket;
use talaria_core::access::{AnswerRight, SeeRight, StartRight};
use talaria_core::api::{NewTask, Problem, ProblemCode};
use talaria_core::config::{Rights, Severity};
use talaria_core::ids::SessionId;
use talaria_core::next_step::NextStep;
use talaria_core::notice::Target;
use talaria_store::{RequestRow, SessionLookup, SessionRow};

use crate::engine::Engine;
use crate::engine::journal::asker::Asker;
use crate::engine::queries::views;
use crate::engine::run::settings::Widening;
use crate::engine::tasks::worktrees;
use crate::worktree;
use talaria_home::home::user_path;

impl Engine {
    /// The only owner whose tasks are shown; `None` shows all.
    pub(crate) fn only_owner(&self) -> Option<String> {
        match self.access().sees {
            SeeRight::All | SeeRight::AllTasks => None,
            SeeRight::Own | SeeRight::Nothing => Some(self.principal().to_string()),
        }
    }

    /// Is this session to be seen?
    pub(crate) async fn sees(&self, session: &SessionId) -> Result<bool, Problem> {
        let access = self.access();
        if !self.is_within(session).await? {
            return Ok(false);
        }
        let is_own = match access.sees {
            SeeRight::All => return Ok(true),
            SeeRight::Nothing => return Ok(false),
            SeeRight::AllTasks => |_: &str, _: &str| true,
            SeeRight::Own => |owner: &str, caller: &str| owner == caller,
        };
        let task = self.inner.shelf.store.task(session).await.map_err(|error| views::problem(&error))?;
        Ok(task.is_some_and(|task| is_own(&task.owner, &self.principal().to_string())))
    }

    /// Finds a session by what a person typed.
    pub(crate) async fn find(&self, id: &str) -> Result<SessionRow, Problem> {
        let found = self.inner.shelf.store.find_session(id).await.map_err(|error| views::problem(&error))?;
        match found {
            SessionLookup::One(session) if self.sees(&session.id).await? => Ok(*session),
            // The caller learns the same as about an id that does not exist; the audit log has the truth.
            SessionLookup::One(session) => {
                let why = Problem::new(ProblemCode::Unknown, "the conversation is not the caller's own");
                self.refused("reach", Some(session.id.as_str()), why).await;
                Err(self.no_session(id))
            }
            SessionLookup::Ambiguous(candidates) if self.access().may_search_ids() => {
                let message = format!("{id:?} could be any of {}", views::candidates(&candidates));
                Err(Problem::new(ProblemCode::Ambiguous, message).try_this("type more of the id, or its end"))
            }
            _ => Err(self.no_session(id)),
        }
    }

    fn no_session(&self, id: &str) -> Problem {
        let problem = Problem::new(ProblemCode::Unknown, format!("there is no session or task {id:?}"));
        if self.principal().reads_tool_hints() {
            return problem.try_this("the action `list` names your tasks; use the whole id");
        }
        problem.next(NextStep::FindSession)
    }

    /// May this caller answer this request? What Talaria itself asks is about a model's own power: no policy lets a model
    /// answer that.
    pub(crate) async fn check_answer(&self, request: &RequestRow) -> Result<(), Problem> {
        let access = self.access();
        let is_own = matches!(Asker::of(&request.origin), Some(Asker::Talaria { .. }));
        // What Talaria asks about a task's power, a token may answer that may let work leave the sandbox.
        let may_widen =
            access.answers == AnswerRight::Every || (self.identity().is_remote() && access.answers_outside);
        if access.may_answer(&request.kind) && (!is_own || may_widen) {
            return Ok(());
        }
        if self.identity().is_remote() {
            let message =
                format!("{} may not answer a request of the kind {}", self.principal(), request.kind);
            let problem = Problem::new(ProblemCode::Forbidden, message)
                .try_this(format!("use a token with the scope `answer` or `answer:{}`", request.kind));
            return Err(self.refused("answer", Some(request.id.as_str()), problem).await);
        }
        let message = format!(
            "{} is for a person to decide: the user's policy does not let {} answer a request of the kind {}",
            request.id,
            self.principal(),
            request.kind
        );
        let hint = format!(
            "show the person the question and wait; they answer with `talaria requests answer {} accept` (or decline)",
            request.id
        );
        let problem = Problem::new(ProblemCode::Forbidden, message).try_this(hint);
        Err(self.refused("answer", Some(request.id.as_str()), problem).await)
    }

    /// Validates a new task against its caller's rights and the file system. Refusals are in the audit log.
    /// Returns the power that a person must grant before the task begins; `new` then lacks it.
    pub(crate) async fn bound(&self, new: &mut NewTask) -> Result<Option<Widening>, Problem> {
        match self.bounded(new).await {
            Err(problem) if problem.code == ProblemCode::Forbidden => {
                Err(self.refused("start_task", None, problem).await)
            }
            result => result,
        }
    }

    async fn bounded(&self, new: &mut NewTask) -> Result<Option<Widening>, Problem> {
        new.cwd = directory("cwd", &new.cwd).await?.to_string_lossy().into_owned();
        for root in &mut new.writable_roots {
            *root = directory("a writable root", root).await?.to_string_lossy().into_owned();
        }
        let Some(rights) = self.granted() else {
            if let Some(home) = &new.codex_home {
                new.turn.caller.codex_home = Some(home.clone());
            }
            return Ok(None);
        };
        if self.access().starts == StartRight::Nothing {
            return Err(Problem::new(
                ProblemCode::Forbidden,
                format!("{} cannot start a task", self.principal()),
            ));
        }
        if !self.identity().is_remote() {
            self.check_rules()?;
        }
        new.terminal = None;
        let open = self.open_roots(&rights, new.started_in.as_deref()).await;
        let mut wanted = vec![PathBuf::from(&new.cwd)];
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
                let message = format!("{} may not let Codex work in {path}", self.principal());
                let names = if names.is_empty() { "no directory".to_owned() } else { names.join(", ") };
                let hint = if self.identity().is_remote() {
                    format!("it may in: {names}; the directories of a token are chosen when it is made")
                } else {
                    format!(
                        "it may in: {names}; the person can open another directory with bridge.roots in config.toml"
                    )
                };
                return Err(Problem::new(ProblemCode::Forbidden, message).try_this(hint));
            }
        }
        wanted.extend(new.writable_roots.iter().map(PathBuf::from));
        self.keep_out(&wanted, new).await?;
        if let Some(home) = &new.codex_home {
            if !self.is_listed(home, &rights.codex_homes).await {
                let message = format!("{} may not choose the CODEX_HOME {home:?}", self.principal());
                let hint =
                    "leave codex_home out; the person can list it in bridge.codex_homes in config.toml";
                return Err(Problem::new(ProblemCode::Forbidden, message).try_this(hint));
            }
            new.turn.caller.codex_home = Some(home.clone());
        }
        let read = |text: &String| text.trim().parse::<Target>().ok();
        let listed: Vec<Target> = rights.notify_targets.iter().filter_map(read).collect();
        // A path that cannot be read is refused.
        let allowed = |text: &&String| {
            read(text).is_none_or(|target| target == Target::Local || listed.contains(&target))
        };
        if let Some(target) = new.notify.iter().find(|text| !allowed(text)) {
            let label = target.parse::<Target>().map(|target| target.label()).unwrap_or_default();
            let message = format!("{} may not notify {label}", self.principal());
            let hint = "use local; the person can list targets in bridge.notify_targets in config.toml";
            return Err(Problem::new(ProblemCode::Forbidden, message).try_this(hint));
        }
        Ok(self.take_widening(new, &rights).await)
    }

    /// Takes out of a task what is for the person to grant: the network and further writable roots, as far as `[bridge]` does
    /// not grant them already.
    async fn take_widening(&self, new: &mut NewTask, rights: &Rights) -> Option<Widening> {
        let mut granted = Vec::new();
        for root in &rights.writable_roots {
            granted.extend(tokio::fs::canonicalize(user_path(root, self.user_home().as_deref())).await);
        }
        let is_granted = |root: &String| granted.iter().any(|granted| Path::new(root).starts_with(granted));
        let roots = std::mem::take(&mut new.writable_roots);
        let (open, writable_roots): (Vec<_>, Vec<_>) = roots.into_iter().partition(is_granted);
        new.writable_roots = open;
        let network = new.network && !rights.network;
        new.network &= rights.network;
        let is_wider = network || !writable_roots.is_empty();
        is_wider.then(|| Widening { ticket: mint_ticket(), network, writable_roots })
    }

    /// Models act only under rules; while the rules cannot be read, a model cannot start anything.
    fn check_rules(&self) -> Result<(), Problem> {
        let wrong = match self.inner.home.load_config() {
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
                    .try_this("ask the person to correct it; `talaria doctor` shows where"))
            }
        }
    }

    /// What says what a model may do, and what it is, is not for it to write: neither in these directories nor above.
    pub(crate) async fn keep_out(&self, wanted: &[PathBuf], new: &NewTask) -> Result<(), Problem> {
        let codex = new.turn.caller.codex_home.clone().map(PathBuf::from);
        let codex = codex.or_else(|| self.user_home().map(|home| home.join(".codex")));
        for kept in std::iter::once(self.inner.home.root().to_owned()).chain(codex) {
            let Ok(kept) = tokio::fs::canonicalize(&kept).await else { continue };
            if let Some(path) = wanted.iter().find(|path| path.starts_with(&kept) || kept.starts_with(path)) {
                let message = format!(
                    "{} may not let Codex work in {}: {} is there",
                    self.principal(),
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
    /// is a place for work: the home directory and the root are where programs are started without a chosen directory.
    async fn open_roots(&self, rights: &Rights, started_in: Option<&str>) -> Vec<PathBuf> {
        let is_place = |path: &&str| {
            let path = Path::new(path);
            path.parent().is_some() && self.user_home().as_deref() != Some(path)
        };
        let own = if rights.roots.is_empty() { started_in.filter(is_place) } else { None };
        let configured = rights.roots.iter().map(|root| user_path(root, self.user_home().as_deref()));
        let mut open = Vec::new();
        for root in configured.chain(own.map(PathBuf::from)) {
            // A root that does not exist permits nothing.
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

/// The canonical path of an existing directory.
pub(crate) async fn directory(what: &str, path: &str) -> Result<PathBuf, Problem> {
    let bad = |why: String| {
        Problem::new(ProblemCode::BadRequest, format!("{what} {path:?} cannot be used: {why}"))
            .try_this("name an existing directory")
    };
    let real = tokio::fs::canonicalize(path).await.map_err(|error| bad(error.to_string()))?;
    let about = tokio::fs::metadata(&real).await.map_err(|error| bad(error.to_string()))?;
    if !about.is_dir() {
        return Err(bad("it is not a directory".to_owned()));
    }
    if real.to_str().is_none() {
        return Err(bad("its name is not UTF-8".to_owned()));
    }
    Ok(real)
}
