//! The environment of a command that a model runs: the caller's, without secrets and without what would mislead it. Pure.
//!
//! A command can print its environment, and a model reads what it prints. So variables whose names say that they hold a
//! secret are left out, and so are the key variables of model providers and Talaria's own. A name in `kept` is passed on:
//! the user configured that. `HOME` is never faked.

use std::ffi::{OsStr, OsString};

/// Parts of names that say that a variable holds a secret; in upper case.
const SECRET_PARTS: [&str; 8] =
    ["KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE", "CONNECTION_STRING"];

/// Names with such a part that hold none: where something is, or how it is done.
const HARMLESS: [&str; 4] = ["GPG_KEY", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_ASKPASS"];

/// Set by Codex in the commands that it runs: a command of ours is none of those.
const STALE: [&str; 9] = [
    "CODEX_THREAD_ID",
    "CODEX_TURN_ID",
    "CODEX_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_BY_BUN",
    "CODEX_CI",
];

/// No colours, no pager and no prompt, because there is no terminal.
const SET: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Decisions about variables besides their names.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnvironmentRules<'a> {
    /// Variables that hold keys of model providers, whatever they are called.
    pub provider_keys: &'a [String],
    /// Variables that commands get although their names look secret. Talaria's own are never among them.
    pub kept: &'a [String],
}

/// Makes the environment of a command from the caller's.
pub fn command_environment(
    caller: impl IntoIterator<Item = (OsString, OsString)>,
    rules: EnvironmentRules<'_>,
) -> Vec<(OsString, OsString)> {
    let is_set = |name: &OsStr| SET.iter().any(|(set, _)| name == *set);
    let mut variables: Vec<(OsString, OsString)> =
        caller.into_iter().filter(|(name, _)| !is_set(name) && is_passed_on(name, rules)).collect();
    variables.extend(SET.map(|(name, value)| (name.into(), value.into())));
    variables
}

fn is_passed_on(name: &OsStr, rules: EnvironmentRules<'_>) -> bool {
    let name = name.to_string_lossy();
    let is_in = |list: &[String]| list.iter().any(|listed| *listed == name);
    let upper = name.to_ascii_uppercase();
    if upper.starts_with("TALARIA_") || STALE.contains(&name.as_ref()) {
        return false;
    }
    if is_in(rules.kept) {
        return true;
    }
    let looks_secret = SECRET_PARTS.iter().any(|part| upper.contains(part));
    let is_harmless = HARMLESS.iter().any(|harmless| upper.starts_with(harmless));
    !is_in(rules.provider_keys) && (!looks_secret || is_harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(caller: &[&str], rules: EnvironmentRules<'_>) -> Vec<String> {
        let caller = caller.iter().map(|name| (OsString::from(name), OsString::from("v")));
        let passed = command_environment(caller, rules).into_iter();
        passed.map(|(name, _)| name.into_string().unwrap()).filter(|name| !is_added(name)).collect()
    }

    fn is_added(name: &str) -> bool {
        SET.iter().any(|(set, _)| *set == name)
    }

    #[test]
    fn secrets_and_our_own_variables_stay_out_and_the_rest_passes() {
        let caller = [
            "HOME",
            "PATH",
            "SSH_AUTH_SOCK",
            "CODEX_HOME",
            "OPENAI_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "aws_secret_access_key",
            "PGPASSWORD",
            "TALARIA_HOST",
            "CODEX_THREAD_ID",
            "GLM",
        ];
        let rules = EnvironmentRules { provider_keys: &["GLM".to_owned()], kept: &[] };
        assert_eq!(names(&caller, rules), ["HOME", "PATH", "SSH_AUTH_SOCK", "CODEX_HOME"]);
    }

    #[test]
    fn a_configured_variable_passes_but_never_one_of_ours() {
        let kept = ["GH_TOKEN".to_owned(), "TALARIA_TOKEN".to_owned()];
        let rules = EnvironmentRules { provider_keys: &[], kept: &kept };
        assert_eq!(names(&["GH_TOKEN", "TALARIA_TOKEN", "NPM_TOKEN"], rules), ["GH_TOKEN"]);
    }

    #[test]
    fn no_pager_and_no_colour() {
        let caller = [("TERM", "xterm"), ("PAGER", "less")].map(|(name, value)| (name.into(), value.into()));
        let found = command_environment(caller, EnvironmentRules::default());
        let expected: Vec<(OsString, OsString)> =
            SET.map(|(name, value)| (name.into(), value.into())).to_vec();
        assert_eq!(found, expected);
    }
}
