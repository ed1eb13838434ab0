//! The checks of `talaria doctor`, in the order in which a turn needs them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use talaria_codex::host::{Host, HostSpec};
use talaria_codex::locate::{CodexBinary, CodexOrigin, locate};
use talaria_codex::schema;
use talaria_codex_proto::wire::call::{CommandExec, SandboxPolicy};
use talaria_core::version::{MINIMUM, PINNED};

use super::own_files::own_files;
use super::providers::providers;
use super::servers::servers;
use super::web::web;
use super::{Check, engine, home};
use crate::settings::{LOGIN_HINT, Settings, version_note};
use crate::trouble::Trouble;

/// Runs every check that can be run, and shows each as soon as it is known.
pub(super) async fn run(show: &mut impl FnMut(Check) -> Result<(), Trouble>) -> Result<(), Trouble> {
    let settings = match Settings::load() {
        Ok(settings) => settings,
        Err(trouble) => return show(Check::problem("config", trouble.cause(), trouble.hint())),
    };
    config(&settings).into_iter().try_for_each(&mut *show)?;
    providers(&settings).into_iter().try_for_each(&mut *show)?;
    home::home(&settings.home).into_iter().try_for_each(&mut *show)?;
    show(engine::engine(&settings.home).await)?;
    show(engine::socket(&settings.home))?;
    show(engine::store(&settings.home).await)?;
    show(web(&settings).await)?;
    engine::leftovers(&settings.home).into_iter().try_for_each(&mut *show)?;
    let codex = match locate(&settings.search()).await {
        Ok(codex) => codex,
        Err(error) => {
            servers(&settings.config.servers, None).into_iter().try_for_each(&mut *show)?;
            return show(Check::problem("codex", error.to_string(), error.next_step()));
        }
    };
    servers(&settings.config.servers, Some(&codex.version)).into_iter().try_for_each(&mut *show)?;
    show(check_codex(&codex))?;
    show(version(&codex))?;
    show(drift(&codex.path).await)?;
    let mut spec = HostSpec::new(&codex, settings.codex_home(), settings.home.hosts_dir());
    spec.home = Some(settings.home.root().to_owned());
    let begun = Instant::now();
    let host = match Host::start(spec).await {
        Ok(host) => Arc::new(host),
        Err(error) => {
            let remedy = "fix what Codex reports above, or run `talaria setup` for the tested version";
            return show(Check::problem("app-server", error.to_string(), remedy));
        }
    };
    let shown = async {
        let home = host.codex_home().unwrap_or("an unknown directory");
        let detail = format!("answered after {} ms; its home is {home}", begun.elapsed().as_millis());
        show(Check::ok("app-server", detail))?;
        show(login(&host).await)?;
        show(sandbox(&host).await)?;
        let hide_home = settings.config.codex.hide_home.unwrap_or_default();
        show(own_files(&host, &settings.home, hide_home).await)?;
        host.warnings().into_iter().map(said_by_codex).try_for_each(&mut *show)
    };
    let shown = shown.await;
    host.close().await;
    shown
}

fn config(settings: &Settings) -> Vec<Check> {
    let file = settings.home.config_file();
    if settings.problems.is_empty() {
        let detail = if file.exists() {
            format!("{} is valid", file.display())
        } else {
            format!("{} does not exist; Codex's own settings apply", file.display())
        };
        return vec![Check::ok("config", detail)];
    }
    let check = |problem: &talaria_core::config::ConfigProblem| {
        let remedy = format!("edit {}", file.display());
        if problem.is_error() {
            Check::problem("config", problem.to_string(), remedy)
        } else {
            Check::warning("config", problem.to_string(), remedy)
        }
    };
    settings.problems.iter().map(check).collect()
}

fn check_codex(codex: &CodexBinary) -> Check {
    let origin = match codex.origin {
        CodexOrigin::Configured => "codex.bin in the configuration",
        CodexOrigin::Path => "on PATH",
        CodexOrigin::Installed => "installed by talaria setup",
    };
    let detail = format!("{} ({origin})", codex.path.display());
    match &codex.passed_over {
        None => Check::ok("codex", detail),
        Some(error) => {
            let detail = format!("{detail}\nthe one on PATH was skipped: {error}");
            Check::warning("codex", detail, error.next_step())
        }
    }
}

