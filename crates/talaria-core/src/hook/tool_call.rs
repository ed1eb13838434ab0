//! The hook `tool_call`, as data: what its program reads about a call, what it answers, and what the answer may do.
//!
//! Pure. An `allow` never reaches further than a person's own rules: what floor and deny rules could not see in full, and what
//! the program itself was not shown in full, stays a person's question. Called by the turn machine for requests of a runtime,
//! and by the engine for calls of its own tools.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use talaria_guard::place::Place;
use talaria_guard::redact::redact;

use super::{HookAnswerError, parse_answer};
use crate::request::Ask;

/// The longest text in a call that a program reads, in characters.
const LONGEST_TEXT: usize = 16_000;
/// The largest call that a program reads, in bytes of JSON.
const LONGEST_INPUT: usize = 256 * 1024;
/// The longest reason that is shown and sent to the model, in characters.
const LONGEST_REASON: usize = 500;

/// What a program decides about. Secrets are masked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HookedCall {
    /// `command`, `patch`, `mcp_tool`, or the name of a tool of Talaria's.
    pub tool: String,
    /// The command, the changes, the arguments.
    pub input: Value,
    /// Where it would happen, as far as that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Something was too long and was left out: the program cannot allow what it has not read.
    pub is_cut: bool,
}

impl HookedCall {
    /// A call of a tool.
    pub fn new(tool: &str, input: &Value) -> Self {
        let mut is_cut = false;
        let mut input = bound(input, &mut is_cut);
        if serde_json::to_string(&input).map_or(true, |json| json.len() > LONGEST_INPUT) {
            (input, is_cut) = (Value::Null, true);
        }
        Self { tool: tool.to_owned(), input, place: None, is_cut }
    }

    /// A request about a command, a patch or a tool of an MCP server, `name` if that is certain. None for every other request.
    pub fn of_request(ask: &Ask, name: Option<&str>, place: Option<Place>) -> Option<Self> {
        let (tool, input) = match ask {
            Ask::Command { command, cwd, reason, permissions, .. } => {
                let input =
                    json!({ "command": command, "cwd": cwd, "reason": reason, "permissions": permissions });
                ("command", input)
            }
            Ask::Patch { changes: Some(changes), reason, grant_root, .. } => {
                ("patch", json!({ "changes": changes, "reason": reason, "grant_root": grant_root }))
            }
            Ask::Tool { server, message, arguments, .. } => {
                let parsed: Option<Value> =
                    arguments.as_deref().and_then(|json| serde_json::from_str(json).ok());
                let input =
                    json!({ "server": server, "tool": name, "message": message, "arguments": parsed });
                ("mcp_tool", input)
            }
            _ => return None,
        };
        Some(Self { place, ..Self::new(tool, &without_nulls(input)) })
    }
}

fn without_nulls(input: Value) -> Value {
    match input {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    }
}

/// Masks secrets in every text and cuts the long ones. Masked first: half a secret is not recognised.
fn bound(value: &Value, is_cut: &mut bool) -> Value {
    match value {
        Value::String(text) => {
            let text = redact(text);
            let short: String = text.chars().take(LONGEST_TEXT).collect();
            *is_cut |= short.len() < text.len();
            Value::String(short)
        }
        Value::Array(items) => items.iter().map(|item| bound(item, is_cut)).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| (redact(name).into_owned(), bound(value, is_cut));
            Value::Object(fields.iter().map(field).collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}

/// What a program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookVerdict {
    /// It may happen.
    Allow {
        /// Why.
        reason: Option<String>,
    },
    /// It must not happen.
    Deny {
        /// Why.
        reason: Option<String>,
    },
    /// A person decides.
    Ask {
        /// Why.
        reason: Option<String>,
    },
    /// The program has nothing to say: it is decided as if there were none.
    NoOpinion,
}

/// What an answer may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookRuling {
    /// It happens.
    Accept {
        /// Shown with the decision.
        why: String,
    },
    /// It does not happen.
    Decline {
        /// Shown with the decision, and sent to the model.
        why: String,
    },
    /// A person decides.
    Ask {
        /// Shown with the question.
        why: Option<String>,
    },
    /// It is decided as if there were no program.
    Undecided,
}

impl HookVerdict {
    /// Says what the answer may do. `is_only_for_people`: floor or deny rules could not see it in full.
    pub fn rule(self, is_cut: bool, is_only_for_people: bool) -> HookRuling {
        let named = |reason: Option<String>| match reason {
            Some(reason) => format!("hooks.tool_call: {reason}"),
            None => "hooks.tool_call".to_owned(),
        };
        match self {
            Self::Allow { .. } if is_cut => HookRuling::Ask {
                why: Some(
                    "hooks.tool_call allows it, but it is too long for the program to read whole".to_owned(),
                ),
            },
            Self::Allow { .. } if is_only_for_people => HookRuling::Ask {
                why: Some("hooks.tool_call allows it, but your rules cannot see all of it".to_owned()),
            },
            Self::Allow { reason } => HookRuling::Accept { why: named(reason) },
            Self::Deny { reason } => HookRuling::Decline { why: named(reason) },
            Self::Ask { reason } => HookRuling::Ask { why: reason.map(|reason| named(Some(reason))) },
            Self::NoOpinion => HookRuling::Undecided,
        }
    }
}

