//! The user's rules while the engine runs: read again for every turn, and never silently absent.
//!
//! A file that can no longer be read, or has an error, does not disable rules: the deny rules that were last read stay in
//! force, allow rules do not, and nothing is accepted without a person until the file is correct again. A removed file
//! means no rules. Called by the engine for every turn and for a person's own commands.

use std::sync::{Mutex, PoisonError};

use talaria_core::config::{Config, ConfigProblem};
use talaria_guard::rules::Rules;

use talaria_home::home::HomeError;

/// The rules that were last read without an error.
#[derive(Default)]
pub(crate) struct Rulebook(Mutex<Rules>);

impl Rulebook {
    /// Returns the rules in force, given what reading the file returned.
    pub(crate) fn in_force(&self, read: Result<(Config, Vec<ConfigProblem>), HomeError>) -> Rules {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok((config, problems)) if !problems.iter().any(is_about_rules) => {
                *last = config.approvals.rules;
                last.clone()
            }
            read => {
                let mut deny = last.deny.clone();
                // The readable new rules apply as well.
                let new = read.map(|(config, _)| config.approvals.rules.deny).unwrap_or_default();
                deny.extend(new.into_iter().filter(|rule| !last.deny.contains(rule)));
                Rules { allow: Vec::new(), deny, are_incomplete: true }
            }
        }
    }
}

/// Could the error hide a rule? One about an MCP server or a provider cannot: that one is left out, and said so.
fn is_about_rules(problem: &ConfigProblem) -> bool {
    let concerns_one_entry = |key: &str| key.starts_with("mcp_servers") || key.starts_with("providers");
    problem.is_error() && !problem.key.as_deref().is_some_and(concerns_one_entry)
}

#[cfg(test)]
mod tests {
    use talaria_core::config;
    use talaria_guard::rules::Rule;

    use super::*;

    fn in_force(book: &Rulebook, text: &str) -> (Vec<String>, Vec<String>, bool) {
        let read = match config::parse(text) {
            Ok(parsed) => Ok((parsed.config, parsed.problems)),
            Err(problem) => {
                Err(HomeError::NotToml { path: "config.toml".into(), problem: Box::new(problem) })
            }
        };
        let rules = book.in_force(read);
        let texts = |rules: &[Rule]| rules.iter().map(|rule| rule.text().to_owned()).collect();
        (texts(&rules.allow), texts(&rules.deny), rules.are_incomplete)
    }

    #[test]
    fn a_file_that_goes_wrong_keeps_its_deny_rules_and_loses_its_allow_rules() {
        let book = Rulebook::default();
        let good = "[approvals]\nallow = [\"ls\"]\ndeny = [\"git push *\"]\n";
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(in_force(&book, good), (texts(&["ls"]), texts(&["git push *"]), false));
        for wrong in ["[approvals", "[aprovals]\ndeny = [\"rm *\"]\n", "[codex]\nsandbox = \"none\"\n"] {
            assert_eq!(in_force(&book, wrong), (texts(&[]), texts(&["git push *"]), true), "{wrong}");
        }
        let partly = "[approvals]\ndeny = [\"rm *\", \"a | b\"]\n";
        assert_eq!(in_force(&book, partly), (texts(&[]), texts(&["git push *", "rm *"]), true));
        // A server or a provider that is wrong hides no rule.
        for entry in ["[mcp_servers.x]\nurl = 1\n", "[providers.x]\napi = 1\n"] {
            let wrong = format!("{good}{entry}");
            assert_eq!(in_force(&book, &wrong), (texts(&["ls"]), texts(&["git push *"]), false), "{entry}");
        }
        // Correct again, and then without rules: as the user says.
        assert_eq!(in_force(&book, ""), (texts(&[]), texts(&[]), false));
    }

    #[test]
    fn a_file_that_was_never_right_accepts_nothing() {
        assert_eq!(in_force(&Rulebook::default(), "[approvals"), (Vec::new(), Vec::new(), true));
    }
}
