//! The tools of the loop as a model sees them, and its calls as data: names, texts, schemas and checked arguments. Pure.
//!
//! Texts and schemas are static, because they are part of every prompt and of its cache: no names, paths or dates. No
//! runtime validates arguments, so they are checked here; a message says to the model what to write instead. A call is
//! either for this machine (`MachineCall`) or for people: a plan, a question.

mod arguments;
mod spec;

use std::time::Duration;

use serde_json::Value;
use talaria_core::event::{PlanStatus, PlanStep};
use talaria_core::request::{Question, QuestionOption};

use crate::files::{EditWish, LineRange, Occurrences, SearchMode};
use crate::keeper::CommandId;
use arguments::CallArguments;
pub use spec::loop_tools;

/// How long a foreground command is waited for, unless the model says so.
const USUAL_WAIT: u64 = 120;
const LONGEST_WAIT: u64 = 600;
/// How long a poll may wait.
const LONGEST_POLL: u64 = 60;
const MOST_STEPS: usize = 50;
const MOST_QUESTIONS: usize = 3;
const MOST_OPTIONS: usize = 6;

/// One call of a model.
#[derive(Clone, Debug)]
pub enum LoopCall {
    /// It does something on this machine.
    Machine(MachineCall),
    /// It replaces the plan that people see.
    Plan {
        /// Why it changed.
        explanation: Option<String>,
        /// All steps, in order; at most one is in progress.
        steps: Vec<PlanStep>,
    },
    /// It asks the person. Nothing decides in their place, and no time limit does.
    Ask(Vec<Question>),
}

/// A call that does something on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineCall {
    /// Runs a command.
    Run {
        /// A line of shell.
        command: String,
        /// Where; the working directory of the conversation if it is not said.
        cwd: Option<String>,
        /// How long its end is waited for.
        wait: CommandWait,
        /// Why it has to leave the sandbox, if it is to.
        escalate: Option<String>,
    },
    /// Reads what a command printed.
    Poll {
        /// The command.
        process: CommandId,
        /// From which byte on; from where the last poll ended if it is not said.
        from: Option<u64>,
        /// How long its end is waited for.
        wait: Duration,
    },
    /// Sends text to a command.
    Input {
        /// The command.
        process: CommandId,
        /// The text; may be empty if the input ends.
        text: String,
        /// Whether its input ends with that.
        end: InputEnd,
    },
    /// Ends a command.
    Kill {
        /// The command.
        process: CommandId,
    },
    /// Reads a file.
    Read {
        /// The file.
        path: String,
        /// Which lines.
        range: LineRange,
    },
    /// Replaces text in a file.
    Edit {
        /// The file.
        path: String,
        /// The replacement.
        wish: EditWish,
        /// The digest of what was read, if the model names it.
        digest: Option<String>,
    },
    /// Writes a whole file.
    Write {
        /// The file.
        path: String,
        /// Its new text.
        text: String,
        /// The digest of what was read, if the model names it.
        digest: Option<String>,
    },
    /// Searches files.
    Search {
        /// What.
        pattern: String,
        /// Where; the working directory if it is not said.
        path: Option<String>,
        /// In which files.
        glob: Option<String>,
        /// In their lines or their names.
        mode: SearchMode,
    },
    /// Looks at an image.
    ViewImage {
        /// The file.
        path: String,
    },
}

/// How long the end of a command is waited for. It continues when that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandWait {
    /// Not at all: it runs in the background and accepts input.
    Background,
    /// This long.
    Foreground(Duration),
}

/// Whether the input of a command ends with what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEnd {
    /// More may follow.
    Open,
    /// It ends.
    Ends,
}

impl LoopCall {
    /// Reads a call. The error says to the model what is wrong and what to write.
    pub fn parse(tool: &str, arguments: &Value) -> Result<Self, String> {
        let arguments = CallArguments::new(tool, arguments)?;
        match tool {
            "run" => parse_run(arguments).map(Self::Machine),
            "process" => parse_process(arguments).map(Self::Machine),
            "read" | "edit" | "write" | "view_image" => parse_file(tool, arguments).map(Self::Machine),
            "search" => parse_search(arguments).map(Self::Machine),
            "plan" => parse_plan(arguments),
            "ask" => parse_ask(arguments),
            _ => Err(format!("there is no tool {tool:?}")),
        }
    }
}

fn parse_run(mut arguments: CallArguments<'_>) -> Result<MachineCall, String> {
    let command = arguments.text("command")?;
    if command.trim().is_empty() {
        return Err("run: command is empty".to_owned());
    }
    let cwd = arguments.optional_text("cwd")?;
    let seconds = arguments.number("seconds", 1, LONGEST_WAIT)?;
    let wait = match arguments.flag("background")? {
        true if seconds.is_some() => {
            return Err(
                "run: seconds is for commands in the foreground; leave it out, and poll with process"
                    .to_owned(),
            );
        }
        true => CommandWait::Background,
        false => CommandWait::Foreground(Duration::from_secs(seconds.unwrap_or(USUAL_WAIT))),
    };
    let escalate = arguments.optional_text("escalate")?.filter(|reason| !reason.trim().is_empty());
    arguments.finish()?;
    Ok(MachineCall::Run { command, cwd, wait, escalate })
}

