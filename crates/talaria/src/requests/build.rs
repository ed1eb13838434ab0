//! Makes an answer from what was typed on the command line, and checks it against the question. Pure.
//!
//! What a question or a field marks as secret becomes a secret here; no error repeats what was typed.

use std::collections::BTreeMap;

use serde_json::Value;
use talaria_core::request::{Answer, Ask, Content, Decision, Given, Question, Wish};

use crate::trouble::{Trouble, exit};

/// How answers are written.
pub(super) const EXAMPLE: &str =
    "write them as {\"question or field\": \"text\"}, or [\"…\", \"…\"] for several";

/// What was typed.
#[derive(Debug)]
pub(super) struct Typed {
    pub(super) decision: Decision,
    pub(super) reason: Option<String>,
    pub(super) answers: Option<Value>,
}

/// Makes the answer. Without the question nothing can be checked here, and the engine does.
pub(super) fn answer(ask: Option<&Ask>, typed: Typed) -> Result<Answer, Trouble> {
    let Typed { decision, reason, answers } = typed;
    let usage = |what: &str| Trouble::new(exit::USAGE, what);
    if reason.is_some() && decision.is_yes() {
        return Err(usage("--reason says why not: it goes with decline or cancel"));
    }
    if answers.is_some() && !decision.is_yes() {
        return Err(usage("--answers goes with accept"));
    }
    let content = match answers {
        None => Content::Nothing,
        Some(Value::Object(given)) => content(ask, given.into_iter().collect())?,
        Some(_) => return Err(usage("the answers are no JSON object").try_this(EXAMPLE)),
    };
    let answer = Answer { decision, reason, content };
    let Some(ask) = ask else { return Ok(answer) };
    if !ask.choices().contains(&decision) {
        let offered: Vec<String> = ask.choices().iter().map(|choice| word(*choice)).collect();
        return Err(usage("this is not offered for the request")
            .because(format!("offered: {}", offered.join(", ")))
            .try_this("choose one of them"));
    }
    ask.check(&answer)
        .map_err(|misfit| usage("the answer does not fit the request").because(misfit).try_this(EXAMPLE))?;
    Ok(answer)
}

/// A decision as it is typed.
fn word(decision: Decision) -> String {
    match decision {
        Decision::Accept => "accept",
        Decision::AcceptForSession => "accept-for-session",
        Decision::AcceptAlways => "accept-always",
        Decision::Decline => "decline",
        Decision::Cancel => "cancel",
        Decision::Void => "nothing",
    }
    .to_owned()
}

fn content(ask: Option<&Ask>, given: BTreeMap<String, Value>) -> Result<Content, Trouble> {
    match ask {
        Some(Ask::Input { questions, .. }) => {
            let answers = given.into_iter().map(|(id, value)| {
                let question = questions.iter().find(|question| question.id == id);
                Ok((id, texts(question, value)?))
            });
            Ok(Content::Answers(answers.collect::<Result<_, Trouble>>()?))
        }
        Some(Ask::Elicitation { wish: Wish::Form(form), .. }) => {
            let fields = given.into_iter().map(|(name, value)| {
                let is_secret = form.fields.iter().any(|field| field.name == name && field.secret);
                let given = if is_secret { Given::secret(value) } else { Given::plain(value) };
                (name, given)
            });
            Ok(Content::Form(fields.collect()))
        }
        _ => Err(Trouble::new(exit::USAGE, "this request takes no answers, only a decision")),
    }
}

/// One answer or several to one question.
fn texts(question: Option<&Question>, value: Value) -> Result<Vec<Given>, Trouble> {
    let all = match value {
        Value::Array(all) => all,
        one => vec![one],
    };
    let text = |value: Value| match value {
        Value::String(text) => Ok(given(question, text)),
        _ => Err(Trouble::new(exit::USAGE, "an answer to a question is text").try_this(EXAMPLE)),
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
mod tests {
    use serde_json::json;
    use talaria_core::ids::{ItemId, ThreadId};

    use super::*;

    fn typed(decision: Decision, answers: Option<Value>) -> Typed {
        Typed { decision, reason: None, answers }
    }

    fn ask(value: Value) -> Ask {
        serde_json::from_value(value).unwrap()
    }

    fn questions() -> Ask {
        ask(json!({ "kind": "input", "thread": "t", "item": null, "blocking": null, "questions": [
            { "id": "colour", "header": "", "question": "Which?", "other": false, "secret": false,
              "options": [{ "label": "Blue", "description": "" }, { "label": "Red", "description": "" }] },
            { "id": "pin", "header": "", "question": "PIN?", "other": false, "secret": true, "options": [] },
        ] }))
    }

    fn form() -> Ask {
        ask(
            json!({ "kind": "elicitation", "thread": "t", "server": "s", "message": "m", "mode": "form", "fields": [
            { "name": "user", "title": null, "description": null, "required": true, "secret": false,
              "takes": "text", "format": null, "min_length": null, "max_length": null },
            { "name": "password", "title": null, "description": null, "required": true, "secret": true,
              "takes": "text", "format": null, "min_length": null, "max_length": null },
        ] }),
        )
    }

    fn command() -> Ask {
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
        }
    }

    #[test]
    fn answers_go_to_their_questions_and_secrets_stay_secret() {
        let answers = json!({ "colour": "blue", "pin": ["hunter2"] });
        let made = answer(Some(&questions()), typed(Decision::Accept, Some(answers))).unwrap();
        assert!(made.has_secret());
        assert!(!format!("{made:?}").contains("hunter2"), "{made:?}");
        assert_eq!(made.revealed()["content"]["given"]["colour"], json!(["Blue"]));
        assert_eq!(made.revealed()["content"]["given"]["pin"], json!([{ "secret": "hunter2" }]));
    }

    #[test]
    fn values_go_to_their_fields_and_secrets_stay_secret() {
        let answers = json!({ "user": "ada", "password": "hunter2" });
        let made = answer(Some(&form()), typed(Decision::Accept, Some(answers))).unwrap();
        assert!(made.has_secret());
        assert!(!serde_json::to_string(&made).unwrap().contains("hunter2"));
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
        ];
        for (ask, typed) in cases {
            let told = format!("{typed:?}");
            let trouble = answer(Some(&ask), typed).expect_err(&told);
            assert_eq!(trouble.exit, 2, "{told}");
            assert!(!trouble.summary().contains("hunter2"), "{}", trouble.summary());
        }
        let reason = Some("why".to_owned());
        let typed = Typed { decision: Decision::Accept, reason, answers: None };
        assert!(answer(Some(&command()), typed).is_err());
    }

    #[test]
    fn a_no_with_its_reason_always_fits() {
        for ask in [questions(), form(), command()] {
            let reason = Some("not now".to_owned());
            let made =
                answer(Some(&ask), Typed { decision: Decision::Decline, reason, answers: None }).unwrap();
            assert_eq!(made.reason.as_deref(), Some("not now"));
        }
        assert!(answer(None, typed(Decision::Accept, None)).is_ok());
    }
}
