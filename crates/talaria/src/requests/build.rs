//! Makes an answer from what was typed on the command line, and says to a person why it does not fit. Pure.

use talaria_core::request::{Answer, Ask, Decision, Typed, Unfit, compose};

use crate::trouble::{Trouble, exit};

/// How answers are written.
pub(crate) const EXAMPLE: &str =
    "write them as {\"question or field\": \"text\"}, or [\"…\", \"…\"] for several";

/// Makes the answer. Without the question nothing can be checked here, and the engine does.
pub(crate) fn answer(ask: Option<&Ask>, typed: Typed) -> Result<Answer, Trouble> {
    let usage = |what: &str| Trouble::new(exit::USAGE, what);
    compose(ask, typed).map_err(|unfit| match unfit {
        Unfit::Reason => usage("--reason says why not: it goes with decline or cancel"),
        Unfit::Answers => usage("--answers goes with accept"),
        Unfit::NotOffered(offered) => {
            let offered: Vec<&str> = offered.into_iter().map(word).collect();
            usage("this is not offered for the request")
                .because(format!("offered: {}", offered.join(", ")))
                .try_this("choose one of them")
        }
        Unfit::Misfit(misfit) => {
            usage("the answer does not fit the request").because(misfit).try_this(EXAMPLE)
        }
        Unfit::NoGrant => usage("this is no part of the permissions")
            .try_this("write {\"grant\": \"network\"}, or \"files\", or \"all\""),
        unfit => usage(&unfit.to_string()).try_this(EXAMPLE),
    })
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
        assert_eq!(
            told(Decision::Accept, Some("x"), None),
            "--reason says why not: it goes with decline or cancel / "
        );
        assert_eq!(
            told(Decision::AcceptAlways, None, None),
            "this is not offered for the request: offered: accept, accept-for-session, decline, cancel / choose one of them"
        );
        assert_eq!(
            told(Decision::Accept, None, Some(json!({ "grant": "disk" }))),
            "this is no part of the permissions / write {\"grant\": \"network\"}, or \"files\", or \"all\""
        );
        assert_eq!(
            told(Decision::Accept, None, Some(json!([1]))),
            format!("the answers are no JSON object / {EXAMPLE}")
        );
    }
}
