//! News from the driver, as lines.

use std::io::{self, Write};

use talaria_core::api::{Numbered, Offers, RequestInfo, RequestState, TaskLine};
use talaria_core::event::Event;
use talaria_guard::redact::redact;
use talaria_render::{elapsed, plain, plain_line};
use talaria_tui::chat::commands::{self, SlashCommand};
use talaria_tui::chat::contract::News;
use talaria_tui::chat::{RequestedSettings, beginning, loop_beginning, task_end_text};

use super::page::{Past, person_message};
use super::said::Said;
use super::{Input, NOT_SENT, Plain};
use crate::chat::chat_context::shown_path;
use crate::trouble::{complain, exit};

/// The duration is shown for commands that took at least this many milliseconds.
const LONG: u64 = 1000;

impl<W: Write> Plain<W> {
    pub(super) fn show(&mut self, news: News) -> io::Result<()> {
        match news {
            News::Event(numbered) => {
                let said = person_message(&numbered.event).filter(|_| self.page.is_caught_up());
                if let Some(text) = said.filter(|text| !self.said.takes(text)) {
                    self.page.person(text)?;
                }
                self.page.event(&numbered)?;
                self.learn(&numbered.event)
            }
            News::Opened(session) => {
                if let Some((_, is_secret)) = self.questions.on_page() {
                    self.abandon(is_secret, "the question was not answered")?;
                }
                self.questions.clear();
                // At a terminal only the prompt of the command line waits, for the conversation that is opened first.
                let is_other = !std::mem::take(&mut self.awaits_first);
                if is_other && self.input == Input::Terminal && !self.held.is_empty() {
                    self.held.clear();
                    self.page.say(NOT_SENT)?;
                }
                (self.asked, self.said) = (None, Said::default());
                let words = match &session {
                    Some(info) => {
                        let cwd = shown_path(&info.cwd);
                        format!("{} ({}, in {cwd})\n", plain_line(info.title.trim()), info.id.short())
                    }
                    None => {
                        self.is_looking = true;
                        "a new conversation\n".to_owned()
                    }
                };
                self.page.opening(if session.is_some() { Past::Follows } else { Past::None });
                self.page.say(&plain(&words))
            }
            News::CaughtUp => {
                self.page.caught_up()?;
                self.ask_what_is_old()
            }
            News::Lost(what) => {
                self.code = exit::FAILED;
                self.note(&what)
            }
            News::Away => self.note("the engine does not respond; reconnecting"),
            News::Stopped => {
                let turn = if self.driver.is_running() { "the turn may still be running; " } else { "" };
                self.note(&format!(
                    "the engine was stopped; {turn}your next message or command starts it again"
                ))
            }
            News::Back => self.note("reconnected to the engine"),
            News::Waiting { requests, .. } => {
                self.count_waiting(&requests)?;
                self.waiting = requests;
                self.ask_what_is_old()
            }
            News::Ended(task) => self.tell_end(&task),
            News::Reply(text) => self.page.reply(&text),
            News::Refused { what, ticket, prompt } => {
                // It was not said after all: the same words may come from elsewhere.
                let unsent = prompt.and_then(|prompt| {
                    self.said.takes(&redact(&prompt.text));
                    self.images = prompt.images;
                    self.driver.take_unsent()
                });
                if let Some(ticket) = ticket {
                    self.questions.ask_again(&ticket);
                    self.asked = None;
                }
                self.code = unsent.unwrap_or(exit::FAILED);
                self.note(&what)
            }
            News::ShellOutput(text) => self.page.print(&text),
            News::ShellEnded { exit, took_ms, note } => {
                self.code = exit.map_or(exit::FAILED, |code| u8::try_from(code).unwrap_or(exit::FAILED));
                self.page.say(&shell_ended(exit, took_ms, note.as_deref()))
            }
            News::Offers(offers) => {
                self.is_looking = false;
                // A conversation that there is has settings of its own.
                if self.input == Input::Pipe || self.driver.current().is_some() {
                    return Ok(());
                }
                self.page.say(&begins_with(self.begins_with.clone(), &offers))
            }
            News::LoopOffers(offers) => {
                self.is_looking = false;
                if self.input == Input::Pipe || self.driver.current().is_some() {
                    return Ok(());
                }
                self.page.say(&pairs(loop_beginning(self.begins_with.clone(), &offers)))
            }
            News::Missing { what, remedy } => {
                self.is_looking = false;
                self.note(&format!("missing: {what}\n{remedy}"))
            }
            News::Chosen { provider, model, effort } => {
                let kept = std::mem::take(&mut self.begins_with);
                self.begins_with = RequestedSettings { provider, model, effort, ..kept };
                Ok(())
            }
            News::PermissionsAsked { sandbox, approval } => {
                let kept = std::mem::take(&mut self.begins_with);
                self.begins_with = RequestedSettings { sandbox, approval, ..kept };
                Ok(())
            }
            News::Pick { title, rows } => self.page.say(&choices(&title, &rows)),
            News::Started { .. }
            | News::Older { .. }
            | News::Answered { .. }
            | News::Files { .. }
            | News::Names { .. }
            | News::Image { .. }
            | News::Clipboard(_)
            | News::Theme(_) => Ok(()),
        }
    }

