//! Valid and invalid combinations of arguments.

mod guide;
mod reference;

use clap::CommandFactory;
use clap::error::ErrorKind;
use talaria_core::api::Dirty;

use super::*;

fn parse(line: &str) -> Result<Cli, ErrorKind> {
    Cli::try_parse_from(std::iter::once("talaria").chain(line.split(' '))).map_err(|error| error.kind())
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_shows_an_example() {
    fn walk(command: &clap::Command, path: &str, missing: &mut Vec<String>) {
        // Hidden commands are not for people.
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let path = format!("{path} {}", sub.get_name());
            if !sub.get_after_help().is_some_and(|help| help.to_string().contains("Examples:")) {
                missing.push(path.clone());
            }
            walk(sub, &path, missing);
        }
    }
    let mut missing = Vec::new();
    walk(&Cli::command(), "talaria", &mut missing);
    assert_eq!(missing, [""; 0]);
}

#[test]
fn an_option_that_would_have_no_effect_is_refused() {
    for line in [
        "exec --attach a prompt",
        "exec --attach a --model m",
        "exec --attach a --timeout 5s",
        "exec --attach a --resume b",
        "exec --resume a --cwd / prompt",
        "exec --resume a --sandbox read-only prompt",
        "exec --json --quiet prompt",
        "service install --dry-run --now",
        "migrate --dry-run --yes",
        "migrate --undo --no-tools",
        "migrate --undo --permissions :workspace",
        "--resume a --cwd /",
        "--resume a --last",
        "--last --mode auto",
    ] {
        assert_eq!(parse(line).unwrap_err(), ErrorKind::ArgumentConflict, "{line}");
    }
    for line in ["sessions prune", "sessions prune --yes", "sessions search"] {
        assert_eq!(parse(line).unwrap_err(), ErrorKind::MissingRequiredArgument, "{line}");
    }
    for line in [
        "exec --attach a",
        "exec --attach a --json --approve wait",
        "exec --resume a --effort low go",
        "--plain --resume a --model m",
        "--last --effort low",
        "--cwd / --mode yolo",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}

fn first_prompt(words: &[&str]) -> Result<Option<String>, (ErrorKind, String)> {
    let parsed = Cli::try_parse_from(std::iter::once(&"talaria").chain(words));
    let Cli { chat, command: None } = parsed.map_err(|error| (error.kind(), error.to_string()))? else {
        panic!("a command: {words:?}")
    };
    chat.first_prompt().map_err(|error| (error.kind(), error.to_string()))
}

#[test]
fn no_command_is_the_conversation() {
    let Ok(Cli { chat, command: None }) = Cli::try_parse_from(["talaria"]) else { panic!("a command") };
    assert!(chat.resume.is_none() && !chat.last && !chat.plain);
    assert_eq!(first_prompt(&[]), Ok(None));
}

#[test]
fn a_prompt_has_several_words_or_follows_two_dashes() {
    for (words, prompt) in [
        (&["fix the test"][..], "fix the test"),
        (&["--model", "gpt-5.5", "fix the test"], "fix the test"),
        (&["fix the test", "--last"], "fix the test"),
        (&["/status of it"], "/status of it"),
        (&["two\nlines"], "two\nlines"),
        (&["--", "explain"], "explain"),
        (&["--", "exec"], "exec"),
        (&["--plain", "--", "fix", "the", "test"], "fix the test"),
    ] {
        assert_eq!(first_prompt(words), Ok(Some(prompt.to_owned())), "{words:?}");
    }
}

#[test]
fn a_word_that_is_no_command_is_an_error_with_a_suggestion() {
    for (words, kind, said) in [
        (&["hello"][..], ErrorKind::InvalidSubcommand, "`talaria -- hello` sends it as a prompt"),
        (&["sesions"], ErrorKind::InvalidSubcommand, "a similar command exists: 'sessions'"),
        (&["execute"], ErrorKind::InvalidSubcommand, "a similar command exists: 'exec'"),
        (&["sess"], ErrorKind::InvalidSubcommand, "a similar command exists: 'sessions'"),
        (&["sesions", "list"], ErrorKind::InvalidSubcommand, "a similar command exists: 'sessions'"),
        (&["fix", "the", "test"], ErrorKind::InvalidSubcommand, "talaria \"fix the test\""),
        (&["--plain", "exec", "prompt"], ErrorKind::ArgumentConflict, "must come before its options"),
        (&["--", " "], ErrorKind::InvalidValue, "the prompt is empty"),
        (&[""], ErrorKind::InvalidValue, "the prompt is empty"),
        (&["a b", "c"], ErrorKind::InvalidSubcommand, "a prompt needs quotes"),
    ] {
        let (got, text) = first_prompt(words).unwrap_err();
        assert_eq!(got, kind, "{words:?}: {text}");
        assert!(text.contains(said), "{words:?}: {text}");
    }
}

#[test]
fn help_is_a_command_too() {
    let help = |words: &[&str]| {
        let line = ["talaria", "help"].iter().chain(words);
        let Ok(Cli { command: Some(Command::Help(help)), .. }) = Cli::try_parse_from(line) else {
            panic!("not help")
        };
        help.text().map_err(|error| error.to_string())
    };
    assert!(help(&[]).unwrap().contains("talaria --last"));
    let start = help(&["task", "start"]).unwrap();
    assert!(start.contains("Usage: talaria task start"), "{start}");
    let unknown = help(&["task", "strat"]).unwrap_err();
    assert!(unknown.contains("there is no command 'task strat'") && unknown.contains("'start'"), "{unknown}");
    assert!(help(&["keep-command"]).is_err(), "it is not for people");
}

#[test]
fn a_task_has_a_sandbox_and_is_asked() {
    let Ok(Cli { command: Some(Command::Task(Tasks { action: TaskAction::Start(start) })), .. }) =
        parse("task start go")
    else {
        panic!("not a task")
    };
    assert_eq!((start.sandbox.as_str(), start.approval.as_str()), ("read-only", "untrusted"));
    assert!(start.worktree.is_none() && !start.network && start.deadline.is_none());
    for line in [
        "task start --sandbox danger-full-access go",
        "task start --approval never go",
        "task start --worktree=perhaps go",
        "task start --deadline soon go",
        "task list --limit 0",
        "task list --limit 10001",
    ] {
        assert_eq!(parse(line).unwrap_err(), ErrorKind::ValueValidation, "{line}");
    }
}

#[test]
fn a_worktree_needs_a_word_only_where_there_is_something_to_lose() {
    for (option, expected) in [
        ("--worktree", Dirty::Refuse),
        ("--worktree=refuse", Dirty::Refuse),
        ("--worktree=leave", Dirty::Leave),
        ("--worktree=copy", Dirty::Copy),
    ] {
        // The next word is the prompt, not its value.
        let Ok(Cli { command: Some(Command::Task(Tasks { action: TaskAction::Start(start) })), .. }) =
            parse(&format!("task start {option} leave"))
        else {
            panic!("not a task: {option}")
        };
        assert_eq!((start.worktree, start.prompt.as_str()), (Some(expected), "leave"), "{option}");
    }
}

#[test]
fn what_is_pruned_may_be_said_in_several_ways_at_once() {
    let Ok(Cli {
        command: Some(Command::Sessions(Sessions { action: SessionsAction::Prune(prune) })), ..
    }) = parse("sessions prune --older-than 30d --max-size 500MB --keep 3")
    else {
        panic!("not a prune")
    };
    let Limits { older_than, keep, max_size } = prune.limits;
    assert_eq!(
        (older_than.map(|age| age.as_secs()), keep, max_size),
        (Some(2_592_000), Some(3), Some(500_000_000))
    );
}
