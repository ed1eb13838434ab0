//! The prompt of the command line: sent as if it had been typed, once the conversation that it is for is on the screen.
//! If that conversation does not appear, or the person is typing by then, the prompt is left in the input line.

use std::time::Duration;

use super::Chat;
use super::contract::PromptDraft;

/// What the chat begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// Nothing: the prompt begins a conversation.
    Nothing,
    /// A conversation, which is reported first.
    Conversation,
}

/// A prompt that waits for its conversation.
#[derive(Debug)]
pub(super) struct FirstPrompt {
    prompt: PromptDraft,
    is_opened: bool,
}

impl Chat {
    /// Sends a prompt of the command line, now or once the conversation has been reported. Images without a text are left in
    /// the input line.
    pub fn begin_with(&mut self, now: Duration, prompt: PromptDraft, opens: Opens) {
        match opens {
            _ if prompt.text.is_empty() => self.composer.put_back(prompt),
            Opens::Nothing => self.send_first(now, prompt),
            Opens::Conversation => self.first = Some(FirstPrompt { prompt, is_opened: false }),
        }
    }

    /// A conversation was opened: the one that the prompt is for, or already another.
    pub(super) fn first_is_opened(&mut self) {
        match &mut self.first {
            Some(first) if !first.is_opened => first.is_opened = true,
            _ => self.return_first(),
        }
    }

    /// The conversation has been reported.
    pub(super) fn release_first(&mut self, now: Duration) {
        if let Some(first) = self.first.take() {
            self.send_first(now, first.prompt);
        }
    }

    /// The conversation cannot be followed, or was left: the person decides about the prompt.
    pub(super) fn return_first(&mut self) {
        if let Some(first) = self.first.take() {
            self.composer.put_back(first.prompt);
        }
    }

    fn send_first(&mut self, now: Duration, mut prompt: PromptDraft) {
        if !prompt.images.is_empty() {
            // Before the markers.
            prompt.text.push(' ');
        }
        let is_typing = self.composer.is_busy();
        self.composer.put_back(prompt);
        if is_typing {
            return self.flash(now, "the prompt of the command line is in the input line");
        }
        let reaction = self.composer.send();
        self.react(now, reaction);
    }
}
