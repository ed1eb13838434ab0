//! Texts about delegated tasks for the model and for people: states, results with their files, lists. Pure.
//!
//! Nothing here calls a task done that is not: a task that failed, was stopped or was lost says so in its first line, and what it
//! changed before that is named as partial work.

use talaria_core::api::{TaskInfo, TaskStatus};
use talaria_guard::shorten::shorten_line;

/// The most files and commands that a result names.
const MOST_LINES: usize = 20;
/// The longest title and the longest command in a result, in characters.
const LONGEST_LINE: usize = 160;

/// The first line of a list.
pub(crate) fn list_heading(count: usize) -> String {
    match count {
        0 => "Delegated tasks (complete): this conversation has none.".to_owned(),
        1 => "Delegated tasks (complete): 1.".to_owned(),
        count => format!("Delegated tasks (complete): {count}."),
    }
}

/// The first line of what a wait returned.
pub(crate) fn wait_heading(ended: usize, unfinished: usize) -> String {
    match (ended, unfinished) {
        (0, 0) => {
            "Delegated tasks (complete): nothing is owed; every task has ended and was delivered.".to_owned()
        }
        (ended, unfinished) => format!("Delegated tasks (complete): {ended} ended, {unfinished} unfinished."),
    }
}

/// One line about a task.
pub(crate) fn line(task: &TaskInfo, is_delivered: bool) -> String {
    let delivered = if is_delivered { ", result delivered" } else { "" };
    format!("{} {}{delivered}: {}", task.id, ending(task), title(task))
}

/// How a task ended, or what it does, in a few words.
pub(crate) fn ending(task: &TaskInfo) -> String {
    let why = task.outcome.as_ref().and_then(|report| report.message.as_deref());
    let why = why.map(|why| format!(": {}", shorten_line(why, LONGEST_LINE))).unwrap_or_default();
    match task.status {
        TaskStatus::Completed => "completed".to_owned(),
        TaskStatus::Failed => format!("failed{why}"),
        TaskStatus::Cancelled => "stopped before it completed".to_owned(),
        TaskStatus::Lost => format!("lost, so that it is not known how far it came{why}"),
        TaskStatus::WaitingForApproval => "waits for the user's decision".to_owned(),
        TaskStatus::WaitingForUserInput => "waits for the user's words".to_owned(),
        unfinished => unfinished.word().to_owned(),
    }
}

/// A task that had not ended when its row was read.
pub(crate) fn state(task: &TaskInfo) -> String {
    if task.status.is_terminal() {
        return format!("{} has just ended (complete): {}. op result has its result.", task.id, ending(task));
    }
    let mut lines = vec![format!("{} has not ended (complete): {}.", task.id, ending(task)), title(task)];
    let running =
        task.running.iter().map(|command| format!("Running: {}", shorten_line(command, LONGEST_LINE)));
    lines.extend(running.take(3));
    lines.extend(task.requests.iter().map(|request| {
        format!("The user is asked ({}): {}", request.id, shorten_line(&request.summary, LONGEST_LINE))
    }));
    lines
        .extend(task.events.last().map(|event| format!("Last: {}", shorten_line(&event.text, LONGEST_LINE))));
    lines.join("\n")
}

/// The result of a task, in at most about this many characters.
pub(crate) fn result(task: &TaskInfo, room: usize) -> String {
    let work = work(task);
    let answer = task.answer.as_deref().unwrap_or_default().trim();
    let left = room.saturating_sub(work.chars().count() + 400).max(500);
    let is_cut = answer.chars().nth(left).is_some();
    let completeness = match is_cut {
        false => "complete".to_owned(),
        true => format!("incomplete: talaria_recall with session {} has the whole answer", task.session),
    };
    let ending = match task.status.is_terminal() {
        true => ending(task),
        false => format!("a person continued it, and it is {} again", ending(task)),
    };
    let mut text = format!("Result of {} ({completeness}): {ending}.\nGoal: {}", task.id, title(task));
    match (answer.is_empty(), is_cut) {
        (true, _) => text.push_str("\nIt left no answer."),
        (false, false) => text = format!("{text}\nIts answer, in its own words:\n{answer}"),
        (false, true) => {
            let kept: String = answer.chars().take(left).collect();
            text = format!("{text}\nIts answer, in its own words:\n{kept}\n[cut]");
        }
    }
    text + &work
}

/// Changed files and commands. For a task that did not complete this is partial work.
fn work(task: &TaskInfo) -> String {
    let mut lines = Vec::new();
    let partial = if task.status == TaskStatus::Completed { "Files" } else { "Partial work, files" };
    let worktree = task.worktree.as_ref();
    match worktree.and_then(|worktree| Some((worktree, worktree.changes.as_ref()?))) {
        Some((worktree, changes)) => {
            let uncommitted = if changes.uncommitted { ", not all committed" } else { "" };
            lines.push(format!(
                "{partial}: {} on branch {} in {}{uncommitted}",
                changes.stat(),
                worktree.branch,
                worktree.path
            ));
            let file = |file: &talaria_core::api::TaskFileChange| {
                let count = |sign: char, lines: Option<u64>| lines.map(|lines| format!(" {sign}{lines}"));
                let counts = [count('+', file.added), count('-', file.removed)].into_iter().flatten();
                format!("  {} {}{}", file.status, file.path, counts.collect::<String>())
            };
            lines.extend(bounded(changes.files.iter().map(file).collect()));
        }
        None if task.files.is_empty() => lines.push(format!("{partial}: none that it reported")),
        None => {
            lines.push(format!("{partial} in {}:", task.cwd));
            lines.extend(bounded(task.files.iter().map(|file| format!("  {file}")).collect()));
        }
    }
    if let Some(problem) = worktree.and_then(|worktree| worktree.problem.as_ref()) {
        lines.push(format!("Worktree: {problem}"));
    }
    if !task.commands.is_empty() {
        lines.push("Commands:".to_owned());
        let command = |command: &String| format!("  {}", shorten_line(command, LONGEST_LINE));
        lines.extend(bounded(task.commands.iter().map(command).collect()));
    }
    lines.iter().map(|line| format!("\n{line}")).collect()
}

fn bounded(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("  and {more} more"));
    }
    lines
}

fn title(task: &TaskInfo) -> String {
    shorten_line(&task.title, LONGEST_LINE)
}

/// Results that go to the model with the input of a turn.
pub(crate) fn input(results: &[String]) -> String {
    format!(
        "[From Talaria, not from the user: results of tasks that this conversation delegated, delivered once.]\n\n{}\n\n\
         [End of the results.]",
        results.join("\n\n")
    )
}

/// Notice to the person that a task has ended.
pub(crate) fn announcement(task: &TaskInfo, is_delivered: bool) -> String {
    let when = match is_delivered {
        true => "the model has its result",
        false => "the model gets its result when it asks for it, or with your next message",
    };
    format!("delegated task {} {}: {} ({when})", task.id, ending(task), title(task))
}

/// Notice to the person that a message carries results to the model.
pub(crate) fn passed_on(ids: &[String]) -> String {
    let what = if ids.len() == 1 {
        "the result of the delegated task"
    } else {
        "the results of the delegated tasks"
    };
    format!("{what} {} goes to the model with this message", ids.join(", "))
}
