//! `/task …`: the words of `talaria task`, here.

use clap::Parser;
use talaria_tui::chat::contract::News;

use super::super::errand::{Done, Place};
use super::resume;
use crate::advice::Reader;
use crate::args::{Cli, Command, TaskAction};
use crate::tasks;
use crate::trouble::{Trouble, exit};

mod line;

/// Does something with tasks.
pub(super) async fn run(typed: &str, place: &Place) -> Result<Vec<Done>, Trouble> {
    let desk = &place.desk;
    let text = match read(&line::words(typed)?)? {
        Read::Help(text) => text.into(),
        Read::Action(action) => match *action {
            TaskAction::Watch { id, .. } => return resume::run(Some(id), place).await,
            TaskAction::Start(mut options) => {
                options.cwd.get_or_insert_with(|| (&place.cwd).into());
                let start = tasks::start(&options)?;
                tasks::started(&options, start, &desk.client, Reader::Chat).await?.into()
            }
            TaskAction::Send(options) => {
                tasks::sent(&options, tasks::turn(), &desk.client, Reader::Chat).await?.into()
            }
            action => tasks::carry_out(&action, &desk.client, desk.look(), Reader::Chat).await?,
        },
    };
    place.look_again.notify_one();
    Ok(vec![Done::News(News::Reply(text))])
}

enum Read {
    Action(Box<TaskAction>),
    Help(String),
}

/// Reads the words as the command line would. There is no standard input here, and nothing to wait in front of.
fn read(words: &[String]) -> Result<Read, Trouble> {
    let line = ["talaria", "task"].into_iter().chain(words.iter().map(String::as_str));
    let action = match Cli::try_parse_from(line) {
        Ok(Cli { command: Some(Command::Task(tasks)), .. }) => tasks.action,
        Ok(_) => return Err(Trouble::new(exit::USAGE, "this is not a task command")),
        Err(error) if !error.use_stderr() || words.is_empty() => return Ok(Read::Help(here(&error))),
        Err(error) => {
            let text = here(&error);
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned();
            return Err(Trouble::new(exit::USAGE, text));
        }
    };
    let (prompt, waits) = match &action {
        TaskAction::Start(options) => (Some(&options.prompt), options.wait),
        TaskAction::Send(options) => (Some(&options.text), options.wait),
        TaskAction::Steer { text, .. } => (Some(text), false),
        _ => (None, false),
    };
    if waits {
        return Err(
            Trouble::new(exit::USAGE, "--wait has no effect here").try_this("/task watch ID opens a task")
        );
    }
    if prompt.is_some_and(|prompt| prompt == "-") {
        return Err(Trouble::new(exit::USAGE, "there is no standard input here").try_this("write it out"));
    }
    Ok(Read::Action(Box::new(action)))
}

/// What the command line says, in the words of a chat.
fn here(error: &clap::Error) -> String {
    error.to_string().replace("talaria task", "/task").replace("try '--help'", "try '/task --help'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_words_are_those_of_the_command_line() {
        assert!(matches!(read(&words("show codex-1 --diff")), Ok(Read::Action(action))
            if matches!(*action, TaskAction::Show { diff: true, .. })));
        assert!(
            matches!(read(&words("--help")), Ok(Read::Help(text)) if text.contains("Usage: /task ") && !text.contains("talaria task"))
        );
        assert!(matches!(read(&[]), Ok(Read::Help(text)) if text.contains("start")));
        let refused =
            |line: &str| read(&words(line)).err().map(|trouble| trouble.summary()).unwrap_or_default();
        assert!(
            refused("shw x").contains("shw") && refused("shw x").contains("Usage: /task"),
            "{}",
            refused("shw x")
        );
        assert!(refused("shw x").ends_with("try '/task --help'."), "{}", refused("shw x"));
        assert!(refused("start --wait go").contains("--wait"));
        assert!(refused("steer codex-1 -").contains("standard input"));
    }
}
