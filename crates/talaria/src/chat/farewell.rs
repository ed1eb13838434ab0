//! What a person is told who leaves: how to come back, whether something goes on, and what nobody confirmed. Pure.

use super::driver::Left;

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
        let running = match (left.is_running, left.is_engine_stopped) {
            (true, false) => "the turn goes on; ",
            (true, true) => "the engine was stopped before the turn was seen to end; ",
            (false, _) => "",
        };
        text += &format!("{running}come back with: talaria --resume {id}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use talaria_core::ids::SessionId;

    use super::*;

    #[test]
    fn whoever_leaves_is_told_how_to_come_back_and_what_goes_on() {
        let left = Left { session: Some(SessionId::new("0199a")), ..Left::default() };
        assert_eq!(words(&left), "come back with: talaria --resume 0199a\n");
        let left = Left { is_running: true, ..left };
        assert_eq!(words(&left), "the turn goes on; come back with: talaria --resume 0199a\n");
        let left = Left { is_engine_stopped: true, ..left };
        assert_eq!(
            words(&left),
            "the engine was stopped before the turn was seen to end; come back with: talaria --resume 0199a\n"
        );
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
