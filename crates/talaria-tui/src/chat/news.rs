//! News from the driver, passed on to the parts.

use std::time::Duration;

use talaria_core::api::{EffortOffer, ModelOffer, Numbered, SessionInfo, TaskCounts, TaskLine, TaskStatus};
use talaria_core::event::Event;
use talaria_core::ids::TicketId;
use talaria_core::outcome::Outcome;
use talaria_core::request::{Decision, Who};
use talaria_guard::plain::{one_line, sanitize};
use talaria_guard::redact::redact;

use super::Chat;
use super::commands::CompletionSource;
use super::completion::CompletionChoice;
use super::contract::{ChatEffect, LoopOffers, News, PromptDraft};
use super::known::{Engine, KnownRuntime, Missing};
use super::panel::Panel;
use super::task_end::task_end_text;
use super::transcript::Tone;
use super::turn::{Lap, Sight, Turn};
use super::welcome::{STARTS_AGAIN, STOPPED};

/// How long it takes until older events that could not be fetched are asked for again.
const AGAIN: Duration = Duration::from_secs(2);

impl Chat {
    /// Takes news from the driver; `now` is the time since the start of the program.
    pub fn news(&mut self, now: Duration, news: News) {
        match news {
            News::Opened(session) => self.opened(session),
            News::Started { session, turn } => {
                self.requests.open(Some(&session));
                self.session = Some(session);
                self.sight = Sight::Kept;
                self.started(now, turn);
            }
            News::Event(numbered) => self.take_event(now, &numbered),
            News::CaughtUp => self.caught_up(now),
            News::Older { session, before, events } if self.session.as_ref() == Some(&session) => {
                match events {
                    Some(events) => {
                        // Another page may have been asked for since.
                        self.asked_older.take_if(|asked| *asked == before);
                        let wall = self.wall(now);
                        events.iter().for_each(|event| self.turn.older(now, wall, event));
                        self.transcript.prepend(before, events);
                    }
                    None if self.asked_older == Some(before) => self.older_again = Some(now + AGAIN),
                    // It is asked for again when it is wanted again.
                    None => {}
                }
            }
            // Of a conversation that is not on the screen any more.
            News::Older { .. } => {}
            News::Lost(what) => {
                self.sight = self.sight.max(Sight::Lost);
                self.lose_turn();
                self.return_first();
                self.note(Tone::Bad, sanitize(&what).into_owned());
            }
            News::Away => self.known.engine = Engine::Away,
            News::Stopped => {
                self.known.engine = Engine::Stopped;
                let is_open = self.lose_turn();
                // None are known: those of turns that ended with it are closed.
                self.known.tasks = TaskCounts::default();
                self.known.background = 0;
                self.requests.waiting(Vec::new());
                self.close_if_gone();
                // The first screen says it by itself.
                if self.has_talk {
                    let turn = if is_open { "; the turn may still be running" } else { "" };
                    self.note(Tone::Warn, format!("{STOPPED}{turn}; {STARTS_AGAIN}"));
                }
            }
            News::Back => self.known.engine = Engine::There,
            News::Waiting { requests, tasks, background } => {
                self.known.has_waiting = true;
                self.known.tasks = tasks;
                self.known.background = background;
                self.requests.waiting(requests);
                let listed = self.requests.listed().into_iter();
                let choices =
                    listed.map(|(text, ticket)| CompletionChoice::new(ticket.as_str(), text)).collect();
                self.composer.know(CompletionSource::Requests, choices);
                self.close_if_gone();
            }
            News::Ended(task) => self.task_ended(&task),
            News::Files { letters, paths } => self.composer.offer(&letters, paths),
            News::Names { sessions, tasks } => self.know_names(&sessions, &tasks),
            News::Image { pasted, path } => {
                let reaction = self.composer.image(&pasted, path.as_deref());
                self.react(now, reaction);
            }
            News::Clipboard(content) => self.insert(now, content),
            News::Reply(text) => self.note(Tone::Info, text),
            News::Answered { ticket } => self.confirm_answer(&ticket),
            News::Refused { what, prompt, ticket } => self.show_refusal(&what, prompt, ticket),
            News::ShellOutput(text) => {
                if let Some(shell) = &mut self.shell {
                    shell.print(&text);
                }
            }
            News::ShellEnded { exit, took_ms, note } => {
                if let Some(shell) = self.shell.take() {
                    self.transcript.ran(shell.end(exit, took_ms, note));
                }
            }
            News::Offers(offers) => {
                self.known.take_offers(offers);
                self.know_models();
            }
            News::LoopOffers(offers) => {
                self.known.take_loop_offers(offers);
                self.know_models();
            }
            News::Missing { what, remedy } => self.known.lacks(Missing { what, remedy }),
            News::Chosen { provider, model, effort } => {
                self.known.choose(provider, model, effort);
                self.know_models();
            }
            News::PermissionsAsked { sandbox, approval } => self.known.ask_permissions(sandbox, approval),
            News::Theme(theme) => self.theme = theme,
            // It would take the keys in the middle of what is being typed.
            News::Pick { title, .. } if self.is_typing() => {
                let words = format!("not shown because you were typing: {}; ask again", one_line(&title));
                self.note(Tone::Warn, words);
            }
            News::Pick { title, rows } => self.pick(&title, rows),
        }
        if self.replaced.forget(|ticket| self.requests.is_open(ticket)) {
            self.note(Tone::Warn, "the question you set aside was closed; your draft answer was discarded");
        }
        self.show_request();
    }

