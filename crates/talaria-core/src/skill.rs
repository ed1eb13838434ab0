//! Skills as data and decisions: folders with a `SKILL.md` that instruct a model in a kind of work. Pure: the engine has
//! folders, files and rows.
//!
//! Map: `name` decides which names and files there may be, `manifest` reads the front matter, `edit` is what a proposal changes,
//! `diff` counts it, `index` lists skills for a model within a budget, `usage` recognises a command that reads a skill, `mention` a prompt
//! that names one.

pub mod diff;
pub mod edit;
pub mod index;
pub mod manifest;
pub mod mention;
pub mod name;
pub mod usage;

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The longest file of a skill that Talaria writes, in characters.
pub const LONGEST_SKILL_FILE: usize = 100_000;

/// How much of a prompt the index of skills may take, in characters.
pub const INDEX_CHARS: usize = 8_000;
