//! The configuration of Hermes, as data: which of its settings and MCP servers become settings here, and which do not.
//!
//! Nothing here reads or writes a file. The text was written by others and is not trusted: names may be hostile, values
//! secret. Secrets are never in the result, only their names.
//!
//! | file | idea |
//! |---|---|
//! | `yaml` | its `config.yaml` as a tree, or where it is wrong |
//! | `settings` | which of its settings are wanted here |
//! | `servers` | its MCP servers, with references in the place of secrets |
//! | `plan` | these settings against Talaria's own file: imported, kept, skipped |
//! | `secrets` | the names of secrets, never their values |

mod plan;
mod secrets;
mod servers;
mod settings;
#[cfg(test)]
mod tests;
mod yaml;

pub use plan::{ImportedSetting, KeptSetting, SettingsPlan, SkippedSetting, by_section, plan};
pub use secrets::{Variable, login_names, variable_names};
pub use yaml::{BadYaml, Tree, read};
