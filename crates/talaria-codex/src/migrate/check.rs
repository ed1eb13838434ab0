//! Has the installed Codex read a new text before it replaces anything.
//!
//! A Codex is started on a scratch home, without plugins, analytics, update check, login or a way to the network, and
//! asked for its configuration: it refuses a text that it would otherwise replace by its defaults with a mere warning.
//! Where the version can be strict about unknown names it is. Errors in the user's own text are distinguished from
//! errors in Talaria's entries.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use talaria_codex_proto::wire::call::UserConfigRead;
use talaria_core::next_step::NextStep;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use toml_edit::Document;

use super::MigrationTarget;
use super::scratch::Scratch;
use crate::HostTransport;
use crate::client::CallError;
use crate::host::{Host, HostError, HostSpec};
use crate::locate::child_guard::ChildGuard;
use talaria_home::faults::blocking_point;

/// How long Codex may take to say which options it has.
const HELP_LIMIT: Duration = Duration::from_secs(10);
/// The option that only newer versions have.
const STRICT: &str = "--strict-config";
/// An address on which nothing listens.
const NO_WAY_OUT: &str = "http://127.0.0.1:9";

/// Why a text may not replace the user's.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// Codex refuses it because of what would be added.
    #[error("Codex does not accept the result: {0}")]
    Refused(String),
    /// Codex refuses the user's own text already.
    #[error("Codex does not accept the file as it is now: {0}")]
    RefusedBefore(String),
    /// Codex reads it, but does not see this server.
    #[error("Codex reads the result, but does not see the server {0}")]
    Unseen(String),
    /// It could not be asked.
    #[error("cannot have Codex check the result: {0}")]
    NotAsked(String),
}

impl CheckError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            Self::Refused(_) | Self::Unseen(_) => {
                "nothing was changed; correct what it names, or update Codex with `talaria setup`"
            }
            Self::RefusedBefore(_) => "nothing was changed; correct the file first, then migrate again",
            Self::NotAsked(_) => "nothing was changed; run `talaria doctor` to see what is wrong",
        };
        text.into()
    }
}

/// The texts to compare.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    /// The current text; empty if there is none.
    pub(super) old: &'a str,
    /// The new text.
    pub(super) new: &'a str,
    /// The servers that must be in it.
    pub(super) servers: &'a [String],
}

/// Checks the new text. Returns a warning for the user if it is accepted with one.
pub(super) async fn check(
    target: &MigrationTarget,
    room: &Path,
    spec: &HostSpec,
    texts: &Texts<'_>,
) -> Result<Option<String>, CheckError> {
    let checker = Checker { target, room, spec };
    if !checker.can_be_strict().await? {
        return match checker.read(texts.new, Manner::Lenient).await? {
            Ok(seen) => all_seen(&seen, texts.servers).map(|()| None),
            Err(why) => Err(checker.blame(texts.old, Manner::Lenient, why).await?),
        };
    }
    let strictly = match checker.read(texts.new, Manner::Strict).await? {
        Ok(seen) => return all_seen(&seen, texts.servers).map(|()| None),
        Err(why) => why,
    };
    match checker.read(texts.new, Manner::Lenient).await? {
        Err(why) => Err(checker.blame(texts.old, Manner::Lenient, why).await?),
        Ok(seen) => {
            all_seen(&seen, texts.servers)?;
            // Only strictness refuses it: fatal if the reason is ours, worth a word if it is the user's own.
            match checker.blame(texts.old, Manner::Strict, strictly).await? {
                CheckError::RefusedBefore(why) => {
                    Ok(Some(format!("Codex ignores part of your own file: {why}")))
                }
                ours => Err(ours),
            }
        }
    }
}

fn all_seen(seen: &[String], servers: &[String]) -> Result<(), CheckError> {
    match servers.iter().find(|name| !seen.contains(name)) {
        Some(name) => Err(CheckError::Unseen(name.clone())),
        None => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Lenient,
    Strict,
}

struct Checker<'a> {
    target: &'a MigrationTarget,
    room: &'a Path,
    spec: &'a HostSpec,
}

/// The names of the servers that Codex sees, or why it refuses the text.
type Reading = Result<Vec<String>, String>;

