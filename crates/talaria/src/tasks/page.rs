//! One task for people: its state, commands and changes, open requests, and at the end its answer.
//!
//! Pure: the task and the present time in, text out. Foreign text is made harmless.

use jiff::Timestamp;
use talaria_core::api::{NoticeInfo, TaskEvent, TaskInfo, TaskStatus, WorktreeInfo};
use talaria_core::ids::SessionId;
use talaria_core::next_step::NextStep;
use talaria_core::principal::Principal;

use super::{notices, status_words};
use crate::advice::Reader;
use crate::amounts::{ago, since};
use crate::look;
use crate::requests::open_requests;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, Paint, Style, StyledText, complaint, field, plain, plain_line, tokens};

/// At most this many files, commands and commits are shown; all of them are in the JSON.
const SHOWN: usize = 20;
/// So much of a commit's id is shown.
const SHORT: usize = 10;

/// The whole page.
pub(super) fn page(task: &TaskInfo, now: Timestamp, look: Look, reader: Reader) -> StyledText {
    let paint = Paint::new(look);
    let mut out = paint.text(Style::BOLD, &plain_line(task.title.trim())) + "\n";
    out += fields(task, now, look);
    out += section("May also write", &task.writable_roots);
    match &task.worktree {
        Some(worktree) => out += changes(worktree, look),
        None => out += section("Files that it changed", &task.files),
    }
    out += section("Running now", &task.running);
    out += section("Commands that it ran", &task.commands);
    out += section("Queued for the next turns", &task.queued);
    out += events(&task.events, now, look);
    let owed: Vec<NoticeInfo> =
        task.notices.iter().filter(|notice| notice.target.is_some()).cloned().collect();
    if !owed.is_empty() {
        out += "\nNotifications:\n";
        out += notices::table(&owed, now).show(look);
    }
    if let Some(report) = &task.outcome {
        let words = complaint(report);
        out += if words.is_empty() { words } else { format!("\n{words}") };
    }
    if let Some(answer) = task.answer.as_deref().map(str::trim).filter(|answer| !answer.is_empty()) {
        out += "\n";
        out += paint.text(Style::BOLD, "Answer:");
        out += format!("\n\n{}\n", plain(answer));
    }
    if !task.requests.is_empty() {
        out += "\nWaiting for an answer:\n";
        out += open_requests(&task.requests, now, look, reader);
    }
    out + next(task, paint, reader)
}

fn fields(task: &TaskInfo, now: Timestamp, look: Look) -> StyledText {
    let ahead = match task.ahead {
        Some(0) => " (the next to start)".to_owned(),
        Some(count) => format!(" ({count} before it)"),
        None => String::new(),
    };
    let mut limits = vec![task.model.clone()];
    limits.push(task.sandbox.map(|sandbox| format!("sandbox {}", sandbox.as_str())));
    limits.push(task.network.then(|| "network".to_owned()));
    limits.push(task.approval.map(|approval| format!("asks {}", approval.as_str())));
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let worktree = task.worktree.as_ref();
    let rows = [
        ("task", Some(task.id.clone())),
        ("session", Some(look::session_id(&task.session, look).to_owned())),
        ("status", Some(format!("{}{ahead}", status_words(task.status)))),
        ("where", Some(task.cwd.clone())),
        ("branch", worktree.map(|worktree| worktree.branch.clone())),
        ("repo", worktree.map(|worktree| worktree.repository.clone())),
        ("how", Some(limits.join(", ")).filter(|limits| !limits.is_empty())),
        ("owner", Some(owner(&task.owner))),
        ("parent", task.owner.delegator().map(|id| look::session_id(&SessionId::new(id), look).to_owned())),
        ("from", task.origin.clone()),
        ("created", Some(ago(task.created_at, now))),
        ("started", started(task, now)),
        ("updated", Some(ago(task.updated_at, now))),
        ("turns", turns(task)),
        ("tokens", task.usage.filter(|usage| usage.total > 0 || usage.partial).map(tokens)),
    ];
    let row = |(name, value): (&str, Option<String>)| {
        value.map(|value| field(&format!("{name:<9}"), &plain_line(&value), look))
    };
    rows.into_iter().filter_map(row).collect()
}

/// Who owns a task. A person without a name is the user of this home.
fn owner(owner: &Principal) -> String {
    match owner.delegator() {
        Some(_) => "the model of the conversation that delegated it".to_owned(),
        None if *owner == Principal::person("") => "you".to_owned(),
        None => owner.to_string(),
    }
}

/// When the turn that runs, or else the last one, was sent to Codex, and how long it took. What waited for a place before that,
/// and the time between turns, is no part of it.
fn started(task: &TaskInfo, now: Timestamp) -> Option<String> {
    let Some(at) = task.started_at else {
        // What another program did is not known.
        let never = if task.status.is_terminal() { "never" } else { "not yet" };
        return task.origin.is_none().then(|| never.to_owned());
    };
    let which = if task.turns > 1 { "last turn " } else { "" };
    let took = task.completed_at.map(|end| format!(", took {}", since(at, end))).unwrap_or_default();
    Some(format!("{which}{}{took}", ago(at, now)))
}