fn parse_process(mut arguments: CallArguments<'_>) -> Result<MachineCall, String> {
    let action = arguments.text("action")?;
    let process =
        arguments.text("process")?.parse::<CommandId>().map_err(|error| format!("process: {error}"))?;
    let call = match action.as_str() {
        "poll" => {
            let from = arguments.number("from", 0, u64::MAX)?;
            let wait = Duration::from_secs(arguments.number("seconds", 0, LONGEST_POLL)?.unwrap_or(0));
            MachineCall::Poll { process, from, wait }
        }
        "write" => {
            let text = arguments.optional_text("text")?.unwrap_or_default();
            let end = if arguments.flag("end")? { InputEnd::Ends } else { InputEnd::Open };
            if text.is_empty() && end == InputEnd::Open {
                return Err("process: write needs text, or end to close the input".to_owned());
            }
            MachineCall::Input { process, text, end }
        }
        "kill" => MachineCall::Kill { process },
        other => return Err(format!("process: action {other:?} is not known; it is poll, write or kill")),
    };
    arguments.finish()?;
    Ok(call)
}

fn parse_file(tool: &str, mut arguments: CallArguments<'_>) -> Result<MachineCall, String> {
    let path = arguments.text("path")?;
    let call = match tool {
        "read" => {
            let mut range = LineRange::default();
            let at_least_one = |number: Option<u64>, usual: usize| {
                number.map_or(usual, |number| usize::try_from(number).unwrap_or(usize::MAX))
            };
            range.offset = at_least_one(arguments.number("offset", 1, u64::MAX)?, range.offset);
            range.limit = at_least_one(arguments.number("limit", 1, 2_000)?, range.limit);
            MachineCall::Read { path, range }
        }
        "edit" => {
            let (old, new) = (arguments.text("old")?, arguments.text("new")?);
            let occurrences = if arguments.flag("all")? { Occurrences::All } else { Occurrences::One };
            let digest = arguments.optional_text("digest")?;
            MachineCall::Edit { path, wish: EditWish { old, new, occurrences }, digest }
        }
        "write" => {
            let text = arguments.text("text")?;
            MachineCall::Write { path, text, digest: arguments.optional_text("digest")? }
        }
        _ => MachineCall::ViewImage { path },
    };
    arguments.finish()?;
    Ok(call)
}

fn parse_search(mut arguments: CallArguments<'_>) -> Result<MachineCall, String> {
    let pattern = arguments.text("pattern")?;
    let (path, glob) = (arguments.optional_text("path")?, arguments.optional_text("glob")?);
    let mode = match arguments.optional_text("mode")?.as_deref() {
        None | Some("content") => SearchMode::Content,
        Some("files") => SearchMode::Files,
        Some(other) => return Err(format!("search: mode {other:?} is not known; it is content or files")),
    };
    if mode == SearchMode::Files && glob.is_some() {
        return Err("search: with mode \"files\" the pattern is the glob; leave glob out".to_owned());
    }
    arguments.finish()?;
    Ok(MachineCall::Search { pattern, path, glob, mode })
}

/// A plan is always sent whole, so no step needs an id; an unknown status is refused, and so is more than one step in
/// progress (BUG-99).
fn parse_plan(mut arguments: CallArguments<'_>) -> Result<LoopCall, String> {
    let explanation = arguments.optional_text("explanation")?;
    let mut steps: Vec<PlanStep> = Vec::new();
    for mut entry in arguments.entries("steps", 1, MOST_STEPS)? {
        let step = entry.text("step")?;
        let status = match entry.text("status")?.as_str() {
            "pending" => PlanStatus::Pending,
            "in_progress" => PlanStatus::InProgress,
            "completed" => PlanStatus::Completed,
            other => {
                return Err(format!(
                    "plan: status {other:?} is not known; it is pending, in_progress or completed"
                ));
            }
        };
        entry.finish()?;
        if step.trim().is_empty() || steps.iter().any(|known| known.step == step) {
            return Err(format!("plan: the step {step:?} is empty or there twice"));
        }
        steps.push(PlanStep { step, status });
    }
    if steps.iter().filter(|step| step.status == PlanStatus::InProgress).count() > 1 {
        return Err("plan: more than one step is in_progress; one at most can be".to_owned());
    }
    arguments.finish()?;
    Ok(LoopCall::Plan { explanation, steps })
}

fn parse_ask(mut arguments: CallArguments<'_>) -> Result<LoopCall, String> {
    let mut questions = Vec::new();
    for (index, mut entry) in arguments.entries("questions", 1, MOST_QUESTIONS)?.into_iter().enumerate() {
        let question = entry.text("question")?;
        if question.trim().is_empty() {
            return Err("ask: a question is empty".to_owned());
        }
        let mut options = Vec::new();
        for mut option in entry.entries("options", 0, MOST_OPTIONS)? {
            let label = option.text("label")?;
            let description = option.optional_text("description")?.unwrap_or_default();
            option.finish()?;
            options.push(QuestionOption { label, description });
        }
        entry.finish()?;
        let (id, header) = (format!("q{}", index + 1), String::new());
        // The person may always answer in their own words.
        questions.push(Question { id, header, question, options, other: true, secret: false });
    }
    arguments.finish()?;
    Ok(LoopCall::Ask(questions))
}

#[cfg(test)]
mod tests;
