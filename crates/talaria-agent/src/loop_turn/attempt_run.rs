//! The running attempt of a turn: follows `ModelAttempt`, reports what people see of it, and collects what it would add to
//! the history. All of it dies with the attempt: text of two attempts cannot be joined.

use std::collections::VecDeque;
use std::time::Duration;

use talaria_core::event::Event;
use talaria_core::ids::{ItemId, TurnId};
use talaria_core::request::Who;

use super::{EndedAttempt, LoopOutput, LoopSetup, empty_item, item_id};
use crate::attempt::{AttemptDiary, AttemptEnd, AttemptNews, AttemptStage, ModelAttempt, WireNews};
use crate::encode::own_name;
use crate::fold::{AnswerItem, AnswerStep};
use crate::history::{LogEntry, LogItem, LogPart, ReplayBinding};
use crate::profile::ProviderProfile;
use crate::spending::{TokenCount, TokenSource};

/// An attempt that is over.
pub(super) struct RunEnd {
    pub(super) ended: Box<EndedAttempt>,
    /// The ids of the items that its entries are, if it adds history: those under which pieces were shown.
    pub(super) item_ids: Vec<ItemId>,
    /// The items of which people saw something.
    pub(super) shown_items: Vec<ItemId>,
}

#[derive(Debug)]
pub(super) struct AttemptRun {
    turn: TurnId,
    number: u64,
    attempt: ModelAttempt,
    profile: ProviderProfile,
    binding: ReplayBinding,
    request_bytes: usize,
    collected: Collected,
}

/// The parts of an answer that arrived so far.
#[derive(Debug, Default)]
struct Collected {
    items: Vec<(usize, AnswerItem)>,
    tokens: TokenCount,
    shown_chars: u64,
    shown_items: Vec<usize>,
    end: Option<AttemptEnd>,
}

