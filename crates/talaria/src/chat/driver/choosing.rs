//! Commands queued after a choice of conversation or model. They run when the choice was made. If it failed, or the person
//! stops everything, none of them runs: they were meant for another state.

use std::collections::VecDeque;

use talaria_tui::chat::commands::{self, SlashCommand};
use talaria_tui::chat::contract::{ChatEffect, News, PromptDraft};

use super::Driver;
use crate::chat::errand::{Choice, opens};

impl Driver {
    /// Must this wait for the choice that is being made? The wish to stop never does.
    pub(super) fn waits_for_choice(&self, wish: &ChatEffect) -> bool {
        let is_held = match wish {
            ChatEffect::Send(_) | ChatEffect::Say(..) | ChatEffect::Shell(_) => true,
            ChatEffect::Run(command) => *command != SlashCommand::Stop,
            _ => false,
        };
        self.is_choosing && is_held
    }

    /// Was the last choice refused?
    pub(crate) fn is_choice_refused(&self) -> bool {
        self.is_choice_refused
    }

    /// A choice was made, or refused. Commands after a further choice depend on that one.
    pub(super) fn finish_choice(&mut self, choice: Choice) {
        self.is_choosing = false;
        self.is_choice_refused = choice == Choice::Refused;
        let mut waiting = std::mem::take(&mut self.after_choice);
        if self.is_choice_refused {
            let opens = |wish: &ChatEffect| matches!(wish, ChatEffect::Run(command) if opens(command));
            let behind = waiting.split_off(waiting.iter().position(opens).unwrap_or(waiting.len()));
            self.give_back(waiting, "the previous choice was refused");
            waiting = behind;
        }
        waiting.into_iter().for_each(|wish| self.wish(wish));
    }

    /// Do words wait for a choice?
    pub(super) fn has_waiting_words(&self) -> bool {
        self.after_choice.iter().any(is_said)
    }

    /// Does a command of the person wait for a choice?
    pub(super) fn has_waiting_shell(&self) -> bool {
        self.after_choice.iter().any(|wish| matches!(wish, ChatEffect::Shell(_)))
    }

    /// Returns the input that waits for a choice.
    pub(super) fn take_back_words(&mut self) {
        self.take_back(is_said);
    }

    /// Drops the commands of the person that wait for a choice.
    pub(super) fn take_back_shell(&mut self) {
        self.take_back(|wish| matches!(wish, ChatEffect::Shell(_)));
    }

    fn take_back(&mut self, is_meant: impl Fn(&ChatEffect) -> bool) {
        let (back, rest) = std::mem::take(&mut self.after_choice).into_iter().partition(is_meant);
        self.after_choice = rest;
        self.give_back(back, "you stopped it");
    }

    /// Reports each as not done, the last one first: returned input is inserted before the current text.
    pub(super) fn give_back(&mut self, wishes: VecDeque<ChatEffect>, why: &str) {
        let refused = |what: String, prompt| News::Refused { what, prompt, ticket: None };
        let unsaid = |prompt| refused(format!("it was not sent: {why}"), Some(prompt));
        for wish in wishes.into_iter().rev() {
            self.ready.push_back(match wish {
                ChatEffect::Send(prompt) | ChatEffect::Say(prompt, _) => unsaid(prompt),
                ChatEffect::Run(SlashCommand::Steer(text) | SlashCommand::Queue(text)) => {
                    unsaid(PromptDraft { text, images: Vec::new() })
                }
                ChatEffect::Run(command) => refused(format!("{} was not run: {why}", name(&command)), None),
                ChatEffect::Shell(_) => {
                    News::ShellEnded { exit: None, took_ms: None, note: Some(format!("not run: {why}")) }
                }
                // Internal commands are not reported as not done.
                _ => continue,
            });
        }
    }
}

/// Are these words for the model?
fn is_said(wish: &ChatEffect) -> bool {
    matches!(
        wish,
        ChatEffect::Send(_)
            | ChatEffect::Say(..)
            | ChatEffect::Run(SlashCommand::Steer(_) | SlashCommand::Queue(_))
    )
}

pub(super) fn name(command: &SlashCommand) -> String {
    commands::definition(command).map_or_else(String::new, |definition| format!("/{}", definition.name))
}
