//! The answer to a request of Codex, as passed on by a model: composed once the question is known.
//!
//! No error repeats what was given, because it may be a secret.

use serde_json::{Map, Value};

use super::Mistake;
use super::arguments::Arguments;
use crate::request::{Answer, Ask, Decision, Typed, Unfit, compose};

/// An answer, before its question is known.
#[derive(Debug)]
pub struct Response {
    decision: Option<Decision>,
    reason: Option<String>,
    answers: Option<Map<String, Value>>,
    content: Option<Map<String, Value>>,
}

impl Response {
    pub(super) fn read(given: &Arguments) -> Result<Self, Mistake> {
        let decision = given.text("decision").map(|word| match word.as_str() {
            "accept" => Decision::Accept,
            "acceptForSession" => Decision::AcceptForSession,
            "cancel" => Decision::Cancel,
            _ => Decision::Decline,
        });
        let (answers, content) = (given.object("answers"), given.object("content"));
        if answers.is_some() && content.is_some() {
            return Err(Mistake::new("answers and content do not go together")
                .try_this("answers is for questions of Codex, content for forms and permissions"));
        }
        Ok(Self { decision, reason: given.text("reason"), answers, content })
    }

    /// Makes the answer to this question.
    pub fn to(self, ask: Option<&Ask>) -> Result<Answer, Mistake> {
        let Self { decision, reason, answers, content } = self;
        let brings_something = answers.is_some() || content.is_some();
        let usual = if brings_something { Decision::Accept } else { Decision::Decline };
        let mut decision = decision.unwrap_or(usual);
        let given = match (answers, content, ask) {
            (Some(answers), _, _) => Some(answers.into_iter().map(|(id, value)| (id, bare(value))).collect()),
            (None, Some(content), Some(Ask::Permissions { .. })) => grant(content, &mut decision)?,
            (None, content, _) => content,
        };
        let typed = Typed { decision, reason, answers: given.map(Value::Object) };
        compose(ask, typed).map_err(|unfit| mistake(ask, &unfit))
    }
}

/// An answer may be written as Codex has it: `{"answers": [...]}`.
fn bare(value: Value) -> Value {
    match value {
        Value::Object(mut wrapped) if wrapped.len() == 1 && wrapped.contains_key("answers") => {
            wrapped.remove("answers").unwrap_or_default()
        }
        value => value,
    }
}

/// Takes the scope out of a grant: how long it lasts is a matter of the decision.
fn grant(
    mut content: Map<String, Value>,
    decision: &mut Decision,
) -> Result<Option<Map<String, Value>>, Mistake> {
    match content.remove("scope").as_ref().map(Value::as_str) {
        None => {}
        Some(Some("turn")) if *decision == Decision::Accept => {}
        Some(Some("session")) if decision.is_yes() => *decision = Decision::AcceptForSession,
        Some(Some("turn" | "session")) => {
            return Err(Mistake::new("the scope contradicts the decision")
                .try_this("accept lasts for the turn, acceptForSession for the session"));
        }
        Some(_) => return Err(Mistake::new("scope is not known; allowed: turn, session")),
    }
    Ok((!content.is_empty()).then_some(content))
}

fn mistake(ask: Option<&Ask>, unfit: &Unfit) -> Mistake {
    let mistake = Mistake::new(unfit.to_string());
    match unfit {
        Unfit::NotOffered(offered) => {
            let offered: Vec<&str> = offered.iter().filter_map(|choice| word(*choice)).collect();
            mistake.try_this(format!("offered: {}", offered.join(", ")))
        }
        Unfit::Reason => mistake.try_this("leave reason out, or decline"),
        Unfit::Answers => mistake.try_this("leave answers and content out, or accept"),
        _ => match ask {
            Some(Ask::Input { .. }) => mistake.try_this("write answers: {\"question id\": [\"answer\"]}"),
            Some(Ask::Elicitation { .. }) => mistake.try_this("write content: {\"field\": value}"),
            Some(Ask::Permissions { .. }) => {
                mistake.try_this("write content: {\"grant\": \"network\", \"scope\": \"turn\"}")
            }
            _ => mistake.try_this("give a decision and nothing else"),
        },
    }
}

