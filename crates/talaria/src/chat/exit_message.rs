//! The last words to a person who leaves: how to return, whether the turn continues, and what was not confirmed. Pure.

use super::driver::{Left, Turn};

/// How the conversation was left.
pub(super) fn words(left: &Left) -> String {
    let mut text = String::new();
    for what in &left.refused {
        text += &format!("{what}\n");
    }
    if !left.unconfirmed.is_empty() {
        text += &format!("not confirmed: {}; look before you repeat it\n", left.unconfirmed.join(", "));
    }
    if left.has_ended_shell {
        text += "the shell command was asked to stop\n";
    }
    if let Some(id) = &left.session {
        let turn = match left.turn {
            Turn::Over => "",
            Turn::GoesOn => "the turn continues; ",
            Turn::Waits => "the turn waits for your answer; ",
            Turn::Stopping => "the turn was asked to stop; ",
            Turn::Unheard => "the engine does not respond, and the turn may still be running; ",
            Turn::Queued => "the turn is queued; ",
            Turn::Unknown => "the turn may still be running; ",
            Turn::Unseen => "the engine was stopped before the turn was seen to end; ",
        };
        text += &format!("{turn}return with: talaria --resume {}\n", id.short());
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::ids::SessionId;

    use super::*;

    #[test]
    fn leaving_says_how_to_return_and_what_continues() {
        let told = |turn| words(&Left { session: Some(SessionId::new("0199a")), turn, ..Left::default() });
        let turns = [
            Turn::Over,
            Turn::GoesOn,
            Turn::Waits,
            Turn::Stopping,
            Turn::Unseen,
            Turn::Unheard,
            Turn::Queued,
            Turn::Unknown,
        ];
        expect![[r#"
            return with: talaria --resume 0199a
            the turn continues; return with: talaria --resume 0199a
            the turn waits for your answer; return with: talaria --resume 0199a
            the turn was asked to stop; return with: talaria --resume 0199a
            the engine was stopped before the turn was seen to end; return with: talaria --resume 0199a
            the engine does not respond, and the turn may still be running; return with: talaria --resume 0199a
            the turn is queued; return with: talaria --resume 0199a
            the turn may still be running; return with: talaria --resume 0199a
        "#]]
        .assert_eq(&turns.map(told).concat());
        assert_eq!(words(&Left::default()), "");
    }

    #[test]
    fn what_was_not_confirmed_is_named() {
        let left = Left {
            unconfirmed: vec!["your message".to_owned(), "your answer to req-1".to_owned()],
            refused: vec!["it was not sent".to_owned()],
            has_ended_shell: true,
            ..Left::default()
        };
        assert_eq!(
            words(&left),
            "it was not sent\nnot confirmed: your message, your answer to req-1; look before you repeat it\n\
             the shell command was asked to stop\n"
        );
    }
}
