//! Plays one fault: a turn is started, the engine held at the point, the blow struck; then everybody is brought back, open
//! requests are answered, and it is waited until every turn has ended.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use talaria_core::api::{AnswerRequest, NewSession, NewTurn, SessionStarted, Status};
use talaria_core::ids::TicketId;
use talaria_core::request::Who;
use talaria_server::client::{Client, ClientError};
use talaria_testkit::fault_points::Held;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::database;
use super::fault::{Fault, Nth, Strike};
use super::lane::{LOOK, Lane, PATIENCE, is_alive, program, signal};

/// How long a disk stays full and a database locked.
const A_WHILE: Duration = Duration::from_millis(300);
const TWO_DAYS_MS: i64 = 2 * 24 * 60 * 60 * 1000;

/// What is known of a fault that was played.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) fault: Fault,
    /// The prompt of the turn that was hit; no other turn has it.
    pub(crate) prompt: String,
    /// The engine said that it will run the turn.
    pub(crate) is_promised: bool,
    /// Answers that the engine said it has.
    pub(crate) acknowledged: Vec<TicketId>,
    /// What kept the play from being played to its end.
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
    let mut people = People::new(lane.home().join("run/engine.sock"));
    let mut codex = Vec::new();
    let trouble = drive(lane, fault, &prompt, &mut people, &mut codex, newer).await.err();
    lane.points.clear();
    Played {
        fault,
        prompt,
        is_promised: people.started.is_some(),
        acknowledged: people.acknowledged,
        trouble,
        is_codex_alive: codex.iter().any(|pid| is_alive(*pid)),
        passed: lane.points.passed(),
        took: began.elapsed(),
    }
}

async fn drive(
    lane: &mut Lane,
    fault: Fault,
    prompt: &str,
    people: &mut People,
    codex: &mut Vec<i32>,
    newer: &Path,
) -> Result<(), String> {
    if lane.client().await.is_none() {
        lane.start_engine().await?;
    }
    // Somebody must be there to be killed.
    let needs_turn = fault.nth == Nth::Later || lane.codex_pids().await.is_empty();
    let mut session = None;
    if needs_turn {
        let mut before = People::new(people.socket.clone());
        before.start(lane.session(&prompt.replace("ask-", "say-")));
        before.settle().await?;
        session = before.started.map(|started| started.id.to_string());
    }
    lane.points.passed();
    let mut trap = lane.points.trap(&fault.point(), 0);
    match session.filter(|_| fault.nth == Nth::Later) {
        Some(session) => people.go_on(session, lane.turn(prompt)),
        None => people.start(lane.session(prompt)),
    }
    let held = tokio::select! {
        held = trap.reached() => held.ok_or("the trap was cleared")?,
        trouble = people.keep_answering() => return Err(trouble),
    };
    *codex = lane.codex_pids().await;
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
    settled
}

/// Strikes, and lets the engine go.
async fn strike(
    lane: &mut Lane,
    strike: Strike,
    held: Held,
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
            lane.start_engine().await?;
            lane.kill_engine().await;
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

/// Waits until the engine no longer counts on those whose connection was cut; the next turn would run into it.
async fn wait_noticed(lane: &Lane, codex: &[i32]) -> Result<(), String> {
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
    pub(crate) started: Option<SessionStarted>,
}

enum Done {
    Started(Result<SessionStarted, ClientError>),
    Answered(TicketId, Result<(), ClientError>),
}

impl People {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self {
            socket,
            tasks: JoinSet::new(),
            answering: HashSet::new(),
            acknowledged: Vec::new(),
            started: None,
        }
    }

    /// Starts a session.
    pub(crate) fn start(&mut self, new: NewSession) {
        let socket = self.socket.clone();
        self.tasks.spawn(async move {
            Done::Started(async { Client::connect(&socket).await?.start_session(&new).await }.await)
        });
    }

    /// Starts another turn of a session.
    pub(crate) fn go_on(&mut self, session: String, turn: NewTurn) {
        let socket = self.socket.clone();
        self.tasks.spawn(async move {
            Done::Started(async { Client::connect(&socket).await?.start_turn(&session, &turn).await }.await)
        });
    }

    /// Answers until it takes too long; says so then.
    pub(crate) async fn keep_answering(&mut self) -> String {
        let end = Instant::now() + PATIENCE;
        let mut last = None;
        while Instant::now() < end {
            last = self.look().await.or(last);
        }
        format!("the point was not reached; last seen: {last:?}")
    }

    /// Answers until every turn has ended and nobody waits for anything.
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

    async fn look(&mut self) -> Option<Status> {
        tokio::time::sleep(LOOK).await;
        while let Some(done) = self.tasks.try_join_next() {
            match done.unwrap() {
                // Whoever gets no answer does not know whether there is a turn; the audit does.
                Done::Started(started) => self.started = started.ok(),
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
                self.tasks.spawn(async move {
                    let accept = json!({ "decision": "accept" });
                    let answer = AnswerRequest { answer: accept, by: Who::User, via: None };
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
    std::fs::copy(program(), &path).unwrap();
    path
}
