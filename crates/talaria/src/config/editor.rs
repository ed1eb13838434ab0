//! `talaria config edit`: a person edits a private copy, and only a valid one takes the place of the file.
//!
//! The file stays unchanged until the edit is accepted, and no typed text is lost: a rejected copy is kept and
//! named.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use talaria_core::config::{ConfigProblem, Effect};
use talaria_home::home::TalariaHome;
use talaria_home::user_file::UserFile;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::change::when;
use super::{FIRST_LINE, check, file_trouble, lock, read};
use crate::trouble::{Trouble, complain, exit};

/// The default editor.
const LAST_RESORT: &str = "vi";

pub(super) async fn run(home: &TalariaHome) -> Result<u8, Trouble> {
    let file = home.config_file();
    let before = read(&file)?;
    let begin = before.clone().unwrap_or_else(|| FIRST_LINE.to_owned());
    let copy = Copy::make(&begin)?;
    let editor = editor();
    loop {
        open(&editor, &copy).await?;
        let text = match UserFile::read(&copy.path) {
            Ok(Some(text)) => text,
            Ok(None) => {
                let trouble = Trouble::new(exit::FAILED, format!("{} was not changed", file.display()));
                return Err(trouble.because("the copy to be edited no longer exists"));
            }
            Err(error) => return Err(copy.keep_copy(file_trouble(&error))),
        };
        if text == copy.begin {
            complain(&format!("{} was not changed\n", file.display()));
            copy.remove();
            return Ok(0);
        }
        let problems = check::problems(&text);
        for problem in &problems {
            complain(&check::line(&copy.path, problem));
        }
        if problems.iter().any(ConfigProblem::is_error) {
            if is_wanted_again()? {
                continue;
            }
            let trouble = Trouble::new(exit::FAILED, format!("{} was not changed", file.display()));
            return Err(copy.keep_copy(trouble.because("the edited text is not valid")));
        }
        return put(home, before.as_deref(), &text, copy);
    }
}

/// Replaces the file with the text, unless it was changed elsewhere while it was edited.
fn put(home: &TalariaHome, before: Option<&str>, text: &str, copy: Copy) -> Result<u8, Trouble> {
    let locked = match lock(home) {
        Ok(locked) => locked,
        Err(trouble) => return Err(copy.keep_copy(trouble)),
    };
    let file = home.config_file();
    if locked.text() != before {
        let trouble = Trouble::new(exit::FAILED, format!("{} was not changed", file.display()));
        return Err(copy.keep_copy(trouble.because("it was changed elsewhere while you edited")));
    }
    if let Err(error) = locked.replace(text) {
        return Err(copy.keep_copy(file_trouble(&error)));
    }
    copy.remove();
    complain(&format!("{} is changed; most keys take effect from the next turn\n", file.display()));
    complain(&format!("a limit of the engine {}\n", when(home, Effect::EngineStart)));
    Ok(0)
}

/// The person's editor; an empty variable counts as unset.
fn editor() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| LAST_RESORT.to_owned())
}

async fn open(editor: &str, copy: &Copy) -> Result<(), Trouble> {
    let failed = |cause: &dyn std::fmt::Display, hint: &str| {
        let trouble = Trouble::new(exit::FAILED, format!("cannot edit with {editor}")).because(cause);
        copy.keep_copy(trouble.try_this(hint))
    };
    let cannot = |cause: &dyn std::fmt::Display| {
        failed(cause, "set VISUAL or EDITOR to a program that you have; the file was not changed")
    };
    // Ctrl-C in the editor is the editor's: it must not end this program under it.
    let _interrupts = signal(SignalKind::interrupt()).map_err(|error| cannot(&error))?;
    // The variable may have options, as the shell would read them.
    let script = format!("{editor} \"$1\"");
    let status = Command::new("/bin/sh").args(["-c", &script, "sh"]).arg(&copy.path).status().await;
    match status {
        Ok(status) if status.success() => Ok(()),
        // Exit codes of a shell for a missing or non-executable program.
        Ok(status) if matches!(status.code(), Some(126 | 127)) => {
            Err(cannot(&format!("it ended with {status}")))
        }
        Ok(status) => Err(failed(&format!("it ended with {status}"), "the file was not changed")),
        Err(error) => Err(cannot(&error)),
    }
}

/// Asks the person. Without a terminal there is no one to edit again.
fn is_wanted_again() -> Result<bool, Trouble> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(false);
    }
    complain("Edit again? [Y/n] ");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let read = read.map_err(|error| Trouble::new(exit::FAILED, "cannot read the answer").because(error))?;
    Ok(read > 0 && !matches!(line.trim().to_ascii_lowercase().as_str(), "n" | "no"))
}

/// The file to edit: readable by no one else, since it may contain secrets.
struct Copy {
    path: PathBuf,
    begin: String,
}

impl Copy {
    fn make(text: &str) -> Result<Self, Trouble> {
        let cannot = |error: &dyn std::fmt::Display| {
            Trouble::new(exit::FAILED, "cannot make a copy to edit").because(error)
        };
        let file = tempfile::Builder::new().prefix("talaria-config-").suffix(".toml").tempfile();
        let mut file = file.map_err(|error| cannot(&error))?;
        file.write_all(text.as_bytes()).map_err(|error| cannot(&error))?;
        let path = file.into_temp_path().keep().map_err(|error| cannot(&error))?;
        Ok(Self { path, begin: text.to_owned() })
    }

    /// The copy is not used: the hint says where it is, unless it is unchanged.
    fn keep_copy(&self, trouble: Trouble) -> Trouble {
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.begin) {
            let _ = std::fs::remove_file(&self.path);
            return trouble;
        }
        let hint = trouble.hint();
        let place = format!("your edited text is kept in {}", self.path.display());
        trouble.try_this(if hint.is_empty() { place } else { format!("{hint}; {place}") })
    }

    fn remove(self) {
        // One that cannot be removed is in the temporary directory, which the system clears.
        let _ = std::fs::remove_file(self.path);
    }
}
