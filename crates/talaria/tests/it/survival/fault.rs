//! The faults as data: strike, target and point. A fault has a name, by which it can be repeated.

use std::fmt;

/// The durable writes of a turn, in their order. Each has a point before and one after it. `written` is the write to Codex.
pub(crate) const WRITES: [&str; 9] =
    ["prepared", "sent", "written", "accepted", "request", "answer-stored", "answer-sent", "item", "outcome"];

/// Which side of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// Whose turn is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nth {
    /// The first of a conversation: its thread has no file yet.
    First,
    /// One on a thread that has had a turn.
    Later,
}

/// The strike while the engine is held at the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// The engine is killed.
    Engine,
    /// Codex is killed.
    Codex,
    /// Codex is killed, then the engine, before it can notice.
    Both,
    /// The engine is killed, and the next one as soon as it has begun to resume what was left.
    EngineTwice,
    /// The engine is killed, and Codex while the next engine takes the turn up.
    EngineThenCodex,
    /// Codex closes the connection and lives.
    Cut,
    /// The engine gets SIGTERM: it ends and leaves its turns.
    Restart,
    /// A newer program replaces the engine.
    Upgrade,
    /// The clock is set forward by two days.
    ClockForward,
    /// The clock is set back by two days.
    ClockBack,
    /// The disk is full for a while.
    DiskFull,
    /// The disk is full, and the engine is killed meanwhile.
    DiskFullEngine,
    /// Another process has the database locked for a while.
    Busy,
    /// Another process reads the database the whole time.
    Reader,
    /// The home is copied while the engine is held, and the copy is used.
    Copy,
    /// The engine is killed, and `talaria stop` ends what it left before the next one starts.
    StopAfter,
}

/// Strikes that the real Codex is played with at every write.
pub(crate) const ON_REAL: [Strike; 3] = [Strike::Engine, Strike::Codex, Strike::Both];

/// Strikes that the stand-in is played with, by chance; at every point those that the real Codex is not played with.
pub(crate) const ON_STAND_IN: [Strike; 16] = [
    Strike::Engine,
    Strike::Codex,
    Strike::Both,
    Strike::EngineTwice,
    Strike::EngineThenCodex,
    Strike::Cut,
    Strike::Restart,
    Strike::Upgrade,
    Strike::ClockForward,
    Strike::ClockBack,
    Strike::DiskFull,
    Strike::DiskFullEngine,
    Strike::Busy,
    Strike::Reader,
    Strike::Copy,
    Strike::StopAfter,
];

impl Strike {
    /// Does Codex die of it?
    pub(crate) fn ends_codex(self) -> bool {
        matches!(self, Self::Codex | Self::Both | Self::EngineThenCodex | Self::StopAfter)
    }

    /// Does it break the connection to Codex, so that what was running may be gone?
    pub(crate) fn cuts_codex_off(self) -> bool {
        !matches!(
            self,
            Self::ClockForward | Self::ClockBack | Self::DiskFull | Self::Busy | Self::Reader | Self::Copy
        )
    }

    /// Does the engine die of it?
    pub(crate) fn ends_engine(self) -> bool {
        self.ends_engine_alone()
            || matches!(self, Self::Both | Self::EngineThenCodex | Self::DiskFullEngine | Self::StopAfter)
    }

    /// Does nothing but the engine die of it, whatever that was doing? Then a turn that was not written yet is sent.
    pub(crate) fn ends_engine_alone(self) -> bool {
        matches!(self, Self::Engine | Self::EngineTwice | Self::Restart | Self::Upgrade)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Codex => "codex",
            Self::Both => "both",
            Self::EngineTwice => "engine-twice",
            Self::EngineThenCodex => "engine-then-codex",
            Self::Cut => "cut",
            Self::Restart => "restart",
            Self::Upgrade => "upgrade",
            Self::ClockForward => "clock-forward",
            Self::ClockBack => "clock-back",
            Self::DiskFull => "disk-full",
            Self::DiskFullEngine => "disk-full-engine",
            Self::Busy => "busy",
            Self::Reader => "reader",
            Self::Copy => "copy",
            Self::StopAfter => "stop-after",
        }
    }
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) write: &'static str,
    pub(crate) side: Side,
    pub(crate) strike: Strike,
    pub(crate) nth: Nth,
    /// How many other conversations begin at the same time.
    pub(crate) beside: usize,
    /// How often the point is passed before.
    pub(crate) skip: usize,
}

impl Fault {
    /// Had nothing been written to Codex when it was struck?
    pub(crate) fn is_before_the_write(&self) -> bool {
        let is_before = self.side == Side::Before;
        matches!((self.write, is_before), ("prepared", false) | ("sent", _) | ("written", true))
    }

    /// The name that the engine has for the point.
    pub(crate) fn point(&self) -> String {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        format!("{side}:{}", self.write)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nth = match self.nth {
            Nth::First => "first",
            Nth::Later => "later",
        };
        write!(f, "{}/{}/{nth}", self.point(), self.strike.word())?;
        if (self.beside, self.skip) != (0, 0) {
            write!(f, "/{}-{}", self.beside, self.skip)?;
        }
        Ok(())
    }
}

/// Every write with each strike. Side and turn change from one to the next, so that all combinations come up.
pub(crate) fn at_every_write(strikes: &[Strike], shift: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (row, write) in WRITES.into_iter().enumerate() {
        for (column, strike) in strikes.iter().enumerate() {
            let bits = row + column + shift;
            let side = if bits.is_multiple_of(2) { Side::Before } else { Side::After };
            let nth = if (bits / 2).is_multiple_of(2) { Nth::First } else { Nth::Later };
            faults.push(Fault { write, side, strike: *strike, nth, beside: 0, skip: 0 });
        }
    }
    faults
}

/// Both sides of every write with each strike.
pub(crate) fn at_every_point(strikes: &[Strike]) -> Vec<Fault> {
    [0, 1].into_iter().flat_map(|shift| at_every_write(strikes, shift)).collect()
}

/// Any number of faults by chance; the same seed returns the same ones.
pub(crate) fn by_chance(seed: u64, count: usize, strikes: &[Strike]) -> Vec<Fault> {
    let mut state = seed;
    let mut below = |limit: usize| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    };
    let mut fault = || Fault {
        write: WRITES[below(WRITES.len())],
        side: [Side::Before, Side::After][below(2)],
        strike: strikes[below(strikes.len())],
        nth: [Nth::First, Nth::Later][below(2)],
        beside: below(4),
        skip: below(3),
    };
    (0..count).map(|_| fault()).collect()
}
