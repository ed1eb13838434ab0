//! Where something that is accepted will happen, as far as that is known. Rules use it; the Codex protocol determines
//! it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where something that is accepted will happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Within the sandbox in force: accepting grants nothing that was not granted before. Without a sandbox that is
    /// everything, because there is nothing to leave.
    Inside,
    /// Beyond the sandbox in force.
    Outside,
    /// It may be the one or the other.
    Undecidable,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Inside => "inside",
            Self::Outside => "outside",
            Self::Undecidable => "undecidable",
        })
    }
}
