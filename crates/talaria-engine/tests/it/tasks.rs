//! Tasks through the engine: states, slots, ends and notifications.

mod approval;
mod crowd;
mod ends;
mod places;
mod power;
mod scope;
pub(crate) mod secrets;
mod states;
mod trees;
mod wishes;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use talaria_core::api::{
    AnswerRequest, Interrupt, NewTask, NoticeState, Problem, SessionStarted, TaskInfo, TaskSent, TaskStarted,
    TaskStatus,
};
use talaria_core::event::Event;
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::policy::{ApprovalPolicy, Sandbox};
use talaria_core::principal::Principal;
use talaria_core::request::Who;
use talaria_engine::engine::Engine;
use talaria_testkit::app_server::write_program;
use talaria_testkit::eventually;

use crate::home::{Events, Home, calling};

impl Home {
    /// A task in the tightest sandbox.
    fn task(&self, text: &str) -> NewTask {
        NewTask {
            cwd: self.codex_home.work().to_str().unwrap().to_owned(),
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
            turn: self.turn(text),
        }
    }

    /// A task that may write in its directory, and asks before it runs anything.
    pub(crate) fn writing_task(&self, text: &str) -> NewTask {
        NewTask {
            sandbox: Some(Sandbox::WorkspaceWrite),
            approval: Some(ApprovalPolicy::Untrusted),
            ..self.task(text)
        }
    }

    async fn start_task(&self, new: NewTask) -> TaskStarted {
        self.try_task(new).await.unwrap()
    }

    async fn try_task(&self, new: NewTask) -> Result<TaskStarted, Problem> {
        self.on(|engine| async move { engine.start_task(new).await }).await
    }

    async fn send(&self, task: &TaskStarted, text: &str) -> Result<TaskSent, Problem> {
        let (id, turn) = (task.id.clone(), self.turn(text));
        self.on(|engine| async move { engine.send(&id, turn).await }).await
    }

    async fn show(&self, task: &TaskStarted) -> TaskInfo {
        self.engine().task(&task.id).await.unwrap()
    }

    async fn status_of(&self, task: &TaskStarted) -> TaskStatus {
        self.show(task).await.status
    }

    /// Follows a task from its beginning.
    async fn news(&self, task: &TaskStarted) -> Events {
        self.events(&conversation(&task.session), 0).await
    }

    /// Waits until a task has this status.
    async fn reaches(&self, task: &TaskStarted, status: TaskStatus) -> TaskInfo {
        eventually(&format!("{} is {}", task.id, status.word()), async || {
            Some(self.show(task).await).filter(|info| info.status == status)
        })
        .await
    }

    /// Waits until a task has ended.
    async fn ends(&self, task: &TaskStarted) -> TaskInfo {
        self.news(task).await.outcome().await;
        self.show(task).await
    }

    /// Waits until a turn of a task has ended.
    async fn reaches_turn(&self, task: &TaskStarted, turn: i64) -> TaskInfo {
        let mut news = self.news(task).await;
        for _ in 0..turn {
            news.outcome().await;
        }
        self.show(task).await
    }

    /// Waits until a notice of a task is sent, and checks that it was at the first try.
    async fn told(&self, task: &TaskStarted, kind: &str) {
        let notice = eventually("the notice is sent", async || {
            let mut notices = self.show(task).await.notices.into_iter();
            notices.find(|notice| notice.kind == kind && notice.state == NoticeState::Sent)
        })
        .await;
        assert_eq!((notice.attempts, notice.repeat, notice.error), (1, false, None));
        assert!(notice.sent_at.is_some() && notice.target.is_some());
    }

    async fn cancel(&self, task: &TaskStarted) -> Result<(), Problem> {
        self.engine().interrupt(&task.id, Interrupt { by: Who::User }).await
    }

    /// The same engine, for a model.
    fn as_model(&self, name: &str) -> Engine {
        calling(self.engine(), &Principal::model(name))
    }

    /// The database, opened by another connection.
    async fn store(&self) -> talaria_store::Store {
        talaria_store::Store::open(&self.talaria().store_file(), 0, &Default::default()).await.unwrap()
    }

    /// Creates a program that records its notifications; returns its target.
    fn listener(&self) -> Listener {
        let (program, heard) = (self.codex_home.root().join("listen"), self.codex_home.root().join("heard"));
        write_program(&program, &format!("#!/bin/sh\n{{ cat; echo; }} >> '{}'\n", heard.display())).unwrap();
        Listener { target: format!("command:{}", program.display()), heard }
    }
}

/// A receiver of notifications.
struct Listener {
    target: String,
    heard: PathBuf,
}

impl Listener {
    /// All notifications so far.
    fn heard(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.heard).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits for this many notifications.
    async fn hears(&self, count: usize) -> Vec<Value> {
        eventually(&format!("{count} were told"), async || {
            Some(self.heard()).filter(|heard| heard.len() >= count)
        })
        .await
    }
}

pub(crate) fn conversation(session: &SessionId) -> SessionStarted {
    SessionStarted { id: session.clone(), task: None, turn: 1, after: 0, codex: None }
}

fn yes() -> AnswerRequest {
    AnswerRequest { answer: serde_json::json!({ "decision": "accept" }), by: Who::User, digest: None }
}

async fn accept(engine: &Engine, ticket: &TicketId) {
    engine.answer(ticket.as_str(), yes()).await.unwrap();
}

fn is_turn_start(event: &Event) -> bool {
    matches!(event, Event::TurnStarted { .. })
}
