//! Builds an answer from user input: a decision, and JSON with the details of a yes. Validated against the question.
//!
//! Values that a question or a field marks as secret become secrets here; no error repeats the input. Called by the
//! command line and by the tool for other agents, which have their own words for the errors.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Answer, Ask, Content, Decision, Given, Grant, Misfit, Question, Wish};

/// What someone wrote.
#[derive(Debug)]
pub struct Typed {
    /// Yes or no, and for how long.
    pub decision: Decision,
    /// Why not.
    pub reason: Option<String>,
    /// Details of a yes: `{"question or field": value}`, of a permission `{"grant": "all", "network" or "files"}`.
    pub answers: Option<Value>,
}

/// Why the input is not an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A yes has no reason.
    #[error("a reason says why not: it goes with a no")]
    Reason,
    /// A no has no details.
    #[error("answers go with a yes")]
    Answers,
    /// The answers are something else than an object.
    #[error("the answers are no JSON object")]
    NoObject,
    /// A question of the model is answered with something else than text.
    #[error("an answer to a question is text")]
    NoText,
    /// A permission is not granted in parts like these.
    #[error("a grant is \"all\", \"network\" or \"files\"")]
    NoGrant,
    /// The question takes a decision and nothing else.
    #[error("this request takes no answers, only a decision")]
    OnlyDecision,
    /// Codex would not carry this out.
    #[error("this is not offered for the request")]
    NotOffered(Vec<Decision>),
    /// The question takes another answer.
    #[error("the answer does not fit the request: {0}")]
    Misfit(#[from] Misfit),
}

/// Makes the answer. Without the question nothing can be checked here, and the engine does.
pub fn compose(ask: Option<&Ask>, typed: Typed) -> Result<Answer, Unfit> {
    let Typed { decision, reason, answers } = typed;
    if reason.is_some() && decision.is_yes() {
        return Err(Unfit::Reason);
    }
    if answers.is_some() && !decision.is_yes() {
        return Err(Unfit::Answers);
    }
    let content = match answers {
        None => Content::Nothing,
        Some(Value::Object(given)) => content(ask, given.into_iter().collect())?,
        Some(_) => return Err(Unfit::NoObject),
    };
    let answer = Answer { decision, reason, content };
    let Some(ask) = ask else { return Ok(answer) };
    if !ask.choices().contains(&decision) {
        return Err(Unfit::NotOffered(ask.choices()));
    }
    ask.check(&answer)?;
    Ok(answer)
}

fn content(ask: Option<&Ask>, given: BTreeMap<String, Value>) -> Result<Content, Unfit> {
    match ask {
        Some(Ask::Input { questions, .. }) => {
            let answers = given.into_iter().map(|(id, value)| {
                let question = questions.iter().find(|question| question.id == id);
                Ok((id, texts(question, value)?))
            });
            Ok(Content::Answers(answers.collect::<Result<_, Unfit>>()?))
        }
        Some(Ask::Elicitation { wish: Wish::Form(form), .. }) => {
            let fields = given.into_iter().map(|(name, value)| {
                let is_secret = form.fields.iter().any(|field| field.name == name && field.secret);
                let given = if is_secret { Given::secret(value) } else { Given::plain(value) };
                (name, given)
            });
            Ok(Content::Form(fields.collect()))
        }
        Some(Ask::Permissions { .. }) => grant(given).map(Content::Grant),
        _ => Err(Unfit::OnlyDecision),
    }
}

fn grant(mut given: BTreeMap<String, Value>) -> Result<Grant, Unfit> {
    let part = given.remove("grant").ok_or(Unfit::NoGrant)?;
    if !given.is_empty() {
        return Err(Unfit::NoGrant);
    }
    serde_json::from_value(part).map_err(|_| Unfit::NoGrant)
}

/// One answer or several to one question.
fn texts(question: Option<&Question>, value: Value) -> Result<Vec<Given>, Unfit> {
    let all = match value {
        Value::Array(all) => all,
        one => vec![one],
    };
    let text = |value: Value| match value {
        Value::String(text) => Ok(given(question, text)),
        _ => Err(Unfit::NoText),
    };
    all.into_iter().map(text).collect()
}

