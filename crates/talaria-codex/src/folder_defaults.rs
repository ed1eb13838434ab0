//! What Codex's own configuration decides about a new conversation in a folder, read without a Codex.
//!
//! The built-in loop starts no app-server that could be asked, but a folder means the same on both runtimes: without a
//! recorded trust level it is read-only. Codex's rules themselves are those of `trust` and `ExpectedSandbox`. What only
//! Codex can apply (a permission profile, a configuration profile) becomes read-only and is reported. Only
//! `CODEX_HOME/config.toml` is read, not what a project or an administrator adds, and nothing is written. Called once for a conversation; the engine records
//! the values with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use talaria_codex_proto::hiding::ExpectedSandbox;
use talaria_codex_proto::wire::call::{EffectiveConfig, SandboxPolicy, ThreadStart, WorkspaceConfig};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_home::home::user_path;
use toml_edit::{Document, Item};

use crate::trust;

/// The keys of the file that decide.
const KEYS: [&str; 7] = [
    "approval_policy",
    "default_permissions",
    "permissions",
    "profile",
    "projects",
    "sandbox_mode",
    "sandbox_workspace_write",
];

/// What a client requested for a new conversation, and where.
#[derive(Clone, Copy, Debug)]
pub struct FolderRequest<'a> {
    /// The working directory.
    pub cwd: &'a str,
    /// The requested sandbox.
    pub sandbox: Option<Sandbox>,
    /// The requested approval policy.
    pub approval: Option<ApprovalPolicy>,
}

/// What holds in a new conversation.
#[derive(Clone, Debug)]
pub struct FolderDefaults {
    /// Its sandbox.
    pub sandbox: Sandbox,
    /// When a person is asked.
    pub approval: ApprovalPolicy,
    /// What its commands may write and reach; nothing besides the working directory unless the sandbox is `workspace-write`.
    pub workspace: WorkspaceConfig,
    /// Why the file does not decide all of it as on Codex.
    pub notes: Vec<String>,
}

/// Codex's configuration cannot be read, so that it is not known what it permits.
#[derive(Debug, thiserror::Error)]
#[error("cannot read Codex's configuration {}: {why}", path.display())]
pub struct FolderDefaultsError {
    path: PathBuf,
    why: String,
}

impl FolderDefaults {
    /// Decides what `request` leaves open, by `config.toml` in the directory of a Codex. `user_home` is for paths that begin
    /// with `~`.
    ///
    /// A missing file says nothing. One that cannot be read is an error, unless the request leaves nothing open.
    pub fn read(
        request: FolderRequest<'_>,
        codex_home: Option<&Path>,
        user_home: Option<&Path>,
    ) -> Result<Self, FolderDefaultsError> {
        let config = codex_home.map_or_else(|| Ok(EffectiveConfig::default()), read_config);
        let mut notes = Vec::new();
        let mut config = match config {
            Ok(config) => config,
            Err(error) if request.sandbox.is_some() && request.approval.is_some() => {
                // Only its further roots and its network would count.
                if request.sandbox == Some(Sandbox::WorkspaceWrite) {
                    notes.push(format!("{error}; only the working directory is writable"));
                }
                EffectiveConfig::default()
            }
            Err(error) => return Err(error),
        };
        if let (Some(workspace), Some(codex_home)) = (&mut config.sandbox_workspace_write, codex_home) {
            for root in &mut workspace.writable_roots {
                *root = codex_home.join(user_path(root, user_home)).to_string_lossy().into_owned();
            }
        }
        Ok(decide(request, &config, notes))
    }
}

fn decide(request: FolderRequest<'_>, config: &EffectiveConfig, mut notes: Vec<String>) -> FolderDefaults {
    let start =
        ThreadStart { cwd: request.cwd.to_owned(), sandbox: request.sandbox, ..ThreadStart::default() };
    let read_only = |why: String, notes: &mut Vec<String>| {
        notes.push(format!(
            "the conversation is read-only: {why}; name a sandbox to choose another (--sandbox, codex.sandbox)"
        ));
        (Sandbox::ReadOnly, WorkspaceConfig::default())
    };
    let (sandbox, workspace) = match ExpectedSandbox::of(&start, config, trust::of(config, request.cwd)) {
        ExpectedSandbox::Policy(SandboxPolicy::ReadOnly { .. }) => {
            (Sandbox::ReadOnly, WorkspaceConfig::default())
        }
        ExpectedSandbox::Policy(SandboxPolicy::DangerFullAccess) => {
            (Sandbox::DangerFullAccess, WorkspaceConfig::default())
        }
        ExpectedSandbox::Policy(SandboxPolicy::WorkspaceWrite {
            writable_roots,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        }) => {
            let workspace =
                WorkspaceConfig { writable_roots, network_access, exclude_tmpdir_env_var, exclude_slash_tmp };
            (Sandbox::WorkspaceWrite, workspace)
        }
        ExpectedSandbox::Profile { name, .. } => read_only(
            format!(
                "Codex's configuration names the permission profile {name:?}, which only Codex can apply"
            ),
            &mut notes,
        ),
        ExpectedSandbox::Unknown { why } => read_only(why.to_owned(), &mut notes),
    };
    let approval = request.approval.unwrap_or_else(|| approval(request.cwd, config, &mut notes));
    FolderDefaults { sandbox, approval, workspace, notes }
}

