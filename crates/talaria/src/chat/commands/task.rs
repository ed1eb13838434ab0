//! `/task …`: the words of `talaria task`, here.

use talaria_tui::chat::contract::News;

use super::super::errand::{Done, Place};
use super::line::{ChatGrammar, ReadLine};
use super::resume;
use crate::advice::Reader;
use crate::args::{Command, TaskAction};
use crate::tasks;
use crate::trouble::{Trouble, exit};

/// What `/task` accepts.
pub(super) const GRAMMAR: ChatGrammar =
    ChatGrammar { command: "task", with_text: &[("start", 0), ("send", 1), ("steer", 1)] };

enum Typed {
    Action(Box<TaskAction>),
    Help(String),
}

/// Does something with tasks.
pub(super) async fn run(typed: &str, place: &Place) -> Result<Vec<Done>, Trouble> {
    let context = &place.context;
    let text = match read(typed)? {
        Typed::Help(text) => text.into(),
        Typed::Action(action) => match *action {
            TaskAction::Watch { id, .. } => return resume::run(Some(id), place).await,
            TaskAction::Start(mut options) => {
                options.cwd.get_or_insert_with(|| (&place.cwd).into());
                let start = tasks::start(&options)?;
                tasks::started(&options, start, &context.client, Reader::Chat).await?.into()
            }
            TaskAction::Send(options) => {
                tasks::sent(&options, tasks::turn(), &context.client, Reader::Chat).await?.into()
            }
            action => tasks::carry_out(&action, &context.client, context.look(), Reader::Chat).await?,
        },
    };
    place.look_again.notify_one();
    Ok(vec![Done::News(News::Reply(text))])
}

/// Reads the action. There is no standard input here, and nothing to wait in front of.
fn read(typed: &str) -> Result<Typed, Trouble> {
    let action = match GRAMMAR.read(typed)? {
        ReadLine::Help(text) => return Ok(Typed::Help(text)),
        ReadLine::Command(command) => match *command {
            Command::Task(tasks) => tasks.action,
            _ => return Err(Trouble::new(exit::USAGE, "this is not a task command")),
        },
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
    Ok(Typed::Action(Box::new(action)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_waited_for_and_nothing_is_read_from_standard_input() {
        assert!(matches!(read("show codex-1 --diff"), Ok(Typed::Action(action))
            if matches!(*action, TaskAction::Show { diff: true, .. })));
        let refused = |line: &str| read(line).err().map(|trouble| trouble.summary()).unwrap_or_default();
        assert!(refused("start --wait go").contains("--wait"));
        assert!(refused("steer codex-1 -").contains("standard input"));
    }
}
