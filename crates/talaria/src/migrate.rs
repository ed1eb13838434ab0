//! `talaria migrate`: shows what would change in Codex's own configuration, asks, and has it done; `--undo` the other way.
//!
//! Starts no engine. Nothing is written before a person, or `--yes`, has said so, and before Codex has accepted it.

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;

use talaria_codex::host::HostSpec;
use talaria_codex::migrate::{
    MigrateError, Migration, MigrationDraft, MigrationTarget, Plugins, TargetError, discover,
};
use talaria_core::config::ConfigProblem;

use crate::args;
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::stops::Stops;
use crate::trouble::{Trouble, complain, exit};
use talaria_render::{Paint, plain_line};

mod diff;
mod outcome;
mod report;
mod undo;
mod wish;

use diff::Change;
use outcome::{Done, Outcome};
use report::{MigrationLine, Stage};
use wish::{Itself, Wish};

pub(crate) async fn run(options: &args::Migrate) -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    let work = async { if options.undo { undo::run(options).await } else { migrate(options).await } };
    tokio::select! {
        done = work => done,
        // The file is replaced without a pause, so a command that is stopped has not begun with it.
        stop = stops.next() => Err(Trouble::new(stop.exit(), "stopped; nothing was changed")),
    }
}

async fn migrate(options: &args::Migrate) -> Result<u8, Trouble> {
    let (settings, problems) = without_server_problems(Settings::load()?);
    let settings = settings.accept()?;
    let target = target(options, settings.codex_home())?;
    // A person who only looks may do so without a Codex; a change needs one that has accepted it.
    let codex = match settings.codex().await {
        Ok(codex) => Ok(HostSpec::new(&codex, None, settings.home.hosts_dir())),
        Err(trouble) if options.dry_run => Err(format!("not checked by Codex: {}", trouble.summary())),
        Err(trouble) => return Err(trouble),
    };
    let plugins = match &codex {
        Ok(spec) if !options.no_plugins => {
            with_progress("asking Codex for its plugins", discover(&target, spec.clone())).await
        }
        // Who does not want them looked for does not want them; who has no Codex to ask cannot know.
        _ => Plugins { is_incomplete: !options.no_plugins, ..Plugins::default() },
    };
    let mut wish = read_wish(options, &settings, plugins)?;
    wish.advise(&problems);
    wish.warnings.extend(codex.as_ref().err().cloned());
    let migration = Migration::new(&settings.home, target, wish.additions.clone());
    let draft = migration.draft().map_err(|error| trouble(&error))?;
    let face = Face { options, migration: &migration };
    let left_out = left_out(&wish);
    if !draft.is_change() {
        if !options.dry_run {
            migration.tidy_up().map_err(|error| trouble(&error))?;
        }
        face.report(&wish, &draft, Stage::Done)?;
        return face.end(
            &Outcome::new(Done::Unchanged, migration.file(), wish.exit()),
            &format!("nothing to change{left_out}"),
        );
    }
    if let Ok(spec) = &codex {
        let note = with_progress("having Codex read the result", migration.check(&draft, spec)).await;
        wish.warnings.extend(note.map_err(|error| trouble(&error.into()))?);
    }
    face.diff(&wish, &draft)?;
    if !options.yes {
        face.report(&wish, &draft, Stage::Planned)?;
    }
    match (codex, ask_confirmation(options, "Write this to").await?) {
        (_, Answer::OnlyLooking) | (Err(_), _) => face.end(
            &Outcome::new(Done::DryRun, migration.file(), wish.exit()),
            &format!("nothing was changed{left_out}"),
        ),
        (_, Answer::No) => not_confirmed(options, migration.file()),
        (Ok(spec), Answer::Yes) => face.write(&mut wish, draft, &spec).await,
    }
}

/// A faulty server is in the report, and does not affect the others.
fn without_server_problems(mut settings: Settings) -> (Settings, Vec<ConfigProblem>) {
    let is_server = |problem: &mut ConfigProblem| {
        problem.key.as_deref().is_some_and(|key| key == "mcp_servers" || key.starts_with("mcp_servers."))
    };
    let problems = settings.problems.extract_if(.., is_server).collect();
    (settings, problems)
}

fn left_out(wish: &Wish) -> String {
    match wish.left_out() {
        0 => String::new(),
        1 => "; 1 server was left out, see above".to_owned(),
        count => format!("; {count} servers were left out, see above"),
    }
}

/// Where things are shown.
struct Face<'a> {
    options: &'a args::Migrate,
    migration: &'a Migration,
}

