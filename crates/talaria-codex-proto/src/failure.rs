//! Classifies a failure that Codex reports, so that people get advice and programs can branch.
//!
//! Codex's own code decides. Where it only says `other`, two fixed beginnings of its message are used: the HTTP status
//! that 0.130 writes there, and the words of both versions for a stream that broke. The words for a broken login are the
//! last resort, and are looked for only in what Codex itself wrote in this turn: an MCP server that speaks of OAuth says
//! nothing about Codex's login.

use serde_json::Value;

use crate::wire::notification::TurnError;
use crate::wire::rpc_error::RpcError;
use talaria_core::outcome::{FailureCode, Outcome};

/// The outcome of a turn that Codex calls failed, with or without a reason.
pub fn failed(error: Option<&TurnError>) -> Outcome {
    match error {
        None => Outcome::Failed {
            code: FailureCode::Other,
            message: "Codex says that the turn failed, but not why".to_owned(),
        },
        Some(error) => {
            let message = body_of_refusal(&error.message).unwrap_or_else(|| error.to_string());
            Outcome::Failed { code: classify(error), message }
        }
    }
}

/// The outcome of a turn that Codex refused to start.
pub fn refused(error: &RpcError) -> Outcome {
    if error.code == RpcError::NOT_WRITTEN {
        return Outcome::Failed { code: FailureCode::NotSent, message: error.message.clone() };
    }
    let input_code = error.data.as_ref().and_then(|data| data.get("input_error_code"));
    let code = match input_code.and_then(Value::as_str) {
        Some("input_too_large") => FailureCode::InputTooLarge,
        _ if error.is_overload() => FailureCode::Server,
        _ if speaks_of_login(&error.message) => FailureCode::Auth,
        _ => FailureCode::Other,
    };
    Outcome::Failed { code, message: format!("Codex refused the turn: {}", error.message) }
}

fn classify(error: &TurnError) -> FailureCode {
    let info = error.codex_error_info.as_ref();
    if let Some(status) = info.and_then(http_status).or_else(|| status_in_message(&error.message)) {
        return by_status(status);
    }
    match info.and_then(info_word) {
        Some("unauthorized") => FailureCode::Auth,
        Some("usageLimitExceeded" | "sessionBudgetExceeded") => FailureCode::UsageLimit,
        Some("rateLimitExceeded") => FailureCode::RateLimit,
        Some("contextWindowExceeded") => FailureCode::ContextWindow,
        Some("modelNotFound") => FailureCode::ModelNotFound,
        Some("badRequest") => FailureCode::BadRequest,
        Some("sandboxError") => FailureCode::Sandbox,
        Some("internalServerError" | "serverOverloaded" | "flexUnavailable") => FailureCode::Server,
        Some(
            "httpConnectionFailed"
            | "responseStreamConnectionFailed"
            | "responseStreamDisconnected"
            | "responseTooManyFailedAttempts",
        ) => FailureCode::Connection,
        _ if error.message.starts_with("stream disconnected before completion") => FailureCode::Connection,
        _ if body_of_refusal(&error.message).is_some() => FailureCode::BadRequest,
        _ if speaks_of_login(&error.message) => FailureCode::Auth,
        _ => FailureCode::Other,
    }
}

/// Both versions pass the body of a refused request (status 400) on as the whole message: `{"error":{"message":…}}`.
fn body_of_refusal(message: &str) -> Option<String> {
    let body: Value = serde_json::from_str(message.trim()).ok()?;
    let error = body.get("error")?;
    let words = error.get("message").unwrap_or(error).as_str()?;
    Some(words.to_owned())
}

/// Words that speak of a login that is missing or has expired.
const LOGIN_WORDS: &[&str] = &[
    "invalid_grant",
    "invalid grant",
    "refresh token",
    "refresh_token",
    "token refresh",
    "token_refresh",
    "token has expired",
    "expired_token",
    "expired token",
    "not authenticated",
    "unauthenticated",
    "unauthorized",
    "re-authenticate",
    "reauthenticate",
    "please log in",
    "please login",
    "auth profile",
    "oauth",
];

fn speaks_of_login(text: &str) -> bool {
    let text = text.to_lowercase();
    LOGIN_WORDS.iter().any(|word| text.contains(word))
}

/// Whether Codex itself reports a login problem in these lines of its standard error. Lines of other programs (MCP
/// servers, commands) are ignored: Codex's lines begin with a time, a level and one of its module names.
pub fn is_login_trouble<'a>(lines: impl IntoIterator<Item = &'a str>) -> bool {
    lines.into_iter().any(|line| own_words(line).is_some_and(speaks_of_login))
}

