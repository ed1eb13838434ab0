//! The commands that need no engine, and the first half of those that do. All others are a wish.

use std::time::Duration;

use talaria_core::api::When;
use talaria_core::config::Theme;
use talaria_core::request::{Answer, Decision};

use super::commands::{self, SlashCommand};
use super::contract::{ChatEffect, PromptDraft};
use super::known::Engine;
use super::list::List;
use super::panel::{Felt, Panel};
use super::shell::Shell;
use super::transcript::Tone;
use super::{Chat, Picks, Popup};

impl Chat {
    /// Does what a slash command says.
    pub(super) fn run(&mut self, now: Duration, command: SlashCommand) {
        let prompt = |text: String| PromptDraft { text, images: Vec::new() };
        match command {
            SlashCommand::Help(topic) => match commands::help(topic.as_deref(), self.look_now()) {
                Ok(text) if topic.is_some() => self.note(Tone::Info, text),
                Ok(mut text) => {
                    text.end_line();
                    text.append(commands::keys(self.look_now()));
                    self.note(Tone::Info, text);
                }
                Err(mistake) => self.note(Tone::Warn, mistake.to_string()),
            },
            SlashCommand::Quit => self.wishes.push(ChatEffect::Leave),
            SlashCommand::Theme(name) => self.change_theme(name),
            SlashCommand::Stop if self.turn.is_idle() && self.shell.is_none() && self.is_turn_known() => {
                self.note(Tone::Warn, "no turn is running here");
            }
            SlashCommand::Stop if self.turn.is_idle() && self.shell.is_none() => {
                self.note(
                    Tone::Warn,
                    "it is not known whether a turn is running here; asking the engine to stop it",
                );
                self.wishes.push(ChatEffect::Interrupt);
            }
            SlashCommand::Stop => self.interrupt(),
            SlashCommand::Steer(text) if self.turn.is_idle() => {
                let turn = if self.is_turn_known() {
                    "no turn is running"
                } else {
                    "it is not known whether a turn is running here"
                };
                self.note(Tone::Warn, format!("{turn}: Enter sends the text from the input line"));
                self.composer.put_back(prompt(text));
            }
            SlashCommand::Steer(text) => self.say(now, prompt(text), When::Now),
            SlashCommand::Queue(text) => self.say(now, prompt(text), When::Next),
            SlashCommand::Requests if self.requests.listed().is_empty() && self.knows_waiting() => {
                self.note(Tone::Info, "nothing is waiting for you");
            }
            SlashCommand::Requests if !self.requests.listed().is_empty() => self.show_waiting(now),
            SlashCommand::Approve { request: None, .. } | SlashCommand::Deny { request: None, .. }
                if self.is_another(now) =>
            {
                self.note(Tone::Warn, "not answered: another request appeared while you were typing");
            }
            SlashCommand::Approve { request, decision } if self.is_shown(request.as_deref()) => {
                self.approve(now, decision);
            }
            SlashCommand::Approve { request: Some(request), .. } if self.open_by_name(&request) => {
                self.flash(now, "read it first; then press one of its keys, or enter /approve again");
            }
            SlashCommand::Deny { request, reason } if self.is_shown(request.as_deref()) => {
                let decline = Answer::from(Decision::Decline);
                self.answer(reason.map_or(decline, Answer::decline_because));
            }
            SlashCommand::Approve { request: None, .. } | SlashCommand::Deny { request: None, .. } => {
                self.note(Tone::Warn, "no request is shown; /requests lists the open ones");
            }
            command => self.wishes.push(ChatEffect::Run(command)),
        }
    }

    /// Runs a shell command of the person, one at a time.
    pub(super) fn start_shell(&mut self, now: Duration, command: String) {
        if self.shell.is_some() {
            // Returned input is announced, and this must not be.
            self.note(Tone::Warn, "a shell command is already running: Ctrl-C stops it, Up recalls this one");
            return;
        }
        self.shell = Some(Shell::new(command.clone(), now));
        self.wishes.push(ChatEffect::Shell(command));
    }

    /// Whether the current engine has reported the open requests of all conversations.
    fn knows_waiting(&self) -> bool {
        self.known.has_waiting && self.known.engine == Engine::There
    }

