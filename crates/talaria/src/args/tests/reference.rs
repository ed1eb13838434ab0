//! The pages of `docs/reference` about the command line and exit codes, made from the arguments and the outcomes.
//!
//! After a wanted change: `UPDATE_EXPECT=1 cargo test -p talaria --bin talaria reference`.

use std::fmt::Write;

use clap::{Command, CommandFactory};
use expect_test::expect_file;
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::request::Who;
use talaria_core::usage::Usage;

use super::super::Cli;
use crate::trouble::exit;

const OPENING: &str = "\
# Command line

What `--help` prints, for every command. This page is generated. `talaria completions bash` (or `zsh`, `fish`) prints a
completion script, `talaria man --dir DIR` writes manual pages. Wherever an id is wanted, a unique beginning or end of it is enough.
";

#[test]
fn the_page_of_the_command_line_has_every_command() {
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut page = OPENING.to_owned();
    write_help(&command, &mut page);
    expect_file!["../../../../../docs/reference/command-line.md"].assert_eq(&page);
}

fn write_help(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let help = command.clone().term_width(100).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    write!(page, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()).unwrap();
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_help(sub, page);
    }
}

/// The exit code of a turn that ended so.
fn of_turn(outcome: Outcome, declined: u32) -> u8 {
    Report::new(outcome, None, Usage::default(), declined).exit_code()
}

fn failed(code: FailureCode) -> Outcome {
    Outcome::Failed { code, message: String::new() }
}

#[test]
fn the_page_of_exit_codes_has_every_code() {
    let codes = [
        (of_turn(Outcome::Completed, 0), "done", "the turn completed; the command did what it was asked"),
        (of_turn(failed(FailureCode::Other), 0), "failed", "the turn or the command failed"),
        (exit::USAGE, "usage", "the command line, or a file or id that it names, is wrong; nothing was done"),
        (
            of_turn(Outcome::Completed, 1),
            "declined",
            "the turn completed, but a request was declined; or your configuration forbids the command",
        ),
        (
            of_turn(Outcome::Interrupted { by: Who::User }, 0),
            "interrupted",
            "you stopped the turn, or the engine was stopped",
        ),
        (
            of_turn(Outcome::Interrupted { by: Who::Deadline }, 0),
            "timed out",
            "`--timeout`, `--deadline` or `codex.turn_timeout` stopped it",
        ),
        (
            of_turn(failed(FailureCode::Auth), 0),
            "no Codex",
            "Codex is missing, too old or not logged in: `talaria doctor` says which",
        ),
        (
            of_turn(Outcome::Lost { why: String::new() }, 0),
            "lost",
            "the outcome is not known; read what happened before you send the prompt again",
        ),
        (exit::HUNG_UP, "SIGHUP", "the terminal closed; the turn continues"),
        (exit::TERMINATED, "SIGTERM", "the command was ended; the turn continues"),
    ];
    let numbers: Vec<u8> = codes.iter().map(|(code, ..)| *code).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 129, 143], "scripts rely on them");
    let of_commands = [exit::FAILED, exit::USAGE, exit::BLOCKED, exit::INTERRUPTED, exit::CODEX, exit::LOST];
    assert_eq!(of_commands, [1, 2, 3, 4, 6, 7], "a command and a turn mean the same by a number");
    let mut page = "# Exit codes\n\nThis page is generated. [Scripting](../guide/scripting.md) shows how to use them.\n\n\
                    | code | word | when |\n|---|---|---|\n"
        .to_owned();
    for (code, word, when) in codes {
        writeln!(page, "| {code} | {word} | {when} |").unwrap();
    }
    page += "\n`talaria doctor` exits with 1 if a check found a problem; warnings are 0. `talaria mcp` exits with 0 on SIGINT, SIGTERM and SIGHUP.\n\
             `talaria migrate` exits with 2 without a confirmation, `talaria config check` with 1 if the file has a mistake.\n\n\
             ## Failures of a turn\n\nThe last line of `--json` has `code`, the class of a failure:\n\n\
             | code | next step | exit |\n|---|---|---|\n";
    for code in failures() {
        writeln!(page, "| `{code}` | {} | {} |", code.next_step().in_shell(), of_turn(failed(code), 0))
            .unwrap();
    }
    expect_file!["../../../../../docs/reference/exit-codes.md"].assert_eq(&page);
}

/// Every class; the match fails to compile when one is added.
fn failures() -> Vec<FailureCode> {
    use FailureCode::*;
    let all = [
        Auth,
        RateLimit,
        UsageLimit,
        NotPermitted,
        ContextWindow,
        InputTooLarge,
        ModelNotFound,
        BadRequest,
        Server,
        Connection,
        Sandbox,
        Codex,
        NotSent,
        Other,
    ];
    for code in all {
        match code {
            Auth | RateLimit | UsageLimit | NotPermitted | ContextWindow | InputTooLarge | ModelNotFound
            | BadRequest | Server | Connection | Sandbox | Codex | NotSent | Other => {}
        }
    }
    all.to_vec()
}
