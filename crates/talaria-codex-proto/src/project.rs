//! Converts Codex's shapes into our vocabulary. The only place where the two meet. Questions are in `ask`, their subjects in
//! `subject`.

use serde_json::Value;

use crate::power::InForce;
use crate::wire::call::ThreadStartReply;
use crate::wire::notification::{self, ThreadSettings, Tokens, WirePlanStep, WireRateLimits};
use talaria_core::event::{PlanStatus, PlanStep, RateLimits, RateWindow, Started, Usage};

mod ask;
mod form;
mod item;
mod permissions;
mod subject;

pub use ask::ask;
pub use item::{file_change, item};
pub use subject::{binding, subject};

/// Converts the steps of a plan.
pub fn plan(steps: Vec<WirePlanStep>) -> Vec<PlanStep> {
    let convert = |step: WirePlanStep| {
        let status = match step.status.as_str() {
            "completed" => PlanStatus::Completed,
            "inProgress" => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        };
        PlanStep { step: step.step, status }
    };
    steps.into_iter().map(convert).collect()
}

/// Converts a count of tokens.
pub fn usage(tokens: Tokens) -> Usage {
    Usage {
        input: tokens.input_tokens,
        cached: tokens.cached_input_tokens,
        output: tokens.output_tokens,
        reasoning: tokens.reasoning_output_tokens,
        total: tokens.total_tokens,
        partial: false,
    }
}

/// Converts what Codex says about the account's limits.
pub fn rate_limits(wire: WireRateLimits) -> RateLimits {
    let window = |wire: notification::RateLimitWindow| RateWindow {
        used_percent: wire.used_percent,
        minutes: wire.window_duration_mins,
        resets_at: wire.resets_at,
    };
    RateLimits {
        primary: wire.primary.map(window),
        secondary: wire.secondary.map(window),
        plan: wire.plan_type,
        reached: wire.rate_limit_reached_type,
    }
}

/// The words for sandbox and approval policy of what is in force.
pub fn in_force(settings: &ThreadSettings) -> (String, String) {
    (sandbox_word(&settings.sandbox_policy), approval_word(&settings.approval_policy))
}

/// Converts the answer to `thread/start`.
pub fn started(reply: ThreadStartReply, codex: String) -> Started {
    let sandbox = InForce::of(&reply).sandbox;
    Started {
        network: sandbox.known_network(),
        writable_roots: sandbox.known_roots(&reply.cwd),
        thread: reply.thread.id,
        path: reply.thread.path,
        cwd: reply.cwd,
        model: reply.model,
        provider: reply.model_provider,
        effort: reply.reasoning_effort,
        sandbox: sandbox_word(&reply.sandbox),
        approval: approval_word(&reply.approval_policy),
        codex,
    }
}

/// The word for a sandbox as people type it: Codex answers `workspaceWrite` where it was asked for `workspace-write`.
fn sandbox_word(sandbox: &Value) -> String {
    match sandbox.get("type").and_then(Value::as_str) {
        Some("readOnly") => "read-only".to_owned(),
        Some("workspaceWrite") => "workspace-write".to_owned(),
        Some("dangerFullAccess") => "danger-full-access".to_owned(),
        Some(other) => other.to_owned(),
        None => sandbox.to_string(),
    }
}

/// The word for an approval policy: it is a word, or an object with one key that is the word.
pub fn approval_word(policy: &Value) -> String {
    let key = policy.as_object().and_then(|object| object.keys().next());
    policy.as_str().or(key.map(String::as_str)).map_or_else(|| policy.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_in_force_is_told_in_the_words_that_people_type() {
        let reply = |sandbox: Value, approval: Value| {
            let reply = json!({ "thread": { "id": "t", "path": "/r.jsonl" }, "cwd": "/w", "model": "m",
                                "modelProvider": "p", "sandbox": sandbox, "approvalPolicy": approval });
            let started = started(serde_json::from_value(reply).unwrap(), "0.166.0".to_owned());
            format!("{} / {}", started.sandbox, started.approval)
        };
        let mut table = Vec::new();
        for sandbox in ["readOnly", "workspaceWrite", "dangerFullAccess", "levitating"] {
            table.push(reply(json!({ "type": sandbox }), json!("on-request")));
        }
        table.push(reply(json!("strange"), json!({ "granular": { "rules": true } })));
        table.push(reply(json!(null), json!(null)));
        expect![[r#"
            read-only / on-request
            workspace-write / on-request
            danger-full-access / on-request
            levitating / on-request
            "strange" / granular
            null / null"#]]
        .assert_eq(&table.join("\n"));
    }
}
