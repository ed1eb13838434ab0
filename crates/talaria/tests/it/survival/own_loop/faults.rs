//! The faults as data: which case the model plays, when the blow falls, and who is hit.

use std::fmt;

use crate::survival::fault::Strike;

/// The wire families.
pub(in crate::survival) const FAMILIES: [&str; 3] = ["responses", "chat", "messages"];

/// What the model does in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// People are asked about commands.
    pub(super) asks: bool,
    /// The durable steps of its turn: the name, and which time it is passed.
    steps: &'static [(&'static str, usize)],
}

const CASES: [Case; 13] = [
    Case {
        name: "run",
        asks: false,
        steps: &[
            ("prepared", 0),
            ("accepted", 0),
            ("model-request", 0),
            ("model-request", 1),
            ("model-answer", 0),
            ("model-answer", 1),
            ("tool-offered", 0),
            ("loop-call-running", 0),
            ("loop-call-done", 0),
            ("model-history", 0),
            ("outcome", 0),
        ],
    },
    // The first model fails; another one answers the rest.
    Case {
        name: "fallback",
        asks: false,
        steps: &[
            ("model-request", 0),
            ("model-answer", 0),
            ("model-request", 1),
            ("model-answer", 1),
            ("loop-call-running", 0),
            ("model-history", 0),
        ],
    },
    Case {
        name: "process",
        asks: false,
        steps: &[
            ("loop-call-running", 0),
            ("loop-call-running", 1),
            ("loop-call-running", 2),
            ("loop-call-running", 3),
            ("loop-call-done", 0),
            ("loop-call-done", 1),
            ("loop-call-done", 2),
            ("loop-call-done", 3),
            ("model-history", 0),
            ("model-history", 1),
            ("model-history", 2),
            ("model-history", 3),
        ],
    },
    Case {
        name: "edit",
        asks: false,
        steps: &[
            ("loop-call-running", 0),
            ("loop-call-done", 0),
            ("model-history", 0),
            ("tool-offered", 1),
            ("loop-call-running", 1),
            ("loop-call-done", 1),
        ],
    },
    Case { name: "write", asks: false, steps: &[("loop-call-running", 0), ("loop-call-done", 0)] },
    // Three calls in one answer: two run together, the command after them.
    Case {
        name: "several",
        asks: false,
        steps: &[
            ("tool-offered", 1),
            ("loop-call-running", 0),
            ("loop-call-running", 1),
            ("loop-call-running", 2),
            ("loop-call-done", 0),
            ("loop-call-done", 1),
            ("loop-call-done", 2),
            ("model-history", 0),
        ],
    },
    // A tool of an MCP server that only reads: it may be called again.
    Case {
        name: "peeks",
        asks: false,
        steps: &[("tool-offered", 0), ("loop-call-running", 0), ("loop-call-done", 0), ("model-history", 0)],
    },
    // One that may change something, which a person accepts.
    Case {
        name: "serves",
        asks: false,
        steps: &[
            ("tool-offered", 0),
            ("answer-stored", 0),
            ("loop-answer", 0),
            ("loop-call-running", 0),
            ("loop-call-done", 0),
            ("model-history", 0),
        ],
    },
    Case {
        name: "searches",
        asks: false,
        steps: &[("tool-offered", 0), ("loop-call-running", 0), ("loop-call-done", 0)],
    },
    Case {
        name: "memory",
        asks: false,
        steps: &[("tool-offered", 0), ("tool-running", 0), ("tool-done", 0), ("model-history", 0)],
    },
    Case {
        name: "approval",
        asks: true,
        steps: &[
            ("request", 0),
            ("answer-stored", 0),
            ("loop-answer", 0),
            ("loop-call-running", 0),
            ("loop-call-done", 0),
        ],
    },
    Case {
        name: "declined",
        asks: true,
        steps: &[("answer-stored", 0), ("loop-answer", 0), ("loop-call-declined", 0), ("model-history", 0)],
    },
    Case {
        name: "question",
        asks: false,
        steps: &[("request", 0), ("answer-stored", 0), ("loop-answer", 0), ("model-history", 0)],
    },
];

/// Cases that are struck while they wait, not at a step.
const WAITS: Case = Case { name: "waits", asks: false, steps: &[] };
const SPEAKS: Case = Case { name: "speaks", asks: false, steps: &[] };
const THINKS: Case = Case { name: "thinks", asks: false, steps: &[] };

/// When the blow falls.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moment {
    /// Before or after a durable step, when it is passed for the n-th time.
    Point(&'static str, usize),
    /// The model has the request and has said nothing.
    Asked,
    /// Half of the answer has been shown.
    Speaking,
    /// The command runs.
    Running,
    /// The engine was killed while the command ran, and the next one passes this point while it finds out what became of it.
    Settling(&'static str),
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Point(point, skip) => write!(f, "{point}+{skip}"),
            Self::Asked => f.write_str("asked"),
            Self::Speaking => f.write_str("speaking"),
            Self::Running => f.write_str("running"),
            Self::Settling(point) => write!(f, "settling/{point}"),
        }
    }
}

/// One fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopFault {
    pub(super) case: Case,
    pub(super) moment: Moment,
    pub(super) family: &'static str,
    /// `Codex` means the keepers here.
    pub(super) blow: Strike,
}

impl LoopFault {
    /// Do keepers die of it, or their commands?
    pub(super) fn ends_keepers(&self) -> bool {
        self.blow.ends_codex()
    }
}

impl fmt::Display for LoopFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blow = self.blow.word().replace("codex", "keeper");
        write!(f, "loop/{}/{}/{}/{blow}", self.family, self.case.name, self.moment)
    }
}

