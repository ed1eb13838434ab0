//! A time in which nothing was observed, and what is not known of it. The protocol finds out what was missed.

use serde::{Deserialize, Serialize};

use crate::ids::ItemId;

/// How much of a turn is reported when its thread is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Messages, and steps that run; perhaps none of the steps that ended.
    #[default]
    Messages,
    /// All steps.
    Steps,
}

/// A time in which no one listened, and what is not known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// Since when, in milliseconds since 1970: the last thing that was recorded before.
    pub since: Option<u64>,
    /// How many steps were found afterwards; they were reported before this.
    pub found: usize,
    /// Steps that had begun before and of which it is not known whether they have ended.
    pub open: Vec<ItemId>,
    /// Events that may be missing.
    pub missing: Vec<Missing>,
    /// All of it, for people.
    pub message: String,
}

/// Something that may have happened while no one listened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Pieces of text and of output; what completes later, or was found, has them whole.
    Pieces,
    /// Whole steps: this Codex reports only messages afterwards, and its file did not say more.
    Steps,
    /// The ends of the steps that are named.
    Ends,
}

impl Gap {
    /// Describes a gap.
    pub fn new(since: Option<u64>, found: usize, open: Vec<ItemId>, extent: Extent) -> Self {
        let mut missing = vec![Missing::Pieces];
        if extent == Extent::Messages {
            missing.push(Missing::Steps);
        }
        if !open.is_empty() {
            missing.push(Missing::Ends);
        }
        let message = words(found, &missing, open.len());
        Self { since, found, open, missing, message }
    }
}

/// Describes a gap: the recovered steps, what is missing, and the number of steps whose end is unknown.
pub fn words(found: usize, missing: &[Missing], open: usize) -> String {
    let mut words = "The engine was down for a while. ".to_owned();
    words += &match found {
        0 => "No further step was found afterwards".to_owned(),
        1 => "One step was found afterwards".to_owned(),
        n => format!("{n} steps were found afterwards"),
    };
    let is_missing = |what| missing.contains(&what);
    words += match (is_missing(Missing::Steps), is_missing(Missing::Pieces)) {
        (true, true) => {
            "; commands and other steps from that time may be missing, and pieces of text and output"
        }
        (true, false) => "; commands and other steps from that time may be missing",
        (false, true) => "; pieces of text and output from that time may be missing",
        (false, false) => "",
    };
    if is_missing(Missing::Ends) {
        words += &match open {
            1 => "; a step had begun before, and whether it has ended is not known".to_owned(),
            n => format!("; {n} steps had begun before, and whether they have ended is not known"),
        };
    }
    words
}
