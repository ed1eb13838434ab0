//! `talaria service`: the file that lets systemd or launchd keep the engine running. Written, shown, removed.
//!
//! Only a file that we wrote is replaced or removed, and one that was changed by hand only with `--force`. The service
//! manager is run only if the person says `--now`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use talaria_home::home::TalariaHome;

use crate::args::{Service, ServiceAction};
use crate::output::print;
use crate::trouble::{Trouble, complain, exit};
use talaria_render::plain;

mod mark;
mod unit;

use mark::Author;
use unit::{System, Unit};

pub(crate) fn run(options: &Service) -> Result<u8, Trouble> {
    let place = ServiceFile::find()?;
    let words = match options.action {
        ServiceAction::Install { dry_run: true, force, .. } => place.preview(Insistence::of(force))?,
        ServiceAction::Install { now, force, .. } => {
            let written = place.install(Insistence::of(force))?;
            let next = if now { manage(&place.system.enable(&place.file))? } else { place.how_to_enable() };
            written + &next
        }
        ServiceAction::Uninstall { dry_run: true, force, .. } => {
            place.preview_removal(Insistence::of(force))?
        }
        ServiceAction::Uninstall { now, force, .. } => {
            place.may_touch(Insistence::of(force))?;
            let is_there = place.state()? != ServiceState::Absent;
            if now && is_there {
                complain(&manage(&place.system.disable(&place.file))?);
            }
            let removed = place.remove()?;
            if now || !is_there { removed } else { removed + &place.how_to_disable() }
        }
        ServiceAction::Show => place.show()?,
    };
    print(&words)?;
    Ok(0)
}

/// May what a person wrote be lost?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Insistence {
    No,
    Force,
}

impl Insistence {
    fn of(force: bool) -> Self {
        if force { Self::Force } else { Self::No }
    }
}

/// Current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceState {
    Absent,
    There(Author),
}

/// The file, and what belongs into it.
#[derive(Debug)]
struct ServiceFile {
    system: System,
    file: PathBuf,
    text: String,
}

impl ServiceFile {
    fn find() -> Result<Self, Trouble> {
        let cannot = |cause: &dyn std::fmt::Display| {
            Trouble::new(exit::FAILED, "cannot determine what the service would run").because(cause)
        };
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user_home = variable("HOME")
            .ok_or_else(|| cannot(&"HOME is not set").try_this("set HOME to your home directory"))?;
        let home = TalariaHome::from_env().map_err(|error| cannot(&error).try_this(error.next_step()))?;
        let is_usual = home.root() == user_home.join(".talaria");
        let unit = Unit {
            program: std::env::current_exe().map_err(|error| cannot(&error))?,
            home: (!is_usual).then(|| home.root().to_owned()),
        };
        let system = System::here();
        let file = system.path(&user_home, variable("XDG_CONFIG_HOME").as_deref());
        Ok(Self { system, file, text: system.text(&unit) })
    }

