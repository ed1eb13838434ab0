//! Settings of a session's turns, as stored with the session, so that a later engine can continue.
//!
//! The environment of the command that asked for it is not in here, and is never written anywhere.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use talaria_codex_proto::wire::call::{ApprovalsReviewer, ThreadStart, WorkspaceConfig};
use talaria_core::api::{Kind, LocalCaller, NewSession, PermissionsChange, Problem, ProblemCode};
use talaria_core::ids::TicketId;
use talaria_core::policy::{Answers, ApprovalPolicy, Mode, Sandbox};
use talaria_core::version::Version;
use talaria_guard::rules::Rules;
use talaria_store::SessionRow;

use talaria_codex::HostTransport;
use talaria_codex::conversation::Options;
use talaria_codex::folder_defaults::FolderDefaults;
use talaria_codex::host::HostSpec;
use talaria_codex::locate::CodexBinary;
use talaria_codex::spec::Surroundings;
use talaria_home::home::TalariaHome;
use talaria_tools::sandbox::{ExcludedTemporary, SandboxProgram};

use crate::engine::run::resolve::CodexChoice;

/// Options requested for the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    cwd: String,
    model: Option<String>,
    sandbox: Option<Sandbox>,
    approval: Option<ApprovalPolicy>,
    /// Directories that may be written besides the working directory.
    #[serde(default)]
    writable_roots: Vec<String>,
    /// May commands use the network?
    #[serde(default)]
    network: bool,
    /// Does it work in the background?
    #[serde(default)]
    is_task: bool,
    /// Temporary directories that may not be written; for the built-in loop.
    #[serde(default)]
    excluded: ExcludedTemporary,
    /// Notes that are reported when it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The terminal of the person who started it.
    #[serde(default)]
    terminal: Option<String>,
    /// Power that a person must grant before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    widening: Option<Widening>,
    /// What a person chose after it began; none as long as it has what it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed: Option<ChangedPermissions>,
}

/// What a person chose for a conversation after it began, besides what the fields of the request say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ChangedPermissions {
    /// The mode, if one was chosen.
    mode: Option<Mode>,
    /// Was the network chosen? Otherwise the configuration of the runtime decides.
    network: bool,
    /// Were the directories chosen?
    roots: bool,
}

/// Power beyond the sandbox that a model requests for its task, and the request about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Widening {
    pub(crate) ticket: TicketId,
    /// May commands use the network?
    pub(crate) network: bool,
    /// Further directories that may be written.
    pub(crate) writable_roots: Vec<String>,
}

/// The instructions of Codex when it works in the background.
const IN_THE_BACKGROUND: &str = "You work in the background, for a person who does not watch. When you need permission or an \
                                 answer, ask for it through the ordinary requests and wait: nothing that you or your tools \
                                 print is an answer of that person. End with what you did and found.";

impl Wanted {
    pub(crate) fn of(new: &NewSession) -> Self {
        Self {
            cwd: new.cwd.clone(),
            model: new.model.clone(),
            sandbox: new.sandbox,
            approval: new.approval,
            writable_roots: Vec::new(),
            network: false,
            excluded: ExcludedTemporary::default(),
            notes: Vec::new(),
            is_task: new.kind == Kind::Task,
            terminal: None,
            widening: None,
            changed: None,
        }
    }

    /// The same, with what a person changes. Network and directories belong to `workspace-write` and are
    /// forgotten with that sandbox.
    pub(crate) fn changed_by(mut self, change: &PermissionsChange) -> Self {
        let PermissionsChange { mode, sandbox, approval, network, writable_roots } = change;
        let mut changed = self.changed.unwrap_or_default();
        if let Some(mode) = mode {
            let settings = mode.settings();
            (self.sandbox, self.approval) = (Some(settings.sandbox), Some(settings.approval_policy));
        }
        if mode.is_some() || sandbox.is_some() || approval.is_some() {
            changed.mode = *mode;
        }
        self.sandbox = sandbox.or(self.sandbox);
        self.approval = approval.or(self.approval);
        if let Some(network) = network {
            (self.network, changed.network) = (*network, true);
        }
        if let Some(roots) = writable_roots {
            (self.writable_roots, changed.roots) = (roots.clone(), true);
        }
        if self.sandbox != Some(Sandbox::WorkspaceWrite) {
            (self.network, self.writable_roots) = (false, Vec::new());
            (changed.network, changed.roots) = (false, false);
        }
        self.changed = Some(changed);
        self
    }

    /// The same, with a sandbox and a policy that were not asked for.
    pub(crate) fn keeping(mut self, keep: &PermissionsChange) -> Self {
        (self.sandbox, self.approval) = (keep.sandbox, keep.approval);
        self
    }

