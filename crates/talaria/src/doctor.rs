//! `talaria doctor`: looks at everything a turn needs and says what is wrong and what to do about it.
//!
//! Each check has evidence: a file was read, a program was run, Codex was asked. Nothing is changed, no engine started.

use serde::Serialize;

use talaria_core::json_line::json_line;
use talaria_core::next_step::NextStep;
use talaria_guard::redact::redact;

use crate::args::Doctor;
use crate::look;
use crate::output::{encoded, print, print_lines};
use crate::stops::{Stops, stopped, unless_stopped};
use crate::trouble::{Trouble, exit};
use talaria_render::{Color, Look, Paint, Style, StyledText, in_rows, plain};

mod checks;
mod engine;
mod home;
mod own_files;
mod providers;
mod servers;
mod web;

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Warning,
    Problem,
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
struct Check {
    check: &'static str,
    status: Status,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Check {
    fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, status: Status::Ok, detail: detail.into(), remedy: None }
    }

    fn warning(check: &'static str, detail: impl Into<String>, remedy: impl Into<NextStep>) -> Self {
        Self { check, status: Status::Warning, detail: detail.into(), remedy: Some(remedy.into().in_shell()) }
    }

    fn problem(check: &'static str, detail: impl Into<String>, remedy: impl Into<NextStep>) -> Self {
        Self { check, status: Status::Problem, detail: detail.into(), remedy: Some(remedy.into().in_shell()) }
    }
}

pub(crate) async fn run(options: &Doctor) -> Result<u8, Trouble> {
    let mut stops = Stops::listen()?;
    let look = look::of_stdout();
    let mut worst = Status::Ok;
    let mut show = |mut check: Check| {
        // Part of it may be the words of others.
        check.detail = redact(&check.detail).into_owned();
        if check.status != Status::Ok && worst != Status::Problem {
            worst = check.status;
        }
        print(&if options.json { json_line(&check) } else { encoded(&table_row(&check, look)) })
    };
    unless_stopped(&mut stops, checks::run(&mut show), stopped("stopped before the last check")).await?;
    if !options.json {
        print_lines(conclusion(worst))?;
    }
    Ok(if worst == Status::Problem { exit::FAILED } else { 0 })
}

fn table_row(check: &Check, look: Look) -> StyledText {
    let (word, color) = match check.status {
        Status::Ok => ("ok", Color::Green),
        Status::Warning => ("warning", Color::Yellow),
        Status::Problem => ("problem", Color::Red),
    };
    let padded = format!("{word:<8}");
    let detail = plain(check.detail.trim_end()).replace('\n', "\n                       ");
    let mut row = format!("{padded} {:<13} {detail}\n", check.check);
    if let Some(remedy) = &check.remedy {
        row.push_str(&format!("{:22} -> {remedy}\n", ""));
    }
    let row = in_rows(&row, look.width);
    match row.strip_prefix(&padded) {
        Some(rest) => Paint::new(look).text(Style::PLAIN.color(color), &padded) + rest,
        None => row.into(),
    }
}

fn conclusion(worst: Status) -> &'static str {
    match worst {
        Status::Ok => "\nEverything a turn needs is there. Try: talaria exec \"explain this repo\"\n",
        Status::Warning => "\nTurns will run; look at the warnings above.\n",
        Status::Problem => "\nSolve the problems above: turns may not run, or not as you configured them.\n",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_row_has_the_remedy_below_it() {
        let plain = Look { color: false, width: None, live: false, unicode: true };
        let rows = [
            Check::ok("config", "no file; defaults hold"),
            Check::problem("login", "nobody is logged in\nsecond line", "run `talaria login`"),
        ];
        let text: String = rows.iter().map(|row| table_row(row, plain).text()).collect();
        expect![[r#"
            ok       config        no file; defaults hold
            problem  login         nobody is logged in
                                   second line
                                   -> run `talaria login`
        "#]]
        .assert_eq(&text);
    }
}
