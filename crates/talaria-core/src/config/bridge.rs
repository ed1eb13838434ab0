//! Reads `[bridge]`: what models that call Talaria's tools may do.
//!
//! Owns the notation of the lists and of `[bridge.callers.NAME]`; whether a call is allowed is decided by the engine with
//! [`BridgeConfig::rights`]. Called through the table of keys.

use std::collections::BTreeMap;

use toml_edit::{Item, TableLike};

use super::Config;
use super::article;
use super::keys::Wrong;
use crate::nearest::nearest;

/// The kinds of request, as they are written everywhere.
pub const REQUEST_KINDS: [&str; 5] = ["command", "patch", "permissions", "input", "elicitation"];

const CALLER_KEYS: [&str; 8] =
    ["all", "roots", "codex_homes", "answers", "notify_targets", "network", "writable_roots", "memory"];

/// The section `[bridge]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BridgeConfig {
    /// How many tasks Codex works on at once.
    pub max_tasks: Option<u64>,
    /// What every model may do.
    pub everybody: Rights,
    /// Additional rights of single models, by name.
    pub callers: BTreeMap<String, Rights>,
}

/// Rights of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    /// See and steer the tasks of others.
    pub all: bool,
    /// Directories below which it may let Codex work; as written, a leading `~` included.
    pub roots: Vec<String>,
    /// The `CODEX_HOME`s that it may name; as written.
    pub codex_homes: Vec<String>,
    /// The kinds of request that it may answer.
    pub answers: Vec<String>,
    /// Whom it may notify.
    pub notify_targets: Vec<String>,
    /// May it grant a task the network?
    pub network: bool,
    /// Directories below which it may make further ones writable for a task; as written.
    pub writable_roots: Vec<String>,
    /// May it change the memory without working for a conversation?
    pub memory: bool,
}

impl BridgeConfig {
    /// Rights of the model with this name.
    pub fn rights(&self, name: &str) -> Rights {
        let mut rights = self.everybody.clone();
        if let Some(own) = self.callers.get(name) {
            rights.all |= own.all;
            rights.roots.extend(own.roots.iter().cloned());
            rights.codex_homes.extend(own.codex_homes.iter().cloned());
            rights.answers.extend(own.answers.iter().cloned());
            rights.notify_targets.extend(own.notify_targets.iter().cloned());
            rights.network |= own.network;
            rights.memory |= own.memory;
            rights.writable_roots.extend(own.writable_roots.iter().cloned());
        }
        rights
    }
}

pub(super) fn roots(item: &Item, config: &mut Config) -> Vec<Wrong> {
    texts(item, &mut config.bridge.everybody.roots)
}

pub(super) fn codex_homes(item: &Item, config: &mut Config) -> Vec<Wrong> {
    texts(item, &mut config.bridge.everybody.codex_homes)
}

pub(super) fn notify_targets(item: &Item, config: &mut Config) -> Vec<Wrong> {
    texts(item, &mut config.bridge.everybody.notify_targets)
}

pub(super) fn writable_roots(item: &Item, config: &mut Config) -> Vec<Wrong> {
    texts(item, &mut config.bridge.everybody.writable_roots)
}

pub(super) fn network(item: &Item, config: &mut Config) -> Vec<Wrong> {
    flag(item, &mut config.bridge.everybody.network, "true lets models give their tasks the network")
}

pub(super) fn memory(item: &Item, config: &mut Config) -> Vec<Wrong> {
    flag(
        item,
        &mut config.bridge.everybody.memory,
        "true lets models outside of conversations change the memory",
    )
}

pub(super) fn answers(item: &Item, config: &mut Config) -> Vec<Wrong> {
    kinds(item, &mut config.bridge.everybody.answers)
}

/// Reads `[bridge.callers.NAME]`.
pub(super) fn callers(item: &Item, config: &mut Config) -> Vec<Wrong> {
    let Some(table) = item.as_table_like() else {
        return vec![must_be(item, "a table of callers", "write [bridge.callers.NAME]")];
    };
    let mut wrong = Vec::new();
    for (name, entry) in table.iter() {
        let Some(keys) = entry.as_table_like() else {
            wrong.push(must_be(entry, "a table", "write [bridge.callers.NAME]"));
            continue;
        };
        let mut rights = Rights::default();
        for (key, value) in keys.iter() {
            let start = start_of(keys, key);
            let found = right(key, value, &mut rights);
            wrong.extend(found.into_iter().map(|wrong| Wrong { start: wrong.start.or(start), ..wrong }));
        }
        config.bridge.callers.insert(name.to_owned(), rights);
    }
    wrong
}

