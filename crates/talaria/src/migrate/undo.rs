//! `talaria migrate --undo`. Works without a Codex, and with a Talaria configuration that cannot be read.

use talaria_codex::migrate::{MigrationUndo, UndoMethod, UndoneMigration};
use talaria_codex_proto::codex_config::UsersOwn;
use talaria_home::home::TalariaHome;

use super::diff::Change;
use super::outcome::{Done, Outcome};
use super::{Answer, ask_confirmation, finish, not_confirmed, report, show_change, target, trouble, wish};
use crate::args;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};
use talaria_render::plain_line;

pub(super) async fn run(options: &args::Migrate) -> Result<u8, Trouble> {
    let home = TalariaHome::from_env().map_err(|error| {
        Trouble::new(exit::USAGE, "cannot use Talaria's home").because(&error).try_this(error.next_step())
    })?;
    // Of little use here: where Codex is can be given by an option too, and what is secret is mostly seen by its name.
    let settings = Settings::load().ok();
    let configured = settings.as_ref().and_then(Settings::codex_home);
    let secrets = settings.map(|settings| wish::secrets(&settings.config)).unwrap_or_default();
    let undo = MigrationUndo::new(&home, target(options, configured)?);
    let Some(draft) = undo.draft().map_err(|error| trouble(&error))? else {
        return nothing(options, &undo);
    };
    if !draft.is_change() {
        return nothing_but(options, &undo, &draft);
    }
    let change =
        Change { path: undo.file(), old: Some(&draft.old), new: draft.new.as_deref(), secrets: &secrets };
    show_change(options, &change)?;
    match ask_confirmation(options, "Do this to").await? {
        Answer::OnlyLooking => {
            finish(options, &Outcome::new(Done::DryRun, undo.file(), 0), "nothing was changed")
        }
        Answer::No => not_confirmed(options, undo.file()),
        Answer::Yes => match undo.apply().map_err(|error| trouble(&error))? {
            Some(undone) => tell(options, &undo, &undone),
            None => nothing(options, &undo),
        },
    }
}

/// There is nothing to undo: suggests alternatives, and cleans up after a killed run.
fn nothing(options: &args::Migrate, undo: &MigrationUndo) -> Result<u8, Trouble> {
    if !options.dry_run {
        undo.apply().map_err(|error| trouble(&error))?;
    }
    let mut words = "nothing to undo".to_owned();
    let elsewhere: Vec<String> =
        undo.elsewhere().into_iter().filter(|file| *file != undo.file().display().to_string()).collect();
    if !elsewhere.is_empty() {
        words += &format!(
            "; changed by Talaria: {} (name its directory with --codex-home)",
            plain_line(&elsewhere.join(", "))
        );
    } else if undo.is_anothers() {
        words += "; this home has no record of the entries between the talaria lines: undo it in the TALARIA_HOME \
                  that wrote it, or, if the record is lost, run `talaria migrate` first or delete these lines";
    }
    finish(options, &Outcome::new(Done::NothingToUndo, undo.file(), 0), &words)
}

/// Only entries changed by the user remain: reports that.
fn nothing_but(
    options: &args::Migrate,
    undo: &MigrationUndo,
    draft: &UndoneMigration,
) -> Result<u8, Trouble> {
    if !options.dry_run {
        undo.apply().map_err(|error| trouble(&error))?;
    }
    let left = report_left(draft);
    let outcome = Outcome { left: &left, ..Outcome::new(Done::NothingToUndo, undo.file(), 0) };
    finish(options, &outcome, "nothing to undo: you changed the entries since, so they are yours")
}

/// Lists kept entries, with reasons.
fn report_left(undone: &UndoneMigration) -> Vec<String> {
    let left: Vec<String> = undone.left.iter().map(|UsersOwn { path, .. }| path.to_string()).collect();
    for path in &left {
        complain(&format!("note: {} was changed since Talaria wrote it, so it is kept\n", plain_line(path)));
    }
    left
}

fn tell(options: &args::Migrate, undo: &MigrationUndo, undone: &UndoneMigration) -> Result<u8, Trouble> {
    let left = report_left(undone);
    for freed in &undone.freed {
        complain(&format!("note: {}\n", plain_line(&report::freed(freed))));
    }
    let (done, words) = match (undone.how, &undone.new) {
        (UndoMethod::Bytes, Some(_)) => (Done::Restored, "as it was before, byte for byte"),
        (UndoMethod::Bytes, None) => (Done::Restored, "removed; it did not exist before"),
        (UndoMethod::Entries, Some(_)) => (
            Done::TakenOut,
            "Talaria's entries are removed; the file was changed since, so the rest is kept as it is",
        ),
        (UndoMethod::Entries, None) => {
            (Done::TakenOut, "removed; nothing else was in it, and it did not exist before")
        }
    };
    let outcome = Outcome { left: &left, ..Outcome::new(done, undo.file(), 0) };
    finish(options, &outcome, words)
}
