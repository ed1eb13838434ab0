//! `talaria import hermes`: imports settings and files; the engine imports conversations, page by page. `report` composes
//! the report.

use std::path::Path;

use talaria_core::api::{
    Import as Asked, ImportFrom, ImportHow, ImportedSessions, MemoryItem, MemoryQuery, MemoryWish, Problem,
    ProblemCode,
};
use talaria_home::user_file::UserFile;
use talaria_import::hermes::{
    HermesError, HermesHome, HermesImport, HermesSessions, HermesSource, HermesUndo, UndoMode, plan_import,
};
use talaria_import::preview_conversations;
use talaria_server::client::{Client, ClientError};

use super::report::{ReadSessions, Report, Trouble as NotRead};
use super::undo_report::UndoReport;
use crate::args::Hermes;
use crate::engine::{self, refused};
use crate::output::print;
use crate::progress::{Progress, with_progress};
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};

pub(super) async fn run(options: &Hermes) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    if options.undo {
        return undo(options, &settings).await;
    }
    let variable = std::env::var_os;
    let source = HermesHome::resolve(options.home.as_deref(), variable("HERMES_HOME"), variable("HOME"))
        .and_then(|home| home.read(&settings.home))
        .map_err(|error| trouble(&error))?;
    let mut report = match options.dry_run {
        true => preview(&settings, &source).await?,
        false => import(&settings, &source).await?,
    };
    report.named =
        options.home.as_ref().map(|home| format!(" --home {}", home.display())).unwrap_or_default();
    print(&if options.json { json_lines(&[&report]) } else { report.text() })?;
    Ok(if report.sessions_not_read.is_some() { exit::FAILED } else { 0 })
}

fn trouble(error: &HermesError) -> Trouble {
    let exit = if error.is_usage() { exit::USAGE } else { exit::FAILED };
    Trouble::new(exit, "cannot import from Hermes").because(error).try_this(error.next_step())
}

/// Says what would happen.
async fn preview(settings: &Settings, source: &HermesSource) -> Result<Report, Trouble> {
    let planned = plan_import(&settings.home, source).map_err(|error| trouble(&error))?;
    let mut report = Report::new(&settings.home, source, planned);
    report.dry_run = true;
    let Some(path) = &source.database else { return Ok(report) };
    // A home that keeps nothing knows nothing, and needs no engine to say so.
    let came = match settings.home.store_file().exists() {
        true => {
            let client = engine::reach(&settings.home).await?;
            pages(&client, &import_request(path, ImportHow::Preview, None)?).await?
        }
        false => with_progress("reading conversations", all_pages(path)).await?,
    };
    report.add_sessions(came);
    Ok(report)
}

/// Reads all pages without an engine.
async fn all_pages(path: &Path) -> Result<ReadSessions, Trouble> {
    let mut all = ImportedSessions::default();
    loop {
        let next = all.next.take();
        match preview_conversations(path, next.as_deref()).await {
            Ok(page) => all.add(page),
            Err(problem) => return broken_off(all, problem),
        }
        if all.next.is_none() {
            return Ok(ReadSessions { sessions: all, not_read: None });
        }
    }
}

/// A database that cannot be read, or not to its end, is in the report; everything else ends the command.
fn broken_off(sessions: ImportedSessions, problem: Problem) -> Result<ReadSessions, Trouble> {
    match problem.code {
        ProblemCode::BadRequest => {
            let not_read = Some(NotRead { cause: problem.message, hint: problem.hint });
            Ok(ReadSessions { sessions, not_read })
        }
        _ => Err(Trouble::new(exit::FAILED, "cannot import the conversations").because(problem.message)),
    }
}

/// Does it.
async fn import(settings: &Settings, source: &HermesSource) -> Result<Report, Trouble> {
    // Before anything is changed: without an engine it would only be half of it.
    let client = match &source.database {
        Some(_) => Some(engine::reach(&settings.home).await?),
        None => None,
    };
    let mut import = HermesImport::begin(&settings.home, source).map_err(|error| trouble(&error))?;
    let planned = import.apply(source).map_err(|error| trouble(&error))?;
    let mut report = Report::new(&settings.home, source, planned);
    if let (Some(client), Some(path)) = (client, &source.database) {
        let came = pages(&client, &import_request(path, ImportHow::Take, Some(import.run()))?).await?;
        report.add_sessions(came);
    }
    let came = if report.brought_sessions() { HermesSessions::Imported } else { HermesSessions::None };
    import.finish(came).map_err(|error| trouble(&error))?;
    Ok(report)
}

fn import_request(path: &Path, how: ImportHow, run: Option<&str>) -> Result<Asked, Trouble> {
    let path = path.to_str().ok_or_else(|| {
        Trouble::new(exit::USAGE, format!("cannot read {}", path.display()))
            .because("its path is not valid UTF-8")
            .try_this("move Hermes's home to another place, or name it by a link with --home")
    })?;
    let run = run.map(str::to_owned);
    Ok(Asked { path: path.to_owned(), from: ImportFrom::Hermes, how, run, after: None })
}