/// The policy where none is requested. One that is not known here asks before everything.
fn approval(cwd: &str, config: &EffectiveConfig, notes: &mut Vec<String>) -> ApprovalPolicy {
    let unknown = match (&config.profile, &config.approval_policy) {
        (Some(_), _) => "a configuration profile of Codex may decide about approvals",
        (None, None) => return trust::defaults(config, cwd).1,
        (None, Some(policy)) => match policy.as_str().and_then(|word| word.parse().ok()) {
            Some(policy) => return policy,
            None => "Codex's configuration has an approval policy that only Codex can apply",
        },
    };
    notes.push(format!(
        "you are asked before every command and change: {unknown}; name a policy to choose another (--approval, \
         codex.approval_policy)"
    ));
    ApprovalPolicy::Untrusted
}

fn read_config(codex_home: &Path) -> Result<EffectiveConfig, FolderDefaultsError> {
    let path = codex_home.join("config.toml");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(EffectiveConfig::default()),
        Err(error) => return Err(FolderDefaultsError { path, why: error.to_string() }),
    };
    parse(&text).map_err(|why| FolderDefaultsError { path, why })
}

/// Reads the deciding keys. An error names no value of the file: there are secrets in it.
fn parse(text: &str) -> Result<EffectiveConfig, String> {
    let document = Document::parse(text).map_err(|error| error.message().to_owned())?;
    let mut decisive = Map::new();
    for key in KEYS {
        if let Some(item) = document.as_table().get(key) {
            let value = json(item);
            let alone = Map::from_iter([(key.to_owned(), value.clone())]);
            if serde_json::from_value::<EffectiveConfig>(Value::Object(alone)).is_err() {
                return Err(format!("the value of {key} is not of the expected kind"));
            }
            decisive.insert(key.to_owned(), value);
        }
    }
    serde_json::from_value(Value::Object(decisive)).map_err(|_| "its values are not understood".to_owned())
}

fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => plain(value),
        Item::Table(table) => table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect(),
        Item::ArrayOfTables(tables) => {
            let table = |table: &toml_edit::Table| -> Value {
                table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect()
            };
            tables.iter().map(table).collect()
        }
    }
}

