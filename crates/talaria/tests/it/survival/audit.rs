//! The audit: compares the store with the records of Codex and its model. Every count must be 0.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::database::{self, TurnRow};
use super::fault::Strike;
use super::lane::Lane;
use super::play::Played;

/// Counters of violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Unaccounted,
    Duplicated,
    AnswerLost,
    Orphaned,
    Leaked,
    FalseOutcome,
    NotSent,
    WordsLost,
    RunAlone,
    FalseCall,
    FalseReview,
    EffectDoubled,
    ResultLost,
    OtherBytes,
}

pub(crate) const WRONGS: [(Wrong, &str); 14] = [
    (Wrong::Unaccounted, "turns unaccounted for"),
    (Wrong::Duplicated, "turns duplicated"),
    (Wrong::AnswerLost, "answers lost"),
    (Wrong::Orphaned, "requests orphaned"),
    (Wrong::Leaked, "processes leaked"),
    (Wrong::FalseOutcome, "false outcomes"),
    (Wrong::NotSent, "unwritten, not sent"),
    (Wrong::WordsLost, "steers, follow-ups lost"),
    (Wrong::RunAlone, "follow-ups run alone"),
    (Wrong::FalseCall, "tool effects duplicated or falsely reported"),
    (Wrong::FalseReview, "reviews lost, repeated or falsely reported"),
    (Wrong::EffectDoubled, "effects doubled"),
    (Wrong::ResultLost, "results lost"),
    (Wrong::OtherBytes, "requests that changed"),
];

/// One thing that happened and must not.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) wrong: Wrong,
    pub(crate) what: String,
}

/// Records of Codex and its model about a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// How often it reached the model as something new.
    pub(crate) reached_model: usize,
    /// How often it is in the files of Codex.
    pub(crate) recorded: usize,
    /// Codex wrote down that its turn completed.
    pub(crate) completed: bool,
    /// How often the command ran that was asked about.
    pub(crate) ran: usize,
}

/// Looks at what a fault left.
pub(crate) async fn examine(lane: &Lane, played: &Played) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(trouble) = &played.trouble {
        found.push(Violation { wrong: Wrong::Unaccounted, what: trouble.clone() });
    }
    let mut requests = Vec::new();
    for prompt in &played.prompts {
        let turns = database::turns(&lane.database(), prompt).await;
        let evidence = evidence(lane, prompt);
        for (wrong, what) in faults_of_turn(played, prompt, &turns, evidence) {
            found.push(Violation { wrong, what: format!("{what}; {evidence:?}; {turns:?}") });
        }
        requests.extend(database::requests(&lane.database(), prompt).await);
    }
    for ticket in &played.acknowledged {
        let state = requests.iter().find(|row| row.id == ticket.as_str()).map(|row| row.state.as_str());
        if !matches!(state, Some("delivered" | "escrowed" | "undelivered" | "expired")) {
            let what = format!("an acknowledged answer, {ticket}, is {state:?}");
            found.push(Violation { wrong: Wrong::AnswerLost, what });
        }
    }
    let pending =
        requests.iter().filter(|row| matches!(row.state.as_str(), "open" | "answered" | "delivering"));
    found.extend(pending.map(|row| Violation { wrong: Wrong::Orphaned, what: format!("{row:?}") }));
    found
}

fn faults_of_turn(
    played: &Played,
    prompt: &String,
    turns: &[TurnRow],
    evidence: Evidence,
) -> Vec<(Wrong, String)> {
    let mut found = Vec::new();
    let mut add = |wrong, what: &str| found.push((wrong, what.to_owned()));
    match turns {
        [] if played.promised.contains(prompt) => add(Wrong::Unaccounted, "a promised turn is not there"),
        [] if evidence.reached_model + evidence.recorded > 0 => {
            add(Wrong::Unaccounted, "Codex has a turn that is not there");
        }
        [] => {}
        [turn] => match &turn.outcome {
            None => add(Wrong::Unaccounted, "a turn has no outcome"),
            Some(outcome) => {
                if let Some(what) = lie(played, prompt, outcome, turn, evidence) {
                    add(Wrong::FalseOutcome, what);
                }
                let fault = played.fault;
                let is_sent_later = fault.is_before_the_write() && fault.strike.ends_engine_alone();
                let is_meant = *prompt == played.prompts[0] && fault.skip == 0;
                if is_meant && is_sent_later && turn.code.as_deref() == Some("not_sent") {
                    add(Wrong::NotSent, "nothing was written, and the next engine did not send it");
                }
            }
        },
        _ => add(Wrong::Duplicated, "the turn is there more than once"),
    }
    if evidence.reached_model > 1 || evidence.recorded > 1 {
        add(Wrong::Duplicated, "the prompt was sent twice");
    }
    if evidence.ran > 1 {
        add(Wrong::Duplicated, "a command ran twice");
    }
    found
}

