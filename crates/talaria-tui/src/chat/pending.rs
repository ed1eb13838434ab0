//! Input for a running turn that Codex has not confirmed. It is on the screen until then, and never lost: refused or
//! returned input goes to the input line.
//!
//! Events contain texts with masked secrets, so texts are compared in that form.

use talaria_core::api::When;
use talaria_core::event::Event;
use talaria_core::item::ItemBody;
use talaria_guard::plain::one_line;
use talaria_guard::redact::redact;

use super::contract::PromptDraft;
use talaria_render::{Paint, Style, StyledLine, cut};

/// At most this many characters of a text are shown.
const LABEL: usize = 500;

/// How far an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The engine has not said that there is a turn for it.
    Held,
    /// It was handed over.
    Told,
    /// The engine keeps it for the next turn.
    Queued,
    /// Codex has it. Whether the model reads it is not known before the turn shows it.
    Sent,
}

#[derive(Debug)]
struct Waiting {
    prompt: PromptDraft,
    when: When,
    stage: Stage,
    /// Counts up with each one that was typed.
    order: u64,
    /// Its beginning as it is shown: a prompt may be long, and rows are made for every frame.
    label: Label,
}

/// The beginning of a text, in one line and without secrets.
#[derive(Debug)]
struct Label {
    text: String,
    is_whole: bool,
}

impl Label {
    fn new(prompt: &str) -> Self {
        // Secrets are found in the whole: half of one cannot be recognised.
        let masked = redact(prompt);
        let end = masked.char_indices().nth(LABEL).map_or(masked.len(), |(at, _)| at);
        Self { text: one_line(&masked[..end]).into_owned(), is_whole: end == masked.len() }
    }
}

/// All input that waits, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Pending {
    waiting: Vec<Waiting>,
    /// Returned. Input passed to Codex and queued input are returned separately; the following end of the turn returns
    /// them in typed order.
    returned: Vec<Waiting>,
    /// Texts that the engine hands to Codex and that Codex has not confirmed, the oldest first. They may be another
    /// client's, and the turn may show one before Codex confirms it.
    unconfirmed: Vec<String>,
    /// Counts what was typed.
    count: u64,
}

impl Pending {
    /// Adds input that was handed over.
    pub(super) fn add_handed_over(&mut self, prompt: PromptDraft, when: When) {
        self.add(prompt, when, Stage::Told);
    }

    /// Adds input that cannot be handed over yet.
    pub(super) fn hold(&mut self, prompt: PromptDraft, when: When) {
        self.add(prompt, when, Stage::Held);
    }

    /// A turn began: returns the input held for it.
    pub(super) fn release(&mut self) -> Vec<(PromptDraft, When)> {
        let held = self.waiting.iter_mut().filter(|waiting| waiting.stage == Stage::Held);
        held.map(|waiting| {
            waiting.stage = Stage::Told;
            (waiting.prompt.clone(), waiting.when)
        })
        .collect()
    }

    /// No turn will begin: returns the input held for it.
    pub(super) fn withdraw(&mut self) -> Vec<PromptDraft> {
        let (held, rest) =
            std::mem::take(&mut self.waiting).into_iter().partition(|w| w.stage == Stage::Held);
        self.waiting = rest;
        Vec::into_iter(held).map(|waiting: Waiting| waiting.prompt).collect()
    }

    pub(super) fn remove_refused(&mut self, prompt: &PromptDraft) {
        if let Some(at) = self.waiting.iter().rposition(|waiting| waiting.prompt == *prompt) {
            self.waiting.remove(at);
        }
    }

    /// Learns from an event; returns the input that was not accepted.
    pub(super) fn event(&mut self, event: &Event) -> Vec<PromptDraft> {
        match event {
            Event::ItemStarted { item } | Event::ItemCompleted { item } => {
                if let ItemBody::UserMessage { text, .. } = &item.body {
                    self.remove(text);
                }
            }
            Event::Steering { input } => self.unconfirmed.push(input.text.clone()),
            Event::Steered { .. } if !self.unconfirmed.is_empty() => {
                let text = self.unconfirmed.remove(0);
                let is_it = |waiting: &&mut Waiting| {
                    waiting.when == When::Now
                        && waiting.stage == Stage::Told
                        && is_said(&waiting.prompt, &text)
                };
                if let Some(waiting) = self.waiting.iter_mut().find(is_it) {
                    waiting.stage = Stage::Sent;
                }
            }
            Event::Queued { input, .. } => {
                // The turn that runs did not take it.
                if let Some(at) = self.unconfirmed.iter().position(|handed| *handed == input.text) {
                    self.unconfirmed.remove(at);
                }
                if let Some(at) = self.find(&input.text) {
                    self.waiting[at].stage = Stage::Queued;
                }
            }
            Event::Unqueued { inputs, .. } => {
                let returned = inputs.iter().filter_map(|input| self.remove(&input.text));
                let returned: Vec<Waiting> = returned.collect();
                self.returned.extend(returned);
            }
            // Input not confirmed by then is an event of the next turn, or is returned with a refusal.
            Event::Outcome(_) => {
                self.unconfirmed.clear();
                self.waiting.retain(|waiting| matches!(waiting.stage, Stage::Held | Stage::Queued));
                return self.take_returned();
            }
            _ => {}
        }
        Vec::new()
    }

