//! Slash commands that change the driver's own state; all others are errands.

use std::collections::VecDeque;

use talaria_core::api::{PermissionsChange, RequestInfo, When};
use talaria_tui::chat::commands::SlashCommand;
use talaria_tui::chat::contract::{ChatEffect, News, PromptDraft};

use super::Driver;
use crate::chat::chat_context::Chosen;
use crate::chat::errand::{self, Errand};

impl Driver {
    /// Does what a slash command says.
    pub(super) fn command(&mut self, command: SlashCommand) {
        match command {
            command if self.is_void(&command) => self.refuse_void(command),
            SlashCommand::New => {
                self.close();
                self.ready.push_back(News::Opened(None));
                // The command line options apply again, unless another choice was made since.
                let Chosen { provider, model, effort, permissions } = self.for_new.clone();
                let wanted = &self.context.wanted;
                self.chosen = Chosen {
                    provider,
                    model: model.or_else(|| wanted.model.clone()),
                    effort: effort.or_else(|| wanted.effort.clone()),
                    permissions,
                };
                self.tell_chosen();
                self.tell_permissions();
                self.look_around();
            }
            SlashCommand::Approve { request, decision } => {
                let seen = request.as_deref().and_then(|id| seen(&self.shown, id)).cloned();
                self.run(match seen {
                    Some(request) => Errand::Accept { request: Box::new(request), decision },
                    None => Errand::Command(SlashCommand::Approve { request, decision }),
                });
            }
            SlashCommand::Stop => self.wish(ChatEffect::Interrupt),
            SlashCommand::Steer(text) => self.say(text, When::Now),
            SlashCommand::Queue(text) => self.say(text, When::Next),
            command => {
                if errand::is_choice(&command) {
                    (self.is_choosing, self.is_choice_refused) = (true, false);
                }
                self.run(Errand::Command(command));
            }
        }
    }

    /// Says what is asked for from the next turn on: a conversation that there is keeps its own model.
    pub(super) fn tell_chosen(&mut self) {
        let usual = self.context.usual_model(&self.chosen).filter(|_| self.current.is_none());
        let Chosen { provider, model, effort, .. } = self.chosen.clone();
        let config = &self.context.settings.config.model;
        let (model, effort) = (model.or(usual), effort.or_else(|| config.effort.clone()));
        self.ready.push_back(News::Chosen { provider, model, effort });
    }

    /// Says with which permissions a new conversation begins, if some were chosen here.
    pub(super) fn tell_permissions(&mut self) {
        if self.chosen.permissions != PermissionsChange::default() {
            let config = &self.context.settings.config;
            let wanted = self.context.permissions(&self.chosen);
            self.ready.push_back(News::PermissionsAsked {
                sandbox: wanted.sandbox(config).map(|sandbox| sandbox.to_string()),
                approval: wanted.approval(config).map(|approval| approval.to_string()),
            });
        }
    }

    fn say(&mut self, text: String, when: When) {
        let prompt = PromptDraft { text, images: Vec::new() };
        self.wish(ChatEffect::Say(prompt, when));
    }
}

/// The request that was shown and is named by its whole id, or by the beginning of no other.
pub(super) fn seen<'a>(shown: &'a VecDeque<RequestInfo>, id: &str) -> Option<&'a RequestInfo> {
    let mut named = shown.iter().filter(|request| request.id.as_str().starts_with(id));
    shown.iter().find(|request| request.id.as_str() == id).or_else(|| {
        let first = named.next();
        first.filter(|_| named.next().is_none())
    })
}