fn right(key: &str, value: &Item, rights: &mut Rights) -> Vec<Wrong> {
    match key {
        "all" => flag(value, &mut rights.all, "true lets it see the tasks of others"),
        "network" => flag(value, &mut rights.network, "true lets it give its tasks the network"),
        "memory" => flag(value, &mut rights.memory, "true lets it change the memory"),
        "writable_roots" => texts(value, &mut rights.writable_roots),
        "roots" => texts(value, &mut rights.roots),
        "codex_homes" => texts(value, &mut rights.codex_homes),
        "answers" => kinds(value, &mut rights.answers),
        "notify_targets" => texts(value, &mut rights.notify_targets),
        _ => {
            let hint = nearest(key, CALLER_KEYS).map(super::did_you_mean);
            vec![Wrong { message: format!("a caller has no key {key}"), hint, start: None }]
        }
    }
}

fn start_of(table: &dyn TableLike, key: &str) -> Option<usize> {
    table.get_key_value(key)?.0.span().map(|span| span.start)
}

fn flag(item: &Item, field: &mut bool, hint: &str) -> Vec<Wrong> {
    match item.as_bool() {
        Some(value) => {
            *field = value;
            Vec::new()
        }
        None => vec![must_be(item, "true or false", hint)],
    }
}

pub(super) fn texts(item: &Item, list: &mut Vec<String>) -> Vec<Wrong> {
    let Some(array) = item.as_array() else {
        return vec![must_be(item, "a list of strings", "write [\"…\"]")];
    };
    let mut wrong = Vec::new();
    for value in array {
        match value.as_str().filter(|text| !text.trim().is_empty()) {
            Some(text) => list.push(text.to_owned()),
            None => wrong.push(Wrong {
                message: format!("must hold strings that are not empty, not {}", article(value.type_name())),
                hint: None,
                start: value.span().map(|span| span.start),
            }),
        }
    }
    wrong
}

fn kinds(item: &Item, list: &mut Vec<String>) -> Vec<Wrong> {
    let mut given = Vec::new();
    let mut wrong = texts(item, &mut given);
    for kind in given {
        if REQUEST_KINDS.contains(&kind.as_str()) {
            list.push(kind);
        } else {
            let message = format!("{kind:?} is not known; allowed: {}", REQUEST_KINDS.join(", "));
            let hint = nearest(&kind, REQUEST_KINDS).map(super::did_you_mean);
            wrong.push(Wrong { message, hint, start: None });
        }
    }
    wrong
}

fn must_be(item: &Item, wanted: &str, hint: &str) -> Wrong {
    let message = format!("must be {wanted}, not {}", article(item.type_name()));
    Wrong { message, hint: Some(hint.to_owned()), start: None }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn a_caller_has_what_everybody_has_and_its_own() {
        let text = r#"
            [bridge]
            max_tasks = 4
            roots = ["~/work"]
            answers = ["input"]
            [bridge.callers.claude-code]
            all = true
            roots = ["/srv"]
            answers = ["command"]
        "#;
        let parsed = parse(text).unwrap();
        assert_eq!(parsed.problems, []);
        let bridge = parsed.config.bridge;
        assert_eq!(bridge.max_tasks, Some(4));
        let own = bridge.rights("claude-code");
        assert_eq!((own.all, own.roots.len()), (true, 2));
        assert_eq!(own.answers, ["input", "command"]);
        let other = bridge.rights("zed");
        assert_eq!(
            (other.all, other.roots, other.answers),
            (false, vec!["~/work".to_owned()], vec!["input".to_owned()])
        );
    }

    #[test]
    fn mistakes_are_told_with_what_is_allowed() {
        let text = "[bridge]\nroots = \"x\"\nanswers = [\"comand\", 1]\n[bridge.callers]\nzed = { al = true }\ngoose = 3\n";
        let parsed = parse(text).unwrap();
        let told: Vec<_> =
            parsed.problems.iter().map(|problem| (problem.line, problem.message.as_str())).collect();
        expect_test::expect![[r#"
            [
                (
                    Some(
                        2,
                    ),
                    "must be a list of strings, not a string",
                ),
                (
                    Some(
                        3,
                    ),
                    "\"comand\" is not known; allowed: command, patch, permissions, input, elicitation",
                ),
                (
                    Some(
                        3,
                    ),
                    "must hold strings that are not empty, not an integer",
                ),
                (
                    Some(
                        4,
                    ),
                    "must be a table, not an integer",
                ),
                (
                    Some(
                        5,
                    ),
                    "a caller has no key al",
                ),
            ]"#]]
        .assert_eq(&format!("{told:#?}"));
        assert!(parsed.config.bridge.everybody.answers.is_empty());
    }
}