    /// Returns the withdrawn input, in the order in which it was typed.
    pub(super) fn take_returned(&mut self) -> Vec<PromptDraft> {
        self.returned.sort_by_key(|waiting| waiting.order);
        std::mem::take(&mut self.returned).into_iter().map(|waiting| waiting.prompt).collect()
    }

    fn add(&mut self, prompt: PromptDraft, when: When, stage: Stage) {
        self.count += 1;
        let label = Label::new(&prompt.text);
        self.waiting.push(Waiting { prompt, when, stage, order: self.count, label });
    }

    /// A row for each, at most `height`; the last says how many are not shown.
    pub(super) fn rows(&self, width: usize, height: usize, paint: Paint) -> Vec<StyledLine> {
        let shown = if self.waiting.len() > height { height.saturating_sub(1) } else { self.waiting.len() };
        let mut lines: Vec<StyledLine> = self
            .waiting
            .iter()
            .take(shown)
            .map(|waiting| {
                let word = match (waiting.stage, waiting.when) {
                    (Stage::Held, _) => "not sent yet",
                    (Stage::Sent, _) => "sent, not read yet",
                    // The engine has not confirmed either.
                    (Stage::Told, When::Now) => "steering",
                    (Stage::Told, When::Next) => "queueing",
                    (Stage::Queued, _) => "queued",
                };
                let more = if waiting.label.is_whole { "" } else { paint.sign("…", "~") };
                let said = &waiting.label.text;
                let text = format!("{} {word}: {said}{more}", paint.sign("↳", ">"));
                StyledLine::of(Style::DIM, cut(&text, width, paint))
            })
            .collect();
        if self.waiting.len() > shown && height > 0 {
            let more = format!("  {} more waiting", self.waiting.len() - shown);
            lines.push(StyledLine::of(Style::DIM, cut(&more, width, paint)));
        }
        lines
    }

    fn find(&self, masked: &str) -> Option<usize> {
        self.waiting.iter().position(|waiting| is_said(&waiting.prompt, masked))
    }

    fn remove(&mut self, masked: &str) -> Option<Waiting> {
        self.find(masked).map(|at| self.waiting.remove(at))
    }
}

/// Is this the text of a prompt, as events have it?
fn is_said(prompt: &PromptDraft, masked: &str) -> bool {
    redact(&prompt.text) == masked
}

#[cfg(test)]
mod tests {
    use talaria_core::event::QueuedInput;

    use super::*;

    #[test]
    fn a_prompt_with_an_image_is_queued_by_the_event_that_carries_the_image() {
        let images = vec!["/a.png".to_owned()];
        let mut pending = Pending::default();
        for text in ["look here", "look"] {
            pending
                .add_handed_over(PromptDraft { text: text.to_owned(), images: images.clone() }, When::Next);
        }
        let input = QueuedInput { text: "look".to_owned(), images };
        pending.event(&Event::Queued { waiting: 1, input });
        let stages: Vec<Stage> = pending.waiting.iter().map(|waiting| waiting.stage).collect();
        assert_eq!(stages, [Stage::Told, Stage::Queued]);
    }

    #[test]
    fn the_row_of_a_prompt_shows_its_beginning_and_no_secret() {
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        let mut pending = Pending::default();
        let prompt = |text: String| PromptDraft { text, images: Vec::new() };
        pending.add_handed_over(prompt(format!("use {secret}\nnow")), When::Now);
        pending.add_handed_over(prompt("long ".repeat(100_000)), When::Next);
        pending.hold(prompt(format!("{} {secret}", "x".repeat(LABEL - 9))), When::Now);
        let paint = Paint::new(talaria_render::Look { color: true, width: None, live: true, unicode: true });
        let rows: Vec<String> = pending.rows(2_000, 3, paint).iter().map(StyledLine::text).collect();
        assert!(rows.iter().all(|row| !row.contains("ghp_")), "{rows:?}");
        assert!(rows[0].starts_with("↳ steering: use ") && rows[0].ends_with("now"), "{rows:?}");
        assert!(rows[1].ends_with('…') && rows[1].chars().count() < LABEL + 20, "{rows:?}");
    }
}