    /// Learns of questions, and of how a turn ended.
    pub(super) fn learn(&mut self, event: &Event) -> io::Result<()> {
        let was_first = self.questions.on_page();
        self.questions.event(event);
        if let Some((ticket, is_secret)) = was_first
            && self.questions.first().is_none_or(|(first, _)| *first != ticket)
        {
            self.abandon(is_secret, "the question is no longer open")?;
        }
        // How an old turn ended was reported at its time.
        if let Event::Outcome(report) = event
            && self.page.is_caught_up()
        {
            self.code = report.exit_code();
            self.was_interrupted = false;
        }
        Ok(())
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

    /// Says that a task has ended, if a person reads this and has not read it already.
    fn tell_end(&mut self, task: &TaskLine) -> io::Result<()> {
        let is_here = self.driver.current().is_some_and(|current| current.id == task.session);
        if is_here || self.input == Input::Pipe {
            return Ok(());
        }
        self.page.say(&format!("{}\n", task_end_text(task)))
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

/// What a conversation here begins with, a line each.
fn begins_with(asked: RequestedSettings, offers: &Offers) -> String {
    pairs(beginning(asked, offers))
}

fn pairs(pairs: Vec<(&'static str, String)>) -> String {
    pairs.into_iter().map(|(name, value)| format!("{name}: {}\n", plain_line(&value))).collect()
}

/// How a command of the person ended, where that is worth a line.
fn shell_ended(exit: Option<i32>, took_ms: Option<u64>, note: Option<&str>) -> String {
    let code = exit.filter(|code| *code != 0).map(|code| format!("exit code {code}"));
    let time = took_ms.filter(|ms| *ms >= LONG).map(elapsed);
    // Without an exit code nothing says that it has ended.
    if let (None, Some(note)) = (exit, note) {
        let after = time.map(|time| format!("after {time}: ")).unwrap_or_default();
        return format!("{after}{}\n", plain(note));
    }
    let time = time.map(|time| format!("took {time}"));
    let told: Vec<String> = [code, time].into_iter().flatten().collect();
    let told = if told.is_empty() { String::new() } else { told.join(", ") + "\n" };
    told + &note.map(|note| format!("{}\n", plain(note))).unwrap_or_default()
}

/// A list to choose from, each row with what is to be typed.
fn choices(title: &str, rows: &[(String, SlashCommand)]) -> String {
    let mut out = format!("{title}:\n");
    for (row, command) in rows {
        out += &format!("  {row}\n");
        let argument = match command {
            SlashCommand::Model(words) => Some(words.join(" ")),
            SlashCommand::Resume(Some(word))
            | SlashCommand::Reasoning(Some(word))
            | SlashCommand::Theme(Some(word)) => Some(word.clone()),
            _ => None,
        };
        if let (Some(argument), Some(definition)) = (argument, commands::definition(command)) {
            out += &format!("    /{} {}\n", definition.name, plain_line(&argument));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_choice_says_what_is_to_be_typed() {
        let rows = [("gpt-5.5 (usual)".to_owned(), SlashCommand::Model(vec!["gpt-5.5".to_owned()]))];
        assert_eq!(choices("Model", &rows), "Model:\n  gpt-5.5 (usual)\n    /model gpt-5.5\n");
    }

    #[test]
    fn a_command_that_failed_or_took_long_says_so() {
        assert_eq!(shell_ended(Some(0), Some(999), None), "");
        assert_eq!(shell_ended(Some(3), Some(20), None), "exit code 3\n");
        assert_eq!(shell_ended(Some(0), Some(2100), None), "took 2.1s\n");
        assert_eq!(shell_ended(None, Some(65_000), Some("asked to stop")), "after 1m 05s: asked to stop\n");
        assert_eq!(shell_ended(None, None, Some("not run: x")), "not run: x\n");
    }

    #[test]
    fn a_conversation_begins_with_what_is_known_and_says_what_is_not() {
        let offers = Offers {
            codex: "0.166.0".to_owned(),
            model: Some("gpt\u{1b}".to_owned()),
            effort: Some("high".to_owned()),
            ..Offers::default()
        };
        expect![[r#"
            runtime: Codex 0.166.0
            model: gpt␛, effort high
            permissions: Codex's defaults; shown when the first turn starts
        "#]]
        .assert_eq(&begins_with(RequestedSettings::default(), &offers));
        let asked =
            RequestedSettings { sandbox: Some("read-only".to_owned()), ..RequestedSettings::default() };
        let told = begins_with(asked, &Offers { approval: Some("on-request".to_owned()), ..offers });
        assert!(
            told.ends_with("permissions: sandbox read-only (requested), approvals on-request\n"),
            "{told}"
        );
    }
}