fn plain(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(flag) => Value::from(*flag.value()),
        toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
        toml_edit::Value::Array(elements) => elements.iter().map(plain).collect(),
        toml_edit::Value::InlineTable(table) => {
            table.iter().map(|(key, value)| (key.to_owned(), plain(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Decided {
        words: String,
        defaults: FolderDefaults,
    }

    /// What the file decides about `/w`, as `sandbox approval`, with the number of notes where there are some.
    fn decided(file: &str, sandbox: Option<Sandbox>, approval: Option<ApprovalPolicy>) -> Decided {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("config.toml"), file).unwrap();
        let request = FolderRequest { cwd: "/w", sandbox, approval };
        let defaults = FolderDefaults::read(request, Some(home.path()), Some(Path::new("/home/me"))).unwrap();
        let FolderDefaults { sandbox, approval, notes, .. } = &defaults;
        let mut words = format!("{sandbox} {approval}");
        if !notes.is_empty() {
            words.push_str(&format!(", {} noted", notes.len()));
        }
        Decided { words, defaults }
    }

    #[test]
    fn a_folder_without_a_recorded_level_is_read_only_and_one_with_a_level_is_as_on_codex() {
        let of = |file: &str| decided(file, None, None).words;
        assert_eq!(of(""), "read-only on-request");
        assert_eq!(of("[projects.\"/elsewhere\"]\ntrust_level = \"trusted\""), "read-only on-request");
        assert_eq!(of("[projects.\"/w\"]\ntrust_level = \"trusted\""), "workspace-write on-request");
        assert_eq!(
            of("projects = { \"/w\" = { trust_level = \"untrusted\" } }"),
            "workspace-write untrusted"
        );
        let nowhere = FolderRequest { cwd: "/w", sandbox: None, approval: None };
        let nothing = FolderDefaults::read(nowhere, Some(Path::new("/nowhere")), None).unwrap();
        assert_eq!((nothing.sandbox, nothing.approval), (Sandbox::ReadOnly, ApprovalPolicy::OnRequest));
    }

    #[test]
    fn the_file_decides_before_the_level_and_the_request_before_the_file() {
        let file = "sandbox_mode = \"workspace-write\"\napproval_policy = \"never\"\n\
                    [projects.\"/w\"]\ntrust_level = \"untrusted\"";
        assert_eq!(decided(file, None, None).words, "workspace-write never");
        assert_eq!(decided(file, Some(Sandbox::ReadOnly), None).words, "read-only never");
        let asks = Some(ApprovalPolicy::OnRequest);
        assert_eq!(decided(file, None, asks).words, "workspace-write on-request");
        assert_eq!(
            decided("default_permissions = \":workspace\"", None, None).words,
            "workspace-write on-request"
        );
    }

    #[test]
    fn roots_network_and_temporary_directories_count_only_where_they_may_be_written() {
        let file = "[sandbox_workspace_write]\nwritable_roots = [\"/a\", \"~/b\", \"c\"]\nnetwork_access = true\n\
                    exclude_slash_tmp = true\n";
        let WorkspaceConfig { writable_roots, network_access, exclude_tmpdir_env_var, exclude_slash_tmp } =
            decided(file, Some(Sandbox::WorkspaceWrite), None).defaults.workspace;
        assert_eq!(writable_roots[..2], ["/a", "/home/me/b"]);
        assert!(
            writable_roots[2].starts_with('/') && writable_roots[2].ends_with("/c"),
            "{writable_roots:?}"
        );
        assert_eq!((network_access, exclude_tmpdir_env_var, exclude_slash_tmp), (true, false, true));
        let closed = decided(file, None, None).defaults.workspace;
        assert!(closed.writable_roots.is_empty() && !closed.network_access);
        // Codex does not look at these settings for a permission profile.
        let profile = decided(&format!("default_permissions = \":workspace\"\n{file}"), None, None).defaults;
        assert_eq!(profile.sandbox, Sandbox::WorkspaceWrite);
        assert!(profile.workspace.writable_roots.is_empty() && !profile.workspace.network_access);
    }

    #[test]
    fn what_only_codex_can_apply_becomes_read_only_and_is_noted() {
        let of = |file: &str| decided(file, None, None).words;
        let trusted = "[projects.\"/w\"]\ntrust_level = \"trusted\"";
        for file in [
            "default_permissions = \"mine\"",
            "default_permissions = \":brand-new\"",
            "sandbox_mode = \"brand-new\"",
        ] {
            assert_eq!(of(&format!("{file}\n{trusted}")), "read-only on-request, 1 noted", "{file}");
        }
        assert_eq!(of(&format!("profile = \"work\"\n{trusted}")), "read-only untrusted, 2 noted");
        let granular = "approval_policy = { granular = { rules = true } }";
        assert_eq!(of(&format!("{granular}\n{trusted}")), "workspace-write untrusted, 1 noted");
    }

    #[test]
    fn a_file_that_cannot_be_read_decides_nothing_and_none_of_its_values_is_shown() {
        let home = tempfile::tempdir().unwrap();
        for (file, why) in [
            ("experimental_bearer_token = \"sk-secret\nx", "config.toml: "),
            ("sandbox_mode = [\"sk-secret\"]", "sandbox_mode is not of the expected kind"),
        ] {
            fs::write(home.path().join("config.toml"), file).unwrap();
            let read = |sandbox, approval| {
                FolderDefaults::read(FolderRequest { cwd: "/w", sandbox, approval }, Some(home.path()), None)
            };
            let (workspace, asks) = (Some(Sandbox::WorkspaceWrite), Some(ApprovalPolicy::OnRequest));
            for open in [(None, None), (workspace, None), (None, asks)] {
                let error = read(open.0, open.1).unwrap_err().to_string();
                assert!(error.contains(why) && !error.contains("sk-secret"), "{error}");
            }
            let closed = read(workspace, asks).unwrap();
            assert!(closed.workspace.writable_roots.is_empty() && closed.notes.len() == 1, "{closed:?}");
            assert!(read(Some(Sandbox::ReadOnly), asks).unwrap().notes.is_empty());
        }
    }
}
