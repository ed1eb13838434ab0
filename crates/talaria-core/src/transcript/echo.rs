//! Which messages of the user's are the caller's own, come back.
//!
//! Codex reports every input as an item, from any sender. The caller has recorded its own input already. 0.166
//! echoes the client's id; 0.130 does not, so there the text decides, each input once.

use talaria_guard::redact::redact;

use crate::input::InputPart;

/// An input that the caller sent and has recorded itself.
#[derive(Clone, Debug)]
pub struct SentInput {
    client_id: Option<String>,
    text: String,
}

impl SentInput {
    /// Records a sent input; the id is its `clientUserMessageId`.
    pub fn new(client_id: Option<String>, input: &[InputPart]) -> Self {
        let texts = input.iter().filter_map(|part| match part {
            InputPart::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        Self { client_id, text: texts.collect() }
    }

    /// Is this its text? 0.130 joins the text parts when it reads a thread back, so the space between them says nothing. In
    /// an event secrets are masked.
    pub fn has_text(&self, text: &str) -> bool {
        has_same_words(&self.text, text) || has_same_words(&redact(&self.text), text)
    }
}

/// Are these the same words, whatever the space between them?
pub fn has_same_words(one: &str, other: &str) -> bool {
    let is_sign = |c: &char| !c.is_whitespace();
    one.chars().filter(is_sign).eq(other.chars().filter(is_sign))
}

/// The inputs that may come back.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    waiting: Vec<SentInput>,
    /// Ids that have come back; they are the client's own and used once.
    heard: Vec<String>,
}

impl Echoes {
    /// Expects an input to come back.
    pub(super) fn expect(&mut self, sent: SentInput) {
        self.waiting.push(sent);
    }

    /// Is this message one that the caller sent? Each input answers for one message only.
    pub(super) fn take(&mut self, client_id: Option<&str>, text: &str) -> bool {
        let found = self.waiting.iter().position(|sent| match client_id {
            Some(_) => sent.client_id.as_deref() == client_id,
            None => sent.has_text(text),
        });
        match found {
            Some(index) => {
                self.heard.extend(self.waiting.remove(index).client_id);
                true
            }
            None => client_id.is_some_and(|id| self.heard.iter().any(|heard| heard == id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(client_id: Option<&str>, texts: &[&str]) -> SentInput {
        let part = |text: &&str| InputPart::Text { text: (*text).to_owned() };
        let image = InputPart::LocalImage { path: "/a.png".to_owned() };
        let input: Vec<InputPart> = texts.iter().map(part).chain([image]).collect();
        SentInput::new(client_id.map(str::to_owned), &input)
    }

    fn echoes(all: impl IntoIterator<Item = SentInput>) -> Echoes {
        let mut echoes = Echoes::default();
        all.into_iter().for_each(|sent| echoes.expect(sent));
        echoes
    }

    #[test]
    fn the_clients_own_id_decides_where_it_comes_back() {
        let mut echoes = echoes([sent(Some("a"), &["go"]), sent(Some("b"), &["go"])]);
        assert!(echoes.take(Some("b"), "rewritten by Codex"));
        assert!(!echoes.take(Some("c"), "go"), "another client said the same");
        assert!(echoes.take(Some("a"), "go"));
        assert!(echoes.take(Some("a"), "go"), "an id stays ours");
    }

    #[test]
    fn without_an_id_the_text_decides_and_each_input_comes_back_once() {
        let mut echoes = echoes([sent(Some("a"), &["go"]), sent(None, &["stop"])]);
        assert!(!echoes.take(None, "went"));
        assert!(echoes.take(None, "stop") && echoes.take(None, "go"));
        assert!(!echoes.take(None, "go"), "somebody else said it again");
    }

    #[test]
    fn an_input_with_a_secret_comes_back_masked() {
        let secret = "use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
        let mut echoes = echoes([sent(None, &[secret])]);
        assert!(echoes.take(None, &redact(secret)));
    }

    #[test]
    fn the_space_between_parts_says_nothing() {
        let mut echoes = echoes([sent(None, &["  look at\n", "this"])]);
        assert!(echoes.take(None, "  look at\nthis"));
    }

    #[test]
    fn what_came_back_by_its_text_is_ours_by_its_id_too() {
        let mut echoes = echoes([sent(Some("a"), &["go"])]);
        assert!(echoes.take(None, "go") && echoes.take(Some("a"), "go"));
    }
}
