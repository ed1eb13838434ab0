//! Lines around the steps: settings in force, the plan, decisions, warnings, and the outcome.
//!
//! Pure: values in, lines out. A message to a person says what failed, why, and what to do next.

use talaria_core::event::{PlanStatus, PlanStep, Started, Usage};
use talaria_core::outcome::{Outcome, Report};
use talaria_core::request::{Decision, Who};

use super::paint::Paint;
use super::rows::rows;
use super::sanitize::one_line;
use super::style::{Color, Style};
use super::styled::StyledText;
use super::tool_line::elapsed;

/// The settings in force, as Codex reported them.
pub fn started(started: &Started, width: Option<usize>, paint: Paint) -> StyledText {
    let effort = started.effort.as_ref().map(|effort| format!(" ({effort})")).unwrap_or_default();
    // The built-in loop has no Codex.
    let codex = match started.codex.as_str() {
        "" => String::new(),
        version => format!(", Codex {version}"),
    };
    let lines = [
        ("model     ", format!("{}{effort}, provider {}{codex}", started.model, started.provider)),
        ("cwd       ", started.cwd.clone()),
        ("sandbox   ", format!("{}, approval {}", started.sandbox, started.approval)),
    ];
    StyledText::join(
        lines.map(|(name, value)| rows((name, Style::DIM), (&one_line(&value), Style::DIM), width, paint)),
    )
}

/// The model that is in force from now on.
pub fn settings(model: &str, effort: Option<&str>) -> String {
    match effort {
        Some(effort) => format!("model {model} ({effort})"),
        None => format!("model {model}"),
    }
}

/// The plan as a check list.
pub fn plan(explanation: Option<&str>, steps: &[PlanStep], paint: Paint) -> StyledText {
    let mut lines = vec![paint.text(Style::BOLD, "plan")];
    lines.extend(explanation.filter(|text| !text.is_empty()).map(|text| dim(text, paint)));
    lines.extend(steps.iter().map(|step| {
        let text = one_line(&step.step);
        match step.status {
            PlanStatus::Pending => StyledText::plain(&format!("{} {text}", paint.sign("☐", "[ ]"))),
            PlanStatus::InProgress => paint.text(Style::BOLD, &format!("{} {text}", paint.sign("◐", "[~]"))),
            PlanStatus::Completed => paint.text(Style::DIM, &format!("{} {text}", paint.sign("☑", "[x]"))),
        }
    }));
    StyledText::join(lines)
}

/// Who decided what.
pub fn decided(decision: Decision, by: Who, why: Option<&str>, paint: Paint) -> StyledText {
    let arrow = paint.sign("→", "->");
    match (decision, by) {
        (Decision::Void, Who::OtherClient) => {
            dim(&format!("{arrow} {decision}: {by} answered it, or Codex withdrew it"), paint)
        }
        (Decision::Void, _) => {
            dim(&format!("{arrow} {decision}: it was closed before it was answered"), paint)
        }
        (_, Who::Nobody) => warn(&format!("{arrow} {decision} by {by}"), paint),
        (_, Who::Demo) => {
            warn(&format!("{arrow} {decision} automatically by {by}: this is not a terminal"), paint)
        }
        (_, Who::Talaria) => {
            warn(&format!("{arrow} {decision} by {by}: this is not for a person to answer"), paint)
        }
        (Decision::Decline, Who::Rule | Who::Floor | Who::Hook) => {
            warn(&format!("{arrow} {decision} by {}", why.unwrap_or("a rule")), paint)
        }
        (_, Who::Rule | Who::Mode | Who::Floor | Who::Hook) => {
            dim(&format!("{arrow} {decision} by {}", why.unwrap_or("a rule")), paint)
        }
        _ => {
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            dim(&format!("{arrow} {decision} by {by}{why}"), paint)
        }
    }
}

/// A dimmed line.
pub(crate) fn dim(text: &str, paint: Paint) -> StyledText {
    paint.text(Style::DIM, &one_line(text))
}

/// A line worth a look.
pub fn warn(text: &str, paint: Paint) -> StyledText {
    paint.text(Style::PLAIN.color(Color::Yellow), &one_line(text))
}

/// The same for a text of any length, in as many rows as it needs.
pub(crate) fn warn_in_rows(text: &str, width: Option<usize>, paint: Paint) -> StyledText {
    let style = Style::PLAIN.color(Color::Yellow);
    rows(("", Style::PLAIN), (&one_line(text), style), width, paint)
}

