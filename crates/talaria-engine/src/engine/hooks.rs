//! Programs of the user that are called in a turn: `hooks.turn_start` before it is sent, `hooks.turn_end` after it, and
//! `hooks.tool_call` before a call of Talaria's own tools runs and before a person is asked about a command, a patch or a tool.
//!
//! A program is bounded in time and output and runs like the programs of notifications. One that fails never stops a turn: the
//! person reads why, once, until it works again. A failure of `tool_call` decides nothing: a person does.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use talaria_codex::conversation::{Command, RequestHook};
use talaria_core::config::ConfigProblem;
use talaria_core::event::Event;
use talaria_core::hook::{
    HookCall, HookContext, HookMoment, HookVerdict, HookedCall, LONGEST_ANSWER, LONGEST_CONTEXT,
    read_context, read_verdict,
};
use talaria_core::ids::SessionId;
use talaria_core::outcome::Report;
use talaria_guard::redact::redact;
use talaria_store::{SessionRow, TurnRow};

use crate::engine::Inner;
use crate::program::{Program, Ran, find};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(8);

/// How many failures are remembered; beyond that one may be shown again.
const REMEMBERED: usize = 1_000;

/// Remembers what was reported.
#[derive(Default)]
pub(crate) struct HookDesk {
    /// The last failure of each hook, so that a person reads it once; of `tool_call`, in each conversation.
    reported: Mutex<HashMap<(HookMoment, Option<SessionId>), String>>,
}

/// Where `tool_call` is asked.
#[derive(Clone, Copy)]
pub(crate) enum HookScene<'a> {
    /// In the running turn of a conversation.
    Session(&'a SessionId),
    /// Outside of any conversation.
    Outside,
}

impl HookDesk {
    /// Returns the note unless it is the last one about this hook, in this conversation if one is named; none clears it.
    fn report(&self, hook: HookMoment, session: Option<&SessionId>, note: Option<String>) -> Option<String> {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (hook, session.cloned());
        match note {
            Some(note) => {
                if reported.len() >= REMEMBERED {
                    reported.clear();
                }
                let last = reported.insert(key, note.clone());
                (last.as_ref() != Some(&note)).then_some(note)
            }
            None => {
                reported.remove(&key);
                None
            }
        }
    }
}

impl Inner {
    /// Calls the program of `hooks.turn_start`; returns the context for the turn and what a person should know.
    pub(crate) async fn run_turn_start(
        &self,
        row: &SessionRow,
        turn: &TurnRow,
    ) -> (Option<String>, Option<String>) {
        let hook = HookMoment::TurnStart;
        let Some(program) = self.config().hooks.turn_start else { return (None, None) };
        let answered = run(&program, &call(hook, row, turn, None)).await;
        let read = answered.and_then(|output| read_context(&output).map_err(|error| error.to_string()));
        let (context, note) = match read {
            Ok(HookContext { text, is_cut: true }) => {
                (text, Some(format!("its context was cut to {LONGEST_CONTEXT} characters")))
            }
            Ok(HookContext { text, is_cut: false }) => (text, None),
            Err(why) => (None, Some(format!("{why}; the turn starts without its context"))),
        };
        (context, self.hooks.report(hook, None, note.map(|note| warning(hook, &program, &note))))
    }

    /// Calls the program of `hooks.turn_end`; returns what a person should know.
    pub(crate) async fn run_turn_end(
        &self,
        row: &SessionRow,
        turn: &TurnRow,
        report: &Report,
    ) -> Option<String> {
        let hook = HookMoment::TurnEnd;
        let program = self.config().hooks.turn_end?;
        let failed = run(&program, &call(hook, row, turn, Some(report))).await.err();
        self.hooks.report(hook, None, failed.map(|why| warning(hook, &program, &why)))
    }
}

impl Inner {
    /// What asks the program of `hooks.tool_call` about the requests of a conversation.
    pub(crate) fn request_hook(self: &Arc<Self>, session: &SessionId) -> RequestHook {
        let (engine, session) = (Arc::clone(self), session.clone());
        RequestHook::new(move |call| {
            let (engine, session) = (Arc::clone(&engine), session.clone());
            Box::pin(async move { engine.consult_hook(HookScene::Session(&session), call).await })
        })
    }

    /// Is there a program for calls? A configuration that cannot be read may have one.
    pub(crate) fn has_call_hook(&self) -> bool {
        !matches!(self.call_hook(), Ok(None))
    }

