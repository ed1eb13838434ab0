//! The conversation in the terminal, without I/O: inputs and news go in, rows and wishes come out.
//!
//! Whoever drives it reads keys, asks the engine and draws; it decides nothing.

use std::time::Duration;

use talaria_core::config::Theme;

pub mod commands;
pub mod completion;
pub mod composer;
pub mod contract;
pub mod draw;
mod frame;
mod known;
pub mod history;
pub mod line;
mod setup;
mod status;
mod theme;
pub mod transcript;
mod turn;
mod welcome;

pub use frame::Frame;
pub use known::Asked;
pub use setup::Setup;

use contract::{Input, News, Wish};
use known::Known;
use turn::Turn;

use crate::render::Paint;

/// The conversation on the screen. Give it inputs and news, drain its wishes after each, and draw its frames.
#[derive(Debug)]
pub struct Chat {
    setup: Setup,
    known: Known,
    turn: Turn,
    wishes: Vec<Wish>,
}

impl Chat {
    /// Begins with nothing on the screen but the first screen.
    pub fn new(setup: Setup) -> Self {
        let (version, cwd, asked) = (setup.version.clone(), setup.cwd.clone(), setup.asked.clone());
        let known = Known { version, cwd, asked, ..Known::default() };
        Self { setup, known, turn: Turn::Idle, wishes: Vec::new() }
    }

    /// Takes what a person did; `now` is the time since the start of the program.
    pub fn input(&mut self, _now: Duration, _input: Input) {}

    /// Takes what the driver tells.
    pub fn news(&mut self, now: Duration, news: News) {
        match news {
            News::Event(numbered) => {
                self.known.event(&numbered.event);
                self.turn.event(now, &numbered);
            }
            News::Opened(session) => self.known.open(session),
            News::Offers(offers) => self.known.offered(offers),
            News::Away => self.known.is_away = true,
            News::Back => self.known.is_away = false,
            _ => {}
        }
    }

    /// Lets time pass. Called a few times a second while `is_ticking`.
    pub fn tick(&mut self, _now: Duration) {}

    /// Gives what the chat wants since it was last asked. To be carried out in this order.
    pub fn wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.wishes)
    }

    /// Does something on the screen change by itself?
    pub fn is_ticking(&self) -> bool {
        !self.turn.is_idle()
    }

    /// How it is to be drawn.
    pub fn theme(&self) -> Theme {
        self.setup.theme
    }

    /// The screen as it is now.
    pub fn frame(&mut self, columns: u16, rows: u16, now: Duration) -> Frame {
        let paint = Paint::new(self.setup.look);
        let (width, height) = (usize::from(columns), usize::from(rows));
        let mut lines = welcome::rows(&self.known, width, height.saturating_sub(1), paint);
        lines.resize_with(height.saturating_sub(1), line::Line::default);
        let moment = status::Moment { turn: self.turn, has_shell: false, waiting: 0, now };
        lines.push(status::row(&self.known, moment, width, paint));
        Frame::fitted(lines, None, columns, rows)
    }
}
