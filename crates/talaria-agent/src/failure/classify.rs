//! The class of a failed request, from the strongest evidence that there is: typed code, type, status, text.
//!
//! Types that every error of a vendor has (`invalid_request_error`) decide nothing alone. Text decides only where no code
//! does; "rate limit" and "too many requests" are never a context that is too long. A status of 403 is never a bad key.

use serde_json::Value;

use super::body::{ErrorReport, bounded, read_body, read_value};
use super::{
    FailureClass as Class, FailureEvidence as Evidence, FailureScope, LONGEST_WAIT, ModelFailure, WaitHint,
    wait,
};

/// Classifies a response whose status says no, or whose body is no answer.
pub fn classify_response(status: u16, headers: &[(String, String)], body: &[u8]) -> ModelFailure {
    conclude(Some(status), headers, read_body(body))
}

/// Classifies an error that came inside a stream, after a status of success: only the frame itself is evidence.
pub fn classify_frame(error: &Value, headers: &[(String, String)]) -> ModelFailure {
    let report = read_value(error);
    conclude(report.status, headers, report)
}

/// Classifies a failure of which only a code and words are known.
pub fn classify_code(code: &str, text: &str) -> ModelFailure {
    let report = ErrorReport { code: Some(code.to_owned()), text: bounded(text), ..ErrorReport::default() };
    conclude(None, &[], report)
}

fn conclude(status: Option<u16>, headers: &[(String, String)], report: ErrorReport) -> ModelFailure {
    let wait = wait::hint(headers, &report);
    let is_soon = matches!(wait, Some(WaitHint::After(wait)) if wait <= LONGEST_WAIT);
    let (class, evidence) = match class_of(status, &report) {
        (Class::Auth, evidence) if status == Some(403) => (Class::Entitlement, evidence),
        // The same words are said of an allowance for a minute and of an empty account: the time decides, unless a code
        // names one of them.
        (Class::Quota, evidence) if status == Some(429) && is_soon && !has_code(&report, Class::Quota) => {
            (Class::RateLimit, evidence)
        }
        (Class::RateLimit, evidence) if is_exhausted(&report) && !is_soon => (Class::Quota, evidence),
        concluded => concluded,
    };
    let header = |name: &str| {
        let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    };
    let ids = ["x-request-id", "request-id", "x-oai-request-id", "x-generation-id", "cf-ray"];
    let text = match (report.text.is_empty(), status) {
        (false, _) => report.text.clone(),
        (true, Some(status)) => format!("status {status}, without a reason"),
        (true, None) => "no reason was given".to_owned(),
    };
    ModelFailure {
        class,
        status,
        wait,
        scope: scope_of(class, &report),
        code: report.code,
        kind: report.kind,
        param: report.param,
        text,
        request_id: report.request_id.or_else(|| ids.iter().find_map(|name| header(name))),
        upstream: report.upstream.or_else(|| header("x-openrouter-provider")),
        evidence,
    }
}

fn class_of(status: Option<u16>, report: &ErrorReport) -> (Class, Evidence) {
    let lower = report.text.to_lowercase();
    for word in [&report.code, &report.kind].into_iter().flatten() {
        if let Some(class) = class_of_code(word, status) {
            return (class, Evidence::Code);
        }
    }
    if let Some(status) = status {
        // A gateway may hide a refusal of the request in an error of the server.
        if status >= 500 && is_malformed(&lower) {
            return (Class::InvalidRequest, Evidence::Text);
        }
        if let Some(class) = class_of_status(status, &lower) {
            return (class, Evidence::Status);
        }
    }
    if let Some(class) = class_of_text(&lower) {
        return (class, Evidence::Text);
    }
    match status {
        Some(400..500) => (Class::InvalidRequest, Evidence::Status),
        Some(_) => (Class::Server, Evidence::Status),
        None => (Class::Server, Evidence::Text),
    }
}

