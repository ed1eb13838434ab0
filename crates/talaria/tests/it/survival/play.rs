//! Plays one fault: a turn is started, the engine held at the point, the fault injected; then all processes are restarted,
//! open requests are answered, and every turn is awaited.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use talaria_core::api::{AnswerRequest, EngineStatus, NewSession, SessionStarted};
use talaria_core::ids::TicketId;
use talaria_core::request::Who;
use talaria_server::client::{Client, ClientError};
use talaria_testkit::app_server::copy_program;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::database;
use super::fault::{Fault, Nth, Strike};
use super::lane::{LOOK, Lane, PATIENCE, is_alive, program, signal};

/// How long a disk stays full and a database locked.
const A_WHILE: Duration = Duration::from_millis(300);
/// What people decline has this in it.
pub(crate) const DECLINED: &str = "not-this";
const TWO_DAYS_MS: i64 = 2 * 24 * 60 * 60 * 1000;

/// Result of a played fault.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) fault: Fault,
    /// The prompt of the target turn, then those of the concurrent turns; no other turn has one of them.
    pub(crate) prompts: Vec<String>,
    /// Those of the turns of which the engine said that it will run them.
    pub(crate) promised: Vec<String>,
    /// The engine reached the point, and the fault was injected.
    pub(crate) is_struck: bool,
    /// Prompts whose turns Codex had reported as completed before the blow fell. Codex 0.130 reports first and writes its
    /// file a moment later: killed in between, it leaves a file without the end of a turn that did complete.
    pub(crate) reported: Vec<String>,
    /// Answers that the engine said it has.
    pub(crate) acknowledged: Vec<TicketId>,
    /// The error that stopped the play.
    pub(crate) trouble: Option<String>,
    /// The Codex that was there when the blow fell lives.
    pub(crate) is_codex_alive: bool,
    /// The points that were passed, for people who look into it.
    pub(crate) passed: Vec<String>,
    pub(crate) took: Duration,
}

/// Plays a fault on a lane. `newer` is a copy of the program that was made later.
pub(crate) async fn play(lane: &mut Lane, fault: Fault, number: usize, newer: &Path) -> Played {
    let began = Instant::now();
    let prompt = format!("ask-{number}-{}", fault.to_string().replace(['/', ':'], "-"));
    let others = (0..fault.beside).map(|other| format!("{prompt}-beside-{other}"));
    let prompts: Vec<String> = [prompt.clone()].into_iter().chain(others).collect();
    let mut people = People::new(lane.home().join("run/engine.sock"));
    let (mut codex, mut reported) = (Vec::new(), Vec::new());
    let driven = drive(lane, fault, &prompts, &mut people, (&mut codex, &mut reported), newer).await;
    let (is_struck, trouble) = match driven {
        Ok(Blow::Struck) => (true, None),
        Ok(Blow::NotReached) => (false, None),
        Err(trouble) => (true, Some(trouble)),
    };
    lane.points.clear();
    Played {
        fault,
        prompts,
        promised: people.promised,
        is_struck,
        reported,
        acknowledged: people.acknowledged,
        trouble,
        is_codex_alive: codex.iter().any(|pid| is_alive(*pid)),
        passed: lane.points.passed(),
        took: began.elapsed(),
    }
}

/// Did the blow fall?
enum Blow {
    Struck,
    /// The engine never reached the point this often.
    NotReached,
}

async fn drive(
    lane: &mut Lane,
    fault: Fault,
    prompts: &[String],
    people: &mut People,
    (codex, reported): (&mut Vec<i32>, &mut Vec<String>),
    newer: &Path,
) -> Result<Blow, String> {
    let prompt = prompts[0].as_str();
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    // There must be a process to kill.
    let needs_turn = fault.nth == Nth::Later || lane.codex_pids().await.is_empty();
    let mut session = None;
    if needs_turn {
        let mut before = People::new(people.socket.clone());
        before.start(&prompt.replace("ask-", "say-"), None, lane);
        before.settle().await?;
        session = before.session;
    }
    lane.points.passed();
    let mut trap = lane.points.trap(&fault.point(), fault.skip);
    people.start(prompt, session.filter(|_| fault.nth == Nth::Later), lane);
    for other in &prompts[1..] {
        people.start(other, None, lane);
    }
    let held = tokio::select! {
        held = trap.reached() => held.ok_or("the trap was cleared")?,
        settled = people.settle() => return settled.map(|()| Blow::NotReached),
    };
    *codex = lane.codex_pids().await;
    *reported = reported_as_completed(lane, fault, prompts).await;
    strike(lane, fault.strike, held, people, codex, newer).await?;
    let settled = people.settle().await;
    if fault.strike == Strike::Cut {
        wait_noticed(lane, codex).await?;
    }
    lane.set_clock(0);
    if fault.strike == Strike::Upgrade {
        let (is_well, said) = lane.run(newer, &["stop", "--keep-turns"]).await;
        if !is_well {
            return Err(format!("the newer engine does not stop: {said}"));
        }
    }
    settled.map(|()| Blow::Struck)
}

