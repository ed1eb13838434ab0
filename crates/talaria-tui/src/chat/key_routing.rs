//! Routing of keys: to an open list, to the approval panel, or to the input line; and their effect.
//!
//! Ctrl-C does the mildest thing first: it stops a shell command, else the turn, else it clears the input line; a second
//! one leaves.

use std::time::Duration;

use talaria_core::api::When;
use talaria_core::config::Enter;
use talaria_core::request::Answer;
use talaria_guard::plain::{one_line, reveal_line};
use talaria_guard::redact::redact;

use super::commands::{NEXT_MODE, SlashCommand};
use super::composer::Reaction;
use super::contract::{ChatEffect, ChatInput, ClipboardContent, Code, KeyPress, PromptDraft};
use super::keys::Keys;
use super::list::Picked;
use super::panel::{Felt, Held, Panel, Request, Route};
use super::transcript::{Fold, Scroll, Tone};
use super::turn::Turn;
use super::{A_WHILE, Chat, Picks, Popup};

/// What follows a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// More of a word.
    Text,
    /// A key that writes nothing.
    Key,
}

impl Chat {
    /// Takes what a person did; `now` is the time since the start of the program.
    pub fn input(&mut self, now: Duration, input: ChatInput) {
        match input {
            ChatInput::Paste(text) => self.paste(now, &text),
            ChatInput::Key(key) => self.key(now, key),
        }
    }

    /// A paste never decides anything: it is text for whatever takes text.
    fn paste(&mut self, now: Duration, text: &str) {
        if self.is_dropping {
            return;
        }
        self.stay();
        self.note_line(now);
        self.take_back(now, Follows::Text);
        self.popup.take_if(|popup| matches!(popup, Popup::Keys(_)));
        if let Some(Popup::List(list)) = &mut self.popup {
            list.paste(text);
            return;
        }
        if let Some(panel) = self.panel.as_mut().filter(|panel| panel.route(now) == Route::Panel)
            && matches!(panel.paste(text), Felt::Nothing)
        {
            return;
        }
        let reaction = self.composer.paste(text);
        self.react(now, reaction);
        self.line_has_keyboard();
    }

    /// Inserts what the clipboard has. Text goes where a paste goes.
    pub(super) fn insert(&mut self, now: Duration, content: ClipboardContent) {
        match content {
            ClipboardContent::Image(path) => {
                self.composer.paste_image(&path);
                self.line_has_keyboard();
            }
            ClipboardContent::Text(text) => self.paste(now, &text),
            ClipboardContent::Nothing(why) => self.flash(now, &why),
        }
    }

