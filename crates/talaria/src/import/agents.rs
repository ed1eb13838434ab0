//! `talaria import claude-code` and `talaria import codex`: what another agent remembers. The files are read here; the engine
//! decides what is new, masks secrets, and lets what looks like planted instructions wait.

use serde::Serialize;
use talaria_core::api::{AgentProgram, ImportHow, MemoryImport, MemoryImported, MemoryImportedFile};
use talaria_import::agents::{AgentError, AgentHome, LeftFile, preview_first, read_memory};
use talaria_render::plain_line;

use crate::args::AgentImport;
use crate::engine::{self, refused};
use crate::output::print;
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};

/// Runs the command.
pub(super) async fn run(program: AgentProgram, options: &AgentImport) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let report = match options.undo {
        true => undo(program, options, &settings).await?,
        false => import(program, options, &settings).await?,
    };
    print(&if options.json { json_lines(&[&report]) } else { report.text() })?;
    Ok(0)
}

async fn import(
    program: AgentProgram,
    options: &AgentImport,
    settings: &Settings,
) -> Result<AgentReport, Trouble> {
    let home = AgentHome::resolve(program, options.home.as_deref(), |name| std::env::var_os(name));
    let home = home.map_err(|error| trouble(program, &error))?;
    let memory = read_memory(&home);
    let is_empty_home = !settings.home.store_file().exists();
    let done = match options.dry_run {
        // A home that remembers nothing needs no engine to say so.
        true if is_empty_home => preview_first(&memory.files),
        dry_run => {
            let how = if dry_run { ImportHow::Preview } else { ImportHow::Take };
            let client = engine::reach(&settings.home).await?;
            let import = MemoryImport { program, how, files: memory.files };
            let done = with_progress("importing", client.import_memory(&import)).await;
            done.map_err(|error| refused(&format!("cannot import from {program}"), &error))?
        }
    };
    let home = Some(home.root.to_string_lossy().into_owned());
    Ok(AgentReport { program, home, dry_run: options.dry_run, undo: false, done, left: memory.left })
}

async fn undo(
    program: AgentProgram,
    options: &AgentImport,
    settings: &Settings,
) -> Result<AgentReport, Trouble> {
    let done = match settings.home.store_file().exists() {
        false => MemoryImported::default(),
        true => {
            let how = if options.dry_run { ImportHow::PreviewUndo } else { ImportHow::Undo };
            let client = engine::reach(&settings.home).await?;
            let import = MemoryImport { program, how, files: Vec::new() };
            let done = with_progress("undoing", client.import_memory(&import)).await;
            done.map_err(|error| refused("cannot undo the import", &error))?
        }
    };
    Ok(AgentReport { program, home: None, dry_run: options.dry_run, undo: true, done, left: Vec::new() })
}

fn trouble(program: AgentProgram, error: &AgentError) -> Trouble {
    Trouble::new(exit::USAGE, format!("cannot import from {program}"))
        .because(error)
        .try_this(error.next_step())
}

/// What happened, or would happen.
#[derive(Debug, Serialize)]
struct AgentReport {
    program: AgentProgram,
    /// The agent's home; none when something is undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<String>,
    dry_run: bool,
    undo: bool,
    #[serde(flatten)]
    done: MemoryImported,
    /// The files that were not imported.
    left: Vec<LeftFile>,
}

impl AgentReport {
    fn text(&self) -> String {
        let mut out = match &self.home {
            Some(home) => self.imported(home),
            None => self.undone(),
        };
        for note in &self.done.notes {
            out += &format!("note: {}\n", plain_line(note));
        }
        if self.dry_run {
            out += "nothing was changed\n";
        }
        out
    }