/// How many turns there were; one that waits for the end of another has not been.
fn turns(task: &TaskInfo) -> Option<String> {
    match task.queued.len() {
        0 => (task.turns > 1).then(|| task.turns.to_string()),
        queued => {
            let begun = task.turns.saturating_sub(i64::try_from(queued).unwrap_or(i64::MAX));
            Some(format!("{begun}, and {queued} queued"))
        }
    }
}

/// Changes since the base commit of the worktree.
fn changes(worktree: &WorktreeInfo, look: Look) -> StyledText {
    let base: String = worktree.base.chars().take(SHORT).collect();
    let Some(changes) = &worktree.changes else {
        let why = worktree.problem.as_deref().unwrap_or("not known");
        return format!("\nChanged since {}: {}\n", plain_line(&base), plain_line(why)).into();
    };
    let head = format!("\nChanged since {}: {}\n", plain_line(&base), changes.stat());
    let mut out = StyledText::from(head);
    let mut sheet = Sheet::new(&["file", "", "lines"], "file").to_be_read();
    for file in changes.files.iter().take(SHOWN) {
        let lines = match (file.added, file.removed) {
            (Some(added), Some(removed)) => format!("+{added} -{removed}"),
            _ => "not text".to_owned(),
        };
        sheet.row([file.path.clone(), file.status.clone(), lines]);
    }
    if !changes.files.is_empty() {
        out += sheet.show(look);
        out += rest(changes.files.len());
    }
    let commits = changes.commits.iter().map(|(id, subject)| {
        let id: String = id.chars().take(SHORT).collect();
        format!("{id} {subject}")
    });
    out += section("Commits", &commits.collect::<Vec<_>>());
    if changes.uncommitted {
        out += "some of it is not committed\n";
    }
    if let Some(problem) = &worktree.problem {
        out += format!("{}\n", plain_line(problem));
    }
    out
}

/// A few lines under a title; empty if there are none.
fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let shown: String = lines.iter().take(SHOWN).map(|line| format!("  {}\n", plain_line(line))).collect();
    format!("\n{title}:\n{shown}{}", rest(lines.len()))
}

fn rest(count: usize) -> String {
    match count.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("  ({more} more; --json has all)\n"),
    }
}

fn events(events: &[TaskEvent], now: Timestamp, look: Look) -> StyledText {
    if events.is_empty() {
        return StyledText::default();
    }
    let mut sheet = Sheet::new(&["when", "what", "about"], "about");
    for event in events {
        sheet.row([ago(event.at, now), event.kind.replace('_', " "), event.text.clone()]);
    }
    StyledText::plain("\nLast events:\n") + sheet.show(look)
}