fn class_of_code(code: &str, status: Option<u16>) -> Option<Class> {
    let code = code.to_ascii_lowercase();
    Some(match code.as_str() {
        "invalid_api_key" | "authentication_error" | "unauthenticated" | "token_expired" => Class::Auth,
        "model_not_available"
        | "unsupported_country_region_territory"
        | "usage_not_included"
        | "permission_error"
        | "permission_denied"
        | "access_denied"
        | "data_residency_mismatch" => Class::Entitlement,
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "usage_limit_reached"
        | "billing_error"
        | "enforced_spend_limit_reached"
        | "insufficient_balance" => Class::Quota,
        "server_is_overloaded" | "slow_down" | "overloaded_error" | "engine_overloaded_error" | "1305" => {
            Class::Overloaded
        }
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "ramp_limit_exceeded"
        | "resource_exhausted"
        | "1302" => Class::RateLimit,
        "context_length_exceeded"
        | "exceed_context_size_error"
        | "request_too_large"
        | "model_context_window_exceeded" => Class::ContextTooLong,
        "image_too_large" | "image_parse_error" => Class::Image,
        "invalid_encrypted_content" => Class::ReasoningRefused,
        "content_policy_violation"
        | "content_filter"
        | "cyber_policy"
        | "bio_policy"
        | "invalid_prompt"
        | "new_sensitive"
        | "misalignment_policy_violation"
        | "image_content_policy_violation"
        | "data_inspection_failed" => Class::ContentFilter,
        "model_not_found" | "model_decommissioned" | "not_found_error" => Class::ModelGone,
        "unknown_parameter" | "unsupported_parameter" | "unsupported_value" => Class::InvalidRequest,
        "server_error"
        | "api_error"
        | "timeout_error"
        | "internal_server_error"
        | "unavailable"
        | "internal" => {
            // A type that some vendors also write on requests that they refuse: the status knows better.
            return status.is_none_or(|status| status >= 500 || status == 408).then_some(Class::Server);
        }
        _ if code.starts_with("invalid_image") => Class::Image,
        _ if code.starts_with("personal-team-blocked") => Class::Quota,
        _ => return None,
    })
}

fn has_code(report: &ErrorReport, class: Class) -> bool {
    [&report.code, &report.kind].into_iter().flatten().any(|word| class_of_code(word, None) == Some(class))
}

/// Is it Google's word for both kinds of limit, with the words of an empty account?
fn is_exhausted(report: &ErrorReport) -> bool {
    let word = report.code.as_deref().unwrap_or_default();
    word.eq_ignore_ascii_case("resource_exhausted") && is_quota(&report.text.to_lowercase())
}

fn class_of_status(status: u16, lower: &str) -> Option<Class> {
    Some(match status {
        // One provider answers like this to a prompt that is too long.
        400 if lower.is_empty() => Class::ContextTooLong,
        401 if is_entitlement(lower) => Class::Entitlement,
        401 => Class::Auth,
        402 => Class::Quota,
        403 if is_quota(lower) => Class::Quota,
        403 => Class::Entitlement,
        // A setting of the account, not the model.
        404 if lower.contains("data policy") => Class::Entitlement,
        404 => Class::ModelGone,
        407 => Class::Transport,
        408 | 409 => Class::Server,
        413 => Class::ContextTooLong,
        429 if is_quota(lower) => Class::Quota,
        429 => Class::RateLimit,
        400..500 => return None,
        503 | 529 => Class::Overloaded,
        _ => Class::Server,
    })
}

fn class_of_text(lower: &str) -> Option<Class> {
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let classes: [(bool, Class); 11] = [
        (
            has(&["certificate verify failed", "self-signed certificate", "certificate has expired"]),
            Class::Certificate,
        ),
        (has(&["rate limit", "too many requests"]), Class::RateLimit),
        (is_quota(lower), Class::Quota),
        (
            has(&["invalid api key", "incorrect api key", "invalid x-api-key", "api key not valid"]),
            Class::Auth,
        ),
        (has(&["overloaded"]), Class::Overloaded),
        (is_reasoning_refused(lower), Class::ReasoningRefused),
        (
            has(&[
                "image exceeds",
                "image dimensions exceed",
                "does not represent a valid image",
                "could not process image",
            ]),
            Class::Image,
        ),
        (is_output_limit(lower), Class::OutputLimit),
        (is_too_long(lower), Class::ContextTooLong),
        (has(&["content policy", "content management policy", "usage policies"]), Class::ContentFilter),
        (
            lower.contains("model") && has(&["no endpoints found", "not found", "does not exist"]),
            Class::ModelGone,
        ),
    ];
    classes.into_iter().find(|(is_it, _)| *is_it).map(|(_, class)| class)
}

