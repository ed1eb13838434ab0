//! `talaria import`: imports the data of another program, whose files and databases are only read.

mod agents;
mod hermes;
mod page;
mod report;
mod undo_report;

use std::path::Path;

use talaria_core::api::{AgentProgram, Import, Imported};

use crate::args;
use crate::args::ImportSource;
use crate::engine::{self, refused};
use crate::output::print;
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, exit};
use talaria_render::plain_line;

pub(crate) async fn run(options: &args::Import) -> Result<u8, Trouble> {
    let (path, json) = match &options.source {
        ImportSource::CodexBridge { path, json } => (path, json),
        ImportSource::Hermes(options) => return hermes::run(options).await,
        ImportSource::ClaudeCode(options) => return agents::run(AgentProgram::ClaudeCode, options).await,
        ImportSource::Codex(options) => return agents::run(AgentProgram::Codex, options).await,
    };
    let import = Import { path: file(path)?, ..Import::default() };
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    let imported = with_progress("reading", client.import(&import)).await;
    let imported = imported.map_err(|error| refused("cannot import these tasks", &error))?;
    print(&if *json { json_lines(&[imported]) } else { words(&imported) })?;
    Ok(0)
}

/// A file that can be read, as an absolute path: the engine has another working directory.
fn file(path: &Path) -> Result<String, Trouble> {
    let trouble = |cause: String| {
        Trouble::new(exit::USAGE, format!("cannot read {}", path.display()))
            .because(cause)
            .try_this("name the file codex_bridge.db of the other program")
    };
    let real = path.canonicalize().map_err(|error| trouble(error.to_string()))?;
    if !real.is_file() {
        return Err(trouble("it is not a file".to_owned()));
    }
    real.into_os_string().into_string().map_err(|_| trouble("its path is not valid UTF-8".to_owned()))
}

fn words(imported: &Imported) -> String {
    let count = |count: usize| match count {
        1 => "1 task".to_owned(),
        _ => format!("{count} tasks"),
    };
    let mut out = format!("{} imported\n", count(imported.tasks));
    if imported.lost > 0 {
        out += &format!("{} of them had not ended; their outcome is not known\n", imported.lost);
    }
    if imported.known > 0 {
        out += &format!("{} had been imported before\n", count(imported.known));
    }
    for name in &imported.refused {
        out +=
            &format!("not imported, because it is not a task or its name is in use: {}\n", plain_line(name));
    }
    out + "list them: talaria task list\n"
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn what_was_taken_over_is_told() {
        expect![[r#"
            3 tasks imported
            2 of them had not ended; their outcome is not known
            1 task had been imported before
            not imported, because it is not a task or its name is in use: a␛b
            list them: talaria task list
        "#]]
        .assert_eq(&words(&Imported {
            tasks: 3,
            lost: 2,
            known: 1,
            refused: vec!["a\u{1b}b".to_owned()],
            sessions: None,
        }));
        assert_eq!(words(&Imported::default()), "0 tasks imported\nlist them: talaria task list\n");
    }
}