/// A dimmed line, in as many rows as it needs.
pub(crate) fn dim_in_rows(text: &str, width: Option<usize>, paint: Paint) -> StyledText {
    rows(("", Style::PLAIN), (&one_line(text), Style::DIM), width, paint)
}

/// How the turn ended, and what it cost. `took` is how long it ran, in milliseconds, where that is known.
pub fn outcome(report: &Report, took: Option<u64>, width: Option<usize>, paint: Paint) -> StyledText {
    let mut lines = ending(report, width, paint);
    // A turn that never reached the model has nothing to count.
    if report.usage.total > 0 || report.outcome == Outcome::Completed {
        let time = took.map(|ms| format!(", {}", elapsed(ms))).unwrap_or_default();
        lines.push(dim(&format!("tokens: {}{time}", tokens(report.usage)), paint));
    }
    StyledText::join(lines)
}

/// Remark about the end of a turn; none on success.
pub(crate) fn ending(report: &Report, width: Option<usize>, paint: Paint) -> Vec<StyledText> {
    let red = Style::BOLD.color(Color::Red);
    let error = |text: &str| rows(("error: ", red), (text, Style::PLAIN), width, paint);
    let cause = |text: &str| labelled("cause: ", text, width, paint);
    let hint = |text: &str| labelled("hint: ", text, width, paint);
    let warn = |text: &str| warn_in_rows(text, width, paint);
    let mut lines = Vec::new();
    match &report.outcome {
        Outcome::Completed => {}
        Outcome::Failed { code, message } => {
            lines.extend([error(&format!("the turn failed ({code})")), cause(message)]);
            let until = report.retry_at.map(|at| format!("; the limit resets at {}", moment(at)));
            lines.extend(
                report.hint.as_ref().map(|text| hint(&format!("{text}{}", until.unwrap_or_default()))),
            );
        }
        Outcome::Interrupted { by: Who::Deadline } => lines.extend([
            error("the turn timed out and was stopped"),
            hint("allow more time with --timeout (a task: --deadline; the chat: codex.turn_timeout)"),
        ]),
        Outcome::Interrupted { by } => lines.push(warn(&format!("interrupted by {by}"))),
        Outcome::Lost { why } => lines.extend([
            error("the turn was lost; how it ended is not known"),
            cause(why),
            hint(report.hint.as_deref().unwrap_or_default()),
        ]),
    }
    if report.children_running > 0 {
        let count = report.children_running;
        lines.push(warn(&format!("sub-agents that had not ended when the turn was reported: {count}")));
    }
    if report.declined > 0 {
        let what = match report.declined {
            1 => "1 request was declined".to_owned(),
            count => format!("{count} requests were declined"),
        };
        lines.push(warn(&format!("{what} without asking a person")));
        lines.push(hint(
            "the reason is shown with each one; with --approve wait, requests that no rule decides stay open for you",
        ));
    }
    lines
}

/// Further lines, such as the last words of a Codex that ended, are below the first one.
fn labelled(label: &str, text: &str, width: Option<usize>, paint: Paint) -> StyledText {
    let leads = std::iter::once((label, Style::BOLD)).chain(std::iter::repeat(("  ", Style::PLAIN)));
    // The label is shown also without a text.
    let text = if text.trim().is_empty() { " " } else { text.trim() };
    let lines =
        leads.zip(text.lines()).map(|(lead, line)| rows(lead, (&one_line(line), Style::PLAIN), width, paint));
    StyledText::join(lines)
}

/// Tokens used, in a few words. A missing figure is not "0": Codex did not report it, or no engine received it.
pub fn tokens(usage: Usage) -> String {
    match (usage.total, usage.partial) {
        (0, true) => return "unknown".to_owned(),
        (0, false) => return "not reported".to_owned(),
        _ => {}
    }
    let at_least = if usage.partial { "at least " } else { "" };
    let cached = if usage.cached > 0 { format!(" ({} cached)", short(usage.cached)) } else { String::new() };
    let reasoning =
        if usage.reasoning > 0 { format!(" ({} reasoning)", short(usage.reasoning)) } else { String::new() };
    format!("{at_least}{} in{cached}, {} out{reasoning}", short(usage.input), short(usage.output))
}

/// A time in seconds since 1970, as people write it, in UTC: a log may be read elsewhere.
fn moment(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Counted from the 1st of March of the year 0, so that a leap day is the last day of its year.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", second / 3600, second % 3600 / 60)
}