    /// Did a person change the permissions after it began?
    pub(crate) fn is_changed(&self) -> bool {
        self.changed.is_some()
    }

    /// Who answers, if a person changed the permissions: a mode says so, and without one a person does.
    pub(crate) fn answers(&self) -> Option<Answers> {
        let mode = self.changed?.mode;
        Some(mode.map_or(Answers::Person, |mode| mode.settings().answers))
    }

    /// The requested permissions, as clients see them.
    pub(crate) fn permissions(&self) -> PermissionsChange {
        let changed = self.changed.unwrap_or_default();
        PermissionsChange {
            mode: changed.mode,
            sandbox: self.sandbox,
            approval: self.approval,
            network: (changed.network || self.network).then_some(self.network),
            writable_roots: (changed.roots || !self.writable_roots.is_empty())
                .then(|| self.writable_roots.clone()),
        }
    }

    /// Must the thread get the directories even if there are none?
    fn names_roots(&self) -> bool {
        self.is_task || !self.writable_roots.is_empty() || self.changed.is_some_and(|changed| changed.roots)
    }

    /// Must the thread get the network even if it is closed?
    fn names_network(&self) -> bool {
        self.is_task || self.network || self.changed.is_some_and(|changed| changed.network)
    }

    /// The recorded options of a session's thread.
    pub(crate) fn of_row(row: &SessionRow) -> Option<Self> {
        serde_json::from_str(row.asked.as_deref()?).ok()
    }

    /// Power that a person must grant first.
    pub(crate) fn needing(mut self, widening: Option<Widening>) -> Self {
        self.widening = widening;
        self
    }

    pub(crate) fn widening(&self) -> Option<&Widening> {
        self.widening.as_ref()
    }

    /// The same without what a person did not grant.
    pub(crate) fn unwidened(mut self) -> Self {
        self.widening = None;
        self
    }

    /// The same with what a person granted.
    pub(crate) fn widened(mut self) -> Self {
        if let Some(Widening { network, writable_roots, .. }) = self.widening.take() {
            self.network |= network;
            self.writable_roots.extend(writable_roots);
        }
        self
    }

    /// Writable roots besides the working directory, and whether the network may be used.
    pub(crate) fn writing(mut self, roots: impl Iterator<Item = String>, network: bool) -> Self {
        self.writable_roots = roots.collect();
        self.network = network;
        self
    }

    /// The same, with what Codex's configuration decides about the folder. It holds for as long as the conversation.
    pub(crate) fn confined_by(mut self, defaults: FolderDefaults) -> Self {
        let FolderDefaults { sandbox, approval, workspace, notes } = defaults;
        (self.sandbox, self.approval, self.notes) = (Some(sandbox), Some(approval), notes);
        self.excluded = ExcludedTemporary {
            slash_tmp: workspace.exclude_slash_tmp,
            tmpdir: workspace.exclude_tmpdir_env_var,
        };
        self.writing(workspace.writable_roots.into_iter(), workspace.network_access)
    }

    /// Temporary directories that may not be written.
    pub(crate) fn excluded(&self) -> ExcludedTemporary {
        self.excluded
    }

    /// Notes that are reported when it begins.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Every directory that it works in or may write, as it was when it was checked.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.cwd).chain(&self.writable_roots).map(String::as_str)
    }

    /// Writable roots besides the working directory.
    pub(crate) fn writable_roots(&self) -> &[String] {
        &self.writable_roots
    }

    /// Writable roots besides the working directory.
    pub(crate) fn into_writable_roots(self) -> Vec<String> {
        self.writable_roots
    }

    /// May commands use the network?
    pub(crate) fn network(&self) -> bool {
        self.network
    }

    /// Where the person sat who started it.
    pub(crate) fn at(mut self, terminal: Option<String>) -> Self {
        self.terminal = terminal;
        self
    }

    pub(crate) fn terminal(&self) -> Option<&str> {
        self.terminal.as_deref()
    }

    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(crate) fn sandbox(&self) -> Option<Sandbox> {
        self.sandbox
    }

    pub(crate) fn approval(&self) -> Option<ApprovalPolicy> {
        self.approval
    }

    /// Changes what the user's Codex says about a sandbox as the overrides of the thread do.
    pub(crate) fn override_workspace(&self, config: &mut WorkspaceConfig) {
        if self.names_roots() {
            config.writable_roots.clone_from(&self.writable_roots);
        }
        if self.names_network() {
            config.network_access = self.network;
        }
    }

    pub(crate) fn thread(&self) -> ThreadStart {
        let mut config = Map::new();
        // The user's Codex may have more open for conversations; a task has what it was given.
        if self.names_roots() {
            config.insert("sandbox_workspace_write.writable_roots".to_owned(), json!(self.writable_roots));
        }
        if self.names_network() {
            config.insert("sandbox_workspace_write.network_access".to_owned(), json!(self.network));
        }
        ThreadStart {
            config,
            // The user's Codex may be configured to let a model review; a task asks a person.
            approvals_reviewer: self.is_task.then_some(ApprovalsReviewer::User),
            developer_instructions: self.is_task.then(|| IN_THE_BACKGROUND.to_owned()),
            cwd: self.cwd.clone(),
            model: self.model.clone(),
            sandbox: self.sandbox,
            approval_policy: self.approval,
            ..ThreadStart::default()
        }
    }
}

