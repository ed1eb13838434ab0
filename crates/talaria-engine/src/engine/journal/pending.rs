//! What happened and was not recorded yet. Pieces of text wait a little and are joined; everything else is urgent.
//!
//! Pure: the journal passes the time and does the writing. Order is never changed: only neighbours are joined.

use std::time::{Duration, Instant};

use talaria_core::event::Event;
use talaria_core::ids::ItemId;

/// How long pieces of text may wait.
const PATIENCE: Duration = Duration::from_millis(80);
/// How much text may wait.
const ENOUGH: usize = 4096;

/// Events that wait to be recorded.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    events: Vec<Event>,
    /// Bytes of text in the streamed pieces among them.
    text: usize,
    due: Option<Instant>,
}

impl Pending {
    /// Takes an event that happened now.
    pub(crate) fn push(&mut self, now: Instant, event: Event) {
        let size = piece(&event).map(|(_, delta)| delta.len());
        match size {
            Some(size) => {
                self.text += size;
                let patience = if self.text >= ENOUGH { Duration::ZERO } else { PATIENCE };
                self.hurry(now + patience);
            }
            None => self.hurry(now),
        }
        if !self.events.last_mut().is_some_and(|last| join(last, &event)) {
            self.events.push(event);
        }
    }

    /// Deadline for writing them.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Takes everything.
    pub(crate) fn take(&mut self) -> Vec<Event> {
        (self.text, self.due) = (0, None);
        std::mem::take(&mut self.events)
    }

    fn hurry(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

/// The piece of text that an event is, if it is one.
fn piece(event: &Event) -> Option<(&ItemId, &str)> {
    match event {
        Event::TextDelta { item, delta }
        | Event::ReasoningDelta { item, delta }
        | Event::OutputDelta { item, delta }
        | Event::BackgroundOutput { item, delta, .. }
        | Event::PlanDelta { item, delta } => Some((item, delta)),
        _ => None,
    }
}

/// Appends a piece to the one before it, if both belong to the same text and that one is not long enough already: while a
/// flood is recorded the next one piles up, and no reader should get it as one event.
fn join(last: &mut Event, next: &Event) -> bool {
    match (last, next) {
        (Event::TextDelta { item, delta }, Event::TextDelta { item: same, delta: more })
        | (Event::ReasoningDelta { item, delta }, Event::ReasoningDelta { item: same, delta: more })
        | (Event::OutputDelta { item, delta }, Event::OutputDelta { item: same, delta: more })
        | (Event::PlanDelta { item, delta }, Event::PlanDelta { item: same, delta: more })
        | (
            Event::BackgroundOutput { item, delta, .. },
            Event::BackgroundOutput { item: same, delta: more, .. },
        ) if item == same && delta.len() < ENOUGH => {
            delta.push_str(more);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(item: &str, delta: &str) -> Event {
        Event::TextDelta { item: ItemId::new(item), delta: delta.to_owned() }
    }

    fn texts(events: &[Event]) -> Vec<&str> {
        events.iter().map(|event| piece(event).map_or("-", |(_, delta)| delta)).collect()
    }

    #[test]
    fn pieces_of_one_text_are_joined_and_nothing_changes_places() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        for event in
            [text("a", "1"), text("a", "2"), text("b", "3"), text("a", "4"), Event::Compacted, text("a", "5")]
        {
            pending.push(now, event);
        }
        assert_eq!(texts(&pending.take()), ["12", "3", "4", "-", "5"]);
        assert!(pending.take().is_empty() && pending.due().is_none());
    }

    #[test]
    fn a_flood_is_not_joined_into_one_event() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        let piece_of_text = "x".repeat(ENOUGH / 4);
        for _ in 0..40 {
            pending.push(now, text("a", &piece_of_text));
        }
        let events = pending.take();
        assert_eq!(events.len(), 10);
        assert!(texts(&events).iter().all(|text| text.len() == ENOUGH));
    }

    #[test]
    fn pieces_wait_a_little_much_text_and_everything_else_does_not() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        pending.push(now, text("a", "1"));
        pending.push(now + PATIENCE / 2, text("a", "2"));
        assert_eq!(
            pending.due(),
            Some(now + PATIENCE),
            "the first one must not wait longer because of the second"
        );
        pending.push(now, text("a", &"x".repeat(ENOUGH)));
        assert_eq!(pending.due(), Some(now));
        pending.take();
        pending.push(now, text("a", "1"));
        pending.push(now, Event::Compacted);
        assert_eq!(pending.due(), Some(now));
    }
}
