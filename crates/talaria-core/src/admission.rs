//! Validation of a new task: every limit, in one place, with the message about each violation.
//!
//! Pure: reads nothing but the request. The engine checks whether the directories exist and whether this caller may name
//! them. Called by the engine for every task, from every client.

use std::path::{Component, Path};

use crate::api::{NewTask, NewTurn, Problem, ProblemCode};
use crate::input::InputPart;
use crate::policy::{ApprovalPolicy, Sandbox};

/// The longest prompt, in bytes.
pub const LONGEST_PROMPT: usize = 1024 * 1024;
/// The most notification targets of one task.
pub const MOST_TARGETS: usize = 8;
/// The most directories that one task may write to besides its own.
pub const MOST_ROOTS: usize = 32;
/// The shortest and the longest deadline, in milliseconds: a second, and 30 days.
const DEADLINES: std::ops::RangeInclusive<u64> = 1000..=30 * 24 * 60 * 60 * 1000;

/// Says what is wrong with a wish, if something is.
pub fn check(new: &NewTask) -> Result<(), Problem> {
    check_turn(&new.turn)?;
    absolute("cwd", &new.cwd)?;
    match new.sandbox {
        Some(Sandbox::DangerFullAccess) => {
            return Err(bad("a task never runs without a sandbox: danger-full-access is refused").try_this(
                "use read-only or workspace-write; `talaria exec` takes danger-full-access while you watch",
            ));
        }
        Some(Sandbox::WorkspaceWrite) if Path::new(&new.cwd).parent().is_none() => {
            return Err(bad("the whole file system cannot be the working directory of a task that writes")
                .try_this("name a directory with --cwd"));
        }
        Some(Sandbox::WorkspaceWrite) => {}
        None | Some(Sandbox::ReadOnly) => check_read_only(new)?,
    }
    if matches!(new.approval, Some(ApprovalPolicy::Never | ApprovalPolicy::OnFailure)) {
        let word = new.approval.map(ApprovalPolicy::as_str).unwrap_or_default();
        return Err(bad(format!("a task always asks a person: approval {word} is refused"))
            .try_this("use untrusted or on-request"));
    }
    if new.writable_roots.len() > MOST_ROOTS {
        return Err(bad(format!("at most {MOST_ROOTS} writable roots, not {}", new.writable_roots.len())));
    }
    for root in &new.writable_roots {
        absolute("a writable root", root)?;
        if Path::new(root).parent().is_none() {
            return Err(bad("the whole file system cannot be a writable root").try_this("name a directory"));
        }
    }
    if new.notify.len() > MOST_TARGETS {
        return Err(bad(format!(
            "at most {MOST_TARGETS} notification targets are allowed, not {}",
            new.notify.len()
        )));
    }
    Ok(())
}

/// Says what is wrong with a turn of a task.
pub fn check_turn(turn: &NewTurn) -> Result<(), Problem> {
    let text = |part: &InputPart| match part {
        InputPart::Text { text } => Some(text.len()),
        _ => None,
    };
    let is_blank = |part: &InputPart| matches!(part, InputPart::Text { text } if text.trim().is_empty());
    if turn.input.iter().all(is_blank) {
        return Err(bad("the prompt is empty").try_this("say what the task is to do"));
    }
    let length: usize = turn.input.iter().filter_map(text).sum();
    if length > LONGEST_PROMPT {
        return Err(bad(format!("the prompt has {length} bytes; at most {LONGEST_PROMPT} are taken"))
            .try_this("put it into a file, and let Codex read that"));
    }
    if turn.limit_ms.is_some_and(|limit| !DEADLINES.contains(&limit)) {
        return Err(bad("a deadline is at least a second and at most 30 days"));
    }
    Ok(())
}

fn check_read_only(new: &NewTask) -> Result<(), Problem> {
    let useless = if new.worktree.is_some() {
        "a worktree"
    } else if !new.writable_roots.is_empty() {
        "a writable root"
    } else if new.network {
        "the network"
    } else {
        return Ok(());
    };
    Err(bad(format!("{useless} is useless in a read-only sandbox"))
        .try_this("add --sandbox workspace-write (sandbox: workspace-write), or leave it out"))
}