    /// Whether a line is being typed, for the panel or the input line.
    fn is_typing(&self) -> bool {
        self.composer.is_busy() || self.is_dropping || self.panel.as_ref().is_some_and(Panel::is_entering)
    }

    /// A turn was written down. Its events come by another way, and may have been faster.
    fn started(&mut self, now: Duration, turn: i64) {
        let before = self.turn;
        if turn > self.ended {
            self.turn.started(Some(turn), Lap::new(now));
        } else if matches!(self.turn, Turn::Asked { .. }) {
            self.turn = Turn::Idle;
        }
        self.stop_if_unwanted(before);
        let held = self.pending.release();
        self.wishes.extend(held.into_iter().map(|(prompt, when)| ChatEffect::Say(prompt, when)));
    }

    /// No further event says how the turn is: nothing is claimed of it until one does. Returns whether one ran.
    fn lose_turn(&mut self) -> bool {
        let was_running = self.turn.is_running();
        if was_running {
            (self.turn, self.sight) = (Turn::Idle, Sight::LostTurn);
        }
        let returned = self.pending.take_returned();
        self.put_back(returned);
        was_running
    }

    /// Is this an event of a turn that has no end yet?
    fn is_of_open_turn(&self, numbered: &Numbered) -> bool {
        let is_open = numbered.turn.is_some_and(|turn| turn > self.ended);
        is_open && !matches!(numbered.event, Event::Outcome(_))
    }

    /// A turn that was cancelled before it began is stopped now; its queued input is not sent.
    fn stop_if_unwanted(&mut self, before: Turn) {
        if before.is_unwanted() && self.turn.is_running() {
            self.wishes.push(ChatEffect::Interrupt);
            let held = self.pending.withdraw();
            self.put_back(held);
        }
    }