impl Checker<'_> {
    fn scratch(&self, text: &str) -> Result<Scratch, CheckError> {
        let made = Scratch::create(self.room, text, self.target.home());
        made.map_err(|error| CheckError::NotAsked(format!("{}: {error}", self.room.display())))
    }

    /// Whose fault it is: the user's if the old text is refused as well.
    async fn blame(&self, old: &str, manner: Manner, why: String) -> Result<CheckError, CheckError> {
        Ok(match self.read(old, manner).await? {
            Ok(_) => CheckError::Refused(why),
            Err(own) => CheckError::RefusedBefore(own),
        })
    }

    async fn read(&self, text: &str, manner: Manner) -> Result<Reading, CheckError> {
        let scratch = self.scratch(text)?;
        let host = match Host::start(self.spec_on(&scratch, text, manner)).await {
            Ok(host) => host,
            // Strictness is shown by not starting at all.
            Err(HostError::NotUp { why } | HostError::Greeting(CallError::Gone { why }))
                if manner == Manner::Strict =>
            {
                return Ok(Err(self.in_place(&scratch, reason(&why))));
            }
            Err(error) => return Err(CheckError::NotAsked(error.to_string())),
        };
        blocking_point("migrate-checking");
        let reply = host.call(&UserConfigRead { include_layers: false }).await;
        host.close().await;
        match reply {
            Ok(reply) => Ok(Ok(reply
                .config
                .mcp_servers
                .unwrap_or_default()
                .into_iter()
                .map(|(name, _)| name)
                .collect())),
            Err(CallError::Refused { error, .. }) => Ok(Err(self.in_place(&scratch, error.message.trim()))),
            Err(error) => Err(CheckError::NotAsked(error.to_string())),
        }
    }

    /// Codex names the scratch copy, which the user does not know.
    fn in_place(&self, scratch: &Scratch, words: &str) -> String {
        let real = self.target.file().display().to_string();
        let words = words.replace(&scratch.config().display().to_string(), &real);
        words.replace(&scratch.path().display().to_string(), &self.target.home().display().to_string())
    }

    fn spec_on(&self, scratch: &Scratch, text: &str, manner: Manner) -> HostSpec {
        let mut arguments = overrides(text, scratch.path());
        if manner == Manner::Strict {
            arguments.push(STRICT.into());
        }
        let mut environment = self.spec.environment.clone();
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            environment.push((name.into(), NO_WAY_OUT.into()));
        }
        let home = scratch.path().as_os_str();
        for (name, value) in [
            ("NO_PROXY", "".into()),
            ("no_proxy", "".into()),
            ("CODEX_HOME", home.to_owned()),
            ("CODEX_SQLITE_HOME", home.to_owned()),
            // Its reasons would drown in addresses.
            ("RUST_BACKTRACE", "0".into()),
        ] {
            environment.push((name.into(), value));
        }
        HostSpec {
            codex_home: Some(scratch.path().to_owned()),
            // Supported by every version, and no engine needs to attach to it.
            transport: HostTransport::Stdio,
            environment,
            arguments,
            ..self.spec.clone()
        }
    }

    /// Returns whether this version has the option. An unknown one would look like a refusal.
    async fn can_be_strict(&self) -> Result<bool, CheckError> {
        let scratch = self.scratch("")?;
        let mut command = Command::new(&self.spec.binary);
        command.args(["app-server", "--help"]).env("CODEX_HOME", scratch.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let asked = async {
            let mut guard = ChildGuard::spawn(&mut command)?;
            let mut help = Vec::new();
            if let Some(mut stdout) = guard.child().stdout.take() {
                stdout.read_to_end(&mut help).await?;
            }
            guard.child().wait().await?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&help).contains(STRICT))
        };
        match tokio::time::timeout(HELP_LIMIT, asked).await {
            Ok(Ok(can)) => Ok(can),
            Ok(Err(error)) => Err(CheckError::NotAsked(error.to_string())),
            Err(_) => Err(CheckError::NotAsked(format!("no answer within {} s", HELP_LIMIT.as_secs()))),
        }
    }
}

/// Overrides that disable side effects while the text is checked.
fn overrides(text: &str, scratch: &Path) -> Vec<OsString> {
    let mut all = vec![
        "features.plugins=false".to_owned(),
        "analytics.enabled=false".to_owned(),
        "check_for_update_on_startup=false".to_owned(),
    ];
    if let Ok(document) = Document::parse(text) {
        // Named only where the text names them: a version that does not know the key must not get it from us.
        if document.contains_key("otel") {
            all.extend(
                ["exporter", "trace_exporter", "metrics_exporter"].map(|key| format!("otel.{key}=\"none\"")),
            );
        }
        for key in ["sqlite_home", "log_dir"] {
            if document.contains_key(key) {
                all.push(format!("{key}={}", toml_edit::Value::from(scratch.display().to_string())));
            }
        }
    }
    all.into_iter().flat_map(|value| [OsString::from("-c"), value.into()]).collect()
}

/// The one sentence that matters of a Codex that did not start.
fn reason(words: &str) -> &str {
    let line = words.lines().map(str::trim).find_map(|line| line.strip_prefix("Error: "));
    line.unwrap_or(words).trim()
}
