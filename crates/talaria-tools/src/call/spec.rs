//! What a model reads about the tools of the loop. Static, and short: it is part of every prompt.

use std::time::Duration;

use serde_json::{Value, json};
use talaria_core::tool::ToolSpec;

/// How long a call may take that waits for a command.
const COMMAND: Duration = Duration::from_secs(660);
const QUICK: Duration = Duration::from_secs(60);
/// A question waits for its person.
const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

/// The tools of the loop, in the order in which they are offered.
pub fn loop_tools() -> Vec<ToolSpec> {
    vec![run(), process(), read(), edit(), write(), search(), plan(), ask(), view_image()]
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn run() -> ToolSpec {
    ToolSpec {
        name: "run",
        description: "Run a shell command in the sandbox. A command that is still running when the wait is over continues, \
                      and the result names its process. Processes that a command leaves running are ended with it: use \
                      background for servers and watchers.",
        schema: object(
            &["command"],
            json!({
                "command": text("A line of shell."),
                "cwd": text("Working directory; the project's by default."),
                "seconds": { "type": "integer", "description": "How long to wait for its end, 1 to 600; 120 by default." },
                "background": { "type": "boolean", "description": "Return at once; read and write with process." },
                "escalate": text(
                    "Only if the command needs to leave the sandbox: one sentence for the user that says why. The user \
                     is asked.",
                ),
            }),
        ),
        limit: COMMAND,
    }
}

fn process() -> ToolSpec {
    ToolSpec {
        name: "process",
        description: "Work with a running or ended command: poll reads its new output and state, write sends text to its \
                      input (background commands only), kill ends it with everything below it.",
        schema: object(
            &["process", "action"],
            json!({
                "process": text("Its name, from the result of run."),
                "action": { "type": "string", "enum": ["poll", "write", "kill"] },
                "from": { "type": "integer", "description": "poll: the byte to read from; new output by default." },
                "seconds": { "type": "integer", "description": "poll: how long to wait for its end, 0 to 60." },
                "text": text("write: the text; a line needs its line end."),
                "end": { "type": "boolean", "description": "write: close its input after the text." },
            }),
        ),
        limit: Duration::from_secs(90),
    }
}

fn read() -> ToolSpec {
    ToolSpec {
        name: "read",
        description: "Read a text file as numbered lines. Read a file before you change it.",
        schema: object(
            &["path"],
            json!({
                "path": text("The file."),
                "offset": { "type": "integer", "description": "First line, from 1." },
                "limit": { "type": "integer", "description": "Number of lines, at most 2000; 500 by default." },
            }),
        ),
        limit: QUICK,
    }
}

fn edit() -> ToolSpec {
    ToolSpec {
        name: "edit",
        description: "Replace text in a file that you have read. old must match exactly, without the line numbers of read, \
                      and occur once. Refused if the file changed since it was read.",
        schema: object(
            &["path", "old", "new"],
            json!({
                "path": text("The file."),
                "old": text("The text to replace, with enough lines around it to be unique."),
                "new": text("The text that takes its place."),
                "all": { "type": "boolean", "description": "Replace every occurrence." },
                "digest": text("The digest from read; the last one that you saw by default."),
            }),
        ),
        limit: QUICK,
    }
}

fn write() -> ToolSpec {
    ToolSpec {
        name: "write",
        description: "Write a whole file: a new one, with its directories, or one that you have read.",
        schema: object(
            &["path", "text"],
            json!({
                "path": text("The file."),
                "text": text("Its whole new content."),
                "digest": text("The digest from read; the last one that you saw by default."),
            }),
        ),
        limit: QUICK,
    }
}

fn search() -> ToolSpec {
    ToolSpec {
        name: "search",
        description: "Search files below a directory. Respects .gitignore. Prefer it to grep and find.",
        schema: object(
            &["pattern"],
            json!({
                "pattern": text("content: a regular expression for lines ((?i) ignores case). files: a glob such as **/*.rs; empty lists all."),
                "mode": { "type": "string", "enum": ["content", "files"], "description": "content by default." },
                "path": text("Where; the project by default."),
                "glob": text("content: only files like this, such as *.rs."),
            }),
        ),
        limit: QUICK,
    }
}

fn plan() -> ToolSpec {
    ToolSpec {
        name: "plan",
        description: "Show the user your plan for work of several steps. Send all steps each time; one at most is in progress.",
        schema: object(
            &["steps"],
            json!({
                "explanation": text("Why the plan changed."),
                "steps": { "type": "array", "items": object(
                    &["step", "status"],
                    json!({
                        "step": text("One thing to do; each one once."),
                        "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
                    }),
                ) },
            }),
        ),
        limit: QUICK,
    }
}

fn ask() -> ToolSpec {
    ToolSpec {
        name: "ask",
        description: "Ask the user something that you cannot find out and that changes what you do. Waits for the answer. The \
                      user may also answer in their own words.",
        schema: object(
            &["questions"],
            json!({
                "questions": { "type": "array", "description": "One to three.", "items": object(
                    &["question"],
                    json!({
                        "question": text("One sentence."),
                        "options": { "type": "array", "description": "At most six.", "items": object(
                            &["label"],
                            json!({ "label": text("A few words."), "description": text("What it means.") }),
                        ) },
                    }),
                ) },
            }),
        ),
        limit: NO_LIMIT,
    }
}

fn view_image() -> ToolSpec {
    ToolSpec {
        name: "view_image",
        description: "Look at a PNG, JPEG, GIF or WebP file, at most 5 MB.",
        schema: object(&["path"], json!({ "path": text("The file.") })),
        limit: QUICK,
    }
}