fn is_quota(lower: &str) -> bool {
    let words = [
        "credit balance is too low",
        "out of extra usage",
        "insufficient balance",
        "insufficient credits",
        "exceeded your current quota",
        "spending limit",
    ];
    words.iter().any(|words| lower.contains(words))
}

fn is_entitlement(lower: &str) -> bool {
    let words =
        ["not have permission", "not have access", "no active subscription", "not included in your plan"];
    words.iter().any(|words| lower.contains(words))
}

fn is_reasoning_refused(lower: &str) -> bool {
    let subjects = ["thinking", "reasoning", "encrypted content", "thought_signature"];
    let refusals = [
        "signature",
        "cannot be modified",
        "but found",
        "bound to a different",
        "could not be verified",
        "must be passed back",
    ];
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    has(&subjects) && has(&refusals)
}

/// More output was asked for than there is room for. A bare `max_tokens` in a text says nothing: advice mentions it, too.
fn is_output_limit(lower: &str) -> bool {
    let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let bounds =
        ["> ", "too large", "exceeds the maximum", "maximum allowed", "less than or equal", "at most"];
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    has(&names) && has(&bounds)
}

/// The vendors' words for input that does not fit.
const TOO_LONG: [&str; 16] = [
    "exceeds the context window",
    "prompt is too long",
    "request_too_large",
    "input is too long for requested model",
    "maximum prompt length is",
    "reduce the length of the messages",
    "maximum context length",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "tokens in request more than max tokens allowed",
    "exceeds the limit of",
    "max_model_len",
    "context length exceeded",
    "context_length_exceeded",
];

fn is_too_long(lower: &str) -> bool {
    let google = lower.contains("input token count") && lower.contains("exceeds the maximum");
    google || TOO_LONG.iter().any(|words| lower.contains(words))
}

fn is_malformed(lower: &str) -> bool {
    let words = [
        "unknown parameter",
        "unrecognized request argument",
        "unsupported parameter",
        "extra inputs are not permitted",
        "invalid_request",
    ];
    words.iter().any(|words| lower.contains(words))
}

fn scope_of(class: Class, report: &ErrorReport) -> FailureScope {
    match class {
        Class::Auth => FailureScope::Key,
        Class::Entitlement if report.is_html => FailureScope::Endpoint,
        Class::Entitlement | Class::Quota | Class::RateLimit => FailureScope::Account,
        Class::Overloaded | Class::ModelGone => FailureScope::Model,
        Class::Server | Class::Transport | Class::Certificate => FailureScope::Endpoint,
        Class::ContextTooLong
        | Class::OutputLimit
        | Class::Image
        | Class::InvalidRequest
        | Class::ReasoningRefused
        | Class::ContentFilter => FailureScope::Request,
    }
}

/// The member that a refused request should be sent without, where the provider names one.
pub fn refused_parameter(failure: &ModelFailure) -> Option<String> {
    let lower = failure.text.to_lowercase();
    // The member that asks for it; the provider does not call this an unsupported parameter.
    if failure.class == Class::InvalidRequest && lower.contains("encrypted content is not supported") {
        return Some("include".to_owned());
    }
    let codes = ["unknown_parameter", "unsupported_parameter", "unsupported_value"];
    let is_refusal =
        failure.code.as_deref().is_some_and(|code| codes.contains(&code)) || is_malformed(&lower);
    if failure.class != Class::InvalidRequest || !is_refusal {
        return None;
    }
    let named = match (&failure.param, location(&failure.text)) {
        (Some(param), _) => param.clone(),
        (None, Some(place)) => quoted(place).find(|word| *word != "body")?.to_owned(),
        (None, None) => quoted(&failure.text).next()?.to_owned(),
    };
    let top = named.split(['.', '[']).next().unwrap_or_default();
    let is_name = !top.is_empty() && top.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_name.then(|| top.to_owned())
}

/// The place of a mistake as validators of Python name it: `"loc": ["body", "store"]`, or the same as a tuple.
fn location(text: &str) -> Option<&str> {
    let names = ["\"loc\"", "'loc'"];
    let start = names.iter().find_map(|name| text.find(name).map(|at| at + name.len()))?;
    let rest = &text[start..];
    Some(&rest[..rest.find([']', ')']).unwrap_or(rest.len())])
}

/// The words of a text that are in quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\'', '"', '`']).skip(1).step_by(2)
}
