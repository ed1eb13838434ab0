//! The transcript of a session, as messages: for readers, and for a fresh thread that needs the history of the
//! old one. Only the newest part is kept here.

use std::collections::VecDeque;

use talaria_core::transcript::{self, Message};

use super::CodexConversation;

/// How many characters of messages are kept.
const KEPT: usize = 1 << 20;
/// How many characters a fresh thread gets.
const DIGEST: usize = 24_000;

impl CodexConversation {
    /// The newest part of the transcript: input of the person, messages and steps of the model.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.memory.messages()
    }

    /// Drops the transcript: it is not needed between turns, and is the largest part of a session's memory.
    pub fn rest(&mut self) {
        self.memory = Memory::default();
    }

    /// Takes in what was said and done before, in the place of what is known.
    pub fn remember(&mut self, messages: Vec<Message>) {
        self.memory = Memory::of(messages);
    }
}

/// The messages of a session.
#[derive(Debug, Default)]
pub(super) struct Memory {
    messages: VecDeque<Message>,
    size: usize,
}

impl Memory {
    /// Begins with what was said before.
    pub(super) fn of(messages: Vec<Message>) -> Self {
        let mut memory = Self::default();
        messages.into_iter().for_each(|message| memory.push(message));
        memory
    }

    pub(super) fn push(&mut self, message: Message) {
        self.size += size(&message);
        self.messages.push_back(message);
        while self.size > KEPT && self.messages.len() > 1 {
            self.size -= self.messages.pop_front().as_ref().map_or(0, size);
        }
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }

    /// The conversation in few words, the newest best; empty if nothing was said.
    pub(super) fn digest(&self) -> String {
        if self.messages.is_empty() {
            return String::new();
        }
        let messages: Vec<Message> = self.messages.iter().cloned().collect();
        transcript::digest(&messages, DIGEST)
    }
}

fn size(message: &Message) -> usize {
    let calls = message.tool_calls.iter().map(|call| call.function.arguments.len()).sum::<usize>();
    let texts = [&message.content, &message.reasoning];
    calls + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_part_is_kept_and_the_digest_is_bounded() {
        let mut memory = Memory::default();
        assert_eq!(memory.digest(), "");
        for turn in 0..40 {
            memory.push(Message::user(format!("question {turn}")));
            memory.push(Message::assistant("x".repeat(KEPT / 20)));
        }
        assert!(memory.size <= KEPT, "{}", memory.size);
        assert!(memory.messages().count() < 60);
        let digest = memory.digest();
        assert!(digest.chars().count() <= DIGEST && digest.contains("question 39"), "{}", digest.len());
    }
}
