//! Reads `approvals.allow` and `approvals.deny`: lists of rules, as strings, inline tables or `[[…]]` tables.
//!
//! Owns their notation in the file; `rules` has their meaning. Each wrong element is reported at its own line, and
//! the good ones are kept. Called through the table of keys.

use toml_edit::{Item, TableLike, Value};

use super::Config;
use super::article;
use super::keys::Wrong;
use crate::nearest::nearest;
use talaria_guard::rules::{BadPattern, Rule, RuleReach};

const KEYS: [&str; 3] = ["command", "tool", "outside"];

/// Which list a rule is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Allow,
    Deny,
}

/// Reads the allow rules.
pub(super) fn allow(item: &Item, config: &mut Config) -> Vec<Wrong> {
    read(item, List::Allow, &mut config.approvals.rules.allow)
}

/// Reads the deny rules.
pub(super) fn deny(item: &Item, config: &mut Config) -> Vec<Wrong> {
    read(item, List::Deny, &mut config.approvals.rules.deny)
}

fn read(item: &Item, list: List, rules: &mut Vec<Rule>) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut keep = |start: Option<usize>, rule: Result<Rule, Wrong>| match rule {
        Ok(rule) => rules.push(rule),
        Err(error) => wrong.push(Wrong { start: error.start.or(start), ..error }),
    };
    if let Some(array) = item.as_array() {
        for value in array {
            keep(value.span().map(|span| span.start), element(value, list));
        }
    } else if let Some(tables) = item.as_array_of_tables() {
        for entry in tables {
            keep(entry.span().map(|span| span.start), table(entry, list));
        }
    } else {
        let message = format!("must be a list of rules, not {}", article(item.type_name()));
        let hint = Some("write [\"cargo test *\"]".to_owned());
        wrong.push(Wrong { message, hint, start: None });
    }
    wrong
}

fn element(value: &Value, list: List) -> Result<Rule, Wrong> {
    match value {
        Value::String(text) => command(text.value(), RuleReach::Inside, list),
        Value::InlineTable(entry) => table(entry, list),
        other => Err(problem(format!(
            "a rule must be a string or a table with command or tool, not {}",
            article(other.type_name())
        ))),
    }
}

fn table(entry: &dyn TableLike, list: List) -> Result<Rule, Wrong> {
    for (key, item) in entry.iter() {
        if !KEYS.contains(&key) {
            // A key that says more about a rule must not be lost: the rule would mean something else.
            let start = super::start_of(entry, key, item);
            let message = format!("a rule has no key {key}; allowed: {}", KEYS.join(", "));
            let hint = nearest(key, KEYS).map(super::did_you_mean);
            return Err(Wrong { message, hint, start });
        }
    }
    let reach = match entry.get("outside") {
        None => None,
        Some(item) => match item.as_bool() {
            Some(true) => Some(RuleReach::Anywhere),
            Some(false) => Some(RuleReach::Inside),
            None => {
                return Err(problem(format!(
                    "outside must be true or false, not {}",
                    article(item.type_name())
                )));
            }
        },
    };
    if reach.is_some() && list == List::Deny {
        return Err(problem("a deny rule holds everywhere: remove outside".to_owned()));
    }
    match (entry.get("command"), entry.get("tool")) {
        (Some(item), None) => command(text("command", item)?, reach.unwrap_or(RuleReach::Inside), list),
        (None, Some(_)) if reach.is_some() => {
            Err(problem("a tool runs in its server and never in the sandbox: remove outside".to_owned()))
        }
        (None, Some(item)) => {
            let text = text("tool", item)?;
            Rule::tool(text).map_err(|bad| refused(text, &bad))
        }
        (Some(_), Some(_)) => Err(problem("a rule is about a command or a tool, not both".to_owned())),
        (None, None) => Err(problem("a rule needs command or tool".to_owned())),
    }
}

fn command(text: &str, reach: RuleReach, list: List) -> Result<Rule, Wrong> {
    let rule = match list {
        List::Allow => Rule::allow(text, reach),
        List::Deny => Rule::deny(text),
    };
    rule.map_err(|bad| refused(text, &bad))
}

fn text<'a>(key: &str, item: &'a Item) -> Result<&'a str, Wrong> {
    item.as_str().ok_or_else(|| problem(format!("{key} must be a string, not {}", article(item.type_name()))))
}

fn refused(text: &str, bad: &BadPattern) -> Wrong {
    problem(format!("{text:?} {bad}"))
}

fn problem(message: String) -> Wrong {
    Wrong { message, hint: None, start: None }
}