/// Imports all pages.
async fn pages(client: &Client, asked: &Asked) -> Result<ReadSessions, Trouble> {
    let mut all = ImportedSessions::default();
    let mut progress = Progress::default();
    loop {
        let asked = Asked { after: all.next.take(), ..asked.clone() };
        let page = match client.import(&asked).await {
            Ok(imported) => imported.sessions.unwrap_or_default(),
            Err(ClientError::Problem(problem)) if problem.code == ProblemCode::BadRequest => {
                return broken_off(all, problem);
            }
            Err(error) => return Err(refused("cannot import the conversations", &error)),
        };
        all.add(page);
        if all.next.is_none() {
            return Ok(ReadSessions { sessions: all, not_read: None });
        }
        match all.total {
            0 => progress.say(&format!("conversations: {}", all.seen)),
            total => progress.say(&format!("conversations: {} of {total}", all.seen)),
        }
    }
}

/// Takes the last import back.
async fn undo(options: &Hermes, settings: &Settings) -> Result<u8, Trouble> {
    let undo = HermesUndo::begin(&settings.home)
        .map_err(|error| trouble(&error).renamed("cannot undo the import"))?;
    let client = match settings.home.store_file().exists() {
        true => Some(engine::reach(&settings.home).await?),
        false => None,
    };
    let (back, how) = match options.dry_run {
        true => (UndoMode::Preview, ImportHow::PreviewUndo),
        false => (UndoMode::Apply, ImportHow::Undo),
    };
    let memories = memory_files(settings);
    let files = undo.apply(back).map_err(|error| trouble(&error).renamed("cannot undo the import"))?;
    let mut report = UndoReport {
        home: undo.source().to_owned(),
        dry_run: options.dry_run,
        files,
        ..UndoReport::default()
    };
    if let Some(client) = client {
        let run = Some(undo.run().to_owned());
        let asked = Asked { from: ImportFrom::Hermes, how, run, ..Asked::default() };
        let came = pages(&client, &asked).await?;
        if let Some(not_read) = came.not_read {
            let what = "cannot remove the imported conversations";
            return Err(Trouble::new(exit::FAILED, what).because(not_read.cause));
        }
        report.sessions = came.sessions;
        let removed: Vec<_> =
            memories.into_iter().filter(|memory| report.files.files.contains(&memory.name)).collect();
        report.memories = forget(&client, &removed, back).await?;
        if back == UndoMode::Apply && report.memories > 0 {
            remove_empty(settings, &removed);
        }
    }
    if !options.dry_run {
        undo.finish().map_err(|error| trouble(&error))?;
    }
    print(&if options.json { json_lines(&[&report]) } else { report.text() })?;
    Ok(0)
}

/// A memory file that an import may have copied.
struct MemoryFile {
    /// Its name, relative to Talaria's home.
    name: String,
    scope: &'static str,
    entries: Vec<String>,
}

/// The memory files as they are. One that cannot be read has no entries: nothing is removed because of it.
fn memory_files(settings: &Settings) -> Vec<MemoryFile> {
    let read = |(file, scope): (&str, &'static str)| {
        let text = std::fs::read_to_string(settings.home.memories_dir().join(file)).unwrap_or_default();
        MemoryFile {
            name: format!("memories/{file}"),
            scope,
            entries: talaria_core::memory::file::parse(&text),
        }
    };
    [("USER.md", "user"), ("MEMORY.md", "notes")].map(read).into()
}

/// Removes the memory entries that were read from these files and have not changed since; their texts stay in the history.
/// Returns how many.
async fn forget(client: &Client, files: &[MemoryFile], back: UndoMode) -> Result<usize, Trouble> {
    if files.is_empty() {
        return Ok(0);
    }
    let refused = |error: ClientError| refused("cannot remove the imported memory entries", &error);
    // A file that was just removed is not read again.
    let list = client.memory(&MemoryQuery::default()).await.map_err(refused)?;
    let is_from_them = |item: &&MemoryItem| {
        let of_file = |file: &&MemoryFile| file.scope == item.scope && file.entries.contains(&item.text);
        item.author == "file" && files.iter().find(of_file).is_some()
    };
    let imported: Vec<&MemoryItem> = list.entries.iter().filter(is_from_them).collect();
    if back == UndoMode::Apply {
        for item in &imported {
            let wish = MemoryWish::Remove { entry: item.id.clone() };
            client.change_memory(&wish).await.map_err(refused)?;
        }
    }
    Ok(imported.len())
}

/// Removes files that the engine wrote again while it had entries of them, and that are empty now.
fn remove_empty(settings: &Settings, files: &[MemoryFile]) {
    for file in files {
        if let Ok(locked) = UserFile::lock(&settings.home.root().join(&file.name))
            && locked.text() == Some("")
        {
            // An empty file is harmless.
            let _ = locked.remove();
        }
    }
    // A directory that is not empty is kept.
    let _ = std::fs::remove_dir(settings.home.memories_dir());
}
