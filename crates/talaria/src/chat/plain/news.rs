//! What the driver tells, as lines.

use std::io;

use talaria_core::api::{Numbered, Offers, RequestInfo, RequestState};
use talaria_core::event::Event;
use talaria_face::chat::commands::{self, Command};
use talaria_face::chat::contract::News;
use talaria_face::render::{plain, plain_line};

use super::{Input, Plain};
use crate::trouble::{complain, exit};

impl Plain {
    /// Shows news.
    pub(super) fn news(&mut self, news: News) -> io::Result<()> {
        match news {
            News::Event(numbered) => {
                self.page.event(&numbered)?;
                self.learn(&numbered.event)
            }
            News::Opened(session) => {
                if let Some((_, is_secret)) = self.questions.on_page() {
                    self.abandon(is_secret)?;
                }
                self.questions.clear();
                self.asked = None;
                let words = match &session {
                    Some(info) => format!("{} ({}, in {})\n", info.title.trim(), info.id, info.cwd),
                    None => "a new conversation\n".to_owned(),
                };
                if session.is_some() {
                    self.page.opening();
                }
                self.page.say(&plain(&words))
            }
            News::CaughtUp => {
                self.page.caught_up()?;
                self.ask_what_is_old()
            }
            News::Away => self.note("the engine is away; waiting for it to come back"),
            News::Stopped => self.note("the engine was stopped; what you send or ask next starts it again"),
            News::Back => self.note("the engine is back"),
            News::Waiting { requests, .. } => {
                self.count_waiting(&requests)?;
                self.waiting = requests;
                self.ask_what_is_old()
            }
            News::Reply(text) => self.page.say(&text),
            News::Refused { what, ticket, .. } => {
                if let Some(ticket) = ticket {
                    self.questions.refused(&ticket);
                    self.asked = None;
                }
                self.code = exit::FAILED;
                self.note(&what)
            }
            News::ShellOutput(text) => self.page.print(&text),
            News::ShellEnded { exit, note, .. } => {
                self.code = exit.map_or(exit::FAILED, |code| u8::try_from(code).unwrap_or(exit::FAILED));
                let ended = exit.filter(|code| *code != 0).map(|code| format!("exit code {code}\n"));
                let note = note.map(|note| format!("{}\n", plain(&note)));
                self.page.say(&(ended.unwrap_or_default() + &note.unwrap_or_default()))
            }
            News::Offers(offers) if self.input == Input::Terminal => self.page.say(&begins_with(&offers)),
            News::Missing { what, remedy } => self.note(&format!("{what}\n{remedy}")),
            News::Pick { title, rows } => self.page.say(&choices(&title, &rows)),
            News::Started { .. }
            | News::Older { .. }
            | News::Answered { .. }
            | News::Offers(_)
            | News::Files { .. }
            | News::Image { .. }
            | News::Chosen { .. }
            | News::Theme(_) => Ok(()),
        }
    }

    /// Says something beside the conversation: into a pipe goes only what belongs to it.
    fn note(&mut self, text: &str) -> io::Result<()> {
        match self.input {
            Input::Terminal => self.page.say(&plain(text)),
            Input::Pipe => {
                complain(&format!("{text}\n"));
                Ok(())
            }
        }
    }

    /// Shows a question of this conversation that was put before the oldest event that was read.
    fn ask_what_is_old(&mut self) -> io::Result<()> {
        let here = self.driver.current().map(|current| current.id.clone());
        let Some(here) = here.filter(|_| self.page.is_caught_up()) else { return Ok(()) };
        let is_missed = |request: &RequestInfo| {
            request.session == here
                && request.state == RequestState::Open
                && self.page.is_before(request.since)
        };
        for request in self.waiting.clone().into_iter().filter(is_missed).collect::<Vec<_>>() {
            let Some(ask) = request.ask.filter(|_| !self.questions.knows(&request.id)) else { continue };
            let (id, place, digest) = (request.id, request.place, request.digest);
            let event = Event::RequestOpened { id, ask: Box::new(ask), place, digest };
            self.questions.event(&event);
            let (session, at) = (request.session, request.since);
            self.page.event(&Numbered { session, seq: 0, at, turn: None, event })?;
        }
        Ok(())
    }

    fn count_waiting(&mut self, requests: &[RequestInfo]) -> io::Result<()> {
        let here = self.driver.current().map(|current| &current.id);
        let count = requests.iter().filter(|request| Some(&request.session) != here).count();
        let is_more = count > self.told_waiting;
        self.told_waiting = count;
        if !is_more || self.input == Input::Pipe {
            return Ok(());
        }
        let words = if count == 1 { "1 request waits".to_owned() } else { format!("{count} requests wait") };
        self.page.say(&format!("{words} for you elsewhere: /requests\n"))
    }
}

/// What a conversation here begins with, in one line.
fn begins_with(offers: &Offers) -> String {
    let told = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!(", {name} {value}"));
    let line = format!(
        "Codex {}{}{}{}{}",
        offers.codex,
        told("model", &offers.model).unwrap_or_default(),
        told("reasoning", &offers.effort).unwrap_or_default(),
        told("sandbox", &offers.sandbox).unwrap_or_default(),
        told("asks", &offers.approval).unwrap_or_default(),
    );
    plain_line(&line).into_owned() + "\n"
}

/// A list to choose from, each row with what is to be typed.
fn choices(title: &str, rows: &[(String, Command)]) -> String {
    let mut out = format!("{title}:\n");
    for (row, command) in rows {
        out += &format!("  {row}\n");
        let argument = match command {
            Command::Resume(Some(word))
            | Command::Model(Some(word))
            | Command::Reasoning(Some(word))
            | Command::Theme(Some(word)) => Some(word),
            _ => None,
        };
        if let (Some(word), Some(definition)) = (argument, commands::definition(command)) {
            out += &format!("    /{} {}\n", definition.name, plain_line(word));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use talaria_core::api::Account;

    use super::*;

    #[test]
    fn a_choice_says_what_is_to_be_typed() {
        let rows = [("gpt-5.5 (usual)".to_owned(), Command::Model(Some("gpt-5.5".to_owned())))];
        assert_eq!(choices("Model", &rows), "Model:\n  gpt-5.5 (usual)\n    /model gpt-5.5\n");
    }

    #[test]
    fn what_is_not_known_of_the_beginning_is_not_said() {
        let offers = Offers {
            codex: "0.166.0".to_owned(),
            account: Account::default(),
            models: Vec::new(),
            model: Some("gpt\u{1b}".to_owned()),
            effort: None,
            provider: None,
            sandbox: None,
            approval: None,
            limits: None,
            notes: Vec::new(),
        };
        assert_eq!(begins_with(&offers), "Codex 0.166.0, model gpt␛\n");
    }
}