impl AttemptRun {
    pub(super) fn new(
        now: Duration,
        number: u64,
        setup: &LoopSetup,
        binding: ReplayBinding,
        request_bytes: usize,
    ) -> Self {
        Self {
            turn: setup.turn.clone(),
            number,
            attempt: ModelAttempt::new(now, setup.profile.clone()),
            profile: setup.profile.clone(),
            binding,
            request_bytes,
            collected: Collected::default(),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn wake_at(&self) -> Option<Duration> {
        self.attempt.wake_at()
    }

    pub(super) fn handle(
        &mut self,
        now: Duration,
        news: &WireNews,
        outputs: &mut VecDeque<LoopOutput>,
    ) -> Option<RunEnd> {
        self.drive(outputs, |attempt, sink| attempt.handle(now, news, sink))
    }

    pub(super) fn tick(&mut self, now: Duration, outputs: &mut VecDeque<LoopOutput>) -> Option<RunEnd> {
        self.drive(outputs, |attempt, sink| attempt.tick(now, sink))
    }

    pub(super) fn cancel(&mut self, by: Who, outputs: &mut VecDeque<LoopOutput>) -> Option<RunEnd> {
        self.drive(outputs, |attempt, sink| attempt.cancel(by, sink))
    }

    fn drive(
        &mut self,
        outputs: &mut VecDeque<LoopOutput>,
        step: impl FnOnce(&mut ModelAttempt, &mut dyn FnMut(AttemptNews<'_>)),
    ) -> Option<RunEnd> {
        let stage = self.attempt.stage();
        let Self { turn, number, attempt, collected, .. } = self;
        step(attempt, &mut |news| collected.take(turn, *number, news, outputs));
        let end = collected.end.take()?;
        Some(self.close(stage, end))
    }

    /// Builds the end. `stage` is how far the attempt was before.
    fn close(&mut self, stage: AttemptStage, end: AttemptEnd) -> RunEnd {
        let mut collected = std::mem::take(&mut self.collected);
        collected.items.sort_by_key(|(index, _)| *index);
        let item_ids =
            collected.items.iter().map(|(index, _)| item_id(&self.turn, self.number, *index)).collect();
        let entries = match &end {
            end if end.adds_history() => {
                collected.items.into_iter().map(|(_, item)| self.entry(item)).collect()
            }
            // What the person saw, marked; the vendor's bytes are not replayed.
            AttemptEnd::Refused { text, .. } => {
                let parts = vec![LogPart::Refusal { text: text.clone() }];
                let item = LogItem::Assistant { parts, phase: None };
                vec![LogEntry { attempt: Some(self.number), ..LogEntry::own(0, item) }]
            }
            _ => Vec::new(),
        };
        let diary = self.attempt.diary().clone();
        // The status says how far it was, where it came in the same step as the end.
        let stage = if diary.events > 0 { stage.max(AttemptStage::Speaking) } else { stage };
        let tokens = booked(collected.tokens, &end, stage, self.request_bytes, &diary);
        let shown_items = collected.shown_items.iter().map(|index| item_id(&self.turn, self.number, *index));
        RunEnd {
            item_ids,
            shown_items: shown_items.collect(),
            ended: Box::new(EndedAttempt {
                number: self.number,
                end,
                stage,
                tokens,
                price: None,
                diary,
                shown_chars: collected.shown_chars,
                entries,
            }),
        }
    }

    fn entry(&self, AnswerItem { item, native }: AnswerItem) -> LogEntry {
        let binding = native.is_some().then(|| Box::new(self.binding.clone()));
        let item = match item {
            LogItem::Call { call, name, input } => {
                LogItem::Call { call, name: own_name(&self.profile, name), input }
            }
            item => item,
        };
        LogEntry { seq: 0, attempt: Some(self.number), item, native, binding }
    }
}

impl Collected {
    fn take(
        &mut self,
        turn: &TurnId,
        number: u64,
        news: AttemptNews<'_>,
        outputs: &mut VecDeque<LoopOutput>,
    ) {
        let mut emit = |event: Event| outputs.push_back(LoopOutput::Emit(event));
        match news {
            AttemptNews::Step(step) => match step {
                AnswerStep::Opened { index, kind } => {
                    if let Some(item) = empty_item(&item_id(turn, number, index), &kind) {
                        emit(Event::ItemStarted { item: Box::new(item) });
                    }
                }
                AnswerStep::Text { index, piece } => {
                    self.show(index, &piece);
                    let item = item_id(turn, number, index);
                    emit(Event::TextDelta { item, delta: piece.into_owned() });
                }
                AnswerStep::Thought { index, piece } => {
                    self.show(index, &piece);
                    let item = item_id(turn, number, index);
                    emit(Event::ReasoningDelta { item, delta: piece.into_owned() });
                }
                AnswerStep::Done { index, item } => self.items.push((index, *item)),
                AnswerStep::Usage(tokens) => self.tokens.merge(tokens),
                AnswerStep::Unknown { kind, raw } => {
                    let raw = serde_json::value::RawValue::from_string(raw.to_owned());
                    if let Ok(raw) = raw {
                        emit(Event::Unknown { method: kind, raw });
                    }
                }
                AnswerStep::Corrupt { why, bytes } => emit(Event::Corrupt { reason: why, bytes }),
                AnswerStep::Began { .. } | AnswerStep::End(_) => {}
            },
            AttemptNews::Ignored(what) => {
                emit(Event::Warning {
                    message: format!("the provider sent {what}; nothing follows from it"),
                });
            }
            AttemptNews::Close => outputs.push_back(LoopOutput::Close(number)),
            AttemptNews::Ended(end) => self.end = Some(end),
        }
    }

    fn show(&mut self, index: usize, piece: &str) {
        self.shown_chars += u64::try_from(piece.chars().count()).unwrap_or(u64::MAX);
        if self.shown_items.last() != Some(&index) && !self.shown_items.contains(&index) {
            self.shown_items.push(index);
        }
    }
}

/// What an attempt cost: what the provider reported; an upper bound where it may have worked unseen; nothing where it
/// refused, or never had the request.
fn booked(
    reported: TokenCount,
    end: &AttemptEnd,
    stage: AttemptStage,
    request_bytes: usize,
    diary: &AttemptDiary,
) -> TokenCount {
    if reported.source != TokenSource::Unknown {
        return reported;
    }
    // Errors inside a stream have a status, too: the model has worked by then.
    let is_refused =
        matches!(end, AttemptEnd::Failed(failure) if failure.status.is_some()) && diary.events == 0;
    if stage < AttemptStage::Sent || is_refused {
        return TokenCount { input: Some(0), output: Some(0), ..TokenCount::default() };
    }
    TokenCount::estimate(request_bytes, diary.bytes)
}