    fn state(&self) -> Result<ServiceState, Trouble> {
        match std::fs::read_to_string(&self.file) {
            Ok(text) => Ok(ServiceState::There(mark::author(&text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ServiceState::Absent),
            Err(error) => Err(self.trouble("cannot read", &error)),
        }
    }

    /// Only our own file may be replaced or removed, and a changed one only with `--force`.
    fn may_touch(&self, insistence: Insistence) -> Result<(), Trouble> {
        let file = self.file.display();
        match self.state()? {
            ServiceState::Absent | ServiceState::There(Author::Us) => Ok(()),
            ServiceState::There(Author::Changed) if insistence == Insistence::Force => Ok(()),
            ServiceState::There(Author::Changed) => {
                Err(Trouble::new(exit::FAILED, format!("{file} was changed by hand"))
                    .because("those changes would be lost")
                    .try_this("keep a copy, then use --force"))
            }
            ServiceState::There(Author::Other) => {
                Err(Trouble::new(exit::FAILED, format!("{file} was not written by Talaria"))
                    .because("Talaria replaces and removes only its own files")
                    .try_this("move it away first"))
            }
        }
    }

    fn install(&self, insistence: Insistence) -> Result<String, Trouble> {
        self.may_touch(insistence)?;
        write_whole(&self.file, &self.text).map_err(|error| self.trouble("cannot write", &error))?;
        Ok(format!("Wrote {}:\n\n{}\n", self.file.display(), self.text))
    }

    fn how_to_enable(&self) -> String {
        let commands = spoken(&self.system.enable(&self.file));
        format!("To start it now and at every login:\n{commands}To undo: talaria service uninstall\n")
    }

    fn preview(&self, insistence: Insistence) -> Result<String, Trouble> {
        self.may_touch(insistence)?;
        let commands = spoken(&self.system.enable(&self.file));
        Ok(format!("Would write {}:\n\n{}\nThen to start it:\n{commands}", self.file.display(), self.text))
    }

    fn preview_removal(&self, insistence: Insistence) -> Result<String, Trouble> {
        self.may_touch(insistence)?;
        Ok(match self.state()? {
            ServiceState::Absent => format!("{} does not exist\n", self.file.display()),
            ServiceState::There(_) => format!("Would remove {}\n", self.file.display()),
        })
    }

    fn remove(&self) -> Result<String, Trouble> {
        if self.state()? == ServiceState::Absent {
            return Ok(format!("{} does not exist\n", self.file.display()));
        }
        std::fs::remove_file(&self.file).map_err(|error| self.trouble("cannot remove", &error))?;
        Ok(format!("Removed {}\n", self.file.display()))
    }

    fn how_to_disable(&self) -> String {
        format!("If the service still runs:\n{}", spoken(&self.system.disable(&self.file)))
    }

    fn show(&self) -> Result<String, Trouble> {
        let file = self.file.display();
        let state = self.state()?;
        let installed = match state {
            ServiceState::Absent => {
                return Ok(format!("not installed: {file} does not exist\n\nIt would be:\n\n{}", self.text));
            }
            ServiceState::There(Author::Us) => "installed",
            ServiceState::There(Author::Changed) => "installed, and changed by hand",
            ServiceState::There(Author::Other) => "not written by Talaria",
        };
        let text =
            std::fs::read_to_string(&self.file).map_err(|error| self.trouble("cannot read", &error))?;
        let outdated = match state {
            _ if text == self.text => "",
            ServiceState::There(Author::Us) => "\n`talaria service install` would write another one.\n",
            ServiceState::There(Author::Changed) => {
                "\n`talaria service install --force` would write another one.\n"
            }
            ServiceState::There(Author::Other) | ServiceState::Absent => "",
        };
        Ok(format!("{installed}: {file}\n\n{}{outdated}", plain(&text)))
    }

    fn trouble(&self, what: &str, error: &io::Error) -> Trouble {
        Trouble::new(exit::FAILED, format!("{what} {}", self.file.display())).because(error)
    }
}

/// Writes a file atomically.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn spoken(commands: &[Vec<String>]) -> String {
    commands.iter().map(|command| format!("  {}\n", command.join(" "))).collect()
}

/// Runs the service manager's own commands, and says which.
fn manage(commands: &[Vec<String>]) -> Result<String, Trouble> {
    for command in commands {
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let ended = Command::new(program).args(arguments).stdin(Stdio::null()).status();
        let cause = match ended {
            Ok(status) if status.success() => continue,
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        return Err(Trouble::new(exit::FAILED, format!("`{}` failed", command.join(" ")))
            .because(cause)
            .try_this("run it by hand where the service manager runs"));
    }
    Ok(format!("Done:\n{}", spoken(commands)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(directory: &Path) -> ServiceFile {
        let unit = Unit { program: "/bin/talaria".into(), home: None };
        let file = directory.join("deep/talaria.service");
        ServiceFile { system: System::Systemd, file, text: System::Systemd.text(&unit) }
    }

    #[test]
    fn what_was_installed_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let place = place(directory.path());
        assert_eq!(place.state().unwrap(), ServiceState::Absent);
        place.remove().unwrap();
        place.install(Insistence::No).unwrap();
        place.install(Insistence::No).unwrap();
        assert_eq!(std::fs::read_to_string(&place.file).unwrap(), place.text);
        assert_eq!(
            std::fs::read_dir(place.file.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
        place.may_touch(Insistence::No).unwrap();
        place.remove().unwrap();
        assert_eq!(place.state().unwrap(), ServiceState::Absent);
    }

    #[test]
    fn a_file_that_was_changed_needs_force_and_a_strangers_file_is_never_touched() {
        let directory = tempfile::tempdir().unwrap();
        let place = place(directory.path());
        place.install(Insistence::No).unwrap();
        std::fs::write(&place.file, place.text.replace("RestartSec=2", "RestartSec=9")).unwrap();
        assert!(place.install(Insistence::No).is_err());
        assert!(place.may_touch(Insistence::No).is_err());
        place.install(Insistence::Force).unwrap();
        std::fs::write(&place.file, "[Service]\nExecStart=/bin/other\n").unwrap();
        for insistence in [Insistence::No, Insistence::Force] {
            assert!(place.install(insistence).is_err());
            assert!(place.may_touch(insistence).is_err());
        }
    }
}