impl Face<'_> {
    async fn write(&self, wish: &mut Wish, draft: MigrationDraft, spec: &HostSpec) -> Result<u8, Trouble> {
        let applied = with_progress("writing", self.migration.apply(draft, spec)).await;
        let applied = applied.map_err(|error| trouble(&error))?;
        if applied.is_replanned {
            complain("note: the file was changed meanwhile; this is what was done instead:\n");
            wish.warnings.extend(applied.note);
            self.diff(wish, &applied.draft)?;
        }
        if self.options.yes || applied.is_replanned {
            self.report(wish, &applied.draft, Stage::Done)?;
        }
        let mut outcome = Outcome::new(Done::Written, self.migration.file(), wish.exit());
        outcome.backup = applied.backup.map(|path| path.display().to_string());
        let kept = outcome.backup.as_deref();
        let kept = kept.map(|path| format!("\nthe previous file is kept in {}", plain_line(path)));
        let elsewhere = self.options.codex_home.as_ref();
        let elsewhere =
            elsewhere.map(|home| format!(" --codex-home {}", plain_line(&home.display().to_string())));
        let words = format!(
            "written{}{}\nundo with: talaria migrate --undo{}",
            left_out(wish),
            kept.unwrap_or_default(),
            elsewhere.unwrap_or_default()
        );
        self.end(&outcome, &words)
    }

    fn diff(&self, wish: &Wish, draft: &MigrationDraft) -> Result<(), Trouble> {
        let (old, new) = (draft.old.as_deref(), Some(draft.planned.text.as_str()));
        let change = Change { path: self.migration.file(), old, new, secrets: &wish.secrets };
        show_change(self.options, &change)
    }

    fn report(&self, wish: &Wish, draft: &MigrationDraft, stage: Stage) -> Result<(), Trouble> {
        let mut lines = report::report(wish, &draft.planned, &draft.dropped, stage);
        let freed = draft.planned.freed.iter().map(report::freed);
        let told = draft.replaced.iter().map(report::replaced).chain(freed);
        lines.extend(
            wish.warnings.iter().cloned().chain(told).map(|message| MigrationLine::Warning { message }),
        );
        if lines.is_empty() {
            return Ok(());
        }
        print(&if self.options.json { json_lines(&lines) } else { report::words(&lines) + "\n" })
    }

    fn end(&self, outcome: &Outcome<'_>, words: &str) -> Result<u8, Trouble> {
        finish(self.options, outcome, words)
    }
}

fn read_wish(options: &args::Migrate, settings: &Settings, plugins: Plugins) -> Result<Wish, Trouble> {
    let program = std::env::current_exe()
        .map_err(|error| Trouble::new(exit::FAILED, "cannot find the path of this program").because(error))?;
    let user_home = std::env::var("HOME").ok();
    let home = std::env::var_os("TALARIA_HOME");
    let itself = Itself { program: &program, home, user_home: user_home.as_deref() };
    wish::wish(options, &settings.config, &itself, plugins)
}

/// The target file.
fn target(options: &args::Migrate, configured: Option<PathBuf>) -> Result<MigrationTarget, Trouble> {
    let named = options.codex_home.clone().or(configured);
    let found = MigrationTarget::resolve(named, std::env::var_os("CODEX_HOME"), std::env::var_os("HOME"));
    found.map_err(|error: TargetError| {
        Trouble::new(exit::USAGE, "cannot edit Codex's configuration")
            .because(&error)
            .try_this(error.next_step())
    })
}

fn trouble(error: &MigrateError) -> Trouble {
    let exit = match error {
        MigrateError::NotToml { .. } => exit::USAGE,
        _ => exit::FAILED,
    };
    Trouble::new(exit, "cannot edit Codex's configuration").because(error).try_this(error.next_step())
}

fn show_change(options: &args::Migrate, change: &Change<'_>) -> Result<(), Trouble> {
    if options.json {
        let text = diff::unified(change, Paint::new(look::of_stdout())).text();
        return print(&json_lines(&[
            serde_json::json!({ "type": "diff", "file": change.path, "text": text }),
        ]));
    }
    print(&encoded(&(diff::unified(change, Paint::new(look::of_stdout())) + "\n")))
}

/// Decision about a change, from a person or an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    OnlyLooking,
}

/// Asks at a terminal. Everything but a yes is a no.
async fn ask_confirmation(options: &args::Migrate, question: &str) -> Result<Answer, Trouble> {
    if options.dry_run {
        return Ok(Answer::OnlyLooking);
    }
    if options.yes {
        return Ok(Answer::Yes);
    }
    if options.json || !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Ok(Answer::No);
    }
    complain(&format!("{question} Codex's configuration? [y/N] "));
    // In a separate thread: while a person thinks, Ctrl-C must work.
    let (sender, typed) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).map(|_| line);
        // The receiver is gone: the program is ending.
        let _ = sender.send(read);
    });
    let line = typed.await.unwrap_or_else(|_| Ok(String::new()));
    let line = line.map_err(|error| Trouble::new(exit::FAILED, "cannot read the answer").because(error))?;
    let is_yes = matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    Ok(if is_yes { Answer::Yes } else { Answer::No })
}

fn not_confirmed(options: &args::Migrate, file: &std::path::Path) -> Result<u8, Trouble> {
    let outcome = Outcome::new(Done::NotConfirmed, file, exit::USAGE);
    let is_asked = !options.json && io::stdin().is_terminal() && io::stdout().is_terminal();
    let hint = if is_asked { "" } else { "; run it again with --yes to skip the question" };
    finish(options, &outcome, &format!("nothing was changed{hint}"))
}

/// Says what was done.
fn finish(options: &args::Migrate, outcome: &Outcome<'_>, words: &str) -> Result<u8, Trouble> {
    if options.json {
        print(&json_lines(&[outcome]))?;
    } else {
        print(&format!("{}: {words}\n", plain_line(&outcome.file)))?;
    }
    Ok(outcome.exit)
}
