//! Compares what Talaria says and reads with the schema that an installed Codex prints of itself.
//!
//! A call that Codex does not have cannot work; a notification or request that it no longer sends is only missed.
//! Unknown methods of Codex are no error: their messages are kept raw.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::wire::call;
use crate::wire::notification::Notification;
use crate::wire::server_request::ServerRequest;

/// Methods that Talaria reads although only newer versions of Codex send them.
const NEWER: &[&str] = &[
    "attestation/generate",
    "currentTime/read",
    "thread/readState/changed",
    "thread/settings/updated",
    "thread/environment/connected",
    "thread/environment/disconnected",
    "thread/queue/changed",
    "modelProvider/authRecoveryStarted",
    "modelProvider/authRecoveryCompleted",
];

/// Methods that Codex sends on request without naming them in its schema.
const UNLISTED: &[&str] = &["rawResponseItem/completed", "rawResponse/completed"];

/// The three lists of methods in Codex's schema.
#[derive(Debug)]
pub struct Schema<'a> {
    /// `ClientRequest.json`.
    pub calls: &'a Value,
    /// `ServerNotification.json`.
    pub notifications: &'a Value,
    /// `ServerRequest.json`.
    pub requests: &'a Value,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Calls of ours that this Codex does not have.
    pub missing_calls: Vec<&'static str>,
    /// Methods that Talaria reads and this Codex never sends.
    pub never_sent: Vec<&'static str>,
    /// How many notifications and requests this Codex has that Talaria keeps raw.
    pub kept_raw: usize,
}

/// Compares.
pub fn compare(schema: &Schema<'_>) -> Drift {
    let calls = methods(schema.calls);
    let told: BTreeSet<&str> =
        methods(schema.notifications).union(&methods(schema.requests)).copied().collect();
    let read: Vec<&'static str> =
        Notification::METHODS.iter().chain(ServerRequest::METHODS).copied().collect();
    Drift {
        missing_calls: call::METHODS.iter().copied().filter(|method| !calls.contains(method)).collect(),
        never_sent: read
            .iter()
            .copied()
            .filter(|word| !told.contains(word) && !NEWER.contains(word) && !UNLISTED.contains(word))
            .collect(),
        kept_raw: told.iter().filter(|method| !read.contains(method)).count(),
    }
}

/// The methods of a schema: one alternative for each, named by the only word that its `method` may be.
fn methods(schema: &Value) -> BTreeSet<&str> {
    let alternatives = schema.get("oneOf").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let words = alternatives.iter().filter_map(|one| one.pointer("/properties/method/enum/0"));
    words.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(methods: &[&str]) -> Value {
        let one = |method: &&str| json!({"properties": {"method": {"enum": [method]}}});
        json!({ "oneOf": methods.iter().map(one).collect::<Vec<_>>() })
    }

    #[test]
    fn a_missing_call_is_told_apart_from_news() {
        let calls = schema(&call::METHODS[1..]);
        let notifications = schema(&[Notification::METHODS, &["brand/new"]].concat());
        let requests = schema(ServerRequest::METHODS);
        let drift = compare(&Schema { calls: &calls, notifications: &notifications, requests: &requests });
        let expected = Drift { missing_calls: vec![call::METHODS[0]], never_sent: Vec::new(), kept_raw: 1 };
        assert_eq!(drift, expected);
    }

    #[test]
    fn a_schema_in_another_shape_has_no_methods() {
        assert!(methods(&json!({"anyOf": []})).is_empty());
        assert!(methods(&json!(7)).is_empty());
    }
}
