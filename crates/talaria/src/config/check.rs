//! `talaria config check`: everything that is wrong in the file, with its place in it.

use std::path::Path;

use serde_json::json;
use talaria_core::config::{ConfigProblem, Severity, parse};
use talaria_guard::redact::redact;
use talaria_home::home::TalariaHome;

use super::{Form, read};
use crate::output::print;
use crate::trouble::{Trouble, complain, exit};
use talaria_render::plain_line;

pub(super) fn run(home: &TalariaHome, form: Form) -> Result<u8, Trouble> {
    let file = home.config_file();
    let text = read(&file)?;
    let problems = problems(text.as_deref().unwrap_or_default());
    let lines = problems.iter().map(|problem| match form {
        Form::Json => json_line(&file, problem),
        Form::Words => line(&file, problem),
    });
    print(&lines.collect::<String>())?;
    if form == Form::Words && problems.is_empty() {
        let words = if text.is_some() { "is valid" } else { "does not exist; Codex's own settings apply" };
        complain(&format!("{} {words}\n", file.display()));
    }
    Ok(if problems.iter().any(ConfigProblem::is_error) { exit::FAILED } else { 0 })
}

/// Everything that is wrong in a text; one that is not TOML has one problem.
pub(super) fn problems(text: &str) -> Vec<ConfigProblem> {
    match parse(text) {
        Ok(parsed) => parsed.problems,
        Err(problem) => vec![problem],
    }
}

/// A problem in the format of compilers.
pub(super) fn line(file: &Path, problem: &ConfigProblem) -> String {
    let (line, column) = (problem.line.unwrap_or(1), problem.column.unwrap_or(1));
    // The position is first here.
    let words = ConfigProblem { line: None, column: None, ..problem.clone() }.to_string();
    let text = format!("{}:{line}:{column}: {}: {}", file.display(), severity(problem), redact(&words));
    plain_line(&text).into_owned() + "\n"
}

fn json_line(file: &Path, problem: &ConfigProblem) -> String {
    let object = json!({
        "file": file.display().to_string(),
        "line": problem.line,
        "column": problem.column,
        "severity": severity(problem),
        "key": problem.key,
        "message": redact(&problem.message),
        "hint": problem.hint,
    });
    talaria_core::json_line::json_line(&object)
}

fn severity(problem: &ConfigProblem) -> &'static str {
    match problem.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}
