//! The caller of the engine, its rights, and the audit log of its calls.
//!
//! Every public method of [`Engine`] runs for one [`Identity`]. A right that is missing is refused in words, leaves a row in
//! the audit log and, where a command of Codex tried it, one line in the conversations on that Codex. What each caller may
//! reach (`find`, roots, targets) is `scope`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use talaria_core::access::{
    Access, Identity, PeerClass, PeerEvidence, ProcessFacts, RouteNeed, SeeRight, StartRight, classify,
    grants,
};
use talaria_core::api::{AuditEntry, AuditQuery, Problem, ProblemCode, Shell, UsageBy, UsageQuery, UsageSum};
use talaria_core::config::Rights;
use talaria_core::event::Event;
use talaria_core::ids::SessionId;
use talaria_core::principal::Principal;
use talaria_core::request::Who;
use talaria_core::runtime::Runtime;
use talaria_guard::plain;
use talaria_store::{AuditOutcome, NewAudit, UsageFilter};

use crate::engine::Engine;
use crate::engine::access::remote;
use crate::engine::queries::views;
use crate::engine::run::runtime::runtime_of;
use crate::peer_process;
use talaria_codex::conversation::Command;
use talaria_home::clock::now_ms;

/// How many refusals are recorded in one minute. A caller in a loop must not keep the disk busy.
const REFUSALS_A_MINUTE: u32 = 120;
const MINUTE_MS: i64 = 60_000;

/// A right that a method needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// To see every conversation, wherever it works.
    SeeAll,
    /// To see conversations of others.
    See,
    /// To apply or discard the work of a task.
    Land,
    /// To start conversations.
    StartAnything,
    /// To run a command outside of a turn.
    Shell,
    /// Changes to stored data or to the engine itself.
    Admin,
}

/// Counts refusals, for the limit and for `status`.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    total: AtomicU32,
    minute: AtomicI64,
    in_minute: AtomicU32,
}

impl Refusals {
    /// Counts one. Is it to be recorded?
    fn count(&self, now: i64) -> bool {
        self.total.fetch_add(1, Ordering::Relaxed);
        let minute = now / MINUTE_MS;
        if self.minute.swap(minute, Ordering::Relaxed) != minute {
            self.in_minute.store(0, Ordering::Relaxed);
        }
        self.in_minute.fetch_add(1, Ordering::Relaxed) < REFUSALS_A_MINUTE
    }

    /// Note for the user about refused calls.
    pub(crate) fn note(&self) -> Option<String> {
        let times = |total| if total == 1 { "once".to_owned() } else { format!("{total} times") };
        match self.total.load(Ordering::Relaxed) {
            0 => None,
            total => Some(format!(
                "{} since the engine started, a model was refused what it has no right to; `talaria audit` shows it",
                times(total)
            )),
        }
    }

    /// Note for the user about refused calls over TCP.
    pub(crate) fn remote_note(&self) -> Option<String> {
        let total = self.total.load(Ordering::Relaxed);
        (total > 0).then(|| {
            let calls = if total == 1 { "call was" } else { "calls were" };
            format!("{total} {calls} refused over TCP since the engine started; `talaria audit --refused` shows the latest")
        })
    }
}

impl Engine {
    /// The same engine, for this caller.
    #[must_use]
    pub fn for_caller(&self, identity: Identity) -> Self {
        Self { inner: Arc::clone(&self.inner), identity: Arc::new(identity) }
    }

    /// Establishes who a peer is, from what the system says about its process: `examined` is what
    /// [`peer_process::examine`] returned.
    pub fn identify(&self, examined: Result<(ProcessFacts, PeerEvidence), String>) -> Identity {
        let owner = self.inner.owner.clone();
        let (class, evidence) = match (&self.inner.own_process, examined) {
            (Ok(engine), Ok((peer, evidence))) => (self.class_of(engine, &peer), evidence),
            (Err(why), Ok((_, evidence))) => (PeerClass::Unknown { why: why.clone() }, evidence),
            (_, Err(why)) => (PeerClass::Unknown { why }, PeerEvidence::default()),
        };
        Identity::of_peer(owner, class, evidence)
    }

    /// The configuration is read only for a peer in a sandbox.
    fn class_of(&self, engine: &ProcessFacts, peer: &ProcessFacts) -> PeerClass {
        match classify(engine, peer, &[]) {
            PeerClass::Sandboxed { .. } => {
                let admitted = self.inner.home.load_config().map(|(config, _)| config.access.environments);
                classify(engine, peer, &admitted.unwrap_or_default())
            }
            class => class,
        }
    }

    /// The Codex processes that run, by which a peer below one is recognised.
    pub fn codex_processes(&self) -> Vec<i32> {
        self.inner.hosts.pids()
    }

    /// For whom this is.
    pub fn principal(&self) -> &Principal {
        self.identity.principal()
    }