/// A decision in the tool's words; none for one that the tool does not support.
pub(super) fn word(decision: Decision) -> Option<&'static str> {
    match decision {
        Decision::Accept => Some("accept"),
        Decision::AcceptForSession => Some("acceptForSession"),
        Decision::Decline => Some("decline"),
        Decision::Cancel => Some("cancel"),
        Decision::AcceptAlways | Decision::Void => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bridge::BridgeCall;
    use crate::request::samples::{command, form, permissions, questions};

    fn respond(more: Value) -> Result<Response, Mistake> {
        let mut written = json!({ "action": "respond", "request_id": "req-1" });
        written.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match BridgeCall::read(written.as_object().unwrap())?.0 {
            BridgeCall::Respond { response, .. } => Ok(response),
            other => panic!("{other:?}"),
        }
    }

    fn answer(ask: &Ask, more: Value) -> Result<Value, Mistake> {
        Ok(respond(more)?.to(Some(ask))?.revealed())
    }

    #[test]
    fn each_kind_of_request_gets_its_own_shape() {
        assert_eq!(answer(&command(), json!({ "decision": "accept" })).unwrap()["decision"], "accept");
        assert_eq!(answer(&command(), json!({})).unwrap()["decision"], "decline");
        let session = answer(&command(), json!({ "decision": "acceptForSession" })).unwrap();
        assert_eq!(session["decision"], "accept_for_session");
        for answers in [
            json!({ "colour": ["Red"], "pin": ["1"] }),
            json!({ "colour": "red", "pin": "1" }),
            json!({ "colour": { "answers": ["Red"] }, "pin": { "answers": ["1"] } }),
        ] {
            let made = answer(&questions(), json!({ "answers": answers })).unwrap();
            assert_eq!(
                (&made["decision"], &made["content"]["given"]["colour"]),
                (&"accept".into(), &json!(["Red"]))
            );
        }
        let made = answer(&form(), json!({ "content": { "user": "ada", "password": "p" } })).unwrap();
        assert_eq!(made["content"]["given"], json!({ "user": "ada", "password": { "secret": "p" } }));
        let content = json!({ "grant": "network", "scope": "session" });
        let made = answer(&permissions(), json!({ "content": content })).unwrap();
        assert_eq!(
            (&made["decision"], &made["content"]["given"]),
            (&"accept_for_session".into(), &"network".into())
        );
        let made = answer(&permissions(), json!({ "content": { "scope": "turn" } })).unwrap();
        assert_eq!((&made["decision"], &made["content"]["kind"]), (&"accept".into(), &"nothing".into()));
        let made = answer(&permissions(), json!({ "decision": "decline", "reason": "no" })).unwrap();
        assert_eq!(made["reason"], "no");
    }

    #[test]
    fn a_cancel_of_a_model_is_a_no_that_stops() {
        for (word, decision) in [
            ("accept", Decision::Accept),
            ("acceptForSession", Decision::AcceptForSession),
            ("decline", Decision::Decline),
            ("cancel", Decision::Cancel),
        ] {
            let made = respond(json!({ "decision": word })).unwrap().to(Some(&command())).unwrap();
            assert_eq!(made.decision, decision, "{word}");
            assert_eq!(super::word(decision), Some(word));
        }
        for ask in [questions(), form(), permissions()] {
            assert_eq!(answer(&ask, json!({ "decision": "cancel" })).unwrap()["decision"], "cancel");
        }
    }

    #[test]
    fn each_mistake_has_its_own_hint() {
        let hints: Vec<String> = [
            (command(), json!({ "decision": "accept", "answers": { "q": ["x"] } })),
            (command(), json!({ "decision": "decline", "answers": { "q": ["x"] } })),
            (command(), json!({ "decision": "accept", "reason": "x" })),
            (command(), json!({ "answers": {}, "content": {} })),
            (questions(), json!({ "decision": "accept" })),
            (
                questions(),
                json!({ "decision": "acceptForSession", "answers": { "colour": ["Red"], "pin": ["1"] } }),
            ),
            (form(), json!({ "content": { "user": "x" } })),
            (permissions(), json!({ "content": { "grant": "x" } })),
            (permissions(), json!({ "decision": "acceptForSession", "content": { "scope": "turn" } })),
        ]
        .into_iter()
        .map(|(ask, more)| {
            let mistake = answer(&ask, more.clone()).expect_err(&more.to_string());
            format!("{} / {}", mistake.message, mistake.hint.unwrap_or_default())
        })
        .collect();
        expect_test::expect![[r#"
            this request takes no answers, only a decision / give a decision and nothing else
            answers go with a yes / leave answers and content out, or accept
            a reason says why not: it goes with a no / leave reason out, or decline
            answers and content do not go together / answers is for questions of Codex, content for forms and permissions
            the answer does not fit the request: the answer does not bring what was asked for / write answers: {"question id": ["answer"]}
            this is not offered for the request / offered: accept, decline, cancel
            the answer does not fit the request: the field "password" does not fit: this must be filled in / write content: {"field": value}
            a grant is "all", "network" or "files" / write content: {"grant": "network", "scope": "turn"}
            the scope contradicts the decision / accept lasts for the turn, acceptForSession for the session"#]].assert_eq(&hints.join("\n"));
    }

    #[test]
    fn what_does_not_fit_is_refused_without_repeating_it() {
        let cases = [
            (command(), json!({ "decision": "accept", "answers": { "q": ["hunter2"] } })),
            (questions(), json!({ "decision": "accept" })),
            (questions(), json!({ "answers": { "colour": ["hunter2"], "pin": ["x"] } })),
            (questions(), json!({ "answers": { "colour": [7], "pin": ["x"] } })),
            (form(), json!({ "content": { "user": "hunter2" } })),
            (form(), json!({ "decision": "decline", "content": { "user": "hunter2" } })),
            (permissions(), json!({ "content": { "grant": "hunter2" } })),
            (permissions(), json!({ "content": { "grant": "all", "scope": "hunter2" } })),
            (permissions(), json!({ "decision": "acceptForSession", "content": { "scope": "turn" } })),
            (permissions(), json!({ "decision": "decline", "content": { "scope": "session" } })),
            (command(), json!({ "decision": "accept", "reason": "hunter2" })),
            (command(), json!({ "answers": {}, "content": {} })),
        ];
        for (ask, more) in cases {
            let mistake = answer(&ask, more.clone()).expect_err(&more.to_string());
            let told = format!("{mistake:?}");
            assert!(
                !told.contains("hunter2") && mistake.hint.is_some() != told.contains("scope is"),
                "{told}"
            );
        }
    }
}