/// An option may be written in other letters than its own.
fn given(question: Option<&Question>, text: String) -> Given {
    let Some(question) = question else { return Given::plain(text) };
    let option = question.options.iter().find(|option| option.label.eq_ignore_ascii_case(text.trim()));
    question.given(option.map_or(text, |option| option.label.clone()))
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::ids::{ItemId, ThreadId};
    use crate::request::Permissions;

    fn typed(decision: Decision, answers: Option<Value>) -> Typed {
        Typed { decision, reason: None, answers }
    }

    fn ask(value: Value) -> Ask {
        serde_json::from_value(value).unwrap()
    }

    pub(crate) fn questions() -> Ask {
        ask(json!({ "kind": "input", "thread": "t", "item": null, "blocking": null, "questions": [
            { "id": "colour", "header": "", "question": "Which?", "other": false, "secret": false,
              "options": [{ "label": "Blue", "description": "" }, { "label": "Red", "description": "" }] },
            { "id": "pin", "header": "", "question": "PIN?", "other": false, "secret": true, "options": [] },
        ] }))
    }

    pub(crate) fn form() -> Ask {
        ask(
            json!({ "kind": "elicitation", "thread": "t", "server": "s", "message": "m", "mode": "form", "fields": [
            { "name": "user", "title": null, "description": null, "required": true, "secret": false,
              "takes": "text", "format": null, "min_length": null, "max_length": null },
            { "name": "password", "title": null, "description": null, "required": true, "secret": true,
              "takes": "text", "format": null, "min_length": null, "max_length": null },
        ] }),
        )
    }

    pub(crate) fn command() -> Ask {
        Ask::Command {
            thread: ThreadId::new("t"),
            item: ItemId::new("i"),
            approval: None,
            command: "ls".to_owned(),
            actions: Vec::new(),
            cwd: None,
            reason: None,
            permissions: None,
            always: None,
            asked_because: None,
        }
    }

    pub(crate) fn permissions() -> Ask {
        Ask::Permissions {
            thread: ThreadId::new("t"),
            item: ItemId::new("i"),
            cwd: None,
            reason: None,
            permissions: Permissions { network: true, ..Permissions::default() },
        }
    }

    #[test]
    fn answers_go_to_their_questions_and_secrets_stay_secret() {
        let answers = json!({ "colour": "blue", "pin": ["hunter2"] });
        let made = compose(Some(&questions()), typed(Decision::Accept, Some(answers))).unwrap();
        assert!(!format!("{made:?}").contains("hunter2"), "{made:?}");
        assert_eq!(made.revealed()["content"]["given"]["colour"], json!(["Blue"]));
        assert_eq!(made.revealed()["content"]["given"]["pin"], json!([{ "secret": "hunter2" }]));
    }

    #[test]
    fn values_go_to_their_fields_and_secrets_stay_secret() {
        let answers = json!({ "user": "ada", "password": "hunter2" });
        let made = compose(Some(&form()), typed(Decision::Accept, Some(answers))).unwrap();
        let revealed = made.revealed().to_string();
        assert!(revealed.contains(r#"{"secret":"hunter2"}"#), "{revealed}");
        assert!(!serde_json::to_string(&made).unwrap().contains("hunter2"));
    }

    #[test]
    fn a_part_of_the_permissions_can_be_granted() {
        let part = typed(Decision::AcceptForSession, Some(json!({ "grant": "network" })));
        let made = compose(Some(&permissions()), part).unwrap();
        assert_eq!(made.revealed()["content"], json!({ "kind": "grant", "given": "network" }));
        assert_eq!(made.decision, Decision::AcceptForSession);
        for (answers, unfit) in [
            (json!({ "grant": "files" }), Unfit::Misfit(Misfit::Grant)),
            (json!({ "grant": "everything" }), Unfit::NoGrant),
            (json!({ "network": true }), Unfit::NoGrant),
            (json!({ "grant": "all", "files": true }), Unfit::NoGrant),
        ] {
            let made = compose(Some(&permissions()), typed(Decision::Accept, Some(answers)));
            assert_eq!(made.map(|answer| answer.revealed()).unwrap_err(), unfit);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_without_repeating_it() {
        let cases = [
            (questions(), typed(Decision::Accept, None)),
            (questions(), typed(Decision::Accept, Some(json!({ "colour": "hunter2", "pin": "x" })))),
            (questions(), typed(Decision::Accept, Some(json!({ "colour": "Red" })))),
            (questions(), typed(Decision::Accept, Some(json!({ "hunter": "x" })))),
            (questions(), typed(Decision::Accept, Some(json!({ "colour": { "hunter2": 1 }, "pin": "x" })))),
            (questions(), typed(Decision::AcceptForSession, Some(json!({ "colour": "Red", "pin": "x" })))),
            (form(), typed(Decision::Accept, Some(json!({ "user": "ada" })))),
            (form(), typed(Decision::Accept, Some(json!(["hunter2"])))),
            (command(), typed(Decision::Accept, Some(json!({ "a": "hunter2" })))),
            (command(), typed(Decision::AcceptAlways, None)),
            (command(), typed(Decision::Decline, Some(json!({})))),
            (permissions(), typed(Decision::Accept, Some(json!({ "grant": "hunter2" })))),
        ];
        for (ask, typed) in cases {
            let told = format!("{typed:?}");
            let unfit = compose(Some(&ask), typed).expect_err(&told);
            assert!(!unfit.to_string().contains("hunter2"), "{unfit}");
        }
        let reason = Some("why".to_owned());
        let typed = Typed { decision: Decision::Accept, reason, answers: None };
        assert_eq!(compose(Some(&command()), typed).map(drop), Err(Unfit::Reason));
    }

    #[test]
    fn a_no_with_its_reason_always_fits() {
        for ask in [questions(), form(), command(), permissions()] {
            let reason = Some("not now".to_owned());
            let made =
                compose(Some(&ask), Typed { decision: Decision::Decline, reason, answers: None }).unwrap();
            assert_eq!(made.reason.as_deref(), Some("not now"));
        }
        assert!(compose(None, typed(Decision::Accept, None)).is_ok());
    }
}