    fn take_event(&mut self, now: Duration, numbered: &Numbered) {
        if self.session.as_ref().is_some_and(|session| *session != numbered.session) {
            return;
        }
        self.has_talk = true;
        let session = self.session.get_or_insert_with(|| numbered.session.clone());
        self.requests.open(Some(session));
        self.known.event(&numbered.event);
        if self.is_caught_up {
            self.known.event_of_now(&numbered.event);
            self.known.settle_asked(&numbered.event);
            self.known.has_worked(&numbered.event);
        }
        // Events of the past, or of an older turn, do not concern newer input.
        let is_news = self.is_caught_up && !self.turn.is_after(numbered);
        let mut back = Vec::new();
        if is_news {
            self.sight = Sight::Kept;
            let before = self.turn;
            if self.turn.is_idle() && self.is_of_open_turn(numbered) {
                // It continues, which was not known before.
                self.turn = Turn::found();
            }
            self.turn.event(now, self.wall(now), numbered);
            match &numbered.event {
                Event::Interrupting { .. } => self.is_stop_confirmed = true,
                Event::Outcome(_) | Event::TurnStarted { .. } => self.is_stop_confirmed = false,
                _ => {}
            }
            self.stop_if_unwanted(before);
            back = self.pending.event(&numbered.event);
            // No end of a turn will follow that would return it.
            if self.turn.is_idle() {
                back.extend(self.pending.take_returned());
            }
        } else if !self.is_caught_up {
            self.past.event(now, self.wall(now), numbered);
        }
        self.transcript.take(now, numbered);
        self.put_back(back);
        // The prompt of the turn was typed before everything that waited for it.
        if is_news {
            self.take_back_unsent(&numbered.event);
        }
        if let Some(closed) = self.requests.event(numbered)
            && let Some(panel) = self.lose_panel(|panel| *panel.ticket() == closed.ticket)
            && !panel.is_sent()
            && closed.decision != Decision::Void
            && matches!(closed.by, Who::User | Who::Model)
        {
            self.note(Tone::Info, format!("the request was answered elsewhere: {}", closed.decision));
        }
        if let (Some(panel), Event::SessionStarted(_)) = (&mut self.panel, &numbered.event)
            && let Some(request) = self.requests.find(panel.ticket(), &self.known)
        {
            panel.renew(request.scene);
        }
        if matches!(numbered.event, Event::Outcome(_)) {
            self.ended = numbered.turn.unwrap_or(0).max(self.ended);
            self.lose_panel(|panel| !panel.is_from_elsewhere());
        }
    }

    /// Returns prompts to the input line, in this order. The last one is returned first: each is inserted before the
    /// current text.
    fn put_back(&mut self, prompts: Vec<PromptDraft>) {
        for prompt in prompts.into_iter().rev() {
            self.composer.put_back(prompt);
        }
    }

    /// A turn that ended before Codex had begun it did not use its input, which returns to the input line. If it is
    /// unknown whether it began, the input is not returned: it could run twice.
    fn take_back_unsent(&mut self, event: &Event) {
        match event {
            Event::TurnStarted { .. } => self.sent = None,
            Event::Outcome(report) => {
                let is_known = matches!(report.outcome, Outcome::Failed { .. } | Outcome::Interrupted { .. });
                if let Some(prompt) = self.sent.take().filter(|_| is_known) {
                    self.transcript.take_back(&redact(&prompt.text));
                    self.composer.put_back(prompt);
                }
            }
            _ => {}
        }
    }

    /// Completions of conversation and task ids.
    fn know_names(&mut self, sessions: &[SessionInfo], tasks: &[TaskLine]) {
        let session = |info: &SessionInfo| {
            let name = info.task.as_deref().unwrap_or(info.id.as_str());
            CompletionChoice::new(name, info.title.trim())
        };
        let task = |task: &TaskLine| {
            CompletionChoice::new(task.id.as_str(), format!("{}: {}", task.status.word(), task.title.trim()))
        };
        self.composer.know(CompletionSource::Sessions, sessions.iter().map(session).collect());
        self.composer.know(CompletionSource::Tasks, tasks.iter().map(task).collect());
    }

    /// Completions after `/model` and `/reasoning`.
    fn know_models(&mut self) {
        if self.known.runtime() == KnownRuntime::OwnLoop {
            let choices = self.known.loop_offers.as_ref().map(|offers| self.loop_models(offers));
            self.composer.know(CompletionSource::Models, choices.unwrap_or_default());
            self.composer.know(CompletionSource::Efforts, Vec::new());
            return;
        }
        let Some(offers) = &self.known.offers else { return };
        let model = |offer: &ModelOffer| CompletionChoice::new(offer.id.as_str(), offer.description.as_str());
        self.composer.know(CompletionSource::Models, offers.models.iter().map(model).collect());
        let chosen = offers.models.iter().find(|offer| Some(offer.id.as_str()) == self.known.model().value());
        let effort =
            |offer: &EffortOffer| CompletionChoice::new(offer.effort.as_str(), offer.description.as_str());
        let efforts = chosen.map(|offer| offer.efforts.iter().map(effort).collect());
        self.composer.know(CompletionSource::Efforts, efforts.unwrap_or_default());
    }