    /// Who is at the other end.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What this caller may do. Read again each time, because the person may change the configuration while the engine
    /// runs.
    pub(crate) fn access(&self) -> Access {
        Access::of_owner(&self.identity).unwrap_or_else(|| Access::of(&self.identity, &self.bridge()))
    }

    /// What `[bridge]` grants this caller; `None` for the owner, who needs no grant.
    pub(crate) fn granted(&self) -> Option<Rights> {
        (self.access().starts != StartRight::Anything).then(|| grants(&self.identity, &self.bridge()))
    }

    fn bridge(&self) -> talaria_core::config::BridgeConfig {
        self.inner.home.load_config().map(|(config, _)| config.bridge).unwrap_or_default()
    }

    /// Who does what is done through this. A client may say that no one was there or that the demo answers, nothing else.
    pub(crate) fn who(&self, claimed: Who) -> Who {
        match claimed {
            // A token acts for the person who made it; its name is recorded with the answer.
            _ if self.identity.is_remote() => Who::User,
            _ if self.access() != Access::OWNER => Who::Model,
            Who::Nobody | Who::Demo => claimed,
            _ => Who::User,
        }
    }

    /// Refuses everything to a caller that may do nothing, and over TCP what the token has no scope for, in words that say
    /// why. `needs` is what the table of routes says.
    pub async fn admit(&self, action: &str, needs: RouteNeed, subject: Option<&str>) -> Result<(), Problem> {
        let access = self.access();
        if self.identity.is_remote() && !access.has(needs) {
            return Err(self.refused_remote(action, remote::no_scope(self.principal(), needs)).await);
        }
        if !access.is_none() {
            return Ok(());
        }
        let (why, hint) = self.identity.exclusion().unwrap_or_else(|| {
            (format!("{} has no rights here", self.principal()), "run the command as yourself".to_owned())
        });
        let problem = Problem::new(ProblemCode::Forbidden, why).try_this(hint);
        Err(self.refused(action, subject, problem).await)
    }

    /// Refuses a caller without this right. `what` completes "a model cannot …".
    pub(crate) async fn require(&self, needs: Needs, action: &str, what: &str) -> Result<(), Problem> {
        let access = self.access();
        let has = match needs {
            Needs::SeeAll => access.sees_everything(),
            Needs::See => access.sees == SeeRight::All,
            Needs::Land => access.lands,
            Needs::StartAnything => access.starts == StartRight::Anything,
            Needs::Shell => access.shell,
            Needs::Admin => access.admin,
        };
        if has {
            return Ok(());
        }
        if self.identity.is_remote() {
            let message = format!("{} cannot {what}", self.principal());
            let problem = Problem::new(ProblemCode::Forbidden, message)
                .try_this("use a token with that right, and without directories if it is about everything");
            return Err(self.refused_remote(action, problem).await);
        }
        let problem = Problem::new(ProblemCode::Forbidden, format!("a model cannot {what}"))
            .try_this("ask the person to do it");
        Err(self.refused(action, None, problem).await)
    }

    /// Writes a refusal down, reports it to the conversations of the Codex that the caller runs below, and returns it.
    pub(crate) async fn refused(&self, action: &str, subject: Option<&str>, problem: Problem) -> Problem {
        let now = now_ms();
        // Who floods the network must not hide what a model on this machine is refused.
        let refusals =
            if self.identity.is_remote() { &self.inner.remote_refusals } else { &self.inner.refusals };
        if refusals.count(now) {
            let entry = NewAudit {
                outcome: AuditOutcome::Refused,
                reason: Some(problem.message.clone()),
                request: subject.filter(|id| id.starts_with("req-")).map(shortened),
                session: subject.filter(|id| !id.starts_with("req-")).map(shortened),
                ..self.audit_entry(action)
            };
            self.keep_record(entry).await;
            tracing::warn!(
                "refused {action} to {} ({}): {}",
                self.principal(),
                self.identity.established(),
                problem.message
            );
            self.report_refusal(action, subject).await;
        }
        problem
    }

    /// The same without a subject, for a caller over TCP.
    pub(crate) async fn refused_remote(&self, action: &str, problem: Problem) -> Problem {
        self.refused(action, None, problem).await
    }

    /// One line for the person, in every conversation that has a turn on the Codex above the caller.
    async fn report_refusal(&self, action: &str, subject: Option<&str>) {
        if let PeerClass::BelowKeeper { .. } = self.identity.class() {
            return self.report_to_loops(action, subject).await;
        }
        let Some(codex) = self.identity.class().codex() else { return };
        let Some(nonce) = self.inner.hosts.nonce_of(codex) else { return };
        let Ok(unsettled) = self.inner.shelf.store.unsettled().await else { return };
        let subject = subject.map(|id| format!(" {}", shortened(id))).unwrap_or_default();
        let message = format!(
            "a command below this Codex (process {}) tried to use Talaria as you ({}{subject}) and was refused; `talaria audit` \
             shows it",
            self.identity.evidence().pid.unwrap_or_default(),
            action.replace('_', " "),
        );
        for (session, _) in unsettled.iter().filter(|(session, _)| session.host.as_deref() == Some(&nonce)) {
            let event = Event::Warning { message: message.clone() };
            self.inner.desk.tell(&session.id, Command::Report { event: Box::new(event) });
        }
    }