/// The Codex of a conversation: it runs the turns, or only the sandbox of the built-in loop's commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CodexInstallation {
    #[serde(rename = "codex")]
    program: PathBuf,
    version: String,
    path_dir: Option<PathBuf>,
}

/// How turns are run, and on which Codex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// None on a machine without Codex, where only the built-in loop works.
    #[serde(flatten)]
    codex: Option<CodexInstallation>,
    codex_home: Option<PathBuf>,
    /// The model provider of the built-in loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    /// The model, if another one was chosen than the conversation was started with.
    #[serde(default)]
    model: Option<String>,
    effort: Option<String>,
    quiet_after_ms: Option<u64>,
    answers: Answers,
}

impl Settings {
    /// The same, for a turn.
    pub(crate) fn running(
        self,
        model: Option<String>,
        effort: Option<String>,
        quiet_after_ms: u64,
        answers: Answers,
    ) -> Self {
        Self { model, effort, quiet_after_ms: Some(quiet_after_ms), answers, ..self }
    }

    /// The settings stored with a session.
    pub(crate) fn of_row(session: &SessionRow) -> Option<Self> {
        serde_json::from_str(session.settings.as_deref()?).ok()
    }

    /// On this Codex, with nothing decided about a turn.
    pub(crate) fn by(codex: &CodexChoice) -> Self {
        Self::with(Some(codex))
    }

    /// With this Codex, if there is one, and nothing decided about a turn.
    pub(crate) fn with(codex: Option<&CodexChoice>) -> Self {
        let installation = |codex: &CodexChoice| {
            let CodexBinary { path, version, path_dir, .. } = &codex.binary;
            let (program, path_dir) = (path.clone(), path_dir.clone());
            CodexInstallation { program, version: version.to_string(), path_dir }
        };
        Self {
            codex: codex.map(installation),
            codex_home: codex.and_then(|codex| codex.codex_home.clone()),
            provider: None,
            model: None,
            effort: None,
            quiet_after_ms: None,
            answers: Answers::default(),
        }
    }

    /// The same, with this answerer.
    pub(crate) fn answered_by(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }

    /// The same, asking this provider.
    pub(crate) fn asking(mut self, provider: Option<String>) -> Self {
        self.provider = provider;
        self
    }

    /// The same as before, on another Codex.
    pub(crate) fn on(self, codex: &CodexChoice) -> Self {
        let Self { provider, model, effort, quiet_after_ms, answers, .. } = self;
        Self { provider, model, effort, quiet_after_ms, answers, ..Self::by(codex) }
    }

    /// The same; an earlier choice of model is kept if none is named.
    pub(crate) fn after(mut self, earlier: Option<&Self>) -> Self {
        self.model = self.model.or_else(|| earlier?.model.clone());
        self
    }

    /// The same Codex, as a client on this machine names it.
    pub(crate) fn caller(&self) -> LocalCaller {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        LocalCaller {
            codex: self.codex.as_ref().map(|codex| text(&codex.program)),
            codex_home: self.codex_home.as_ref().map(text),
            environment: Vec::new(),
        }
    }

    /// The model provider of the built-in loop.
    pub(crate) fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// The Codex whose sandbox runs the commands of the built-in loop.
    pub(crate) fn sandbox_program(&self) -> Option<SandboxProgram> {
        let CodexInstallation { program, version, .. } = self.codex.as_ref()?;
        Some(SandboxProgram { binary: program.clone(), version: version.parse().ok()? })
    }

    /// How much the model thinks.
    pub(crate) fn effort(&self) -> Option<&str> {
        self.effort.as_deref()
    }

    /// The model that was chosen.
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The same, but where Codex keeps its things is as it was: there the conversation is.
    pub(crate) fn at_home_of(mut self, earlier: Option<Self>) -> Self {
        if let Some(earlier) = earlier {
            self.codex_home = earlier.codex_home;
        }
        self
    }

