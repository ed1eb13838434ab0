//! A turn for a person whose standard output is redirected: the answer on one stream, the account of the turn on
//! another, so that `x=$(talaria exec …)` and `| less` get the answer alone.
//!
//! Which message is the answer is known only when the turn has ended. The last message is therefore held: if
//! anything follows it, it belongs to the account. A turn that did not complete has no answer; all of it is account.

use std::io::{self, Write};
use std::time::Duration;

use talaria_core::event::Event;
use talaria_core::ids::ItemId;
use talaria_core::item::ItemBody;
use talaria_core::outcome::{Outcome, Report};

use super::{Look, Quiet, Renderer, Shown, TerminalRenderer};

/// Writes the answer of a completed turn to one stream, as the model wrote it, and everything else to another.
pub struct SplitRenderer<A: Write, W: Write> {
    answer: Quiet<A>,
    account: TerminalRenderer<W>,
    /// Events of the message that may be the answer.
    held: Vec<Event>,
}

impl<A: Write, W: Write> SplitRenderer<A, W> {
    /// Wraps the two streams; `look` is that of the account, in which nothing is drawn twice.
    pub fn new(answer: A, account: W, look: Look) -> Self {
        let raw = Look { color: false, width: None, live: false, unicode: true };
        let account = TerminalRenderer::new(account, Look { live: false, ..look });
        Self { answer: Quiet::new(answer, raw), account, held: Vec::new() }
    }

    /// Moves the held message into the account.
    fn release(&mut self, now: Duration) -> io::Result<()> {
        std::mem::take(&mut self.held).iter().try_for_each(|event| self.account.event(now, event))
    }

    fn hold(&mut self, now: Duration, item: &ItemId, event: &Event) -> io::Result<()> {
        if self.held.iter().any(|held| message(held) != Some(item)) {
            self.release(now)?;
        }
        self.held.push(event.clone());
        Ok(())
    }

    /// Shows how a turn ended, `show` the account of it. The account is written first: the output of a pager is
    /// then not overwritten.
    fn finish(
        &mut self,
        now: Duration,
        report: &Report,
        show: impl FnOnce(&mut TerminalRenderer<W>, &Report) -> io::Result<()>,
    ) -> io::Result<()> {
        let answer = report.text.as_deref().filter(|_| report.outcome == Outcome::Completed);
        match answer {
            Some(text) if self.held.iter().any(|event| is_whole(event, text)) => self.held.clear(),
            _ => self.release(now)?,
        }
        let account = Report { text: report.text.clone().filter(|_| answer.is_none()), ..report.clone() };
        show(&mut self.account, &account)?;
        self.account.flush()?;
        self.answer.event(now, &Event::Outcome(Box::new(report.clone())))?;
        self.answer.flush()
    }
}

impl<A: Write, W: Write> Renderer for SplitRenderer<A, W> {
    fn event(&mut self, now: Duration, event: &Event) -> io::Result<()> {
        if let Event::Outcome(report) = event {
            return self.finish(now, report, |terminal, account| {
                terminal.event(now, &Event::Outcome(Box::new(account.clone())))
            });
        }
        if let Some(item) = message(event) {
            self.hold(now, item, event)?;
            return if is_commentary(event) { self.release(now) } else { Ok(()) };
        }
        if !is_unseen(event) {
            self.release(now)?;
        }
        self.account.event(now, event)
    }

    fn ended(&mut self, report: &Report, took: Option<Duration>) -> io::Result<()> {
        self.finish(Duration::ZERO, report, |terminal, account| terminal.ended(account, took))
    }

    fn note(&mut self, text: &str) -> io::Result<Shown> {
        // Earlier text is shown before the note, though it may turn out to be the answer.
        self.release(Duration::ZERO)?;
        self.account.note(text)
    }

    fn tick(&mut self, now: Duration) -> io::Result<()> {
        self.account.tick(now)?;
        self.answer.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.account.flush()?;
        self.answer.flush()
    }

    fn close(&mut self) -> io::Result<()> {
        self.release(Duration::ZERO)?;
        self.account.close()
    }
}

/// The message that an event belongs to, if it is about one.
fn message(event: &Event) -> Option<&ItemId> {
    match event {
        Event::TextDelta { item, .. } => Some(item),
        Event::ItemStarted { item } | Event::ItemCompleted { item } => {
            matches!(item.body, ItemBody::AgentMessage { .. }).then_some(&item.id)
        }
        _ => None,
    }
}

/// Is it a message that was completed and cannot be the answer?
fn is_commentary(event: &Event) -> bool {
    match event {
        Event::ItemCompleted { item } => {
            matches!(&item.body, ItemBody::AgentMessage { phase, .. } if phase.as_deref() == Some("commentary"))
        }
        _ => false,
    }
}

