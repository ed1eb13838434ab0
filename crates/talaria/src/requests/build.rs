//! Makes an answer from what was typed on the command line, and says to a person why it does not fit. Pure.

use talaria_core::ids::TicketId;
use talaria_core::request::{Answer, Ask, Decision, Typed, Unfit, compose};

use crate::trouble::{Trouble, exit};

/// How answers are written.
pub(crate) const EXAMPLE: &str =
    "write them as {\"question or field\": \"text\"}, or [\"…\", \"…\"] for several";

/// Makes the answer. Without the question nothing can be checked here, and the engine does.
pub(crate) fn answer(ask: Option<&Ask>, typed: Typed) -> Result<Answer, Trouble> {
    let usage = |what: &str| Trouble::new(exit::USAGE, what);
    compose(ask, typed).map_err(|unfit| match unfit {
        Unfit::Reason => usage("--reason needs decline or cancel"),
        Unfit::Answers => usage("--answers needs accept"),
        Unfit::NotOffered(offered) => {
            let offered: Vec<&str> = offered.into_iter().map(word).collect();
            usage("this is not offered for the request")
                .because(format!("offered: {}", offered.join(", ")))
                .try_this("choose one of them")
        }
        Unfit::Misfit(misfit) => {
            usage("the answer does not fit the request").because(misfit).try_this(EXAMPLE)
        }
        Unfit::NoGrant => usage("this is not one of the requested permissions")
            .try_this("write {\"grant\": \"network\"}, or \"files\", or \"all\""),
        unfit => usage(&unfit.to_string()).try_this(EXAMPLE),
    })
}

/// The same for the chat, whose `/approve` has its own words and accepts no answers to questions.
pub(crate) fn chat_answer(ticket: &TicketId, ask: Option<&Ask>, typed: Typed) -> Result<Answer, Trouble> {
    let decision = typed.decision;
    let offered = ask.map(Ask::choices).filter(|offered| !offered.contains(&decision));
    answer(ask, typed).map_err(|trouble| match offered {
        Some(offered) => {
            let words: Vec<&str> = offered.into_iter().filter_map(chat_word).collect();
            Trouble::new(exit::USAGE, "this is not offered for the request")
                .try_this(format!("/approve {ticket} {}", words.join(" or ")))
        }
        None => trouble.try_this(with_answers(ticket)),
    })
}

/// How a request is answered that asks for more than yes or no.
pub(crate) fn with_answers(ticket: &TicketId) -> String {
    format!(
        "answer it in a shell: talaria requests answer {ticket} accept --answers '{{\"question or field\": \"text\"}}'"
    )
}

/// Is a plain yes an answer?
pub(crate) fn takes_yes(ask: &Ask) -> bool {
    compose(Some(ask), Typed { decision: Decision::Accept, reason: None, answers: None }).is_ok()
}

/// A yes as `/approve` takes it.
fn chat_word(decision: Decision) -> Option<&'static str> {
    match decision {
        Decision::Accept => Some("once"),
        Decision::AcceptForSession => Some("session"),
        Decision::AcceptAlways => Some("always"),
        Decision::Decline | Decision::Cancel | Decision::Void => None,
    }
}

/// A decision as it is typed.
fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Accept => "accept",
        Decision::AcceptForSession => "accept-for-session",
        Decision::AcceptAlways => "accept-always",
        Decision::Decline => "decline",
        Decision::Cancel => "cancel",
        Decision::Void => "nothing",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn in_the_chat_a_refusal_names_what_can_be_typed_there() {
        let ticket = TicketId::new("req-1");
        let permissions: Ask =
            serde_json::from_value(json!({ "kind": "permissions", "thread": "t", "item": "i",
            "cwd": null, "reason": null, "permissions": { "network": true, "files": [] } }))
            .unwrap();
        let input: Ask = serde_json::from_value(json!({ "kind": "input", "thread": "t", "item": "i",
            "blocking": null, "questions": [{ "id": "q", "header": "", "question": "Which?", "other": false,
            "secret": false, "options": [] }] }))
        .unwrap();
        assert!(takes_yes(&permissions) && !takes_yes(&input));
        let hint = |ask: &Ask, decision| {
            let typed = Typed { decision, reason: None, answers: None };
            chat_answer(&ticket, Some(ask), typed).unwrap_err().hint()
        };
        assert_eq!(hint(&permissions, Decision::AcceptAlways), "/approve req-1 once or session");
        assert_eq!(
            hint(&input, Decision::Accept),
            "answer it in a shell: talaria requests answer req-1 accept --answers '{\"question or field\": \"text\"}'"
        );
    }

    #[test]
    fn a_refusal_names_the_option_or_the_choices_that_were_meant() {
        let ask: Ask = serde_json::from_value(json!({ "kind": "permissions", "thread": "t", "item": "i",
            "cwd": null, "reason": null, "permissions": { "network": true, "files": [] } }))
        .unwrap();
        let told = |decision, reason: Option<&str>, answers| {
            let typed = Typed { decision, reason: reason.map(str::to_owned), answers };
            let trouble = answer(Some(&ask), typed).unwrap_err();
            assert_eq!(trouble.exit, 2);
            format!("{} / {}", trouble.summary(), trouble.hint())
        };
        assert_eq!(told(Decision::Accept, Some("x"), None), "--reason needs decline or cancel / ");
        assert_eq!(
            told(Decision::AcceptAlways, None, None),
            "this is not offered for the request: offered: accept, accept-for-session, decline, cancel / choose one of them"
        );
        assert_eq!(
            told(Decision::Accept, None, Some(json!({ "grant": "disk" }))),
            "this is not one of the requested permissions / write {\"grant\": \"network\"}, or \"files\", or \"all\""
        );
        assert_eq!(
            told(Decision::Accept, None, Some(json!([1]))),
            format!("the answers are no JSON object / {EXAMPLE}")
        );
    }
}
