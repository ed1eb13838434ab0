//! One line for each step that is not a message: a sign, its description, its outcome, its duration.
//!
//! Below a command is the end of its output. Nothing here waits or draws; `spinner` shows steps that still run.

use std::borrow::Cow;

use talaria_core::event::Abandonment;
use talaria_core::ids::ItemId;
use talaria_core::item::{ItemBody, SearchAction, Status, ToolResult};
use talaria_core::request::Ask;

use super::diff;
use super::own_tool;
use super::paint::{Paint, cut};
use super::sanitize::{one_line, sanitize};
use super::shell_wrapper::unwrapped;
use super::style::{Color, Style};
use super::styled::{StyledLine, StyledText};

/// How many lines of a command's output are shown.
const OUTPUT_LINES: usize = 6;

/// The name of a step on screen, for steps that take time.
pub fn label(body: &ItemBody, paint: Paint) -> Option<String> {
    match body {
        ItemBody::Command { command, .. } => Some(first_line(&unwrapped(command), paint)),
        ItemBody::Patch { changes, .. } => Some(diff::summary(changes, paint)),
        ItemBody::Tool { server, tool, .. } => Some(one_line(&format!("{server}.{tool}")).into_owned()),
        ItemBody::ClientTool { namespace: Some(namespace), tool, .. } => {
            Some(one_line(&format!("{namespace}.{tool}")).into_owned())
        }
        ItemBody::ClientTool { namespace: None, tool, arguments, .. } => {
            let named = arguments.as_ref().and_then(|json| own_tool::describe(tool, json.get()));
            Some(named.unwrap_or_else(|| one_line(tool).into_owned()))
        }
        ItemBody::FailedCall { tool, .. } => Some(one_line(tool).into_owned()),
        ItemBody::Agents { action, threads, .. } => {
            Some(format!("agents: {} ({})", one_line(action), threads.len()))
        }
        ItemBody::WebSearch { query, action } => Some(web(query, action.as_ref())),
        ItemBody::ImageView { path } => Some(format!("view {}", one_line(path))),
        ItemBody::ImageGeneration { prompt, path, .. } => Some(image(prompt.as_deref(), path.as_deref())),
        ItemBody::Sleep { duration_ms } => Some(format!("wait {}", elapsed(*duration_ms))),
        _ => None,
    }
}

fn web(query: &str, action: Option<&SearchAction>) -> String {
    match action {
        Some(SearchAction::OpenPage { url: Some(url) }) => format!("open {}", one_line(url)),
        Some(SearchAction::FindInPage { url: Some(url), pattern: Some(pattern) }) => {
            format!("find {} in {}", one_line(pattern), one_line(url))
        }
        Some(SearchAction::Search { queries }) if queries.len() > 1 => {
            format!("search the web: {}", one_line(&queries.join(" / ")))
        }
        // A search that has only begun has no words yet.
        _ if query.is_empty() => "search the web".to_owned(),
        _ => format!("search the web: {}", one_line(query)),
    }
}

fn image(prompt: Option<&str>, path: Option<&str>) -> String {
    let drawn = prompt.map(|prompt| format!(": {}", one_line(prompt))).unwrap_or_default();
    let saved = path.map(|path| format!(" in {}", one_line(path))).unwrap_or_default();
    format!("generate an image{drawn}{saved}")
}

/// The line for a step that began, where no spinner can show it. Whether it runs is not known: a person may be asked about it.
pub(crate) fn started(label: &str, paint: Paint) -> StyledLine {
    paint.line(Style::DIM, &format!("{} {label}", paint.sign("•", "*")))
}

/// The lines for a step that ended, or nothing for steps shown in other ways. `width` cuts the name, if given.
pub(crate) fn ended(body: &ItemBody, width: Option<usize>, paint: Paint) -> Option<StyledText> {
    let mut lines = StyledText::from(head(body, width, paint)?);
    if let ItemBody::Command { output: Some(output), .. } = body {
        push_output(&mut lines, output, paint);
    }
    Some(lines)
}

/// The first of these lines: description, outcome, duration.
fn head(body: &ItemBody, width: Option<usize>, paint: Paint) -> Option<StyledLine> {
    let (status, end) = ending(body)?;
    Some(line(&label(body, paint)?, status, end, width, paint))
}