    fn call_hook(&self) -> Result<Option<String>, String> {
        let is_in_doubt = |problem: &ConfigProblem| {
            problem.is_error() && problem.key.as_deref().is_none_or(|key| key.starts_with("hooks"))
        };
        match self.home.load_config() {
            Ok((config, problems)) if !problems.iter().any(is_in_doubt) => Ok(config.hooks.tool_call),
            _ => Err("the configuration cannot be read; `talaria doctor` names the error".to_owned()),
        }
    }

    /// Asks the program of `hooks.tool_call`. One that fails leaves it to a person, who reads why once in a conversation.
    pub(crate) async fn consult_hook(&self, scene: HookScene<'_>, call: HookedCall) -> HookVerdict {
        let hook = HookMoment::ToolCall;
        let (session, program) = match (scene, self.call_hook()) {
            (_, Ok(None)) => return HookVerdict::NoOpinion,
            (HookScene::Session(session), program) => (Some(session), program),
            (HookScene::Outside, program) => (None, program),
        };
        let name = program.clone().ok().flatten().unwrap_or_default();
        let asked = async {
            let Some(program) = program? else { return Ok(HookVerdict::NoOpinion) };
            let output = run(&program, &self.tool_hook_call(session, call).await?).await?;
            read_verdict(&output).map_err(|error| error.to_string())
        };
        let (verdict, note) = match asked.await {
            Ok(verdict) => (verdict, None),
            Err(why) => {
                let verdict = HookVerdict::Ask { reason: Some(format!("the program failed: {why}")) };
                (verdict, Some(warning(hook, &name, &format!("{why}; a person decides instead"))))
            }
        };
        if let (Some(message), Some(session)) = (self.hooks.report(hook, session, note), session) {
            self.desk.tell(session, Command::Report { event: Box::new(Event::Warning { message }) });
        }
        verdict
    }

    async fn tool_hook_call(
        &self,
        session: Option<&SessionId>,
        asked: HookedCall,
    ) -> Result<HookCall, String> {
        let unread = |error: talaria_store::StoreError| format!("the conversation cannot be read: {error}");
        let (row, turn) = match session {
            Some(session) => {
                let store = &self.shelf.store;
                let row = store.session(session).await.map_err(unread)?;
                (row, store.next_unsettled(session).await.map_err(unread)?)
            }
            None => (None, None),
        };
        Ok(HookCall {
            hook: HookMoment::ToolCall,
            session: row.as_ref().map(|row| row.id.to_string()),
            turn: turn.as_ref().map(|turn| turn.ordinal),
            cwd: row.map(|row| row.cwd),
            prompt: turn.map(|turn| turn.input_text),
            outcome: None,
            answer: None,
            call: Some(asked),
        })
    }
}

fn warning(hook: HookMoment, program: &str, note: &str) -> String {
    redact(&format!("hooks.{} ({program}): {note}", hook.name())).into_owned()
}

fn call(hook: HookMoment, row: &SessionRow, turn: &TurnRow, report: Option<&Report>) -> HookCall {
    HookCall {
        hook,
        session: Some(row.id.to_string()),
        turn: Some(turn.ordinal),
        cwd: Some(row.cwd.clone()),
        prompt: Some(turn.input_text.clone()),
        outcome: report.map(|report| report.outcome.word()),
        answer: report.and_then(|report| report.text.clone()),
        call: None,
    }
}

/// Runs a program; returns what it wrote, or why that is not known.
async fn run(program: &str, call: &HookCall) -> Result<Vec<u8>, String> {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let path = find(program, &environment).ok_or_else(|| "there is no such program".to_owned())?;
    let input = serde_json::to_string(call).map_err(|error| error.to_string())?;
    let ran = Program {
        path: &path,
        arguments: Vec::new(),
        environment: &environment,
        input: &input,
        limit: LIMIT,
        reads: Some(LONGEST_ANSWER),
    };
    match ran.run().await {
        Ran::Ended { status, output, .. } if status.success() => Ok(output),
        Ran::Ended { status, said, .. } => {
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
            Err(format!("it ended with {status}{last}"))
        }
        Ran::TooSlow => Err(format!("it took longer than {} s", LIMIT.as_secs())),
        Ran::NotStarted(why) => Err(format!("it cannot be started: {why}")),
    }
}