fn absolute(what: &str, path: &str) -> Result<(), Problem> {
    let given = Path::new(path);
    if !given.is_absolute() || given.components().any(|part| part == Component::ParentDir) {
        return Err(bad(format!("{what} must be an absolute path without `..`, not {path:?}")));
    }
    Ok(())
}

fn bad(message: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::BadRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Dirty;

    fn turn(text: &str) -> NewTurn {
        let input = vec![InputPart::Text { text: text.to_owned() }];
        NewTurn { input, ..NewTurn::default() }
    }

    fn task() -> NewTask {
        NewTask {
            cwd: "/project".to_owned(),
            model: None,
            sandbox: None,
            approval: None,
            writable_roots: Vec::new(),
            network: false,
            worktree: None,
            notify: Vec::new(),
            codex_home: None,
            started_in: None,
            terminal: None,
            turn: turn("do it"),
        }
    }

    fn writing() -> NewTask {
        NewTask { sandbox: Some(Sandbox::WorkspaceWrite), ..task() }
    }

    #[test]
    fn what_a_task_may_be_is_taken() {
        let all = NewTask {
            worktree: Some(Dirty::Copy),
            network: true,
            writable_roots: vec!["/tmp/x".to_owned()],
            approval: Some(ApprovalPolicy::OnRequest),
            notify: vec!["local".to_owned()],
            turn: NewTurn { limit_ms: Some(1000), ..turn(&"x".repeat(LONGEST_PROMPT)) },
            ..writing()
        };
        for good in [task(), writing(), all] {
            assert_eq!(check(&good), Ok(()));
        }
    }

    #[test]
    fn everything_else_is_refused_in_words() {
        let wrong = [
            NewTask { turn: turn(" \n"), ..task() },
            NewTask { turn: turn(&"x".repeat(LONGEST_PROMPT + 1)), ..task() },
            NewTask { turn: NewTurn { limit_ms: Some(999), ..turn("x") }, ..task() },
            NewTask { cwd: "work".to_owned(), ..task() },
            NewTask { cwd: "/project/../etc".to_owned(), ..task() },
            NewTask { sandbox: Some(Sandbox::DangerFullAccess), ..task() },
            NewTask { approval: Some(ApprovalPolicy::Never), ..task() },
            NewTask { approval: Some(ApprovalPolicy::OnFailure), ..task() },
            NewTask { worktree: Some(Dirty::Refuse), ..task() },
            NewTask { network: true, ..task() },
            NewTask { writable_roots: vec!["/tmp/x".to_owned()], ..task() },
            NewTask { writable_roots: vec!["/".to_owned()], ..writing() },
            NewTask { cwd: "/".to_owned(), ..writing() },
            NewTask { writable_roots: vec!["x".to_owned()], ..writing() },
            NewTask { writable_roots: vec!["/x".to_owned(); MOST_ROOTS + 1], ..writing() },
            NewTask { notify: vec!["local".to_owned(); MOST_TARGETS + 1], ..task() },
        ];
        let told: Vec<String> = wrong.iter().map(|new| check(new).unwrap_err().message).collect();
        expect_test::expect![[r#"
            the prompt is empty
            the prompt has 1048577 bytes; at most 1048576 are taken
            a deadline is at least a second and at most 30 days
            cwd must be an absolute path without `..`, not "work"
            cwd must be an absolute path without `..`, not "/project/../etc"
            a task never runs without a sandbox: danger-full-access is refused
            a task always asks a person: approval never is refused
            a task always asks a person: approval on-failure is refused
            a worktree is useless in a read-only sandbox
            the network is useless in a read-only sandbox
            a writable root is useless in a read-only sandbox
            the whole file system cannot be a writable root
            the whole file system cannot be the working directory of a task that writes
            a writable root must be an absolute path without `..`, not "x"
            at most 32 writable roots, not 33
            at most 8 notification targets are allowed, not 9"#]]
        .assert_eq(&told.join("\n"));
    }
}