/// Is it all of this text?
fn is_whole(event: &Event, answer: &str) -> bool {
    match event {
        Event::ItemCompleted { item } => {
            matches!(&item.body, ItemBody::AgentMessage { text, .. } if text == answer)
        }
        _ => false,
    }
}

/// Events that add nothing to the account, and may follow the answer.
fn is_unseen(event: &Event) -> bool {
    matches!(
        event,
        Event::Ledger { .. }
            | Event::UsageUpdated { .. }
            | Event::OutputDelta { .. }
            | Event::DiffUpdated { .. }
            | Event::PatchUpdated { .. }
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::item::Status;
    use talaria_core::request::Who;

    use super::super::sample;
    use super::*;

    /// Content of the two streams after these events: the answer, the account.
    fn split(events: &[Event]) -> (String, String) {
        let (mut answer, mut account) = (Vec::new(), Vec::new());
        let mut split = SplitRenderer::new(&mut answer, &mut account, sample::PIPE);
        for event in events {
            split.event(Duration::ZERO, event).unwrap();
            split.flush().unwrap();
        }
        drop(split);
        (String::from_utf8(answer).unwrap(), String::from_utf8(account).unwrap())
    }

    fn said(item: &str, text: &str, phase: Option<&str>) -> [Event; 3] {
        [
            sample::began(item, sample::message_body("", phase)),
            sample::text(item, text),
            sample::ended(item, sample::message_body(text, phase)),
        ]
    }

    fn command() -> [Event; 2] {
        let body = |status, exit| sample::command_body("/bin/bash -lc 'ls'", status, exit, None);
        [
            sample::began("c-1", body(Status::InProgress, None)),
            sample::ended("c-1", body(Status::Completed, Some(0))),
        ]
    }

    #[test]
    fn the_last_message_is_the_answer_and_everything_else_the_account() {
        let mut events = vec![sample::session_started(), sample::turn_started()];
        events.extend(said("m-1", "I look.", Some("commentary")));
        events.extend(said("m-2", "I list.", None));
        events.extend(command());
        events.extend(said("m-3", "# Two\u{1b}[2J\n\n`files`", None));
        events.push(sample::completed("# Two\u{1b}[2J\n\n`files`"));
        let (answer, account) = split(&events);
        assert_eq!(answer, "# Two\u{1b}[2J\n\n`files`\n");
        expect![[r#"
            model     gpt-5.5 (high), provider openai, Codex 0.166.0
            cwd       /home/me/project
            sandbox   workspace-write, approval on-request

            · I look.

            I list.

            • ls
            ✓ ls  (0.4s)

            tokens: 9.6k in (4.8k cached), 12 out, 0.0s
        "#]]
        .assert_eq(&account);
    }

    #[test]
    fn a_turn_that_did_not_complete_has_no_answer() {
        for end in [sample::failed(), sample::lost(), sample::interrupted()] {
            let mut events = vec![sample::turn_started()];
            events.extend(said("m-1", "All is well.", None));
            events.extend([sample::text("m-2", "And als"), end]);
            let (answer, account) = split(&events);
            assert_eq!(answer, "");
            assert!(account.starts_with("All is well.\n\nAnd als\n\n"), "{account}");
        }
    }

    #[test]
    fn a_stop_is_said_after_the_text_that_came_before_it() {
        let stopping = Event::Interrupting { by: Who::User };
        let (answer, account) = split(&[
            sample::turn_started(),
            sample::text("m-1", "one "),
            stopping,
            sample::text("m-1", "tw"),
            sample::interrupted(),
        ]);
        assert_eq!(answer, "");
        assert!(account.starts_with("one tw\n\nstopping …\n"), "{account}");
    }

    #[test]
    fn void_text_is_never_the_answer() {
        let void = |end: Event| {
            vec![
                sample::turn_started(),
                sample::text("m-1", "A wrong beginning"),
                sample::void(1, &["m-1"]),
                end,
            ]
        };
        for end in [sample::failed(), sample::lost(), sample::interrupted()] {
            let (answer, account) = split(&void(end));
            assert_eq!(answer, "");
            assert!(account.starts_with("A wrong beginning\n\n✗ the text above does not count"), "{account}");
        }
        let (answer, account) = split(&void(sample::completed("The whole answer.")));
        assert_eq!(answer, "The whole answer.\n");
        assert!(!account.contains("whole answer"), "{account}");
    }

    #[test]
    fn an_answer_that_other_things_follow_is_still_the_answer() {
        let mut events = said("m-1", "Done.", None).to_vec();
        events.extend(command());
        events.push(sample::completed("Done."));
        let (answer, account) = split(&events);
        assert_eq!(answer, "Done.\n");
        assert!(account.contains("Done.\n\n• ls"), "{account}");
    }
}
