//! What went wrong, in the words and the lines that a conversation has room for. Pure.

use talaria_face::chat::contract::{News, Prompt};
use talaria_face::render::plain;

use crate::advice::Reader;
use crate::trouble::Trouble;

/// What failed, why, and what to do next.
pub(super) fn of(trouble: &Trouble) -> String {
    let mut text = trouble.summary();
    if !trouble.hint().is_empty() {
        text.push('\n');
        text.push_str(&Reader::Chat.advice(trouble.hint()));
    }
    plain(&text).into_owned()
}

/// Something could not be done.
pub(super) fn refused(trouble: &Trouble) -> News {
    News::Refused { what: of(trouble), prompt: None, ticket: None }
}

/// Input was not taken: it goes back to whoever typed it.
pub(super) fn given_back(trouble: &Trouble, prompt: Prompt) -> News {
    News::Refused { what: of(trouble), prompt: Some(prompt), ticket: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::exit;

    #[test]
    fn a_refusal_says_why_and_what_next_and_is_harmless() {
        let trouble = Trouble::new(exit::FAILED, "cannot start the turn").because("no \u{1b}[2J Codex");
        assert_eq!(
            of(&trouble.try_this("run `talaria setup`")),
            "cannot start the turn: no ␛[2J Codex\nrun `talaria setup`"
        );
    }
}
