//! The single values of `[mcp_servers.NAME]`: valid values, and the message about an invalid one.
//!
//! Called by the reader of the section. Possible secrets are not repeated in a message.

use std::time::Duration;

use toml_edit::Item;

use super::super::article;
use super::super::did_you_mean;
use super::super::keys::{Wrong, text, wrong_type};
use crate::duration::{DurationError, LONGEST, from_seconds, parse_duration};
use crate::nearest::nearest;
use crate::servers::{ValueSource, is_variable_name};

/// What `transport` says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stdio,
    Http,
    Sse,
}

const KINDS: &[(&str, Kind)] = &[
    ("stdio", Kind::Stdio),
    ("http", Kind::Http),
    ("streamable_http", Kind::Http),
    ("streamable-http", Kind::Http),
    ("sse", Kind::Sse),
];

pub(super) fn kind(item: &Item) -> Result<Kind, Wrong> {
    let given = text(item)?;
    let known = KINDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&given));
    known.map(|(_, kind)| *kind).ok_or_else(|| {
        let names = KINDS.iter().map(|(name, _)| *name);
        let hint = nearest(&given, names).map(did_you_mean);
        wrong_with("is not known; allowed: http, sse, stdio", hint)
    })
}

pub(super) fn boolean(item: &Item) -> Result<bool, Wrong> {
    item.as_bool().ok_or_else(|| wrong_type(item, "true or false"))
}

/// Seconds, also parts of them, or a duration such as `"90s"`.
pub(super) fn time(item: &Item) -> Result<Duration, Wrong> {
    let told = |error: DurationError| wrong(&error.to_string());
    match (item.as_integer(), item.as_float(), item.as_str()) {
        (Some(seconds), ..) => from_seconds(seconds).map_err(told),
        (_, Some(seconds), _) if seconds.is_nan() => Err(wrong("must be a number of seconds")),
        (_, Some(seconds), _) if seconds < 0.0 => Err(told(DurationError::Negative)),
        (_, Some(seconds), _) => match Duration::try_from_secs_f64(seconds) {
            Ok(Duration::ZERO) => Err(told(DurationError::Zero)),
            Ok(time) if time <= LONGEST => Ok(time),
            _ => Err(told(DurationError::TooLong)),
        },
        (.., Some(text)) => parse_duration(text).map_err(told),
        _ => Err(wrong_type(item, "a number of seconds")),
    }
}

pub(super) fn program(item: &Item) -> Result<String, Wrong> {
    let command = plain(text(item)?)?;
    if command.contains(char::is_whitespace) && !command.contains('/') {
        let hint = "write the program as command and the rest as args".to_owned();
        return Err(wrong_with("must be a program without its arguments", Some(hint)));
    }
    Ok(command)
}

pub(super) fn directory(item: &Item) -> Result<String, Wrong> {
    let path = plain(text(item)?)?;
    if path.starts_with('/') || path == "~" || path.starts_with("~/") {
        return Ok(path);
    }
    Err(wrong_with(
        "must be a whole path",
        Some("Codex would look for it in a directory of its own; begin with / or ~/".to_owned()),
    ))
}

pub(super) fn address(item: &Item) -> Result<String, Wrong> {
    let address = plain(text(item)?)?;
    let fits =
        url::Url::parse(&address).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if fits { Ok(address) } else { Err(wrong("must be an http:// or https:// address")) }
}

/// Arguments; numbers are taken as they are written, as in the reference.
pub(super) fn arguments(item: &Item) -> Result<Vec<String>, Wrong> {
    let Some(array) = item.as_array() else { return Err(wrong_type(item, "a list of strings")) };
    array
        .iter()
        .map(|value| match (value.as_str(), value.as_integer()) {
            (Some(text), _) => plain(text.to_owned()),
            (None, Some(number)) => Ok(number.to_string()),
            (None, None) => {
                Err(wrong(&format!("must hold strings only, not {}", article(value.type_name()))))
            }
        })
        .collect()
}

/// Names of tools: a list, or a single one.
pub(super) fn names(item: &Item) -> Result<Vec<String>, Wrong> {
    if let Some(one) = item.as_str() {
        return Ok(vec![one.to_owned()]);
    }
    let all = item.as_array().and_then(|array| {
        array.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    all.ok_or_else(|| wrong("must be a list of names of tools"))
}

/// A variable for the program; Codex passes one on under its own name only.
pub(super) fn variable(name: &str, item: &Item) -> Result<ValueSource, Wrong> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(wrong("is not the name of a variable"));
    }
    let value = value(item)?;
    match &value {
        ValueSource::Literal(text) if text.contains('\0') => Err(wrong("must not hold a zero byte")),
        ValueSource::Variable(other) if other == name => Ok(value),
        ValueSource::Literal(_) => Ok(value),
        ValueSource::Variable(_) | ValueSource::Bearer(_) => {
            let hint = is_variable_name(name).then(|| format!("write {name} = \"${{{name}}}\""));
            Err(wrong_with("Codex passes a variable on under its own name only", hint))
        }
    }
}

/// A header of every request.
pub(super) fn header(name: &str, item: &Item) -> Result<ValueSource, Wrong> {
    if !crate::servers::is_header_name(name) {
        return Err(wrong("is not the name of a header"));
    }
    let value = value(item)?;
    match &value {
        ValueSource::Literal(text) if text.chars().any(|c| c.is_control() && c != '\t') => {
            Err(wrong("must not hold control characters"))
        }
        ValueSource::Bearer(_) if !name.eq_ignore_ascii_case("authorization") => {
            Err(wrong("Codex puts Bearer and a variable into the header Authorization only"))
        }
        _ => Ok(value),
    }
}

fn value(item: &Item) -> Result<ValueSource, Wrong> {
    let text = item.as_str().ok_or_else(|| wrong_type(item, "a string"))?;
    ValueSource::read(text).map_err(|message| wrong(&message))
}

/// Refuses a reference where Codex supports none, and characters that no program argument can contain.
fn plain(text: String) -> Result<String, Wrong> {
    if text.contains('\0') {
        return Err(wrong("must not hold a zero byte"));
    }
    if crate::servers::reference(&text).is_some() {
        let hint = "Codex reads variables in env and headers only".to_owned();
        return Err(wrong_with("must not hold a reference to a variable", Some(hint)));
    }
    Ok(text)
}

fn wrong(message: &str) -> Wrong {
    wrong_with(message, None)
}

fn wrong_with(message: &str, hint: Option<String>) -> Wrong {
    Wrong { message: message.to_owned(), hint, start: None }
}
