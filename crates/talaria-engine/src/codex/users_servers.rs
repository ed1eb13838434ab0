//! What happens when an MCP server of ours has the name of one in the user's own Codex configuration.
//!
//! Observed on 0.130.0 and 0.166.0: an override for one thread is merged into the user's entry key by key, so that the
//! program of one server would run with the environment of the other, and a program against an address makes Codex
//! refuse the conversation. So the user's own wins as it is, and that is told. The override is sent as one table
//! (`mcp_servers`), which leaves servers of other names alone. Called for every start and resume.

use serde_json::{Map, Value};
use talaria_core::wire::call::{ThreadStart, UsersServers};

/// The key of the configuration.
pub(crate) const KEY: &str = "mcp_servers";

/// Takes out of `start` what the user has under the same name; gives the names of those that differ. `users` is none if
/// Codex does not tell its configuration: then nothing can be sent, because it could be mixed with something.
pub(crate) fn give_way(start: &mut ThreadStart, users: Option<&UsersServers>) -> Vec<String> {
    let Some(Value::Object(ours)) = start.config.remove(KEY) else { return Vec::new() };
    let (mut kept, mut gave_way) = (Map::new(), Vec::new());
    for (name, entry) in ours {
        match users.map(|users| users.get(&name)) {
            Some(None) => {
                kept.insert(name, entry);
            }
            // One that `talaria migrate` wrote there is the same one.
            Some(Some(theirs)) if is_same(&entry, theirs) => {}
            _ => gave_way.push(name),
        }
    }
    if !kept.is_empty() {
        start.config.insert(KEY.to_owned(), Value::Object(kept));
    }
    gave_way
}

/// Whether theirs says everything that ours says. Codex tells numbers with a point, and what is not set as well.
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
        assert_eq!(give_way(&mut asked, Some(&own)), ["a"]);
        assert_eq!(asked.config[KEY], json!({ "b": { "url": "http://b/" } }));
    }

    #[test]
    fn the_same_server_in_both_places_is_no_news() {
        let mut asked = start(json!({ "a": { "command": "x", "tool_timeout_sec": 120 } }));
        let own = users(json!({ "a": { "command": "x", "args": [], "tool_timeout_sec": 120.0 } }));
        assert_eq!(give_way(&mut asked, Some(&own)), [] as [&str; 0]);
        assert!(!asked.config.contains_key(KEY));
    }

    #[test]
    fn nothing_is_sent_to_a_codex_that_does_not_tell_what_it_has() {
        let mut asked = start(json!({ "a": { "command": "x" } }));
        assert_eq!(give_way(&mut asked, None), ["a"]);
        assert!(asked.config.is_empty());
        assert_eq!(give_way(&mut ThreadStart::default(), None), [] as [&str; 0]);
    }

    #[test]
    fn what_the_user_has_is_not_shown() {
        let shown = format!("{:?}", users(json!({ "a": { "env": { "TOKEN": "hunter2" } } })));
        assert!(shown.contains("\"a\"") && !shown.contains("hunter2"), "{shown}");
    }
}