/// The points before and after a step.
fn sides(step: &'static str) -> [&'static str; 2] {
    let names = [
        ("prepared", ["before:prepared", "after:prepared"]),
        ("accepted", ["before:accepted", "after:accepted"]),
        ("model-request", ["before:model-request", "after:model-request"]),
        ("model-answer", ["before:model-answer", "after:model-answer"]),
        ("model-history", ["before:model-history", "after:model-history"]),
        ("tool-offered", ["before:tool-offered", "after:tool-offered"]),
        ("tool-running", ["before:tool-running", "after:tool-running"]),
        ("tool-done", ["before:tool-done", "after:tool-done"]),
        ("loop-call-running", ["before:loop-call-running", "after:loop-call-running"]),
        ("loop-call-done", ["before:loop-call-done", "after:loop-call-done"]),
        ("loop-call-declined", ["before:loop-call-declined", "after:loop-call-declined"]),
        ("loop-answer", ["before:loop-answer", "after:loop-answer"]),
        ("request", ["before:request", "after:request"]),
        ("answer-stored", ["before:answer-stored", "after:answer-stored"]),
        ("outcome", ["before:outcome", "after:outcome"]),
    ];
    names.into_iter().find(|(name, _)| *name == step).unwrap().1
}

/// Each step of each case, both sides, with these blows; the families change from one to the next.
fn at_every_step(blows: &[Strike], is_wanted: impl Fn(&Case) -> bool) -> Vec<LoopFault> {
    let mut faults = Vec::new();
    for case in CASES.into_iter().filter(is_wanted) {
        for &(step, skip) in case.steps {
            for point in sides(step) {
                for &blow in blows {
                    let family = FAMILIES[faults.len() % FAMILIES.len()];
                    faults.push(LoopFault { case, moment: Moment::Point(point, skip), family, blow });
                }
            }
        }
    }
    faults
}

/// What strikes an engine that settles what the one before it left.
fn while_it_settles(blows: &[Strike]) -> Vec<LoopFault> {
    let mut faults = Vec::new();
    for point in ["before:loop-call-settled", "after:loop-call-settled"] {
        for (&blow, family) in blows.iter().zip(FAMILIES.into_iter().cycle()) {
            faults.push(LoopFault { case: WAITS, moment: Moment::Settling(point), family, blow });
        }
    }
    faults
}

/// What strikes while nothing durable happens.
fn while_it_waits(blows: &[Strike]) -> Vec<LoopFault> {
    let mut faults = Vec::new();
    for family in FAMILIES {
        for &blow in blows {
            for (case, moment) in
                [(WAITS, Moment::Running), (SPEAKS, Moment::Speaking), (THINKS, Moment::Asked)]
            {
                // There is a keeper while a command runs only.
                if matches!(moment, Moment::Running) || !matches!(blow, Strike::Codex | Strike::Both) {
                    faults.push(LoopFault { case, moment, family, blow });
                }
            }
        }
    }
    faults
}

/// The faults of an ordinary run.
pub(super) fn ordinary() -> Vec<LoopFault> {
    let mut faults = at_every_step(&[Strike::Engine], |_| true);
    faults.extend(at_every_step(&[Strike::Both, Strike::Codex], |case| case.name == "process"));
    let few = at_every_step(&[Strike::EngineTwice, Strike::Restart, Strike::DiskFullEngine], |_| true);
    faults.extend(few.into_iter().step_by(5));
    faults.extend(while_it_waits(&[Strike::Engine, Strike::Codex, Strike::Both, Strike::StopAfter]));
    faults.extend(while_it_settles(&[Strike::Engine, Strike::EngineTwice, Strike::Restart]));
    faults
}

/// Faults to play, and what they are called.
pub(super) struct Chosen {
    pub(super) title: String,
    pub(super) faults: Vec<LoopFault>,
}

/// What the variables ask for.
pub(super) fn chosen() -> Chosen {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let wanted = std::env::var("TALARIA_FAULT").unwrap_or_default();
    let (title, mut faults) = match number("TALARIA_FAULT_ROUNDS") {
        None => ("turns of the loop, and who is killed".to_owned(), ordinary()),
        Some(rounds) => {
            let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
            let seed = number("TALARIA_FAULT_SEED").unwrap_or(now);
            let title = format!("turns of the loop by chance, TALARIA_FAULT_SEED={seed}");
            (title, by_chance(seed, usize::try_from(rounds).unwrap()))
        }
    };
    faults.retain(|fault| fault.to_string().contains(&wanted));
    Chosen { title, faults }
}

/// Any number of faults; the same seed returns the same ones.
fn by_chance(seed: u64, count: usize) -> Vec<LoopFault> {
    let blows = [
        Strike::Engine,
        Strike::Codex,
        Strike::Both,
        Strike::EngineTwice,
        Strike::EngineThenCodex,
        Strike::Restart,
        Strike::DiskFull,
        Strike::DiskFullEngine,
        Strike::Busy,
        Strike::Reader,
        Strike::StopAfter,
    ];
    let mut all = at_every_step(&blows, |_| true);
    all.extend(while_it_waits(&[
        Strike::Engine,
        Strike::Codex,
        Strike::Both,
        Strike::EngineTwice,
        Strike::StopAfter,
    ]));
    all.extend(while_it_settles(&blows));
    let mut state = seed;
    let mut below = |limit: usize| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    };
    (0..count)
        .map(|_| {
            let fault = all[below(all.len())];
            LoopFault { family: FAMILIES[below(FAMILIES.len())], ..fault }
        })
        .collect()
}
