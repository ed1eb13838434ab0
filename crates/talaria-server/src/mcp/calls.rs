//! One call of the tool: the request to the engine, and the response to the model.

use std::time::Duration;

use talaria_core::api::{
    AnswerRequest, Interrupt, NewTask, NewTurn, Notify, Numbered, Problem, ProblemCode, Say, TaskInfo,
    TaskQuery, When,
};
use talaria_core::bridge::{BridgeCall, BridgeReply, Response, Start, step};
use talaria_core::input::InputPart;
use talaria_core::policy::Answers;
use talaria_core::request::Who;
use tokio_util::sync::CancellationToken;

use super::door::Door;
use super::service::refused;
use super::waiting::{Progress, Told, settle};
use crate::client::{Client, ClientError};

/// How long a turn that was asked to stop is waited for.
const STOPPING: Duration = Duration::from_secs(5);
/// How many events are read at once.
const PAGE: usize = 500;
/// The most pages of nothing but pieces of text that are read for one answer.
const PAGES: usize = 40;

/// Someone who calls the tool.
pub(super) struct Caller<'a> {
    pub(super) engine: Client,
    pub(super) door: &'a Door,
    pub(super) told: &'a Told,
    pub(super) progress: Progress,
    /// When one of them is cancelled, no one waits any longer.
    pub(super) stops: [CancellationToken; 2],
}

/// A reply, or the reply that says why not.
type Done = Result<BridgeReply, BridgeReply>;