    /// One line for the person, in every conversation on the built-in loop that has a turn: which of them started the command
    /// cannot be seen from its process alone.
    async fn report_to_loops(&self, action: &str, subject: Option<&str>) {
        let Ok(unsettled) = self.inner.shelf.store.unsettled().await else { return };
        let subject = subject.map(|id| format!(" {}", shortened(id))).unwrap_or_default();
        let message = format!(
            "a command of the built-in loop (process {}) tried to use Talaria as you ({}{subject}) and was refused; `talaria \
             audit` shows it",
            self.identity.evidence().pid.unwrap_or_default(),
            action.replace('_', " "),
        );
        for (session, _) in
            unsettled.iter().filter(|(session, _)| runtime_of(session) == Some(Runtime::OwnLoop))
        {
            let event = Event::Warning { message: message.clone() };
            self.inner.desk.tell(&session.id, Command::Report { event: Box::new(event) });
        }
    }

    /// The audit log, newest first.
    pub async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditEntry>, Problem> {
        self.require(Needs::Admin, "audit", "read the audit log").await?;
        let limit = u32::try_from(query.limit).unwrap_or(u32::MAX);
        let rows = self
            .inner
            .shelf
            .store
            .audit(query.before, limit)
            .await
            .map_err(|error| views::problem(&error))?;
        Ok(rows.into_iter().map(views::audit).collect())
    }

    /// What models cost, added up; the latest first.
    pub async fn usage(&self, query: UsageQuery) -> Result<Vec<UsageSum>, Problem> {
        self.require(Needs::Admin, "usage", "read what models cost").await?;
        let store = &self.inner.shelf.store;
        let first = now_ms() / views::DAY_MS - i64::from(query.days.max(1)) + 1;
        let filter = UsageFilter { by: query.by, since: first * views::DAY_MS };
        let rows = store.usage(filter).await.map_err(|error| views::problem(&error))?;
        let mut sums = Vec::with_capacity(rows.len());
        for row in rows {
            let title = match (query.by, row.key.as_deref()) {
                (UsageBy::Session, Some(id)) => {
                    let found = store.session(&SessionId::new(id)).await;
                    found.map_err(|error| views::problem(&error))?.and_then(|session| session.title)
                }
                _ => None,
            };
            sums.push(views::usage(query.by, row, title));
        }
        Ok(sums)
    }

    /// Records an action of this caller that has no row of its own.
    pub(crate) async fn record(&self, action: &str, session: &SessionId) {
        let entry = NewAudit { session: Some(session.to_string()), ..self.audit_entry(action) };
        self.keep_record(entry).await;
    }

    /// Records that this caller runs a shell command.
    pub(crate) async fn record_shell(&self, shell: &Shell) {
        let entry = NewAudit { session: shell.session.clone(), ..self.audit_entry("shell") };
        self.keep_record(entry).await;
    }

    pub(crate) async fn keep_record(&self, entry: NewAudit) {
        if let Err(error) = self.inner.shelf.store.add_audit(entry).await {
            tracing::error!("the audit log cannot be written: {error}");
        }
    }

    /// A row about something that this caller does.
    pub(crate) fn audit_entry(&self, action: &str) -> NewAudit {
        let evidence = self.identity.evidence();
        NewAudit {
            at: now_ms(),
            action: action.to_owned(),
            outcome: AuditOutcome::Done,
            principal: self.principal().to_string(),
            established: self.identity.established(),
            pid: evidence.pid,
            terminal: evidence.terminal.clone(),
            program: evidence.program.clone(),
            session: None,
            request: None,
            digest: None,
            decision: None,
            reason: None,
        }
    }
}

/// The id as sent by a caller, sanitised and short enough for a row.
fn shortened(id: &str) -> String {
    plain::one_line(id).chars().take(80).collect()
}

/// Facts about the engine itself, with which its peers are compared.
pub(crate) fn own_process() -> Result<ProcessFacts, String> {
    let pid = i32::try_from(std::process::id()).map_err(|error| error.to_string())?;
    peer_process::examine(pid, &[]).map(|(facts, _)| facts)
}

/// Whose engine this is.
pub(crate) fn owner_of_the_home() -> Principal {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    if name.trim().is_empty() {
        return Principal::person(&rustix::process::getuid().as_raw().to_string());
    }
    Principal::person(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_of_refusals_is_counted_but_not_all_written_down() {
        let refusals = Refusals::default();
        assert_eq!(refusals.note(), None);
        let written = (0..1000).filter(|_| refusals.count(5)).count();
        assert_eq!(written, REFUSALS_A_MINUTE as usize);
        assert!(refusals.count(5 + MINUTE_MS), "the next minute is written down again");
        assert!(refusals.note().unwrap().starts_with("1001 times"));
    }
}
