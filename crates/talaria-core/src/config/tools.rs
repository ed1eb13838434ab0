//! The section `[tools]`: which of Talaria's own tools a model has, and what its commands on the built-in loop get.
//!
//! Tools are read by the engine at every call, the environment for every turn.

use toml_edit::Item;

use super::Config;
use super::bridge::texts;
use super::keys::Wrong;

/// The section `[tools]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsConfig {
    /// Whether a model may search earlier conversations at all. Unset: yes.
    pub recall: Option<bool>,
    /// Whether conversations have the memory: the tool, and what they start with. Unset: yes.
    pub memory: Option<bool>,
    /// Whether conversations have the skills of Talaria: the tool, and what they start with. Unset: yes.
    pub skill: Option<bool>,
    /// Whether a model may read web pages at all. Unset: yes.
    pub web: Option<bool>,
    /// Whether a model may hand work to background tasks. Unset: yes.
    pub delegate: Option<bool>,
    /// Variables that commands of the built-in loop get although their names say that they hold a secret.
    pub environment: Vec<String>,
}

/// Reads `tools.environment`: names of variables, none of them Talaria's own.
pub(super) fn environment(item: &Item, config: &mut Config) -> Vec<Wrong> {
    let mut names = Vec::new();
    let mut wrong = texts(item, &mut names);
    let mut refuse = |message: &str, hint: Option<&str>| {
        wrong.push(Wrong {
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
            start: item.span().map(|span| span.start),
        });
    };
    for name in names {
        if !is_variable(&name) {
            // It may be the secret itself, which is not repeated.
            refuse(
                "must hold names of environment variables, not their values",
                Some("write [\"GH_TOKEN\"]"),
            );
        } else if name.to_ascii_uppercase().starts_with("TALARIA_") {
            refuse("must not name variables of Talaria: no command gets them", None);
        } else {
            config.tools.environment.push(name);
        }
    }
    wrong
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
