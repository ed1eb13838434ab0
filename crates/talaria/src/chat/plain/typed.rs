//! Interpretation of a line: an answer to the question that was shown when it was typed, a command, or input for
//! the model. A draft answer to a question that is closed meanwhile is discarded.

use std::io::{self, Write};

use talaria_core::request::{Decision, Typed};
use talaria_tui::chat::commands::{self, Entry, SlashCommand};
use talaria_tui::chat::contract::ChatEffect;

use super::{Flow, Input, Plain};
use crate::chat::words;
use crate::line_reader::{LineText, TypedLine};
use crate::questions::{LineAnswer, Taken};
use crate::requests::build;
use crate::terminal_echo;
use crate::trouble::{complain, exit};

/// A question that is closed while a person types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Abandoned {
    number: u64,
    is_secret: bool,
}

impl Abandoned {
    /// Was this line typed for the question?
    fn takes(self, line: &TypedLine) -> bool {
        let is_command = match &line.text {
            LineText::Line(text) => text.starts_with('/'),
            LineText::Over | LineText::Failed => true,
            LineText::TooLong | LineText::Garbled => false,
        };
        line.asked >= self.number && (self.is_secret || !is_command)
    }
}

impl<W: Write> Plain<W> {
    /// Takes a line, or the end of the input.
    pub(super) fn read(&mut self, line: TypedLine) -> io::Result<Flow> {
        fault_at(self.asked);
        // The end of input has no end of line.
        if !line.is_end() {
            self.page.line_came();
            self.has_input = true;
        }
        if let Some(abandoned) = self.abandoned.take_if(|abandoned| abandoned.takes(&line)) {
            return self.throw_away(abandoned, &line);
        }
        let text = match line.text {
            LineText::Line(text) => text,
            LineText::Over | LineText::Failed => {
                self.is_input_over = true;
                // At a terminal the end of input means that the person leaves.
                return Ok(if self.input == Input::Terminal { Flow::Break(()) } else { Flow::Continue(()) });
            }
            LineText::TooLong => return self.refuse_line("the line is too long and was not read"),
            LineText::Garbled => return self.refuse_line("the line is not valid UTF-8 and was not read"),
        };
        if self.is_answer(&text, line.asked) {
            return self.answer(&text).map(|()| Flow::Continue(()));
        }
        if text.trim().is_empty() {
            self.asked = None;
            return Ok(Flow::Continue(()));
        }
        match commands::read(&text) {
            Err(mistake) => {
                self.code = exit::USAGE;
                self.page.say(&talaria_render::plain(&mistake.to_string()))?;
            }
            Ok(Entry::Command(SlashCommand::Quit)) => return Ok(Flow::Break(())),
            Ok(Entry::Command(SlashCommand::Approve { request, decision })) => {
                self.decide(request, decision, None, line.asked)?;
            }
            Ok(Entry::Command(SlashCommand::Deny { request, reason })) => {
                self.decide(request, Decision::Decline, reason, line.asked)?;
            }
            Ok(entry) => self.enter(entry, &text),
        }
        self.asked = None;
        Ok(Flow::Continue(()))
    }

    /// Says that a line was not taken. What a script says next was written for a conversation in which it was.
    fn refuse_line(&mut self, why: &str) -> io::Result<Flow> {
        self.code = exit::USAGE;
        match self.input {
            Input::Terminal => self.page.say(&format!("{why}\n"))?,
            Input::Pipe => {
                complain(&format!("{why}; the rest of the input was not read\n"));
                self.is_input_over = true;
            }
        }
        Ok(Flow::Continue(()))
    }

    /// Is the line an answer to the question that was on the page when it was typed?
    fn is_answer(&self, text: &str, asked: u64) -> bool {
        let Some((_, dialog)) = self.questions.first() else { return false };
        // A password may begin as a command does, and must not be complained about.
        let is_command = text.starts_with('/') && (!dialog.is_secret() || commands::read(text).is_ok());
        self.input == Input::Terminal && is_for(self.asked, asked) && !is_command
    }