fn version(codex: &CodexBinary) -> Check {
    let detail = format!("{} (supported from {MINIMUM}, tested up to {PINNED})", codex.version);
    match version_note(&codex.version) {
        Some(note) => Check::warning("version", detail, note),
        None => Check::ok("version", detail),
    }
}

async fn drift(binary: &Path) -> Check {
    let drift = match schema::drift(binary).await {
        Ok(drift) => drift,
        Err(error) => return Check::warning("schema", error, "run `talaria setup` for the tested version"),
    };
    if !drift.missing_calls.is_empty() {
        let detail = format!("this Codex does not have {}", drift.missing_calls.join(", "));
        return Check::problem("schema", detail, "run `talaria setup` for the tested version");
    }
    if !drift.never_sent.is_empty() {
        let detail = format!("this Codex never sends {}", drift.never_sent.join(", "));
        return Check::warning("schema", detail, "some things may not be shown; update Talaria");
    }
    let detail = format!("compatible ({} newer methods are passed through)", drift.kept_raw);
    Check::ok("schema", detail)
}

/// Warnings of Codex at its start.
fn said_by_codex(warning: String) -> Check {
    Check::warning("codex says", warning, "see Codex's documentation; turns still run")
}

async fn login(host: &Host) -> Check {
    match host.account().await {
        Err(error) => {
            let remedy = "the login is not known; fix what Codex reports, then run this again";
            Check::problem("login", error.to_string(), remedy)
        }
        Ok(reply) => match (reply.account, reply.requires_openai_auth) {
            (Some(account), _) => {
                let plan = account.plan_type.map(|plan| format!(", plan {plan}")).unwrap_or_default();
                Check::ok("login", format!("{}{plan}", account.kind))
            }
            (None, false) => Check::ok("login", "not needed: the configured provider is not OpenAI"),
            (None, true) => Check::problem("login", "not logged in", LOGIN_HINT),
        },
    }
}

/// Writes inside and outside a directory that is named as writable: the one must work, the other must not.
async fn sandbox(host: &Host) -> Check {
    let remedy = "see the sandbox prerequisites in Codex's documentation; on Linux install bubblewrap";
    let place = match SandboxPlace::create() {
        Ok(place) => place,
        Err(error) => {
            return Check::warning("sandbox", format!("not checked: {error}"), "free some disk space");
        }
    };
    let script = "touch inside && echo inside; touch ../outside 2>/dev/null && echo outside; true";
    let policy = SandboxPolicy::WorkspaceWrite {
        writable_roots: vec![place.writable.clone()],
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let exec = CommandExec::new(command, place.writable.clone(), 20_000, policy);
    match host.call(&exec).await {
        Err(error) => Check::problem("sandbox", error.to_string(), remedy),
        Ok(reply) => match (reply.exit_code, reply.stdout.as_str()) {
            (0, "inside\n") => Check::ok(
                "sandbox",
                format!("works: a command could write {} and nothing outside it", place.writable),
            ),
            (0, "inside\noutside\n" | "outside\n") => {
                Check::problem("sandbox", "a command could write outside its directory", remedy)
            }
            (code, _) => {
                let words = format!("{} {}", reply.stdout.trim(), reply.stderr.trim());
                let detail = format!("a sandboxed command failed (exit {code}): {}", words.trim());
                Check::problem("sandbox", detail, remedy)
            }
        },
    }
}

struct SandboxPlace {
    writable: String,
    /// Removed when the check is over.
    _root: tempfile::TempDir,
}

impl SandboxPlace {
    fn create() -> std::io::Result<Self> {
        let root = tempfile::tempdir()?;
        let writable = root.path().join("writable");
        std::fs::create_dir(&writable)?;
        Ok(Self { writable: writable.display().to_string(), _root: root })
    }
}
