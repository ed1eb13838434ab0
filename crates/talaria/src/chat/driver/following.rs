//! The conversation on the screen: opened, followed, missed while the engine is away, and given up when it is gone.

use std::time::Duration;

use talaria_core::api::SessionInfo;
use talaria_core::event::Event;
use talaria_server::client::ClientError;
use talaria_server::client::launch::LaunchError;
use talaria_tui::chat::contract::News;

use super::{Current, Driver};
use crate::chat::errand::{Done, Seen};
use crate::chat::progress::Progress;
use crate::chat::words;
use crate::conversation::news::{News as Arrived, Stream};

/// Of a long conversation at most this many events are read at first; older ones when they are scrolled to.
const TAIL: i64 = 4000;
/// How long is waited before a conversation that can no longer be followed is followed again.
const AGAIN: Duration = Duration::from_secs(1);

/// Who misses the engine, and whether it is known why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Away {
    stream: bool,
    watch: bool,
    pub(super) is_stopped: bool,
}

impl Away {
    /// Did the engine not answer when it was asked last?
    pub(super) fn is_missed(self) -> bool {
        self.seen() == Seen::Away
    }

    fn seen(self) -> Seen {
        match self {
            Self { is_stopped: true, .. } => Seen::Stopped,
            Self { stream: false, watch: false, .. } => Seen::There,
            _ => Seen::Away,
        }
    }
}

impl Driver {
    pub(super) fn close(&mut self) {
        self.epoch += 1;
        (self.current, self.stream) = (None, None);
        (self.progress, self.is_beginning) = (Progress::default(), false);
        self.give_back_held("you left the conversation it was meant for");
        self.set_away(Away { stream: false, ..self.away });
    }

    pub(super) fn open(&mut self, info: SessionInfo) {
        self.close();
        let after = info.last_seq.saturating_sub(TAIL).max(0);
        self.progress.open(&info, after);
        self.follow(Current { id: info.id.clone(), cwd: info.cwd.clone() });
        self.note_open();
        self.ready.push_back(News::Opened(Some(Box::new(info))));
        self.tell_chosen();
        self.tell_caught_up();
    }

    /// Follows a conversation after the last event that was reported.
    pub(super) fn follow(&mut self, current: Current) {
        self.stream = Some(Stream::follow(&self.context.onlooker, &current.id, self.progress.last_seq()));
        self.current = Some(current);
    }

    pub(super) fn follow_again(&mut self, epoch: u64) {
        let is_missing = epoch == self.epoch && self.stream.is_none();
        if let Some(current) = self.current.clone().filter(|_| is_missing) {
            self.follow(current);
        }
    }

    pub(super) fn take_arrival(&mut self, arrived: Arrived) {
        match arrived {
            Arrived::Event(numbered) => {
                self.set_away(Away { stream: false, ..self.away });
                self.progress.take(&numbered);
                if matches!(numbered.event, Event::BackgroundStarted(_) | Event::BackgroundEnded { .. }) {
                    self.look_again.notify_one();
                }
                self.ready.push_back(News::Event(numbered));
                self.tell_caught_up();
            }
            Arrived::Away => self.set_away(Away { stream: true, ..self.away }),
            Arrived::Back => self.set_away(Away { stream: false, is_stopped: false, ..self.away }),
            Arrived::Over(Some(ClientError::Stopped)) => {
                self.stream = None;
                self.set_away(Away { stream: false, is_stopped: true, ..self.away });
            }
            Arrived::Over(error) => {
                self.stream = None;
                match error {
                    Some(error) if is_final(&error) => {
                        let what = if self.is_running() {
                            "the conversation can no longer be followed; its turn may still be running"
                        } else {
                            "the conversation can no longer be followed"
                        };
                        self.give_up(words::of(&crate::engine::refused(what, &error)));
                    }
                    error => {
                        self.try_again();
                        self.say_why(error.as_ref());
                    }
                }
            }
        }
    }

    /// It does not come back by waiting: that is reported once, and nothing of it runs any more as far as is known here.
    pub(super) fn give_up(&mut self, what: String) {
        self.set_away(Away { stream: false, ..self.away });
        self.progress.give_up();
        self.tell_caught_up();
        self.ready.push_back(News::Lost(what));
    }

    /// An engine that does not start keeps every command waiting: the reason is reported once for each absence.
    fn say_why(&mut self, error: Option<&ClientError>) {
        if let Some(error @ ClientError::Launch(_)) = error
            && !std::mem::replace(&mut self.is_absence_explained, true)
        {
            let trouble = crate::engine::refused("the engine does not start; retrying", error);
            self.ready.push_back(words::refused(&trouble));
        }
    }

    fn try_again(&mut self) {
        self.set_away(Away { stream: true, ..self.away });
        let (teller, epoch) = (self.teller.clone(), self.epoch);
        self.errands.spawn(async move {
            tokio::time::sleep(AGAIN).await;
            drop(teller.send(Done::FollowAgain { epoch }).await);
        });
    }

    /// The engine was searched. A resumed stream may have no news.
    pub(super) fn engine_seen(&mut self, seen: Seen) {
        let Away { stream, is_stopped, .. } = self.away;
        match seen {
            Seen::Stopped => self.set_away(Away { stream, watch: false, is_stopped: true }),
            Seen::Away => self.set_away(Away { stream, watch: true, is_stopped }),
            Seen::There => {
                if is_stopped && self.stream.is_none() {
                    self.follow_again(self.epoch);
                }
                let stream = stream && self.stream.is_none();
                self.set_away(Away { stream, watch: false, is_stopped: false });
            }
        }
    }

    pub(super) fn tell_caught_up(&mut self) {
        if self.progress.has_just_caught_up() {
            self.ready.push_back(News::CaughtUp);
        }
    }

    /// What waited after a first message is for the person to decide again.
    pub(super) fn give_back_held(&mut self, why: &str) {
        let held = std::mem::take(&mut self.held);
        self.give_back(held, why);
    }

    fn set_away(&mut self, away: Away) {
        let (was, is) = (self.away.seen(), away.seen());
        self.away = away;
        if was != is {
            self.is_absence_explained &= is == Seen::Away;
            self.ready.push_back(match is {
                Seen::There => News::Back,
                Seen::Away => News::Away,
                Seen::Stopped => News::Stopped,
            });
        }
    }
}

/// Does waiting not help? An engine that failed to start may start the next time.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Launch(failed) => match &**failed {
            LaunchError::Engine(error) => is_final(error),
            LaunchError::OtherApi { .. } => true,
            LaunchError::Start { .. }
            | LaunchError::Home { .. }
            | LaunchError::Ended { .. }
            | LaunchError::Silent { .. }
            | LaunchError::DoesNotEnd { .. } => false,
        },
        error => !crate::engine::may_come_back(error),
    }
}