/// Says what is not true about an outcome.
fn lie(
    played: &Played,
    prompt: &String,
    outcome: &str,
    turn: &TurnRow,
    evidence: Evidence,
) -> Option<&'static str> {
    let strike = played.fault.strike;
    let was_seen = evidence.reached_model > 0 || evidence.recorded > 0;
    let what = match (outcome, turn.code.as_deref()) {
        ("completed", _) if !evidence.completed && !played.reported.contains(prompt) => {
            "completed, but Codex did not complete it"
        }
        ("completed", _) if evidence.ran == 0 => "completed without what was accepted",
        ("completed", _) => return None,
        ("failed", Some("not_sent")) if was_seen => "not sent, but Codex has it",
        ("failed", Some("not_sent")) if !strike.cuts_codex_off() => "not sent for no reason",
        ("failed", Some("not_sent")) => return None,
        ("lost", _) if evidence.completed => "lost, but Codex completed it",
        // A process that cannot be reached any more is ended, so that nothing continues after a turn that is called lost.
        ("lost", _) if strike == Strike::Cut && played.is_codex_alive => "lost, but Codex lives",
        ("lost", _) if !strike.ends_codex() && strike != Strike::Cut => "lost, but Codex never died",
        ("lost", _) => return None,
        _ => "nobody stopped it and the model did not fail",
    };
    Some(what)
}

/// Gathers what Codex and its model know.
pub(crate) fn evidence(lane: &Lane, prompt: &str) -> Evidence {
    let requests = lane.model.requests();
    let is_new =
        |request: &&talaria_scripted::ModelRequest| !request.is_after_tool() && request.prompt() == prompt;
    let mut evidence = Evidence {
        reached_model: requests.iter().filter(is_new).count(),
        ran: fs::read_to_string(lane.work().join(prompt)).unwrap_or_default().lines().count(),
        ..Evidence::default()
    };
    for file in files(&lane.codex_home.path().join("sessions")) {
        let text = fs::read_to_string(file).unwrap_or_default();
        look_through(&text, prompt, &mut evidence);
    }
    evidence
}

/// Looks through the file of one thread.
fn look_through(text: &str, prompt: &str, evidence: &mut Evidence) {
    let mut is_ours = false;
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let payload = &line["payload"];
        match (line["type"].as_str(), payload["type"].as_str()) {
            (Some("response_item"), Some("message")) if payload["role"] == "user" => {
                let is_said = payload["content"][0]["text"] == prompt;
                is_ours |= is_said;
                evidence.recorded += usize::from(is_said);
            }
            (Some("event_msg"), Some("task_started")) => is_ours = false,
            (Some("event_msg"), Some("task_complete")) if is_ours => evidence.completed = true,
            _ => {}
        }
    }
}

/// The tool results that the stand-in received in turns with this prompt; the real Codex passes them to its
/// model.
pub(crate) fn results_in_files(lane: &Lane, prompt: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in files(&lane.codex_home.path().join("sessions")) {
        let mut is_ours = false;
        for line in fs::read_to_string(file).unwrap_or_default().lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let payload = &line["payload"];
            is_ours = is_ours && payload["type"] != "task_started" || payload["content"][0]["text"] == prompt;
            let item = &payload["item"];
            if is_ours && payload["type"] == "item_completed" && item["type"] == "dynamicToolCall" {
                found.extend(item["contentItems"][0]["text"].as_str().map(str::to_owned));
            }
        }
    }
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
    found
}

/// Counts over all faults.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) faults: usize,
    pub(crate) on_real: usize,
    pub(crate) outcomes: std::collections::BTreeMap<String, usize>,
    pub(crate) violations: Vec<(String, Violation)>,
    /// What happened at all, one line for each fault.
    pub(crate) lines: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.faults += other.faults;
        self.on_real += other.on_real;
        self.violations.extend(other.violations);
        self.lines.extend(other.lines);
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
    }

    fn count(&self, wrong: Wrong) -> usize {
        self.violations.iter().filter(|(_, violation)| violation.wrong == wrong).count()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<24}{:>6}", "faults injected", self.faults)?;
        writeln!(f, "{:<24}{:>6}", "  on the real Codex", self.on_real)?;
        for (wrong, words) in WRONGS {
            writeln!(f, "{words:<24}{:>6}", self.count(wrong))?;
        }
        for (outcome, count) in &self.outcomes {
            writeln!(f, "{:<24}{count:>6}", format!("  {outcome}"))?;
        }
        Ok(())
    }
}
