//! Programs of the user that are called in a turn: `hooks.turn_start` before it is sent, `hooks.turn_end` after it.
//!
//! A program is bounded in time and output and runs like the programs of notifications. One that fails never stops a turn: the
//! person reads why, once, until it works again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use talaria_core::hook::{HookCall, HookContext, HookMoment, LONGEST_ANSWER, LONGEST_CONTEXT, read_context};
use talaria_core::outcome::Report;
use talaria_guard::redact::redact;
use talaria_store::{SessionRow, TurnRow};

use crate::engine::Inner;
use crate::program::{Program, Ran, find};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(8);

/// Remembers what was reported.
#[derive(Default)]
pub(crate) struct HookDesk {
    /// The last failure of each hook, so that a person reads it once.
    reported: Mutex<HashMap<HookMoment, String>>,
}

impl HookDesk {
    /// Returns the note unless it is the last one about this hook; none clears it.
    fn report(&self, hook: HookMoment, note: Option<String>) -> Option<String> {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        match note {
            Some(note) => {
                let last = reported.insert(hook, note.clone());
                (last.as_ref() != Some(&note)).then_some(note)
            }
            None => {
                reported.remove(&hook);
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
        (context, self.hooks.report(hook, note.map(|note| warning(hook, &program, &note))))
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
        self.hooks.report(hook, failed.map(|why| warning(hook, &program, &why)))
    }
}

fn warning(hook: HookMoment, program: &str, note: &str) -> String {
    redact(&format!("hooks.{} ({program}): {note}", hook.name())).into_owned()
}

fn call(hook: HookMoment, row: &SessionRow, turn: &TurnRow, report: Option<&Report>) -> HookCall {
    HookCall {
        hook,
        session: row.id.to_string(),
        turn: turn.ordinal,
        cwd: row.cwd.clone(),
        prompt: turn.input_text.clone(),
        outcome: report.map(|report| report.outcome.word()),
        answer: report.and_then(|report| report.text.clone()),
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