/// Reads what a program answered about a call. No output is no opinion.
pub fn read_verdict(output: &[u8]) -> Result<HookVerdict, HookAnswerError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        Allow,
        Deny,
        Ask,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Answer {
        decision: Word,
        #[serde(default)]
        reason: Option<String>,
    }
    let expected = r#"{"decision": "allow", "deny" or "ask", "reason": "text"}"#;
    let Some(Answer { decision, reason }) = parse_answer(output, expected)? else {
        return Ok(HookVerdict::NoOpinion);
    };
    let reason = reason.map(|reason| redact(reason.trim()).chars().take(LONGEST_REASON).collect::<String>());
    let reason = reason.filter(|reason| !reason.is_empty());
    Ok(match decision {
        Word::Allow => HookVerdict::Allow { reason },
        Word::Deny => HookVerdict::Deny { reason },
        Word::Ask => HookVerdict::Ask { reason },
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::ids::{ItemId, ThreadId};

    const SECRET: &str = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";

    #[test]
    fn an_answer_is_a_decision_or_nothing_or_the_reason() {
        let answers = [
            "",
            r#"{"decision":"allow"}"#,
            r#"{"decision":"deny","reason":" not on Fridays "}"#,
            r#"{"decision":"ask","reason":""}"#,
            "{}",
            r#"{"decision":"yes"}"#,
            r#"{"decision":"allow","also":1}"#,
            "allow",
        ];
        let line = |answer: &str| match read_verdict(answer.as_bytes()) {
            Ok(verdict) => format!("{verdict:?}"),
            Err(error) => error.to_string(),
        };
        expect![[r#"
            NoOpinion
            Allow { reason: None }
            Deny { reason: Some("not on Fridays") }
            Ask { reason: None }
            its answer is not {"decision": "allow", "deny" or "ask", "reason": "text"}: missing field `decision` at line 1 column 2
            its answer is not {"decision": "allow", "deny" or "ask", "reason": "text"}: unknown variant `yes`, expected one of `allow`, `deny`, `ask` at line 1 column 17
            its answer is not {"decision": "allow", "deny" or "ask", "reason": "text"}: unknown field `also`, expected `decision` or `reason` at line 1 column 26
            its answer is not {"decision": "allow", "deny" or "ask", "reason": "text"}: expected value at line 1 column 1"#]].assert_eq(&answers.map(line).join("\n"));
    }

    #[test]
    fn an_allow_accepts_only_what_rules_and_program_have_seen_whole() {
        let allow = || HookVerdict::Allow { reason: None };
        assert!(matches!(allow().rule(false, false), HookRuling::Accept { .. }));
        assert!(matches!(allow().rule(true, false), HookRuling::Ask { why: Some(_) }));
        assert!(matches!(allow().rule(false, true), HookRuling::Ask { why: Some(_) }));
        let deny = || HookVerdict::Deny { reason: Some("no".to_owned()) };
        for (is_cut, is_only_for_people) in [(false, false), (true, false), (false, true), (true, true)] {
            let why = "hooks.tool_call: no".to_owned();
            assert_eq!(deny().rule(is_cut, is_only_for_people), HookRuling::Decline { why });
        }
        assert_eq!(HookVerdict::NoOpinion.rule(false, false), HookRuling::Undecided);
    }

    #[test]
    fn a_program_reads_masked_and_bounded_texts() {
        let long = format!("{SECRET} {}", "ä".repeat(LONGEST_TEXT));
        let call = HookedCall::new("talaria_memory", &json!({ "text": long, "list": [SECRET] }));
        let text = call.input["text"].as_str().unwrap();
        assert!(call.is_cut && text.chars().count() == LONGEST_TEXT);
        assert!(!serde_json::to_string(&call).unwrap().contains(SECRET));
        let many: Vec<String> = (0..30).map(|_| "x".repeat(LONGEST_TEXT)).collect();
        let call = HookedCall::new("talaria_memory", &json!(many));
        assert_eq!((call.input, call.is_cut), (Value::Null, true));
        assert!(!HookedCall::new("talaria_recall", &json!({ "query": "cache" })).is_cut);
    }

    #[test]
    fn a_request_is_read_as_what_would_happen() {
        let ask = Ask::Command {
            thread: ThreadId::new("t"),
            item: ItemId::new("i"),
            approval: None,
            command: format!("curl -H 'Authorization: Bearer {SECRET}' host"),
            actions: Vec::new(),
            cwd: Some("/w".to_owned()),
            reason: None,
            permissions: None,
            always: None,
            asked_because: None,
        };
        let call = HookedCall::of_request(&ask, None, Some(Place::Outside)).unwrap();
        let json = serde_json::to_string(&call).unwrap();
        assert!(!json.contains(SECRET), "{json}");
        assert!(json.starts_with(r#"{"tool":"command","input":{"command":"curl"#), "{json}");
        assert!(json.ends_with(r#""place":"outside","is_cut":false}"#), "{json}");
        let unknown = Ask::Patch {
            thread: ThreadId::new("t"),
            item: ItemId::new("i"),
            changes: None,
            reason: None,
            grant_root: None,
        };
        assert_eq!(HookedCall::of_request(&unknown, None, None), None, "what is not known cannot be judged");
    }
}