    fn key(&mut self, now: Duration, key: KeyPress) {
        let plain = !key.ctrl && !key.alt;
        self.note_line(now);
        let is_ctrl_c = key.ctrl && key.code == Code::Char('c');
        // First, so that it does not take away what is said about this key.
        if !is_ctrl_c {
            self.stay();
        }
        match key.code {
            // As a line it would be the same choice. Where another one is marked, it is not clear which is meant.
            Code::Enter if self.held().is_some() => {
                if self.panel.as_ref().is_some_and(Panel::is_other_marked) {
                    self.take_back(now, Follows::Key);
                }
                return;
            }
            Code::Char(_) if plain => self.take_back(now, Follows::Text),
            _ => self.take_back(now, Follows::Key),
        }
        if self.composer.is_searching() && self.popup.is_none() {
            self.stay();
            let reaction = self.composer.key(key);
            return self.react(now, reaction);
        }
        if is_ctrl_c {
            return self.stop_or_leave(now);
        }
        if self.is_dropping && self.drops(key) {
            return;
        }
        match &mut self.popup {
            Some(Popup::List(list)) => {
                let picked = list.key(key);
                return self.apply_pick(now, picked);
            }
            Some(Popup::Keys(keys)) => {
                if keys.scroll(key.code) {
                    return;
                }
                self.popup = None;
                if matches!(key.code, Code::Esc | Code::Enter | Code::F(1) | Code::Char('?')) {
                    return;
                }
            }
            None => {}
        }
        if self.is_everywhere(now, key) {
            return;
        }
        match self.panel.as_ref().map_or(Route::Line, |panel| panel.route(now)) {
            Route::Nowhere => return,
            Route::Line => {}
            Route::Panel => {
                let felt = self.panel.as_mut().map_or(Felt::NotMine, |panel| panel.key(now, key));
                match felt {
                    Felt::Nothing => return,
                    Felt::Answer(answer) => return self.answer(answer),
                    Felt::Left => return self.leave_request(),
                    Felt::Unknown(c) => return self.ignore_letter(now, c),
                    Felt::NotMine if key.code == Code::Enter && self.composer.is_empty() => {
                        return self.flash(now, "nothing is marked: arrows mark a choice, Enter takes it");
                    }
                    // It is for the input line, which has the keys from now on.
                    Felt::NotMine => {}
                }
            }
        }
        match key.code {
            Code::PageUp | Code::PageDown => return self.scroll(key.code),
            Code::Char('d') if key.ctrl && self.composer.is_empty() => {
                return self.wishes.push(ChatEffect::Leave);
            }
            Code::Char('d') if key.ctrl && self.composer.is_at_end() => {
                return self.flash(now, "the input is not empty: Ctrl-C clears it");
            }
            Code::Char('?') if plain && self.composer.is_empty() => {
                return self.popup = Some(Popup::Keys(Keys::default()));
            }
            _ => {}
        }
        let reaction = self.composer.key(key);
        match (reaction, key.code) {
            (Reaction::NotMine | Reaction::Nothing, Code::Esc) => self.interrupt(),
            // Beside a request it would be taken for a part of the answer.
            (Reaction::NotMine | Reaction::Nothing, Code::BackTab) if self.panel.is_none() => {
                self.run(now, SlashCommand::Permissions(vec![NEXT_MODE.to_owned()]));
            }
            (reaction, _) => self.react(now, reaction),
        }
        self.line_has_keyboard();
    }

    /// Another key follows a deciding letter at once. Nothing is decided; the letter of a word goes with the word.
    fn take_back(&mut self, now: Duration, follows: Follows) {
        let Some((letter, held)) = self.panel.as_mut().and_then(Panel::take_back) else { return };
        if follows == Follows::Key {
            return match held {
                Held::Answer(_) => self.flash(now, "answer withdrawn; nothing was decided"),
                Held::Unknown(_) => {}
            };
        }
        self.flash(now, "you were typing, so nothing was decided; Ctrl-G answers");
        let key = KeyPress { code: Code::Char(letter), ctrl: false, alt: false, shift: false };
        let reaction = self.composer.key(key);
        self.react(now, reaction);
        self.line_has_keyboard();
    }

    /// A single letter that is none of the keys does nothing.
    pub(super) fn ignore_letter(&mut self, now: Duration, letter: char) {
        let letter = reveal_line(letter.encode_utf8(&mut [0; 4])).into_owned();
        self.flash(now, &format!("{letter} is none of the keys; Ctrl-G: input line"));
    }

    /// The letter that waits whether something follows it.
    pub(super) fn held(&self) -> Option<Held> {
        self.panel.as_ref().and_then(Panel::held)
    }

    /// Before the first key of a line: a command in it means the request that had been read by then.
    fn note_line(&mut self, now: Duration) {
        if !self.composer.is_busy() {
            let read = self.panel.as_ref().filter(|panel| panel.is_seen(now));
            self.line_about = read.map(|panel| panel.ticket().clone());
        }
    }

    /// Is the key part of a line whose question has gone? Enter and Esc end that line.
    fn drops(&mut self, key: KeyPress) -> bool {
        match key.code {
            Code::Enter | Code::Esc => self.is_dropping = false,
            Code::Char(_) | Code::Backspace | Code::Delete | Code::Tab => {}
            _ => return false,
        }
        true
    }

