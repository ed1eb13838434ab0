//! What a person brings along from Hermes, as data: its configuration, its memories and skills, its conversations.
//!
//! Nothing here reads a file or writes one; the engine does both. What comes in was written by others and is believed
//! in nothing: names may be hostile, values secret, rows half there. Secrets never get into what comes out, only the
//! names under which they stood.
//!
//! | file | idea |
//! |---|---|
//! | `yaml` | its `config.yaml` as a tree, or where it is wrong |
//! | `settings` | which of its settings are wished for here |
//! | `servers` | its MCP servers, with references in the place of secrets |
//! | `plan` | wishes against Talaria's own file: taken, kept, left |
//! | `secrets` | the names of secrets, never their values |
//! | `past` | rows of its database as finished turns |

mod past;
mod plan;
mod secrets;
mod servers;
mod settings;
#[cfg(test)]
mod tests;
mod yaml;

pub use past::{LONGEST_TEXT, PastMessage, PastTurn, Row, message, turns};
pub use plan::{Kept, Left, Plan, Taken, by_section, plan};
pub use secrets::{Variable, login_names, variable_names};
pub use yaml::{BadYaml, Tree, read};

/// The name of the program, as rows and reports say it.
pub const PROGRAM: &str = "hermes";
