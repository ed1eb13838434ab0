//! What happens when an MCP server of ours has the name of one in the user's own Codex configuration.
//!
//! Observed on 0.130.0 and 0.166.0: an override for one thread is merged into the user's entry key by key, so that the
//! program of one server would run with the environment of the other, and a program against an address makes Codex
//! refuse the conversation. So the user's own wins as it is, and that is reported. What `talaria migrate` wrote there
//! is no other server: its references and our values fit together. The override is sent as one table (`mcp_servers`),
//! which leaves servers of other names alone. Called for every start and resume.

use serde_json::{Map, Value};
use talaria_codex_proto::wire::call::{ThreadStart, UsersServers};

/// The key of the configuration.
pub const KEY: &str = "mcp_servers";

/// How the user's entry relates to ours.
#[derive(Debug, PartialEq, Eq)]
enum Likeness {
    /// The same.
    Same,
    /// The same with references in the place of secrets, as `talaria migrate` writes it: ours fits into it.
    ByReference,
    /// The same, with its token in this variable. Without the variable it does not start, whatever else it is given.
    ByToken(String),
    /// Another server, or one that is switched off.
    Another,
}

/// Removes from `start` the servers that the user has under the same name, and returns a warning for each that differs.
/// `users` is `None` if Codex does not report its configuration: then no server is sent, because Codex could merge it
/// with an unknown one.
pub(crate) fn yield_to_users(start: &mut ThreadStart, users: Option<&UsersServers>) -> Vec<String> {
    let Some(Value::Object(ours)) = start.config.remove(KEY) else { return Vec::new() };
    let (mut kept, mut warnings) = (Map::new(), Vec::new());
    for (name, entry) in ours {
        let why = match users.map(|users| users.get(&name)) {
            None => "is left out: Codex does not report which servers it has itself".to_owned(),
            Some(None) => {
                kept.insert(name, entry);
                continue;
            }
            Some(Some(theirs)) => match likeness(&entry, theirs) {
                Likeness::Same => continue,
                Likeness::ByReference => {
                    kept.insert(name, entry);
                    continue;
                }
                Likeness::ByToken(variable) => {
                    format!("your Codex has it too, with its token in {variable}; that is used")
                }
                Likeness::Another => {
                    "your Codex has its own of this name, which is used; the one in Talaria's \
                                      config.toml is not"
                        .to_owned()
                }
            },
        };
        warnings.push(if users.is_some() {
            format!("MCP server {name}: {why}")
        } else {
            format!("MCP server {name} {why}")
        });
    }
    if !kept.is_empty() {
        start.config.insert(KEY.to_owned(), Value::Object(kept));
    }
    warnings
}

fn likeness(ours: &Value, theirs: &Value) -> Likeness {
    let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) else { return Likeness::Another };
    if theirs.get("enabled") == Some(&Value::Bool(false)) {
        return Likeness::Another;
    }
    let mut likeness = Likeness::Same;
    for (key, value) in ours {
        if theirs.get(key).is_some_and(|theirs| is_same(value, theirs)) {
            continue;
        }
        let Value::Object(values) = value else { return Likeness::Another };
        let given = theirs.get(key).and_then(Value::as_object);
        let differs =
            |(name, value): &(&String, &Value)| given.and_then(|given| given.get(*name)) != Some(*value);
        for (name, _) in values.iter().filter(differs) {
            let is_token = key == "http_headers" && name.eq_ignore_ascii_case("authorization");
            match (key.as_str(), theirs.get("bearer_token_env_var").and_then(Value::as_str)) {
                ("env", _) if names(theirs.get("env_vars")).any(|known| known == name) => {
                    likeness = likeness.max_reference();
                }
                ("http_headers", _)
                    if theirs.get("env_http_headers").is_some_and(|all| all.get(name).is_some()) =>
                {
                    likeness = likeness.max_reference();
                }
                ("http_headers", Some(variable)) if is_token => {
                    likeness = Likeness::ByToken(variable.to_owned());
                }
                _ => return Likeness::Another,
            }
        }
    }
    likeness
}