    /// Keys that mean the same wherever the keyboard is.
    fn is_everywhere(&mut self, now: Duration, key: KeyPress) -> bool {
        match key.code {
            Code::F(1) => self.popup = Some(Popup::Keys(Keys::default())),
            Code::F(2) => self.show_waiting(now),
            Code::F(3) => {
                self.enter = match self.enter {
                    Enter::Steer => Enter::Queue,
                    Enter::Queue => Enter::Steer,
                };
                let word = match self.enter {
                    Enter::Steer => "while a turn runs, Enter steers it",
                    Enter::Queue => "while a turn runs, Enter queues",
                };
                self.flash(now, word);
            }
            Code::Char('g') if key.ctrl => self.change_keyboard(now),
            Code::Char('o') if key.ctrl => self.transcript.toggle_fold(Fold::Next),
            Code::Char('o') if key.alt => self.transcript.toggle_fold(Fold::All),
            Code::Up if key.shift => self.transcript.scroll(Scroll::Up(1)),
            Code::Down if key.shift => self.transcript.scroll(Scroll::Down(1)),
            Code::Home if key.ctrl => self.transcript.scroll(Scroll::Top),
            Code::End if key.ctrl => self.transcript.scroll(Scroll::Bottom),
            _ => return false,
        }
        true
    }

    fn scroll(&mut self, code: Code) {
        match code {
            Code::PageUp => self.transcript.scroll(Scroll::PageUp),
            Code::PageDown => self.transcript.scroll(Scroll::PageDown),
            _ => {}
        }
    }

    /// Once something is in the input line, it keeps the keyboard until the person says otherwise.
    fn line_has_keyboard(&mut self) {
        if let Some(panel) = self.panel.as_mut().filter(|_| self.composer.is_busy()) {
            panel.leave_keyboard();
        }
    }

    /// A request from another conversation was opened on demand, and can be closed.
    fn leave_request(&mut self) {
        if let Some(panel) = &mut self.panel {
            panel.leave_keyboard();
        }
        if let Some(left) = self.panel.take_if(|panel| panel.is_from_elsewhere()) {
            self.replaced.put(left);
        }
        self.show_request();
    }

    fn change_keyboard(&mut self, now: Duration) {
        match &mut self.panel {
            Some(panel) if panel.has_keyboard() => panel.leave_keyboard(),
            Some(panel) if panel.is_sent() => {}
            Some(panel) => panel.take_keyboard(),
            None => self.flash(now, "no request is shown (F2 lists the open ones)"),
        }
    }

    fn stop_or_leave(&mut self, now: Duration) {
        if self.leave_by.is_some_and(|until| now < until) {
            return self.wishes.push(ChatEffect::Leave);
        }
        self.leave_by = Some(now + A_WHILE);
        self.is_dropping = false;
        let is_list = self.popup.take().is_some();
        let word = if self.shell.is_some() {
            // As the row of the command says.
            self.wishes.push(ChatEffect::StopShell);
            "stopping the command"
        } else if !self.turn.is_idle() {
            self.interrupt();
            "stopping the turn"
        } else if !self.composer.is_empty() {
            self.composer.clear();
            "cleared"
        } else if is_list {
            "closed"
        } else if self.is_turn_known() {
            "nothing is running"
        } else {
            "turn state unknown: /stop asks the engine"
        };
        self.flash(now, &format!("{word} (Ctrl-C again leaves the chat)"));
    }

    /// Another key than Ctrl-C was pressed: the count restarts, and the hint is removed.
    fn stay(&mut self) {
        if self.leave_by.take().is_some() {
            self.flash = None;
        }
    }

    /// Asks for the running turn, or the shell command, to stop.
    pub(super) fn interrupt(&mut self) {
        match self.turn {
            Turn::Running { .. } => {
                self.turn.stop();
                self.wishes.push(ChatEffect::Interrupt);
            }
            // The engine does not have it yet and cannot stop it.
            Turn::Asked { .. } => self.turn.stop(),
            Turn::Idle if self.shell.is_some() => self.wishes.push(ChatEffect::StopShell),
            Turn::Idle => {}
        }
    }

