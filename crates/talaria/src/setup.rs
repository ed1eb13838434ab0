//! `talaria setup`: installs or updates the Codex that Talaria is tested with.

use talaria_codex::install::{InstallOutcome, install};
use talaria_codex::locate::{CodexBinary, CodexOrigin};
use talaria_core::version::PINNED;
use talaria_home::home::TalariaHome;

use crate::bar::Bar;
use crate::settings::{LOGIN_HINT, Settings};
use crate::stops::{Stops, stopped, unless_stopped};
use crate::trouble::{Trouble, complain, exit};

pub(crate) async fn run() -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    let settings = Settings::load()?.accept()?;
    let installing = install_pinned(&settings.home);
    let installed =
        unless_stopped(&mut stops, installing, stopped("stopped before Codex was installed")).await?;
    let codex = installed.binary();
    let words = match installed {
        InstallOutcome::AlreadyThere(_) => "is already installed",
        InstallOutcome::Fresh(_) => "is installed",
    };
    complain(&format!("Codex {} {words}: {}\n", codex.version, codex.path.display()));
    // The one that is used may be another one: say so, or the person wonders why nothing changed.
    match settings.codex().await {
        Ok(used) if used.origin == CodexOrigin::Installed => {
            complain(&format!("Next: {LOGIN_HINT}, then `talaria doctor`.\n"));
        }
        Ok(used) => complain(&used_instead(&used)),
        Err(trouble) => return Err(trouble),
    }
    Ok(0)
}

fn used_instead(used: &CodexBinary) -> String {
    let (path, version) = (used.path.display(), &used.version);
    let why = match used.origin {
        CodexOrigin::Configured => "codex.bin in Talaria's configuration names it",
        CodexOrigin::Path | CodexOrigin::Installed => "it is on PATH",
    };
    format!("Talaria uses {path} ({version}) instead, because {why}.\n")
}

/// Installs the tested version, with a progress bar. Dropping the future undoes what it began.
pub(crate) async fn install_pinned(home: &TalariaHome) -> Result<InstallOutcome, Trouble> {
    let mut bar = Bar::new(format!("Codex {PINNED}"));
    let result = install(home, &PINNED, &mut |progress| bar.show(progress)).await;
    bar.end();
    result.map_err(|error| {
        Trouble::new(exit::CODEX, format!("cannot install Codex {PINNED}"))
            .because(&error)
            .try_this(error.next_step())
    })
}
