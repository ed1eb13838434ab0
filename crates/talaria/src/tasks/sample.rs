//! Tasks to be shown in tests.

use jiff::Timestamp;
use talaria_core::api::{
    Changes, NoticeInfo, NoticeState, RequestInfo, RequestState, TaskEvent, TaskFileChange, TaskInfo,
    TaskLine, TaskStatus, WorktreeInfo,
};
use talaria_core::event::Usage;
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::outcome::{Outcome, Report};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::principal::Principal;

use talaria_render::Look;

pub(super) const LOOK: Look = Look { color: false, width: Some(100), live: true, unicode: true };

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(super) fn line(id: &str, status: TaskStatus, title: &str) -> TaskLine {
    TaskLine {
        id: id.to_owned(),
        session: SessionId::new("0199a000"),
        status,
        title: title.to_owned(),
        owner: Principal::person("ada"),
        cwd: "/work".to_owned(),
        open_requests: u32::from(status.is_waiting()),
        created_at: at(0),
        updated_at: at(90),
        completed_at: None,
        waits_for: None,
    }
}

fn request() -> RequestInfo {
    RequestInfo {
        id: TicketId::new("req-0a1b2c3d4e5f"),
        session: SessionId::new("0199a000"),
        task: Some("codex-1a2b3c4d5e6f".to_owned()),
        title: None,
        kind: "command".to_owned(),
        summary: "cargo clean".to_owned(),
        since: at(90),
        state: RequestState::Open,
        place: None,
        choices: Vec::new(),
        digest: None,
        answered_by: None,
        decision: None,
        answered_at: None,
        ask: None,
    }
}

/// One that asks.
pub(super) fn waiting() -> TaskInfo {
    TaskInfo {
        id: "codex-1a2b3c4d5e6f".to_owned(),
        session: SessionId::new("0199a000"),
        status: TaskStatus::WaitingForApproval,
        title: "why is the build slow?".to_owned(),
        outcome: None,
        answer: None,
        files: Vec::new(),
        commands: vec!["cargo build --timings\nand more".to_owned()],
        running: Vec::new(),
        queued: Vec::new(),
        requests: vec![request()],
        usage: None,
        created_at: at(0),
        started_at: Some(at(60)),
        completed_at: None,
        updated_at: at(90),
        owner: Principal::person("ada"),
        cwd: "/work".to_owned(),
        model: None,
        sandbox: Some(Sandbox::ReadOnly),
        approval: Some(ApprovalPolicy::Untrusted),
        writable_roots: Vec::new(),
        network: false,
        turns: 1,
        ahead: None,
        worktree: None,
        notices: Vec::new(),
        events: vec![TaskEvent {
            seq: 12,
            at: at(90),
            kind: "request_opened".to_owned(),
            text: "cargo clean".to_owned(),
        }],
        origin: None,
    }
}

pub(super) fn notice(state: NoticeState) -> NoticeInfo {
    NoticeInfo {
        id: "codex-1a2b3c4d5e6f/1/0".to_owned(),
        task: "codex-1a2b3c4d5e6f".to_owned(),
        kind: "outcome".to_owned(),
        target: Some("local".to_owned()),
        state,
        attempts: 1,
        error: None,
        sent_at: (state == NoticeState::Sent).then(|| at(76)),
        due_at: None,
        repeat: false,
        message: None,
    }
}

/// One that worked in its own worktree and is lost.
pub(super) fn done() -> TaskInfo {
    let lost = Outcome::Lost { why: "codex died".to_owned() };
    let usage = Usage { input: 9600, cached: 4800, output: 12, reasoning: 0, total: 9612, partial: false };
    let file = |path: &str, status: &str, added, removed| TaskFileChange {
        path: path.to_owned(),
        status: status.to_owned(),
        added,
        removed,
    };
    TaskInfo {
        status: TaskStatus::Lost,
        outcome: Some(Report::new(lost, None, usage, 0)),
        answer: Some("It is the linker.\n\nUse another one.\n".to_owned()),
        files: vec!["Cargo.toml".to_owned()],
        requests: Vec::new(),
        usage: Some(usage),
        completed_at: Some(at(75)),
        cwd: "/home/ada/.talaria/worktrees/codex-1a2b3c4d5e6f".to_owned(),
        model: Some("gpt-5.5".to_owned()),
        sandbox: Some(Sandbox::WorkspaceWrite),
        writable_roots: vec!["/home/ada/cache".to_owned()],
        network: true,
        turns: 2,
        worktree: Some(WorktreeInfo {
            repository: "/home/ada/src/app".to_owned(),
            path: "/home/ada/.talaria/worktrees/codex-1a2b3c4d5e6f".to_owned(),
            branch: "talaria/codex-1a2b3c4d5e6f".to_owned(),
            base: "1a2b3c4d5e6f7a8b9c0d".to_owned(),
            changes: Some(Changes {
                files: vec![
                    file("Cargo.toml", "modified", Some(3), Some(1)),
                    file("logo.png", "added", None, None),
                ],
                commits: vec![("9f8e7d6c5b4a39281706".to_owned(), "use another linker".to_owned())],
                insertions: 3,
                deletions: 1,
                uncommitted: true,
                truncated: false,
            }),
            problem: None,
        }),
        notices: vec![notice(NoticeState::Sent)],
        ..waiting()
    }
}

/// One in which every word from elsewhere is hostile.
pub(super) fn hostile() -> TaskInfo {
    let text = "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}\r\nforged";
    let bad = || text.to_owned();
    let mut task = done();
    task.id = bad();
    task.title = bad();
    task.cwd = bad();
    task.model = Some(bad());
    task.answer = Some(text.replace("\r\nforged", ""));
    task.origin = Some(bad());
    task.commands = vec![bad()];
    task.requests = vec![RequestInfo { summary: bad(), kind: bad(), task: Some(bad()), ..request() }];
    task.outcome = Some(Report::new(Outcome::Lost { why: bad() }, None, Usage::default(), 0));
    task.events = vec![TaskEvent { seq: 1, at: at(1), kind: bad(), text: bad() }];
    let told = NoticeInfo {
        target: Some(bad()),
        error: Some(bad()),
        kind: bad(),
        task: bad(),
        ..notice(NoticeState::Failed)
    };
    task.notices = vec![told];
    if let Some(worktree) = &mut task.worktree {
        worktree.branch = bad();
        worktree.repository = bad();
        worktree.base = bad();
        worktree.problem = Some(bad());
        if let Some(changes) = &mut worktree.changes {
            changes.commits = vec![(bad(), bad())];
            changes.files[0].path = bad();
            changes.files[0].status = bad();
        }
    }
    task
}