fn own_words(line: &str) -> Option<&str> {
    let (time, rest) = line.trim_start().split_once(' ')?;
    let (level, rest) = rest.trim_start().split_once(' ')?;
    let (target, words) = rest.trim_start().split_once(": ")?;
    let is_time = time.starts_with("20") && time.ends_with('Z') && time.contains('T');
    let is_level = matches!(level, "ERROR" | "WARN");
    let is_codex = target.starts_with("codex_") && !target.contains("mcp");
    (is_time && is_level && is_codex).then_some(words)
}

/// `codexErrorInfo` is a word, or an object with that word as its only key.
fn info_word(info: &Value) -> Option<&str> {
    info.as_str().or_else(|| info.as_object()?.keys().next().map(String::as_str))
}

fn http_status(info: &Value) -> Option<u64> {
    info.as_object()?.values().next()?.get("httpStatusCode")?.as_u64()
}

/// 0.130 writes `unexpected status 401 Unauthorized: …` with the code `other`.
fn status_in_message(message: &str) -> Option<u64> {
    let rest = message.strip_prefix("unexpected status ")?;
    rest.split(' ').next()?.parse().ok()
}

fn by_status(status: u64) -> FailureCode {
    match status {
        401 | 403 => FailureCode::Auth,
        404 => FailureCode::ModelNotFound,
        429 => FailureCode::RateLimit,
        400..=499 => FailureCode::BadRequest,
        500..=599 => FailureCode::Server,
        _ => FailureCode::Connection,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_that_is_nothing_but_its_body_is_a_bad_request_in_words() {
        let error = TurnError {
            message: r#"{"error":{"message":"no such effort","code":400}}"#.to_owned(),
            codex_error_info: Some(json!("other")),
            additional_details: None,
        };
        let message = "no such effort".to_owned();
        assert_eq!(failed(Some(&error)), Outcome::Failed { code: FailureCode::BadRequest, message });
    }

    fn code(message: &str, info: Value) -> FailureCode {
        classify(&TurnError {
            message: message.to_owned(),
            codex_error_info: Some(info),
            additional_details: None,
        })
    }

    #[test]
    fn both_versions_give_the_same_class_for_the_same_fault() {
        let old = code("unexpected status 401 Unauthorized: x", json!("other"));
        let new = code("x", json!({"httpConnectionFailed": {"httpStatusCode": 401}}));
        assert_eq!((old, new), (FailureCode::Auth, FailureCode::Auth));
        let limited = json!({"responseTooManyFailedAttempts": {"httpStatusCode": 429}});
        assert_eq!(code("exceeded retry limit", limited), FailureCode::RateLimit);
    }

    #[test]
    fn a_status_in_the_middle_of_a_text_is_not_looked_at() {
        assert_eq!(code("the file says: unexpected status 401", json!("other")), FailureCode::Other);
    }

    #[test]
    fn a_refusal_has_a_class_too() {
        let class = |code, message: &str| {
            let error = RpcError { code, message: message.to_owned(), data: None };
            match refused(&error) {
                Outcome::Failed { code, .. } => code,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(class(-32600, "not authenticated: please log in"), FailureCode::Auth);
        assert_eq!(class(-32001, "overloaded"), FailureCode::Server);
        assert_eq!(class(-32600, "no such thread"), FailureCode::Other);
    }

    #[test]
    fn words_for_a_broken_login_are_the_last_resort() {
        assert_eq!(code("Your refresh token was already used", json!("other")), FailureCode::Auth);
        assert_eq!(code("401 unauthorized by the tool", json!("sandboxError")), FailureCode::Sandbox);
        assert_eq!(code("no oauth here", json!("contextWindowExceeded")), FailureCode::ContextWindow);
    }

    #[test]
    fn only_codexs_own_lines_speak_of_its_login() {
        let own =
            "2026-11-15T10:00:00.123456Z ERROR codex_core::auth: Failed to refresh token: invalid_grant";
        assert!(is_login_trouble(["x", own]));
        for line in [
            "OAuth login required",
            "2026-11-15T10:00:00Z INFO codex_core::auth: oauth flow done",
            "2026-11-15T10:00:00Z ERROR codex_core::mcp: github: OAuth login required",
            "2026-11-15T10:00:00Z ERROR rmcp::transport: unauthorized",
            "ERROR codex_core: unauthorized",
            "2026-11-15T10:00:00Z ERROR codex_core::exec: command failed",
            "",
        ] {
            assert!(!is_login_trouble([line]), "{line}");
        }
    }

    #[test]
    fn new_words_and_shapes_are_other() {
        assert_eq!(code("m", json!("brandNew")), FailureCode::Other);
        assert_eq!(code("m", json!({"brandNew": {}})), FailureCode::Other);
        assert_eq!(code("m", json!([1])), FailureCode::Other);
        assert!(matches!(failed(None), Outcome::Failed { code: FailureCode::Other, .. }));
    }
}