/// A count that fits a glance: `12`, `9.6k`, `1.2M`. Rounded, so that a sum never looks larger than its parts.
pub fn short(count: u64) -> String {
    let in_tenths = |unit: u64| {
        let tenths = count.saturating_add(unit / 20) / (unit / 10);
        (tenths / 10, tenths % 10)
    };
    match (count, in_tenths(1000), in_tenths(1_000_000)) {
        (0..1000, ..) => count.to_string(),
        (_, (thousands @ ..1000, tenths), _) => format!("{thousands}.{tenths}k"),
        (_, _, (millions, tenths)) => format!("{millions}.{tenths}M"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::event::Event;

    use super::super::sample;
    use super::*;

    fn told(event: &Event) -> String {
        let Event::Outcome(report) = event else { panic!("not an outcome") };
        outcome(report, Some(3210), None, Paint::new(sample::PIPE)).text()
    }

    #[test]
    fn an_end_says_what_why_and_what_next() {
        let ends = [
            sample::completed("x"),
            sample::failed(),
            sample::interrupted(),
            sample::lost(),
            sample::declined(2),
        ];
        expect![[r#"
            tokens: 9.6k in (4.8k cached), 12 out, 3.2s
            --
            error: the turn failed (rate_limit)
            cause: 429 Too Many Requests
            hint: wait a little, then send the prompt again
            tokens: 9.6k in (4.8k cached), 12 out, 3.2s
            --
            interrupted by you
            tokens: 9.6k in (4.8k cached), 12 out, 3.2s
            --
            error: the turn was lost; how it ended is not known
            cause: codex was killed
            hint: check what it did before you send the prompt again; `talaria doctor` checks the installation
            tokens: 9.6k in (4.8k cached), 12 out, 3.2s
            --
            2 requests were declined without asking a person
            hint: the reason is shown with each one; with --approve wait, requests that no rule decides stay open for you
            tokens: 9.6k in (4.8k cached), 12 out, 3.2s"#]]
        .assert_eq(&ends.iter().map(told).collect::<Vec<_>>().join("\n--\n"));
    }

    #[test]
    fn tokens_that_were_not_counted_are_not_shown_as_none() {
        let none = Usage::default();
        let some = Usage { input: 9600, output: 12, total: 9612, ..none };
        let partial = |usage: Usage| Usage { partial: true, ..usage };
        let shown = [none, partial(none), some, partial(some)].map(tokens);
        assert_eq!(shown, ["not reported", "unknown", "9.6k in, 12 out", "at least 9.6k in, 12 out"]);
    }

    #[test]
    fn a_cause_of_several_lines_stands_in_as_many_and_stays_harmless() {
        let why =
            "Codex ended unexpectedly\ncodex stderr (last 2 lines):\n  thread panicked\n  at \u{1b}[2Jmain";
        let report = Report::new(Outcome::Lost { why: why.to_owned() }, None, Usage::default(), 0);
        expect![[r#"
            error: the turn was lost; how it ended is not known
            cause: Codex ended unexpectedly
              codex stderr (last 2 lines):
                thread panicked
                at ␛[2Jmain
            hint: check what it did before you send the prompt again; `talaria doctor` checks the installation"#]]
        .assert_eq(&StyledText::join(ending(&report, None, Paint::new(sample::PIPE))).text());
    }

    #[test]
    fn a_time_is_written_as_people_do() {
        let times = [0, 951_782_400, 1_709_251_199, 1_794_775_080, -1].map(moment);
        expect![[r#"
            1970-01-01 00:00 UTC
            2000-02-29 00:00 UTC
            2024-02-29 23:59 UTC
            2026-11-15 20:38 UTC
            1969-12-31 23:59 UTC"#]]
        .assert_eq(&times.join("\n"));
    }

    #[test]
    fn a_decision_names_who_took_it() {
        let paint = Paint::new(sample::PIPE);
        let lines = [Who::User, Who::Nobody, Who::Demo, Who::Talaria, Who::Deadline]
            .map(|who| decided(Decision::Decline, who, None, paint).text());
        expect![[r#"
            → declined by you
            → declined by default, without asking a person
            → declined automatically by the demo: this is not a terminal
            → declined by Talaria: this is not for a person to answer
            → declined by the deadline"#]]
        .assert_eq(&lines.join("\n"));
        expect!["→ declined by you: use the mirror"]
            .assert_eq(&decided(Decision::Decline, Who::User, Some("use the mirror"), paint).text());
        expect!["→ no longer open: it was closed before it was answered"]
            .assert_eq(&decided(Decision::Void, Who::Codex, None, paint).text());
        expect!["→ no longer open: another client of Codex answered it, or Codex withdrew it"]
            .assert_eq(&decided(Decision::Void, Who::OtherClient, None, paint).text());
    }
}