impl Caller<'_> {
    /// Does what is asked.
    pub(super) async fn run(mut self, call: BridgeCall) -> Done {
        match call {
            BridgeCall::Start(start) => self.start(*start).await,
            BridgeCall::Status { task } => Ok(BridgeReply::status(&self.task(&task).await?)),
            BridgeCall::List { limit } => {
                let query = TaskQuery { limit, ..TaskQuery::default() };
                Ok(BridgeReply::list(&self.engine.tasks(&query).await.map_err(failure)?))
            }
            BridgeCall::Result { task } => Ok(BridgeReply::result(&self.task(&task).await?)),
            BridgeCall::Events { task, after, limit } => self.events(&task, after, limit).await,
            BridgeCall::Wait { task, timeout } => {
                settle(&self.engine, &task, timeout, self.told, &mut self.progress, &self.stops).await
            }
            BridgeCall::Send { task, prompt, deadline } => self.send(&task, prompt, deadline).await,
            BridgeCall::Steer { task, instruction } => self.steer(&task, instruction).await,
            BridgeCall::Interrupt { task } => self.interrupt(&task).await,
            BridgeCall::Respond { task, request, response } => self.respond(task, &request, response).await,
            BridgeCall::NotifyCompleted { limit, dry_run } => {
                let notices = self.engine.notify(Notify { limit, dry_run }).await.map_err(failure)?;
                Ok(BridgeReply::notified(&notices, dry_run))
            }
        }
    }

    fn turn(&self, prompt: String, deadline: Option<Duration>) -> NewTurn {
        NewTurn {
            input: vec![InputPart::Text { text: prompt }],
            limit_ms: deadline.map(|deadline| u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX)),
            answers: Some(Answers::Person),
            caller: self.door.caller().clone(),
            ..NewTurn::default()
        }
    }

    async fn task(&self, id: &str) -> Result<TaskInfo, BridgeReply> {
        self.engine.task(id).await.map_err(failure)
    }

    async fn start(&self, start: Start) -> Done {
        let Start {
            prompt, cwd, provider, model, sandbox, approval, writable_roots, network, worktree, ..
        } = start;
        let new = NewTask {
            cwd: self.door.path(cwd.as_deref().unwrap_or_default()),
            model,
            sandbox: Some(sandbox),
            approval: Some(approval),
            writable_roots: writable_roots.iter().map(|root| self.door.path(root)).collect(),
            network,
            worktree,
            notify: start.notify.into_iter().collect(),
            started_in: Some(self.door.started_in().to_string_lossy().into_owned()),
            terminal: None,
            codex_home: start.codex_home.map(|home| self.door.path(&home)),
            turn: NewTurn { provider, ..self.turn(prompt, start.deadline) },
        };
        let started = self.engine.start_task(&new).await.map_err(failure)?;
        match self.engine.task(&started.id).await {
            Ok(task) => Ok(BridgeReply::started(&task)),
            // It was started all the same, and must not be started again.
            Err(_) => Ok(BridgeReply::only_started(&started)),
        }
    }

    async fn send(&self, id: &str, prompt: String, deadline: Option<Duration>) -> Done {
        let sent = self.engine.send(id, &self.turn(prompt, deadline)).await.map_err(failure)?;
        Ok(BridgeReply::sent(sent, &self.task(id).await?))
    }

    async fn steer(&self, id: &str, text: String) -> Done {
        let task = self.task(id).await?;
        if task.status.is_terminal() {
            return Err(over(&task, "there is no turn to steer", "`send` starts a follow-up"));
        }
        let said = self.engine.say(id, &Say { text, images: Vec::new(), when: When::Now }).await;
        let what = if said.map_err(failure)?.to_running_turn {
            "sent to the running turn, and not read yet"
        } else {
            "the running turn cannot use it; it is queued for the next turn"
        };
        Ok(BridgeReply::done(what, &self.task(id).await?))
    }

    async fn interrupt(&mut self, id: &str) -> Done {
        let task = self.task(id).await?;
        if task.status.is_terminal() {
            return Err(over(&task, "there is nothing to stop", "`result` shows its outcome"));
        }
        self.engine.interrupt(id, Interrupt { by: Who::Model }).await.map_err(failure)?;
        let nothing_new = Told::default();
        // Open requests do not end the wait: they end with the turn.
        nothing_new.tell(task.requests.iter().map(|request| request.id.to_string()));
        settle(&self.engine, id, STOPPING, &nothing_new, &mut self.progress, &self.stops).await?;
        Ok(BridgeReply::done("it was asked to stop", &self.task(id).await?))
    }

    async fn respond(&self, task: Option<String>, id: &str, response: Response) -> Done {
        let request = self.engine.request(id).await.map_err(failure)?;
        let is_of = |task: &String| {
            request.session.as_str().starts_with(task.as_str())
                || request.task.as_deref().is_some_and(|own| own.starts_with(task.as_str()))
        };
        if task.as_ref().is_some_and(|task| !is_of(task)) {
            let message = format!("{} is not a request of that task", request.id);
            let problem = Problem::new(ProblemCode::Unknown, message);
            return Err(BridgeReply::problem(
                &problem.try_this("take request_id and task_id from pending_requests"),
            ));
        }
        let answer = response.to(request.ask.as_ref()).map_err(|mistake| BridgeReply::mistake(&mistake))?;
        let sent = AnswerRequest { answer: answer.revealed(), by: Who::Model, digest: None };
        let answered = self.engine.answer(request.id.as_str(), &sent).await.map_err(failure)?;
        let task = self.engine.task(request.session.as_str()).await.ok();
        Ok(BridgeReply::answered(&answered, task.as_ref()))
    }

    async fn events(&self, id: &str, after: i64, limit: usize) -> Done {
        let (mut found, mut last): (Vec<Numbered>, i64) = (Vec::new(), after);
        for _ in 0..PAGES {
            let page = self.engine.events(id, last, PAGE).await.map_err(failure)?;
            let is_last = page.len() < PAGE;
            for event in page {
                last = event.seq;
                if step(&event.event).is_some() {
                    found.push(event);
                }
                if found.len() == limit {
                    return Ok(BridgeReply::events(id, &found, Some(last)));
                }
            }
            if is_last {
                return Ok(BridgeReply::events(id, &found, None));
            }
        }
        Ok(BridgeReply::events(id, &found, Some(last)))
    }
}

fn over(task: &TaskInfo, what: &str, hint: &str) -> BridgeReply {
    let message = format!("{} is {}: {what}", task.id, task.status.word());
    BridgeReply::problem(&Problem::new(ProblemCode::Conflict, message).try_this(hint))
}

fn failure(error: ClientError) -> BridgeReply {
    refused(&error)
}