/// The error text of a failed step, of any length.
pub fn failure(body: &ItemBody) -> Option<&str> {
    match body {
        ItemBody::Tool { error, .. } => error.as_deref(),
        ItemBody::ImageGeneration { failure, .. } => failure.as_deref(),
        // The tool is named before it.
        ItemBody::FailedCall { tool, error } => {
            Some(error.strip_prefix(tool.as_str()).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(error))
        }
        _ => None,
    }
}

/// The status of a step, with reason and duration.
pub fn ending(body: &ItemBody) -> Option<(Status, [Option<String>; 2])> {
    let said = || failure(body).map(|failure| one_line(failure).into_owned());
    let (status, duration, end) = match body {
        ItemBody::Command { status, exit_code, duration_ms, .. } => {
            let exit = exit_code.filter(|&code| code != 0).map(|code| format!("exit {code}"));
            let status =
                if exit.is_some() && *status == Status::Completed { Status::Failed } else { *status };
            (status, *duration_ms, exit)
        }
        ItemBody::Patch { status, .. } | ItemBody::Agents { status, .. } => (*status, None, None),
        ItemBody::ClientTool { tool, status, result, duration_ms, .. } => {
            let why = result
                .as_ref()
                .filter(|_| *status == Status::Failed)
                .and_then(|result| first_reason(tool, result));
            (*status, *duration_ms, why)
        }
        ItemBody::ImageGeneration { status, .. } => (*status, None, said()),
        ItemBody::WebSearch { .. } | ItemBody::ImageView { .. } | ItemBody::Sleep { .. } => {
            (Status::Completed, None, None)
        }
        ItemBody::Tool { status, duration_ms, .. } => (*status, *duration_ms, said()),
        ItemBody::FailedCall { .. } => (Status::Failed, None, said()),
        _ => return None,
    };
    let time = duration.map(|ms| format!("({})", elapsed(ms)));
    Some((status, [end, time]))
}

/// Why a call failed: the first line of its result, without the name of the tool before it.
fn first_reason(tool: &str, result: &ToolResult) -> Option<String> {
    let first = result.text.as_deref()?.lines().next()?;
    let reason = first.strip_prefix(tool).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(first);
    Some(one_line(reason).into_owned()).filter(|reason| !reason.is_empty())
}

/// The step that does not run before a request is accepted.
pub fn held_step(ask: &Ask) -> Option<&ItemId> {
    match ask {
        Ask::Command { item, .. } | Ask::Patch { item, .. } => Some(item),
        Ask::Tool { item, .. } => item.as_ref(),
        _ => None,
    }
}

/// Remark about a step whose end Codex never reported.
pub fn left(why: Option<Abandonment>) -> &'static str {
    match why {
        Some(Abandonment::NotRun) => "did not run",
        None => "no end reported",
    }
}

/// A sign, a name, its state and a remark about its end.
pub fn line(
    label: &str,
    status: Status,
    [end, time]: [Option<String>; 2],
    width: Option<usize>,
    paint: Paint,
) -> StyledLine {
    let (sign, color, word) = match status {
        Status::Completed => (paint.sign("✓", "+"), Color::Green, None),
        Status::Failed => (paint.sign("✗", "x"), Color::Red, end.is_none().then_some("failed")),
        Status::Declined => (paint.sign("⊘", "o"), Color::Yellow, Some("declined")),
        Status::Interrupted => (paint.sign("•", "*"), Color::Yellow, Some("stopped")),
        Status::InProgress => (paint.sign("•", "*"), Color::Yellow, end.is_none().then_some("not ended")),
        Status::Unknown => (paint.sign("•", "*"), Color::Yellow, Some("ended in an unknown way")),
    };
    let tail: Vec<String> = [word.map(str::to_owned), end, time].into_iter().flatten().collect();
    let tail = tail.join(" ");
    let label = match width {
        Some(width) => Cow::Owned(cut(label, width.saturating_sub(tail.len() + 6).max(20), paint)),
        None => Cow::Borrowed(label),
    };
    let mut line = paint.line(Style::PLAIN.color(color), sign);
    line.push(Style::PLAIN, &format!(" {label}"));
    if !tail.is_empty() {
        line.push(Style::PLAIN, "  ");
        line.push(paint.seen(Style::DIM), &tail);
    }
    line
}

