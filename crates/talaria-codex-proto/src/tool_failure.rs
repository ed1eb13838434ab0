//! When a call of a tool failed, by the text that the model got.
//!
//! Codex sends no step for a call that it refuses or cannot carry out, and its output has no mark for success: the text is
//! the only evidence. So only texts that Codex itself writes for failures count (0.130.0 and 0.166.0); any other output is no
//! failure. A call that was cancelled is none either: the request about it says so. Called by the turn machine for raw calls,
//! and by `rollout` for those in a file.

use std::borrow::Cow;

use talaria_guard::redact::redact;
use talaria_guard::shorten::shorten;

/// The longest text of a failure, in lines and in characters.
const LINES: usize = 4;
const CHARS: usize = 600;

/// How texts begin that mean a failure of any tool.
const BEGINNINGS: &[&str] = &[
    "unsupported call: ",
    "unsupported custom tool call: ",
    "failed to parse function arguments: ",
    "approval policy is ",
    "patch rejected: ",
    "execution error: ",
];

/// What follows the name of a tool where Codex says that the tool failed.
const VERBS: &[&str] = &[
    "verification failed: ",
    "failed: ",
    "failed for ",
    "handler received ",
    "is unavailable",
    "is not supported",
    "is not allowed",
    "is a TODO/checklist tool and is not allowed",
    "can only be used",
    "requires ",
];

/// The first lines of what the model got of a failed call, without secrets; `None` unless the text says that it failed.
pub fn failure(tool: &str, output: &str) -> Option<String> {
    let text = output.trim();
    if tool == "exec" {
        return script_failure(text);
    }
    let is_known = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
    let of_tool = text.strip_prefix(tool).and_then(|rest| rest.strip_prefix(' '));
    let is_of_tool = of_tool.is_some_and(|rest| VERBS.iter().any(|verb| rest.starts_with(verb)));
    let is_of_image = tool == "view_image"
        && ["unable to ", "image path `"].iter().any(|beginning| text.starts_with(beginning));
    (is_known || is_of_tool || is_of_image).then(|| shortened(text))
}

/// In code mode the call is a script; below its first line are the time, its output, and the error.
fn script_failure(text: &str) -> Option<String> {
    let rest = text.strip_prefix("Script failed")?;
    let error = rest.rsplit_once("Script error:\n").map_or("the script failed", |(_, error)| error.trim());
    Some(shortened(error))
}

/// Secrets are masked before anything is cut: half a secret could not be recognised.
fn shortened(text: &str) -> String {
    let text = redact(text);
    let lines: Vec<&str> = text.lines().take(LINES).collect();
    let first = lines.join("\n");
    match shorten(&first, CHARS) {
        Cow::Owned(cut) => cut,
        Cow::Borrowed(_) if lines.len() < text.lines().count() => format!("{first} …"),
        Cow::Borrowed(_) => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_codex_says_of_a_failed_call_is_a_failure() {
        for (tool, output) in [
            ("apply_patch", "apply_patch verification failed: Failed to find expected lines in /w/a:\nx"),
            (
                "apply_patch",
                "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings",
            ),
            ("update_plan", "unsupported call: update_plan"),
            ("other", "unsupported custom tool call: other"),
            ("update_plan", "failed to parse function arguments: invalid type: integer `3`"),
            ("request_user_input", "request_user_input is unavailable in Default mode"),
            ("write_stdin", "write_stdin failed: Unknown process id 77"),
            ("exec_command", "exec_command failed for `x`: CreateProcess"),
            (
                "exec_command",
                "approval policy is Never; reject command — you cannot ask for escalated permissions",
            ),
            ("view_image", "unable to locate image at `/w/nope.png`: No such file or directory (os error 2)"),
            ("view_image", "unable to process image: invalid or unsupported image data"),
        ] {
            assert_eq!(failure(tool, output).as_deref(), Some(output), "{tool}");
        }
        let script =
            "Script failed\nWall time 0.1 seconds\nOutput:\n\nScript error:\nTypeError: x is not a function";
        assert_eq!(failure("exec", script).as_deref(), Some("TypeError: x is not a function"));
    }

    #[test]
    fn any_other_output_is_no_failure() {
        for (tool, output) in [
            (
                "apply_patch",
                "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a",
            ),
            ("update_plan", "Plan updated"),
            ("exec_command", "Chunk ID: 1\nProcess exited with code 0\nOutput:\nexec_command failed: really"),
            ("request_user_input", "request_user_input was cancelled before receiving a response"),
            ("read", "unable to locate image at home"),
            ("exec", "Script completed\nOutput:\nScript failed"),
            ("exec", "Script running with cell ID 3"),
            ("wait", ""),
            ("exec_command", "aborted by user after 3.0s"),
        ] {
            assert_eq!(failure(tool, output), None, "{tool}: {output}");
        }
    }

    #[test]
    fn a_long_failure_is_cut_after_its_secrets_are_masked() {
        let key = format!("sk-proj-{}", "a1B2".repeat(12));
        let padding = "x".repeat(CHARS - 60);
        let text = failure("t", &format!("unsupported call: {padding} {key} {key}\nmore")).unwrap();
        assert!(text.chars().count() <= CHARS && !text.contains(&key[..16]), "{text}");
        let lines = failure("t", &format!("unsupported call: t\n{}", "line\n".repeat(9))).unwrap();
        assert_eq!(lines.lines().count(), LINES);
        assert!(lines.ends_with(" …"), "{lines}");
    }
}