/// The prompts whose turns Codex has reported as completed: the engine, which was not disturbed so far, has stored the outcome, or
/// is held at the write of it.
async fn reported_as_completed(lane: &Lane, fault: Fault, prompts: &[String]) -> Vec<String> {
    let requests = lane.model.requests();
    let mut reported = Vec::new();
    for prompt in prompts {
        let turns = database::turns(&lane.database(), prompt).await;
        let is_stored = turns.iter().any(|turn| turn.outcome.as_deref() == Some("completed"));
        let is_at_its_last_response =
            || requests.iter().any(|it| it.is_after_tool() && it.prompt() == *prompt);
        if is_stored || (fault.write == "outcome" && is_at_its_last_response()) {
            reported.push(prompt.clone());
        }
    }
    reported
}

/// Strikes, and lets the engine go.
pub(crate) async fn strike(
    lane: &mut Lane,
    strike: Strike,
    held: impl Sized,
    people: &mut People,
    codex: &[i32],
    newer: &Path,
) -> Result<(), String> {
    let kill_codex = || codex.iter().for_each(|pid| signal(*pid, Signal::KILL));
    match strike {
        Strike::Engine => {
            lane.kill_engine().await;
            lane.start_engine().await?;
        }
        Strike::Codex => kill_codex(),
        Strike::Both => {
            kill_codex();
            lane.kill_engine().await;
            lane.start_engine().await?;
        }
        Strike::EngineTwice => {
            lane.kill_engine().await;
            let mut trap = lane.points.trap("*", 0);
            lane.start_engine().await?;
            // At the first thing that it writes; where it has nothing to write, a moment later.
            let _ = tokio::time::timeout(A_WHILE, trap.reached()).await;
            lane.kill_engine().await;
            lane.points.clear();
            lane.start_engine().await?;
        }
        Strike::EngineThenCodex => {
            lane.kill_engine().await;
            lane.start_engine().await?;
            kill_codex();
        }
        Strike::Cut => codex.iter().for_each(|pid| signal(*pid, Signal::USR1)),
        Strike::Restart => {
            // It ends only when what it is about to do is done.
            let ((), ()) = tokio::join!(lane.end_engine(), async move { drop(held) });
            return lane.start_engine().await;
        }
        Strike::Upgrade => {
            drop(held);
            let (is_well, said) = lane.run(newer, &["sessions", "list"]).await;
            lane.kill_engine().await;
            return if is_well { Ok(()) } else { Err(format!("the newer program says: {said}")) };
        }
        Strike::ClockForward => lane.set_clock(TWO_DAYS_MS),
        Strike::ClockBack => lane.set_clock(-TWO_DAYS_MS),
        Strike::DiskFull | Strike::DiskFullEngine => {
            lane.limit_pages(Some(1));
            tokio::time::sleep(A_WHILE / 6).await;
            drop(held);
            let _ = tokio::time::timeout(A_WHILE, people.keep_answering()).await;
            if strike == Strike::DiskFullEngine {
                lane.kill_engine().await;
            }
            lane.limit_pages(None);
            return if strike == Strike::DiskFullEngine { lane.start_engine().await } else { Ok(()) };
        }
        Strike::Busy => {
            let lock = database::lock(&lane.database()).await;
            drop(held);
            let _ = tokio::time::timeout(A_WHILE, people.keep_answering()).await;
            database::unlock(lock).await;
            return Ok(());
        }
        Strike::Copy => {
            use_copy(lane).await?;
        }
        Strike::StopAfter => {
            lane.kill_engine().await;
            let (is_well, said) = lane.run(program(), &["stop"]).await;
            if !is_well || codex.iter().any(|pid| is_alive(*pid)) {
                return Err(format!("`talaria stop` without an engine left something: {said}"));
            }
            lane.start_engine().await?;
        }
        Strike::Reader => {
            let reader = database::read_on(&lane.database()).await;
            drop(held);
            people.settle().await?;
            database::unlock(reader).await;
            return Ok(());
        }
    }
    drop(held);
    Ok(())
}