fn push_output(out: &mut StyledText, output: &str, paint: Paint) {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let hidden = lines.len().saturating_sub(OUTPUT_LINES);
    if hidden > 0 {
        let plural = if hidden == 1 { "" } else { "s" };
        out.end_line();
        paint.push(out, Style::DIM, &format!("  {} {hidden} more line{plural}", paint.sign("…", "...")));
    }
    for line in &lines[hidden..] {
        out.end_line();
        let row = format!("  {}", output_line(line));
        paint.push(out, Style::DIM, row.trim_end());
    }
}

/// A line of output. A progress bar rewrites its line; the last version is what a terminal would show.
pub fn output_line(line: &str) -> Cow<'_, str> {
    sanitize(line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default())
}

fn first_line(command: &str, paint: Paint) -> String {
    let command = command.trim();
    match command.split_once('\n') {
        Some((first, rest)) => {
            let more = rest.lines().count();
            let plural = if more == 1 { "" } else { "s" };
            format!("{} {} (+{more} line{plural})", one_line(first.trim_end()), paint.sign("…", "..."))
        }
        None => one_line(command).into_owned(),
    }
}

/// The subject of a request, for lists: of a command without the shell around it. `summary` is its own summary line. Never
/// used where it is answered.
pub fn about<'a>(ask: Option<&Ask>, summary: &'a str) -> Cow<'a, str> {
    match ask {
        Some(Ask::Command { .. }) => unwrapped(summary),
        _ => Cow::Borrowed(summary),
    }
}

/// How long something took: `0.4s`, `1m 05s`, `2h 03m`.
pub fn elapsed(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{seconds}.{}s", ms % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::sample;
    use super::*;

    #[test]
    fn a_list_names_the_command_and_leaves_what_would_be_typed() {
        let typed = "/bin/bash -lc 'touch x'";
        let ask = sample::ask_command(typed);
        assert_eq!(about(Some(&ask), &ask.label()), "touch x");
        assert_eq!(ask.label(), typed);
        for ask in sample::every_ask(typed) {
            if !matches!(ask, Ask::Command { .. }) {
                assert_eq!(about(Some(&ask), typed), typed);
            }
        }
        assert_eq!(about(None, typed), typed);
    }

    #[test]
    fn a_step_is_one_line_with_the_end_of_its_output() {
        let paint = Paint::new(sample::PIPE);
        let output: String = (1..=126).map(|n| format!("line {n}\n")).collect();
        let steps = [
            sample::command_body("touch x", Status::Completed, Some(0), None),
            sample::command_body("false", Status::Failed, Some(1), Some("10%\r\u{1b}[31m100%\r\n")),
            sample::command_body("rm -rf /", Status::Declined, None, None),
            sample::command_body("cat <<E\na\nb\nE", Status::Completed, Some(0), Some(&output)),
            sample::tool_body(Some("no such page")),
        ];
        let lines: Vec<String> =
            steps.iter().filter_map(|step| ended(step, Some(80), paint)).map(|text| text.text()).collect();
        expect![[r#"
            ✓ touch x  (0.4s)
            ✗ false  exit 1 (0.4s)
              ␛[31m100%
            ⊘ rm -rf /  declined
            ✓ cat <<E … (+3 lines)  (0.4s)
              … 120 more lines
              line 121
              line 122
              line 123
              line 124
              line 125
              line 126
            ✗ docs.search  no such page (1m 01s)"#]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn a_call_of_our_own_that_failed_says_why() {
        let text = "talaria_web: example.org may not be read in this turn\nmore".to_owned();
        let step = ItemBody::ClientTool {
            namespace: None,
            tool: "talaria_web".to_owned(),
            status: Status::Failed,
            success: Some(false),
            arguments: serde_json::value::to_raw_value(&serde_json::json!({ "url": "https://example.org" }))
                .ok(),
            result: Some(ToolResult { text: Some(text), images: 0, other: 0 }),
            duration_ms: Some(3),
        };
        let line = ended(&step, Some(120), Paint::new(sample::PIPE)).unwrap().text();
        assert_eq!(line, "✗ read https://example.org  example.org may not be read in this turn (0.0s)");
    }

    #[test]
    fn a_search_that_has_only_begun_has_a_name() {
        let search = ItemBody::WebSearch { query: String::new(), action: None };
        assert_eq!(label(&search, Paint::new(sample::PIPE)).as_deref(), Some("search the web"));
    }

    #[test]
    fn durations_are_short() {
        assert_eq!([400, 65_000, 7_380_000].map(elapsed), ["0.4s", "1m 05s", "2h 03m"]);
    }
}