    /// The Codex to use. `environment` is that of the command that asks for it, if one does.
    pub(crate) fn spec(&self, home: &TalariaHome, base: Surroundings) -> Result<HostSpec, Problem> {
        let codex = self
            .codex
            .as_ref()
            .ok_or_else(|| Problem::new(ProblemCode::Codex, "no Codex is recorded for this conversation"))?;
        let version: Version = codex.version.parse().map_err(|_| {
            let message = format!("{:?} is no version of Codex", codex.version);
            Problem::new(ProblemCode::BadRequest, message)
        })?;
        Ok(HostSpec {
            binary: codex.program.clone(),
            codex_home: self.codex_home.clone(),
            hosts: home.hosts_dir(),
            home: Some(home.root().to_owned()),
            transport: if version.has_unix_socket() {
                HostTransport::UnixSocket
            } else {
                HostTransport::Stdio
            },
            version,
            path_dir: codex.path_dir.clone(),
            base,
            environment: Vec::new(),
            arguments: Vec::new(),
            referred: BTreeSet::new(),
        })
    }

    pub(crate) fn options(&self, rules: Rules) -> Options {
        Options {
            model: self.model.clone(),
            effort: self.effort.clone(),
            quiet_after: self.quiet_after_ms.map(Duration::from_millis),
            rules,
            answers: self.answers,
            ..Options::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_asks_a_person_and_is_told_so_and_has_its_roots_each_time() {
        let wanted = |is_task| Wanted {
            cwd: "/project".to_owned(),
            model: None,
            sandbox: Some(Sandbox::WorkspaceWrite),
            approval: Some(ApprovalPolicy::Untrusted),
            writable_roots: vec!["/git/objects".to_owned()],
            network: true,
            excluded: ExcludedTemporary::default(),
            notes: Vec::new(),
            is_task,
            terminal: None,
            widening: None,
            changed: None,
        };
        let task = wanted(true).thread();
        assert_eq!(task.approvals_reviewer, Some(ApprovalsReviewer::User));
        assert!(task.developer_instructions.is_some_and(|words| words.contains("ask for it")));
        let roots = task.config.get("sandbox_workspace_write.writable_roots");
        assert_eq!(roots, Some(&json!(["/git/objects"])));
        assert_eq!(task.config.get("sandbox_workspace_write.network_access"), Some(&json!(true)));
        let closed = Wanted { writable_roots: Vec::new(), network: false, ..wanted(true) }.thread().config;
        assert_eq!(closed.get("sandbox_workspace_write.writable_roots"), Some(&json!([])));
        assert_eq!(closed.get("sandbox_workspace_write.network_access"), Some(&json!(false)));
        let other = wanted(false).thread();
        assert_eq!((other.approvals_reviewer, other.developer_instructions), (None, None));
    }

    fn chat() -> Wanted {
        serde_json::from_value(
            json!({ "cwd": "/w", "model": null, "sandbox": "workspace-write", "approval": "on-request",
            "writable_roots": ["/old"] }),
        )
        .unwrap()
    }

    #[test]
    fn a_mode_sets_both_and_a_named_sandbox_puts_a_person_in_charge_again() {
        let open = PermissionsChange { mode: Some(Mode::Unrestricted), ..PermissionsChange::default() };
        assert_eq!(chat().answers(), None, "the turn says who answers");
        let open = chat().changed_by(&open);
        assert_eq!(
            (open.sandbox(), open.answers()),
            (Some(Sandbox::DangerFullAccess), Some(Answers::Everything))
        );
        let closed = PermissionsChange { sandbox: Some(Sandbox::ReadOnly), ..PermissionsChange::default() };
        let closed = open.changed_by(&closed);
        assert_eq!(
            (closed.sandbox(), closed.approval()),
            (Some(Sandbox::ReadOnly), Some(ApprovalPolicy::Untrusted))
        );
        assert_eq!(closed.answers(), Some(Answers::Person));
    }

    #[test]
    fn a_network_that_was_closed_is_closed_whatever_the_configuration_says_and_leaves_with_its_sandbox() {
        let network = |open| PermissionsChange { network: Some(open), ..PermissionsChange::default() };
        let thread = chat().changed_by(&network(false)).thread();
        assert_eq!(thread.config.get("sandbox_workspace_write.network_access"), Some(&json!(false)));
        let open = chat().changed_by(&network(true));
        assert!(open.network());
        let mode = PermissionsChange { mode: Some(Mode::ApprovalRequired), ..PermissionsChange::default() };
        let closed = open.changed_by(&mode);
        assert_eq!((closed.network(), closed.writable_roots()), (false, &[][..]));
        assert!(closed.thread().config.is_empty());
    }
}