/// Copies the home, uses the copy, and deletes it: the original must not be affected.
async fn use_copy(lane: &Lane) -> Result<(), String> {
    let copy = lane.copy_home();
    // A copy of files that are being written may be damaged; then it says so, and does nothing either.
    let (_, listed) = lane.run_at(&copy, &["sessions", "list"]).await;
    let (is_stopped, said) = lane.run_at(&copy, &["stop"]).await;
    std::fs::remove_dir_all(&copy).unwrap();
    if is_stopped { Ok(()) } else { Err(format!("the copy does not stop: {listed}{said}")) }
}

/// Waits until the engine no longer counts on those whose connection was cut; the next turn would run into it.
pub(crate) async fn wait_noticed(lane: &Lane, codex: &[i32]) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    while lane.codex_pids().await.iter().any(|pid| codex.contains(pid)) {
        if Instant::now() > end {
            return Err("the engine counts on a Codex that it has no connection to".to_owned());
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Those who use the engine: they start turns, and answer whatever is asked, each request once.
pub(crate) struct People {
    socket: PathBuf,
    tasks: JoinSet<Done>,
    answering: HashSet<TicketId>,
    pub(crate) acknowledged: Vec<TicketId>,
    /// The prompts of turns that the engine said it will run.
    pub(crate) promised: Vec<String>,
    /// The session of the last of them.
    pub(crate) session: Option<String>,
}

enum Done {
    Started(String, Result<SessionStarted, ClientError>),
    Answered(TicketId, Result<(), ClientError>),
}

impl People {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self {
            socket,
            tasks: JoinSet::new(),
            answering: HashSet::new(),
            acknowledged: Vec::new(),
            promised: Vec::new(),
            session: None,
        }
    }

    /// Starts a turn, of an existing session or of a new one.
    pub(crate) fn start(&mut self, prompt: &str, session: Option<String>, lane: &Lane) {
        self.start_new(prompt, session, lane.session(prompt));
    }

    /// Starts a turn with these settings.
    pub(crate) fn start_new(&mut self, prompt: &str, session: Option<String>, new: NewSession) {
        let (socket, prompt) = (self.socket.clone(), prompt.to_owned());
        self.tasks.spawn(async move {
            let started = async {
                let client = Client::connect(&socket).await?;
                match session {
                    Some(session) => client.start_turn(&session, &new.turn).await,
                    None => client.start_session(&new).await,
                }
            };
            Done::Started(prompt, started.await)
        });
    }

    /// Answers indefinitely.
    pub(crate) async fn keep_answering(&mut self) {
        loop {
            self.look().await;
        }
    }

    /// Answers until every turn has ended and nothing waits for an answer.
    pub(crate) async fn settle(&mut self) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        let mut last = None;
        while Instant::now() < end {
            let looked = self.look().await;
            if self.tasks.is_empty()
                && looked.as_ref().is_some_and(|status| status.turns.is_empty() && status.requests.is_empty())
            {
                return Ok(());
            }
            last = looked.or(last);
        }
        Err(format!("not every turn has ended; last seen: {last:?}"))
    }

    async fn look(&mut self) -> Option<EngineStatus> {
        tokio::time::sleep(LOOK).await;
        while let Some(done) = self.tasks.try_join_next() {
            match done.unwrap() {
                // A client without a response does not know whether there is a turn; the audit does.
                Done::Started(prompt, Ok(started)) => {
                    self.session = Some(started.id.to_string());
                    self.promised.push(prompt);
                }
                Done::Started(..) => {}
                Done::Answered(ticket, result) => {
                    self.answering.remove(&ticket);
                    if result.is_ok() {
                        self.acknowledged.push(ticket);
                    }
                }
            }
        }
        let client = Client::connect(&self.socket).await.ok()?;
        let status = client.status().await.ok()?;
        for request in &status.requests {
            if self.answering.insert(request.id.clone()) {
                let (client, id) = (client.clone(), request.id.clone());
                let answer = match request.kind.as_str() {
                    "input" => {
                        json!({ "decision": "accept", "content": { "kind": "answers", "given": { "q1": ["blue"] } } })
                    }
                    _ if request.summary.contains(DECLINED) => {
                        json!({ "decision": "decline", "reason": "not today" })
                    }
                    _ => json!({ "decision": "accept" }),
                };
                self.tasks.spawn(async move {
                    let answer = AnswerRequest { answer, by: Who::User, digest: None };
                    let answered = client.answer(id.as_str(), &answer).await.map(drop);
                    Done::Answered(id, answered)
                });
            }
        }
        Some(status)
    }
}

/// A copy of the program that was made later.
pub(crate) fn newer_program(folder: &Path) -> PathBuf {
    let path = folder.join("talaria");
    copy_program(program(), &path).unwrap();
    path
}