    /// Lists what waits; a single request is shown at once.
    pub(super) fn show_waiting(&mut self, now: Duration) {
        let shown = self.panel.as_ref().map(|panel| panel.ticket().clone());
        let mut waiting = self.requests.listed();
        waiting.retain(|(_, ticket)| Some(ticket) != shown.as_ref());
        match waiting.as_slice() {
            [] if !self.knows_waiting() => {
                self.flash(now, "the open requests are not known yet; /requests asks for them");
            }
            [] if shown.is_some() => self.flash(now, "no other request is open"),
            [] => self.flash(now, "nothing is waiting for you"),
            [(_, ticket)] if shown.is_none() => {
                let ticket = ticket.clone();
                self.show_ticket(&ticket);
            }
            _ => {
                let rows = waiting.into_iter().map(|(text, ticket)| (text, Picks::Show(ticket))).collect();
                self.popup = Some(Popup::List(List::new("Open requests", rows)));
            }
        }
    }

    /// Shows another theme at once; the driver may keep it.
    fn change_theme(&mut self, name: Option<String>) {
        let Some(name) = name else {
            let row = |theme: Theme| (theme.line(), SlashCommand::Theme(Some(theme.name().to_owned())));
            return self.pick("theme", Theme::ALL.map(row).to_vec());
        };
        match name.parse() {
            Ok(theme) => {
                self.theme = theme;
                self.wishes.push(ChatEffect::Run(SlashCommand::Theme(Some(name))));
            }
            Err(unknown) => self.note(Tone::Warn, unknown.to_string()),
        }
    }

    /// Shows a list; it begins at what is in force or was asked for, and marks it.
    pub(super) fn pick(&mut self, title: &str, rows: Vec<(String, SlashCommand)>) {
        let current = rows.iter().position(|(_, command)| self.is_current(command));
        let rows = rows.into_iter().map(|(text, command)| (text, Picks::Run(command))).collect();
        self.popup = Some(Popup::List(List::new(title, rows).beginning_at(current)));
    }

    /// Would the command change nothing?
    fn is_current(&self, command: &SlashCommand) -> bool {
        match command {
            SlashCommand::Model(words) => match &words[..] {
                [model] => self.known.model().value() == Some(model.as_str()),
                [provider, model] => {
                    self.known.provider() == Some(provider.as_str())
                        && self.known.model().value() == Some(model.as_str())
                }
                _ => false,
            },
            SlashCommand::Reasoning(Some(effort)) => self.known.effort().value() == Some(effort.as_str()),
            SlashCommand::Theme(Some(theme)) => self.theme.name() == theme,
            _ => false,
        }
    }

    fn is_shown(&self, ticket: Option<&str>) -> bool {
        let shown = self.panel.as_ref().map(|panel| panel.ticket().as_str());
        shown.is_some_and(|shown| ticket.is_none_or(|ticket| ticket == shown))
    }

    /// Whether the shown request was missing or unread when the first key of the line was pressed.
    fn is_another(&self, now: Duration) -> bool {
        let is_meant = |panel: &Panel| panel.is_seen(now) && self.line_about.as_ref() == Some(panel.ticket());
        self.panel.as_ref().is_some_and(|panel| !is_meant(panel))
    }

    /// Shows a request by its name; an unseen request is not accepted.
    fn open_by_name(&mut self, name: &str) -> bool {
        let listed = self.requests.listed();
        let Some((_, ticket)) = listed.iter().find(|(_, ticket)| ticket.as_str() == name) else {
            return false;
        };
        self.show_ticket(ticket);
        self.panel.is_some()
    }

    fn approve(&mut self, now: Duration, decision: Decision) {
        let Some(panel) = &mut self.panel else { return };
        if !panel.is_seen(now) {
            panel.take_keyboard();
            return self.flash(now, "read it first; then press one of its keys, or enter /approve again");
        }
        match panel.accept(decision) {
            Felt::Answer(answer) => self.answer(answer),
            Felt::Nothing | Felt::Left | Felt::NotMine | Felt::Unknown(_) => panel.take_keyboard(),
        }
    }
}
