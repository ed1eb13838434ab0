//! How long a provider asks to wait: in headers, in the body or in the text of an error.

use std::time::Duration;

use super::WaitHint;
use super::body::ErrorReport;

/// A longer wait is the person's decision.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// Returns the strongest hint: milliseconds, seconds or a date in a header, a time in the body, the reset of a limit that
/// is used up, words.
pub(super) fn hint(headers: &[(String, String)], report: &ErrorReport) -> Option<WaitHint> {
    let header = |name: &str| {
        let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    };
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return after_seconds(millis / 1000.0);
    }
    if let Some(text) = header("retry-after") {
        if let Some(wait) = text.parse().ok().and_then(after_seconds) {
            return Some(wait);
        }
        if let Ok(date) = jiff::fmt::rfc2822::parse(text) {
            return Some(WaitHint::Until(date.timestamp().as_second()));
        }
    }
    let body = report.resets_at.map(WaitHint::Until);
    let body = body.or_else(|| report.resets_in.map(|seconds| WaitHint::After(Duration::from_secs(seconds))));
    body.or_else(|| reset_of_exhausted(headers)).or_else(|| words(&report.text).map(WaitHint::After))
}

fn after_seconds(seconds: f64) -> Option<WaitHint> {
    Duration::try_from_secs_f64(seconds).ok().map(WaitHint::After)
}

/// The reset of a limit of which nothing remains; of several, the latest.
fn reset_of_exhausted(headers: &[(String, String)]) -> Option<WaitHint> {
    let lower: Vec<(String, &str)> =
        headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.trim())).collect();
    let value = |name: &str| lower.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let mut found = None;
    for (name, _) in lower.iter().filter(|(_, remaining)| *remaining == "0") {
        let reset = if let Some(limit) = name.strip_prefix("x-ratelimit-remaining-") {
            value(&format!("x-ratelimit-reset-{limit}")).and_then(duration).map(WaitHint::After)
        } else {
            let limit =
                name.strip_prefix("anthropic-ratelimit-").and_then(|name| name.strip_suffix("-remaining"));
            let at = limit.and_then(|limit| value(&format!("anthropic-ratelimit-{limit}-reset")));
            at.and_then(|at| at.parse::<jiff::Timestamp>().ok()).map(|at| WaitHint::Until(at.as_second()))
        };
        found = match (found, reset) {
            (Some(WaitHint::After(a)), Some(WaitHint::After(b))) => Some(WaitHint::After(a.max(b))),
            (Some(WaitHint::Until(a)), Some(WaitHint::Until(b))) => Some(WaitHint::Until(a.max(b))),
            (found, reset) => reset.or(found),
        };
    }
    found
}

/// Reads `6m0s`, `1.2s`, `350ms`, `1h2m`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let unit_end = rest.find(|char: char| char.is_ascii_digit()).unwrap_or(rest.len());
        let seconds = number * seconds_of(rest[..unit_end].trim())?;
        total = total.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = &rest[unit_end..];
    }
    Some(total)
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        _ => return None,
    })
}

/// Reads "try again in 1.2s", "… 350ms", "… 3 seconds", "… 2 minutes" in a text.
fn words(text: &str) -> Option<Duration> {
    let lower = text.to_ascii_lowercase();
    let phrases = ["try again in ", "retry after ", "retry in "];
    let start = phrases.iter().find_map(|words| lower.find(words).map(|at| at + words.len()))?;
    let rest = &lower[start..];
    let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
    let number: f64 = rest[..end].trim_end_matches('.').parse().ok()?;
    let unit = rest[end..].trim_start();
    let unit_end = unit.find(|char: char| !char.is_ascii_lowercase()).unwrap_or(unit.len());
    Duration::try_from_secs_f64(number * seconds_of(&unit[..unit_end])?).ok()
}