    /// What may follow `/model` on the built-in loop: a model of the provider in force, or another provider.
    fn loop_models(&self, offers: &LoopOffers) -> Vec<CompletionChoice> {
        let is_own = |name: &str| Some(name) == self.known.provider();
        let choices = offers.providers.iter().flat_map(|(name, models)| match is_own(name) {
            true => models.iter().map(|model| CompletionChoice::new(model.as_str(), "")).collect(),
            false => vec![CompletionChoice::new(name.as_str(), "a provider; its model follows")],
        });
        choices.collect()
    }

    /// A task has ended. That of the one on the screen is reported by its events.
    fn task_ended(&mut self, task: &TaskLine) {
        if self.session.as_ref() == Some(&task.session) {
            return;
        }
        let is_well = matches!(task.status, TaskStatus::Completed | TaskStatus::Cancelled);
        self.note(if is_well { Tone::Info } else { Tone::Warn }, task_end_text(task));
    }

    /// A request from another conversation has no events here: one that is no longer listed is closed.
    fn close_if_gone(&mut self) {
        let shown = self.panel.as_ref().map(|panel| panel.ticket().clone());
        let is_gone = shown.is_some_and(|ticket| !self.requests.is_open(&ticket));
        // The resulting event reports whether an answer from here won.
        let gone = self.lose_panel(|panel| is_gone && panel.is_from_elsewhere() && !panel.is_sent());
        if gone.is_some() {
            self.note(Tone::Info, "the request was answered elsewhere, or is no longer open");
        }
    }

    /// A question was closed, not by the person. Its draft must not go elsewhere: neither into the input line, nor to the
    /// next question.
    pub(super) fn lose_panel(&mut self, is_gone: impl FnOnce(&Panel) -> bool) -> Option<Panel> {
        let panel = self.panel.take_if(|panel| is_gone(panel))?;
        if panel.is_entering() {
            self.is_dropping = true;
            self.note(Tone::Warn, "the question was closed; your draft answer was discarded");
        }
        Some(panel)
    }

    /// The engine has taken an answer. Where the request belongs to another conversation, no event will say so.
    fn confirm_answer(&mut self, ticket: &TicketId) {
        self.panel.take_if(|panel| panel.ticket() == ticket && panel.is_from_elsewhere());
        if let Some(at) = self.given.iter().position(|(given, _)| given == ticket) {
            let (_, words) = self.given.remove(at);
            self.requests.close(ticket);
            self.note(Tone::Info, words);
        }
    }

    /// Something could not be done: nothing that was typed is lost.
    fn show_refusal(&mut self, what: &str, prompt: Option<PromptDraft>, ticket: Option<TicketId>) {
        // It may have been the request to stop: the person can repeat it.
        let is_about_command = prompt.is_none() && ticket.is_none();
        if let Some(prompt) = prompt {
            // Input for a turn that ran before may be refused when the next one was asked for.
            let has_no_turn = self.sent.take_if(|sent| *sent == prompt).is_some();
            self.pending.remove_refused(&prompt);
            self.transcript.take_back(&redact(&prompt.text));
            self.has_talk = self.transcript.newest_seq().is_some();
            let held = if has_no_turn && matches!(self.turn, Turn::Asked { .. }) {
                self.turn = Turn::Idle;
                // No turn applies the choice.
                self.known.is_brought = false;
                self.pending.withdraw()
            } else {
                Vec::new()
            };
            for prompt in held.into_iter().rev().chain([prompt]) {
                self.composer.put_back(prompt);
            }
        }
        if is_about_command && !self.is_stop_confirmed {
            self.turn.go_on();
        }
        self.given.retain(|(given, _)| Some(given) != ticket.as_ref());
        if let Some(ticket) = &ticket {
            self.replaced.forget_refused(ticket);
        }
        let shown = self.panel.as_mut().filter(|panel| Some(panel.ticket()) == ticket.as_ref());
        match shown {
            Some(panel) => {
                panel.refused(&one_line(what));
                if !self.composer.is_busy() {
                    panel.offer_keyboard();
                }
            }
            None => self.note(Tone::Bad, sanitize(what).into_owned()),
        }
    }
}