/// Suggested next commands.
fn next(task: &TaskInfo, paint: Paint, reader: Reader) -> StyledText {
    let id = || task.id.clone();
    let has_work = task.worktree.as_ref().and_then(|worktree| worktree.changes.as_ref());
    let has_work = has_work.is_some_and(|changes| !changes.files.is_empty());
    let mut steps = Vec::new();
    if !task.status.is_terminal() {
        steps.push(("watch it:", NextStep::WatchTask { task: id() }));
    }
    if task.status == TaskStatus::Working {
        steps.push(("steer it:", NextStep::SteerTask { task: id() }));
    }
    if task.status.is_terminal() && has_work {
        steps.push(("see the changes:", NextStep::ShowChanges { task: id() }));
        steps.push(("apply them:", NextStep::ApplyTask { task: id() }));
    }
    if task.status.is_terminal() && task.origin.is_none() {
        steps.push(("continue it:", NextStep::SendTask { task: id() }));
    }
    let width = steps.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
    let lines: StyledText = steps
        .iter()
        .map(|(what, how)| {
            let how = reader.says(how);
            paint.text(Style::DIM, &format!("{what:<width$} {}", plain_line(&how))) + "\n"
        })
        .collect();
    if lines.is_empty() { lines } else { StyledText::plain("\n") + lines }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::api::Changes;

    use super::super::sample::{LOOK, at, done, hostile, waiting};
    use super::*;

    fn page(task: &TaskInfo, now: Timestamp, look: Look, reader: Reader) -> String {
        super::page(task, now, look, reader).text()
    }

    #[test]
    fn a_task_shows_what_it_did_and_what_it_waits_for() {
        expect![[r#"
            why is the build slow?
            task     codex-1a2b3c4d5e6f
            session  0199a000
            status   waiting for your approval
            where    /work
            how      sandbox read-only, asks untrusted
            owner    person:ada
            created  1 minute ago
            started  40 seconds ago
            updated  10 seconds ago

            Commands that it ran:
              cargo build --timings␊and more

            Last events:
            WHEN            WHAT            ABOUT
            10 seconds ago  request opened  cargo clean

            Waiting for an answer:
            REQUEST           KIND     ASKED           FOR                 ABOUT
            req-0a1b2c3d4e5f  command  10 seconds ago  codex-1a2b3c4d5e6f  cargo clean
            read it whole with: talaria requests show req-0a1b2c3d4e5f
            answer with: talaria requests answer req-0a1b2c3d4e5f accept (or decline, …)

            watch it: talaria task watch codex-1a2b3c4d5e6f
        "#]]
        .assert_eq(&page(&waiting(), at(100), LOOK, Reader::Shell));
    }

    #[test]
    fn an_owner_without_a_name_is_the_reader() {
        assert_eq!(owner(&Principal::person("")), "you");
        assert_eq!(owner(&"person:unknown".parse().unwrap()), "you", "as older versions wrote it");
        assert_eq!(owner(&Principal::person("ada")), "person:ada");
        let task = TaskInfo { owner: Principal::person(""), ..waiting() };
        assert!(page(&task, at(100), LOOK, Reader::Shell).contains("owner    you\n"));
    }

    #[test]
    fn a_task_that_ended_shows_its_answer_its_work_and_what_comes_next() {
        expect![[r#"
            why is the build slow?
            task     codex-1a2b3c4d5e6f
            session  0199a000
            status   lost
            where    /home/ada/.talaria/worktrees/codex-1a2b3c4d5e6f
            branch   talaria/codex-1a2b3c4d5e6f
            repo     /home/ada/src/app
            how      gpt-5.5, sandbox workspace-write, network, asks untrusted
            owner    person:ada
            created  1 minute ago
            started  last turn 40 seconds ago, took 15 seconds
            updated  10 seconds ago
            turns    2
            tokens   9.6k in (4.8k cached), 12 out

            May also write:
              /home/ada/cache

            Changed since 1a2b3c4d5e: 2 files changed, +3 -1
            FILE                  LINES
            Cargo.toml  modified  +3 -1
            logo.png    added     not text

            Commits:
              9f8e7d6c5b use another linker
            some of it is not committed

            Commands that it ran:
              cargo build --timings␊and more

            Last events:
            WHEN            WHAT            ABOUT
            10 seconds ago  request opened  cargo clean

            Notifications:
            TASK                ABOUT    TO     STATE
            codex-1a2b3c4d5e6f  outcome  local  sent 24 seconds ago

            error: the turn was lost; how it ended is not known
            cause: codex died
            hint: check what it did before you send the prompt again; `talaria doctor` checks the installation

            Answer:

            It is the linker.

            Use another one.

            see the changes: talaria task show codex-1a2b3c4d5e6f --diff
            apply them:      talaria task apply codex-1a2b3c4d5e6f
            continue it:     talaria task send codex-1a2b3c4d5e6f "…"
        "#]]
        .assert_eq(&page(&done(), at(100), LOOK, Reader::Shell));
    }

    #[test]
    fn a_task_that_waits_for_a_place_says_how_many_come_first() {
        let queued = |ahead| TaskInfo {
            status: TaskStatus::Queued,
            ahead: Some(ahead),
            started_at: None,
            ..waiting()
        };
        assert!(page(&queued(3), at(100), LOOK, Reader::Shell).contains("status   queued (3 before it)\n"));
        let text = page(&queued(3), at(100), LOOK, Reader::Shell);
        assert!(text.contains("created  1 minute ago\nstarted  not yet\n"), "{text}");
        let stopped = TaskInfo { status: TaskStatus::Cancelled, ahead: None, ..queued(0) };
        let text = page(&stopped, at(100), LOOK, Reader::Shell);
        assert!(text.contains("created  1 minute ago\nstarted  never\n"), "{text}");
        assert!(
            page(&queued(0), at(100), LOOK, Reader::Shell).contains("status   queued (the next to start)\n")
        );
    }

    #[test]
    fn a_worktree_that_is_gone_says_so() {
        let mut task = done();
        let worktree = task.worktree.as_mut().unwrap();
        (worktree.changes, worktree.problem) = (None, Some("it was discarded".to_owned()));
        let text = page(&task, at(100), LOOK, Reader::Shell);
        assert!(text.contains("Changed since 1a2b3c4d5e: it was discarded\n"), "{text}");
        assert!(!text.contains("task apply"), "{text}");
    }

    #[test]
    fn long_lists_are_cut_and_say_so() {
        let mut task = done();
        task.commands = (0..25).map(|n| format!("true {n}")).collect();
        let worktree = task.worktree.as_mut().unwrap();
        let file = worktree.changes.as_ref().unwrap().files[0].clone();
        worktree.changes = Some(Changes { files: vec![file; 30], ..Changes::default() });
        let text = page(&task, at(100), LOOK, Reader::Shell);
        assert!(text.contains("(5 more; --json has all)") && text.contains("(10 more; --json has all)"));
        assert!(text.contains("true 19\n") && !text.contains("true 20\n"), "{text}");
    }

    #[test]
    fn nothing_in_a_task_can_command_the_terminal() {
        let text = page(&hostile(), at(100), LOOK, Reader::Shell);
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']), "{text:?}");
        // Only what may span lines does: a second line of a title could pose as one of ours.
        assert!(!text.lines().any(|line| line.starts_with("forged")), "{text}");
    }
}
