//! Sets one key of Talaria's own file from what a person typed: text and words in, the new text or the reason out.
//!
//! A value is written only if this version reads the key and can use the value; the reader of the file is the judge, so
//! that no second list of types and names can differ from it. Called by `config set` and `config get`.

use toml_edit::Value;

use super::{ConfigProblem, Severity, parse};
use crate::edit::{self, KeyPath};

/// Why this version reads no such key; none for one that it reads, and for a section.
pub fn unread(path: &KeyPath) -> Option<ConfigProblem> {
    // Any value shows whether the name is known.
    let problems = problems(&edit::set("", path, true).ok()?).ok()?;
    let problem = problems.into_iter().find(|problem| problem.severity == Severity::Warning)?;
    Some(nowhere(problem))
}

/// Sets a key to a typed value: TOML, or text without quotes where the key expects text.
///
/// Refuses what the reader of the file would report of this key, or of another one because of it.
pub fn assign(text: &str, path: &KeyPath, typed: &str) -> Result<String, ConfigProblem> {
    let before = problems(text)?;
    let as_toml = typed.trim().parse::<Value>().ok();
    let mut first = None;
    for value in as_toml.into_iter().chain([Value::from(typed)]) {
        let changed = edit::set(text, path, value)?;
        let wrong = problems(&changed)?
            .into_iter()
            .find(|problem| concerns(problem, path) || (problem.is_error() && is_new(problem, &before)));
        match wrong {
            None => return Ok(changed),
            // The first interpretation wins, if it is valid.
            Some(problem) => first = first.or(Some(nowhere(problem))),
        }
    }
    match first {
        Some(problem) => Err(problem),
        None => edit::set(text, path, typed),
    }
}

/// Takes a key away. Refuses what would make the reader of the file call something wrong that was right.
pub fn withdraw(text: &str, path: &KeyPath) -> Result<String, ConfigProblem> {
    let changed = edit::unset(text, path)?;
    // A broken file may be repaired key by key.
    let Ok(before) = problems(text) else { return Ok(changed) };
    match problems(&changed)?.into_iter().find(|problem| problem.is_error() && is_new(problem, &before)) {
        Some(problem) => Err(nowhere(problem)),
        None => Ok(changed),
    }
}

fn is_new(problem: &ConfigProblem, before: &[ConfigProblem]) -> bool {
    !before.iter().any(|old| (&old.key, &old.message) == (&problem.key, &problem.message))
}

fn problems(text: &str) -> Result<Vec<ConfigProblem>, ConfigProblem> {
    parse(text).map(|parsed| parsed.problems)
}