    fn imported(&self, home: &str) -> String {
        let (program, word) = (self.program, self.program.word());
        let mut out = format!("from {program} in {}\n", plain_line(home));
        if self.done.files.is_empty() {
            out += "  it remembers nothing\n";
        }
        for file in &self.done.files {
            out += &format!("  {}\n", plain_line(&counted(file)));
        }
        if !self.left.is_empty() {
            out += "not imported\n";
        }
        for LeftFile { path, why } in &self.left {
            out += &format!("  {}: {}\n", plain_line(path), plain_line(why));
        }
        let sum = |count: fn(&MemoryImportedFile) -> usize| self.done.files.iter().map(count).sum::<usize>();
        if self.done.is_masked {
            out += "secrets in the texts are masked\n";
        }
        match sum(|file| file.waiting) {
            0 => {}
            1 => out += "1 text looks like planted instructions and waits for you: talaria memory pending\n",
            count => {
                out += &format!(
                    "{count} texts look like planted instructions and wait for you: talaria memory pending\n"
                );
            }
        }
        if !self.dry_run && sum(|file| file.new + file.waiting) > 0 {
            out += &format!("see them with: talaria memory list\nundo with: talaria import {word} --undo\n");
        }
        out
    }

    fn undone(&self) -> String {
        let MemoryImported { removed, changed, rejected, .. } = &self.done;
        if (*removed, *changed, *rejected) == (0, 0, 0) {
            return format!("nothing that was imported from {} is left to undo\n", self.program);
        }
        let will = |done: &'static str, would: &'static str| if self.dry_run { would } else { done };
        let mut out = String::new();
        if *removed > 0 {
            let removes = will("removed", "would be removed");
            out += &format!("{} {removes}; the history keeps every text\n", entries(*removed));
        }
        if *rejected > 0 {
            out += &format!("{rejected} that waited {}\n", will("rejected", "would be rejected"));
        }
        if *changed > 0 {
            out += &format!("{} changed since {}\n", entries(*changed), will("stayed", "would stay"));
        }
        out
    }
}

fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

/// One file in a line: `CLAUDE.md, user: 3 new, 1 known, 1 waits`.
fn counted(file: &MemoryImportedFile) -> String {
    let head = format!("{}, {}: ", file.name, file.scope);
    if let Some(why) = &file.refused {
        return format!("{head}refused: {why}");
    }
    let mut parts = vec![format!("{} new", file.new)];
    if file.known > 0 {
        parts.push(format!("{} known", file.known));
    }
    match file.waiting {
        0 => {}
        1 => parts.push("1 waits".to_owned()),
        count => parts.push(format!("{count} wait")),
    }
    head + &parts.join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn reports_say_what_came_what_waits_and_how_to_undo_it() {
        let file = |name: &str, new, known, waiting| MemoryImportedFile {
            name: name.to_owned(),
            scope: "user".to_owned(),
            new,
            known,
            waiting,
            refused: None,
        };
        let refused = MemoryImportedFile { refused: Some("too long".to_owned()), ..file("x.md", 0, 0, 0) };
        let files = vec![file("CLAUDE.md", 3, 1, 2), file("b\u{1b}.md", 0, 2, 0), refused];
        let left = vec![LeftFile { path: "memory/y.md".to_owned(), why: "it is a link".to_owned() }];
        let done = MemoryImported { files, is_masked: true, ..MemoryImported::default() };
        let mut report = AgentReport {
            program: AgentProgram::ClaudeCode,
            home: Some("/home/me/.claude".to_owned()),
            dry_run: false,
            undo: false,
            done,
            left,
        };
        expect![[r#"
            from Claude Code in /home/me/.claude
              CLAUDE.md, user: 3 new, 1 known, 2 wait
              b␛.md, user: 0 new, 2 known
              x.md, user: refused: too long
            not imported
              memory/y.md: it is a link
            secrets in the texts are masked
            2 texts look like planted instructions and wait for you: talaria memory pending
            see them with: talaria memory list
            undo with: talaria import claude-code --undo
        "#]]
        .assert_eq(&report.text());
        (report.dry_run, report.left) = (true, Vec::new());
        report.done = MemoryImported::default();
        expect![[r#"
            from Claude Code in /home/me/.claude
              it remembers nothing
            nothing was changed
        "#]]
        .assert_eq(&report.text());
        (report.home, report.undo) = (None, true);
        report.done = MemoryImported { removed: 1, changed: 2, rejected: 1, ..MemoryImported::default() };
        expect![[r#"
            1 entry would be removed; the history keeps every text
            1 that waited would be rejected
            2 entries changed since would stay
            nothing was changed
        "#]]
        .assert_eq(&report.text());
        report.dry_run = false;
        report.done = MemoryImported::default();
        expect![[r#"
            nothing that was imported from Claude Code is left to undo
        "#]]
        .assert_eq(&report.text());
    }
}
