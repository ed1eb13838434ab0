//! Who writes to standard output and standard error. Text for people passes through a few modules that handle colours,
//! widths, closed pipes and the screen of the chat; anything printed elsewhere would corrupt that screen.

use std::fs;
use std::path::{Path, PathBuf};

use super::crates;

/// What writes to the terminal: the macros, and the streams themselves.
const WRITERS: [&str; 6] = ["println!(", "print!(", "eprintln!(", "eprint!(", "io::stdout()", "io::stderr()"];

/// A question about a stream writes nothing.
const QUESTIONS: [&str; 2] = ["io::stdout().is_terminal()", "io::stderr().is_terminal()"];

/// The files that may write, below `crates/`, and why.
const ALLOWED: &[(&str, &str)] = &[
    (
        "talaria-mcp/src/keeper.rs",
        "the reason why a server does not start goes to its engine over standard error",
    ),
    ("talaria/src/bar.rs", "the progress bar of an installation"),
    ("talaria/src/chat/plain.rs", "the page of the plain chat"),
    ("talaria/src/chat/screen.rs", "the screen of the chat"),
    ("talaria/src/chat/screen/guard.rs", "restores the terminal"),
    ("talaria/src/demo.rs", "renders the turn of the demo"),
    ("talaria/src/exec.rs", "chooses the renderer of a turn"),
    ("talaria/src/look.rs", "asks the terminal for its size"),
    ("talaria/src/mcp.rs", "speaks MCP on standard output"),
    ("talaria/src/output.rs", "prints the text of commands"),
    ("talaria/src/progress.rs", "the progress line of a command that takes long"),
    ("talaria/src/ps.rs", "passes the output of a background command on"),
    ("talaria/src/requests/person.rs", "renders a request that a person answers"),
    ("talaria/src/serve.rs", "the log of the engine"),
    ("talaria/src/sessions/compact.rs", "chooses the renderer of a turn"),
    ("talaria/src/tasks/attend.rs", "chooses the renderer of a task"),
    ("talaria/src/tasks/start.rs", "asks the terminal for its name"),
    ("talaria/src/trouble.rs", "prints errors and warnings"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Does a line of the file write to the terminal, outside of its tests?
fn writes(source: &str) -> bool {
    let product = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = product.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    code.into_iter().any(|line| {
        let rest = QUESTIONS.iter().fold(line.to_owned(), |line, question| line.replace(question, ""));
        WRITERS.iter().any(|writer| rest.contains(writer))
    })
}

#[test]
fn only_output_modules_write_to_the_terminal() {
    let mut all = Vec::new();
    sources(crates(), &mut all);
    assert!(all.len() > 500, "the sources were found: {}", all.len());
    let is_product = |file: &str| {
        file.contains("/src/") && !file.contains("/tests") && !file.starts_with("talaria-testkit/")
    };
    let mut found: Vec<String> = all
        .iter()
        .map(|path| (path.strip_prefix(crates()).unwrap().display().to_string(), path))
        .filter(|(file, path)| is_product(file) && writes(&fs::read_to_string(path).unwrap()))
        .map(|(file, _)| file)
        .collect();
    found.sort();
    let allowed: Vec<&str> = ALLOWED.iter().map(|(file, _)| *file).collect();
    assert_eq!(
        found, allowed,
        "print through `output`, `trouble` or a renderer, or add the file with a reason"
    );
}

#[test]
fn questions_about_a_stream_are_no_output() {
    assert!(writes("fn f() {\n    println!(\"x\");\n}"));
    assert!(writes("let mut out = io::stdout().lock();"));
    assert!(!writes("if io::stdout().is_terminal() {\n    look::of_stdout();\n}\n// println!(\"\")"));
}