fn concerns(problem: &ConfigProblem, path: &KeyPath) -> bool {
    let Some(key) = &problem.key else { return true };
    let whole = path.to_string();
    let plain = path.parts().join(".");
    let is_part = |longer: &str, shorter: &str| {
        longer.strip_prefix(shorter).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    is_part(&whole, key) || is_part(&plain, key) || is_part(key, &whole) || is_part(key, &plain)
}

/// A line of a text that was never written says nothing.
fn nowhere(problem: ConfigProblem) -> ConfigProblem {
    ConfigProblem { line: None, column: None, ..problem }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, key: &str, typed: &str, expected: &Expect) {
        let told = match assign(text, &key.parse().unwrap(), typed) {
            Ok(text) => text,
            Err(problem) => format!("{problem}\n"),
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn a_value_is_read_as_its_key_wants_it() {
        let set = |key: &str, typed: &str| {
            let path: KeyPath = key.parse().unwrap();
            let text = assign("", &path, typed).unwrap();
            edit::literal(edit::get(&text, &path).unwrap().unwrap().as_value().unwrap())
        };
        assert_eq!(set("model.default", "gpt-5.5"), "\"gpt-5.5\"");
        assert_eq!(set("model.default", "5"), "\"5\"");
        assert_eq!(set("model.default", "\"quoted\""), "\"quoted\"");
        assert_eq!(set("codex.bin", "C:\\codex\\bin"), "'C:\\codex\\bin'");
        assert_eq!(set("codex.turn_timeout", "90"), "90");
        assert_eq!(set("codex.turn_timeout", "1h30m"), "\"1h30m\"");
        assert_eq!(
            set("approvals.allow", "[ 'cargo test *', { tool = \"a/b\" } ]"),
            "[\"cargo test *\", { tool = \"a/b\" }]"
        );
        assert_eq!(set("bridge.callers.\"my agent\".all", "true"), "true");
    }

    #[test]
    fn a_key_that_others_need_is_not_taken_away() {
        let text = "[mcp_servers.g]\ncommand = \"x\"\ntimeout = 5\n[codex]\nmax_hosts = 0\n";
        let withdrawn = |key: &str| withdraw(text, &key.parse().unwrap());
        assert!(withdrawn("mcp_servers.g.command").unwrap_err().to_string().contains("command"));
        assert_eq!(withdrawn("mcp_servers.g").unwrap(), "[codex]\nmax_hosts = 0\n");
        assert!(withdrawn("mcp_servers.g.timeout").is_ok(), "another mistake is no obstacle");
        assert!(withdrawn("codex.max_hosts").is_ok());
    }

    #[test]
    fn what_the_reader_calls_wrong_is_refused_in_its_words() {
        check(
            "",
            "codex.sandbox",
            "writeable",
            &expect![[r#"
            codex.sandbox: "writeable" is not known; allowed: read-only, workspace-write, danger-full-access
        "#]],
        );
        check(
            "",
            "codex.max_hosts",
            "0",
            &expect![[r#"
            codex.max_hosts: must be a whole number above 0, not 0
        "#]],
        );
        check(
            "",
            "codex.max_hosts",
            "many",
            &expect![[r#"
            codex.max_hosts: must be a whole number above 0, not a string
        "#]],
        );
        check(
            "",
            "codex.sandbx",
            "read-only",
            &expect![[r#"
            codex.sandbx: unknown key; did you mean codex.sandbox?
        "#]],
        );
        check(
            "",
            "sandbox",
            "read-only",
            &expect![[r#"
            sandbox: unknown key; did you mean codex.sandbox?
        "#]],
        );
        check(
            "",
            "model",
            "gpt",
            &expect![[r#"
            model: must be a section, not a string; write the name of the model as model.default
        "#]],
        );
        check(
            "",
            "approvals.allow",
            "[\"a | b\"]",
            &expect![[r#"
            approvals.allow: "a | b" can never match: a rule is about one command, and '|' is a shell operator; write a rule for each command
        "#]],
        );
        check(
            "[codex]\nbin = \n",
            "codex.home",
            "x",
            &expect![[r#"
            line 2, column 7: string values must be quoted, expected literal string
        "#]],
        );
        check(
            "",
            "codex.bin.deeper",
            "x",
            &expect![[r#"
            codex.bin: must be a string, not a table
        "#]],
        );
    }

    #[test]
    fn an_old_mistake_elsewhere_does_not_hinder_and_the_mistake_itself_can_be_mended() {
        let text = "[codex]\nsandbox = \"none\"\nmax_hosts = 0\n";
        check(
            text,
            "codex.sandbox",
            "read-only",
            &expect![[r#"
            [codex]
            sandbox = "read-only"
            max_hosts = 0
        "#]],
        );
        check(
            text,
            "codex.sandbox",
            "none",
            &expect![[r#"
            codex.sandbox: "none" is not known; allowed: read-only, workspace-write, danger-full-access
        "#]],
        );
    }

    #[test]
    fn a_key_that_is_not_read_is_known_as_such_without_a_value() {
        let told = |key: &str| unread(&key.parse().unwrap()).map(|problem| problem.to_string());
        assert_eq!(told("codex.bin"), None);
        assert_eq!(told("codex"), None);
        assert_eq!(told("codex.bim").as_deref(), Some("codex.bim: unknown key; did you mean codex.bin?"));
        assert_eq!(told("store.url").as_deref(), Some("store: not used by this version"));
    }
}
