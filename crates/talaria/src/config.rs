//! `talaria config`: looks at Talaria's own configuration file and changes it. Starts no engine.
//!
//! `talaria-core` has the meaning of keys, `talaria_home::user_file` replaces the file; this module handles arguments and
//! output.

mod change;
mod check;
mod editor;
mod show;

use std::path::Path;

use talaria_core::edit::KeyPath;
use talaria_core::json_line::json_line;
use talaria_home::home::TalariaHome;
use talaria_home::user_file::{UserFile, UserFileError};

use crate::args::{self, ConfigAction};
use crate::output::print;
use crate::trouble::{Trouble, exit};

pub(crate) use change::{lock, replace};

/// How a file begins that Talaria makes.
pub(crate) const FIRST_LINE: &str =
    "# Talaria's configuration. `talaria config check` says whether it is valid.\n";

/// For whom something is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A person.
    Words,
    /// A program.
    Json,
}

impl From<bool> for Form {
    /// What `--json` says.
    fn from(json: bool) -> Self {
        if json { Self::Json } else { Self::Words }
    }
}

pub(crate) async fn run(options: &args::Config) -> Result<u8, Trouble> {
    let home = home()?;
    match &options.action {
        ConfigAction::Get { key: None, json } => show::all(&home, (*json).into()),
        ConfigAction::Get { key: Some(key), json } => show::one(&home, &key_path(key)?, (*json).into()),
        ConfigAction::Set { key, value, json } => change::set(&home, &key_path(key)?, value, (*json).into()),
        ConfigAction::Unset { key, json } => change::unset(&home, &key_path(key)?, (*json).into()),
        ConfigAction::Path { json } => {
            let file = home.config_file();
            let path = file.display().to_string();
            print(&if *json {
                json_line(&serde_json::json!({ "path": path, "exists": file.exists() }))
            } else {
                path + "\n"
            })?;
            Ok(0)
        }
        ConfigAction::Check { json } => check::run(&home, (*json).into()),
        ConfigAction::Edit => editor::run(&home).await,
    }
}

pub(crate) fn home() -> Result<TalariaHome, Trouble> {
    TalariaHome::from_env().map_err(|error| {
        Trouble::new(exit::USAGE, "cannot find Talaria's home").because(&error).try_this(error.next_step())
    })
}

fn key_path(text: &str) -> Result<KeyPath, Trouble> {
    text.parse().map_err(|error| {
        Trouble::new(exit::USAGE, "cannot read the key")
            .because(error)
            .try_this("write section.key, with quotes around a part that has other characters: a.\"b c\".d")
    })
}

fn read(file: &Path) -> Result<Option<String>, Trouble> {
    UserFile::read(file).map_err(|error| file_trouble(&error))
}

/// The message if the file cannot be read or changed.
pub(crate) fn file_trouble(error: &UserFileError) -> Trouble {
    Trouble::new(exit::FAILED, "cannot use Talaria's configuration")
        .because(error)
        .try_this(error.next_step())
}

/// The message about a file that is not TOML, or a key that cannot be changed in it.
pub(crate) fn text_trouble(file: &Path, problem: &talaria_core::config::ConfigProblem) -> Trouble {
    Trouble::new(exit::FAILED, format!("cannot use {}", file.display()))
        .because(problem)
        .try_this("correct that line with `talaria config edit`, or move the file away; nothing was changed")
}