impl Likeness {
    fn max_reference(self) -> Self {
        if self == Self::Same { Self::ByReference } else { self }
    }
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Whether theirs says everything that ours says. Codex reports numbers with a decimal point, and unset keys as well.
fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.iter().all(|(key, value)| theirs.get(key).is_some_and(|theirs| is_same(value, theirs)))
        }
        (Value::Number(ours), Value::Number(theirs)) => ours.as_f64() == theirs.as_f64(),
        _ => ours == theirs,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn start(servers: Value) -> ThreadStart {
        let mut start = ThreadStart::default();
        start.config.insert(KEY.to_owned(), servers);
        start
    }

    fn users(servers: Value) -> UsersServers {
        serde_json::from_value(servers).unwrap()
    }

    #[test]
    fn a_server_of_the_users_own_wins_whole() {
        let mut asked = start(json!({ "a": { "command": "x" }, "b": { "url": "http://b/" } }));
        let own = users(json!({ "a": { "command": "y", "args": [] }, "c": { "command": "z" } }));
        let warnings = yield_to_users(&mut asked, Some(&own));
        assert!(
            warnings.len() == 1 && warnings[0].starts_with("MCP server a: your Codex has its own"),
            "{warnings:?}"
        );
        assert_eq!(asked.config[KEY], json!({ "b": { "url": "http://b/" } }));
    }

    #[test]
    fn the_same_server_in_both_places_is_no_news() {
        let mut asked = start(json!({ "a": { "command": "x", "tool_timeout_sec": 120 } }));
        let own = users(json!({ "a": { "command": "x", "args": [], "tool_timeout_sec": 120.0 } }));
        assert_eq!(yield_to_users(&mut asked, Some(&own)), [] as [&str; 0]);
        assert!(!asked.config.contains_key(KEY));
    }

    #[test]
    fn nothing_is_sent_to_a_codex_that_does_not_tell_what_it_has() {
        let mut asked = start(json!({ "a": { "command": "x" } }));
        let warnings = yield_to_users(&mut asked, None);
        assert!(warnings.len() == 1 && warnings[0].starts_with("MCP server a is left out"), "{warnings:?}");
        assert!(asked.config.is_empty());
        assert_eq!(yield_to_users(&mut ThreadStart::default(), None), [] as [&str; 0]);
    }

    #[test]
    fn one_that_is_switched_off_there_is_told() {
        let mut asked = start(json!({ "a": { "command": "x" } }));
        let own = users(json!({ "a": { "command": "x", "enabled": false } }));
        assert_eq!(yield_to_users(&mut asked, Some(&own)).len(), 1);
        assert!(!asked.config.contains_key(KEY));
    }

    #[test]
    fn what_was_migrated_with_references_still_gets_the_secrets_of_our_file() {
        let ours = json!({
            "a": { "command": "x", "env": { "KEY": "k", "MODE": "fast" } },
            "b": { "url": "http://b/", "http_headers": { "X-Key": "k" } },
            "c": { "url": "http://c/", "http_headers": { "Authorization": "Bearer k" } },
            "d": { "command": "x", "env": { "KEY": "k" } },
        });
        let own = users(json!({
            "a": { "command": "x", "args": [], "env": { "MODE": "fast" }, "env_vars": ["KEY"] },
            "b": { "url": "http://b/", "env_http_headers": { "X-Key": "MCP_B_X_KEY" } },
            "c": { "url": "http://c/", "bearer_token_env_var": "MCP_C_TOKEN" },
            "d": { "command": "x", "env": { "KEY": "another" } },
        }));
        let mut asked = start(ours.clone());
        let warnings = yield_to_users(&mut asked, Some(&own));
        assert_eq!(asked.config[KEY], json!({ "a": ours["a"], "b": ours["b"] }));
        assert!(warnings.len() == 2 && warnings[0].contains("MCP_C_TOKEN"), "{warnings:?}");
        assert!(warnings[1].starts_with("MCP server d: your Codex has its own"), "{warnings:?}");
    }

    #[test]
    fn what_the_user_has_is_not_shown() {
        let shown = format!("{:?}", users(json!({ "a": { "env": { "TOKEN": "hunter2" } } })));
        assert!(shown.contains("\"a\"") && !shown.contains("hunter2"), "{shown}");
    }
}