    fn apply_pick(&mut self, now: Duration, picked: Picked<Picks>) {
        match picked {
            Picked::Nothing => return,
            Picked::Left => self.popup = None,
            Picked::Chosen(choice) => {
                self.popup = None;
                match choice {
                    Picks::Run(command) => self.run(now, command),
                    Picks::Show(ticket) => self.show_ticket(&ticket),
                }
            }
        }
        self.show_request();
    }

    /// Effect of a key in the input line.
    pub(super) fn react(&mut self, now: Duration, reaction: Reaction) {
        let is_line = matches!(reaction, Reaction::Submit(_) | Reaction::Command(_) | Reaction::Shell(_));
        match reaction {
            Reaction::Nothing | Reaction::Changed | Reaction::NotMine => {}
            Reaction::Submit(prompt) => {
                let when = match self.enter {
                    Enter::Steer => When::Now,
                    Enter::Queue => When::Next,
                };
                self.say(now, prompt, when);
            }
            Reaction::Command(command) => {
                self.echo(&command);
                self.run(now, command);
            }
            Reaction::Mistake(text) => self.note(Tone::Warn, text),
            Reaction::Shell(command) => self.start_shell(now, command),
            Reaction::WantFiles(letters) => self.wishes.push(ChatEffect::Files(letters)),
            Reaction::WantNames => self.wishes.push(ChatEffect::Names),
            Reaction::WantClipboard => self.wishes.push(ChatEffect::Clipboard),
            Reaction::WantImage(pasted) => self.wishes.push(ChatEffect::Image(pasted)),
        }
        if is_line && let Some(line) = self.composer.history().newest_kept() {
            self.wishes.push(ChatEffect::Remember(line.to_owned()));
        }
    }

    /// Shows what was typed, unless it is shown as something that was said.
    fn echo(&mut self, command: &SlashCommand) {
        if !matches!(command, SlashCommand::Steer(_) | SlashCommand::Queue(_))
            && let Some(line) = self.composer.history().newest_kept()
        {
            self.transcript.echo(line);
        }
    }

    /// Says something: a new turn, or further input for the one that runs.
    pub(super) fn say(&mut self, now: Duration, prompt: PromptDraft, when: When) {
        self.transcript.scroll(Scroll::Bottom);
        match self.turn {
            Turn::Idle => {
                self.turn = Turn::Asked { since: now, is_stopping: false };
                self.has_talk = true;
                let images: Vec<String> =
                    prompt.images.iter().map(|image| redact(image).into_owned()).collect();
                self.transcript.said(&redact(&prompt.text), &images);
                self.sent = Some(prompt.clone());
                self.known.bring_asked();
                self.wishes.push(ChatEffect::Send(prompt));
            }
            Turn::Asked { .. } => self.pending.hold(prompt, when),
            Turn::Running { .. } => {
                self.pending.add_handed_over(prompt.clone(), when);
                self.wishes.push(ChatEffect::Say(prompt, when));
            }
        }
    }

    /// Sends the answer to the request that is shown.
    pub(super) fn answer(&mut self, answer: Answer) {
        let Some(panel) = self.panel.as_mut().filter(|panel| !panel.is_sent()) else { return };
        panel.sent();
        let (ticket, digest) = (panel.ticket().clone(), panel.digest().cloned());
        if panel.is_from_elsewhere()
            && let Some(request) = self.requests.find(&ticket, &self.known)
        {
            self.given.push((ticket.clone(), words_of(&request, &answer)));
        }
        self.wishes.push(ChatEffect::Answer { ticket, answer, digest });
    }
}

/// Answers by request, until the engine confirms them.
fn words_of(request: &Request, answer: &Answer) -> String {
    let origin = request.scene.origin.as_deref().unwrap_or("a request");
    let why = answer.given_reason().map(|reason| format!(", because: {}", one_line(&redact(reason))));
    let (about, why) = (reveal_line(&request.ask.label()).into_owned(), why.unwrap_or_default());
    format!("{origin}: {about}\n  your answer was recorded: {}{why}", answer.decision)
}