    /// Says yes or no to what was shown: to the question on the page, or to one that is named.
    fn decide(
        &mut self,
        request: Option<String>,
        decision: Decision,
        reason: Option<String>,
        asked: u64,
    ) -> io::Result<()> {
        let is_seen = self.asked.is_some_and(|number| asked >= number);
        if request.is_none() && !is_seen {
            self.code = exit::USAGE;
            let words = match self.questions.first() {
                Some(_) => "the question appeared after you typed this: read it first\n",
                None if self.questions.is_answering() => {
                    "not decided: your previous answer is not confirmed yet; wait for the next question\n"
                }
                None => "no request is open here; /requests lists those elsewhere\n",
            };
            return self.page.say(words);
        }
        terminal_echo::show();
        let typed = Typed { decision, reason: reason.clone(), answers: None };
        let meant = self.questions.find(request.as_deref());
        match meant.map(|(ticket, ask)| (ticket.clone(), build::chat_answer(ticket, Some(ask), typed))) {
            Some((ticket, Ok(answer))) => {
                self.questions
                    .answer(&ticket, answer)
                    .into_iter()
                    .for_each(|answer| self.driver.wish(effect(answer)));
            }
            Some((_, Err(trouble))) => {
                self.code = trouble.exit;
                self.page.say(&words::of(&trouble))?;
            }
            // It is one of another conversation: the driver shows it before it accepts a yes.
            None => self.driver.wish(ChatEffect::Run(match decision {
                Decision::Decline => SlashCommand::Deny { request, reason },
                decision => SlashCommand::Approve { request, decision },
            })),
        }
        Ok(())
    }

    /// Throws away what was typed for a question that is closed.
    fn throw_away(&mut self, abandoned: Abandoned, line: &TypedLine) -> io::Result<Flow> {
        terminal_echo::show();
        if line.is_end() {
            self.is_input_over = true;
            return Ok(Flow::Break(()));
        }
        let is_empty = matches!(&line.text, LineText::Line(text) if text.trim().is_empty());
        if abandoned.is_secret || !is_empty {
            self.page.say("your draft answer was discarded\n")?;
        }
        Ok(Flow::Continue(()))
    }

    /// The question on the page goes, and not because of an answer that was typed here; `why` says what became of it.
    pub(super) fn abandon(&mut self, is_secret: bool, why: &str) -> io::Result<()> {
        let number = self.asked.take().filter(|number| *number > 0);
        self.page.withdraw();
        // Ctrl-C has emptied the line already.
        let Some(number) = number.filter(|_| !self.was_interrupted) else {
            terminal_echo::show();
            return Ok(());
        };
        // Hidden input stays hidden until the end of the line.
        self.abandoned = Some(Abandoned { number, is_secret });
        self.page.say(&format!("{why}; Enter discards your draft answer\n"))
    }

    fn answer(&mut self, line: &str) -> io::Result<()> {
        terminal_echo::show();
        self.asked = None;
        let step = self.questions.step();
        match self.questions.take(line) {
            Taken::Ask if step.is_some() && self.questions.step() == step && !line.trim().is_empty() => {
                self.page.say("that is not one of the answers; nothing was decided\n")
            }
            Taken::Ask => Ok(()),
            Taken::Answer(answer) => {
                self.driver.wish(effect(answer));
                Ok(())
            }
        }
    }
}

fn effect(LineAnswer { ticket, answer, digest }: LineAnswer) -> ChatEffect {
    ChatEffect::Answer { ticket, answer, digest }
}

/// Was a line typed for the question on the page? One that cannot be answered here has no number.
fn is_for(on_page: Option<u64>, typed: u64) -> bool {
    typed > 0 && on_page == Some(typed)
}

/// Lets a test see what becomes of the terminal when the program panics while something is asked.
fn fault_at(asked: Option<u64>) {
    if asked.is_some() && talaria_home::faults::is_panic_wanted("plain") {
        #[expect(clippy::panic, reason = "a test wants to see it; never in a release")]
        {
            panic!("a fault that a test asked for");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_cannot_be_answered_here_is_answered_by_no_line() {
        assert!(is_for(Some(2), 2) && !is_for(Some(2), 1) && !is_for(None, 2));
        assert!(!is_for(Some(0), 0), "no question was put when it was typed");
    }

    #[test]
    fn a_line_that_was_typed_for_a_closed_question_is_recognised() {
        let line = |text: &str, asked| TypedLine { text: LineText::Line(text.to_owned()), asked };
        let plain = Abandoned { number: 3, is_secret: false };
        assert!(plain.takes(&line("y", 3)));
        assert!(!plain.takes(&line("typed before it was put", 2)));
        assert!(!plain.takes(&line("/quit", 3)), "a command is no answer");
        let secret = Abandoned { is_secret: true, ..plain };
        assert!(secret.takes(&line("/may be a password", 3)));
    }
}
