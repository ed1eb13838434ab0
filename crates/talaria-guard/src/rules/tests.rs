//! Promises of the policy: a line and rules in, a verdict out.

mod floor;
mod hazards;
mod properties;
mod proposals;
mod spellings;
mod verdicts;

use super::*;
use crate::shell;

const GROUND: Ground<'_> = Ground { cwd: Some("/home/dev/work"), home: Some("/home/dev"), talaria: None };

fn rules(allow: &[&str], deny: &[&str]) -> Rules {
    Rules {
        allow: allow.iter().map(|text| Rule::allow(text, RuleReach::Inside).unwrap()).collect(),
        deny: deny.iter().map(|text| Rule::deny(text).unwrap()).collect(),
        are_incomplete: false,
    }
}

fn judge(rules: &Rules, line: &str) -> Verdict {
    rules.judge(&RuleSubject::Command { line: &CommandText::new(line), ground: GROUND }, Place::Inside)
}

/// As Codex sends it.
fn in_shell(line: &str) -> String {
    format!("/bin/bash -lc '{}'", line.replace('\'', r"'\''"))
}

fn shown(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Forbidden { by, why } => format!("forbidden by {by}: {why}"),
        Verdict::Allowed { by } => format!("allowed by {by}"),
        Verdict::Ask { doubt: None } => "ask".to_owned(),
        Verdict::Ask { doubt: Some(doubt) } => format!("ask: {doubt}"),
    }
}

/// The verdict on each line, as Codex sends it.
fn verdicts(rules: &Rules, lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n    {}\n", shown(&judge(rules, &in_shell(line))))).collect()
}
