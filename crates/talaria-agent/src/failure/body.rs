//! The shapes of an error body: JSON of several vendors, text, HTML or nothing, reduced to one report.

use serde_json::Value;
use talaria_guard::redact::redact;

/// The longest text of an error that is kept, in characters.
const LONGEST_TEXT: usize = 2_000;

/// What an error body says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorReport {
    pub(super) text: String,
    pub(super) code: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) param: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) request_id: Option<String>,
    pub(super) upstream: Option<String>,
    /// Seconds since 1970.
    pub(super) resets_at: Option<i64>,
    pub(super) resets_in: Option<u64>,
    /// The body was a page of some proxy.
    pub(super) is_html: bool,
}

/// Reads the body of a response.
pub(super) fn read_body(body: &[u8]) -> ErrorReport {
    let text = String::from_utf8_lossy(body);
    let text = text.trim().trim_start_matches('\u{feff}');
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return read_value(&value);
    }
    if text.starts_with('<') {
        let text = format!("an HTML page: {}", page_title(text).unwrap_or("without a title"));
        return ErrorReport { text: bounded(&text), is_html: true, ..ErrorReport::default() };
    }
    ErrorReport { text: bounded(text), ..ErrorReport::default() }
}

/// Reads an error that is JSON: a body, or the data of a frame.
pub(super) fn read_value(value: &Value) -> ErrorReport {
    // Google sends a list with one error.
    if let Value::Array(list) = value {
        return list.first().map(read_value).unwrap_or_default();
    }
    let mut report = match &value["error"] {
        Value::Object(_) => read_object(&value["error"]),
        Value::String(text) => ErrorReport { text: bounded(text), ..ErrorReport::default() },
        _ => read_object(value),
    };
    // A relay may write the code beside the text of the error.
    report.code = report.code.or_else(|| text_of(value, "code"));
    report.status = report.status.or_else(|| status_of(&value["status"]));
    report.request_id = report.request_id.or_else(|| text_of(value, "request_id"));
    report
}

fn read_object(error: &Value) -> ErrorReport {
    if error["error"].is_object() {
        return read_object(&error["error"]);
    }
    let names = ["message", "detail", "msg", "error_description"];
    let message = names.iter().find_map(|name| match &error[*name] {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    });
    let metadata = &error["metadata"];
    let status = status_of(&error["code"]).or_else(|| status_of(&error["status"]));
    // A code that only repeats the status of HTTP says less than a word for it.
    let word = text_of(error, "status").filter(|text| text.contains('_'));
    let code = text_of(error, "code").filter(|_| word.is_none() || status_of(&error["code"]).is_none());
    let mut report = ErrorReport {
        text: bounded(&message.unwrap_or_else(|| error.to_string())),
        code: code.or(word),
        kind: text_of(error, "type").filter(|kind| kind != "error"),
        param: text_of(error, "param"),
        status,
        request_id: text_of(error, "request_id"),
        upstream: text_of(metadata, "provider_name"),
        resets_at: error["resets_at"].as_i64(),
        resets_in: error["resets_in_seconds"].as_u64(),
        is_html: false,
    };
    // The true error of a relay is in `metadata.raw`, as JSON in a string or as text.
    if let Some(raw) = metadata["raw"].as_str().filter(|raw| !raw.is_empty()) {
        let inner = read_body(raw.as_bytes());
        report.text = bounded(&format!("{}: {}", report.text, inner.text));
        report.code = inner.code.or(report.code);
        report.kind = inner.kind.or(report.kind);
        report.param = inner.param.or(report.param);
    }
    report
}

fn text_of(value: &Value, name: &str) -> Option<String> {
    match &value[name] {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn status_of(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.and_then(|number| u16::try_from(number).ok()).filter(|status| (400..600).contains(status))
}

fn page_title(page: &str) -> Option<&str> {
    let start = page.find("<title>")? + "<title>".len();
    let title = page[start..].split("</title>").next()?.trim();
    (!title.is_empty()).then_some(title)
}

/// Masks secrets and cuts what is too long.
pub(super) fn bounded(text: &str) -> String {
    redact(text).trim().chars().take(LONGEST_TEXT).collect()
}
