//! A private `CODEX_HOME` wired to a scripted model, a work directory next to it, and the environment for both.
//!
//! It lies below no temporary directory, where Codex refuses a home (`build_dir::homes`), and is deleted on drop.
//! With this home and environment Codex speaks to 127.0.0.1 alone: no login, no plugins, no analytics, no update check.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use talaria_scripted::ScriptedModel;
use tempfile::TempDir;

use crate::build_dir;

/// The files of one test: `home/` for Codex, `work/` to work in, `tmp/` as its temporary directory.
#[derive(Debug)]
pub struct CodexHome {
    folder: TempDir,
}

/// How often Codex tries again when the model server fails; the tests' default is never.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelRetries {
    /// Tries after a request that was refused.
    pub request: u32,
    /// Tries after a stream that broke.
    pub stream: u32,
}

impl CodexHome {
    /// Makes a home whose model is the scripted one, without retries.
    pub fn new(model: &ScriptedModel) -> Self {
        Self::with_retries(model, ModelRetries::default())
    }

    /// Makes a home whose model is the scripted one.
    pub fn with_retries(model: &ScriptedModel, retries: ModelRetries) -> Self {
        Self::with_config(&config(&model.base_url(), retries))
    }

    /// Makes a home with any `config.toml`, also one that does not parse.
    pub fn with_config(config: &str) -> Self {
        match Self::create(config) {
            Ok(home) => home,
            Err(cause) => panic!("cannot make a home for codex: {cause:#}"),
        }
    }

    /// Returns the directory for `CODEX_HOME`.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns the empty directory to work in.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Returns the folder that contains everything, for the test's own files.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Adds lines to `config.toml`; they must open with a table of their own.
    pub fn append_config(&self, toml: &str) {
        let path = self.path().join("config.toml");
        let old = fs::read_to_string(&path).unwrap_or_default();
        if let Err(cause) = fs::write(&path, format!("{old}\n{toml}\n")) {
            panic!("cannot write {}: {cause}", path.display());
        }
    }

    /// Returns the variables that keep Codex inside this home; everything else is inherited.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let loopback = || OsString::from("127.0.0.1,localhost");
        vec![
            ("CODEX_HOME", self.path().into()),
            // Commands run in a login shell: the profile of the machine's owner must not take part.
            ("HOME", self.folder.path().join("user").into()),
            // Not above CODEX_HOME.
            ("TMPDIR", self.folder.path().join("tmp").into()),
            // A proxy of this machine must not be asked for the scripted model.
            ("NO_PROXY", loopback()),
            ("no_proxy", loopback()),
            ("NO_COLOR", "1".into()),
            ("RUST_LOG", "warn".into()),
        ]
    }

    fn create(config: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("t").tempdir_in(build_dir::homes())?;
        let home = Self { folder };
        for name in ["home", "user", "work", "tmp"] {
            fs::create_dir(home.folder.path().join(name)).context("create a directory")?;
        }
        fs::write(home.path().join("config.toml"), config).context("write config.toml")?;
        Ok(home)
    }
}

/// Returns the `config.toml` that makes a real turn run offline, on both versions.
pub fn config(base_url: &str, retries: ModelRetries) -> String {
    let ModelRetries { request, stream } = retries;
    format!(
        r#"model = "gpt-5.5"
model_provider = "mock"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

[model_providers.mock]
name = "mock"
base_url = "{base_url}"
wire_api = "responses"
request_max_retries = {request}
stream_max_retries = {stream}
"#
    )
}
